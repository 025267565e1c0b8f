"""Tables of biases: one number for each head, query and key."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.errors import BadParameter, UnknownName
from pecli.kernels.rounding import as_array, minus_infinity, round_into
from pecli.phase.doubled import from_decimal
from pecli.plan import Bias
from pecli.points import Points
from pecli.table import FORMS, Table
from pecli.tabular import Array, storage


class BiasTable(Table):
    """Biases: rows are (head, query) pairs when dense, single (head, distance) values otherwise."""

    @property
    def bias(self) -> Bias:
        """The plan."""
        assert isinstance(self.plan, Bias)
        return self.plan

    def check(self) -> None:
        """Raise BadParameter where the form does not fit."""
        form, name = self.request.form, self.source.encoding.name
        if form not in FORMS:
            raise UnknownName("form", form, FORMS)
        if form == "distance" and self.bias.by != "distance":
            raise BadParameter("form", form, f"needs a bias that depends on the distance alone: {name} here does not")
        if form == "slopes" and self.bias.slopes is None:
            raise BadParameter("form", form, f"needs slopes, and {name} has none: use dense or distance")
        if form != "dense" and self.request.shard:
            raise BadParameter("shard", self.request.shard, f"is for dense biases: the form {form} is one small array")
        if not self.positions.is_range:
            raise BadParameter("positions", "(a list)", f"is not for {name}: give --len, --start and --step")

    def _arrays(self) -> tuple[Array, ...]:
        heads, queries, keys = self.bias.heads, self.part.count, self.positions.count
        match self.request.form:
            case "slopes":
                return (Array("slopes", (heads,), self.dtype, ("head",)),)
            case "distance":
                return (Array("bias", (heads, 2 * keys - 1), self.dtype, ("head", "distance"), lead=2),)
        return (Array("bias", (heads, queries, keys), self.dtype, ("head", "query", "key"), lead=2),)

    def fill(self, start: int, stop: int, out: Mapping[str, NDArray[Any]]) -> None:
        """Write rows into `out`; see :meth:`pecli.tabular.Tabular.fill`."""
        if "slopes" in out:
            assert self.bias.slopes is not None
            round_into(from_decimal(list(self.bias.slopes()))[start:stop], self.dtype, out["slopes"])
        if "bias" not in out:
            return
        per_head = 2 * self.positions.count - 1 if self.request.form == "distance" else self.part.count
        row = start
        while row < stop:
            head, first = divmod(row, per_head)
            last = min(per_head, first + stop - row)
            target = out["bias"][row - start : row - start + last - first]
            if self.request.form == "distance":
                target[...] = self._vector(head)[first:last]
            else:
                self._dense(head, first, last, target)
            row += last - first

    def _dense(self, head: int, first: int, last: int, target: NDArray[Any]) -> None:
        """Write queries `first` to `last` (of this part) of one head, (last - first, keys)."""
        keys = self.positions.count
        query = self.rows_of[0] + first  # row of the first query among all positions
        if self.bias.by == "pair":
            points = self._points(0, keys)
            queries = Points(points.multiples[query : query + last - first], points.unit)
            values = self.bias.value(queries, points, range(head, head + 1))
            round_into(values[0], self.dtype, target)
        elif self.bias.by == "distance":
            # row i of a head is the window of keys distances that starts at -(i): one copy a row, at the speed of memory
            windows = np.lib.stride_tricks.sliding_window_view(self._vector(head), keys)
            stop = keys - 1 - query
            target[...] = windows[stop - (last - first) + 1 : stop + 1][::-1]
        else:
            target[...] = self._vector(head)
            if self.bias.causal:
                for i in range(last - first):
                    target[i, query + i + 1 :] = minus_infinity(self.dtype)

    def _points(self, start: int, stop: int) -> Points:
        (segment,) = self.positions.segments(start, stop)
        return Points(as_array(segment.multiples), segment.unit)

    @cached_property
    def _cache(self) -> Any:
        """One head's vector for a few heads at once: writers work on neighbouring heads."""
        return lru_cache(maxsize=4)(self._compute_vector)

    def _vector(self, head: int) -> NDArray[Any]:
        vector: NDArray[Any] = self._cache(head)
        return vector

    def _compute_vector(self, head: int) -> NDArray[Any]:
        """Return the values by distance, -(n-1)..n-1 steps, or by key, of one head, (m,) in the target type."""
        points = self._points(0, self.positions.count)
        by, n = self.bias.by, self.positions.count
        step = int(self.positions.step / points.unit)  # type: ignore[operator]
        if by == "distance":
            points = Points(np.arange(-(n - 1), n, dtype=np.int64) * step, points.unit)
        elif by == "last":
            points = Points(points.multiples - points.multiples[-1], points.unit)
        out = np.empty(len(points), storage(self.dtype))
        for low in range(0, len(points), 1 << 18):
            piece = Points(points.multiples[low : low + (1 << 18)], points.unit)
            values = self.bias.value(piece, range(head, head + 1))
            round_into(values[0], self.dtype, out[low : low + (1 << 18)])
        if by == "distance" and self.bias.causal:
            out[points.multiples > 0] = minus_infinity(self.dtype)
        return out
