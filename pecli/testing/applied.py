"""Whether a table was applied rightly, and if not, what was done instead."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli import api
from pecli.declare.encoding import Family
from pecli.errors import PecliError
from pecli.measures.allowance import allowance as allowance
from pecli.measures.floats import floats
from pecli.numbers.printing import figure
from pecli.numbers.types import GRIDS
from pecli.sources.sources import NamedSource
from pecli.tables.foreign import table_of
from pecli.tables.selection import InMemory

Floats = NDArray[np.float64]
WRONG_PAIRS = {
    "half": ("interleaved", "interleaved for halves: x_2i was turned with x_(2i+1), not x_i with x_(i+d/2)"),
    "interleaved": ("half", "halves for interleaved: x_i was turned with x_(i+d/2), not x_2i with x_(2i+1)"),
}


@dataclass(frozen=True)
class Applied:
    """Inputs, outputs, and what should have made the one of the other."""

    source: NamedSource
    inputs: Any
    outputs: Any
    pairs: str | None
    start: int | None
    positions: Any
    axes: str | None

    @cached_property
    def before(self) -> InMemory:
        """The inputs."""
        return table_of(self.inputs)

    @cached_property
    def after(self) -> InMemory:
        """The outputs."""
        return table_of(self.outputs)

    def fault(self, atol: float | None = None) -> str:
        """Return what was done instead, or nothing.

        Raises
        ------
        PecliError
            If inputs and table do not fit, in one sentence.
        """
        if self.before.keys() != self.after.keys():
            return f"the outputs have the names {self.after.keys()}, the inputs {self.before.keys()}"
        for before, after in zip(self.before.arrays, self.after.arrays, strict=True):
            if before.shape != after.shape:
                return f"{after.name} has the shape {after.shape}, its input {before.shape}"
        allowed = self.allowed if atol is None else atol
        gap = self.gap()
        if gap <= allowed:
            return ""
        said = f"{self.source.text} was not applied rightly: the outputs are up to {figure(gap, 3)} from the exact ones"
        explained = next(
            (text for text, left in self.others() if left <= allowed), "no fault that is known explains it"
        )
        return f"{said}, and {figure(allowed, 3)} are allowed\n  {explained}"

    @property
    def allowed(self) -> float:
        """The difference that a kernel may make."""
        largest = max((float(np.abs(values).max(initial=0.0)) for values in self._numbers(self.before)), default=0.0)
        coarse = max((a.dtype for a in self.after.arrays), key=lambda name: GRIDS[name].rounding)
        return allowance(largest, coarse, self._last())

    def _last(self) -> int:
        if self.positions is not None:
            return int(np.max(np.asarray(self.positions)))
        return max((a.shape[-2] if len(a.shape) > 1 else 1 for a in self.before.arrays), default=1) + (self.start or 0)

    def gap(self, **options: Any) -> float:
        """Return how far the outputs are from what is made of the inputs; infinite where one is not a number."""
        wish = {"pairs": self.pairs, "start": self.start, "positions": self.positions, "axes": self.axes, **options}
        made = api.apply(self.source, self.before, dtype="float64", **wish)
        pairs = zip(self._numbers(made.outputs), self._numbers(self.after), strict=True)
        gaps = [np.abs(exact - got).max(initial=0.0) for exact, got in pairs]
        return float(np.nan_to_num(np.max(gaps), nan=np.inf, posinf=np.inf))  # max() would pass over a NaN

    def _numbers(self, table: Any) -> Iterator[Floats]:
        for array in table.arrays:
            yield floats(table.read(array.name), array.dtype).astype(np.float64)

    def others(self) -> Iterator[tuple[str, float]]:
        """Yield what people do instead, and how far the outputs are from that."""
        same = zip(self._numbers(self.before), self._numbers(self.after), strict=True)
        yield (
            "nothing was done: the outputs are the inputs",
            max(float(np.abs(a - b).max(initial=0.0)) for a, b in same),
        )
        for text, options in self._wishes():
            try:
                yield text, self.gap(**options)
            except PecliError:
                continue

    def _wishes(self) -> Iterator[tuple[str, dict[str, Any]]]:
        start, listed = self.start or 0, self.positions
        if listed is None:
            yield "positions one later: they begin at " + str(start + 1), {"start": start + 1}
            if start > 0:
                yield "positions one earlier: they begin at " + str(start - 1), {"start": start - 1}
                yield "positions from 0: the offset was left out", {"start": 0}
        if self.axes is None and len(self.before.arrays[0].shape) == 4:
            yield "axes of heads and positions swapped: bshd where bhsd was expected", {"axes": "bshd"}
        if self.source.recipe is not None and self.source.recipe.encoding.family is not Family.ROTARY:
            return
        yield "turned the other way: the sine has the wrong sign", {"way": "inverse"}
        pairs = self._pairs()
        if pairs in WRONG_PAIRS:
            other, text = WRONG_PAIRS[pairs]
            yield text, {"pairs": other}
            yield f"{text}, and turned the other way", {"pairs": other, "way": "inverse"}
            taken = f"{pairs}:{other}"
            yield f"the columns come out in the order {other}, where {pairs} was expected", {"pairs": taken}

    def _pairs(self) -> str:
        from pecli.application.rotated import pairing_of

        return str(pairing_of(self.source, self.pairs)[0])
