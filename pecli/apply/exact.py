"""Correctly rounded sums of two products x A + y B, and the exact rows and points that A and B come from.

Rotating a pair, scaling and adding a row, adding a bias: all are such sums of given numbers x, y and real numbers A, B.
A and B are known in three ways:

- as float64 a, b, each the correctly rounded one or exact, so within u = 2^-53 of itself.  The candidate
  a x + b y then errs by at most 3u (abs(a x) + abs(b y)) and its second-order terms, with fused multiplications or
  without.  Its two ends are made by a sum and a difference, a further u each: 6u bounds all.  If both ends round
  to the same value, that is the correctly rounded one; first with one bound for many sums, then with that of each.
- as double-double numbers with a bound on their error, for the few sums where the ends differ (and for float64, all).
- as the fractions that these double-double numbers are, for what then is still in doubt.  A sum that lies exactly on
  a boundary has exact A and B (angle zero, a stored table) and is decided by them; any other one lies within 2^-98 of
  one, relative to its terms, about once in 2^45 sums.

Only + - x on float64 and integers: the same values on every machine.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cached_property
from math import isfinite
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pecli.engine import FrequencySet
from pecli.engine.angles import round_ratio
from pecli.engine.narrowing import Flags
from pecli.engine.runs import has_points
from pecli.engine.threads import Scratch
from pecli.errors import BadParameter, BadRecipe
from pecli.numbers import double_double
from pecli.numbers.dtypes import GRIDS
from pecli.numbers.positions import Positions
from pecli.numbers.rounding import Floats, Integers, narrow, round_within, to_grid, widen
from pecli.spec.plans import Values, Waves
from pecli.spec.tabular import Tabular
from pecli.tables.fill.filler import BandFrequencies
from pecli.tables.table import Table

# 6u: see above.
CANDIDATE_ERROR = 3 * 2.0**-52

# Additional error bound of products below the normal numbers.
UNDERFLOW_ERROR = 2.0**-1060

# Products of a float64 and a double-double number err by 2u^2 each, their sum by 3u^2: below 2^-100 of their sizes.
DOUBLE_DOUBLE_ERROR = 2.0**-100

# Beyond this size, or below its reciprocal, a float64 may leave a doubled product no room: fractions decide.
MAX_SIZE = 2.0**900

# Of places (k,) in the flat array of sums, gives A and B and a bound (k,) on the absolute error of each.
Doubled = Callable[[Integers], tuple[double_double.DoubleDouble, double_double.DoubleDouble, Floats]]


def round_candidates(candidate: Floats, most: float, dtype: str, out: NDArray[Any], own: Scratch) -> Integers:
    """Round sums into `out`, of their shape, and use up their float64 values.

    Parameters
    ----------
    candidate : float64 ndarray
        a x + b y, contiguous.
    most : float
        What abs(a x) + abs(b y) is at most; infinite or NaN where an input is.
    dtype : {"float16", "bfloat16", "float32", "float64"}
        Of the sums; bfloat16 as its bits in uint16.
    out : ndarray
        The output; of the storage type and any strides.
    own : Scratch
        Working memory.

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


def _store_float32(candidate: Floats, error: float, out: NDArray[Any], own: Scratch) -> Integers:
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


def largest_size(values: NDArray[np.floating[Any]]) -> float:
    """Return the largest absolute value; infinite or NaN if a value is."""
    return max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))


def finite_size(values: NDArray[np.floating[Any]]) -> float:
    """Return the largest absolute value of the finite values."""
    sizes = np.abs(values)
    return float(np.max(sizes, initial=0.0, where=np.isfinite(sizes)))


def exact_sums(
    x: Floats, a: Floats, y: Floats, b: Floats, places: Integers, doubled: Doubled, dtype: str, coarse: float = 1.0,
    loose: float = 0.0,
) -> NDArray[Any]:  # fmt: skip
    """Return sums x A + y B (k,) at some places, correctly rounded.

    a and b, for A and B, may be coarser than rounded ones: by a factor `coarse`, and in absolute terms by `loose`;
    `doubled` gives them beyond that.  A NaN or an infinity gives what IEEE 754 says of it.
    """
    with np.errstate(all="ignore"):
        first, second = x * a, y * b
        values = narrow(first + second, None, dtype)
        error = coarse * CANDIDATE_ERROR * (np.abs(first) + np.abs(second)) + UNDERFLOW_ERROR
        error += loose * (np.abs(x) + np.abs(y))
        unsure = round_within(first + second, error, dtype)[1]
    if len(unsure):
        x, y, places = x[unsure], y[unsure], places[unsure]
        first_factor, second_factor, error = doubled(places)
        decided, left = double_double_sums(x, y, first_factor, second_factor, error, dtype)
        for k in np.flatnonzero(left).tolist():
            total = Fraction(x[k]) * _fraction(first_factor, k) + Fraction(y[k]) * _fraction(second_factor, k)
            decided[k] = round_ratio(total.numerator, total.denominator, GRIDS[dtype])
        values[unsure] = narrow(decided, None, dtype)
    return values


def double_double_sums(
    x: Floats, y: Floats, a: double_double.DoubleDouble, b: double_double.DoubleDouble, factor_error: Floats, dtype: str
) -> tuple[Floats, NDArray[np.bool_]]:
    """Return rounded sums of any shape by factors with an error up to `factor_error`, and a mask of doubtful ones."""
    left, right = _product(x, a), _product(y, b)
    total = double_double.add(left, right)
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
    return double_double.quick_two_sum(*double_double.two_sum(hi, lo))


def _product(x: Floats, factor: double_double.DoubleDouble) -> double_double.DoubleDouble:
    """Multiply a float64 and a double-double number, within 2u^2 of the product."""
    product, error = double_double.two_prod(x, factor.hi)
    return double_double.DoubleDouble(*double_double.quick_two_sum(product, error + x * factor.lo))


def _fraction(numbers: double_double.DoubleDouble, place: int) -> Fraction:
    return Fraction(float(numbers.hi[place])) + Fraction(float(numbers.lo[place]))


def bands_of(plan: Waves, part: Literal["cos", "sin"]) -> Integers:
    """Return the number of the band that fills each column, and the frequency in it, (2, width); band -1 for none."""
    found = np.zeros((2, plan.width), np.int64)
    found[0] = -1
    for number, band in enumerate(plan.bands):
        columns = getattr(band, part)
        if columns is not None:
            places = np.arange(plan.width)[columns]
            found[0, places], found[1, places] = number, np.arange(len(places))
    return found


def multiples_of(positions: Positions, rows: Integers) -> Iterator[tuple[Fraction, Integers, Integers]]:
    """Yield each unit of some positions, the indices of the given rows (k,) that have it, and their multiples."""
    for segment in positions.segments(0, positions.count):
        multiples = segment.multiples
        if isinstance(multiples, range):
            yield segment.unit, np.arange(len(rows)), multiples.start + rows * multiples.step
        elif isinstance(segment.rows, slice):
            yield segment.unit, np.arange(len(rows)), multiples[rows]
        else:
            which = np.flatnonzero(np.isin(rows, segment.rows))
            yield segment.unit, which, multiples[np.searchsorted(segment.rows, rows[which])]


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

    def doubled(
        self, rows: Integers, where: Integers
    ) -> tuple[double_double.DoubleDouble, double_double.DoubleDouble, Floats]:
        """Return cosine and sine of places (k,), magnitude included, and a bound on their errors; see `bands_of`."""
        parts = [np.zeros(len(rows)) for _ in range(4)]
        parts[0][...] = 1.0  # what no band rotates stays as it is
        error = np.zeros(len(rows))
        for chosen, frequencies, multiples, columns in self._groups(rows, where):
            found = frequencies.doubled_rows(multiples, columns)
            size = frequencies.magnitude.spread(multiples.shape)
            for k, value in enumerate(found):
                scaled = double_double.multiply(value, size)
                parts[2 * k][chosen], parts[2 * k + 1][chosen] = scaled.hi, scaled.lo
            bits = frequencies.kept_bits(multiples, 100)
            error[chosen] = (frequencies.phase_error(multiples, bits) + 2.0**-98) * abs(float(frequencies.magnitude.hi))
        return double_double.DoubleDouble(parts[0], parts[1]), double_double.DoubleDouble(parts[2], parts[3]), error

    def _groups(self, rows: Integers, where: Integers) -> Iterator[tuple[Integers, FrequencySet, Integers, Integers]]:
        """Yield the places of each band and unit, with their frequencies, multiples and columns."""
        for number, band in enumerate(self.plan.bands):
            selected = np.flatnonzero(where[0] == number)
            if not len(selected):
                continue
            columns = where[1, selected]
            if self.plan.axes:
                axis = self.plan.axes[band.axis]
                positions = self.part.numbers(0, self.part.count).astype(np.int64)[rows[selected]]
                multiples = np.asarray(axis.multiples, np.int64)[axis.index(positions - self.plan.prefix)]
                yield selected, self.frequencies.get(band, axis.unit), multiples, columns
                continue
            for unit, which, multiples in multiples_of(self.part, rows[selected]):
                yield selected[which], self.frequencies.get(band, unit), multiples, columns[which]


class ExactRows(ABC):
    """`count` rows of real numbers, (count, width), at any requested accuracy."""

    count: int
    width: int

    @abstractmethod
    def rows(self, start: int, stop: int) -> Floats:
        """Return rows `start` to `stop`, (n, width) float64, each correctly rounded or exact."""

    @abstractmethod
    def doubled(self, rows: Integers, columns: Integers) -> tuple[double_double.DoubleDouble, Floats]:
        """Return some values (k,) as double-double numbers, and a bound on the absolute error of each."""


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
            raise BadRecipe(f"position {stop - 1} {rule}")
        return widen(self.table.read_rows([self.name], start, stop)[self.name], self.dtype)

    def doubled(self, rows: Integers, columns: Integers) -> tuple[double_double.DoubleDouble, Floats]:
        """Return some values; see `ExactRows`."""
        values = np.empty(len(rows))
        for row in np.unique(rows).tolist():
            selected = rows == row
            values[selected] = self.rows(row, row + 1)[0, columns[selected]]
        return double_double.doubled(values), np.zeros(len(rows))


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
        self.sines, self.cosines = bands_of(plan, "sin"), bands_of(plan, "cos")
        positions = table.part.numbers(0, table.part.count)
        inside = ~np.isin(positions, plan.blank)
        if plan.prefix:
            inside &= positions >= plan.prefix
        if plan.rows is not None:
            inside &= positions < plan.rows - plan.suffix
        self.inside = inside

    def doubled(self, rows: Integers, columns: Integers) -> tuple[double_double.DoubleDouble, Floats]:
        """Return some values; see `ExactRows`."""
        hi, lo, error = (np.zeros(len(rows)) for _ in range(3))
        for part, where in ((1, self.sines), (0, self.cosines)):
            selected = np.flatnonzero(self.inside[rows] & (where[0, columns] >= 0))
            if len(selected):
                *point, known = self.points.doubled(rows[selected], where[:, columns[selected]])
                hi[selected], lo[selected], error[selected] = point[part].hi, point[part].lo, known
        return double_double.DoubleDouble(hi, lo), error


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

    def __init__(self, table: Table, name: str, at: Callable[[double_double.Points], Any]) -> None:
        super().__init__(table, name)
        self.at, self.part = at, table.part

    def doubled(self, rows: Integers, columns: Integers) -> tuple[double_double.DoubleDouble, Floats]:
        """Return some values; see `ExactRows`."""
        hi, lo = np.empty(len(rows)), np.zeros(len(rows))
        for unit, which, multiples in multiples_of(self.part, rows):
            distinct, place = np.unique(multiples, return_inverse=True)
            found = self.at(double_double.Points(distinct, unit))
            found = found.doubled() if isinstance(found, double_double.Exponentials) else found
            if isinstance(found, double_double.DoubleDouble):
                hi[which], lo[which] = found.hi[place, columns[which]], found.lo[place, columns[which]]
            else:
                hi[which] = np.asarray(found, np.float64)[place, columns[which]]
        return double_double.DoubleDouble(hi, lo), np.zeros(len(rows))


def rows_of(table: Tabular) -> ExactRows:
    """Return the real rows of an absolute table; where nothing finer is known, or of a file, its values."""
    if isinstance(table, Table):
        plan = table.plan
        if isinstance(plan, Values):
            return ValueRows(table, "pe", plan.at)
        if isinstance(plan, Waves) and plan.form == "real" and not plan.ramps and plan.cross is None:
            return WaveRows(table)
    return StoredRows(table)
