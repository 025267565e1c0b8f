"""Long runs: blocks of products of a ladder's rows, tested and rounded.

Error of a candidate, with u = 2^-53.  A row from `single_point` errs by 2^-50.5 relative to each
part, so by E1 = 2^-50.5 in the complex plane relative to its modulus 1.  A row of a table is a
product of four of those (C, D and two of W) by three complex products, of which each errs by at
most sqrt(5) u (Brent, Percival, Zimmermann 2007; with fused multiply-add by 2u), and is scaled by the
magnitude and the bias, u each and u for the magnitude's own rounding:
4 * 2^-50.5 + 3 * 2.24 u + 3 u < 33 u = 2^-47.9.  That is SINGLE_PLANE with room to spare.
For columns whose angle stays below an eighth of a turn the same bound holds relative to sine and
cosine: see `RELATIVE`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.phase.layout import Layout
from pecli.phase.narrowing import Scratch, Window, store
from pecli.phase.product import GROUP, Ladder, Single, Wide
from pecli.phase.rounding import narrow, storage
from pecli.phase.short import put
from pecli.phase.wheel import Wheel

Complex = NDArray[np.complex128]
Integers = NDArray[np.int64]

BLOCK = 1 << 16
"""Pairs per call of NumPy: small calls lose to the interpreter's lock, large ones leave the cache."""

PLANE = 2.0**-49
"""Absolute error of a candidate without magnitude, in the complex plane; derived above."""

RELATIVE = 2.0**-46
"""Relative error of each part while the angle is below an eighth of a turn.

Relative errors of the factors' parts add up; sin a cos b + cos a sin b has terms of one sign, so
rounding adds 2u of it; cos a cos b - sin a sin b loses at most the factor cos(a - b) / cos(a + b)
<= 1.42 in each of the three products: 1.42^3 (4 * 2^-50.5 + 3 * 3 u) + 3 u < 2^-46.
"""

SMALL = 2.0**-12
"""Sines and cosines below this are tested by their phase; above, an error of PLANE is 2^-36.5 of them."""

WINDOW = Window(PLANE / SMALL)

NEAR = int(SMALL * 65536) + 1
"""|sin(pi x / 2)| >= x for x in [0, 1]: where four times the phase is farther than SMALL from
every integer, sine and cosine are not small.  In 2^-16, rounded up."""

CUT = 4
"""Four phases rounded down are added: their sum is at most this much too small."""

WIDE_ERROR = 2.0**-74
"""Absolute error of main + rest in `_wide_block`, for a magnitude of at most 1.

Rows of `doubled_point` are kept to 2^-80 (the rounding of the rest, in `Wide.fixed`).  A product
drops a2 b2's share of the rounding of b1 + b2 (2^-27 u), and rounds a1 b2 and a2 (b1 + b2), both
below 2^-26, by sqrt(5) u each and their sum by 2^-25 u: less than 2^-76.6 in all.  W is one
product, the anchor another, the value the third: 3 * 2^-76.6 + 4 * 2^-80 < 2^-74.9; the magnitude
and the addition of the bound itself add less than 2^-77.
"""


def fill_long(
    ladder: Ladder, first: int, last: int, layout: Layout, dtype: str, mirrored: bool, scratch: Scratch
) -> None:
    """Fill the rows n = first..last-1 of a ladder; ``mirrored``: of the negative multiples."""
    if dtype == "float64":
        _fill_wide(ladder, first, last, layout, mirrored, scratch)
    else:
        _Narrow(ladder, first, last, layout, dtype, mirrored, scratch).fill()


def _blocks(ladder: Ladder, first: int, last: int) -> list[tuple[int, int, int, int]]:
    """(anchor, anchors, from row, to row): whole anchors in groups, parts of one at the ends."""
    size = ladder.block
    group = max(1, BLOCK // (size * ladder.wheel.count))
    found = []
    at = first
    while at < last:
        anchor, row = divmod(at, size)
        if row or last - at < size:
            stop = min(size, row + last - at)
            found.append((anchor, 1, row, stop))
            at += stop - row
        else:
            count = min(group, (last - at) // size)
            found.append((anchor, count, 0, size))
            at += count * size
    return found


class _Narrow:
    """One stretch of a narrow table."""

    def __init__(
        self, ladder: Ladder, first: int, last: int, layout: Layout, dtype: str, mirrored: bool, scratch: Scratch
    ) -> None:
        self.ladder, self.first, self.last, self.layout = ladder, first, last, layout
        self.dtype, self.mirrored, self.scratch = dtype, mirrored, scratch
        self.wheel: Wheel = ladder.wheel
        self.swapped = layout.pair is not None and layout.sine_first
        self.base = first // ladder.block
        anchors = ladder.anchors(self.base, -(-last // ladder.block))
        assert isinstance(anchors, Single)
        assert isinstance(ladder.offsets, Single)
        self.factor = float(self.wheel.magnitude.hi)
        self.anchors = anchors.point * self.factor
        self.offsets = ladder.offsets.point
        # sin + i cos = i (cos - i sin): conjugates and a factor i give every order and sign
        conjugate = self.mirrored != self.swapped
        turn = (1j if self.swapped else 1.0) * (WINDOW.bias if dtype == "float32" else 1.0)
        self.left = (self.anchors.conj() if conjugate else self.anchors) * turn
        self.right = self._conjugates() if conjugate else self.offsets
        self._quarters(anchors.quarter, ladder.offsets.quarter)

    def _conjugates(self) -> Complex:
        with self.wheel.lock:
            found = self.ladder.derived.setdefault("conjugate", None)
            if found is None:
                found = self.ladder.derived["conjugate"] = self.offsets.conj()
        assert isinstance(found, np.ndarray)
        return found

    def _quarters(self, anchors: NDArray[np.uint16], offsets: NDArray[np.uint16]) -> None:
        """Phases for the test of small values; columns that need none are set far from any."""
        top = self.ladder.offset + self.ladder.step * self.last
        self.slow = self.wheel.speed * top <= 0.125
        low = self.wheel.speed * (6.28 * abs(self.factor)) * max(1, self.ladder.offset + self.ladder.step * self.first)
        normal = low >= {"float16": 2.0**-13.9, "bfloat16": 2.0**-125.9, "float32": 2.0**-125.9}[self.dtype]
        exempt = (self.slow & normal) | (self.wheel.speed == 0)
        self.left_quarters = anchors + np.uint16(NEAR + CUT)
        self.right_quarters = offsets
        if exempt.any():
            self.left_quarters[:, exempt] = 0x8000
            self.right_quarters = offsets.copy()
            self.right_quarters[:, exempt] = 0

    def fill(self) -> None:
        """Compute, round, and settle what is doubtful."""
        if not self._ordinary():
            rows, columns = np.divmod(np.arange((self.last - self.first) * self.wheel.count), self.wheel.count)
            self._settle(rows, columns)
            return
        places = []
        for anchor, count, low, high in _blocks(self.ladder, self.first, self.last):
            start = anchor * self.ladder.block + low - self.first
            rows = count * (high - low)
            layout = self.layout.rows(slice(start, start + rows))
            k = anchor - self.base
            z = self._product(self.left, self.right, k, count, low, high, "product", np.complex128)
            doubtful = store(z, layout, self.swapped, self.dtype, WINDOW, self.scratch)
            quarter = self._product(
                self.left_quarters, self.right_quarters, k, count, low, high, "quarter", np.uint16
            )
            from pecli.phase.narrowing import hits

            small = hits(quarter.reshape(-1), 2 * NEAR + CUT)
            places += [doubtful + start * self.wheel.count, small + start * self.wheel.count]
        place = np.concatenate(places)
        if place.size:
            self._settle(*np.divmod(place, self.wheel.count))

    def _ordinary(self) -> bool:
        """Whether all sizes are normal numbers of the narrow type but for sizes of the trigonometric functions."""
        size = abs(self.factor)
        if self.dtype == "float16":
            return 2.0**-3 <= size <= 2.0**15
        return 2.0**-100 <= size <= 2.0**100

    def _product(
        self, left: NDArray[Any], right: NDArray[Any], k: int, count: int, low: int, high: int, name: str, kind: Any
    ) -> NDArray[Any]:
        """Rows of ``count`` anchors from ``k``: products, or sums of phases, in a scratch array."""
        width = self.wheel.count
        rows = high - low
        combine = np.add if kind is np.uint16 else np.multiply
        out = self.scratch.get(name, count * rows * width, kind)
        tile = max(1, 512 // width)
        tile = 1 << (tile.bit_length() - 1)
        if tile > 1 and rows % tile == 0:
            wide = np.broadcast_to(left[k : k + count, None, None], (count, 1, tile, width)).reshape(count, 1, -1)
            combine(wide, right[low:high].reshape(1, -1, tile * width), out=out.reshape(count, -1, tile * width))
        else:
            combine(left[k : k + count, None], right[None, low:high], out=out.reshape(count, rows, width))
        return out.reshape(count * rows, width)

    def _settle(self, rows: Integers, columns: Integers) -> None:
        """Second stage: decide by the absolute bound, and exactly where that fails."""
        n = rows + self.first
        anchor, offset = np.divmod(n, self.ladder.block)
        value = self.anchors[anchor - self.base, columns] * self.offsets[offset, columns]
        slow = self.slow[columns]
        multiples = n * self.ladder.step + self.ladder.offset
        if self.mirrored:
            value = value.conj()
            multiples = -multiples
        for part, number in (("cos", value.real), ("sin", value.imag)):
            error = np.where(slow, np.abs(number) * RELATIVE, PLANE * abs(self.factor))
            above = narrow(number + error, None, self.dtype)
            below = narrow(number - error, None, self.dtype)
            doubtful = np.flatnonzero(above.view(f"u{above.itemsize}") != below.view(f"u{below.itemsize}"))
            if doubtful.size:
                exact = self.wheel.settle(multiples[doubtful], columns[doubtful], part, self.dtype)
                above[doubtful] = narrow(exact, None, self.dtype)
            put(self.layout, part, rows, columns, above)


def _fill_wide(
    ladder: Ladder, first: int, last: int, layout: Layout, mirrored: bool, scratch: Scratch
) -> None:
    wheel = ladder.wheel
    base = first // ladder.block
    anchors = ladder.anchors(base, -(-last // ladder.block))
    assert isinstance(anchors, Wide)
    magnitude = float(wheel.magnitude.hi)
    exponent = int(np.frexp(abs(magnitude))[1]) if wheel.exact.factor != 1 else 0
    if wheel.exact.factor != 1:
        anchors = anchors.scaled(wheel.magnitude)
    swapped = layout.pair is not None and layout.sine_first
    conjugate = mirrored != swapped
    a1, a2 = anchors.fixed(exponent)
    b1, b2, b = _wide_offsets(ladder, conjugate)
    if conjugate:
        a1, a2 = a1.conj(), a2.conj()
    if swapped:
        # times i without a multiplication: (x + iy) i = -y + ix
        a1, a2 = (_join(-a.imag, a.real) for a in (a1, a2))
    bound = WIDE_ERROR * 2.0**exponent
    width = wheel.count
    for anchor, count, low, high in _blocks(ladder, first, last):
        start = anchor * ladder.block + low - first
        k = slice(anchor - base, anchor - base + count)
        rows = count * (high - low)
        size = rows * width
        main = scratch.get("main", size, np.complex128)
        rest = scratch.get("rest", size, np.complex128)
        third = scratch.get("third", size, np.complex128)
        shape = (count, high - low, width)
        np.multiply(a1[k, None], b1[None, low:high], out=main.reshape(shape))
        np.multiply(a1[k, None], b2[None, low:high], out=rest.reshape(shape))
        np.multiply(a2[k, None], b[None, low:high], out=third.reshape(shape))
        f, g, h = (x.view(np.float64) for x in (main, rest, third))
        np.add(g, h, out=g)
        np.subtract(g, bound, out=h)
        np.add(g, bound, out=g)
        np.add(f, h, out=h)
        np.add(f, g, out=g)
        mask = scratch.get("mask", g.size, np.bool_)
        np.not_equal(g, h, out=mask)
        here = layout.rows(slice(start, start + rows))
        if here.pair is not None:
            here.pair[...] = g.reshape(rows, 2 * width)[:, : here.pair.shape[1]]
        z = rest.reshape(rows, width)
        for part, view in here.singles:
            source = z.imag if (part == "sin") != swapped else z.real
            view[...] = source[:, : view.shape[1]]
        if mask.any():
            place = np.flatnonzero(mask)
            row, column = np.divmod(place >> 1, width)
            multiples = (row + (start + first)) * ladder.step + ladder.offset
            if mirrored:
                multiples = -multiples
            for odd, part in enumerate(("sin", "cos") if swapped else ("cos", "sin")):
                pick = np.flatnonzero((place & 1) == odd)
                if pick.size:
                    exact = wheel.settle(multiples[pick], column[pick], part, "float64")
                    put(here, part, row[pick], column[pick], exact)


def _join(real: NDArray[np.float64], imag: NDArray[np.float64]) -> Complex:
    whole = np.empty(real.shape, dtype=np.complex128)
    whole.real, whole.imag = real, imag
    return whole


def _wide_offsets(ladder: Ladder, conjugate: bool) -> tuple[Complex, Complex, Complex]:
    key = ("fixed", conjugate)
    with ladder.wheel.lock:
        found = ladder.derived.get(key)
        if found is None:
            assert isinstance(ladder.offsets, Wide)
            b1, b2 = ladder.offsets.fixed()
            if conjugate:
                b1, b2 = b1.conj(), b2.conj()
            found = ladder.derived[key] = (b1, b2, b1 + b2)
    assert isinstance(found, tuple)
    return found
