"""Scores of queries and keys, and attention outputs: weighted sums of values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import prod, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.apply.exact import Floats, finite_size
from pecli.apply.scores import (
    UNIT,
    BiasRows,
    Change,
    HeadVectors,
    QueryRows,
    ScoreRows,
    pair_tables,
    weighted,
)
from pecli.apply.scores import longest_vector as size_of
from pecli.apply.tensors import ApplyOptions, ApplyResult, Tensor, at_length, axes_notes, tensor_of
from pecli.errors import BadParameter, BadRecipe
from pecli.numbers.decimals import shorten
from pecli.numbers.positions import Positions
from pecli.numbers.rounding import narrow, widen
from pecli.spec.declaration import Family
from pecli.spec.hooks import Effect, Term
from pecli.spec.tabular import Tabular
from pecli.tables.sources import NamedSource


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
        self.queries, self.keys = HeadVectors(queries), HeadVectors(keys)
        self.sides = (queries.side("b"), queries.side("h"), queries.side("s"), keys.side("s"))
        table = tables[0] if tables else None
        self.width, self.terms, self.table, self.tables = queries.width, effect.terms, table, tables
        self.scale = scale
        self.group = self.queries.heads // self.keys.heads
        self._keys = self.keys.keeping(2)
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
                    self._check(name, self.held[key][0].shape)

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

    def _check(self, name: str, shape: tuple[int, ...]) -> None:
        heads = self.queries.heads
        if shape[-1] not in (self.width, heads * self.width):
            rule = f"has vectors of {self.width}, and {name} of the table {shape[-1]}"
            raise BadParameter("input", self.queries.tensor.name, rule)

    def values(self, rows: QueryRows) -> tuple[Floats, float]:
        """Return scores of some queries, (queries, keys), and a bound on their error."""
        query = self.queries.read(rows.batch, rows.head, rows.start, rows.stop)
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
        vectors, known = (key, 0.0) if term.against == "key" else self._vectors(term, rows.head)
        with np.errstate(invalid="ignore", over="ignore"):
            products: Floats = content @ vectors.T
            # two factors rounded once, d products and sums, the scale (a root and its reciprocal) and its product
            error = size_of(content) * (UNIT * (self.width + 6) * size_of(vectors) + known * sqrt(self.width))
        if term.against == "key":
            return products, error
        index = self.index(term, rows)
        if term.content == "key":
            return products[np.arange(len(key)), index], error
        if len(content) == 1:
            return products[0][index], error
        return np.take_along_axis(products, index, axis=1), error

    def _vectors(self, term: Term, head: int) -> tuple[Floats, float]:
        """Return the vectors of a head, all or the columns that are its own, and a bound on their error."""
        whole, error = self.held[term.against, term.projection]
        return whole if whole.shape[1] == self.width else whole[:, head * self.width :][:, : self.width], error

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
    error = (vectors.shape[1] + 2) * size_of(vectors) * size_of(arrays[projection]) + finite_size(found)
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
        queries, keys = products.queries.tensor, products.keys.tensor
        if not weights.options.softmax:
            raise BadParameter("input", values.name, "holds values, which weights multiply: give --softmax too")
        if values.shape[:-1] != keys.shape[:-1] or values.axes != keys.axes:
            raise BadParameter("input", values.name, f"has the shape {values.shape}, and the keys {keys.shape}")
        self.weights, self.products, self.queries = weights, products, queries
        self.values = HeadVectors(values).keeping(2)
        self.term, self.vectors = Term("query", effect.values or ""), np.zeros((0, values.width))
        if products.table is not None and effect.values in products.table:
            self.vectors = projected(products.table, self.term.against, None)[0]
            if self.vectors.shape[1] != values.width:
                rule = f"has vectors of {values.width}, and {effect.values} of the table {self.vectors.shape[1]}"
                raise BadParameter("input", values.name, rule)
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


BIASED, GATED, PART = "biased", "gated", "part"
"""Notes of a config on the scores: a bias is scaled with the products, or gated; only some columns of a head turn."""


def _scale(source: NamedSource, width: int, options: ApplyOptions, effect: Effect) -> tuple[float, str]:
    """Return the scale of the products of queries and keys, and the note on it.

    What is asked for wins over what the model's config says, and that over what the encoding says.
    """
    divided = f"the products are divided by sqrt({f'{effect.divisor} x ' * (effect.divisor > 1)}{width})"
    stated, _, cap = (source.model_scores or "").partition("capped ")
    stated = stated.strip()
    if cap and options.softmax and options.scale is None:
        raise BadParameter(
            "softmax", "true", f"gives weights of other scores than this model's, which it caps at {cap}"
        )
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
        raise BadParameter("input", keys.name, f"has vectors of {keys.width}, and {queries.name} of {queries.width}")
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
        if skip:
            own = _later(own, skip, keys.side("s"))
        done = move(at_length(source, keys.side("s")), [replace(tensor, name=name)], own, effect)
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
