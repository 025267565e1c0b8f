"""What people get instead of an expected recipe: its declaration knows, and any table may start elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pecli.declare.changes import Change
from pecli.declare.encoding import Encoding, Family
from pecli.encodings.recipe import Recipe
from pecli.errors import PecliError
from pecli.numbers.positions import Positions, fraction_text
from pecli.tables.table import Table


def mistakes(table: Table) -> Iterator[Change]:
    """Yield what a table is mistaken for: other positions, other parameters, and what its encoding names."""
    encoding, keys = table.source.encoding, table.source.keys()
    yield from _starts(table)
    for parameter in encoding.parameters.values():
        if parameter.param.mistaken is not None and parameter.option in keys:
            yield from parameter.param.mistaken(parameter.option, keys[parameter.option], parameter.choices)
    yield from _conventions(encoding, keys)
    if encoding.declares("mistakes"):
        yield from encoding.hook("mistakes")(keys)


def _starts(table: Table) -> Iterator[Change]:
    first = table.part.start if table.part.start is not None else table.part.lowest
    for k in (1, -1, 2, -2):
        said = f"positions start at {fraction_text(first + k)} where {fraction_text(first)} was expected"
        yield Change("start", said, shift=k)


def _conventions(encoding: Encoding, keys: dict[str, str]) -> Iterator[Change]:
    """Yield the other words of every preset."""
    for preset in encoding.presets:
        words = {word: _texts(encoding, sets) for word, sets in preset.sets.items()}
        mine = next((word for word, sets in words.items() if sets.items() <= keys.items()), None)
        for word, sets in words.items():
            if not sets.items() <= keys.items():
                said = f" where {mine} was expected" if mine else ""
                yield Change(preset.name, f"{preset.name} {word}{said}", sets)


def _texts(encoding: Encoding, sets: Mapping[str, object]) -> dict[str, str]:
    """Return what a preset sets, as a recipe's keys."""
    named = [(encoding.parameters[name.replace("-", "_")], value) for name, value in sets.items()]
    return {parameter.option: parameter.text(parameter.parse(value)) for parameter, value in named}


def changed(table: Table, change: Change, rows: int | None = None) -> Table | None:
    """Return a table, or its first rows, with a change's parameters and positions; None if they are not allowed."""
    own: dict[str, Any] = {k: v for k, v in table.source.keys().items() if k not in change.keys}
    own |= {k: v for k, v in change.keys.items() if v is not None}
    part = table.part if rows is None else table.part.part(0, min(rows, table.part.count))
    family, request = table.source.encoding.family, table.request
    options: dict[str, Any] = {"layout": request.layout} if family is Family.ROTARY else {}
    options |= {"form": request.form} if family.pairs else {}
    try:
        recipe = Recipe.bind(table.source.encoding.name, **own)
        return Table.make(
            recipe, positions=_moved(part, change.shift), dtype=request.dtype, arithmetic=request.arithmetic, **options
        )
    except PecliError:
        return None


def _moved(positions: Positions, by: int) -> Positions:
    if not by:
        return positions
    if positions.start is not None and positions.step is not None:
        return Positions.arange(positions.count, positions.start + by, positions.step)
    return Positions.listed([p + by for p in positions])
