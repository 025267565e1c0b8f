"""The bias of an image window on the board: the entry of two patches, and the number that stands there."""

from __future__ import annotations

import math
from dataclasses import replace

from pecli.declare.board import Item, Step, short
from pecli.encodings.shared.lessons import Exercise


def steps(exercise: Exercise) -> list[Step]:
    """Work out the entries of one query, before the matrices."""
    values = exercise.recipe.values
    arrays = replace(exercise, asked=None).whole()  # the query is the last patch, whatever positions were asked for
    grid = values["grid"]
    assert isinstance(grid, tuple)
    height, width = int(str(grid[0])), int(str(grid[1]))
    first = int(bool(values["cls"]))  # the class token stands before the patches
    index = arrays["index"]
    query = height * width - 1
    y, x = divmod(query, width)
    lines: list[Item] = [f"the query is patch {query}, at row {y} and column {x} of {height} x {width}"]
    for key in range(min(height * width, 4)):
        down, right = y - key // width, x - key % width
        entry = int(index[query + first, key + first])
        line = f"({down} + {height - 1}) x {2 * width - 1} + {right} + {width - 1} = {entry}"
        if "bias" in arrays:
            bias = float(arrays["bias"][0, query + first, key + first])
            line += f", bias {short(bias)} in head 0, row {entry} of the table"
        lines.append(f"key {key}: dy = {down}, dx = {right}: {line}")
    if values["version"] == "2" and min(height, width) > 1:
        size = math.log2(1 + 8 * y / (height - 1)) / 3
        lines.append(
            f"version 2: dy = {y} of {height} has the coordinate log2(1 + 8 x {y}/{height - 1}) / 3 = {short(size)}"
        )
    return [Step("the entry of two patches, (dy + h - 1)(2w - 1) + dx + w - 1", lines), *exercise.of_family()]
