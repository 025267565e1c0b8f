"""Words and numbers that help, completion and declarations need before anything is imported."""

from __future__ import annotations

USUAL_BASES = (
    "10000", "500000", "1000000", "100", "100000", "5000000", "10000000", "1000", "50000", "160000", "150000", "250000",
    "20000", "8000000", "50000000", "1e8", "200000", "600000", "40000", "20",
)  # fmt: skip
"""Bases of rotary and sinusoidal frequencies that models have, the most usual first."""

EXPECTATIONS = ("finite", "unique", "bounded", "relative", "smooth")
"""What inspect --expect checks of a table."""

PICTURES = ("heatmap", "waves", "similarity", "rotation", "turned", "bias", "slopes")
"""What inspect draws of a table."""

REACHES = ("phases", "score", "reach", "inside", "ramps", "scores")
"""What extrapolate draws of its reports; the last three with scalings beside each other."""
