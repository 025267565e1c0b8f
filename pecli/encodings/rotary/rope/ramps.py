"""Scaled rotary frequencies: plain at the fast end, slowed by a factor at the slow end, a ramp between."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from pecli.encodings.rotary.rope.ramp_ends import fractional_ends, lengths, rotation_ends, whole_ends
from pecli.measures.spectra import LARGEST_LOG, SHORT, Line, Measured, Spectrum, fit_line, steps_near
from pecli.numbers.shortest import digits, shortest
from pecli.numbers.text import number_text

Floats = NDArray[np.float64]
TURN = 2 * math.pi
LARGEST_BASE = Decimal("1e30")


@dataclass(frozen=True)
class Slowing:
    """How much each pair is slowed against the plain series.

    Attributes
    ----------
    base : Decimal
        Of the plain series.
    step : Fraction
        Distance of rows.
    plain : (m,) float64
        The plain frequencies.
    ratio : (m,) float64
        Measured frequency over the plain one.
    errors : (m,) float64
        Uncertainty of the ratio, relative.
    """

    base: Decimal
    step: Fraction
    plain: Floats
    ratio: Floats
    errors: Floats


def ramps(measured: Measured) -> Iterator[Spectrum]:
    """Yield the scalings whose ramp fits, cheapest numbers first within each kind."""
    for slowing in slowings(measured):
        still = np.abs(np.log(slowing.ratio)) <= slowing.errors
        if still.all():
            continue
        for factor in _factors(slowing):
            yield from _index_ramps(measured, slowing, factor)
            yield from _rotation_ramps(measured, slowing, factor)


def slowings(measured: Measured) -> Iterator[Slowing]:
    """Yield plain series that pairs of one end follow: the base is what makes it short."""
    m = len(measured.steps)
    if m < 3:
        return
    i = np.arange(m, dtype=np.float64)
    seen: set[Decimal] = set()
    for line in _ends(measured):
        for width in (1.0, 3.0, 10.0):
            spread = width * line.slope_error * measured.half
            if not spread < 0.7 or line.slope <= 0 or line.slope * measured.half > LARGEST_LOG:
                continue
            middle = math.exp(line.slope * measured.half)
            base = shortest(middle * math.exp(-spread), middle * math.exp(spread))
            if base in seen or digits(base) > SHORT or not 1 < base <= LARGEST_BASE:
                continue
            seen.add(base)
            plain = np.exp(-i / measured.half * math.log(float(base)))
            step, _ = next(iter(steps_near(float(measured.logs[0]), float(measured.errors[0]))), (Fraction(0), 0.0))
            if plain[-1] * float(step) <= 0:  # beyond the range of doubles
                continue
            ratio = measured.steps / (plain * float(step))
            yield Slowing(base, step, plain, ratio, measured.errors)


def _ends(measured: Measured) -> Iterator[Line]:
    """Yield lines through the fast end, the slow end, and both with one slope."""
    m = len(measured.steps)
    fast = longest_line(measured, from_start=True)
    slow = longest_line(measured, from_start=False)
    if fast >= 2 and slow >= 2 and fast + slow <= m:
        yield _parallel(measured, fast, slow)
    if fast >= 3:
        yield fit_line(measured.logs, measured.errors, 0, fast)
    if slow >= 3:
        yield fit_line(measured.logs, measured.errors, m - slow, m)


def longest_line(measured: Measured, *, from_start: bool) -> int:
    """Return how many pairs of one end follow a line, by bisection: more pairs never fit better."""
    m = len(measured.steps)
    low, high = min(2, m), m
    while low < high:
        middle = (low + high + 1) // 2
        first, stop = (0, middle) if from_start else (m - middle, m)
        if fit_line(measured.logs, measured.errors, first, stop).misfit <= 1.0:
            low = middle
        else:
            high = middle - 1
    return low


def _parallel(measured: Measured, fast: int, slow: int) -> Line:
    """Return the line of the fast end, its slope shared with the slow end."""
    m = len(measured.steps)
    i = np.arange(m, dtype=np.float64)
    weights = (measured.errors.min() / measured.errors) ** 2
    above, below = 0.0, 0.0
    for part in (slice(0, fast), slice(m - slow, m)):
        w, x, y = weights[part], i[part], measured.logs[part]
        mx, my = (w @ x) / w.sum(), (w @ y) / w.sum()
        above += w @ ((x - mx) * (y - my))
        below += w @ (x - mx) ** 2
    error = float(measured.errors.min()) / math.sqrt(below)
    return Line(float(measured.logs[0]), float(-above / below), float(measured.errors[0]), error, 0.0)


def _factors(slowing: Slowing) -> list[Decimal]:
    """Return what the slowest pairs may be slowed by; where the ramp does not end, the usual factors too."""
    last, error = slowing.ratio[-1], slowing.errors[-1]
    seen = shortest(1 / (last * (1 + error)), 1 / (last * (1 - error)))
    found = [seen] if digits(seen) <= SHORT + 2 and seen > 0 and seen != 1 else []
    found += [Decimal(f) for f in (2, 4, 8, 16, 32, 40, 64, 128) if 1 < 1.001 / last < f and f not in found]
    return found


def _index_ramps(measured: Measured, slowing: Slowing, factor: Decimal) -> Iterator[Spectrum]:
    """Yield YaRN's ramp over the index of the pair, its ends whole numbers or not."""
    f, m = float(factor), len(slowing.ratio)
    along = (1 - slowing.ratio) / (1 - 1 / f)
    loose = slowing.ratio * slowing.errors / abs(1 - 1 / f)
    inside = np.flatnonzero((along > 2 * loose) & (along < 1 - 2 * loose))
    done = np.flatnonzero(along >= 1 - 2 * loose)
    zero = np.flatnonzero(along <= 2 * loose)
    low = int(zero[zero < (inside[0] if len(inside) else m)].max()) if len(zero) else 0
    high = int(done[0]) if len(done) else m
    if len(done) == 0 and len(inside) >= 2:  # the ramp ends beyond the last pair
        rise = float(np.polyfit(inside, along[inside], 1)[0])
        high = round(low + 1 / rise) if rise > 0 else m
    if len(inside) or high - low <= 1:
        for keys, cost in whole_ends(float(slowing.base), low, high, m):
            yield from _tested(measured, slowing, factor, _index_ratio(m, low, high, f), keys, cost)
    if len(inside) >= 2:
        rise, start = (float(v) for v in np.polyfit(inside, along[inside], 1))
        if rise > 0:
            ends = (-start / rise, (1 - start) / rise)
            spread = 3 * float(loose[inside].max()) / rise
            for keys, cost in fractional_ends(float(slowing.base), ends, spread, m):
                yield from _tested(measured, slowing, factor, None, keys, cost)


def _index_ratio(m: int, low: float, high: float, f: float) -> Floats:
    ramp = np.clip((np.arange(m) - low) / max(high - low, 1e-3), 0, 1)
    found: Floats = 1 - ramp + ramp / f
    return found


def _rotation_ramps(measured: Measured, slowing: Slowing, factor: Decimal) -> Iterator[Spectrum]:
    """Yield the ramp over rotations, as Llama 3 and the paper of YaRN have it."""
    f = float(factor)
    share = (slowing.ratio - 1 / f) / (1 - 1 / f)  # 1 where the pair is left alone, 0 where it is slowed whole
    loose = slowing.ratio * slowing.errors / abs(1 - 1 / f)
    inside = np.flatnonzero((share > 2 * loose) & (share < 1 - 2 * loose))
    w = slowing.plain
    alone, whole = np.flatnonzero(share >= 1 - 2 * loose), np.flatnonzero(share <= 2 * loose)
    for low, high, length in rotation_ends(w, share, loose, inside, alone, whole):
        ramp = np.clip((length * w / TURN - low) / (high - low), 0, 1)
        keys = {"original-max": str(length)}
        cost = 0.5 * (len(f"{high:g}") - 1)
        if low != 1:
            keys["low-freq-factor"] = f"{low:g}"
        if high != 4:
            keys["high-freq-factor"] = f"{high:g}"
        ratio = ramp + (1 - ramp) / f
        yield from _tested(measured, slowing, factor, ratio, {"scaling": "llama3", **keys}, cost)
        yarn = {"ramp": "rotations", **lengths(length, high, low, {})}
        yield from _tested(measured, slowing, factor, ratio, yarn, cost + 0.5)


def _tested(
    measured: Measured, slowing: Slowing, factor: Decimal, ratio: Floats | None, keys: dict[str, str], cost: float
) -> Iterator[Spectrum]:
    """Yield a scaling if its frequencies are those measured."""
    keys = {"scaling": "yarn", **keys, "factor": number_text(factor)}
    if slowing.base != 10000:
        keys["base"] = number_text(slowing.base)
    if ratio is None:
        frequencies = np.array([float(v) for v in _exact(keys, len(slowing.plain))])
    else:
        frequencies = slowing.plain * ratio
    if measured.fits(frequencies, float(slowing.step)):
        total = cost + digits(factor) + digits(slowing.base) + (0 if slowing.step == 1 else 2)
        yield Spectrum(keys, slowing.step, frequencies, total, float(factor))


def _exact(keys: dict[str, str], m: int) -> tuple[Decimal, ...]:
    """Return the frequencies of a rotary recipe."""
    from pecli.declare.plan import Waves
    from pecli.encodings.recipe import Recipe

    plan = Recipe.bind("rope", dim=2 * m, **keys).plan
    assert isinstance(plan, Waves)
    return plan.frequencies
