"""Qwen's first dynamic NTK (use_dynamic_ntk): the base grows with every doubling of the model's own length."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from pecli.encodings.rotary.rope.float32 import Float32, inverse_powers
from pecli.encodings.rotary.rope.scaling import Frequencies, MaxPosition, PlainSeries, Scaling, SeqLen
from pecli.encodings.rotary.rope.scalings.ntk import base_lines, grown


def alpha(max_position: int, seq_len: int) -> int:
    """Return 2^ceil(log2(L/n) + 1) - 1, of the length L and the model's own n; 1 up to n, then 3, 7, 15 ..."""
    doublings = (-(-seq_len // max_position) - 1).bit_length()  # ceil(log2) of the ratio, rounded up to a whole one
    return (1 << doublings + 1) - 1


def _frequencies(series: PlainSeries, *, max_position: MaxPosition, seq_len: SeqLen) -> Frequencies:
    return grown(series, Decimal(alpha(max_position, seq_len)))


def _float32(series: PlainSeries, *, max_position: int, seq_len: int) -> Float32:
    d = series.width
    return inverse_powers(float(series.base) * float(alpha(max_position, seq_len)) ** (d / (d - 2)), d)


def _board(series: PlainSeries, given: Mapping[str, Any], pairs: Sequence[int]) -> list[str]:
    model, length = given["max_position"], given["seq_len"]
    doublings = (-(-length // model) - 1).bit_length()
    said = f"alpha = 2^(ceil(log2({length} / {model})) + 1) - 1 = 2^({doublings} + 1) - 1 = {alpha(model, length)}"
    return [said, *base_lines(series, float(alpha(model, length)), pairs)]


SCALING = Scaling("ntk-doubling", 10, _frequencies, _float32, extends=False, by_base=True, board=_board)
