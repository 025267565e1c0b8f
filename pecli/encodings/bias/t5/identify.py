"""T5's buckets from an index by distance, or from which distances of a trained bias share a value."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import numpy as np
from numpy.typing import NDArray

from pecli.encodings.bias.t5 import bucket_rule
from pecli.numbers.double_double import Points
from pecli.numbers.rounding import Integers
from pecli.spec.profiles import CAUSAL, MIN_DISTANCES, Candidate, Profile, options_of

# Buckets and largest distances that models have.
PAIRS = ((32, 128), (32, 256), (64, 128), (64, 256), (16, 128), (128, 256), (320, 800), (32, 64), (40, 20), (32, 20))
COUNTS = (*dict.fromkeys(buckets for buckets, _ in PAIRS), 8, 256)
REACHES = (*dict.fromkeys(reach for _, reach in PAIRS), 512, 1000, 1024, 2048, 16, 32, 96, 100, 200, 384, 400)


def identify(profile: Profile) -> Iterator[Candidate]:
    """Yield the bucket rules that give this index, or the steps of this trained bias."""
    values, at = profile.seen
    if profile.by != "distance" or profile.form == "past" or len(at) < MIN_DISTANCES:
        return
    if (np.diff(at) != 1).any() or at[0] >= 0:
        return
    indexed = profile.integral and profile.heads == 1
    changes: NDArray[np.bool_] = np.any(values[:, 1:] != values[:, :-1], axis=0)
    before = changes[at[1:] <= 0]  # the query, which no mask hides; a window has one value too, for all far distances
    shared = not before[before.argmax() :].all()
    if (values.min() < 0 or (values[0, at == 0] != 0).any()) if indexed else (changes.sum() < 2 or not shared):
        return

    def index(option: tuple[str, int, int]) -> Integers:
        both, buckets, reach = option
        made = bucket_rule(buckets, reach, both == "true", "exact")(Points(at))
        return made if indexed else np.cumsum(made[1:] != made[:-1])

    every = product(("false",) if profile.masked else ("true", "false"), COUNTS, REACHES)
    options = sorted(every, key=lambda option: option[1:] not in PAIRS)
    found = options_of(options, index, values[0] if indexed else np.cumsum(changes))
    for both, buckets, reach in found[:1]:
        same = found[1:]
        others = "; ".join(dict.fromkeys(f"{b}, {r}" for _, b, r in same[:3]))
        doubts = (f"buckets and max-distance {others} give the same {len(at)} distances",) if same else ()
        usual = (buckets, reach) == PAIRS[0] and len(at) > buckets  # the first boundaries show
        notes = [] if indexed else [f"one trained number for each bucket, in each of {profile.heads} heads"]
        keys = {"buckets": str(buckets), "max-distance": str(reach), "bidirectional": both}
        table = profile.table | {"form": "distance" if profile.form == "distance" else "index"}
        own = Candidate("t5", keys, table, trained=not indexed, doubts=() if usual else doubts)
        hidden = profile.masked == "-inf"
        twice = f"the same as bidirectional=true,buckets={2 * buckets}: the mask hides its upper half"
        yield replace(own, notes=(*notes, *doubts * usual, *(twice, CAUSAL) * hidden))
        if hidden:
            other = {**keys, "buckets": str(2 * buckets), "bidirectional": "true"}
            yield replace(own, keys=other, notes=(*notes, CAUSAL))
