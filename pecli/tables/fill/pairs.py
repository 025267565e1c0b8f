"""What tables over queries and keys have in common: which they are, and rows that are slices of one vector."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.declare.plan import Fixed
from pecli.declare.tabular import Array
from pecli.errors import BadParameter, UnknownName
from pecli.numbers.points import Points
from pecli.tables.fill.rounding import as_array, round_into
from pecli.tables.table import FORMS, Table, check_domain

PIECE = 1 << 14  # values computed at once: the temporaries of doubled arithmetic stay in the caches
GROUP = 1 << 22  # values of all vectors that are held at once

Compute = Callable[[int, int, range], NDArray[Any]]
"""Of a first and a last place of the vectors and a range of heads, gives (heads, m)."""


class Vectors:
    """One vector a head, of which the rows of that head are slices; a few heads are held at a time."""

    def __init__(self, heads: int, length: int, compute: Compute) -> None:
        self.heads, self.length, self._compute = heads, length, compute
        self._together = max(1, min(heads, GROUP // max(1, length)))
        self._held: dict[int, NDArray[Any]] = {}
        self._lock = threading.Lock()

    def head(self, head: int) -> NDArray[Any]:
        """Return the vector of a head, (length,); computed once for all threads."""
        group = head // self._together
        with self._lock:
            held = self._held.get(group)
            if held is None:
                while len(self._held) > 1:  # writers are at this group or the one before
                    del self._held[min(self._held)]
                held = self._held[group] = self._computed(group)
        values: NDArray[Any] = held[head - group * self._together]
        return values

    def _computed(self, group: int) -> NDArray[Any]:
        heads = range(group * self._together, min(self.heads, (group + 1) * self._together))
        step = max(1, PIECE // len(heads))
        pieces = [self._compute(low, min(self.length, low + step), heads) for low in range(0, self.length, step)]
        return pieces[0] if len(pieces) == 1 else np.concatenate(pieces, axis=1)


class PairTable(Table):
    """A table whose rows are queries, and whose columns are keys.

    ``part`` holds the queries, ``positions`` the keys.
    """

    def check(self) -> None:
        """Raise for a form that does not exist or does not fit, and for a position that has no value."""
        form, name = self.request.form, self.source.encoding.name
        if form not in FORMS:
            raise UnknownName("form", form, FORMS)
        if self.request.shard and form in ("slopes", "distance", "parameters", "vector"):
            raise BadParameter("shard", self.request.shard, f"is for rows of queries: the form {form} has none")
        if self.listed and form == "distance":
            raise BadParameter("form", form, "needs evenly spaced positions: give --len, --start and --step")
        if self.listed and len(list(self.positions.segments(0, self.positions.count))) > 1:
            raise BadParameter(
                "positions", "(a list)", f"mixes units too different for distances in {name}: use fewer digits"
            )
        domain = getattr(self.plan, "domain", None)
        if domain is not None:
            check_domain(name, domain, self.positions)
            check_domain(name, domain, self.part)

    @property
    def listed(self) -> bool:
        """Whether the positions are a list, so that rows are no slices of one vector."""
        return not self.positions.is_range

    @cached_property
    def key_points(self) -> Points:
        """The keys."""
        return _points(self.positions, 0, self.positions.count)

    def query_points(self, start: int, stop: int) -> Points:
        """Return queries `start` to `stop` of this table."""
        return _points(self.part, start, stop)

    @cached_property
    def _distances(self) -> range:
        """Every distance key - query, from the last query's to the first key up, as multiples of the unit."""
        unit, step = self.positions.unit, self.positions.step
        assert step is not None
        by = int(step / unit)
        first = -(self.rows_of[1] - 1) * by
        return range(first, first + by * (self.part.count + self.positions.count - 1), by)

    def distances(self, start: int, stop: int) -> Points:
        """Return the distances of places `start` to `stop` of a vector."""
        return Points(as_array(self._distances[start:stop]), self.positions.unit)

    def position(self, start: int, stop: int) -> NDArray[Any] | None:
        """Return the positions of queries, or the distances, that number rows; None where something else does."""
        if not self.arrays:
            return None
        axis = self.arrays[0].axes[self.arrays[0].lead - 1]
        if axis == "query":
            return self.part.numbers(start, stop)
        if axis == "distance" and self.request.form == "distance":
            points = self.distances(start, stop)
            scale = points.unit
            return points.whole() if scale.denominator == 1 else points.multiples * float(scale)
        return None

    def slices(self, vector: NDArray[Any], start: int, stop: int, target: NDArray[Any]) -> None:
        """Write queries `start` to `stop`: row i is the window of keys values that begins q - 1 - i, a copy a row."""
        keys = self.positions.count
        first = self.part.count - stop
        windows = np.lib.stride_tricks.sliding_window_view(vector, keys)
        target[...] = windows[first : first + stop - start][::-1]

    def gather(self, at: Callable[[Points], NDArray[Any]], start: int, stop: int, target: NDArray[Any]) -> None:
        """Write queries `start` to `stop` from the values of each row's distances."""
        keys, queries = self.key_points, self.query_points(start, stop).multiples
        for row, query in enumerate(queries.tolist()):
            target[row] = at(Points(keys.multiples - query, keys.unit))


def _points(positions: Any, start: int, stop: int) -> Points:
    segments = list(positions.segments(start, stop))
    if not segments:
        return Points(np.empty(0, np.int64))
    (segment,) = segments
    return Points(as_array(segment.multiples), segment.unit)


def fixed_arrays(fixed: Sequence[Fixed], dtype: str) -> tuple[Array, ...]:
    """Return the descriptions of arrays that do not depend on the positions."""
    return tuple(Array(f.name, f.shape, f.dtype or dtype, f.axes, f.lead) for f in fixed)


def fixed_rows(fixed: Sequence[Fixed], name: str, start: int, stop: int, dtype: str, target: NDArray[Any]) -> None:
    """Write rows of one of them."""
    (one,) = (f for f in fixed if f.name == name)
    values = one.values(start, stop)
    if one.dtype is not None:
        target[...] = values
    else:
        round_into(values, dtype, target)
