"""Slopes: of the distance, of the key, or by themselves."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from pecli.declare.encoding import REGISTRY
from pecli.declare.guess import Guess
from pecli.encodings.bias.alibi import SlopeType, alibi_slopes, as_stored
from pecli.measures.computing import spacing
from pecli.measures.evidence import Evidence
from pecli.measures.overlaps import overlap
from pecli.measures.profiles import LOOSE, Profile, proportional
from pecli.measures.samples import RESOLUTION, Floats
from pecli.numbers.shortest import digits, shortest
from pecli.numbers.text import join_list, number_text

POWERS = 2.0**-20  # relative error of a power in float32, of up to nine units
CHOSEN = 4  # digits of an exponent that somebody would choose
KINDS: tuple[SlopeType, ...] = ("exact", "float32", "bfloat16", "float16")


def recognise(evidence: Evidence) -> Iterator[Guess]:
    """Yield biases in proportion to the distance or the key, and slopes."""
    for view in evidence.profile.views if evidence.profile else ():
        if view.by == "slopes":
            yield from _guesses(view.values[:, 0], (view.values, np.ones(1)), view, evidence, "symmetric")
        elif view.by == "distance" and len(view.most[1]) > 1:
            values, distances = view.most
            later = values[:, distances > 0]
            if later.size and not np.nan_to_num(later).any():  # zeros where later keys are hidden
                view = replace(view, causal=True)
                values, distances = values[:, distances <= 0], distances[distances <= 0]
            slopes = proportional(-values, np.abs(distances), evidence.resolution, evidence.slack)
            if slopes is not None:
                yield from _guesses(slopes, (-values, np.abs(distances)), view, evidence, "symmetric")
        elif view.by == "key":
            at = np.arange(view.values.shape[1])
            known = np.isfinite(view.values).mean(axis=0) > 0.5
            for bias, keys in (("key-position", at), ("last-key", at - at[-1])):
                slopes = proportional(view.values[:, known], keys[known], evidence.resolution, evidence.slack)
                if slopes is not None:
                    yield from _guesses(slopes, (view.values[:, known], keys[known]), view, evidence, bias)


def _guesses(
    slopes: Floats, lines: tuple[Floats, NDArray[Any]], view: Profile, evidence: Evidence, bias: str
) -> Iterator[Guess]:
    """Yield the rules that give these slopes, then the slopes one by one; `lines`: values and what they multiply."""
    known = np.isfinite(slopes) & (slopes > 0)
    if 2 * known.sum() <= len(slopes):
        return
    common = {"heads": str(len(slopes)), "bias": bias, **view.mask}
    for rule in REGISTRY["alibi"].parameters["slopes"].choices:
        for kind in KINDS:
            top = _top(slopes, rule, kind, evidence.resolution)
            if top is None:
                continue
            keys = {**common, "slopes": rule, "bias-max": number_text(top)}
            cost = digits(top) + (kind != "exact") + (rule != "frameworks")
            yield Guess("alibi", {**keys, "slope-dtype": kind}, view.table, cost, free=("bias-max",))
            if kind in ("float32", "bfloat16"):
                yield Guess("alibi", {**keys, "arithmetic": kind}, view.table, cost + 1, free=("bias-max",))
    if (view.by == "slopes" and evidence.sample.planes[0].name != "slopes") or not (slopes >= 0).all():
        return  # any row of numbers would do
    for kind in KINDS[:2]:
        given = [
            _slope(v, lines[1], evidence, kind) if s > 0 else Decimal(0) for s, v in zip(slopes, lines[0], strict=True)
        ]
        listed = {**common, "slope-values": join_list(given, "+"), "slope-dtype": kind}
        cost = 30 + sum(map(digits, given)) + (kind != "exact")
        yield Guess("alibi", listed, view.table, cost, listed=True)


def _slope(values: Floats, at: NDArray[Any], evidence: Evidence, kind: SlopeType) -> Decimal:
    """Return the shortest slope that most values of a head allow, stored as this type."""
    told = (at != 0) & np.isfinite(values)
    weights, half = np.abs(at[told]), spacing(values[told], evidence.sample.grain) / 2 + evidence.slack
    low, high, _ = overlap((np.abs(values[told]) - half) / weights, (np.abs(values[told]) + half) / weights)
    loose = 0.0 if kind == "exact" else RESOLUTION[kind] / 2
    return shortest(low * (1 - loose), high * (1 + loose))


def _top(slopes: Floats, rule: str, kind: SlopeType, resolution: float) -> Decimal | None:
    """Return the exponent of the smallest slope, if a rule gives them all, stored as this type."""
    of = cast(Literal["frameworks", "paper"], rule)
    exponents = -np.log2([float(s) for s in alibi_slopes(len(slopes), Decimal(1), of)])
    stored = 0.0 if kind == "exact" else RESOLUTION[kind]
    loose = LOOSE * max(resolution, RESOLUTION["float32"]) + stored
    known = np.flatnonzero(np.isfinite(slopes) & (slopes > 0))
    tops = -np.log2(slopes[known]) / exponents[known]
    at = int(np.argsort(tops, kind="stable")[len(tops) // 2])  # some heads may be spoiled
    spread = loose / math.log(2) / exponents[known[at]]
    top = shortest(tops[at] - spread, tops[at] + spread)
    if top <= 0 or digits(top) > CHOSEN:
        return None
    made = np.array([float(s) for s in as_stored(alibi_slopes(len(slopes), top, of), kind)])
    good = (made > 0) & (np.abs(slopes / made - 1) <= LOOSE * resolution + POWERS)
    return top if good.sum() > len(slopes) / 2 else None
