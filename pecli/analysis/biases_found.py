"""Identification of biases: ALiBi by its slopes, kernels of the distance, buckets."""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from pecli.analysis.guesses import Guess
from pecli.analysis.profiles import Profile, profile_of
from pecli.analysis.samples import Floats, Sample
from pecli.analysis.shortest import digits, near, shortest
from pecli.analysis.spectra import text
from pecli.encodings.bias import alibi_slopes
from pecli.text import join_list

WIDTHS = (64, 128, 256, 32, 96, 512, 16, 80, 1024)
LOOSE = 4.0  # roundings by which a value of a kernel may be off


def guesses(sample: Sample) -> Iterator[Guess]:
    """Yield what a bias may be."""
    profile = profile_of(sample)
    if profile is None:
        return
    if profile.by == "slopes":
        yield from _slopes(profile.values[:, 0], profile, sample, "symmetric")
    elif profile.by == "key":
        yield from _by_key(profile, sample)
    elif profile.by == "rows":
        yield from _rows(profile, sample)
    elif profile.by == "distance":
        yield from _by_distance(profile, sample)


def _rows(profile: Profile, sample: Sample) -> Iterator[Guess]:
    """Yield readings of a row a head: values by distance, or by key."""
    width = profile.values.shape[1]
    if width % 2 and width > 2:
        masked = np.where(np.isneginf(profile.values), np.nan, profile.values)
        causal = bool(np.isnan(masked[:, width // 2 + 1 :]).all())
        n = (width + 1) // 2
        yield from _by_distance(Profile("distance", masked, "distance", causal, n, n), sample)
    if width > 1:
        yield from _by_key(Profile("key", profile.values, "row", False, width, 1), sample)


def _table(profile: Profile) -> dict[str, str]:
    found = {"length": str(profile.length)}
    if profile.form in ("distance", "slopes"):
        found["form"] = profile.form
    elif profile.queries != profile.length:
        found["queries"] = str(profile.queries)
    return found


def _by_key(profile: Profile, sample: Sample) -> Iterator[Guess]:
    """Yield BLOOM's m j and MPT's m (j - last)."""
    values, keys = profile.values, np.arange(profile.values.shape[1])
    for bias, at in (("key-position", keys), ("last-key", keys - keys[-1])):
        slopes = _proportional(values, at, sample.resolution)
        if slopes is not None:
            yield from _slopes(slopes, profile, sample, bias)


def _proportional(values: Floats, at: NDArray[np.int64], resolution: float) -> Floats | None:
    """Return the factor of each row if it is one number times `at`."""
    far = int(np.abs(at).argmax())
    if at[far] == 0:
        return None
    slopes = values[:, far] / at[far]
    # the largest values say most, several of them average their roundings
    weights = at.astype(np.float64)
    seen = ~np.isnan(values)
    with np.errstate(invalid="ignore", divide="ignore"):
        slopes = np.where(seen, values * weights, 0).sum(axis=1) / np.where(seen, weights**2, 0).sum(axis=1)
    gap = np.abs(values - slopes[:, None] * at)
    allowed = LOOSE * resolution * np.abs(slopes[:, None] * at) + 1e-300
    return slopes if np.nanmax(gap - allowed) <= 0 and (slopes != 0).any() else None


def _slopes(slopes: Floats, profile: Profile, sample: Sample, bias: str) -> Iterator[Guess]:
    """Yield the rules that give these slopes."""
    heads, resolution = len(slopes), sample.resolution
    if (slopes < 0).any() or not (slopes > 0).any():
        return
    keys: dict[str, str] = {"heads": str(heads)}
    if bias != "symmetric":
        keys["bias"] = bias
    if profile.causal:
        keys["mask"] = "causal"
    table = _table(profile)
    for rule, first in (("frameworks", 1 << (heads.bit_length() - 1)), ("paper", heads)):
        if slopes[0] <= 0:
            break
        top = -first * math.log2(slopes[0])
        spread = first * LOOSE * max(resolution, 2.0**-24) / math.log(2)
        bias_max = shortest(top - spread, top + spread)
        if bias_max <= 0:
            continue
        for kind, loose in (("exact", 2.0**-20), ("float32", 2.0**-20), ("bfloat16", 2.0**-8), ("float16", 2.0**-10)):
            top_kind = near(top, loose + spread / max(top, 1e-9)) if kind in ("bfloat16", "float16") else bias_max
            if top_kind <= 0:
                continue
            exact = np.array([float(s) for s in alibi_slopes(heads, top_kind, rule)])
            if (np.abs(slopes / exact - 1) <= LOOSE * resolution + loose).all():
                own = dict(keys)
                if rule != "frameworks":
                    own["slopes"] = rule
                if top_kind != 8:
                    own["bias-max"] = text(top_kind)
                if kind != "exact":
                    own["slope-dtype"] = kind
                cost = digits(top_kind) + (kind != "exact") + (rule != "frameworks")
                yield Guess("alibi", own, table, cost)
                if bias == "key-position" and kind == "bfloat16":
                    own = {k: v for k, v in own.items() if k != "slope-dtype"}
                    yield Guess("alibi", {**own, "arithmetic": "bfloat16"}, table, cost + 1)
                if kind == "float32":
                    own = {k: v for k, v in own.items() if k != "slope-dtype"}
                    yield Guess("alibi", {**own, "arithmetic": "float32"}, table, cost + 1)
    if profile.by == "slopes" and sample.planes[0].name != "slopes":
        return  # any row of numbers would do
    given = [shortest(s * (1 - resolution), s * (1 + resolution)) if s > 0 else Decimal(0) for s in slopes]
    plain = {**keys, "slope-values": join_list(given, "+")}
    yield Guess("alibi", plain, table, 30 + sum(map(digits, given)), determined=False)


def _by_distance(profile: Profile, sample: Sample) -> Iterator[Guess]:
    values, distances = profile.values, profile.distances
    if profile.causal:
        values, distances = values[:, : len(distances) // 2 + 1], distances[: len(distances) // 2 + 1]
    known = ~np.isnan(values).any(axis=0)
    values, distances = values[:, known], distances[known]
    if len(distances) < 3 or np.ptp(values) == 0:
        return
    slopes = _proportional(-values, np.abs(distances), sample.resolution)
    if slopes is not None:
        yield from _slopes(slopes, profile, sample, "symmetric")
        return
    for finder in (_gaussian, _kerple, _sandwich):
        for guess in finder(values, distances, profile, sample):
            yield guess
    yield from _buckets(values, distances, profile)


def _masked(profile: Profile) -> dict[str, str]:
    return {"mask": "causal"} if profile.causal else {}


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
        sigmas = [shortest(math.sqrt(s * (1 - e)), math.sqrt(s * (1 + e))) for s, e in zip(square, np.broadcast_to(spread, square.shape), strict=True)]
        exact = -(distances[None, :] ** 2) / (2 * np.array([float(s) for s in sigmas])[:, None] ** 2)
        made = np.exp(exact) if apply == "multiply" else exact
        if np.abs(made - values).max() > max(1e-3 * np.abs(values).max(), 1e-6):
            continue
        keys = {"heads": str(profile.heads), "sigma": _list(sigmas), "apply": apply, **_masked(profile)}
        yield Guess("gaussian", keys, _table(profile), 2 + sum(map(digits, sigmas)))


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
    return Guess("kerple", {**keys, **_masked(profile)}, _table(profile), cost, determined=short or profile.length > 8)


def _rounded_pairs(pairs: list[tuple[float, float]], resolution: float) -> tuple[list[Decimal], list[Decimal]]:
    loose = max(2 * resolution, 1e-12)
    if max(digits(near(v, loose)) for pair in pairs for v in pair) > 5:  # drawn or trained: the nearest, not the shortest
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
                yield Guess("sandwich", {**keys, **_masked(profile)}, _table(profile), 4.0)


def _buckets(values: Floats, distances: NDArray[np.int64], profile: Profile) -> Iterator[Guess]:
    """Yield T5's buckets where values are constant in them: the numbers themselves are trained."""
    parts = partition(values)
    for keys in bucket_rules(parts, distances):
        form = "index" if profile.form != "distance" else "distance"
        table = {"length": str(profile.length), "form": form}
        notes = (f"one trained number for each of {profile.heads} heads and bucket: the recipe gives the buckets",)
        yield Guess("t5", keys, table, 6.0, notes=notes, partition=True)


def partition(values: Floats) -> NDArray[np.int64]:
    """Number the runs of equal columns, (m,)."""
    changes = (values[:, 1:] != values[:, :-1]).any(axis=0)
    return np.concatenate([[0], np.cumsum(changes)]).astype(np.int64)


BUCKETS = (32, 64, 16, 128, 256, 8, 40, 20)
REACHES = (128, 256, 64, 512, 1000, 1024, 20, 32, 100, 2048, 40, 48, 96, 800)


def bucket_rules(parts: NDArray[np.int64], distances: NDArray[np.int64]) -> Iterator[dict[str, str]]:
    """Yield the parameters of T5's buckets whose boundaries are those of a partition of distances."""
    if parts[-1] < 3 or parts[-1] == len(parts) - 1:
        return
    for buckets in BUCKETS:
        for reach in REACHES:
            for both in (True, False):
                made = t5_buckets(distances, buckets, reach, both)
                if made is not None and np.array_equal(made[1:] != made[:-1], parts[1:] != parts[:-1]):
                    keys = {} if buckets == 32 else {"buckets": str(buckets)}
                    keys |= {} if reach == 128 else {"max-distance": str(reach)}
                    yield keys if both else {**keys, "bidirectional": "false"}


def t5_buckets(distances: NDArray[np.int64], buckets: int, reach: int, both: bool) -> NDArray[np.int64] | None:
    """Return T5's buckets of distances key - query; close to a boundary as exact integers decide."""
    side = buckets // 2 if both else buckets
    exact = side // 2
    if exact < 1 or reach <= exact:
        return None
    size = np.abs(distances) if both else np.maximum(-distances, 0)
    with np.errstate(divide="ignore"):
        steps = np.log(np.maximum(size, 1) / exact) / math.log(reach / exact) * (side - exact)
    large = exact + np.floor(steps + 1e-9).astype(np.int64)
    found = np.where(size < exact, size, np.minimum(large, side - 1))
    return found + np.where(distances > 0, side, 0) if both else found
