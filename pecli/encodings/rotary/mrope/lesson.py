"""Streams on the board: the positions of each token, which pair turns with which, and the rotations of rope."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pecli.declare.board import Item, SmallTable, Step, short
from pecli.declare.plan import Waves
from pecli.encodings.recipe import Recipe
from pecli.encodings.rotary.rope.lesson import steps as rotations
from pecli.encodings.shared.lessons import MOST, Exercise
from pecli.encodings.shared.wave_lessons import pairs_of

SAMPLE = "1+1x2x3+1"
"""A token of text, an image of two rows and three columns, a token of text."""
NAMES = ("t", "h", "w")


def steps(exercise: Exercise) -> list[Step]:
    """Work out the positions of a short sequence of text and image, and rotations as rope has them."""
    found = rotations(exercise)
    values, sample = exercise.values, exercise
    if values["sequence"] is None and values["streams"] is None:
        if len(values["sections"]) != len(NAMES):
            return found
        sample = replace(exercise, recipe=Recipe.bind("mrope", **{**exercise.recipe.keys(), "sequence": SAMPLE}))
    rows = sample.recipe.rows or 1
    plan = sample.resolved(rows).recipe.plan
    assert isinstance(plan, Waves)
    names = NAMES if len(plan.axes) == len(NAMES) else tuple(f"stream {s}" for s in range(len(plan.axes)))
    tokens = np.arange(min(rows, MOST))
    places = np.array([[float(axis.multiples[i] * axis.unit) for i in axis.index(tokens)] for axis in plan.axes]).T
    grid = SmallTable(["token", *names], [[token, *row] for token, row in enumerate(places.tolist())], None)
    said = str(values["sequence"] or SAMPLE)
    why = (
        f"sequence {said}: text has one position in all streams; in an image t stays, h and w count its rows and "
        "columns from there; the text after it goes on after the largest position"
    )
    items: list[Item] = [grid] if values["streams"] else [why, grid]
    return [Step("the positions of each token", items), _turning(plan, names, places.tolist()), *found]


def _turning(plan: Waves, names: tuple[str, ...], places: list[list[float]]) -> Step:
    """Return which stream each pair turns with, and the angles of one token whose streams differ."""
    token = max(range(len(places)), key=lambda i: len(set(places[i])))
    lines: list[Item] = []
    for pair in sorted(pairs_of(plan), key=lambda pair: pair.cos or 0)[:MOST]:
        position = places[token][pair.axis]
        product = f"{short(position)} x {short(pair.frequency)} = {short(position * pair.frequency)}"
        lines.append(f"pair {pair.cos} turns with {names[pair.axis]}, of token {token} by: {product}")
    lines.append("text, whose streams agree, is turned as by rope: so the positions 1 and 3 of the steps that follow")
    return Step(f"which stream turns which pair, and the angles of token {token}", lines)
