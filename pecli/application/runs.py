"""What is known of runs of a table's rows: computed once, by the thread that asks first, and kept for other heads."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from threading import Lock
from typing import Generic, TypeVar

from pecli.engine.threads import Scratch, Task

KEPT = 1 << 25
"""Bytes that are kept."""

Known = TypeVar("Known")


class _Run(Generic[Known]):
    """One run; whoever asks while it is computed waits for it."""

    def __init__(self, compute: Callable[[int], Known], number: int) -> None:
        self._compute, self._number, self._lock = compute, number, Lock()
        self._found: Known | None = None

    def get(self) -> Known:
        with self._lock:
            if self._found is None:
                self._found = self._compute(self._number)
            return self._found


class Runs(Generic[Known]):
    """The runs of a table.

    Parameters
    ----------
    compute : callable
        Gives what is known of the run of a number.
    size : int
        Bytes of that.
    """

    def __init__(self, compute: Callable[[int], Known], size: int) -> None:
        self._kept = lru_cache(maxsize=max(2, KEPT // size))(partial(_Run[Known], compute))
        self._lock = Lock()

    def get(self, number: int) -> Known:
        """Return what is known of a run."""
        with self._lock:
            run = self._kept(number)
        return run.get()

    def task(self, number: int) -> Task:
        """Return what computes a run."""

        def compute(own: Scratch) -> None:
            self.get(number)

        return compute
