"""Where the most of some intervals overlap: what a number may be by most values, each of which allows it a range."""

from __future__ import annotations

import numpy as np

from pecli.measures.samples import Floats


def overlap(lows: Floats, highs: Floats) -> tuple[float, float, int]:
    """Return the ends of what most intervals, (k,), share, and how many do; at least one."""
    places = np.concatenate([lows, highs])
    order = np.argsort(places, kind="stable")  # where one ends as another begins both count
    covered = np.cumsum(np.repeat([1, -1], len(lows))[order])
    at = min(int(covered.argmax()), len(order) - 2)  # intervals that end before they begin share nothing
    return float(places[order[at]]), float(places[order[at + 1]]), int(covered[at])
