"""Queries and keys turned by a rotary table, in blocks, each value rounded once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.application.pairing import HeadPairs, block_order, members
from pecli.application.products import Floats, largest, round_sums
from pecli.application.tensors import Tensor
from pecli.application.turning import Rotation, Turns
from pecli.declare.tabular import Array, Tabular
from pecli.engine.scratch import Scratch
from pecli.engine.team import Task, default_threads, scratch, share
from pecli.errors import BadParameter
from pecli.numbers.rounding import narrow, widen

RUN = 512
"""Rows of cosines that are computed together and kept for the other heads, and vectors that are turned at once:
their float64 copies stay in a core's cache."""

KEPT = 64
"""Runs that are kept: 64 pairs take 768 KiB each."""


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
        self.order = block_order(parts) if len(parts) > 1 else None
        self.turned = {one.name: one for one in turned}
        self.width = 2 * turns.pairs
        for one in turned:
            if one.tensor.width < self.width:
                rule = f"has vectors of {one.tensor.width}, and the table turns {self.width} columns"
                raise BadParameter("input", one.tensor.name, rule)
        self.arrays: tuple[Array, ...] = tuple(one.tensor.like(one.name, one.dtype) for one in turned)
        self.recipe, self.metadata = None, metadata or {}
        self._run = lru_cache(maxsize=KEPT)(self._computed)

    def _computed(self, number: int) -> tuple[Floats, Floats, Floats, float]:
        c, s = self.turns.rows(number * RUN, min((number + 1) * RUN, self._last))
        size = max(largest(c), largest(s))
        return (c, -s, s, size) if self.back else (c, s, -s, size)

    @property
    def _last(self) -> int:
        if self.rows is not None:
            return int(self.rows.max()) + 1
        return max(one.tensor.side("s") for one in self.turned.values())

    def fill(self, start: int, stop: int, out: Mapping[str, NDArray[Any]]) -> None:
        """Write vectors; see :meth:`pecli.declare.tabular.Tabular.fill`."""
        with scratch() as own:
            for task in self._tasks(start, stop, out):
                task(own)

    def read_rows(self, names: Iterable[str], start: int, stop: int) -> dict[str, NDArray[Any]]:
        """Return vectors, computed on all cores."""
        out = self.empty(names, start, stop)
        share(list(self._tasks(start, stop, out)), default_threads())
        return out

    def _tasks(self, start: int, stop: int, out: Mapping[str, NDArray[Any]]) -> Iterator[Task]:
        """Yield the work in blocks that begin where runs of cosines do, as far as sequences do."""
        for name, target in out.items():
            for at in range(start - start % RUN, stop, RUN):
                low, high = max(at, start), min(at + RUN, stop)
                yield partial(self._turn, self.turned[name], low, high, target[low - start : high - start])

    def _turn(self, one: Turned, start: int, stop: int, out: NDArray[Any], own: Scratch) -> None:
        tensor = one.tensor
        vectors = tensor.lane.read(start, stop).reshape(stop - start, tensor.width)
        rest, turned = vectors[:, self.width :], out
        if self.order is not None and self.pairing.taken == "half":
            vectors = vectors[:, self.order]
        if self.order is not None and self.pairing.given == "half":
            turned = np.empty((stop - start, self.width), out.dtype)
        numbers = np.arange(start, stop, dtype=np.int64)
        where = tensor.places(numbers, "s")
        if self.rows is not None:
            where = self.rows[tensor.places(numbers, "b") % len(self.rows), where]
        c, s, minus, size = self._points(where)
        x, y = (own.get(name, c.size, np.float64).reshape(c.shape) for name in ("first", "second"))
        for whole, part in zip((x, y), members(vectors, self.width, self.pairing.taken), strict=True):
            np.copyto(whole, part if tensor.dtype != "bfloat16" else widen(part, tensor.dtype))
        most = size * (largest(x) + largest(y))
        first, second = members(turned, self.width, self.pairing.given)
        rotation = Rotation(self.turns, where, self.back)
        round_sums(x, c, y, minus, rotation.factors(second=False), one.dtype, first, own, most)
        round_sums(x, s, y, c, rotation.factors(second=True), one.dtype, second, own, most)
        if turned is not out:
            out[:, self.order] = turned
        if rest.size:
            narrow(widen(rest, tensor.dtype), None, one.dtype, out[:, self.width :])

    def _points(self, rows: NDArray[np.int64]) -> tuple[Floats, Floats, Floats, float]:
        """Return c, s and -s of some rows of the table, (n, pairs), and how large they are at most."""
        first, last = int(rows[0]), int(rows[-1])
        number = first // RUN
        # rows of one sequence in order: nothing else leads so far up in so many steps of at most one
        if self.rows is None and last // RUN == number and last - first == len(rows) - 1:
            c, s, minus, size = self._run(number)
            here = slice(first - number * RUN, last - number * RUN + 1)
            return c[here], s[here], minus[here], size
        found = [np.empty((len(rows), self.turns.pairs)) for _ in range(3)]
        most = 0.0
        for number in np.unique(rows // RUN).tolist():
            mine = np.flatnonzero(rows // RUN == number)
            *run, size = self._run(number)
            most = max(most, size)
            for target, values in zip(found, run, strict=True):
                target[mine] = values[rows[mine] - number * RUN]
        return found[0], found[1], found[2], most
