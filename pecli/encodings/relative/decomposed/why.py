"""Why two tables stand for one."""

from __future__ import annotations

from pecli.declare.guidance import Reason

SIDE = 64  # patches of SAM's image encoder along each side


def why() -> list[Reason]:
    """Return the answers that belong to this encoding alone."""
    return [
        Reason(
            "Why a table for each axis?",
            f"It needs fewer vectors: at {SIDE} x {SIDE} patches {2 * (2 * SIDE - 1)} for rows and columns apart, "
            f"where one for each offset would be {(2 * SIDE - 1) ** 2:,}. What is lost is an answer to both offsets "
            "together.",
            "inspect decomposed --steps",
        ),
    ]
