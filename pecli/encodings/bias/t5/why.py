"""Why T5 counts distances in buckets."""

from __future__ import annotations

from pecli.declare.guidance import Reason


def why() -> list[Reason]:
    """Return the answers that belong to this encoding alone."""
    return [
        Reason(
            "Why buckets?",
            "Near distances matter one by one, far ones by their order of magnitude: half of a side's buckets are "
            "exact, the rest grow with the logarithm to max-distance, and all beyond share the last.",
            "inspect t5:heads=2,len=8 --steps",
        ),
        Reason(
            "By what are its logits divided?",
            "By nothing: T5 takes q . k without 1/sqrt(d); its weights are drawn so that they need none. Adding its "
            "bias to divided logits is a frequent mistake when it is ported.",
        ),
    ]
