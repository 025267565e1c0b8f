"""The parameters of rope-axes from measured axes: widths, bases, first coordinates and scales."""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import Decimal
from itertools import pairwise

import numpy as np

from pecli.declare.measured import PUBLISHED_BASES, Axes, GridAxis, Named, plain_digits
from pecli.numbers.decimals import digits, number_text, shortest

MORE_BASES = ("256", "2000", *PUBLISHED_BASES)
EQUAL_AXES = 1.0
"""Digits that two sides of one width count: rope2d says the same."""
MAX_SCALE_DIGITS = 4
NTK = (1, 2, 3, 4)
"""Factors by which a base is stretched, as Cosmos does."""


def identify(axes: Axes) -> Iterator[Named]:
    """Yield the parameters of rope-axes, the plainest first."""
    if axes.absolute or not axes.sides:
        return
    for runs in _runs(axes):
        moving = [number for number, _ in runs if number >= 0]
        if moving != sorted(set(moving)) or len(moving) != len(axes.axes) or not 2 <= len(runs) <= 4:
            continue
        sides = [axes.sides[axes.side_of[number]] if number >= 0 else 1 for number, _ in runs]
        if math.prod(sides) + axes.prefix + axes.suffix != axes.rows:
            continue
        keys = {"axes": "+".join(str(2 * width) for _, width in runs), "grid": "x".join(map(str, sides)), **axes.edges}
        cost = EQUAL_AXES * (len(runs) == 2 and runs[0][1] == runs[1][1]) + 0.25 * (len(runs) - 1)
        table = dict(axes.table)
        if table.get("layout") == "half-axis":
            table, keys = {"layout": "half"}, {**keys, "halves": "axis"}
        parts = [
            _axis(axes.axes[number], width, sides[k]) if number >= 0 else Part()
            for k, (number, width) in enumerate(runs)
        ]
        if any(part is None for part in parts):
            continue
        found = [part for part in parts if part is not None]
        own = [part for part, (number, _) in zip(found, runs, strict=True) if number >= 0]
        given = {
            "base": _listed(
                [p.base if n >= 0 else own[0].base for p, (n, _) in zip(found, runs, strict=True)], "10000"
            ),
            "ntk": _listed([part.ntk for part in found], "1"),
            "first": _listed([part.first for part in found], "0"),
            "scale": _listed([part.scale for part in found], "1"),
            "centred": _listed([part.centred for part in found], "0"),
        }
        cost += max(part.cost for part in found)
        yield Named(
            {**keys, **{key: text for key, text in given.items() if text}}, np.empty(0), fitted=cost, table=table
        )


class Part:
    """Parameters of one axis; of one that does not move the defaults."""

    def __init__(self, base: str = "10000", cost: float = 0.0, **given: str) -> None:
        self.base, self.cost = base, cost
        self.ntk, self.scale = given.get("ntk", "1"), given.get("scale", "1")
        self.first, self.centred = given.get("first", "0"), given.get("centred", "0")


def _listed(values: list[str], usual: str) -> str:
    """Return numbers as the option takes them, "" where all are the usual one."""
    if set(values) == {usual}:
        return ""
    return values[0] if len(set(values)) == 1 else "+".join(values)


def _runs(axes: Axes) -> Iterator[list[tuple[int, int]]]:
    """Yield the axis (-1: none moves) and the number of pairs of each block of columns."""
    owner = axes.owner
    edges = [0, *(np.flatnonzero(np.diff(owner)) + 1).tolist(), len(owner)]
    found = [(int(owner[a]), b - a) for a, b in pairwise(edges)]
    yield found
    joined: list[tuple[int, int]] = []
    for number, width in found:  # pairs too slow to show belong to the axis before them
        if number < 0 and joined:
            joined[-1] = joined[-1][0], joined[-1][1] + width
        else:
            joined.append((number, width))
    if joined != found:
        yield joined


def _axis(axis: GridAxis, width: int, size: int) -> Part | None:
    """Return the parameters of an axis that moves; None where its frequencies are no series."""
    if axis.size != size:
        return None
    exponents = (axis.columns - axis.columns[0]) / width
    first = axis.pairs.steps[0]
    slack = axis.pairs.slack(axis.pairs.steps)[0]
    scales = [Decimal(1)]
    if not first - slack <= 1 <= first + slack and np.isfinite(slack):
        scales = [shortest(first - slack, first + slack)]
    for scale in scales:
        if digits(scale) > MAX_SCALE_DIGITS or scale <= 0:
            continue
        for base in axis.pairs.bases(exponents, float(scale)):
            if not axis.pairs.fits(np.exp(-exponents * math.log(float(base))), float(scale)):
                continue
            cost = plain_digits(base, MORE_BASES) + (0 if scale == 1 else digits(scale) + 1.0)
            given = {"scale": number_text(scale)}
            if digits(base) > 4 and width > 1 and format(base.normalize(), "f") not in PUBLISHED_BASES:
                for factor in NTK[1:]:
                    grown = 10000.0 * factor ** (2 * width / (2 * width - 2))
                    if axis.pairs.fits(np.exp(-exponents * math.log(grown)), float(scale)):
                        base, cost, given = Decimal(10000), 2.0, {**given, "ntk": str(factor)}
                        break
            place = _first(axis, size)
            return None if place is None else Part(number_text(base), cost, **given, **place)
    return None


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
