"""Sums of two products, x A + y B, rounded once: x and y are given, A and B are real numbers.

Rotating a pair, scaling and adding a row, adding a bias: all are such sums.  A and B are known three ways:

- as float64 a, b, each the correctly rounded one or exact, so within u = 2^-53 of itself.  The candidate
  a x + b y then errs by at most 3u (abs(a x) + abs(b y)), and little more for its second-order terms: 4u bounds it.
  Where both ends of that interval round to the same value, that is the correctly rounded one.
- as doubled numbers with a bound on their error, for the few sums where the ends differ (and for float64, all).
- as intervals of fractions of any width, for what then is still in doubt.  A sum that lies exactly on a boundary
  has exact A and B (angle zero, a stored table) and is decided by them; any other one lies off it, so the
  intervals decide it in the end, but for a sum of exactly zero, which no interval excludes: see `SMALLEST`.

Only + - x on float64 and integers: the same values on every machine.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.engine.exact import round_ratio
from pecli.engine.scratch import Scratch
from pecli.numbers.doubled import Doubled, add, quick_two_sum, two_prod, two_sum
from pecli.numbers.rounding import narrow, to_grid
from pecli.numbers.types import GRIDS

Floats = NDArray[np.float64]
Places = NDArray[np.int64]
Interval = tuple[Fraction, Fraction]

CANDIDATE = 2.0**-51
"""4u: see above."""

DOUBLED = 2.0**-100
"""Products of a float64 and a doubled number err by 2u^2 each, their sum by 3u^2: below 2^-100 of their sizes."""

WIDE = 2.0**900
"""Beyond this size, or below its reciprocal, a float64 may leave a doubled product no room: fractions decide."""

BITS, SMALLEST = 160, 2600
"""Precision of the first intervals, doubled until they decide.  A sum whose interval still holds zero at
`SMALLEST` bits is zero: x and y are float64, whole multiples of 2^-1074, and A and B of pairs that cancel are
square roots of small fractions, whose sums cannot be that small without being zero."""


@dataclass(frozen=True)
class Factors:
    """What A and B are, beyond float64.

    Parameters
    ----------
    doubled : callable
        Of places (k,) int64 in the flat array of sums: gives A, B as doubled numbers (k,) and a bound (k,) on the
        absolute error of each.
    interval : callable
        Of one place and a number of bits: gives intervals that hold A and B, about 2^-bits wide.
    """

    doubled: Callable[[Places], tuple[Doubled, Doubled, Floats]]
    interval: Callable[[int, int], tuple[Interval, Interval]]


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
        error = CANDIDATE * most + 2.0**-1060
        if dtype == "float64":
            np.copyto(out, candidate)
            doubtful = np.arange(candidate.size)
        elif not np.isfinite(error):
            narrow(candidate, None, dtype, out)
            doubtful = np.flatnonzero(np.isfinite(candidate))
        elif dtype == "float32":
            doubtful = _store_float32(candidate, error, second, out, own)
        else:
            narrow(candidate, None, dtype, out)
            doubtful = _doubtful(candidate, error, dtype)
        # a candidate that is no number is what the inputs make of it: an infinity stays one, NaN stays where it is
        doubtful = doubtful[np.isfinite(candidate.reshape(-1)[doubtful])]
        if len(doubtful):
            settled = _settled(x.reshape(-1)[doubtful], y.reshape(-1)[doubtful], doubtful, factors, dtype)
            out[np.divmod(doubtful, x.shape[1])] = narrow(settled, None, dtype)


def _store_float32(candidate: Floats, error: float, spare: Floats, out: NDArray[Any], own: Scratch) -> Places:
    """Round the upper ends of the intervals into `out`; return the places where the lower ends round differently."""
    above, below = (own.get(name, candidate.size, np.float32).reshape(candidate.shape) for name in ("above", "below"))
    for end, by in ((above, error), (below, -error)):
        np.add(candidate, by, out=spare)
        np.copyto(end, spare, casting="unsafe")
    differ = own.get("differ", candidate.size, np.bool_).reshape(candidate.shape)
    np.not_equal(above, below, out=differ)
    np.copyto(out, above)
    return np.flatnonzero(differ) if differ.any() else np.empty(0, np.int64)


def largest(values: Floats) -> float:
    """Return the largest size of some values; infinite or NaN where one is."""
    return max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))


def _doubtful(candidate: Floats, error: float, dtype: str) -> Places:
    """Return the places where the ends of the interval round differently."""
    above, below = narrow(candidate + error, None, dtype), narrow(candidate - error, None, dtype)
    differ = above != below
    if dtype == "bfloat16":  # narrow rounds by way of float32: a float32 midway between two may have been rounded to
        bits = (candidate.astype(np.float32).view(np.uint32) + np.uint32(1)) & np.uint32(0xFFFF)
        differ |= (bits >= 0x8000) & (bits <= 0x8002)
    return np.flatnonzero(differ)


def _settled(x: Floats, y: Floats, places: Places, factors: Factors, dtype: str) -> Floats:
    """Return the sums at some places, correctly rounded, as float64."""
    grid = GRIDS[dtype]
    big_a, big_b, known = factors.doubled(places)
    left, right = _times(x, big_a), _times(y, big_b)
    total = add(left, right)
    size = np.abs(left.hi) + np.abs(right.hi)
    error = size * DOUBLED + (np.abs(x) + np.abs(y)) * known
    above = to_grid(*_pair(total.hi, total.lo + error), grid)
    below = to_grid(*_pair(total.hi, total.lo - error), grid)
    tight = np.zeros(len(places), np.bool_)
    for values in (x, y):
        sizes = np.abs(values)
        tight |= (sizes > WIDE) | ((sizes < 1 / WIDE) & (values != 0))
    for k in np.flatnonzero((above != below) | tight | ((above == 0) & (size != 0))).tolist():
        above[k] = _exactly(Fraction(x[k]), Fraction(y[k]), int(places[k]), factors, dtype)
    return above


def _pair(hi: Floats, lo: Floats) -> tuple[Floats, Floats]:
    return quick_two_sum(*two_sum(hi, lo))


def _times(x: Floats, factor: Doubled) -> Doubled:
    """Multiply a float64 and a doubled number, within 2u^2 of the product."""
    product, error = two_prod(x, factor.hi)
    return Doubled(*quick_two_sum(product, error + x * factor.lo))


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
