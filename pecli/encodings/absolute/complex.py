"""The sinusoid as complex numbers."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Annotated

from pecli.declare.encoding import Facts, Family, Guidance, Param, Source, encoding
from pecli.declare.plan import Band, Waves
from pecli.encodings.shared.parameters import Base
from pecli.numbers.decimals import geometric


@encoding(
    family=Family.ABSOLUTE,
    title="Complex",
    name="complex",
    formula="""
        w_i = base^(-2i/dim), i = 0 .. dim/2 - 1
        pe(p, i) = exp(i p w_i), a complex number
    """,
    source=Source("Wang et al. 2020", "arXiv:1912.12333", "with fixed frequencies, amplitude 1 and phase 0"),
    facts=Facts(relative="rotation"),
    users="complex word embeddings; complex rotary caches",
    example="complex:dim=4",
    guidance=Guidance(
        when="where a framework multiplies by complex numbers",
        unless="where a table is added to real embeddings",
    ),
    place=10,
    hooks={"extend": "pecli.encodings.shared.reaches:phases"},
)
def complex_numbers(
    *,
    dim: Annotated[int, Param("Width; half as many complex columns.", ge=2, le=1 << 20, even=True)],
    base: Base = Decimal(10000),
) -> Waves:
    """Complex numbers of size 1 that turn with geometrically spaced frequencies."""
    half = dim // 2
    every = slice(0, half)
    return Waves(half, (Band(geometric(base, Fraction(2, dim), half), every, every),), form="complex")
