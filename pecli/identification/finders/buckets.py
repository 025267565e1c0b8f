"""Identification of T5's buckets: which distances share a value."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from pecli.identification.finders.guesses import Guess
from pecli.measures.profiles import Profile
from pecli.measures.samples import Floats

BUCKETS = (32, 64, 16, 128, 256, 8, 40, 20)
REACHES = (128, 256, 64, 512, 1000, 1024, 20, 32, 100, 2048, 40, 48, 96, 800)


def guesses(values: Floats, distances: NDArray[np.int64], profile: Profile) -> Iterator[Guess]:
    """Yield T5's buckets where values are constant in them: the numbers themselves are trained."""
    parts = partition(values)
    for keys in bucket_rules(parts, distances):
        form = "index" if profile.form != "distance" else "distance"
        table = {"length": str(profile.length), "form": form}
        notes = (f"one trained number for each of {profile.heads} heads and bucket: the recipe gives the buckets",)
        yield Guess("t5", keys, table, 6.0, notes=notes, partition=True)


def partition(values: Floats) -> NDArray[np.int64]:
    """Return the number of the run of equal columns that each one is in, (m,)."""
    changes = (values[:, 1:] != values[:, :-1]).any(axis=0)
    return np.concatenate([[0], np.cumsum(changes)]).astype(np.int64)


def bucket_rules(parts: NDArray[np.int64], distances: NDArray[np.int64]) -> Iterator[dict[str, str]]:
    """Yield the parameters of T5's buckets whose boundaries are those of a partition of distances."""
    if parts[-1] < 3 or parts[-1] == len(parts) - 1:
        return
    for buckets in BUCKETS:
        for reach in REACHES:
            for both in (True, False):
                made = t5_buckets(distances, buckets, reach, both)
                if made is not None and np.array_equal(made[1:] != made[:-1], parts[1:] != parts[:-1]):
                    keys = {} if buckets == 32 else {"buckets": str(buckets)}
                    keys |= {} if reach == 128 else {"max-distance": str(reach)}
                    yield keys if both else {**keys, "bidirectional": "false"}


def t5_buckets(distances: NDArray[np.int64], buckets: int, reach: int, both: bool) -> NDArray[np.int64] | None:
    """Return T5's buckets of distances key - query; close to a boundary as exact integers decide."""
    side = buckets // 2 if both else buckets
    exact = side // 2
    if exact < 1 or reach <= exact:
        return None
    size = np.abs(distances) if both else np.maximum(-distances, 0)
    with np.errstate(divide="ignore"):
        steps = np.log(np.maximum(size, 1) / exact) / math.log(reach / exact) * (side - exact)
    large = exact + np.floor(steps + 1e-9).astype(np.int64)
    found = np.where(size < exact, size, np.minimum(large, side - 1))
    return found + np.where(distances > 0, side, 0) if both else found
