"""Distance in units in the last place: how many values of the type lie between two."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

PRECISION = {"bfloat16": 8, "float16": 11, "float32": 24, "float64": 53, "complex64": 24, "complex128": 53}
_SIGNED = {1: np.int8, 2: np.int16, 4: np.int32, 8: np.int64}


def coarser(a: str, b: str) -> str | None:
    """Return the one of two types in whose units a distance is counted; None where one has no such units."""
    if a not in PRECISION or b not in PRECISION:
        return None
    real = {"complex64": "float32", "complex128": "float64"}
    return min(real.get(a, a), real.get(b, b), key=PRECISION.__getitem__)


def distance(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    """Return the distance of values of one floating type, as unsigned integers.

    Parameters
    ----------
    a, b : ndarray
        Of equal shape and floating type; for bfloat16 the uint16 bits.

    Notes
    -----
    The bits of a floating number, taken as an integer with the sign mirrored,
    are in the order of the numbers, and both zeros are 0.  The difference is
    taken in unsigned integers, which wrap: the larger minus the smaller always fits.
    """
    x, y = _ordered(a), _ordered(b)
    unsigned = np.dtype(f"u{x.itemsize}")
    low, high = np.minimum(x, y), np.maximum(x, y)
    return high.view(unsigned) - low.view(unsigned)


def _ordered(values: NDArray[Any]) -> NDArray[Any]:
    kind = _SIGNED[values.itemsize]
    bits = np.ascontiguousarray(values).view(kind)
    return np.where(bits < 0, -(bits & np.iinfo(kind).max), bits)


BINS = ("0", "1", "2", *(f"{(1 << k) + 1}..{2 << k}" for k in range(1, 63)), "more")


def histogram(units: NDArray[Any]) -> NDArray[np.int64]:
    """Count distances in bins 0, 1, 2, 3..4, 5..8 and so on, (66,)."""
    counts = np.zeros(len(BINS), np.int64)
    some = units[units > 0]
    counts[0] = units.size - some.size
    if some.size:
        # the exponent of 2u - 1 is the number of doublings from 1 to u, rounded up
        exponents = (2.0 * some.astype(np.float64) - 1.0).view(np.int64) >> 52
        found = np.bincount(exponents - 1023, minlength=len(BINS) - 1)
        counts[1:] += found[: len(BINS) - 1]
    return counts
