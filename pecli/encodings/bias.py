"""Biases: one number for each head, query and key, added to the logits before the softmax.

H heads.  The distance is key minus query.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Literal

from pecli.encodings.frequencies import power
from pecli.encodings.parameters import Heads
from pecli.plan import Bias
from pecli.spec import Facts, Family, Param, Source, encoding

if TYPE_CHECKING:
    from pecli.phase.doubled import Doubled
    from pecli.points import Points

SlopeType = Literal["exact", "bfloat16", "float16", "float32"]


@encoding(
    family=Family.BIAS,
    title="ALiBi",
    formula="""
        bias(h, i, j) = -m_h abs(j - i)
        m_h = 2^(-bias-max h / P), h = 1 .. P, P the largest power of two that is at most H
        then, for the other H - P heads, the 1st, 3rd, 5th .. of 2^(-bias-max h / (2P))
        with slopes paper: m_h = 2^(-bias-max h / H)
    """,
    source=Source("Press et al. 2021", "arXiv:2108.12409", "section 3 and the authors' get_slopes"),
    facts=Facts(bounded=False, unique=True, relative="distance", multi_scale=True, cost="heads * n * n"),
    users="BLOOM, MPT, Falcon-RW, Baichuan 13B",
    example="alibi:heads=8",
)
def alibi(
    *,
    heads: Heads,
    slopes: Annotated[
        Literal["frameworks", "paper"],
        Param("Rule for a number of heads that is no power of two: the code's, or as the paper prints."),
    ] = "frameworks",
    bias_max: Annotated[Decimal, Param("Exponent of the smallest slope.", gt=0, le=1000)] = Decimal(8),
    bias: Annotated[
        Literal["symmetric", "key-position", "last-key"],
        Param("-m abs(j - i); BLOOM's m j; MPT's m (j - (n - 1)): alike after a causal softmax."),
    ] = "symmetric",
    mask: Annotated[Literal["none", "causal"], Param("Minus infinity for keys after the query.")] = "none",
    slope_dtype: Annotated[
        SlopeType, Param("Round the slopes to a type before multiplying (Falcon: bfloat16).")
    ] = "exact",
) -> Bias:
    """A penalty that grows with the distance, at one slope per head."""
    exact = [_as_stored(slope, slope_dtype) for slope in alibi_slopes(heads, bias_max, slopes)]

    def symmetric(distances: Points, chosen: range) -> Doubled:
        return distances.size().times([-exact[h] for h in chosen]).transposed()

    def by_key(keys: Points, chosen: range) -> Doubled:
        return keys.times([exact[h] for h in chosen]).transposed()

    return Bias(
        heads,
        symmetric if bias == "symmetric" else by_key,
        by="distance" if bias == "symmetric" else "key" if bias == "key-position" else "last",
        causal=mask == "causal",
        slopes=lambda: exact,
    )


def alibi_slopes(heads: int, bias_max: Decimal, rule: Literal["frameworks", "paper"]) -> list[Fraction]:
    """Return the slope of each head, to the digits of the decimal context."""
    top = Fraction(bias_max)
    if rule == "paper":
        return _geometric(top / heads, range(1, heads + 1))
    whole = 1 << (heads.bit_length() - 1)
    return _geometric(top / whole, range(1, whole + 1)) + _geometric(
        top / (2 * whole), range(1, 2 * (heads - whole), 2)
    )


def _geometric(step: Fraction, exponents: range) -> list[Fraction]:
    """Return 2^(-step k), exact where the exponent is whole."""
    found = []
    for k in exponents:
        e = step * k
        found.append(Fraction(1, 2 ** int(e)) if e.denominator == 1 else Fraction(power(Decimal(2), -e)))
    return found


def _as_stored(slope: Fraction, dtype: SlopeType) -> Fraction:
    """Return the slope as a value of `dtype` holds it."""
    if dtype == "exact":
        return slope

    from pecli.phase.doubled import from_decimal
    from pecli.phase.rounding import narrow, widen

    pair = from_decimal([slope])
    return Fraction(float(widen(narrow(pair.hi, pair.lo, dtype), dtype)[0]))
