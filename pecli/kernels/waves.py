"""Tables of sines and cosines, filled by the engine."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.errors import BadParameter
from pecli.kernels.crossed import fill_cross
from pecli.kernels.pairs import fixed_arrays, fixed_rows
from pecli.kernels.places import Arrays, Places, runs
from pecli.kernels.rounding import as_array, round_into
from pecli.layouts import COMPLEX, layout_arrays
from pecli.phase import Wheel, default_threads, fill
from pecli.plan import Band, Beside, Ramp, Waves
from pecli.points import Points
from pecli.positions import Segment
from pecli.spec import Family
from pecli.table import Table, check_domain
from pecli.tabular import Array, storage

Integers = NDArray[np.int64]

LEVELS_BYTES = 8 << 20
"""A coordinate whose rows take less than this is computed once for all of its values."""

COPIED = 1 << 18
"""Bytes gathered at a time: they stay in a core's cache until they are stored."""


@dataclass(frozen=True)
class Gathered:
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


class WaveTable(Table):
    """Sines and cosines, filled by the engine."""

    @property
    def waves(self) -> Waves:
        """The plan."""
        assert isinstance(self.plan, Waves)
        return self.plan

    def check(self) -> None:
        """Raise BadParameter for a position that has no value."""
        check_domain(self.source.encoding.name, self.waves.domain, self.part)

    @cached_property
    def places(self) -> Places:
        """Where everything goes."""
        return Places(self.waves, self.source.encoding.family is Family.ROTARY, self.request.layout)

    def _arrays(self) -> tuple[Array, ...]:
        waves, n, dtype = self.waves, self.part.count, self.dtype
        layout, name = self.request.layout, self.source.encoding.name
        if not self.places.rotary:
            if waves.form == "complex" and dtype not in COMPLEX:
                raise BadParameter("dtype", dtype, f"has no complex type: use float32 or float64 for {name}")
            kind = COMPLEX[dtype] if waves.form == "complex" else dtype
            main: tuple[Array, ...] = (Array("pe", (n, waves.width), kind, ("position", "channel")),)
        elif waves.form == "full":
            if layout != "half":
                rule = f"splits what {name} fills with different angles: use --layout half, the whole width"
                raise BadParameter("layout", layout, rule)
            main = layout_arrays("interleaved", n, waves.width // 2, dtype)
        else:
            main = layout_arrays(layout, n, waves.width, dtype)
        twice = 2 if self.places.rotary and layout in ("half", "interleaved") else 1
        axes = ("position", "pair" if self.places.rotary and twice == 1 else "channel")
        beside = [Array(b.name, (n, twice * b.width), dtype, axes) for b in waves.beside]
        return *main, *beside, *fixed_arrays(waves.fixed, dtype)

    def fill(self, start: int, stop: int, out: Mapping[str, NDArray[Any]], threads: int = 1) -> None:
        """Write rows into `out`; see :meth:`pecli.tabular.Tabular.fill`."""
        main = dict(out)
        for fixed in self.waves.fixed:
            if fixed.name in main:
                fixed_rows((fixed,), fixed.name, start, stop, self.dtype, main.pop(fixed.name))
        for beside in self.waves.beside:
            if beside.name in main:
                self._fill_beside(beside, start, stop, main.pop(beside.name))
        if not main:
            return
        if self.waves.axes:
            self._fill_rows(self._whole(start, stop), main, threads)
        else:
            for segment in self.part.segments(start, stop):
                self._fill_segment(segment, main, threads)
        if self.waves.blank:
            for array in main.values():
                array[np.isin(self.part.numbers(start, stop), self.waves.blank)] = 0

    def _fill_segment(self, segment: Segment, out: Arrays, threads: int) -> None:
        """Fill rows whose coordinate is the position itself."""
        whole = isinstance(segment.rows, slice)
        target = out if whole else {name: np.empty_like(a[segment.rows]) for name, a in out.items()}
        self._fill_uncovered(target)
        for band in self.waves.bands:
            wheel = self._wheel(band, segment.unit)
            fill(wheel, segment.multiples, self.places.views(band, target), self.dtype, threads=threads)
        for ramp in self.waves.ramps:
            self._fill_ramp(ramp, Points(as_array(segment.multiples), segment.unit), target)
        if self.waves.cross is not None:
            points = Points(as_array(segment.multiples), segment.unit)
            fill_cross(self.waves.cross, points, target["pe"], self.dtype, threads)
        if not whole:
            for name, array in target.items():
                out[name][segment.rows] = array

    def _fill_rows(self, positions: Integers, out: Arrays, threads: int) -> None:
        """Fill rows whose coordinates are looked up; those before and after the grid stand still."""
        waves = self.waves
        self._fill_uncovered(out)
        rows = positions - waves.prefix
        if waves.prefix or waves.suffix:
            assert waves.rows is not None
            inside = (rows >= 0) & (rows < waves.rows - waves.prefix - waves.suffix)
            for piece in runs(~inside):
                self.places.still({name: a[piece] for name, a in out.items()}, self.dtype)
            pieces = runs(inside)
        else:
            pieces = [slice(0, len(rows))]
        for piece in pieces:
            target = {name: a[piece] for name, a in out.items()}
            for axis in range(len(waves.axes)):
                self._fill_axis(axis, waves.axes[axis].index(rows[piece]), target, threads)

    def _fill_axis(self, number: int, index: Integers, out: Arrays, threads: int) -> None:
        """Fill what depends on one coordinate: computed once for each of its values, copied to the rows."""
        if not len(index):
            return
        axis = self.waves.axes[number]
        low = int(index[0])
        if int(index[-1]) - low == len(index) - 1 and bool((np.diff(index) == 1).all()):
            self._compute_axis(number, axis.multiples[low : low + len(index)], out, threads)
            return
        if self._level_bytes * len(axis.multiples) <= LEVELS_BYTES:
            with self._lock:
                if number not in self._levels:
                    self._levels[number] = self._gathered(number, axis.multiples, out, threads)
                gathered = self._levels[number]
        else:
            found, index = np.unique(index, return_inverse=True)
            multiples = axis.multiples
            gathered = self._gathered(number, tuple(multiples[i] for i in found.tolist()), out, threads)
        for part in gathered:
            if part.array in out:
                spread(part, index, out[part.array])

    def _gathered(self, number: int, multiples: range | tuple[int, ...], out: Arrays, threads: int) -> list[Gathered]:
        """Return the columns of one coordinate for these values of it, in all main arrays."""
        names = [a.name for a in self.arrays if a.name in self._main]
        made = {a.name: np.empty((len(multiples), *a.row_shape), storage(a.dtype)) for a in map(self.array, names)}
        self._compute_axis(number, multiples, made, threads)
        bands = [band for band in self.waves.bands if band.axis == number]
        ramps = [ramp.column for ramp in self.waves.ramps if ramp.axis == number]
        return [
            Gathered(name, columns, np.ascontiguousarray(array[:, columns]))
            for name, array in made.items()
            for columns in self.places.columns(bands, ramps, name, array.shape[1:])
        ]

    def _compute_axis(self, number: int, multiples: range | tuple[int, ...], out: Arrays, threads: int) -> None:
        axis = self.waves.axes[number]
        given = multiples if isinstance(multiples, range) else np.array(multiples, np.int64)
        for band in self.waves.bands:
            if band.axis == number:
                views = self.places.views(band, out)
                fill(self._wheel(band, axis.unit), given, views, self.dtype, threads=threads)
        for ramp in self.waves.ramps:
            if ramp.axis == number:
                self._fill_ramp(ramp, Points(as_array(given), axis.unit), out)

    def _fill_ramp(self, ramp: Ramp, points: Points, out: Arrays) -> None:
        column = out["pe"][:, ramp.column : ramp.column + 1]
        round_into(points.times([ramp.factor]), self.dtype, column)

    def _fill_beside(self, beside: Beside, start: int, stop: int, out: NDArray[Any]) -> None:
        width = beside.width
        views = [out[:, :width], out[:, width:]] if self.request.layout == "half" else [out[:, 0::2], out[:, 1::2]]
        for segment in self.part.segments(start, stop):
            values = beside.at(Points(as_array(segment.multiples), segment.unit))
            rows = np.empty((len(segment.multiples), width), out.dtype)
            round_into(values, self.dtype, rows)
            for view in views if out.shape[1] > width else [out]:
                view[segment.rows] = rows

    def _fill_uncovered(self, out: Arrays) -> None:
        """Make the columns that nothing fills stand still."""
        for columns in self._uncovered:
            if self.places.rotary:
                still = Band((), columns, columns)
                for part, view in self.places.views(still, out):
                    view[...] = (0x3F80 if self.dtype == "bfloat16" else 1) if part == "cos" else 0
            else:
                for array in out.values():
                    array[:, columns] = 0

    @cached_property
    def _uncovered(self) -> list[slice]:
        """The columns (rotary: pairs) that neither bands nor ramps nor crossed phases fill."""
        covered = np.zeros(self.waves.width, np.bool_)
        places = [place for band in self.waves.bands for place in (band.sin, band.cos)]
        if self.waves.cross is not None:
            places += [self.waves.cross.sin, self.waves.cross.cos]
        for place in filter(None, places):
            covered[place] = True
        for ramp in self.waves.ramps:
            covered[ramp.column] = True
        return runs(~covered)

    @cached_property
    def _main(self) -> frozenset[str]:
        """Names of the arrays that hold sines and cosines."""
        other = {b.name for b in self.waves.beside} | {f.name for f in self.waves.fixed}
        return frozenset(a.name for a in self.arrays if a.name not in other)

    @cached_property
    def _level_bytes(self) -> int:
        """Bytes of a row of the main arrays."""
        return sum(a.row_bytes for a in self.arrays if a.name in self._main)

    def _whole(self, start: int, stop: int) -> Integers:
        """Return the positions of rows, which the domain has made sure are whole numbers."""
        return self.part.numbers(start, stop).astype(np.int64, copy=False)

    @cached_property
    def _lock(self) -> threading.RLock:
        return threading.RLock()

    @cached_property
    def _levels(self) -> dict[int, list[Gathered]]:
        return {}

    @cached_property
    def _wheels(self) -> dict[tuple[int, Fraction], Wheel]:
        return {}

    def _wheel(self, band: Band, unit: Fraction) -> Wheel:
        """Return the wheel of a band for positions in this unit, made once."""
        key = (id(band), unit)
        with self._lock:
            if key not in self._wheels:
                self._wheels[key] = Wheel(band.frequencies, turns=band.turns, unit=unit, magnitude=self.waves.magnitude)
            return self._wheels[key]

    def rows(self, names: Any, start: int, stop: int) -> dict[str, NDArray[Any]]:
        """Return rows of the named arrays, computed on all cores."""
        arrays = [self.array(name) for name in names]
        out = {a.name: np.empty((stop - start, *a.row_shape), storage(a.dtype)) for a in arrays}
        self.fill(start, stop, out, default_threads())
        return out


def spread(part: Gathered, index: Integers, out: NDArray[Any]) -> None:
    """Copy shared rows to the rows that share them."""
    step = max(1, COPIED // max(1, part.rows[:1].nbytes))
    view = out[:, part.columns]
    for at in range(0, len(index), step):
        view[at : at + step] = part.rows.take(index[at : at + step], axis=0)
