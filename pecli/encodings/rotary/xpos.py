"""xPos: rotation whose pairs fade with the distance."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from functools import cache, partial
from typing import Annotated, Literal

from pecli.encodings.shared.deferred import Floats, dd, np
from pecli.encodings.shared.parameters import Base, HeadDim
from pecli.errors import BadParameter
from pecli.numbers.decimals import FOR_DOUBLED, geometric, number_text
from pecli.spec.declaration import Facts, Family, Param, encoding
from pecli.spec.hooks import Change, Effect, other_values
from pecli.spec.plans import Companion, Waves, rotation

EFFECT = Effect(factor="scale", opposed=True, note="queries are multiplied by the scale, keys divided by it")


@encoding(
    family=Family.ROTARY,
    title="xPos",
    facts=Facts(relative="rotation", cost="n * dim + n * dim // 2"),
    example="xpos:dim=4,max-len=8",
    place=4,
    hooks={"apply": lambda recipe: EFFECT, "mistakes": ":mistakes"},
)
def xpos(
    *,
    dim: HeadDim,
    base: Base = Decimal(10000),
    scale_base: Annotated[Decimal, Param(ge=1, le=1e12)] = Decimal(512),
    centre: Annotated[Literal["floor", "ceil"] | Decimal, Param(number=True, metavar="floor|ceil|P")] = "floor",
    max_len: Annotated[
        int | None, Param(ge=1, lt=1 << 53, of_table="length", when=("centre", ("floor", "ceil")))
    ] = None,
) -> Waves:
    """Rotation with a decay by distance, weakest for the slow pairs.

    Formula
    -------
    w_i = base^(-2i/dim); cos(p w_i), sin(p w_i)
    scale(p, i) = z_i^((p - centre) / scale-base), z_i = (2i/dim + 0.4) / 1.4
    queries are multiplied by scale, keys divided by it

    Parameters
    ----------
    scale_base
        Positions per power of the scale.
    centre
        Position of scale 1: half the length, cut (flash-attention, lucidrains) or rounded up (torchscale); or a number.
    max_len
        Length of the whole table, whose middle is the centre (default: this table's length).

    Source
    ------
    Sun et al. 2022, arXiv:2212.10554, section 3.2 and the authors' torchscale

    Used by
    -------
    torchscale, x-transformers, rotary-embedding-torch, flash-attention

    Use it
    ------
    if scores must also decay with the distance

    Not
    ---
    without a causal mask: later keys grow instead

    Not recognised
    --------------
    its cosines and sines are named as those of rope; the scales have no rule
    """
    if isinstance(centre, Decimal):
        if abs(centre) >= 1 << 53:
            raise BadParameter("centre", number_text(centre), "must lie below 2^53 in size")
        middle = Fraction(centre)
    else:
        middle = Fraction(((max_len or 1) + (centre == "ceil")) // 2)
    half = dim // 2

    @cache
    def powers() -> dd.Powers:
        ratios = (FOR_DOUBLED.divide(Decimal(5 * i + dim), Decimal(7 * half)) for i in range(half))
        return dd.Powers([FOR_DOUBLED.divide(FOR_DOUBLED.ln(ratio), scale_base) for ratio in ratios])

    def scale(points: dd.Points) -> dd.Exponentials:
        return powers().at(points.beyond(middle))

    return rotation(geometric(base, Fraction(2, dim), half), companions=(Companion("scale", half, scale),))


def mistakes(keys: Mapping[str, str]) -> Iterator[Change]:
    """Yield a scale whose centre is the first position, and scales of another base or of other powers."""
    if keys["centre"] in ("floor", "ceil"):
        text = "1 at position 0, not in the middle: half the length is not subtracted"
        yield Change("parameter", text, {"centre": "0", "max-len": None})
    lengths = (keys[key] for key in ("dim", "max-len") if keys.get(key))
    yield from other_values(keys, "scale-base", "512", "256", "1024", *lengths)
    for formula, of_pair in POWERS.items():
        text = f"each pair fades by {formula} where (2i/dim + 0.4) / 1.4 was expected"
        yield Change("scale", text, values=partial(_faded, of_pair))


# Formulas taken for a pair's power of the scale: what each gives for pairs i as an array, and the width.
POWERS: dict[str, Callable[[Floats, int], Floats]] = {
    "(i/dim + 0.4) / 1.4": lambda i, dim: (i / dim + 0.4) / 1.4,
    "2i/dim + 0.4": lambda i, dim: 2 * i / dim + 0.4,
    "(2i/(dim - 2) + 0.4) / 1.4": lambda i, dim: (2 * i / (dim - 2) + 0.4) / 1.4,
}


def _faded(of_pair: Callable[[Floats, int], Floats], name: str, rows: Floats, first: int) -> Floats:
    """Return rows of the scales (n, pairs) with other powers; the rows of cosines and sines as they are."""
    pairs = rows.shape[-1]
    if name != "scale" or pairs < 2:
        return rows
    i = np.arange(pairs, dtype=float)
    powers = np.log(of_pair(i, 2 * pairs)) / np.log((i / pairs + 0.4) / 1.4)
    return np.asarray(rows**powers)
