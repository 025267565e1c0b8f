"""FIRE's scale and threshold from its normalised distances."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from pecli.declare.profiles import Candidate, Profile, units
from pecli.encodings.shared.kernel_types import Floats
from pecli.numbers.decimals import number_text, shortest

MIN_QUERIES = 8
EPSILON = 1e-6
NARROW = {"bfloat16": 9, "float16": 9}
"""Digits that count as fitted where a type of 8 or 11 bits leaves many thresholds."""
PUBLISHED = {"c": "0.1", "threshold": "512"}


def identify(profile: Profile) -> Iterator[Candidate]:
    """Yield the c and the threshold of ln(c abs(D) + 1) / (ln(c threshold + 1) + epsilon), from the first query."""
    if profile.integral or profile.queries != profile.keys or profile.keys < MIN_QUERIES or len(profile.shape) != 2:
        return
    row = profile.read(0, 1)[0]
    off = 2 * float(units(np.ones(1), profile.grain)[0])
    x = np.arange(1.0, len(row))
    if row[0] != 0 or not (np.diff(row) > 0).all() or not np.isfinite(row).all():
        return
    ratio = row[-1] / row[1]
    if not 1 < ratio < x[-1]:
        return
    low, high = 1e-9, 1e9
    for _ in range(100):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if math.log1p(middle * x[-1]) / math.log1p(middle) > ratio else (low, middle)
    usual = _scale(row, x, float(PUBLISHED["c"])) * (math.log1p(51.2) + EPSILON)
    if abs(usual - 1) <= 4 * off:
        yield Candidate("fire", PUBLISHED, {"length": str(profile.keys)}, ulp=8.0)
    for spread in (1e-5, 1e-3, 1e-2, 3e-2):
        c = shortest(low * (1 - spread), low * (1 + spread))
        scale = _scale(row, x, float(c))
        threshold = [math.expm1(1 / (scale * (1 + side * off)) - EPSILON) / float(c) for side in (1, -1)]
        keys = {"c": number_text(c), "threshold": number_text(shortest(*threshold))}
        yield Candidate("fire", keys, {"length": str(profile.keys)}, fitted=NARROW.get(profile.grain, 2), ulp=8.0)


def _scale(row: Floats, x: Floats, c: float) -> float:
    return float(np.median(row[1:] / np.log1p(c * x)))
