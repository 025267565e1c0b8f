"""Scores of queries and keys, weights from logits, and attention outputs: products, biases, masks and the softmax.

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
from dataclasses import replace
from functools import lru_cache
from math import prod, sqrt
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pecli.apply.exact import finite_size
from pecli.apply.tensors import LONG, ApplyOptions, ApplyResult, Tensor, as_logits, at_length, axes_notes, tensor_of
from pecli.errors import BadParameter, BadRecipe
from pecli.numbers.decimals import shorten
from pecli.numbers.positions import Positions
from pecli.numbers.rounding import Floats, narrow, widen
from pecli.spec.declaration import Family
from pecli.spec.hooks import Effect, Term
from pecli.spec.tabular import Array, Tabular
from pecli.tables.sources import NamedSource
from pecli.tables.views import regrouped, view_of


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


class BiasRows:
    """Rows of a bias, one for each batch with positions of its own, head and query.

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
        self.dtype, self.views = array.dtype, [regrouped(view_of(one, one.array("bias")), self.width) for one in tables]

    def of(self, rows: QueryRows) -> Floats:
        """Return the numbers of some queries, (stop - start, keys)."""
        at, count = rows.head % self.heads * self.queries + rows.start, rows.stop - rows.start
        read = self.views[rows.batch % len(self.views)].read(at, at + count)
        return widen(read.reshape(count, self.width), self.dtype)


def hidden_keys(
    options: ApplyOptions, sides: tuple[int, int, int, int]
) -> Callable[[QueryRows], NDArray[np.bool_]] | None:
    """Return what says which keys some queries do not see, (stop - start, keys); None if every key is seen.

    Those are the keys after a query, the queries being the last of the keys, and masked ones.
    """
    seen, (batches, _, queries, keys) = options.key_mask, sides
    if seen is None and not options.causal:
        return None
    if seen is not None and (seen.shape[0] not in (1, batches) or seen.shape[1] != keys):
        rule = f"has the sides {seen.shape[0]} x {seen.shape[1]}: {batches} batches x {keys} keys are needed"
        raise BadParameter("mask", "(of keys)", rule)

    def hidden(rows: QueryRows) -> NDArray[np.bool_]:
        found = np.zeros((rows.stop - rows.start, keys), np.bool_)
        if options.causal:
            last = np.arange(rows.start, rows.stop) + keys - queries  # that a query sees
            found |= np.arange(keys) > last[:, None]
        return found if seen is None else found | ~seen[rows.batch % len(seen)]

    return hidden


UNIT = 2.0**-53
# Values worked on at once.
BLOCK_VALUES = 1 << 19


class QueryRows(NamedTuple):
    """Queries `start` to `stop` of one batch and head."""

    batch: int
    head: int
    start: int
    stop: int


# Gives initial scores, (stop - start, keys) float64 of the caller's own, and a bound on their error.
Scores = Callable[[QueryRows], tuple[Floats, float]]
# Changes scores in place; takes the bound on their error and returns the new one.
Change = Callable[[Floats, float, QueryRows], float]


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
        self.hidden, self.error, self._lock = hidden_keys(options, sides), 0.0, threading.Lock()

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
        hidden = None if self.hidden is None else self.hidden(rows)
        if hidden is not None:
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


def keeping(tensor: Tensor) -> Callable[[int, int], Floats]:
    """Return a function of batch and head that reads all vectors of a head and keeps the last two heads."""
    return lru_cache(maxsize=2)(lambda batch, head: tensor.of_head(batch, head, 0, tensor.side("s")))


def longest_vector(vectors: Floats) -> float:
    """Return the largest length of some vectors (n, d)."""
    return float(np.sqrt(np.max(np.einsum("ij,ij->i", vectors, vectors), initial=0.0))) * (1 + 2**-40)


def add_bias(source: NamedSource, tensor: Tensor, options: ApplyOptions, effect: Effect) -> ApplyResult:
    """Return logits with a bias; see :func:`pecli.apply.apply.apply`."""
    logits = as_logits(tensor)
    sides = (logits.side("b"), logits.side("h"), logits.side("q"), logits.side("k"))
    rows = BiasRows(pair_tables(source, *sides[2:], options), source.text, sides)
    notes = tuple(axes_notes([logits]))

    def given(some: QueryRows) -> tuple[Floats, float]:
        at = (some.batch * sides[1] + some.head) * sides[2]
        return np.array(logits.read(at + some.start, at + some.stop)), 0.0

    own = options if options.softmax else replace(options, dtype=options.dtype or logits.dtype)
    made = ScoreRows(logits.name, sides, given, [weighted(rows.of, effect.logits)], own, logits.axes)
    return ApplyResult(made, notes, lambda: made.error)


class Products:
    """The inner products of queries, keys and vectors.

    Parameters
    ----------
    queries, keys : Tensor
        Of the same axes; the keys may have fewer heads.
    effect : Effect
        Which products.
    tables : sequence of Tabular
        With vectors and their indices: none, one for all batches, or one for each.
    scale : float
        What multiplies the products.
    """

    def __init__(self, queries: Tensor, keys: Tensor, effect: Effect, tables: Sequence[Tabular], scale: float) -> None:
        self.queries, self.keys = queries, keys
        self.sides = (queries.side("b"), queries.side("h"), queries.side("s"), keys.side("s"))
        table = tables[0] if tables else None
        self.width, self.terms, self.table, self.tables = queries.width, effect.terms, table, tables
        self.scale = scale
        self.group = queries.side("h") // keys.side("h")
        self._keys = keeping(keys)
        self.held: dict[tuple[str, str | None], tuple[Floats, float]] = {}
        self._check_grids()
        for term in self.terms:
            for name in (term.content, term.against):
                if name in ("query", "key"):
                    continue
                if table is None or name not in table or term.index not in table:
                    rule = f"are those of {name} and {term.index}, which the table lacks: give its dim, or weights"
                    raise BadParameter("terms", ", ".join(one.against for one in self.terms), rule)
                key = (name, term.projection if name == term.against else None)
                if key not in self.held:
                    self.held[key] = projected(table, *key)
                    self._check(name, self.held[key][0].shape, of_heads=name == term.content)

    def _check_grids(self) -> None:
        """Raise BadParameter where the axes of a grid do not make as many queries and keys as there are."""
        grid = [term for term in self.terms if term.keys is not None]
        if not grid or self.table is None or any(term.index not in self.table for term in grid):
            return
        shapes = [self.table.array(term.index).shape for term in grid]
        sides = prod(shape[0] for shape in shapes), prod(shape[1] for shape in shapes)
        if sides != self.sides[2:]:
            rule = f"do not fit the grid, which has {sides[0]} x {sides[1]}"
            raise BadParameter("input", f"({self.sides[2]} queries x {self.sides[3]} keys)", rule)

    def _check(self, name: str, shape: tuple[int, ...], *, of_heads: bool) -> None:
        heads = self.queries.side("h")
        if of_heads and shape[0] != heads:
            raise BadParameter("heads", shape[0], f"of {name} do not fit {self.queries.name}, which has {heads}")
        if shape[-1] not in (self.width, heads * self.width):
            raise self.queries.misfit(f"{name} of the table {shape[-1]}")

    def values(self, rows: QueryRows) -> tuple[Floats, float]:
        """Return scores of some queries, (queries, keys), and a bound on their error."""
        query = self.queries.of_head(rows.batch, rows.head, rows.start, rows.stop)
        key = self._keys(rows.batch, rows.head // self.group)
        total, error = np.zeros((len(query), len(key))), 0.0
        for term in self.terms:
            found, known = self._term(term, query, key, rows)
            scale = self.scale if term.scaled else 1.0
            total += found * scale
            error += known * abs(scale) + UNIT * finite_size(total)
        return total, error

    def _term(self, term: Term, query: Floats, key: Floats, rows: QueryRows) -> tuple[Floats, float]:
        """Return one product, (queries, keys), and a bound on its error."""
        own = {"query": query, "key": key}
        content = own[term.content] if term.content in own else self.held[term.content, None][0][rows.head][None]
        vectors, known = (key, 0.0) if term.against == "key" else self.held[term.against, term.projection]
        if vectors.shape[1] != self.width:  # of all heads
            vectors = vectors[:, rows.head * self.width :][:, : self.width]
        with np.errstate(invalid="ignore", over="ignore"):
            products: Floats = content @ vectors.T
            # two factors rounded once, d products and sums, the scale (a root and its reciprocal) and its product
            share = UNIT * (self.width + 6) * longest_vector(vectors) + known * sqrt(self.width)
            error = longest_vector(content) * share
        if term.against == "key":
            return products, error
        index = self.index(term, rows)
        if term.content == "key":
            return products[np.arange(len(key)), index], error
        if len(content) == 1:
            return products[0][index], error
        return np.take_along_axis(products, index, axis=1), error

    def index(self, term: Term, rows: QueryRows) -> NDArray[np.int64]:
        """Return which vector belongs to each query and key, (queries, keys)."""
        table = self.tables[rows.batch % len(self.tables)]
        at = np.arange(rows.start, rows.stop)
        keys = np.arange(self.sides[3])
        if term.opposite:  # the row of the key as query and the query as key
            if self.sides[2] != self.sides[3]:
                rule = "must be as many queries as keys: a key takes the vector at its own distance to the query"
                raise BadParameter("input", f"({self.sides[2]} queries x {self.sides[3]} keys)", rule)
            index = np.asarray(table.read(term.index), np.int64)[:, at].T
        else:
            places = at if term.queries is None else term.queries(at)
            low, high = int(places.min()), int(places.max()) + 1
            index = np.asarray(table.read_rows([term.index], low, high)[term.index], np.int64)[places - low]
        if term.keys is not None:
            index = index[:, term.keys(keys)]
        if index.shape[1] != len(keys):
            rule = f"do not fit the table, which is for {index.shape[1]}"
            raise BadParameter("input", f"({len(keys)} keys)", rule)
        return index if term.rows is None else term.rows(index)


def projected(table: Tabular, name: str, projection: str | None) -> tuple[Floats, float]:
    """Return vectors (rows, d) of a table, projected where a matrix of it does so, and a bound on their error."""
    arrays = {part: widen(table.read(part), table.array(part).dtype) for part in (name, projection) if part is not None}
    vectors = arrays[name]
    if projection is None:
        return vectors, 0.0
    found: Floats = vectors @ arrays[projection].T
    if f"{projection}_bias" in table:
        found += widen(table.read(f"{projection}_bias"), table.array(f"{projection}_bias").dtype)
    # factors rounded once, d products and sums, and the sum with the bias
    error = (vectors.shape[1] + 2) * longest_vector(vectors) * longest_vector(arrays[projection]) + finite_size(found)
    return found, UNIT * error


class AttendedRows(Tabular):
    """Attention outputs: weights times values, and the vectors that values take, if any; a row is a query of a head.

    Parameters
    ----------
    weights : ScoreRows
        Of each query and key.
    products : Products
        What they were made of.
    values : Tensor
        Of the keys' axes.
    effect : Effect
        With the array of the vectors.

    Attributes
    ----------
    error : float
        How far from the real numbers what was read so far may be.
    """

    def __init__(self, weights: ScoreRows, products: Products, values: Tensor, effect: Effect) -> None:
        queries, keys = products.queries, products.keys
        if not weights.options.softmax:
            raise BadParameter("input", values.name, "holds values, which weights multiply: give --softmax too")
        if values.shape[:-1] != keys.shape[:-1] or values.axes != keys.axes:
            raise BadParameter("input", values.name, f"has the shape {values.shape}, and the keys {keys.shape}")
        self.weights, self.products, self.queries = weights, products, queries
        self.values = keeping(values)
        self.term, self.vectors = Term("query", effect.values or ""), np.zeros((0, values.width))
        if products.table is not None and effect.values in products.table:
            self.vectors = projected(products.table, self.term.against, None)[0]
            if self.vectors.shape[1] != values.width:
                raise values.misfit(f"{effect.values} of the table {self.vectors.shape[1]}")
        self.arrays = (queries.like("output", weights.dtype, values.width),)
        self.error = 0.0

    def fill(self, start: int, stop: int, out: Mapping[str, NDArray[Any]]) -> None:
        """Write rows; see :meth:`pecli.spec.tabular.Tabular.fill`."""
        vectors = np.arange(start, stop, dtype=np.int64)
        batch, head, query = (self.queries.places(vectors, axis) for axis in "bhs")
        heads, length = self.weights.sides[1:3]
        numbers = (batch * heads + head) * length + query  # in the order of the weights
        for target in out.values():
            for group in np.split(order := np.argsort(numbers), np.flatnonzero(np.diff(numbers[order]) != 1) + 1):
                at = int(numbers[group[0]])
                for rows in self.weights.split(at, at + len(group)):
                    count = rows.stop - rows.start
                    target[group[:count]] = narrow(self._outputs(rows), None, self.weights.dtype)
                    group = group[count:]

    def _outputs(self, rows: QueryRows) -> Floats:
        weights, error = self.weights.values(rows)
        own = self.values(rows.batch, rows.head // self.products.group)
        found: Floats = weights @ own
        if len(self.vectors):
            shares = np.zeros((len(weights), len(self.vectors)))  # of each vector
            np.add.at(shares, (np.arange(len(weights))[:, None], self.products.index(self.term, rows)), weights)
            found += shares @ self.vectors
        # weights of a query sum to 1 and err by `error` each; sums of as many terms as there are keys, twice
        size = finite_size(own) + finite_size(self.vectors)
        self.error = max(self.error, size * (weights.shape[1] * (error + 4 * UNIT) + 4 * UNIT))
        return found


Move = Callable[[NamedSource, Sequence[Tensor], ApplyOptions, Effect], ApplyResult]
SCORED = {"bhsd": "bhqk", "bshd": "bhqk", "thd": "hqk", "bsd": "bqk", "sd": "qk", "d": "qk"}
VALUES = ("v", "value", "values")


def scores_of(
    source: NamedSource, tensors: Sequence[Tensor], options: ApplyOptions, family: Family, effect: Effect,
    move: Move | None,
) -> ApplyResult:  # fmt: skip
    """Return scores, weights, or with values the attention's output; see :func:`pecli.apply.apply.apply`.

    `move` is what the family does to queries and keys before they are multiplied.
    """
    values = [tensor for tensor in tensors if tensor.name.lower() in VALUES] or list(tensors[2:])
    names = ", ".join(t.name for t in tensors)
    rest = [tensor for tensor in tensors if tensor not in values]
    if len(rest) != 2 or len(values) > 1:
        raise BadParameter("input", names, "must be two or three with --scores: queries, keys and, if any, values")
    queries, keys = rest
    _fit(queries, keys, options)
    if effect.unscored:
        raise BadRecipe(f"{shorten(source.text)} does not say its scores: {effect.unscored}")
    scale, scaled = _scale(source, queries.width, options, effect)
    tables: list[Tabular] = []
    notes: list[str] = []
    changes: list[Change] = []
    lengths = queries.side("s"), keys.side("s")
    match family:
        case Family.ROTARY | Family.CONDITIONAL | Family.ABSOLUTE if move is not None:
            queries, keys, notes = _moved(source, queries, keys, options, effect, move)
            if family is Family.ABSOLUTE:
                notes.append("q.k + q.p + p.k + p.p, p the row that is added to queries and keys")
            if effect.decay is not None:
                decays = source.open(dtype="float64", length=lengths[1])
                decay = decay_of(decays.read(effect.decay), effect, lengths, queries.side("h"))
                changes.append(weighted(decay, "add" if effect.decay_added else "multiply"))
        case Family.BIAS:
            sides = queries.side("b"), queries.side("h"), *lengths
            rows = BiasRows(pair_tables(source, *lengths, options), source.text, sides)
            changes.append(weighted(rows.of, effect.logits, scale if source.model_scores == BIASED else 1.0))
        case Family.RELATIVE:
            tables = pair_tables(source, *lengths, options)
    products = Products(queries, keys, effect, tables, scale)
    weights = ScoreRows("scores", products.sides, products.values, changes, options, SCORED[queries.axes])
    made = AttendedRows(weights, products, values[0], effect) if values else weights
    aligned = "" if lengths[0] == lengths[1] else f"the {lengths[0]} queries are the last of the {lengths[1]} positions"
    stated = [effect.note] if family is Family.RELATIVE else []
    notes = notes or [*stated, *axes_notes(tensors)]
    return ApplyResult(made, tuple(filter(None, (*notes, scaled, aligned))), lambda: made.error)


# Notes of a config on the scores: a bias is scaled with the products, or gated; only some columns of a head turn.
BIASED, GATED, PART = "biased", "gated", "part"


def _scale(source: NamedSource, width: int, options: ApplyOptions, effect: Effect) -> tuple[float, str]:
    """Return the scale of the products of queries and keys, and the note on it.

    What is asked for wins over what the model's config says, and that over what the encoding says.
    """
    divided = f"the products are divided by sqrt({f'{effect.divisor} x ' * (effect.divisor > 1)}{width})"
    stated, _, cap = (source.model_scores or "").partition("capped ")
    stated = stated.strip()
    if cap and options.softmax and options.scale is None:
        rule = f"gives weights of other scores than this model's, which it caps at {cap}"
        raise BadParameter("softmax", "true", rule)
    if options.scale == "sqrt":
        return 1 / sqrt(width), f"the products are divided by sqrt({width}), as given"
    if options.scale is not None:
        return float(options.scale), f"the products are multiplied by {options.scale}, as given"
    if stated == "sqrt":
        return 1 / sqrt(width), f"{divided}, as the model has it"
    if stated == GATED:
        rule = "multiplies its bias by a gate of the content, which queries and keys do not give"
        raise BadParameter("scores", "true", f"are not those of this model: it {rule}")
    if stated == BIASED:
        return 1 / sqrt(width), f"the products and the bias are divided by sqrt({width}), as the model has it"
    if stated == PART:
        return effect.factor_of(width), f"{divided}: these columns alone, to which the model adds products of others"
    if stated:
        number, _, power = stated.partition("^")
        scale = float(number) ** float(power or 1)
        return scale, f"the products are multiplied by {stated}, as the model has it" if scale != 1 else UNDIVIDED
    return effect.factor_of(width), divided if effect.scale is None else UNDIVIDED


UNDIVIDED = "the products are not divided by sqrt(d), as the model has it"


def _fit(queries: Tensor, keys: Tensor, options: ApplyOptions) -> None:
    if options.way != "forward":
        raise BadParameter("way", options.way, "is for tensors, not for scores")
    if queries.axes not in SCORED:
        raise BadParameter("axes", queries.axes, f"are not those of queries and keys: {', '.join(SCORED)} are")
    if queries.axes != keys.axes:
        raise BadParameter("axes", f"{queries.axes}, {keys.axes}", "must be the same for queries and keys")
    if queries.width != keys.width:
        raise keys.misfit(f"{queries.name} of {queries.width}")
    if queries.side("b") != keys.side("b"):
        raise BadParameter("input", keys.name, f"has {keys.side('b')} batches, and {queries.name} {queries.side('b')}")
    if queries.side("h") % keys.side("h"):
        rule = f"has {keys.side('h')} heads, which do not divide the {queries.side('h')} of {queries.name}"
        raise BadParameter("input", keys.name, rule)
    if options.causal and queries.side("s") > keys.side("s"):
        raise BadParameter("mask", "causal", f"needs a key for each query: {queries.name} is longer than {keys.name}")


def _moved(
    source: NamedSource, queries: Tensor, keys: Tensor, options: ApplyOptions, effect: Effect, move: Move
) -> tuple[Tensor, Tensor, list[str]]:
    """Return queries and keys as a source leaves them, float64; fewer queries are the last of the positions."""
    late = keys.side("s") - queries.side("s")
    found, notes = [], []
    for tensor, name, skip in ((queries, "q", late), (keys, "k", 0)):
        own = replace(options, dtype="float64", scores=False, scale=None, causal=False, key_mask=None, softmax=False)
        own = _later(own, skip, keys.side("s")) if skip else own
        done = move(at_length(source, keys.side("s")), [tensor._replace(name=name)], own, effect)
        found.append(tensor_of(done.outputs, name, tensor.axes))
        notes += [note for note in done.notes if note not in notes and " holds " not in note]
    return found[0], found[1], notes


def _later(options: ApplyOptions, skip: int, length: int) -> ApplyOptions:
    """Return options whose positions skip the first `skip` of them."""
    if isinstance(options.positions, Positions):
        return replace(options, positions=options.positions.part(skip, length))
    if options.positions is not None:
        return replace(options, positions=options.positions[..., skip:])
    return replace(options, start=str(options.first + skip))


def decay_of(decays: Floats, effect: Effect, lengths: tuple[int, int], heads: int) -> Callable[[QueryRows], Floats]:
    """Return the weights by which a rotary table decays the scores of some queries.

    Parameters
    ----------
    decays : (heads, n) or (heads, n, n) ndarray
        By distance, or by query and key, for as many positions as there are keys.
    effect : Effect
        Whether they are added.
    lengths : tuple of int
        Queries and keys.
    heads : int
        Of the queries.
    """
    if len(decays) not in (1, heads):
        raise BadParameter("heads", len(decays), f"do not fit queries of {heads} heads")
    late = lengths[1] - lengths[0]

    def weights(rows: QueryRows) -> Floats:
        at = np.arange(rows.start, rows.stop) + late
        own: Floats = decays[rows.head % len(decays)]
        if own.ndim == 2:
            return own[at]
        back = at[:, None] - np.arange(lengths[1])
        return np.where(back >= 0, own[np.maximum(back, 0)], -np.inf if effect.decay_added else 0.0)

    return weights
