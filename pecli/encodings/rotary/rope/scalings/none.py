"""No scaling: base^(-2i/d) (Su et al. 2021)."""

from __future__ import annotations

from pecli.encodings.rotary.rope.float32 import Float32, inverse_powers
from pecli.encodings.rotary.rope.scaling import ONE, Frequencies, PlainSeries, Scaling
from pecli.encodings.rotary.rope.types import Reader, RopeType


def _frequencies(series: PlainSeries) -> Frequencies:
    return series.frequencies


def _float32(series: PlainSeries) -> Float32:
    return inverse_powers(series.base, series.width)


def _read(reader: Reader, width: int) -> dict[str, str]:
    return {}


SCALING = Scaling(
    "none", 1, _frequencies, _float32, types=(RopeType("default", _read),),
    series=lambda base, last, factor, growth: (ONE, base),
)  # fmt: skip
