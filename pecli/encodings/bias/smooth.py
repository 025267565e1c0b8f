"""Biases that are smooth functions of the distance: KERPLE, the Gaussian kernel, Sandwich.

H heads.  All depend on the size of the distance key - query alone.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Literal

from pecli.declare.encoding import Facts, Family, Param, Source, encoding
from pecli.declare.plan import Bias, Fixed
from pecli.encodings.bias.alibi import Mask, minus, turned
from pecli.encodings.shared.drawn import GENERATOR, DrawnSeed, Generator, draw
from pecli.encodings.shared.parameters import Base, Heads
from pecli.errors import BadParameter
from pecli.numbers.decimals import geometric

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pecli.declare.plan import Real
    from pecli.numbers.doubled import Doubled
    from pecli.numbers.points import Points

SMALLEST = Fraction(1, 100)  # the authors' code lets no trained parameter fall below it


@encoding(
    family=Family.BIAS,
    title="KERPLE",
    formula="""
        kind log: bias(h, i, j) = -r1_h ln(1 + r2_h abs(j - i))
        kind power: bias(h, i, j) = -r1_h abs(j - i)^r2_h, r2_h at most 2
        before training r1 and r2 are uniform, at least 0.01: log r1 < 2, r2 < 1; power r1 < 1, r2 < 2
    """,
    source=Source("Chi et al. 2022", "arXiv:2205.09921", "sections 4.2 and 4.3, and the authors' code"),
    facts=Facts(learned=True, bounded=False, relative="distance", parameters="2 * heads", cost="heads * n * n"),
    users="the authors' GPT-NeoX models",
    example="kerple:heads=2,r1=1+0.5,r2=1+0.25",
)
def kerple(
    *,
    heads: Heads,
    kind: Annotated[Literal["log", "power"], Param("Logarithmic or power kernel.")] = "log",
    r1: Annotated[
        tuple[Decimal, ...] | None,
        Param("Size of the penalty, one for each head or one for all (default: drawn).", gt=0, le=1e30),
    ] = None,
    r2: Annotated[
        tuple[Decimal, ...] | None,
        Param("Scale of the distance (log) or its exponent (power), as many as r1.", gt=0, le=1e30),
    ] = None,
    mask: Mask = "none",
    seed: Annotated[DrawnSeed, Param("Seed of the drawn parameters.", ge=0, lt=1 << 64, when=("r1", (None,)))] = 0,
    generator: Annotated[
        Generator, Param("How parameters are drawn: one Philox word for each.", when=("r1", (None,)))
    ] = GENERATOR,
) -> Bias:
    """Kernel of the distance with two trained numbers per head.

    The paper masks later keys (mask causal).
    """
    if (r1 is None) != (r2 is None):
        given, other = ("r1", "r2") if r2 is None else ("r2", "r1")
        raise BadParameter(given, "+".join(map(str, r1 or r2 or ())), f"needs {other} beside it: give both or neither")
    first = _each_head("r1", r1, heads) or _drawn(seed, 0, heads, 2 if kind == "log" else 1)
    second = _each_head("r2", r2, heads) or _drawn(seed, 1, heads, 1 if kind == "log" else 2)
    if kind == "power" and max(second) > 2:
        raise BadParameter("r2", f"{float(max(second)):g}", "must be at most 2 with kind=power")

    def value(distances: Points, chosen: range) -> Real:
        from pecli.numbers import elementary
        from pecli.numbers.doubled import from_decimal

        scale = _column(from_decimal([first[h] for h in chosen]))
        if kind == "log":
            grown = elementary.log1p(turned(distances.size().times([second[h] for h in chosen])))
        else:
            grown = _powers(distances, [second[h] for h in chosen])
        return minus(scale * grown)

    return Bias(heads, value, even=True, causal=mask == "causal", fixed=(_by_head("r1", first), _by_head("r2", second)))


def _powers(distances: Points, exponents: list[Fraction]) -> Doubled:
    """Return abs(distance)^exponent, (heads, m); the logarithm has no value at distance 0."""
    import numpy as np

    from pecli.numbers import elementary
    from pecli.numbers.doubled import Doubled, from_decimal

    size = turned(distances.size().times([Fraction(1)]))
    zero = size.hi == 0.0
    some = Doubled(np.where(zero, 1.0, size.hi), size.lo)
    found = elementary.power(some, _column(from_decimal(exponents)))
    return Doubled(np.where(zero, 0.0, found.hi), np.where(zero, 0.0, found.lo))


@encoding(
    family=Family.BIAS,
    title="Gaussian kernel",
    formula="""
        apply multiply: w(h, i, j) = exp(-(j - i)^2 / (2 sigma_h^2)), a weight on the logits
        apply log: bias(h, i, j) = -(j - i)^2 / (2 sigma_h^2), its logarithm, added
    """,
    source=Source("Chi et al. 2022", "arXiv:2205.09921", "the power kernel with exponent 2; a radial basis function"),
    facts=Facts(relative="distance", cost="heads * n * n"),
    users="teaching; local attention with a soft window",
    example="gaussian:heads=2,sigma=1+4",
)
def gaussian(
    *,
    heads: Heads = 1,
    sigma: Annotated[tuple[Decimal, ...], Param("Width, one for each head or one for all.", ge=1e-30, le=1e30)] = (
        Decimal(1),
    ),
    apply: Annotated[
        Literal["multiply", "log"], Param("A weight that multiplies the logits, or its logarithm, a bias to add.")
    ] = "multiply",
    mask: Annotated[Mask, Param("Minus infinity for keys after the query; with apply log.")] = "none",
) -> Bias:
    """Weight that falls with the square of the distance."""
    if apply == "multiply" and mask == "causal":
        rule = "needs a bias, and apply=multiply gives a weight that minus infinity would turn round: use --apply log"
        raise BadParameter("mask", mask, rule)
    widths = _each_head("sigma", sigma, heads)
    factors = [1 / (2 * width * width) for width in widths]

    def value(distances: Points, chosen: range) -> Real:
        from pecli.numbers import elementary
        from pecli.numbers.doubled import from_decimal

        size = turned(distances.size().times([Fraction(1)]))
        exponent: Real = minus(size * size * _column(from_decimal([factors[h] for h in chosen])))
        return exponent if apply == "log" else elementary.exp(exponent)  # type: ignore[arg-type]

    return Bias(heads, value, even=True, causal=mask == "causal")


@encoding(
    family=Family.BIAS,
    title="Sandwich",
    formula="""
        bias(h, i, j) = (sum over k = 1 .. width/2 of cos((j - i) base^(-2k/width)) - width/2) / (8h/H), h = 1 .. H
    """,
    source=Source("Chi et al. 2023", "arXiv:2212.10356", "equation 5, as NeMo computes it"),
    facts=Facts(relative="distance", cost="heads * n * n"),
    users="NeMo Megatron",
    example="sandwich:heads=2,width=8",
)
def sandwich(
    *,
    heads: Heads,
    width: Annotated[
        int, Param("Width m of the sinusoid whose products it sums (of a head in NeMo).", ge=2, le=1 << 16, even=True)
    ] = 128,
    base: Base = Decimal(10000),
    mask: Mask = "none",
) -> Bias:
    """Product of two sinusoidal rows, less its value at distance 0.

    It is a sum of cosines of the distance.
    """
    frequencies = geometric(base, Fraction(2, width), width // 2 + 1)[1:]
    scales = [Fraction(heads, 8 * (h + 1)) for h in range(heads)]

    @lru_cache(maxsize=4)
    def wheel(unit: Fraction) -> object:
        from pecli.engine import Wheel

        return Wheel(frequencies, unit=unit)

    def value(distances: Points, chosen: range) -> Real:
        from pecli.engine import Wheel
        from pecli.numbers.doubled import Doubled, from_decimal

        turning = wheel(distances.unit)
        assert isinstance(turning, Wheel)
        total = _cosine_sums(turning, distances)
        scale = _column(from_decimal([scales[h] for h in chosen]))
        return Doubled(total.hi[None], total.lo[None]) * scale

    return Bias(heads, value, even=True, causal=mask == "causal")


def _cosine_sums(wheel: object, distances: Points) -> Doubled:
    """Return the sum over the frequencies of cos - 1, (m,), to about 2^-96 for each frequency.

    A distance is 64 q + r, and cos (a + b) = cos a cos b - sin a sin b: only the few q and r need
    exact phases.  What a distance gives does not depend on the others.
    """
    import numpy as np

    from pecli.engine import Wheel
    from pecli.numbers.doubled import Doubled, add, multiply

    assert isinstance(wheel, Wheel)
    sizes, places = np.unique(np.abs(distances.multiples), return_inverse=True)
    high, row = np.unique(sizes // 64 * 64, return_inverse=True)
    low, column = np.unique(sizes % 64, return_inverse=True)
    (c1, s1), (c2, s2) = wheel.doubled_rows(high), wheel.doubled_rows(low)
    total = Doubled(np.full(len(sizes), -float(wheel.count)), np.zeros(len(sizes)))

    def column_of(x: Doubled, rows: NDArray[np.intp], k: int) -> Doubled:
        return Doubled(x.hi[rows, k], x.lo[rows, k])

    for k in range(wheel.count):
        both = multiply(column_of(c1, row, k), column_of(c2, column, k))
        total = add(total, add(both, -multiply(column_of(s1, row, k), column_of(s2, column, k))))
    return Doubled(total.hi[places], total.lo[places])


def _each_head(name: str, given: tuple[Decimal, ...] | None, heads: int) -> list[Fraction]:
    """Return one exact number for each head; nothing where none is given."""
    if given is None:
        return []
    if len(given) not in (1, heads):
        raise BadParameter(name, f"({len(given)} numbers)", f"must be one number, or one for each of heads={heads}")
    return [Fraction(value) for value in given] * (heads if len(given) == 1 else 1)


def _drawn(seed: int, stream: int, heads: int, below: int) -> list[Fraction]:
    """Return uniform numbers from 0 to `below`, raised to the smallest that the authors allow."""
    values = draw(seed, stream, 0, heads, 1, "uniform")[:, 0]
    return [max(SMALLEST, (1 + Fraction(value)) / 2 * below) for value in values.tolist()]


def _column(values: Doubled) -> Doubled:
    from pecli.numbers.doubled import Doubled

    return Doubled(values.hi[:, None], values.lo[:, None])


def _by_head(name: str, values: list[Fraction]) -> Fixed:
    """Return the trained numbers as an array."""

    def rows(start: int, stop: int) -> Real:
        from pecli.numbers.doubled import from_decimal

        return from_decimal(values[start:stop])

    return Fixed(name, (len(values),), ("head",), rows)
