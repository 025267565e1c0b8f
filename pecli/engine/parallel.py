"""Results in order, computed ahead by the team of threads, with a bounded number of them alive."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Generic, TypeVar

from pecli.engine.team import Helper, default_threads

Item = TypeVar("Item")
Slot = TypeVar("Slot")
Result = TypeVar("Result")


def ordered_map(work: Callable[[Item], Result], items: Iterable[Item], threads: int | None = None) -> Iterator[Result]:
    """Yield ``work(item)`` in the order of the items; NumPy and reading files release the lock meanwhile."""
    threads = threads or default_threads()
    slots: list[None] = [None] * (2 * threads + 1)
    with Ordered(items, lambda item, _: work(item), slots, threads + 1 if threads > 1 else 1) as results:
        yield from results


class Ordered(Generic[Item, Slot, Result]):
    """Results of items in order, computed ahead by threads; a context manager.

    Parameters
    ----------
    items : iterable
        What is to be worked on.
    make : callable
        Computes the result of an item with a slot, which it owns until the next result is asked for.
    slots : list
        As many items as this are worked on or wait at once; such as buffers that are used again and again.
    threads : int
        Threads in all: the caller consumes, the others compute ahead; with 1 the caller computes.
    """

    def __init__(
        self, items: Iterable[Item], make: Callable[[Item, Slot], Result], slots: list[Slot], threads: int
    ) -> None:
        self._work = enumerate(items)
        self._make, self._free = make, slots
        self._done: dict[int, tuple[Result, Slot]] = {}
        self._failure: BaseException | None = None
        self._claimed = 0
        self._last: int | None = None
        self._stopped = False
        self._change = threading.Condition()
        self._helpers = [Helper(self._run) for _ in range(threads - 1)]

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
        for _index, item in self._work:
            yield self._make(item, self._free[0])

    def _results(self) -> Iterator[Result]:
        for index in itertools.count():
            found = self._await(index)
            if found is None:
                return
            result, slot = found
            yield result
            with self._change:
                self._free.append(slot)
                self._change.notify_all()

    def _await(self, index: int) -> tuple[Result, Slot] | None:
        """Wait for a result and take it; None behind the last."""
        with self._change:
            self._change.wait_for(lambda: index in self._done or self._failure is not None or index == self._last)
            if self._failure is not None:
                raise self._failure
            return None if index == self._last else self._done.pop(index)

    def _run(self) -> None:
        try:
            while (claim := self._claim()) is not None:
                index, item, slot = claim
                result = self._make(item, slot)
                with self._change:
                    self._done[index] = result, slot
                    self._change.notify_all()
        except BaseException as error:
            with self._change:
                self._failure = error
                self._change.notify_all()

    def _claim(self) -> tuple[int, Item, Slot] | None:
        """Take the next item and a slot together, so that whoever waits for a slot holds no earlier item."""
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
