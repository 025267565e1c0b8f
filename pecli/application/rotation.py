"""Queries and keys turned by a rotary table, in blocks, each value rounded once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.application.pairing import HeadPairs, members
from pecli.application.products import Floats, round_sums
from pecli.application.tensors import Tensor
from pecli.application.turning import Rotation, Turns
from pecli.declare.tabular import Array, Tabular
from pecli.errors import BadParameter
from pecli.numbers.rounding import narrow

PAIRS_AT_ONCE = 1 << 15
"""Pairs worked on at once: their float64 copies stay in a core's cache."""

RUN = 256
"""Rows of cosines that are computed together and kept for the other heads."""

KEPT = 256
"""Runs that are kept: 64 pairs take 256 KiB each."""


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
    """

    def __init__(
        self,
        turns: Turns,
        turned: Sequence[Turned],
        pairing: HeadPairs,
        *,
        back: bool = False,
        rows: NDArray[np.int64] | None = None,
    ) -> None:
        self.turns, self.pairing, self.back, self.rows = turns, pairing, back, rows
        self.turned = {one.name: one for one in turned}
        self.width = 2 * turns.pairs
        for one in turned:
            if one.tensor.width < self.width:
                rule = f"has vectors of {one.tensor.width}, and the table turns {self.width} columns"
                raise BadParameter("input", one.tensor.name, rule)
        self.arrays: tuple[Array, ...] = tuple(one.tensor.like(one.name, one.dtype) for one in turned)
        self.recipe, self.metadata = None, {}
        self._run = lru_cache(maxsize=KEPT)(self._computed)

    def _computed(self, number: int) -> tuple[Floats, Floats]:
        return self.turns.rows(number * RUN, min((number + 1) * RUN, self._last))

    @property
    def _last(self) -> int:
        if self.rows is not None:
            return int(self.rows.max()) + 1
        return max(one.tensor.side("s") for one in self.turned.values())

    def fill(self, start: int, stop: int, out: Mapping[str, NDArray[Any]]) -> None:
        """Write vectors; see :meth:`pecli.declare.tabular.Tabular.fill`."""
        step = max(1, PAIRS_AT_ONCE // max(1, self.turns.pairs))
        for name, target in out.items():
            for at in range(start, stop, step):
                end = min(at + step, stop)
                self._turn(self.turned[name], at, end, target[at - start : end - start])

    def _turn(self, one: Turned, start: int, stop: int, out: NDArray[Any]) -> None:
        tensor = one.tensor
        vectors = tensor.read(start, stop)
        numbers = np.arange(start, stop, dtype=np.int64)
        where = tensor.places(numbers, "s")
        if self.rows is not None:
            where = self.rows[tensor.places(numbers, "b") % len(self.rows), where]
        c, s = self._points(where)
        x, y = members(vectors, self.width, self.pairing.taken)
        first, second = members(out, self.width, self.pairing.given)
        x, y = np.ascontiguousarray(x), np.ascontiguousarray(y)
        rotation = Rotation(self.turns, where, self.back)
        minus = s if self.back else -s
        round_sums(x, c, y, minus, rotation.factors(second=False), one.dtype, first)
        round_sums(x, -minus, y, c, rotation.factors(second=True), one.dtype, second)
        rest = vectors[:, self.width :]
        if rest.size:
            narrow(rest, None, one.dtype, out[:, self.width :])

    def _points(self, rows: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """Return c and s of some rows of the table, (n, pairs)."""
        c, s = (np.empty((len(rows), self.turns.pairs)) for _ in range(2))
        runs = rows // RUN
        for number in np.unique(runs).tolist():
            mine = np.flatnonzero(runs == number)
            here = rows[mine] - number * RUN
            for target, values in zip((c, s), self._run(number), strict=True):
                target[mine] = values[here]
        return c, s
