"""T5's buckets from an index by distance, or from which distances of a trained bias share a value."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from pecli.declare.profiles import Candidate, Profile
from pecli.encodings.bias.t5 import bucket_rule
from pecli.errors import BadParameter
from pecli.numbers.decimals import shortest
from pecli.numbers.double_double import Points

Integers = NDArray[np.int64]
PAIRS = ((32, 128), (32, 256), (64, 128), (64, 256), (16, 128), (128, 256), (320, 800), (32, 64), (40, 20), (32, 20))
"""Buckets and largest distances that models have."""
COUNTS = tuple(dict.fromkeys(buckets for buckets, _ in PAIRS))
USUAL = (*dict.fromkeys(reach for _, reach in PAIRS), 512, 1000, 1024)
"""Largest distances that somebody may have meant."""
MAX_DISTANCE = 1 << 20
MIN_DISTANCES = 5
"""Distances that show more than a line."""
MIN_SHARE_EQUAL = 0.9
"""Share of the distances that a rule must give, where others are spoiled."""


def identify(profile: Profile) -> Iterator[Candidate]:
    """Yield buckets whose index this is, and those in which a trained bias is constant."""
    values, at = profile.seen
    if profile.by != "distance" or profile.form == "past" or len(at) < MIN_DISTANCES:
        return
    if (np.diff(at) != 1).any() or at[0] >= 0:
        return
    indexed = profile.integral and profile.heads == 1
    if indexed:
        target = values[0].astype(np.int64)
        if target.min() < 0 or profile.values[0, profile.at == 0] != 0:
            return
        seen = target
    else:
        changes: NDArray[np.bool_] = (values[:, 1:] != values[:, :-1]).any(axis=0)
        if changes.sum() < 2 or changes.all():
            return
        target = seen = np.concatenate(([0], np.cumsum(changes)))
    form = "distance" if profile.form == "distance" else "index"
    table = {key: text for key, text in profile.table.items() if key != "form"} | {"form": form}
    notes = () if indexed else (f"one trained number for each of {profile.heads} heads and bucket",)
    found = list(_rules(target, at, indexed))
    exactly = [one for one in found if one[4] == 1.0] or found
    exactly = [one for one in exactly if one[1] in COUNTS] or exactly
    for both, buckets, reach, span, _ in exactly[:3]:
        doubts = []
        if sum(span[0] <= usual <= span[1] for usual in USUAL) > 1 or (span[0] < span[1] and reach not in USUAL):
            end = "on" if span[1] >= MAX_DISTANCE else f"to {span[1]}"
            doubts.append(f"max-distance from {span[0]} {end} gives the same {len(seen)} distances")
        others = sorted({one[1] for one in exactly if one[1] != buckets})
        if others:
            doubts.append(f"as do {', '.join(map(str, others))} buckets")
        keys = {"buckets": str(buckets), "max-distance": str(reach), "bidirectional": both}
        usual = (buckets, reach) == PAIRS[0] and len(at) > 2 * 16  # the first boundaries show
        yield Candidate("t5", keys, table, (*notes, *(doubts if usual else ())), trained=not indexed,
                        doubts=() if usual else tuple(doubts))  # fmt: skip


Rule = tuple[str, int, int, tuple[int, int], float]


def _rules(target: Integers, at: Integers, indexed: bool) -> Iterator[Rule]:
    """Yield direction, buckets, max-distance, its range, and the share of the distances that the rule gives."""
    counts = COUNTS
    if indexed:
        most = int(target.max()) + 1
        counts = tuple(dict.fromkeys((*COUNTS, most, most + most % 2)))
    for buckets in counts:
        for both in ("true", "false"):

            def seen(reach: int, buckets: int = buckets, both: str = both) -> Integers | None:
                made = _made(buckets, reach, both, int(at[0]), int(at[-1]))
                if made is None or indexed:
                    return made
                return np.concatenate(([0], np.cumsum(made[1:] != made[:-1])))

            span = _span(seen, target, int(np.abs(at).argmin()))
            reaches = [*USUAL, int(shortest(*span)), span[0]]
            shares = [_share(seen(reach), target) for reach in reaches]
            best = max(shares)
            if best >= MIN_SHARE_EQUAL:
                usual = [reach for count, reach in PAIRS if count == buckets]
                order = sorted(zip(reaches, shares, strict=True), key=lambda one: (-one[1], one[0] not in usual))
                reach = order[0][0]
                yield both, buckets, reach, span if span[0] <= reach <= span[1] else (reach, reach), best


def _share(made: Integers | None, target: Integers) -> float:
    return 0.0 if made is None else float((made == target).mean())


def _span(made: Callable[[int], Integers | None], target: Integers, zero: int) -> tuple[int, int]:
    """Return the ends of the largest distances whose buckets add up to the same; a farther one raises none."""
    wanted = np.abs(target - target[zero]).sum()

    def off(reach: int) -> int:
        found = made(reach)
        return 1 if found is None else int(np.sign(np.abs(found - found[zero]).sum() - wanted))

    ends = []
    for least in (0, -1):  # the first that adds up to no more, and the first that adds up to less
        low, high = 1, MAX_DISTANCE
        while low < high:
            middle = (low + high) // 2
            low, high = (middle + 1, high) if off(middle) > least else (low, middle)
        ends.append(low)
    return ends[0], max(ends[0], ends[1] - (off(ends[1]) < 0))


@lru_cache(maxsize=4096)
def _made(buckets: int, reach: int, both: str, first: int, last: int) -> Integers | None:
    try:
        return bucket_rule(buckets, reach, both == "true", "exact")(Points(np.arange(first, last + 1)))
    except BadParameter:
        return None
