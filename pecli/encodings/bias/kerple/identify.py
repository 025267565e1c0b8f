"""KERPLE's two numbers for each head, from the values by distance."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

import numpy as np

from pecli.encodings.shared.biases import listed
from pecli.numbers.decimals import digits
from pecli.spec.profiles import MAX_DIGITS_CHOSEN, Candidate, Profile, logarithm_scale

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
    curve = partial(profile.curve, size)
    power = [curve(lambda x, b: -(x**b), math.log(row[-1] / row[0]) / math.log(n), h) for h, row in enumerate(y)]
    bends = [logarithm_scale(row[0], row[-1], n) for row in y]
    log = [curve(lambda x, b: -np.log1p(b * x), b, h) if b * n > MIN_BEND else None for h, b in enumerate(bends)]
    for kind, found in (("power", power), ("log", log)):
        pairs = [pair for pair in found if pair is not None]
        if len(pairs) < len(found):
            continue
        r1, r2 = zip(*pairs, strict=True)
        if kind == "power" and all(exponent in (1, 2) for exponent in r2):
            continue  # ALiBi's and the Gaussian's
        keys = {"heads": str(len(y)), "kind": kind, "r1": listed(r1), "r2": listed(r2), **profile.mask}
        most = max(map(digits, (*r1, *r2)))
        formula = "-r1 ln(1 + r2 abs(D))" if kind == "log" else "-r1 abs(D)^r2"
        said = f"{formula}, r1 {', '.join(f'{v:.4g}' for v in r1[:4])}, r2 {', '.join(f'{v:.4g}' for v in r2[:4])}"
        notes = (said,) if most > MAX_DIGITS_CHOSEN else ()
        yield Candidate("kerple", keys, profile.table, notes, most, ulp=4.0)
