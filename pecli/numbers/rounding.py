"""From the real number to the stored one: correct rounding to each storage type, and back.

bfloat16 has no NumPy type, so its values travel as the ``uint16`` of their bits.

`widen` and `floats` give stored values as numbers that NumPy computes with; `allowance` bounds the error of float32
code.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.errors import BadParameter
from pecli.numbers.dtypes import DTYPES, GRIDS, FloatGrid, storage

# Types that computing modules share.
Floats = NDArray[np.float64]
Complex = NDArray[np.complex128]
Integers = NDArray[np.int64]

_SIZE, _MIN_NORMAL, _MAX_FINITE = np.uint32(0x7FFFFFFF), 0x38800000, 0x477FE000  # 2^-14 and 65504 as float32

STORAGE = {dtype: storage(dtype) for dtype in DTYPES}

# Factor of an error, below which a value is doubtful: half a unit of float32 is at least 2^-25 of the number.
FINE = 2.0**26


def narrow(hi: Floats, lo: Floats | None, dtype: str, out: NDArray[Any] | None = None) -> NDArray[Any]:
    """Round the real numbers ``hi + lo`` correctly to ``dtype``.

    Parameters
    ----------
    hi : ndarray of float64
        The real numbers rounded to float64.
    lo : ndarray of float64 or None
        What ``hi`` leaves of them.  Its sign alone matters, and only where ``hi`` lies exactly
        midway between two neighbours of the narrow type; there zero or None rounds to even.
    dtype : str
        A key of `STORAGE`.
    out : ndarray, optional
        Where to put the result; of any strides and of the storage type.

    Returns
    -------
    ndarray
        Values of the storage type (bit patterns for bfloat16), NaN and infinity included.
    """
    target = _known(dtype)
    hi = np.asarray(hi, dtype=np.float64)
    result: NDArray[Any]
    if dtype == "float64":
        result = hi
    else:
        result = np.atleast_1d(_nearest(hi, dtype))
        if lo is not None:
            flat = np.atleast_1d(hi)
            ties = midpoints(flat, dtype).nonzero()
            rest = np.broadcast_to(lo, flat.shape)[ties]
            result[ties] = _encode(to_grid(flat[ties], rest, GRIDS[dtype]), dtype)
        result = result.reshape(hi.shape)
    if out is None:
        return result.astype(target, copy=result is hi)
    out[...] = result
    return out


def _known(dtype: str) -> np.dtype[Any]:
    if dtype not in STORAGE:
        raise BadParameter("dtype", dtype, f"is no storage type: use one of {', '.join(STORAGE)}")
    return STORAGE[dtype]


def midpoints(values: Floats, dtype: str) -> NDArray[np.bool_]:
    """Return which numbers lie midway between two of the narrow type, or might: those below its normal numbers."""
    grid = GRIDS[dtype]
    spare = 53 - grid.precision
    low = np.ascontiguousarray(values).view(np.uint64) & np.uint64((1 << spare) - 1)
    small = np.abs(values) < 2.0**grid.lowest
    return np.asarray((low == np.uint64(1 << (spare - 1))) | (small & (values != 0)))


def _nearest(hi: Floats, dtype: str) -> NDArray[Any]:
    """Round to the nearest value of a narrow type, ties to even."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        if dtype != "bfloat16":
            # One conversion by IEEE 754's rule; NumPy's own code for float16 starts from the double's bits.
            return hi.astype(STORAGE[dtype])
        single = np.atleast_1d(hi.astype(np.float32))
    result, unsure = halve(single, dtype)
    unsure |= np.isnan(single)  # the carry may have made a number of it
    if unsure.any():
        result[unsure] = _encode(to_grid(np.atleast_1d(hi)[unsure], None, GRIDS[dtype]), dtype)
    return result.reshape(hi.shape)


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
    size -= np.uint32(_MIN_NORMAL)  # what is too small wraps around
    doubtful |= size > np.uint32(_MAX_FINITE - _MIN_NORMAL)
    sign = bits >> np.uint32(16)
    sign &= np.uint32(0x8000)
    rounded -= np.uint32(0x38000000)  # the exponent's offset changes from 127 to 15
    rounded >>= cut
    rounded &= np.uint32(0x7FFF)
    rounded |= sign
    return rounded.astype(np.uint16).view(np.float16), doubtful


def nearest(values: NDArray[Any], dtype: str) -> Floats:
    """Return numbers rounded to the nearest of a type, ties to even, as float64 of any shape.

    Examples
    --------
    >>> nearest(np.array([257.0, 259.0, 0.1]), "bfloat16").tolist()
    [256.0, 260.0, 0.10009765625]
    """
    return widen(narrow(np.asarray(values, np.float64), None, dtype), dtype)


def widen(values: NDArray[Any], dtype: str) -> Floats:
    """Turn stored values into float64, exactly (from their bits where the type is bfloat16).

    Parameters
    ----------
    values : array of any shape
        float16, float32 or float64, or ``uint16`` bits of bfloat16.
    dtype : str
        Their type, such as "bfloat16".

    Returns
    -------
    float64 array of the same shape

    Raises
    ------
    BadParameter
        For values that are not of this type.

    Examples
    --------
    >>> widen(np.array([0x3FC0], np.uint16), "bfloat16").tolist()
    [1.5]
    """
    _known(dtype)
    given = np.asarray(values)
    if given.dtype.name == "bfloat16":  # as ml_dtypes has it
        given = given.view(np.uint16)
    if (dtype == "bfloat16") != (given.dtype == np.uint16):
        rule = "is not the type of these values: bfloat16 is read from its bits in uint16, the others as they are"
        raise BadParameter("dtype", dtype, f"{rule}; the values are {np.asarray(values).dtype.name}")
    with np.errstate(invalid="ignore"):  # a signalling NaN is a value too
        if dtype != "bfloat16":
            return given.astype(np.float64)
        bits = np.atleast_1d(given.astype(np.uint32) << np.uint32(16))
        return bits.view(np.float32).reshape(given.shape).astype(np.float64)


def _encode(values: Floats, dtype: str) -> NDArray[Any]:
    """Store numbers that the type holds exactly."""
    if dtype != "bfloat16":
        with np.errstate(over="ignore", under="ignore"):
            return values.astype(STORAGE[dtype])
    nan = np.isnan(values)
    # A NaN's payload may be in the low half alone, and converting a signalling one is reported.
    numbers = np.where(nan, np.copysign(0.0, values), values).astype(np.float32)
    bits = np.atleast_1d(numbers).view(np.uint32) >> np.uint32(16)
    return (bits.reshape(values.shape) | np.where(nan, np.uint32(0x7FC0), np.uint32(0))).astype(np.uint16)


def to_grid(hi: Floats, lo: Floats | None, grid: FloatGrid) -> Floats:
    """Round hi + lo to a binary type, as float64 (float64 itself is hi).

    Scaling by a power of two is exact, ``rint`` is exact and rounds half to even, so the scaled
    number and its distance to the rounded one are exact too: |distance| = 1/2 is a midpoint and
    nothing else is.  Below the normal numbers the spacing stays what it is at ``lowest``.
    """
    if grid.precision == 53:
        return hi
    size = np.abs(hi)
    with np.errstate(invalid="ignore", over="ignore", under="ignore"):
        _, exponent = np.frexp(np.where(np.isfinite(size), size, 1.0))
        unit = np.maximum(exponent - 1, grid.lowest) - (grid.precision - 1)
        scaled = np.ldexp(size, -unit)
        rounded = np.rint(scaled)
        if lo is not None:
            beyond = np.where(np.signbit(hi), -lo, lo)  # away from zero, seen from hi
            tie = np.abs(scaled - rounded) == 0.5
            rounded = np.where(tie & (beyond > 0), np.ceil(scaled), rounded)
            rounded = np.where(tie & (beyond < 0), np.floor(scaled), rounded)
        result = np.ldexp(rounded, unit)
    result = np.where(result > grid.largest, np.inf, result)
    return np.where(np.isnan(hi), hi, np.copysign(result, hi))


def round_within(values: Floats, error: float | Floats, dtype: str) -> tuple[NDArray[Any], Integers]:
    """Round values that are known to within an absolute error, one for all or one for each.

    Returns
    -------
    (values, places)
        Of the storage type, and the flat places of those that may be wrong.
    """
    if dtype in ("float16", "bfloat16"):
        single = values.astype(np.float32)
        found, doubtful = halve(single, dtype)
        doubtful |= np.abs(single) <= FINE * error
        places = np.flatnonzero(doubtful)
        unsure = values.reshape(-1)[places]
        errors = error if isinstance(error, float) else error.reshape(-1)[places]
        found.reshape(-1)[places], differ = both_ends(unsure - errors, unsure + errors, dtype)
        return found, places[differ]
    return both_ends(values - error, values + error, dtype)


def both_ends(least: Floats, most: Floats, dtype: str) -> tuple[NDArray[Any], Integers]:
    """Return the rounded lower bounds, and the flat places where the upper bound rounds to another value."""
    below = narrow(least, None, dtype)
    return below, np.flatnonzero(below != narrow(most, None, dtype))


def units(values: Floats, dtype: str) -> Floats:
    """Return the unit in the last place of each value in a floating type; of 0 the smallest, of NaN that of 1."""
    grid = GRIDS[dtype]
    _, exponent = np.frexp(np.where(np.isfinite(values), values, 1.0))
    lowest = np.where(values == 0, grid.lowest, np.maximum(exponent - 1, grid.lowest))
    return np.asarray(np.ldexp(1.0, lowest - (grid.precision - 1)))


def floats(values: NDArray[Any], dtype: str) -> NDArray[Any]:
    """Return values as numbers: bfloat16 from its bits, complex as pairs, booleans as 0 and 1."""
    if dtype == "bfloat16":
        return widen(values, dtype)
    if values.dtype.kind == "c":
        return np.ascontiguousarray(values).view(values.real.dtype)
    return values.astype(np.uint8) if values.dtype.kind == "b" else values


def allowance(largest: float, dtype: str, last: int) -> float:
    """Return how far a kernel may be from the exact values.

    An angle of position p made in float32 is off by at most p u (its frequency) and p u (the product), u = 2^-24,
    which moves a value by that times the pair's length, at most sqrt(2) times the largest input. cos, sin, two
    products and their sum, and the output, are rounded in the inputs' type: 4 roundings of at most that length.

    Examples
    --------
    >>> allowance(1.0, "float32", 0) == 2**0.5 * 4 * 2**-24
    True
    """
    angle = 2 * last * GRIDS["float32"].rounding
    return 2**0.5 * largest * (angle + 4 * GRIDS[dtype].rounding)
