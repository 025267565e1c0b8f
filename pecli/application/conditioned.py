"""Tensors and tables that need content: a factor on queries, or rows made of the input itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.application.addition import AddedRows
from pecli.application.joined import Joined
from pecli.application.reals import Reals, StoredRows, rows_of
from pecli.application.tensors import Tensor
from pecli.application.wishes import Application, Wish, axes_notes, keys_of, places, roles_note, stored_rows, the_one
from pecli.declare.effect import Effect
from pecli.declare.plan import Conditional
from pecli.declare.tabular import Tabular
from pecli.errors import BadParameter, BadRecipe
from pecli.numbers.decimals import parse_integer, shorten
from pecli.numbers.double_double import DoubleDouble, add
from pecli.numbers.positions import Positions
from pecli.sources.sources import NamedSource
from pecli.tables.content import base_of
from pecli.tables.fill.rounding import round_into
from pecli.tables.table import Table


def conditioned(source: NamedSource, tensors: Sequence[Tensor], wish: Wish, effect: Effect) -> Application:
    """Return what a conditional source does to tensors; see :func:`pecli.application.apply.apply`."""
    if effect.content is None:
        return _multiplied(source, tensors, wish, effect)
    tensor = the_one(tensors, "it stands for the content")
    if source.recipe is None or not isinstance(source.recipe.plan, Conditional):
        raise BadRecipe(f"{shorten(source.text)} holds what was made of other content: give its recipe")
    if wish.positions is not None:
        raise BadParameter("positions", None, "are not for content: give --start")
    made = ConditionedRows(source.recipe.plan, tensor, wish, added=effect.content == "adds")
    return Application(made, (effect.note, *axes_notes(tensors)))


def _multiplied(source: NamedSource, tensors: Sequence[Tensor], wish: Wish, effect: Effect) -> Application:
    """Return queries with their factors, and keys as they are."""
    options, rows = places(source, tensors, wish)
    table = source.open(**options, dtype="float64") if source.recipe is not None else source.open()
    if not isinstance(table, Table):
        rows = stored_rows(table, tensors, wish)
    parts: list[tuple[str, Tabular, str]] = []
    for tensor in tensors:
        if tensor in keys_of(tensors):
            parts.append((tensor.name, tensor.view.table, tensor.view.array.name))
            continue
        reals: Reals = rows_of(table) if isinstance(table, Table) else StoredRows(table)
        made = AddedRows(reals, tensor, wish.dtype or tensor.dtype, multiplied=True, where=rows)
        parts.append((tensor.name, made, tensor.name))
    return Application(Joined(parts), (effect.note, roles_note(tensors), *axes_notes(tensors)))


class ConditionedRows(Tabular):
    """Rows made of a tensor's own, batch by batch; computed in float64, in one order of sums.

    Parameters
    ----------
    plan : Conditional
        What is made of them.
    tensor : Tensor
        The content, (b, s, d) or (s, d).
    wish : Wish
        Start and type.
    added : bool
        Whether the rows are added to the input.
    """

    def __init__(self, plan: Conditional, tensor: Tensor, wish: Wish, *, added: bool) -> None:
        if tensor.axes not in ("bsd", "sd"):
            raise BadParameter("axes", tensor.axes, "are not those of content: bsd and sd are")
        self.plan, self.tensor, self.added = plan, tensor, added
        self.dtype = wish.dtype or tensor.dtype
        self.n = tensor.side("s")
        positions = Positions.arange(self.n, parse_integer("start", wish.start or "0"))
        self.base = base_of(plan, positions, Table.parse)
        width = tensor.width if self.base is None else self.base.arrays[0].shape[1]
        if added and width != tensor.width:
            raise BadParameter(
                "input", tensor.name, f"has vectors of {tensor.width}, and the table has rows of {width}"
            )
        self.around = plan.reach(self.n)
        plan.fit(tensor.width, width)
        self.arrays = (tensor.like(tensor.name, self.dtype, width),)
        self.recipe, self.metadata = None, {}

    def fill(self, start: int, stop: int, out: Mapping[str, NDArray[Any]]) -> None:
        """Write rows; see :meth:`pecli.declare.tabular.Tabular.fill`."""
        for target in out.values():
            at = start
            while at < stop:
                batch, first = divmod(at, self.n)
                last = min(self.n, first + stop - at)
                self._batch(batch * self.n, first, last, target[at - start :][: last - first])
                at += last - first

    def _batch(self, at: int, first: int, last: int, out: NDArray[Any]) -> None:
        offset = max(0, first - self.around)
        rows = self.tensor.read(at + offset, at + min(self.n, last + self.around))
        base = None if self.base is None else self.base.read_rows(["pe"], first, last)["pe"]
        found = self.plan.value(rows, offset, first, last, self.n, base)
        if self.added:
            found = found if isinstance(found, DoubleDouble) else DoubleDouble(np.asarray(found), np.zeros(found.shape))
            given = rows[first - offset : last - offset]
            found = add(found, DoubleDouble(given, np.zeros(given.shape)))
        round_into(found, self.dtype, out)
