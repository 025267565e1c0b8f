"""A gated table on the board: the content's gate, and the row that it turns up or down."""

from __future__ import annotations

import math

from pecli.declare.board import Item, Step, joined, three
from pecli.declare.plan import Conditional
from pecli.encodings.shared.lessons import Exercise, by_position


def steps(exercise: Exercise) -> list[Step]:
    """Work out each row's gate, and the gated row; content from a file is not shown again."""
    plan, values = exercise.recipe.plan, exercise.recipe.values
    assert isinstance(plan, Conditional)
    at = exercise.at(range(4))
    content = exercise.content(plan.content, at)
    base = exercise.content(str(plan.base), at, dim=values["dim"])
    if content is None or base is None or values["gate"] != "scalar":
        return exercise.of_family()
    pe = exercise.arrays(at)["pe"]
    ((weight,), (bias,)) = plan.fit(content.shape[1], base.shape[1])
    gates: list[Item] = []
    products: list[Item] = []
    for position, row, plain, gated in zip(at, content.tolist(), base.tolist(), pe.tolist(), strict=True):
        z = sum(a * b for a, b in zip(row, weight.tolist(), strict=True)) + float(bias)
        terms = " + ".join(f"{three(a)} x {three(b)}" for a, b in zip(row, weight.tolist(), strict=True))
        gate = 1 / (1 + math.exp(-z))
        gates += [
            f"p = {position}: z = {terms} + {three(float(bias))} = {three(z)}",
            f"p = {position}: 1 / (1 + exp(-({three(z)}))) = {three(gate)}",
        ]
        products.append(f"p = {position}: {three(gate)} x {joined(plain[:4])} = {joined(gated[:4])}")
    return [
        Step("the content x of each position", [by_position(at, content)]),
        Step("its gate, the sigmoid of z = x w + b", gates),
        Step("the gate times the row of the absolute table", [*products, by_position(at, pe)]),
        Step("what is trained", [f"w and b: {len(weight)} + 1 = {len(weight) + 1} numbers"]),
    ]
