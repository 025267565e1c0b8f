"""Small float64 tables for a board."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from pecli.encodings.recipe import Recipe
from pecli.encodings.shared.lessons import (
    COLUMNS,
    Exercise,
)
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
    return Table.make(recipe, length=min(exercise.length or 5, COLUMNS), dtype="float64")
