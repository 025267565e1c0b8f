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
    Floats,
    Places,
    doubled_sums,
    each_by_itself,
    largest,
    round_candidates,
    settled,
)
from pecli.application.runs import Runs
from pecli.application.tensors import Tensor
from pecli.application.turning import Points, Rotation, Turns
from pecli.declare.tabular import Array, Tabular
from pecli.engine.scratch import Scratch
from pecli.engine.team import Task, default_threads, share
from pecli.errors import BadParameter
from pecli.numbers.doubled import Doubled
from pecli.numbers.rounding import narrow, widen
from pecli.numbers.types import storage

AT_ONCE = 1 << 15
"""Values that are turned at once: their float64 copies stay in a core's cache."""

RUN = 4
"""Blocks of so many vectors whose cosines are computed together, and kept for the other heads."""

HEADS = 16
"""Blocks of other heads that are turned in one go."""

WIDE_AT_ONCE = 1 << 13
"""The same of values that are turned by doubled numbers."""

FEW = 1 << 12
"""Sums in doubt that wait until all others are done: settling them takes long to begin."""


Doubt = tuple[Integers, Integers, Integers, Floats, Floats]
"""Of some sums: vector, pair, whether it is a second member, and what goes into them: own number and the other."""


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
        self.step = max(1, AT_ONCE // max(one.tensor.width for one in turned))
        self.run = RUN * self.step
        self._runs = Runs(self._computed, self.run * self.width * 8)
        self._doubled = Runs(self._computed_doubled, self.run * self.width * 20)

    def _computed(self, number: int) -> tuple[Points, float]:
        """Return the points of a run, and what abs(c) + abs(s) is at most, so many times as they are coarse."""
        points = self.turns.rows(number * self.run, min((number + 1) * self.run, self._last))
        size = 2 * largest(points.view(np.float64)) * self.turns.coarse
        return (np.conjugate(points, out=points) if self.back else points), size

    def _computed_doubled(self, number: int) -> tuple[Doubled, Doubled, Floats]:
        """Return the cosines and sines of a run as doubled numbers, and their error, (n, pairs) each."""
        first = number * self.run
        shape = min(self.run, self._last - first), self.turns.pairs
        rows, pairs = (index.reshape(-1) for index in np.indices(shape))
        c, s, error = self.turns.doubled(rows + first, pairs)
        c, s = (Doubled(part.hi.reshape(shape), part.lo.reshape(shape)) for part in (c, s))
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
            share(list(self._tasks(one, start, stop, target, doubts, threads)), threads)
            self._settle(one, start, target, doubts)

    def _tasks(
        self, one: Turned, start: int, stop: int, target: NDArray[Any], doubts: list[Doubt], threads: int
    ) -> Iterator[Task]:
        """Yield what is to be done: runs of the table before their vectors, so many that no thread waits for them."""
        groups = self._groups(one.tensor, start, stop)
        firsts = np.array([group[0].start for group in groups], np.int64)
        runs = (one.tensor.rows(firsts, self.rows) // self.run).tolist()
        ahead = iter(dict.fromkeys(runs) if threads > 1 else ())
        yield from (self._runs.task(number) for number in islice(ahead, threads))
        for group, number, before in zip(groups, runs, [None, *runs], strict=False):
            if number != before and before is not None:
                yield from (self._runs.task(number) for number in islice(ahead, 1))
            yield partial(self._turn, one, group, target, start, doubts)

    def _groups(self, tensor: Tensor, start: int, stop: int) -> list[list[range]]:
        """Return blocks of vectors: where sequences are long, those of several heads at the same positions together."""
        long = tensor.axes[-2:-1] in ("s", "t") and tensor.side("s") >= self.step and self.rows is None
        length = tensor.side("s") if long else tensor.vectors
        found: dict[tuple[int, int], list[range]] = {}
        while start < stop:
            inside = start % length
            end = min(stop, start - inside + length, start - inside % self.step + self.step)
            found.setdefault((inside, end - start), []).append(range(start, end))
            start = end
        return [group[k : k + HEADS] for group in found.values() for k in range(0, len(group), HEADS)]

    def _turn(
        self, one: Turned, blocks: list[range], out: NDArray[Any], first: int, doubts: list[Doubt], own: Scratch
    ) -> None:
        """Turn blocks of vectors that have the same rows of the table; `out` begins with vector `first`."""
        tensor = one.tensor
        points, size = self._points(tensor.rows(np.arange(blocks[0].start, blocks[0].stop, dtype=np.int64), self.rows))
        shape = len(points), tensor.width
        held = own.get(f"vectors {tensor.dtype}", shape[0] * shape[1], storage(tensor.dtype).type).reshape(shape)
        z = own.get("pairs", points.size, np.complex128).reshape(points.shape)
        flat = z.view(np.float64)  # x0 y0 x1 y1 ..
        apart = own.get(f"turned {one.dtype}", flat.size + 1, out.dtype.type)
        for block in blocks:
            given = tensor.lane.given(block.start, block.stop, held)
            vectors = widen(given, tensor.dtype) if tensor.dtype == "bfloat16" else given
            target = out[block.start - first : block.stop - first]
            halves = self.pairing.given == "half"
            turned = apart[:-1].reshape(flat.shape) if halves else target[:, : self.width]
            with np.errstate(all="ignore"):
                if self.pairing.taken == "half":
                    z.real, z.imag = vectors[:, self.taken[0]], vectors[:, self.taken[1]]
                else:
                    np.copyto(flat, vectors[:, : self.width])
                most = largest(flat) * size
                if one.dtype == "float64" and isfinite(most):
                    places, unsure = np.empty(0, np.int64), self._turn_doubled(block, tensor, z, turned)
                else:
                    np.multiply(z, points, out=z)
                    places = round_candidates(flat, most, one.dtype, turned, own)
                    unsure = self._doubtful(places, block.start, vectors, points, turned, one.dtype)
            if halves:
                put_apart(apart, target, self.given)
            if tensor.width > self.width:
                narrow(vectors[:, self.width :].astype(np.float64), None, one.dtype, target[:, self.width :])
            if len(places) > FEW:
                self._settle(one, first, out, unsure)
            else:
                doubts += unsure

    def _turn_doubled(self, block: range, tensor: Tensor, z: Points, turned: NDArray[Any]) -> list[Doubt]:
        """Turn pairs z (n, pairs) by doubled numbers into `turned`; return what is still in doubt, if any."""
        rows = tensor.rows(np.arange(block.start, block.stop, dtype=np.int64), self.rows)
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
                        doubts.append((part[row] + block.start, pair, np.full(len(row), second), own, other))
        return doubts

    def _doubtful(
        self, places: Places, start: int, vectors: NDArray[Any], points: Points, turned: NDArray[Any], dtype: str
    ) -> list[Doubt]:
        """Round the sums at some places of a block by themselves; return those that are still in doubt, if any."""
        if not len(places):
            return []
        row, column = np.divmod(places, self.width)
        pair, second = np.divmod(column, 2)
        x, y = (vectors[row, self.places[0, member, pair]].astype(np.float64) for member in (second, 1 - second))
        point = points[row, pair]
        values, unsure = each_by_itself(
            x, point.real, y, np.where(second, point.imag, -point.imag), dtype, self.turns.coarse
        )
        turned[row, column] = narrow(values, None, dtype)
        return [(row[unsure] + start, pair[unsure], second[unsure], x[unsure], y[unsure])] if unsure.any() else []

    def _settle(self, one: Turned, start: int, out: NDArray[Any], doubts: list[Doubt]) -> None:
        """Write what is in doubt."""
        if not doubts:
            return
        vectors, pairs, second, x, y = map(np.concatenate, zip(*doubts, strict=True))
        rotation = Rotation(self.turns, one.tensor.rows(vectors, self.rows), pairs, second == 1, self.back)
        values = settled(x, y, np.arange(len(x)), rotation, one.dtype)
        out[vectors - start, self.places[1, second, pairs]] = narrow(values, None, one.dtype)

    def _points(self, rows: Integers) -> tuple[Points, float]:
        """Return the points of some rows of the table, (n, pairs), and what their abs(c) + abs(s) is at most."""
        numbers = rows // self.run
        if numbers[0] == numbers[-1] and (numbers == numbers[0]).all():
            points, size = self._runs.get(int(numbers[0]))
            within = rows - numbers[0] * self.run
            straight = (np.diff(within) == 1).all()
            return points[slice(within[0], within[-1] + 1) if straight else within], size
        found, most = np.empty((len(rows), self.turns.pairs), np.complex128), 0.0
        for number in np.unique(numbers).tolist():
            mine = np.flatnonzero(numbers == number)
            points, size = self._runs.get(number)
            most = max(most, size)
            found[mine] = points[rows[mine] - number * self.run]
        return found, most
