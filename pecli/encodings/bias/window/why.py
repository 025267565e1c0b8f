"""Why window attention has a table of offsets."""

from __future__ import annotations

from pecli.declare.guidance import Reason

SIDE = 7  # of Swin's windows


def why() -> list[Reason]:
    """Return the answers that belong to this encoding alone."""
    return [
        Reason(
            "Why (2h - 1)(2w - 1) entries?",
            f"Offsets run from -(h - 1) to h - 1, and pairs with the same offset share an entry: in Swin's windows of "
            f"{SIDE} x {SIDE} patches {SIDE**4:,} pairs share {(2 * SIDE - 1) ** 2} numbers in each head.",
            "inspect window --steps",
        ),
        Reason(
            "What of a window of another size?",
            "Its table lacks the larger offsets: it is resized, or, in version 2, made by a small network of the "
            "offsets' logarithms, which can be asked for any.",
            "inspect window:grid=3x4,heads=2,version=2 --steps",
        ),
    ]
