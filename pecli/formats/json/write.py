"""Writing JSON, row after row."""

from __future__ import annotations

import json
import math

from pecli.declare.tabular import Array, Tabular
from pecli.formats.common.columns import row_axes
from pecli.formats.common.decimals import json_texts
from pecli.formats.common.facts import plain, plain_facts
from pecli.formats.common.format import Draft, WriteOptions
from pecli.formats.common.output import Output
from pecli.formats.common.places import with_positions
from pecli.formats.common.pump import Buffer, Task, fill, in_turn, tasks
from pecli.numbers.types import real_pairs

BLOCK_BYTES = 1 << 17  # a value takes sixteen times its size as Python's text


def draft(table: Tabular, options: WriteOptions) -> Draft:
    """Write row after row."""
    values = sum(array.bytes // 16 for array in table.arrays)
    return Draft(lambda output: _write(with_positions(table), output, options), None, 2 * values)


def _write(table: Tabular, output: Output, options: WriteOptions) -> None:
    recipe = None if table.recipe is None else plain(table.recipe)
    facts = {"recipe": recipe, "metadata": dict(sorted(plain_facts(table.metadata).items()))}
    head = json.dumps(facts, ensure_ascii=False, allow_nan=False)
    output.write(f'{head[:-1]}, "arrays": {{'.encode())
    for index, array in enumerate(table.arrays):
        about = {"dtype": array.dtype, "shape": array.shape, "axes": array.axes}
        text = json.dumps(about, ensure_ascii=False)
        comma = "," if index else ""
        output.write(f'{comma}\n{json.dumps(array.name)}: {text[:-1]}, "values": '.encode())
        _write_values(table, array, output, options)
        output.write(b"}")
    output.write(b"\n}}\n")


def _write_values(table: Tabular, array: Array, output: Output, options: WriteOptions) -> None:
    if not array.rows:
        output.write(b"[]")
        return
    shape = row_axes(array)
    spans = [math.prod(array.shape[level : array.lead]) for level in range(array.lead)]  # rows within each bracket

    def make(task: Task, buffer: Buffer) -> tuple[bytes, int]:
        values = fill(table, task, buffer)[array.name]
        texts = json_texts(real_pairs(values))
        for size in reversed(shape):
            texts = [f"[{','.join(texts[at : at + size])}]" for at in range(0, len(texts), size)]
        lines = []
        for row, text in enumerate(texts, task.start):
            opened = sum(row % span == 0 for span in spans)
            closed = sum((row + 1) % span == 0 for span in spans)
            comma = "" if row + 1 == array.rows else ","
            lines.append(f"{'[' * opened}{text}{']' * closed}{comma}")
        return "\n".join(["", *lines]).encode(), values.nbytes

    with in_turn(tasks([array], BLOCK_BYTES), make, options, BLOCK_BYTES, 2) as results:
        for text in results:
            output.write(text)
