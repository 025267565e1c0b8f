"""LongRoPE's lists told from frequencies, and the numbers of its magnitude."""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction

import numpy as np

from pecli.encodings.rotary.rope.ramps import PairSize
from pecli.measures.spectra import COMMON_BASES, Measured, Spectrum
from pecli.numbers.shortest import digits, shortest
from pecli.numbers.text import join_list, number_text

MOST_DIGITS = 4.0  # on average, of factors that a search found and a config prints
EVIDENCE = 2.0  # digits by which measured factors must be shorter than chance makes them
LARGEST = 1000.0  # of a factor
LENGTHS = tuple(1 << k for k in range(9, 18))
TIMES = tuple(
    Decimal(f) for f in ("2", "4", "8", "16", "32", "64", "1.5", "2.5", "3", "5", "6", "10", "12", "20", "40")
)


def lists(measured: Measured) -> Iterator[Spectrum]:
    """Yield the lists for the usual base that makes the factors shortest."""
    found = []
    for base in COMMON_BASES[:8]:
        plain = np.exp(-np.arange(len(measured.steps)) / measured.half * math.log(float(base)))
        ratio = plain / measured.steps
        if (ratio < 0.5).any() or (ratio > LARGEST).any() or (measured.errors >= 0.5).any():
            continue
        factors = [shortest(r * (1 - e), r * (1 + e)) for r, e in zip(ratio, measured.errors, strict=True)]
        # a random number in an interval of relative width 2e has about -log10(2e) digits
        chance = float(np.mean(np.maximum(1.0, -np.log10(2 * np.maximum(measured.errors, 1e-17)))))
        mean = float(np.mean([digits(f) for f in factors]))
        found.append((mean - chance, mean, base, factors, plain))
    found.sort(key=lambda item: item[0])
    for gain, mean, base, factors, plain in found[:1]:
        items = join_list(factors, "+")
        keys = {"scaling": "longrope", "short-factor": items, "long-factor": items}
        if base != 10000:
            keys["base"] = number_text(base)
        frequencies = plain / np.array([float(f) for f in factors])
        short = gain < -EVIDENCE and mean <= MOST_DIGITS
        if not short:  # any factors do: nearest ones instead of the shortest
            factors = [
                shortest(r * (1 - e / 8), r * (1 + e / 8))
                for r, e in zip(plain / measured.steps, measured.errors, strict=True)
            ]
            items = join_list(factors, "+")
            keys |= {"short-factor": items, "long-factor": items}
            frequencies = plain / np.array([float(f) for f in factors])
        yield Spectrum(keys, Fraction(1), frequencies, 50 + mean, listed=not short)


def sizes(size: PairSize) -> Iterator[tuple[dict[str, str], float]]:
    """Yield the parameters that give the size of the pairs."""
    yield _magnitude(size.measured, max(size.loose / 32, 2.0**-20)), 0.0


def _magnitude(size: float, loose: float) -> dict[str, str]:
    """Return original length and factor whose magnitude is `size`, or the magnitude itself."""
    if abs(size - 1) <= loose:
        return {"original-max": "4096", "attention-factor": "1"}
    made = [
        (abs(math.sqrt(1 + math.log(float(factor)) / math.log(length)) - size), length, factor)
        for length in LENGTHS
        for factor in TIMES
    ]
    gap, length, factor = min(made, key=lambda item: item[0])
    if gap <= loose * size:
        return {"original-max": str(length), "factor": number_text(factor)}
    return {"original-max": "4096", "attention-factor": number_text(shortest(size * (1 - loose), size * (1 + loose)))}
