"""The position over the last one, on the board."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from pecli.declare.board import Step, short, three
from pecli.encodings.shared.lessons import COLUMNS, Exercise, by_position
from pecli.numbers.positions import fraction_text as text_of


def steps(exercise: Exercise) -> Iterator[Step]:
    """Work out p / (L - 1)."""
    exercise = exercise.resolved(exercise.length or 10)
    values = exercise.recipe.values
    last = None if values["max_len"] is None else int(str(values["max_len"])) - 1
    ends = 9 if last is None else last
    at = exercise.at(sorted({0, (ends + 1) // 2, ends}))
    table = exercise.arrays(at)["pe"]
    if last is None:
        lines = [f"PE({text_of(p)}) = {text_of(p)} in every column" for p in at]
    else:
        lines = [f"PE({text_of(p)}) = {text_of(p)} / ({last + 1} - 1) = {three(float(p) / last)}" for p in at]
    yield Step("the position over the last one", lines)
    scales, dim = values["scales"], int(str(values["dim"]))
    if isinstance(scales, Decimal):
        lines = [
            f"column {i}: ({i}/{dim - 1})^{short(float(scales))} = {three((i / (dim - 1)) ** float(scales))}"
            for i in range(min(dim, COLUMNS))
        ]
        yield Step("a scale for each column", lines)
    yield Step("one row for each position", [by_position(at, table)])
