"""Tables of sines and cosines, filled by the engine."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.declare.encoding import Family
from pecli.declare.plan import Band, Beside, Waves
from pecli.declare.tabular import Array
from pecli.engine import Wheel, default_threads, fill
from pecli.errors import BadParameter
from pecli.numbers.exponentials import Exponentials
from pecli.numbers.points import Points
from pecli.numbers.positions import Segment
from pecli.tables.fill.crossed import Sums, fill_logarithms
from pecli.tables.fill.lookup import Lookup, fill_ramp
from pecli.tables.fill.pairs import fixed_arrays, fixed_rows
from pecli.tables.fill.places import Arrays, Places, runs
from pecli.tables.fill.rounding import as_array, round_into
from pecli.tables.layouts import COMPLEX, layout_arrays
from pecli.tables.table import Table, check_domain


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
        """Write rows into `out`; see :meth:`pecli.declare.tabular.Tabular.fill`."""
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
            positions = self.part.numbers(start, stop).astype(np.int64, copy=False)
            self._fill_uncovered(main)
            if self.waves.cross is not None:
                self._sums.fill(positions, main["pe"])
            else:
                self._lookup.fill(positions, main, threads)
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
            fill_ramp(ramp, Points(as_array(segment.multiples), segment.unit), target["pe"], self.dtype)
        if self.waves.cross is not None:
            points = Points(as_array(segment.multiples), segment.unit)
            fill_logarithms(self.waves.cross, points, target["pe"], self.dtype, threads)
        if not whole:
            for name, array in target.items():
                out[name][segment.rows] = array

    def _fill_beside(self, beside: Beside, start: int, stop: int, out: NDArray[Any]) -> None:
        width = beside.width
        views = [out[:, :width], out[:, width:]] if self.request.layout == "half" else [out[:, 0::2], out[:, 1::2]]
        for segment in self.part.segments(start, stop):
            values = beside.at(Points(as_array(segment.multiples), segment.unit))
            rows = np.empty((len(segment.multiples), width), out.dtype)
            if isinstance(values, Exponentials):
                values.into(self.dtype, rows)
            else:
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
    def _sums(self) -> Sums:
        """What fills phases that are sums over coordinates."""
        return Sums(self.waves, self.dtype)

    @cached_property
    def _lookup(self) -> Lookup:
        """What fills rows whose coordinates are looked up."""
        other = {b.name for b in self.waves.beside} | {f.name for f in self.waves.fixed}
        main = [array for array in self.arrays if array.name not in other]
        return Lookup(self.waves, self.places, self.dtype, main, self._wheel, not self._uncovered)

    @cached_property
    def _lock(self) -> threading.RLock:
        return threading.RLock()

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

    def read_rows(self, names: Any, start: int, stop: int) -> dict[str, NDArray[Any]]:
        """Return rows of the named arrays, computed on all cores."""
        out = self.empty(names, start, stop)
        self.fill(start, stop, out, default_threads())
        return out
