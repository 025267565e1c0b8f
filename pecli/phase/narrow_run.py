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

from pecli.phase.blocks import Block, Outer, blocks
from pecli.phase.ladder import Ladder
from pecli.phase.layout import Layout
from pecli.phase.narrowing import Rounder, Scratch, Window, at_most, decide, put

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

WINDOW = Window(FIRST_PLANE / SMALL)

NEAR = int(SMALL * 65536) + 1
"""|sin(pi x / 2)| >= x for x in [0, 1]: where four times the phase is farther than SMALL from
every integer, neither sine nor cosine is small.  In 2^-16, rounded up."""

CUT = 4
"""Four phases, each rounded down by less than 1, are added up."""

SMALLEST = {"float16": 2.0**-13.8, "bfloat16": 2.0**-125.8, "float32": 2.0**-125.8}
"""Angles whose sine is a normal number, for which alone the windows hold: below pi/4 it is at least 0.9 of them."""


class NarrowRun:
    """Rows n = first..last-1 of a ladder; ``mirrored``: of the negative multiples."""

    def __init__(
        self,
        ladder: Ladder,
        first: int,
        last: int,
        layout: Layout,
        dtype: str,
        mirrored: bool,
        scratch: Scratch,
        pairs: int,
    ) -> None:
        self.ladder, self.first, self.last, self.layout = ladder, first, last, layout
        self.dtype, self.mirrored, self.scratch, self.pairs = dtype, mirrored, scratch, pairs
        self.wheel = ladder.wheel
        self.swapped = layout.pair is not None and layout.sine_first
        self.base, self.top = first // ladder.block, -(-last // ladder.block)
        self.anchors = ladder.anchors(self.base, self.top)
        # exp(-ix) comes of conjugates, and sin + i cos = i (cos - i sin)
        self.conjugate = mirrored != self.swapped
        self.slow = self.wheel.speed * (ladder.offset + ladder.step * last) <= 0.125

    def fill(self) -> None:
        """Compute, round, and settle what is doubtful."""
        left = self.anchors.conj() if self.conjugate else self.anchors
        if self.swapped:
            left = left * 1j
        width, size = self.wheel.count, self.ladder.block
        doubtful = self._small()
        made: dict[tuple[int, int, int], tuple[Outer, Rounder]] = {}
        for block in blocks(size, width, self.first, self.last, self.pairs):
            if block.shape not in made:
                made[block.shape] = self._tools(left, block)
            product, rounder = made[block.shape]
            product(block.anchor)
            doubtful.append(rounder(block.start) + block.start * width)
        self._settle(np.concatenate(doubtful))

    def _tools(self, left: NDArray[np.complex128], block: Block) -> tuple[Outer, Rounder]:
        width = self.wheel.count
        z = self.scratch.get("product", block.size * width, np.complex128)
        product = Outer(np.multiply, left, self.ladder.offsets(self.conjugate), block, z)
        rounder = Rounder(z.reshape(-1, width), self.layout, self.swapped, self.dtype, WINDOW, self.scratch)
        return product, rounder

    def _small(self) -> list[Integers]:
        """Places of small sines and cosines."""
        width = self.wheel.count
        left, right = self._quarters()
        found = []
        for block in blocks(self.ladder.block, width, self.first, self.last, self.pairs):
            near = self.scratch.get("near", block.size * width, np.uint16)
            Outer(np.add, left, right, block, near)(block.anchor)
            found.append(at_most(near, 2 * NEAR + CUT, self.scratch) + block.start * width)
        return found

    def _quarters(self) -> tuple[NDArray[np.uint16], NDArray[np.uint16]]:
        """Four times the phases, so that their sum is small near an integer.

        Slow columns need no such test while their values are normal numbers (see RELATIVE), still
        ones are stored separately: they are set far from any integer.
        """
        ladder = self.ladder
        smallest = self.wheel.speed * max(1, ladder.offset + ladder.step * self.first)
        normal = smallest * (6.28 * abs(float(self.wheel.magnitude.hi))) >= SMALLEST[self.dtype]
        exempt = (self.slow & normal) | (self.wheel.speed == 0)
        left = ladder.anchor_quarters(self.base, self.top) + np.uint16(NEAR + CUT)
        right = ladder.offset_quarters()
        if exempt.any():
            left[:, exempt] = 0x8000
            right = right.copy()
            right[:, exempt] = 0
        return left, right

    def _settle(self, places: Integers) -> None:
        """Second stage: decide by the absolute bound, and exactly where that fails."""
        rows, columns = np.divmod(places, self.wheel.count)
        n = rows + self.first
        multiples = n * self.ladder.step + self.ladder.offset
        moving = (multiples != 0) & (self.wheel.speed[columns] != 0)
        if not moving.all():
            rows, columns, n, multiples = rows[moving], columns[moving], n[moving], multiples[moving]
        if not rows.size:
            return
        anchor, offset = np.divmod(n, self.ladder.block)
        value = self.anchors[anchor - self.base, columns] * self.ladder.offsets(False)[offset, columns]
        if self.mirrored:
            value, multiples = value.conj(), -multiples
        slow = self.slow[columns]
        bound = PLANE * abs(float(self.wheel.magnitude.hi))
        for part, number in (("cos", value.real), ("sin", value.imag)):
            number = number * (1.0 / WINDOW.bias)
            error = np.where(slow, np.abs(number) * RELATIVE, bound)
            values = decide(self.wheel, multiples, columns, part, number, error, self.dtype)
            put(self.layout, part, rows, columns, values)
