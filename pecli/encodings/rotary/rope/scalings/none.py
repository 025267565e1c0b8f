"""No scaling: base^(-2i/d) (Su et al. 2021)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from pecli.encodings.rotary.rope.float32 import Float32, inverse_powers
from pecli.encodings.rotary.rope.scaling import ONE, Frequencies, PlainSeries, Scaling
from pecli.encodings.rotary.rope.types import Reader, RopeType
from pecli.numbers.shortest import digits
from pecli.numbers.text import number_text

if TYPE_CHECKING:
    from pecli.encodings.rotary.rope.ramps import PairSize


def _frequencies(series: PlainSeries) -> Frequencies:
    return series.frequencies


def _float32(series: PlainSeries) -> Float32:
    return inverse_powers(series.base, series.width)


def _read(reader: Reader, width: int) -> dict[str, str]:
    return {}


def _sizes(size: PairSize) -> Iterator[tuple[dict[str, str], float]]:
    """Yield nothing for a size of 1, and for another a magnitude that is given: YaRN's of a factor of 1.

    A usual factor's magnitude comes first: where its ramp begins after the last pair, it is all that shows of it.
    """
    from pecli.encodings.rotary.rope.ramps import FACTORS

    if size.near(1.0):
        yield {}, 0.0
    else:
        given = {"scaling": "yarn", "factor": "1", "original-max": "4096"}
        for usual in (0.1 * math.log(float(factor)) + 1 for factor in FACTORS):
            if size.near(usual):
                yield {**given, "attention-factor": f"{usual:.17g}"}, 4.0
        yield {**given, "attention-factor": number_text(size.magnitude)}, float(digits(size.magnitude)) + 2


SCALING = Scaling(
    "none", 1, _frequencies, _float32, types=(RopeType("default", _read),),
    series=lambda base, last, factor, growth: (ONE, base), sizes=_sizes,
)  # fmt: skip
