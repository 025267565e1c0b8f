"""Tables of values computed from the position by the encoding's own kernel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.declare.plan import Values
from pecli.declare.tabular import Array
from pecli.numbers.points import Points
from pecli.tables.fill.rounding import as_array, round_into
from pecli.tables.table import Table, check_domain


class ValueTable(Table):
    """Values computed from the position by the encoding's own kernel."""

    @property
    def values(self) -> Values:
        """The plan."""
        assert isinstance(self.plan, Values)
        return self.plan

    def check(self) -> None:
        """Raise BadParameter for a position that has no value."""
        check_domain(self.source.encoding.name, self.values.domain, self.part)

    def _arrays(self) -> tuple[Array, ...]:
        return (Array("pe", (self.part.count, self.values.width), self.dtype, ("position", "channel")),)

    def fill(self, start: int, stop: int, out: Mapping[str, NDArray[Any]]) -> None:
        """Write rows into `out`; see :meth:`pecli.declare.tabular.Tabular.fill`."""
        if "pe" not in out:
            return
        for segment in self.part.segments(start, stop):
            points = Points(as_array(segment.multiples), segment.unit)
            pe = out["pe"]
            if isinstance(segment.rows, slice):
                round_into(self.values.at(points), self.dtype, pe)
            else:
                rows = np.empty((len(points), pe.shape[1]), pe.dtype)
                round_into(self.values.at(points), self.dtype, rows)
                pe[segment.rows] = rows
