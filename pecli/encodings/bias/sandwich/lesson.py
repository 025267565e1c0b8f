"""Sandwich on the board: products of sinusoidal rows, one row of the bias, its matrix."""

from __future__ import annotations

import math

from pecli.declare.board import Step, short
from pecli.encodings.shared.lessons import Exercise, matrix_table, one_row

SHOWN = 4  # frequencies that fit a board


def steps(exercise: Exercise) -> list[Step]:
    """Work out the sum of cosines."""
    at = exercise.places()
    recipe = exercise.recipe
    bias = exercise.arrays(at)["bias"]
    width, base = int(str(recipe.values["width"])), float(str(recipe.values["base"]))
    half, heads = width // 2, len(bias)
    frequencies = [base ** (-2 * (k + 1) / width) for k in range(half)]
    scale = 8 / heads

    def cell(distance: float) -> str:
        total = sum(math.cos(distance * w) for w in frequencies)
        return f"(sum of {half} cosines = {total:.12g}, less {half}) / {short(scale)}"

    shown = [f"w_{k + 1}: {short(base)}^(-2 x {k + 1}/{width}) = {short(w)}" for k, w in enumerate(frequencies[:SHOWN])]
    more = [f"and so on to w_{half}"] if half > SHOWN else []
    far = float(at[len(at) // 2] - at[0])
    cosines = [f"cos({short(far)} x {short(w)})" for w in frequencies[:SHOWN]]
    total = short(sum(math.cos(far * w) for w in frequencies[:SHOWN]))
    return [
        Step("the frequencies of a sinusoid", [*shown, *more]),
        Step(
            "the product of two sinusoidal rows is a sum of cosines of their distance",
            [
                "sin a sin b + cos a cos b = cos(a - b), pair by pair; at distance 0 every cosine is 1",
                f"at distance {short(far)}: {' + '.join(cosines)} = {total}",
                *more,
            ],
        ),
        Step(f"one row of head 0, divided by 8h/H = {short(scale)} (h = 1)", one_row(at, bias[0], cell)),
        Step("the matrix of head 0, added to the logits", [matrix_table(at, bias[0])]),
    ]
