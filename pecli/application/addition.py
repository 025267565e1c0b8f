"""Tensors with a table's rows added or multiplied: k x + r, or k x r, each value rounded once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.application.products import Floats, Interval, Places, largest, round_sums
from pecli.application.reals import InputScale, Reals
from pecli.application.tensors import Tensor
from pecli.declare.tabular import Tabular
from pecli.engine.threads import Scratch, scratch
from pecli.errors import BadParameter
from pecli.numbers.double_double import DoubleDouble
from pecli.numbers.rounding import narrow
from pecli.tables.fill.rounding import minus_infinity

AT_ONCE = 1 << 15
"""Values worked on at once: their float64 copies stay in a core's cache."""

RUN, KEPT = 1 << 18, 32
"""Values of rows that are computed together, and how many such runs (2 MiB each) are kept for the other batches."""

ONE = (Fraction(1), Fraction(1))

Rows = NDArray[np.int64]
Where = Callable[[NDArray[np.int64]], NDArray[np.int64]]


class AddedRows(Tabular):
    """A tensor with rows added or multiplied; a row is a vector.

    Parameters
    ----------
    reals : Reals
        The table's rows; of width 1 they serve every column.
    tensor : Tensor
        What they are added to.
    dtype : str
        Of the output, which has the tensor's name.
    scale : InputScale
        What multiplies the tensor first.
    where : callable or (batches, n) int64 ndarray, optional
        Of vectors, numbered, gives their rows; or the row of each position of each batch; by default their positions.
    multiplied : bool
        Whether rows are factors.
    causal : bool
        Of logits: whether keys after the query get minus infinity, queries being the last of the keys' positions.
    """

    def __init__(
        self,
        reals: Reals,
        tensor: Tensor,
        dtype: str,
        scale: InputScale | None = None,
        *,
        where: Where | Rows | None = None,
        multiplied: bool = False,
        causal: bool = False,
    ) -> None:
        if reals.width not in (tensor.width, 1 if multiplied else tensor.width):
            rule = f"has vectors of {tensor.width}, and the table has rows of {reals.width}"
            raise BadParameter("input", tensor.name, rule)
        self.reals, self.tensor, self.dtype, self.multiplied, self.causal = reals, tensor, dtype, multiplied, causal
        self.scale = scale or InputScale.root(1)
        self.arrays = (tensor.like(tensor.name, dtype),)
        self.recipe, self.metadata = None, {}
        self.factor = self.scale.doubled
        self.where = where if callable(where) else partial(tensor.rows, rows=where)
        self.step = max(1, RUN // reals.width)
        self._run = lru_cache(maxsize=KEPT)(self._computed)

    def _computed(self, number: int) -> Floats:
        return self.reals.rows(number * self.step, min((number + 1) * self.step, self.reals.count))

    def fill(self, start: int, stop: int, out: Mapping[str, NDArray[Any]]) -> None:
        """Write vectors; see :meth:`pecli.declare.tabular.Tabular.fill`."""
        step = max(1, AT_ONCE // self.tensor.width)
        with scratch() as own:
            for target in out.values():
                for at in range(start, stop, step):
                    end = min(at + step, stop)
                    self._write(np.arange(at, end, dtype=np.int64), target[at - start : end - start], own)

    def _write(self, vectors: NDArray[np.int64], out: NDArray[Any], own: Scratch) -> None:
        where = self.where(vectors)
        rows = self._rows(where)
        given = self.tensor.read(int(vectors[0]), int(vectors[-1]) + 1)
        strange = None
        if not (np.isfinite(largest(given)) and np.isfinite(largest(rows))):  # IEEE 754 says what becomes of them
            strange = ~(np.isfinite(given) & np.isfinite(rows))
            with np.errstate(all="ignore"):
                kept = (given * self.factor.hi * rows if self.multiplied else given * self.factor.hi + rows)[strange]
            given, rows = np.where(strange, 0.0, given), np.where(strange, 0.0, rows)
        if self.multiplied:  # x r + 0 1, otherwise k x + 1 r
            size, other, row = np.broadcast_to(rows, given.shape), np.zeros(given.shape), np.ones(given.shape)
            most = largest(given) * largest(rows)
        else:
            size, other = (np.broadcast_to(value, given.shape) for value in (self.factor.hi, np.ones(1)))
            row, most = rows, largest(given) * largest(self.factor.hi) + largest(rows)
        round_sums(given, size, other, row, RowFactors(self, where), self.dtype, out, own, most)
        if strange is not None:
            out[strange] = narrow(kept, None, self.dtype)
        if self.causal:
            last = self.tensor.places(vectors, "q") + self.tensor.side("k") - self.tensor.side("q")
            out[np.arange(self.tensor.width) > last[:, None]] = minus_infinity(self.dtype)

    def _rows(self, where: NDArray[np.int64]) -> Floats:
        if int(where.max()) >= self.reals.count:  # says which
            self.reals.rows(0, int(where.max()) + 1)
        rows = np.empty((len(where), self.reals.width))
        for number in np.unique(where // self.step).tolist():
            mine = np.flatnonzero(where // self.step == number)
            rows[mine] = self._run(number)[where[mine] - number * self.step]
        return rows


@dataclass(frozen=True)
class RowFactors:
    """What multiplies a block of vectors, and the rows: k and r of k x + 1 r, or r of x r + 0 1."""

    added: AddedRows
    where: NDArray[np.int64]

    def doubled(self, places: Places) -> tuple[DoubleDouble, DoubleDouble, Floats]:
        """Return both at some places; see :class:`pecli.application.products.Factors`."""
        added = self.added
        row, column = np.divmod(places, added.tensor.width)
        value, error = added.reals.doubled(self.where[row], np.minimum(column, added.reals.width - 1))
        one = DoubleDouble(np.ones(len(places)), np.zeros(len(places)))
        if added.multiplied:
            return value, one, error
        size = DoubleDouble(*(np.broadcast_to(x, places.shape) for x in (added.factor.hi, added.factor.lo)))
        return size, value, error + np.abs(added.factor.hi) * 2.0**-104

    def interval(self, place: int, bits: int) -> tuple[Interval, Interval]:
        """Return intervals that hold both at one place; see :class:`pecli.application.products.Factors`."""
        added = self.added
        row, column = divmod(place, added.tensor.width)
        value = added.reals.interval(int(self.where[row]), min(column, added.reals.width - 1), bits)
        return (value, ONE) if added.multiplied else (added.scale.interval(bits), value)
