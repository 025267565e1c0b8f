"""Rows of waves whose coordinates are looked up (a grid, points, position streams), summed or logarithms."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.engine import FrequencySet, Part, fill
from pecli.engine.rotation_tables import Rows, Split, combine, doubled, join
from pecli.numbers.decimals import CONTEXT
from pecli.numbers.double_double import Points
from pecli.numbers.dtypes import storage
from pecli.numbers.rounding import narrow, round_within
from pecli.spec.plans import Band, Coordinate, Cross, Frequency, Ramp, Waves
from pecli.spec.tabular import Array
from pecli.tables.fill.filler import Arrays, BandFrequencies, Places, Views, as_array, round_into, runs

Integers = NDArray[np.int64]
Multiples = range | tuple[int, ...]

LEVELS_BYTES = 8 << 20
"""A coordinate whose rows take less than this is computed once for all of its values."""

MIN_RUN_ROWS = 64
"""Minimum number of rows with the same coordinate on all axes that are filled in a separate call."""

COPY_BYTES = 1 << 18
"""Bytes gathered at a time: they stay in a core's cache until they are stored."""


@dataclass(frozen=True)
class SharedColumns:
    """Columns of rows that many rows share.

    Parameters
    ----------
    array : str
        Name of the array.
    columns : slice
        Their place along its axis 1.
    rows : ndarray
        (levels, k, ...), contiguous.
    """

    array: str
    columns: slice
    rows: NDArray[Any]

    def spread(self, index: Integers, out: NDArray[Any]) -> None:
        """Copy the shared rows to the rows that share them."""
        step = max(1, COPY_BYTES // max(1, self.rows[:1].nbytes))
        view = out[:, self.columns]
        for at in range(0, len(index), step):
            view[at : at + step] = self.rows.take(index[at : at + step], axis=0)


@dataclass
class Lookup:
    """Fills rows whose coordinates are looked up.

    A row of a grid shares each coordinate with many others, so the columns of
    a coordinate are computed once for each of its values and copied.

    Parameters
    ----------
    waves : Waves
        The plan.
    places : Places
        Where everything goes.
    dtype : str
        Type of the values.
    main : list of Array
        The arrays that hold sines and cosines.
    frequencies : BandFrequencies
        Of its bands.
    covered : bool
        Whether the bands fill every column.
    """

    waves: Waves
    places: Places
    dtype: str
    main: Sequence[Array]
    frequencies: BandFrequencies
    covered: bool
    lock: threading.Lock = field(default_factory=threading.Lock)
    levels: dict[int, list[SharedColumns]] = field(default_factory=dict)

    def fill(self, positions: Integers, out: Arrays, threads: int) -> None:
        """Fill rows; the rows before and after the grid get zeros, or cos 1 and sin 0."""
        waves = self.waves
        rows = positions - waves.prefix
        pieces = [slice(0, len(rows))]
        if waves.prefix or waves.suffix:
            assert waves.rows is not None
            inside = (rows >= 0) & (rows < waves.rows - waves.prefix - waves.suffix)
            for piece in runs(~inside):
                self.places.write_unrotated({name: a[piece] for name, a in out.items()}, self.dtype)
            pieces = runs(inside)
        for piece in pieces:
            indices = [axis.index(rows[piece]) for axis in waves.axes]
            target = {name: a[piece] for name, a in out.items()}
            for part, alike in self._equal_runs(indices):
                block = {name: a[part] for name, a in target.items()}
                if alike:
                    found = self.frequencies.get(self._every, waves.axes[0].unit)
                    views = self.places.views(self._every, block)
                    fill(found, at(waves.axes[0].multiples, indices[0][part]), views, self.dtype, threads=threads)
                else:
                    for number, index in enumerate(indices):
                        self._fill_axis(number, index[part], block, threads)

    def _equal_runs(self, indices: list[Integers]) -> Iterator[tuple[slice, bool]]:
        """Cut rows into runs with and without the same coordinate on all axes, as text has in mrope."""
        n = len(indices[0])
        if not self._every.frequencies:
            yield slice(0, n), False
            return
        same = np.logical_and.reduce([index == indices[0] for index in indices[1:]])
        edges = np.flatnonzero(np.diff(np.concatenate(([False], same, [False])).astype(np.int8))).reshape(-1, 2)
        start = 0
        for low, high in edges[edges[:, 1] - edges[:, 0] >= MIN_RUN_ROWS].tolist():
            if start < low:
                yield slice(start, low), False
            yield slice(low, high), True
            start = high
        if start < n:
            yield slice(start, n), False

    @cached_property
    def _every(self) -> Band:
        """Return all bands as one, where all axes count alike and every pair rotates; else one without frequencies."""
        axes, width = self.waves.axes, self.waves.width
        alike = len(axes) > 1 and len({(a.multiples, a.unit) for a in axes}) == 1 and self.places.rotary
        if not alike or not self.covered or len({(band.turns, band.magnitude) for band in self.waves.bands}) > 1:
            return Band(())
        found: dict[int, Frequency] = {}
        for band in self.waves.bands:
            assert band.sin is not None
            found.update(zip(range(width)[band.sin], band.frequencies, strict=True))
        every, first = slice(0, width), self.waves.bands[0]
        return replace(first, frequencies=tuple(found[column] for column in range(width)), sin=every, cos=every, axis=0)

    def _fill_axis(self, number: int, index: Integers, out: Arrays, threads: int) -> None:
        """Fill the columns of one coordinate."""
        if not len(index):
            return
        axis = self.waves.axes[number]
        if ascending(index):
            self._compute(number, axis.multiples[int(index[0]) : int(index[-1]) + 1], out, threads)
            return
        if len(axis.multiples) * sum(array.row_bytes for array in self.main) <= LEVELS_BYTES:
            with self.lock:
                if number not in self.levels:
                    self.levels[number] = self._gathered(number, axis.multiples, threads)
                gathered = self.levels[number]
        else:
            found, index = np.unique(index, return_inverse=True)
            gathered = self._gathered(number, tuple(axis.multiples[i] for i in found.tolist()), threads)
        for part in gathered:
            if part.array in out:
                part.spread(index, out[part.array])

    def _gathered(self, number: int, multiples: Multiples, threads: int) -> list[SharedColumns]:
        """Return the columns of one coordinate for these values of it, in all main arrays."""
        made = {a.name: np.empty((len(multiples), *a.row_shape), storage(a.dtype)) for a in self.main}
        self._compute(number, multiples, made, threads)
        bands = [band for band in self.waves.bands if band.axis == number]
        ramps = [ramp.column for ramp in self.waves.ramps if ramp.axis == number]
        return [
            SharedColumns(array.name, columns, np.ascontiguousarray(made[array.name][:, columns]))
            for array in self.main
            for columns in self.places.columns(bands, ramps, array)
        ]

    def _compute(self, number: int, multiples: Multiples, out: Arrays, threads: int) -> None:
        """Fill the columns of one coordinate, a row for each of its values."""
        axis = self.waves.axes[number]
        given = multiples if isinstance(multiples, range) else np.array(multiples, np.int64)
        for band in self.waves.bands:
            if band.axis == number:
                views = self.places.views(band, out)
                fill(self.frequencies.get(band, axis.unit), given, views, self.dtype, threads=threads)
        for ramp in self.waves.ramps:
            if ramp.axis == number:
                fill_ramp(ramp, Points(as_array(given), axis.unit), out["pe"], self.dtype)


def fill_ramp(ramp: Ramp, points: Points, out: NDArray[Any], dtype: str) -> None:
    """Fill the column that holds a coordinate itself."""
    round_into(points.times([ramp.factor]), dtype, out[:, ramp.column : ramp.column + 1])


def ascending(index: Integers) -> bool:
    """Return whether they are consecutive."""
    return int(index[-1]) - int(index[0]) == len(index) - 1 and bool((np.diff(index) == 1).all())


def at(multiples: Multiples, index: Integers) -> range | Integers:
    """Return the multiples of these places, as a range where they are one."""
    if isinstance(multiples, range):
        if ascending(index):
            return multiples[int(index[0]) : int(index[-1]) + 1]
        return multiples.start + multiples.step * index
    return np.array(multiples, np.int64)[index]


BLOCK = 1 << 14
"""Phases worked on at once."""

PRODUCT_ERROR = 2.0**-50.5
"""Error of a product of rows of modulus 1, for each of them: a row errs by 2^-52.5, a product by sqrt(5) 2^-53."""

SPLIT_PRODUCT_ERROR = 2.0**-75
"""The same where rows are carried as high and low parts: a row errs by 2^-80, a product by 2^-76.2."""


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
            block = rows[at : at + step]
            target = out[at : at + step]
            values, doubtful = (self._wide if self.dtype == "float64" else self._narrow)(block)
            target[:, cross.cos], target[:, cross.sin] = values[:, 0::2], values[:, 1::2]
            if not len(doubtful):
                continue
            row, place = np.divmod(doubtful, values.shape[1])
            for odd, columns in enumerate((cross.cos, cross.sin)):
                chosen = (place & 1) == odd
                if chosen.any():
                    part_of = target[:, columns]
                    exact = self._exact(block, row[chosen], place[chosen] >> 1, "sin" if odd else "cos")
                    part_of[row[chosen], place[chosen] >> 1] = exact

    def _narrow(self, rows: Integers) -> tuple[NDArray[Any], Integers]:
        """Return rows cos, sin, cos, sin .. rounded, and the flat places of the doubtful ones."""
        pieces = [self._rows(number, rows, whole=True)[0] for number in range(len(self.axes))]
        z = pieces[0]
        for piece in pieces[1:]:
            z *= piece
        return round_within(z.view(np.float64), len(pieces) * PRODUCT_ERROR, self.dtype)

    def _wide(self, rows: Integers) -> tuple[NDArray[Any], Integers]:
        """Return the same for float64, from the high and low parts."""
        pieces = [Split(*self._rows(number, rows, whole=False)) for number in range(len(self.axes))]
        main, rest = combine(pieces[0], pieces[1])
        for piece in pieces[2:]:
            main, rest = combine(doubled(main, rest).split(), piece)
        large, small, margin = main.view(np.float64), rest.view(np.float64), len(pieces) * SPLIT_PRODUCT_ERROR
        below, above = large + (small - margin), large + (small + margin)
        return below, np.flatnonzero(below != above)

    def _rows(self, number: int, rows: Integers, *, whole: bool) -> list[NDArray[np.complex128]]:
        """Return the rows of one coordinate: rounded, or as coarse part, remainder and rounded."""
        axis = self.axes[number]
        index = axis.index(rows)
        width = len(self.cross.factors[0])
        if len(axis.multiples) * width * 48 <= LEVELS_BYTES:
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
        found = FrequencySet(self.cross.factors[number], turns=True, unit=axis.unit)
        multiples = np.array([axis.multiples[i] for i in levels.tolist()], np.int64)
        cosine, sine = found.doubled_rows(multiples)
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
        block = points.multiples[at : at + step].tolist()
        logarithms = FrequencySet([logarithm(m * points.unit) for m in block], turns=True, unit=cross.unit)
        rows = out[at : at + step]
        views: Views = [("sin", rows[:, cross.sin].T), ("cos", rows[:, cross.cos].T)]
        fill(logarithms, factors, views, dtype, threads=threads)


def logarithm(value: Fraction) -> Decimal:
    """Return the natural logarithm of a number above 0, in decimals."""
    return CONTEXT.ln(CONTEXT.divide(Decimal(value.numerator), Decimal(value.denominator)))
