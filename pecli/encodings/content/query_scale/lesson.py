"""A factor on the queries on the board: how it grows with the position."""

from __future__ import annotations

from pecli.declare.board import Step, short
from pecli.encodings.shared.lessons import Exercise
from pecli.numbers.printing import figure


def steps(exercise: Exercise) -> list[Step]:
    """Work out the factor at positions where it changes."""
    values = exercise.recipe.values
    kind, length = values["kind"], int(str(values["length"]))
    beta = short(float(str(values["beta"])))
    first = length if kind != "llama4" else length - 1
    at = exercise.at(sorted({0, first - 1, first, 2 * length, 10 * length} - {-1}))
    found = exercise.arrays(at)["pe"][:, 0].tolist()
    lines = []
    for p, value in zip(at, found, strict=True):
        position = int(p)
        if kind == "log-n":
            said = f"max(1, ln({position} + 1) / ln {length})"
        else:
            over = f"{position} + 1" if kind == "llama4" else str(position)
            level = (position + (kind == "llama4")) // length
            said = f"1 + {beta} x ln(1 + floor(({over}) / {length})) = 1 + {beta} x ln({1 + level})"
        lines.append(f"p = {position}: {said} = {figure(value)}")
    why = (
        "the softmax over n keys is flatter the more keys there are; logits that grow with ln n keep its largest weight"
    )
    return [Step("the factor of a query at position p", lines), Step("why", [why])]
