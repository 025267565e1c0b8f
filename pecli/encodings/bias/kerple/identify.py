"""KERPLE's two numbers for each head, from the values by distance."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from pecli.declare.profiles import Candidate, Profile
from pecli.encodings.shared.biases import listed
from pecli.encodings.shared.kernel_types import Floats
from pecli.numbers.decimals import digits

MIN_DISTANCES = 6
"""Distances from which two numbers are read."""
MAX_MISFIT = 0.02
"""Relative error of the first estimate at the middle distance; more shows another curve."""


def power(size: Floats, exponent: float) -> Floats:
    """Return -size^exponent."""
    return -np.power(size, exponent)


def logarithm(size: Floats, scale: float) -> Floats:
    """Return -ln(1 + scale size)."""
    return -np.log1p(scale * size)


def identify(profile: Profile) -> Iterator[Candidate]:
    """Yield -r1 ln(1 + r2 abs(D)) and -r1 abs(D)^r2."""
    values, at = profile.seen
    if (
        profile.by != "distance"
        or profile.form == "past"
        or profile.integral
        or np.nan_to_num(values[:, at == 0]).any()
    ):
        return
    before = at < 0
    x, y = -at[before].astype(np.float64)[::-1], -values[:, before][:, ::-1]
    if len(x) < MIN_DISTANCES or not (y[:, [0, len(x) // 2, -1]] > 0).all():
        return
    for kind, shape, first in (("power", power, _exponent), ("log", logarithm, _scale)):
        pairs = []
        for head, row in enumerate(y):
            start = first(x, row)
            pair = profile.curve(shape, start, head) if 0 < start <= 1e6 else None
            if pair is None:
                break
            pairs.append(pair)
        if len(pairs) < len(y):
            continue
        r1, r2 = zip(*pairs, strict=True)
        if kind == "power" and all(exponent in (1, 2) for exponent in r2):
            continue  # ALiBi's and the Gaussian's
        keys = {"heads": str(len(y)), "kind": kind, "r1": listed(r1), "r2": listed(r2), **profile.mask}
        most = max(map(digits, (*r1, *r2)))
        curve = "-r1 ln(1 + r2 abs(D))" if kind == "log" else "-r1 abs(D)^r2"
        said = f"{curve}, r1 {', '.join(f'{v:.4g}' for v in r1[:4])}, r2 {', '.join(f'{v:.4g}' for v in r2[:4])}"
        yield Candidate("kerple", keys, profile.table, (said,) if most > 4 else (), most, ulp=4.0)


def _exponent(x: Floats, y: Floats) -> float:
    return math.log(y[-1] / y[0]) / math.log(x[-1] / x[0])


def _scale(x: Floats, y: Floats) -> float:
    """Return the scale b of a ln(1 + b x) that the first and the last value show, by bisection; 0 for no such curve."""
    ratio = y[-1] / y[0]
    if not 1 < ratio < x[-1] / x[0] * (1 - 1e-9):
        return 0.0
    low, high = 1e-9, 1e9
    for _ in range(100):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if math.log1p(middle * x[-1]) / math.log1p(middle * x[0]) > ratio else (low, middle)
    return low
