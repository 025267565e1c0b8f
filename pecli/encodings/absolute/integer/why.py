"""Why plain positions are rarely enough."""

from __future__ import annotations

from pecli.declare.guidance import Reason
from pecli.encodings.shared.reasons import added


def why() -> list[Reason]:
    """Return the answers that belong to this encoding alone."""
    return [
        Reason(
            "Why divide by the last position?",
            "Raw positions grow without bound and drown the embedding: a row of 512s is added to values near 1. "
            "Divided, they stay in 0 to 1, but the same place in a longer text then has another value.",
            "inspect integer:dim=4,max-len=10 --steps",
        ),
        Reason(
            "Why is one slope not enough?",
            f"Neighbours differ by 1/(L-1): {1 / 4095:.3g} at L = 4096, less than half a unit of bfloat16 near 1 "
            f"({2**-8:.3g}), where they are the same number.",
            "inspect integer:dim=1,max-len=4096,len=4096,dtype=bfloat16 --properties",
        ),
        *added(),
    ]
