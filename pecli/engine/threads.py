"""Threads that share a list of tasks or compute results in order, and the working memory of each.

Working memory is mapped, not taken from the heap.  Each thread has a heap of its own that keeps what is freed there:
arrays of some MiB, made in one thread and dropped in another, would leave so much behind in every one of them.
"""

from __future__ import annotations

import mmap
import os
import threading
import weakref
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import copy_context
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

MIN_MAPPED_BYTES = 1 << 17
"""Bytes from which on memory is mapped."""

MAX_SPARE_BYTES = 16 << 20
"""Largest number of bytes of returned arrays that are kept for reuse."""


def mapped(size: int, dtype: DTypeLike) -> NDArray[Any]:
    """Return a flat array of zeros; mapped if it is large."""
    kind = np.dtype(dtype)
    if size * kind.itemsize < MIN_MAPPED_BYTES:
        return np.zeros(size, kind)
    return np.frombuffer(mmap.mmap(-1, size * kind.itemsize), kind)


class Pool:
    """Large arrays that are lent for the life of their owner, and lent again.

    Fresh memory costs as much as the work on it: the first touch of each of its pages.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._spare: list[NDArray[np.uint8]] = []

    def lend(self, owner: object, shape: tuple[int, int], dtype: DTypeLike) -> NDArray[Any]:
        """Return an array with undefined contents."""
        kind = np.dtype(dtype)
        size = shape[0] * shape[1] * kind.itemsize
        if size < MIN_MAPPED_BYTES:
            return np.empty(shape, kind)
        memory = self._taken(size)
        if memory is None:
            memory = mapped(size, np.uint8)
        weakref.finalize(owner, self._give_back, memory).atexit = False
        return memory.view(kind).reshape(shape)

    def _taken(self, size: int) -> NDArray[np.uint8] | None:
        with self._lock:
            for i, memory in enumerate(self._spare):
                if memory.size == size:
                    return self._spare.pop(i)
        return None

    def _give_back(self, memory: NDArray[np.uint8]) -> None:
        # may run wherever the last reference goes, in a thread that holds the lock too: never wait
        if self._lock.acquire(blocking=False):
            try:
                self._spare.append(memory)
                while sum(kept.size for kept in self._spare) > MAX_SPARE_BYTES:
                    self._spare.pop(0)
            finally:
                self._lock.release()


POOL = Pool()


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


class Helper:
    """A thread with the settings of whoever starts it, whose end can be waited for after an interrupt.

    ``Thread.join`` of Python 3.11 and 3.12, once a signal's handler has raised
    within it, takes the thread for ended while it still runs; then its file
    would be closed under it.  An executor joins its threads, and importing it
    would add 3 to 5 ms to the main job's 240.

    Parameters
    ----------
    run : callable
        What the thread does; it must not raise.
    """

    def __init__(self, run: Callable[[], object]) -> None:
        self._run, self._ended = run, threading.Event()
        self._thread = threading.Thread(target=partial(copy_context().run, self._work), daemon=True)

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


def run_threads(
    work: Callable[[Sequence[BaseException]], None],
    threads: int,
    first: Callable[[Sequence[BaseException]], object] = lambda _: None,
) -> None:
    """Let several threads do `work`, the calling one among them, which does `first` before.

    Both are given the errors so far and end soon where there is one; the first
    error of any, an interrupt included, is raised here when all have ended.
    """
    errors: list[BaseException] = []

    def run() -> None:
        try:
            work(errors)
        except BaseException as error:
            errors.append(error)

    helpers = [Helper(run) for _ in range(threads - 1)]
    try:
        for helper in helpers:
            helper.start()
        first(errors)
        run()
    except BaseException as error:
        errors.append(error)
    for helper in helpers:
        try:
            helper.wait()
        except BaseException as error:
            errors.append(error)
            helper.wait()
    if errors:
        raise errors[0]


def run_tasks(tasks: Sequence[Task], threads: int) -> None:
    """Run the tasks on the calling thread and on helpers; the first error of any is raised."""
    left = iter(tasks)
    lock = threading.Lock()

    def work(errors: Sequence[BaseException]) -> None:
        with scratch() as own:
            while not errors:
                with lock:
                    task = next(left, None)
                if task is None:
                    return
                task(own)

    run_threads(work, min(threads, len(tasks)))


def run_in_thread(run: Callable[[], Result], stop: Callable[[], None]) -> Result:
    """Return the result of `run`, which another thread calls.

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


Item = TypeVar("Item")
Slot = TypeVar("Slot")


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
    from concurrent.futures import Future, ThreadPoolExecutor, wait  # 3 to 5 ms, which the main job does not spend

    pool, ahead, free = ThreadPoolExecutor(threads - 1), deque[tuple[Future[Result], Slot]](), list(slots)
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
        # awaited as futures, not by joining threads: see `Helper`
        wait([future for future, _ in ahead if not future.cancel()])
        pool.shutdown(wait=False)
