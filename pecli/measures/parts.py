"""Cosines or sines alone, and vectors of frequencies: what they say of the pairs that they are part of.

A cosine x_k = cos (k w) has x_(k-1) + x_(k+1) = 2 cos(w) x_k, and so has a sine; each column gives its step.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pecli.measures.readings import doublings
from pecli.measures.samples import Floats
from pecli.measures.spectra import Measured

SURE = 0.05  # radians a row above which a column's step can be told from its curvature


@dataclass(frozen=True)
class Lone:
    """One part of rotations whose first row is position 0.

    Attributes
    ----------
    part : {"cos", "sin"}
    layout : str
        Of a rotary table.
    measured : Measured
        The steps of its columns.
    """

    part: str
    layout: str
    measured: Measured


def lone_parts(values: Floats, resolution: float) -> Iterator[Lone]:
    """Yield what an array of cosines, or of sines, may be a part of."""
    rows, width = values.shape
    if rows < 4 or not np.isfinite(values).all() or np.abs(values).max() > 1:
        return
    part = "cos" if (values[0] == 1).all() else "sin" if not values[0].any() else None
    if part is None:
        return
    for layout, left, right in (*doublings(width), ("split", np.s_[:, :], np.s_[:, :])):
        if np.array_equal(values[left], values[right]):
            steps = _steps(values[left], part, resolution)
            if steps is not None:
                yield Lone(part, layout, steps)
            return


def _steps(values: Floats, part: str, resolution: float) -> Measured | None:
    """Return the steps of columns: the fast ones from all rows, the slow ones from the first quarter of a turn."""
    rows, m = values.shape
    inner = values[1:-1]
    with np.errstate(invalid="ignore", divide="ignore"):
        cosine = (inner * (values[:-2] + values[2:])).sum(axis=0) / (2 * (inner**2).sum(axis=0))
        steps = np.arccos(np.clip(cosine, -1, 1))
        errors = 8 * resolution / np.maximum(np.sin(steps), 1e-9) / np.sqrt((inner**2).sum(axis=0))
    quarter = np.arange(1, rows)
    angles = np.arccos(values[1:]) if part == "cos" else np.arcsin(values[1:])
    slopes = np.cos(angles) if part == "sin" else np.sin(angles)
    for i in range(m):
        turn = np.flatnonzero((np.diff(angles[:, i]) <= 0) | (angles[1:, i] > 1.5))
        last = int(turn[0]) if len(turn) else rows - 2
        error = resolution * np.abs(values[last + 1, i]) / max(abs(slopes[last, i]), 1e-12) / quarter[last]
        if steps[i] < SURE or not error > errors[i]:
            steps[i], errors[i] = angles[last, i] / quarter[last], error
    good = np.isfinite(steps) & (steps > 0) & np.isfinite(errors)
    return Measured(steps, 2 * errors + 1e-16, float(m)) if good.all() else None
