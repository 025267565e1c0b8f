"""DeBERTa's buckets from an index by distance."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from pecli.encodings.relative.deberta import bucket_rule
from pecli.numbers.double_double import Points
from pecli.spec.profiles import MIN_SHARE_RULE, Candidate, Profile

BUCKETS = (256, 64, 32, 128, 0, 512, 16, 8, 4)
REACHES = (512, 128, 256, 1024, 2048, 1000, 64, 32, 16, 8)
"""What models have, the most usual first."""


def identify(profile: Profile) -> Iterator[Candidate]:
    """Yield indices of buckets of distances, query minus key."""
    if not profile.indexes or not (profile.seen[1] == 0).any():
        return
    values, at = profile.seen
    middle, found = int(values[0, at == 0][0]), []
    for buckets, reach, clamp in product(BUCKETS, REACHES, (False, True)):
        shift = middle == (buckets or reach)
        if reach - 1 <= buckets // 2 or ((middle or not buckets) and not shift):
            continue
        share = float((bucket_rule(buckets, reach, clamp, shift)(Points(at)) == values[0]).mean())
        if share >= MIN_SHARE_RULE:
            found.append((-share, clamp, buckets, reach, shift))
    found.sort(key=lambda one: one[:2])
    for share, clamp, buckets, reach, shift in found[:1]:
        same = dict.fromkeys(f"{b}, {r}" for s, c, b, r, _ in found[1:] if (s, c) == (share, clamp))
        said = f"buckets and max-distance {'; '.join([*same][:3])} give the same {profile.keys} keys"
        if not buckets and reach >= profile.keys:
            same, said = {"": None}, f"no distance is as far as {reach}"
        keys = {"buckets": str(buckets), "max-distance": str(reach), "clamp": str(clamp).lower()}
        keys |= {"shifted": str(shift).lower()} if shift != (not buckets) else {}
        yield Candidate("deberta", keys, {"form": "index", **profile.table}, doubts=(said,) if same else ())
