"""Threads that share a list of tasks."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from pecli.engine.scratch import Scratch

Task = Callable[[Scratch], None]
_idle: list[Scratch] = []


def default_threads() -> int:
    """Count the cores that this process may use, up to eight."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, min(8, len(os.sched_getaffinity(0))))
    return max(1, min(8, os.cpu_count() or 1))


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


def share(tasks: Sequence[Task], threads: int) -> None:
    """Do the tasks, with helpers beside the calling thread.

    The first error of any, an interrupt included, stops them all and is raised here.
    """
    left = iter(tasks)
    lock = threading.Lock()
    errors: list[BaseException] = []

    def work() -> None:
        try:
            with scratch() as own:
                while not errors:
                    with lock:
                        task = next(left, None)
                    if task is None:
                        return
                    task(own)
        except BaseException as error:
            errors.append(error)

    helpers = [threading.Thread(target=work, daemon=True) for _ in range(min(threads, len(tasks)) - 1)]
    for helper in helpers:
        helper.start()
    work()
    for helper in helpers:
        try:
            helper.join()
        except BaseException as error:
            errors.append(error)
            helper.join()
    if errors:
        raise errors[0]
