"""Rows in blocks: as many at a time as keep the caches, or a limit on memory."""

from __future__ import annotations

from collections.abc import Iterator


def in_blocks(start: int, stop: int, size: int) -> Iterator[slice]:
    """Yield slices that follow one another from `start` to `stop`, of `size` rows (at least one) or, at last, fewer.

    Examples
    --------
    >>> list(in_blocks(0, 5, 2))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    size = max(1, size)
    return (slice(at, min(at + size, stop)) for at in range(start, stop, size))
