"""Rows of real numbers: a table's values, as exactly as they are asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import isqrt
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pecli.application.points import WavePoints, Where
from pecli.application.products import Floats, Interval
from pecli.declare.plan import Values, Waves
from pecli.declare.tabular import Tabular
from pecli.errors import BadParameter
from pecli.numbers.double_double import DoubleDouble, Exponentials, Points, from_decimal
from pecli.numbers.rounding import widen
from pecli.tables.table import Table

Integers = NDArray[np.int64]


class Reals(Protocol):
    """`count` rows of real numbers, (count, width)."""

    count: int
    width: int

    def rows(self, start: int, stop: int) -> Floats:
        """Return rows `start` to `stop`, (n, width) float64, each correctly rounded or exact."""
        ...

    def doubled(self, rows: Integers, columns: Integers) -> tuple[DoubleDouble, Floats]:
        """Return some values (k,) as doubled numbers, and a bound on the absolute error of each."""
        ...

    def interval(self, row: int, column: int, bits: int) -> Interval:
        """Return an interval about 2^-bits wide that holds one value."""
        ...


class StoredRows:
    """Values that are exact as they stand: those of a file, or a table's float64 ones where nothing finer is known.

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
        """Return rows; see `Reals`."""
        if stop > self.count:
            rule = f"lies past the table, which has rows 0 to {self.count - 1}: give a longer one, or other positions"
            raise BadParameter("position", stop - 1, rule)
        return widen(self.table.read_rows([self.name], start, stop)[self.name], self.dtype)

    def doubled(self, rows: Integers, columns: Integers) -> tuple[DoubleDouble, Floats]:
        """Return some values; see `Reals`."""
        values = np.empty(len(rows))
        for row in np.unique(rows).tolist():
            mine = rows == row
            values[mine] = self.rows(row, row + 1)[0, columns[mine]]
        nothing = np.zeros(len(rows))
        return DoubleDouble(values, nothing), nothing

    def interval(self, row: int, column: int, bits: int) -> Interval:
        """Return one value, exactly; see `Reals`."""
        value = Fraction(float(self.rows(row, row + 1)[0, column]))
        return value, value


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
        self.sines, self.cosines = Where.still(plan.width), Where.still(plan.width)
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
        """Return some values; see `Reals`."""
        hi, lo, error = (np.zeros(len(rows)) for _ in range(3))
        for part, where in ((1, self.sines), (0, self.cosines)):
            mine = np.flatnonzero(self.inside[rows] & (where.band[columns] >= 0))
            if len(mine):
                *point, known = self.points.doubled(rows[mine], where.at(columns[mine]))
                hi[mine], lo[mine], error[mine] = point[part].hi, point[part].lo, known
        return DoubleDouble(hi, lo), error

    def interval(self, row: int, column: int, bits: int) -> Interval:
        """Return an interval that holds one value; see `Reals`."""
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
        """Return some values; see `Reals`."""
        hi, lo = np.empty(len(rows)), np.zeros(len(rows))
        first, last = (int(rows.min()), int(rows.max()) + 1) if len(rows) else (0, 0)
        for segment in self.part.segments(first, last):
            own = np.arange(first, last)[segment.rows]
            which = np.flatnonzero(np.isin(own, rows))
            place = np.searchsorted(own[which], rows)
            mine = np.flatnonzero(np.isin(rows, own))
            found = self.at(Points(np.asarray(segment.multiples, np.int64)[which], segment.unit))
            found = found.doubled() if isinstance(found, Exponentials) else found
            at = place[mine], columns[mine]
            if isinstance(found, DoubleDouble):
                hi[mine], lo[mine] = found.hi[at], found.lo[at]
            else:
                hi[mine] = np.asarray(found, np.float64)[at]
        return DoubleDouble(hi, lo), np.zeros(len(rows))

    def interval(self, row: int, column: int, bits: int) -> Interval:
        """Return one value to 2^-100, which decides; see `Reals`."""
        value, _ = self.doubled(np.array([row]), np.array([column]))
        exact = Fraction(float(value.hi[0])) + Fraction(float(value.lo[0]))
        return exact, exact


def rows_of(table: Table) -> Reals:
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
