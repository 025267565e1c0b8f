"""Turns whose cosines and sines are multiplied by a factor, or divided by it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from pecli.application.products import Floats, Interval
from pecli.application.reals import Reals
from pecli.application.turning import Points, Turns, joined
from pecli.numbers.double_double import DoubleDouble, divide, multiply

Integers = NDArray[np.int64]

TAME = 2.0**400
"""Factors between this and its reciprocal neither overflow nor lose digits."""


class ScaledTurns:
    """Turns with a factor above zero for each row and pair.

    Parameters
    ----------
    turns : Turns
        What is scaled.
    scale : Reals
        The factors.
    divided : bool
        Whether they divide.
    """

    def __init__(self, turns: Turns, scale: Reals, divided: bool) -> None:
        self.turns, self.scale, self.divided, self.pairs = turns, scale, divided, turns.pairs
        self.coarse, self.loose = turns.coarse + 1, 0.0  # two more roundings

    def rows(self, start: int, stop: int) -> Points:
        """Return c + i s of rows; see `Turns`."""
        scale = self.scale.rows(start, stop)
        if ((scale > 1 / TAME) & (scale < TAME)).all():
            points = self.turns.rows(start, stop)
            for part in (points.real, points.imag):
                (np.divide if self.divided else np.multiply)(part, scale, out=part)
            return points
        shape = (stop - start, self.pairs)
        rows, pairs = (index.reshape(-1) for index in np.indices(shape))
        c, s, _ = self.doubled(rows + start, pairs)
        return joined(c.hi, s.hi).reshape(shape)

    near = rows

    def doubled(self, rows: Integers, pairs: Integers) -> tuple[DoubleDouble, DoubleDouble, Floats]:
        """Return c and s at some places; see `Turns`."""
        c, s, error = self.turns.doubled(rows, pairs)
        scale, known = self.scale.doubled(rows, pairs)
        change = divide if self.divided else multiply
        size = 1 / scale.hi if self.divided else scale.hi
        # the operation errs by at most 15u^2 of the result, and c and s are at most about 1
        return change(c, scale), change(s, scale), size * (error * 2 + 2.0**-98) + known * size * size * 2

    def interval(self, row: int, pair: int, bits: int) -> tuple[Interval, Interval]:
        """Return intervals that hold c and s of one place; see `Turns`."""
        low, high = self.scale.interval(row, pair, bits + 8)
        ends = (1 / high, 1 / low) if self.divided else (low, high)
        c, s = (_times(part, ends) for part in self.turns.interval(row, pair, bits + 8))
        return c, s


def _times(interval: Interval, factor: tuple[Fraction, Fraction]) -> Interval:
    ends = [a * b for a in interval for b in factor]
    return min(ends), max(ends)
