"""Threads that share a list of tasks or compute results in order, and the working memory of each.

Working memory is mapped, not taken from the heap.  Each thread has a heap of its own that keeps what is freed there:
arrays of some MiB, made in one thread and dropped in another, would leave so much behind in every one of them.
"""

from __future__ import annotations

import mmap
import os
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import copy_context
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

if TYPE_CHECKING:
    from concurrent.futures import Future

MIN_MAPPED_BYTES = 1 << 17
"""Bytes from which on memory is mapped."""


def mapped(size: int, dtype: DTypeLike) -> NDArray[Any]:
    """Return a flat array of zeros; mapped if it is large."""
    kind = np.dtype(dtype)
    if size * kind.itemsize < MIN_MAPPED_BYTES:
        return np.zeros(size, kind)
    return np.frombuffer(mmap.mmap(-1, size * kind.itemsize), kind)


class Scratch:
    """Working arrays of one thread, grown on demand and reused."""

    def __init__(self) -> None:
        self._arrays: dict[str, NDArray[Any]] = {}
        self._pairs = 0

    def prepare(self, pairs: int) -> None:
        """Drop arrays made for blocks of another size: more threads have smaller ones."""
        if pairs != self._pairs:
            self._arrays.clear()
            self._pairs = pairs

    def get(self, name: str, size: int, dtype: type[np.generic]) -> NDArray[Any]:
        """Return a flat array of this size with undefined contents."""
        have = self._arrays.get(name)
        if have is None or have.size < size:
            have = self._arrays[name] = mapped(size, dtype)
        return have[:size]


Result = TypeVar("Result")
Item = TypeVar("Item")
Slot = TypeVar("Slot")
Task = Callable[[Scratch], None]
_idle: list[Scratch] = []


def cores() -> int:
    """Count the cores that this process may use: more threads that compute would only wait for each other."""
    return max(1, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)


def default_threads() -> int:
    """Count the cores that this process may use, up to eight."""
    return min(8, cores())


@contextmanager
def scratch() -> Iterator[Scratch]:
    """Lend working arrays that earlier calls have left; as many are kept as were ever in use at once."""
    try:
        own = _idle.pop()
    except IndexError:
        own = Scratch()
    try:
        yield own
    finally:
        _idle.append(own)


def share(
    items: Iterable[Item], threads: int, slot: Callable[[], AbstractContextManager[Slot]],
    work: Callable[[Item, Slot], object],
) -> None:  # fmt: skip
    """Let several threads do `work` on items, the calling one among them, each with a slot of its own.

    All end soon after an error; the first error of any, an interrupt included, is raised here when all have ended.
    """
    errors: list[BaseException] = []
    left, lock = iter(items), threading.Lock()

    def run() -> None:
        try:
            with slot() as own:
                while not errors:
                    with lock:
                        item = next(left, None)
                    if item is None:
                        return
                    work(item, own)
        except BaseException as error:
            errors.append(error)

    with _started(run, threads - 1, errors.append):
        run()
    if errors:
        raise errors[0]


@contextmanager
def _started(
    run: Callable[[], Result], count: int, fault: Callable[[BaseException], object]
) -> Iterator[list[Future[Result]]]:
    """Run a function in further threads; all have ended when the body has.

    They have the settings of whoever starts them, and are awaited as futures: ``Thread.join`` of Python 3.11 and 3.12,
    once a signal's handler has raised within it, takes the thread for ended while it still runs; then its file would
    be closed under it.  `fault` is given an interrupt of the wait.
    """
    if count < 1:
        yield []
        return
    from concurrent.futures import ThreadPoolExecutor, wait

    pool = ThreadPoolExecutor(count)
    futures: list[Future[Result]] = []
    try:
        futures += [pool.submit(copy_context().run, run) for _ in range(count)]
        yield futures
    except BaseException as error:
        fault(error)
    try:
        wait(futures)
    except BaseException as error:
        fault(error)
        wait(futures)
    pool.shutdown(wait=False)


def run_tasks(tasks: Sequence[Task], threads: int) -> None:
    """Run the tasks on the calling thread and on helpers; the first error of any is raised."""
    share(tasks, min(threads, len(tasks)), scratch, lambda task, own: task(own))


def run_in_thread(run: Callable[[], Result], stop: Callable[[], None]) -> Result:
    """Return the result of `run`, which another thread calls.

    A signal's handler raises in the main thread only: not within a library
    that calls back and cannot bear it.  Then `stop` makes `run` end soon.
    """
    errors: list[BaseException] = []

    def stopped(error: BaseException) -> None:
        errors.append(error)
        stop()

    with _started(run, 1, stopped) as futures:
        pass
    if errors:
        raise errors[0]
    return futures[0].result()


def ordered_map(work: Callable[[Item], Result], items: Iterable[Item], threads: int | None = None) -> Iterator[Result]:
    """Yield ``work(item)`` in the order of the items; NumPy and reading files release the lock meanwhile."""
    threads = threads or default_threads()
    slots: list[None] = [None] * (2 * threads + 1)
    return ordered(items, lambda item, _: work(item), slots, threads + 1 if threads > 1 else 1)


def ordered(
    items: Iterable[Item], make: Callable[[Item, Slot], Result], slots: Sequence[Slot], threads: int
) -> Generator[Result]:
    """Yield results of items in order, computed ahead by threads.

    Parameters
    ----------
    items : iterable
        Read by the calling thread; not further ahead than there are slots.
    make : callable
        Of an item and a slot: its result, good until the next one is asked for.
    slots : sequence
        What may be worked in, such as buffers, one item at a time in each.
    threads : int
        How many compute or use results, the calling one among them; with 1 it does all.
    """
    if threads < 2:
        for item in items:
            yield make(item, slots[0])
        return
    from concurrent.futures import ThreadPoolExecutor, wait

    pool, free = ThreadPoolExecutor(threads - 1), list(slots)
    ahead: deque[tuple[Future[Result], Slot]] = deque()
    try:
        for item in items:
            if not free:
                future, slot = ahead.popleft()
                yield future.result()
                free.append(slot)
            ahead.append((pool.submit(copy_context().run, make, item, slot := free.pop()), slot))
        while ahead:
            yield ahead.popleft()[0].result()
    finally:
        # awaited as futures, not by joining threads: see `_started`
        wait([future for future, _ in ahead if not future.cancel()])
        pool.shutdown(wait=False)
