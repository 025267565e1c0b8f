"""RetNet's decay of each head by itself."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pecli.spec.profiles import Candidate, Profile

MIN_DISTANCES = 4
MAX_PLACES = 4096
"""Distances that are compared; more cost time."""
ALONE = "the decay says nothing of the width and the base of the rotations"


def identify(profile: Profile) -> Iterator[Candidate]:
    """Yield gamma_h^(i - j) and its logarithm, by distance or for each query and key."""
    values, at = profile.seen
    earlier = at <= 0
    if profile.by != "distance" or earlier.sum() < MIN_DISTANCES or profile.form == "distance" or profile.integral:
        return
    places = np.flatnonzero(earlier)
    places = places[:: 1 + len(places) // MAX_PLACES]
    values = values[:, places]
    gamma = np.log1p(-(2.0 ** (-5.0 - np.arange(profile.heads))))[:, None] * -at[places]
    for apply, made in (("multiply", np.exp(gamma)), ("log", gamma)):
        if (np.abs(values - made) <= 2.0**-7 * np.abs(made)).mean() > 0.75:
            form = "distance" if profile.form == "past" else "dense"
            keys = {"dim": "2", "heads": str(profile.heads), "decay": form, "apply": apply}
            yield Candidate("retnet", keys, profile.table, (ALONE,), ulp=64.0, open=("dim", "base"))
