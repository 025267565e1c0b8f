"""Widths of Gaussians of the distance."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pecli.declare.profiles import Candidate, Profile, units
from pecli.encodings.shared.biases import listed
from pecli.numbers.shortest import digits, shortest


def identify(profile: Profile) -> Iterator[Candidate]:
    """Yield weights exp(-D^2 / (2 sigma^2)) and biases -D^2 / (2 sigma^2)."""
    values, at = profile.seen
    if profile.by != "distance" or profile.form == "past" or (at != 0).sum() < 2:
        return
    middle = np.unique(values[:, at == 0])
    if middle.tolist() not in ([0.0], [1.0]):
        return
    apply = "log" if middle[0] == 0 else "multiply"
    columns = (at < 0) if (at < 0).any() else at > 0
    size, widths = np.abs(at[columns]), []
    for row in values[:, columns]:
        half = units(row, profile.grain) * (2.0 if profile.grain == "float64" else 0.75)
        ends = [v if apply == "log" else np.log(v) for v in (row - half, row + half)]
        low, high = (size * np.sqrt(-0.5 / end) for end in ends)
        told = np.isfinite(low) & np.isfinite(high)
        if told.sum() < 2:
            return
        least, most = np.quantile(low[told], 0.95), np.quantile(high[told], 0.05)
        whole = low[told].max(), high[told].min()
        least, most = whole if whole[0] <= whole[1] else (least, most)
        if not 0 < least <= most:
            return
        widths.append(shortest(least, most))
    keys = {"heads": str(len(widths)), "sigma": listed(widths), "apply": apply, **profile.mask}
    most_digits = max(map(digits, widths))
    yield Candidate("gaussian", keys, profile.table, (), most_digits, ulp=8.0 if apply == "log" else 256.0)
