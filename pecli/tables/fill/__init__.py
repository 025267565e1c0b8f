"""How each kind of plan fills the rows of a table; the module of a kind is imported when it is wanted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pecli.declare.plan import Bias, Conditional, Plan, Relative, Values, Waves
from pecli.errors import BadParameter

if TYPE_CHECKING:
    from pecli.tables.table import Table


def table_class(plan: Plan, arithmetic: str = "exact") -> type[Table]:
    """Return the class of table that fills rows of this kind of plan.

    Raises
    ------
    BadParameter
        For another arithmetic than the exact one, where only that is known.
    """
    if arithmetic != "exact":
        if not isinstance(plan, Waves):
            raise BadParameter("arithmetic", arithmetic, "is for rotary tables: others are computed exactly")
        from pecli.tables.fill.emulated import EmulatedTable

        return EmulatedTable
    match plan:
        case Waves():
            from pecli.tables.fill.waves import WaveTable

            return WaveTable
        case Values():
            from pecli.tables.fill.values import ValueTable

            return ValueTable
        case Bias():
            from pecli.tables.fill.bias import BiasTable

            return BiasTable
        case Relative():
            from pecli.tables.fill.relative import RelativeTable

            return RelativeTable
        case Conditional():
            from pecli.tables.fill.conditional import ConditionalTable

            return ConditionalTable
