"""Why ALiBi is as it is."""

from __future__ import annotations

from pecli.declare.guidance import Reason


def why() -> list[Reason]:
    """Return the answers that belong to this encoding alone."""
    heads = 8
    first, last = 2.0 ** (-8 / heads), 2.0**-8
    return [
        Reason(
            "Why is each head's slope another?",
            f"So that heads look differently far. With {heads} heads the slopes fall by halves from {first:g} to "
            f"{last:g}: a key 16 positions away weighs e^-{16 * first:g} of the nearest in head 0 and "
            f"e^-{16 * last:g} in head {heads - 1}.",
            "inspect alibi:heads=8 --steps",
        ),
        Reason(
            "Why do the slopes of 12 heads not follow 2^(-8h/H)?",
            "The paper prints that rule for any H; its code, BLOOM and MPT take the powers of two below, then every "
            "other slope of the next power. Both are here: slopes=paper and slopes=frameworks.",
            "compare alibi:heads=12,len=4 alibi:heads=12,slopes=paper,len=4 --values",
        ),
        Reason(
            "Is it -m (i - j) or -m |i - j|?",
            "Under a causal mask it is the same: keys lie before their query. BLOOM adds m j instead, MPT m (j - (n "
            "- 1)): each differs by a number per row, which the softmax takes out.",
            "inspect alibi:heads=8,bias=key-position --steps",
        ),
        Reason(
            "Who uses it?",
            "BLOOM, MPT, Falcon's RW models. StarCoder does not: its positions are a learned table.",
        ),
        Reason(
            "Why does it hold past the trained length?",
            "New distances only continue the line, and what is far weighs almost nothing: the model stays within a "
            "window it knows. That is also its price: far tokens are not found.",
            "extrapolate alibi:heads=8 --train-len 1024 --test-len 4096",
        ),
    ]
