"""Threads that compute rows: some write where the rows belong, others hand them on in order.

The buffers are few and used again and again: the memory of a table of any
length is theirs, and what lies in one is still in the processor's caches when
it is written.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pecli.declare.tabular import Array, Tabular
from pecli.formats.common.format import WriteOptions
from pecli.numbers.types import raw_bytes, storage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pecli.formats.common.output import Output

BLOCK_BYTES = 4 << 20  # of a worker's buffer: enough work between two takes of Python's lock, and still in the caches
BUFFER_BYTES = 16 << 20  # of all workers' buffers together
AHEAD_BYTES = 16 << 20  # of all buffers that wait to be written in order

Result = TypeVar("Result")


@dataclass(frozen=True)
class Task:
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
        import numpy as np

        need = rows * array.row_bytes
        held = self._bytes.get(index)
        if held is None or held.nbytes < need:
            held = self._bytes[index] = np.empty(need, np.uint8)
        return held[:need].view(storage(array.dtype)).reshape(rows, *array.row_shape)


def fill(table: Tabular, task: Task, buffer: Buffer) -> dict[str, NDArray[Any]]:
    """Compute the rows of a task into the buffer, in pieces that keep small what the computation itself takes."""
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
    yield from _split(tuple(arrays), step, start, arrays[0].rows if stop is None else stop)


def groups(arrays: Sequence[Array], rows: int) -> Iterator[Task]:
    """Split arrays of equal length into tasks of so many rows."""
    yield from _split(tuple(arrays), rows, 0, arrays[0].rows)


def _split(arrays: tuple[Array, ...], step: int, start: int, stop: int) -> Iterator[Task]:
    for first in range(start, stop, step):
        yield Task(arrays, first, min(first + step, stop))


def place(table: Tabular, output: Output, offsets: Mapping[str, int], size: int, options: WriteOptions) -> None:
    """Write every named array at its offset in a regular file: each thread computes, then writes.

    Parameters
    ----------
    offsets : mapping of str to int
        Where each array begins, in C order.
    size : int
        Bytes of the whole file; they are reserved while the first rows are computed.
    """
    block = min(BLOCK_BYTES, BUFFER_BYTES // options.threads)
    work = (task for group in table.groups(offsets) for task in tasks(group, block))
    lock = threading.Lock()
    failures: list[BaseException] = []

    def run() -> None:
        buffer = Buffer()
        try:
            while not failures:
                with lock:
                    task = next(work, None)
                if task is None:
                    return
                for name, values in fill(table, task, buffer).items():
                    output.put(raw_bytes(values), offsets[name] + task.start * table.array(name).row_bytes)
                    with lock:
                        options.progress(values.nbytes)
        except BaseException as error:
            failures.append(error)

    helpers = [Helper(run) for _ in range(options.threads - 1)]
    try:
        for helper in helpers:
            helper.start()
        output.reserve(size, stopped=lambda: bool(failures))
        run()
    except BaseException as error:  # an interrupt of the main thread: the others end after their block
        failures.insert(0, error)
    finally:
        for helper in helpers:
            helper.wait()
    if failures:
        raise failures[0]


class Helper:
    """A thread whose end can be waited for after an interrupt.

    ``Thread.join`` of Python 3.11 and 3.12, once a signal's handler has raised
    within it, takes the thread for ended while it still runs; then its file
    would be closed under it.
    """

    def __init__(self, run: Callable[[], object]) -> None:
        self._run, self._ended = run, threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)

    def _work(self) -> None:
        try:
            self._run()
        finally:
            self._ended.set()

    def start(self) -> None:
        """Start it."""
        self._thread.start()

    def wait(self) -> None:
        """Wait until it has ended; at once if it was never started."""
        self._ended.wait(None if self._thread.ident is not None else 0.1)


def apart(run: Callable[[], Result], stop: Callable[[], None]) -> Result:
    """Return what `run` gives, run by a thread of its own.

    A signal's handler raises in the main thread only: not within a library
    that calls back and cannot bear it.  Then `stop` makes `run` end soon.
    """
    results: list[Result] = []
    failures: list[BaseException] = []

    def target() -> None:
        try:
            results.append(run())
        except BaseException as error:
            failures.append(error)

    helper = Helper(target)
    try:
        helper.start()
        helper.wait()
    except BaseException:
        stop()
        helper.wait()
        raise
    if failures:
        raise failures[0]
    return results[0]


class Ordered(Generic[Result]):
    """Results of tasks in order, computed ahead by threads; a context manager.

    Parameters
    ----------
    work : iterator of Task
        What is to be computed.
    make : callable
        Computes the result of a task with a buffer, which it owns until the next result is asked for.
    threads : int
        Threads in all: one consumes, the others compute ahead; with 1 the consumer computes.
    buffer_bytes : int
        Bytes of a buffer, from which follows how many may wait.
    """

    def __init__(self, work: Iterator[Task], make: Callable[[Task, Buffer], Result], threads: int, buffer_bytes: int):
        self._work = enumerate(work)
        self._make = make
        slots = max(2, min(threads, AHEAD_BYTES // max(1, buffer_bytes)))
        self._free = [Buffer() for _ in range(slots)]
        self._done: dict[int, tuple[Result, Buffer]] = {}
        self._failure: BaseException | None = None
        self._claimed = 0
        self._last: int | None = None
        self._stopped = False
        self._change = threading.Condition()
        workers = slots - 1 if threads > 1 else 0
        self._helpers = [Helper(self._run) for _ in range(workers)]

    def __enter__(self) -> Iterator[Result]:
        try:
            for helper in self._helpers:
                helper.start()
        except BaseException:
            self.__exit__()
            raise
        return self._results() if self._helpers else self._serial()

    def __exit__(self, *_exception: object) -> None:
        with self._change:
            self._stopped = True
            self._change.notify_all()
        for helper in self._helpers:
            helper.wait()

    def _serial(self) -> Iterator[Result]:
        for _index, task in self._work:
            yield self._make(task, self._free[0])

    def _results(self) -> Iterator[Result]:
        for index in itertools.count():
            found = self._await(index)
            if found is None:
                return
            result, buffer = found
            yield result
            with self._change:
                self._free.append(buffer)
                self._change.notify_all()

    def _await(self, index: int) -> tuple[Result, Buffer] | None:
        """Wait for a result and take it; None behind the last."""
        with self._change:
            self._change.wait_for(lambda: index in self._done or self._failure is not None or index == self._last)
            if self._failure is not None:
                raise self._failure
            return None if index == self._last else self._done.pop(index)

    def _run(self) -> None:
        try:
            while (claim := self._claim()) is not None:
                index, task, buffer = claim
                result = self._make(task, buffer)
                with self._change:
                    self._done[index] = result, buffer
                    self._change.notify_all()
        except BaseException as error:
            with self._change:
                self._failure = error
                self._change.notify_all()

    def _claim(self) -> tuple[int, Task, Buffer] | None:
        """Take the next task and a buffer together, so that whoever waits for a buffer holds no earlier task."""
        with self._change:
            self._change.wait_for(lambda: bool(self._free) or self._stopped or self._last is not None)
            if self._stopped or self._last is not None:
                return None
            entry = next(self._work, None)
            if entry is None:
                self._last = self._claimed
                self._change.notify_all()
                return None
            self._claimed = entry[0] + 1
            return *entry, self._free.pop()
