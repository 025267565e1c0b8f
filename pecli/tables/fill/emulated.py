"""Rotary tables as a framework's own arithmetic makes them, for those who need its very values."""

from __future__ import annotations

from typing import Any

import numpy as np

from pecli.declare.tabular import Array
from pecli.errors import BadParameter
from pecli.numbers.rounding import narrow
from pecli.tables.fill.filler import Arrays, once
from pecli.tables.fill.waves import WaveFiller
from pecli.tables.layouts import layout_views


class EmulatedFiller(WaveFiller):
    """Cos and sin from float32 (or bfloat16) frequencies, angles and values, as the encoding's hook says."""

    def _arrays(self) -> tuple[Array, ...]:
        plan, arithmetic = self.plan, self.request.arithmetic
        if plan.axes or plan.beside or plan.fixed or not self.recipe.encoding.declares("emulate"):
            rule = f"is for rotary tables of one position and nothing beside: {self.name} is computed exactly"
            raise BadParameter("arithmetic", arithmetic, rule)
        if self.request.layout == "angles":
            raise BadParameter("arithmetic", arithmetic, "gives cos and sin: use another layout than angles")
        return super()._arrays()

    @once
    def _emulation(self) -> Any:
        return self.recipe.encoding.hook("emulate")(self.plan, self.recipe.values, self.request.arithmetic)

    def _fill_main(self, start: int, stop: int, out: Arrays, threads: int) -> None:
        width = len(self._emulation.frequencies)
        cos, sin = (np.empty((stop - start, width), np.float32) for _ in range(2))
        self._emulation.fill(self.part.numbers(start, stop), cos, sin)
        for part, view in layout_views(self.request.layout, width, out):
            values = cos if part == "cos" else sin
            view[...] = values if self.dtype == "float32" else narrow(values.astype(np.float64), None, self.dtype)
