"""Statistics of values that no formula gives: what they were drawn from, as far as they tell."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from pecli.measures.samples import Floats, Sample

HUGE = 1e150  # a number that stands for another thing
LEAST = 400  # values that tell a distribution
POINTS = 512  # quantiles that are compared
CRITICAL = 1.2  # times 1/sqrt(n): distance of distribution functions that one sample in ten thousand exceeds
# Lilliefors' limit is 1.03 at one in a hundred where mean and deviation are those of the sample
CENTRED = 2.2  # the same where the two ends alone are those of the sample: Kolmogorov's own limit
BEYOND = 9.2  # values expected farther out than the farthest, which one sample in ten thousand does without
INDEPENDENT = 1.2  # deviation of differences of neighbouring rows over that of rows; sqrt(2) where these are drawn
TRUNCATED = 2.0  # deviations at which frameworks cut a normal distribution


def statistics_of(sample: Sample) -> tuple[str, ...]:
    """Say what the values of a sample are like: distribution, mean and standard deviation, rows of padding."""
    values = np.concatenate([plane.values.reshape(len(plane.values), -1) for plane in sample.planes], axis=1)
    finite = (np.abs(values) < HUGE).all(axis=1)
    blank = finite & ~values.any(axis=1)
    told = values[finite & ~blank].reshape(-1)
    rows = ", ".join(map(str, np.flatnonzero(blank)))
    said = f"row {rows} is all zeros" + ("" if blank[0] and not _jumps(values[finite]) else ", as padding is")
    padding = (said,) if blank.sum() == 1 else ()
    if len(told) < 2 or sample.dtype.startswith(("int", "uint", "bool")) or not np.ptp(told):
        return padding
    mean, deviation = float(told.mean()), float(told.std())
    words = distribution_of(told, mean, deviation) if len(told) >= LEAST else "values"
    used, every = int((finite & ~blank).sum()), max(plane.rows for plane in sample.planes)
    scope = f", measured on {used:,} of {every:,} rows" if used < every else ""
    figures = f"mean {mean:.3g}, standard deviation {deviation:.4g}, largest size {np.abs(told).max():.4g}{scope}"
    return f"{words}: {figures}", *padding


def _jumps(values: Floats) -> bool:
    """Whether neighbouring rows are as far apart as any two, which those of a function of the position are not."""
    columns = values[1:, np.ptp(values[1:], axis=0) > 0]
    if len(columns) < 2 or not columns.size:
        return True
    return bool(np.mean(np.diff(columns, axis=0).std(axis=0) / columns.std(axis=0)) > INDEPENDENT)


def distribution_of(values: Floats, mean: float, deviation: float) -> str:
    """Name the distribution whose function is nearest to that of the values; only "values" if none is near."""
    ordered = np.sort(values)
    at = np.linspace(0, len(ordered) - 1, min(POINTS, len(ordered))).astype(int)
    x, share = ordered[at], (at + 0.5) / len(ordered)
    low, high = float(ordered[0]), float(ordered[-1])
    middle, bound = (low + high) / 2, (high - low) / 2
    unit = bound / TRUNCATED
    cut = _normal(-TRUNCATED)
    laws: dict[str, Callable[[float], float]] = {
        "as drawn from a normal distribution": lambda v: _normal((v - mean) / deviation),
        f"as drawn from a truncated normal distribution, of deviation {unit:.3g} cut at {bound:.3g}": lambda v: (
            (_normal((v - middle) / unit) - cut) / (1 - 2 * cut)
        ),
        f"as drawn from a uniform distribution from {low:.4g} to {high:.4g}": lambda v: (v - low) / (high - low),
    }
    if len(values) * 2 * _normal(-bound / deviation) > BEYOND:  # so many, and none is as far out
        del laws["as drawn from a normal distribution"]
    gaps = {words: max(abs(law(float(v)) - s) for v, s in zip(x, share, strict=True)) for words, law in laws.items()}
    words = min(gaps, key=lambda name: gaps[name])
    critical = CRITICAL if "a normal" in words else CENTRED
    return words if gaps[words] * math.sqrt(len(values)) <= critical else "values"


def _normal(z: float) -> float:
    return 0.5 * math.erfc(-z / math.sqrt(2))
