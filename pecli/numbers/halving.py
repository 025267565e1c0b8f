"""Fast rounding of candidates to the narrow types, with the few that may have been rounded wrongly."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.numbers.rounding import narrow

Floats = NDArray[np.float64]
Places = NDArray[np.int64]

SMALL = 2.0**-20
"""Candidates below this are doubtful where their error is absolute: float32 is finer there than they are."""

_SIZE, _LEAST, _MOST = np.uint32(0x7FFFFFFF), 0x38800000, 0x477FE000  # 2^-14 and 65504 as float32


def round_within(values: Floats, error: float, dtype: str) -> tuple[NDArray[Any], Places]:
    """Round values that are known to within an absolute error below 2^-44.

    Returns
    -------
    (values, places)
        Of the storage type, and the flat places of those that may be wrong.
    """
    if dtype in ("float16", "bfloat16"):
        single = values.astype(np.float32)
        found, doubtful = halve(single, dtype)
        doubtful |= np.abs(single) < SMALL
        places = np.flatnonzero(doubtful)
        below, differ = _both_ends(values.reshape(-1)[places], error, dtype)
        found.reshape(-1)[places] = below
        return found, places[differ]
    return _both_ends(values, error, dtype)


def _both_ends(values: Floats, error: float, dtype: str) -> tuple[NDArray[Any], Places]:
    above = narrow(values + error, None, dtype)
    below = narrow(values - error, None, dtype)
    return below, np.flatnonzero(below != above)


def halve(single: NDArray[np.float32], dtype: str) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Round float32 values to float16 or bfloat16.

    A midpoint of the narrow type is a float32 number.  A real number that is known much better
    than to a unit of float32 is rounded rightly by way of it, unless it became a midpoint itself:
    those are doubtful, and what is no normal number of float16.
    """
    bits = single.view(np.uint32)
    cut = np.uint32(13 if dtype == "float16" else 16)
    half = np.uint32(1) << (cut - np.uint32(1))
    doubtful = (bits & (np.uint32(2) * half - np.uint32(1))) == half
    rounded = bits >> cut
    rounded &= np.uint32(1)
    rounded += bits
    rounded += half - np.uint32(1)
    if dtype == "bfloat16":
        rounded >>= cut
        return rounded.astype(np.uint16), doubtful
    size = bits & _SIZE
    size -= np.uint32(_LEAST)  # what is too small wraps around
    doubtful |= size > np.uint32(_MOST - _LEAST)
    sign = bits >> np.uint32(16)
    sign &= np.uint32(0x8000)
    rounded -= np.uint32(0x38000000)  # the exponent's offset changes from 127 to 15
    rounded >>= cut
    rounded &= np.uint32(0x7FFF)
    rounded |= sign
    return rounded.astype(np.uint16).view(np.float16), doubtful
