"""Rotary tables as a framework's own arithmetic makes them, for those who need its very values."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from pecli.declare.encoding import Family
from pecli.declare.tabular import Array
from pecli.encodings.rotary.rope.arithmetic import Emulation, emulation
from pecli.errors import BadParameter
from pecli.numbers.rounding import narrow
from pecli.tables.fill.waves import WaveTable
from pecli.tables.layouts import layout_views


class EmulatedTable(WaveTable):
    """Cos and sin from float32 (or bfloat16) frequencies, angles and values."""

    def _arrays(self) -> tuple[Array, ...]:
        name, arithmetic = self.source.encoding.name, self.request.arithmetic
        simple = not self.waves.axes and len(self.waves.bands) == 1 and self.waves.form == "real"
        if self.source.encoding.family is not Family.ROTARY or not simple:
            raise BadParameter("arithmetic", arithmetic, f"is for rope: {name} is computed exactly")
        if self.request.layout == "angles":
            raise BadParameter("arithmetic", arithmetic, "gives cos and sin: use another --layout than angles")
        return super()._arrays()

    @cached_property
    def _emulation(self) -> Emulation:
        arithmetic = cast(Literal["float32", "bfloat16"], self.request.arithmetic)
        values = self.source.values if self.source.encoding.name == "rope" else None
        return emulation(self.waves, values, arithmetic)

    def fill(self, start: int, stop: int, out: Mapping[str, NDArray[Any]], threads: int = 1) -> None:
        """Write rows into `out`; see :meth:`pecli.declare.tabular.Tabular.fill`."""
        width = len(self._emulation.frequencies)
        cos, sin = (np.empty((stop - start, width), np.float32) for _ in range(2))
        self._emulation.fill(self.part.numbers(start, stop), cos, sin)
        found = {"cos": cos, "sin": sin}
        for part, view in layout_views(self.request.layout, width, out):
            values = found[part]
            view[...] = values if self.dtype == "float32" else narrow(values.astype(np.float64), None, self.dtype)
