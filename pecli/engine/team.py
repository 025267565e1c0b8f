"""The team of threads: some share a list of tasks, or one works apart; results in order are in `parallel`."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from pecli.engine.scratch import Scratch
from pecli.process import with_room

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
    """A thread whose end can be waited for after an interrupt.

    ``Thread.join`` of Python 3.11 and 3.12, once a signal's handler has raised
    within it, takes the thread for ended while it still runs; then its file
    would be closed under it.

    Parameters
    ----------
    run : callable
        What the thread does; it must not raise.
    """

    def __init__(self, run: Callable[[], object]) -> None:
        self._run, self._ended = run, threading.Event()
        self._thread = threading.Thread(target=with_room(self._work), daemon=True)

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


def together(
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


def share(tasks: Sequence[Task], threads: int) -> None:
    """Do the tasks, with helpers beside the calling thread; the first error of any is raised."""
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

    together(work, min(threads, len(tasks)))


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
