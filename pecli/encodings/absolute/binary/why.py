"""Why bits are not smooth enough."""

from __future__ import annotations

from pecli.declare.guidance import Reason
from pecli.encodings.shared.reasons import added


def why() -> list[Reason]:
    """Return the answers that belong to this encoding alone."""
    return [
        Reason(
            "Why not simply bits?",
            "Neighbours may differ in many: 3 is 011 and 4 is 100, three bits. Gray's code changes one at a time. "
            "Sines and cosines do what bits do, each pair slower than the one before, but smoothly.",
            "inspect binary:dim=8,code=gray --steps",
        ),
        Reason(
            "How many positions are there?",
            f"2^dim: {2**8} at dim 8, and then it ends.",
            "inspect binary:dim=8 --steps",
        ),
        *added(),
    ]
