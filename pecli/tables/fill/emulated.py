"""Rotary tables as a framework's own arithmetic makes them, for those who need its very values."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.declare.tabular import Array
from pecli.errors import BadParameter
from pecli.numbers.rounding import narrow
from pecli.tables.fill.waves import WaveTable
from pecli.tables.layouts import layout_views


class EmulatedTable(WaveTable):
    """Cos and sin from float32 (or bfloat16) frequencies, angles and values."""

    def _arrays(self) -> tuple[Array, ...]:
        name, arithmetic = self.source.encoding.name, self.request.arithmetic
        plain = not (self.waves.axes or self.waves.beside or self.waves.fixed)
        if not plain or not self.source.encoding.declares("emulate"):
            rule = f"is for rotary tables of one position and nothing beside: {name} is computed exactly"
            raise BadParameter("arithmetic", arithmetic, rule)
        if self.request.layout == "angles":
            raise BadParameter("arithmetic", arithmetic, "gives cos and sin: use another --layout than angles")
        return super()._arrays()

    @cached_property
    def _emulation(self) -> Any:
        return self.source.encoding.hook("emulate")(self.waves, self.source.values, self.request.arithmetic)

    def fill(self, start: int, stop: int, out: Mapping[str, NDArray[Any]], threads: int = 1) -> None:
        """Write rows into `out`; see :meth:`pecli.declare.tabular.Tabular.fill`."""
        width = len(self._emulation.frequencies)
        cos, sin = (np.empty((stop - start, width), np.float32) for _ in range(2))
        self._emulation.fill(self.part.numbers(start, stop), cos, sin)
        found = {"cos": cos, "sin": sin}
        for part, view in layout_views(self.request.layout, width, out):
            values = found[part]
            view[...] = values if self.dtype == "float32" else narrow(values.astype(np.float64), None, self.dtype)
