"""Rotations on the board: the lesson of the family, and how a scaling changes frequencies."""

from __future__ import annotations

from dataclasses import replace

from pecli.declare.board import Step
from pecli.declare.plan import Waves
from pecli.encodings.rotary.rope import series_of
from pecli.encodings.rotary.rope.scalings import scaling_of
from pecli.encodings.shared.lessons import Exercise
from pecli.encodings.shared.wave_lessons import PAIRS

DEFAULT = (1, 3)


def steps(exercise: Exercise) -> list[Step]:
    """Work out rotations; of a scaled series also where its frequencies come from."""
    values = exercise.recipe.values
    if values["frequencies"] is not None:
        return exercise.of_family()
    scaling, series = scaling_of(str(values["scaling"])), series_of(values)
    found = exercise.of_family(width=series.dim if scaling.odd_heads else series.width)
    if scaling.board is None:
        return found
    rows = 1 + max(0, *(int(p) for p in exercise.at(DEFAULT)))
    recipe = exercise.resolved(max(exercise.length or 0, rows)).recipe
    given, plan = recipe.values, recipe.plan
    assert isinstance(plan, Waves)
    last = len(plan.frequencies) - 1
    pairs = sorted({round(k * last / (PAIRS - 1)) for k in range(PAIRS)})
    first, *rest = found
    return [replace(first, items=[*first.items, *scaling.board(series_of(given), given, pairs)]), *rest]
