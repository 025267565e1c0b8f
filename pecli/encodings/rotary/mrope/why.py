"""Why tokens of pictures have several positions."""

from __future__ import annotations

from pecli.declare.guidance import Reason
from pecli.encodings.rotary.rope.why import of_magnitude


def why() -> list[Reason]:
    """Return the answers that belong to this encoding alone."""
    return [
        Reason(
            "Why several positions for a token?",
            "A patch has a row and a column besides its place in time. Text has one number in all streams, and is "
            "turned as rope turns it.",
            "inspect mrope --steps",
        ),
        Reason(
            "Which stream turns which pair?",
            "By sections: in blocks in Qwen2-VL, in turn in Qwen3-VL, h and w alternating in ERNIE. The width is the "
            "same, the tables are not.",
            "compare mrope:dim=16,sections=4+2+2,len=4 mrope:dim=16,sections=4+2+2,section-order=interleaved,len=4 "
            "--values",
        ),
        of_magnitude(),
    ]
