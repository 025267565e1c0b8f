"""What people get instead of an expected recipe: its declaration knows, and any table may start elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from pecli.comparison.results import Finding
from pecli.declare.changes import Change, other_coordinates, other_units
from pecli.declare.encoding import Encoding, Family
from pecli.declare.plan import Waves
from pecli.diagnosis.case import Candidate, Case, Lanes, gaps, read_rows
from pecli.diagnosis.reworked import reworked
from pecli.encodings.recipe import Recipe
from pecli.errors import PecliError
from pecli.measures.samples import Floats
from pecli.numbers.positions import Positions, fraction_text
from pecli.numbers.types import COMPLEX
from pecli.tables.layouts import LAYOUTS
from pecli.tables.table import Table

STARTS = (1, -1, 2, -2)  # that are off by little, as people have it
REACH = 4096  # positions by which a start may be off to be found,
MOST = 1 << 19  # and values of an array to either side among which it is looked for


def recipe_candidates(case: Case, table: Table) -> Iterator[Candidate]:
    """Yield what the recipe of an expected table is mistaken for, its layout among it."""
    layouts = _layouts(table) if table.source.encoding.family is Family.ROTARY else ()
    for change in (*layouts, *_found_start(case, table), *mistakes(table)):
        yield _candidate(case, table, change)


def started_elsewhere(case: Case, table: Table) -> Iterator[Candidate]:
    """Yield what a recipe is mistaken for where its positions start elsewhere as well."""
    for change in mistakes(table):
        for k in STARTS if not change.shift else ():
            start = _start(table, k)
            both = replace(change, shift=k * change.step)
            yield replace(_candidate(case, table, both), beside=(Finding(start.kind, f"and {start.text}"),))


def _candidate(case: Case, table: Table, change: Change) -> Candidate:
    made = None if change.values is not None else partial(changed, table, change)
    return Candidate(change.kind, change.text, partial(_lanes, case, table, change), made)


def _lanes(case: Case, table: Table, change: Change) -> Lanes | None:
    own = table.request.dtype if case.narrowed else case.grain
    made = changed(table, change, own if change.values is None else _widest(table))
    lanes = None if made is None else case.beside(made)
    if lanes is None or change.values is None:
        return reworked(lanes, case.grain) if lanes is not None and case.narrowed else lanes
    values, shapes = change.values, {lane.name: lane.row_shape for lane in lanes}

    def work(name: str, rows: Floats, first: int) -> Floats:
        return values(name, rows.reshape(len(rows), *shapes[name]), first).reshape(rows.shape)

    return reworked(lanes, case.grain, work)


def _widest(table: Table) -> str:
    """Return the type of values that are changed before they are rounded; that of whole numbers stays."""
    return table.request.dtype if table.request.dtype.startswith("int") else "float64"


def _layouts(table: Table) -> Iterator[Change]:
    """Yield the other layouts of a rotary table."""
    mine = table.request.layout
    for layout in LAYOUTS:
        said = {
            frozenset(("half", "interleaved")): "equal after swapping interleaved for halves: ",
            frozenset(("concat", "sin-cos")): "cos and sin are exchanged: ",
        }.get(frozenset((layout, mine)), "")
        if layout != mine:
            yield Change("layout", f"{said}layout {layout} where {mine} was expected", {"layout": layout})


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
    if isinstance(table.plan, Waves):
        yield from other_units()
        yield from other_coordinates(table.plan)
        yield from _divided(table)


def _divided(table: Table) -> Iterator[Change]:
    """Yield positions that were brought to 0 .. 1, with the last one or the one after it as 1."""
    positions = table.part
    if positions.start == 0 and positions.step == 1 and positions.count > 2:
        for by, what in ((positions.count, "their count"), (positions.count - 1, "the last one")):
            yield Change("step", f"positions are divided by {what}, {by}", step=Fraction(1, by))
    if positions.step == 1 and positions.start is not None and positions.count > 2:
        for step, how in (
            (Fraction(positions.count, positions.count - 1), "included"),
            (Fraction(positions.count - 1, positions.count), "left out"),
        ):
            said = f"positions are {fraction_text(step)} apart, as of a linspace whose end is {how}"
            yield Change("step", said, shift=positions.start * (1 - step), step=step)


def _starts(table: Table) -> Iterator[Change]:
    return (_start(table, k) for k in STARTS)


def _start(table: Table, by: int) -> Change:
    first = table.part.start if table.part.start is not None else table.part.lowest
    said = f"positions start at {fraction_text(first + by)} where {fraction_text(first)} was expected"
    return Change("start", said, shift=by)


def _found_start(case: Case, table: Table) -> Iterator[Change]:
    """Yield the start at which the expected rows are most like those at hand: some rows are looked for among many."""
    part, (first, stop) = table.part, case.window
    if first or part.start is None or part.step != 1 or not isinstance(table.plan, Waves):
        return
    rows = {0, stop // 2, stop - 1}
    if any(all(np.array_equal(p[row], q[row]) for p, q in zip(case.here, case.there, strict=True)) for row in rows):
        return
    reach = min(REACH, MOST // max(1, *(plane.shape[1] for plane in case.here)))
    total = np.zeros(2 * reach + 1)
    for row in rows:
        made = changed(table, Change("start", "", shift=row - reach), case.grain, count=len(total))
        lanes = None if made is None else case.beside(made)
        if lanes is None:
            return
        for plane, lane in zip(case.here, lanes, strict=True):
            if lane.rows == len(total) and plane.shape[1] == lane.row_size:
                off = gaps(read_rows(lane, 0, lane.rows), plane[row])
                total += np.minimum(off, case.scale).mean(axis=1)
    by = int(total.argmin()) - reach
    if by:
        yield _start(table, by)


def _conventions(encoding: Encoding, keys: dict[str, str]) -> Iterator[Change]:
    """Yield the other words of every preset, those first that set least."""
    for preset in sorted(encoding.presets, key=lambda preset: max(map(len, preset.sets.values()))):
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


def changed(table: Table, change: Change, dtype: str | None = None, count: int | None = None) -> Table | None:
    """Return a table with a change's parameters and positions, rounded to a type; None if they are not allowed.

    With a count it has so many rows.
    """
    request = table.request
    keys: dict[str, Any] = {**table.source.keys(), **change.keys}
    family = table.source.encoding.family
    options: dict[str, Any] = {"arithmetic": request.arithmetic, "dtype": dtype or request.dtype}
    if family is Family.ROTARY:
        options["layout"] = keys.pop("layout", request.layout)
        if options["layout"] == "complex" and options["dtype"] not in COMPLEX:
            options["dtype"] = "float32"
    if family.pairs:
        options["form"] = request.form
    try:
        recipe = Recipe.bind(table.source.encoding.name, **{k: v for k, v in keys.items() if v is not None})
        made = Table.make(recipe, positions=_moved(table.part, change, count), **options)
        if [a.name for a in made.arrays] != [a.name for a in table.arrays] and table.recipe is None:
            made = made.only([a.name for a in table.arrays])
        if change.waves is None or not isinstance(made.plan, Waves):
            return None if change.waves else made
        made = Table(made.source.with_plan(change.waves(made.plan)), made.extent, made.request, made.names)
        made.recipe = None
        return made
    except PecliError:
        return None


def _moved(positions: Positions, change: Change, count: int | None) -> Positions:
    by, step = change.shift, change.step
    if not by and step == 1 and count is None:
        return positions
    if positions.start is not None and positions.step is not None:
        return Positions.arange(count or positions.count, positions.start * step + by, positions.step * step)
    return Positions.listed([p * step + by for p in positions])
