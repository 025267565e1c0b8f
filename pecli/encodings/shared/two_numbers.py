"""Curves of two numbers through rounded values: y = a x^b and y = a ln(1 + b x), and which pairs give them all."""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np

from pecli.measures.computing import spacing
from pecli.measures.samples import Floats
from pecli.numbers.shortest import digits, shortest

FITTED = 1e-5 + 2.0**-7  # relative error of a curve through all points that two numbers describe
CLIPS = 128  # values that bound a region
INSIDE = 1e-6  # of half a unit, by which logarithms in double precision may be off
FIRST = 2.0**-6  # logarithm by which a number may be off at first
WIDER = 2.0**-44  # the least that a region is wide: what double precision leaves
PASSES = 3
SEVERAL = 16.0  # half units by which a first fit may be off
BENT = 1e-3  # of b x, below which a curve is a line: y = a b x
BY_CHANCE = 0.05  # share of a unit of the last digit, in a region wider than which some short number lies by chance
Numbers = tuple[Decimal, Decimal, bool]
"""Two numbers, and whether others as short as they are may give the values too."""


def power(x: Floats, y: Floats) -> tuple[float, float] | None:
    """Fit y = a x^b: a line through the logarithms."""
    exponent, start = (float(v) for v in np.polyfit(np.log(x), np.log(y), 1))
    made = math.exp(start) * x**exponent
    return (math.exp(start), exponent) if (np.abs(made / y - 1) <= FITTED).all() else None


def logarithm(x: Floats, y: Floats) -> tuple[float, float] | None:
    """Fit y = a ln(1 + b x): the ratio of two values decides b, by bisection; then all values by Newton's method."""
    low_i, high_i = int(x.argmin()), int(x.argmax())
    ratio = y[high_i] / y[low_i]
    if not 1 < ratio < x[high_i] / x[low_i]:
        return None
    low, high = 1e-9, 1e9
    for _ in range(64):  # halves the logarithm of the interval: beyond the digits of a double
        b = math.sqrt(low * high)
        now = math.log1p(b * x[high_i]) / math.log1p(b * x[low_i])
        low, high = (b, high) if now > ratio else (low, b)
    a = y[high_i] / math.log1p(b * x[high_i])
    for _ in range(8):
        logs = np.log1p(b * x)
        jacobian = np.stack([logs, a * x / (1 + b * x)], axis=1) / y[:, None]
        change, *_ = np.linalg.lstsq(jacobian, (y - a * logs) / y, rcond=None)
        a, b = a + change[0], b + change[1]
        if not (b > 0 and a > 0):
            return None
    return (float(a), float(b)) if (np.abs(a * np.log1p(b * x) / y - 1) <= FITTED).all() else None


def numbers(kind: str, x: Floats, y: Floats, grain: str, slack: float = 0.0) -> Numbers | None:
    """Return the shortest a and b that round to all y; None where no two numbers do.

    Parameters
    ----------
    kind : {"power", "log"}
    x, y : (m,) float64
        Positive.
    grain : str
        The type that the values are rounded to.
    slack : float
        What they may be off by beside that.
    """
    found = allowed(kind, x, y, grain, slack)
    return None if found is None else _shortest(found)


def allowed(kind: str, x: Floats, y: Floats, grain: str, slack: float = 0.0) -> Floats | None:
    """Return the corners of the logarithms of all a and b that round to y, (k, 2); None where no two numbers do."""
    start = (power if kind == "power" else logarithm)(x, y)
    if start is None or (kind == "log" and start[1] * x.max() < BENT):
        return None
    half = spacing(y, grain) / 2 + slack
    centre, region = np.log(start), np.zeros((0, 2))
    first = max(FIRST, float((half / y).min()) * SEVERAL)
    wide = first
    for _ in range(PASSES):  # a line through the curve, and others nearer to it
        a, b = centre
        if kind == "power":
            made, slope = a + np.exp(b) * np.log(x), np.exp(b) * np.log(x)
        else:
            grown = np.exp(b) * x
            made, slope = a + np.log(np.log1p(grown)), grown / (1 + grown) / np.log1p(grown)
        with np.errstate(divide="ignore", invalid="ignore"):
            low, high = np.log(y - half) - made, np.log(y + half) - made
        low, high = np.where(np.isfinite(low), low, -wide), high
        found = _region(np.stack([np.ones_like(x), slope], axis=1), low, high, wide)
        if found is None:
            return None
        middle = found.mean(axis=0)
        centre, region = centre + middle, found - middle
        wide = min(first, max(first / 8, 2 * float(np.abs(region).max())))
    return region + centre


def _shortest(region: Floats) -> Numbers | None:
    """Return the shortest first number of a region, and the shortest second one beside it; None where one is 0."""
    ends = region[:, 0].min() - WIDER, region[:, 0].max() + WIDER
    first = shortest(*np.exp(ends))
    ranges = [ends, beside(region, 0, math.log(float(first)))]
    second = shortest(*np.exp(ranges[1]))
    if not float(first) or not float(second):
        return None
    units = (10.0 ** (n.adjusted() - digits(n) + 1) / float(n) for n in (first, second))
    loose = any(np.ptp(ends) > BY_CHANCE * unit for ends, unit in zip(ranges, units, strict=True))
    return first, second, loose


def beside(region: Floats, axis: int, at: float) -> tuple[float, float]:
    """Return the ends of the other logarithm in a region, (k, 2), where the one of an axis is `at`."""
    ends, other = [], 1 - axis
    for one, two in zip(region, np.roll(region, -1, axis=0), strict=True):
        if min(one[axis], two[axis]) - WIDER <= at <= max(one[axis], two[axis]) + WIDER:
            span = two[axis] - one[axis]
            share = 0.5 if span == 0 else min(1.0, max(0.0, (at - one[axis]) / span))
            ends.append(one[other] + share * (two[other] - one[other]))
    return min(ends) - WIDER, max(ends) + WIDER


def _region(rows: Floats, low: Floats, high: Floats, wide: float) -> Floats | None:
    """Return the corners of what lies between all pairs of parallel lines, (k, 2); None where nothing does."""
    region = wide * np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])
    slack = INSIDE * (high - low) + WIDER
    for _ in range(CLIPS):
        at = region @ rows.T
        over, under = (at - high - slack).max(axis=0), (low - slack - at).max(axis=0)
        worst = int(np.argmax(np.maximum(over, under) / (high - low + slack)))
        if max(over[worst], under[worst]) <= 0:
            return region
        side = 1.0 if over[worst] >= under[worst] else -1.0
        line, bound = side * rows[worst], (high if side > 0 else -low)[worst] + slack[worst]
        region = _cut(region, line, bound)
        if len(region) < 3:
            return None
    return region


def _cut(region: Floats, line: Floats, bound: float) -> Floats:
    """Return what of a region lies where line . p <= bound."""
    rest, found = region @ line - bound, []
    for k in range(len(region)):
        one, two = region[k - 1], region[k]
        if (rest[k - 1] <= 0) != (rest[k] <= 0):
            found.append(one + rest[k - 1] / (rest[k - 1] - rest[k]) * (two - one))
        if rest[k] <= 0:
            found.append(two)
    return np.array(found).reshape(-1, 2)
