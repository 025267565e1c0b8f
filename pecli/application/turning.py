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
from pecli.application.products import Factors, Floats, Interval, Places
from pecli.declare.plan import Waves
from pecli.declare.tabular import Tabular
from pecli.errors import BadParameter
from pecli.numbers.doubled import Doubled
from pecli.numbers.rounding import widen
from pecli.tables.table import Table

Integers = NDArray[np.int64]


class Turns(Protocol):
    """The cosines and sines of rows, as exactly as they are asked for."""

    pairs: int

    def rows(self, start: int, stop: int) -> tuple[Floats, Floats]:
        """Return c and s of rows `start` to `stop`, (n, pairs) float64, correctly rounded or exact."""
        ...

    def doubled(self, rows: Integers, pairs: Integers) -> tuple[Doubled, Doubled, Floats]:
        """Return c and s at some places (k,), as doubled numbers, and a bound on the absolute error of each."""
        ...

    def interval(self, row: int, pair: int, bits: int) -> tuple[Interval, Interval]:
        """Return intervals about 2^-bits wide that hold c and s of one place."""
        ...


@dataclass(frozen=True)
class Rotation:
    """The sums that turn a block of pairs, in C order of (n, pairs).

    Attributes
    ----------
    turns : Turns
        The cosines and sines.
    rows : (n,) int64 ndarray
        Which row of theirs each vector of the block has.
    back : bool
        Whether the block is turned back.
    """

    turns: Turns
    rows: Integers
    back: bool

    def factors(self, second: bool) -> Factors:
        """Return what the factors of x and y are, for the first or the second member of each pair.

        first = x c - y s, second = x s + y c; turned back s has the other sign.
        """
        sign = 1 if second != self.back else -1  # of s in this sum

        def doubled(places: Places) -> tuple[Doubled, Doubled, Floats]:
            row, pair = np.divmod(places, self.turns.pairs)
            c, s, error = self.turns.doubled(self.rows[row], pair)
            s = -s if sign < 0 else s
            return (s, c, error) if second else (c, s, error)

        def interval(place: int, bits: int) -> tuple[Interval, Interval]:
            row, pair = divmod(place, self.turns.pairs)
            c, (low, high) = self.turns.interval(int(self.rows[row]), pair, bits)
            s = (-high, -low) if sign < 0 else (low, high)
            return (s, c) if second else (c, s)

        return Factors(doubled, interval)


class ExactTurns:
    """The real cosines and sines of a recipe's rotary plan.

    Parameters
    ----------
    table : Table
        Of a rotary encoding, float64 in the layout split.
    """

    def __init__(self, table: Table) -> None:
        plan = table.plan
        assert isinstance(plan, Waves)
        self.table, self.pairs = table, plan.width
        self.points = WavePoints(plan, table.part)
        self.where = Where.still(plan.width)
        for number, band in enumerate(plan.bands):
            self.where.put(number, band.sin)

    def rows(self, start: int, stop: int) -> tuple[Floats, Floats]:
        """Return c and s of rows; see `Turns`."""
        found = self.table.read_rows(["cos", "sin"], start, stop)
        return found["cos"], found["sin"]

    def doubled(self, rows: Integers, pairs: Integers) -> tuple[Doubled, Doubled, Floats]:
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
        With arrays cos and sin (n, pairs).
    """

    def __init__(self, table: Tabular) -> None:
        self.table, array = table, table.array("cos")
        self.count, self.pairs = array.shape
        self.dtype = array.dtype

    def rows(self, start: int, stop: int) -> tuple[Floats, Floats]:
        """Return c and s of rows; see `Turns`."""
        if stop > self.count:
            rule = f"lies past the table, which has rows 0 to {self.count - 1}: give a longer one, or other positions"
            raise BadParameter("position", stop - 1, rule)
        found = self.table.read_rows(["cos", "sin"], start, stop)
        return widen(found["cos"], self.dtype), widen(found["sin"], self.dtype)

    def doubled(self, rows: Integers, pairs: Integers) -> tuple[Doubled, Doubled, Floats]:
        """Return c and s at some places; see `Turns`."""
        distinct, place = np.unique(rows, return_inverse=True)
        parts = np.empty((2, len(rows)))
        for k, row in enumerate(distinct.tolist()):
            mine = place == k
            for part, values in zip(parts, self.rows(row, row + 1), strict=True):
                part[mine] = values[0, pairs[mine]]
        nothing = np.zeros(len(rows))
        return Doubled(parts[0], nothing), Doubled(parts[1], nothing), nothing

    def interval(self, row: int, pair: int, bits: int) -> tuple[Interval, Interval]:
        """Return c and s of one place, exactly; see `Turns`."""
        c, s = (Fraction(float(values[0, pair])) for values in self.rows(row, row + 1))
        return (c, c), (s, s)
