"""What was fetched of a file behind a URL, kept on the disk, for readers that go through a file more than once."""

from __future__ import annotations

import contextlib
import io
import tempfile
import threading
from collections.abc import Callable

from pecli.formats.common.safe import free_space

LARGEST = 4 << 30  # bytes of a file that is kept
SHARE = 4  # of the free space, a file takes one part of so many at the most


class Fetched:
    """Ranges of a file, each fetched once, by any thread.

    Parameters
    ----------
    read : callable
        Fetches exactly so many bytes at an offset.
    size : int
        Bytes of the file; nothing is kept of a very large one, or where the disk is full.
    """

    def __init__(self, read: Callable[[int, int], bytes], size: int) -> None:
        self._read, self._lock = read, threading.Lock()
        self._spans: list[tuple[int, int]] = []  # from where to where, in order, and none touches the next
        self._file = _room(size)

    def read(self, offset: int, count: int) -> bytes:
        """Return exactly `count` bytes at `offset`."""
        stop = offset + count
        with self._lock:
            if self._file and any(first <= offset and stop <= last for first, last in self._spans):
                self._file.seek(offset)
                return self._file.read(count)
        data = self._read(offset, count)
        with self._lock, contextlib.suppress(OSError):  # a disk that is full keeps what it has
            if self._file:
                self._file.seek(offset)
                self._have(offset, offset + self._file.write(data))
        return data

    def _have(self, start: int, stop: int) -> None:
        apart = [span for span in self._spans if span[1] < start or stop < span[0]]
        near = [span for span in self._spans if span not in apart]
        whole = min([start, *(first for first, _ in near)]), max([stop, *(last for _, last in near)])
        self._spans = sorted([*apart, whole])


def _room(size: int) -> io.FileIO | None:
    """Return a file that is gone when nobody reads it any more; None where there is no room for so many bytes."""
    with contextlib.suppress(OSError):
        free = free_space(tempfile.gettempdir())
        if size <= LARGEST and (free is None or size <= free // SHARE):
            return tempfile.TemporaryFile(buffering=0)
    return None
