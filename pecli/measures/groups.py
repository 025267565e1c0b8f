"""Trained biases, whose values say nothing: which of them are those of their group, as an index puts them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pecli.measures.floats import floats
from pecli.measures.lanes import Lane
from pecli.measures.samples import Floats, hide

MOST_VALUES = 1 << 24  # of a head that are put in order
BLOCK = 1 << 20  # of them that are looked at at a time

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Strays:
    """Values of a bias that are not those of their group.

    Attributes
    ----------
    wrong, count : int
        How many, and of how many.
    first, last : (int, int, int) or None
        Head, query and key of the first and the last one.
    alike : float
        Share of neighbouring groups that have one value: of trained numbers it is small.
    """

    wrong: int
    count: int
    first: tuple[int, ...] | None
    last: tuple[int, ...] | None
    alike: float


def strays(lane: Lane, index: Lane, *, causal: bool) -> Strays:
    """Return what of a bias, (heads, queries, keys), does not follow an index of groups; `causal`: later keys apart.

    The index is (keys, keys), whose last rows are the queries', or (keys,) for one row a head.
    """
    width = index.shape[-1]
    queries = lane.plain_shape[-2] if len(index.shape) == 2 else 1
    heads = math.prod(lane.shape) // (queries * width)
    wrong, ends, same = 0, [], []
    for head in range(heads):
        bad, wanted = _of_head(lane, index, (head, heads, queries, width), causal)
        wrong += len(bad)
        ends += [(head, *divmod(int(at), width)) for at in bad[[0, -1]]] if len(bad) else []
        same.append(float((wanted[1:] == wanted[:-1]).mean()))
    first, last = (ends[0], ends[-1]) if ends else (None, None)
    return Strays(wrong, math.prod(lane.shape), first, last, max(same))


Place = tuple[int, int, int, int]
"""A head, of so many, and its queries and keys."""


def _of_head(lane: Lane, index: Lane, place: Place, causal: bool) -> tuple[Integers, Floats]:
    """Return which values of a head, in one row, are not those of their group; and what those are."""
    wanted = np.full(0, np.nan)
    found, seen = [], 0
    for values, groups in _blocks(lane, index, place, causal):
        wanted = np.concatenate([wanted, np.full(max(0, int(groups.max()) + 1 - len(wanted)), np.nan)])
        fresh = np.isnan(wanted)
        first = np.full(len(wanted), np.nan)
        first[groups[::-1]] = values[::-1]
        wanted = np.where(fresh, first, wanted)
        found.append(seen + np.flatnonzero(_other(values, wanted[groups])))
        seen += len(values)
    wrong = np.concatenate(found)
    if len(wrong) and seen <= MOST_VALUES:  # the first of a group may be spoiled: the middle one is that of most
        parts = list(_blocks(lane, index, place, causal))
        values, groups = (np.concatenate([part[k] for part in parts]) for k in (0, 1))
        counts = np.bincount(groups)
        middle = np.cumsum(counts) - counts + np.maximum(counts - 1, 0) // 2
        wanted = np.where(counts > 0, values[np.lexsort((values, groups))][np.minimum(middle, seen - 1)], np.nan)
        wrong = np.flatnonzero(_other(values, wanted[groups]))
    return wrong, wanted


def _blocks(lane: Lane, index: Lane, place: Place, causal: bool) -> Iterator[tuple[Floats, Integers]]:
    """Yield values of a head and their groups, in one row each; minus infinity for whatever hides keys."""
    head, heads, queries, width = place
    each = lane.rows // heads  # rows of the lane in a head
    step = max(1, BLOCK // width) if each == queries else queries
    for start in range(0, queries, step):
        stop = min(queries, start + step)
        rows = (head * each + start, head * each + stop) if each == queries else (head * each, (head + 1) * each)
        raw = floats(lane.read(*rows), lane.dtype).astype(np.float64)
        values = np.where(np.isnan(hide(raw)) & ~np.isnan(raw), -np.inf, raw).reshape(-1)
        if len(index.shape) == 2:
            low = width - queries + start
            groups = index.read(low, low + stop - start).astype(np.int64)
            later = np.arange(width) > np.arange(low, low + stop - start)[:, None]
        else:
            groups, later = index.read(0, width).astype(np.int64), np.arange(width) > width // 2
        yield values, np.where(later & causal, 0, groups + 1).reshape(-1)


def _other(values: Floats, wanted: Floats) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = (values != wanted) & ~(np.isnan(values) & np.isnan(wanted))
    return found
