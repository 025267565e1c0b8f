"""Sums of two products, x A + y B, rounded once: x and y are given, A and B are real numbers.

Rotating a pair, scaling and adding a row, adding a bias: all are such sums.  A and B are known three ways:

- as float64 a, b, each the correctly rounded one or exact, so within u = 2^-53 of itself.  The candidate
  a x + b y then errs by at most 3u (abs(a x) + abs(b y)) and its second-order terms, with fused multiplications or
  without.  Its two ends are made by a sum and a difference, a further u each: 6u bounds all.  Where both ends round to
  the same value, that is the correctly rounded one; first with one bound for many sums, then with that of each.
- as doubled numbers with a bound on their error, for the few sums where the ends differ (and for float64, all).
- as intervals of fractions of any width, for what then is still in doubt.  A sum that lies exactly on a boundary
  has exact A and B (angle zero, a stored table) and is decided by them; any other one lies off it, so the
  intervals decide it in the end, but for a sum of exactly zero, which no interval excludes: see `SMALLEST`.

Where A and B are coarser than that, the bounds are so many times as wide (`coarse`), or by an absolute error wider
(`loose`).

Only + - x on float64 and integers: the same values on every machine.
"""

from __future__ import annotations

from fractions import Fraction
from math import isfinite
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pecli.engine.angles import round_ratio
from pecli.engine.narrowing import Flags
from pecli.engine.threads import Scratch
from pecli.numbers.double_double import DoubleDouble, add, quick_two_sum, two_prod, two_sum
from pecli.numbers.dtypes import GRIDS
from pecli.numbers.rounding import narrow, round_within, to_grid, widen

Floats = NDArray[np.float64]
Places = NDArray[np.int64]
Interval = tuple[Fraction, Fraction]

CANDIDATE = 3 * 2.0**-52
"""6u: see above."""

LEAST = 2.0**-1060
"""What products below the normal numbers may err by besides."""

DOUBLED = 2.0**-100
"""Products of a float64 and a doubled number err by 2u^2 each, their sum by 3u^2: below 2^-100 of their sizes."""

WIDE = 2.0**900
"""Beyond this size, or below its reciprocal, a float64 may leave a doubled product no room: fractions decide."""

BITS, SMALLEST = 160, 2600
"""Precision of the first intervals, doubled until they decide.  A sum whose interval still holds zero at
`SMALLEST` bits is zero: x and y are float64, whole multiples of 2^-1074, and A and B of pairs that cancel are
square roots of small fractions, whose sums cannot be that small without being zero."""


class Factors(Protocol):
    """What A and B are, beyond float64."""

    def doubled(self, places: Places) -> tuple[DoubleDouble, DoubleDouble, Floats]:
        """Return A and B at places (k,) in the flat array of sums, and a bound (k,) on the absolute error of each."""
        ...

    def interval(self, place: int, bits: int) -> tuple[Interval, Interval]:
        """Return intervals that hold A and B at one place, about 2^-bits wide."""
        ...


def round_sums(
    x: Floats,
    a: Floats,
    y: Floats,
    b: Floats,
    factors: Factors,
    dtype: str,
    out: NDArray[Any],
    own: Scratch,
    most: float,
) -> None:
    """Write x A + y B, each correctly rounded to `dtype`, into `out`.

    Parameters
    ----------
    x, y : (n, m) float64 ndarray
        What is given; a NaN or an infinity gives what IEEE 754 says of it.
    a, b : (n, m) float64 ndarray
        A and B, each correctly rounded or exact.
    factors : Factors
        What they are beyond that; places count in C order.
    dtype : {"float16", "bfloat16", "float32", "float64"}
        Of the sums; bfloat16 as its bits in uint16.
    out : (n, m) ndarray
        Where to; of the storage type and any strides.
    own : Scratch
        Working memory.
    most : float
        What abs(x A) + abs(y B) is at most; infinite or NaN where an input is.
    """
    candidate, second = (own.get(name, x.size, np.float64).reshape(x.shape) for name in ("sum", "term"))
    with np.errstate(all="ignore"):
        np.multiply(x, a, out=candidate)
        np.multiply(y, b, out=second)
        np.add(candidate, second, out=candidate)
        doubtful = round_candidates(candidate, most, dtype, out, own)
    if len(doubtful):
        x, a, y, b = (part.reshape(-1)[doubtful] for part in (x, a, y, b))
        values, unsure = each_by_itself(x, a, y, b, dtype)
        values[unsure] = settled(x[unsure], y[unsure], doubtful[unsure], factors, dtype)
        out[np.divmod(doubtful, out.shape[1])] = narrow(values, None, dtype)


def round_candidates(candidate: Floats, most: float, dtype: str, out: NDArray[Any], own: Scratch) -> Places:
    """Round sums into `out`, of their shape, and use up their float64 values.

    Parameters
    ----------
    candidate : float64 ndarray
        a x + b y, contiguous.
    most : float
        What abs(a x) + abs(b y) is at most; infinite or NaN where an input is.
    dtype, out, own
        See `round_sums`.

    Returns
    -------
    (k,) int64 ndarray
        The flat places of those that may be wrong.  A candidate that is no number is what the inputs make of it.
    """
    error = CANDIDATE * most + LEAST
    if dtype == "float32" and isfinite(error):
        return _store_float32(candidate, error, out, own)
    if dtype == "float64" or not isfinite(error):
        narrow(candidate, None, dtype, out)
        return np.flatnonzero(np.isfinite(candidate))
    out[...], places = round_within(candidate, error, dtype)
    return places


def _store_float32(candidate: Floats, error: float, out: NDArray[Any], own: Scratch) -> Places:
    """Round the upper ends of the intervals into `out`; return the places where the lower ends round differently."""
    below = own.get("below", candidate.size, np.float32).reshape(candidate.shape)
    flags = Flags(candidate.size, "differ", own)
    differ = flags.part(0, candidate.size).reshape(candidate.shape)
    np.add(candidate, error, out=candidate)
    np.copyto(out, candidate, casting="unsafe")
    np.subtract(candidate, 2 * error, out=candidate)
    np.copyto(below, candidate, casting="unsafe")
    np.not_equal(out, below, out=differ)
    return flags.places() if differ.any() else np.empty(0, np.int64)


def each_by_itself(
    x: Floats, a: Floats, y: Floats, b: Floats, dtype: str, coarse: float = 1.0, loose: float = 0.0
) -> tuple[Floats, NDArray[np.bool_]]:
    """Return sums (k,) rounded to a type, as float64, and which may be wrong: each within its own error.

    a and b err by as much as `coarse` says, and by `loose` more.
    """
    with np.errstate(all="ignore"):
        first, second = x * a, y * b
        total = first + second
        values = widen(narrow(total, None, dtype), dtype)
        if dtype == "float64":
            return values, np.ones(len(values), np.bool_)
        unsure = np.zeros(len(values), np.bool_)
        error = coarse * CANDIDATE * (np.abs(first) + np.abs(second)) + loose * (np.abs(x) + np.abs(y)) + LEAST
        unsure[_doubtful(total, error, dtype)] = True
    return values, unsure


def largest(values: NDArray[np.floating[Any]]) -> float:
    """Return the largest size of some values; infinite or NaN where one is."""
    return max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))


def _doubtful(candidate: Floats, error: Floats, dtype: str) -> Places:
    """Return the places where the ends of the interval round differently."""
    above, below = narrow(candidate + error, None, dtype), narrow(candidate - error, None, dtype)
    differ = above != below
    if dtype == "bfloat16":  # narrow rounds by way of float32: a float32 midway between two may have been rounded to
        bits = (candidate.astype(np.float32).view(np.uint32) + np.uint32(1)) & np.uint32(0xFFFF)
        differ |= (bits >= 0x8000) & (bits <= 0x8002)
    return np.flatnonzero(differ)


def settled(x: Floats, y: Floats, places: Places, factors: Factors, dtype: str) -> Floats:
    """Return the sums at some places, correctly rounded, as float64."""
    values, unsure = doubled_sums(x, y, *factors.doubled(places), dtype)
    for k in np.flatnonzero(unsure).tolist():
        values[k] = _exactly(Fraction(x[k]), Fraction(y[k]), int(places[k]), factors, dtype)
    return values


def doubled_sums(
    x: Floats, y: Floats, a: DoubleDouble, b: DoubleDouble, known: Floats, dtype: str
) -> tuple[Floats, NDArray[np.bool_]]:
    """Return sums of any shape by doubled factors, known to within `known`, rounded; and which may be wrong."""
    left, right = _times(x, a), _times(y, b)
    total = add(left, right)
    size = np.abs(left.hi) + np.abs(right.hi)
    error = size * DOUBLED + (np.abs(x) + np.abs(y)) * known
    above = to_grid(*_pair(total.hi, total.lo + error), GRIDS[dtype])
    below = to_grid(*_pair(total.hi, total.lo - error), GRIDS[dtype])
    unsure = (above != below) | ((above == 0) & (size != 0))
    for values in (x, y):
        sizes = np.abs(values)
        unsure |= (sizes > WIDE) | ((sizes < 1 / WIDE) & (values != 0))
    return above, unsure


def _pair(hi: Floats, lo: Floats) -> tuple[Floats, Floats]:
    return quick_two_sum(*two_sum(hi, lo))


def _times(x: Floats, factor: DoubleDouble) -> DoubleDouble:
    """Multiply a float64 and a doubled number, within 2u^2 of the product."""
    product, error = two_prod(x, factor.hi)
    return DoubleDouble(*quick_two_sum(product, error + x * factor.lo))


def _exactly(x: Fraction, y: Fraction, place: int, factors: Factors, dtype: str) -> float:
    """Return one sum, correctly rounded: narrower intervals until both ends round alike."""
    bits = BITS
    while True:
        first, second = factors.interval(place, bits)
        ends = [sum(pair) for pair in zip(_scaled(x, first), _scaled(y, second), strict=True)]
        low, high = (round_ratio(end.numerator, end.denominator, GRIDS[dtype]) for end in map(Fraction, ends))
        if low == high and (ends[0] > 0 or ends[1] < 0 or ends[0] == ends[1]):
            return low
        if bits > SMALLEST:
            return 0.0
        bits *= 2


def _scaled(factor: Fraction, interval: Interval) -> list[Fraction]:
    return sorted(factor * end for end in interval)
