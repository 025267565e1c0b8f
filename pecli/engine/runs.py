"""Long runs of rows: products of a rotation table's rows, rounded and tested, in narrow types and in float64.

A run is cut into blocks, each an outer product. In a narrow type the error of a candidate, with u = 2^-53, is
relative to its modulus in the complex plane (the magnitude). The rows that a rotation table is made of err by 2^-56.5
in each part, so by 2^-56 in the plane; a value has four of them: u/2. Their first products are carried as hi + lo, to
2^-76, and each rounded to one complex128: u for the anchor, u for the offset. The last product errs by sqrt(5) u
(Brent, Percival and Zimmermann 2007; with fused multiply-add by 2u). Together 4.8 u; the second stage takes the bias
away, which costs two roundings more: 6.8 u < 2^-50.

In float64 products are carried as main + rest. The sum main + rest is formed twice, with the rest moved by the error
bound either way; where the two roundings agree the value is correctly rounded, elsewhere (some in a hundred thousand)
it is decided exactly.

`fill_points` gives the cosines and sines of a run unrounded, for further computation.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pecli.engine.frequencies import FrequencySet, Part
from pecli.engine.narrowing import DoubtWindow, Flags, PairLayout, Rounder, decide, ordinary, product_type, put
from pecli.engine.rotation_tables import Complex, Split, StepRotations, anchors_at, exchanged, group_size, table_for
from pecli.engine.threads import Scratch

# Pairs that NumPy's innermost loop should have at most where it can, and more than half of that.
#
# Few make it slow; and NumPy's buffer is cut to this size around products, or else it would copy
# each anchor's row again and again to make a longer loop of several, which costs half as much as
# the products themselves.
INNER = 512


@contextmanager
def short_buffers() -> Iterator[None]:
    """Cut NumPy's buffers in the calling thread; values do not depend on it."""
    before = np.setbufsize(INNER)
    try:
        yield
    finally:
        np.setbufsize(before)


class AnchorBlock(NamedTuple):
    """Rows low..high-1 of each of several anchors from ``anchor`` on, which fill rows from ``start``."""

    anchor: int
    anchors: int
    low: int
    high: int
    start: int

    @property
    def size(self) -> int:
        """Number of rows."""
        return self.anchors * (self.high - self.low)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Shape shared by blocks that can use the same arrays."""
        return self.anchors, self.low, self.high


def blocks(size: int, columns: int, first: int, last: int, pairs: int) -> Iterator[AnchorBlock]:
    """Cut rows first..last-1 into blocks of ``pairs`` pairs or fewer, or of one row.

    Whole anchors of ``size`` rows in groups, parts of one at the ends and where one is too large.
    """
    most = max(1, pairs // columns)
    at = first
    while at < last:
        anchor, row = divmod(at, size)
        if row or last - at < size or most < size:
            found = AnchorBlock(anchor, 1, row, min(size, row + min(most, last - at)), at - first)
        else:
            found = AnchorBlock(anchor, min(most, last - at) // size, 0, size, at - first)
        yield found
        at += found.size


class Outer:
    """Combines each of some anchors' rows with the same offsets' rows, into one flat array.

    Narrow rows are taken several at a time: the anchor is repeated in the same row.
    """

    def __init__(
        self, combine: np.ufunc, left: NDArray[Any], right: NDArray[Any], block: AnchorBlock, out: NDArray[Any]
    ) -> None:
        width = left.shape[1]
        tile = 1 << (max(1, INNER // width).bit_length() - 1)
        if (block.high - block.low) % tile:
            tile = 1
        self._combine, self._tile = combine, tile
        self._left = left[:, None, None]
        self._right = right[block.low : block.high].reshape(-1, tile * width)
        self._count = block.anchors
        self._out = out.reshape(block.anchors, *self._right.shape)

    def __call__(self, anchor: int) -> None:
        """Combine the rows of ``count`` anchors from this one."""
        left = self._left[anchor : anchor + self._count]
        if self._tile > 1:
            left = left.repeat(self._tile, axis=2)
        self._combine(left.reshape(self._count, 1, -1), self._right, self._out)


Integers = NDArray[np.int64]

# Absolute error of a candidate at the first stage, in units of the magnitude: 4.8 u, derived above.
FIRST_PLANE = 2.0**-50.7

# Error bound at the second stage, 6.8 u.
PLANE = 2.0**-50

# Relative error of each part while the angle is below an eighth of a turn.
#
# A rotation table's rows err by 2^-50.5 = 5.7 u relative to each part.  In sin a cos b + cos a sin b nothing
# cancels; a coarse half is at most twice its part, so the product adds less than 10 u, rounding
# another u: 22.4 u for anchor and offset each, 47 u with the last product.  cos a cos b - sin a sin b
# may lose the factor cos(a - b) / cos(a + b) <= 1.42 at either step: 95 u < 2^-46.
RELATIVE = 2.0**-46

# Sines and cosines below this are found by their phases: about as many as the window flags of the others.
SMALL = 1.25 * 2.0**-13

WINDOW = DoubtWindow(FIRST_PLANE / SMALL)

# |sin(pi x / 2)| >= x for x in [0, 1]: where four times the phase is farther than SMALL from
# every integer, neither sine nor cosine is small.  In 2^-16, rounded up.
NEAR_ZERO = int(SMALL * 65536) + 1

# Four phases, each rounded down by less than 1, are added up.
CUT = 4

# Angles whose sine is a normal number, for which alone the windows hold: below pi/4 it is at least 0.9 of them.
SMALLEST = {"float16": 2.0**-13.8, "bfloat16": 2.0**-125.8, "float32": 2.0**-125.8}


def settle(
    freqs: FrequencySet, multiples: Integers, layout: PairLayout, rows: Integers, columns: Integers, value: Complex,
    window: DoubtWindow, plane: float, slow: NDArray[np.bool_], dtype: str,
) -> None:  # fmt: skip
    """Decide doubtful products of a table's factors: by the error in the plane, in `slow` columns by `RELATIVE`.

    ``value`` has the bias of the window, and sin + i cos where the layout wants the sine first.
    """
    value *= 1.0 / window.bias
    if layout.sine_first:
        value = exchanged(value)
    relative = np.abs(value.view(np.float64).reshape(-1, 2)) * RELATIVE
    error = np.where(slow[columns][:, None], relative, plane * abs(float(freqs.magnitude.hi)))
    decide(freqs, multiples, layout, rows, columns, value, error, dtype)


def fill_narrow(
    anchors: StepRotations, first: int, last: int, layout: PairLayout, dtype: str, scratch: Scratch, pairs: int
) -> None:
    """Fill rows n = first..last-1 of a rotation table, all of one group of anchors, in a narrow type.

    They are computed in blocks of at most ``pairs`` pairs and rounded; doubtful roundings are decided exactly.
    """
    table, freqs, swapped = anchors.table, anchors.table.freqs, layout.sine_first
    (left,), (right,) = anchors.factors(swapped), table.offsets(swapped)
    width, kind = freqs.count, product_type(dtype)
    size = (last - first) * width
    doubtful, small = Flags(2 * size, "doubtful", scratch), Flags(size, "small", scratch)
    phases = anchors.near(dtype, SMALLEST[dtype], NEAR_ZERO + CUT)
    made: dict[tuple[int, int, int], tuple[Outer, Rounder, Outer, NDArray[np.uint16]]] = {}
    with short_buffers():
        for block in blocks(table.block, width, first, last, pairs):
            if block.shape not in made:
                z = scratch.get(f"product {kind.__name__}", block.size * width, kind)
                near = scratch.get("near", block.size * width, np.uint16)
                rounder = Rounder(z.reshape(-1, width), layout, swapped, dtype, WINDOW, scratch)
                product = Outer(np.multiply, left, right, block, z)
                made[block.shape] = product, rounder, Outer(np.add, *phases, block, near), near
            product, rounder, phase, near = made[block.shape]
            anchor, place = block.anchor - anchors.base, block.start * width
            product(anchor)
            rounder(block.start, doubtful.part(2 * place, 2 * block.size * width))
            phase(anchor)
            np.less_equal(near, 2 * NEAR_ZERO + CUT, small.part(place, block.size * width))
    # second stage: decide by the absolute bound, and exactly where that fails
    rows, columns = np.divmod(np.concatenate([doubtful.places() >> 1, small.places()]), width)
    n = rows + first
    anchor_rows, offset_rows = np.divmod(n, table.block)
    value = left[anchor_rows - anchors.base, columns] * right[offset_rows, columns]
    multiples = n * table.step + table.offset
    settle(freqs, multiples, layout, rows, columns, value, WINDOW, PLANE, anchors.slow, dtype)


# Absolute error of main + remainder in the complex plane, for a magnitude of at most 1.
#
# A rotation table's doubled rows are good to 2^-84.  Offset, anchor and value are one product each,
# STEP_ERROR = 2^-76; the magnitude adds 2^-100, the bound's own addition to a rest below 2^-25
# another 2^-78: 3 * 2^-76 + 2^-78 + 4 * 2^-84 < 0.82 * 2^-74.
ERROR = 2.0**-74


def fill_wide(anchors: StepRotations, first: int, last: int, layout: PairLayout, scratch: Scratch, pairs: int) -> None:
    """Do the same in float64."""
    table, freqs, swapped = anchors.table, anchors.table.freqs, layout.sine_first
    width, bound = freqs.count, ERROR * 2.0**table.exponent
    flags = Flags(2 * (last - first) * width, "doubtful", scratch)
    straight = layout.pair is not None and layout.pair.shape[1] == 2 * width
    made: dict[tuple[int, int, int], _Products] = {}
    for block in blocks(table.block, width, first, last, pairs):
        if block.shape not in made:
            left, right = (Split(*z) for z in (anchors.factors(swapped), table.offsets(swapped)))
            made[block.shape] = _Products(left, right, block, scratch)
        products, here = made[block.shape], layout.rows(slice(block.start, block.start + block.size))
        low, high = (z.reshape(-1, 2 * width) for z in (products.low, products.high))
        if straight and here.pair is not None:
            low = here.pair  # the sum is formed where it belongs
        products(block.anchor - anchors.base, bound, low)
        if here.pair is not None and low is not here.pair:
            np.copyto(here.pair, low[:, : here.pair.shape[1]])
        for name, view in here.singles:
            np.copyto(view, low[:, int((name == "sin") != swapped) :: 2][:, : view.shape[1]])
        doubtful = flags.part(2 * block.start * width, low.size).reshape(low.shape)
        np.not_equal(low, high, doubtful)
    places = flags.places()
    rows, columns = np.divmod(places >> 1, width)
    multiples = (rows + first) * table.step + table.offset
    moving = (multiples != 0) & (freqs.turns_per_step[columns] != 0)
    parts: tuple[Part, Part] = ("sin", "cos") if swapped else ("cos", "sin")
    for odd, part in enumerate(parts):
        chosen = (moving & ((places & 1) == odd)).nonzero()[0]
        if chosen.size:
            exact = freqs.round_correctly(multiples[chosen], columns[chosen], part, "float64")
            put(layout, part, rows[chosen], columns[chosen], exact)


class _Products:
    """Products of blocks of one shape as main + remainder, in scratch arrays."""

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


# Pairs that are multiplied at once.
PAIRS = 1 << 17


def plane_error(freqs: FrequencySet) -> float:
    """Return how far the points of `fill_points` may be off in the complex plane: 6.8 u of the magnitude."""
    return PLANE * abs(float(freqs.magnitude.hi))


def has_points(freqs: FrequencySet, multiples: range) -> bool:
    """Whether `fill_points` serves a run: upward, of no negative multiple, and for a magnitude that is no extreme."""
    return multiples.start >= 0 and multiples.step > 0 and ordinary(float(freqs.magnitude.hi), "float32")


def fill_points(freqs: FrequencySet, multiples: range, out: Complex) -> None:
    """Write cos + i sin of the rows of a run, magnitude included, within `plane_error`.

    Parameters
    ----------
    freqs : FrequencySet
        The frequencies.
    multiples : range
        See `has_points`; parts of one long run share a rotation table.
    out : (len(multiples), columns) complex128 ndarray
        Where to; contiguous.
    """
    offset, first = multiples.start % multiples.step, multiples.start // multiples.step
    last = first + len(multiples)
    table = table_for(freqs, offset, multiples.step, False, WINDOW.bias, len(multiples))
    (right,), group = table.offsets(False), group_size(table) * table.block
    at = first
    with short_buffers():
        while at < last:
            anchors, stop = anchors_at(table, at // group), min((at // group + 1) * group, last)
            left = anchors.factors(False)[0] * (1.0 / WINDOW.bias)
            for block in blocks(table.block, freqs.count, at, stop, PAIRS):
                start = at - first + block.start
                target = out[start : start + block.size].reshape(-1)
                Outer(np.multiply, left, right, block, target)(block.anchor - anchors.base)
            at = stop
