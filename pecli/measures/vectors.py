"""Vectors of frequencies, as a module keeps them: falling numbers from 1, of which few may be spoiled."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from pecli.measures.computing import spacing
from pecli.measures.samples import Floats
from pecli.measures.spectra import SAFETY, Measured

TELLING = 64.0  # half units: a smaller number has too few digits to say anything
UNKNOWN = 10.0  # relative error of what does not show
LEAST = 4  # frequencies that a vector of them shows
SPOILED = 16  # of so many numbers one may be spoiled, beside the first


def falling(values: Floats, grain: str) -> Iterator[tuple[Measured, bool]]:
    """Yield what numbers, (m,), say as frequencies: all of them, then without those that lie farthest from the others.

    And whether some were left out; nothing where the others do not fall.  Zeros at the end are of pairs that rest, or
    too small for a narrow type.
    """
    yield from _falling(values, grain, len(values))
    turning = len(np.trim_zeros(values, "b"))
    if turning < len(values):
        yield from _falling(values[:turning], grain, len(values))


def once(values: Floats) -> tuple[Floats, tuple[str, ...]]:
    """Return a vector (m,) without what stands in it twice, and what is to be said of that."""
    values = values.reshape(-1)
    half = len(values) // 2
    if half >= LEAST and len(values) == 2 * half:
        if np.array_equal(values[:half], values[half:], equal_nan=True):
            return values[:half], ("they stand there twice, in two halves",)
        if np.array_equal(values[0::2], values[1::2], equal_nan=True):
            return values[0::2], ("each stands there twice in turn",)
    return values, ()


def _falling(values: Floats, grain: str, pairs: int) -> Iterator[tuple[Measured, bool]]:
    good = np.isfinite(values) & (values >= 0) & (values <= 1)
    for _ in range(len(values) // SPOILED + 2):
        if good.sum() < max(LEAST, len(values) - len(values) // SPOILED - 1):
            return
        found = _measured(values, good, grain, pairs)
        if found is not None:
            yield found, not good.all()
        good = good.copy()
        good[_farthest(values, good)] = False


def _measured(values: Floats, good: NDArray[np.bool_], grain: str, pairs: int) -> Measured | None:
    at = np.flatnonzero(good)
    steps = values[at]
    half = spacing(steps, grain) / 2 / SAFETY  # a bound, where measured steps have a deviation
    told = int((steps > TELLING * half).sum())  # a narrow type has nothing for the slowest
    if told < LEAST or (np.diff(steps[:told]) >= 0).any() or (np.diff(steps) > 0).any():
        return None
    every = np.arange(len(values))
    slope = (np.log(steps[told - 1]) - np.log(steps[told - 2])) / (at[told - 1] - at[told - 2])
    beyond = np.maximum(every - at[told - 1], 0) * slope
    full = np.exp(np.interp(every, at[:told], np.log(steps[:told])) + beyond)
    errors = UNKNOWN * full
    errors[at[:told]], full[at[:told]] = half[:told], steps[:told]
    return Measured(full, errors, float(pairs))


def _farthest(values: Floats, good: NDArray[np.bool_]) -> int:
    """Return which of the good numbers lies farthest from what its neighbours have between them."""
    at = np.flatnonzero(good)
    logs = np.log(np.maximum(values[at], np.finfo(np.float64).tiny))
    before, after = np.arange(len(at)) - 1, np.arange(len(at)) + 1
    before[0], after[0], before[-1], after[-1] = 1, 2, len(at) - 2, len(at) - 3  # the ends from two on one side
    share = (at - at[before]) / (at[after] - at[before])
    return int(at[np.abs(logs - logs[before] - share * (logs[after] - logs[before])).argmax()])
