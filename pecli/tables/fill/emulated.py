"""Rotary tables as a framework's own arithmetic makes them, for those who need its very values."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.errors import BadParameter
from pecli.numbers.rounding import narrow
from pecli.spec.plans import Companion
from pecli.spec.tabular import Array
from pecli.tables.fill.filler import Arrays, once
from pecli.tables.fill.waves import WaveFiller
from pecli.tables.layouts import layout_views


class EmulatedFiller(WaveFiller):
    """Cos and sin, or angles, from float32 (or bfloat16) frequencies and positions, as the encoding's hook says."""

    def _arrays(self) -> tuple[Array, ...]:
        plan, arithmetic = self.plan, self.request.arithmetic
        if plan.axes or not self.recipe.encoding.declares("emulate"):
            rule = f"is for rotary tables of one position: {self.name} is computed exactly"
            raise BadParameter("arithmetic", arithmetic, rule)
        names = [*(companion.name for companion in plan.companions), *(fixed.name for fixed in plan.fixed)]
        for name in names:
            if name not in self._emulation.others:
                rule = f"is for arrays whose steps are known: those of {name} are not, so leave {self.name} exact"
                raise BadParameter("arithmetic", arithmetic, rule)
        return super()._arrays()

    @once
    def _emulation(self) -> Any:
        return self.recipe.encoding.hook("emulate")(self.plan, self.recipe.values, self.request.arithmetic)

    def _fill_main(self, start: int, stop: int, out: Arrays, threads: int) -> None:
        if self.request.layout == "angles":
            self._store(self._emulation.angles(self.part.numbers(start, stop)), out["angles"])
            return
        width = len(self._emulation.frequencies)
        cos, sin = (np.empty((stop - start, width), np.float32) for _ in range(2))
        self._emulation.fill(self.part.numbers(start, stop), cos, sin)
        for part, view in layout_views(self.request.layout, width, out):
            self._store(cos if part == "cos" else sin, view)

    def _fill_companion(self, companion: Companion, start: int, stop: int, out: NDArray[Any]) -> None:
        values = self._emulation.others[companion.name](self.part.numbers(start, stop))
        for view in self._companion_views(companion, out):
            self._store(values, view)

    def _fill_fixed(self, name: str, start: int, stop: int, out: NDArray[Any]) -> None:
        self._store(self._emulation.others[name](start, stop), out)

    def _store(self, values: NDArray[Any], out: NDArray[Any]) -> None:
        out[...] = values if self.dtype == "float32" else narrow(values.astype(np.float64), None, self.dtype)
