"""No scaling: base^(-2i/d) (Su et al. 2021)."""

from __future__ import annotations

from pecli.encodings.rotary.rope.float32 import Float32, inverse_powers
from pecli.encodings.rotary.rope.scaling import Frequencies, Reader, RopeType, Scaling, Series


def _frequencies(series: Series) -> Frequencies:
    return series.frequencies


def _float32(series: Series) -> Float32:
    return inverse_powers(series.base, series.width)


def _read(reader: Reader, width: int) -> dict[str, str]:
    return {}


SCALING = Scaling("none", 1, _frequencies, _float32, types=(RopeType("default", _read),))
