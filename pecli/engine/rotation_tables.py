"""Rotation tables: rows e^(i m w) from which a long run of multiples is multiplied (baby-step giant-step).

Rows of cos + i sin carried as hi + lo, and their products: e^(i(a + b)w) = e^(iaw) e^(ibw).

A product splits each factor into a coarse half, a multiple of 2^-26, and a rest below 2^-26.  The
product of the coarse halves is exact: multiples of 2^-52, below 2, so a fused multiply-add changes
nothing.  What else there is enters with weight 2^-26.

The rows that a long run of multiples is multiplied together from.

A ladder serves the multiples offset + step n, n >= 0.  With n = B (S q + d) + r, a row is
C_q D_d W_r: W of r = 0..B-1 and D of d = 0..S-1 are made once, C in groups as needed, and the
anchors A = C D serve B rows each.  All multiples count upwards from the offset, so no angle is the
difference of two larger ones: as long as a whole angle stays below an eighth of a turn, sums of
sines and cosines do not cancel and a product is accurate relative to each part.

StepRotations in groups, with what the runs derive of them: computed once, used by every block they serve.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from pecli.engine.frequencies import FrequencySet
from pecli.engine.threads import POOL
from pecli.numbers.double_double import DoubleDouble, from_decimal, multiply, quick_two_sum, two_sum

Complex = NDArray[np.complex128]

STEP_ERROR = 2.0**-76
"""Absolute error, in the complex plane, of main + rest in `combine`, for factors of modulus 1.

With u = 2^-53, in units of 2^-26.5 u, where 2^-26.5 is the largest modulus of a rest.  Splitting
rounds each rest by 1 unit.  a1 b2 errs by sqrt(5) units (Brent, Percival and Zimmermann 2007; less
when fused); so does a2 b, and by 3/4 more because b is a sum rounded; their sum, below 2^-25.5,
by 2.  Together 9.3 units, 2^-76.2.
"""


class Split(NamedTuple):
    """A coarse half, the rest, and their rounded sum."""

    coarse: Complex
    rest: Complex
    whole: Complex

    def rows(self, pick: slice) -> Split:
        """Pick some rows."""
        return Split(self.coarse[pick], self.rest[pick], self.whole[pick])

    def spread(self, axis: int) -> Split:
        """Put an axis of length 1 at this place."""
        return Split(*(np.expand_dims(z, axis) for z in (self.coarse, self.rest, self.whole)))


class Rows(NamedTuple):
    """Rows of cos + i sin as hi + lo."""

    hi: Complex
    lo: Complex

    def rows(self, pick: slice) -> Rows:
        """Pick some rows."""
        return Rows(self.hi[pick], self.lo[pick])

    def split(self, exponent: int = 0) -> Split:
        """Split at 2^(exponent - 26), for parts of at most 2^exponent.

        The magic number's last place is 2^(exponent - 26), so adding it rounds to that; the
        difference from hi is exact.
        """
        magic = 1.5 * 2.0 ** (exponent + 26)
        hi = self.hi.view(np.float64)
        coarse = (hi + magic) - magic
        rest = (hi - coarse) + self.lo.view(np.float64)
        return Split(coarse.view(np.complex128), rest.view(np.complex128), self.hi)

    def scaled(self, factor: DoubleDouble) -> Rows:
        """Multiply by a real number."""
        real, imag = (_times(hi, lo, factor) for hi, lo in ((self.hi.real, self.lo.real), (self.hi.imag, self.lo.imag)))
        return Rows(join(real.hi, imag.hi), join(real.lo, imag.lo))


def _times(hi: NDArray[np.float64], lo: NDArray[np.float64], factor: DoubleDouble) -> DoubleDouble:
    spread = DoubleDouble(np.broadcast_to(factor.hi, hi.shape), np.broadcast_to(factor.lo, hi.shape))
    return multiply(DoubleDouble(*quick_two_sum(hi, lo)), spread)


def join(real: NDArray[np.float64], imag: NDArray[np.float64]) -> Complex:
    """Make complex numbers of real and imaginary parts."""
    whole = np.empty(real.shape, dtype=np.complex128)
    whole.real, whole.imag = real, imag
    return whole


def turn(z: Complex, conjugate: bool, swapped: bool, out: Complex) -> None:
    """Store z or its conjugate, as it is or times i: i (x + iy) = -y + ix."""
    if swapped:
        np.multiply(z.imag, 1.0 if conjugate else -1.0, out=out.real)
        out.imag = z.real
    elif conjugate:
        np.conjugate(z, out=out)
    else:
        out[...] = z


def combine(a: Split, b: Split) -> tuple[Complex, Complex]:
    """Multiply rows, broadcast, into main + rest; main is exact, rest below 2^-25."""
    rest = a.coarse * b.rest
    rest += a.rest * b.whole
    return a.coarse * b.coarse, rest


def rounded(main: Complex, rest: Complex) -> Complex:
    """Add main + rest into one complex128."""
    main += rest
    return main


def doubled(main: Complex, rest: Complex) -> Rows:
    """Turn main + rest into hi + lo."""
    hi, lo = two_sum(main.view(np.float64), rest.view(np.float64))
    return Rows(hi.view(np.complex128), lo.view(np.complex128))


Quarters = NDArray[np.uint16]
Symmetry = tuple[bool, bool]  # conjugate, and times i
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


class RotationTable:
    """Factors of the rows offset + step n of one wheel.

    Parameters
    ----------
    freqs : FrequencySet
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

    def __init__(
        self, freqs: FrequencySet, offset: int, step: int, wide: bool, bias: float = 1.0, rows: int = 0
    ) -> None:
        self.freqs, self.offset, self.step, self.wide = freqs, offset, step, wide
        factor = freqs.magnitude if bias == 1.0 else multiply(freqs.magnitude, from_decimal(Fraction(bias)))
        self.factor: DoubleDouble | None = None if float(factor.hi) == 1.0 and float(factor.lo) == 0.0 else factor
        self.exponent = 0 if self.factor is None else int(np.frexp(abs(float(factor.hi)))[1])
        self.block = block_rows(freqs.count, rows)
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
        """Groups of anchors, for `pecli.engine.rotation_tables`."""

    def _make(self, places: list[int], offset: int = 0) -> Made:
        # no table reaches beyond the limit; those rows are never used
        given = np.array([m if (m := offset + self.step * n) < LIMIT else 0 for n in places], dtype=np.int64)
        if not self.wide:
            hi, lo, quarters = self.freqs.tailed_rows(given)
            return Made(Rows(hi, lo), quarters)
        cosine, sine = self.freqs.doubled_rows(given, precision=84)
        return Made(Rows(join(cosine.hi, sine.hi), join(cosine.lo, sine.lo)), None)

    def _once(self, key: object, make: Callable[[], T]) -> T:
        with self.freqs.lock:
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

    def anchors(self, first: int, last: int, mirrored: Symmetry, owner: object) -> Complex:
        """Make A of n = block k for first <= k < last, with magnitude and bias, rounded.

        Both are multiples of STRIDES, in the same group of C rows.  The memory is the owner's.
        """
        return _gather(self._anchor_products(first, last), mirrored, last - first, owner)

    def anchor_split(self, first: int, last: int, mirrored: Symmetry, owner: object) -> Split:
        """Make the same, split."""
        return _gather_split(self._anchor_products(first, last), self.exponent, mirrored, last - first, owner)

    def _anchor_products(self, first: int, last: int) -> Iterator[tuple[Complex, Complex]]:
        return _products(self._coarse(first, last).rows.split(self.exponent), self._strides)

    def anchor_quarters(self, first: int, last: int) -> Quarters:
        """Add up four times the phases of A, each of two roundings down."""
        coarse, strides = self._coarse(first, last).quarters, self._stride_quarters
        assert coarse is not None
        assert strides is not None
        return (coarse[:, None] + strides[None]).reshape(-1, self.freqs.count)

    def _coarse(self, first: int, last: int) -> Made:
        """Pick the C rows of these anchors."""
        group, place = divmod(first // STRIDES, GROUP)
        return self._group(group).pick(slice(place, place + (last - first) // STRIDES))

    def _group(self, group: int) -> Made:
        with self.freqs.lock:
            found = self._groups.get(group)
            if found is None:
                span = self.block * STRIDES
                found = self._make([span * (group * GROUP + i) for i in range(GROUP)], self.offset)
                if self.factor is not None:
                    found = Made(found.rows.scaled(self.factor), found.quarters)
                while len(self._groups) >= max(2, KEPT_ROWS // (GROUP * self.freqs.count)):
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


def _gather(pieces: Iterator[tuple[Complex, Complex]], mirrored: Symmetry, rows: int, owner: object) -> Complex:
    """Put products together, rounded and turned."""
    whole, at = None, 0
    for main, rest in pieces:
        z = rounded(main, rest)
        if whole is None:
            whole = POOL.lend(owner, (rows, z.shape[1]), np.complex128)
        turn(z, *mirrored, whole[at : at + len(z)])
        at += len(z)
    assert whole is not None
    return whole


def _gather_split(
    pieces: Iterator[tuple[Complex, Complex]], exponent: int, mirrored: Symmetry, rows: int, owner: object
) -> Split:
    """Put products together, split and turned."""
    whole: list[Complex] = []
    at = 0
    for main, rest in pieces:
        split = doubled(main, rest).split(exponent)
        whole = whole or [POOL.lend(owner, (rows, main.shape[1]), np.complex128) for _ in range(3)]
        for z, out in zip((split.coarse, split.rest, split.whole), whole, strict=True):
            turn(z, *mirrored, out[at : at + len(z)])
        at += len(main)
    return Split(*whole)


SERVED = 1 << 21
"""Pairs that a group of anchors serves."""

KEPT = 4
"""Groups that a ladder keeps: some MiB in all."""

KEPT_LADDERS = 2


class StepRotations:
    """A group of anchors of a ladder.

    Parameters
    ----------
    ladder : RotationTable
        Whose.
    index : int
        The group is that of the anchors index * count .. (index + 1) * count - 1.
    """

    def __init__(self, ladder: RotationTable, index: int) -> None:
        self.ladder = ladder
        self.count = group_size(ladder)
        self.base = index * self.count
        first, last = self.base * ladder.block, (self.base + self.count) * ladder.block
        self.smallest = max(1, ladder.offset + ladder.step * first)
        self.slow = ladder.freqs.turns_per_step * (ladder.offset + ladder.step * last) <= 0.125
        """Columns whose angle stays below an eighth of a turn."""
        self._lock = threading.Lock()
        self._turned: dict[tuple[bool, bool], Complex] = {}
        self._splits: dict[tuple[bool, bool], Split] = {}
        self._near: dict[str, tuple[Quarters, Quarters]] = {}

    def mirrored(self, conjugate: bool, swapped: bool) -> Complex:
        """Give the anchors, rounded: as they are, as conjugates, either times i."""
        key = conjugate, swapped
        with self._lock:
            if key not in self._turned:
                self._turned[key] = self.ladder.anchors(self.base, self.base + self.count, key, self)
            return self._turned[key]

    def split(self, conjugate: bool, swapped: bool) -> Split:
        """Give the same, split."""
        key = conjugate, swapped
        with self._lock:
            if key not in self._splits:
                self._splits[key] = self.ladder.anchor_split(self.base, self.base + self.count, key, self)
            return self._splits[key]

    def near(self, dtype: str, smallest_normal: float, margin: int) -> tuple[Quarters, Quarters]:
        """Give four times the phases of anchors, moved up by ``margin``, and of offsets.

        Their sums are for finding small sines and cosines.  Slow columns need no such test while
        their values are normal numbers, and still ones are stored separately: both are set far
        from any integer.
        """
        with self._lock:
            if dtype not in self._near:
                freqs = self.ladder.freqs
                size = freqs.turns_per_step * (6.28 * abs(float(freqs.magnitude.hi)) * self.smallest)
                exempt = (self.slow & (size >= smallest_normal)) | (freqs.turns_per_step == 0)
                left = self.ladder.anchor_quarters(self.base, self.base + self.count) + np.uint16(margin)
                right = self.ladder.offset_quarters()
                if exempt.any():
                    right = right.copy()
                    left[:, exempt], right[:, exempt] = 0x8000, 0
                self._near[dtype] = left, right
            return self._near[dtype]


def group_size(ladder: RotationTable) -> int:
    """Count the anchors of a group: a power of two, whole strides, of one group of C rows at most."""
    wanted = SERVED // (ladder.block * ladder.freqs.count)
    return min(max(1 << (max(1, wanted).bit_length() - 1), STRIDES), STRIDES * GROUP)


def anchors_at(ladder: RotationTable, index: int) -> StepRotations:
    """Find or make a group; the last few are kept."""
    with ladder.freqs.lock:
        found = ladder.kept.get(index)
        if not isinstance(found, StepRotations):
            while len(ladder.kept) >= KEPT:
                del ladder.kept[next(iter(ladder.kept))]
            found = ladder.kept[index] = StepRotations(ladder, index)
        return found


def ladder_for(freqs: FrequencySet, offset: int, step: int, wide: bool, bias: float, rows: int) -> RotationTable:
    """Find or make the wheel's ladder for such multiples; the last few are kept."""
    key = (offset, step, wide)
    with freqs.lock:
        found = freqs.ladders.get(key)
        if not isinstance(found, RotationTable):
            found = RotationTable(freqs, offset, step, wide, bias, rows)
            while len(freqs.ladders) >= KEPT_LADDERS:
                del freqs.ladders[next(iter(freqs.ladders))]
            freqs.ladders[key] = found
        return found
