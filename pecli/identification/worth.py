"""What a digit that was chosen to fit must explain, and which numbers nobody would choose."""

from __future__ import annotations

from decimal import Decimal

from pecli.declare.guess import Guess
from pecli.identification.fitting import chosen
from pecli.measures.spectra import SHORT
from pecli.numbers.shortest import digits

NEARLY = 0.9  # share of equal values that rounded parameters leave
DIGIT = 5e-4  # share of the values that a digit must explain, where a library's own roundings leave some open
ROUGH_DIGIT = 5e-3  # the same where few values are equal, and chance moves many
SETTLING = 2  # values for a digit, where another choice explains all


def worth(equal: float, count: int, *, sure: bool) -> float:
    """Return the share of so many values that a digit must explain where a share is equal: none where all is settled.

    What explains all leaves none to a library's roundings: a few values then settle what a digit would.
    """
    if sure:
        return 0.0
    return min(DIGIT, SETTLING / count) if equal == 1 and count else DIGIT if equal > NEARLY else ROUGH_DIGIT


def long(guess: Guess) -> bool:
    """Whether a base has more digits than somebody would choose."""
    return digits(Decimal(chosen(guess, "base"))) > SHORT
