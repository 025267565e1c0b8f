"""Columns that rise evenly, as angles do that were not reduced: how far each a row, and where all of them are zero.

Every number is the median of many, so that rows and columns that are spoiled, few of them, move nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pecli.measures.computing import spacing
from pecli.measures.samples import Floats

LEAST_ROWS = 3
LEAST = 2  # columns that rise
MOSTLY = 0.5  # share of the rows of a column that lie on its line, of the columns that have one
LOOSE = 16.0  # units in the last place by which a value may be off its line: frequencies and positions are rounded too
WHOLE = 0.25  # rows by which it may be off to be told
NEAR = 1e-6  # rows by which the place of position 0 is as good as whole
SURE = 4.0  # standard errors by which a position may be off
UNKNOWN = 10.0  # relative error of what does not show


@dataclass(frozen=True)
class Rises:
    """What columns that rise evenly say.

    Attributes
    ----------
    steps, errors : (m,) float64
        Radians a row, and what they may be off by; of the columns before those that rest.
    resting : int
        Columns after them that are zero.
    first : float
        Position 0 lies so many rows before the table's first one.
    sharp : float
        What that may be off by; 0 where it is whole.
    values, units : (n, m) float64
        The columns, and a unit in the last place of each value.
    row : int
        The table's row that is the first one of these.
    """

    steps: Floats
    errors: Floats
    resting: int
    first: float
    sharp: float
    values: Floats
    units: Floats
    row: int

    def start(self, frequencies: Floats, step: float) -> tuple[float, float]:
        """Return the position of the table's row 0 for frequencies in radians a position, and what it may be off by."""
        with np.errstate(all="ignore"):
            found = self.values / frequencies - step * (np.arange(len(self.values)) + self.row)[:, None]
            unit = self.units / frequencies
            weights = np.where(np.abs(found - middle(found.reshape(-1, 1))) <= LOOSE * unit, unit**-2, 0.0)
        total = float(weights.sum())
        about = float((np.nan_to_num(found) * weights).sum()) / total if total > 0 else np.nan
        return about, SURE / np.sqrt(12 * total) if total > 0 else np.nan


def middle(values: Floats) -> Floats:
    """Return the median of the finite values of each column, (m,); NaN where there are none."""
    if not len(values):
        return np.full(values.shape[1], np.nan)
    ordered = np.sort(np.where(np.isfinite(values), values, np.nan), axis=0)
    told = np.isfinite(ordered).sum(axis=0)
    two = np.stack([np.maximum(told - 1, 0) // 2, told // 2 * (told > 0)])
    found: Floats = np.take_along_axis(ordered, np.minimum(two, len(ordered) - 1), axis=0).mean(axis=0)
    return found


def rises_of(values: Floats, grain: str, row: int = 0) -> Rises | None:
    """Return what the columns of values (n, m), of a table from some row on, rise by; None where most do not."""
    n = len(values)
    if n < LEAST_ROWS or values.shape[1] < LEAST:
        return None
    values = np.where(np.isfinite(values), values, np.nan)
    width = values.shape[1]
    turning = len(np.trim_zeros((np.nan_to_num(values) != 0).mean(axis=0) > MOSTLY, "b"))
    if turning < LEAST:
        return None
    values, rows = values[:, :turning], np.arange(n, dtype=np.float64)[:, None]
    half = n // 2
    steps = middle(values[half:] - values[:-half]) / half
    with np.errstate(all="ignore"):
        firsts = middle(values - steps * rows) / steps
        size = middle(np.abs(values))
        unit = spacing(size, grain) / np.abs(steps)  # of a value, in rows
        sharp = float(np.where(steps > 0, SURE * unit, np.inf).min())
        first = float(middle(firsts[steps > 0][:, None])[0])
        if not np.isfinite(first):
            return None
        first = round(first) if sharp < WHOLE and abs(first - round(first)) <= max(sharp, NEAR) else first
        places = rows + first
        far = np.where(np.abs(places) >= np.abs(places).max() / 2, places, np.nan)  # whose steps are the sharpest
        steps = middle(values / far)
        off = np.abs(values - steps * places)
        good = (off <= LOOSE * spacing(values, grain)).mean(axis=0) > MOSTLY
    good &= steps > 0
    if good.mean() <= MOSTLY or good.sum() < LEAST or (steps[good] == steps[good][0]).all():
        return None
    whole, units = first == round(first), spacing(values, grain)
    one, common = middle(units / np.abs(far)), 0.0 if whole else sharp / float(np.fmin.reduce(np.abs(far), axis=None))
    one, every = one + common * steps, np.arange(turning)
    steps = np.where(good, steps, np.exp(np.interp(every, every[good], np.log(steps[good]))))
    errors = np.where(good, one, UNKNOWN * steps)
    return Rises(steps, errors, width - turning, first - row, 0.0 if whole else sharp, values, units, row)
