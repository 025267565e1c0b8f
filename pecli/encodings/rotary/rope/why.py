"""Why rotary tables are as they are."""

from __future__ import annotations

import math

from pecli.declare.guidance import Reason


def why() -> list[Reason]:
    """Return the answers that belong to this encoding alone."""
    dim, base, trained = 128, 10000, 4096
    full = sum(2 * math.pi * base ** (2 * i / dim) <= trained for i in range(dim // 2))
    across = -math.sin(1)
    return [
        Reason(
            "Why does only the distance count?",
            "Rotations are a group: R_m R_n = R_(m+n), and the transpose turns back. So (R_m q) . (R_n k) = "
            "q . R_m^T R_n k = q . R_(n-m) k.",
            "inspect rope:dim=4 --steps",
        ),
        Reason(
            "Is the score <q, k> times a function of the distance?",
            "No. The rotation mixes the two halves of a pair: with q = (1, 0) and k = (0, 1), <q, k> is 0 and yet "
            f"the score one position on is {across:.4g}. Each pair gives <q, k> cos(w d) and a second term, the cross "
            "product times sin(w d).",
            "apply rope:dim=2 --vector 0,1 --positions 1 --pairs half --steps",
        ),
        Reason(
            "It has values at every position: why does it fail past the trained length?",
            f"Values are not the trouble, training is. At head width {dim} and base {base}, {full} of {dim // 2} "
            f"pairs have made a full turn within {trained} positions; the others meet angles beyond that training "
            "never showed. A scaling slows them, a larger base does so before training.",
            "extrapolate rope:dim=128 --train-len 4096 --test-len 8192 --scaling all",
        ),
        Reason(
            "Where do interpolated positions end?",
            "Stretched from 2048 to 4096 by a factor of 2, the last position is 4095 / 2 = 2047.5, not 2048: no "
            "angle leaves the trained range, but neighbours are half a step apart, which is new too.",
            "inspect rope:dim=4,scaling=linear,factor=2 --steps",
        ),
        Reason(
            "Interleaved or halves?",
            "Pair i is columns 2i and 2i+1 in the paper, in GPT-J and Cohere, columns i and i + d/2 in Llama's "
            "transformers code. The same weights give nonsense with the other pairing, silently, unless their rows "
            "are permuted.",
            "compare rope:dim=8,len=16,layout=half rope:dim=8,len=16,layout=interleaved --values",
        ),
        of_magnitude(),
    ]


def of_magnitude() -> Reason:
    """Return what turning, and a scaling's magnitude, do to the length of a vector."""
    return Reason(
        "Does turning change how long a vector is?",
        "No: a rotation keeps the norm. A magnitude (YaRN, LongRoPE) multiplies it on purpose; logits grow with "
        "its square.",
        "inspect rope:dim=8,len=16 --properties",
    )
