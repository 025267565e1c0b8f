"""Rows of a window's table: every query's row is one slice of a vector, made once for each column of the window."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.plan import Window

KEPT = 64 << 20  # bytes of all vectors that are held, beside those in use


class WindowRows:
    """Writes rows of (tokens, tokens) tables from the values of their entries.

    The entry of query (y, x) and key (y', x') is (y - y' + h - 1)(2w - 1) + x - x' + w - 1.  For a
    fixed x and falling y - y' the keys' values lie one after the other in a vector of
    (2h - 1) w values, so that the row of a query is its slice of h w values from (h - 1 - y) w on:
    a copy at the speed of memory.

    Parameters
    ----------
    window : Window
        Its size.
    queries, keys : (q,) and (k,) int64
        Which tokens are rows and columns.
    """

    def __init__(self, window: Window, queries: NDArray[np.int64], keys: NDArray[np.int64]) -> None:
        self.window, self.queries = window, queries
        self.keys = None if np.array_equal(keys, np.arange(window.tokens)) else keys
        self._held: dict[int, NDArray[Any]] = {}
        self._lock = threading.Lock()

    def rows(self, head: int, entries: NDArray[Any], start: int, stop: int, target: NDArray[Any]) -> None:
        """Write queries `start` to `stop` of a head from the values of its entries, into (stop - start, keys)."""
        vectors = self._vectors(head, entries)
        height, width, cls = self.window.height, self.window.width, int(self.window.cls)
        whole = target if self.keys is None else np.empty((len(target), self.window.tokens), target.dtype)
        for row, token in zip(whole, self.queries[start:stop].tolist(), strict=True):
            if cls and token == 0:
                row[0], row[1:] = entries[-1], entries[-3]
                continue
            y, x = divmod(token - cls, width)
            first = (height - 1 - y) * width
            row[cls:] = vectors[x, first : first + height * width]
            if cls:
                row[0] = entries[-2]
        if self.keys is not None:
            target[...] = whole[:, self.keys]

    def _vectors(self, head: int, entries: NDArray[Any]) -> NDArray[Any]:
        """Return (w, (2h - 1) w) values: those of each column of queries, made once for a head."""
        with self._lock:
            held = self._held.get(head)
            if held is None:
                held = self._made(entries)
                while self._held and len(self._held) * held.nbytes >= KEPT:
                    del self._held[min(self._held)]  # writers go from head to head
                self._held[head] = held
        return held

    def _made(self, entries: NDArray[Any]) -> NDArray[Any]:
        height, width = self.window.height, self.window.width
        offsets = entries[: (2 * height - 1) * (2 * width - 1)].reshape(2 * height - 1, 2 * width - 1)
        turned = offsets[::-1, ::-1]  # by rising y' - y and x' - x
        # column x of the window sees x' - x from -x to w - 1 - x, which begin at place w - 1 - x
        windows = np.lib.stride_tricks.sliding_window_view(turned, width, axis=1)
        return np.ascontiguousarray(windows[:, ::-1].transpose(1, 0, 2)).reshape(width, -1)
