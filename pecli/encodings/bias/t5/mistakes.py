"""What people get instead of T5's buckets: logarithms to two bases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np
from numpy.typing import NDArray

from pecli.declare.changes import Change

LOGARITHMS = (
    ("log2", "ln", 1 / np.log(2)), ("ln", "log2", np.log(2)), ("log10", "ln", 1 / np.log(10)),
    ("ln", "log10", np.log(10)),
)  # fmt: skip


def mistakes(keys: Mapping[str, str]) -> Iterator[Change]:
    """Yield buckets for which the logarithm of the distance and that of the largest one have unlike bases."""
    for above, below, times in LOGARITHMS:
        text = (
            f"{above} of the distance is divided by {below} of max-distance, where one logarithm was expected of both"
        )
        yield Change("buckets", text, values=partial(_buckets, dict(keys), times))


def _buckets(
    keys: Mapping[str, str], times: float, name: str, values: NDArray[np.float64], first: int
) -> NDArray[np.float64]:
    """Return the array ``index`` with so many times the steps that there should be."""
    if name != "index" or values.ndim != 2:
        return values
    both, side = keys["bidirectional"] == "true", int(keys["buckets"])
    distance = np.arange(values.shape[1]) - (first + np.arange(len(values)))[:, None]
    side = side // 2 if both else side
    exact, size = side // 2, np.abs(distance) if both else np.maximum(-distance, 0)
    steps = np.log(np.maximum(size, exact) / exact) / np.log(int(keys["max-distance"]) / exact) * times
    far = np.minimum(exact + np.floor(steps * (side - exact)), side - 1)
    found: NDArray[np.float64] = np.where(size < exact, size, far) + (side * (distance > 0) if both else 0)
    return found
