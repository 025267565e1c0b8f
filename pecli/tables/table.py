"""Tables: recipe x positions x type -> blocks of rows, in any order.

A table is one class that holds a filler; the plan decides which filler: sines and cosines go to the engine,
values and biases are computed by their kernels and rounded once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Literal, TypedDict, Unpack, overload

from pecli.errors import BadParameter, UnknownName
from pecli.numbers.decimals import parse_count
from pecli.numbers.deferred import NDArray
from pecli.numbers.positions import Positions
from pecli.spec.plans import Conditional, Plan
from pecli.spec.recipe import Recipe, join_recipe, split_recipe
from pecli.spec.tabular import Tabular
from pecli.tables.request import ArrayNaming, Extent, Request, frequencies, positions_of, take_table_keys
from pecli.version import __version__


class Table(Tabular):
    """A computed table: a mapping of names to arrays, whose rows are computed when they are asked for.

    Made by :meth:`make` from a recipe, or by :meth:`parse` from the text of one that holds the table's own keys too.

    Attributes
    ----------
    source : Recipe
        The encoding and its parameters, all resolved.
    extent : Extent
        The positions of the whole table, and which of them this one holds.
    request : Request
        Type, layout, form, queries.
    names : sequence of str or None
        The arrays that were chosen; left out, all.
    """

    def __init__(self, source: Recipe, extent: Extent, request: Request, names: Sequence[str] | None = None) -> None:
        from pecli.tables.fill import filler_for

        self.source, self.extent, self.request = source, extent, request
        self.filler = filler_for(source, extent, request, Table.parse)
        self.arrays = own = self.filler.arrays
        self._inner_names: dict[str, str] = {}  # the filler's names of the arrays, where they have others
        if request.naming != ArrayNaming():
            self.arrays = request.naming.arrays(own, source, request.dtype)
            self._inner_names = {array.name: inner.name for array, inner in zip(self.arrays, own, strict=False)}
        encoding = source.encoding
        keys = {**source.keys(), **self.positions.keys(), **request.keys()}
        self.recipe: str | None = join_recipe(encoding.name, keys)
        self.names = names
        if names is not None:
            self.arrays = tuple(self.array(name) for name in names)
            self.recipe = None
        self.metadata: Mapping[str, str] = {
            "formula": "\n".join(encoding.formula),
            "source": "; ".join(map(str, encoding.source)),
            "pecli_version": __version__,
        }

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the arguments for pickling and copying: values are computed, and fillers hold locks and functions."""
        return _restored, (self.source, self.extent, self.request, self.keys(), self.recipe)

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
        name: str | None = None,
        lead: object = None,
        companion: str | None = None,
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
        name : str, optional
            What to call the arrays, several joined with ``+``: ``"cos_cached+sin_cached"``.
        lead : int, optional
            Axes of length 1 before the others: 1 for (1, n, dim).
        companion : {"inv_freq"}, optional
            A further array: the frequencies of a rotary table. A recipe's key is ``with``.

        Raises
        ------
        BadParameter, BadRecipe, UnknownName
            With one sentence that names the value, the rule and the remedy.
        """
        if keys is not None:
            if length is not None:
                raise BadParameter("keys", keys, f"cannot go with len={length}: the length is that of the keys")
            length = parse_count("keys", keys)
        if form == "slopes" and length is None and positions is None and recipe.rows is None:
            length = 1  # slopes are those of heads, and depend on no position
        rows = None if positions is not None else rows_of(recipe)
        where = positions_of(recipe, rows, length, start, step, positions)
        request = Request.of(recipe.encoding, dtype, layout, form, shard, arithmetic, queries, keys, align)
        request = request._replace(naming=ArrayNaming.of(name, lead, companion))
        extent = request.extent(where)
        whole = shard is None and where.start == 0
        part = "shard=" if shard is not None else "start=" if where.is_range else "positions="
        last = -((-where.highest.numerator) // where.highest.denominator)
        made = Table(recipe.resolve(length=where.count, last=last, whole=whole, part=part), extent, request)
        made.filler.check()
        return made

    @staticmethod
    def parse(text: str, **options: Any) -> Table:
        """Return the table that a recipe's text writes; `options` of :meth:`make` win over its keys.

        Examples
        --------
        >>> Table.parse("rope:dim=4,len=3", dtype="float16")
        <Table rope:dim=4,len=3,dtype=float16: cos (3, 2) float16, sin (3, 2) float16>
        """
        name, keys = split_recipe(text)
        own = take_table_keys(name, keys)
        return Table.of_keys(Recipe.bind(name, **keys), own, **options)

    @staticmethod
    def of_keys(recipe: Recipe, keys: Mapping[str, str], /, **options: Any) -> Table:
        """Return the table of a recipe and of the keys that its text gives the table; `options` of :meth:`make` win."""
        merged: dict[str, Any] = {("length" if k == "len" else k): v for k, v in keys.items()}
        given = {k: v for k, v in options.items() if v is not None}
        if "positions" in given:
            merged = {k: v for k, v in merged.items() if k not in ("length", "start", "step")}
        elif given.keys() & {"length", "start", "step"}:
            merged.pop("positions", None)
        return Table.make(recipe, **{**merged, **given})

    def as_type(self, dtype: str) -> Table:
        """Return the same table in another type of `DTYPES`, rounded from the real values."""
        return Table(self.source, self.extent, self.request._replace(dtype=dtype), self.names)

    def plain(self) -> Table:
        """Return the same table with pecli's own names and shapes, and no companion array."""
        return Table(self.source, self.extent, self.request._replace(naming=ArrayNaming()))

    def only(self, names: Sequence[str]) -> Table:
        """Return the table with only some of its arrays, which no recipe can express.

        Raises
        ------
        UnknownName
            If it has no array of such a name.
        """
        return Table(self.source, self.extent, self.request, [self.array(name).name for name in names])

    @property
    def positions(self) -> Positions:
        """The positions of the whole table; of a bias, the keys."""
        return self.extent.positions

    @property
    def part(self) -> Positions:
        """The positions of its rows, a part of the whole's in a shard; of a bias, the queries."""
        return self.extent.part

    @property
    def rows(self) -> int:
        """How many positions it has rows for; of a bias, how many queries."""
        return self.part.count

    @property
    def label(self) -> str:
        """Short name for one line: the recipe in short, and the arithmetic where it is not the exact one."""
        arithmetic = self.request.arithmetic
        return self.source.short + ("" if arithmetic == "exact" else f",arithmetic={arithmetic}")

    @property
    def title(self) -> str:
        """The recipe with only the keys that differ from the defaults; it parses back."""
        name, keys = split_recipe(self.source.short)
        short = join_recipe(name, {**keys, **self.positions.keys(), **self.request.keys()})
        return short if self.recipe else f"{short}, rows {self.extent.first} to {self.extent.last - 1}"

    @property
    def plan(self) -> Plan:
        """Plan of the encoding."""
        return self.source.plan

    @overload
    def __getitem__(self, key: str) -> NDArray[Any]: ...
    @overload
    def __getitem__(self, key: slice) -> Table: ...
    def __getitem__(self, key: str | slice) -> NDArray[Any] | Table:
        """Return an array by its name, whole; or the table of a slice of the positions, computed on demand.

        The recipe of a slice states its positions; it has none where values depend on the other positions too.

        Raises
        ------
        UnknownName
            If there is no array of this name.
        BadParameter
            If the slice has no rows, or leaves some out.

        Examples
        --------
        >>> Table.parse("sinusoidal:dim=4,len=1000")[500:502]
        <Table sinusoidal:dim=4,len=2,start=500,dtype=float32: pe (2, 4) float32>
        """
        if not isinstance(key, slice):
            return super().__getitem__(key)
        start, stop, step = key.indices(self.rows)
        if step != 1 or start >= stop:
            rule = f"must be neighbouring rows, such as 0:10, of the {self.rows} that there are"
            raise BadParameter("rows", f"{key.start}:{key.stop}:{key.step}", rule)
        alone = not (self.source.encoding.family.pairs or isinstance(self.plan, Conditional) or self.plan.rows)
        extent = Extent(self.positions, self.extent.first + start, self.extent.first + stop)
        if alone:
            extent = Extent(extent.part, 0, stop - start)
        found = Table(self.source, extent, self.request._replace(shard=None), self.names)
        if not alone:
            found.recipe = None
        return found

    def position(self, start: int, stop: int) -> NDArray[Any] | None:
        """Return positions `start` to `stop` of its rows, int64, or float64 where fractional; distances likewise."""
        return self.filler.position(start, stop)

    def key_position(self, start: int, stop: int) -> NDArray[Any] | None:
        """Return the positions of keys `start` to `stop`; None beyond the last key, or without pairs."""
        if not self.source.encoding.family.pairs or stop > self.positions.count:
            return None
        return self.positions.numbers(start, stop)

    def fill(self, start: int, stop: int, out: Mapping[str, NDArray[Any]], threads: int = 1) -> None:
        """Write rows into `out`, computed by `threads` threads; see :meth:`pecli.spec.tabular.Tabular.fill`."""
        if self._inner_names:
            for name in out.keys() - self._inner_names.keys():
                values = frequencies(self.source, self.request.arithmetic, self.array(name).dtype)
                out[name][...] = values[start:stop]
            out = {self._inner_names[name]: values for name, values in out.items() if name in self._inner_names}
        if out:
            self.filler.fill(start, stop, out, threads)

    def read_rows(self, names: Iterable[str], start: int, stop: int) -> dict[str, NDArray[Any]]:
        """Return rows of the named arrays, computed on all cores."""
        from pecli.engine import default_threads

        out = self.empty(names, start, stop)
        self.fill(start, stop, out, default_threads())
        return out


def _restored(source: Recipe, extent: Extent, request: Request, names: tuple[str, ...], recipe: str | None) -> Table:
    made = Table(source, extent, request)
    made.arrays, made.recipe = tuple(made.array(name) for name in names), recipe
    return made


class TableKeywords(TypedDict, total=False):
    """Options of :func:`table`, which win over the keys of the recipe; :meth:`Table.make` explains them."""

    len: int | None
    length: int | None
    start: int | str | Decimal | None
    step: int | str | Decimal | None
    positions: Positions | str | list[Any] | None
    dtype: Literal["float16", "bfloat16", "float32", "float64"]
    layout: Literal["split", "half", "interleaved", "concat", "sin-cos", "pairs", "complex", "angles"] | None
    form: Literal["dense", "distance", "slopes", "index", "parameters", "bias", "vector", "x"] | None
    arithmetic: Literal["exact", "float32", "bfloat16"]
    shard: str | None
    queries: int | None
    keys: int | None
    align: Literal["first", "last"] | None
    name: str | None
    lead: int | None
    companion: str | None


def table(text: str | Recipe, **options: Unpack[TableKeywords]) -> Table:
    """Return the table of a recipe, or of its text; its values are computed when they are asked for.

    Parameters
    ----------
    text : str or Recipe
        Such as "rope:dim=128,len=4096".
    **options
        `len` (or `length`), `start`, `step`, `positions`, `dtype`, `layout`, `form` and the others of `TableKeywords`.

    Returns
    -------
    Table
        A mapping of array names to NumPy arrays, one row for each of n positions: absolute ``pe`` (n, dim), rotary
        ``cos`` and ``sin`` (n, dim/2), bias ``bias`` (heads, n, n). float32 unless `dtype` says float16, float64 or
        bfloat16 (``uint16`` bits; see :func:`pecli.widen`).

    Raises
    ------
    BadRecipe, BadParameter, UnknownName
        For what is no recipe, an option that does not exist, or a value that breaks a rule.

    Examples
    --------
    >>> len(table("rope:dim=4", len=8)), table("rope:dim=4", len=8)["cos"].shape
    (2, (8, 2))
    """
    if not isinstance(text, str | Recipe):
        raise BadParameter("recipe", type(text).__name__, "must be a recipe's text, such as rope:dim=128,len=4096")
    given: dict[str, Any] = dict(options)
    for word in given:
        if word not in TableKeywords.__annotations__:
            raise UnknownName("option", word, [*TableKeywords.__annotations__])
    if "len" in given:
        given["length"] = given.pop("len")
    return Table.make(text, **given) if isinstance(text, Recipe) else Table.parse(text, **given)


def rows_of(recipe: Recipe) -> int | None:
    """Return how many rows a recipe has by itself or by its content; None where a length decides."""
    if recipe.rows is None and not recipe.open_parameters and isinstance(recipe.plan, Conditional):
        from pecli.tables.fill.conditional import content_rows

        return content_rows(recipe.plan.content, Table.parse)
    return recipe.rows
