"""Compressed chunks for HDF5, made by several threads; the library alone would use one."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.declare.tabular import Array, Tabular
from pecli.formats.common.format import WriteOptions
from pecli.formats.common.pump import Buffer, Task, fill, in_turn
from pecli.numbers.types import ITEM_BYTES, raw_bytes

CHUNK_BYTES = 1 << 20

Chunk = tuple[tuple[int, ...], bytes]


def chunk_shape(array: Array) -> tuple[int, ...]:
    """Return a chunk of at most `CHUNK_BYTES`, consecutive in C order: whole last axes, a part of one, then 1."""
    left = CHUNK_BYTES // ITEM_BYTES[array.dtype]
    shape: tuple[int, ...] = ()
    for size in reversed(array.shape):
        part = max(1, min(size, left))
        left = left // part if part == size else 1
        shape = (part, *shape)
    return shape


def chunks(table: Tabular, array: Array, options: WriteOptions) -> Iterator[Chunk]:
    """Yield the chunks of an array, shuffled and deflated, with their places."""
    shape = chunk_shape(array)
    axis = _split_axis(array, shape)
    count = math.prod(shape)

    def make(task: Task, buffer: Buffer) -> tuple[list[Chunk], int]:
        values = fill(table, task, buffer)[array.name].reshape(-1)
        size = math.prod(array.row_shape)
        first = task.start * size
        places = _places(array, shape, axis, task)
        return [(place, _packed(values[a - first : b - first], count)) for place, a, b in places], values.nbytes

    with in_turn(_tasks(array, shape, axis), make, options, max(CHUNK_BYTES, array.row_bytes)) as results:
        for found in results:
            yield from found


def _split_axis(array: Array, shape: tuple[int, ...]) -> int:
    """Return the axis along which chunks divide the array: all later ones are whole, all earlier ones single."""
    return max((axis for axis, part in enumerate(shape) if part < array.shape[axis]), default=0)


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


def _places(array: Array, shape: tuple[int, ...], axis: int, task: Task) -> Iterator[tuple[tuple[int, ...], int, int]]:
    """Yield where each chunk of a task begins, and which of the array's values it holds."""
    size = math.prod(array.row_shape)
    spans = [(task.start * size, task.stop * size)]
    if axis >= array.lead:
        inner = math.prod(array.shape[axis + 1 :])
        whole = array.shape[axis] * inner
        spans = [
            (start, min(start + shape[axis] * inner, first + whole))
            for first in range(task.start * size, task.stop * size, whole)
            for start in range(first, first + whole, shape[axis] * inner)
        ]
    for start, stop in spans:
        yield tuple(int(index) for index in np.unravel_index(start, array.shape)), start, stop


def _packed(values: NDArray[Any], count: int) -> bytes:
    """Return a chunk of `count` values as HDF5's shuffle and deflate filters would leave it."""
    if len(values) < count:  # at the edge of the array
        values = np.concatenate([values, np.zeros(count - len(values), values.dtype)])
    shuffled = values.view(np.uint8).reshape(count, values.itemsize).T
    return zlib.compress(raw_bytes(np.ascontiguousarray(shuffled)), 1)
