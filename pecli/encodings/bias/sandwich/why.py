"""Why Sandwich is a sum of cosines, and when it rises again."""

from __future__ import annotations

import math

from pecli.declare.guidance import Reason

BASE = 10000


def why() -> list[Reason]:
    """Return the answers that belong to this encoding alone."""
    narrow, wide = (2 * math.pi * BASE ** (2 / width) for width in (8, 128))
    return [
        Reason(
            "Where do its numbers come from?",
            "The product of two sinusoidal rows is a sum of cosines of their distance. Sandwich keeps that sum as a "
            "bias, and leaves the embeddings as they are.",
            "inspect sandwich --steps",
        ),
        Reason(
            "Does it fall for ever?",
            f"No: a cosine comes back. The fastest pair has turned once after {wide:.3g} positions at width 128 and "
            f"after {narrow:.3g} at width 8; of many pairs the slow ones carry the fall, of four the bias itself rises "
            "again.",
            "inspect sandwich:heads=2,width=8,len=64 --picture slopes --plot -",
        ),
    ]
