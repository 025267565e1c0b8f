"""Position interpolation: w_i / factor (Chen et al. 2023, arXiv:2306.15595)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal, localcontext
from typing import Any

from pecli.declare.board import short
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


SCALING = Scaling(
    "linear", 2, _frequencies, _float32, types=(RopeType("linear", _read),), least=lambda slowed: slowed.growth,
    series=lambda base, last, factor, growth: (CONTEXT.divide(ONE, factor), base), board=_board,
)  # fmt: skip
