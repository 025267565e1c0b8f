"""A bias of which some values are spoiled: what most of its rows say, by key or by distance."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from pecli.measures.floats import floats
from pecli.measures.lanes import Lane
from pecli.measures.profiles import MOST_HEADS, MOST_KEYS, Profile
from pecli.measures.samples import Floats, Sample, hide

MOST_ROWS = 256  # of a head that are asked
LEAST = 3  # values that make a majority
MAJORITY = 0.5  # share of the values that agree, and of the heads whose values do
FIRST = 8  # pairs of rows that a longer look must be worth


def consensus_of(sample: Sample) -> Profile | None:
    """Return the profile that most values of a bias follow, NaN where there is no majority; None where most do not."""
    lane = sample.lanes[0]
    shape = tuple(side for side in lane.shape if side != 1)
    if len(shape) == 2 and shape[0] == shape[1]:
        shape = (1, *shape)
    if lane.dtype.startswith("complex") or len(shape) != 3 or shape[0] > MOST_HEADS:
        return None
    heads, queries, keys = shape
    if not 2 < queries <= keys <= MOST_KEYS or not _worth_it(lane, shape):
        return None
    asked = np.unique(np.linspace(0, queries - 1, min(queries, MOST_ROWS)).astype(int))
    rows = [_read(lane, shape, head, asked) for head in range(heads)]
    starts = queries - 1 - asked  # columns of distance, in which a row begins
    for by, told in (
        ("key", [majority(np.where(np.isneginf(part), np.nan, part)) for part in rows]),
        ("distance", [majority(_skewed(part, starts, queries + keys - 1)) for part in rows]),
    ):
        values, agreed = np.stack([v for v, _ in told]), np.array([share for _, share in told])
        if (agreed > MAJORITY).mean() > MAJORITY and _varies(values):
            return _profile(by, values, rows, shape, single=len(lane.plain_shape) == 2)
    return None


def majority(stack: Floats) -> tuple[Floats, float]:
    """Return what more than half of each column's values are, NaN for none; and the share of all that are so.

    Values that more than half of them are stand in the middle of all in order.
    """
    count = (~np.isnan(stack)).sum(axis=0)
    middle = np.sort(stack, axis=0)[np.maximum(count - 1, 0) // 2, np.arange(stack.shape[1])]
    same = (stack == middle).sum(axis=0)
    told = (count >= LEAST) & (same > MAJORITY * count)
    return np.where(told, middle, np.nan), float(same[told].sum() / max(1, count.sum()))


def majority_by_distance(square: Floats) -> Floats | None:
    """Return what most values of an (n, n) array are by distance -(n-1)..n-1; None where most depend on more."""
    n, filled = len(square), np.asarray(square.any(axis=1))
    square = square if not filled.any() else np.where(filled[:, None], square, np.nan)  # rows of zeros tell nothing
    if not _worth(square[:-1], square[1:]):
        return None
    values, agreed = majority(_skewed(square, np.arange(n)[::-1], 2 * n - 1))
    return values if agreed > MAJORITY and _varies(values) else None


def _varies(values: Floats) -> bool:
    """Whether the finite ones of some values are not all the same."""
    finite = values[np.isfinite(values)]
    return finite.size > 0 and bool(np.ptp(finite) > 0)


def _profile(by: str, values: Floats, rows: list[Floats], shape: tuple[int, ...], *, single: bool) -> Profile:
    _, queries, keys = shape
    form = "single" if single else "dense"
    if by == "key":
        return Profile(by, values, form, any(np.isneginf(part).any() for part in rows), keys, queries)
    whole = np.full((len(values), 2 * keys - 1), np.nan)
    whole[:, : queries + keys - 1] = values
    later = whole[:, keys:]
    hidden = np.isneginf(later)
    causal = bool(hidden.any() and hidden[~np.isnan(later)].all())
    return Profile(by, np.where(np.isneginf(whole), np.nan, whole), form, causal, keys, queries)


def _worth_it(lane: Lane, shape: tuple[int, ...]) -> bool:
    """Whether some pairs of rows of a few heads agree."""
    heads, queries, _ = shape
    some = np.unique(np.linspace(0, queries - 2, min(queries - 1, FIRST)).astype(int))
    for head in {0, heads // 2}:
        rows = np.stack([_read(lane, shape, head, np.array([q, q + 1])) for q in some])
        if _worth(rows[:, 0], rows[:, 1]):
            return True
    return False


def _worth(above: Floats, below: Floats) -> bool:
    """Whether most values of most rows are those of the rows below them, in place or one to the side."""
    same = np.maximum((above == below).mean(axis=1), (above[:, :-1] == below[:, 1:]).mean(axis=1))
    return bool(np.median(same) > MAJORITY)


def _read(lane: Lane, shape: tuple[int, ...], head: int, asked: NDArray[np.int_]) -> Floats:
    """Return rows of a head, (rows, keys), with minus infinity for whatever hides keys."""
    heads, queries, keys = shape
    each = math.prod(lane.shape[: lane.lead]) // heads  # rows of the lane in a head
    if each == queries and len(asked) < queries:
        raw = np.concatenate([lane.read(head * each + q, head * each + q + 1) for q in asked.tolist()])
        found = floats(raw, lane.dtype).astype(np.float64).reshape(-1, keys)
    else:
        raw = lane.read(head * each, (head + 1) * each)
        found = floats(raw, lane.dtype).astype(np.float64).reshape(-1, keys)[asked]
    return np.where(np.isnan(hide(found)) & ~np.isnan(found), -np.inf, found)


def _skewed(rows: Floats, starts: NDArray[np.int_], width: int) -> Floats:
    """Return rows moved to the right, so that equal distances stand one below the other; NaN beside them."""
    found = np.full((len(rows), width), np.nan)
    for row, start, line in zip(rows, starts.tolist(), found, strict=True):
        line[start : start + len(row)] = row
    return found
