"""DeBERTa's buckets from an index by distance."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from pecli.encodings.relative.deberta import bucket_rule
from pecli.numbers.double_double import Points
from pecli.spec.profiles import Candidate, Profile, options_of

BUCKETS = (256, 64, 32, 128, 0, 512, 16, 8, 4)
# Maximum distances of known models, the most usual first.
REACHES = (512, 128, 256, 1024, 2048, 1000, 64, 32, 16, 8)


def identify(profile: Profile) -> Iterator[Candidate]:
    """Yield indices of buckets of distances, query minus key."""
    values, at = profile.seen
    if not profile.indexes or not (at == 0).any():
        return
    middle = int(values[0, at == 0][0])  # of shifted buckets their number, or the reach where there are none
    for clamp in (False, True):
        options = [
            (buckets, reach) for buckets, reach in product(BUCKETS, REACHES)
            if reach - 1 > buckets // 2 and (middle == (buckets or reach) or (buckets and not middle))
        ]  # fmt: skip
        shift = middle > 0
        found = options_of(options, lambda o: bucket_rule(*o, clamp, shift)(Points(at)), values[0])  # noqa: B023
        for buckets, reach in found[:1]:
            same = "; ".join(f"{b}, {r}" for b, r in found[1:4])
            doubts = (f"buckets and max-distance {same} give the same {profile.keys} keys",) if same else ()
            if not buckets and reach >= profile.keys:
                doubts = (f"no distance is as far as {reach}",)
            keys = {"buckets": str(buckets), "max-distance": str(reach), "clamp": str(clamp).lower()}
            keys |= {"shifted": str(shift).lower()} if shift != (not buckets) else {}
            yield Candidate("deberta", keys, {"form": "index", **profile.table}, doubts=doubts)
