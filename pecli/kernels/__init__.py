"""How each kind of plan fills the rows of a table."""

from __future__ import annotations

from pecli.errors import BadParameter
from pecli.kernels.bias import BiasTable
from pecli.kernels.conditional import ConditionalTable
from pecli.kernels.emulated import EmulatedTable
from pecli.kernels.relative import RelativeTable
from pecli.kernels.values import ValueTable
from pecli.kernels.waves import WaveTable
from pecli.plan import Bias, Conditional, Plan, Relative, Values, Waves
from pecli.table import Table


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
        return EmulatedTable
    match plan:
        case Waves():
            return WaveTable
        case Values():
            return ValueTable
        case Bias():
            return BiasTable
        case Relative():
            return RelativeTable
        case Conditional():
            return ConditionalTable


__all__ = ["BiasTable", "ConditionalTable", "EmulatedTable", "RelativeTable", "ValueTable", "WaveTable", "table_class"]
