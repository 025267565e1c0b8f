"""Rows of waves whose coordinates are looked up (a grid, points, position streams), summed, logarithms or columns."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import cached_property, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.engine import FrequencySet, Part, fill
from pecli.engine.planning import check_multiples
from pecli.numbers.blocks import in_blocks
from pecli.numbers.decimals import CONTEXT, decimal_of
from pecli.numbers.double_double import DoubleDouble, Points, quick_two_sum
from pecli.numbers.dtypes import storage
from pecli.numbers.positions import Segment, as_array
from pecli.numbers.rounding import Integers, narrow
from pecli.spec.plans import Band, Coordinate, Cross, Ramp
from pecli.spec.tabular import Array
from pecli.tables.fill.filler import Arrays, points_of, round_into
from pecli.tables.fill.waves import Views, WaveFiller, runs

Multiples = range | tuple[int, ...]
BLOCK = 1 << 14  # phases worked on at once
SUM_ERROR = 2.0**-90  # of a doubled sine or cosine of a sum: those of a coordinate err by 2^-95, products add less


class LookupFiller(WaveFiller):
    """``pe``, or cos and sin in a layout, of coordinates that are looked up.

    A row of a grid shares each coordinate with many others, so the columns of
    a coordinate are computed once for each of its values and copied.
    """

    def _fill_main(self, start: int, stop: int, out: Arrays, threads: int) -> None:
        """Write rows of sines and cosines; those before and after the grid get zeros, or cos 1 and sin 0."""
        waves = self.plan
        if not waves.axes:
            super()._fill_main(start, stop, out, threads)
            return
        positions = self.part.numbers(start, stop).astype(np.int64, copy=False)
        self._write_uncovered(out)
        if waves.cross is not None:
            self._fill_sums(waves.cross, positions, out["pe"])
            return
        rows = positions - waves.prefix
        pieces = [slice(0, len(rows))]
        if waves.prefix or waves.suffix:
            assert waves.rows is not None
            inside = (rows >= 0) & (rows < waves.rows - waves.prefix - waves.suffix)
            for piece in runs(~inside):
                self.write_unrotated({name: a[piece] for name, a in out.items()})
            pieces = runs(inside)
        for piece in pieces:
            for number, axis in enumerate(waves.axes):
                index = axis.index(rows[piece])
                if len(index):
                    self._fill_axis(number, index, {name: a[piece] for name, a in out.items()}, threads)

    def _fill_others(self, segment: Segment, out: Arrays, threads: int) -> None:
        """Write the position itself, and multiples of its logarithm."""
        for ramp in self.plan.ramps:
            fill_ramp(ramp, points_of(segment), out["pe"], self.dtype)
        if self.plan.cross is not None:
            fill_logarithms(self.plan.cross, points_of(segment), out["pe"], self.dtype, threads)

    def _fill_axis(self, number: int, index: Integers, out: Arrays, threads: int) -> None:
        """Fill the columns of one coordinate."""
        multiples = self.plan.axes[number].multiples
        if int(index[-1]) - int(index[0]) == len(index) - 1 and (np.diff(index) == 1).all():
            self._compute(number, multiples[int(index[0]) : int(index[-1]) + 1], out, threads)
            return
        values, place = np.unique(index, return_inverse=True)
        made = {a.name: np.empty((len(values), *a.row_shape), storage(a.dtype)) for a in self.main}
        self._compute(number, tuple(multiples[i] for i in values.tolist()), made, threads)
        bands = [band for band in self.plan.bands if band.axis == number]
        ramps = [ramp.column for ramp in self.plan.ramps if ramp.axis == number]
        for array in self.main:
            for columns in self._columns(bands, ramps, array) if array.name in out else ():
                out[array.name][:, columns] = made[array.name][:, columns].take(place, axis=0)

    def _columns(self, bands: Iterable[Band], extra: Iterable[int], array: Array) -> list[slice]:
        """Return the places along axis 1 of an array that these bands and single columns fill, as few as possible."""
        marks = np.zeros((1, *array.row_shape), storage(array.dtype))
        for band in bands:
            for _, view in self.views(band, {array.name: marks}):
                view[...] = 1
        for column in extra:
            marks[:, column] = 1
        return runs((marks[0] != 0).reshape(array.row_shape[0], -1).any(axis=1))

    def _compute(self, number: int, multiples: Multiples, out: Arrays, threads: int) -> None:
        """Fill the columns of one coordinate, a row for each of its values."""
        axis = self.plan.axes[number]
        if isinstance(multiples, range):
            given: Integers | range = multiples
        else:
            check_multiples(range(min(multiples), max(multiples) + 1))
            given = np.array(multiples, np.int64)
        for band in self.plan.bands:
            if band.axis == number:
                views = self.views(band, out)
                fill(self.frequencies.get(band, axis.unit), given, views, self.dtype, threads=threads)
        for ramp in self.plan.ramps:
            if ramp.axis == number:
                fill_ramp(ramp, Points(as_array(given), axis.unit), out["pe"], self.dtype)

    @cached_property
    def _factors(self) -> list[FrequencySet]:
        """The factors of each coordinate of a sum; of 2^15 random ones they take a second to prepare."""
        cross = self.plan.cross
        pairs = zip(self.plan.axes, cross.factors, strict=True) if cross is not None else ()
        return [FrequencySet(factors, turns=True, unit=axis.unit) for axis, factors in pairs]

    def _fill_sums(self, cross: Cross, rows: Integers, out: NDArray[Any]) -> None:
        """Fill columns whose phase is a sum over coordinates: e^(i(a + b)) = e^(ia) e^(ib).

        Each coordinate's own rows are doubled; their product is rounded from both
        ends of its error; where the two differ, the sum itself is taken exactly.
        """
        parts: tuple[tuple[slice, Part], ...] = ((cross.cos, "cos"), (cross.sin, "sin"))
        for some in in_blocks(0, len(rows), BLOCK // len(cross.factors[0])):
            block = rows[some]
            points = (self._doubled(*one, block) for one in zip(self.plan.axes, self._factors, strict=True))
            point = reduce(_add_angles, points)
            for (columns, part), value in zip(parts, point, strict=True):
                below, above = (
                    narrow(*quick_two_sum(value.hi, value.lo + error), self.dtype) for error in (-SUM_ERROR, SUM_ERROR)
                )
                bits = f"u{below.itemsize}"
                row, column = np.nonzero(below.view(bits) != above.view(bits))  # zeros of two signs among them
                if len(row):
                    below[row, column] = self._exact(cross, block[row], column, part)
                out[some, columns] = below

    def _doubled(self, axis: Coordinate, factors: FrequencySet, rows: Integers) -> Point:
        """Return the cosines and sines of one coordinate."""
        values, place = np.unique(axis.index(rows), return_inverse=True)
        multiples = np.array([axis.multiples[i] for i in values.tolist()], np.int64)
        found = factors.doubled_rows(multiples)
        return found[0][place], found[1][place]

    def _exact(self, cross: Cross, rows: Integers, column: Integers, part: Part) -> NDArray[Any]:
        """Return single values, each by its exact phase."""
        phases = [Fraction(0)] * len(rows)
        for axis, factors in zip(self.plan.axes, cross.factors, strict=True):
            for number, (k, i) in enumerate(zip(column.tolist(), axis.index(rows).tolist(), strict=True)):
                phases[number] += factors[k] * axis.multiples[i] * axis.unit
        found = narrow(np.zeros((1, len(phases))), None, self.dtype)
        fill(FrequencySet(phases, turns=True), range(1, 2), [(part, found)], self.dtype)
        return np.asarray(found[0])


Point = tuple[DoubleDouble, DoubleDouble]


def _add_angles(a: Point, b: Point) -> Point:
    """Return the cosine and the sine of a sum of two angles."""
    return a[0] * b[0] - a[1] * b[1], a[1] * b[0] + a[0] * b[1]


def fill_ramp(ramp: Ramp, points: Points, out: NDArray[Any], dtype: str) -> None:
    """Fill the column that holds a coordinate itself."""
    round_into(points.times([ramp.factor]), dtype, out[:, ramp.column : ramp.column + 1])


def fill_logarithms(cross: Cross, points: Points, out: NDArray[Any], dtype: str, threads: int) -> None:
    """Fill the columns of multiples of ln p, rows `points` of ``pe``.

    Positions and columns change places: the positions' logarithms are the
    frequencies, the columns' factors the multiples.
    """
    factors = np.array(cross.logarithm, np.int64)
    for some in in_blocks(0, len(points), 2 * BLOCK // len(factors)):
        block = points.multiples[some].tolist()
        logarithms = FrequencySet([CONTEXT.ln(decimal_of(m * points.unit)) for m in block], turns=True, unit=cross.unit)
        rows = out[some]
        views: Views = [("sin", rows[:, cross.sin].T), ("cos", rows[:, cross.cos].T)]
        fill(logarithms, factors, views, dtype, threads=threads)
