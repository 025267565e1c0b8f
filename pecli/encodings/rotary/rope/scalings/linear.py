"""Position interpolation: w_i / factor (Chen et al. 2023, arXiv:2306.15595)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

from pecli.declare.board import short
from pecli.declare.changes import Change
from pecli.encodings.rotary.rope.float32 import Float32, inverse_powers
from pecli.encodings.rotary.rope.scaling import ONE, Factor, Frequencies, PlainSeries, Scaling
from pecli.encodings.rotary.rope.types import Reader, RopeType
from pecli.numbers.decimals import CONTEXT


def _frequencies(series: PlainSeries, *, factor: Factor) -> Frequencies:
    with localcontext(CONTEXT):
        return tuple(w / factor for w in series.frequencies)


def _float32(series: PlainSeries, *, factor: Decimal) -> Float32:
    import numpy as np

    found: Float32 = inverse_powers(series.base, series.width) / np.float32(factor)
    return found


def _read(reader: Reader, width: int) -> dict[str, str]:
    return {"scaling": "linear", "factor": reader.text("factor")}


def _board(series: PlainSeries, given: Mapping[str, Any], pairs: Sequence[int]) -> list[str]:
    factor = float(given["factor"])
    plain = {i: float(series.frequencies[i]) for i in pairs}
    return [f"w_{i} = {short(w)} / {short(factor)} = {short(w / factor)}" for i, w in plain.items()]


def _mistakes(keys: Mapping[str, str]) -> Iterator[Change]:
    """Yield angles times the factor."""
    factor = keys["factor"]
    yield Change(
        "factor",
        f"every angle is multiplied by the factor {factor}, by which it should be divided",
        step=Fraction(factor) ** 2,
    )


SCALING = Scaling(
    "linear", 2, _frequencies, _float32, mistakes=_mistakes, types=(RopeType("linear", _read),),
    least=lambda slowed: slowed.growth,
    series=lambda base, last, factor, growth: (CONTEXT.divide(ONE, factor), base), board=_board,
)  # fmt: skip
