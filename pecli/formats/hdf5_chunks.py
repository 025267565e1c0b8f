"""Compressed chunks for HDF5, made by several threads; the library alone would use one."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from pecli.formats.base import Options
from pecli.formats.pump import Buffer, Ordered, Task, fill
from pecli.tabular import ITEM_BYTES, Array, Tabular

if TYPE_CHECKING:
    pass

CHUNK_BYTES = 1 << 20

Chunk = tuple[tuple[int, ...], bytes]


def chunk_shape(array: Array) -> tuple[int, ...]:
    """Return a chunk of at most `CHUNK_BYTES` that is consecutive in C order: whole last axes, a part of one, then 1."""
    left = CHUNK_BYTES // ITEM_BYTES[array.dtype]
    shape: tuple[int, ...] = ()
    for size in reversed(array.shape):
        part = max(1, min(size, left))
        left = left // part if part == size else 1
        shape = (part, *shape)
    return shape


def chunks(table: Tabular, array: Array, options: Options) -> Iterator[Chunk]:
    """Yield the chunks of an array, shuffled and deflated, with their places."""
    shape = chunk_shape(array)
    axis = _split_axis(array, shape)
    count = math.prod(shape)

    def make(task: Task, buffer: Buffer) -> tuple[list[Chunk], int]:
        values = fill(table, task, buffer)[array.name].reshape(-1)
        size = math.prod(array.row_shape)
        found = []
        for place, start, stop in _places(array, shape, axis, task):
            found.append((place, _packed(values[start - task.start * size : stop - task.start * size], count)))
        return found, values.nbytes

    with Ordered(_tasks(array, shape, axis), make, options.threads, max(CHUNK_BYTES, array.row_bytes)) as results:
        for found, size in results:
            yield from found
            options.progress(size)


def _split_axis(array: Array, shape: tuple[int, ...]) -> int:
    """Return the axis along which chunks divide the array: all later ones are whole, all earlier ones single."""
    return next(
        (axis for axis, (part, size) in enumerate(zip(shape, array.shape, strict=True)) if part > 1 or size == 1),
        len(shape) - 1,
    )


def _tasks(array: Array, shape: tuple[int, ...], axis: int) -> Iterator[Task]:
    """Split the rows so that a task is one chunk, or, where a row has several chunks, one row."""
    if axis >= array.lead:
        for row in range(array.rows):
            yield Task((array,), row, row + 1)
        return
    inner = math.prod(array.shape[axis + 1 : array.lead])
    for prefix in range(math.prod(array.shape[:axis])):
        base = prefix * array.shape[axis]
        for start in range(0, array.shape[axis], shape[axis]):
            stop = min(start + shape[axis], array.shape[axis])
            yield Task((array,), (base + start) * inner, (base + stop) * inner)
