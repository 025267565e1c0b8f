"""ALiBi's parameters from the slope of each head."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Literal, NamedTuple

import numpy as np

from pecli.encodings.bias.alibi import alibi_slopes
from pecli.numbers.decimals import digits, join_list, number_text, shortest
from pecli.numbers.rounding import Floats, Integers
from pecli.spec.profiles import Candidate, Profile

# Relative error of a slope that was read off values of a type; float32 as torch's powers leave it.
PRECISION = {"bfloat16": 2.0**-8, "float16": 2.0**-11, "float32": 2.0**-22, "float64": 2.0**-48}
# Digits of a bias-max that somebody would choose.
MAX_DIGITS = 3
# Units in the last place by which a product of a slope and a distance is off, both rounded.
PRODUCT_ULP = 2.0
# Numbers of heads that models have; a file may hold a part of them.
WHOLE = (8, 16, 32, 12, 24, 40, 48, 56, 64, 71, 80, 96, 112, 128, 4)
RULES: tuple[Literal["frameworks", "paper"], ...] = ("frameworks", "paper")
KINDS: tuple[tuple[str, str], ...] = (
    ("", "exact"), ("arithmetic", "float32"), ("arithmetic", "bfloat16"), ("slope-dtype", "bfloat16"),
    ("slope-dtype", "float16"), ("slope-dtype", "float32"),
)  # fmt: skip


def identify(profile: Profile) -> Iterator[Candidate]:
    """Yield biases in proportion to the distance or the key, and slopes by themselves."""
    for bias, slopes, notes, table, columns in _slopes(profile):
        heads, dtype = len(slopes), profile.effective_dtype
        active = int(np.flatnonzero(slopes)[-1]) + 1  # those that follow have no slope
        fewer = {"alibi-heads": str(active)} if active < heads else {}
        keys = {"heads": str(heads), "bias": bias, **profile.mask, **fewer}
        slopes, heads = slopes[:active], active
        part, ulp = part_of(slopes, dtype), _allowed(heads, dtype)
        own = list(_rules(slopes, dtype, whole=bool(part)))
        rounded = _rules(slopes, "bfloat16", whole=bool(part)) if dtype != "float16" else iter(())
        for words in (*own, *(words for words in rounded if words not in own)):
            own_notes = (*notes, f"the same as {part[0]}") if part and words["bias-max"] != "8" else notes
            if words["slopes"] == "paper":
                own_notes = (*own_notes, f"the frameworks' slopes of {heads} heads are others")
            for key, kind in KINDS:
                given = {**keys, **words, **({key: kind} if key else {})}
                yield Candidate("alibi", given, table, own_notes, ulp=ulp, columns=columns)
        if part and "alibi-heads" not in keys:  # others could be zero by mistake
            given = {**keys, "slope-values": join_list(part[1], "+")}
            yield Candidate("alibi", given, table, (part[0], *notes), ulp=_allowed(part[2], dtype))


class Slopes(NamedTuple):
    """The form of a bias, the slope of each head, notes, the table's own keys, and the columns that its keys hold."""

    bias: str
    values: Floats
    notes: tuple[str, ...]
    table: Mapping[str, str]
    columns: Integers | None = None


def _slopes(profile: Profile) -> Iterator[Slopes]:
    """Yield the slopes of a profile in each form that it may have."""
    copies = (f"{profile.copies} copies of it, as of a batch or of ranks",) if profile.copies > 1 else ()
    if profile.by == "slopes":
        if profile.heads > 1 or profile.name == "slopes":
            yield Slopes("symmetric", profile.values[:, 0], copies, profile.table)
    elif profile.by == "distance" and not profile.integral and profile.form != "past":
        one_side = bool(profile.masked) or not (profile.at[profile.known] > 0).any()
        slopes = profile.slopes(-np.abs(profile.at), (profile.at <= 0) | (not one_side))
        if slopes is not None:
            note = "keys after the query hold 0, where -inf would hide them"
            notes = (note,) if profile.masked == "0" else ()
            yield Slopes("symmetric", slopes, (*notes, *copies), profile.table)
    elif profile.by == "key" and profile.known.any() and not (profile.integral and profile.heads == 1):
        last = profile.keys - 1
        values, at = profile.seen
        steps = np.diff(values[:, [0, -1]])[:, 0] / np.ptp(at)
        start = np.rint(np.nan_to_num(np.median(values[:, 0] / steps - at[0])))  # keys are counted in whole numbers
        for first in dict.fromkeys((0, -last, float(start))):
            slopes = profile.slopes(profile.at + first, np.ones(len(profile.at), bool))
            if slopes is not None:
                table = profile.table | ({} if first in (0, -last) else {"start": str(int(first))})
                yield Slopes("last-key" if first == -last else "key-position", slopes, copies, table)
        if not profile.integral and profile.keys > 2 and (padded := _padded(profile)) is not None:
            yield Slopes("key-position", padded[0], (*padded[2], *copies), profile.table, padded[1])


MAX_PADDED = 3  # copies that are listed with their padding


def _padded(profile: Profile) -> tuple[Floats, Integers, tuple[str, ...]] | None:
    """Return the slopes, the position of each key in each copy, and notes; None where only the first key is at 0.

    In batches of BLOOM, keys of padding are at position 0, on whichever side they are.
    """
    values, at = np.nan_to_num(profile.values), np.arange(profile.keys)
    zero = values == 0
    positions = at - np.maximum.accumulate(np.where(zero, at, 0), axis=1)
    firsts = np.argmax(positions == 1, axis=1)
    slopes = values[np.arange(len(values)), firsts]
    heads = next(h for h in range(1, len(slopes) + 1) if len(slopes) % h == 0 and (slopes[h:] == slopes[:-h]).all())
    copies = zero[::heads]
    padded = np.flatnonzero(copies.sum(axis=1) > 1)
    again = np.diff(copies.astype(int), axis=1) == -1  # where keys begin that are no padding
    whole = heads > 1 and zero[:, 0].all() and (zero == copies.repeat(heads, axis=0)).all()
    if not len(padded) or not whole or (again.sum(axis=1) != 1).any():
        return None
    places = []
    for copy in padded.tolist():
        first, last = int(firsts[copy * heads]) - 1, profile.keys - 1 - int(np.flatnonzero(positions[copy * heads])[-1])
        sides = " and ".join(f"the {side} {count}" for side, count in (("first", first), ("last", last)) if count)
        places.append(f"{sides} of {profile.keys} keys" + f" of batch index {copy}" * (len(copies) > 1))
    more = f", and {len(places) - MAX_PADDED} more copies" * (len(places) > MAX_PADDED)
    text = f"padding at position 0: {', '.join(places[:MAX_PADDED])}{more}"
    return slopes[:heads], positions[::heads], (text,)


def _allowed(heads: int, dtype: str) -> float:
    """Return the units in the last place by which powers of a rounded slope are off: as many as the largest power."""
    whole = 1 << (heads.bit_length() - 1)
    return PRODUCT_ULP + (max(whole, 2 * (heads - whole)) if dtype in ("float32", "float64") else 0)


def _rules(slopes: Floats, dtype: str, *, whole: bool) -> Iterator[dict[str, str]]:
    """Yield the rule and the exponent, a `whole` one, that give these slopes, for all heads but a few."""
    seen: list[list[Fraction]] = []
    for rule in RULES:
        exponents = -np.log2([float(s) for s in alibi_slopes(len(slopes), Decimal(1), rule)])
        known = np.flatnonzero(np.isfinite(slopes) & (slopes > 0))
        if 2 * len(known) <= len(slopes):
            return
        tops = -np.log2(slopes[known]) / exponents[known]
        middle = int(np.argsort(tops, kind="stable")[len(tops) // 2])
        spread = 4 * PRECISION[dtype] / math.log(2) / exponents[known[middle]]
        top = shortest(tops[middle] - spread, tops[middle] + spread)
        if not 0 < top <= 1000 or digits(top) > MAX_DIGITS or (len(slopes) == 1 and top != 8) or (whole and top % 1):
            continue
        made = alibi_slopes(len(slopes), top, rule)
        good = np.abs(slopes / np.array([float(s) for s in made]) - 1) <= 8 * PRECISION[dtype]
        if good.sum() > len(slopes) / 2 and made not in seen:
            seen.append(made)
            yield {"slopes": rule, "bias-max": number_text(top)}


def part_of(slopes: Floats, dtype: str) -> tuple[str, list[Decimal], int] | None:
    """Return the consecutive heads that have these exact slopes, and the number of all heads."""
    count = len(slopes)
    near_slope = 4 * PRECISION[dtype if count > 1 else "float32"]  # a narrow one is near that of some head
    for whole in WHOLE:
        made = [Decimal(repr(float(slope))) for slope in alibi_slopes(whole, Decimal(8), "frameworks")]
        for first in range(whole - count + 1 if count < whole else 0):
            near = made[first : first + count]
            if (np.abs(slopes / np.array(near, np.float64) - 1) <= near_slope).all():
                heads = f"heads {first} to {first + count - 1}" if count > 1 else f"head {first}"
                return f"{'slopes of' if count > 1 else 'the slope of'} {heads} of {whole}", near, whole
    return None


def _heads_of(values: str) -> str:
    """Return the heads that have these slopes, as text; "" if they are no part of any number of heads."""
    part = part_of(np.array([float(slope) for slope in values.split("+")]), "bfloat16")
    return part[0] if part else ""


def words(other: Mapping[str, tuple[str, str]]) -> dict[str, str]:
    """Return the message on each parameter that differs, given the file's and the expected text of each."""
    forms = {
        "symmetric": "the distance's form -m abs(j - i)",
        "key-position": "the key-position form m j",
        "last-key": "the last-key form m (j - last)",
    }
    rules = {"frameworks": "the frameworks' rule", "paper": "the paper's formula 2^(-8h/H)"}
    texts = {}
    for key, (have, wanted) in other.items():
        if key in ("bias-max", "slopes") and "slope-values" in other:
            texts[key] = ""
        elif key == "slope-values" and not have:
            expected = _heads_of(wanted) or "others"
            texts[key] = f"the slopes of {wanted.count('+') + 1} heads where {expected} were expected"
        elif key == "bias":
            which = "causal " if "symmetric" in (have, wanted) else ""  # keys alone shift each row by one number
            texts[key] = f"{forms[have]} where {forms[wanted]} was expected: equal after a {which}softmax"
        elif key == "arithmetic" and wanted not in ("exact", "float32"):
            texts[key] = f"the bias is not rounded as {wanted} arithmetic does it"
        elif key == "slopes":
            texts[key] = f"slopes by {rules[have]} where {rules[wanted]} was expected"
        elif key == "alibi-heads":
            texts[key] = f"{have or 'all'} heads have a slope where {wanted or 'all'} were expected to (alibi-heads)"
        elif key == "heads":
            texts[key] = f"slopes of {have} head{'s' * (have != '1')} where {wanted} were expected"
        elif key == "slope-values" and (part := _heads_of(have)):
            many = other["heads"][1] if "heads" in other else have.count("+") + 1
            top = other.get("bias-max", ("", ""))[1]
            many = f"{many} heads" + f" with bias-max {top}" * (top not in ("", "8"))
            expected = (wanted and _heads_of(wanted).removeprefix("slopes of ")) or many
            texts[key] = f"{part} where those of {expected} were expected"
        elif key in ("slope-dtype", "arithmetic") and have != "exact":
            texts[key] = f"slopes{' and positions' if key == 'arithmetic' else ''} rounded to {have}"
    return texts
