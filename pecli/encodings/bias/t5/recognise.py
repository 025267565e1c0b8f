"""T5's buckets: which distances share a value."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from pecli.declare.guess import Guess
from pecli.encodings.bias.t5 import bucket_rule
from pecli.errors import BadParameter
from pecli.measures.evidence import Evidence
from pecli.measures.profiles import kernels_of
from pecli.numbers.points import Points

Integers = NDArray[np.int64]
REACHES = (128, 256, 64, 512, 1000, 1024, 16, 20, 32, 40, 48, 96, 100, 800, 2048)
BUCKETS = (32, 64, 16, 128, 256, 8, 40, 20)
"""What models have, the most usual first."""


def recognise(evidence: Evidence) -> Iterator[Guess]:
    """Yield indices of buckets, and biases that are constant in them: their numbers are trained."""
    distances = evidence.by_distance
    if distances is not None:
        values, form = distances
        if values[len(values) // 2] == 0:
            for keys in _rules(_changes(values[None]), _around(len(values))):
                yield Guess("t5", keys, {"form": form, "length": str(len(values) // 2 + 1)}, 3.0, arrays=("index",))
    for profile in kernels_of(evidence.profile):
        form = "distance" if profile.form == "distance" else "index"
        notes = (f"one trained number for each of {profile.heads} heads and bucket: the recipe gives the buckets",)
        for keys in _rules(_changes(profile.seen[0]), profile.seen[1]):
            yield Guess("t5", keys, {"length": str(profile.length), "form": form}, 6.0, notes=notes, partition=True)


def _around(count: int) -> Integers:
    return np.arange(-(count // 2), count // 2 + 1)


def _changes(values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return between which columns a value changes."""
    found: NDArray[np.bool_] = (values[:, 1:] != values[:, :-1]).any(axis=0)
    return found


def _rules(changes: NDArray[np.bool_], distances: Integers) -> Iterator[dict[str, str]]:
    """Yield the parameters of buckets whose boundaries are those of a partition of distances."""
    past = changes[distances[1:] <= 0]
    if changes.sum() < 3 or (~past).sum() < 3:  # as many buckets as distances: any values are such
        return
    for buckets in BUCKETS:
        for reach in REACHES:
            for both in ("true", "false"):
                made = _made(buckets, reach, both, int(distances[0]), int(distances[-1]))
                if made is not None and np.array_equal(made[1:] != made[:-1], changes):
                    yield {"buckets": str(buckets), "max-distance": str(reach), "bidirectional": both}


@lru_cache(maxsize=512)
def _made(buckets: int, reach: int, both: str, first: int, last: int) -> Integers | None:
    try:
        return bucket_rule(buckets, reach, both == "true", "exact")(Points(np.arange(first, last + 1)))
    except BadParameter:
        return None
