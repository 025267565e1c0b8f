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

NEAR = 1e-9  # that a float64 logarithm may be off a whole number by


def mistakes(keys: Mapping[str, str]) -> Iterator[Change]:
    """Yield buckets for which the logarithm of the distance and that of the largest one have unlike bases."""
    for above, below, times in LOGARITHMS:
        text = (
            f"{above} of the distance is divided by {below} of max-distance, where one logarithm was expected of both"
        )
        yield Change("buckets", text, values=partial(_buckets, dict(keys), times, np.floor))
    text = "buckets of far distances are rounded up where they should be cut"
    yield Change("buckets", text, values=partial(_buckets, dict(keys), 1.0, np.ceil))
    text = "distances are clipped to the buckets, one for each, where far ones should share them by their logarithm"
    yield Change("buckets", text, values=partial(_buckets, dict(keys), None, np.floor))


def _buckets(
    keys: Mapping[str, str], times: float | None, to: np.ufunc, name: str, values: NDArray[np.float64], first: int
) -> NDArray[np.float64]:
    """Return the array ``index`` with so many times the steps that there should be; without a logarithm for None."""
    if name != "index" or values.ndim != 2:
        return values
    both, side = keys["bidirectional"] == "true", int(keys["buckets"])
    distance = np.arange(values.shape[1]) - (first + np.arange(len(values)))[:, None]
    side = side // 2 if both else side
    exact, size = side // 2, np.abs(distance) if both else np.maximum(-distance, 0)
    steps = np.log(np.maximum(size, exact) / exact) / np.log(int(keys["max-distance"]) / exact)
    near = NEAR if to is np.floor else -NEAR
    far = size if times is None else exact + to(steps * times * (side - exact) + near)
    far = np.minimum(far, side - 1)
    found: NDArray[np.float64] = np.where(size < exact, size, far) + (side * (distance > 0) if both else 0)
    return found
