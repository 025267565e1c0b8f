"""Vectors of two axes on the board: which rows two patches meet, and what they add to a score."""

from __future__ import annotations

from pecli.declare.board import Item, Step, joined, three
from pecli.encodings.shared.lessons import Exercise
from pecli.encodings.shared.products import QUERY, product


def steps(exercise: Exercise) -> list[Step]:
    """Work out the rows of a pair of patches and their products with the query, with the tables between."""
    values = exercise.recipe.values
    arrays = exercise.whole()
    grid = values["grid"]
    assert isinstance(grid, tuple)
    width = int(str(grid[1]))
    query = len(arrays["index_height"]) * width - 1
    down, right = divmod(query, width)
    lines: list[Item] = [f"patch {query} stands at row {down}, column {right}; patch 0 at row 0, column 0"]
    total, parts = 0.0, []
    for name, place in (("height", down), ("width", right)):
        index = arrays[f"index_{name}"]
        row, keys = int(index[place, 0]), index.shape[1]
        if len(index) == keys:
            lines.append(f"{name}: {place} - (0 - ({keys} - 1)) = {row}: row {row} of vector_{name}")
        else:
            lines.append(f"{name}: row {row} of vector_{name}; queries and keys stand on different grids")
        r = arrays[f"vector_{name}"][row].tolist()[: len(QUERY)]
        text, value = product(QUERY[: len(r)], r)
        parts.append(f"q . r_{name} = {text}")
        total += value
    q = QUERY[: arrays["vector_height"].shape[1]]
    scores: list[Item] = [f"q = {joined(q)}", *parts, f"both are added to q . k / sqrt(d): {three(total)}"]
    vectors, rest = exercise.of_family()[:2], exercise.of_family()[2:]  # the tables; the rows of them, the count
    indices, count = rest[:2], rest[2:]
    return [
        Step("the rows that two patches meet", lines),
        *indices,
        *vectors,
        Step("what they add to the score", scores),
        *count,
    ]
