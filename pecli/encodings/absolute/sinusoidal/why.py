"""Why a sinusoid is as it is."""

from __future__ import annotations

import math

from pecli.declare.guidance import Reason
from pecli.encodings.shared.reasons import added


def why() -> list[Reason]:
    """Return the answers that belong to this encoding alone."""
    width, base = 512, 10000
    slowest = 2 * math.pi * base ** ((width - 2) / width)
    needed = (131072 / (2 * math.pi)) ** (width / (width - 2))
    return [
        Reason(
            "Why both sine and cosine?",
            "sin(w(p + k)) = sin(wp) cos(wk) + cos(wp) sin(wk): the sine further on needs the cosine here. With "
            "both, one matrix M_k takes every row to the row k further, whatever p is. Of sines alone there is none, "
            "and one sine is the same at p and at pi/w - p.",
            "inspect sinusoidal:dim=4 --steps",
        ),
        Reason(
            "Why is small i the fast end?",
            "w_i = base^(-2i/dim) is 1 at i = 0, a turn in 6.28 positions, and falls from pair to pair. The first "
            "columns tell neighbours apart, the last ones tell where in the text one is. Texts that call the low "
            "dimensions slow have it reversed.",
            "inspect sinusoidal:dim=12,len=50 --plot -",
        ),
        Reason(
            "How fast do the frequencies fall?",
            f"By one ratio from pair to pair, base^(2/dim): {base ** (2 / width):.5g} at dim {width} (not 1.046, as "
            "may be read). Equal ratios give each scale of distances the same number of pairs.",
        ),
        Reason(
            "Why 10000?",
            f"It was chosen, not derived. The slowest pair then takes 2 pi base^((dim-2)/dim) = {slowest:,.0f} "
            f"positions for a turn at dim {width}; 2 pi base = {2 * math.pi * base:,.0f} is only the limit of ever "
            "wider tables. A base far larger wastes pairs that hardly move; a smaller one lets the slowest come "
            "round.",
            "inspect sinusoidal:dim=512,len=8 --properties",
        ),
        Reason(
            "Which base does a length need?",
            "For the slowest pair not to come round within n positions, base >= (n / 2 pi)^(dim/(dim-2)): "
            f"{needed:,.0f} for 131,072 at dim {width}. That keeps rows far from each other; it does not make a model "
            "read what it was not trained on.",
        ),
        Reason(
            "Are rows of different positions orthogonal?",
            "No. Their product is the sum of cos(w_i (p - q)): it depends on the distance alone, is largest at 0, "
            "and is even: before and after look alike until the projections of queries and keys differ.",
            "inspect sinusoidal:dim=64,len=64 --properties",
        ),
        Reason(
            "Is PE(10) - PE(5) = PE(5) - PE(0)?",
            "No. The same distance is the same matrix, not the same difference.",
            "inspect sinusoidal:dim=4 --steps",
        ),
        *added(scaled=True),
    ]
