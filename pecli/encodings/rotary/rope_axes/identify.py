"""The parameters of rope-axes from measured axes: widths, bases, first coordinates and scales."""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import Decimal
from itertools import pairwise

import numpy as np

from pecli.numbers.decimals import digits, number_text, shortest
from pecli.spec.measured import PUBLISHED_BASES, Axes, Floats, GridAxis, Named, plain_digits

MORE_BASES = (*PUBLISHED_BASES, "256", "2000")
# Digits that two sides of one width count: rope2d says the same.
EQUAL_AXES = 1.0
MAX_SCALE_DIGITS = 4
# Largest number of digits of a base that somebody chose; a longer one, such as Cosmos', is reported by its NTK
# factor.
MAX_BASE_DIGITS = 6
# NTK factors of a base, as in Cosmos.
NTK = (2, 3, 4)


# Distance of a point of the unit circle from the one of a coordinate; bfloat16 leaves 0.01.
MAX_STILL_GAP = 0.02

# Parameters with a number for each axis, and their defaults.
USUAL = {"base": "10000", "ntk": "1", "first": "0", "scale": "1", "centred": "0"}


def identify(axes: Axes) -> Iterator[Named]:
    """Yield the parameters of rope-axes, the plainest first."""
    if axes.absolute or not axes.sides:
        return
    edges = [0, *(np.flatnonzero(np.diff(axes.owner)) + 1).tolist(), len(axes.owner)]
    runs = [(int(axes.owner[a]), b - a) for a, b in pairwise(edges)]  # the axis, -1 if none moves, and its pairs
    if [number for number, _ in runs if number >= 0] != list(range(len(axes.axes))) or not 2 <= len(runs) <= 4:
        return
    sides = [axes.sides[number - len(axes.axes)] if number >= 0 else 1 for number, _ in runs]
    both = zip(runs, sides, strict=True)
    parts = (_axis(axes.axes[n], width, side) if n >= 0 else ({}, 0.0) for (n, width), side in both)
    found = [part for part in parts if part is not None]
    base = next((given["base"] for given, _ in found if given), "10000")
    still = (_still(axes.angles[a:b], base) for a, b in pairwise(edges))
    found = [(given or other, cost) for (given, cost), other in zip(found, still, strict=False)]
    if math.prod(sides) + axes.prefix + axes.suffix != axes.rows or len(found) < len(runs):
        return
    keys = {"axes": "+".join(str(2 * width) for _, width in runs), "grid": "x".join(map(str, sides)), **axes.edges}
    for key, usual in USUAL.items():
        texts = [given.get(key, base if key == "base" else usual) for given, _ in found]
        if set(texts) != {usual}:
            keys[key] = texts[0] if len(set(texts)) == 1 else "+".join(texts)
    cost = EQUAL_AXES * (len(runs) == 2 and runs[0][1] == runs[1][1]) + 0.25 * (len(runs) - 1)
    yield Named(keys, np.empty(0), fitted=cost + max(price for _, price in found), table=axes.table)


def _axis(axis: GridAxis, width: int, size: int) -> tuple[dict[str, str], float] | None:
    """Return the parameters of an axis that moves, and their cost; None where its frequencies are no series."""
    if axis.size != size:
        return None
    exponents = (axis.columns - axis.columns[0]) / width
    first = axis.pairs.steps[0]
    slack = axis.pairs.slack(axis.pairs.steps)[0]
    scale = Decimal(1)
    if not first - slack <= 1 <= first + slack and np.isfinite(slack):
        scale = shortest(first - slack, first + slack)
    place = _first(axis, size)
    if digits(scale) > MAX_SCALE_DIGITS or scale <= 0 or place is None:
        return None
    options = [(Decimal(text), 1) for text in MORE_BASES] + [(Decimal(10000), factor) for factor in NTK]
    for base, ntk in [*options, *((base, 1) for base in axis.pairs.bases(exponents, float(scale)))]:
        grown = float(base) * ntk ** (width / max(1, width - 1))
        if digits(base) <= MAX_BASE_DIGITS and axis.pairs.fits(np.exp(-exponents * math.log(grown)), float(scale)):
            cost = 2.0 if ntk > 1 else plain_digits(base, MORE_BASES)
            cost += 0 if scale == 1 else digits(scale) + 1.0
            return {"base": number_text(base), "ntk": str(ntk), "scale": number_text(scale), **place}, cost
    return None


def _still(angles: Floats, base: str) -> dict[str, str]:
    """Return the coordinate of all rows on an axis whose pairs do not move, from their angles."""
    w = float(base) ** (-np.arange(len(angles)) / len(angles))
    first = np.rint(angles[-1] / w[-1])
    fits = np.abs(np.exp(1j * first * w) - np.exp(1j * angles)).max() <= MAX_STILL_GAP
    return {"first": f"{first:.0f}"} if first and fits else {}


def _first(axis: GridAxis, size: int) -> dict[str, str] | None:
    """Return where coordinates begin: at a number, or at minus half the side."""
    if not np.isfinite(axis.origin):
        return None
    whole = round(axis.origin)
    if abs(axis.origin - whole) > 0.05:
        found = shortest(axis.origin - 0.01, axis.origin + 0.01)
        return {"first": number_text(found)} if digits(found) <= 2 else None
    if whole == -((size + 1) // 2):
        return {"centred": "1"}
    return {"first": str(whole)} if whole else {}
