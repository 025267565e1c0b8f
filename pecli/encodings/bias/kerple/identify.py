"""KERPLE's two numbers for each head, from the values by distance."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from pecli.encodings.shared.biases import listed
from pecli.numbers.decimals import digits
from pecli.spec.profiles import MAX_DIGITS_CHOSEN, Candidate, Floats, Profile, logarithm_scale

MIN_DISTANCES = 6
"""Distances from which two numbers are read."""
MIN_BEND = 0.01
"""Scale times the largest distance from which a logarithm is no line."""


def identify(profile: Profile) -> Iterator[Candidate]:
    """Yield -r1 ln(1 + r2 abs(D)) and -r1 abs(D)^r2."""
    values, at = profile.seen
    if profile.by != "distance" or profile.form == "past" or profile.integral or values[:, at == 0].any():
        return
    size, y = np.abs(at).astype(np.float64), -values[:, at < 0][:, ::-1]
    n = y.shape[1]
    if n < MIN_DISTANCES or not (y[:, [0, -1]] > 0).all() or (np.diff(at) != 1).any():
        return
    power = [math.log(row[-1] / row[0]) / math.log(n) for row in y]
    bends = [logarithm_scale(row[0], row[-1], n) for row in y]
    kinds: dict[str, tuple[list[float], Callable[[Floats, float], Floats], str]] = {
        "power": (power, lambda x, b: -(x**b), "-r1 abs(D)^r2"),
        "log": ([b * (b * n > MIN_BEND) for b in bends], lambda x, b: -np.log1p(b * x), "-r1 ln(1 + r2 abs(D))"),
    }
    for kind, (starts, curve, formula) in kinds.items():
        pairs = [pair for h, start in enumerate(starts) if (pair := profile.curve(size, curve, start, h)) is not None]
        if len(pairs) < len(y):
            continue
        r1, r2 = zip(*pairs, strict=True)
        if kind == "power" and all(exponent in (1, 2) for exponent in r2):
            continue  # ALiBi's and the Gaussian's
        keys = {"heads": str(len(y)), "kind": kind, "r1": listed(r1), "r2": listed(r2), **profile.mask}
        most = max(map(digits, (*r1, *r2)))
        text = f"{formula}, r1 {', '.join(f'{v:.4g}' for v in r1[:4])}, r2 {', '.join(f'{v:.4g}' for v in r2[:4])}"
        yield Candidate("kerple", keys, profile.table, (text,) * (most > MAX_DIGITS_CHOSEN), most, ulp=4.0)
