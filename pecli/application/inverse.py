"""Turns undone, and turns with a further factor on queries and keys."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
from numpy.typing import NDArray

from pecli.application.products import Floats, Interval
from pecli.application.turning import ExactTurns, Points, Turns, joined
from pecli.numbers.double_double import DoubleDouble, add, divide, multiply

Integers = NDArray[np.int64]

TAME = 2.0**400
"""Squares between this and its reciprocal neither overflow nor lose digits."""


def undone(turns: Turns) -> Turns:
    """Return the inverse of each pair's matrix, without its transposition: that of a rotation alone is itself."""
    if isinstance(turns, ExactTurns) and all(size == 1 for size in turns.plan.magnitudes):
        return turns
    return Undone(turns)


class Undone:
    """The inverse of each pair's matrix, without its transposition: c and s over c^2 + s^2.

    Parameters
    ----------
    turns : Turns
        What is undone; of a recipe c^2 + s^2 is the square of the magnitude.
    """

    def __init__(self, turns: Turns) -> None:
        self.turns, self.pairs = turns, turns.pairs
        self.coarse = turns.coarse + 1  # c and s within 3u leave the square 8u, the quotient 12u, and the sums 15u
        self.loose = 0.0

    def rows(self, start: int, stop: int) -> Points:
        """Return c + i s of rows; see `Turns`."""
        points = self.turns.rows(start, stop)
        with np.errstate(all="ignore"):
            square = points.real * points.real + points.imag * points.imag
            if ((square > 1 / TAME) & (square < TAME)).all():
                points.real /= square
                points.imag /= square
                return points
        shape = (stop - start, self.pairs)
        rows, pairs = (index.reshape(-1) for index in np.indices(shape))
        c, s, _ = self.doubled(rows + start, pairs)
        return joined(c.hi, s.hi).reshape(shape)

    near = rows

    def doubled(self, rows: Integers, pairs: Integers) -> tuple[DoubleDouble, DoubleDouble, Floats]:
        """Return c and s at some places; see `Turns`."""
        c, s, error = self.turns.doubled(rows, pairs)
        square = add(multiply(c, c), multiply(s, s))
        found = divide(c, square), divide(s, square)
        # the quotient's own error, and what that of c and s does to it: at most 3 times theirs over the square
        return *found, 2.0**-98 / np.sqrt(square.hi) + 4 * error / square.hi

    def interval(self, row: int, pair: int, bits: int) -> tuple[Interval, Interval]:
        """Return intervals that hold c and s of one place; see `Turns`."""
        c, s = self.turns.interval(row, pair, bits + 8)
        low, high = (sum(ends) for ends in zip(_squared(c), _squared(s), strict=True))
        return _quotient(c, (Fraction(low), Fraction(high))), _quotient(s, (Fraction(low), Fraction(high)))


def _squared(interval: Interval) -> Interval:
    low, high = interval
    ends = sorted((low * low, high * high))
    return (Fraction(0), ends[1]) if low < 0 < high else (ends[0], ends[1])


def _quotient(interval: Interval, square: Interval) -> Interval:
    ends = [a / b for a, b in product(interval, square) if b]
    return min(ends), max(ends)
