"""Rotations on the board: the lesson of the family, and how a scaling changes frequencies."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from pecli.declare.board import Step
from pecli.declare.plan import Waves
from pecli.encodings.rotary.rope import rotary_width
from pecli.encodings.rotary.rope.scaling import PlainSeries
from pecli.encodings.rotary.rope.scalings import scaling_of
from pecli.encodings.shared.lessons import PAIRS, Exercise

DEFAULT = (1, 3)


def steps(exercise: Exercise) -> list[Step]:
    """Work out rotations; of a scaled series also where its frequencies come from."""
    assert exercise.family is not None
    found = exercise.family(exercise)
    values = exercise.recipe.values
    scaling = scaling_of(str(values["scaling"]))
    if scaling.board is None or values["frequencies"] is not None:
        return found
    rows = 1 + max(0, *(int(p) for p in exercise.at(DEFAULT)))
    recipe = exercise.resolved(max(exercise.length or 0, rows)).recipe
    given, plan = recipe.values, recipe.plan
    assert isinstance(plan, Waves)
    dim = int(str(given["dim"]))
    rotary = None if given["rotary_dim"] is None else int(str(given["rotary_dim"]))
    partial = None if given["partial"] is None else Decimal(str(given["partial"]))
    series = PlainSeries(dim, rotary_width(dim, rotary, partial, scaling), Decimal(str(given["base"])))
    last = len(plan.frequencies) - 1
    pairs = sorted({round(k * last / (PAIRS - 1)) for k in range(PAIRS)})
    first, *rest = found
    return [replace(first, items=[*first.items, *scaling.board(series, given, pairs)]), *rest]
