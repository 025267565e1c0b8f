"""Tables over queries and keys: filler base class, and rows that are slices of one vector."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from pecli.errors import BadParameter, UnknownName
from pecli.numbers.double_double import Points
from pecli.numbers.positions import Positions
from pecli.spec.plans import Plan
from pecli.tables.fill.filler import Filler, as_array, once, points_of
from pecli.tables.request import FORMS

PIECE = 1 << 14  # values computed at once: the temporaries of doubled arithmetic stay in the caches
MAX_HELD_VALUES = 1 << 22  # values of all vectors that are held at once
MAX_HEADS_PER_GROUP = 1024  # more would delay a reader of a few heads of a million

P = TypeVar("P", bound=Plan)
OfPlaces = Callable[[int, int, range], NDArray[Any]]
"""Of a first and a last place of the vectors and a range of heads, gives (heads, m)."""
OfDistances = Callable[[Points, range], NDArray[Any]]
"""Of distances key - query (m,) and a range of heads, gives (heads, m)."""


class Vectors:
    """One vector a head, of which the rows of that head are slices; a few heads are held at a time.

    Parameters
    ----------
    heads, length : int
        How many vectors, and of how many values.
    compute : callable
        Gives places of the vectors of some heads.
    """

    def __init__(self, heads: int, length: int, compute: OfPlaces) -> None:
        self.heads, self.length, self._compute = heads, length, compute
        self._heads_per_group = max(1, min(heads, MAX_HEADS_PER_GROUP, MAX_HELD_VALUES // max(1, length)))
        self._group = lru_cache(maxsize=2)(self._computed)  # writers are at one group or the next
        self._lock = threading.Lock()

    def head(self, head: int) -> NDArray[Any]:
        """Return the vector of a head, (length,); computed once for all threads."""
        with self._lock:
            values: NDArray[Any] = self._group(head // self._heads_per_group)[head % self._heads_per_group]
        return values

    def _computed(self, group: int) -> NDArray[Any]:
        heads = range(group * self._heads_per_group, min(self.heads, (group + 1) * self._heads_per_group))
        step = max(1, PIECE // len(heads))
        pieces = [self._compute(low, min(self.length, low + step), heads) for low in range(0, self.length, step)]
        return pieces[0] if len(pieces) == 1 else np.concatenate(pieces, axis=1)


class PairFiller(Filler[P]):
    """Fills rows that are queries, with columns that are keys.

    ``part`` holds the queries, ``positions`` the keys.
    """

    def check(self) -> None:
        """Raise for a form that does not exist or does not fit, and for a position that has no value."""
        form = self.request.form
        if form not in FORMS:
            raise UnknownName("form", form, FORMS)
        if self.request.shard and form in ("slopes", "distance", "parameters", "vector"):
            raise BadParameter("shard", self.request.shard, f"is for rows of queries: the form {form} has none")
        if self.listed and form == "distance":
            raise BadParameter("form", form, "needs evenly spaced positions: give len=, start= and step=")
        if self.listed and len(list(self.positions.segments(0, self.positions.count))) > 1:
            raise BadParameter(
                "positions", "(a list)", f"mixes units too different for distances in {self.name}: use fewer digits"
            )
        self.plan.domain.check(self.name, self.positions)
        self._check_form(form)
        super().check()

    def _check_form(self, form: str) -> None:
        """Raise BadParameter for a form that the plan cannot be given in."""

    @property
    def listed(self) -> bool:
        """Whether the positions are a list, so that rows are no slices of one vector."""
        return not self.positions.is_range

    @once
    def key_points(self) -> Points:
        """Return the keys."""
        return _points(self.positions, 0, self.positions.count)

    def query_points(self, start: int, stop: int) -> Points:
        """Return queries `start` to `stop` of this table."""
        return _points(self.part, start, stop)

    @property
    def span(self) -> int:
        """Number of distances."""
        return self.part.count + self.positions.count - 1

    @once
    def by(self) -> int:
        """Return the step of positions, as a multiple of the unit; of a single one, whose step leads nowhere, 1."""
        step = self.positions.step
        alone = self.positions.count == 1 and self.request.queries in (None, 1)
        return 1 if step is None or alone else int(step / self.positions.unit)

    @once
    def steps(self) -> range:
        """Return every distance key - query, from the last query's to the first key up, as multiples of the unit."""
        first = -(self.extent.last - 1) * self.by
        return range(first, first + self.by * self.span, self.by)

    def distances(self, start: int, stop: int) -> Points:
        """Return the distances of places `start` to `stop` of a vector."""
        return Points(as_array(self.steps[start:stop]), self.positions.unit)

    def position(self, start: int, stop: int) -> NDArray[Any] | None:
        """Return the positions of queries, or the distances, that number rows; None where something else does."""
        axis = self.arrays[0].axes[self.arrays[0].lead - 1]
        if axis == "query":
            return self.part.numbers(start, stop)
        if axis == "distance" and self.request.form == "distance":
            points = self.distances(start, stop)
            return points.whole() if points.unit.denominator == 1 else points.multiples * float(points.unit)
        return None


class DistanceRows:
    """Rows (queries, keys) of values that depend on the distance alone.

    Parameters
    ----------
    filler : PairFiller
        Which queries and keys.
    heads : int
        How many tables there are.
    values : callable
        Gives the values of distances, for listed positions row by row.
    """

    def __init__(self, filler: PairFiller[Any], heads: int, values: OfDistances) -> None:
        self.filler, self.values = filler, values
        self._keys = filler.positions.count
        pairs = filler.part.count * self._keys
        if not filler.listed:
            self._vectors: Vectors | None = Vectors(heads, filler.span, self._of_places)
        else:  # few pairs of many heads are dearer to begin than to compute: their heads are computed together
            self._vectors = Vectors(heads, pairs, self._of_pairs) if pairs <= PIECE else None

    def _of_places(self, low: int, high: int, heads: range) -> NDArray[Any]:
        return self.values(self.filler.distances(low, high), heads)

    def _of_pairs(self, low: int, high: int, heads: range) -> NDArray[Any]:
        """Give pairs of listed positions, counted row by row."""
        first = low // self._keys
        rows, columns = np.divmod(np.arange(low, high), self._keys)
        keys, queries = self.filler.key_points, self.filler.query_points(first, -(-high // self._keys))
        return self.values(Points(keys.multiples[columns] - queries.multiples[rows - first], keys.unit), heads)

    def fill(self, head: int, start: int, stop: int, out: NDArray[Any]) -> None:
        """Write queries `start` to `stop` of a head: row i is the window of keys values that begins q - 1 - i."""
        filler, keys = self.filler, self._keys
        if self._vectors is None:
            step = max(1, PIECE // keys)
            for low in range(start, stop, step):
                high = min(stop, low + step)
                values = self._of_pairs(low * keys, high * keys, range(head, head + 1))
                out[low - start : high - start] = values.reshape(-1, keys)
        elif filler.listed:
            out[...] = self._vectors.head(head).reshape(-1, keys)[start:stop]
        else:
            first = filler.part.count - stop
            windows = np.lib.stride_tricks.sliding_window_view(self._vectors.head(head), keys)
            out[...] = windows[first : first + stop - start][::-1]  # a copy a row


def _points(positions: Positions, start: int, stop: int) -> Points:
    segments = list(positions.segments(start, stop))
    if not segments:
        return Points(np.empty(0, np.int64))
    (segment,) = segments
    return points_of(segment)
