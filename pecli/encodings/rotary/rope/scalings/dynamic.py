"""Dynamic NTK: a factor that grows with the length; unscaled up to the model's own (Peng et al. 2023, appendix)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

from pecli.declare.board import short
from pecli.declare.rescaling import Slowed
from pecli.encodings.rotary.rope.float32 import Float32, inverse_powers
from pecli.encodings.rotary.rope.scaling import ONE, Factor, Frequencies, MaxPosition, PlainSeries, Scaling, SeqLen
from pecli.encodings.rotary.rope.scalings.ntk import base_lines, grown, larger_base, least
from pecli.encodings.rotary.rope.types import Reader, RopeType
from pecli.numbers.decimals import CONTEXT


def _frequencies(series: PlainSeries, *, factor: Factor, max_position: MaxPosition, seq_len: SeqLen) -> Frequencies:
    return grown(series, _of_length(factor, Fraction(max(seq_len, max_position), max_position)))


def _of_length(factor: Decimal, growth: Fraction) -> Decimal:
    """Return the factor of NTK for a length that is `growth` times the model's own."""
    with localcontext(CONTEXT):
        return factor * growth.numerator / growth.denominator - (factor - 1)


def _series(base: Decimal, last: Fraction, factor: Decimal, growth: Fraction) -> tuple[Decimal, Decimal]:
    return ONE, larger_base(base, last, _of_length(factor, growth))


def _least(slowed: Slowed) -> float | None:
    """Return the factor whose growth is the least factor of NTK."""
    factor = least(slowed)
    return None if factor is None else (factor - 1) / (slowed.growth - 1)


def _float32(series: PlainSeries, *, factor: Decimal, max_position: int, seq_len: int) -> Float32:
    """Beyond the model's own length PyTorch computes the base in float32, from a tensor."""
    import numpy as np

    base, d, f32 = float(series.base), series.width, np.float32
    if seq_len > max_position:
        growth = f32(f32(factor) * f32(seq_len)) / f32(max_position) - f32(float(factor) - 1)
        base = float(f32(base) * f32(float(growth) ** (d / (d - 2))))
    return inverse_powers(base, d)


def _read(reader: Reader, width: int) -> dict[str, str]:
    if reader.trait("alpha") and reader.params.get("alpha"):
        reader.notes.use(reader.place("alpha"), "factor of a fixed NTK scaling, whatever the length")
        found = {"scaling": "ntk", "factor": reader.text("alpha")}
    else:
        found = {"scaling": "dynamic", "factor": reader.text("factor"), "max-position": str(reader.length)}
    if width <= 2:
        raise reader.bad(f"rotates {width} columns: rope type dynamic divides by the width less 2")
    return found


def _board(series: PlainSeries, given: Mapping[str, Any], pairs: Sequence[int]) -> list[str]:
    factor, model, length = (float(given[name]) for name in ("factor", "max_position", "seq_len"))
    said = f"length {short(length)} of at most {short(model)}: as it is, f' = 1"
    grown = 1.0
    if length > model:
        grown = factor * length / model - (factor - 1)
        f = short(factor)
        said = f"f' = {f} x {short(length)} / {short(model)} - ({f} - 1) = {short(grown)}"
    return [said, *base_lines(series, grown, pairs)]


SCALING = Scaling(
    "dynamic", 4, _frequencies, _float32, types=(RopeType("dynamic", _read, needs_head_dim=True),),
    least=_least, series=_series, by_base=True, board=_board,
)  # fmt: skip
