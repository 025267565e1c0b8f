"""FIRE's scale and threshold from its normalised distances."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from pecli.numbers.decimals import number_text, shortest
from pecli.spec.profiles import Candidate, Profile, logarithm_scale, units

MIN_QUERIES = 8
EPSILON = 1e-6
MAX_FITTED = 2
"""Digits that the scale and the threshold are said to have: of narrow types many thresholds are possible."""
SPREADS = (1e-5, 1e-3, 1e-2)
"""Relative errors of the scale that is read off two values."""


def identify(profile: Profile) -> Iterator[Candidate]:
    """Yield the c and the threshold of ln(c abs(D) + 1) / (ln(c threshold + 1) + epsilon)."""
    n = profile.keys
    if profile.integral or profile.shape != (n, n) or n < MIN_QUERIES:
        return
    row, second = profile.read(n - 1, n)[0][::-1], float(profile.read(1, 2)[0, 0])
    if row[0] != 0 or not (np.diff(row) > 0).all() or not np.isfinite(row).all() or not second > 0:
        return
    table, keys = {"length": str(n)}, {"mask": "causal"} if np.isneginf(profile.read(0, 1)[0, -1]) else {}
    yield Candidate("fire", keys, table, ulp=8.0)
    off, low = 8 * float(units(np.ones(1), profile.grain)[0]), logarithm_scale(row[1], row[-1], n - 1)
    for spread in SPREADS if low else ():
        chosen = shortest(low * (1 - spread), low * (1 + spread))
        c = float(chosen)
        scale = math.log1p(c) / second
        ends = [math.expm1(min(700.0, scale * (1 + side * off) - EPSILON)) / c for side in (-1, 1)]
        if 0 < ends[0] < ends[1]:
            given = {"c": number_text(chosen), "threshold": number_text(shortest(*ends))}
            yield Candidate("fire", keys | given, table, fitted=MAX_FITTED, ulp=8.0)
