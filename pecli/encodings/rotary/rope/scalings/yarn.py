"""NTK by parts: fast pairs as they are, slow ones over the factor, a ramp between (Peng et al. 2023).

YaRN adds a magnitude that grows with the factor.
``ramp=index`` is linear in the index of the pair, as the authors' code has it;
``ramp=rotations`` is linear in the rotations within the original length, as
equations 17 to 20 print it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal, localcontext
from functools import partial
from typing import Annotated, Any, Literal

from pecli.encodings.rotary.rope.scalings import Frequencies, PlainSeries, Reader, RopeType, Scaling, nearest, powers
from pecli.encodings.shared.deferred import Float32, np
from pecli.encodings.shared.parameters import AttentionFactor, Factor, OriginalMax
from pecli.errors import BadParameter
from pecli.numbers.decimals import CONTEXT, TAU, number_text
from pecli.spec.declaration import Param
from pecli.spec.hooks import Change, other_values
from pecli.spec.plans import Waves

Ramp = Literal["index", "rotations"]

SINGULARITY = 0.001  # keeps the ramp of the authors' code from dividing by zero


def _parts_frequencies(
    series: PlainSeries,
    *,
    factor: Factor,
    original_max: OriginalMax,
    beta_fast: Annotated[Decimal, Param(gt=0)] = Decimal(32),
    beta_slow: Annotated[Decimal, Param(gt=0)] = Decimal(1),
    ramp: Ramp = "index",
    truncate: Annotated[bool, Param(when=("ramp", ("index",)))] = True,
) -> Frequencies:
    """Return the exact frequencies.

    Formula
    -------
    w'_i = w_i (1 - r_i) + w_i / factor r_i
    r_i = (i - low) / (high - low), cut to 0 .. 1
    low, high = d ln(original-max / (2 pi beta)) / (2 ln base), of beta-fast and beta-slow, cut to 0 .. d - 1
    with truncate, low is rounded down and high up
    with ramp rotations: r_i = 1 - (original-max w_i / (2 pi) - beta-slow) / (beta-fast - beta-slow)

    Parameters
    ----------
    beta_fast
        Pairs that complete more turns than this within original-max keep their frequency.
    beta_slow
        Pairs that complete fewer turns than this are slowed by the whole factor.
    ramp
        Ramp between the two: linear in the pair's index (code) or in its number of turns (paper).
    truncate
        Round the ends of the ramp outwards to whole indices.
    """
    if beta_fast < beta_slow:
        rule = f"must be at least beta-slow={number_text(beta_slow)}: fast pairs turn more often than slow ones"
        raise BadParameter("beta-fast", number_text(beta_fast), rule)
    d = series.width
    if d % 2:
        raise BadParameter("dim", d, f"must be even for yarn: use a rotary width of {d - 1} or {d + 1}")
    with localcontext(CONTEXT):
        if ramp == "index":
            ramps = index_ramp(series, original_max, beta_fast, beta_slow, truncate)
        else:
            ramps = _rotations_ramp(series, original_max, beta_fast, beta_slow)
        return tuple(w * (1 - r) + w / factor * r for w, r in zip(series.frequencies, ramps, strict=True))


# How the ends of the ramp are rounded to whole indices, the lower and the upper one.
OUTWARDS = (ROUND_FLOOR, ROUND_CEILING)


def index_ramp(
    series: PlainSeries, original: int, fast: Decimal, slow: Decimal, truncate: bool, last: int | None = None,
    rounding: tuple[str, str] = OUTWARDS,
) -> list[Decimal]:  # fmt: skip
    """Return the share of interpolation per pair, linear in the index.

    The bounds are those of the authors' code: the upper one is d - 1 and not
    d/2 - 1 (unless `last` says so), and a lower bound above the upper one leaves every pair alone.
    """
    d, base = series.width, series.base
    if base == 1:
        raise BadParameter("base", base, "must not be 1 for yarn: its ramp divides by the logarithm of the base")
    # the (fractional) index of the pair with beta rotations within the original length
    low, high = (d * (original / (beta * TAU)).ln() / (2 * base.ln()) for beta in (fast, slow))
    if truncate:
        low, high = (end.to_integral_value(how) for end, how in zip((low, high), rounding, strict=True))
    low, high = max(low, Decimal(0)), min(high, Decimal(d - 1 if last is None else last))
    if low == high:
        high += Decimal(str(SINGULARITY))
    return [_clamp((i - low) / (high - low)) for i in range((d + 1) // 2)]


def _rotations_ramp(series: PlainSeries, original: int, fast: Decimal, slow: Decimal) -> list[Decimal]:
    """Return the share of interpolation per pair, linear in its rotations within `original` positions."""
    if fast == slow:
        raise BadParameter("beta-fast", fast, "must differ from beta-slow: the ramp divides by their difference")
    return [1 - _clamp((original * w / TAU - slow) / (fast - slow)) for w in series.frequencies]


def _clamp(value: Decimal) -> Decimal:
    return min(max(value, Decimal(0)), Decimal(1))


def _parts_float32(series: PlainSeries, **given: Any) -> Float32:
    """Return the blend in float32; the ramp's ends are computed in double precision, as Python does."""
    if given["ramp"] == "rotations":  # the paper's, which no framework computes
        return nearest(_parts_frequencies(series, **given))
    d, base, f32 = series.width, float(series.base), np.float32
    low, high = (
        (d * math.log(given["original_max"] / (float(given[beta]) * 2 * math.pi))) / (2 * math.log(base))
        for beta in ("beta_fast", "beta_slow")
    )
    if given["truncate"]:
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, d - 1)
    if low == high:
        high += SINGULARITY
    one, power = f32(1), powers(base, d)
    along = (np.arange(d // 2, dtype=f32) - f32(low)) / f32(high - low)
    kept = one - np.clip(along, 0, 1).astype(f32)
    return np.asarray(one / (f32(given["factor"]) * power) * (one - kept) + one / power * kept)


def _parts_mistakes(keys: Mapping[str, str]) -> Iterator[Change]:
    """Yield mistaken ramps (ends exchanged, reversed, applied twice, inverted) and other betas."""
    fast, slow = "beta-fast", "beta-slow"
    if keys["ramp"] == "index" and "partial" not in keys:
        base, twice = Decimal(keys["base"]), partial(_twice, 1 / Decimal(keys["factor"]))
        ramps: tuple[tuple[str, OtherRamp], ...] = (
            (f"{fast} and {slow} are exchanged", lambda ramp, high, low: ramp(low, high)),
            ("the scaling is applied twice: the ramp slows what it has slowed already", twice),
            ("the ends of the ramp are counted in dimensions where pairs were expected: they lie twice as far",
             lambda ramp, high, low: ramp(high, low, base.sqrt())),
            ("the ends of the ramp are computed with half the width: they lie half as far",
             lambda ramp, high, low: ramp(high, low, base * base)),
            ("2 pi is missing in the ends of the ramp", lambda ramp, high, low: ramp(high / TAU, low / TAU)),
            ("the ends of the ramp are computed with base 10000",
             lambda ramp, high, low: ramp(high, low, Decimal(10000))),
            ("the ends of the ramp are rounded inwards where outwards was expected",
             lambda ramp, high, low: ramp(high, low, rounding=(ROUND_CEILING, ROUND_FLOOR))),
            ("the ends of the ramp are rounded to the nearest index where outwards was expected",
             lambda ramp, high, low: ramp(high, low, rounding=(ROUND_HALF_EVEN, ROUND_HALF_EVEN))),
        )  # fmt: skip
        for text, other in ramps:
            yield Change("scaling", text, waves=partial(_other_ramp, keys, other))
    yield from other_values(keys, fast, "32", "16", "64", "8", "128")
    yield from other_values(keys, slow, "1", "2", "4", "0.5")


# Of the rotations at the fast and at the slow end, and another base, the share of interpolation per pair.
RampOf = Callable[..., list[Decimal]]
OtherRamp = Callable[[RampOf, Decimal, Decimal], list[Decimal]]


def _twice(slowest: Decimal, ramp: RampOf, fast: Decimal, slow: Decimal) -> list[Decimal]:
    """Return the shares of interpolation whose slowing factors are the square of the ramp's."""
    slowed = (1 - r + r * slowest for r in ramp(fast, slow))
    return [(1 - s * s) / (1 - slowest) if slowest != 1 else Decimal(0) for s in slowed]


def _other_ramp(keys: Mapping[str, str], other: OtherRamp, waves: Waves) -> Waves:
    """Return waves with the frequencies of another ramp."""
    series = PlainSeries.of(keys)
    fast, slow, factor = (Decimal(keys[key]) for key in ("beta-fast", "beta-slow", "factor"))

    def ramp(
        high: Decimal, low: Decimal, base: Decimal = series.base, rounding: tuple[str, str] = OUTWARDS
    ) -> list[Decimal]:
        own, truncate = replace(series, base=base), keys["truncate"] == "true"
        return index_ramp(own, int(keys["original-max"]), high, low, truncate, rounding=rounding)

    with localcontext(CONTEXT):
        meant, made = (
            [w * (1 - r) + w / factor * r for w, r in zip(series.frequencies, ramps, strict=True)]
            for ramps in (ramp(fast, slow), other(ramp, fast, slow))
        )
    found: dict[object, Decimal] = dict(zip(meant, made, strict=True))
    bands = (band._replace(frequencies=tuple(found[w] for w in band.frequencies)) for band in waves.bands)
    return replace(waves, bands=tuple(bands))


NTK_BY_PARTS = Scaling("ntk-by-parts", 5, _parts_frequencies, _parts_float32, mistakes=_parts_mistakes)


def _yarn_magnitude(
    *,
    factor: Factor,
    mscale: Annotated[Decimal | None, Param(ge=0)] = None,
    mscale_all_dim: Annotated[Decimal | None, Param(ge=0)] = None,
    coefficient: Annotated[Decimal, Param(ge=0, le=1e9)] = Decimal("0.1"),
    attention_factor: AttentionFactor | None = None,
) -> Decimal:
    """Return mscale(weight) over mscale(all_dim); absent weights are 1 and 0.

    This is DeepSeek's rule; transformers takes it where both are given and
    neither is 0, and the plain 0.1 ln(factor) + 1 otherwise.

    Formula
    -------
    magnitude = coefficient ln factor + 1, 1 for a factor up to 1
    with mscale or mscale-all-dim: (coefficient mscale ln factor + 1) / (coefficient mscale-all-dim ln factor + 1)

    Parameters
    ----------
    mscale
        Weight of ln(factor) in the attention factor.
    mscale_all_dim
        Weight of ln(factor) in the denominator of the attention factor.
    coefficient
        Coefficient of ln(factor) in the attention factor.
    """
    if attention_factor is not None:
        if mscale is not None or mscale_all_dim is not None:
            raise BadParameter("attention-factor", attention_factor, "excludes mscale= and mscale-all-dim=")
        return attention_factor
    if factor <= 1:
        return Decimal(1)
    weights = Decimal(1) if mscale is None else mscale, Decimal(0) if mscale_all_dim is None else mscale_all_dim
    with localcontext(CONTEXT):
        above, below = (coefficient * weight * factor.ln() + 1 for weight in weights)
        return above / below


def _yarn_read(reader: Reader, width: int) -> dict[str, str]:
    if width % 2:
        raise reader.keys.bad(f"rotates {width} columns, an odd number, which rope type yarn does not take")
    original = reader.original
    factor = reader.number("factor", required="factor" not in reader.params)
    if factor is None:
        factor = CONTEXT.divide(Decimal(reader.length), Decimal(original))
        reader.notes.warn(
            f"{reader.place('factor')} is null: taken as max_position_embeddings over the original length"
        )
    found = {"scaling": "yarn", "factor": number_text(factor), "original-max": str(original)}
    for name, option in (("beta_fast", "beta-fast"), ("beta_slow", "beta-slow")):
        value = reader.number(name, required=False, above=None)
        if value:
            found[option] = number_text(value)
    if not reader.truncate:
        found["truncate"] = "false"
    return found | _read_magnitude(reader)


def _read_magnitude(reader: Reader) -> dict[str, str]:
    """Return the parameters of the magnitude: given, DeepSeek's ratio, or none."""
    given = reader.number("attention_factor", required=False, above=None)
    weights = {name: reader.number(name, required=False, above=None) for name in ("mscale", "mscale_all_dim")}
    written = {name: weight for name, weight in weights.items() if weight is not None}
    if given is not None:
        for name in written:
            reader.notes.ignore(reader.place(name), "attention_factor is given, which wins")
        return {"attention-factor": number_text(given)}
    if len(written) == 2 and all(written.values()):
        return {name.replace("_", "-"): number_text(weight) for name, weight in written.items()}
    for name, weight in written.items():
        reader.notes.ignore(reader.place(name), "transformers reads mscale and mscale_all_dim only together")
        if weight:
            reader.notes.fault(
                f"transformers ignores {reader.place(name)}={number_text(weight)} without its partner: DeepSeek's "
                "own code, vLLM and others scale by it"
            )
    return {}


def _yarn_mistakes(keys: Mapping[str, str]) -> Iterator[Change]:
    """Yield the magnitude left out, and the other ramps."""
    own = [option for option in YARN.options if option in keys and option not in NTK_BY_PARTS.options]
    given = {option.replace("-", "_"): Decimal(keys[option]) for option in own}
    size = _yarn_magnitude(factor=Decimal(keys["factor"]), **given)
    bare: dict[str, str | None] = dict.fromkeys(own)
    squared = number_text(CONTEXT.multiply(size, size))
    if size != 1:
        yield Change("magnitude", f"magnitude applied twice ({float(size):.5g})", {**bare, "attention-factor": squared})
    yield Change("magnitude", "the magnitude is missing", {**bare, "scaling": NTK_BY_PARTS.name})
    for option in [one for one in own if one.startswith("mscale")]:
        rest = {name: number for name, number in given.items() if name != option.replace("-", "_")}
        other = _yarn_magnitude(factor=Decimal(keys["factor"]), **rest)
        text = f"{option} is missing: attention factor {float(other):.5g} where {float(size):.5g} was expected"
        yield Change("magnitude", text, {option: None})
    if keys.get("ramp", "index") == "index":
        yield Change("scaling", "yarn with truncate=false where truncate=true was expected", {"truncate": "false"})
        yield Change(
            "scaling", "yarn with ramp=rotations where ramp=index was expected", {"ramp": "rotations", "truncate": None}
        )
    yield from NTK_BY_PARTS.mistakes(keys)


YARN = Scaling(
    "yarn", 6, NTK_BY_PARTS.frequencies, NTK_BY_PARTS.float32, _yarn_magnitude,
    types=(RopeType("yarn", _yarn_read, needs_head_dim=True, original_outside=True),),
    mistakes=_yarn_mistakes,
)  # fmt: skip
