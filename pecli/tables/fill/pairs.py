"""Tables over queries and keys: biases, one number for each head, query and key, and relative vectors."""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Callable
from functools import cached_property, lru_cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from pecli.engine import Part, fill
from pecli.errors import BadParameter, BadRecipe, UnknownName
from pecli.numbers.blocks import in_blocks
from pecli.numbers.double_double import Points, from_decimal
from pecli.numbers.dtypes import storage
from pecli.numbers.positions import Positions, as_array
from pecli.spec.plans import Bias, Frame, ImageWindow, Plan, Relative
from pecli.spec.tabular import Array
from pecli.tables.fill.filler import Arrays, Filler, fitting, minus_infinity, points_of, round_into
from pecli.tables.request import FORMS

PIECE = 1 << 14  # values computed at once: the temporaries of doubled arithmetic stay in the caches
MAX_HELD_VALUES = 1 << 22  # values of all vectors that are held at once
MAX_HEADS_PER_GROUP = 1024  # more would delay a reader of a few heads of a million

P = TypeVar("P", bound=Plan)
# Of a first and a last place of the vectors and a range of heads, gives (heads, m).
OfPlaces = Callable[[int, int, range], NDArray[Any]]
# Of distances key - query (m,) and a range of heads, gives (heads, m).
OfDistances = Callable[[Points, range], NDArray[Any]]


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
        blocks = in_blocks(0, self.length, PIECE // len(heads))
        pieces = [self._compute(some.start, some.stop, heads) for some in blocks]
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
            rule = f"mixes units too different for distances in {self.name}: use fewer digits"
            raise BadParameter("positions", "(a list)", rule)
        self.plan.domain.check(self.name, self.positions)
        self._check_form(form)
        super().check()

    def _check_form(self, form: str) -> None:
        """Raise BadParameter for a form that the plan cannot be given in."""

    @property
    def listed(self) -> bool:
        """Whether the positions are a list, so that rows are no slices of one vector."""
        return not self.positions.is_range

    @cached_property
    def key_points(self) -> Points:
        """Return the keys."""
        return _points(self.positions, 0, self.positions.count)

    def query_points(self, start: int, stop: int) -> Points:
        """Return queries `start` to `stop` of this table."""
        return _points(self.part, start, stop)

    @abstractmethod
    def _index(self, distances: Points, _: range = range(1)) -> NDArray[np.int64]:
        """Return the integers that the plan gives distances, (1, m)."""

    @cached_property
    def _indices(self) -> DistanceRows:
        return DistanceRows(self, 1, self._index)

    @property
    def span(self) -> int:
        """Number of distances."""
        return self.part.count + self.positions.count - 1

    @cached_property
    def by(self) -> int:
        """Return the step of positions, as a multiple of the unit; of a single one, whose step leads nowhere, 1."""
        step = self.positions.step
        alone = self.positions.count == 1 and self.request.queries in (None, 1)
        return 1 if step is None or alone else int(step / self.positions.unit)

    @cached_property
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
            for some in in_blocks(start, stop, PIECE // keys):
                values = self._of_pairs(some.start * keys, some.stop * keys, range(head, head + 1))
                out[some.start - start : some.stop - start] = values.reshape(-1, keys)
        elif filler.listed:
            out[...] = self._vectors.head(head).reshape(-1, keys)[start:stop]
        else:
            first = filler.part.count - stop
            windows = np.lib.stride_tricks.sliding_window_view(self._vectors.head(head), keys)
            out[...] = windows[first : first + stop - start][::-1]  # a copy a row


def _points(positions: Positions, start: int, stop: int) -> Points:
    return points_of(next(positions.segments(start, stop)))


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
        sides: tuple[int, ...] = (self.part.count, self.positions.count)
        axes: tuple[str, ...] = ("query", "key")
        if form == "slopes":
            return (Array("slopes", (plan.heads,), dtype, ("head",)),)
        if form == "parameters":
            return self._fixed_arrays(plan.fixed)
        if form == "distance":
            sides, axes = (self.span,), ("distance",)
        found = []
        if plan.heads and form in ("dense", "bias", "distance"):
            found.append(Array("bias", (plan.heads, *sides), dtype, ("head", *axes), lead=2))
        if plan.shared is not None and form in ("dense", "x"):
            found.append(Array("x", sides, dtype, axes))
        if (plan.index is not None or plan.window is not None) and form in ("dense", "index", "distance"):
            found.append(Array("index", sides, "int64", axes))
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
                self._fill_window(np.arange(plan.window.entries, dtype=np.int64), start, stop, target)
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
        """Write rows head by head; of pairs, which are dearer to begin than to compute, those of several heads."""
        by_distance = self.request.form == "distance"
        per_head = self.span if by_distance else self.part.count
        group = max(1, PIECE // (per_head * self.positions.count)) if self.plan.by == "pair" else 1
        row = start
        while row < stop:
            head, first = divmod(row, per_head)
            last = min(per_head, first + stop - row)
            heads = range(head, head + (1 if first else max(1, min(group, (stop - row) // per_head))))
            rows = out[row - start : row - start + len(heads) * (last - first)]
            if by_distance:
                for some in in_blocks(first, last, PIECE):
                    distances = self.distances(some.start, some.stop)
                    rows[some.start - first : some.stop - first] = self._by_distance(distances, heads)[0]
            elif self.plan.by == "pair":
                several = rows.reshape(len(heads), last - first, -1)
                self._fill_pairs(heads, first, last, several)
                self._hide(first, last, several)
            else:
                self._dense(head, first, last, rows)
            row += len(rows)

    def _dense(self, head: int, first: int, last: int, out: NDArray[Any]) -> None:
        """Write queries `first` to `last` of one head, (last - first, keys)."""
        match self.plan.by:
            case "entry":
                self._fill_window(self._vectors.head(head), first, last, out)
            case "distance":
                self._biases.fill(head, first, last, out)
            case _:
                out[...] = self._vectors.head(head)
                self._hide(first, last, out)

    def _fill_pairs(self, heads: range | None, start: int, stop: int, out: NDArray[Any]) -> None:
        """Write the values of every pair: of some heads, (heads, q, k), or what is alike for all, (q, k)."""
        plan, keys = self.plan, self.key_points
        for some in in_blocks(start, stop, PAIRS // self.positions.count):
            queries = self.query_points(some.start, some.stop)
            rows = out[..., some.start - start : some.stop - start, :]
            if heads is None:
                assert plan.shared is not None
                round_into(plan.shared(queries, keys), self.dtype, rows)
            else:
                assert plan.value is not None
                round_into(fitting(plan.value(queries, keys, heads), rows.shape, plan.value), self.dtype, rows)

    def _hide(self, first: int, last: int, out: NDArray[Any]) -> None:
        """Put minus infinity where a key comes after its query."""
        if not self.plan.causal:
            return
        keys = self.key_points.multiples
        hidden = minus_infinity(self.dtype)
        if self.listed or len(keys) < 2 or keys[1] < keys[0]:
            out[..., keys[None, :] > self.query_points(first, last).multiples[:, None]] = hidden
            return
        for row, query in enumerate(range(self.extent.first + first, self.extent.first + last)):
            out[..., row, query + 1 :] = hidden

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
        round_into(fitting(self.plan.value(points, heads), out.shape, self.plan.value), self.dtype, out)
        return out

    @cached_property
    def _biases(self) -> DistanceRows:
        return DistanceRows(self, self.plan.heads, self._by_distance)

    @cached_property
    def _vectors(self) -> Vectors:
        """Return the values of keys, of which dense rows are copies, or of a window's entries."""
        keys, window = self.key_points, self.plan.window
        if window is not None:
            return self._vectors_of(window.entries, lambda low, high: Points(np.arange(low, high, dtype=np.int64)))
        first = keys.multiples[-1] if self.plan.by == "last" else 0
        return self._vectors_of(len(keys), lambda low, high: Points(keys.multiples[low:high] - first, keys.unit))

    def _vectors_of(self, length: int, points: Callable[[int, int], Points]) -> Vectors:
        return Vectors(self.plan.heads, length, lambda low, high, heads: self._values(points(low, high), heads))

    def _fill_window(self, entries: NDArray[Any], start: int, stop: int, out: NDArray[Any]) -> None:
        """Write queries `start` to `stop` of one head from the values of a window's entries.

        The entry of query (y, x) and key (y', x') is (y - y' + h - 1)(2w - 1) + x - x' + w - 1: a number of the query
        less a number of the key.
        """
        window, keys = self.plan.window, self.key_points.whole()
        assert window is not None
        middle = (window.height - 1) * (2 * window.width - 1) + window.width - 1
        for some in in_blocks(start, stop, PAIRS // len(keys)):
            queries = self.query_points(some.start, some.stop).whole()
            rows = out[some.start - start : some.stop - start]
            places = _window_numbers(window, queries)[:, None] - (_window_numbers(window, keys) - middle)
            rows[...] = entries.take(places, mode="clip")
            if window.cls:
                rows[:, keys == 0] = entries[-2]
                rows[queries == 0] = np.where(keys == 0, entries[-1], entries[-3])


def _window_numbers(window: ImageWindow, tokens: NDArray[np.int64]) -> NDArray[np.int64]:
    y, x = np.divmod(tokens - int(window.cls), window.width)
    return y * (2 * window.width - 1) + x


class RelativeFiller(PairFiller[Relative]):
    """``vector``, a row for each distance, and ``index`` (q, k), its rows."""

    def _check_form(self, form: str) -> None:
        if form in ("bias", "distance", "slopes", "x"):
            rule = f"is for biases: {self.name} has vectors, use dense, vector, index or parameters"
            raise BadParameter("form", form, rule)
        if self.plan.waves is not None and self.listed:
            raise BadParameter("positions", None, f"is not for {self.name}: give len=, start= and step=")
        if not self.arrays:
            raise BadParameter("form", form, f"has nothing in {self.name} here: use dense")
        if self.plan.rows is not None and (self.listed or self.part.count != self.plan.rows):
            raise BadRecipe(f"{self.name} holds a whole grid: leave out positions, start, step and shard")

    def _arrays(self) -> tuple[Array, ...]:
        plan, form = self.plan, self.request.form
        held = {"dense": ("vector", "index", "parameter"), "parameters": ("vector", "parameter")}.get(form, (form,))
        fixed = [(f.role, array) for f, array in zip(plan.fixed, self._fixed_arrays(plan.fixed), strict=True)]
        found = [array for role, array in fixed if role == "vector" and role in held]
        if plan.waves is not None and form in ("dense", "vector"):
            found.insert(0, Array("vector", (len(self._rows), plan.waves.width), self.dtype, ("row", "channel")))
        if plan.index is not None and form in ("dense", "index"):
            found.append(Array("index", (self.part.count, self.positions.count), "int64", ("query", "key")))
        return *found, *(array for role, array in fixed if role != "vector" and role in held)

    def fill(self, start: int, stop: int, out: Arrays, threads: int) -> None:
        """Write rows; see :meth:`Filler.fill`."""
        for name, target in out.items():
            if name == "vector" and self.plan.waves is not None:
                self._fill_waves(start, stop, target, threads)
            elif name == "index" and self.plan.index is not None:
                self._indices.fill(0, start, stop, target)
            else:
                self._fill_fixed(name, start, stop, target)

    def _fill_waves(self, start: int, stop: int, target: NDArray[np.generic], threads: int) -> None:
        assert self.plan.waves is not None
        rows = self._rows[start:stop]
        for band in self.plan.waves.bands:
            places: tuple[tuple[Part, slice | None], ...] = (("sin", band.sin), ("cos", band.cos))
            views = [(part, target[:, columns]) for part, columns in places if columns is not None]
            fill(self.frequencies.get(band, self.positions.unit), rows, views, self.dtype, threads=threads)

    def _index(self, distances: Points, _: range = range(1)) -> NDArray[np.int64]:
        assert self.plan.index is not None
        found = fitting(self.plan.index(distances, self._frame), (len(distances),), self.plan.index)
        count = next((f.shape[0] for f in self.plan.fixed if f.role == "vector"), None)
        if count is not None and found.size and not -count <= found.min() <= found.max() < count:
            code = self.plan.index.__code__
            rule = f"rows {found.min()} to {found.max()} are taken, and vector has {count}"
            raise BadRecipe(f"{code.co_filename}, line {code.co_firstlineno}: {rule}")
        return found[None]

    @cached_property
    def _frame(self) -> Frame:
        """Return queries and keys of the whole table, of which this one may be a shard."""
        return Frame(self.request.queries or self.positions.count, self.positions.count, self.by)

    @cached_property
    def _rows(self) -> range | NDArray[np.int64]:
        """Return the distance of each row of ``vector``, in multiples of the unit."""
        assert self.plan.distances is not None
        found, by = self.plan.distances(self._frame), self._frame.step
        if isinstance(found, range):
            return range(found.start * by, found.stop * by, found.step * by)
        return found * by
