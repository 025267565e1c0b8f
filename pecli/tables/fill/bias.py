"""Tables of biases: one number for each head, query and key."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.declare.plan import Bias
from pecli.declare.tabular import Array, storage
from pecli.errors import BadParameter
from pecli.numbers.doubled import from_decimal
from pecli.numbers.points import Points
from pecli.tables.fill.pairs import PIECE, PairTable, Vectors, fixed_arrays, fixed_rows
from pecli.tables.fill.rounding import minus_infinity, round_into
from pecli.tables.fill.windows import WindowRows

PAIRS = 1 << 18  # values of pairs computed at once: calls are dear, and so are the pages of larger arrays


class BiasTable(PairTable):
    """Biases: a row is a head and a query when dense, a single value of a head and a distance otherwise.

    With them the integers that choose them (``index``), or what else is alike for all heads (``x``).
    """

    @property
    def bias(self) -> Bias:
        """The plan."""
        assert isinstance(self.plan, Bias)
        return self.plan

    def check(self) -> None:
        """Raise BadParameter where the form does not fit, or a position has no value; reads the weights."""
        super().check()
        form, name, plan = self.request.form, self.source.encoding.name, self.bias
        if form == "distance" and (plan.by != "distance" or not (plan.heads or plan.index)):
            raise BadParameter("form", form, f"needs a bias that depends on the distance alone: {name} here does not")
        if form == "slopes" and plan.slopes is None:
            raise BadParameter("form", form, f"needs slopes, and {name} has none: use dense or distance")
        if form == "bias" and not plan.heads:
            raise BadParameter("form", form, f"needs --heads or --weights: {name} without them has no bias")
        if form == "index" and plan.index is None and plan.window is None:
            raise BadParameter("form", form, f"needs buckets or entries, and {name} has none: use dense")
        if form == "x" and plan.shared is None:
            raise BadParameter("form", form, f"is fire's normalised distance, and {name} has none: use dense")
        if form == "parameters" and not (plan.fixed or plan.beside):
            raise BadParameter("form", form, f"needs trained values, and {name} has none here: use dense")
        if form == "vector":
            raise BadParameter("form", form, f"is for relative vectors: {name} is a bias")
        plan.prepare()

    def _arrays(self) -> tuple[Array, ...]:
        plan, form = self.bias, self.request.form
        queries, keys, pairs = self.part.count, self.positions.count, ("query", "key")
        if form == "slopes":
            return (Array("slopes", (plan.heads,), self.dtype, ("head",)),)
        if form == "parameters":
            return fixed_arrays((*plan.beside, *plan.fixed), self.dtype)
        found = []
        if form == "distance":
            span = queries + keys - 1
            if plan.heads:
                found.append(Array("bias", (plan.heads, span), self.dtype, ("head", "distance"), lead=2))
            if plan.index is not None:
                found.append(Array("index", (span,), "int64", ("distance",)))
            return tuple(found)
        if plan.heads and form in ("dense", "bias"):
            found.append(Array("bias", (plan.heads, queries, keys), self.dtype, ("head", *pairs), lead=2))
        if plan.shared is not None and form in ("dense", "x"):
            found.append(Array("x", (queries, keys), self.dtype, pairs))
        if (plan.index is not None or plan.window is not None) and form in ("dense", "index"):
            found.append(Array("index", (queries, keys), "int64", pairs))
        if form == "dense":
            found += fixed_arrays(plan.beside, self.dtype)
        return tuple(found)

    def fill(self, start: int, stop: int, out: Mapping[str, NDArray[Any]]) -> None:
        """Write rows into `out`; see :meth:`pecli.declare.tabular.Tabular.fill`."""
        for name, target in out.items():
            match name:
                case "bias":
                    self._fill_bias(start, stop, target)
                case "index" if self.request.form == "distance":
                    target[...] = self._index(self.distances(start, stop))
                case "index":
                    self._fill_index(start, stop, target)
                case "x":
                    self._fill_shared(start, stop, target)
                case "slopes":
                    assert self.bias.slopes is not None
                    round_into(from_decimal(self.bias.slopes()[start:stop]), self.dtype, target)
                case _:
                    fixed_rows((*self.bias.beside, *self.bias.fixed), name, start, stop, self.dtype, target)

    def _fill_bias(self, start: int, stop: int, target: NDArray[Any]) -> None:
        """Write rows head by head."""
        by_distance = self.request.form == "distance"
        per_head = self.part.count + self.positions.count - 1 if by_distance else self.part.count
        row = start
        while row < stop:
            head, first = divmod(row, per_head)
            last = min(per_head, first + stop - row)
            rows = target[row - start : row - start + last - first]
            if by_distance:
                for low in range(first, last, PIECE):
                    high = min(last, low + PIECE)
                    rows[low - first : high - first] = self._by_distance(
                        self.distances(low, high), range(head, head + 1)
                    )[0]
            else:
                self._dense(head, first, last, rows)
            row += last - first

    def _dense(self, head: int, first: int, last: int, target: NDArray[Any]) -> None:
        """Write queries `first` to `last` of one head, (last - first, keys)."""
        if self.bias.by == "entry":
            self._window.rows(head, self._entries.head(head), first, last, target)
        elif self.bias.by == "pair":
            self._dense_pairs(head, first, last, target)
        elif self.bias.by == "distance":
            if self.listed:
                self.gather(self._one_head(head), first, last, target)
            else:
                self.slices(self._vectors.head(head), first, last, target)
        else:
            target[...] = self._vectors.head(head)
            self._hide(first, last, target)

    def _dense_pairs(self, head: int, first: int, last: int, target: NDArray[Any]) -> None:
        assert self.bias.value is not None
        step = max(1, PAIRS // self.positions.count)
        for low in range(first, last, step):
            high = min(last, low + step)
            values = self.bias.value(self.query_points(low, high), self.key_points, range(head, head + 1))
            round_into(values, self.dtype, target[None, low - first : high - first])
        self._hide(first, last, target)

    def _hide(self, first: int, last: int, target: NDArray[Any]) -> None:
        """Put minus infinity where a key comes after its query."""
        if not self.bias.causal:
            return
        keys = self.key_points.multiples
        hidden = minus_infinity(self.dtype)
        if self.listed or len(keys) < 2 or keys[1] < keys[0]:
            target[keys[None, :] > self.query_points(first, last).multiples[:, None]] = hidden
            return
        for row, query in zip(target, range(self.rows_of[0] + first, self.rows_of[0] + last), strict=True):
            row[query + 1 :] = hidden

    def _fill_index(self, start: int, stop: int, target: NDArray[Any]) -> None:
        if self.bias.window is not None:
            self._window.rows(-1, self._numbers, start, stop, target)
        elif self.listed:
            self.gather(self._index, start, stop, target)
        else:
            self.slices(self._indices.head(0), start, stop, target)

    def _fill_shared(self, start: int, stop: int, target: NDArray[Any]) -> None:
        assert self.bias.shared is not None
        step = max(1, PAIRS // self.positions.count)
        for low in range(start, stop, step):
            high = min(stop, low + step)
            values = self.bias.shared(self.query_points(low, high), self.key_points)
            round_into(values, self.dtype, target[low - start : high - start])

    def _index(self, distances: Points) -> NDArray[np.int64]:
        assert self.bias.index is not None
        return self.bias.index(distances)

    def _one_head(self, head: int) -> Any:
        return lambda distances: self._by_distance(distances, range(head, head + 1))[0]

    def _by_distance(self, distances: Points, heads: range) -> NDArray[Any]:
        """Return the values at these distances, (heads, m) in the target type."""
        values = self._values(distances, heads)
        if self.bias.causal:
            values[:, distances.multiples > 0] = minus_infinity(self.dtype)
        return values

    def _values(self, points: Points, heads: range) -> NDArray[Any]:
        assert self.bias.value is not None
        out = np.empty((len(heads), len(points)), storage(self.dtype))
        round_into(self.bias.value(points, heads), self.dtype, out)
        return out

    @cached_property
    def _vectors(self) -> Vectors:
        """The values by distance or by key, of which dense rows are slices."""
        if self.bias.by == "distance":
            span = self.part.count + self.positions.count - 1
            if self.bias.even:
                return Vectors(self.bias.heads, span, self._mirrored)
            return Vectors(
                self.bias.heads, span, lambda low, high, heads: self._by_distance(self.distances(low, high), heads)
            )
        keys = self.key_points
        if self.bias.by == "last":
            keys = Points(keys.multiples - keys.multiples[-1], keys.unit)
        return Vectors(
            self.bias.heads,
            len(keys),
            lambda low, high, heads: self._values(Points(keys.multiples[low:high], keys.unit), heads),
        )

    def _mirrored(self, low: int, high: int, heads: range) -> NDArray[Any]:
        """Return the values at places of the vectors from those of the sizes of the distances."""
        distances = self.distances(low, high).multiples
        sizes = np.abs(distances) // abs(self._distances.step)
        found = np.stack([self._halves.head(head)[sizes] for head in heads])
        if self.bias.causal:
            found[:, distances > 0] = minus_infinity(self.dtype)
        return found

    @cached_property
    def _halves(self) -> Vectors:
        """The values at distances 0, 1, 2, .. steps."""
        step, unit = abs(self._distances.step), self.positions.unit
        most = max(abs(self._distances[0]), abs(self._distances[-1])) // step
        return Vectors(
            self.bias.heads,
            most + 1,
            lambda low, high, heads: self._values(Points(np.arange(low, high, dtype=np.int64) * step, unit), heads),
        )

    @cached_property
    def _indices(self) -> Vectors:
        span = self.part.count + self.positions.count - 1
        return Vectors(1, span, lambda low, high, _: self._index(self.distances(low, high))[None])

    @cached_property
    def _entries(self) -> Vectors:
        """The values of a window's entries."""
        assert self.bias.window is not None
        entries = np.arange(self.bias.window.entries, dtype=np.int64)
        return Vectors(
            self.bias.heads, len(entries), lambda low, high, heads: self._values(Points(entries[low:high]), heads)
        )

    @cached_property
    def _numbers(self) -> NDArray[np.int64]:
        assert self.bias.window is not None
        return np.arange(self.bias.window.entries, dtype=np.int64)

    @cached_property
    def _window(self) -> WindowRows:
        assert self.bias.window is not None
        return WindowRows(self.bias.window, self.query_points(0, self.part.count).whole(), self.key_points.whole())
