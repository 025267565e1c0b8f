"""Every scaling of rotary frequencies, in exact decimal arithmetic.

Each function returns the frequencies of the pairs, radians per position, and
the magnitude that multiplies every cosine and sine.  d is the width that
rotates; an odd d gives ceil(d/2) frequencies, as ``arange(0, d, 2) / d`` does
in the frameworks.  The formulas are those of the authors' code, which
transformers 5.23 follows; where a paper prints another one, both are here.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction

from pecli.errors import BadParameter
from pecli.numbers.decimals import CONTEXT, TAU, geometric, power

Rotation = tuple[tuple[Decimal, ...], Decimal]

ZERO, ONE = Decimal(0), Decimal(1)
YARN_COEFFICIENT = Decimal("0.1")
SINGULARITY = Decimal("0.001")  # keeps the ramp of the authors' code from dividing by zero


def plain(d: int, base: Decimal) -> Rotation:
    """Return base^(-2i/d), unscaled (Su et al. 2021)."""
    return geometric(base, Fraction(2, d), (d + 1) // 2), ONE


def linear(d: int, base: Decimal, factor: Decimal) -> Rotation:
    """Return w_i / factor: position interpolation (Chen et al. 2023, arXiv:2306.15595)."""
    with localcontext(CONTEXT):
        return tuple(w / factor for w in plain(d, base)[0]), ONE


def ntk(d: int, base: Decimal, factor: Decimal) -> Rotation:
    """Return the frequencies of base * factor^(d/(d-2)): NTK-aware, whatever the length.

    The slowest pair slows down by the whole factor and the fastest not at all.
    """
    if d <= 2:
        raise BadParameter("dim", d, "must be above 2 for scaling ntk and dynamic: they divide by dim - 2")
    with localcontext(CONTEXT):
        return plain(d, base * power(factor, Fraction(d, d - 2)))


def dynamic(d: int, base: Decimal, factor: Decimal, max_position: int, seq_len: int) -> Rotation:
    """Return NTK frequencies whose factor grows with the length; unscaled up to `max_position`."""
    with localcontext(CONTEXT):
        growth = factor * max(seq_len, max_position) / max_position - (factor - 1)
    return ntk(d, base, growth)


def yarn(
    d: int,
    base: Decimal,
    factor: Decimal,
    original: int,
    *,
    beta_fast: Decimal = Decimal(32),
    beta_slow: Decimal = ONE,
    truncate: bool = True,
    ramp: str = "index",
) -> tuple[Decimal, ...]:
    """Return YaRN's frequencies: fast pairs as they are, slow ones over `factor`, a ramp between.

    Peng et al. 2023, arXiv:2309.00071.  ``ramp="index"`` is linear in the
    index of the pair, as the authors' code has it; ``"rotations"`` is linear in
    the rotations within the original length, as equations 17 to 20 print it.
    """
    if d % 2:
        raise BadParameter("dim", d, f"must be even for yarn: use a rotary width of {d - 1} or {d + 1}")
    along = _index_ramp if ramp == "index" else _rotations_ramp
    frequencies = plain(d, base)[0]
    with localcontext(CONTEXT):
        ramps = along(frequencies, d, base, original, beta_fast, beta_slow, truncate)
        return tuple(w * (1 - r) + w / factor * r for w, r in zip(frequencies, ramps, strict=True))


def _index_ramp(
    frequencies: tuple[Decimal, ...], d: int, base: Decimal, original: int, fast: Decimal, slow: Decimal, truncate: bool
) -> list[Decimal]:
    """Return the share of interpolation per pair, linear in the index.

    The bounds are those of the authors' code: the upper one is d - 1 and not
    d/2 - 1, and a lower bound above the upper one leaves every pair alone.
    """
    if base == 1:
        raise BadParameter("base", base, "must not be 1 for yarn: its ramp divides by the logarithm of the base")
    low, high = (_correction(d, base, original, beta) for beta in (fast, slow))
    if truncate:
        low, high = low.to_integral_value(ROUND_FLOOR), high.to_integral_value(ROUND_CEILING)
    low, high = max(low, ZERO), min(high, Decimal(d - 1))
    if low == high:
        high += SINGULARITY
    return [_clamp((i - low) / (high - low)) for i in range(len(frequencies))]


def _correction(d: int, base: Decimal, original: int, rotations: Decimal) -> Decimal:
    """Return the (fractional) index of the pair that turns `rotations` times within `original` positions."""
    return d * (original / (rotations * TAU)).ln() / (2 * base.ln())


def _rotations_ramp(
    frequencies: tuple[Decimal, ...], d: int, base: Decimal, original: int, fast: Decimal, slow: Decimal, truncate: bool
) -> list[Decimal]:
    """Return the share of interpolation per pair, linear in its rotations within `original` positions."""
    if fast == slow:
        raise BadParameter("beta-fast", fast, "must differ from beta-slow: the ramp divides by their difference")
    return [1 - _clamp((original * w / TAU - slow) / (fast - slow)) for w in frequencies]


def _clamp(value: Decimal) -> Decimal:
    return min(max(value, ZERO), ONE)


def mscale(factor: Decimal, weight: Decimal, coefficient: Decimal = YARN_COEFFICIENT) -> Decimal:
    """Return coefficient * weight * ln(factor) + 1, or 1 for a factor of at most 1."""
    if factor <= 1:
        return ONE
    with localcontext(CONTEXT):
        return coefficient * weight * factor.ln() + 1


def yarn_magnitude(
    factor: Decimal,
    weight: Decimal | None,
    all_dim: Decimal | None,
    coefficient: Decimal = YARN_COEFFICIENT,
) -> Decimal:
    """Return YaRN's magnitude, mscale(weight) over mscale(all_dim), with 1 and 0 for what is not given.

    This is DeepSeek's rule; transformers takes it where both are given and
    neither is 0, and the plain 0.1 ln(factor) + 1 otherwise.
    """
    above = mscale(factor, ONE if weight is None else weight, coefficient)
    below = mscale(factor, ZERO if all_dim is None else all_dim, coefficient)
    with localcontext(CONTEXT):
        return above / below


def longrope(d: int, base: Decimal, stretch: tuple[Decimal, ...]) -> tuple[Decimal, ...]:
    """Return w_i / stretch_i, the searched factors of LongRoPE (Ding et al. 2024, arXiv:2402.13753)."""
    with localcontext(CONTEXT):
        return tuple(w / s for w, s in zip(plain(d, base)[0], stretch, strict=True))


def longrope_magnitude(factor: Decimal, original: int) -> Decimal:
    """Return sqrt(1 + ln factor / ln original), or 1 for a factor of at most 1 (Microsoft's code)."""
    if factor <= 1:
        return ONE
    if original == 1:
        raise BadParameter("original-max", original, "must be above 1: longrope divides by its logarithm")
    with localcontext(CONTEXT):
        return (1 + factor.ln() / Decimal(original).ln()).sqrt()


def llama3(d: int, base: Decimal, factor: Decimal, original: int, low: Decimal, high: Decimal) -> Rotation:
    """Return Llama 3.1's frequencies: by wavelength, as they are, over `factor`, or smoothly between.

    A pair whose wavelength exceeds original/low is slowed by the factor, one
    below original/high is left alone.  The order of the tests matters where
    `low` exceeds `high`.
    """

    def scaled(w: Decimal) -> Decimal:
        rotations = original * w / TAU  # original / wavelength
        if rotations < low:
            return w / factor
        if rotations > high:
            return w
        smooth = (rotations - low) / (high - low)
        return (1 - smooth) * w / factor + smooth * w

    with localcontext(CONTEXT):
        return tuple(scaled(w) for w in plain(d, base)[0]), ONE


def proportional(dim: int, base: Decimal, rotating: int, factor: Decimal = ONE) -> Rotation:
    """Return Gemma 4's frequencies: exponents over the whole width, `rotating` pairs turn, the rest stand still."""
    with localcontext(CONTEXT):
        moving = tuple(w / factor for w in geometric(base, Fraction(2, dim), rotating))
    return moving + (ZERO,) * (dim // 2 - rotating), ONE


def wavelength(frequency: Decimal) -> Decimal | None:
    """Return how many positions one turn takes; None for a frequency of 0."""
    return CONTEXT.divide(TAU, frequency) if frequency else None
