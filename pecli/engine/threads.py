"""Threads that share a list of tasks or compute results in order, and the working memory of each.

The thread that waits for others takes no lock but those of the interpreter itself (`_thread`, `queue.SimpleQueue`).
A signal's handler may raise anywhere in the main thread, within the Python code of `threading.Condition` too, which
then stays locked: a thread that wanted it would wait for ever, and the main thread for that one.  Futures, events and
``Thread.start`` use it.

Working memory is mapped, not taken from the heap.  Each thread has a heap of its own that keeps what is freed there:
arrays of some MiB, made in one thread and dropped in another, would leave so much behind in every one of them.
"""

from __future__ import annotations

import mmap
import os
import sys
import threading
from _thread import allocate_lock, start_new_thread
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import copy_context
from functools import partial
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

# Bytes from which on memory is mapped.
MIN_MAPPED_BYTES = 1 << 17


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

    def get(self, name: str, size: int, dtype: DTypeLike) -> NDArray[Any]:
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
        with slot() as own:
            while not errors:
                with lock:
                    item = next(left, None)
                if item is None:
                    return
                work(item, own)

    def run_caught() -> None:
        try:
            run()
        except BaseException as error:
            errors.append(error)

    _run_in_threads(run_caught, threads - 1, run, errors.append)
    if errors:
        raise errors[0]


_live: list[_Thread] = []


def count_threads() -> int:
    """Return the number of live threads, those of this module included."""
    return threading.active_count() + len(_live)


class _Thread:
    """A thread that calls a function, which must not raise, with the settings of the one that starts it."""

    def __init__(self, run: Callable[[], object]) -> None:
        self._run, self._context = run, copy_context()
        self._has_ended, self._lock = False, allocate_lock()
        self._lock.acquire()
        _live.append(self)
        try:
            start_new_thread(self._call, ())
        except RuntimeError:
            _live.remove(self)
            raise

    def _call(self) -> None:
        sys.settrace(threading.gettrace())  # as `threading.Thread` does, for coverage
        try:
            self._context.run(self._run)
        finally:
            _live.remove(self)
            self._has_ended = True
            self._lock.release()

    def wait(self) -> None:
        """Wait until the function has returned; may be called again if that was interrupted."""
        while not self._has_ended:
            self._lock.acquire()


def _wait(threads: Iterable[_Thread], fault: Callable[[BaseException], object], patient: bool) -> None:
    """Wait for threads, after a first interrupt too: else their file would be closed under them; not after a second."""
    for thread in threads:
        try:
            thread.wait()
        except BaseException as error:
            fault(error)
            if not patient:
                raise
            patient = False
            thread.wait()


def _run_in_threads(
    run: Callable[[], object], count: int, here: Callable[[], object], fault: Callable[[BaseException], object]
) -> None:
    """Call a function in `count` further threads and `here` in this one; `fault` is given what interrupts that."""
    threads, patient = list[_Thread](), True
    try:
        threads.extend(_Thread(run) for _ in range(count))
        here()
    except BaseException as error:
        fault(error)
        patient = isinstance(error, Exception)
    _wait(threads, fault, patient)


def run_tasks(tasks: Sequence[Task], threads: int) -> None:
    """Run the tasks on the calling thread and on helpers; the first error of any is raised."""
    share(tasks, min(threads, len(tasks)), scratch, lambda task, own: task(own))


def run_in_thread(run: Callable[[], Result], stop: Callable[[], None]) -> Result:
    """Return the result of `run`, which another thread calls.

    A signal's handler raises in the main thread only: not within a library
    that calls back and cannot bear it.  Then `stop` makes `run` end soon.
    """
    job, errors = Job(run), list[BaseException]()

    def stopped(error: BaseException) -> None:
        errors.append(error)
        stop()

    _run_in_threads(job, 1, lambda: None, stopped)
    if errors:
        raise errors[0]
    return job.result()


class Job(Generic[Result]):
    """A call in another thread, and its result."""

    def __init__(self, call: Callable[[], Result]) -> None:
        self._call, self._found = call, list[Result]()
        self._error: BaseException | None = None
        self._ended = allocate_lock()
        self._ended.acquire()

    def __call__(self) -> None:
        """Make the call."""
        try:
            self._found.append(self._call())
        except BaseException as error:
            self._error = error
        self._ended.release()

    def result(self) -> Result:
        """Wait for the result; an error of the call is raised."""
        self._ended.acquire()
        if self._error is not None:
            raise self._error
        return self._found.pop()


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
    jobs: SimpleQueue[Job[Result] | None] = SimpleQueue()
    ahead: deque[tuple[Job[Result], Slot]] = deque()
    workers: list[_Thread] = []
    free, ended, patient = list(slots), False, True

    def work() -> None:
        for job in iter(jobs.get, None):
            if not ended:
                job()

    try:
        for item in items:
            if not free:
                job, slot = ahead.popleft()
                yield job.result()
                free.append(slot)
            slot = free.pop()
            ahead.append((Job(partial(make, item, slot)), slot))
            jobs.put(ahead[-1][0])
            if len(workers) < threads - 1:
                workers.append(_Thread(work))
        while ahead:
            yield ahead.popleft()[0].result()
    except BaseException as error:
        patient = isinstance(error, Exception)
        raise
    finally:
        ended = True
        for _ in range(threads):
            jobs.put(None)
        interrupts: list[BaseException] = []
        _wait(workers, interrupts.append, patient)
        if interrupts:
            raise interrupts[0]
