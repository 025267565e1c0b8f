"""KERPLE's two numbers for each head, fitted to the values by distance."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pecli.declare.guess import Guess
from pecli.encodings.shared.two_numbers import Numbers, numbers
from pecli.measures.evidence import Evidence
from pecli.measures.profiles import kernels_of
from pecli.numbers.shortest import digits
from pecli.numbers.text import join_list
from pecli.numbers.types import real_type

CHOSEN = 5  # digits of a number that somebody gave; drawn and trained ones have more
SHORTEST = "each number is the shortest that the values allow"
STRAIGHT = 1e-4  # by which an exponent may miss 1, in proportion to the distance
LEAST = 6  # distances that two numbers are told by


def recognise(evidence: Evidence) -> Iterator[Guess]:
    """Yield -r1 ln(1 + r2 abs(D)) and -r1 abs(D)^r2, one pair of numbers a head."""
    for profile in kernels_of(evidence.profile):
        values, distances = profile.seen
        moving = (distances != 0) & (values != 0).all(axis=0)  # rows of zeros may have the farthest distances
        x, y = np.abs(distances[moving]).astype(np.float64), -values[:, moving]
        if len(np.unique(x)) < LEAST or not (y > 0).all() or values[:, distances == 0].any():
            continue
        for kind in ("power", "log"):
            pairs: list[Numbers] = []
            for grain in dict.fromkeys((real_type(evidence.sample.dtype), evidence.sample.grain)):
                pairs = pairs or [
                    pair for row in y if (pair := numbers(kind, x, row, grain, evidence.slack)) is not None
                ]
                pairs = pairs if len(pairs) == len(y) else []
            if not pairs:
                continue
            first, second, loose = zip(*pairs, strict=True)
            if kind == "power" and max(abs(one - 1) for one in second) < STRAIGHT:
                continue  # in proportion to the distance: ALiBi's
            cost = sum(map(digits, (*first, *second)))
            drawn = any(loose) or max(map(digits, (*first, *second))) > CHOSEN
            keys = {
                "heads": str(profile.heads),
                "kind": kind,
                "r1": join_list(first, "+"),
                "r2": join_list(second, "+"),
            }
            notes = (SHORTEST,) if drawn else ()
            yield Guess(
                "kerple", keys | profile.mask, profile.table, 4.0 + cost, notes=notes, free=("r1", "r2"), open=drawn
            )
