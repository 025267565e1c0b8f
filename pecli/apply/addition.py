"""Rows added to a tensor or multiplied with it, rows made from its content, and a framework's arithmetic.

In a framework's arithmetic every product and sum is rounded to a type: an addition is the scaled input, then the sum,
with rows rounded to the type; see `pecli.apply.rotation.rotation_steps` for rotations.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.apply.exact import ExactRows, exact_sums, largest_size, round_candidates, rows_of
from pecli.apply.tensors import ApplyOptions, ApplyResult, Tensor, axes_notes, only_tensor, open_rows, roles_of
from pecli.engine.threads import Scratch, scratch
from pecli.errors import BadParameter, BadRecipe
from pecli.numbers.decimals import CONTEXT, parse_integer, shorten
from pecli.numbers.double_double import DoubleDouble, add, doubled, from_decimal
from pecli.numbers.positions import Positions
from pecli.numbers.rounding import Floats, Integers, narrow, nearest, units, widen
from pecli.spec.hooks import Effect
from pecli.spec.plans import Conditional
from pecli.spec.tabular import Tabular
from pecli.tables.fill.conditional import base_of
from pecli.tables.fill.filler import round_into
from pecli.tables.parts import ConcatTable
from pecli.tables.sources import NamedSource
from pecli.tables.table import Table

# Values worked on at once: their float64 copies stay in a core's cache.
BLOCK_VALUES = 1 << 15

# Values of rows that are computed together, and how many such blocks (2 MiB each) are kept for the other batches.
ROW_BLOCK_VALUES, CACHED_BLOCKS = 1 << 18, 32

Rows = NDArray[np.int64]
# Of vectors `start` to `stop`, what a framework makes of them; of exact values, what their last places are counted in.
Steps = tuple[Callable[[int, int], Floats], Callable[[Floats], Floats]]


class AddedRows(Tabular):
    """A tensor with rows added or multiplied; a row is a vector.

    Parameters
    ----------
    exact_rows : ExactRows
        The table's rows; of width 1 they serve every column.
    tensor : Tensor
        What they are added to.
    dtype : str
        Of the output, which has the tensor's name.
    scale : Decimal or "sqrt", optional
        What multiplies the tensor first; "sqrt" for the root of its width.
    where : (batches, n) int64 ndarray, optional
        The row of each position of each batch; by default their positions.
    multiplied : bool
        Whether rows are factors.
    """

    def __init__(
        self, exact_rows: ExactRows, tensor: Tensor, dtype: str, scale: Decimal | str | None = None, *,
        where: Rows | None = None, multiplied: bool = False,
    ) -> None:  # fmt: skip
        if exact_rows.width not in (tensor.width, 1 if multiplied else tensor.width):
            raise tensor.misfit(f"the table has rows of {exact_rows.width}")
        self.exact_rows, self.tensor, self.dtype, self.multiplied = exact_rows, tensor, dtype, multiplied
        self.arrays = (tensor.like(tensor.name, dtype),)
        number = Decimal(1 if scale is None else scale) if scale != "sqrt" else CONTEXT.sqrt(Decimal(tensor.width))
        self.factor, self.where = from_decimal(number), where
        self.step = max(1, ROW_BLOCK_VALUES // exact_rows.width)
        self._row_block = lru_cache(maxsize=CACHED_BLOCKS)(self._computed)

    def _computed(self, number: int) -> Floats:
        return self.exact_rows.rows(number * self.step, min((number + 1) * self.step, self.exact_rows.count))

    def fill(self, start: int, stop: int, out: Mapping[str, NDArray[Any]]) -> None:
        """Write vectors; see :meth:`pecli.spec.tabular.Tabular.fill`."""
        step = max(1, BLOCK_VALUES // self.tensor.width)
        with scratch() as own:
            for target in out.values():
                for at in range(start, stop, step):
                    end = min(at + step, stop)
                    self._write(np.arange(at, end, dtype=np.int64), target[at - start : end - start], own)

    def _write(self, vectors: NDArray[np.int64], out: NDArray[Any], own: Scratch) -> None:
        where = self.tensor.rows(vectors, self.where)
        rows = self._rows(where)
        x = self.tensor.read(int(vectors[0]), int(vectors[-1]) + 1)
        not_finite = None
        if not (np.isfinite(largest_size(x)) and np.isfinite(largest_size(rows))):  # IEEE 754 says what becomes of them
            not_finite = ~(np.isfinite(x) & np.isfinite(rows))
            with np.errstate(all="ignore"):
                special = (x * self.factor.hi * rows if self.multiplied else x * self.factor.hi + rows)[not_finite]
            x, rows = np.where(not_finite, 0.0, x), np.where(not_finite, 0.0, rows)
        if self.multiplied:  # x r + 0 1, otherwise k x + 1 r
            size, other, row = np.broadcast_to(rows, x.shape), np.zeros(x.shape), np.ones(x.shape)
            bound = largest_size(x) * largest_size(rows)
        else:
            size, other = (np.broadcast_to(value, x.shape) for value in (self.factor.hi, np.ones(1)))
            row, bound = rows, largest_size(x) * largest_size(self.factor.hi) + largest_size(rows)
        candidate, term = (own.get(name, x.size, np.float64).reshape(x.shape) for name in ("sum", "term"))
        with np.errstate(all="ignore"):
            np.add(np.multiply(x, size, out=candidate), np.multiply(other, row, out=term), out=candidate)
            unsure = round_candidates(candidate, bound, self.dtype, out, own)
        if len(unsure):
            x, size, other, row = (part.reshape(-1)[unsure] for part in (x, size, other, row))
            sums = exact_sums(x, size, other, row, unsure, partial(self._doubled, where), self.dtype)
            out[np.divmod(unsure, out.shape[1])] = sums
        if not_finite is not None:
            out[not_finite] = narrow(special, None, self.dtype)

    def _doubled(self, where: Rows, places: Integers) -> tuple[DoubleDouble, DoubleDouble, Floats]:
        """Return k and r of k x + 1 r, or r and 0 of x r + 0 1, at places of vectors with these rows."""
        row, column = np.divmod(places, self.tensor.width)
        value, error = self.exact_rows.doubled(where[row], np.minimum(column, self.exact_rows.width - 1))
        if self.multiplied:
            return value, doubled(np.ones(len(places))), error
        return self.factor.spread(places.shape), value, error + np.abs(self.factor.hi) * 2.0**-104

    def _rows(self, where: NDArray[np.int64]) -> Floats:
        if int(where.max()) >= self.exact_rows.count:  # says which
            self.exact_rows.rows(0, int(where.max()) + 1)
        rows = np.empty((len(where), self.exact_rows.width))
        for number in np.unique(where // self.step).tolist():
            selected = np.flatnonzero(where // self.step == number)
            rows[selected] = self._row_block(number)[where[selected] - number * self.step]
        return rows


def apply_content(source: NamedSource, tensors: Sequence[Tensor], options: ApplyOptions, effect: Effect) -> ApplyResult:
    """Apply a conditional source to tensors; see :func:`pecli.apply.apply.apply`."""
    if effect.content is None:
        return _scale_queries(source, tensors, options, effect)
    tensor = only_tensor(tensors, "it stands for the content")
    if source.recipe is None or not isinstance(source.recipe.plan, Conditional):
        raise BadRecipe(f"{shorten(source.text)} holds what was made of other content: give its recipe")
    if options.positions is not None:
        raise BadParameter("positions", None, "are not for content: give --start")
    made = ConditionedRows(source.recipe.plan, tensor, options, added=effect.content == "adds")
    return ApplyResult(made, (effect.note, *axes_notes(tensors)))


def _scale_queries(
    source: NamedSource, tensors: Sequence[Tensor], options: ApplyOptions, effect: Effect
) -> ApplyResult:
    """Return queries with their factors, and keys as they are."""
    table, rows = open_rows(source, tensors, options)
    keys, roles = roles_of(tensors)
    parts: list[tuple[str, Tabular, str]] = []
    for tensor in tensors:
        if tensor in keys:
            parts.append((tensor.name, tensor.view.table, tensor.view.array.name))
            continue
        made = AddedRows(rows_of(table), tensor, options.dtype or tensor.dtype, multiplied=True, where=rows)
        parts.append((tensor.name, made, tensor.name))
    return ApplyResult(ConcatTable(parts), (effect.note, roles, *axes_notes(tensors)))


class ConditionedRows(Tabular):
    """Rows made of a tensor's own, batch by batch; computed in float64, in one order of sums.

    Parameters
    ----------
    plan : Conditional
        What is made of them.
    tensor : Tensor
        The content, (b, s, d) or (s, d).
    options : ApplyOptions
        Start and type.
    added : bool
        Whether the rows are added to the input.
    """

    def __init__(self, plan: Conditional, tensor: Tensor, options: ApplyOptions, *, added: bool) -> None:
        if tensor.axes not in ("bsd", "sd"):
            raise BadParameter("axes", tensor.axes, "are not those of content: bsd and sd are")
        self.plan, self.tensor, self.added = plan, tensor, added
        self.dtype = options.dtype or tensor.dtype
        self.n = tensor.side("s")
        positions = Positions.arange(self.n, parse_integer("start", options.start or "0"))
        self.base = base_of(plan, positions, Table.parse)
        width = tensor.width if self.base is None else self.base.arrays[0].shape[1]
        if added and width != tensor.width:
            raise tensor.misfit(f"the table has rows of {width}")
        self.around = plan.reach(self.n)
        plan.fit(tensor.width, width)
        self.arrays = (tensor.like(tensor.name, self.dtype, width),)

    def fill(self, start: int, stop: int, out: Mapping[str, NDArray[Any]]) -> None:
        """Write rows; see :meth:`pecli.spec.tabular.Tabular.fill`."""
        for target in out.values():
            at = start
            while at < stop:
                batch, first = divmod(at, self.n)
                last = min(self.n, first + stop - at)
                self._batch(batch * self.n, first, last, target[at - start :][: last - first])
                at += last - first

    def _batch(self, at: int, first: int, last: int, out: NDArray[Any]) -> None:
        offset = max(0, first - self.around)
        rows = self.tensor.read(at + offset, at + min(self.n, last + self.around))
        base = None if self.base is None else self.base.read_rows(["pe"], first, last)["pe"]
        found = self.plan.value(rows, offset, first, last, self.n, base)
        if self.added:
            found = found if isinstance(found, DoubleDouble) else doubled(found)
            found = add(found, doubled(rows[first - offset : last - offset]))
        round_into(found, self.dtype, out)


class FrameworkRows(Tabular):
    """Tensors as a framework's arithmetic gives them.

    Parameters
    ----------
    exact : Tabular
        The real values, rounded to float64, of the same names and shapes.
    compute : mapping of str to Steps
        For each name.
    arithmetic : {"float32", "bfloat16"}
        Of every step.
    dtype : str
        Of the outputs.

    Attributes
    ----------
    worst : float
        The largest error so far, in units in the last place of the arithmetic.
    """

    def __init__(self, exact: Tabular, compute: Mapping[str, Steps], arithmetic: str, dtype: str) -> None:
        self.exact, self.compute, self.arithmetic, self.dtype = exact, compute, arithmetic, dtype
        self.arrays = tuple(replace(array, dtype=dtype) for array in exact.arrays)
        self.metadata = exact.metadata
        self.worst, self._lock = 0.0, threading.Lock()

    def fill(self, start: int, stop: int, out: Mapping[str, NDArray[Any]]) -> None:
        """Write vectors; see :meth:`pecli.spec.tabular.Tabular.fill`."""
        for name, target in out.items():
            steps, sizes = self.compute[name]
            values = steps(start, stop)
            truth = self.exact.read_rows([name], start, stop)[name]
            with np.errstate(all="ignore"):
                off = np.abs(values - truth) / units(sizes(truth), self.arithmetic)
            worst = float(np.max(off, initial=0.0, where=np.isfinite(off)))
            with self._lock:
                self.worst = max(self.worst, worst)
            narrow(values, None, self.dtype, target)


def adding_steps(tensor: Tensor, table: Tabular, factor: float, rows: Rows | None, arithmetic: str) -> Steps:
    """Return how a framework adds a table's rows (n, width) to a tensor that a factor multiplies first."""
    name = table.arrays[0].name

    def steps(start: int, stop: int) -> Floats:
        where = tensor.rows(np.arange(start, stop, dtype=np.int64), rows)
        low = int(where.min())
        added = widen(table.read_rows([name], low, int(where.max()) + 1)[name], table.array(name).dtype)[where - low]
        x = nearest(tensor.read(start, stop), arithmetic)
        with np.errstate(all="ignore"):
            scaled = nearest(x * nearest(np.array([factor]), arithmetic), arithmetic)
            return nearest(scaled + nearest(added, arithmetic), arithmetic)

    return steps, np.abs
