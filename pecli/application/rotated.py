"""Queries and keys turned by a rotary source: which rows, which pairing, which way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.application.framework import FrameworkRows, turning_steps
from pecli.application.inverse import undone
from pecli.application.joined import Joined
from pecli.application.pairing import OF_LAYOUT, OF_MODEL, HeadPairs
from pecli.application.reals import StoredRows, ValueRows
from pecli.application.rotation import RotatedTensors, Turned
from pecli.application.scaling import ScaledTurns
from pecli.application.tensors import Tensor
from pecli.application.turning import ExactTurns, StoredTurns, Turns
from pecli.application.wishes import Application, Wish, axes_notes, keys_of, places, roles_note, stored_rows
from pecli.declare.effect import Effect
from pecli.declare.plan import Waves
from pecli.declare.tabular import Tabular
from pecli.encodings.recipe import Recipe, split_recipe
from pecli.errors import BadParameter, BadRecipe
from pecli.numbers.decimals import shorten
from pecli.sources.sources import NamedSource
from pecli.tables.conversion import convert
from pecli.tables.selection import InMemory
from pecli.tables.table import Table


def head_width(recipe: Recipe) -> int | None:
    """Return the width of the heads that a rotary recipe is for; None where it does not say one."""
    width = recipe.values.get("dim")
    return width if isinstance(width, int) else None


def _check_widths(source: NamedSource, recipe: Recipe | None, tensors: Sequence[Tensor], pairs: int) -> None:
    """Raise BadParameter for vectors of another width than the recipe's, of which columns would stay as they are."""
    width = None if recipe is None else head_width(recipe)
    for tensor in tensors if width is not None else ():
        if tensor.width != width:
            part = f": of a part of a head say dim={tensor.width},rotary-dim={2 * pairs}" * (tensor.width > 2 * pairs)
            rule = f"has vectors of {tensor.width}, and {shorten(source.text)} is for heads of {width} columns{part}"
            raise BadParameter("input", tensor.name, rule)


def rotated(
    source: NamedSource, tensors: Sequence[Tensor], wish: Wish, effect: Effect, recipe: Recipe | None = None
) -> Application:
    """Return queries and keys turned by a rotary source; see :func:`pecli.application.apply.apply`."""
    if wish.scale is not None:
        raise BadParameter("input-scale", wish.scale, "is for absolute tables, whose rows are added")
    pairing, said = pairing_of(source, wish.pairs)
    table, rows = _table(source, tensors, wish)
    turns: Turns = ExactTurns(table) if isinstance(table, Table) else StoredTurns(table)
    _check_widths(source, recipe, tensors, turns.pairs)
    back = wish.way != "forward"
    parts_of = table.plan.parts if isinstance(table, Table) and isinstance(table.plan, Waves) else ()
    pairing = pairing.back() if back else pairing
    names = " ".join(tensor.name for tensor in tensors)
    facts = {"applied": table.recipe or source.text, "pairs": str(pairing), "way": wish.way}
    facts |= {"rotated": names, "rotary-dim": str(2 * turns.pairs)} if not parts_of else {}
    options = {"back": back, "rows": rows, "parts": parts_of, "metadata": facts}
    keys = keys_of(tensors) if effect.factor else []
    said_of = (effect.note, roles_note(tensors)) if effect.factor else ()
    notes, beside = (said, *said_of, *axes_notes(tensors)), _beside(table, rows, wish.dtype or tensors[0].dtype)

    def exact(dtype: str | None) -> Tabular:
        """Return the real values rounded to a type, by default each tensor's own."""
        found: dict[bool, RotatedTensors] = {}
        for key in (False, True):
            mine = [Turned(t, t.name, dtype or t.dtype) for t in tensors if (t in keys) == key]
            if mine:
                scaled = _scaled(turns, table, effect, key)
                scaled = undone(scaled) if wish.way == "inverse" else scaled
                found[key] = RotatedTensors(scaled, mine, pairing, **options)
        if len(found) == 1:
            return next(iter(found.values()))
        return Joined([(t.name, found[t in keys], t.name) for t in tensors], facts)

    if wish.arithmetic == "exact":
        return Application(exact(wish.dtype), notes, beside=beside)
    if wish.way != "forward" or len(parts_of) > 1:
        raise BadParameter("arithmetic", wish.arithmetic, "is for plain rotations of queries and keys")
    emulated = _emulated(source, table, wish, effect, places(source, tensors, wish)[0])
    steps = {}
    for tensor in tensors:
        key = tensor in keys
        factor = effect.factor if effect.opposed or not key else None
        steps[tensor.name] = turning_steps(tensor, emulated, pairing, rows, wish.arithmetic, factor, divided=key)
    made = FrameworkRows(exact("float64"), steps, wish.arithmetic, wish.dtype or tensors[0].dtype)
    return Application(made, notes, worst=lambda: made.worst, beside=beside)


def _beside(table: Tabular, rows: NDArray[np.int64] | None, dtype: str) -> Tabular:
    """Return positions, cosines and sines: of every row, or of every row of every batch."""
    if rows is None:
        return table.as_type(dtype) if isinstance(table, Table) else table
    count = table.array("cos").rows
    held = {name: table.read_rows([name], 0, count)[name][rows] for name in ("cos", "sin")}
    where = table.position(0, count)
    return InMemory({"positions": rows if where is None else where[rows], **held})


def _emulated(source: NamedSource, table: Tabular, wish: Wish, effect: Effect, options: dict[str, Any]) -> Tabular:
    """Return cos and sin as a framework has them: computed in float32, rounded to the type of its arithmetic.

    A factor is held by the model, whose type it takes; cos and sin are then computed in that.
    """
    if source.recipe is None:
        return table
    arithmetic = wish.arithmetic if effect.factor else "float32"
    return source.open(**options, dtype=wish.arithmetic, layout="split", arithmetic=arithmetic)


def _scaled(turns: Turns, table: Tabular, effect: Effect, key: bool) -> Turns:
    """Return the turns of queries or keys, which a factor multiplies or divides."""
    if effect.factor is None or (key and not effect.opposed):
        return turns
    if not isinstance(table, Table):
        return ScaledTurns(turns, StoredRows(table, effect.factor), divided=key)
    assert isinstance(table.plan, Waves)
    (beside,) = (one for one in table.plan.beside if one.name == effect.factor)
    return ScaledTurns(turns, ValueRows(table, effect.factor, beside.at), divided=key)


def _table(source: NamedSource, tensors: Sequence[Tensor], wish: Wish) -> tuple[Tabular, Any]:
    """Return the table with cos and sin (n, pairs), and which row of it each position has."""
    options, rows = places(source, tensors, wish)
    if source.recipe is not None:
        return source.open(**options, dtype="float64", layout="split"), rows
    table = convert(source.open(), layout="split")
    if not {"cos", "sin"} <= {array.name for array in table.arrays}:
        raise BadRecipe(f"{shorten(source.text)} holds {', '.join(table.keys())}: cos and sin are needed to turn pairs")
    return table, stored_rows(table, tensors, wish)


def pairing_of(source: NamedSource, pairs: str | None) -> tuple[HeadPairs, str]:
    """Return the pairing, and where it comes from: guessing it is the very fault that is to be found."""
    if pairs is not None:
        return HeadPairs.parse(pairs), f"pairs {pairs}, as given"
    if source.model_pairing:
        found = HeadPairs.parse(OF_MODEL[source.model_pairing])
        return found, f"pairs {found}, as the model has them"
    layout = source.given.get("layout")
    if layout is None and source.recipe is None:
        recipe = source.open().recipe
        layout = split_recipe(recipe)[1].get("layout") if recipe else None
    if layout in OF_LAYOUT:
        return HeadPairs.parse(OF_LAYOUT[layout]), f"pairs {OF_LAYOUT[layout]}, as the layout {layout} has them"
    raise BadRecipe(
        f"{shorten(source.text)} does not say which columns turn together: give --pairs half (x_i with x_(i+d/2), "
        "as Llama) or --pairs interleaved (x_2i with x_(2i+1), as GPT-J)"
    )
