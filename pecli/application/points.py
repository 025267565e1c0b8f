"""Points of the circle that a plan's bands turn to, at single places, as exactly as they are asked for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from pecli.application.products import Floats, Interval
from pecli.declare.plan import Band, Waves
from pecli.engine import FrequencySet
from pecli.engine.runs import has_points
from pecli.numbers.double_double import DoubleDouble, multiply
from pecli.numbers.positions import Positions

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Where:
    """Which frequency some columns turn with.

    Attributes
    ----------
    band, column : (k,) int64 ndarray
        The number of the band and the frequency in it; band -1 stands still.
    """

    band: Integers
    column: Integers

    @classmethod
    def still(cls, width: int) -> Where:
        """Return columns that nothing turns yet."""
        return cls(np.full(width, -1, np.int64), np.zeros(width, np.int64))

    def put(self, band: int, columns: slice | None) -> None:
        """Say that a band fills some columns, its frequencies in order."""
        if columns is not None:
            places = np.arange(len(self.band))[columns]
            self.band[places], self.column[places] = band, np.arange(len(places))

    def at(self, columns: Integers) -> Where:
        """Return those of some columns (k,)."""
        return Where(self.band[columns], self.column[columns])


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
        self._wheels: dict[tuple[int, Fraction], FrequencySet] = {}
        self._lock = Lock()

    @cached_property
    def run(self) -> tuple[FrequencySet, range] | None:
        """The wheel and the multiples of all rows, where one band turns every column and they are evenly spaced."""
        if self.plan.axes or self.plan.blank or len(self.plan.bands) != 1 or not self.part.is_range:
            return None
        (band,), (segment,) = self.plan.bands, self.part.segments(0, self.part.count)
        every = np.arange(self.plan.width)
        if band.sin is None or not np.array_equal(every[band.sin], every) or not isinstance(segment.multiples, range):
            return None
        wheel = self._wheel(0, band, segment.unit)
        return (wheel, segment.multiples) if has_points(wheel, segment.multiples) else None

    def doubled(self, rows: Integers, where: Where) -> tuple[DoubleDouble, DoubleDouble, Floats]:
        """Return cosine and sine of some places (k,), magnitude included, and a bound on the error of each."""
        parts = [np.zeros(len(rows)) for _ in range(4)]
        parts[0][...] = 1.0  # what no band turns stands still
        error = np.zeros(len(rows))
        for chosen, wheel, multiples, columns in self._groups(rows, where):
            found = wheel.doubled_rows(multiples, columns)
            size = DoubleDouble(
                *(np.broadcast_to(x, multiples.shape) for x in (wheel.magnitude.hi, wheel.magnitude.lo))
            )
            for k, value in enumerate(found):
                scaled = multiply(value, size)
                parts[2 * k][chosen], parts[2 * k + 1][chosen] = scaled.hi, scaled.lo
            bits = wheel.kept_bits(multiples, 100)
            error[chosen] = (wheel.phase_error(multiples, bits) + 2.0**-98) * abs(float(wheel.magnitude.hi))
        return DoubleDouble(parts[0], parts[1]), DoubleDouble(parts[2], parts[3]), error

    def interval(self, row: int, where: Where, bits: int) -> tuple[Interval, Interval]:
        """Return intervals about 2^-bits wide that hold cosine and sine of one place."""
        groups = list(self._groups(np.array([row]), where))
        if not groups:
            return (Fraction(1), Fraction(1)), (Fraction(0), Fraction(0))
        ((_, wheel, multiples, columns),) = groups
        return wheel.exact.enclosed_point(int(multiples[0]), int(columns[0]), bits)

    def _groups(self, rows: Integers, where: Where) -> Iterator[tuple[Integers, FrequencySet, Integers, Integers]]:
        """Yield places by band and unit: which they are, the wheel, the multiple and the column of each."""
        for number, band in enumerate(self.plan.bands):
            mine = np.flatnonzero(where.band == number)
            if not len(mine):
                continue
            columns = where.column[mine]
            if self.plan.axes:
                axis = self.plan.axes[band.axis]
                positions = self.part.numbers(0, self.part.count).astype(np.int64)[rows[mine]]
                values = np.asarray(axis.multiples, np.int64)
                multiples = values[axis.index(positions - self.plan.prefix)]
                yield mine, self._wheel(number, band, axis.unit), multiples, columns
                continue
            distinct, place = np.unique(rows[mine], return_inverse=True)
            for unit, which, found in self._multiples(distinct):
                here = np.flatnonzero(np.isin(place, which))
                yield (
                    mine[here],
                    self._wheel(number, band, unit),
                    found[np.searchsorted(which, place[here])],
                    columns[here],
                )

    def _multiples(self, rows: Integers) -> Iterator[tuple[Fraction, Integers, Integers]]:
        """Yield, for each unit, which of the ascending rows have it and their multiples."""
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

    def _wheel(self, number: int, band: Band, unit: Fraction) -> FrequencySet:
        key = (number, unit)
        with self._lock:
            if key not in self._wheels:
                self._wheels[key] = FrequencySet(
                    band.frequencies, turns=band.turns, unit=unit, magnitude=band.magnitude
                )
            return self._wheels[key]
