"""An encoding of one's own in one file: Resonance RoPE, whose wavelengths are whole numbers of positions.

pecli --plugin own_encoding.py list resonance-rope
pecli --plugin own_encoding.py generate resonance-rope --dim 64 --len 4096 -o resonance.safetensors
pecli --plugin own_encoding.py verify resonance.safetensors
"""

from decimal import ROUND_HALF_EVEN, Decimal
from fractions import Fraction
from typing import Annotated

from pecli.own import CONTEXT, TAU, Facts, Family, Param, Waves, encoding, geometric, rotation


@encoding(
    family=Family.ROTARY,
    title="Resonance RoPE",
    facts=Facts(relative="rotation", cost="n * dim"),
    example="resonance-rope:dim=4,base=100",
)
def resonance_rope(
    *,
    dim: Annotated[int, Param("Width of one attention head.", ge=2, le=1 << 20, even=True)],
    base: Annotated[Decimal, Param("Base of the series of frequencies.", ge=1e-6, le=1e30)] = Decimal(10000),
) -> Waves:
    """Rotation whose wavelengths are rounded to whole positions.

    Every feature whose wavelength lies within the training length then meets no phase that it has not seen.

    Formula
    -------
    w_i = base^(-2i/dim), wavelength n_i = round(2 pi / w_i)
    cos(p, i) = cos(2 pi p / n_i), sin(p, i) = sin(2 pi p / n_i)

    Source
    ------
    Wang et al. 2024, arXiv:2403.00071, section 4.1 and its code

    Use it
    ------
    to train on short sequences and test on long ones: short wavelengths repeat exactly

    Not
    ---
    where a model was trained with the plain frequencies
    """
    waves = [CONTEXT.divide(TAU, w) for w in geometric(base, Fraction(2, dim), dim // 2)]
    whole = [max(Decimal(1), wave.quantize(Decimal(1), ROUND_HALF_EVEN, CONTEXT)) for wave in waves]
    return rotation(tuple(CONTEXT.divide(TAU, wave) for wave in whole))
