"""Queries and keys turned by a rotary table, in blocks, each value rounded once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.application.pairing import HeadPairs, Integers, columns, put_apart
from pecli.application.products import (
    CANDIDATE,
    Floats,
    Places,
    doubled_sums,
    each_by_itself,
    largest,
    round_candidates,
    settled,
)
from pecli.application.runs import Runs
from pecli.application.stretches import Stretch, stretches
from pecli.application.tensors import Tensor
from pecli.application.turning import Points, Rotation, Turns, joined
from pecli.declare.tabular import Array, Tabular
from pecli.engine.threads import Scratch, Task, default_threads, run_tasks
from pecli.errors import BadParameter
from pecli.numbers.double_double import DoubleDouble
from pecli.numbers.dtypes import storage
from pecli.numbers.rounding import narrow, widen

AT_ONCE = 1 << 17
"""Values that are turned at once, and whose cosines are computed together: few calls of NumPy, see `stretches`."""

HEADS = 2
"""By what that is multiplied where heads share cosines; twice as much of one would cost 6 MiB a thread."""

COPIED = 4
"""By what that is divided for other types than float32, whose rounding makes copies."""

WIDE_AT_ONCE = 1 << 13
"""The same of values that are turned by doubled numbers."""

FEW = 1 << 12
"""Sums in doubt that wait until all others are done: settling them takes long to begin."""


Doubt = tuple[Integers, Integers, Integers, Floats, Floats, Points]
"""Of some sums: vector, pair, whether it is a second member; and what goes into them: own number, other, c + i s."""


@dataclass(frozen=True)
class Turned:
    """What is done to one tensor.

    Attributes
    ----------
    tensor : Tensor
        The input.
    name : str
        Of the output.
    dtype : str
        Of the output.
    """

    tensor: Tensor
    name: str
    dtype: str


class RotatedTensors(Tabular):
    """Tensors turned by a rotary table; a row is a vector.

    Parameters
    ----------
    turns : Turns
        The cosines and sines, row by row.
    turned : sequence of Turned
        What is turned.
    pairing : HeadPairs
        Which columns turn together.
    back : bool
        Whether it is turned back: the transposed matrix.
    rows : (batches, n) int64 ndarray, optional
        Which row of the table each position of each batch has; by default row s for position s.
    parts : tuple of int
        Pairs of blocks of columns that have halves of their own; empty for one block.
    metadata : mapping, optional
        What a file of them says.
    """

    def __init__(
        self,
        turns: Turns,
        turned: Sequence[Turned],
        pairing: HeadPairs,
        *,
        back: bool = False,
        rows: NDArray[np.int64] | None = None,
        parts: tuple[int, ...] = (),
        metadata: Mapping[str, str] | None = None,
    ) -> None:
        self.turns, self.pairing, self.back, self.rows = turns, pairing, back, rows
        self.turned = {one.name: one for one in turned}
        self.width = 2 * turns.pairs
        for one in turned:
            if one.tensor.width < self.width:
                rule = f"has vectors of {one.tensor.width}, and the table turns {self.width} columns"
                raise BadParameter("input", one.tensor.name, rule)
        self.arrays: tuple[Array, ...] = tuple(one.tensor.like(one.name, one.dtype) for one in turned)
        self.recipe, self.metadata = None, metadata or {}
        self.taken, self.given = (columns(self.width, way, parts) for way in (pairing.taken, pairing.given))
        every = np.arange(self.width)
        self.places = np.array([[every[c] for c in both] for both in (self.taken, self.given)])
        self.run = 1 << (max(1, AT_ONCE // max(one.tensor.width for one in turned)).bit_length() - 1)
        self._runs = Runs(self._computed, self.run * self.width * 8)
        self._doubled = Runs(self._computed_doubled, self.run * self.width * 20)

    def _computed(self, number: int) -> tuple[Points, float]:
        """Return the points of a run, and what abs(c) + abs(s) is at most, so many times as they are coarse.

        Points that are off by d in the plane move a sum by abs(x, y) d, at most sqrt(2) d times the larger of both.
        """
        points = self.turns.near(number * self.run, min((number + 1) * self.run, self._last))
        with np.errstate(all="ignore"):
            most = float((np.abs(points.real) + np.abs(points.imag)).max(initial=0.0))
        size = most * self.turns.coarse + 1.5 * self.turns.loose / CANDIDATE
        return (np.conjugate(points, out=points) if self.back else points), size

    def _computed_doubled(self, number: int) -> tuple[DoubleDouble, DoubleDouble, Floats]:
        """Return the cosines and sines of a run as doubled numbers, and their error, (n, pairs) each."""
        first = number * self.run
        shape = min(self.run, self._last - first), self.turns.pairs
        rows, pairs = (index.reshape(-1) for index in np.indices(shape))
        c, s, error = self.turns.doubled(rows + first, pairs)
        c, s = (DoubleDouble(part.hi.reshape(shape), part.lo.reshape(shape)) for part in (c, s))
        return c, -s if self.back else s, error.reshape(shape)

    @cached_property
    def _last(self) -> int:
        if self.rows is not None:
            return int(self.rows.max()) + 1
        return max(one.tensor.side("s") for one in self.turned.values())

    def fill(self, start: int, stop: int, out: Mapping[str, NDArray[Any]]) -> None:
        """Write vectors; see :meth:`pecli.declare.tabular.Tabular.fill`."""
        self._fill(start, stop, out, 1)

    def read_rows(self, names: Iterable[str], start: int, stop: int) -> dict[str, NDArray[Any]]:
        """Return vectors, computed on all cores."""
        out = self.empty(names, start, stop)
        self._fill(start, stop, out, default_threads())
        return out

    def _fill(self, start: int, stop: int, out: Mapping[str, NDArray[Any]], threads: int) -> None:
        for name, target in out.items():
            one, doubts = self.turned[name], list[Doubt]()
            run_tasks(list(self._tasks(one, start, stop, target, doubts, threads)), threads)
            self._settle(one, start, target, doubts)

    def _tasks(
        self, one: Turned, start: int, stop: int, target: NDArray[Any], doubts: list[Doubt], threads: int
    ) -> Iterator[Task]:
        """Yield what is to be done: runs of the table before their vectors, so many that no thread waits for them."""
        most = self.run if one.dtype == "float32" else max(1, self.run // COPIED)
        grids = list(stretches(one.tensor, start, stop, most, HEADS * most, self.rows is None))
        firsts = np.array([grid.first for grid in grids], np.int64)
        runs = (one.tensor.rows(firsts, self.rows) // self.run).tolist()
        ahead = iter(dict.fromkeys(runs) if threads > 1 else ())
        yield from (self._runs.task(number) for number in islice(ahead, threads))
        for grid, number, before in zip(grids, runs, [None, *runs], strict=False):
            if number != before and before is not None:
                yield from (self._runs.task(number) for number in islice(ahead, 1))
            yield partial(self._turn, one, grid, target, start, doubts)

    def _turn(
        self, one: Turned, grid: Stretch, out: NDArray[Any], first: int, doubts: list[Doubt], own: Scratch
    ) -> None:
        """Turn vectors; `out` begins with vector `first`."""
        tensor, count = one.tensor, grid.shape[0] * grid.shape[1]
        points, size = self._points(tensor, grid)
        held = own.get(f"vectors {tensor.dtype}", count * tensor.width, storage(tensor.dtype).type)
        given = grid.read(tensor, held.reshape(*grid.shape, tensor.width))
        vectors = widen(given, tensor.dtype) if tensor.dtype == "bfloat16" else given
        z = own.get("pairs", count * self.turns.pairs, np.complex128).reshape(*grid.shape, self.turns.pairs)
        flat = z.view(np.float64)  # x0 y0 x1 y1 ..
        target = grid.of(out, first)
        beside = one.dtype != "float64" and self.pairing.given == "interleaved"
        apart = own.get(f"turned {one.dtype}", flat.size + 1, out.dtype.type)
        turned = target[..., : self.width] if beside else apart[:-1].reshape(flat.shape)
        with np.errstate(all="ignore"):
            most = largest(vectors[..., : self.width]) * size
            if self.pairing.taken == "half":
                z.real, z.imag = vectors[..., self.taken[0]], vectors[..., self.taken[1]]
            else:
                np.copyto(flat, vectors[..., : self.width])
            if one.dtype == "float64" and isfinite(most):
                unsure = self._turn_doubled(grid, tensor, z, turned)
            else:
                np.multiply(z, points, out=z)
                places = round_candidates(flat, most, one.dtype, turned, own)
                unsure = self._doubtful(places, grid, vectors, points)
        if not beside:
            put_apart(apart, target, self.given)
        if tensor.width > self.width:
            narrow(vectors[..., self.width :].astype(np.float64), None, one.dtype, target[..., self.width :])
        if sum(len(doubt[0]) for doubt in unsure) > FEW:
            self._settle(one, first, out, unsure)
        else:
            doubts += unsure

    def _turn_doubled(self, grid: Stretch, tensor: Tensor, z: Points, turned: NDArray[Any]) -> list[Doubt]:
        """Turn pairs z (*grid, pairs) by doubled numbers into `turned`; return what is still in doubt, if any."""
        vectors = grid.vectors(*np.indices(grid.shape).reshape(2, -1))
        rows = tensor.rows(vectors, self.rows)
        z, turned = z.reshape(len(rows), -1), turned.reshape(len(rows), -1)
        doubts = list[Doubt]()
        for number in np.unique(rows // self.run).tolist():
            mine = np.flatnonzero(rows // self.run == number)
            for part in np.array_split(mine, max(1, len(mine) * self.width // WIDE_AT_ONCE)):
                at, (cosine, sine, error) = rows[part] - number * self.run, self._doubled.get(number)
                x, y, c, s, known = z.real[part], z.imag[part], cosine[at], sine[at], error[at]
                for second, (given, others, turn) in enumerate(((x, y, -s), (y, x, s))):
                    values, unsure = doubled_sums(given, others, c, turn, known, "float64")
                    turned[part, second::2] = values
                    row, pair = unsure.nonzero()
                    if len(row):
                        own, other = given[row, pair], others[row, pair]
                        point = joined(c.hi[row, pair], s.hi[row, pair])
                        doubts.append((vectors[part[row]], pair, np.full(len(row), second), own, other, point))
        return doubts

    def _doubtful(self, places: Places, grid: Stretch, vectors: NDArray[Any], points: Points) -> list[Doubt]:
        """Return what goes into the sums at some places of a grid."""
        if not len(places):
            return []
        line, place, column = np.unravel_index(places, (*grid.shape, self.width))
        pair, second = np.divmod(column, 2)
        x, y = (vectors[line, place, self.places[0, member, pair]] for member in (second, 1 - second))
        point = points[place, pair] if points.ndim == 2 else points[line, 0, pair]
        return [(grid.vectors(line, place), pair, second, x.astype(np.float64), y.astype(np.float64), point)]

    def _settle(self, one: Turned, start: int, out: NDArray[Any], doubts: list[Doubt]) -> None:
        """Round what is in doubt, each sum by itself, and write it."""
        if not doubts:
            return
        vectors, pairs, second, x, y, points = map(np.concatenate, zip(*doubts, strict=True))
        turn = np.where(second, points.imag, -points.imag)
        values, unsure = each_by_itself(x, points.real, y, turn, one.dtype, self.turns.coarse, self.turns.loose)
        if unsure.any():
            left = [part[unsure] for part in (vectors, pairs, second)]
            rotation = Rotation(self.turns, one.tensor.rows(left[0], self.rows), left[1], left[2] == 1, self.back)
            values[unsure] = settled(x[unsure], y[unsure], np.arange(len(left[0])), rotation, one.dtype)
        out[vectors - start, self.places[1, second, pairs]] = narrow(values, None, one.dtype)

    def _points(self, tensor: Tensor, grid: Stretch) -> tuple[Points, float]:
        """Return the points of a grid's rows of the table, which broadcast to (*grid, pairs), and see `_computed`."""
        if grid.positions is not None and self.rows is None:
            at = grid.positions.start // self.run * self.run
            points, size = self._runs.get(at // self.run)
            points = points[grid.positions.start - at : grid.positions.stop - at]
            return (points[:, None] if grid.heads else points), size
        rows = tensor.rows(np.arange(grid.first, grid.first + grid.shape[1], dtype=np.int64), self.rows)
        numbers, most = rows // self.run, 0.0
        found = np.empty((len(rows), self.turns.pairs), np.complex128)
        for number in np.unique(numbers).tolist():
            mine = np.flatnonzero(numbers == number)
            points, size = self._runs.get(number)
            most = max(most, size)
            found[mine] = points[rows[mine] - number * self.run]
        return found, most
