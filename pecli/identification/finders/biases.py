"""Identification of biases: ALiBi by its slopes; what else depends on the distance is handed on."""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import Decimal
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pecli.encodings.bias.alibi import alibi_slopes
from pecli.identification.finders import buckets, kernels
from pecli.identification.finders.guesses import Guess
from pecli.identification.finders.kernels import table_of
from pecli.measures.profiles import Profile, profile_of
from pecli.measures.samples import Floats, Sample
from pecli.measures.spectra import text
from pecli.numbers.shortest import digits, shortest
from pecli.numbers.text import join_list

LOOSE = 4.0  # roundings by which a product of slope and distance may be off


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
    table = table_of(profile)
    rules: tuple[tuple[Literal["frameworks", "paper"], int], ...] = (
        ("frameworks", 1 << (heads.bit_length() - 1)), ("paper", heads),
    )  # fmt: skip
    for rule, first in rules:
        if slopes[0] <= 0:
            break
        top = -first * math.log2(slopes[0])
        spread = first * LOOSE * max(resolution, 2.0**-24) / math.log(2)
        bias_max = shortest(top - spread, top + spread)
        if bias_max <= 0:
            continue
        for kind, loose in (("exact", 2.0**-20), ("float32", 2.0**-20), ("bfloat16", 2.0**-8), ("float16", 2.0**-10)):
            top_kind = (
                shortest(top - first * loose / math.log(2) - spread, top + first * loose / math.log(2) + spread)
                if kind in ("bfloat16", "float16")
                else bias_max
            )
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
                known = heads > 3 or digits(top_kind) <= 3  # a slope or two fit many an exponent
                yield Guess("alibi", own, table, cost, determined=known)
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
    yield from kernels.guesses(values, distances, profile, sample)
    yield from buckets.guesses(values, distances, profile)
