"""The width of the sinusoid whose products Sandwich adds."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from pecli.spec.profiles import Candidate, Profile, units

BASES = (10000.0, 1000.0, 100.0, 500000.0)
MAX_WIDTH = 1026
MAX_DISTANCE = 8
"""Distances that distinguish widths and bases."""


def identify(profile: Profile) -> Iterator[Candidate]:
    """Yield the width whose sum of cosines is the last head's, which is divided by 8."""
    values, at = profile.seen
    near = np.flatnonzero((at < 0) & (at >= -MAX_DISTANCE))
    if profile.by != "distance" or profile.form == "past" or not len(near) or values[:, at == 0].any():
        return
    wanted, size = 8 * values[-1, near], np.abs(at[near])
    for base, width in product(BASES if (wanted < 0).all() else (), range(2, MAX_WIDTH, 2)):
        w = base ** (-2 * np.arange(1, width // 2 + 1) / width)
        loose = 32 * units(values[-1, near], profile.effective_dtype) + width * float(
            units(np.ones(1), profile.effective_dtype)[0]
        )
        if (np.abs(np.cos(np.outer(size, w)).sum(axis=1) - width // 2 - wanted) <= loose).all():
            keys = {"heads": str(profile.heads), "width": str(width), "base": f"{base:.0f}", **profile.mask}
            yield Candidate("sandwich", keys, profile.table, absolute=float(width * profile.heads))
