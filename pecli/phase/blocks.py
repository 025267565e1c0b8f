"""How a stretch of a ladder's rows is cut into blocks, and a block's outer product."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

BLOCK = 1 << 17
"""Pairs per call of NumPy: small calls lose to the interpreter's lock, large ones leave the cache."""

INNER = 512
"""Pairs that NumPy's innermost loop should have at least."""


@dataclass(frozen=True)
class Block:
    """Rows low..high-1 of each of ``count`` anchors from ``anchor``, which fill rows from ``start``."""

    anchor: int
    count: int
    low: int
    high: int
    start: int

    @property
    def rows(self) -> slice:
        """The rows filled."""
        return slice(self.start, self.start + self.count * (self.high - self.low))


def blocks(size: int, columns: int, first: int, last: int) -> Iterator[Block]:
    """Cut rows first..last-1: whole anchors of ``size`` rows in groups, parts of one at the ends.

    Anchors count from the first one needed.
    """
    group = max(1, BLOCK // (size * columns))
    base, at = first // size, first
    while at < last:
        anchor, row = divmod(at, size)
        if row or last - at < size:
            found = Block(anchor - base, 1, row, min(size, row + last - at), at - first)
        else:
            found = Block(anchor - base, min(group, (last - at) // size), 0, size, at - first)
        yield found
        at += found.rows.stop - found.rows.start


def outer(combine: np.ufunc, left: NDArray[Any], right: NDArray[Any], block: Block, out: NDArray[Any]) -> NDArray[Any]:
    """Combine anchors' rows ``left`` with offsets' rows ``right`` into a flat array; (rows, columns) of it.

    Narrow rows are taken several at a time: the anchor is repeated beside itself.
    """
    width = left.shape[1]
    rows = block.high - block.low
    left = left[block.anchor : block.anchor + block.count, None]
    right = right[block.low : block.high]
    tile = 1 << (max(1, INNER // width).bit_length() - 1)
    if tile > 1 and rows % tile == 0:
        shape = (block.count, 1, tile, width)
        left = np.broadcast_to(left[:, :, None], shape).reshape(block.count, 1, tile * width)
        right = right.reshape(-1, tile * width)
    combine(left, right, out=out.reshape(block.count, *right.shape))
    return out.reshape(-1, width)
