"""KERPLE: kernels with trained numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Literal

from pecli.encodings.shared import trained
from pecli.encodings.shared.biases import Mask, each_head, minus
from pecli.encodings.shared.deferred import Real, dd, lessons, np
from pecli.encodings.shared.parameters import Heads
from pecli.errors import BadParameter
from pecli.spec.declaration import Facts, Family, Param, Work, encoding
from pecli.spec.hooks import Change, Step, short
from pecli.spec.plans import Bias, Fixed

SMALLEST = Fraction(1, 100)  # the authors' code lets no trained parameter fall below it


@encoding(
    family=Family.BIAS,
    title="KERPLE",
    facts=Facts(learned=True, bounded=False, relative="distance", parameters="2 * heads", cost="heads * n * n"),
    work=Work(kernel="2 * heads"),
    example="kerple:heads=2,r1=1+0.5,r2=1+0.25",
    place=2,
    hooks={"lesson": ":lesson", "mistakes": ":mistakes"},
)
def kerple(
    *,
    heads: Heads,
    kind: Literal["log", "power"] = "log",
    r1: Annotated[tuple[Decimal, ...] | None, Param(gt=0, le=1e30)] = None,
    r2: Annotated[tuple[Decimal, ...] | None, Param(gt=0, le=1e30)] = None,
    mask: Mask = "none",
    seed: Annotated[trained.DrawnSeed, Param(when=("r1", (None,)))] = 0,
    generator: Annotated[trained.Philox, trained.generation(("r1", (None,)))] = trained.GENERATOR,
) -> Bias:
    """Kernel of the distance with two trained parameters per head.

    The paper masks later keys (mask causal).

    Formula
    -------
    kind log: bias(h, i, j) = -r1_h ln(1 + r2_h abs(j - i))
    kind power: bias(h, i, j) = -r1_h abs(j - i)^r2_h, r2_h at most 2
    before training r1 and r2 are uniform, at least 0.01: log r1 < 2, r2 < 1; power r1 < 1, r2 < 2

    Parameters
    ----------
    kind
        Logarithmic or power kernel.
    r1
        Strength of the penalty, one for each head or one for all (default: random).
    r2
        Scale of the distance (log) or its exponent (power), as many as r1.
    seed
        Seed of the random parameters.

    Source
    ------
    Chi et al. 2022, arXiv:2205.09921, sections 4.2 and 4.3, and the authors' code

    Used by
    -------
    the authors' GPT-NeoX models

    Use it
    ------
    as ALiBi, with slopes that are trained

    Not
    ---
    if positions should have no trained parameters

    Not recognised
    --------------
    its two numbers for each head are trained
    """
    if (r1 is None) != (r2 is None):
        given, other = ("r1", "r2") if r2 is None else ("r2", "r1")
        raise BadParameter(given, "+".join(map(str, r1 or r2 or ())), f"needs {other} beside it: give both or neither")
    first = each_head("r1", r1, heads) or _drawn(seed, 0, heads, 2 if kind == "log" else 1)
    second = each_head("r2", r2, heads) or _drawn(seed, 1, heads, 1 if kind == "log" else 2)
    if kind == "power" and max(second) > 2:
        raise BadParameter("r2", f"{float(max(second)):g}", "must be at most 2 with kind=power")

    def value(distances: dd.Points, chosen: range) -> Real:

        scale = dd.from_decimal([first[h] for h in chosen])[:, None]
        if kind == "log":
            grown = dd.log1p(distances.size().times([second[h] for h in chosen]).T)
        else:
            grown = _powers(distances, [second[h] for h in chosen])
        return minus(scale * grown)

    return Bias(heads, value, causal=mask == "causal", fixed=(_by_head("r1", first), _by_head("r2", second)))


def _powers(distances: dd.Points, exponents: list[Fraction]) -> dd.DoubleDouble:
    """Return abs(distance)^exponent, (heads, m); the logarithm has no value at distance 0."""
    size = distances.size().times([Fraction(1)]).T
    zero = size.hi == 0.0
    some = dd.DoubleDouble(np.where(zero, 1.0, size.hi), size.lo)
    found = dd.power(some, dd.from_decimal(exponents)[:, None])
    return dd.DoubleDouble(np.where(zero, 0.0, found.hi), np.where(zero, 0.0, found.lo))


def _drawn(seed: int, stream: int, heads: int, below: int) -> list[Fraction]:
    """Return uniform numbers from 0 to `below`, raised to the smallest that the authors allow."""
    values = trained.draw(seed, stream, 0, heads, 1, "uniform")[:, 0]
    return [max(SMALLEST, (1 + Fraction(value)) / 2 * below) for value in values.tolist()]


def _by_head(name: str, values: list[Fraction]) -> Fixed:
    """Return the trained numbers as an array."""
    return Fixed(name, (len(values),), ("head",), lambda start, stop: dd.from_decimal(values[start:stop]))


def mistakes(keys: Mapping[str, str]) -> Iterator[Change]:
    """Yield exchanged numbers, and the other kernel."""
    if "r1" in keys:
        yield Change("parameter", "r1 and r2 are exchanged", {"r1": keys["r2"], "r2": keys["r1"]})
    other = {"log": "power", "power": "log"}[keys["kind"]]
    yield Change("parameter", f"kind {other} where {keys['kind']} was expected", {"kind": other})


def lesson(exercise: lessons.Exercise) -> list[Step]:
    """Work out the kernel of the distance."""
    r1, r2 = (short(float(fixed.values(0, 1).hi[0])) for fixed in exercise.plan.fixed)

    def cell(query: Fraction, key: Fraction) -> str:
        size = abs(key - query)
        return f"-{r1} x ln(1 + {r2} x {size})" if exercise.values["kind"] == "log" else f"-{r1} x {size}^{r2}"

    return exercise.of_family(cell)
