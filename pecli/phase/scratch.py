"""Working memory that is mapped, not taken from the heap.

Each thread has a heap of its own that keeps what is freed there: arrays of some MiB, made in one
thread and dropped in another, would leave so much behind in every one of them.
"""

from __future__ import annotations

import math
import mmap
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

LARGE = 1 << 17


def mapped(shape: int | tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """Make an array of zeros; mapped if it is large."""
    kind = np.dtype(dtype)
    count = math.prod(shape) if isinstance(shape, tuple) else shape
    if count * kind.itemsize < LARGE:
        return np.zeros(shape, kind)
    return np.frombuffer(mmap.mmap(-1, count * kind.itemsize), kind, count).reshape(shape)


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
