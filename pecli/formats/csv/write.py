"""Writing csv: a row for each position, a column for each value, shortest decimals."""

from __future__ import annotations

import csv
import io
import math

from pecli.declare.tabular import Tabular
from pecli.errors import BadParameter
from pecli.formats.common.columns import TableColumns, row_axes, wide_names
from pecli.formats.common.decimals import shortest
from pecli.formats.common.format import Draft, WriteOptions
from pecli.formats.common.output import Output
from pecli.formats.common.pump import Buffer, Task, fill, in_turn, tasks
from pecli.formats.common.stored import MOST_ARRAYS
from pecli.formats.csv.types import written_name
from pecli.numbers.types import real_pairs

BLOCK_BYTES = 1 << 17  # a value takes sixteen times its size as Python's text


def draft(table: Tabular, options: WriteOptions) -> Draft:
    """Write line after line."""
    columns = TableColumns(table, "csv")
    count = sum(math.prod(row_axes(array)) for array in columns.arrays) + len(columns.keys)
    if count > MOST_ARRAYS:
        rule = f"holds at most {MOST_ARRAYS:,} columns, and this table has {count:,}: use npy or hdf5 (.h5)"
        raise BadParameter("format", "csv", rule)
    values = sum(array.rows * max(1, array.row_bytes // 16) for array in columns.arrays)
    return Draft(lambda output: _write(columns, output, options), None, 2 * values)


def _write(columns: TableColumns, output: Output, options: WriteOptions) -> None:
    names = [name for name, _ in columns.keys]
    for array in columns.arrays:
        names += wide_names(array)
    head = io.StringIO()
    csv.writer(head, lineterminator="\n").writerow(map(written_name, names))
    output.write(head.getvalue().encode())

    def make(task: Task, buffer: Buffer) -> tuple[bytes, int]:
        values = fill(columns.table, task, buffer)
        cells = [shortest(column) for column in columns.numbers(task.start, task.stop)]
        rows = task.stop - task.start
        blocks = [[[text] for text in column] for column in cells]
        for array in columns.arrays:
            texts = shortest(real_pairs(values[array.name]))
            width = len(texts) // rows
            blocks.append([texts[row * width : (row + 1) * width] for row in range(rows)])
        lines = [",".join([cell for block in blocks for cell in block[row]]) for row in range(rows)]
        return ("\n".join(lines) + "\n").encode(), sum(v.nbytes for v in values.values())

    with in_turn(tasks(columns.arrays, BLOCK_BYTES), make, options, BLOCK_BYTES, 2) as results:
        for text in results:
            output.write(text)
