"""Long runs of float64: products of a ladder's rows carried as main + rest, rounded and tested.

The sum main + rest is formed twice, with the rest moved by the error bound either way; where the
two roundings agree the value is correctly rounded, elsewhere (some in a hundred thousand) it is
settled exactly.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pecli.engine.anchors import Anchors
from pecli.engine.blocks import AnchorBlock, Outer, blocks, short_buffers
from pecli.engine.layout import PairLayout
from pecli.engine.narrowing import Flags, put
from pecli.engine.product import Split
from pecli.engine.scratch import Scratch

ERROR = 2.0**-74
"""Absolute error of main + rest in the complex plane, for a magnitude of at most 1.

A ladder's doubled rows are good to 2^-84.  Offset, anchor and value are one product each,
STEP_ERROR = 2^-76; the magnitude adds 2^-100, the bound's own addition to a rest below 2^-25
another 2^-78: 3 * 2^-76 + 2^-78 + 4 * 2^-84 < 0.82 * 2^-74.
"""


class WideRun:
    """Rows n = first..last-1 of a ladder, all of one group of anchors.

    ``mirrored``: of the negative multiples.
    """

    def __init__(
        self, anchors: Anchors, first: int, last: int, layout: PairLayout, mirrored: bool, scratch: Scratch
    ) -> None:
        self.anchors, self.ladder, self.wheel = anchors, anchors.ladder, anchors.ladder.wheel
        self.first, self.last, self.layout = first, last, layout
        self.mirrored, self.scratch = mirrored, scratch
        self.swapped = layout.pair is not None and layout.sine_first
        self.bound = ERROR * 2.0**self.ladder.exponent

    def fill(self, pairs: int) -> None:
        """Compute in blocks of so many pairs, round, and settle what is doubtful."""
        width, layout = self.wheel.count, self.layout
        flags = Flags(2 * (self.last - self.first) * width, "doubtful", self.scratch)
        straight = layout.pair is not None and layout.pair.shape[1] == 2 * width
        made: dict[tuple[int, int, int], _Products] = {}
        for block in blocks(self.ladder.block, width, self.first, self.last, pairs):
            if block.shape not in made:
                made[block.shape] = self._products(block)
            products, here = made[block.shape], layout.rows(slice(block.start, block.start + block.size))
            low, high = (z.reshape(-1, 2 * width) for z in (products.low, products.high))
            if straight and here.pair is not None:
                low = here.pair  # the sum is formed where it belongs
            products(block.anchor - self.anchors.base, self.bound, low)
            if here.pair is not None and low is not here.pair:
                np.copyto(here.pair, low[:, : here.pair.shape[1]])
            for part, view in here.singles:
                np.copyto(view, low[:, int((part == "sin") != self.swapped) :: 2][:, : view.shape[1]])
            doubtful = flags.part(2 * block.start * width, low.size).reshape(low.shape)
            np.not_equal(low, high, doubtful)
        self._settle(flags.places())

    def _products(self, block: AnchorBlock) -> _Products:
        conjugate = self.mirrored != self.swapped
        left, right = self.anchors.split(conjugate, self.swapped), self.ladder.offset_split(conjugate)
        return _Products(left, right, block, self.scratch)

    def _settle(self, places: NDArray[np.int64]) -> None:
        rows, columns = np.divmod(places >> 1, self.wheel.count)
        multiples = (rows + self.first) * self.ladder.step + self.ladder.offset
        moving = (multiples != 0) & (self.wheel.speed[columns] != 0)
        if self.mirrored:
            multiples = -multiples
        for odd, part in enumerate(("sin", "cos") if self.swapped else ("cos", "sin")):
            chosen = (moving & ((places & 1) == odd)).nonzero()[0]
            if chosen.size:
                exact = self.wheel.settle(multiples[chosen], columns[chosen], part, "float64")
                put(self.layout, part, rows[chosen], columns[chosen], exact)


class _Products:
    """Main + rest of blocks of one shape, in scratch arrays."""

    def __init__(self, left: Split, right: Split, block: AnchorBlock, scratch: Scratch) -> None:
        size = block.size * left.whole.shape[1]
        main, rest, other = (scratch.get(name, size, np.complex128) for name in ("product", "rest", "other"))
        self._outers = (
            Outer(np.multiply, left.coarse, right.coarse, block, main),
            Outer(np.multiply, left.coarse, right.rest, block, rest),
            Outer(np.multiply, left.rest, right.whole, block, other),
        )
        self._main, self.high, self.low = (z.view(np.float64) for z in (main, rest, other))

    def __call__(self, anchor: int, bound: float, out: NDArray[np.float64]) -> None:
        """Make ``out`` and ``high`` of the values with the bound taken away and added; ``low`` may be ``out``."""
        with short_buffers():
            for product in self._outers:
                product(anchor)
        self.high += self.low
        np.subtract(self.high, bound, self.low)
        self.high += bound
        np.add(self._main.reshape(out.shape), self.low.reshape(out.shape), out)
        self.high += self._main
