"""YaRN's ramp told from frequencies: the numbers of a model that put its ends where they are."""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import Decimal
from functools import partial

import numpy as np

from pecli.encodings.rotary.rope.ramps import (
    NICE,
    TURN,
    Floats,
    PairSize,
    Slowing,
    Suspected,
    nice_length,
    rotation_ramps,
)
from pecli.encodings.rotary.rope.scaling import PlainSeries
from pecli.encodings.rotary.rope.scalings.ntk_by_parts import SCALING as RAMP
from pecli.encodings.rotary.rope.usual import LENGTHS, Ratios, usual_spectra
from pecli.measures.spectra import LARGEST_LOG, SHORT, Measured, Spectrum
from pecli.numbers.shortest import digits, shortest
from pecli.numbers.text import number_text

USUAL = 2  # of the betas, that are tried where few pairs are on the ramp
RELAXED = 4.0  # errors by which a ramp between fitted ends may miss, before numbers are tried for them
Ends = tuple[dict[str, str], float]
BETAS = ((32.0, 1.0), (64.0, 1.0), (16.0, 1.0), (128.0, 2.0), (32.0, 2.0), (8.0, 1.0), (64.0, 2.0), (4.0, 1.0))
"""Of models and papers, the most usual first."""


def spectra(seen: Suspected) -> Iterator[Spectrum]:
    """Yield ramps over the index of the pair, usual ones first, and over its rotations."""
    if not seen.series:
        yield from usual_spectra(seen.measured, *_usual(seen.measured.half))
    for slowing in seen.slowings:
        yield from _by_index(seen.measured, slowing)
        for low, high, length, ratio in rotation_ramps(slowing):
            keys = _lengths(length, high, low, {"ramp": "rotations"})
            yield from slowing.tested(seen.measured, ratio, keys, 0.5 * len(f"{high:g}"))


def sizes(size: PairSize) -> Iterator[tuple[dict[str, str], float]]:
    """Yield the parameters that give the size of the pairs: the usual magnitude, none, or one that was given."""
    assert size.factor is not None
    if size.near(0.1 * math.log(size.factor) + 1 if size.factor > 1 else 1.0):
        yield {}, 0.0
    elif size.near(1.0):
        yield {"scaling": RAMP.name}, 0.0
    else:
        yield {"attention-factor": number_text(size.magnitude)}, float(digits(size.magnitude))


def _by_index(measured: Measured, slowing: Slowing) -> Iterator[Spectrum]:
    """Yield YaRN's ramp over the index of the pair, its ends whole numbers or not."""
    f, m, loose = float(slowing.factor), len(slowing.ratio), slowing.loose()
    along = (1 - slowing.ratio) / (1 - 1 / f)
    inside = np.flatnonzero((along > 2 * loose) & (along < 1 - 2 * loose))
    done = np.flatnonzero(along >= 1 - 2 * loose)
    zero = np.flatnonzero(along <= 2 * loose)
    low = int(zero[zero < (inside[0] if len(inside) else m)].max(initial=0)) if len(zero) else 0
    high = int(done[0]) if len(done) else m
    if len(done) == 0 and len(inside) >= 2:  # the ramp ends beyond the last pair
        rise = float(np.polyfit(inside, along[inside], 1)[0])
        high = round(low + 1 / rise) if rise > 0 else m
    whole = _ratio(m, low, high, f)
    if (len(inside) or high - low <= 1) and slowing.follows(measured, whole).all():
        for keys, cost in _whole_ends(float(slowing.base), low, high, m):
            yield from slowing.tested(measured, whole, keys, cost)
    if len(inside) < 2:  # too few to fit two ends: usual ones
        log, lengths = math.log(float(slowing.base)) / m, np.array(NICE, np.float64)[:, None]
        for fast, slow in BETAS[:USUAL]:
            first, last = (np.log(lengths / TURN / beta) / log for beta in (fast, slow))
            for more, low_end, high_end in (({}, np.floor(first), np.ceil(last)), ({"truncate": "false"}, first, last)):
                ratios = _ratio(m, np.maximum(low_end, 0), np.minimum(high_end, 2 * m - 1), f)
                for k in np.flatnonzero(slowing.follows(measured, ratios)):
                    yield from slowing.tested(measured, ratios[k], _lengths(NICE[k], fast, slow, more), len(more))
    if len(inside) >= 2:
        rise, start = (float(v) for v in np.polyfit(inside, along[inside], 1))
        ends = (-start / rise, (1 - start) / rise) if rise > 0 else (0.0, 0.0)
        if rise > 0 and measured.fits(slowing.plain * _ratio(m, *ends, f), float(slowing.step), RELAXED):
            spread = 3 * float(loose[inside].max()) / rise
            for keys, cost in _fractional_ends(float(slowing.base), ends, spread, m):
                yield from slowing.tested(measured, _exact_ratio(slowing, keys), keys, cost)


def _usual(half: float) -> tuple[list[dict[str, str]], Ratios]:
    """Return the keys of usual ramps, and how they slow pairs of `half`."""
    lengths, betas = LENGTHS[:, None, None], np.array(BETAS[:USUAL])[None, :, :]
    turns = np.log(np.concatenate([lengths / TURN / betas] * 2, axis=1)).reshape(-1, 2)
    whole = np.tile(np.repeat([True, False], USUAL), len(LENGTHS))
    shapes = [
        _lengths(int(length), *beta, {} if cut else {"truncate": "false"})
        for length in LENGTHS for cut in (True, False) for beta in BETAS[:USUAL]
    ]  # fmt: skip

    def ratios(logs: Floats, factors: Floats, pairs: Floats) -> Floats:
        low, high = (turns[:, end, None] * half / logs for end in (0, 1))
        low, high = np.where(whole[:, None], np.floor(low), low), np.where(whole[:, None], np.ceil(high), high)
        return _ratio(pairs, np.maximum(low, 0), np.minimum(high, 2 * half - 1), factors)

    return shapes, ratios


def _ratio(m: int | Floats, low: float | Floats, high: float | Floats, f: float | Floats) -> Floats:
    """Return by how much ramps between some ends slow the m first pairs, or some, (..., m)."""
    ramp = np.clip(((np.arange(m) if isinstance(m, int) else m) - low) / np.maximum(high - low, 1e-3), 0, 1)
    found: Floats = 1 - ramp + ramp / f
    return found


def _exact_ratio(slowing: Slowing, keys: dict[str, str]) -> Floats:
    """Return what the scaling's own function makes of these keys over the plain series, (m,)."""
    m = len(slowing.plain)
    numbers = {name.replace("-", "_"): Decimal(keys[name]) for name in ("beta-fast", "beta-slow") if name in keys}
    made = RAMP.frequencies(
        PlainSeries(2 * m, 2 * m, slowing.base), factor=slowing.factor, original_max=int(keys["original-max"]),
        truncate=False, **numbers,
    )  # fmt: skip
    return np.array([float(v) for v in made]) / slowing.plain


def _whole_ends(base: float, low: int, high: int, m: int) -> Iterator[Ends]:
    """Yield original lengths (and betas) whose correction dimensions round outwards to these ends."""
    log = math.log(base)
    turns = partial(_wavelength, log / m)
    for cost, (fast, slow) in enumerate(BETAS):
        least = max(fast * turns(low) if low > 0 else 0.0, slow * turns(high - 1) * (1 + 1e-12))
        most = min(fast * turns(low + 1), slow * turns(high) if high < 2 * m - 1 else math.inf)
        length = nice_length(least, most)
        if length is not None:
            yield _lengths(length, fast, slow, {}), float(cost)
    # other betas: a nice length for the slow end, and what the fast end then means
    for slow in (1.0, 2.0):
        length = nice_length(slow * turns(high - 1) * (1 + 1e-12), slow * turns(high))
        if length is not None:
            fast_beta = shortest(length / turns(low + 1) * (1 + 1e-12), length / turns(low) if low > 0 else length)
            if float(fast_beta) > slow:
                yield _lengths(length, float(fast_beta), slow, {}), 10.0


def _fractional_ends(base: float, ends: tuple[float, float], spread: float, m: int) -> Iterator[Ends]:
    """Yield original lengths and betas for ends that were not rounded."""
    log = math.log(base)
    turns = partial(_wavelength, log / m)
    for fast, slow in BETAS:
        least = max(fast * turns(ends[0] - spread), slow * turns(ends[1] - spread))
        most = min(fast * turns(ends[0] + spread), slow * turns(ends[1] + spread))
        length = nice_length(least, most)
        if length is not None:
            yield _lengths(length, fast, slow, {"truncate": "false"}), 1.0
    for slow in (1.0, 2.0):
        length = nice_length(slow * turns(ends[1] - spread), slow * turns(ends[1] + spread))
        if length is None:
            continue
        beta = shortest(length / turns(ends[0] + spread), length / turns(ends[0] - spread))
        if digits(beta) <= SHORT and float(beta) > slow:
            yield _lengths(length, float(beta), slow, {"truncate": "false"}), digits(beta) + 1.0


def _wavelength(slope: float, index: float) -> float:
    """Return the positions that a turn of a plain pair takes, at a fractional index."""
    return TURN * math.exp(max(-LARGEST_LOG, min(index * slope, LARGEST_LOG)))


def _lengths(length: int, fast: float, slow: float, more: dict[str, str]) -> dict[str, str]:
    """Return the parameters of an original length and its betas, defaults left out."""
    keys = {"scaling": "yarn", "original-max": str(length), **more}
    if fast != 32:
        keys["beta-fast"] = f"{fast:g}"
    if slow != 1:
        keys["beta-slow"] = f"{slow:g}"
    return keys
