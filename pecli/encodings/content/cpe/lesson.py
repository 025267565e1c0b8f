"""A convolution of the content on the board: one row from its neighbours, and the ends, where zeros stand."""

from __future__ import annotations

from fractions import Fraction

from pecli.declare.board import Item, Step, three
from pecli.declare.plan import Conditional
from pecli.encodings.shared.lessons import Exercise, by_position, rows_table


def steps(exercise: Exercise) -> list[Step]:
    """Work out one channel of a line; a grid, and content from a file, are shown as a table."""
    plan, values = exercise.recipe.plan, exercise.recipe.values
    assert isinstance(plan, Conditional)
    at = exercise.at(range(4))
    last = max(map(int, at))
    rows = [
        Fraction(p) for p in range(min(max(exercise.length or 0, last + 1), last + 2))
    ]  # and one more: its neighbour
    content = exercise.content(plan.content, rows) if values["grid"] is None else None
    if content is None or values["cls"] or values["kernel"] != 3:
        return exercise.of_family()
    pe = exercise.arrays(rows)["pe"][[int(p) for p in at]]
    weight, bias = plan.fit(content.shape[1], content.shape[1])
    column, kernel, start = content[:, 0].tolist(), weight[0].tolist(), float(bias[0])
    lines: list[Item] = []
    for position, found in zip(at, pe[:, 0].tolist(), strict=True):
        p = int(position)
        around = [column[p + shift] if 0 <= p + shift < len(column) else 0.0 for shift in (-1, 0, 1)]
        terms = " + ".join(f"{three(k)} x {three(x)}" for k, x in zip(kernel, around, strict=True))
        own = f"{three(column[p])} + " if values["residual"] else ""
        lines.append(f"p = {p}: {own}{terms} + {three(start)} = {three(found)}")
    trained = f"{content.shape[1]} channels x (3 + 1) = {4 * content.shape[1]} numbers"
    names = [str(channel) for channel in range(min(4, len(weight)))]
    return [
        Step("the content x of each position", [by_position(at, content[[int(p) for p in at]])]),
        Step("a kernel of three for each channel", [rows_table("channel", names, weight[:4]), trained]),
        Step(
            "channel 0 of each row: itself, its neighbours times the kernel, and b",
            [*lines, "before the first row and after the last stands a zero: so a row knows where the border is"],
        ),
        Step("all channels", [by_position(at, pe)]),
    ]
