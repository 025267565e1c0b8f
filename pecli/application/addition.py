"""Embeddings with a table's rows added: k E + PE, each value rounded once."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.application.products import Factors, Floats, Interval, Places, largest, round_sums
from pecli.application.reals import InputScale, Reals
from pecli.application.tensors import Tensor
from pecli.declare.tabular import Tabular
from pecli.engine.scratch import Scratch
from pecli.engine.team import scratch
from pecli.errors import BadParameter
from pecli.numbers.doubled import Doubled

AT_ONCE = 1 << 15
"""Values worked on at once: their float64 copies stay in a core's cache."""

RUN, KEPT = 256, 64
"""Rows that are computed together, and how many such runs are kept for the other batches."""


class AddedRows(Tabular):
    """A tensor with rows added; a row is a vector.

    Parameters
    ----------
    reals : Reals
        The table's rows.
    tensor : Tensor
        The embeddings, as wide as the rows.
    scale : InputScale
        What multiplies them first.
    name, dtype : str
        Of the output.
    """

    def __init__(self, reals: Reals, tensor: Tensor, scale: InputScale, name: str, dtype: str) -> None:
        if tensor.width != reals.width:
            rule = f"has vectors of {tensor.width}, and the table has rows of {reals.width}"
            raise BadParameter("input", tensor.name, rule)
        self.reals, self.tensor, self.scale, self.name, self.dtype = reals, tensor, scale, name, dtype
        self.arrays = (tensor.like(name, dtype),)
        self.recipe, self.metadata = None, {}
        self.factor = scale.doubled
        self._run = lru_cache(maxsize=KEPT)(self._computed)

    def _computed(self, number: int) -> Floats:
        return self.reals.rows(number * RUN, min((number + 1) * RUN, self.tensor.side("s")))

    def fill(self, start: int, stop: int, out: Mapping[str, NDArray[Any]]) -> None:
        """Write vectors; see :meth:`pecli.declare.tabular.Tabular.fill`."""
        step = max(1, AT_ONCE // self.tensor.width)
        with scratch() as own:
            for target in out.values():
                for at in range(start, stop, step):
                    end = min(at + step, stop)
                    self._add(at, end, target[at - start : end - start], own)

    def _add(self, start: int, stop: int, out: NDArray[Any], own: Scratch) -> None:
        tensor = self.tensor
        where = tensor.places(np.arange(start, stop, dtype=np.int64), "s")
        rows = np.empty((stop - start, tensor.width))
        for number in np.unique(where // RUN).tolist():
            mine = np.flatnonzero(where // RUN == number)
            rows[mine] = self._run(number)[where[mine] - number * RUN]
        size = np.broadcast_to(self.factor.hi, rows.shape)
        one = np.broadcast_to(1.0, rows.shape)
        given = tensor.read(start, stop)
        most = largest(given) * largest(self.factor.hi) + largest(rows)
        round_sums(given, size, one, rows, self._factors(where), self.dtype, out, own, most)

    def _factors(self, where: NDArray[np.int64]) -> Factors:
        def doubled(places: Places) -> tuple[Doubled, Doubled, Floats]:
            row, column = np.divmod(places, self.tensor.width)
            value, error = self.reals.doubled(where[row], column)
            size = Doubled(*(np.broadcast_to(x, places.shape) for x in (self.factor.hi, self.factor.lo)))
            return size, value, error + np.abs(self.factor.hi) * 2.0**-104

        def interval(place: int, bits: int) -> tuple[Interval, Interval]:
            row, column = divmod(place, self.tensor.width)
            return self.scale.interval(bits), self.reals.interval(int(where[row]), column, bits)

        return Factors(doubled, interval)
