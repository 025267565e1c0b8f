"""The Gaussian kernel on the board: one row, its matrix, and what it does to logits."""

from __future__ import annotations

from collections.abc import Iterator

from pecli.declare.board import Step, short
from pecli.encodings.shared.lessons import Exercise, matrix_table, one_row


def steps(exercise: Exercise) -> Iterator[Step]:
    """Work out the weight that falls with the square of the distance."""
    at = exercise.places()
    bias = exercise.arrays(at)["bias"]
    sigma = short(float(exercise.numbers("sigma")[0]))
    multiply = exercise.recipe.values["apply"] == "multiply"

    def cell(distance: float) -> str:
        exponent = f"-({short(distance)})^2 / (2 x {sigma}^2)"
        return f"exp({exponent})" if multiply else exponent

    what = "multiplies the logits" if multiply else "is added to the logits"
    yield Step(f"one row of head 0, sigma = {sigma}", one_row(at, bias[0], cell))
    yield Step(f"the matrix of head 0, which {what}", [matrix_table(at, bias[0])])
    if multiply and len(at) > 1:
        weight = float(bias[0][0, 1])
        note = "a negative logit is weakened too, and so it grows: multiplied weights are no mask; their logarithm is"
        yield Step("what multiplying does", [note, f"-2 x {short(weight)} = {short(-2 * weight)}"])
