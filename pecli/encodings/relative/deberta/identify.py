"""DeBERTa's buckets from an index by distance."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from pecli.declare.profiles import Candidate, Profile
from pecli.encodings.relative.deberta import bucket_rule
from pecli.numbers.double_double import Points

BUCKETS = (256, 64, 32, 128, 0, 512, 16, 8, 4)
REACHES = (512, 128, 256, 1024, 2048, 1000, 64, 32, 16, 8)
"""What models have, the most usual first."""
MIN_SHARE_EQUAL = 0.9


def identify(profile: Profile) -> Iterator[Candidate]:
    """Yield indices of buckets of distances, query minus key."""
    values, at = profile.seen
    if profile.by != "distance" or not profile.integral or profile.heads != 1 or profile.form != "dense":
        return
    if not (at == 0).any() or len(at) < 3:
        return
    middle, points, found = int(values[0, at == 0][0]), Points(at), []
    for buckets, reach, clamp in product(BUCKETS, REACHES, (False, True)):
        shift = middle == (buckets or reach)
        if reach - 1 <= buckets // 2 or ((middle or not buckets) and not shift):
            continue
        share = float((bucket_rule(buckets, reach, clamp, shift)(points) == values[0]).mean())
        if share >= MIN_SHARE_EQUAL:
            found.append((-share, clamp, buckets, reach, shift))
    for share, clamp, buckets, reach, shift in sorted(found, key=lambda one: one[:2])[:1]:
        others = dict.fromkeys(
            f"{b}, {r}" for s, c, b, r, _ in found if (s, c) == (share, clamp) and (b, r) != (buckets, reach)
        )
        open_ = not buckets and reach >= profile.keys
        said = (
            f"no distance is as far as {reach}"
            if open_
            else f"buckets and max-distance {'; '.join([*others][:3])} give the same {profile.keys} keys"
        )
        keys = {"buckets": str(buckets), "max-distance": str(reach), "clamp": str(clamp).lower()}
        keys |= {"shifted": str(shift).lower()} if shift != (not buckets) else {}
        table = {"form": "index", **profile.table}
        yield Candidate("deberta", keys, table, doubts=(said,) if others or open_ else ())
