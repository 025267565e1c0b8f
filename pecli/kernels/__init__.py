"""How each kind of plan fills the rows of a table."""

from __future__ import annotations

from pecli.kernels.bias import BiasTable
from pecli.kernels.values import ValueTable
from pecli.kernels.waves import WaveTable
from pecli.plan import Bias, Plan, Values, Waves
from pecli.table import Table


def table_class(plan: Plan) -> type[Table]:
    """Return the class of table that fills rows of this kind of plan."""
    if isinstance(plan, Waves):
        return WaveTable
    return ValueTable if isinstance(plan, Values) else BiasTable


__all__ = ["BiasTable", "ValueTable", "WaveTable", "table_class"]
