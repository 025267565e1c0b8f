"""Working memory that is mapped, not taken from the heap.

Each thread has a heap of its own that keeps what is freed there: arrays of some MiB, made in one
thread and dropped in another, would leave so much behind in every one of them.
"""

from __future__ import annotations

import mmap
import threading
import weakref
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

LARGE = 1 << 17
"""Bytes from which on memory is mapped."""

SPARE = 16 << 20
"""Bytes that are kept of what has been given back."""


def mapped(size: int, dtype: DTypeLike) -> NDArray[Any]:
    """Make a flat array of zeros; mapped if it is large."""
    kind = np.dtype(dtype)
    if size * kind.itemsize < LARGE:
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
        """Give an array; its contents are anything."""
        kind = np.dtype(dtype)
        size = shape[0] * shape[1] * kind.itemsize
        if size < LARGE:
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
                while sum(kept.size for kept in self._spare) > SPARE:
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
        """Give a flat array of this size; its contents are anything."""
        have = self._arrays.get(name)
        if have is None or have.size < size:
            have = self._arrays[name] = mapped(size, dtype)
        return have[:size]
