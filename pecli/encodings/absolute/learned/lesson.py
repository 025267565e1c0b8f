"""Rows of a trained table at its start, one added to a token, and how many values are trained."""

from __future__ import annotations

import numpy as np

from pecli.declare.board import SmallTable, Step
from pecli.encodings.shared.lessons import Exercise, by_position
from pecli.numbers.positions import fraction_text as text_of

TOKEN = (0.6, -0.2, 0.9, 0.4)  # stands for the embedding of a word


def steps(exercise: Exercise) -> list[Step]:
    """Show rows of a trained table at its start, one added to a token, and how many values are trained."""
    exercise = exercise.resolved(exercise.length or 8)
    values = exercise.recipe.values
    dim, offset = int(str(values["dim"])), int(str(values["rows_offset"]))
    count = int(str(values["max_len"])) + offset
    at = exercise.at(range(min(3, count - offset)))
    table = exercise.arrays(at)["pe"]
    k = min(1, len(at) - 1)
    shown = min(dim, len(TOKEN))
    token, position = np.array(TOKEN[:shown]), table[k][:shown]
    more = ["…"] if dim > shown else []
    names = ("embedding of the token", f"position {text_of(at[k])}", "their sum, the input")
    sums: list[list[str | float]] = []
    for name, vector in zip(names, (token, position, token + position), strict=True):
        sums.append([name, *map(float, vector), *more])
    first = f" (position p has row p + {offset})" if offset else ""
    how = f"{values['init']}, seed {values['seed']}" if values["init"] != "zeros" else "zeros"
    return [
        Step(
            "a trained vector for each position",
            [f"{count:,} rows{first} x {dim:,} columns = {count * dim:,} parameters"],
        ),
        Step(f"its rows before training ({how})", [by_position(at, table)]),
        Step(
            "added to a token",
            [
                SmallTable(["", *map(str, range(shown)), *more], sums),
                f"training moves all {count:,} rows; position {count - offset} has none, and cannot be asked for",
            ],
        ),
    ]
