"""Long runs of rows by angle addition: e^(i(a + b)w) = e^(iaw) e^(ibw).

A ladder serves the multiples offset + step n, n >= 0.  With n = B (S q + d) + r, a row is
C_q D_d W_r: W of r = 0..B-1 and D of d = 0..S-1 are made once, C as needed, and the anchors
A = C D serve B rows each.  All multiples are counted upwards from the offset, so no angle is the
difference of two larger ones: as long as a whole angle stays below an eighth of a turn, sums of
sines and cosines do not cancel and the product is accurate relative to each part.

Two kinds: single ones carry complex128 rows, the candidates of the narrow types; wide ones carry
pairs hi + lo for float64.  The products here are candidates: a fused multiply-add may change
their last bits from one CPU to another, which the rounding test absorbs.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from pecli.phase.doubled import Doubled, multiply, quick_two_sum, two_sum
from pecli.phase.wheel import Wheel

Complex = NDArray[np.complex128]
Quarters = NDArray[np.uint16]

SPAN = 1 << 16
"""Pairs in a table of offsets: 1 MiB of complex128."""

GROUP = 16
"""How many D rows there are, and how many C rows are made at a time."""

KEPT = 8
"""Groups of C rows kept; with the slack of threads that each hold one."""

LIMIT = 1 << 63


@dataclass(frozen=True)
class Single:
    """Rows of cos + i sin in complex128, and four times their phases in 2^-16 turns, rounded down."""

    point: Complex
    quarter: Quarters

    def times(self, other: Single) -> Single:
        """The rows of the sums, broadcast."""
        return Single(self.point * other.point, self.quarter + other.quarter)

    def rows(self, pick: slice | int) -> Single:
        """Some rows."""
        return Single(self.point[pick], self.quarter[pick])


@dataclass(frozen=True)
class Wide:
    """Rows of cos + i sin as hi + lo, in complex128 each."""

    hi: Complex
    lo: Complex

    def fixed(self, exponent: int = 0) -> tuple[Complex, Complex]:
        """Split into multiples of 2^(exponent - 26) and the rest, for parts of at most 2^exponent.

        The magic number's last place is 2^(exponent - 26), so adding it rounds to that; the
        difference from hi is exact, the rest is below 2^(exponent - 27) and rounded to 2^-54 of that.
        """
        magic = 1.5 * 2.0 ** (exponent + 26)
        hi = self.hi.view(np.float64)
        coarse = (hi + magic) - magic
        rest = (hi - coarse) + self.lo.view(np.float64)
        return coarse.view(np.complex128), rest.view(np.complex128)

    def times(self, other: Wide) -> Wide:
        """The rows of the sums, broadcast, with an error of at most WIDE_STEP.

        The product of the coarse halves is exact, fused or not: multiples of 2^-52 below 2.
        """
        a1, a2 = self.fixed()
        b1, b2 = other.fixed()
        main, rest = a1 * b1, a1 * b2 + a2 * (b1 + b2)
        hi, lo = two_sum(main.view(np.float64), rest.view(np.float64))
        return Wide(hi.view(np.complex128), lo.view(np.complex128))

    def rows(self, pick: slice | int) -> Wide:
        """Some rows."""
        return Wide(self.hi[pick], self.lo[pick])

    def scaled(self, factor: Doubled) -> Wide:
        """Times a real number."""
        parts = []
        for view in ("real", "imag"):
            hi, lo = getattr(self.hi, view), getattr(self.lo, view)
            spread = Doubled(np.broadcast_to(factor.hi, hi.shape), np.broadcast_to(factor.lo, hi.shape))
            parts.append(multiply(Doubled(*quick_two_sum(hi, lo)), spread))
        return Wide(_join(parts[0].hi, parts[1].hi), _join(parts[0].lo, parts[1].lo))


def _join(real: NDArray[np.float64], imag: NDArray[np.float64]) -> Complex:
    whole = np.empty(real.shape, dtype=np.complex128)
    whole.real, whole.imag = real, imag
    return whole


@dataclass
class Ladder:
    """Rows of the multiples offset + step n of one wheel.

    Parameters
    ----------
    wheel : Wheel
        The frequencies.
    offset, step : int
        At least 0, and at least 1.
    wide : bool
        Which kind of rows.
    """

    wheel: Wheel
    offset: int
    step: int
    wide: bool
    block: int = 0
    offsets: Single | Wide = field(init=False)
    strides: Single | Wide = field(init=False)
    coarse: dict[int, Single | Wide] = field(init=False, default_factory=dict)
    derived: dict[object, object] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        if not self.block:
            self.block = block_rows(self.wheel.count)
        fine = 1 << ((self.block.bit_length() - 1) // 2)
        steps = [*range(fine), *range(0, self.block, fine), *range(0, self.block * GROUP, self.block)]
        rows = self._rows([self.step * n for n in steps])
        low, high = rows.rows(slice(0, fine)), rows.rows(slice(fine, fine + self.block // fine))
        self.offsets = _outer(high, low)
        self.strides = rows.rows(slice(fine + self.block // fine, None))

    def _rows(self, multiples: list[int]) -> Single | Wide:
        # beyond the limit no table reaches; those rows are never used
        given = np.array([m if m < LIMIT else 0 for m in multiples], dtype=np.int64)
        if not self.wide:
            return Single(*self.wheel.single_rows(given))
        cosine, sine = self.wheel.doubled_rows(given)
        return Wide(_join(cosine.hi, sine.hi), _join(cosine.lo, sine.lo))

    def anchors(self, first: int, last: int) -> Single | Wide:
        """Rows of n = block k for first <= k < last."""
        pieces = []
        for q in range(first // GROUP, -(-last // GROUP)):
            begin, end = max(first - q * GROUP, 0), min(last - q * GROUP, GROUP)
            row = self._coarse(q)
            strides = self.strides.rows(slice(begin, end))
            pieces.append(_outer_row(row, strides))
        return _stack(pieces)

    def _coarse(self, q: int) -> Single | Wide:
        group, place = divmod(q, GROUP)
        with self.wheel.lock:
            if group not in self.coarse:
                span = self.step * self.block * GROUP
                rows = self._rows([self.offset + span * (group * GROUP + i) for i in range(GROUP)])
                while len(self.coarse) >= KEPT:
                    del self.coarse[next(iter(self.coarse))]
                self.coarse[group] = rows
            return self.coarse[group].rows(slice(place, place + 1))


def block_rows(columns: int) -> int:
    """Rows that share an anchor: a power of two from 16 to 2048 that makes SPAN pairs."""
    rows = 1 << (max(1, SPAN // max(1, columns)).bit_length() - 1)
    return min(max(rows, 16), 2048)


def ladder_for(wheel: Wheel, offset: int, step: int, wide: bool) -> Ladder:
    """The wheel's ladder for such multiples; four are kept."""
    key = (offset, step, wide)
    with wheel.lock:
        found = wheel.ladders.get(key)
        if not isinstance(found, Ladder):
            found = Ladder(wheel, offset, step, wide)
            while len(wheel.ladders) >= 4:
                del wheel.ladders[next(iter(wheel.ladders))]
            wheel.ladders[key] = found
        return found


def _outer(high: Single | Wide, low: Single | Wide) -> Single | Wide:
    """Row i j of the result is row i of high times row j of low."""
    if isinstance(high, Single) and isinstance(low, Single):
        both = Single(high.point[:, None], high.quarter[:, None]).times(Single(low.point[None], low.quarter[None]))
        width = both.point.shape[-1]
        return Single(both.point.reshape(-1, width), both.quarter.reshape(-1, width))
    assert isinstance(high, Wide)
    assert isinstance(low, Wide)
    pieces = [_outer_row(high.rows(slice(i, i + 1)), low) for i in range(len(high.hi))]
    return _stack(pieces)


def _outer_row(row: Single | Wide, rows: Single | Wide) -> Single | Wide:
    if isinstance(row, Single) and isinstance(rows, Single):
        return row.times(rows)
    assert isinstance(row, Wide)
    assert isinstance(rows, Wide)
    return row.times(rows)


def _stack(pieces: list[Single | Wide]) -> Single | Wide:
    if len(pieces) == 1:
        return pieces[0]
    if isinstance(pieces[0], Single):
        single = [p for p in pieces if isinstance(p, Single)]
        return Single(np.concatenate([p.point for p in single]), np.concatenate([p.quarter for p in single]))
    wide = [p for p in pieces if isinstance(p, Wide)]
    return Wide(np.concatenate([p.hi for p in wide]), np.concatenate([p.lo for p in wide]))
