"""Tables of relative vectors: one for each distance, and which of them belongs to which query and key."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.declare.plan import Frame, Relative
from pecli.declare.tabular import Array, storage
from pecli.engine import Wheel, default_threads, fill
from pecli.errors import BadParameter
from pecli.numbers.points import Points
from pecli.tables.fill.pairs import PairTable, Vectors, fixed_arrays, fixed_rows


class RelativeTable(PairTable):
    """``vector``, a row for each distance, and ``index`` (q, k), its rows."""

    @property
    def relative(self) -> Relative:
        """The plan."""
        assert isinstance(self.plan, Relative)
        return self.plan

    def check(self) -> None:
        """Raise BadParameter where the form does not fit, or a position has no value; reads the weights."""
        super().check()
        form, name = self.request.form, self.source.encoding.name
        if form in ("bias", "distance", "slopes", "x"):
            raise BadParameter(
                "form", form, f"is for biases: {name} has vectors, use dense, vector, index or parameters"
            )
        if self.relative.waves is not None and self.listed:
            raise BadParameter("positions", "(a list)", f"is not for {name}: give --len, --start and --step")
        if not self.arrays:
            raise BadParameter("form", form, f"has nothing in {name} here: use dense")
        self.relative.prepare()

    def _arrays(self) -> tuple[Array, ...]:
        plan, form = self.relative, self.request.form
        fixed = fixed_arrays(plan.fixed, self.dtype)
        vectors = tuple(array for array in fixed if array.axes[-1] == "channel" and array.axes[0] != "head")
        found: tuple[Array, ...] = ()
        if plan.waves is not None and form in ("dense", "vector"):
            found += (Array("vector", (len(self._rows), plan.waves.width), self.dtype, ("row", "channel")),)
        if form in ("dense", "vector"):
            found += vectors
        if plan.index is not None and form in ("dense", "index"):
            found += (Array("index", (self.part.count, self.positions.count), "int64", ("query", "key")),)
        if form == "index":
            found += tuple(array for array in fixed if array.dtype == "int64")
        if form in ("dense", "parameters"):
            found += tuple(
                array for array in fixed if array not in found and (form == "dense" or array.dtype != "int64")
            )
        return found

    def fill(self, start: int, stop: int, out: Mapping[str, NDArray[Any]], threads: int = 1) -> None:
        """Write rows into `out`; see :meth:`pecli.declare.tabular.Tabular.fill`."""
        for name, target in out.items():
            if name == "vector" and self.relative.waves is not None:
                self._fill_waves(start, stop, target, threads)
            elif name == "index" and self.relative.index is not None:
                self._fill_index(start, stop, target)
            else:
                fixed_rows(self.relative.fixed, name, start, stop, self.dtype, target)

    def read_rows(self, names: Any, start: int, stop: int) -> dict[str, NDArray[Any]]:
        """Return rows of the named arrays, computed on all cores."""
        arrays = [self.array(name) for name in names]
        out = {a.name: np.empty((stop - start, *a.row_shape), storage(a.dtype)) for a in arrays}
        self.fill(start, stop, out, default_threads())
        return out

    def _fill_waves(self, start: int, stop: int, target: NDArray[Any], threads: int) -> None:
        assert self.relative.waves is not None
        rows = self._rows[start:stop]
        for band, wheel in zip(self.relative.waves.bands, self._wheels, strict=True):
            views: list[Any] = [
                (part, target[:, columns])
                for part, columns in (("sin", band.sin), ("cos", band.cos))
                if columns is not None
            ]
            fill(wheel, rows, views, self.dtype, threads=threads)

    def _fill_index(self, start: int, stop: int, target: NDArray[Any]) -> None:
        if self.listed:
            self.gather(self._index, start, stop, target)
        else:
            self.slices(self._indices.head(0), start, stop, target)

    def _index(self, distances: Points) -> NDArray[np.int64]:
        assert self.relative.index is not None
        return self.relative.index(distances, self._frame)

    @cached_property
    def _frame(self) -> Frame:
        """Queries and keys of the whole table, of which this one may be a shard."""
        step = self.positions.step
        by = 1 if step is None else int(step / self.positions.unit)
        return Frame(self.request.queries or self.positions.count, self.positions.count, by)

    @cached_property
    def _rows(self) -> range | NDArray[np.int64]:
        """The distance of each row of ``vector``, in multiples of the unit."""
        assert self.relative.distances is not None
        found, by = self.relative.distances(self._frame), self._frame.step
        if isinstance(found, range):
            return range(found.start * by, found.stop * by, found.step * by)
        return found * by

    @cached_property
    def _wheels(self) -> list[Wheel]:
        waves = self.relative.waves
        assert waves is not None
        unit = self.positions.unit
        return [Wheel(b.frequencies, turns=b.turns, unit=unit, magnitude=waves.magnitude) for b in waves.bands]

    @cached_property
    def _indices(self) -> Vectors:
        span = self.part.count + self.positions.count - 1
        return Vectors(1, span, lambda low, high, _: self._index(self.distances(low, high))[None])
