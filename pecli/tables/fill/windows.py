"""Rows of a window's table: every query's row is one piece of the entries, turned once for a head."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.spec.plans import ImageWindow

KEPT = 64 << 20  # bytes of all reversed entries that are kept, apart from those in use


class WindowRows:
    """Writes rows of (tokens, tokens) tables from the values of their entries.

    The entry of query (y, x) and key (y', x') is (y - y' + h - 1)(2w - 1) + x - x' + w - 1.  Laid out
    by rising y' - y and x' - x, the row of a query is the piece of h by w entries that begins at
    (h - 1 - y, w - 1 - x): copies of w values, nearly at the speed of memory also where w is 7.

    Parameters
    ----------
    window : ImageWindow
        Its size.
    queries, keys : (q,) and (k,) int64
        Which tokens are rows and columns.
    """

    def __init__(self, window: ImageWindow, queries: NDArray[np.int64], keys: NDArray[np.int64]) -> None:
        self.window, self.queries = window, queries
        self.keys = None if np.array_equal(keys, np.arange(window.tokens)) else keys
        self._held: dict[int, NDArray[Any]] = {}
        self._lock = threading.Lock()

    def rows(self, head: int, entries: NDArray[Any], start: int, stop: int, target: NDArray[Any]) -> None:
        """Write queries `start` to `stop` of a head from the values of its entries, into (stop - start, keys)."""
        slices, cls = self._slices(head, entries), int(self.window.cls)
        whole = target if self.keys is None else np.empty((len(target), self.window.tokens), target.dtype)
        tokens = self.queries[start:stop]
        for first, last in self._stretches(tokens - cls):
            if cls:
                whole[first:last, 0] = entries[-2]
            y, x = divmod(int(tokens[first]) - cls, self.window.width)
            self._stretch(slices, y, x, whole[first:last, cls:])
        if cls:
            token = tokens == 0
            whole[token, 0], whole[token, 1:] = entries[-1], entries[-3]
        if self.keys is not None:
            target[...] = whole[:, self.keys]

    def _stretches(self, patches: NDArray[np.int64]) -> list[tuple[int, int]]:
        """Return the runs of neighbouring patches among these; the class token is none."""
        inside = np.flatnonzero(patches >= 0)
        if not len(inside):
            return []
        breaks = np.flatnonzero((np.diff(inside) != 1) | (np.diff(patches[inside]) != 1)) + 1
        starts, ends = [0, *breaks.tolist()], [*breaks.tolist(), len(inside)]
        return [(int(inside[i]), int(inside[j - 1]) + 1) for i, j in zip(starts, ends, strict=True)]

    def _stretch(self, slices: NDArray[Any], y: int, x: int, target: NDArray[Any]) -> None:
        """Write the rows of neighbouring patches from (y, x) on: a row's rest, whole rows, a row's beginning."""
        width = self.window.width
        target = target.reshape(-1, self.window.height, width)
        row = 0
        if x:
            row = min(len(target), width - x)
            target[:row] = slices[y, x : x + row]
            y += 1
        lines, rest = divmod(len(target) - row, width)
        middle = target[row : row + lines * width]
        for line in range(lines):
            middle[line * width : (line + 1) * width] = slices[y + line]
        if rest:
            target[row + lines * width :] = slices[y + lines, :rest]

    def _slices(self, head: int, entries: NDArray[Any]) -> NDArray[Any]:
        """Return a view of shape (h, w, h, w): at [y, x] the row of patch (y, x), made once for a head."""
        with self._lock:
            held = self._held.get(head)
            if held is None:
                height, width = self.window.height, self.window.width
                offsets = entries[: (2 * height - 1) * (2 * width - 1)].reshape(2 * height - 1, 2 * width - 1)
                turned = np.ascontiguousarray(offsets[::-1, ::-1])
                pieces = np.lib.stride_tricks.sliding_window_view(turned, (height, width))
                held = pieces[::-1, ::-1]
                while self._held and len(self._held) * turned.nbytes >= KEPT:
                    del self._held[min(self._held)]  # writers go from head to head
                self._held[head] = held
        return held
