"""Sandwich: sums of cosines of the distance."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from functools import cache, lru_cache
from typing import Annotated

from pecli.encodings.shared.biases import Mask
from pecli.encodings.shared.deferred import Real, dd, engine, np
from pecli.encodings.shared.parameters import Base, Heads
from pecli.numbers.blocks import in_blocks
from pecli.numbers.decimals import geometric
from pecli.spec.declaration import Facts, Family, Param, Work, encoding
from pecli.spec.plans import Bias

CHUNK = 1 << 14  # values worked on at once


@encoding(
    family=Family.BIAS,
    title="Sandwich",
    facts=Facts(relative="distance", cost="heads * n * n"),
    work=Work(kernel="heads * n"),
    example="sandwich:heads=2,width=8",
    place=4,
)
def sandwich(
    *,
    heads: Heads,
    width: Annotated[int, Param(ge=2, le=1 << 16, even=True)] = 128,
    base: Base = Decimal(10000),
    mask: Mask = "none",
) -> Bias:
    """Dot product of two sinusoidal rows, minus its value at distance 0.

    It is a sum of cosines of the distance.

    Formula
    -------
    bias(h, i, j) = (sum over k = 1 .. width/2 of cos((j - i) base^(-2k/width)) - width/2) / (8h/H)
    h = head + 1 = 1 .. H

    Parameters
    ----------
    width
        Width m of the sinusoid (NeMo: the width of a head).

    Source
    ------
    Chi et al. 2023, arXiv:2212.10356, equation 5, as NeMo computes it

    Used by
    -------
    NeMo Megatron

    Use it
    ------
    as ALiBi, with a bias that grows slowly with the distance

    Not
    ---
    if distant tokens must be found

    Not recognised
    --------------
    a sum of cosines shows no width that somebody chose
    """
    frequencies = geometric(base, Fraction(2, width), width // 2 + 1)[1:]

    @cache
    def scales() -> dd.DoubleDouble:
        return dd.from_decimal([Fraction(heads, 8 * (h + 1)) for h in range(heads)])

    @lru_cache(maxsize=4)
    def freqs(unit: Fraction) -> engine.FrequencySet:

        return engine.FrequencySet(frequencies, unit=unit / 2)  # of half the distances

    def value(distances: dd.Points, chosen: range) -> Real:

        total = _cosine_sums(freqs(distances.unit), distances)
        return total[None] * scales()[chosen.start : chosen.stop, None]

    return Bias(heads, value, causal=mask == "causal")


def _cosine_sums(freqs: engine.FrequencySet, distances: dd.Points) -> dd.DoubleDouble:
    """Return the sum over the frequencies of cos - 1, (m,), to about 2^-90 of it for each frequency.

    It is -2 sin^2 of half the angle, which loses nothing where the angle is small.  A distance is 64 q + r, and
    sin (a + b) = sin a cos b + cos a sin b: only the few q and r need exact phases.  What a distance gives does
    not depend on the others.
    """
    sizes, places = np.unique(np.abs(distances.multiples), return_inverse=True)
    high, row = np.unique(sizes // 64 * 64, return_inverse=True)
    low, column = np.unique(sizes % 64, return_inverse=True)
    (c1, s1), (c2, s2) = freqs.doubled_rows(high), freqs.doubled_rows(low)
    total = dd.DoubleDouble(np.empty(len(sizes)), np.empty(len(sizes)))
    for some in in_blocks(0, len(sizes), CHUNK // freqs.count):
        r, c = row[some], column[some]
        sine = dd.add(dd.multiply(s1[r], c2[c]), dd.multiply(c1[r], s2[c]))
        squares = dd.multiply(sine, sine)
        while (many := squares.hi.shape[1]) > 1:  # by halves: the sums of all frequencies at once
            half = many // 2
            sums = dd.add(squares[:, :half], squares[:, half : 2 * half])
            squares = dd.concatenate([sums.T, squares[:, 2 * half :].T]).T if many % 2 else sums
        total.hi[some], total.lo[some] = -2.0 * squares.hi[:, 0], -2.0 * squares.lo[:, 0]
    return total[places]
