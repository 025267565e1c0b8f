"""NTK by parts: fast pairs as they are, slow ones over the factor, a ramp between (Peng et al. 2023, section 3.2).

``ramp=index`` is linear in the index of the pair, as the authors' code has it;
``ramp=rotations`` is linear in the rotations within the original length, as
equations 17 to 20 print it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext
from functools import partial
from typing import Annotated, Any, Literal

from pecli.declare.board import short
from pecli.declare.changes import Change, other_values
from pecli.declare.encoding import Param
from pecli.declare.plan import Waves
from pecli.declare.rescaling import Slowed
from pecli.encodings.rotary.rope.float32 import Float32, nearest, powers
from pecli.encodings.rotary.rope.scaling import ONE, ZERO, Factor, Frequencies, OriginalMax, PlainSeries, Scaling
from pecli.errors import BadParameter
from pecli.numbers.decimals import CONTEXT, TAU, number_text

Ramp = Literal["index", "rotations"]

SINGULARITY = 0.001  # keeps the ramp of the authors' code from dividing by zero


def _frequencies(
    series: PlainSeries,
    *,
    factor: Factor,
    original_max: OriginalMax,
    beta_fast: Annotated[
        Decimal, Param("Pairs that turn more often than this in original-max are left alone.", gt=0)
    ] = Decimal(32),
    beta_slow: Annotated[
        Decimal, Param("Pairs that turn less often than this are slowed by the whole factor.", gt=0)
    ] = ONE,
    ramp: Annotated[
        Ramp, Param("Between them linear in the pair's index (the code) or in its rotations (the paper).")
    ] = "index",
    truncate: Annotated[
        bool, Param("Round the ramp's ends outwards to whole indices.", when=("ramp", ("index",)))
    ] = True,
) -> Frequencies:
    """Return w_i (1 - r_i) + w_i / factor r_i, where r_i is the share of interpolation."""
    if beta_fast < beta_slow:
        rule = f"must be at least beta-slow={number_text(beta_slow)}: fast pairs turn more often than slow ones"
        raise BadParameter("beta-fast", number_text(beta_fast), rule)
    d = series.width
    if d % 2:
        raise BadParameter("dim", d, f"must be even for yarn: use a rotary width of {d - 1} or {d + 1}")
    with localcontext(CONTEXT):
        if ramp == "index":
            ramps = _index_ramp(series, original_max, beta_fast, beta_slow, truncate)
        else:
            ramps = _rotations_ramp(series, original_max, beta_fast, beta_slow)
        return tuple(w * (1 - r) + w / factor * r for w, r in zip(series.frequencies, ramps, strict=True))


def _index_ramp(series: PlainSeries, original: int, fast: Decimal, slow: Decimal, truncate: bool) -> list[Decimal]:
    """Return the share of interpolation per pair, linear in the index.

    The bounds are those of the authors' code: the upper one is d - 1 and not
    d/2 - 1, and a lower bound above the upper one leaves every pair alone.
    """
    d, base = series.width, series.base
    if base == 1:
        raise BadParameter("base", base, "must not be 1 for yarn: its ramp divides by the logarithm of the base")
    # the (fractional) index of the pair that turns beta times within the original length
    low, high = (d * (original / (beta * TAU)).ln() / (2 * base.ln()) for beta in (fast, slow))
    if truncate:
        low, high = low.to_integral_value(ROUND_FLOOR), high.to_integral_value(ROUND_CEILING)
    low, high = max(low, ZERO), min(high, Decimal(d - 1))
    if low == high:
        high += Decimal(str(SINGULARITY))
    return [_clamp((i - low) / (high - low)) for i in range(d // 2)]


def _rotations_ramp(series: PlainSeries, original: int, fast: Decimal, slow: Decimal) -> list[Decimal]:
    """Return the share of interpolation per pair, linear in its rotations within `original` positions."""
    if fast == slow:
        raise BadParameter("beta-fast", fast, "must differ from beta-slow: the ramp divides by their difference")
    return [1 - _clamp((original * w / TAU - slow) / (fast - slow)) for w in series.frequencies]


def _clamp(value: Decimal) -> Decimal:
    return min(max(value, ZERO), ONE)


def _float32(series: PlainSeries, **given: Any) -> Float32:
    """Return the blend in float32; the ramp's ends are computed in double precision, as Python does."""
    import numpy as np

    if given["ramp"] == "rotations":  # the paper's, which no framework computes
        return nearest(_frequencies(series, **given))
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
    found: Float32 = one / (f32(given["factor"]) * power) * (one - kept) + one / power * kept
    return found


def least_blend(slowed: Slowed) -> float | None:
    """Return the least factor of w' = w ((1 - r) + r / factor): r does not depend on it, and follows at any factor."""
    if slowed.factor == 1:
        return None
    wanted = []
    for i in slowed.binding:
        r = (1 - slowed.ratios[i]) / (1 - 1 / slowed.factor)
        rest = 1 / slowed.growth - (1 - r)
        wanted.append(r / rest if rest > 0 else math.inf)
    least = max(wanted)
    return least if least < math.inf else None


def board(series: PlainSeries, given: Mapping[str, Any], pairs: Sequence[int]) -> list[str]:
    """Return the ramp and the blends of some pairs, with the numbers put in."""
    d, base, original = series.width, float(series.base), given["original_max"]
    fast, slow, factor = (float(given[name]) for name in ("beta_fast", "beta_slow", "factor"))
    lines = []
    if given["ramp"] == "index":
        ends = []
        for beta, word in ((fast, "floor"), (slow, "ceil")):
            end = d * math.log(original / (beta * 2 * math.pi)) / (2 * math.log(base))
            whole = (math.floor if word == "floor" else math.ceil)(end) if given["truncate"] else end
            cut = max(whole, 0) if word == "floor" else min(whole, d - 1)
            ends.append(cut)
            said = f", {word} {short(whole)}" if given["truncate"] else ""
            said += f", cut to {short(cut)}" if cut != whole else ""
            times = "once" if beta == 1 else f"{short(beta)} times"
            lines.append(
                f"the pair that turns {times} in {original}: {d} x ln({original} / ({short(beta)} x 2 pi))"
                f" / (2 x ln({short(base)})) = {short(end)}{said}"
            )
        low, high = ends[0], ends[1] if ends[1] != ends[0] else ends[1] + SINGULARITY
    for i in pairs:
        w = float(series.frequencies[i])
        if given["ramp"] == "index":
            share, text = (i - low) / (high - low), f"({i} - {short(low)}) / ({short(high)} - {short(low)})"
        else:
            turns = original * w / (2 * math.pi)
            share = 1 - (turns - slow) / (fast - slow)
            text = f"1 - ({short(turns)} - {short(slow)}) / ({short(fast)} - {short(slow)})"
            lines.append(f"pair {i} turns {original} x {short(w)} / (2 pi) = {short(turns)} times in {original}")
        r = min(max(share, 0.0), 1.0)
        limited = f", cut to {short(r)}" if r != share else ""
        new = w * (1 - r) + w / factor * r
        lines.append(
            f"pair {i}: r = {text} = {short(share)}{limited}; w_{i} = {short(w)} x (1 - {short(r)}) + {short(w)} / "
            f"{short(factor)} x {short(r)} = {short(new)}"
        )
    return lines


def mistakes(keys: Mapping[str, str]) -> Iterator[Change]:
    """Yield the ends of the ramp exchanged, which turns it round, and others."""
    fast, slow = "beta-fast", "beta-slow"
    if keys["ramp"] == "index" and "partial" not in keys:
        turned = "the ramp runs the other way: fast pairs are slowed, slow ones are not"
        yield Change("scaling", f"{fast} and {slow} are exchanged", waves=partial(_other_ramp, keys, _ends_exchanged))
        yield Change("scaling", turned, waves=partial(_other_ramp, keys, _turned))
        yield Change(
            "scaling",
            "the frequencies are slowed twice: the ramp is applied to what it has slowed already",
            waves=partial(_other_ramp, keys, partial(_again, 1 / Decimal(keys["factor"]))),
        )
    yield from other_values("32", "16", "64", "8", "128")(fast, keys[fast], ())
    yield from other_values("1", "2", "4", "0.5")(slow, keys[slow], ())


RampOf = Callable[[Decimal, Decimal], list[Decimal]]
"""Of the rotations at the fast and at the slow end, the share of interpolation per pair."""


def _ends_exchanged(ramp: RampOf, fast: Decimal, slow: Decimal) -> list[Decimal]:
    return ramp(slow, fast)


def _turned(ramp: RampOf, fast: Decimal, slow: Decimal) -> list[Decimal]:
    return [1 - r for r in ramp(fast, slow)]


def _again(slowest: Decimal, ramp: RampOf, fast: Decimal, slow: Decimal) -> list[Decimal]:
    """Return the shares that slow by the square of what each share slows by."""
    slowed = (1 - r + r * slowest for r in ramp(fast, slow))
    return [(1 - s * s) / (1 - slowest) if slowest != 1 else Decimal(0) for s in slowed]


def _other_ramp(
    keys: Mapping[str, str], other: Callable[[RampOf, Decimal, Decimal], list[Decimal]], waves: Waves
) -> Waves:
    """Return waves with the frequencies of another ramp."""
    series = PlainSeries(int(keys["dim"]), int(keys.get("rotary-dim", keys["dim"])), Decimal(keys["base"]))
    fast, slow, factor = (Decimal(keys[key]) for key in ("beta-fast", "beta-slow", "factor"))

    def ramp(high: Decimal, low: Decimal) -> list[Decimal]:
        return _index_ramp(series, int(keys["original-max"]), high, low, keys["truncate"] == "true")

    with localcontext(CONTEXT):
        meant, made = (
            [w * (1 - r) + w / factor * r for w, r in zip(series.frequencies, ramps, strict=True)]
            for ramps in (ramp(fast, slow), other(ramp, fast, slow))
        )
    found: dict[object, Decimal] = dict(zip(meant, made, strict=True))
    bands = (replace(band, frequencies=tuple(found[w] for w in band.frequencies)) for band in waves.bands)
    return replace(waves, bands=tuple(bands))


SCALING = Scaling("ntk-by-parts", 5, _frequencies, _float32, mistakes=mistakes, least=least_blend, board=board)
