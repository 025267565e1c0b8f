"""Scalings that keep a geometric series: none, position interpolation (Chen et al. 2023), NTK (Peng et al. 2023).

Dynamic NTK and Qwen's doublings follow the length; of Gemma 4's series a share of the pairs rotates.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal, localcontext
from fractions import Fraction

from pecli.encodings.rotary.rope.scalings import Frequencies, PlainSeries, Reader, RopeType, Scaling, inverse_powers
from pecli.encodings.shared.deferred import Float32, np
from pecli.encodings.shared.parameters import Factor, MaxPosition, SeqLen
from pecli.errors import BadParameter
from pecli.numbers.decimals import CONTEXT, geometric, number_text, power
from pecli.spec.hooks import Change, other_values

NONE = Scaling(
    "none", 1, lambda series: series.frequencies, lambda series: inverse_powers(series.base, series.width),
    types=(RopeType("default", lambda reader, width: {}),),
)  # fmt: skip


def _linear_frequencies(series: PlainSeries, *, factor: Factor) -> Frequencies:
    """Return the exact frequencies.

    Formula
    -------
    w'_i = w_i / factor
    """
    with localcontext(CONTEXT):
        return tuple(w / factor for w in series.frequencies)


def _linear_float32(series: PlainSeries, *, factor: Decimal) -> Float32:
    return np.asarray(inverse_powers(series.base, series.width) / np.float32(factor))


def _linear_mistakes(keys: Mapping[str, str]) -> Iterator[Change]:
    """Yield angles times the factor."""
    phrase = f"every angle is multiplied by the factor {keys['factor']}, by which it should be divided"
    yield Change("factor", phrase, step=Fraction(keys["factor"]) ** 2)


LINEAR = Scaling(
    "linear", 2, _linear_frequencies, _linear_float32, mistakes=_linear_mistakes,
    types=(RopeType("linear", lambda reader, width: {"scaling": "linear", "factor": reader.text("factor")}),),
)  # fmt: skip


def _proportional_frequencies(series: PlainSeries, *, factor: Factor | None = None) -> Frequencies:
    """Return the exact frequencies.

    Formula
    -------
    w'_i = base^(-2i/dim) / factor for the share of the pairs that turns, 0 for the others

    Raises
    ------
    BadParameter
        For a width of 1, which holds no pair.
    """
    if series.dim < 2:
        raise BadParameter("dim", series.dim, "must be at least 2, the columns of one pair")
    rotating, times = series.width // 2, Decimal(1) if factor is None else factor
    with localcontext(CONTEXT):
        moving = tuple(w / times for w in geometric(series.base, Fraction(2, series.dim), rotating))
    return moving + (Decimal(0),) * (series.dim // 2 - rotating)


def _proportional_float32(series: PlainSeries, *, factor: Decimal | None) -> Float32:
    moving = inverse_powers(series.base, series.dim, 2 * (series.width // 2))
    found: Float32 = np.zeros(series.dim // 2, np.float32)
    found[: len(moving)] = moving / np.float32(1 if factor is None else factor)
    return found


def _proportional_read(reader: Reader, width: int) -> dict[str, str]:
    factor = reader.number("factor", required=False)
    return {"scaling": "proportional"} | ({} if factor is None else {"factor": number_text(factor)})


PROPORTIONAL = Scaling(
    "proportional", 9, _proportional_frequencies, _proportional_float32,
    types=(RopeType("proportional", _proportional_read, whole_pairs=True),),
    extends=False, odd_heads=True,
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
    base = CONTEXT.multiply(series.base, power(factor, Fraction(d, d - 2)))
    return PlainSeries(series.dim, d, base).frequencies


def _ntk_frequencies(series: PlainSeries, *, factor: Factor) -> Frequencies:
    """Return the exact frequencies.

    Formula
    -------
    base' = base factor^(d/(d-2)), w'_i = base'^(-2i/d)
    """
    return grown(series, factor)


def _grown_float32(series: PlainSeries, times: float) -> Float32:
    d = series.width
    return inverse_powers(float(series.base) * times ** (d / (d - 2)), d)


NTK = Scaling(
    "ntk", 3, _ntk_frequencies, lambda series, factor: _grown_float32(series, float(factor)),
)  # fmt: skip


def _dynamic_frequencies(
    series: PlainSeries, *, factor: Factor, max_position: MaxPosition, seq_len: SeqLen
) -> Frequencies:
    """Return the exact frequencies.

    Formula
    -------
    f' = factor seq-len / max-position - (factor - 1), 1 for a seq-len up to max-position
    base' = base f'^(d/(d-2)), w'_i = base'^(-2i/d)
    """
    growth = Fraction(max(seq_len, max_position), max_position)
    with localcontext(CONTEXT):
        return grown(series, factor * growth.numerator / growth.denominator - (factor - 1))


def _dynamic_float32(series: PlainSeries, *, factor: Decimal, max_position: int, seq_len: int) -> Float32:
    """Beyond the model's own length PyTorch computes the base in float32, from a tensor."""
    base, d, f32 = float(series.base), series.width, np.float32
    if seq_len > max_position:
        growth = f32(f32(factor) * f32(seq_len)) / f32(max_position) - f32(float(factor) - 1)
        base = float(f32(base) * f32(float(growth) ** (d / (d - 2))))
    return inverse_powers(base, d)


def _dynamic_read(reader: Reader, width: int) -> dict[str, str]:
    if reader.family.option("alpha") and reader.params.get("alpha"):
        reader.notes.use(reader.place("alpha"), "factor of a fixed NTK scaling, whatever the length")
        found = {"scaling": "ntk", "factor": reader.text("alpha")}
    else:
        found = {"scaling": "dynamic", "factor": reader.text("factor"), "max-position": str(reader.length)}
    if width <= 2:
        raise reader.keys.bad(f"rotates {width} columns: rope type dynamic divides by the width less 2")
    return found


def _dynamic_mistakes(keys: Mapping[str, str]) -> Iterator[Change]:
    length, trained, factor = int(keys["seq-len"]), Decimal(keys["max-position"]), Decimal(keys["factor"])
    if length > trained:  # the factor that gives factor n/L without the term
        whole = CONTEXT.divide(factor * length - trained, length - trained)
        text = "the term - (factor - 1) is missing: the base grows with factor * seq-len / max-position"
        yield Change("scaling", text, {"factor": number_text(whole)})
    yield from other_values(keys, "seq-len", *(str(n) for n in (2 * length, 4 * length, length // 2, length // 4)))


DYNAMIC = Scaling(
    "dynamic", 4, _dynamic_frequencies, _dynamic_float32,
    types=(RopeType("dynamic", _dynamic_read, needs_head_dim=True),),
    mistakes=_dynamic_mistakes,
)  # fmt: skip


def alpha(max_position: int, seq_len: int) -> int:
    """Return 2^ceil(log2(L/n) + 1) - 1, of the length L and the model's own n; 1 up to n, then 3, 7, 15 ..."""
    doublings = (-(-seq_len // max_position) - 1).bit_length()  # ceil(log2) of the ratio, rounded up to a whole one
    return (1 << doublings + 1) - 1


def _doubling_frequencies(series: PlainSeries, *, max_position: MaxPosition, seq_len: SeqLen) -> Frequencies:
    """Return the exact frequencies.

    Formula
    -------
    alpha = 2^(ceil(log2(seq-len / max-position)) + 1) - 1, 1 for a seq-len up to max-position
    base' = base alpha^(d/(d-2)), w'_i = base'^(-2i/d)
    """
    return grown(series, Decimal(alpha(max_position, seq_len)))


DOUBLING = Scaling(
    "ntk-doubling", 10, _doubling_frequencies, lambda series, **of: _grown_float32(series, float(alpha(**of))),
    extends=False,
)  # fmt: skip
