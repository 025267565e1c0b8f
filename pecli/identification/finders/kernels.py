"""Identification of biases that are a kernel of the distance: Gaussian, KERPLE, Sandwich."""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from pecli.identification.finders.guesses import Guess
from pecli.measures.profiles import Profile
from pecli.measures.samples import Floats, Sample
from pecli.measures.spectra import text
from pecli.numbers.shortest import digits, near, shortest
from pecli.numbers.text import join_list

WIDTHS = (64, 128, 256, 32, 96, 512, 16, 80, 1024)
LOOSE = 4.0  # roundings by which a value of a kernel may be off
SHORT = 5  # digits of a number that somebody gave


def guesses(values: Floats, distances: NDArray[np.int64], profile: Profile, sample: Sample) -> Iterator[Guess]:
    """Yield the kernels that give these values, (heads, m), at these distances."""
    for finder in (_gaussian, _kerple, _sandwich):
        yield from finder(values, distances, profile, sample)


def masked(profile: Profile) -> dict[str, str]:
    """Return the parameter of the mask."""
    return {"mask": "causal"} if profile.causal else {}


def table_of(profile: Profile) -> dict[str, str]:
    """Return the table's keys: length, form, queries."""
    found = {"length": str(profile.length)}
    if profile.form in ("distance", "slopes"):
        found["form"] = profile.form
    elif profile.queries != profile.length:
        found["queries"] = str(profile.queries)
    return found


def _gaussian(values: Floats, distances: NDArray[np.int64], profile: Profile, sample: Sample) -> Iterator[Guess]:
    """Yield weights or biases whose logarithm falls with the square of the distance."""
    at = np.abs(distances) == 1
    if not at.any():
        return
    one = values[:, at][:, 0]
    for apply, logs in (("multiply", np.log(np.maximum(one, 1e-300))), ("log", one)):
        if (logs >= 0).any():
            continue
        square = -0.5 / logs
        spread = LOOSE * sample.resolution * (1 / np.abs(logs) if apply == "multiply" else 1)
        spreads = np.broadcast_to(spread, square.shape)
        sigmas = [_root(v, e) for v, e in zip(square, spreads, strict=True)]
        exact = -(distances[None, :] ** 2) / (2 * np.array([float(s) for s in sigmas])[:, None] ** 2)
        made = np.exp(exact) if apply == "multiply" else exact
        if np.abs(made - values).max() > max(1e-3 * np.abs(values).max(), 1e-6):
            continue
        keys = {"heads": str(profile.heads), "sigma": _list(sigmas), "apply": apply, **masked(profile)}
        yield Guess("gaussian", keys, table_of(profile), 2 + sum(map(digits, sigmas)))


def _root(square: float, spread: float) -> Decimal:
    return shortest(math.sqrt(square * (1 - spread)), math.sqrt(square * (1 + spread)))


def _list(items: list[Decimal]) -> str:
    return text(items[0]) if len(set(items)) == 1 else join_list(items, "+")


def _kerple(values: Floats, distances: NDArray[np.int64], profile: Profile, sample: Sample) -> Iterator[Guess]:
    """Yield -r1 ln(1 + r2 abs(D)) and -r1 abs(D)^r2, one pair of numbers a head."""
    sizes = np.abs(distances).astype(np.float64)
    moving = sizes > 0
    x, y = sizes[moving], -values[:, moving]
    if (y <= 0).any() or len(x) < 4 or np.abs(values[:, ~moving]).max(initial=0) > 0:
        return
    power = [np.polyfit(np.log(x), np.log(row), 1) for row in y]
    made = np.array([np.exp(p[1]) * x ** p[0] for p in power])
    if (np.abs(made / y - 1) <= 1e-4 + 4 * sample.resolution).all():
        first, second = _rounded_pairs([(math.exp(p[1]), float(p[0])) for p in power], sample.resolution)
        yield _kernel("power", first, second, profile)
    fits = [_logarithm(x, row) for row in y]
    if all(fit is not None for fit in fits):
        pairs = [fit for fit in fits if fit is not None]
        made = np.array([a * np.log1p(b * x) for a, b in pairs])
        if (np.abs(made / y - 1) <= 1e-5 + 4 * sample.resolution).all():
            first, second = _rounded_pairs(pairs, sample.resolution)
            yield _kernel("log", first, second, profile)


def _kernel(kind: str, first: list[Decimal], second: list[Decimal], profile: Profile) -> Guess:
    keys = {"heads": str(profile.heads), "kind": kind, "r1": join_list(first, "+"), "r2": join_list(second, "+")}
    short = max(map(digits, [*first, *second])) <= 5
    cost = 4.0 + sum(map(digits, [*first, *second]))
    return Guess("kerple", {**keys, **masked(profile)}, table_of(profile), cost, determined=short or profile.length > 8)


def _rounded_pairs(pairs: list[tuple[float, float]], resolution: float) -> tuple[list[Decimal], list[Decimal]]:
    loose = max(2 * resolution, 1e-12)
    if (
        max(digits(near(v, loose)) for pair in pairs for v in pair) > 5
    ):  # drawn or trained: the nearest, not the shortest
        loose = resolution / 64
    return [near(a, loose) for a, _ in pairs], [near(b, loose) for _, b in pairs]


def _logarithm(x: Floats, y: Floats) -> tuple[float, float] | None:
    """Fit y = a ln(1 + b x): the ratio of two values decides b, by bisection; then all values by Newton's method."""
    low_i, high_i = int(x.argmin()), int(x.argmax())
    ratio = y[high_i] / y[low_i]
    if not 1 < ratio < x[high_i] / x[low_i]:
        return None
    low, high = 1e-9, 1e9
    for _ in range(200):
        b = math.sqrt(low * high)
        now = math.log1p(b * x[high_i]) / math.log1p(b * x[low_i])
        low, high = (b, high) if now > ratio else (low, b)
    a = y[high_i] / math.log1p(b * x[high_i])
    for _ in range(20):
        logs = np.log1p(b * x)
        jacobian = np.stack([logs, a * x / (1 + b * x)], axis=1) / y[:, None]
        change, *_ = np.linalg.lstsq(jacobian, (y - a * logs) / y, rcond=None)
        a, b = a + change[0], b + change[1]
        if b <= 0 or a <= 0:
            return None
    return float(a), float(b)


def _sandwich(values: Floats, distances: NDArray[np.int64], profile: Profile, sample: Sample) -> Iterator[Guess]:
    """Yield the sum of cosines over the usual widths and bases; heads differ by 8h/H alone."""
    heads = profile.heads
    last = values[-1] * 8.0  # of the last head: the sum itself
    for base in (10000.0, 500000.0, 1e6, 1000.0):
        for width in WIDTHS:
            w = base ** (-2 * np.arange(1, width // 2 + 1) / width)
            made = np.cos(np.outer(distances, w)).sum(axis=1) - width // 2
            if np.abs(made - last).max() <= 1e-3 * max(1.0, np.abs(made).max()) + 32 * sample.resolution * width:
                keys = {"heads": str(heads), "width": str(width), **({} if base == 1e4 else {"base": f"{base:g}"})}
                yield Guess("sandwich", {**keys, **masked(profile)}, table_of(profile), 4.0)
