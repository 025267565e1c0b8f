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

FAR = 1.2  # radians before a quarter of a turn, up to which an angle is read off its cosine or sine
TELLING = 0.1  # relative error of a step that says something
SURE = 0.05  # radians a row above which a column's step can be told from its curvature


@dataclass(frozen=True)
class Lone:
    """One part of rotations whose first row is position 0.

    Attributes
    ----------
    part : {"cos", "sin"}
    layout : str
        Of a rotary table.
    pairs : int
    measured : Measured
        The steps of its columns, of the fast ones.
    """

    part: str
    layout: str
    pairs: int
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
                yield Lone(part, layout, values[left].shape[1], steps)
            return


def _steps(values: Floats, part: str, resolution: float) -> Measured | None:
    """Return the steps of columns, the fast ones from all rows, the slow ones from their first rise or fall.

    The slowest cosines do not leave 1: the columns before them say enough.
    """
    rows, m = values.shape
    inner = values[1:-1]
    with np.errstate(invalid="ignore", divide="ignore"):
        energy = (inner**2).sum(axis=0)
        cosine = (inner * (values[:-2] + values[2:])).sum(axis=0) / (2 * energy)
        steps = np.arccos(np.clip(cosine, -1, 1))
        errors = 8 * resolution / np.maximum(np.sin(steps), 1e-9) / np.sqrt(energy)
    angles = np.arccos(values[1:]) if part == "cos" else np.arcsin(values[1:])
    slopes = np.abs(np.sin(angles) if part == "cos" else np.cos(angles))
    for i in np.flatnonzero(~(steps >= SURE)):
        far = np.flatnonzero(angles[:, i] > FAR)
        last = (int(far[0]) if len(far) else rows - 1) - 1
        error = resolution * abs(values[last + 1, i]) / max(slopes[last, i], 1e-300) / (last + 1)
        steps[i], errors[i] = angles[last, i] / (last + 1), error
    told = np.isfinite(steps) & (steps > 0) & (errors < TELLING * steps)
    count = m if told.all() else int(told.argmin())
    return Measured(steps[:count], 2 * errors[:count] + 1e-16, float(m)) if count > 1 else None
