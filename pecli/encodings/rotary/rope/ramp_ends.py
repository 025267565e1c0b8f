"""Where a ramp of scaled frequencies begins and ends, in a model's own numbers: original length, betas, rotations."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray

from pecli.measures.spectra import LARGEST_LOG, SHORT
from pecli.numbers.shortest import digits, shortest

Floats = NDArray[np.float64]
Ends = tuple[dict[str, str], float]
TURN = 2 * math.pi
NICE = [1 << k for k in range(5, 25)] + [3 << k for k in range(9, 20)] + [5 << k for k in range(9, 18)]
BETAS = ((32.0, 1.0), (64.0, 1.0), (16.0, 1.0), (128.0, 2.0), (32.0, 2.0), (8.0, 1.0), (64.0, 2.0), (4.0, 1.0))


def whole_ends(base: float, low: int, high: int, m: int) -> Iterator[Ends]:
    """Yield original lengths (and betas) whose correction dimensions round outwards to these ends."""
    log = math.log(base)
    turns = partial(_wavelength, log / m)
    for cost, (fast, slow) in enumerate(BETAS):
        least = max(fast * turns(low) if low > 0 else 0.0, slow * turns(high - 1) * (1 + 1e-12))
        most = min(fast * turns(low + 1), slow * turns(high) if high < 2 * m - 1 else math.inf)
        length = nice_length(least, most)
        if length is not None:
            yield lengths(length, fast, slow, {}), float(cost)
    # other betas: a nice length for the slow end, and what the fast end then means
    for slow in (1.0, 2.0):
        length = nice_length(slow * turns(high - 1) * (1 + 1e-12), slow * turns(high))
        if length is not None:
            fast_beta = shortest(length / turns(low + 1) * (1 + 1e-12), length / turns(low) if low > 0 else length)
            if float(fast_beta) > slow:
                yield lengths(length, float(fast_beta), slow, {}), 10.0


def fractional_ends(base: float, ends: tuple[float, float], spread: float, m: int) -> Iterator[Ends]:
    """Yield original lengths and betas for ends that were not rounded."""
    log = math.log(base)
    turns = partial(_wavelength, log / m)
    for fast, slow in BETAS:
        least = max(fast * turns(ends[0] - spread), slow * turns(ends[1] - spread))
        most = min(fast * turns(ends[0] + spread), slow * turns(ends[1] + spread))
        length = nice_length(least, most)
        if length is not None:
            yield lengths(length, fast, slow, {"truncate": "false"}), 1.0
    for slow in (1.0, 2.0):
        length = nice_length(slow * turns(ends[1] - spread), slow * turns(ends[1] + spread))
        if length is None:
            continue
        beta = shortest(length / turns(ends[0] + spread), length / turns(ends[0] - spread))
        if digits(beta) <= SHORT and float(beta) > slow:
            yield lengths(length, float(beta), slow, {"truncate": "false"}), digits(beta) + 1.0


def _wavelength(slope: float, index: float) -> float:
    """Return the positions that a turn of a plain pair takes, at a fractional index."""
    return TURN * math.exp(min(index * slope, LARGEST_LOG))


def lengths(length: int, fast: float, slow: float, more: dict[str, str]) -> dict[str, str]:
    """Return the parameters of an original length and its betas, defaults left out."""
    keys = {"original-max": str(length), **more}
    if fast != 32:
        keys["beta-fast"] = f"{fast:g}"
    if slow != 1:
        keys["beta-slow"] = f"{slow:g}"
    return keys


def nice_length(least: float, most: float) -> int | None:
    """Return the length in an interval that somebody would have trained on; None if it holds no whole number."""
    if not most >= least or most < 1:
        return None
    usual = [n for n in NICE if least <= n <= most]
    if usual:
        return usual[0] if 4096 not in usual else 4096
    if math.isinf(most):
        return math.ceil(least)
    for unit in (1024, 1000, 512, 256, 100, 64, 10, 1):
        n = math.ceil(max(least, 1) / unit) * unit
        if n <= most:
            return n
    return None


def rotation_ends(
    w: Floats, share: Floats, loose: Floats, inside: NDArray[np.intp], alone: NDArray[np.intp], whole: NDArray[np.intp]
) -> Iterator[tuple[float, float, int]]:
    """Yield rotations at the slow and the fast end, and the length they count in."""
    if len(inside) >= 2:
        slope, start = (float(v) for v in np.polyfit(w[inside], share[inside], 1))
        if slope <= 0:
            return
        foot, top = -start / slope, (1 - start) / slope  # frequencies at which the ramp begins and ends
        if foot <= 0:
            return
        spread = max(3 * float(loose[inside].max()) / slope, 1e-12)
        for low in (1.0, 2.0):
            length = nice_length(TURN * low / (foot + spread), TURN * low / max(foot - spread, foot / 2))
            if length is None:
                continue
            high = float(shortest(length * (top - spread) / TURN, length * (top + spread) / TURN))
            if high > low:
                yield low, high, length
        return
    yield from _usual_ends(w, share, loose, inside, alone, whole)


def _usual_ends(
    w: Floats, share: Floats, loose: Floats, inside: NDArray[np.intp], alone: NDArray[np.intp], whole: NDArray[np.intp]
) -> Iterator[tuple[float, float, int]]:
    """Yield the usual rotations where no two pairs are on the ramp: any that leave the right pairs alone."""
    for low, high in ((1.0, 4.0), (1.0, 32.0)):
        least = TURN * high / w[alone[-1]] if len(alone) else 0.0
        most = TURN * low / w[whole[0]] if len(whole) else math.inf
        if len(inside) == 1:
            at = low + float(share[inside[0]]) * (high - low)
            middle, error = TURN * at / w[inside[0]], TURN * float(loose[inside[0]]) * (high - low) / w[inside[0]]
            least, most = max(least, middle - 2 * error), min(most, middle + 2 * error)
        length = nice_length(least, most)
        if length is not None:
            yield low, high, length
