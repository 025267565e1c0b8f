"""Distance in units in the last place: how many values of the type lie between two."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.numbers.dtypes import GRIDS, REAL, real_type

PRECISION = {name: GRIDS[real_type(name)].precision for name in (*GRIDS, *REAL)}
_SIGNED = {1: np.int8, 2: np.int16, 4: np.int32, 8: np.int64}


def coarser(a: str, b: str) -> str | None:
    """Return the one of two types in whose units a distance is counted; None where one has no such units."""
    if a not in PRECISION or b not in PRECISION:
        return None
    return min(real_type(a), real_type(b), key=PRECISION.__getitem__)


def distance(a: NDArray[Any], b: NDArray[Any], work: NDArray[Any] | None = None) -> NDArray[Any]:
    """Return the distance of values of one floating type, as unsigned integers.

    Parameters
    ----------
    a, b : ndarray
        Of equal shape and floating type; for bfloat16 the uint16 bits.
    work : ndarray, optional
        Memory for the result: of the same shape, signed integers of the same size.

    Notes
    -----
    The bits of a floating number, taken as an integer with the sign mirrored,
    are in the order of the numbers, and both zeros are 0.  The difference is
    taken in unsigned integers, which wrap: the larger minus the smaller always fits.
    """
    kind = _SIGNED[a.itemsize]
    x, y = np.ascontiguousarray(a).view(kind), np.ascontiguousarray(b).view(kind)
    if x.size and np.bitwise_xor(x, y, out=work).min() >= 0:  # equal signs everywhere, as mostly: nothing to mirror
        apart = np.subtract(x, y, out=work)
        near: NDArray[Any] = np.abs(apart, out=apart).view(f"u{x.itemsize}")
        return near
    x, y = _ordered(x), _ordered(y)
    low, high = np.minimum(x, y), np.maximum(x, y)
    found: NDArray[Any] = high.view(f"u{x.itemsize}") - low.view(f"u{x.itemsize}")
    return found


def _ordered(bits: NDArray[Any]) -> NDArray[Any]:
    return np.where(bits < 0, -(bits & np.iinfo(bits.dtype).max), bits)


BINS = ("0", "1", "2", *(f"{(1 << k) + 1}..{2 << k}" for k in range(1, 63)), "more")


def histogram(units: NDArray[Any]) -> NDArray[np.int64]:
    """Count distances in bins 0, 1, 2, 3..4, 5..8 and so on, (66,)."""
    counts = np.zeros(len(BINS), np.int64)
    most = int(units.max(initial=0))
    below = int(np.count_nonzero(units == 0))
    counts[0] = below
    if most.bit_length() > 12:
        # the exponent of 2u - 1 is the number of doublings from 1 to u, rounded up
        some = 2.0 * units[units > 0].astype(np.float64) - 1.0
        found = np.bincount((some.view(np.int64) >> 52) - 1023)
        counts[1 : 1 + len(found)] = found
        return counts
    for k in range((most - 1).bit_length() + 1 if most else 0):
        upto = int(np.count_nonzero(units <= (1 << k)))
        counts[1 + k], below = upto - below, upto
    return counts


def last_place(sizes: NDArray[np.float64], dtype: str) -> NDArray[np.float64]:
    """Return a unit in the last place of numbers of these sizes, in a floating type."""
    grid = GRIDS[real_type(dtype)]
    exponent = np.frexp(sizes)[1] - 1
    return np.asarray(np.ldexp(1.0, np.maximum(exponent, grid.lowest) - grid.precision + 1))


def pair_norms(values: NDArray[np.float64], width: int, interleaved: bool) -> NDArray[np.float64]:
    """Return, for each value, the norm of its pair in the first `width` columns, and the size of any other.

    A turned pair is x c - y s and x s + y c, whose terms cancel: its error is that of its length.
    """
    found = np.abs(values)
    for columns in (slice(0, width, 2), slice(1, width, 2)) if interleaved else ():
        found[..., columns] = np.hypot(values[..., 0:width:2], values[..., 1:width:2])
    half = width // 2
    for columns in () if interleaved else (slice(0, half), slice(half, width)):
        found[..., columns] = np.hypot(values[..., :half], values[..., half:width])
    return found
