"""Blocks of rows, computed by threads: written where they belong, or handed on in order.

The buffers are few and used again and again: the memory of a table of any length is theirs, and what lies in one is
still in the processor's caches when it is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from pecli.engine.threads import cores, ordered, share
from pecli.formats.format import WriteOptions
from pecli.formats.io.output import Output
from pecli.numbers.dtypes import raw_bytes, storage
from pecli.spec.tabular import Array, Tabular

BLOCK_BYTES = 4 << 20  # of a worker's buffer: enough work between two takes of Python's lock, and still in the caches
BUFFER_BYTES = 16 << 20  # of all workers' buffers together
TEXT_BYTES = 1 << 17  # of values of a block of text, where each takes sixteen times its size in Python
AHEAD_BYTES = 16 << 20  # of all buffers that wait to be written in order

Result = TypeVar("Result")


class Task(NamedTuple):
    """Rows `start` to `stop` of arrays of equal length."""

    arrays: tuple[Array, ...]
    start: int
    stop: int


class Buffer:
    """Memory for one task, used again for the next."""

    def __init__(self) -> None:
        self._bytes: dict[int, NDArray[np.uint8]] = {}

    def views(self, task: Task) -> dict[str, NDArray[Any]]:
        """Return uninitialised arrays for the rows of the task, C-contiguous."""
        return {array.name: self._view(index, array, task.stop - task.start) for index, array in enumerate(task.arrays)}

    def _view(self, index: int, array: Array, rows: int) -> NDArray[Any]:
        need = rows * array.row_bytes
        held = self._bytes.get(index)
        if held is None or held.nbytes < need:
            held = self._bytes[index] = np.empty(need, np.uint8)
        return held[:need].view(storage(array.dtype)).reshape(rows, *array.row_shape)


def fill(table: Tabular, task: Task, buffer: Buffer) -> dict[str, NDArray[Any]]:
    """Compute the rows of a task into the buffer, in pieces that bound the memory of the computation."""
    views = buffer.views(task)
    for piece in tasks(task.arrays, BLOCK_BYTES, task.start, task.stop):
        part = slice(piece.start - task.start, piece.stop - task.start)
        table.fill(piece.start, piece.stop, {name: view[part] for name, view in views.items()})
    return views


def tasks(
    arrays: Sequence[Array], block_bytes: int = BLOCK_BYTES, start: int = 0, stop: int | None = None
) -> Iterator[Task]:
    """Split rows of arrays of equal length into tasks of at most `block_bytes`, or one row."""
    step = max(1, block_bytes // max(1, sum(array.row_bytes for array in arrays)))
    step = 1 << (step.bit_length() - 1)  # the engine's anchors stand at powers of two
    return split(arrays, step, start, arrays[0].rows if stop is None else stop)


def split(arrays: Sequence[Array], step: int, start: int, stop: int) -> Iterator[Task]:
    """Split rows `start` to `stop` of arrays of equal length into tasks of `step` rows."""
    for first in range(start, stop, step):
        yield Task(tuple(arrays), first, min(first + step, stop))


def place(table: Tabular, output: Output, offsets: Mapping[str, int], options: WriteOptions) -> None:
    """Write every named array at its offset in a regular file; each thread computes rows and writes them.

    Parameters
    ----------
    offsets : mapping of str to int
        Where each array begins, in C order.
    """
    small = sum(table.array(name).bytes for name in offsets) <= 2 * BLOCK_BYTES  # threads would take longer to begin
    threads = 1 if small else min(options.threads, cores())
    block = min(BLOCK_BYTES, BUFFER_BYTES // threads)

    def write(task: Task, buffer: Buffer) -> None:
        values = fill(table, task, buffer)
        for array in task.arrays:
            output.put(raw_bytes(values[array.name]), offsets[array.name] + task.start * array.row_bytes)
        options.progress(sum(rows.nbytes for rows in values.values()))

    work = (task for group in table.groups(offsets) for task in tasks(group, block))
    share(work, threads, lambda: nullcontext(Buffer()), write)


Make = Callable[[Task, Buffer], tuple[Result, int]]  # a result, and the bytes of values in it


@contextmanager
def in_turn(
    work: Iterator[Task], make: Make[Result], options: WriteOptions, buffer_bytes: int, most_threads: int | None = None
) -> Iterator[Iterator[Result]]:
    """Yield an iterator over the results of tasks in order, computed ahead in buffers of `buffer_bytes` each.

    `make` gives a result, good until the next is asked for, and the bytes of values in it, which are reported then.
    """
    threads = min(options.threads, most_threads or options.threads, cores())
    slots = max(2, min(threads, AHEAD_BYTES // max(1, buffer_bytes)))
    with closing(ordered(work, make, [Buffer() for _ in range(slots)], slots if threads > 1 else 1)) as found:
        yield _reported(found, options)


def write_texts(arrays: Sequence[Array], make: Make[bytes], options: WriteOptions, output: Output) -> None:
    """Write the texts of blocks of rows in order, made by two threads at most."""
    with in_turn(tasks(arrays, TEXT_BYTES), make, options, TEXT_BYTES, 2) as results:
        for text in results:
            output.write(text)


def _reported(found: Iterator[tuple[Result, int]], options: WriteOptions) -> Iterator[Result]:
    for result, size in found:
        yield result
        options.progress(size)
