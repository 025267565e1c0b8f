"""Rotation tables: rows e^(i m w) from which a long run of multiples is multiplied (baby-step giant-step).

Rows of cos + i sin carried as hi + lo, and their products: e^(i(a + b)w) = e^(iaw) e^(ibw).

A product splits each factor into a coarse half, a multiple of 2^-26, and a rest below 2^-26.  The
product of the coarse halves is exact: multiples of 2^-52, below 2, so a fused multiply-add changes
nothing.  What else there is enters with weight 2^-26.

A rotation table serves the multiples offset + step n, n >= 0.  With n = B (S q + d) + r, a row is
C_q D_d W_r: W of r = 0..B-1 and D of d = 0..S-1 are made once, C in groups as needed, and the
anchors A = C D serve B rows each.  All multiples count upwards from the offset, so no angle is the
difference of two larger ones: as long as a whole angle stays below an eighth of a turn, sums of
sines and cosines do not cancel and a product is accurate relative to each part.

`StepRotations` are groups of anchors, computed once and used by every block that they serve.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from pecli.engine.frequencies import FrequencySet
from pecli.engine.threads import mapped
from pecli.numbers.blocks import in_blocks
from pecli.numbers.double_double import DoubleDouble, from_decimal, multiply, quick_two_sum, two_sum

Complex = NDArray[np.complex128]

# Absolute error, in the complex plane, of main + remainder in `combine`, for factors of modulus 1.
#
# With u = 2^-53, in units of 2^-26.5 u, where 2^-26.5 is the largest modulus of a rest.  Splitting
# rounds each rest by 1 unit.  a1 b2 errs by sqrt(5) units (Brent, Percival and Zimmermann 2007; less
# when fused); so does a2 b, and by 3/4 more because b is a sum rounded; their sum, below 2^-25.5,
# by 2.  Together 9.3 units, 2^-76.2.
STEP_ERROR = 2.0**-76


class Split(NamedTuple):
    """A coarse half, the remainder, and their rounded sum."""

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
        parts = (self.hi.real, self.lo.real), (self.hi.imag, self.lo.imag)
        real, imag = (multiply(DoubleDouble(*quick_two_sum(hi, lo)), factor) for hi, lo in parts)
        return Rows(join(real.hi, imag.hi), join(real.lo, imag.lo))


def join(real: NDArray[np.float64], imag: NDArray[np.float64]) -> Complex:
    """Return complex numbers from real and imaginary parts."""
    whole = np.empty(real.shape, dtype=np.complex128)
    whole.real, whole.imag = real, imag
    return whole


def exchanged(z: Complex) -> Complex:
    """Return sin + i cos of cos + i sin: times i, of conjugates."""
    return join(z.imag, z.real)


def combine(a: Split, b: Split) -> tuple[Complex, Complex]:
    """Multiply rows, broadcast, into main + remainder; main is exact, the remainder below 2^-25."""
    rest = a.coarse * b.rest
    rest += a.rest * b.whole
    return a.coarse * b.coarse, rest


def rounded(main: Complex, rest: Complex) -> tuple[Complex]:
    """Add main and remainder into one complex128."""
    main += rest
    return (main,)


def doubled(main: Complex, rest: Complex) -> Rows:
    """Convert main and remainder into hi + lo."""
    hi, lo = two_sum(main.view(np.float64), rest.view(np.float64))
    return Rows(hi.view(np.complex128), lo.view(np.complex128))


# Function from main and remainder to the arrays that are kept of them.
Parts = Callable[[Complex, Complex], Sequence[Complex]]


Quarters = NDArray[np.uint16]
Turn = Callable[[Complex], Complex]
T = TypeVar("T")


def remember(kept: dict[Any, Any], key: object, make: Callable[[], T], most: int | None = None) -> T:
    """Return the value cached under a key, made if missing; beyond `most` values the oldest is dropped.

    The caller holds the lock.
    """
    if key not in kept:
        while most is not None and len(kept) >= most:
            del kept[next(iter(kept))]
        kept[key] = make()
    found: T = kept[key]
    return found


# Pairs in a table of offsets: half a MiB of complex128, to stay in a core's cache.
SPAN = 1 << 15

# Rows of a run that is long: fewer anchors then outweigh more offsets.
MIN_LONG_ROWS = 1 << 14

# Number of D rows.
STRIDES = 16

# Number of C rows made at a time.
GROUP = 8

# Pairs of C rows that are kept, in at least two groups: 4 MiB.
KEPT_ROWS = 1 << 17

LIMIT = 1 << 63


def block_rows(columns: int, rows: int) -> int:
    """Choose how many rows share an anchor: 16 to 1024, a power of two, SPAN pairs or twice as many for long runs."""
    pairs = 2 * SPAN if rows >= MIN_LONG_ROWS else SPAN
    found = 1 << (max(1, pairs // max(1, columns)).bit_length() - 1)
    return min(max(found, 16), 1024)


class Made(NamedTuple):
    """Rows computed from their phases; their quarters are there for the narrow types only."""

    rows: Rows
    quarters: Quarters | None

    def pick(self, chosen: slice) -> Made:
        """Copy some rows, so that the others may go."""
        quarters = None if self.quarters is None else self.quarters[chosen].copy()
        return Made(Rows(self.rows.hi[chosen].copy(), self.rows.lo[chosen].copy()), quarters)


class RotationTable:
    """Factors of the rows offset + step n of one set of frequencies.

    Parameters
    ----------
    freqs : FrequencySet
        The frequencies.
    offset, step : int
        At least 0, and at least 1.
    wide : bool
        Whether for float64: the factors are then doubled ones and the anchors carry both halves.
    bias : float
        Factor of the anchors besides the magnitude.
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
        # Rows asked for so far.
        self.asked = 0
        # Groups of anchors, for `pecli.engine.rotation_tables`.
        self.kept: dict[int, object] = {}

    def _make(self, places: list[int], offset: int = 0) -> Made:
        # no table reaches beyond the limit; those rows are never used
        given = np.array([m if (m := offset + self.step * n) < LIMIT else 0 for n in places], dtype=np.int64)
        if not self.wide:
            hi, lo, quarters = self.freqs.tailed_rows(given)
            return Made(Rows(hi, lo), quarters)
        cosine, sine = self.freqs.doubled_rows(given, precision=84)
        return Made(Rows(join(cosine.hi, sine.hi), join(cosine.lo, sine.lo)), None)

    def offsets(self, swapped: bool) -> list[Complex]:
        """Return W, or its conjugates where sines come first: rounded, or the parts of `Split` if wide."""

        def make() -> list[Complex]:
            products = _products(self._high.rows.split(), self._low.rows.split())
            return _gather(products, self._parts(0), np.conjugate if swapped else None, self.block)

        with self.freqs.lock:
            return remember(self._made, swapped, make)

    def _parts(self, exponent: int) -> Parts:
        """Return what is kept of products, whose parts are at most 2^exponent."""
        return (lambda main, rest: doubled(main, rest).split(exponent)) if self.wide else rounded

    def offset_quarters(self) -> Quarters:
        """Add up four times the phases of W, each of two roundings down."""
        with self.freqs.lock:
            return remember(self._made, "quarters", lambda: _sums(self._high.quarters, self._low.quarters))

    def anchors(self, first: int, last: int, swapped: bool) -> list[Complex]:
        """Return A of n = block k for first <= k < last, with magnitude and bias: rounded, or split if wide.

        Both are multiples of STRIDES, in the same group of C rows; where sines come first, A is `exchanged`.
        """
        products = _products(self._coarse(first, last).rows.split(self.exponent), self._strides)
        return _gather(products, self._parts(self.exponent), exchanged if swapped else None, last - first)

    def anchor_quarters(self, first: int, last: int) -> Quarters:
        """Add up four times the phases of A, each of two roundings down."""
        return _sums(self._coarse(first, last).quarters, self._stride_quarters)

    def _coarse(self, first: int, last: int) -> Made:
        """Pick the C rows of these anchors."""
        group, place = divmod(first // STRIDES, GROUP)
        return self._group(group).pick(slice(place, place + (last - first) // STRIDES))

    def _group(self, group: int) -> Made:
        def make() -> Made:
            span = self.block * STRIDES
            found = self._make([span * (group * GROUP + i) for i in range(GROUP)], self.offset)
            return found if self.factor is None else Made(found.rows.scaled(self.factor), found.quarters)

        with self.freqs.lock:
            return remember(self._groups, group, make, max(2, KEPT_ROWS // (GROUP * self.freqs.count)))


def _sums(first: Quarters | None, second: Quarters | None) -> Quarters:
    """Add the quarters of each row of the one and each of the other, in that order."""
    assert first is not None
    assert second is not None
    return (first[:, None] + second[None]).reshape(-1, first.shape[1])


def _products(high: Split, low: Split) -> Iterator[tuple[Complex, Complex]]:
    """Multiply each row of the one with each of the other, in that order, in pieces."""
    width = high.whole.shape[1]
    if len(high.whole) * low.whole.size <= SPAN:
        main, rest = combine(high.spread(1), low.spread(0))
        yield main.reshape(-1, width), rest.reshape(-1, width)
        return
    for i in range(len(high.whole)):
        for some in in_blocks(0, len(low.whole), SPAN // 2 // width):
            yield combine(high.rows(slice(i, i + 1)), low.rows(some))


def _gather(pieces: Iterator[tuple[Complex, Complex]], parts: Parts, turn: Turn | None, rows: int) -> list[Complex]:
    """Put products together: what `parts`, and then `turn`, make of each."""
    whole: list[Complex] = []
    at = 0
    for main, rest in pieces:
        made = parts(main, rest)
        whole = whole or [mapped(rows * main.shape[1], np.complex128).reshape(rows, -1) for _ in made]
        for z, out in zip(made, whole, strict=True):
            out[at : at + len(z)] = z if turn is None else turn(z)
        at += len(main)
    return whole


# Pairs that a group of anchors serves.
SERVED = 1 << 21

# Groups that a rotation table keeps: some MiB in all.
MAX_KEPT_GROUPS = 4

MAX_KEPT_TABLES = 2


class StepRotations:
    """A group of anchors of a rotation table.

    Parameters
    ----------
    table : RotationTable
        Whose.
    index : int
        The group is that of the anchors index * count .. (index + 1) * count - 1.
    """

    def __init__(self, table: RotationTable, index: int) -> None:
        self.table = table
        self.count = group_size(table)
        self.base = index * self.count
        first, last = self.base * table.block, (self.base + self.count) * table.block
        self.smallest = max(1, table.offset + table.step * first)
        # Columns whose angle stays below an eighth of a turn.
        self.slow = table.freqs.turns_per_step * (table.offset + table.step * last) <= 0.125
        self._lock = threading.Lock()
        self._made: dict[object, object] = {}

    def factors(self, swapped: bool) -> list[Complex]:
        """Return the anchors, as :meth:`RotationTable.anchors` does."""
        first, last = self.base, self.base + self.count
        with self._lock:
            return remember(self._made, swapped, lambda: self.table.anchors(first, last, swapped))

    def near(self, dtype: str, smallest_normal: float, margin: int) -> tuple[Quarters, Quarters]:
        """Return four times the phases of anchors, moved up by ``margin``, and of offsets.

        Their sums are for finding small sines and cosines.  Slow columns need no such test while
        their values are normal numbers, and still ones are stored separately: both are set far
        from any integer.
        """
        with self._lock:
            return remember(self._made, ("near", dtype), lambda: self._near(smallest_normal, margin))

    def _near(self, smallest_normal: float, margin: int) -> tuple[Quarters, Quarters]:
        freqs = self.table.freqs
        size = freqs.turns_per_step * (6.28 * abs(float(freqs.magnitude.hi)) * self.smallest)
        exempt = (self.slow & (size >= smallest_normal)) | (freqs.turns_per_step == 0)
        left = self.table.anchor_quarters(self.base, self.base + self.count) + np.uint16(margin)
        right = self.table.offset_quarters()
        if exempt.any():
            right = right.copy()
            left[:, exempt], right[:, exempt] = 0x8000, 0
        return left, right


def group_size(table: RotationTable) -> int:
    """Count the anchors of a group: a power of two, whole strides, of one group of C rows at most."""
    wanted = SERVED // (table.block * table.freqs.count)
    return min(max(1 << (max(1, wanted).bit_length() - 1), STRIDES), STRIDES * GROUP)


def anchors_at(table: RotationTable, index: int) -> StepRotations:
    """Find or make a group; the last few are kept."""
    with table.freqs.lock:
        return remember(table.kept, index, lambda: StepRotations(table, index), MAX_KEPT_GROUPS)


def table_for(freqs: FrequencySet, offset: int, step: int, wide: bool, bias: float, rows: int) -> RotationTable:
    """Find or make the table of these frequencies for such multiples; the last few are kept."""

    def make() -> RotationTable:
        return RotationTable(freqs, offset, step, wide, bias, rows)

    with freqs.lock:
        return remember(freqs.rotation_tables, (offset, step, wide), make, MAX_KEPT_TABLES)
