"""Small float64 tables for a board."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import prod

from pecli.declare.board import Step
from pecli.declare.plan import Conditional
from pecli.encodings.recipe import Recipe
from pecli.encodings.shared.lessons import COLUMNS, LENGTH, Exercise
from pecli.errors import BadRecipe
from pecli.numbers.positions import Positions
from pecli.tables.table import Table


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
            return Table.make(recipe, length=exercise.length or LENGTH, dtype="float64")
    return Table.make(recipe, length=min(exercise.length or LENGTH, COLUMNS), dtype="float64")


def trained_step(table: Table) -> Iterator[Step]:
    """Yield how many values are trained: of the plan's own arrays, or else by the declared formula."""
    from pecli.inspection.facts import formula_value

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
