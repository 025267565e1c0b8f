"""The request for a table (dtype, layout, form, names) and the positions that it holds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pecli.errors import BadParameter, BadRecipe, UnknownName
from pecli.numbers.decimals import parse_count, parse_number, parse_position, shorten
from pecli.numbers.dtypes import COMPLEX, dtype_of, known_dtype
from pecli.numbers.positions import Positions, parse_shard
from pecli.spec.catalogue import CATALOGUE
from pecli.spec.declaration import Encoding, Family
from pecli.tables.layouts import check_layout
from pecli.tables.naming import OWN_NAMES, ArrayNaming

if TYPE_CHECKING:
    from pecli.spec.recipe import Recipe

FORMS = ("dense", "bias", "index", "x", "vector", "distance", "slopes", "parameters")
ALIGNMENTS = ("last", "first")
ARITHMETICS = ("exact", "float32", "bfloat16")
KEYS = (
    "len", "start", "step", "positions", "dtype", "layout", "form", "shard", "queries", "keys", "align", "arithmetic",
    "name", "lead", "with",
)  # fmt: skip
"""Keys of a recipe's text that are the table's own."""


def known_arithmetic(word: object) -> str:
    """Return the name of an arithmetic, which other programs may call otherwise (bf16); UnknownName where none is."""
    if dtype_of(word) not in ARITHMETICS:
        raise UnknownName("arithmetic", str(word), ARITHMETICS)
    return dtype_of(word)


@dataclass(frozen=True)
class Request:
    """A request for a table apart from its recipe, in the words of the command line.

    Parameters
    ----------
    dtype : str
        Type of the values, one of `DTYPES`.
    layout : str
        Of a rotary table, one of `LAYOUTS`.
    form : str
        Of a bias or relative vectors, one of `FORMS`.
    shard : str, optional
        ``"K/N"``.
    queries : int, optional
        Of a bias, where they are not as many as the keys.
    align : {"last", "first"}
        Which of the keys' positions the queries have.
    arithmetic : str
        One of `ARITHMETICS`.
    naming : Guise
        Names and shapes of the arrays as others have them.
    """

    dtype: str = "float32"
    layout: str = "split"
    form: str = "dense"
    shard: str | None = None
    queries: int | None = None
    align: str = "last"
    arithmetic: str = "exact"
    naming: ArrayNaming = OWN_NAMES

    @classmethod
    def of(
        cls,
        encoding: Encoding,
        *,
        dtype: str = "float32",
        layout: str | None = None,
        form: str | None = None,
        shard: str | None = None,
        arithmetic: str = "exact",
    ) -> Request:
        """Return the request that these words make, None for what was not said.

        Raises
        ------
        UnknownName, BadParameter
            For a word that is none, or does not fit the family of the encoding.
        """
        name, family = encoding.name, encoding.family
        dtype = known_dtype(dtype)
        if layout is not None:
            check_layout("layout", str(layout))
        if layout is not None and family is not Family.ROTARY:
            raise BadParameter("layout", layout, f"is for rotary tables: {name} is {family.word}")
        if form is not None and not family.pairs:
            raise BadParameter("form", form, f"is for biases: {name} is {family.word}")
        if layout == "complex" and dtype not in COMPLEX:
            raise BadParameter("dtype", dtype, "has no complex type: use float32 or float64 with layout=complex")
        arithmetic = known_arithmetic(arithmetic)
        return cls(dtype, layout or "split", form or "dense", shard, arithmetic=arithmetic)

    def with_queries(self, encoding: Encoding, queries: object, align: str | None) -> Request:
        """Return the same with another number of queries than keys, which only what relates two positions has."""
        if not encoding.family.pairs:
            raise BadParameter("queries", queries or align, f"is for biases: {encoding.name} is {encoding.family.word}")
        if align is not None and align not in ALIGNMENTS:
            raise UnknownName("align", align, ALIGNMENTS)
        count = None if queries is None else parse_count("queries", queries)
        if count is not None and count < 1:
            raise BadParameter("queries", count, "must be at least 1")
        return replace(self, queries=count, align=align or "last")

    def keys(self) -> dict[str, str]:
        """Return what differs from the defaults, as a recipe's text holds it; the type always."""
        found = {"dtype": self.dtype}
        for name in ("layout", "form", "shard", "queries", "align", "arithmetic"):
            value = getattr(self, name)
            if value != getattr(type(self), name):
                found[name] = str(value)
        return found | self.naming.keys()

    def extent(self, positions: Positions) -> Extent:
        """Return which of these positions the table has rows of.

        Raises
        ------
        BadParameter
            For more queries than keys, or a shard that has no rows.
        """
        queries = self.queries or positions.count
        offset = positions.count - queries if self.align == "last" else 0
        if offset < 0:
            rule = (
                f"must be at most keys={positions.count}: the queries are the last of the keys' positions; "
                "or use align=first"
            )
            raise BadParameter("queries", queries, rule)
        start, stop = parse_shard(self.shard, queries) if self.shard else (0, queries)
        return Extent(positions, offset + start, offset + stop)


@dataclass(frozen=True)
class Extent:
    """The positions of the whole table, and which of them have rows: other than all in a shard or with few queries.

    Parameters
    ----------
    positions : Positions
        Those of the whole table; of a bias, the keys.
    first, last : int
        First and last (exclusive) of them that has a row.
    """

    positions: Positions
    first: int
    last: int

    @cached_property
    def part(self) -> Positions:
        """The positions of the rows; of a bias, the queries."""
        whole = (self.first, self.last) == (0, self.positions.count)
        return self.positions if whole else self.positions.part(self.first, self.last)


def positions_of(
    recipe: Recipe, rows: int | None, length: object, start: object, step: object,
    positions: Positions | str | list[Any] | None,
) -> Positions:  # fmt: skip
    """Return the positions asked for of a recipe with so many rows, as a grid has; None where a length decides."""
    if positions is not None:
        given = [n for n, v in (("len", length), ("start", start), ("step", step)) if v is not None]
        if given:
            raise BadParameter(given[0], length if given[0] == "len" else start or step, "cannot stand with positions")
        if isinstance(positions, str):
            return Positions.parse(positions)
        return positions if isinstance(positions, Positions) else Positions.listed(positions)
    first = parse_position("start", start) if start is not None else 0
    by = parse_number("step", step) if step is not None else 1
    if length is not None:
        count = parse_count("len", length)
        if rows is not None and start is None and step is None and count != rows:
            raise BadParameter("len", count, f"must be {rows}, the rows that {shorten(recipe.short)} has: leave it out")
        return Positions.arange(count, first, by)
    if rows is None:
        raise BadRecipe(f"{recipe.encoding.name} needs a length: give len=N, or positions=")
    end = rows - 1 if by > 0 else 0
    return Positions.arange(max(1, 1 + int((end - Fraction(first)) // Fraction(by or 1))), first, by)


def take_table_keys(name: str, keys: dict[str, str]) -> dict[str, str]:
    """Remove from a recipe's keys, and return, those of the table; an encoding's own parameter of that name stays.

    ``with``, which is no name in Python, is returned as ``companion``.
    """
    encoding = CATALOGUE.get(name)
    own = {p.key for p in encoding.options} if encoding else set()
    return {"companion" if key == "with" else key: keys.pop(key) for key in KEYS if key in keys and key not in own}
