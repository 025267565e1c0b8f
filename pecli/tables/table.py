"""Tables: recipe x positions x type -> blocks of rows, in any order.

The plan decides which class computes it: sines and cosines go to the engine,
values and biases are computed by their kernels and rounded once.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from pecli.declare.encoding import Family
from pecli.declare.plan import Conditional, Domain, Plan
from pecli.declare.tabular import DTYPES, Array, Tabular
from pecli.encodings.recipe import Recipe, join_recipe, split_recipe
from pecli.errors import BadParameter, BadRecipe, UnknownName
from pecli.numbers.positions import Positions, fraction_text, parse_shard
from pecli.numbers.text import parse_integer, parse_number, shorten
from pecli.tables.layouts import LAYOUTS

if TYPE_CHECKING:
    from numpy.typing import NDArray

FORMS = ("dense", "bias", "index", "x", "vector", "distance", "slopes", "parameters")
ALIGNMENTS = ("last", "first")
ARITHMETICS = ("exact", "float32", "bfloat16")
KEYS = (
    "len", "start", "step", "positions", "dtype", "layout", "form", "shard", "queries", "keys", "align", "arithmetic",
)  # fmt: skip


@dataclass(frozen=True)
class Request:
    """What is asked of a table beside its recipe; the words of the command line."""

    dtype: str = "float32"
    layout: str = "split"
    form: str = "dense"
    shard: str | None = None
    queries: int | None = None
    align: str = "last"
    arithmetic: str = "exact"

    def keys(self) -> dict[str, str]:
        """Return what differs from the defaults, as a recipe's text holds it; the type always."""
        found = {"dtype": self.dtype}
        for name in ("layout", "form", "shard", "queries", "align", "arithmetic"):
            value = getattr(self, name)
            if value != getattr(type(self), name):
                found[name] = str(value)
        return found

    def rows(self, count: int) -> tuple[int, int]:
        """Return first and last (exclusive) row that the table holds, among `count` positions."""
        queries = self.queries or count
        offset = count - queries if self.align == "last" else 0
        if offset < 0:
            rule = (
                f"must be at most keys={count}: the queries are the last of the keys' positions; or use --align first"
            )
            raise BadParameter("queries", queries, rule)
        start, stop = parse_shard(self.shard, queries) if self.shard else (0, queries)
        return offset + start, offset + stop


class Table(Tabular):
    """A computed table.

    Made by :meth:`make` from a recipe, or by :meth:`parse` from the text of
    one that holds the table's own keys too.

    Attributes
    ----------
    source : Recipe
        The encoding and its parameters, all resolved.
    positions : Positions
        Those of the whole table.
    rows_of : tuple of int
        First and last (exclusive) row of the whole that this one holds; other than all with a shard, or with
        fewer queries than keys.
    request : Request
        Type, layout, form, queries.
    """

    def __init__(self, source: Recipe, positions: Positions, request: Request, rows_of: tuple[int, int]) -> None:
        self.source, self.positions, self.request, self.rows_of = source, positions, request, rows_of
        self.dtype = request.dtype
        self.part = positions if rows_of == (0, positions.count) else positions.part(*rows_of)
        self.arrays = self._arrays()
        self.recipe = join_recipe(source.encoding.name, {**source.keys(), **positions.keys(), **request.keys()})
        from pecli.version import __version__

        encoding = source.encoding
        self.metadata: Mapping[str, str] = {
            "formula": "\n".join(encoding.formula),
            "source": "; ".join(map(str, encoding.source)),
            "pecli_version": __version__,
        }

    @staticmethod
    def make(
        recipe: Recipe,
        *,
        length: int | None = None,
        start: object = None,
        step: object = None,
        positions: Positions | str | list[Any] | None = None,
        dtype: str = "float32",
        layout: str | None = None,
        form: str | None = None,
        shard: str | None = None,
        queries: object = None,
        keys: object = None,
        align: str | None = None,
        arithmetic: str = "exact",
    ) -> Table:
        """Return the table of a recipe at these positions.

        Parameters
        ----------
        recipe : Recipe
            What to compute.
        length : int, optional
            Number of rows; needed unless positions are listed or the recipe fixes it.
        start, step : number or text, optional
            First position (0) and distance of neighbours (1), decimals as written.
        positions : Positions, list of numbers or str, optional
            Instead of length, start and step: numbers, ``"0,5,9.5"`` or ``"@FILE"``.
        dtype : {"float16", "bfloat16", "float32", "float64"}
            Type of the values.
        layout : str, optional
            Of a rotary table, one of `LAYOUTS`.
        form : str, optional
            Of a bias, one of `FORMS`.
        shard : str, optional
            ``"K/N"``: rows K length // N to (K + 1) length // N.
        queries, keys : int, optional
            Of a bias, where they differ: `keys` is `length`, and the queries are the last of the keys'
            positions, as in decoding (``align="first"``: the first).
        align : {"last", "first"}, optional
            Which positions the queries have.
        arithmetic : {"exact", "float32", "bfloat16"}
            Of a rotary table: the real values, or what a framework's arithmetic makes of them.

        Raises
        ------
        BadParameter, BadRecipe, UnknownName
            With one sentence that names the value, the rule and the remedy.
        """
        if keys is not None:
            if length is not None:
                raise BadParameter("keys", keys, f"cannot stand with len={length}: the length is that of the keys")
            length = parse_integer("keys", keys)
        where = _positions(recipe, length, start, step, positions)
        request = _request(recipe, dtype, layout, form, shard)
        if queries is not None or keys is not None or align is not None:
            request = _with_queries(recipe, request, queries, align)
        if arithmetic not in ARITHMETICS:
            raise UnknownName("arithmetic", arithmetic, ARITHMETICS)
        request = replace(request, arithmetic=arithmetic)
        rows = request.rows(where.count)
        whole = shard is None and where.start == 0
        part = "--shard" if shard is not None else "--start" if where.is_range else "--positions"
        last = -((-where.highest.numerator) // where.highest.denominator)
        resolved = recipe.resolve(length=where.count, last=last, whole=whole, part=part)
        from pecli.tables.fill import table_class

        made = table_class(resolved.plan, arithmetic)(resolved, where, request, rows)
        made.check()
        return made

    @staticmethod
    def parse(text: str, **options: Any) -> Table:
        """Return the table that a recipe's text writes; `options` of :meth:`make` win over its keys."""
        name, keys = split_recipe(text)
        own = take_table_keys(name, keys)
        if "len" in own:
            own["length"] = own.pop("len")
        merged: dict[str, Any] = {**own, **{k: v for k, v in options.items() if v is not None}}
        if "positions" in options:
            merged = {k: v for k, v in merged.items() if k not in ("length", "start", "step") or k in options}
        return Table.make(Recipe.bind(name, **keys), **merged)

    def as_type(self, dtype: str) -> Table:
        """Return the same table in another type of `DTYPES`, rounded from the real values."""
        return type(self)(self.source, self.positions, replace(self.request, dtype=dtype), self.rows_of)

    @property
    def label(self) -> str:
        """What to call it in a line: the recipe in short, and the arithmetic where it is not the exact one."""
        arithmetic = self.request.arithmetic
        return self.source.short + ("" if arithmetic == "exact" else f",arithmetic={arithmetic}")

    @property
    def plan(self) -> Plan:
        """What its encoding returned."""
        return self.source.plan

    def position(self, start: int, stop: int) -> NDArray[Any] | None:
        """Return positions `start` to `stop` of its rows, int64, or float64 where fractional."""
        return self.part.numbers(start, stop)

    def check(self) -> None:
        """Raise BadParameter for a position that has no value; runs before any file is opened."""

    @abstractmethod
    def _arrays(self) -> tuple[Array, ...]:
        """Return what it holds."""


def take_table_keys(name: str, keys: dict[str, str]) -> dict[str, str]:
    """Remove from a recipe's keys, and return, those of the table; an encoding's own parameter of that name stays."""
    from pecli.encodings import CATALOGUE

    encoding = CATALOGUE.get(name)
    own = {p.key for p in encoding.options} if encoding else set()
    return {key: keys.pop(key) for key in KEYS if key in keys and key not in own}


def _positions(
    recipe: Recipe, length: object, start: object, step: object, positions: Positions | str | list[Any] | None
) -> Positions:
    """Return the rows asked for; a grid fixes its own number."""
    if positions is not None:
        given = [n for n, v in (("len", length), ("start", start), ("step", step)) if v is not None]
        if given:
            raise BadParameter(given[0], length if given[0] == "len" else start or step, "cannot stand with positions")
        if isinstance(positions, str):
            return Positions.parse(positions)
        return positions if isinstance(positions, Positions) else Positions.listed(positions)
    first = parse_number("start", start) if start is not None else 0
    by = parse_number("step", step) if step is not None else 1
    rows = None if recipe.open_parameters else _fixed_rows(recipe.plan)
    if length is not None:
        count = parse_integer("len", length)
        if rows is not None and start is None and step is None and count != rows:
            raise BadParameter("len", count, f"must be {rows}, the rows that {shorten(recipe.short)} has: leave it out")
        return Positions.arange(count, first, by)
    if rows is None:
        raise BadRecipe(f"{recipe.encoding.name} needs a length: give --len N, or --positions")
    end = rows - 1 if by > 0 else 0
    return Positions.arange(max(1, 1 + int((end - Fraction(first)) // Fraction(by or 1))), first, by)


def _fixed_rows(plan: Plan) -> int | None:
    """Return how many rows a plan has, where it says so: a grid, a window, content."""
    if isinstance(plan, Conditional):
        from pecli.tables.fill.conditional import content_rows

        return content_rows(plan)
    rows: int | None = getattr(plan, "rows", None)
    return rows


def _request(recipe: Recipe, dtype: str, layout: str | None, form: str | None, shard: str | None) -> Request:
    """Check the words and that they fit the family."""
    family = recipe.encoding.family
    for kind, word, known in (("dtype", dtype, DTYPES), ("layout", layout, LAYOUTS), ("form", form, None)):
        if word is not None and known is not None and word not in known:
            raise UnknownName(kind, str(word), known)
    if layout is not None and family is not Family.ROTARY:
        raise BadParameter("layout", layout, f"is for rotary tables: {recipe.encoding.name} is {family.word}")
    if form is not None and family not in (Family.BIAS, Family.RELATIVE):
        raise BadParameter("form", form, f"is for biases: {recipe.encoding.name} is {family.word}")
    if layout == "complex" and dtype not in ("float32", "float64"):
        raise BadParameter("dtype", dtype, "has no complex type: use float32 or float64 with --layout complex")
    return Request(dtype, layout or "split", form or "dense", shard)


def _with_queries(recipe: Recipe, request: Request, queries: object, align: str | None) -> Request:
    """Add the number of queries and where they stand, which only what relates two positions has."""
    encoding = recipe.encoding
    if encoding.family not in (Family.BIAS, Family.RELATIVE):
        raise BadParameter("queries", queries or align, f"is for biases: {encoding.name} is {encoding.family.word}")
    if align is not None and align not in ALIGNMENTS:
        raise UnknownName("align", align, ALIGNMENTS)
    count = None if queries is None else parse_integer("queries", queries)
    if count is not None and count < 1:
        raise BadParameter("queries", count, "must be at least 1")
    return replace(request, queries=count, align=align or "last")


def check_domain(name: str, domain: Domain, positions: Positions) -> None:
    """Raise BadParameter where a position lies outside what an encoding has values for."""
    if domain.integral and not positions.integral:
        raise BadParameter("positions", "(fractional)", f"must be whole numbers for {name}: {domain.remedy}")
    low, high = positions.lowest, positions.highest
    for outside, position in (
        (domain.low is not None and low < domain.low, low),
        (domain.high is not None and high > domain.high, high),
    ):
        if outside:
            raise BadParameter("position", fraction_text(position), f"has no value in {name}: {domain.remedy}")
