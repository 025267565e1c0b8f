"""Widths of Gaussians of the distance."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

import numpy as np

from pecli.encodings.shared.biases import listed
from pecli.numbers.decimals import digits, shortest
from pecli.spec.profiles import Candidate, Floats, Integers, Profile, units


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
        unit = units(row, profile.grain)
        computed = unit * 2 if apply == "log" else unit * (2 - np.log(np.maximum(np.abs(row), 1e-300)))
        width = _width(row, 0.75 * unit, size, apply) or _width(row, computed, size, apply)
        if width is None:
            return
        widths.append(width)
    keys = {"heads": str(len(widths)), "sigma": listed(widths), "apply": apply, **profile.mask}
    most_digits = max(map(digits, widths))
    yield Candidate("gaussian", keys, profile.table, (), most_digits, ulp=8.0 if apply == "log" else 256.0)


def _width(row: Floats, half: Floats, size: Integers, apply: str) -> Decimal | None:
    """Return the shortest width that nearly all values allow, each off by at most `half`."""
    ends = [v if apply == "log" else np.log(v) for v in (row - half, row + half)]
    low, high = (size * np.sqrt(-0.5 / end) for end in ends)
    told = np.isfinite(low) & np.isfinite(high)
    if told.sum() < 2:
        return None
    for spoiled in (0.0, 0.05):
        least, most = np.quantile(low[told], 1 - spoiled), np.quantile(high[told], spoiled)
        if 0 < least <= most:
            return shortest(float(least), float(most))
    return None
