"""The rows that a long run of multiples is multiplied together from.

A ladder serves the multiples offset + step n, n >= 0.  With n = B (S q + d) + r, a row is
C_q D_d W_r: W of r = 0..B-1 and D of d = 0..S-1 are made once, C in groups as needed, and the
anchors A = C D serve B rows each.  All multiples count upwards from the offset, so no angle is the
difference of two larger ones: as long as a whole angle stays below an eighth of a turn, sums of
sines and cosines do not cancel and a product is accurate relative to each part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from pecli.engine.product import Complex, Rows, Split, combine, doubled, join, rounded, turn
from pecli.engine.scratch import POOL
from pecli.engine.wheel import Wheel
from pecli.numbers.doubled import Doubled, from_decimal, multiply

Quarters = NDArray[np.uint16]
Turned = tuple[bool, bool]  # conjugate, and times i
T = TypeVar("T")

SPAN = 1 << 15
"""Pairs in a table of offsets: half a MiB of complex128, to stay in a core's cache."""

LONG = 1 << 14
"""Rows of a run that is long: fewer anchors then outweigh more offsets."""

STRIDES = 16
"""How many D rows there are."""

GROUP = 8
"""How many C rows are made at a time."""

KEPT_ROWS = 1 << 17
"""Pairs of C rows that are kept, in groups and at least two of those: 4 MiB."""

LIMIT = 1 << 63


def block_rows(columns: int, rows: int) -> int:
    """Choose how many rows share an anchor: 16 to 1024, a power of two, SPAN pairs or twice as many for long runs."""
    pairs = 2 * SPAN if rows >= LONG else SPAN
    found = 1 << (max(1, pairs // max(1, columns)).bit_length() - 1)
    return min(max(found, 16), 1024)


class Made(NamedTuple):
    """Rows computed from their phases; their quarters are there for the narrow types only."""

    rows: Rows
    quarters: Quarters | None

    def pick(self, chosen: slice) -> Made:
        """Copy some rows, so that the others may go."""
        rows = self.rows.rows(chosen)
        quarters = None if self.quarters is None else self.quarters[chosen].copy()
        return Made(Rows(rows.hi.copy(), rows.lo.copy()), quarters)


class Ladder:
    """Factors of the rows offset + step n of one wheel.

    Parameters
    ----------
    wheel : Wheel
        The frequencies.
    offset, step : int
        At least 0, and at least 1.
    wide : bool
        Whether for float64: the factors are then doubled ones and the anchors carry both halves.
    bias : float
        Factor of the anchors beside the magnitude.
    rows : int
        How many rows the first run has.
    """

    def __init__(self, wheel: Wheel, offset: int, step: int, wide: bool, bias: float = 1.0, rows: int = 0) -> None:
        self.wheel, self.offset, self.step, self.wide = wheel, offset, step, wide
        factor = wheel.magnitude if bias == 1.0 else multiply(wheel.magnitude, from_decimal(Fraction(bias)))
        self.factor: Doubled | None = None if float(factor.hi) == 1.0 and float(factor.lo) == 0.0 else factor
        self.exponent = 0 if self.factor is None else int(np.frexp(abs(float(factor.hi)))[1])
        self.block = block_rows(wheel.count, rows)
        fine = 1 << ((self.block.bit_length() - 1) // 2)
        many = self.block // fine
        made = self._make([*range(fine), *range(0, self.block, fine), *range(0, self.block * STRIDES, self.block)])
        self._low, self._high = made.pick(slice(0, fine)), made.pick(slice(fine, fine + many))
        strides = made.pick(slice(fine + many, None))
        self._strides, self._stride_quarters = strides.rows.split(), strides.quarters
        self._groups: dict[int, Made] = {}
        self._made: dict[object, object] = {}
        self.asked = 0
        """Rows asked for so far."""
        self.kept: dict[int, object] = {}
        """Groups of anchors, for `pecli.engine.anchors`."""

    def _make(self, places: list[int], offset: int = 0) -> Made:
        # no table reaches beyond the limit; those rows are never used
        given = np.array([m if (m := offset + self.step * n) < LIMIT else 0 for n in places], dtype=np.int64)
        if not self.wide:
            hi, lo, quarters = self.wheel.tailed_rows(given)
            return Made(Rows(hi, lo), quarters)
        cosine, sine = self.wheel.doubled_rows(given, precision=84)
        return Made(Rows(join(cosine.hi, sine.hi), join(cosine.lo, sine.lo)), None)

    def _once(self, key: object, make: Callable[[], T]) -> T:
        with self.wheel.lock:
            if key not in self._made:
                self._made[key] = make()
            return cast(T, self._made[key])

    def offsets(self, conjugate: bool) -> Complex:
        """Make W or its conjugates, rounded."""
        return self._once(("offsets", conjugate), lambda: _gather(self._outer(), (conjugate, False), self.block, self))

    def offset_split(self, conjugate: bool) -> Split:
        """Make W or its conjugates, split."""
        return self._once(
            ("split", conjugate), lambda: _gather_split(self._outer(), 0, (conjugate, False), self.block, self)
        )

    def offset_quarters(self) -> Quarters:
        """Add up four times the phases of W, each of two roundings down."""

        def make() -> Quarters:
            assert self._high.quarters is not None
            assert self._low.quarters is not None
            return (self._high.quarters[:, None] + self._low.quarters[None]).reshape(self.block, -1)

        return self._once("quarters", make)

    def _outer(self) -> Iterator[tuple[Complex, Complex]]:
        return _products(self._high.rows.split(), self._low.rows.split())

    def anchors(self, first: int, last: int, turned: Turned, owner: object) -> Complex:
        """Make A of n = block k for first <= k < last, with magnitude and bias, rounded.

        Both are multiples of STRIDES, in the same group of C rows.  The memory is the owner's.
        """
        return _gather(self._anchor_products(first, last), turned, last - first, owner)

    def anchor_split(self, first: int, last: int, turned: Turned, owner: object) -> Split:
        """Make the same, split."""
        return _gather_split(self._anchor_products(first, last), self.exponent, turned, last - first, owner)

    def _anchor_products(self, first: int, last: int) -> Iterator[tuple[Complex, Complex]]:
        return _products(self._coarse(first, last).rows.split(self.exponent), self._strides)

    def anchor_quarters(self, first: int, last: int) -> Quarters:
        """Add up four times the phases of A, each of two roundings down."""
        coarse, strides = self._coarse(first, last).quarters, self._stride_quarters
        assert coarse is not None
        assert strides is not None
        return (coarse[:, None] + strides[None]).reshape(-1, self.wheel.count)

    def _coarse(self, first: int, last: int) -> Made:
        """Pick the C rows of these anchors."""
        group, place = divmod(first // STRIDES, GROUP)
        return self._group(group).pick(slice(place, place + (last - first) // STRIDES))

    def _group(self, group: int) -> Made:
        with self.wheel.lock:
            found = self._groups.get(group)
            if found is None:
                span = self.block * STRIDES
                found = self._make([span * (group * GROUP + i) for i in range(GROUP)], self.offset)
                if self.factor is not None:
                    found = Made(found.rows.scaled(self.factor), found.quarters)
                while len(self._groups) >= max(2, KEPT_ROWS // (GROUP * self.wheel.count)):
                    del self._groups[next(iter(self._groups))]
                self._groups[group] = found
            return found


def _products(high: Split, low: Split) -> Iterator[tuple[Complex, Complex]]:
    """Multiply each row of the one with each of the other, in that order, in pieces."""
    width = high.whole.shape[1]
    if len(high.whole) * low.whole.size <= SPAN:
        main, rest = combine(high.spread(1), low.spread(0))
        yield main.reshape(-1, width), rest.reshape(-1, width)
        return
    most = max(1, SPAN // 2 // width)
    for i in range(len(high.whole)):
        for at in range(0, len(low.whole), most):
            yield combine(high.rows(slice(i, i + 1)), low.rows(slice(at, at + most)))


def _gather(pieces: Iterator[tuple[Complex, Complex]], turned: Turned, rows: int, owner: object) -> Complex:
    """Put products together, rounded and turned."""
    whole, at = None, 0
    for main, rest in pieces:
        z = rounded(main, rest)
        if whole is None:
            whole = POOL.lend(owner, (rows, z.shape[1]), np.complex128)
        turn(z, *turned, whole[at : at + len(z)])
        at += len(z)
    assert whole is not None
    return whole


def _gather_split(
    pieces: Iterator[tuple[Complex, Complex]], exponent: int, turned: Turned, rows: int, owner: object
) -> Split:
    """Put products together, split and turned."""
    whole: list[Complex] = []
    at = 0
    for main, rest in pieces:
        split = doubled(main, rest).split(exponent)
        whole = whole or [POOL.lend(owner, (rows, main.shape[1]), np.complex128) for _ in range(3)]
        for z, out in zip((split.coarse, split.rest, split.whole), whole, strict=True):
            turn(z, *turned, out[at : at + len(z)])
        at += len(main)
    return Split(*whole)
