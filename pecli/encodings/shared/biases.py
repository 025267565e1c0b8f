"""What biases share: masks, signs, and numbers for each head."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Literal

from pecli.declare.changes import other_choices
from pecli.declare.encoding import Param
from pecli.encodings.shared.kernel_types import Real
from pecli.errors import BadParameter

Mask = Annotated[Literal["none", "causal"], Param("Minus infinity for keys after the query.", mistaken=other_choices)]


def minus(values: Real) -> Real:
    """Return the negative, with zeros that stay positive."""
    from pecli.numbers.double_double import DoubleDouble

    if isinstance(values, DoubleDouble):
        return DoubleDouble(0.0 - values.hi, 0.0 - values.lo)
    return 0.0 - values


def each_head(name: str, given: tuple[Decimal, ...] | None, heads: int) -> list[Fraction]:
    """Return one exact number for each head; nothing where none is given."""
    if given is None:
        return []
    if len(given) not in (1, heads):
        raise BadParameter(name, f"({len(given)} numbers)", f"must be one number, or one for each of heads={heads}")
    return [Fraction(value) for value in given] * (heads if len(given) == 1 else 1)


def listed(values: Sequence[Decimal]) -> str:
    """Return one number for each head as a recipe has them: once where all are the same."""
    from pecli.numbers.decimals import join_list, number_text

    return number_text(values[0]) if len(set(values)) == 1 else join_list(values, "+")
