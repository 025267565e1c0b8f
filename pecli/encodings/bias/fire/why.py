"""Why FIRE divides by the query's position."""

from __future__ import annotations

from pecli.declare.guidance import Reason


def why() -> list[Reason]:
    """Return the answers that belong to this encoding alone."""
    return [
        Reason(
            "Why divide by the query's position?",
            "So that x stays within 0 and 1, under a causal mask, however long the text: the farthest key has nearly 1 "
            "for every query from the threshold on. The network is asked nothing that it was not trained on.",
            "inspect fire --steps",
        ),
        Reason(
            "What is the threshold for?",
            "Queries before it all count as it does. Without it the few keys of a short text would look as far away as "
            "the many of a long one. It is trained too, as c is.",
        ),
    ]
