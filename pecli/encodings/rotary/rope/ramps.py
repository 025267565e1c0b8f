"""Plain series that only one end of some frequencies follows, and ramps between the ends: what scalings are told by."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from pecli.measures.spectra import LARGEST_LOG, SHORT, Line, Measured, Spectrum, fit_line, steps_near
from pecli.numbers.shortest import digits, shortest
from pecli.numbers.text import number_text

Floats = NDArray[np.float64]
TURN = 2 * math.pi
SHOWN = 0.5  # relative error of a frequency that shows at all
LARGEST_BASE = Decimal("1e30")
UNUSUAL = 2.0  # digits that a length counts for on which nobody trains
LEAST_SLOWING = Decimal("0.05")  # what a factor differs from 1 by: a smaller one is a rounding
FACTORS = ("2", "4", "8", "16", "32", "40", "64", "128", "2.5")
SHORT_FACTOR = 2  # digits of a factor that is tried though it is no usual one
MOST_FACTORS = 24
NICE = [1 << k for k in range(5, 25)] + [3 << k for k in range(9, 20)] + [5 << k for k in range(9, 18)]
"""Lengths that models are trained on."""


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
    factor : Decimal
        By which the slowest pairs seem to be slowed.
    """

    base: Decimal
    step: Fraction
    plain: Floats
    ratio: Floats
    errors: Floats
    factor: Decimal = Decimal(1)

    def loose(self) -> Floats:
        """Uncertainty of the place on the ramp, (m,)."""
        found: Floats = self.ratio * self.errors / abs(1 - 1 / float(self.factor))
        return found

    def follows(self, measured: Measured, ratio: Floats) -> NDArray[np.bool_]:
        """Whether frequencies slowed by `ratio`, (..., m), are those measured."""
        with np.errstate(divide="ignore", invalid="ignore"):
            gaps = np.abs(measured.logs - np.log(self.plain * ratio) - math.log(float(self.step)))
        return np.asarray((gaps <= measured.errors).all(axis=-1))

    def tested(self, measured: Measured, ratio: Floats, keys: dict[str, str], cost: float) -> Iterator[Spectrum]:
        """Yield a scaling's keys if frequencies slowed by `ratio`, (m,), are those measured."""
        if self.follows(measured, ratio):
            keys = {**keys, "factor": number_text(self.factor)}
            if self.base != 10000:
                keys["base"] = number_text(self.base)
            usual = str(self.factor) in FACTORS
            total = cost + (1 if usual else digits(self.factor)) + digits(self.base) + (0 if self.step == 1 else 2)
            total += 0 if int(keys["original-max"]) in NICE else UNUSUAL
            yield Spectrum(keys, self.step, self.plain * ratio, total, float(self.factor))


@dataclass(frozen=True)
class Suspected:
    """Frequencies that may be scaled.

    Attributes
    ----------
    measured : Measured
    series : tuple of Spectrum
        Geometric series that they follow.
    slowings : tuple of Slowing
        Where they follow none: the series of one end, with each factor that the other may be slowed by.
    """

    measured: Measured
    series: tuple[Spectrum, ...]
    slowings: tuple[Slowing, ...]

    @property
    def factors(self) -> tuple[str, ...]:
        """Usual factors, and short ones that are suspected."""
        short = (str(one.factor) for one in self.slowings if digits(one.factor) <= SHORT_FACTOR and one.factor > 1)
        return tuple(dict.fromkeys((*FACTORS, *short)))[:MOST_FACTORS]


@dataclass(frozen=True)
class PairSize:
    """How large the pairs are.

    Attributes
    ----------
    magnitude : Decimal
        The shortest number that it may be.
    measured, loose : float
        The size as measured, and what it may be off by, relative.
    factor : float or None
        Of the scaling.
    """

    magnitude: Decimal
    measured: float
    loose: float
    factor: float | None

    def near(self, value: float) -> bool:
        """Whether it may be a value."""
        return abs(float(self.magnitude) / value - 1) <= self.loose


def suspected(measured: Measured, series: tuple[Spectrum, ...]) -> Suspected:
    """Return what scalings are looked for in."""
    return Suspected(measured, series, () if series else tuple(_slowings(measured)))


def _slowings(measured: Measured) -> Iterator[Slowing]:
    for slowing in slowings(measured):
        if not (np.abs(np.log(slowing.ratio)) <= slowing.errors).all():
            for factor in _factors(slowing):
                yield replace(slowing, factor=factor)


def slowings(measured: Measured) -> Iterator[Slowing]:
    """Yield plain series that pairs of one end follow: the base is what makes it short."""
    m = len(measured.steps)
    if m < 3:
        return
    i = np.arange(m, dtype=np.float64)
    seen: set[Decimal] = set()
    for line in _ends(measured):
        for width in (1.0, 3.0, 10.0, 0.3, 0.1):
            spread = width * line.slope_error * measured.half
            if not spread < 0.7 or line.slope <= 0 or line.slope * measured.half > LARGEST_LOG:
                continue
            middle = math.exp(line.slope * measured.half)
            base = shortest(middle * math.exp(-spread), middle * math.exp(spread))
            if base in seen or not 1 < base <= LARGEST_BASE:
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
    shown = np.flatnonzero(slowing.errors < SHOWN)
    if not len(shown):
        return []
    last, error = slowing.ratio[shown[-1]], slowing.errors[shown[-1]]
    seen = shortest(1 / (last * (1 + error)), 1 / (last * (1 - error)))
    told = digits(seen) <= SHORT + 2 and seen > 0 and abs(seen - 1) >= LEAST_SLOWING
    near = [Decimal(f) for f in FACTORS if abs(float(f) * last - 1) <= error] if told else []
    found = [*near, *([seen] if told and seen not in near else [])]
    found += [Decimal(f) for f in FACTORS if 1 < 1.001 / last < float(f) and Decimal(f) not in found]
    return found


def rotation_ramps(slowing: Slowing) -> Iterator[tuple[float, float, int, Floats]]:
    """Yield ramps over the rotations within a length: rotations at the slow and the fast end, length, ratio (m,)."""
    f, w, loose = float(slowing.factor), slowing.plain, slowing.loose()
    share = (slowing.ratio - 1 / f) / (1 - 1 / f)  # 1 where the pair is left alone, 0 where it is slowed whole
    inside = np.flatnonzero((share > 2 * loose) & (share < 1 - 2 * loose))
    alone, whole = np.flatnonzero(share >= 1 - 2 * loose), np.flatnonzero(share <= 2 * loose)
    for low, high, length in _rotation_ends(w, share, loose, inside, alone, whole):
        ramp = np.clip((length * w / TURN - low) / (high - low), 0, 1)
        yield low, high, length, ramp + (1 - ramp) / f


def _rotation_ends(
    w: Floats, share: Floats, loose: Floats, inside: NDArray[np.intp], alone: NDArray[np.intp], whole: NDArray[np.intp]
) -> Iterator[tuple[float, float, int]]:
    """Yield rotations at the slow and the fast end, and the length they count in."""
    if len(inside) >= 2:
        slope, start = (float(v) for v in np.polyfit(w[inside], share[inside], 1))
        if slope <= 0:
            return
        foot, top = -start / slope, (1 - start) / slope  # frequencies at which the ramp begins and ends
        if foot <= 0:
            return
        spread = max(3 * float(loose[inside].max()) / slope, 1e-12)
        for low in (1.0, 2.0):
            length = nice_length(TURN * low / (foot + spread), TURN * low / max(foot - spread, foot / 2))
            if length is None:
                continue
            high = float(shortest(length * (top - spread) / TURN, length * (top + spread) / TURN))
            if high > low:
                yield low, high, length
        return
    yield from _usual_ends(w, share, loose, inside, alone, whole)


def _usual_ends(
    w: Floats, share: Floats, loose: Floats, inside: NDArray[np.intp], alone: NDArray[np.intp], whole: NDArray[np.intp]
) -> Iterator[tuple[float, float, int]]:
    """Yield the usual rotations where no two pairs are on the ramp: any that leave the right pairs alone."""
    for low, high in ((1.0, 4.0), (1.0, 32.0)):
        least = TURN * high / w[alone[-1]] if len(alone) else 0.0
        most = TURN * low / w[whole[0]] if len(whole) else math.inf
        if len(inside) == 1:
            at = low + float(share[inside[0]]) * (high - low)
            middle, error = TURN * at / w[inside[0]], TURN * float(loose[inside[0]]) * (high - low) / w[inside[0]]
            least, most = max(least, middle - 2 * error), min(most, middle + 2 * error)
        length = nice_length(least, most)
        if length is not None:
            yield low, high, length


def nice_length(least: float, most: float) -> int | None:
    """Return the length in an interval that somebody would have trained on; None if it holds no whole number."""
    if not most >= least or most < 1:
        return None
    usual = [n for n in NICE if least <= n <= most]
    if usual:
        return usual[0] if 4096 not in usual else 4096
    if math.isinf(most):
        return math.ceil(least)
    for unit in (1024, 1000, 512, 256, 100, 64, 10, 1):
        n = math.ceil(max(least, 1) / unit) * unit
        if n <= most:
            return n
    return None
