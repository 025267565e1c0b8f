"""FIRE on the board: the distance as a share of the query's position, and what the network makes of it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from pecli.declare.board import Item, Step, exact_text, short
from pecli.encodings.shared.lessons import Exercise, matrix_table
from pecli.numbers.positions import fraction_text as text_of


def steps(exercise: Exercise) -> list[Step]:
    """Work out the shares of one query's distances, and the network's line through them."""
    at = exercise.places()
    arrays = exercise.arrays(at)
    values = exercise.recipe.values
    c, threshold, epsilon = (float(str(values[name])) for name in ("c", "threshold", "epsilon"))
    if values["weights"] is not None:  # its file may hold other numbers
        return [Step("x of each query and key", [matrix_table(at, arrays["x"])]), *_network(exercise, at)]
    last = at[-1]
    below = f"(ln({short(c)} x {short(max(threshold, float(last)))} + 1) + {short(epsilon)})"
    lines: list[Item] = [
        f"query {text_of(last)}, key {text_of(key)}: ln({short(c)} x {text_of(abs(last - key))} + 1) / {below} = "
        f"{short(x)}"
        for key, x in zip(at, arrays["x"][-1].tolist(), strict=True)
    ]
    limit = exact_text(threshold)
    return [
        Step(
            "the logarithm of the distance, as a share of that of the query's position",
            [f"a query before {limit} counts as {limit}; from there on x depends on the query as well", *lines],
        ),
        Step("x of each query and key", [matrix_table(at, arrays["x"])]),
        *_network(exercise, at),
    ]


def _network(exercise: Exercise, at: list[Fraction]) -> list[Step]:
    """Return what the network makes of x in head 0: a line between the bends of its units."""
    arrays = exercise.arrays(at)
    if "bias" not in arrays:
        return []
    trained = {fixed.name: np.asarray(fixed.values(0, fixed.shape[0])) for fixed in exercise.recipe.plan.fixed}
    first, start, second, bias = (trained[name] for name in ("weight1", "bias1", "weight2", "bias2"))
    lines: list[Item] = []
    for key, x, found in zip(at, arrays["x"][-1].tolist(), arrays["bias"][0, -1].tolist(), strict=True):
        active = first * x + start > 0
        slope = float(second[0][active] @ first[active])
        offset = float(second[0][active] @ start[active] + bias[0])
        above = f"{int(active.sum())} of {len(first)} units are above 0"
        lines.append(f"key {text_of(key)}: {above}: {short(slope)} x {short(x)} + {short(offset)} = {short(found)}")
    heads = len(bias)
    count = (
        f"{len(first)} + {len(first)} + {heads} x {len(first)} + {heads} + 2 = {(2 + heads) * len(first) + heads + 2}"
    )
    return [
        Step(
            "head 0 of the network, W2 max(0, W1 x + b1) + b2",
            ["units above 0 add up to a line: (the sum of their W2 W1) x + (the sum of their W2 b1, and b2)", *lines],
        ),
        Step("the bias of head 0, added to the logits", [matrix_table(at, arrays["bias"][0])]),
        Step("what is trained", [f"W1, b1, W2, b2, c and L: {count} numbers"]),
    ]
