"""Long runs of float64: products of a ladder's rows carried as main + rest, rounded and tested.

The sum main + rest is formed twice, with the rest moved by the error bound either way; where the
two roundings agree the value is correctly rounded, elsewhere (some in a hundred thousand) it is
settled exactly.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pecli.phase.blocks import Block, Outer, blocks
from pecli.phase.ladder import Ladder
from pecli.phase.layout import Layout
from pecli.phase.narrowing import Scratch, put
from pecli.phase.wheel import Wheel

Flat = NDArray[np.float64]

ERROR = 2.0**-74
"""Absolute error of main + rest in the complex plane, for a magnitude of at most 1.

A ladder's doubled rows are kept to 2^-80 (the rounding of a rest below 2^-26.5).  Offset, anchor
and value are each one product, STEP_ERROR = 2^-76.2; the magnitude adds 2^-100, the bound's own
addition to a rest below 2^-25 another 2^-78: 3 * 2^-76.2 + 4 * 2^-80 + 2^-78 < 2^-74.3.
"""


class WideRun:
    """Rows n = first..last-1 of a ladder; ``mirrored``: of the negative multiples."""

    def __init__(
        self,
        ladder: Ladder,
        first: int,
        last: int,
        layout: Layout,
        mirrored: bool,
        scratch: Scratch,
        pairs: int,
    ) -> None:
        self.ladder, self.first, self.last, self.layout = ladder, first, last, layout
        self.mirrored, self.scratch, self.pairs = mirrored, scratch, pairs
        self.wheel: Wheel = ladder.wheel
        self.swapped = layout.pair is not None and layout.sine_first
        conjugate = mirrored != self.swapped
        anchors = ladder.anchor_split(first // ladder.block, -(-last // ladder.block))
        if conjugate:
            anchors = anchors.conjugate()
        self.anchors = anchors.turned() if self.swapped else anchors
        self.offsets = ladder.offset_split(conjugate)

    def fill(self) -> None:
        """Compute, round, and settle what is doubtful."""
        width = self.wheel.count
        for block in blocks(self.ladder.block, width, self.first, self.last, self.pairs):
            low, high = self._bounds(block)
            layout = self.layout.rows(slice(block.start, block.start + block.size))
            both = low.reshape(-1, 2 * width)
            if layout.pair is not None:
                np.copyto(layout.pair, both[:, : layout.pair.shape[1]])
            for part, view in layout.singles:
                np.copyto(view, both[:, int((part == "sin") != self.swapped) :: 2][:, : view.shape[1]])
            differ = self.scratch.get("differ", low.size, np.bool_)
            np.not_equal(low, high, out=differ)
            if differ.any():
                self._settle(differ.nonzero()[0], block, layout)

    def _bounds(self, block: Block) -> tuple[Flat, Flat]:
        """Compute the block's values with the bound taken away and added."""
        size = block.size * self.wheel.count
        main, rest, other = (self.scratch.get(name, size, np.complex128) for name in ("product", "rest", "other"))
        a, b = self.anchors, self.offsets
        Outer(np.multiply, a.coarse, b.coarse, block, main)(block.anchor)
        Outer(np.multiply, a.coarse, b.rest, block, rest)(block.anchor)
        Outer(np.multiply, a.rest, b.whole, block, other)(block.anchor)
        whole, low, high = (z.view(np.float64) for z in (main, other, rest))
        bound = ERROR * 2.0**self.ladder.exponent
        high += low
        np.subtract(high, bound, out=low)
        high += bound
        low += whole
        high += whole
        return low, high

    def _settle(self, places: NDArray[np.int64], block: Block, layout: Layout) -> None:
        rows, columns = np.divmod(places >> 1, self.wheel.count)
        multiples = (rows + (block.start + self.first)) * self.ladder.step + self.ladder.offset
        moving = (multiples != 0) & (self.wheel.speed[columns] != 0)
        if self.mirrored:
            multiples = -multiples
        for odd, part in enumerate(("sin", "cos") if self.swapped else ("cos", "sin")):
            chosen = (moving & ((places & 1) == odd)).nonzero()[0]
            if chosen.size:
                exact = self.wheel.settle(multiples[chosen], columns[chosen], part, "float64")
                put(layout, part, rows[chosen], columns[chosen], exact)
