"""ALiBi on the board: slopes, one row, its matrix, what the softmax makes of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from pecli.encodings.shared.lessons import Exercise, matrix_table
from pecli.numbers.positions import fraction_text as text_of
from pecli.spec.board import Item, SmallTable, Step, exact_text
from pecli.spec.plans import Bias

HEADS = 16  # slopes that fit a board


def steps(exercise: Exercise) -> list[Step]:
    """Work out ALiBi: slopes, one row of head 0, its matrix, what the softmax makes of it."""
    recipe, plan = exercise.recipe, exercise.recipe.plan
    assert isinstance(plan, Bias)
    at = exercise.places()
    assert plan.slopes is not None
    exact = list(plan.slopes())
    bias = exercise.arrays(at)["bias"]
    query = len(at) // 2
    how = recipe.keys().get("bias", "symmetric")
    cells = [_cell(how, exact[0], at, query, key, float(bias[0, query, key])) for key in range(len(at))]
    return [
        Step("a slope for each head", _slope_lines(exact)),
        Step(f"one row, the query at position {text_of(at[query])}, head 0 (m = {exact_text(exact[0])})", cells),
        Step("the matrix of head 0, added to the logits q_i . k_j / sqrt(d)", [matrix_table(at, bias[0])]),
        Step("what it leaves of equal logits, the softmax of that row", _softmax(how, at, bias, query)),
    ]


def _slope_lines(exact: Sequence[Fraction]) -> list[str]:
    lines = []
    for head, slope in enumerate(exact[:HEADS]):
        power = power_of_two(slope)
        lines.append(f"head {head}: m_{head + 1} = {f'2^({power}) = ' if power is not None else ''}{exact_text(slope)}")
    if len(exact) > HEADS:
        lines.append(f".. {len(exact)} heads in all; pecli inspect --json has every slope")
    return lines


def power_of_two(slope: Fraction) -> Fraction | None:
    """Return the exponent x with slope = 2^x, a fraction of small numbers; None if there is none."""
    if slope <= 0:
        return None
    exponent = math.log2(float(slope))
    simple = Fraction(exponent).limit_denominator(256)
    return simple if abs(float(simple) - exponent) < 1e-12 else None


def _cell(how: str, slope: Fraction, at: Sequence[Fraction], query: int, key: int, value: float) -> str:
    m, i, j, last = exact_text(slope), text_of(at[query]), text_of(at[key]), text_of(at[-1])
    if value == -np.inf:
        return f"key {j}: after the query, -inf"
    if how == "key-position":
        return f"key {j}: {m} x {j} = {exact_text(value)}"
    if how == "last-key":
        return f"key {j}: {m} x ({j} - {last}) = {exact_text(value)}"
    size = text_of(abs(at[key] - at[query]))
    return f"key {j}: -{m} x |{j} - {i}| = -{m} x {size} = {exact_text(value)}"


def _softmax(how: str, at: Sequence[Fraction], bias: NDArray[np.float64], query: int) -> list[Item]:
    """Return the weights; a bias by the key's position alone is only meant under a causal mask."""
    if how == "symmetric":
        return [_weights(at, bias[:, query])]
    seen = np.where([key <= at[query] for key in at], bias[:, query], -np.inf)
    return ["keys after the query are masked, as in the decoders that this form is for", _weights(at, seen)]


def _weights(at: Sequence[Fraction], bias: NDArray[np.float64]) -> SmallTable:
    rows: list[list[str | float]] = []
    for head in dict.fromkeys((0, len(bias) - 1)):
        size = np.exp(bias[head] - bias[head].max())
        rows.append([f"head {head}", *(size / size.sum()).tolist()])
    return SmallTable(["key", *map(text_of, at)], rows)
