"""Sines and cosines of phases that are no product of one frequency and one coordinate."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.engine import FrequencySet, Part, fill
from pecli.engine.rotation_tables import Rows, Split, combine, doubled, join
from pecli.numbers.decimals import CONTEXT
from pecli.numbers.double_double import Points
from pecli.numbers.rounding import narrow, round_within
from pecli.spec.plans import Coordinate, Cross

Integers = NDArray[np.int64]
Views = list[tuple[Part, NDArray[Any]]]

BLOCK = 1 << 14
"""Phases worked on at once."""

KEPT_BYTES = 8 << 20
"""Rows of all values of a coordinate are kept where they take less."""

PLANE = 2.0**-50.5
"""Error of a product of rows of modulus 1, for each of them: a row errs by 2^-52.5, a product by sqrt(5) 2^-53."""

WIDE = 2.0**-75
"""The same where rows are carried as main + rest: a row errs by 2^-80, a product by 2^-76.2."""


@dataclass
class Sums:
    """Fills columns whose phase is a sum over coordinates: e^(i(a + b)) = e^(ia) e^(ib).

    Each coordinate's own rows are computed once for each of its values; their
    product is a candidate, rounded from both ends of its error; where the two
    differ, the sum itself is taken exactly.
    """

    cross: Cross
    axes: tuple[Coordinate, ...]
    dtype: str
    lock: threading.Lock = field(default_factory=threading.Lock)
    kept: dict[int, Split] = field(default_factory=dict)

    def fill(self, rows: Integers, out: NDArray[Any]) -> None:
        """Fill rows of ``pe``."""
        cross, step = self.cross, max(1, BLOCK // len(self.cross.factors[0]))
        for at in range(0, len(rows), step):
            here = rows[at : at + step]
            target = out[at : at + step]
            values, doubtful = (self._wide if self.dtype == "float64" else self._narrow)(here)
            target[:, cross.cos], target[:, cross.sin] = values[:, 0::2], values[:, 1::2]
            if not len(doubtful):
                continue
            row, place = np.divmod(doubtful, values.shape[1])
            for odd, columns in enumerate((cross.cos, cross.sin)):
                chosen = (place & 1) == odd
                if chosen.any():
                    part_of = target[:, columns]
                    exact = self._exact(here, row[chosen], place[chosen] >> 1, "sin" if odd else "cos")
                    part_of[row[chosen], place[chosen] >> 1] = exact

    def _narrow(self, rows: Integers) -> tuple[NDArray[Any], Integers]:
        """Return rows cos, sin, cos, sin .. rounded, and the flat places of the doubtful ones."""
        pieces = [self._rows(number, rows, whole=True)[0] for number in range(len(self.axes))]
        z = pieces[0]
        for piece in pieces[1:]:
            z *= piece
        return round_within(z.view(np.float64), len(pieces) * PLANE, self.dtype)

    def _wide(self, rows: Integers) -> tuple[NDArray[Any], Integers]:
        """Return the same for float64, from main and rest."""
        pieces = [Split(*self._rows(number, rows, whole=False)) for number in range(len(self.axes))]
        main, rest = combine(pieces[0], pieces[1])
        for piece in pieces[2:]:
            main, rest = combine(doubled(main, rest).split(), piece)
        large, small, margin = main.view(np.float64), rest.view(np.float64), len(pieces) * WIDE
        below, above = large + (small - margin), large + (small + margin)
        return below, np.flatnonzero(below != above)

    def _rows(self, number: int, rows: Integers, *, whole: bool) -> list[NDArray[np.complex128]]:
        """Return the rows of one coordinate: rounded, or as coarse half, rest and rounded."""
        axis = self.axes[number]
        index = axis.index(rows)
        width = len(self.cross.factors[0])
        if len(axis.multiples) * width * 48 <= KEPT_BYTES:
            with self.lock:
                if number not in self.kept:
                    self.kept[number] = self._computed(number, np.arange(len(axis.multiples)))
                found = self.kept[number]
        else:
            levels, index = np.unique(index, return_inverse=True)
            found = self._computed(number, levels)
        parts = (found.whole,) if whole else (found.coarse, found.rest, found.whole)
        return [part.take(index, axis=0) for part in parts]

    def _computed(self, number: int, levels: Integers) -> Split:
        axis = self.axes[number]
        wheel = FrequencySet(self.cross.factors[number], turns=True, unit=axis.unit)
        multiples = np.array([axis.multiples[i] for i in levels.tolist()], np.int64)
        cosine, sine = wheel.doubled_rows(multiples)
        return Rows(join(cosine.hi, sine.hi), join(cosine.lo, sine.lo)).split()

    def _exact(self, rows: Integers, row: Integers, column: Integers, part: Part) -> NDArray[Any]:
        """Return single values, each by its exact phase."""
        phases = [Fraction(0)] * len(row)
        for axis, factors in zip(self.axes, self.cross.factors, strict=True):
            for number, (k, i) in enumerate(zip(column.tolist(), axis.index(rows[row]).tolist(), strict=True)):
                phases[number] += factors[k] * axis.multiples[i] * axis.unit
        found = narrow(np.zeros((1, len(phases))), None, self.dtype)
        views: Views = [(part, found)]
        fill(FrequencySet(phases, turns=True), range(1, 2), views, self.dtype)
        exact: NDArray[Any] = found[0]
        return exact


def fill_logarithms(cross: Cross, points: Points, out: NDArray[Any], dtype: str, threads: int) -> None:
    """Fill the columns of multiples of ln p, rows `points` of ``pe``.

    Positions and columns change places: the positions' logarithms are the
    frequencies, the columns' factors the multiples.
    """
    factors = np.array(cross.logarithm, np.int64)
    step = max(1, 2 * BLOCK // len(factors))
    for at in range(0, len(points), step):
        here = points.multiples[at : at + step].tolist()
        wheel = FrequencySet([logarithm(m * points.unit) for m in here], turns=True, unit=cross.unit)
        rows = out[at : at + step]
        views: Views = [("sin", rows[:, cross.sin].T), ("cos", rows[:, cross.cos].T)]
        fill(wheel, factors, views, dtype, threads=threads)


def logarithm(value: Fraction) -> Decimal:
    """Return the natural logarithm of a number above 0, in decimals."""
    return CONTEXT.ln(CONTEXT.divide(Decimal(value.numerator), Decimal(value.denominator)))
