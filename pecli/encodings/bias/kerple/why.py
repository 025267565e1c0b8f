"""Why KERPLE has two trained numbers."""

from __future__ import annotations

from pecli.declare.guidance import Reason


def why() -> list[Reason]:
    """Return the answers that belong to this encoding alone."""
    return [
        Reason(
            "Is KERPLE a Gaussian of the distance?",
            "No. Its kernels are -r1 ln(1 + r2 |d|) and -r1 |d|^r2, conditionally positive definite, with r1 and r2 "
            "trained for each head. exp(-d^2 / (2 sigma^2)) is the encoding `gaussian`; its logarithm is KERPLE's "
            "power kernel with r2 = 2.",
            "inspect kerple:heads=2,len=5 --steps",
        ),
        Reason(
            "What is ALiBi among them?",
            "The power kernel with r2 = 1 and r1 the slope, none of it trained.",
            "inspect kerple:heads=1,kind=power,r1=0.5,r2=1,len=5 --steps",
        ),
    ]
