"""The rows of any other table on the board."""

from __future__ import annotations

from collections.abc import Iterator

from pecli.declare.board import Step
from pecli.encodings.shared.lessons import COLUMNS, Exercise, rows_table
from pecli.lessons.small import small_table, trained_step


def steps(exercise: Exercise) -> Iterator[Step]:
    """Show the first rows of every array: for encodings without an example of their own."""
    table = small_table(exercise)
    for array in table.arrays:
        if not array.axes or not array.bytes:
            continue
        shown = min(array.rows, COLUMNS)
        values = table.read_rows([array.name], 0, shown)[array.name].reshape(shown, -1)
        axis = array.axes[array.lead - 1]
        where = table.position(0, min(shown, table.part.count)) if axis == "position" else None
        names = [str(i) for i in (range(shown) if where is None or len(where) < shown else where.tolist())]
        across = array.axes[-1] if array.row_shape else "value"
        sides = " x ".join(map(str, array.shape))
        rows_word = f"a row for each {' and '.join(array.axes[: array.lead])}" if axis != "row" else "its rows"
        yield Step(f"{array.name} ({sides}), {rows_word}", [rows_table(f"{axis} \\ {across}", names, values)])
    yield from trained_step(table)
