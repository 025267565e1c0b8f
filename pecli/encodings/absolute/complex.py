"""The sinusoid as complex numbers."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Annotated

from pecli.encodings.shared.parameters import MODEL_WIDTH, WIDEST, Base
from pecli.numbers.decimals import geometric
from pecli.spec.declaration import Facts, Family, Param, encoding
from pecli.spec.plans import Waves, rotation


@encoding(
    family=Family.ABSOLUTE,
    title="Complex",
    name="complex",
    facts=Facts(relative="rotation"),
    example="complex:dim=4",
    place=10,
)
def complex_numbers(
    *, dim: Annotated[int, Param(ge=2, le=WIDEST, even=True, names=MODEL_WIDTH)], base: Base = Decimal(10000)
) -> Waves:
    """Complex numbers of modulus 1 that turn at geometrically spaced frequencies.

    Formula
    -------
    w_i = base^(-2i/dim), i = 0 .. dim/2 - 1
    pe(p, i) = exp(i p w_i), a complex number

    Parameters
    ----------
    dim
        Width in real numbers: dim/2 complex columns.

    Source
    ------
    Wang et al. 2020, arXiv:1912.12333, with fixed frequencies, amplitude 1 and phase 0

    Used by
    -------
    complex word embeddings; complex rotary caches

    Use it
    ------
    if a framework multiplies by complex numbers

    Not
    ---
    if the table is added to real embeddings

    Not recognised
    --------------
    its values are those of rope with layout=complex, and are named so
    """
    return rotation(geometric(base, Fraction(2, dim), dim // 2), form="complex")
