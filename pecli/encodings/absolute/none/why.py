"""Why a model may have no positions."""

from __future__ import annotations

from pecli.declare.guidance import Reason


def why() -> list[Reason]:
    """Return the answers that belong to this encoding alone."""
    return [
        Reason(
            "Is attention invariant when tokens are exchanged?",
            "No: it is equivariant. Outputs move with their tokens, each keeps its own; it is the sum or mean over "
            "them that does not change. So who bites whom cannot be told.",
            "inspect none --steps",
        ),
        Reason(
            "Then why do models without positions work?",
            "A causal mask breaks the symmetry: token n sees n + 1 tokens, and can count them. The finding is about "
            "decoders; Transformer-XL is no example of it, for it has relative positions.",
            "inspect none --steps",
        ),
        Reason(
            "Do recurrent and convolutional networks need positions?",
            "No: their structure goes through the sequence in order. Attention takes all tokens at once.",
        ),
    ]
