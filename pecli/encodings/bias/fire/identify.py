"""FIRE's scale and threshold from its normalised distances."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from pecli.numbers.decimals import number_text, shortest
from pecli.spec.profiles import Candidate, Floats, Profile, logarithm_scale, units

MIN_QUERIES = 8
EPSILON = 1e-6
MAX_FITTED = 2
"""Fitted digits that the scale and the threshold count as: of narrow types many thresholds are possible."""
SPREADS = (1e-5, 1e-3, 1e-2)
"""Relative errors of the scale that is read off two values."""


def identify(profile: Profile) -> Iterator[Candidate]:
    """Yield the c and the threshold of ln(c abs(D) + 1) / (ln(c threshold + 1) + epsilon)."""
    n = profile.keys
    if profile.integral or profile.shape != (n, n) or n < MIN_QUERIES or profile.form != "dense":
        return
    row, second = profile.read(n - 1, n)[0][::-1], float(profile.read(1, 2)[0, 0])
    if row[0] != 0 or not (np.diff(row) > 0).all() or not np.isfinite(row).all() or not second > 0:
        return
    found: dict[tuple[float, float], dict[str, str]] = {(0.1, 512.0): {}}
    off, low = 8 * float(units(np.ones(1), profile.effective_dtype)[0]), logarithm_scale(row[1], row[-1], n - 1)
    for spread in SPREADS if low else ():
        chosen = shortest(low * (1 - spread), low * (1 + spread))
        c = float(chosen)
        scale = math.log1p(c) / second
        ends = [math.expm1(min(700.0, scale * (1 + side * off) - EPSILON)) / c for side in (-1, 1)]
        if 0 < ends[0] < ends[1]:
            threshold = shortest(*ends)
            found[c, float(threshold)] = {"c": number_text(chosen), "threshold": number_text(threshold)}
    causal = bool(np.isneginf(profile.read(0, 1)[0, -1]))
    notes = ("keys after the query hold -inf, a causal mask",) if causal else ()
    for (c, limit), keys in found.items():
        rounded = 1 / math.log1p(c * limit)  # of 1 + c abs(D), which the logarithm of a short distance keeps
        yield Candidate("fire", keys, {"length": str(n)}, notes, MAX_FITTED if keys else 0, ulp=8.0,
                        absolute=rounded, change=_hidden if causal else None)  # fmt: skip


def _hidden(_name: str, values: Floats, first: int) -> Floats:
    """Return some queries' values, the first query's number given, without keys after the query."""
    keys, queries = np.arange(values.shape[1]), first + np.arange(len(values))
    return np.where(keys > queries[:, None], -np.inf, values)
