"""Tables that need content: one row of numbers for each position, handed in by whoever makes the table."""

from __future__ import annotations

from pecli.errors import BadParameter
from pecli.numbers.reader import StoredArray
from pecli.spec.plans import Conditional
from pecli.spec.recipe import Recipe
from pecli.spec.tabular import Array, Tabular
from pecli.tables.fill.filler import CHANNELS, Arrays, Filler
from pecli.tables.fill.rounding import round_into
from pecli.tables.request import Extent, Request


class ConditionalFiller(Filler[Conditional]):
    """``pe`` from content and, where the encoding gates one, from the rows of an absolute table.

    Parameters
    ----------
    plan, recipe, extent, request
        As of every filler.
    content : StoredArray
        A row for each position of the whole table.
    base : Tabular, optional
        The absolute table, one float64 array, at the positions of the rows of this one.
    """

    def __init__(
        self, plan: Conditional, recipe: Recipe, extent: Extent, request: Request, content: StoredArray,
        base: Tabular | None,
    ) -> None:  # fmt: skip
        self.content, self.base = content, base
        super().__init__(plan, recipe, extent, request)

    def _arrays(self) -> tuple[Array, ...]:
        width = self.plan.width(self.content.shape[1]) if self.base is None else self.base.arrays[0].shape[1]
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
