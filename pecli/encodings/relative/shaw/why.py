"""Why distances are clipped."""

from __future__ import annotations

from pecli.declare.guidance import Reason


def why() -> list[Reason]:
    """Return the answers that belong to this encoding alone."""
    return [
        Reason(
            "Why are distances clipped?",
            "Beyond K the exact distance tells little, and 2K + 1 vectors then serve any length: those past K share "
            "the last.",
            "inspect shaw:clip=2,dim=4,len=5 --steps",
        ),
        Reason(
            "Does the position reach the values too?",
            "In Shaw's paper a second table is added to the values: the output is the sum of a_ij (v_j + r_ij). Many "
            "models leave it out.",
        ),
    ]
