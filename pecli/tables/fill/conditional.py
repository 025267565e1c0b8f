"""Tables that need content, one row of numbers for each position, from a file or a recipe."""

from __future__ import annotations

from collections.abc import Callable

from pecli.encodings.shared.trained import open_array
from pecli.errors import BadParameter
from pecli.numbers.positions import Positions
from pecli.numbers.reader import StoredArray
from pecli.spec.catalogue import CATALOGUE
from pecli.spec.declaration import Family
from pecli.spec.plans import Conditional
from pecli.spec.recipe import Recipe, join_recipe, split_recipe
from pecli.spec.tabular import Array, Tabular
from pecli.tables.fill.filler import CHANNELS, Arrays, Filler, round_into
from pecli.tables.request import Extent, Request, take_table_keys

# Of a recipe's text and options of :meth:`pecli.tables.table.Table.make`, gives the table; handed in.
Parse = Callable[..., Tabular]


class ConditionalFiller(Filler[Conditional]):
    """``pe`` from content and, where the encoding gates one, from the rows of an absolute table.

    Parameters
    ----------
    plan, recipe, extent, request
        As of every filler.
    parse : callable
        Gives the content, a row for each position of the whole table, and the base, the absolute table at the
        positions of the rows of this one.
    """

    def __init__(self, plan: Conditional, recipe: Recipe, extent: Extent, request: Request, parse: Parse) -> None:
        self.content = content_of(plan.content, extent.positions.count, parse)
        self.base = base_of(plan, extent.part, parse)
        super().__init__(plan, recipe, extent, request)

    def _arrays(self) -> tuple[Array, ...]:
        width = self.content.shape[1] if self.base is None else self.base.arrays[0].shape[1]
        return (Array("pe", (self.part.count, width), self.dtype, CHANNELS),)

    def check(self) -> None:
        """Raise BadParameter where content, weights and positions do not fit together; reads the weights."""
        super().check()
        n, channels = self.content.shape
        if n != self.positions.count:
            rule = f"has {n} rows, and the table {self.positions.count}: one row of content for each position"
            raise BadParameter("content", self.plan.content, rule)
        self.plan.reach(n)
        self.plan.fit(channels, self.arrays[0].shape[1])

    def fill(self, start: int, stop: int, out: Arrays, threads: int) -> None:
        """Write rows; see :meth:`Filler.fill`."""
        n = self.positions.count
        first, last = start + self.extent.first, stop + self.extent.first
        reach = self.plan.reach(n)
        offset = max(0, first - reach)
        rows = self.content.rows(offset, min(n, last + reach))
        base = None if self.base is None else self.base.read_rows(["pe"], start, stop)["pe"]
        round_into(self.plan.value(rows, offset, first, last, n, base), self.dtype, out["pe"])


def content_of(text: str, length: int, parse: Parse) -> StoredArray:
    """Return the content in a file, or of a recipe at `length` positions.

    Raises
    ------
    BadParameter, BadFile
        If it is not one array of rows, or cannot be read.
    """
    if not _is_recipe(text):
        return open_array(text)
    table = parse(text, dtype="float64", length=None if _fixes_length(text) else length)
    if len(table.arrays) != 1 or len(table.arrays[0].shape) != 2:
        raise BadParameter("content", text, "must be one array of rows: use an absolute encoding, or a file")
    (array,) = table.arrays
    return StoredArray(text, array.name, array.shape, lambda a, b: table.read_rows([array.name], a, b)[array.name])


def content_rows(text: str, parse: Parse) -> int | None:
    """Return how many rows content has; None where a recipe gives as many as are asked for."""
    return None if _is_recipe(text) and not _fixes_length(text) else content_of(text, 1, parse).shape[0]


def base_of(plan: Conditional, positions: Positions, parse: Parse) -> Tabular | None:
    """Return the absolute table, one float64 array, whose rows a plan is given at these positions.

    Raises
    ------
    BadParameter
        If it is no absolute table of the plan's width, or has more than one array.
    """
    if plan.base is None:
        return None
    name, keys = split_recipe(plan.base)
    width = keys.setdefault("dim", str(plan.dim))
    if width != str(plan.dim):
        raise BadParameter("position", plan.base, f"has dim={width}, and dim={plan.dim}: leave one out")
    encoding = Recipe.bind(name, **keys).encoding
    if encoding.family is not Family.ABSOLUTE:
        rule = f"must be an absolute encoding: {encoding.name} is {encoding.family.word}"
        raise BadParameter("position", plan.base, rule)
    table = parse(join_recipe(name, keys), positions=positions, dtype="float64")
    if len(table.arrays) != 1 or table.arrays[0].dtype != "float64":
        raise BadParameter("position", plan.base, "must be one real array, and has others beside it")
    return table


def _is_recipe(text: str) -> bool:
    """Whether a source is a recipe: a word that is an encoding's name is one."""
    return text.partition(":")[0] in CATALOGUE


def _fixes_length(text: str) -> bool:
    name, keys = split_recipe(text)
    own = take_table_keys(name, keys)
    return "len" in own or "positions" in own or Recipe.bind(name, **keys).rows is not None
