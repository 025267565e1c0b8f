"""Work on blocks by several threads, results in order, with a bounded number of blocks alive."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def ordered_map(work: Callable[[T], R], items: Iterable[T], threads: int | None = None) -> Iterator[R]:
    """Yield ``work(item)`` in the order of the items; NumPy and reading files release the lock meanwhile."""
    if threads is None:
        from pecli.engine import default_threads

        threads = default_threads()
    if threads == 1:
        yield from map(work, items)
        return
    with ThreadPoolExecutor(threads) as pool:
        waiting: deque[Future[R]] = deque()
        try:
            for item in items:
                waiting.append(pool.submit(work, item))
                if len(waiting) > 2 * threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
