"""The frequencies of one side of a grid, and of half a width."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Annotated

from pecli.declare.encoding import Param, Preset
from pecli.errors import BadParameter
from pecli.numbers.decimals import geometric

Shift = Annotated[Decimal, Param("Exponent of frequency k of m is k / (m - shift).", ge=0)]


SPACING = Preset(
    "Frequencies from 1 to the base's power short of 1/base (paper), or to 1/base itself (endpoint).",
    {"paper": {"shift": "0"}, "endpoint": {"shift": "1"}},
    "spacing",
)


def below_half(shift: Decimal, half: Fraction, of: str) -> Fraction:
    """Return the shift, once the exponent i / (half - shift) has a positive denominator."""
    if half == shift:
        rule = f"divides by {half} - {shift} = 0 at {of}: use a wider dim{' or shift=0' if shift else ''}"
        raise BadParameter("shift", shift, rule)
    if half < shift:
        raise BadParameter("shift", shift, f"must lie below {half} at {of}: the exponent is i / ({half} - shift)")
    return Fraction(shift)


def share(dim: int, parts: int, why: str) -> int:
    """Return dim / parts; an error names the nearest widths where it is not whole."""
    if dim % parts:
        low = dim // parts * parts
        near = f"{low} or {low + parts}" if low else str(parts)
        raise BadParameter("dim", dim, f"must be a multiple of {parts} ({why}): use {near}")
    return dim // parts


def series(base: Decimal, count: int, shift: Decimal, dim: int) -> tuple[Decimal, ...]:
    """Return `count` frequencies of one side, radians per unit of its coordinate."""
    return geometric(base, 1 / (count - below_half(shift, Fraction(count), f"dim={dim}")), count)
