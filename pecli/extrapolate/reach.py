"""Biases, relative vectors and plain values beyond the training length."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.errors import BadParameter
from pecli.extrapolate.coverage import Curve, sample
from pecli.numbers.double_double import Points
from pecli.spec.plans import Bias, Frame, Relative, Values

Row = Callable[[int, NDArray[np.int64]], NDArray[np.float64]]


# Number of distances up to which all are evaluated; beyond it a sample, and bisection finds a window's ends.
MAX_DISTANCES = 1 << 16

MAX_INDEXED = 1 << 20
SAMPLES = 4096

MAX_HEADS = 1024
SAMPLED_QUERIES = 24
# Margin for sampled distances or queries: share of the range in training by which a bias must exceed it to count as
# new.
MIN_RELATIVE_EXCESS = 1e-3


@dataclass(frozen=True)
class HeadReach:
    """One head's bias for keys behind the query.

    Attributes
    ----------
    head : int
        From 0.
    trained : (float, float)
        Smallest and largest bias at distances of the training length.
    new : (float, float)
        The same at the new distances, of a query at the end of the test length.
    last : float
        Bias at the largest distance of the test length.
    window : int
        Farthest distance whose key weighs at least the threshold, against the key that weighs most.
    shared : int
        How many distances, up to the last, have the value of the last.
    below, above : float
        Share of the new distances whose bias lies below, above all that training showed.
    """

    head: int
    trained: tuple[float, float]
    new: tuple[float, float]
    last: float
    window: int
    shared: int
    below: float
    above: float


@dataclass(frozen=True)
class BiasReach:
    """Reach of the heads between two lengths.

    Attributes
    ----------
    threshold : float
        Weight, relative to the largest, down to which a key counts as reached.
    multiplies : bool
        Whether the bias is a factor of the weight itself; else a key weighs its exponential.
    sampled : bool
        Whether some distances only were looked at.
    scope : str
        What was looked at where that is not all, to be said after what was found.
    heads : tuple of HeadReach
    curves : tuple of Curve
        Bias against distance, by head.
    """

    threshold: float
    multiplies: bool
    sampled: bool
    scope: str
    heads: tuple[HeadReach, ...]
    curves: tuple[Curve, ...]


@dataclass(frozen=True)
class IndexReach:
    """How distances map to rows of a trained table, for keys behind the query.

    Attributes
    ----------
    rows_trained, rows_test : int
        Different rows that the distances of either length use.
    new : int
        Rows that only the test length uses: never trained.
    shared : int
        How many distances, up to the last, use the row of the last.
    shared_from : int
        The first of them.
    """

    rows_trained: int
    rows_test: int
    new: int
    shared: int
    shared_from: int


@dataclass(frozen=True)
class ValueReach:
    """How the columns of a table of values leave the range that they had in training.

    Attributes
    ----------
    sampled : bool
        Whether some positions only were looked at.
    looked_at : int
        How many were.
    columns, outside : int
        Columns, and those that leave their range.
    first, column : int or None
        First position that was looked at where one does, and the first column that does there.
    trained, test : (float, float)
        Smallest and largest value in training, and at the new positions: of that column, of all where none leaves.
    """

    sampled: bool
    looked_at: int
    columns: int
    outside: int
    first: int | None
    column: int | None
    trained: tuple[float, float]
    test: tuple[float, float]


def bias_reach(plan: Bias, train: int, test: int, threshold: float, *, multiplies: bool = False) -> BiasReach:
    """Return the reach of a bias between two lengths; `multiplies` if it is a factor of the weight, not a logit."""
    if plan.heads > MAX_HEADS:
        raise BadParameter("heads", plan.heads, f"are too many to be measured one by one: at most {MAX_HEADS:,}")
    sampled = test > MAX_DISTANCES
    distances = np.array(sorted({*sample(test, SAMPLES), train - 1, train}) if sampled else range(test), np.int64)
    heads, curves = [], []
    shown = sample(len(distances))
    looked_at = [f"{len(distances):,} distances"] if sampled else []
    looked_at += [f"the last query and {len(sample(train, SAMPLED_QUERIES))} of training"] if plan.by == "pair" else []
    scope = f"; looked at: {', '.join(looked_at)}" if looked_at else ""
    for head in range(max(1, plan.heads)):
        row = _row(plan, head)
        values = row(test - 1, distances)
        seen = distances[distances < train]
        if plan.by == "pair":  # what training saw depends on the query too
            known = np.concatenate([row(q, seen[seen <= q]) for q in sample(train, SAMPLED_QUERIES)])
        else:
            known = values[: len(seen)]
        top = float(values.max())
        limit = top * threshold if multiplies else top + math.log(threshold)
        margin = MIN_RELATIVE_EXCESS if scope else 0.0
        heads.append(_head(head, row, distances, values, known, train, test, limit, margin))
        curves.append(Curve(tuple(distances[shown].tolist()), tuple(values[shown].tolist())))
    return BiasReach(threshold, multiplies, sampled, scope, tuple(heads), tuple(curves))


def _row(plan: Bias, head: int) -> Row:
    """Return a function of a query and distances that gives one head's bias relative to no other key, (m,)."""

    def values(query: int, distances: NDArray[np.int64]) -> NDArray[np.float64]:
        assert plan.value is not None
        if plan.by == "pair":
            keys, at = Points(query - distances), Points(np.array([query], np.int64))
            if not plan.heads:  # what all heads make their bias of
                assert plan.shared is not None
                return _plain(plan.shared(at, keys)).reshape(-1)
            return _plain(plan.value(at, keys, range(head, head + 1))).reshape(-1)
        where = query - distances if plan.by == "key" else -distances
        found = _plain(plan.value(Points(where), range(head, head + 1))).reshape(-1)
        if plan.by == "key":  # a softmax does not feel what all keys share: relative to the query's own key
            found = found - _plain(plan.value(Points(np.array([query], np.int64)), range(head, head + 1))).reshape(-1)
        return found

    return values


def _head(
    head: int, row: Row, distances: NDArray[np.int64], values: NDArray[np.float64], known: NDArray[np.float64],
    train: int, test: int, limit: float, margin: float,
) -> HeadReach:  # fmt: skip
    window = _last(row, test, distances, values >= limit, lambda v: v >= limit)
    last = float(values[-1])
    other = _last(row, test, distances, values != last, lambda v: v != last)
    new = values[distances >= train]
    low, high = float(known.min()), float(known.max())
    below, above = float(np.mean(new < low)), float(np.mean(new > (high + margin * (high - low) if margin else high)))
    span = float(new.min()), float(new.max())
    return HeadReach(head, (low, high), span, last, window, test - 1 - other, below, above)


def _last(
    row: Row, test: int, distances: NDArray[np.int64], holds: NDArray[np.bool_], test_one: Callable[[float], bool]
) -> int:
    """Return the farthest distance of which something holds, -1 where of none; between samples by bisection."""
    where = np.nonzero(holds)[0]
    if not len(where):
        return -1
    i = int(where[-1])
    low = int(distances[i])
    between = range(low + 1, int(distances[i + 1])) if i + 1 < len(distances) else range(0)
    return low + bisect_left(between, True, key=lambda d: not test_one(float(row(test - 1, np.array([d]))[0])))


def index_reach(plan: Bias | Relative, train: int, test: int) -> IndexReach | None:
    """Return how distances share rows of a trained table, None where there is no such index."""
    if plan.index is None:
        return None
    distances = np.arange(min(test, MAX_INDEXED), dtype=np.int64)
    if test > MAX_INDEXED:  # every index known is constant far beyond its largest distance
        distances = np.append(distances, np.array([d for d in sample(test, SAMPLES) if d >= MAX_INDEXED], np.int64))
    points = Points(-distances)
    rows = plan.index(points) if isinstance(plan, Bias) else plan.index(points, Frame(test, test, 1))
    seen, used = np.unique(rows[distances < train]), np.unique(rows)
    other = np.nonzero(rows != rows[-1])[0]
    start = int(distances[other[-1]]) + 1 if len(other) else 0
    return IndexReach(len(seen), len(used), len(np.setdiff1d(used, seen)), test - start, start)


def value_reach(plan: Values, train: int, test: int) -> ValueReach:
    """Return how columns leave the range that they had in training."""
    # where bits turn over, and a sample
    powers = {p for k in range(test.bit_length()) for p in ((1 << k) - 1, 1 << k) if p < test}
    positions = np.array(sorted({*sample(test, SAMPLES), *powers, train - 1, train}), np.int64)
    values = _plain(plan.at(Points(positions)))
    new, seen, found = positions[positions >= train], values[positions < train], values[positions >= train]
    low, high = seen.min(0), seen.max(0)
    off = (found < low) | (found > high)
    first, column = None, None
    if off.any():
        row = int(off.any(1).argmax())
        first, column = int(new[row]), int(off[row].argmax())
    of = slice(None) if column is None else column
    return ValueReach(
        sampled=len(positions) < test,
        looked_at=len(positions),
        columns=len(low),
        outside=int(off.any(0).sum()),
        first=first,
        column=column,
        trained=(float(low[of].min()), float(high[of].max())),
        test=(float(found[:, of].min()), float(found[:, of].max())),
    )


def _plain(values: Any) -> NDArray[np.float64]:
    """Return kernel values as float64, for figures."""
    return np.asarray(getattr(values, "hi", values), np.float64)


def spans(numbers: Sequence[int]) -> str:
    """Return ascending numbers as "0-20, 22"."""
    parts: list[list[int]] = []
    for n in numbers:
        if parts and n == parts[-1][1] + 1:
            parts[-1][1] = n
        else:
            parts.append([n, n])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in parts)
