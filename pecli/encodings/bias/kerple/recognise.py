"""KERPLE's two numbers for each head, fitted to the values by distance."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from pecli.declare.guess import Guess
from pecli.encodings.shared.biases import LOOSE
from pecli.measures.evidence import Evidence
from pecli.measures.profiles import Profile, kernels_of
from pecli.measures.samples import Floats
from pecli.numbers.shortest import digits, near
from pecli.numbers.text import join_list

CHOSEN = 5  # digits of a number that somebody gave; drawn and trained ones have more
FIT = 2.0**-42  # relative error of the numbers themselves, by logarithms in double precision
FITTED = 1e-5  # relative error of a curve through all points that two numbers describe


def recognise(evidence: Evidence) -> Iterator[Guess]:
    """Yield -r1 ln(1 + r2 abs(D)) and -r1 abs(D)^r2, one pair of numbers a head."""
    for profile in kernels_of(evidence.profile):
        values, distances = profile.seen
        moving = distances != 0
        x, y = np.abs(distances[moving]).astype(np.float64), -values[:, moving]
        if len(np.unique(x)) < 3 or (y <= 0).any() or values[:, ~moving].any():
            continue
        for kind, fit in (("power", _power), ("log", _logarithm)):
            pairs = [fit(x, row) for row in y]
            found = [pair for pair in pairs if pair is not None]
            if len(found) == len(pairs):
                yield _guess(kind, found, profile, evidence.resolution)


def _guess(kind: str, pairs: list[tuple[float, float]], profile: Profile, resolution: float) -> Guess:
    loose = max(LOOSE * resolution, FIT)
    first, second = [near(a, loose) for a, _ in pairs], [near(b, 4 * loose) for _, b in pairs]
    short = max(map(digits, [*first, *second])) <= CHOSEN
    if not short:  # drawn or trained: the nearest numbers, not the shortest
        first, second = ([near(v, 2.0**-40) for v in values] for values in zip(*pairs, strict=True))
    keys = {"heads": str(profile.heads), "kind": kind, "r1": join_list(first, "+"), "r2": join_list(second, "+")}
    cost = 4.0 + sum(map(digits, [*first, *second]))
    return Guess("kerple", {**keys, **profile.mask}, profile.table, cost, free=("r1", "r2"), listed=not short)


def _power(x: Floats, y: Floats) -> tuple[float, float] | None:
    """Fit y = a x^b: a line through the logarithms."""
    exponent, start = (float(v) for v in np.polyfit(np.log(x), np.log(y), 1))
    made = math.exp(start) * x**exponent
    return (math.exp(start), exponent) if (np.abs(made / y - 1) <= FITTED + 2.0**-7).all() else None


def _logarithm(x: Floats, y: Floats) -> tuple[float, float] | None:
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
    return (float(a), float(b)) if (np.abs(a * np.log1p(b * x) / y - 1) <= FITTED + 2.0**-7).all() else None
