"""What biases share."""

from __future__ import annotations

from typing import Annotated, Literal

from pecli.declare.changes import other_choices
from pecli.declare.encoding import Param
from pecli.encodings.shared.kernel_types import Doubled, Real

Mask = Annotated[Literal["none", "causal"], Param("Minus infinity for keys after the query.", mistaken=other_choices)]


def turned(values: Doubled) -> Doubled:
    """Return (m, heads) as (heads, m)."""
    from pecli.numbers.doubled import Doubled

    return Doubled(values.hi.T, values.lo.T)


def minus(values: Real) -> Real:
    """Return the negative, with zeros that stay positive."""
    from pecli.numbers.doubled import Doubled

    if isinstance(values, Doubled):
        return Doubled(0.0 - values.hi, 0.0 - values.lo)
    return 0.0 - values
