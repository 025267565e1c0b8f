"""Correctly rounded sums of two products x A + y B, and the exact rows and points that A and B come from.

Rotating a pair, scaling and adding a row, adding a bias: all are such sums of given numbers x, y and real numbers A, B.
A and B are known three ways:

- as float64 a, b, each the correctly rounded one or exact, so within u = 2^-53 of itself.  The candidate
  a x + b y then errs by at most 3u (abs(a x) + abs(b y)) and its second-order terms, with fused multiplications or
  without.  Its two ends are made by a sum and a difference, a further u each: 6u bounds all.  If both ends round
  to the same value, that is the correctly rounded one; first with one bound for many sums, then with that of each.
- as double-double numbers with a bound on their error, for the few sums where the ends differ (and for float64, all).
- as intervals of fractions of any width, for what then is still in doubt.  A sum that lies exactly on a boundary
  has exact A and B (angle zero, a stored table) and is decided by them; any other one lies off it, so the
  intervals decide it in the end, but for a sum of exactly zero, which no interval excludes: see `MAX_BITS`.

If A and B are coarser than that, the bounds are wider by a factor (`coarse`) or by an absolute error (`loose`).

Only + - x on float64 and integers: the same values on every machine.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from math import isfinite, isqrt
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pecli.engine import FrequencySet
from pecli.engine.angles import round_ratio
from pecli.engine.narrowing import Flags
from pecli.engine.runs import has_points
from pecli.engine.threads import Scratch
from pecli.errors import BadParameter
from pecli.numbers.double_double import (
    DoubleDouble,
    Exponentials,
    Points,
    add,
    from_decimal,
    multiply,
    quick_two_sum,
    two_prod,
    two_sum,
)
from pecli.numbers.dtypes import GRIDS
from pecli.numbers.positions import Positions
from pecli.numbers.rounding import narrow, round_within, to_grid, widen
from pecli.spec.plans import Values, Waves
from pecli.spec.tabular import Tabular
from pecli.tables.fill.filler import BandFrequencies
from pecli.tables.table import Table

Floats = NDArray[np.float64]
Places = NDArray[np.int64]
Interval = tuple[Fraction, Fraction]

CANDIDATE_ERROR = 3 * 2.0**-52
"""6u: see above."""

UNDERFLOW_ERROR = 2.0**-1060
"""Additional error bound of products below the normal numbers."""

DOUBLE_DOUBLE_ERROR = 2.0**-100
"""Products of a float64 and a double-double number err by 2u^2 each, their sum by 3u^2: below 2^-100 of their sizes."""

MAX_SIZE = 2.0**900
"""Beyond this size, or below its reciprocal, a float64 may leave a doubled product no room: fractions decide."""

FIRST_BITS, MAX_BITS = 160, 2600
"""Precision of the first intervals, doubled until they decide.  A sum whose interval still holds zero at
`MAX_BITS` bits is zero: x and y are float64, whole multiples of 2^-1074, and A and B of pairs that cancel are
square roots of small fractions, whose sums cannot be that small without being zero."""


class Factors(Protocol):
    """Factors A and B, beyond float64."""

    def doubled(self, places: Places) -> tuple[DoubleDouble, DoubleDouble, Floats]:
        """Return A and B at places (k,) in the flat array of sums, and a bound (k,) on the absolute error of each."""
        ...

    def interval(self, place: int, bits: int) -> tuple[Interval, Interval]:
        """Return intervals that hold A and B at one place, about 2^-bits wide."""
        ...


def round_sums(
    x: Floats,
    a: Floats,
    y: Floats,
    b: Floats,
    factors: Factors,
    dtype: str,
    out: NDArray[Any],
    own: Scratch,
    most: float,
) -> None:
    """Write x A + y B, each correctly rounded to `dtype`, into `out`.

    Parameters
    ----------
    x, y : (n, m) float64 ndarray
        What is given; a NaN or an infinity gives what IEEE 754 says of it.
    a, b : (n, m) float64 ndarray
        A and B, each correctly rounded or exact.
    factors : Factors
        What they are beyond that; places count in C order.
    dtype : {"float16", "bfloat16", "float32", "float64"}
        Of the sums; bfloat16 as its bits in uint16.
    out : (n, m) ndarray
        The output; of the storage type and any strides.
    own : Scratch
        Working memory.
    most : float
        What abs(x A) + abs(y B) is at most; infinite or NaN where an input is.
    """
    candidate, second = (own.get(name, x.size, np.float64).reshape(x.shape) for name in ("sum", "term"))
    with np.errstate(all="ignore"):
        np.multiply(x, a, out=candidate)
        np.multiply(y, b, out=second)
        np.add(candidate, second, out=candidate)
        doubtful = round_candidates(candidate, most, dtype, out, own)
    if len(doubtful):
        x, a, y, b = (part.reshape(-1)[doubtful] for part in (x, a, y, b))
        values, unsure = sums_one_by_one(x, a, y, b, dtype)
        values[unsure] = exact_sums(x[unsure], y[unsure], doubtful[unsure], factors, dtype)
        out[np.divmod(doubtful, out.shape[1])] = narrow(values, None, dtype)


def round_candidates(candidate: Floats, most: float, dtype: str, out: NDArray[Any], own: Scratch) -> Places:
    """Round sums into `out`, of their shape, and use up their float64 values.

    Parameters
    ----------
    candidate : float64 ndarray
        a x + b y, contiguous.
    most : float
        What abs(a x) + abs(b y) is at most; infinite or NaN where an input is.
    dtype, out, own
        See `round_sums`.

    Returns
    -------
    (k,) int64 ndarray
        The flat places of those that may be wrong.  A candidate that is no number is what the inputs make of it.
    """
    error = CANDIDATE_ERROR * most + UNDERFLOW_ERROR
    if dtype == "float32" and isfinite(error):
        return _store_float32(candidate, error, out, own)
    if dtype == "float64" or not isfinite(error):
        narrow(candidate, None, dtype, out)
        return np.flatnonzero(np.isfinite(candidate))
    out[...], places = round_within(candidate, error, dtype)
    return places


def _store_float32(candidate: Floats, error: float, out: NDArray[Any], own: Scratch) -> Places:
    """Round the upper ends of the intervals into `out`; return the places where the lower ends round differently."""
    below = own.get("below", candidate.size, np.float32).reshape(candidate.shape)
    flags = Flags(candidate.size, "differ", own)
    differ = flags.part(0, candidate.size).reshape(candidate.shape)
    np.add(candidate, error, out=candidate)
    np.copyto(out, candidate, casting="unsafe")
    np.subtract(candidate, 2 * error, out=candidate)
    np.copyto(below, candidate, casting="unsafe")
    np.not_equal(out, below, out=differ)
    return flags.places() if differ.any() else np.empty(0, np.int64)


def sums_one_by_one(
    x: Floats, a: Floats, y: Floats, b: Floats, dtype: str, coarse: float = 1.0, loose: float = 0.0
) -> tuple[Floats, NDArray[np.bool_]]:
    """Return sums (k,) rounded to a type, as float64, and a mask of the sums whose rounding is in doubt.

    a and b err by as much as `coarse` says, and by `loose` more.
    """
    with np.errstate(all="ignore"):
        first, second = x * a, y * b
        total = first + second
        values = widen(narrow(total, None, dtype), dtype)
        if dtype == "float64":
            return values, np.ones(len(values), np.bool_)
        unsure = np.zeros(len(values), np.bool_)
        error = (
            coarse * CANDIDATE_ERROR * (np.abs(first) + np.abs(second))
            + loose * (np.abs(x) + np.abs(y))
            + UNDERFLOW_ERROR
        )
        unsure[_doubtful(total, error, dtype)] = True
    return values, unsure


def largest_size(values: NDArray[np.floating[Any]]) -> float:
    """Return the largest absolute value; infinite or NaN if a value is."""
    return max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))


def _doubtful(candidate: Floats, error: Floats, dtype: str) -> Places:
    """Return the places where the ends of the interval round differently."""
    above, below = narrow(candidate + error, None, dtype), narrow(candidate - error, None, dtype)
    differ = above != below
    if dtype == "bfloat16":  # narrow rounds by way of float32: a float32 midway between two may have been rounded to
        bits = (candidate.astype(np.float32).view(np.uint32) + np.uint32(1)) & np.uint32(0xFFFF)
        differ |= (bits >= 0x8000) & (bits <= 0x8002)
    return np.flatnonzero(differ)


def exact_sums(x: Floats, y: Floats, places: Places, factors: Factors, dtype: str) -> Floats:
    """Return the sums at some places, correctly rounded, as float64."""
    values, unsure = double_double_sums(x, y, *factors.doubled(places), dtype)
    for k in np.flatnonzero(unsure).tolist():
        values[k] = _exactly(Fraction(x[k]), Fraction(y[k]), int(places[k]), factors, dtype)
    return values


def double_double_sums(
    x: Floats, y: Floats, a: DoubleDouble, b: DoubleDouble, factor_error: Floats, dtype: str
) -> tuple[Floats, NDArray[np.bool_]]:
    """Return rounded sums of any shape by factors with an error up to `factor_error`, and a mask of doubtful ones."""
    left, right = _product(x, a), _product(y, b)
    total = add(left, right)
    size = np.abs(left.hi) + np.abs(right.hi)
    error = size * DOUBLE_DOUBLE_ERROR + (np.abs(x) + np.abs(y)) * factor_error
    above = to_grid(*_normalised(total.hi, total.lo + error), GRIDS[dtype])
    below = to_grid(*_normalised(total.hi, total.lo - error), GRIDS[dtype])
    unsure = (above != below) | ((above == 0) & (size != 0))
    for values in (x, y):
        sizes = np.abs(values)
        unsure |= (sizes > MAX_SIZE) | ((sizes < 1 / MAX_SIZE) & (values != 0))
    return above, unsure


def _normalised(hi: Floats, lo: Floats) -> tuple[Floats, Floats]:
    return quick_two_sum(*two_sum(hi, lo))


def _product(x: Floats, factor: DoubleDouble) -> DoubleDouble:
    """Multiply a float64 and a double-double number, within 2u^2 of the product."""
    product, error = two_prod(x, factor.hi)
    return DoubleDouble(*quick_two_sum(product, error + x * factor.lo))


def _exactly(x: Fraction, y: Fraction, place: int, factors: Factors, dtype: str) -> float:
    """Return a sum correctly rounded, by narrowing its interval until both ends round alike."""
    bits = FIRST_BITS
    while True:
        first, second = factors.interval(place, bits)
        ends = [sum(pair) for pair in zip(_scaled_interval(x, first), _scaled_interval(y, second), strict=True)]
        low, high = (round_ratio(end.numerator, end.denominator, GRIDS[dtype]) for end in map(Fraction, ends))
        if low == high and (ends[0] > 0 or ends[1] < 0 or ends[0] == ends[1]):
            return low
        if bits > MAX_BITS:
            return 0.0
        bits *= 2


def _scaled_interval(factor: Fraction, interval: Interval) -> list[Fraction]:
    return sorted(factor * end for end in interval)


Integers = NDArray[np.int64]


@dataclass(frozen=True)
class ColumnBands:
    """Which frequency some columns turn with.

    Attributes
    ----------
    band, column : (k,) int64 ndarray
        The number of the band and the frequency in it; band -1 stands still.
    """

    band: Integers
    column: Integers

    @classmethod
    def still(cls, width: int) -> ColumnBands:
        """Return columns that nothing rotates yet."""
        return cls(np.full(width, -1, np.int64), np.zeros(width, np.int64))

    def put(self, band: int, columns: slice | None) -> None:
        """Say that a band fills some columns, its frequencies in order."""
        if columns is not None:
            places = np.arange(len(self.band))[columns]
            self.band[places], self.column[places] = band, np.arange(len(places))

    def at(self, columns: Integers) -> ColumnBands:
        """Return the bands of the given columns (k,)."""
        return ColumnBands(self.band[columns], self.column[columns])


class WavePoints:
    """Cosines and sines of single places of a plan.

    Parameters
    ----------
    plan : Waves
        With bands alone.
    part : Positions
        Of the rows.
    """

    def __init__(self, plan: Waves, part: Positions) -> None:
        self.plan, self.part = plan, part
        self.frequencies = BandFrequencies()

    @cached_property
    def run(self) -> tuple[FrequencySet, range] | None:
        """The frequencies and multiples of all rows, where one band rotates every column and they are evenly spaced."""
        if self.plan.axes or self.plan.blank or len(self.plan.bands) != 1 or not self.part.is_range:
            return None
        (band,), (segment,) = self.plan.bands, self.part.segments(0, self.part.count)
        every = np.arange(self.plan.width)
        if band.sin is None or not np.array_equal(every[band.sin], every) or not isinstance(segment.multiples, range):
            return None
        frequencies = self.frequencies.get(band, segment.unit)
        return (frequencies, segment.multiples) if has_points(frequencies, segment.multiples) else None

    def doubled(self, rows: Integers, where: ColumnBands) -> tuple[DoubleDouble, DoubleDouble, Floats]:
        """Return cosine and sine of some places (k,), magnitude included, and a bound on the error of each."""
        parts = [np.zeros(len(rows)) for _ in range(4)]
        parts[0][...] = 1.0  # what no band rotates stays as it is
        error = np.zeros(len(rows))
        for chosen, frequencies, multiples, columns in self._groups(rows, where):
            found = frequencies.doubled_rows(multiples, columns)
            size = DoubleDouble(
                *(np.broadcast_to(x, multiples.shape) for x in (frequencies.magnitude.hi, frequencies.magnitude.lo))
            )
            for k, value in enumerate(found):
                scaled = multiply(value, size)
                parts[2 * k][chosen], parts[2 * k + 1][chosen] = scaled.hi, scaled.lo
            bits = frequencies.kept_bits(multiples, 100)
            error[chosen] = (frequencies.phase_error(multiples, bits) + 2.0**-98) * abs(float(frequencies.magnitude.hi))
        return DoubleDouble(parts[0], parts[1]), DoubleDouble(parts[2], parts[3]), error

    def interval(self, row: int, where: ColumnBands, bits: int) -> tuple[Interval, Interval]:
        """Return intervals about 2^-bits wide that hold cosine and sine of one place."""
        groups = list(self._groups(np.array([row]), where))
        if not groups:
            return (Fraction(1), Fraction(1)), (Fraction(0), Fraction(0))
        ((_, frequencies, multiples, columns),) = groups
        return frequencies.exact.enclosed_point(int(multiples[0]), int(columns[0]), bits)

    def _groups(
        self, rows: Integers, where: ColumnBands
    ) -> Iterator[tuple[Integers, FrequencySet, Integers, Integers]]:
        """Yield the places of each band and unit, with their frequencies, multiples and columns."""
        for number, band in enumerate(self.plan.bands):
            selected = np.flatnonzero(where.band == number)
            if not len(selected):
                continue
            columns = where.column[selected]
            if self.plan.axes:
                axis = self.plan.axes[band.axis]
                positions = self.part.numbers(0, self.part.count).astype(np.int64)[rows[selected]]
                values = np.asarray(axis.multiples, np.int64)
                multiples = values[axis.index(positions - self.plan.prefix)]
                yield selected, self.frequencies.get(band, axis.unit), multiples, columns
                continue
            distinct, place = np.unique(rows[selected], return_inverse=True)
            for unit, which, found in self._multiples(distinct):
                same_unit = np.flatnonzero(np.isin(place, which))
                yield (
                    selected[same_unit],
                    self.frequencies.get(band, unit),
                    found[np.searchsorted(which, place[same_unit])],
                    columns[same_unit],
                )

    def _multiples(self, rows: Integers) -> Iterator[tuple[Fraction, Integers, Integers]]:
        """Yield each unit with the indices of the ascending rows that have it, and their multiples."""
        if self.part.is_range:
            (segment,) = self.part.segments(0, self.part.count)
            assert isinstance(segment.multiples, range)
            first, step = segment.multiples.start, segment.multiples.step
            yield segment.unit, np.arange(len(rows)), first + rows * step
            return
        for segment in self.part.segments(0, self.part.count):
            own = np.arange(self.part.count)[segment.rows]
            which = np.flatnonzero(np.isin(rows, own))
            yield segment.unit, which, np.asarray(segment.multiples)[np.searchsorted(own, rows[which])]


class ExactRows(ABC):
    """`count` rows of real numbers, (count, width), at any requested accuracy."""

    count: int
    width: int

    @abstractmethod
    def rows(self, start: int, stop: int) -> Floats:
        """Return rows `start` to `stop`, (n, width) float64, each correctly rounded or exact."""

    @abstractmethod
    def doubled(self, rows: Integers, columns: Integers) -> tuple[DoubleDouble, Floats]:
        """Return some values (k,) as double-double numbers, and a bound on the absolute error of each."""

    def interval(self, row: int, column: int, bits: int) -> Interval:
        """Return an interval about 2^-bits wide that holds one value: here its doubled value, which decides."""
        return exactly(self.doubled(np.array([row]), np.array([column]))[0])


def exactly(value: DoubleDouble) -> Interval:
    """Return the interval of width zero at a single double-double number (1,)."""
    exact = Fraction(float(value.hi[0])) + Fraction(float(value.lo[0]))
    return exact, exact


class StoredRows(ExactRows):
    """Values that are exact as stored: those of a file, or a table's float64 ones where nothing finer is known.

    Parameters
    ----------
    table : Tabular
        What is read.
    name : str
        The array, (n, width).
    """

    def __init__(self, table: Tabular, name: str = "") -> None:
        self.table, self.name = table, name or table.arrays[0].name
        array = table.array(self.name)
        if len(array.shape) != 2 or array.lead != 1:
            rule = "is added as rows, (n, dim): of a bias, give the recipe, or a file that holds it (npz, HDF5)"
            raise BadParameter("SOURCE", self.name, f"has the shape {array.shape} and says no recipe, so it {rule}")
        self.count, self.width = array.shape
        self.dtype = array.dtype

    def rows(self, start: int, stop: int) -> Floats:
        """Return rows; see `ExactRows`."""
        if stop > self.count:
            rule = f"lies past the table, which has rows 0 to {self.count - 1}: give a longer one, or other positions"
            raise BadParameter("position", stop - 1, rule)
        return widen(self.table.read_rows([self.name], start, stop)[self.name], self.dtype)

    def doubled(self, rows: Integers, columns: Integers) -> tuple[DoubleDouble, Floats]:
        """Return some values; see `ExactRows`."""
        values = np.empty(len(rows))
        for row in np.unique(rows).tolist():
            selected = rows == row
            values[selected] = self.rows(row, row + 1)[0, columns[selected]]
        nothing = np.zeros(len(rows))
        return DoubleDouble(values, nothing), nothing


class WaveRows(StoredRows):
    """The real sines and cosines of an absolute table.

    Parameters
    ----------
    table : Table
        Float64, whose plan has bands and no other columns.
    """

    def __init__(self, table: Table) -> None:
        super().__init__(table, "pe")
        plan = table.plan
        assert isinstance(plan, Waves)
        self.plan, self.points = plan, WavePoints(plan, table.part)
        self.sines, self.cosines = ColumnBands.still(plan.width), ColumnBands.still(plan.width)
        for number, band in enumerate(plan.bands):
            self.sines.put(number, band.sin)
            self.cosines.put(number, band.cos)
        positions = table.part.numbers(0, table.part.count)
        inside = ~np.isin(positions, plan.blank)
        if plan.prefix:
            inside &= positions >= plan.prefix
        if plan.rows is not None:
            inside &= positions < plan.rows - plan.suffix
        self.inside = inside

    def doubled(self, rows: Integers, columns: Integers) -> tuple[DoubleDouble, Floats]:
        """Return some values; see `ExactRows`."""
        hi, lo, error = (np.zeros(len(rows)) for _ in range(3))
        for part, where in ((1, self.sines), (0, self.cosines)):
            selected = np.flatnonzero(self.inside[rows] & (where.band[columns] >= 0))
            if len(selected):
                *point, known = self.points.doubled(rows[selected], where.at(columns[selected]))
                hi[selected], lo[selected], error[selected] = point[part].hi, point[part].lo, known
        return DoubleDouble(hi, lo), error

    def interval(self, row: int, column: int, bits: int) -> Interval:
        """Return an interval that holds one value; see `ExactRows`."""
        at = np.array([column])
        for part, where in ((1, self.sines), (0, self.cosines)):
            if self.inside[row] and where.band[column] >= 0:
                return self.points.interval(row, where.at(at), bits)[part]
        return Fraction(0), Fraction(0)


class ValueRows(StoredRows):
    """Values that an encoding computes itself: exact, or doubled and within 2^-100 of the real number.

    Parameters
    ----------
    table : Table
        Float64.
    name : str
        The array.
    at : callable
        What computes it, of points.
    """

    def __init__(self, table: Table, name: str, at: Callable[[Points], Any]) -> None:
        super().__init__(table, name)
        self.at, self.part = at, table.part

    def doubled(self, rows: Integers, columns: Integers) -> tuple[DoubleDouble, Floats]:
        """Return some values; see `ExactRows`."""
        hi, lo = np.empty(len(rows)), np.zeros(len(rows))
        first, last = (int(rows.min()), int(rows.max()) + 1) if len(rows) else (0, 0)
        for segment in self.part.segments(first, last):
            own = np.arange(first, last)[segment.rows]
            which = np.flatnonzero(np.isin(own, rows))
            place = np.searchsorted(own[which], rows)
            selected = np.flatnonzero(np.isin(rows, own))
            found = self.at(Points(np.asarray(segment.multiples, np.int64)[which], segment.unit))
            found = found.doubled() if isinstance(found, Exponentials) else found
            at = place[selected], columns[selected]
            if isinstance(found, DoubleDouble):
                hi[selected], lo[selected] = found.hi[at], found.lo[at]
            else:
                hi[selected] = np.asarray(found, np.float64)[at]
        return DoubleDouble(hi, lo), np.zeros(len(rows))


def rows_of(table: Table) -> ExactRows:
    """Return the real rows of an absolute table; where nothing finer is known, its float64 values."""
    plan = table.plan
    if isinstance(plan, Values):
        return ValueRows(table, "pe", plan.at)
    if isinstance(plan, Waves) and plan.form == "real" and not plan.ramps and plan.cross is None:
        return WaveRows(table)
    return StoredRows(table, "pe")


@dataclass(frozen=True)
class InputScale:
    """A number that multiplies every input: a decimal, or the square root of a whole number."""

    square: Fraction
    value: Decimal | None = None

    @classmethod
    def of(cls, value: Decimal) -> InputScale:
        """Return a decimal."""
        return cls(Fraction(value) ** 2, value)

    @classmethod
    def root(cls, number: int) -> InputScale:
        """Return the square root of a whole number."""
        return cls(Fraction(number))

    def interval(self, bits: int) -> Interval:
        """Return an interval of at most 2^-bits that holds it."""
        if self.value is not None:
            return Fraction(self.value), Fraction(self.value)
        whole = isqrt(self.square.numerator << 2 * bits)
        low = Fraction(whole, 1 << bits)
        return (low, low) if low * low == self.square else (low, low + Fraction(1, 1 << bits))

    @property
    def doubled(self) -> DoubleDouble:
        """It, within 2^-105 of itself."""
        return from_decimal(self.interval(256)[0])
