"""An encoding of one's own for each family: absolute, rotary, rope scaling, bias, relative.

pecli --plugin own_families.py generate decay-pe --dim 4 --len 8
pecli --plugin own_families.py explain hyperbolic-bias:heads=2
"""

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Annotated

import numpy as np

from pecli.own import (
    CONTEXT,
    PLAIN,
    TAU,
    Bias,
    Candidate,
    Domain,
    DoubleDouble,
    Effect,
    Family,
    Fixed,
    Frame,
    Param,
    Points,
    Profile,
    Reach,
    Recipe,
    Relative,
    Step,
    Term,
    Values,
    Waves,
    divide,
    encoding,
    exp,
    from_decimal,
    geometric,
    rotation,
)

Dim = Annotated[int, Param("Width of one vector.", ge=2, le=1 << 20, even=True)]
Heads = Annotated[int, Param("Number of heads.", ge=1, le=1 << 10)]


# Absolute: a function of points returns (n, width), as DoubleDouble so that every type is rounded once.
@encoding(family=Family.ABSOLUTE, title="Exponential decay", example="decay-pe:dim=4")
def decay_pe(*, dim: Dim) -> Values:
    """Exponentials of the position, slower in each column.

    Formula
    -------
    pe(p, i) = exp(-p / (i + 1))
    """
    rates = [Fraction(-1, i + 1) for i in range(dim)]
    return Values(dim, lambda points: exp(points.times(rates)), domain=Domain(low=Fraction(0)))


# Rotary: frequencies as exact decimals, in radians per position; the engine makes cosines and sines.
@encoding(family=Family.ROTARY, title="Linear RoPE", example="linear-rope:dim=4,longest=64")
def linear_rope(
    *, dim: Dim, longest: Annotated[int, Param("Longest wavelength, in positions.", ge=4, le=1 << 30)] = 4096
) -> Waves:
    """Rotation by frequencies that are evenly spaced.

    Formula
    -------
    w_i = 2 pi (i + 1) / longest
    """
    return rotation(tuple(CONTEXT.divide(TAU * (i + 1), Decimal(longest)) for i in range(dim // 2)))


# Rope scaling: RoPE's frequencies, changed.
@encoding(
    family=Family.ROTARY, title="RoPE, slowed from one pair on", example="late-rope:dim=8,base=100,factor=4,first=2"
)
def late_rope(
    *,
    dim: Dim,
    factor: Annotated[Decimal, Param("What divides the frequencies.", ge=1, le=1e6)],
    first: Annotated[int, Param("First pair that is slowed.", ge=0, le=1 << 19)] = 0,
    base: Annotated[Decimal, Param("Base of the series of frequencies.", ge=1e-6, le=1e30)] = Decimal(10000),
) -> Waves:
    """RoPE whose slow pairs are interpolated and whose fast pairs stay.

    Formula
    -------
    w_i = base^(-2i/dim), divided by factor from pair first on
    """
    plain = geometric(base, Fraction(2, dim), dim // 2)
    return rotation(tuple(w if i < first else CONTEXT.divide(w, factor) for i, w in enumerate(plain)))


# Bias: a function of distances (key minus query) and heads returns (heads, m). The three hooks are optional:
# how `identify` recognises it, what `explain` works through, and what `extrapolate` says of longer sequences.
def recognised(profile: Profile) -> Iterator[Candidate]:
    """Yield the recipe for values -h D / (1 + D), h = 1, 2, ..: half of h at distance 1."""
    values, at = profile.seen
    if profile.by != "distance" or not {-1, -2} <= {*at.tolist()}:
        return
    heads = len(values)
    one = values[:, at == -1][:, 0]
    if np.allclose(one, -np.arange(1, heads + 1) / 2, rtol=1e-6):
        yield Candidate("hyperbolic-bias", {"heads": str(heads)}, profile.table)


def worked(exercise: object) -> list[Step]:
    """Work out the first head."""
    return [Step("bias of head 1", [f"distance {d}: -{d} / (1 + {d}) = {-d / (1 + d):.4f}" for d in (0, 1, 2, 3)])]


def reach(recipe: Recipe) -> Reach:
    """Say what new distances bring."""
    return Reach("biases", "the bias of each new distance, by the same formula")


@encoding(
    family=Family.BIAS,
    title="Hyperbolic bias",
    example="hyperbolic-bias:heads=2",
    hooks={"identify": recognised, "lesson": worked, "extend": reach},
)
def hyperbolic_bias(*, heads: Heads) -> Bias:
    """Penalty that never exceeds the number of the head.

    Formula
    -------
    bias(h, i, j) = -h abs(j - i) / (1 + abs(j - i)), h = 1, 2, ..
    """

    def value(distances: Points, chosen: range) -> DoubleDouble:
        size = distances.size().times([Fraction(1)]).T
        share = divide(size, size + from_decimal([Decimal(1)])[:, None])
        return from_decimal([Decimal(-(h + 1)) for h in chosen])[:, None] * share

    return Bias(heads, value)


# Relative: vectors, and which of them belongs to a query and a key. `apply` says what a score is the sum of.
def effect(recipe: Recipe) -> Effect:
    """Say that a query meets the vector of the distance."""
    return Effect(terms=(*PLAIN, Term("query", "vector")), note="q.k + q.r, r the vector of the distance")


@encoding(family=Family.RELATIVE, title="Ramp vectors", example="ramp-vectors:dim=4,clip=3", hooks={"apply": effect})
def ramp_vectors(
    *, dim: Dim, clip: Annotated[int, Param("Largest distance with a vector of its own.", ge=1, le=1 << 20)]
) -> Relative:
    """Vectors that grow with the distance.

    Formula
    -------
    vector(d, i) = d / (clip (i + 1)), d = key - query cut to -clip .. clip
    """

    def vectors(start: int, stop: int) -> np.ndarray:
        return np.arange(start - clip, stop - clip)[:, None] / (clip * np.arange(1.0, dim + 1))

    def index(distances: Points, frame: Frame) -> np.ndarray:
        return np.clip(distances.whole(), -clip, clip) + clip

    fixed = Fixed("vector", (2 * clip + 1, dim), ("row", "channel"), vectors, role="vector")
    return Relative(index, fixed=(fixed,), domain=Domain(integral=True))
