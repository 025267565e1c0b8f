"""Widths of Gaussians of the distance."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pecli.encodings.shared.biases import listed
from pecli.numbers.decimals import digits
from pecli.spec.profiles import Candidate, Profile, shortest_within, units


def identify(profile: Profile) -> Iterator[Candidate]:
    """Yield weights exp(-D^2 / (2 sigma^2)) and biases -D^2 / (2 sigma^2)."""
    values, at = profile.seen
    if profile.by != "distance" or profile.form == "past":
        return
    for middle, apply in ((0.0, "log"), (1.0, "multiply")):
        if not (values[:, at == 0] == middle).all() or not (at == 0).any():
            continue
        for ulp in (0.75, 2.0):  # rounded once, or computed in the type itself
            off, size = ulp * units(values, profile.effective_dtype), np.abs(at)
            if apply == "multiply" and ulp > 1:
                off *= 1 - np.log(np.maximum(np.abs(values), 1e-300)) / 2  # of an exponential's argument
            ends = [v if apply == "log" else np.log(v) for v in (values - off, values + off)]
            low, high = (np.where(at == 0, np.nan, size * np.sqrt(-0.5 / end)) for end in ends)
            widths = [width for row in zip(low, high, strict=True) if (width := shortest_within(*row)) is not None]
            if len(widths) == profile.heads:
                keys = {"heads": str(len(widths)), "sigma": listed(widths), "apply": apply, **profile.mask}
                fitted = max(map(digits, widths))
                yield Candidate("gaussian", keys, profile.table, (), fitted, ulp=8.0 if apply == "log" else 256.0)
                return
