"""Tables of sines and cosines, filled by the engine."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.layouts import layout_arrays, layout_views
from pecli.phase import Part, Wheel, default_threads, fill
from pecli.plan import Band, Waves
from pecli.positions import Segment
from pecli.spec import Family
from pecli.table import Table, check_domain
from pecli.tabular import Array, storage

Views = list[tuple[Part, NDArray[Any]]]


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

    def _arrays(self) -> tuple[Array, ...]:
        n, width, dtype = self.part.count, self.waves.width, self.dtype
        if self.source.encoding.family is not Family.ROTARY:
            return (Array("pe", (n, width), dtype, ("position", "channel")),)
        return layout_arrays(self.request.layout, n, width, dtype)

    def fill(self, start: int, stop: int, out: Mapping[str, NDArray[Any]], threads: int = 1) -> None:
        """Write rows into `out`; see :meth:`pecli.tabular.Tabular.fill`."""
        if "pe" in out and not self._covered:
            out["pe"][...] = 0
        for band in self.waves.bands:
            for segment in self.part.segments(start, stop):
                self._fill_band(band, segment, out, threads)
        if self.waves.blank and "pe" in out:
            positions = self.part.numbers(start, stop)
            out["pe"][np.isin(positions, self.waves.blank)] = 0

    def _fill_band(self, band: Band, segment: Segment, out: Mapping[str, NDArray[Any]], threads: int) -> None:
        whole = isinstance(segment.rows, slice)
        target = out if whole else {name: np.empty_like(a[segment.rows]) for name, a in out.items()}
        if "pe" in target:
            places = (("sin", band.sin), ("cos", band.cos))
            views: Views = [(part, target["pe"][:, columns]) for part, columns in places if columns is not None]  # type: ignore[misc]
        else:
            views = [(part, view[:, band.sin]) for part, view in layout_views(self.request.layout, self.waves.width, target)]
        fill(self._wheel(band, segment.unit), segment.multiples, views, self.dtype, threads=threads)
        if not whole:
            for name, array in target.items():
                out[name][segment.rows] = array

    @cached_property
    def _covered(self) -> bool:
        """Whether the bands fill every column."""
        columns: set[int] = set()
        for band in self.waves.bands:
            for place in (band.sin, band.cos):
                if place is not None:
                    columns.update(range(self.waves.width)[place])
        return len(columns) == self.waves.width

    @cached_property
    def _lock(self) -> threading.Lock:
        return threading.Lock()

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
