"""Why a Gaussian of the distance."""

from __future__ import annotations

from pecli.declare.guidance import Reason


def why() -> list[Reason]:
    """Return the answers that belong to this encoding alone."""
    return [
        Reason(
            "Is this KERPLE?",
            "No, though texts call it so: KERPLE's kernels are logarithms and powers with trained numbers. This "
            "weight falls with the square of the distance.",
            "inspect gaussian:sigma=1,len=5 --steps",
        ),
        Reason(
            "Multiply or add?",
            "As a factor (apply=multiply) it scales the logit itself, so a negative logit of a far key comes nearer "
            "to 0 and weighs more; as a logarithm (apply=log) it is added, and multiplies the weight.",
            "inspect gaussian:sigma=1,apply=log,len=5 --steps",
        ),
    ]
