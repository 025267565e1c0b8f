"""Tables that need content: one row of numbers for each position, from a file or a recipe."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pecli.declare.encoding import Family
from pecli.declare.plan import Conditional
from pecli.declare.tabular import Array
from pecli.encodings import CATALOGUE
from pecli.encodings.recipe import Recipe, split_recipe
from pecli.encodings.shared.files import open_array
from pecli.errors import BadParameter
from pecli.numbers.files import StoredArray
from pecli.tables.fill.rounding import round_into
from pecli.tables.table import Table


class Content(Protocol):
    """Rows of numbers, read when they are asked for."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and channels."""

    def rows(self, start: int, stop: int) -> NDArray[np.float64]:
        """Return rows `start` to `stop`."""


class Computed:
    """Content that a recipe gives."""

    def __init__(self, text: str, length: int) -> None:
        name, keys = split_recipe(text)
        self._table = Table.parse(text, dtype="float64", **({} if _fixes_length(name, keys) else {"length": length}))
        (*_, last) = self._table.arrays
        if len(self._table.arrays) != 1 or len(last.shape) != 2:
            raise BadParameter("content", text, "must be one array of rows: use an absolute encoding, or a file")
        self.shape = (last.shape[0], last.shape[1])
        self._name = last.name

    def rows(self, start: int, stop: int) -> NDArray[np.float64]:
        """Return rows `start` to `stop`."""
        return np.asarray(self._table.read_rows([self._name], start, stop)[self._name], np.float64)


def is_recipe(text: str) -> bool:
    """Whether a source is a recipe: a word that is an encoding's name is one."""
    return text.partition(":")[0] in CATALOGUE


def _fixes_length(name: str, keys: Mapping[str, str]) -> bool:
    if "len" in keys or "positions" in keys:
        return True
    plan_keys = {key: value for key, value in keys.items() if key not in ("start", "step", "dtype")}
    recipe = Recipe.bind(name, **plan_keys)
    return not recipe.open_parameters and getattr(recipe.plan, "rows", None) is not None


def content_rows(plan: Conditional) -> int | None:
    """Return how many rows the content of a plan has; None where a recipe has as many as are asked for."""
    if is_recipe(plan.content):
        name, keys = split_recipe(plan.content)
        return Computed(plan.content, 1).shape[0] if _fixes_length(name, keys) else None
    return open_array(plan.content, "content").shape[0]


class ConditionalTable(Table):
    """``pe`` from content and, where the encoding gates one, from the rows of an absolute table."""

    @property
    def conditional(self) -> Conditional:
        """The plan."""
        assert isinstance(self.plan, Conditional)
        return self.plan

    def check(self) -> None:
        """Raise BadParameter where content, weights and positions do not fit together; reads the weights."""
        plan, (n, channels) = self.conditional, self._content.shape
        if n != self.positions.count:
            rule = f"has {n} rows, and the table {self.positions.count}: one row of content for each position"
            raise BadParameter("content", plan.content, rule)
        plan.reach(n)
        plan.prepare(channels, self.arrays[0].shape[1])

    def _arrays(self) -> tuple[Array, ...]:
        width = self.conditional.width(self._content.shape[1])
        if self._base is not None:
            width = self._base.arrays[0].shape[1]
        return (Array("pe", (self.part.count, width), self.dtype, ("position", "channel")),)

    def fill(self, start: int, stop: int, out: Mapping[str, NDArray[Any]]) -> None:
        """Write rows into `out`; see :meth:`pecli.declare.tabular.Tabular.fill`."""
        if "pe" not in out:
            return
        plan, n = self.conditional, self.positions.count
        first, last = start + self.rows_of[0], stop + self.rows_of[0]
        reach = plan.reach(n)
        offset = max(0, first - reach)
        rows = self._content.rows(offset, min(n, last + reach))
        base = None if self._base is None else self._base.read_rows(["pe"], start, stop)["pe"]
        round_into(plan.value(rows, offset, first, last, n, base), self.dtype, out["pe"])

    @cached_property
    def _content(self) -> Content | StoredArray:
        text = self.conditional.content
        return Computed(text, self.positions.count) if is_recipe(text) else open_array(text, "content")

    @cached_property
    def _base(self) -> Table | None:
        """The rows of the absolute table at the positions of this one."""
        text = self.conditional.base
        if text is None:
            return None
        name, keys = split_recipe(text)
        width = keys.setdefault("dim", str(self.conditional.dim))
        if width != str(self.conditional.dim):
            raise BadParameter("position", text, f"has dim={width}, and dim={self.conditional.dim}: leave one out")
        recipe = Recipe.bind(name, **keys)
        if recipe.encoding.family is not Family.ABSOLUTE:
            rule = f"must be an absolute encoding: {recipe.encoding.name} is {recipe.encoding.family.word}"
            raise BadParameter("position", text, rule)
        table = Table.make(recipe, positions=self.part, dtype="float64")
        if len(table.arrays) != 1 or table.arrays[0].dtype != "float64":
            raise BadParameter("position", text, "must be one real array, and has others beside it")
        return table
