"""Lessons of families, for encodings that have none of their own: waves, biases, and the rows of any other table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.declare.board import Item, Step
from pecli.declare.plan import Bias, Conditional, Waves
from pecli.encodings.recipe import Recipe
from pecli.encodings.shared import lessons as shared
from pecli.encodings.shared import wave_lessons
from pecli.encodings.shared.lessons import COLUMNS, Exercise
from pecli.encodings.shared.wave_lessons import PAIRS
from pecli.errors import BadRecipe
from pecli.inspect.facts import formula_value
from pecli.numbers.positions import Positions
from pecli.numbers.positions import fraction_text as text_of
from pecli.tables.table import Table


def waves(exercise: Exercise) -> Iterator[Step]:
    """Work out any other table of sines and cosines: frequencies, coordinates, angles, rows."""
    plan = exercise.recipe.plan
    assert isinstance(plan, Waves)
    at = exercise.at(wave_lessons.far_apart(plan))
    pairs = wave_lessons.pairs_of(plan, max(2, PAIRS // max(1, len(plan.bands))))
    yield wave_lessons.frequency_step(plan, pairs, exercise.frequency)
    on_grid = plan.axes and plan.prefix <= min(at)
    if on_grid:
        yield wave_lessons.places_step(plan, at, exercise.coordinate)
    if on_grid or not plan.axes:
        what = "coordinate" if plan.axes else "position"
        yield Step(f"angles, {what} times frequency", [wave_lessons.angle_table(plan, pairs, at)])
    values = exercise.arrays(at)["pe"]
    if (on_grid or not plan.axes) and plan.magnitude == 1:
        last = len(at) - 1
        name, where = text_of(at[last]), wave_lessons.coordinates(plan, at)[last]
        yield Step(
            f"sines and cosines of the angles, at position {name}",
            wave_lessons.wave_lines(pairs, where, name, values[last].tolist()),
        )
    yield Step("one row for each position", [shared.by_position(at, values)])


def biases(exercise: Exercise) -> Iterator[Step]:
    """Show the matrix of the first head of any other bias, whether it depends on the distance alone, and its index."""
    recipe = exercise.recipe
    if recipe.rows is not None and exercise.asked is None:
        at = [Fraction(i) for i in range(recipe.rows)]
        table = Table.make(recipe, dtype="float64")
    else:
        at = exercise.places()
        table = Table.make(recipe, positions=Positions.listed(at), dtype="float64")
    plan = table.plan
    assert isinstance(plan, Bias)
    for array in sorted(table.arrays, key=lambda array: len(array.shape)):  # an index before what it points to
        if len(array.shape) == 3:
            first = table.read(array.name)[0]
            title = f"{array.name} of head 0, added to the logits"
            yield Step(title, [shared.matrix_table(at, first), *_distance_line(plan, first, at)])
        elif len(array.shape) == 2 and array.shape[0] == array.shape[1] == len(at):
            yield Step(f"{array.name}, for each query and key", [shared.matrix_table(at, table.read(array.name))])
    yield from trained_step(table)


def _distance_line(plan: Bias, values: NDArray[Any], at: Sequence[Fraction]) -> list[Item]:
    if plan.window is not None or len(at) < 3 or {b - a for a, b in pairwise(at)} != {at[1] - at[0]}:
        return []
    if np.array_equal(values[1:, 1:], values[:-1, :-1]):
        if plan.by == "distance":
            return ["equal along every diagonal: it depends on key - query alone"]
        return ["equal along the diagonals of these rows; in longer tables it depends on the query as well"]
    return ["not equal along the diagonals: the same distance has other values elsewhere"]


def rows(exercise: Exercise) -> Iterator[Step]:
    """Show the first rows of every array: for encodings without an example of their own."""
    table = small_table(exercise)
    for array in table.arrays:
        if not array.axes or not array.bytes:
            continue
        shown = min(array.rows, COLUMNS)
        values = table.read_rows([array.name], 0, shown)[array.name].reshape(shown, -1)
        axis = array.axes[array.lead - 1]
        where = table.position(0, min(shown, table.part.count)) if axis == "position" else None
        names = [str(i) for i in (range(shown) if where is None or len(where) < shown else where.tolist())]
        across = array.axes[-1] if array.row_shape else "value"
        sides = " x ".join(map(str, array.shape))
        rows_word = f"a row for each {' and '.join(array.axes[: array.lead])}" if axis != "row" else "its rows"
        yield Step(f"{array.name} ({sides}), {rows_word}", [shared.rows_table(f"{axis} \\ {across}", names, values)])
    yield from trained_step(table)


def table_at(recipe: Recipe, at: Sequence[Fraction], length: int | None = None) -> Table:
    """Return the float64 table of these positions; what depends on a whole table is that of one of `length` rows."""
    if recipe.open_parameters:
        last = max(int(max(at)), 0)
        rows = max(length or 0, last + 1)
        recipe = recipe.resolve(length=rows, last=rows - 1, whole=True)
    return Table.make(recipe, positions=Positions.listed(list(at)), dtype="float64")


def small_table(exercise: Exercise) -> Table:
    """Return a small table of any encoding: the positions asked for, all that it has, or a few rows."""
    recipe = exercise.recipe
    if exercise.asked is not None:
        return table_at(recipe, exercise.asked, exercise.length)
    if recipe.rows is not None:
        return Table.make(recipe, dtype="float64")
    if not recipe.open_parameters and isinstance(recipe.plan, Conditional):
        try:
            return Table.make(recipe, dtype="float64")  # as many rows as its content has
        except BadRecipe:
            return Table.make(recipe, length=exercise.length or shared.LENGTH, dtype="float64")
    return Table.make(recipe, length=min(exercise.length or shared.LENGTH, COLUMNS), dtype="float64")


def trained_step(table: Table) -> Iterator[Step]:
    """Yield how many values are trained: of the plan's own arrays, or else by the declared formula."""
    held = [fixed for fixed in table.plan.fixed if fixed.role in ("parameter", "vector")]
    formula = table.source.encoding.facts.parameters
    if held:
        said = ", ".join(f"{fixed.name} {' x '.join(map(str, fixed.shape))}" for fixed in held)
        count = sum(prod(fixed.shape) for fixed in held)
        line = f"{said}: {count:,} numbers"
    else:
        count = formula_value(formula, table.source.values) if formula != "0" else 0
        line = f"{formula} = {count:,} numbers"
    if count:
        yield Step("what is trained", [line])
