"""Biases row by row, and the tables of queries and keys."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from pecli.application.products import Floats, Interval
from pecli.application.wishes import Wish
from pecli.declare.plan import Bias
from pecli.declare.tabular import Tabular
from pecli.errors import BadParameter, BadRecipe
from pecli.numbers.decimals import shorten
from pecli.numbers.double_double import DoubleDouble, Points
from pecli.numbers.positions import Positions
from pecli.numbers.rounding import widen
from pecli.sources.sources import NamedSource
from pecli.tables.fill.bias import BiasFiller
from pecli.tables.table import Table
from pecli.tables.views import regrouped, view_of

Integers = NDArray[np.int64]


def pair_table(source: NamedSource, queries: int, keys: int, wish: Wish) -> Tabular:
    """Return the float64 table of a source for so many queries and keys; the queries are the last of the keys.

    Parameters
    ----------
    source : NamedSource
        Of biases, or of relative vectors.
    queries, keys : int
        How many.
    wish : Wish
        Start or positions, of the keys.
    """
    if source.recipe is None:
        for name, value in (("start", wish.start), ("positions", wish.positions)):
            if value is not None:
                rule = "is for recipes: the file's queries and keys stand where it says"
                raise BadParameter(name, value if name == "start" else None, rule)
        return source.open()
    if isinstance(wish.positions, np.ndarray):
        raise BadParameter("positions", "(of each batch)", "are for rotary tables: give one list")
    if source.recipe.rows is not None:
        return source.open(dtype="float64")
    if queries > keys and source.given.get("align") != "first":
        rule = "must not be more queries than keys: the last query stands where the last key stands"
        rule += "" if wish.scores else "; for queries and keys themselves give --scores"
        raise BadParameter("input", f"({queries} queries x {keys} keys)", rule)
    options: dict[str, object] = {} if queries == keys else {"queries": queries}
    if isinstance(wish.positions, Positions):
        if wish.positions.count != keys:
            rule = f"must be {keys}, one for each key"
            raise BadParameter("positions", f"({wish.positions.count} positions)", rule)
        options["positions"] = wish.positions
    else:
        options |= {"length": keys, **({} if wish.start is None else {"start": wish.start})}
    return source.open(**options, dtype="float64")


class BiasRows:
    """Rows of a bias, a head and a query each: what it is beyond float64 where its encoding computes it so.

    Parameters
    ----------
    table : Tabular
        With an array bias, (heads, q, k) or (q, k).
    text : str
        What to call it.
    """

    def __init__(self, table: Tabular, text: str) -> None:
        if "bias" not in table:
            raise BadRecipe(f"{shorten(text)} has {', '.join(table.keys())} and no bias: give its heads or weights")
        array = table.array("bias")
        if len(array.shape) not in (2, 3):
            raise BadParameter("SOURCE", text, f"has a bias of the shape {array.shape}: (heads, q, k) is needed")
        self.heads, self.queries, self.width = (1, *array.shape) if len(array.shape) == 2 else array.shape
        self.count = self.heads * self.queries
        self.table, self.dtype = table, array.dtype
        self.view = regrouped(view_of(table, array), self.width)

    def check(self, heads: int, queries: int, keys: int) -> None:
        """Raise BadParameter where logits of these sides have no bias here."""
        if self.heads not in (1, heads):
            raise BadParameter("heads", self.heads, f"do not fit logits of {heads} heads")
        if (self.queries, self.width) != (queries, keys):
            rule = f"do not fit a bias of {self.queries} x {self.width}: it has one number for each query and key"
            raise BadParameter("input", f"({queries} x {keys} logits)", rule)

    def rows(self, start: int, stop: int) -> Floats:
        """Return rows; see :class:`pecli.application.reals.Reals`."""
        return widen(self.view.read(start, stop).reshape(stop - start, self.width), self.dtype)

    def doubled(self, rows: Integers, columns: Integers) -> tuple[DoubleDouble, Floats]:
        """Return some values; see :class:`pecli.application.reals.Reals`."""
        hi, lo = np.empty(len(rows)), np.zeros(len(rows))
        for row in np.unique(rows).tolist():
            mine = np.flatnonzero(rows == row)
            found = self._finer(row, columns[mine])
            if isinstance(found, DoubleDouble):
                hi[mine], lo[mine] = found.hi[0], found.lo[0]
            else:
                hi[mine] = self.rows(row, row + 1)[0, columns[mine]]
        return DoubleDouble(hi, lo), np.zeros(len(rows))

    def _finer(self, row: int, columns: Integers) -> object:
        """Return what the encoding computes, doubled, where it does so by distance or by key."""
        table = self.table
        if not isinstance(table, Table) or not isinstance(table.plan, Bias) or not isinstance(table.filler, BiasFiller):
            return None
        plan, (head, query) = table.plan, divmod(row, self.queries)
        if plan.value is None or plan.by not in ("distance", "key", "last"):
            return None
        keys = table.filler.key_points
        first = {"distance": table.filler.query_points(query, query + 1).multiples[0], "last": keys.multiples[-1]}
        return plan.value(Points(keys.multiples[columns] - first.get(plan.by, 0), keys.unit), range(head, head + 1))

    def interval(self, row: int, column: int, bits: int) -> Interval:
        """Return one value to 2^-100, which decides; see :class:`pecli.application.reals.Reals`."""
        value, _ = self.doubled(np.array([row]), np.array([column]))
        exact = Fraction(float(value.hi[0])) + Fraction(float(value.lo[0]))
        return exact, exact
