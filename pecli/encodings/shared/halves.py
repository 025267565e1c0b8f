"""Exponents over half a width."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from pecli.errors import BadParameter


def below_half(shift: Decimal, half: Fraction, of: str) -> Fraction:
    """Return the shift, once the exponent i / (half - shift) has a positive denominator."""
    if half == shift:
        rule = f"divides by {half} - {shift} = 0 at {of}: use a wider dim{' or --shift 0' if shift else ''}"
        raise BadParameter("shift", shift, rule)
    if half < shift:
        raise BadParameter("shift", shift, f"must lie below {half} at {of}: the exponent is i / ({half} - shift)")
    return Fraction(shift)
