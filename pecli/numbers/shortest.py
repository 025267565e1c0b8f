"""The simplest number in an interval: what was probably meant by a value that was measured."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

MOST_DIGITS = 17
LARGE = 1000  # beyond it hardly anybody writes a fraction


def shortest(low: float, high: float) -> Decimal:
    """Return the decimal with the fewest digits in ``[low, high]``; of several the one nearest to the middle.

    Examples
    --------
    >>> shortest(9999.2, 10000.7), shortest(1.34655, 1.34659), shortest(-0.26, -0.24)
    (Decimal('1E+4'), Decimal('1.34657'), Decimal('-0.25'))
    """
    low, high = sorted((float(low), float(high)))
    if not (math.isfinite(low) and math.isfinite(high)) or low <= 0.0 <= high:
        return Decimal(0)
    if high < 0.0:
        return -shortest(-high, -low)
    middle = low / 2 + high / 2
    top = math.floor(math.log10(high))
    for digits in range(1, MOST_DIGITS + 1):
        unit = Decimal(1).scaleb(top - digits + 1)
        nearest = (Decimal(middle) / unit).to_integral_value() * unit
        if low <= nearest <= high:
            return nearest.normalize()
    return Decimal(repr(middle))


def near(value: float, relative: float) -> Decimal:
    """Return the shortest decimal within a relative distance of a value."""
    spread = abs(value) * relative
    return shortest(value - spread, value + spread)


def digits(value: Decimal) -> int:
    """Return how many significant digits a decimal has."""
    return len(value.normalize().as_tuple().digits) if value else 1


def price(value: Decimal) -> int:
    """Return what a number costs that somebody may have chosen: digits, one more for a large one with a fraction."""
    return digits(value) + (abs(value) > LARGE and value != value.to_integral_value())


def decimal_exactly(value: Fraction) -> bool:
    """Whether a fraction is a decimal of finite length."""
    rest = value.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    return rest == 1 and value.denominator < 10**15
