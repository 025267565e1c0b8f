"""Sines and cosines on the board: frequencies, coordinates, angles, rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pecli.declare.board import SmallTable, Step
from pecli.declare.plan import Waves
from pecli.encodings.shared.lessons import (
    PAIRS,
    Exercise,
    Pair,
    angle_table,
    by_position,
    coordinates,
    frequency_step,
    pairs_of,
)
from pecli.numbers.positions import fraction_text as text_of


def steps(exercise: Exercise) -> Iterator[Step]:
    """Work out any other table of sines and cosines: frequencies, coordinates, angles, rows."""
    plan = exercise.recipe.plan
    assert isinstance(plan, Waves)
    at = exercise.at(range(min(4, plan.rows or 4)))
    pairs = pairs_of(plan, max(1, PAIRS // max(1, len(plan.bands))))
    yield frequency_step(plan, pairs)
    if plan.axes and plan.prefix == 0:
        names = [f"axis {a}" for a in range(len(plan.axes))]
        rows: list[list[str | float]] = [[text_of(p), *c] for p, c in zip(at, coordinates(plan, at), strict=True)]
        yield Step("coordinates of each position", [SmallTable(["position", *names], rows)])
    if plan.prefix == 0 and not any(p < 0 for p in at):
        yield Step("angles, coordinate times frequency", [angle_table(plan, pairs, at)])
    values = exercise.arrays(at)["pe"]
    yield Step("one row for each position", [*_filling(plan, pairs), by_position(at, values)])


def _filling(plan: Waves, pairs: Sequence[Pair]) -> list[str]:
    """Return which columns hold the sine and the cosine of a pair."""
    lines = []
    for pair in pairs[:3]:
        parts = [f"{n} in column {c}" for n, c in (("sin", pair.sin), ("cos", pair.cos)) if c is not None]
        if plan.form == "complex":
            parts = [f"cos + i sin in column {pair.cos}"]
        if parts:
            where = f"axis {pair.axis}, " if any(p.axis for p in pairs) else ""
            lines.append(f"{where}pair {pair.index}: {', '.join(parts)}")
    return lines
