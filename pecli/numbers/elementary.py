"""Logarithm and exponential in double-double arithmetic: the same bits on every machine.

NumPy's and libm's log, exp and power change with the processor and the version.
These use + - x / of float64 and small tables made with the standard library's
``decimal``, so their results are a definition, and they are good to about 100
bits, so that rounding them to any storage type gives the nearest value.

`log`, `log1p` and `exp` err by less than 2^-96 of the result, as long as its second half is a
normal float64: below 1e-290 an exponential has fewer bits.
"""

from __future__ import annotations

from decimal import Decimal
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.numbers.decimals import FOR_DOUBLED
from pecli.numbers.doubled import Doubled, add, divide, from_decimal, multiply, quick_two_sum, two_prod, two_sum

Floats = NDArray[np.float64]

_STEPS = 128  # of the logarithm's table between 1/2 and 1 doubled: 2^-8 is left of the argument
_PARTS = 64  # of the exponential's table: a power of two is split into so many
_UNDERFLOW = -800.0  # below it the exponential is 0 in every storage type
_OVERFLOW = 710.0


def doubled(values: NDArray[Any]) -> Doubled:
    """Return float64 values (or whole numbers below 2^53) as doubled ones."""
    hi = np.asarray(values, np.float64)
    return Doubled(hi, np.zeros_like(hi))


def log(x: Doubled) -> Doubled:
    """Return the natural logarithm of numbers above 0 (normal float64 in size)."""
    mantissa, exponent = np.frexp(x.hi)
    # A mantissa from 0.708 up to 1.416: then a number just below 1 keeps the exponent 0, and
    # nothing cancels in exponent x ln 2 + ln mantissa.
    low = mantissa < 0.708
    exponent = exponent - low
    scale = np.ldexp(1.0, -exponent)
    return _log_of(x.scaled(scale), exponent.astype(np.float64))


def log1p(x: Doubled) -> Doubled:
    """Return the logarithm of 1 + x, good for small x too."""
    near = np.abs(x.hi) < 1.0 / 256
    one = doubled(np.ones_like(x.hi))
    whole = log(add(one, Doubled(np.where(near, 0.0, x.hi), np.where(near, 0.0, x.lo))))
    small = _log_near_one(Doubled(np.where(near, x.hi, 0.0), np.where(near, x.lo, 0.0)))
    return Doubled(np.where(near, small.hi, whole.hi), np.where(near, small.lo, whole.lo))


def exp(x: Doubled) -> Doubled:
    """Return e^x; what lies beyond float64 becomes 0 or infinity."""
    hi = np.clip(x.hi, _UNDERFLOW, _OVERFLOW)
    lo = np.where(hi == x.hi, x.lo, 0.0)
    parts, table, (c1, c2, c3) = _exp_tables()
    count = np.rint(hi * parts)
    # count has 17 bits and c1, c2 have 33 each, so both products are exact.
    r, error = two_sum(hi - count * c1, -count * c2)
    rest = Doubled(*quick_two_sum(r, error + (lo - count * c3)))
    number = count.astype(np.int64)
    power = table[number % _PARTS]
    value = add(power, multiply(power, _expm1(rest)))
    exponent = number // _PARTS
    with np.errstate(over="ignore", under="ignore"):
        scaled = Doubled(np.ldexp(value.hi, exponent), np.ldexp(value.lo, exponent))
    infinite = np.isinf(scaled.hi)
    return Doubled(scaled.hi, np.where(infinite, 0.0, scaled.lo))


def expm1(x: Doubled) -> Doubled:
    """Return e^x - 1, good for small x too."""
    near = np.abs(x.hi) < 1.0 / 256
    whole = add(exp(Doubled(np.where(near, 1.0, x.hi), np.where(near, 0.0, x.lo))), doubled(-np.ones_like(x.hi)))
    small = _expm1(Doubled(np.where(near, x.hi, 0.0), np.where(near, x.lo, 0.0)))
    return Doubled(np.where(near, small.hi, whole.hi), np.where(near, small.lo, whole.lo))


def power(base: Doubled, exponent: Doubled) -> Doubled:
    """Return base^exponent for a base above 0; its error is that of `exp` times the size of its argument."""
    return exp(multiply(exponent, log(base)))


def sigmoid(x: Doubled) -> Doubled:
    """Return 1 / (1 + e^-x)."""
    # From the side where the exponential is small, so that it cannot overflow.
    falling = exp(Doubled(-np.abs(x.hi), np.where(x.hi < 0, x.lo, -x.lo)))
    one = doubled(np.ones_like(x.hi))
    below = divide(one, add(one, falling))
    above = multiply(falling, below)
    positive = x.hi >= 0
    return Doubled(np.where(positive, below.hi, above.hi), np.where(positive, below.lo, above.lo))


def _log_of(m: Doubled, exponent: Floats) -> Doubled:
    """Return ln m + exponent x ln 2 for m from 0.708 to 1.416."""
    inverse, logs, ln2 = _log_tables()
    index = np.rint(m.hi * _STEPS).astype(np.int64)
    r = inverse[index]
    p, e = two_prod(m.hi, r)
    z, rest = two_sum(p - 1.0, e)  # p is near 1: the difference is exact
    near = _log_near_one(Doubled(*quick_two_sum(z, rest + m.lo * r)))
    whole = add(multiply(doubled(exponent), ln2), logs[index])
    return add(whole, near)


def _log_near_one(z: Doubled) -> Doubled:
    """Return ln(1 + z) for abs(z) <= 2^-7: twice the inverse hyperbolic tangent of s = z / (2 + z).

    The series ends with s^11: abs(s) < 2^-8 leaves s^13/13, less than 2^-99 of s.
    """
    third, fifth, seventh = _odd()
    two = doubled(np.full_like(z.hi, 2.0))
    s = divide(z, add(two, z))
    s2 = multiply(s, s)
    x = s2.hi
    high = x * (seventh + x * (1.0 / 9 + x * (1.0 / 11)))
    inner = add(fifth, doubled(high))
    inner = add(third, multiply(s2, inner))
    doubled_s = s.scaled(2.0)
    return add(doubled_s, multiply(doubled_s, multiply(s2, inner)))


def _expm1(r: Doubled) -> Doubled:
    """Return e^r - 1 for abs(r) <= ln 2 / 128: its series to r^13."""
    factors, tail = _factorials()
    x = r.hi
    high = np.full_like(x, tail[-1])
    for c in reversed(tail[:-1]):
        high = high * x + c
    total = doubled(high * x)
    for index in range(len(factors.hi) - 1, 0, -1):
        total = add(factors[index], total)
        total = multiply(total, r)
    return add(r, multiply(r, total))


@cache
def _log_tables() -> tuple[Floats, Doubled, Doubled]:
    """Return 1/c, -ln(1/c) for c = k / 128, and ln 2; unused entries are 1."""
    inverse = np.ones(2 * _STEPS)
    for k in range(90, 183):
        inverse[k] = _STEPS / k
    logs = from_decimal([FOR_DOUBLED.minus(FOR_DOUBLED.ln(Decimal(v))) for v in inverse.tolist()])
    return inverse, logs, from_decimal(FOR_DOUBLED.ln(Decimal(2)))


@cache
def _exp_tables() -> tuple[float, Doubled, tuple[float, float, float]]:
    """Return 64 / ln 2, the powers 2^(k/64), and ln 2 / 64 in three parts of which two are short."""
    ln2 = FOR_DOUBLED.ln(Decimal(2))
    step = FOR_DOUBLED.divide(ln2, Decimal(_PARTS))
    powers = from_decimal([FOR_DOUBLED.exp(FOR_DOUBLED.multiply(step, Decimal(k))) for k in range(_PARTS)])
    first = _short(step)
    second = _short(FOR_DOUBLED.subtract(step, Decimal(first)))
    third = float(FOR_DOUBLED.subtract(FOR_DOUBLED.subtract(step, Decimal(first)), Decimal(second)))
    return float(FOR_DOUBLED.divide(Decimal(_PARTS), ln2)), powers, (first, second, third)


def _short(value: Decimal) -> float:
    """Return the value cut to 33 bits."""
    mantissa, exponent = np.frexp(float(value))
    return float(np.ldexp(np.rint(mantissa * 2.0**33), int(exponent) - 33))


@cache
def _odd() -> tuple[Doubled, Doubled, float]:
    return from_decimal(FOR_DOUBLED.divide(Decimal(1), Decimal(3))), from_decimal(Decimal("0.2")), 1.0 / 7


@cache
def _factorials() -> tuple[Doubled, tuple[float, ...]]:
    """Return 1/1! .. 1/7! doubled and 1/8! .. 1/13!."""
    values, product = [], Decimal(1)
    for k in range(1, 14):
        product *= k
        values.append(FOR_DOUBLED.divide(Decimal(1), product))
    return from_decimal(values[:7]), tuple(float(v) for v in values[7:])
