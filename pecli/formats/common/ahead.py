"""Reading on: what is asked for in order is fetched in long ranges, the next while this one is used.

A request to a store takes a round trip however short it is, and formats ask for a megabyte at a time, or a line.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

LONGEST = 4 << 20  # bytes of a range: at 100 MB/s they take 40 ms, as long as a round trip to a store
SHORTEST = 1 << 20  # to which the longest falls, where more is read in turn than can be held
ENOUGH = 4  # ranges that follow one another before more is fetched than was asked for
HELD = 12 << 20  # bytes of ranges that are held


class Range:
    """Bytes `start` to `stop`, fetched or on their way; so many ranges before it follow one another."""

    def __init__(self, start: int, stop: int, before: int) -> None:
        self.start, self.stop, self.before, self.used = start, stop, before, 0
        self._data, self._there = memoryview(b""), threading.Event()
        self.error: BaseException | None = None

    def fetch(self, read: Callable[[int, int], bytes | memoryview]) -> None:
        """Fetch it; an error waits for whoever wants the bytes."""
        try:
            self._data = memoryview(read(self.start, self.stop - self.start))
        except BaseException as error:
            self.error = error
        self._there.set()

    def take(self, offset: int, count: int) -> memoryview:
        """Return at most `count` bytes from `offset`, once they are there."""
        self._there.wait()
        if self.error is not None:
            raise self.error
        found = self._data[offset - self.start : offset - self.start + count]
        self.used += len(found)
        return found


class Ahead:
    """Reads of a file by any thread, of which those that follow one another are made longer.

    Parameters
    ----------
    read : callable
        Gives exactly so many bytes at an offset.
    size : int
        Bytes of the file.
    span : callable, optional
        Of a file that is stored in pieces, from where to where the piece goes that holds a byte: it is fetched whole.
    """

    def __init__(
        self,
        read: Callable[[int, int], bytes | memoryview],
        size: int,
        span: Callable[[int], tuple[int, int]] | None = None,
    ) -> None:
        self._read, self._size, self._span, self._longest = read, size, span, LONGEST
        self._held: list[Range] = []  # the last used last
        self._lock = threading.Lock()

    def read(self, offset: int, count: int) -> bytes | memoryview:
        """Return exactly `count` bytes at `offset`."""
        if count >= LONGEST:
            return self._read(offset, count)
        pieces = []
        while count:
            part = self._range(offset, count).take(offset, count)
            pieces.append(part)
            offset, count = offset + len(part), count - len(part)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _range(self, offset: int, count: int) -> Range:
        """Return the range that holds what stands at `offset`, and see that the one after it is on its way."""
        with self._lock:
            self._held = [held for held in self._held if held.error is None]
            found = next((held for held in self._held if held.start <= offset < held.stop), None)
            known = found is not None
            if found is None:
                before = next((held for held in self._held if held.stop == offset), None)
                found = self._new(offset, count, before)
            after = None
            wanted = found.before > ENOUGH and found.stop < self._size and self._span is None
            if wanted and all(held.start != found.stop for held in self._held):
                after = self._new(found.stop, 0, found)
            self._held.remove(found)
            self._held.append(found)
            self._forget(found, after)
        if after is not None:
            threading.Thread(target=after.fetch, args=(self._read,), daemon=True).start()
        if not known:
            found.fetch(self._read)
        return found

    def _new(self, start: int, count: int, before: Range | None) -> Range:
        """Hold a range to come: a whole piece, or one twice as long as the one that it follows."""
        stop, many = start + count, 0 if before is None else before.before + 1
        if self._span is not None:
            start, stop = self._span(start)
        elif before is not None and many >= ENOUGH:
            stop = max(stop, min(self._size, start + min(self._longest, 2 * (before.stop - before.start))))
        found = Range(start, stop, many)
        self._held.append(found)
        return found

    def _forget(self, *kept: Range | None) -> None:
        """Let go of what was used longest ago; if it was fetched in vain, fetch less from now on."""
        while sum(held.stop - held.start for held in self._held) > HELD:
            rest = [held for held in self._held if held not in kept]
            if not rest:
                return
            old = next((held for held in rest if held.used >= held.stop - held.start), rest[0])
            self._held.remove(old)
            if old.before and not old.used:
                self._longest = max(SHORTEST, self._longest // 2)
