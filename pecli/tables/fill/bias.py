"""Tables of biases: one number for each head, query and key."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.errors import BadParameter
from pecli.numbers.double_double import Points, from_decimal
from pecli.numbers.dtypes import storage
from pecli.spec.plans import Bias, ImageWindow
from pecli.spec.tabular import Array
from pecli.tables.fill.filler import Arrays, minus_infinity, once, round_into
from pecli.tables.fill.pairs import PIECE, DistanceRows, PairFiller, Vectors

PAIRS = 1 << 18  # values of pairs computed at once: calls are dear, and so are the pages of larger arrays


class BiasFiller(PairFiller[Bias]):
    """Biases: a row is a head and a query when dense, a single value of a head and a distance otherwise.

    With them the integers that choose them (``index``), or what else is alike for all heads (``x``).
    """

    def _check_form(self, form: str) -> None:
        plan, name = self.plan, self.name
        indexed = plan.index is not None or plan.window is not None
        fits, rule = {
            "distance": (
                plan.by == "distance" and bool(plan.heads or plan.index),
                f"needs a bias that depends on the distance alone: {name} here does not",
            ),
            "slopes": (plan.slopes is not None, f"needs slopes, and {name} has none: use dense or distance"),
            "bias": (plan.heads > 0, f"needs heads= or weights=: {name} without them has no bias"),
            "index": (indexed, f"needs buckets or entries, and {name} has none: use dense"),
            "x": (plan.shared is not None, f"is fire's normalised distance, and {name} has none: use dense"),
            "parameters": (bool(plan.fixed), f"needs trained values, and {name} has none here: use dense"),
            "vector": (False, f"is for relative vectors: {name} is a bias"),
        }.get(form, (True, ""))
        if not fits:
            raise BadParameter("form", form, rule)

    def _arrays(self) -> tuple[Array, ...]:
        plan, form, dtype = self.plan, self.request.form, self.dtype
        queries, keys, pairs = self.part.count, self.positions.count, ("query", "key")
        if form == "slopes":
            return (Array("slopes", (plan.heads,), dtype, ("head",)),)
        if form == "parameters":
            return self._fixed_arrays(plan.fixed)
        found = []
        if form == "distance":
            if plan.heads:
                found.append(Array("bias", (plan.heads, self.span), dtype, ("head", "distance"), lead=2))
            if plan.index is not None:
                found.append(Array("index", (self.span,), "int64", ("distance",)))
            return tuple(found)
        if plan.heads and form in ("dense", "bias"):
            found.append(Array("bias", (plan.heads, queries, keys), dtype, ("head", *pairs), lead=2))
        if plan.shared is not None and form in ("dense", "x"):
            found.append(Array("x", (queries, keys), dtype, pairs))
        if (plan.index is not None or plan.window is not None) and form in ("dense", "index"):
            found.append(Array("index", (queries, keys), "int64", pairs))
        if form == "dense":
            found += self._fixed_arrays([f for f in plan.fixed if f.role != "parameter"])
        return tuple(found)

    def fill(self, start: int, stop: int, out: Arrays, threads: int) -> None:
        """Write rows; see :meth:`Filler.fill`."""
        plan = self.plan
        for name, target in out.items():
            if name == "bias":
                self._fill_bias(start, stop, target)
            elif name == "index" and self.request.form == "distance":
                target[...] = self._index(self.distances(start, stop))[0]
            elif name == "index" and plan.window is not None:
                self._window.rows(np.arange(plan.window.entries, dtype=np.int64), start, stop, target)
            elif name == "index":
                self._indices.fill(0, start, stop, target)
            elif name == "x":
                self._fill_pairs(None, start, stop, target)
            elif name == "slopes":
                assert plan.slopes is not None
                round_into(from_decimal(plan.slopes()[start:stop]), self.dtype, target)
            else:
                self._fill_fixed(name, start, stop, target)

    def _fill_bias(self, start: int, stop: int, out: NDArray[Any]) -> None:
        """Write rows head by head."""
        by_distance = self.request.form == "distance"
        per_head = self.span if by_distance else self.part.count
        row = start
        while row < stop:
            head, first = divmod(row, per_head)
            last = min(per_head, first + stop - row)
            rows = out[row - start : row - start + last - first]
            if by_distance:
                for low in range(first, last, PIECE):
                    distances = self.distances(low, min(last, low + PIECE))
                    rows[low - first :][:PIECE] = self._by_distance(distances, range(head, head + 1))[0]
            else:
                self._dense(head, first, last, rows)
            row += last - first

    def _dense(self, head: int, first: int, last: int, out: NDArray[Any]) -> None:
        """Write queries `first` to `last` of one head, (last - first, keys)."""
        match self.plan.by:
            case "entry":
                self._window.rows(self._vectors.head(head), first, last, out)
            case "distance":
                self._biases.fill(head, first, last, out)
            case "pair":
                self._fill_pairs(head, first, last, out)
                self._hide(first, last, out)
            case _:
                out[...] = self._vectors.head(head)
                self._hide(first, last, out)

    def _fill_pairs(self, head: int | None, start: int, stop: int, out: NDArray[Any]) -> None:
        """Write the values of every pair: of one head, or what is alike for all."""
        plan, keys = self.plan, self.key_points
        step = max(1, PAIRS // self.positions.count)
        for low in range(start, stop, step):
            queries = self.query_points(low, min(stop, low + step))
            rows = out[low - start :][:step]
            if head is None:
                assert plan.shared is not None
                round_into(plan.shared(queries, keys), self.dtype, rows)
            else:
                assert plan.value is not None
                round_into(plan.value(queries, keys, range(head, head + 1)), self.dtype, rows[None])

    def _hide(self, first: int, last: int, out: NDArray[Any]) -> None:
        """Put minus infinity where a key comes after its query."""
        if not self.plan.causal:
            return
        keys = self.key_points.multiples
        hidden = minus_infinity(self.dtype)
        if self.listed or len(keys) < 2 or keys[1] < keys[0]:
            out[keys[None, :] > self.query_points(first, last).multiples[:, None]] = hidden
            return
        for row, query in zip(out, range(self.extent.first + first, self.extent.first + last), strict=True):
            row[query + 1 :] = hidden

    def _index(self, distances: Points, _: range = range(1)) -> NDArray[np.int64]:
        assert self.plan.index is not None
        return self.plan.index(distances)[None]

    def _by_distance(self, distances: Points, heads: range) -> NDArray[Any]:
        """Return the values at these distances, (heads, m) in the target type."""
        values = self._values(distances, heads)
        if self.plan.causal:
            values[:, distances.multiples > 0] = minus_infinity(self.dtype)
        return values

    def _values(self, points: Points, heads: range) -> NDArray[Any]:
        assert self.plan.value is not None
        out = np.empty((len(heads), len(points)), storage(self.dtype))
        round_into(self.plan.value(points, heads), self.dtype, out)
        return out

    @once
    def _biases(self) -> DistanceRows:
        return DistanceRows(self, self.plan.heads, self._by_distance)

    @once
    def _vectors(self) -> Vectors:
        """Return the values of keys, of which dense rows are copies, or of a window's entries."""
        keys, window = self.key_points, self.plan.window
        if window is not None:
            return self._vectors_of(window.entries, lambda low, high: Points(np.arange(low, high, dtype=np.int64)))
        first = keys.multiples[-1] if self.plan.by == "last" else 0
        return self._vectors_of(len(keys), lambda low, high: Points(keys.multiples[low:high] - first, keys.unit))

    def _vectors_of(self, length: int, points: Callable[[int, int], Points]) -> Vectors:
        return Vectors(self.plan.heads, length, lambda low, high, heads: self._values(points(low, high), heads))

    @once
    def _indices(self) -> DistanceRows:
        return DistanceRows(self, 1, self._index)

    @once
    def _window(self) -> WindowRows:
        assert self.plan.window is not None
        return WindowRows(self.plan.window, self.query_points(0, self.part.count).whole(), self.key_points.whole())


class WindowRows:
    """Writes rows of (tokens, tokens) tables from the values of their entries.

    The entry of query (y, x) and key (y', x') is (y - y' + h - 1)(2w - 1) + x - x' + w - 1: a number of the query
    less a number of the key.

    Parameters
    ----------
    window : ImageWindow
        Its size.
    queries, keys : (q,) and (k,) int64
        Which tokens are rows and columns.
    """

    def __init__(self, window: ImageWindow, queries: NDArray[np.int64], keys: NDArray[np.int64]) -> None:
        self.window, self.queries, self.keys = window, queries, keys

    def rows(self, entries: NDArray[Any], start: int, stop: int, target: NDArray[Any]) -> None:
        """Write queries `start` to `stop` of a head from the values of its entries, into (stop - start, keys)."""
        window, step = self.window, max(1, PAIRS // len(self.keys))
        middle = (window.height - 1) * (2 * window.width - 1) + window.width - 1
        keys = self._numbers(self.keys) - middle
        for low in range(start, stop, step):
            queries = self.queries[low : min(stop, low + step)]
            rows = target[low - start :][:step]
            rows[...] = entries.take(self._numbers(queries)[:, None] - keys, mode="clip")
            if window.cls:
                token = queries == 0
                rows[:, self.keys == 0] = entries[-2]
                rows[token] = np.where(self.keys == 0, entries[-1], entries[-3])

    def _numbers(self, tokens: NDArray[np.int64]) -> NDArray[np.int64]:
        y, x = np.divmod(tokens - int(self.window.cls), self.window.width)
        return y * (2 * self.window.width - 1) + x
