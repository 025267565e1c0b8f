"""T5's buckets: which distances share a value."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.declare.guess import Guess
from pecli.encodings.bias.t5 import MOST_BUCKETS, bucket_rule
from pecli.errors import BadParameter
from pecli.measures.evidence import Evidence
from pecli.measures.profiles import kernels_of
from pecli.numbers.points import Points
from pecli.numbers.positions import LIMIT

Integers = NDArray[np.int64]
Fits = Callable[[Integers], float]
REACHES = (128, 256, 64, 512, 1000, 1024, 16, 20, 32, 40, 48, 96, 100, 800, 2048)
BUCKETS = (32, 64, 16, 128, 256, 8, 40, 20, 320)
"""What models have, the most usual first."""
LEAST = 8  # distances that an index shows
NEARLY = 0.85  # share of the distances that fit, where others are spoiled


def recognise(evidence: Evidence) -> Iterator[Guess]:
    """Yield indices of buckets, and biases that are constant in them: their numbers are trained."""
    if evidence.by_distance is not None:
        yield from _indices(*evidence.by_distance)
    for profile in kernels_of(evidence.profile):
        form = "distance" if profile.form == "distance" else "index"
        notes = (f"one trained number for each of {profile.heads} heads and bucket: the recipe gives the buckets",)
        values, distances = profile.seen
        drawn = values.any(axis=0)  # no head's number is 0, but rows of zeros may be
        values, distances = values[:, drawn], distances[drawn]
        changes: NDArray[np.bool_] = (values[:, 1:] != values[:, :-1]).any(axis=0)
        if changes.sum() < 3 or (~changes[distances[1:] <= 0]).sum() < 3:  # as many buckets as distances: any are such
            continue
        table = {"length": str(profile.length), "form": form}
        for keys, rest in _rules(distances, partial(_alike, ~changes)):
            yield Guess("t5", keys, table, 6.0, notes=notes, partition=True, **rest)


def _indices(values: NDArray[np.float64], form: str) -> Iterator[Guess]:
    """Yield the rules that give an index by distance; none is told where values are NaN."""
    length, told = len(values) // 2 + 1, ~np.isnan(values)
    distances = np.arange(1 - length, length)[told]
    if values[length - 1] == 0 and length > LEAST:
        table = {"form": form, "length": str(length)}
        for keys, rest in _rules(distances, partial(_equal, values[told])):
            yield Guess("t5", keys, table, 3.0, arrays=("index",), **rest)


def _alike(same: NDArray[np.bool_], made: Integers) -> float:
    """Return how many of the neighbours that are equal here or in a rule are so in both."""
    other: NDArray[np.bool_] = made[1:] == made[:-1]
    return float((same & other).sum() / max(1, (same | other).sum()))


def _equal(values: NDArray[np.float64], made: Integers) -> float:
    return float((made == values).mean())


def _rules(distances: Integers, fits: Fits) -> Iterator[tuple[dict[str, str], dict[str, Any]]]:
    """Yield the parameters of buckets that fit; between which numbers each may lie, and whether no other is usual."""
    shares = {
        (both, buckets, reach): _share(buckets, reach, both, distances, fits)
        for both in ("true", "false")
        for buckets in BUCKETS
        for reach in REACHES
    }
    best = max(shares.values())  # below 1 where a few distances are spoiled
    if best < NEARLY:
        return
    for both in ("true", "false"):
        usual = [(count, far) for (side, count, far), share in shares.items() if share == best and side == both]
        if not usual:
            continue
        (buckets, reach), *others = usual
        as_good = partial(_as_good, best, both, distances, fits)
        spans = {"max-distance": _span(reach, LIMIT - 1, partial(as_good, buckets))}
        if any(count != buckets for count, _ in others):
            spans["buckets"] = _span(buckets, MOST_BUCKETS, partial(_with_reach, as_good, reach))
        keys = {"buckets": str(buckets), "max-distance": str(reach), "bidirectional": both}
        texts = {name: (str(low), str(high)) for name, (low, high) in spans.items() if low < high}
        yield keys, {"spans": texts, "open": bool(others)}


def _as_good(best: float, both: str, distances: Integers, fits: Fits, buckets: int, reach: int) -> bool:
    """Whether other numbers fit as well."""
    return _share(buckets, reach, both, distances, fits) == best


def _with_reach(as_good: Callable[[int, int], bool], reach: int, buckets: int) -> bool:
    """Whether another number of buckets fits as well; more of them reach farther."""
    return as_good(buckets, max(reach, buckets))


def _span(inside: int, most: int, fits: Callable[[int], bool]) -> tuple[int, int]:
    """Return the ends of the whole numbers around one that fit, all between 1 and `most`."""
    ends = []
    for side, limit in ((-1, 1), (1, most)):
        good, step = inside, 1
        while good != limit and fits(there := max(1, min(most, good + side * step))):
            good, step = there, 2 * step
        while step > 1:
            step //= 2
            there = max(1, min(most, good + side * step))
            good = there if fits(there) else good
        ends.append(good)
    return ends[0], ends[1]


def _share(buckets: int, reach: int, both: str, distances: Integers, fits: Fits) -> float:
    """Return how well a rule fits; 0 where there is none."""
    made = _made(buckets, reach, both, int(distances[0]), int(distances[-1]))
    return 0.0 if made is None else fits(made[distances - distances[0]])


@lru_cache(maxsize=512)
def _made(buckets: int, reach: int, both: str, first: int, last: int) -> Integers | None:
    try:
        return bucket_rule(buckets, reach, both == "true", "exact")(Points(np.arange(first, last + 1)))
    except BadParameter:
        return None
