"""Long runs of a narrow type: products of a ladder's rows, rounded and tested.

Error of a candidate, with u = 2^-53, relative to its modulus in the complex plane (the magnitude).
The rows that a ladder is made of err by 2^-56.5 in each part, so by 2^-56 in the plane; a value has
four of them: u/2.  Their first products are carried as hi + lo, to 2^-76, and each rounded to one
complex128: u for the anchor, u for the offset.  The last product errs by sqrt(5) u (Brent,
Percival and Zimmermann 2007; with fused multiply-add by 2u).  Together 4.8 u; the second stage takes
the bias away, which costs two roundings more: 6.8 u < 2^-50.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pecli.engine.anchors import Anchors
from pecli.engine.blocks import AnchorBlock, Outer, blocks, short_buffers
from pecli.engine.layout import PairLayout
from pecli.engine.narrowing import DoubtWindow, Flags, Rounder, decide, product_type, put
from pecli.engine.product import join
from pecli.engine.scratch import Scratch

Integers = NDArray[np.int64]

FIRST_PLANE = 2.0**-50.7
"""Absolute error of a candidate at the first stage, in units of the magnitude: 4.8 u, derived above."""

PLANE = 2.0**-50
"""The same at the second stage, 6.8 u."""

RELATIVE = 2.0**-46
"""Relative error of each part while the angle is below an eighth of a turn.

A ladder's rows err by 2^-50.5 = 5.7 u relative to each part.  In sin a cos b + cos a sin b nothing
cancels; a coarse half is at most twice its part, so the product adds less than 10 u, rounding
another u: 22.4 u for anchor and offset each, 47 u with the last product.  cos a cos b - sin a sin b
may lose the factor cos(a - b) / cos(a + b) <= 1.42 at either step: 95 u < 2^-46.
"""

SMALL = 1.25 * 2.0**-13
"""Sines and cosines below this are found by their phases: about as many as the window flags of the others."""

WINDOW = DoubtWindow(FIRST_PLANE / SMALL)

NEAR = int(SMALL * 65536) + 1
"""|sin(pi x / 2)| >= x for x in [0, 1]: where four times the phase is farther than SMALL from
every integer, neither sine nor cosine is small.  In 2^-16, rounded up."""

CUT = 4
"""Four phases, each rounded down by less than 1, are added up."""

SMALLEST = {"float16": 2.0**-13.8, "bfloat16": 2.0**-125.8, "float32": 2.0**-125.8}
"""Angles whose sine is a normal number, for which alone the windows hold: below pi/4 it is at least 0.9 of them."""


class NarrowRun:
    """Rows n = first..last-1 of a ladder, all of one group of anchors.

    ``mirrored``: of the negative multiples.
    """

    def __init__(
        self, anchors: Anchors, first: int, last: int, layout: PairLayout, dtype: str, mirrored: bool, scratch: Scratch
    ) -> None:
        self.anchors, self.ladder, self.wheel = anchors, anchors.ladder, anchors.ladder.wheel
        self.first, self.last, self.layout = first, last, layout
        self.dtype, self.mirrored, self.scratch = dtype, mirrored, scratch
        self.swapped = layout.pair is not None and layout.sine_first
        # exp(-ix) comes of conjugates, and sin + i cos = i (cos - i sin)
        conjugate = mirrored != self.swapped
        self.left, self.right = anchors.turned(conjugate, self.swapped), self.ladder.offsets(conjugate)

    def fill(self, pairs: int) -> None:
        """Compute in blocks of so many pairs, round, and settle what is doubtful."""
        width = self.wheel.count
        size = (self.last - self.first) * width
        doubtful, small = Flags(2 * size, "doubtful", self.scratch), Flags(size, "small", self.scratch)
        left, right = self.anchors.near(self.dtype, SMALLEST[self.dtype], NEAR + CUT)
        made: dict[tuple[int, int, int], tuple[Outer, Rounder, Outer, NDArray[np.uint16]]] = {}
        with short_buffers():
            for block in blocks(self.ladder.block, width, self.first, self.last, pairs):
                if block.shape not in made:
                    near = self.scratch.get("near", block.size * width, np.uint16)
                    made[block.shape] = *self._tools(block), Outer(np.add, left, right, block, near), near
                product, rounder, phase, near = made[block.shape]
                anchor, place = block.anchor - self.anchors.base, block.start * width
                product(anchor)
                rounder(block.start, doubtful.part(2 * place, 2 * block.size * width))
                phase(anchor)
                np.less_equal(near, 2 * NEAR + CUT, small.part(place, block.size * width))
        self._settle(np.concatenate([doubtful.places() >> 1, small.places()]))

    def _tools(self, block: AnchorBlock) -> tuple[Outer, Rounder]:
        """Make what computes and what rounds blocks of this shape."""
        width = self.wheel.count
        kind = product_type(self.dtype)
        z = self.scratch.get(f"product {kind.__name__}", block.size * width, kind)
        rounder = Rounder(z.reshape(-1, width), self.layout, self.swapped, self.dtype, WINDOW, self.scratch)
        return Outer(np.multiply, self.left, self.right, block, z), rounder

    def _settle(self, places: Integers) -> None:
        """Second stage: decide by the absolute bound, and exactly where that fails."""
        rows, columns = np.divmod(places, self.wheel.count)
        n = rows + self.first
        multiples = n * self.ladder.step + self.ladder.offset
        if self.wheel.still.size or self.ladder.offset + self.ladder.step * self.first == 0:
            moving = (multiples != 0) & (self.wheel.speed[columns] != 0)
            rows, columns, n, multiples = rows[moving], columns[moving], n[moving], multiples[moving]
        if not rows.size:
            return
        anchor, offset = np.divmod(n, self.ladder.block)
        value = self.left[anchor - self.anchors.base, columns]
        value *= self.right[offset, columns]
        value *= 1.0 / WINDOW.bias
        if self.swapped:
            value = join(value.imag, value.real)
        if self.mirrored:
            multiples = -multiples
        error: float | NDArray[np.float64] = PLANE * abs(float(self.wheel.magnitude.hi))
        if self.anchors.slow.any():
            relative = np.abs(value.view(np.float64).reshape(-1, 2)) * RELATIVE
            error = np.where(self.anchors.slow[columns][:, None], relative, error)
        values = decide(self.wheel, multiples, columns, value, error, self.dtype)
        put(self.layout, "cos", rows, columns, values[:, 0])
        put(self.layout, "sin", rows, columns, values[:, 1])
