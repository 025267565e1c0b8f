"""Inner products of queries, keys and a table's vectors, and what queries gather of values."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.application.products import Floats
from pecli.application.scores import UNIT, HeadVectors, QueryRows, ScoreRows, finite_size
from pecli.application.scores import longest_vector as size_of
from pecli.application.tensors import Tensor
from pecli.declare.effect import Effect, Term
from pecli.declare.tabular import Array, Tabular
from pecli.errors import BadParameter
from pecli.numbers.rounding import narrow, widen


class Products:
    """The inner products of queries, keys and vectors.

    Parameters
    ----------
    queries, keys : Tensor
        Of the same axes; the keys may have fewer heads.
    effect : Effect
        Which products.
    table : Tabular or None
        With vectors and their indices.
    scale : float
        What multiplies the products.
    """

    name = "scores"

    def __init__(self, queries: Tensor, keys: Tensor, effect: Effect, table: Tabular | None, scale: float) -> None:
        self.queries, self.keys = HeadVectors(queries), HeadVectors(keys)
        self.sides = (queries.side("b"), queries.side("h"), queries.side("s"), keys.side("s"))
        self.width, self.terms, self.table = queries.width, effect.terms, table
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
        """Return scores; see :class:`pecli.application.scores.Logits`."""
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
        assert self.table is not None
        at = np.arange(rows.start, rows.stop)
        keys = np.arange(self.sides[3])
        places = at if term.queries is None else term.queries(at)
        low, high = int(places.min()), int(places.max()) + 1
        index = np.asarray(self.table.read_rows([term.index], low, high)[term.index], np.int64)[places - low]
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
    """What queries gather: their weights times values and the vectors that values take; a row is a query of a head.

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
        keys, table, name = products.keys.tensor, products.table, effect.values or ""
        if not weights.wish.softmax:
            raise BadParameter("input", values.name, "are weighed: give --softmax too")
        if values.shape != keys.shape or values.axes != keys.axes:
            raise BadParameter("input", values.name, f"must have the shape of {keys.name}: {keys.shape}")
        if table is None or name not in table:
            raise BadParameter("input", values.name, "take vectors that the table lacks: give it --value-weights FILE")
        self.weights, self.products, self.term = weights, products, Term("query", name)
        self.values = HeadVectors(values).keeping(2)
        self.vectors = projected(table, name, None)[0]
        (scores,) = weights.arrays
        axes = (*scores.axes[:-1], "channel")
        self.arrays = (Array("output", (*scores.shape[:-1], values.width), weights.dtype, axes, scores.lead),)
        self.recipe, self.metadata, self.error = None, {}, 0.0

    def fill(self, start: int, stop: int, out: Mapping[str, NDArray[Any]]) -> None:
        """Write rows; see :meth:`pecli.declare.tabular.Tabular.fill`."""
        for target in out.values():
            at = start
            for rows in self.weights.split(start, stop):
                weights, error = self.weights.values(rows)
                own = self.values(rows.batch, rows.head // self.products.group)
                shares = np.zeros((len(weights), len(self.vectors)))  # of each vector
                np.add.at(shares, (np.arange(len(weights))[:, None], self.products.index(self.term, rows)), weights)
                narrow(
                    weights @ own + shares @ self.vectors,
                    None,
                    self.weights.dtype,
                    target[at - start :][: len(weights)],
                )
                at += len(weights)
                # weights of a query sum to 1 and err by `error` each; sums of as many terms as there are keys, twice
                size = finite_size(own) + finite_size(self.vectors)
                self.error = max(self.error, size * (weights.shape[1] * (error + 4 * UNIT) + 4 * UNIT))
