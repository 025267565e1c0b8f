"""Kernels of the distance, a column of numbers per head."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

from pecli.errors import BadParameter

if TYPE_CHECKING:
    from pecli.numbers.doubled import Doubled


def each_head(name: str, given: tuple[Decimal, ...] | None, heads: int) -> list[Fraction]:
    """Return one exact number for each head; nothing where none is given."""
    if given is None:
        return []
    if len(given) not in (1, heads):
        raise BadParameter(name, f"({len(given)} numbers)", f"must be one number, or one for each of heads={heads}")
    return [Fraction(value) for value in given] * (heads if len(given) == 1 else 1)


def column(values: Doubled) -> Doubled:
    """Return values as a column, one row per head."""
    from pecli.numbers.doubled import Doubled

    return Doubled(values.hi[:, None], values.lo[:, None])
