"""Biases on the board: the matrices of the first heads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.declare.board import Item, Step
from pecli.declare.plan import Bias
from pecli.encodings.shared.lessons import Exercise, matrix_table
from pecli.lessons.small import trained_step
from pecli.numbers.positions import Positions
from pecli.tables.table import Table


def steps(exercise: Exercise) -> Iterator[Step]:
    """Show the matrices of any other bias, and that they depend on the distance alone where they do."""
    recipe = exercise.recipe
    if recipe.rows is not None and exercise.asked is None:
        at = [Fraction(i) for i in range(recipe.rows)]
        table = Table.make(recipe, dtype="float64")
    else:
        at = exercise.places()
        table = Table.make(recipe, positions=Positions.listed(at), dtype="float64")
    plan = table.plan
    assert isinstance(plan, Bias)
    for array in table.arrays:
        if len(array.shape) == 3:
            values = table.read(array.name)
            for head in range(min(2, len(values))):
                title = f"{array.name} of head {head}, added to the logits"
                yield Step(title, [matrix_table(at, values[head]), *_distance_line(plan, values[head], at)])
        elif len(array.shape) == 2 and array.shape[0] == array.shape[1] == len(at):
            yield Step(f"{array.name}, for each query and key", [matrix_table(at, table.read(array.name))])
    yield from trained_step(table)


def _distance_line(plan: Bias, values: NDArray[Any], at: Sequence[Fraction]) -> list[Item]:
    if plan.window is not None or len(at) < 3 or {b - a for a, b in pairwise(at)} != {at[1] - at[0]}:
        return []
    if np.array_equal(values[1:, 1:], values[:-1, :-1]):
        if plan.by == "distance":
            return ["equal along every diagonal: it depends on key - query alone"]
        return ["equal along the diagonals of these rows; in longer tables it depends on the query as well"]
    return ["not equal along the diagonals: the same distance has other values elsewhere"]
