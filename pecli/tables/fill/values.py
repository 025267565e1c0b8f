"""Values computed from the position by the encoding's own kernel."""

from __future__ import annotations

import numpy as np

from pecli.spec.plans import Values
from pecli.spec.tabular import Array
from pecli.tables.fill.filler import CHANNELS, Arrays, Filler, points_of
from pecli.tables.fill.rounding import round_into


class ValueFiller(Filler[Values]):
    """``pe`` (n, width), computed from the position."""

    def _arrays(self) -> tuple[Array, ...]:
        return (Array("pe", (self.part.count, self.plan.width), self.dtype, CHANNELS),)

    def fill(self, start: int, stop: int, out: Arrays, threads: int) -> None:
        """Write rows; see :meth:`Filler.fill`."""
        pe = out["pe"]
        for segment in self.part.segments(start, stop):
            values = self.plan.at(points_of(segment))
            if isinstance(segment.rows, slice):
                round_into(values, self.dtype, pe)
            else:
                rows = np.empty((len(segment.multiples), pe.shape[1]), pe.dtype)
                round_into(values, self.dtype, rows)
                pe[segment.rows] = rows
