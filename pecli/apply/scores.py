"""Scores and weights from logits: biases, masks and the softmax.

Scores are float64, within a stated bound of the real numbers.  A score is a sum of inner products times a scale, mostly
1/sqrt(d), with a bias added or a weight multiplied; masked, and through the softmax where asked.  With u = 2^-53 an
inner product of d numbers, each rounded once, errs by at most (d + 2) u times the product of the lengths, in any order
of sums; the scale by 3 u, its product, each sum and each factor by a further u of the result.  Logits that err by e
give weights that err by at most 2e + (n + 8) u, n the keys: the exponential is taken to be within 4u, the sum within
n u.  Matrix products and exponentials are NumPy's, so the last bits may differ between machines.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pecli.apply.addition import AddedRows
from pecli.apply.exact import ExactRows, Floats, finite_size
from pecli.apply.tensors import LONG, ApplyOptions, ApplyResult, Tensor, as_logits, axes_notes
from pecli.errors import BadParameter, BadRecipe
from pecli.numbers.decimals import shorten
from pecli.numbers.double_double import DoubleDouble, Points
from pecli.numbers.positions import Positions
from pecli.numbers.rounding import narrow, widen
from pecli.spec.hooks import Effect
from pecli.spec.plans import Bias
from pecli.spec.tabular import Array, Tabular
from pecli.tables.fill.pairs import BiasFiller
from pecli.tables.sources import NamedSource
from pecli.tables.table import Table
from pecli.tables.views import regrouped, view_of

Integers = NDArray[np.int64]


def pair_tables(source: NamedSource, queries: int, keys: int, options: ApplyOptions) -> list[Tabular]:
    """Return the float64 tables of a source for `queries` and `keys`, the last of which the queries are.

    Parameters
    ----------
    source : NamedSource
        Of biases, or of relative vectors.
    queries, keys : int
        How many.
    options : ApplyOptions
        Start or positions, of the keys.

    Returns
    -------
    list of Tabular
        One for all batches, or one for each where each has positions of its own.
    """
    if source.recipe is None:
        for name, value in (("start", options.start), ("positions", options.positions)):
            if value is not None:
                rule = "is for recipes: the file's queries and keys have the positions of the file"
                raise BadParameter(name, value if name == "start" else None, rule)
        return [source.open()]
    if source.recipe.rows is not None:
        return [source.open(dtype="float64")]
    if queries > keys and source.given.get("align") != "first":
        rule = "must not be more queries than keys: the last query has the position of the last key"
        rule += "" if options.scores else "; for queries and keys themselves give --scores"
        raise BadParameter("input", f"({queries} queries x {keys} keys)", rule)
    given: dict[str, Any] = {"dtype": "float64"} if queries == keys else {"queries": queries, "dtype": "float64"}
    if options.positions is None:
        given |= {"length": keys} if options.start is None else {"length": keys, "start": options.start}
        return [source.open(**given)]
    where = options.positions
    lists = [where] if isinstance(where, Positions) else [Positions.listed(row) for row in where]
    if lists[0].count != keys:
        raise BadParameter("positions", f"({lists[0].count} positions)", f"must be {keys}, one for each key")
    return [source.open(**given, positions=one) for one in lists]


class BiasRows(ExactRows):
    """Rows of a bias, one for each batch with positions of its own, head and query.

    Values are finer than float64 where the encoding computes them so.

    Parameters
    ----------
    tables : sequence of Tabular
        With an array bias, (heads, q, k) or (q, k): one for all batches, or one for each.
    text : str
        The source, for messages.
    sides : tuple of int
        Batches, heads, queries and keys of the logits.
    """

    def __init__(self, tables: Sequence[Tabular], text: str, sides: tuple[int, int, int, int]) -> None:
        table = tables[0]
        if "bias" not in table:
            raise BadRecipe(f"{shorten(text)} has {', '.join(table.keys())} and no bias: give its heads or weights")
        array, (batches, heads, queries, keys) = table.array("bias"), sides
        if len(array.shape) not in (2, 3):
            raise BadParameter("SOURCE", text, f"has a bias of the shape {array.shape}: (heads, q, k) is needed")
        self.heads, self.queries, self.width = (1, *array.shape) if len(array.shape) == 2 else array.shape
        if self.heads not in (1, heads):
            raise BadParameter("heads", self.heads, f"do not fit logits of {heads} heads")
        if (self.queries, self.width) != (queries, keys):
            rule = f"do not fit a bias of {self.queries} x {self.width}: it has one number for each query and key"
            raise BadParameter("input", f"({queries} x {keys} logits)", rule)
        if len(tables) not in (1, batches):
            raise BadParameter("positions", f"(of {len(tables)} batches)", f"do not fit logits of {batches} batches")
        self.each, self.count = self.heads * self.queries, len(tables) * self.heads * self.queries
        self.tables, self.dtype = tables, array.dtype
        self.views = [regrouped(view_of(one, one.array("bias")), self.width) for one in tables]

    def of(self, rows: QueryRows) -> Floats:
        """Return the numbers of some queries, (stop - start, keys)."""
        at = self.row(rows.batch, rows.head, rows.start)
        return self.rows(at, at + rows.stop - rows.start)

    def row(self, batch: Any, head: Any, query: Any) -> Any:
        """Return the number of a row."""
        return batch % len(self.tables) * self.each + head % self.heads * self.queries + query

    def rows(self, start: int, stop: int) -> Floats:
        """Return rows; see :class:`pecli.apply.exact.ExactRows`."""
        parts = []
        while start < stop:
            number, first = divmod(start, self.each)
            last = min(self.each, first + stop - start)
            parts.append(widen(self.views[number].read(first, last).reshape(last - first, self.width), self.dtype))
            start += last - first
        return np.concatenate(parts) if len(parts) > 1 else parts[0]

    def doubled(self, rows: Integers, columns: Integers) -> tuple[DoubleDouble, Floats]:
        """Return some values; see :class:`pecli.apply.exact.ExactRows`."""
        hi, lo = np.empty(len(rows)), np.zeros(len(rows))
        for row in np.unique(rows).tolist():
            selected = np.flatnonzero(rows == row)
            found = self._finer(row, columns[selected])
            if isinstance(found, DoubleDouble):
                hi[selected], lo[selected] = found.hi[0], found.lo[0]
            else:
                hi[selected] = self.rows(row, row + 1)[0, columns[selected]]
        return DoubleDouble(hi, lo), np.zeros(len(rows))

    def _finer(self, row: int, columns: Integers) -> object:
        """Return the encoding's double-double values where it computes them by distance or by key; else None."""
        number, row = divmod(row, self.each)
        table, (head, query) = self.tables[number], divmod(row, self.queries)
        if not isinstance(table, Table) or not isinstance(table.plan, Bias) or not isinstance(table.filler, BiasFiller):
            return None
        plan = table.plan
        if plan.value is None or plan.by not in ("distance", "key", "last"):
            return None
        keys = table.filler.key_points
        first = {"distance": table.filler.query_points(query, query + 1).multiples[0], "last": keys.multiples[-1]}
        return plan.value(Points(keys.multiples[columns] - first.get(plan.by, 0), keys.unit), range(head, head + 1))


@dataclass(frozen=True)
class Mask:
    """Keys that a query does not see: those after it, the queries being the last of the keys, and masked ones."""

    queries: int
    keys: int
    causal: bool = False
    seen: NDArray[np.bool_] | None = None

    @classmethod
    def of(cls, options: ApplyOptions, sides: tuple[int, int, int, int]) -> Mask | None:
        """Return the mask of logits of these sides; None if every key is seen."""
        seen, (batches, _, queries, keys) = options.key_mask, sides
        if seen is None and not options.causal:
            return None
        if seen is not None and (seen.shape[0] not in (1, batches) or seen.shape[1] != keys):
            rule = f"has the sides {seen.shape[0]} x {seen.shape[1]}: {batches} batches x {keys} keys are needed"
            raise BadParameter("mask", "(of keys)", rule)
        return cls(queries, keys, options.causal, seen)

    def hidden(self, batches: Integers, queries: Integers) -> NDArray[np.bool_]:
        """Return which keys are hidden from some queries (n,) of some batches, (n, keys)."""
        found = np.zeros((len(queries), self.keys), np.bool_)
        if self.causal:
            found |= np.arange(self.keys) > (queries + self.keys - self.queries)[:, None]
        if self.seen is not None:
            found |= ~self.seen[batches % len(self.seen)]
        return found


UNIT = 2.0**-53
BLOCK_VALUES = 1 << 19
"""Values worked on at once."""


@dataclass(frozen=True)
class QueryRows:
    """Queries `start` to `stop` of one batch and head."""

    batch: int
    head: int
    start: int
    stop: int


Scores = Callable[[QueryRows], tuple[Floats, float]]
"""Gives initial scores, (stop - start, keys) float64 of the caller's own, and a bound on their error."""
Change = Callable[[Floats, float, QueryRows], float]
"""Changes scores in place; takes the bound on their error and returns the new one."""


def weighted(numbers: Callable[[QueryRows], Floats], how: Literal["add", "multiply"], scale: float = 1.0) -> Change:
    """Return the change by numbers for each query and key: they multiply scores, or are added, times a scale."""

    def change(values: Floats, error: float, rows: QueryRows) -> float:
        found = numbers(rows)
        with np.errstate(invalid="ignore"):
            if how == "add":
                values += found * scale
                return error + UNIT * (5 * abs(scale) * finite_size(found) + finite_size(values))
            values *= found
        return error * finite_size(found) + 2 * UNIT * finite_size(values)

    return change


class ScoreRows(Tabular):
    """Scores or weights; a row is a query of a batch and a head.

    Parameters
    ----------
    name : str
        Of the array.
    sides : tuple of int
        Batches, heads, queries and keys.
    scores : callable
        What they begin with.
    changes : sequence of callable
        Biases and decays, in order.
    options : ApplyOptions
        Mask, softmax and type.
    axes : str
        Which of batch, head, query and key the array has.

    Attributes
    ----------
    error : float
        How far from the real numbers what was read so far may be.
    """

    def __init__(
        self, name: str, sides: tuple[int, int, int, int], scores: Scores, changes: Sequence[Change],
        options: ApplyOptions, axes: str,
    ) -> None:  # fmt: skip
        self.sides, self.scores, self.changes, self.options = sides, scores, changes, options
        self.dtype = options.dtype or "float64"
        self.queries, self.width = sides[2:]
        shape = tuple(side for side, letter in zip(sides, "bhqk", strict=True) if letter in axes)
        self.arrays = (Array(name, shape, self.dtype, tuple(LONG[letter] for letter in axes), len(shape) - 1),)
        self.mask, self.error, self._lock = Mask.of(options, sides), 0.0, threading.Lock()

    def fill(self, start: int, stop: int, out: Mapping[str, NDArray[Any]]) -> None:
        """Write rows; see :meth:`pecli.spec.tabular.Tabular.fill`."""
        for target in out.values():
            at = start
            for rows in self.split(start, stop):
                values, error = self.values(rows)
                narrow(values, None, self.dtype, target[at - start : at - start + len(values)])
                at += len(values)
                with self._lock:
                    self.error = max(self.error, error)

    def split(self, start: int, stop: int) -> Iterator[QueryRows]:
        """Yield blocks of queries of one batch and head, whose scores fit in a block of `BLOCK_VALUES`."""
        most = max(1, BLOCK_VALUES // self.width)
        while start < stop:
            head, first = divmod(start, self.queries)
            last = min(self.queries, first + min(most, stop - start))
            yield QueryRows(*divmod(head, self.sides[1]), first, last)
            start += last - first

    def values(self, rows: QueryRows) -> tuple[Floats, float]:
        """Return scores or weights (queries, keys), and a bound on their error."""
        values, error = self.scores(rows)
        for change in self.changes:
            error = change(values, error, rows)
        hidden = None
        if self.mask is not None:
            hidden = self.mask.hidden(np.full(len(values), rows.batch), np.arange(rows.start, rows.stop))
            values[hidden] = -np.inf
        if self.options.softmax:
            with np.errstate(invalid="ignore", under="ignore"):
                values -= values.max(axis=-1, keepdims=True)
                np.exp(values, out=values)
                values /= values.sum(axis=-1, keepdims=True)
            if hidden is not None:  # a query that sees no key, as padding on the left, has weights of 0
                values[hidden.all(axis=-1)] = 0.0
            error = 2 * error + (self.width + 8) * UNIT
        return values, error


@dataclass(frozen=True)
class HeadVectors:
    """The vectors of one tensor, head by head."""

    tensor: Tensor

    @property
    def heads(self) -> int:
        """How many."""
        return self.tensor.side("h")

    def read(self, batch: int, head: int, start: int, stop: int) -> Floats:
        """Return vectors (stop - start, width) float64."""
        tensor, heads, length = self.tensor, self.heads, self.tensor.side("s")
        if "h" in tensor.axes and tensor.axes.index("h") == len(tensor.axes) - 2:  # (.., s, h, d)
            at = (batch * length + start) * heads
            return tensor.read(at, at + (stop - start) * heads)[head::heads]
        at = (batch * heads + head) * length
        return tensor.read(at + start, at + stop)

    def keeping(self, number: int) -> Any:
        """Return a function of batch and head that reads all vectors and keeps the last few."""
        return lru_cache(maxsize=number)(lambda batch, head: self.read(batch, head, 0, self.tensor.side("s")))


def longest_vector(vectors: Floats) -> float:
    """Return the largest length of some vectors (n, d)."""
    return float(np.sqrt(np.max(np.einsum("ij,ij->i", vectors, vectors), initial=0.0))) * (1 + 2**-40)


def add_bias(source: NamedSource, tensor: Tensor, options: ApplyOptions, effect: Effect) -> ApplyResult:
    """Return logits with a bias; see :func:`pecli.apply.apply.apply`."""
    if options.scale is not None:
        raise BadParameter("scale", options.scale, "is for embeddings, and for scores of queries and keys (--scores)")
    logits = as_logits(tensor)
    sides = (logits.side("b"), logits.side("h"), logits.side("q"), logits.side("k"))
    rows = BiasRows(pair_tables(source, *sides[2:], options), source.text, sides)
    notes = tuple(axes_notes([logits]))

    def given(some: QueryRows) -> tuple[Floats, float]:
        at = (some.batch * sides[1] + some.head) * sides[2]
        return np.array(logits.read(at + some.start, at + some.stop)), 0.0

    if options.softmax:
        made = ScoreRows(logits.name, sides, given, [weighted(rows.of, effect.logits)], options, logits.axes)
        return ApplyResult(made, notes, lambda: made.error)

    def where(vectors: Integers) -> Integers:
        found: Integers = rows.row(*(logits.places(vectors, axis) for axis in "bhq"))
        return found

    mask = Mask.of(options, sides)

    def hidden(vectors: Integers) -> NDArray[np.bool_] | None:
        return None if mask is None else mask.hidden(logits.places(vectors, "b"), logits.places(vectors, "q"))

    dtype = options.dtype or logits.dtype
    multiplied = effect.logits == "multiply"
    return ApplyResult(AddedRows(rows, logits, dtype, where=where, multiplied=multiplied, hidden=hidden), notes)
