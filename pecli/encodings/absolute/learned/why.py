"""Why trained positions are as they are."""

from __future__ import annotations

from pecli.declare.guidance import Reason
from pecli.encodings.shared.reasons import added


def why() -> list[Reason]:
    """Return the answers that belong to this encoding alone."""
    return [
        Reason(
            "Why does it end?",
            "Each position has a row of its own, and a row that training never saw is what the seed drew. There is "
            "nothing to continue; resizing between the trained rows is the usual way out.",
            "extrapolate learned:dim=8,max-len=16 --train-len 16 --test-len 32",
        ),
        Reason(
            "What does it cost?",
            f"rows times dim trained values: {512 * 768:,} for 512 x 768 (BERT base).",
            "compare learned:max-len=512,dim=768 sinusoidal:dim=768",
        ),
        Reason(
            "What does N(0, 1/sqrt(d)) mean?",
            "Texts leave open whether that is the deviation or the variance. Here it is the deviation, "
            f"{768**-0.5:.4g} at dim 768; BERT and ViT take 0.02, GPT-2's first code 0.01.",
            "inspect learned:dim=768,max-len=64,init=normal --properties",
        ),
        *added(),
    ]
