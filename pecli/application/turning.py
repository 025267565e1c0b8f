"""Rotated queries and keys, each value rounded once from the real cosine and sine.

A pair (x, y) at position p with frequency w becomes (x c - y s, x s + y c), c = m cos(p w), s = m sin(p w),
m the magnitude.  Undone (``inverse``) it is turned back and divided by m^2; the gradient of a rotation is turned
back and multiplied by m alone: both are the transposed matrix, times 1/m^2 or 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from pecli.application.points import WavePoints, Where
from pecli.application.products import Floats, Interval, Places
from pecli.declare.plan import Waves
from pecli.declare.tabular import Tabular
from pecli.engine.runs import fill_points, plane_error
from pecli.errors import BadParameter
from pecli.numbers.double_double import DoubleDouble
from pecli.numbers.rounding import widen
from pecli.tables.table import Table

Integers = NDArray[np.int64]
Points = NDArray[np.complex128]


class Turns(Protocol):
    """The cosines and sines of rows, as exactly as they are asked for."""

    pairs: int
    coarse: float
    """By what `CANDIDATE` is to be multiplied: 1 if the parts of `rows` are correctly rounded or exact."""
    loose: float
    """How far the points of `near` may be off in the complex plane beside that."""

    def rows(self, start: int, stop: int) -> Points:
        """Return c + i s of rows `start` to `stop`, (n, pairs) complex128, an array of the caller's own."""
        ...

    def near(self, start: int, stop: int) -> Points:
        """Return the same within `loose`, where that is less work."""
        ...

    def doubled(self, rows: Integers, pairs: Integers) -> tuple[DoubleDouble, DoubleDouble, Floats]:
        """Return c and s at some places (k,), as doubled numbers, and a bound on the absolute error of each."""
        ...

    def interval(self, row: int, pair: int, bits: int) -> tuple[Interval, Interval]:
        """Return intervals about 2^-bits wide that hold c and s of one place."""
        ...


@dataclass(frozen=True)
class Rotation:
    """The sums at some places of turned vectors: x c - y s of first members of pairs, y c + x s of second ones.

    Attributes
    ----------
    turns : Turns
        The cosines and sines.
    rows, pairs : (k,) int64 ndarray
        Which row and which pair of theirs each sum has.
    second : (k,) bool ndarray
        Whether it is a second member.
    back : bool
        Whether it is turned back: s has the other sign.
    """

    turns: Turns
    rows: Integers
    pairs: Integers
    second: NDArray[np.bool_]
    back: bool

    def doubled(self, places: Places) -> tuple[DoubleDouble, DoubleDouble, Floats]:
        """Return what multiplies the sums' own numbers, and the others of their pairs; see `Factors`."""
        c, s, error = self.turns.doubled(self.rows[places], self.pairs[places])
        sign = np.where(self.second[places] != self.back, 1.0, -1.0)
        return c, DoubleDouble(s.hi * sign, s.lo * sign), error

    def interval(self, place: int, bits: int) -> tuple[Interval, Interval]:
        """Return intervals that hold them; see `Factors`."""
        c, (low, high) = self.turns.interval(int(self.rows[place]), int(self.pairs[place]), bits)
        return c, (low, high) if self.second[place] != self.back else (-high, -low)


class ExactTurns:
    """The real cosines and sines of a recipe's rotary plan.

    Parameters
    ----------
    table : Table
        Float64: of a rotary encoding in the layout split, or of complex numbers.
    """

    def __init__(self, table: Table) -> None:
        plan = table.plan
        assert isinstance(plan, Waves)
        self.table, self.plan, self.pairs, self.coarse = table, plan, plan.width, 1.0
        self.points = WavePoints(plan, table.part)
        self.loose = plane_error(self.points.run[0]) if self.points.run is not None else 0.0
        self.where = Where.still(plan.width)
        for number, band in enumerate(plan.bands):
            self.where.put(number, band.sin)

    def rows(self, start: int, stop: int) -> Points:
        """Return c + i s of rows; see `Turns`."""
        found = np.empty((stop - start, self.pairs), np.complex128)
        parts = {"cos": found.real, "sin": found.imag} if "cos" in self.table else {"pe": found}
        self.table.fill(start, stop, parts)
        return found

    def near(self, start: int, stop: int) -> Points:
        """Return c + i s of rows as products of a ladder, not rounded to float64; see `Turns`."""
        if self.points.run is None:
            return self.rows(start, stop)
        wheel, multiples = self.points.run
        found = np.empty((stop - start, self.pairs), np.complex128)
        fill_points(wheel, multiples[start:stop], found)
        return found

    def doubled(self, rows: Integers, pairs: Integers) -> tuple[DoubleDouble, DoubleDouble, Floats]:
        """Return c and s at some places; see `Turns`."""
        return self.points.doubled(rows, self.where.at(pairs))

    def interval(self, row: int, pair: int, bits: int) -> tuple[Interval, Interval]:
        """Return intervals that hold c and s of one place; see `Turns`."""
        return self.points.interval(row, self.where.at(np.array([pair])), bits)


class StoredTurns:
    """The cosines and sines that a file holds, which are exact as they stand.

    Parameters
    ----------
    table : Tabular
        With arrays cos and sin (n, pairs), or one of complex numbers.
    """

    def __init__(self, table: Tabular) -> None:
        self.table, array = table, table.array("cos") if "cos" in table else table.arrays[0]
        self.count, self.pairs = array.shape
        self.dtype, self.coarse, self.loose = array.dtype, 1.0, 0.0

    def rows(self, start: int, stop: int) -> Points:
        """Return c + i s of rows; see `Turns`."""
        if stop > self.count:
            rule = f"lies past the table, which has rows 0 to {self.count - 1}: give a longer one, or other positions"
            raise BadParameter("position", stop - 1, rule)
        if "cos" not in self.table:
            (points,) = self.table.read_rows(self.table.keys(), start, stop).values()
            return points.astype(np.complex128)
        found = self.table.read_rows(["cos", "sin"], start, stop)
        return joined(widen(found["cos"], self.dtype), widen(found["sin"], self.dtype))

    near = rows

    def doubled(self, rows: Integers, pairs: Integers) -> tuple[DoubleDouble, DoubleDouble, Floats]:
        """Return c and s at some places; see `Turns`."""
        distinct, place = np.unique(rows, return_inverse=True)
        found = np.concatenate([self.rows(row, row + 1) for row in distinct.tolist()])[place, pairs]
        nothing = np.zeros(len(rows))
        return DoubleDouble(found.real, nothing), DoubleDouble(found.imag, nothing), nothing

    def interval(self, row: int, pair: int, bits: int) -> tuple[Interval, Interval]:
        """Return c and s of one place, exactly; see `Turns`."""
        value = complex(self.rows(row, row + 1)[0, pair])
        c, s = Fraction(value.real), Fraction(value.imag)
        return (c, c), (s, s)


def joined(c: Floats, s: Floats) -> Points:
    """Return c + i s."""
    found = np.empty(c.shape, np.complex128)
    found.real, found.imag = c, s
    return found
