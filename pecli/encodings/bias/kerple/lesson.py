"""KERPLE on the board: two numbers per head, one row, its matrix."""

from __future__ import annotations

from pecli.declare.board import SmallTable, Step, short
from pecli.encodings.shared.lessons import Exercise, matrix_table, one_row


def steps(exercise: Exercise) -> list[Step]:
    """Work out the kernel of the distance."""
    at = exercise.places()
    arrays = exercise.arrays(at)
    bias = arrays["bias"]
    first, second = (exercise.parameter(name) for name in ("r1", "r2"))
    kind = exercise.recipe.values["kind"]
    heads = SmallTable(
        ["head", "r1", "r2"], [[str(h), *pair] for h, pair in enumerate(zip(first, second, strict=True))]
    )
    r1, r2 = short(first[0]), short(second[0])

    def cell(distance: float) -> str:
        d = short(abs(distance))
        return f"-{r1} x ln(1 + {r2} x {d})" if kind == "log" else f"-{r1} x {d}^{r2}"

    return [
        Step("two trained numbers for each head", [heads]),
        Step("one row of head 0", one_row(at, bias[0], cell)),
        Step("the matrix of head 0, added to the logits", [matrix_table(at, bias[0])]),
    ]
