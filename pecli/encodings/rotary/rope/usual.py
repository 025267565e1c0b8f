"""Scaled frequencies whose numbers are usual ones: every shape is laid under them, and the base that fits is told.

A base that some pairs of one end tell is a little off where the frequencies are rounded, and what is left of it at the
other end looks like another ramp.  Here the ramp is given, and all pairs tell the base.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from pecli.encodings.rotary.rope.ramps import FACTORS, LARGEST_BASE, NICE, TURN, Floats, Slowing
from pecli.measures.spectra import LARGEST_LOG, MISFIT, Measured, Spectrum, steps_near
from pecli.numbers.shortest import shortest

LENGTHS = np.array([n for n in NICE if 1 << 8 <= n <= 1 << 18], np.float64)
"""What models are trained on."""
ROUNDS = 4  # in which a ramp's place and the base are found by turns
TOLD = 0.5  # relative error of a frequency that says something
WIDTHS = (1.0, 3.0)  # errors of the slope within which the base is the shortest number
MOST = 12  # shapes of a table: the nearest
LEAST = 3  # pairs after the first that tell a shape
FLATTEST = 1e-3  # slope of a series that falls at all
MOST_PAIRS = 128  # that tell a shape, spread over all: every pair is then tested
Ratios = Callable[[Floats, Floats, Floats], Floats]
"""Logarithms of bases, (f, s, 1), factors, (f, 1, 1), and pairs, (m,), to what s shapes slow each by, (f, s, m)."""


def usual_spectra(
    measured: Measured,
    shapes: Sequence[dict[str, str]],
    ratios: Ratios,
    tried: Sequence[str] = FACTORS,
    cost: float = 0.0,
) -> Iterator[Spectrum]:
    """Yield a scaling's usual shapes that frequencies follow, each with the base that all pairs tell.

    `shapes` are the keys of each but for factor and base, of so many digits more; `ratios` says how they slow the
    pairs, `tried` by which factors.
    """
    last = int(np.flatnonzero(measured.errors < TOLD)[-1:].sum())
    step, _ = next(iter(steps_near(float(measured.logs[0]), float(measured.errors[0]))), (Fraction(0), 0.0))
    if last < LEAST or step <= 0:
        return
    every = np.arange(len(measured.steps), dtype=np.float64)
    i, logs, errors = (values[_spread(len(every))] for values in (every, measured.logs, measured.errors))
    rest, weights = logs - math.log(float(step)), 1 / errors**2
    factors = np.array([float(f) for f in tried])[:, None, None]
    slopes = (math.log(float(step)) - measured.logs[last] - np.log(factors)) / last + np.zeros((1, len(shapes), 1))
    for _ in range(ROUNDS):
        slopes = np.clip(slopes, FLATTEST, LARGEST_LOG / measured.half)
        made = np.log(ratios(slopes * measured.half, factors, i))
        slopes = ((made - rest) * i * weights).sum(axis=-1, keepdims=True) / (i**2 * weights).sum()
    gaps = (np.abs(rest - made + slopes * i) / errors).max(axis=-1)
    error = float(1 / np.sqrt((i**2 * weights).sum()))
    for near in np.argsort(gaps, axis=None)[:MOST]:
        f, s = np.unravel_index(near, gaps.shape)
        if gaps[f, s] <= MISFIT:
            none = Slowing(Decimal(1), step, measured.steps, np.ones(len(every)), measured.errors, Decimal(tried[f]))
            for base, log in _bases(float(slopes[f, s, 0]), error, measured.half):
                ratio = ratios(np.full((1, 1, 1), log), factors[f : f + 1], every)[0, s]
                slowing = replace(none, base=base, plain=np.exp(-every / measured.half * log))
                yield from slowing.tested(measured, ratio, shapes[s], cost)


def _spread(m: int) -> NDArray[np.intp]:
    """Return which of m pairs tell a shape."""
    return np.unique(np.linspace(0, m - 1, min(m, MOST_PAIRS)).round().astype(np.intp))


def usual_by_rotations(half: float, low: float, high: float) -> Ratios:
    """Return how ramps between two numbers of rotations within usual lengths slow pairs of `half`."""

    def ratios(logs: Floats, factors: Floats, pairs: Floats) -> Floats:
        turns = LENGTHS[:, None] / TURN * np.exp(-pairs / half * logs)
        ramp = np.clip((turns - low) / (high - low), 0, 1)
        return np.asarray(ramp + (1 - ramp) / factors)

    return ratios


def _bases(slope: float, error: float, half: float) -> Iterator[tuple[Decimal, float]]:
    """Yield short bases near a slope, and their logarithms."""
    seen = set()
    for width in WIDTHS:
        base = shortest(*(math.exp(min((slope + side * width * error) * half, LARGEST_LOG)) for side in (-1, 1)))
        if base not in seen and 1 < base <= LARGEST_BASE:
            seen.add(base)
            yield base, math.log(float(base))
