"""How fast each pair of columns turns: angular steps and first phases of many rotations at once.

A pair is a complex number of constant size, z_k = A e^(i (phi + k theta)) in
row k.  theta comes from ever longer lags: a lag of 1 gives it modulo a whole
turn, a lag of L gives L theta, so that each doubling halves the error as long
as the rows stay coherent.  Phases that were rounded to a narrow type scatter,
but over a lag of 1 they telescope; what scatters too much at long lags is left
at the precision it has.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

COHERENT = 0.97  # mean of e^(i error): below it a longer lag no longer tells whole turns apart
TURN = 2 * np.pi
AT_ONCE = 1 << 15  # pairs: their products stay in a core's cache


@dataclass(frozen=True)
class Rhythm:
    """What a table's pairs do from row to row.

    Attributes
    ----------
    steps : (m,) float64
        Angle from one row to the next, in (-pi, pi]; the true one may be whole turns away.
    phases : (m,) float64
        Angle of row 0.
    errors : (m,) float64
        Uncertainty of `steps`, in radians a row.
    scatter : (m,) float64
        Root mean square distance of the rows' angles from the line.
    rows : int
        Rows looked at.
    """

    steps: NDArray[np.float64]
    phases: NDArray[np.float64]
    errors: NDArray[np.float64]
    scatter: NDArray[np.float64]
    rows: int


def measure(turning: NDArray[np.complex128], resolution: float, sizes: NDArray[np.float64] | None = None) -> Rhythm:
    """Return the rhythm of pairs of unit size.

    Parameters
    ----------
    turning : (n, m) complex128
        Rows at equal distance, n at least 2.
    resolution : float
        Relative precision of the values (2^-24 for float32).
    """
    n, m = turning.shape
    back, places, active = turning.conj(), np.arange(m), turning  # of the pairs that are still coherent
    steps, lag = np.angle(_ahead(active, back, 1)), 2
    while lag < n and len(places):
        mean = _ahead(active, back, lag) * np.exp(-1j * lag * steps[places])
        good = np.abs(mean) > COHERENT
        if not good.all():
            places, mean, active, back = places[good], mean[good], active[:, good], back[:, good]
        steps[places] += np.angle(mean) / lag
        lag = lag * 2 if lag * 2 < n or lag == n - 1 else n - 1
    return _line(turning, steps, resolution)


def _ahead(turning: NDArray[np.complex128], back: NDArray[np.complex128], lag: int) -> NDArray[np.complex128]:
    """Return the mean turn of each pair over so many rows; `back` holds the conjugates."""
    total = np.zeros(turning.shape[1], np.complex128)
    rows = max(1, AT_ONCE // max(1, turning.shape[1]))
    for at in range(0, len(turning) - lag, rows):
        end = min(at + rows, len(turning) - lag)
        total += (turning[at + lag : end + lag] * back[at:end]).sum(axis=0)
    return total / (len(turning) - lag)


def _mean(values: NDArray[np.complex128]) -> NDArray[np.complex128]:
    mean: NDArray[np.complex128] = values.mean(axis=0)
    return mean


def _line(turning: NDArray[np.complex128], steps: NDArray[np.float64], resolution: float) -> Rhythm:
    """Refine by least squares where the rows follow a line, and say how well they do."""
    n = len(turning)
    k = np.arange(n, dtype=np.float64)
    left = turning * np.exp(-1j * np.outer(k, steps))
    start = np.angle(_mean(left))
    rest = np.angle(left * np.exp(-1j * start))
    scatter = np.sqrt((rest**2).mean(axis=0))
    follows = scatter < 0.5
    centre = k - k.mean()
    spread = float((centre**2).sum())
    if follows.any() and n > 2:
        slope = (centre @ rest[:, follows]) / spread
        mean = rest[:, follows].mean(axis=0)
        steps = steps.copy()
        steps[follows] += slope
        start[follows] += mean - slope * k.mean()
        rest[:, follows] -= mean + np.outer(centre, slope)
        scatter = np.sqrt((rest**2).mean(axis=0))
    # A value of size 1 is rounded by up to half its resolution; near an axis one part of the pair is
    # small and finer.  The floor keeps a lucky fit of a few rows from looking exact.
    aside = np.abs(start - np.round(start / (np.pi / 2)) * (np.pi / 2))
    floor = resolution * np.minimum(1.0, aside + np.abs(steps) * n)
    floor = np.maximum(floor, 2.0**-52 * (1 + n * np.abs(steps)))  # this calculation's own
    # A slow pair stays on one rounded value for many rows: only so many of its roundings are independent.
    independent = np.clip(n * np.abs(steps) / floor, 1.0, n)
    errors = np.maximum(scatter, floor) / (n * np.sqrt(independent / 12.0))
    return Rhythm(wrap(steps), wrap(start), errors, scatter, n)


def wrap(angles: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return angles in (-pi, pi]."""
    found: NDArray[np.float64] = angles - TURN * np.ceil(angles / TURN - 0.5)
    return found
