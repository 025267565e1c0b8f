"""ALiBi's parameters from the slope of each head."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from pecli.declare.profiles import MAX_DIGITS_CHOSEN, Candidate, Profile
from pecli.encodings.bias.alibi import SlopeType, alibi_slopes, as_stored
from pecli.numbers.decimals import digits, join_list, number_text, shortest

Floats = NDArray[np.float64]
PRECISION = {"bfloat16": 2.0**-8, "float16": 2.0**-11, "float32": 2.0**-22, "float64": 2.0**-48}
"""Relative error of a slope that was read off values of a type; float32 as torch's powers leave it."""
MAX_DIGITS = 3
"""Digits of a bias-max that somebody would choose."""
PRODUCT_ULP = 2.0
"""Units in the last place by which a product of a slope and a distance is off, both rounded."""
WHOLE = (8, 16, 32, 12, 24, 40, 48, 56, 64, 71, 80, 96, 112, 128, 4)
"""Numbers of heads that models have, of which a file may hold a part."""
KINDS: tuple[tuple[str, str], ...] = (
    ("", "exact"), ("arithmetic", "float32"), ("arithmetic", "bfloat16"), ("slope-dtype", "bfloat16"),
    ("slope-dtype", "float16"), ("slope-dtype", "float32"),
)  # fmt: skip


def identify(profile: Profile) -> Iterator[Candidate]:
    """Yield biases in proportion to the distance or the key, and slopes by themselves."""
    for bias, slopes, mask, notes in _slopes(profile):
        keys = {"heads": str(len(slopes)), "bias": bias, **mask}
        found = False
        for grain, words in ((own, rule) for own in _grains(profile.grain) for rule in _rules(slopes, own)):
            part = part_of(slopes, profile.grain) if words["bias-max"] != "8" else None
            said = (*notes, f"the same as {_said(part, slopes)}") if part else notes
            for key, kind in KINDS:
                given = {**keys, **words, **({key: kind} if key else {})}
                yield Candidate("alibi", given, profile.table, said, ulp=_allowed(len(slopes), profile.grain))
            found |= grain == profile.grain
        if not found and (slopes > 0).all() and profile.by != "slopes":
            yield from _listed(keys, slopes, profile, notes)
        elif not found and profile.by == "slopes" and (part := part_of(slopes, profile.grain)):
            ulp = _allowed(part[0], profile.grain)
            given = {**keys, "slope-values": _text(part[2])}
            yield Candidate("alibi", given, profile.table, (_said(part, slopes),), ulp=ulp)


def _slopes(profile: Profile) -> Iterator[tuple[str, Floats, dict[str, str], tuple[str, ...]]]:
    """Yield the form, the slope of each head, the mask, and what else is to be said."""
    if profile.by == "slopes":
        if profile.heads > 1 or profile.name == "slopes":
            yield "symmetric", profile.values[:, 0], {}, ()
    elif profile.by == "distance" and not profile.integral and profile.form != "past":
        before = profile.slopes(-profile.at, profile.at <= 0)
        after = profile.slopes(profile.at, profile.at >= 0)
        one_side = bool(profile.masked) or not (profile.at[profile.known] > 0).any()
        if before is not None and (one_side or (after is not None and _alike(before, after))):
            note = "keys after the query hold 0, where -inf would hide them"
            yield "symmetric", -before, profile.mask, (note,) if profile.masked == "0" else ()
    elif profile.by == "key":
        last = profile.keys - 1
        for bias, at in (("key-position", profile.at), ("last-key", profile.at - last)):
            slopes = profile.slopes(at, np.ones(len(at), bool))
            if slopes is not None:
                copies = (f"{profile.copies} copies of it, a batch",) if profile.copies > 1 else ()
                yield bias, slopes, profile.mask, copies


def _grains(grain: str) -> tuple[str, ...]:
    """Return the type of the values and, where it is a wider one, those that slopes may have been rounded to."""
    return (grain,) if grain in ("bfloat16", "float16") else (grain, "bfloat16")


def _allowed(heads: int, grain: str) -> float:
    """Return the units in the last place by which powers of a rounded slope are off: as many as the largest power."""
    whole = 1 << (heads.bit_length() - 1)
    return PRODUCT_ULP + (max(whole, 2 * (heads - whole)) if grain in ("float32", "float64") else 0)


def _alike(one: Floats, other: Floats) -> bool:
    told = np.isfinite(one) & np.isfinite(other)
    return bool(told.any()) and bool((np.abs(one - other)[told] <= 2.0**-6 * np.abs(one[told])).all())


def _rules(slopes: Floats, grain: str) -> Iterator[dict[str, str]]:
    """Yield the rule and the exponent that give these slopes, for all heads but a few."""
    seen: list[list[Fraction]] = []
    for rule in ("frameworks", "paper"):
        exponents = -np.log2([float(s) for s in made_slopes(len(slopes), Decimal(1), rule)])
        told = np.flatnonzero(np.isfinite(slopes) & (slopes > 0))
        if 2 * len(told) <= len(slopes):
            return
        tops = -np.log2(slopes[told]) / exponents[told]
        middle = int(np.argsort(tops, kind="stable")[len(tops) // 2])
        spread = 4 * PRECISION[grain] / math.log(2) / exponents[told[middle]]
        top = shortest(tops[middle] - spread, tops[middle] + spread)
        if not 0 < top <= 1000 or digits(top) > MAX_DIGITS or (len(slopes) == 1 and top != 8):
            continue
        made = made_slopes(len(slopes), top, rule)
        good = np.abs(slopes / np.array([float(s) for s in made]) - 1) <= 8 * PRECISION[grain]
        if good.sum() > len(slopes) / 2 and made not in seen:
            seen.append(made)
            yield {"slopes": rule, "bias-max": number_text(top)}


def made_slopes(heads: int, top: Decimal, rule: str) -> list[Fraction]:
    """Return the slopes that a rule gives."""
    return alibi_slopes(heads, top, cast(Literal["frameworks", "paper"], rule))


Part = tuple[int, int, list[Decimal]]
"""Heads of the whole, the first of the part, and its slopes."""


def part_of(slopes: Floats, grain: str) -> Part | None:
    """Return of which whole number of heads these slopes are consecutive ones."""
    count = len(slopes)
    for whole in WHOLE:
        made = np.array([float(s) for s in made_slopes(whole, Decimal(8), "frameworks")])
        for first in range(whole - count + 1 if count < whole else 0):
            near = made[first : first + count]
            if (np.abs(slopes / near - 1) <= 4 * PRECISION[grain]).all():
                return whole, first, [Decimal(float(s)) for s in near]
    return None


def _said(part: Part, slopes: Floats) -> str:
    whole, first, _ = part
    heads = f"heads {first} to {first + len(slopes) - 1}" if len(slopes) > 1 else f"head {first}"
    return f"{'slopes of' if len(slopes) > 1 else 'the slope of'} {heads} of {whole}"


def _listed(keys: dict[str, str], slopes: Floats, profile: Profile, notes: tuple[str, ...]) -> Iterator[Candidate]:
    """Yield slopes one by one: those of a part of the heads, or short decimals."""
    part = part_of(slopes, profile.grain)
    if part is not None:
        said = (_said(part, slopes), *notes)
        ulp = _allowed(part[0], profile.grain)
        yield Candidate("alibi", {**keys, "slope-values": _text(part[2])}, profile.table, said, ulp=ulp)
        return
    at = -np.abs(profile.at) if profile.by == "distance" else profile.at - (keys["bias"] == "last-key") * profile.keys
    given = [
        Decimal(float(slope)) if math.frexp(slope)[0] == 0.5 else _chosen(profile, at.astype(np.float64), head)
        for head, slope in enumerate(slopes)
    ]
    if all(value is not None and value > 0 for value in given):
        listed = [value for value in given if value is not None]
        what = "distance" if profile.by == "distance" else "key"
        shown = ", ".join(f"{slope:.4g}" for slope in slopes[:4]) + " .." * (len(slopes) > 4)
        said = (*notes, f"in proportion to the {what}, slopes {shown}")
        most = max(map(digits, listed))
        doubts = ("the slopes follow no known rule",)
        yield Candidate("alibi", {**keys, "slope-values": _text(listed)}, profile.table, said, most, doubts=doubts)


def _chosen(profile: Profile, at: Floats, head: int) -> Decimal | None:
    """Return a head's slope: a short decimal where that and its products were rounded, otherwise the nearest."""
    nearest = profile.factor(at, head, profile.known)
    rounded = profile.factor(at, head, profile.known, PRODUCT_ULP)
    return rounded if rounded is not None and (nearest is None or digits(rounded) <= MAX_DIGITS_CHOSEN) else nearest


def _text(values: list[Decimal]) -> str:
    return join_list(values, "+")


def stored(slopes: list[Fraction], kind: str) -> Any:
    """Return exact slopes as a type holds them, float64."""
    return np.array([float(s) for s in as_stored(slopes, cast(SlopeType, kind))])


def words(other: Mapping[str, tuple[str, str]]) -> dict[str, str]:
    """Return what a difference of parameters is called, of the file's and the expected text of each."""
    forms = {
        "symmetric": "the distance's form -m abs(j - i)",
        "key-position": "the key-position form m j",
        "last-key": "the last-key form m (j - last)",
    }
    rules = {"frameworks": "the frameworks' rule", "paper": "the paper's formula 2^(-8h/H)"}
    said = {}
    for key, (mine, wanted) in other.items():
        if key == "bias":
            said[key] = f"{forms[mine]} where {forms[wanted]} was expected: equal after a causal softmax"
        elif key == "slopes":
            said[key] = f"slopes by {rules[mine]} where {rules[wanted]} was expected"
        elif key == "heads":
            said[key] = f"slopes of {mine} head{'s' * (mine != '1')} where {wanted} were expected"
        elif key in ("slope-dtype", "arithmetic") and mine != "exact":
            said[key] = f"slopes{' and positions' if key == 'arithmetic' else ''} rounded to {mine}"
    return said
