"""How a stretch of a ladder's rows is cut into blocks, and a block's outer product."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

INNER = 512
"""Pairs that NumPy's innermost loop should have at most where it can, and more than half of that.

Few make it slow; and NumPy's buffer is cut to this size around products, or else it would copy
each anchor's row again and again to make a longer loop of several, which costs half as much as
the products themselves.
"""


@contextmanager
def short_buffers() -> Iterator[None]:
    """Cut NumPy's buffers in the calling thread; values do not depend on it."""
    before = np.setbufsize(INNER)
    try:
        yield
    finally:
        np.setbufsize(before)


class AnchorBlock(NamedTuple):
    """Rows low..high-1 of each of so many anchors from ``anchor``, which fill rows from ``start``."""

    anchor: int
    anchors: int
    low: int
    high: int
    start: int

    @property
    def size(self) -> int:
        """How many rows it has."""
        return self.anchors * (self.high - self.low)

    @property
    def shape(self) -> tuple[int, int, int]:
        """What two blocks that use the same arrays have in common."""
        return self.anchors, self.low, self.high


def blocks(size: int, columns: int, first: int, last: int, pairs: int) -> Iterator[AnchorBlock]:
    """Cut rows first..last-1 into blocks of ``pairs`` pairs or fewer, or of one row.

    Whole anchors of ``size`` rows in groups, parts of one at the ends and where one is too large.
    """
    most = max(1, pairs // columns)
    at = first
    while at < last:
        anchor, row = divmod(at, size)
        if row or last - at < size or most < size:
            found = AnchorBlock(anchor, 1, row, min(size, row + min(most, last - at)), at - first)
        else:
            found = AnchorBlock(anchor, min(most, last - at) // size, 0, size, at - first)
        yield found
        at += found.size


class Outer:
    """Combines each of some anchors' rows with the same offsets' rows, into one flat array.

    Narrow rows are taken several at a time: the anchor is repeated beside itself.
    """

    def __init__(
        self, combine: np.ufunc, left: NDArray[Any], right: NDArray[Any], block: AnchorBlock, out: NDArray[Any]
    ) -> None:
        width = left.shape[1]
        tile = 1 << (max(1, INNER // width).bit_length() - 1)
        if (block.high - block.low) % tile:
            tile = 1
        self._combine, self._tile = combine, tile
        self._left = left[:, None, None]
        self._right = right[block.low : block.high].reshape(-1, tile * width)
        self._count = block.anchors
        self._out = out.reshape(block.anchors, *self._right.shape)

    def __call__(self, anchor: int) -> None:
        """Combine the rows of ``count`` anchors from this one."""
        left = self._left[anchor : anchor + self._count]
        if self._tile > 1:
            left = left.repeat(self._tile, axis=2)
        self._combine(left.reshape(self._count, 1, -1), self._right, self._out)
