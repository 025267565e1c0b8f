"""Gemma 4's: exponents over the whole width of the head, a share of the pairs turns, the rest stand still."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction

from pecli.encodings.rotary.rope.float32 import Float32, inverse_powers
from pecli.encodings.rotary.rope.scaling import ONE, ZERO, Factor, Frequencies, PlainSeries, Scaling
from pecli.encodings.rotary.rope.types import Reader, RopeType
from pecli.numbers.decimals import CONTEXT, geometric
from pecli.numbers.text import number_text


def _frequencies(series: PlainSeries, *, factor: Factor | None = None) -> Frequencies:
    rotating, times = series.width // 2, ONE if factor is None else factor
    with localcontext(CONTEXT):
        moving = tuple(w / times for w in geometric(series.base, Fraction(2, series.dim), rotating))
    return moving + (ZERO,) * (series.dim // 2 - rotating)


def _float32(series: PlainSeries, *, factor: Decimal | None) -> Float32:
    import numpy as np

    moving = inverse_powers(series.base, series.dim, 2 * (series.width // 2))
    found: Float32 = np.zeros(series.dim // 2, np.float32)
    found[: len(moving)] = moving / np.float32(1 if factor is None else factor)
    return found


def _read(reader: Reader, width: int) -> dict[str, str]:
    factor = reader.number("factor", required=False)
    return {"scaling": "proportional"} | ({} if factor is None else {"factor": number_text(factor)})


SCALING = Scaling(
    "proportional", 9, _frequencies, _float32, types=(RopeType("proportional", _read, whole_pairs=True),),
    extends=False, odd_heads=True,
)  # fmt: skip
