"""Rows of waves whose coordinates are looked up: of a grid, of points, of several position streams."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.engine import FrequencySet, fill
from pecli.numbers.double_double import Points
from pecli.numbers.dtypes import storage
from pecli.spec.plans import Band, Frequency, Ramp, Waves
from pecli.spec.tabular import Array
from pecli.tables.fill.filler import Arrays
from pecli.tables.fill.places import Places, runs
from pecli.tables.fill.rounding import as_array, round_into

Integers = NDArray[np.int64]
Multiples = range | tuple[int, ...]

LEVELS_BYTES = 8 << 20
"""A coordinate whose rows take less than this is computed once for all of its values."""

LONG = 64
"""Fewer rows with the same coordinate on all axes are not worth a call of their own."""

COPIED = 1 << 18
"""Bytes gathered at a time: they stay in a core's cache until they are stored."""


@dataclass(frozen=True)
class SharedColumns:
    """Columns of rows that many rows share.

    Parameters
    ----------
    array : str
        Name of the array.
    columns : slice
        Where they stand along its axis 1.
    rows : ndarray
        (levels, k, ...), contiguous.
    """

    array: str
    columns: slice
    rows: NDArray[Any]

    def spread(self, index: Integers, out: NDArray[Any]) -> None:
        """Copy the shared rows to the rows that share them."""
        step = max(1, COPIED // max(1, self.rows[:1].nbytes))
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
    wheel : callable
        Gives the wheel of a band in a unit.
    covered : bool
        Whether the bands fill every column.
    """

    waves: Waves
    places: Places
    dtype: str
    main: Sequence[Array]
    wheel: Callable[[Band, Fraction], FrequencySet]
    covered: bool
    lock: threading.Lock = field(default_factory=threading.Lock)
    levels: dict[int, list[SharedColumns]] = field(default_factory=dict)

    def fill(self, positions: Integers, out: Arrays, threads: int) -> None:
        """Fill rows; those before and after the grid stand still."""
        waves = self.waves
        rows = positions - waves.prefix
        pieces = [slice(0, len(rows))]
        if waves.prefix or waves.suffix:
            assert waves.rows is not None
            inside = (rows >= 0) & (rows < waves.rows - waves.prefix - waves.suffix)
            for piece in runs(~inside):
                self.places.still({name: a[piece] for name, a in out.items()}, self.dtype)
            pieces = runs(inside)
        for piece in pieces:
            indices = [axis.index(rows[piece]) for axis in waves.axes]
            target = {name: a[piece] for name, a in out.items()}
            for part, alike in self._stretches(indices):
                here = {name: a[part] for name, a in target.items()}
                if alike:
                    wheel = self.wheel(self._every, waves.axes[0].unit)
                    views = self.places.views(self._every, here)
                    fill(wheel, at(waves.axes[0].multiples, indices[0][part]), views, self.dtype, threads=threads)
                else:
                    for number, index in enumerate(indices):
                        self._fill_axis(number, index[part], here, threads)

    def _stretches(self, indices: list[Integers]) -> Iterator[tuple[slice, bool]]:
        """Cut rows where they begin or cease to have the same coordinate on all axes, as text has in mrope."""
        n = len(indices[0])
        if not self._every.frequencies:
            yield slice(0, n), False
            return
        same = np.logical_and.reduce([index == indices[0] for index in indices[1:]])
        edges = np.flatnonzero(np.diff(np.concatenate(([False], same, [False])).astype(np.int8))).reshape(-1, 2)
        start = 0
        for low, high in edges[edges[:, 1] - edges[:, 0] >= LONG].tolist():
            if start < low:
                yield slice(start, low), False
            yield slice(low, high), True
            start = high
        if start < n:
            yield slice(start, n), False

    @cached_property
    def _every(self) -> Band:
        """Return all bands as one, where all axes count alike and every pair turns; else one without frequencies."""
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
        """Fill what depends on one coordinate."""
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
                fill(self.wheel(band, axis.unit), given, views, self.dtype, threads=threads)
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
