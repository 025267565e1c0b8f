"""Scalings that keep a geometric series: none, position interpolation (Chen et al. 2023), NTK (Peng et al. 2023).

Dynamic NTK and Qwen's doublings follow the length; of Gemma 4's series a share of the pairs rotates.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Annotated, Any

from pecli.encodings.rotary.rope.scalings import (
    ONE,
    ZERO,
    Factor,
    Frequencies,
    MaxPosition,
    PlainSeries,
    Reader,
    RopeType,
    Scaling,
    SeqLen,
    inverse_powers,
    lacks,
)
from pecli.encodings.shared.deferred import Float32, np
from pecli.errors import BadParameter
from pecli.numbers.decimals import CONTEXT, geometric, number_text, power
from pecli.spec.declaration import Param
from pecli.spec.hooks import Change, Slowed, other_values, short

NONE = Scaling(
    "none", 1, lambda series: series.frequencies, lambda series: inverse_powers(series.base, series.width),
    types=(RopeType("default", lambda reader, width: {}),), series=lambda base, last, factor, growth: (ONE, base),
)  # fmt: skip


def _linear_frequencies(series: PlainSeries, *, factor: Factor) -> Frequencies:
    with localcontext(CONTEXT):
        return tuple(w / factor for w in series.frequencies)


def _linear_float32(series: PlainSeries, *, factor: Decimal) -> Float32:
    return np.asarray(inverse_powers(series.base, series.width) / np.float32(factor))


def _linear_board(series: PlainSeries, given: Mapping[str, Any], pairs: Sequence[int]) -> list[str]:
    factor = float(given["factor"])
    plain = {i: float(series.frequencies[i]) for i in pairs}
    return [f"w_{i} = {short(w)} / {short(factor)} = {short(w / factor)}" for i, w in plain.items()]


def _linear_mistakes(keys: Mapping[str, str]) -> Iterator[Change]:
    """Yield angles times the factor."""
    phrase = f"every angle is multiplied by the factor {keys['factor']}, by which it should be divided"
    yield Change("factor", phrase, step=Fraction(keys["factor"]) ** 2)


LINEAR = Scaling(
    "linear", 2, _linear_frequencies, _linear_float32, mistakes=_linear_mistakes,
    types=(RopeType("linear", lambda reader, width: {"scaling": "linear", "factor": reader.text("factor")}),),
    min_factor=lambda slowed: slowed.growth,
    series=lambda base, last, factor, growth: (CONTEXT.divide(ONE, factor), base),
    board=_linear_board,
)  # fmt: skip


def _proportional_frequencies(series: PlainSeries, *, factor: Factor | None = None) -> Frequencies:
    rotating, times = series.width // 2, ONE if factor is None else factor
    with localcontext(CONTEXT):
        moving = tuple(w / times for w in geometric(series.base, Fraction(2, series.dim), rotating))
    return moving + (ZERO,) * (series.dim // 2 - rotating)


def _proportional_float32(series: PlainSeries, *, factor: Decimal | None) -> Float32:
    moving = inverse_powers(series.base, series.dim, 2 * (series.width // 2))
    found: Float32 = np.zeros(series.dim // 2, np.float32)
    found[: len(moving)] = moving / np.float32(1 if factor is None else factor)
    return found


def _proportional_read(reader: Reader, width: int) -> dict[str, str]:
    factor = reader.number("factor", required=False)
    return {"scaling": "proportional"} | ({} if factor is None else {"factor": number_text(factor)})


def _proportional_board(series: PlainSeries, given: Mapping[str, Any], pairs: Sequence[int]) -> list[str]:
    turning, base, factor = series.width // 2, float(series.base), float(given["factor"] or 1)
    lines = [f"{turning} of {series.dim // 2} pairs rotate, with exponents over the whole width {series.dim}"]
    over = f" / {short(factor)}" if factor != 1 else ""
    for i in pairs:
        value = base ** (-2 * i / series.dim) / factor if i < turning else 0.0
        phrase = f"{short(base)}^(-{2 * i}/{series.dim}){over}" if i < turning else "does not rotate"
        lines.append(f"w_{i} = {phrase} = {short(value)}" if i < turning else f"pair {i} {phrase}")
    return lines


PROPORTIONAL = Scaling(
    "proportional", 9, _proportional_frequencies, _proportional_float32,
    types=(RopeType("proportional", _proportional_read, whole_pairs=True),),
    extends=False, odd_heads=True, board=_proportional_board,
)  # fmt: skip


def grown(series: PlainSeries, factor: Decimal) -> Frequencies:
    """Return the frequencies of base * factor^(d/(d-2)).

    The slowest pair slows down by the whole factor and the fastest not at all.

    Raises
    ------
    BadParameter
        For a width of 2, which leaves no exponent.
    """
    d = series.width
    if d <= 2:
        raise BadParameter("dim", d, "must be above 2 for scaling=ntk and scaling=dynamic: they divide by dim - 2")
    return PlainSeries(series.dim, d, larger_base(series.base, Fraction(d - 2, d), factor)).frequencies


def larger_base(base: Decimal, last: Fraction, factor: Decimal) -> Decimal:
    """Return the base whose power of the last exponent is `factor` times as large."""
    return CONTEXT.multiply(base, power(factor, 1 / last))


def min_factor(slowed: Slowed) -> float | None:
    """Return the factor with which the first binding pair slows down enough, and every slower one by more.

    A pair at share e of the way to the slowest is slowed by factor^e.
    """
    w, first = slowed.frequencies, slowed.binding[0]
    if first == 0:
        return None
    share = math.log(float(w[0] / w[first])) / math.log(float(w[0] / w[-1]))
    return float(slowed.growth ** (1 / share))


def _ntk_frequencies(
    series: PlainSeries,
    *,
    factor: Factor | None = None,
    alpha: Annotated[Decimal | None, Param("Hunyuan's name for the factor of ntk.", gt=0, le=1e9)] = None,
) -> Frequencies:
    if factor is not None and alpha is not None:
        raise BadParameter("alpha", alpha, f"is another name for factor={factor}: give one of them")
    times = alpha if factor is None else factor
    if times is None:
        raise lacks("ntk", "factor")
    return grown(series, times)


def _ntk_float32(series: PlainSeries, *, factor: Decimal | None, alpha: Decimal | None) -> Float32:
    times = alpha if factor is None else factor
    assert times is not None
    return _grown_float32(series, float(times))


def _grown_float32(series: PlainSeries, times: float) -> Float32:
    d = series.width
    return inverse_powers(float(series.base) * times ** (d / (d - 2)), d)


def base_lines(series: PlainSeries, factor: float, pairs: Sequence[int]) -> list[str]:
    """Return the enlarged base for a factor and some of its frequencies, worked out with numbers."""
    d, base = series.width, short(float(series.base))
    larger = float(series.base) * factor ** (d / (d - 2))
    found = [f"base' = {base} x {short(factor)}^({d}/{d - 2}) = {short(larger)}"]
    return [*found, *(f"w_{i} = {short(larger)}^(-{2 * i}/{d}) = {short(larger ** (-2 * i / d))}" for i in pairs)]


def _ntk_board(series: PlainSeries, given: Mapping[str, Any], pairs: Sequence[int]) -> list[str]:
    return base_lines(series, float(given["alpha"] if given["factor"] is None else given["factor"]), pairs)


NTK = Scaling(
    "ntk", 3, _ntk_frequencies, _ntk_float32, min_factor=min_factor, by_base=True, factor_names=("factor", "alpha"),
    series=lambda base, last, factor, growth: (ONE, larger_base(base, last, factor)), board=_ntk_board,
)  # fmt: skip


def _dynamic_frequencies(
    series: PlainSeries, *, factor: Factor, max_position: MaxPosition, seq_len: SeqLen
) -> Frequencies:
    return grown(series, _of_length(factor, Fraction(max(seq_len, max_position), max_position)))


def _of_length(factor: Decimal, growth: Fraction) -> Decimal:
    """Return the factor of NTK for a length that is `growth` times the model's own."""
    with localcontext(CONTEXT):
        return factor * growth.numerator / growth.denominator - (factor - 1)


def _dynamic_min_factor(slowed: Slowed) -> float | None:
    """Return the factor whose growth is the least factor of NTK."""
    factor = min_factor(slowed)
    return None if factor is None else (factor - 1) / (slowed.growth - 1)


def _dynamic_float32(series: PlainSeries, *, factor: Decimal, max_position: int, seq_len: int) -> Float32:
    """Beyond the model's own length PyTorch computes the base in float32, from a tensor."""
    base, d, f32 = float(series.base), series.width, np.float32
    if seq_len > max_position:
        growth = f32(f32(factor) * f32(seq_len)) / f32(max_position) - f32(float(factor) - 1)
        base = float(f32(base) * f32(float(growth) ** (d / (d - 2))))
    return inverse_powers(base, d)


def _dynamic_read(reader: Reader, width: int) -> dict[str, str]:
    if reader.trait("alpha") and reader.params.get("alpha"):
        reader.notes.use(reader.place("alpha"), "factor of a fixed NTK scaling, whatever the length")
        found = {"scaling": "ntk", "factor": reader.text("alpha")}
    else:
        found = {"scaling": "dynamic", "factor": reader.text("factor"), "max-position": str(reader.length)}
    if width <= 2:
        raise reader.bad(f"rotates {width} columns: rope type dynamic divides by the width less 2")
    return found


def _dynamic_board(series: PlainSeries, given: Mapping[str, Any], pairs: Sequence[int]) -> list[str]:
    factor, model, length = (float(given[name]) for name in ("factor", "max_position", "seq_len"))
    phrase = f"length {short(length)} of at most {short(model)}: as it is, f' = 1"
    grown = 1.0
    if length > model:
        grown = factor * length / model - (factor - 1)
        f = short(factor)
        phrase = f"f' = {f} x {short(length)} / {short(model)} - ({f} - 1) = {short(grown)}"
    return [phrase, *base_lines(series, grown, pairs)]


def _dynamic_mistakes(keys: Mapping[str, str]) -> Iterator[Change]:
    length = int(keys["seq-len"])
    return other_values(keys, "seq-len", *(str(n) for n in (2 * length, 4 * length, length // 2, length // 4)))


DYNAMIC = Scaling(
    "dynamic", 4, _dynamic_frequencies, _dynamic_float32, min_factor=_dynamic_min_factor,
    types=(RopeType("dynamic", _dynamic_read, needs_head_dim=True),),
    series=lambda base, last, factor, growth: (ONE, larger_base(base, last, _of_length(factor, growth))),
    by_base=True, board=_dynamic_board, mistakes=_dynamic_mistakes,
)  # fmt: skip


def alpha(max_position: int, seq_len: int) -> int:
    """Return 2^ceil(log2(L/n) + 1) - 1, of the length L and the model's own n; 1 up to n, then 3, 7, 15 ..."""
    doublings = (-(-seq_len // max_position) - 1).bit_length()  # ceil(log2) of the ratio, rounded up to a whole one
    return (1 << doublings + 1) - 1


def _doubling_frequencies(series: PlainSeries, *, max_position: MaxPosition, seq_len: SeqLen) -> Frequencies:
    return grown(series, Decimal(alpha(max_position, seq_len)))


def _doubling_board(series: PlainSeries, given: Mapping[str, Any], pairs: Sequence[int]) -> list[str]:
    model, length = given["max_position"], given["seq_len"]
    doublings = (-(-length // model) - 1).bit_length()
    phrase = f"alpha = 2^(ceil(log2({length} / {model})) + 1) - 1 = 2^({doublings} + 1) - 1 = {alpha(model, length)}"
    return [phrase, *base_lines(series, float(alpha(model, length)), pairs)]


DOUBLING = Scaling(
    "ntk-doubling", 10, _doubling_frequencies, lambda series, **of: _grown_float32(series, float(alpha(**of))),
    extends=False, by_base=True, board=_doubling_board,
)  # fmt: skip
