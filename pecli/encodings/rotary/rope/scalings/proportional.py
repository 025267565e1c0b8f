"""Gemma 4's: exponents over the whole width of the head, a share of the pairs turns, the rest stand still."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

from pecli.declare.board import short
from pecli.encodings.rotary.rope.float32 import Float32, inverse_powers
from pecli.encodings.rotary.rope.scaling import ONE, ZERO, Factor, Frequencies, PlainSeries, Scaling
from pecli.encodings.rotary.rope.types import Reader, RopeType
from pecli.numbers.decimals import CONTEXT, geometric, number_text


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


def _board(series: PlainSeries, given: Mapping[str, Any], pairs: Sequence[int]) -> list[str]:
    turning, base, factor = series.width // 2, float(series.base), float(given["factor"] or 1)
    lines = [f"{turning} of {series.dim // 2} pairs turn, with exponents over the whole width {series.dim}"]
    over = f" / {short(factor)}" if factor != 1 else ""
    for i in pairs:
        value = base ** (-2 * i / series.dim) / factor if i < turning else 0.0
        said = f"{short(base)}^(-{2 * i}/{series.dim}){over}" if i < turning else "stands still"
        lines.append(f"w_{i} = {said} = {short(value)}" if i < turning else f"pair {i} {said}")
    return lines


SCALING = Scaling(
    "proportional", 9, _frequencies, _float32, types=(RopeType("proportional", _read, whole_pairs=True),),
    extends=False, odd_heads=True, board=_board,
)  # fmt: skip
