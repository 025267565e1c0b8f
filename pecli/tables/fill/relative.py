"""Tables of relative vectors: one for each distance, and which of them belongs to which query and key."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pecli.engine import Part, fill
from pecli.errors import BadParameter
from pecli.numbers.double_double import Points
from pecli.spec.plans import Frame, Relative
from pecli.spec.tabular import Array
from pecli.tables.fill.filler import Arrays, once
from pecli.tables.fill.pairs import DistanceRows, PairFiller


class RelativeFiller(PairFiller[Relative]):
    """``vector``, a row for each distance, and ``index`` (q, k), its rows."""

    def _check_form(self, form: str) -> None:
        if form in ("bias", "distance", "slopes", "x"):
            rule = f"is for biases: {self.name} has vectors, use dense, vector, index or parameters"
            raise BadParameter("form", form, rule)
        if self.plan.waves is not None and self.listed:
            raise BadParameter("positions", None, f"is not for {self.name}: give len=, start= and step=")
        if not self.arrays:
            raise BadParameter("form", form, f"has nothing in {self.name} here: use dense")

    def _arrays(self) -> tuple[Array, ...]:
        plan, form = self.plan, self.request.form
        held = {"dense": ("vector", "index", "parameter"), "parameters": ("vector", "parameter")}.get(form, (form,))
        fixed = [(f.role, array) for f, array in zip(plan.fixed, self._fixed_arrays(plan.fixed), strict=True)]
        found = [array for role, array in fixed if role == "vector" and role in held]
        if plan.waves is not None and form in ("dense", "vector"):
            found.insert(0, Array("vector", (len(self._rows), plan.waves.width), self.dtype, ("row", "channel")))
        if plan.index is not None and form in ("dense", "index"):
            found.append(Array("index", (self.part.count, self.positions.count), "int64", ("query", "key")))
        return *found, *(array for role, array in fixed if role != "vector" and role in held)

    def fill(self, start: int, stop: int, out: Arrays, threads: int) -> None:
        """Write rows; see :meth:`Filler.fill`."""
        for name, target in out.items():
            if name == "vector" and self.plan.waves is not None:
                self._fill_waves(start, stop, target, threads)
            elif name == "index" and self.plan.index is not None:
                self._indices.fill(0, start, stop, target)
            else:
                self._fill_fixed(name, start, stop, target)

    def _fill_waves(self, start: int, stop: int, target: NDArray[np.generic], threads: int) -> None:
        assert self.plan.waves is not None
        rows = self._rows[start:stop]
        for band in self.plan.waves.bands:
            places: tuple[tuple[Part, slice | None], ...] = (("sin", band.sin), ("cos", band.cos))
            views = [(part, target[:, columns]) for part, columns in places if columns is not None]
            fill(self.frequencies.get(band, self.positions.unit), rows, views, self.dtype, threads=threads)

    @once
    def _indices(self) -> DistanceRows:
        return DistanceRows(self, 1, self._index)

    def _index(self, distances: Points, _: range) -> NDArray[np.int64]:
        assert self.plan.index is not None
        return self.plan.index(distances, self._frame)[None]

    @once
    def _frame(self) -> Frame:
        """Return queries and keys of the whole table, of which this one may be a shard."""
        return Frame(self.request.queries or self.positions.count, self.positions.count, self.by)

    @once
    def _rows(self) -> range | NDArray[np.int64]:
        """Return the distance of each row of ``vector``, in multiples of the unit."""
        assert self.plan.distances is not None
        found, by = self.plan.distances(self._frame), self._frame.step
        if isinstance(found, range):
            return range(found.start * by, found.stop * by, found.step * by)
        return found * by
