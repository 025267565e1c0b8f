"""Frequencies in exact decimal arithmetic: the geometric series, and pi.

Everything here works in the standard library's ``decimal`` with
`FREQUENCY_DIGITS` digits, in a context of its own, so that neither the
caller's context nor libm has a say in the result.
"""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Context, Decimal, DivisionByZero, InvalidOperation, Overflow
from fractions import Fraction
from math import isqrt

FREQUENCY_DIGITS = 110
"""Digits of an irrational frequency.

A position has up to 16 digits, a frequency up to 30 before the point, and the
engine wants 58 after it (192 bits of a turn): 104.  Of a phase below 2^63 units
they leave 292 bits to tell a value from a rounding boundary.
"""

CONTEXT = Context(
    prec=FREQUENCY_DIGITS + 10,  # ten guard digits: a product of 10^5 factors loses at most six
    rounding=ROUND_HALF_EVEN,
    Emin=-999_999,
    Emax=999_999,
    traps=[DivisionByZero, InvalidOperation, Overflow],
)
FOR_DOUBLED = Context(prec=50, Emin=-999_999, Emax=999_999)
"""Digits of what is then rounded to two float64, which hold 32: logarithms take half the time."""
_RESULT = Context(prec=FREQUENCY_DIGITS, rounding=ROUND_HALF_EVEN, Emin=-999_999, Emax=999_999)
_HUGE = Context(prec=CONTEXT.prec, rounding=ROUND_HALF_EVEN, Emin=-999_999_999, Emax=999_999_999)

PI = Decimal(
    "3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798214"
    "8086513282306647093844609550582231725359408128481117"
)
TAU = CONTEXT.multiply(Decimal(2), PI)

ONE = Decimal(1)
_SHORT = 40  # a power of so few digits is rational: it agrees to 110 digits by no accident


def geometric(base: Decimal, step: Decimal | Fraction, count: int) -> tuple[Decimal, ...]:
    """Return base^(-i step) for i = 0..count-1.

    Parameters
    ----------
    base : Decimal
        Above 0.
    step : Decimal or Fraction
        Exponent between neighbours; 2/d for a rotary table of width d.
    count : int
        How many.

    Returns
    -------
    tuple of Decimal
        With a relative error below 10^-105 for up to 10^5 of them.

    Examples
    --------
    >>> geometric(Decimal(10000), Fraction(1, 2), 3)
    (Decimal('1'), Decimal('0.01'), Decimal('0.0001'))
    """
    ratio = power(base, -Fraction(step))
    found = []
    value = ONE
    for _ in range(count):
        found.append(_RESULT.plus(value))
        value = CONTEXT.multiply(value, ratio)
    return tuple(found)


def power(base: Decimal, exponent: Decimal | Fraction | int) -> Decimal:
    """Return base^exponent for a base above 0; a rational power of few digits is exact."""
    if base == ONE or exponent == 0:
        return ONE
    numerator, denominator = Fraction(exponent).as_integer_ratio()
    value = CONTEXT.exp(CONTEXT.divide(CONTEXT.multiply(CONTEXT.ln(base), Decimal(numerator)), Decimal(denominator)))
    short = _RESULT.plus(value).normalize(_RESULT)
    return short if len(short.as_tuple().digits) <= _SHORT else value


def powers_of_ratios(count: int, exponent: Decimal) -> list[Decimal]:
    """Return (i/(count - 1))^exponent for i = 0..count-1, exponent > 0: powers of primes, and products of these.

    Examples
    --------
    >>> powers_of_ratios(5, Decimal("0.5"))[1].normalize()
    Decimal('0.5')
    """
    factor = list(range(count))  # the largest prime up to the root, or the number itself
    for i in range(2, isqrt(count) + 1):
        if factor[i] == i:
            factor[2 * i :: i] = [i] * len(factor[2 * i :: i])
    found = [Decimal(0), ONE]
    for i in range(2, count):
        p = factor[i]
        found.append(_HUGE.power(Decimal(i), exponent) if p == i else _HUGE.multiply(found[p], found[i // p]))
    return [_RESULT.plus(_HUGE.divide(value, found[count - 1])) for value in found[:count]]
