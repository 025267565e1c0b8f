"""The bits of a position."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Literal

from pecli.declare.changes import other_choices
from pecli.declare.encoding import Facts, Family, Param, Source, encoding
from pecli.declare.plan import Domain, Values
from pecli.declare.reach import Reach
from pecli.encodings.recipe import Recipe
from pecli.encodings.shared.kernel_types import Floats, Points
from pecli.encodings.shared.parameters import Dim


def reach(recipe: Recipe) -> Reach:
    """Say that new positions set further bits, and end where there is none."""
    return Reach("values", "the bits of the new positions", "a wider dim holds more positions")


@encoding(
    family=Family.ABSOLUTE,
    title="Binary",
    formula="""
        pe(p, i) = floor(p / 2^i) mod 2, least significant bit first
        with code gray: the bits of p xor floor(p / 2)
    """,
    source=Source("Gray 1953", "US patent 2,632,058", "for the Gray code"),
    facts=Facts(longest="2 ** dim", beyond="ends"),
    users="teaching",
    example="binary:dim=8",
    use_when="to show what sinusoids do continuously",
    not_when="in a model: neighbours jump, and positions end with the last bit",
    place=3,
    hooks={
        "identify": ".identify:identify",
        "lesson": ".lesson:steps",
        "extend": reach,
        "why": ".why:why",
    },
)
def binary(
    *,
    dim: Dim,
    msb: Annotated[bool, Param("Most significant bit first.", mistaken=other_choices)] = False,
    code: Annotated[
        Literal["binary", "gray"], Param("Plain binary, or Gray: neighbours differ in one bit.", mistaken=other_choices)
    ] = "binary",
    signed: Annotated[bool, Param("Write -1 and 1 instead of 0 and 1.", mistaken=other_choices)] = False,
) -> Values:
    """Bits of the position, one column each."""

    def at(points: Points) -> Floats:
        import numpy as np

        number = points.whole()
        if code == "gray":
            number = number ^ (number >> 1)
        shifts = np.minimum(np.arange(dim, dtype=np.int64), 62)  # positions end below 2^53
        bits = (number[:, None] >> (shifts[::-1] if msb else shifts)) & 1
        return (2 * bits - 1 if signed else bits).astype(np.float64)

    remedy = f"{dim} bits hold 0 to 2^{dim} - 1: use a wider dim" if dim < 53 else "bits hold whole numbers from 0"
    return Values(dim, at, domain=Domain(Fraction(0), Fraction(2**dim - 1), integral=True, remedy=remedy))
