"""Kernels of the distance, a column of numbers per head."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction

from pecli.encodings.shared.kernel_types import Doubled
from pecli.errors import BadParameter


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


LOOSE = 4.0  # roundings by which a value of a kernel may be off


def listed(values: Sequence[Decimal]) -> str:
    """Return one number for each head as a recipe has them: once where all are the same."""
    from pecli.numbers.text import join_list, number_text

    return number_text(values[0]) if len(set(values)) == 1 else join_list(values, "+")
