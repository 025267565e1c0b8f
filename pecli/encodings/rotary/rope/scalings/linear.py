"""The plain series, position interpolation (Chen et al. 2023), and Gemma 4's series, of which a share rotates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

from pecli.declare.board import short
from pecli.declare.changes import Change
from pecli.encodings.rotary.rope.scaling import (
    ONE,
    ZERO,
    Factor,
    Float32,
    Frequencies,
    PlainSeries,
    Reader,
    RopeType,
    Scaling,
    inverse_powers,
)
from pecli.numbers.decimals import CONTEXT, geometric, number_text


def _plain_frequencies(series: PlainSeries) -> Frequencies:
    return series.frequencies


def _plain_float32(series: PlainSeries) -> Float32:
    return inverse_powers(series.base, series.width)


def _plain_read(reader: Reader, width: int) -> dict[str, str]:
    return {}


NONE = Scaling(
    "none", 1, _plain_frequencies, _plain_float32, types=(RopeType("default", _plain_read),),
    series=lambda base, last, factor, growth: (ONE, base),
)  # fmt: skip


def _linear_frequencies(series: PlainSeries, *, factor: Factor) -> Frequencies:
    with localcontext(CONTEXT):
        return tuple(w / factor for w in series.frequencies)


def _linear_float32(series: PlainSeries, *, factor: Decimal) -> Float32:
    import numpy as np

    found: Float32 = inverse_powers(series.base, series.width) / np.float32(factor)
    return found


def _linear_read(reader: Reader, width: int) -> dict[str, str]:
    return {"scaling": "linear", "factor": reader.text("factor")}


def _linear_board(series: PlainSeries, given: Mapping[str, Any], pairs: Sequence[int]) -> list[str]:
    factor = float(given["factor"])
    plain = {i: float(series.frequencies[i]) for i in pairs}
    return [f"w_{i} = {short(w)} / {short(factor)} = {short(w / factor)}" for i, w in plain.items()]


def _linear_mistakes(keys: Mapping[str, str]) -> Iterator[Change]:
    """Yield angles times the factor."""
    factor = keys["factor"]
    yield Change(
        "factor",
        f"every angle is multiplied by the factor {factor}, by which it should be divided",
        step=Fraction(factor) ** 2,
    )


LINEAR = Scaling(
    "linear", 2, _linear_frequencies, _linear_float32, mistakes=_linear_mistakes,
    types=(RopeType("linear", _linear_read),), least=lambda slowed: slowed.growth,
    series=lambda base, last, factor, growth: (CONTEXT.divide(ONE, factor), base), board=_linear_board,
)  # fmt: skip


def _proportional_frequencies(series: PlainSeries, *, factor: Factor | None = None) -> Frequencies:
    rotating, times = series.width // 2, ONE if factor is None else factor
    with localcontext(CONTEXT):
        moving = tuple(w / times for w in geometric(series.base, Fraction(2, series.dim), rotating))
    return moving + (ZERO,) * (series.dim // 2 - rotating)


def _proportional_float32(series: PlainSeries, *, factor: Decimal | None) -> Float32:
    import numpy as np

    moving = inverse_powers(series.base, series.dim, 2 * (series.width // 2))
    found: Float32 = np.zeros(series.dim // 2, np.float32)
    found[: len(moving)] = moving / np.float32(1 if factor is None else factor)
    return found


def _proportional_read(reader: Reader, width: int) -> dict[str, str]:
    factor = reader.number("factor", required=False)
    return {"scaling": "proportional"} | ({} if factor is None else {"factor": number_text(factor)})


def _proportional_board(series: PlainSeries, given: Mapping[str, Any], pairs: Sequence[int]) -> list[str]:
    turning, base, factor = series.width // 2, float(series.base), float(given["factor"] or 1)
    lines = [f"{turning} of {series.dim // 2} pairs turn, with exponents over the whole width {series.dim}"]
    over = f" / {short(factor)}" if factor != 1 else ""
    for i in pairs:
        value = base ** (-2 * i / series.dim) / factor if i < turning else 0.0
        said = f"{short(base)}^(-{2 * i}/{series.dim}){over}" if i < turning else "stands still"
        lines.append(f"w_{i} = {said} = {short(value)}" if i < turning else f"pair {i} {said}")
    return lines


PROPORTIONAL = Scaling(
    "proportional", 9, _proportional_frequencies, _proportional_float32,
    types=(RopeType("proportional", _proportional_read, whole_pairs=True),),
    extends=False, odd_heads=True, board=_proportional_board,
)  # fmt: skip
