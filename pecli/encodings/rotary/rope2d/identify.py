"""The parameters of rope2d from measured axes: order of the sides, series and coordinates."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from decimal import Decimal
from fractions import Fraction

import numpy as np

from pecli.encodings.shared.identify_grids import two_sides
from pecli.numbers.decimals import digits, number_text, shortest
from pecli.spec.measured import PUBLISHED_BASES, Axes, Named, plain_digits

MAX_FIRST_DIGITS = 3
"""Digits of a first coordinate that somebody chose."""


def identify(axes: Axes) -> Iterator[Named]:
    """Yield the parameters of rope2d, published conventions first."""
    m = axes.count
    if axes.absolute or m % 2 or len(axes.sides) > 3:
        return
    halves = {"blocks": (range(m // 2), range(m // 2, m)), "alternate": (range(0, m, 2), range(1, m, 2))}
    table = dict(axes.table)
    own = dict(axes.edges)
    if table.get("layout") == "half-axis":
        table, own = {"layout": "half"}, {**own, "halves": "axis"}
    for sides in two_sides(axes, frames=True):
        rows, columns = len(sides) - 2, len(sides) - 1
        for pairs, (first, second) in halves.items():
            for order, wanted in {"yx": {rows: first, columns: second}, "xy": {rows: second, columns: first}}.items():
                by_side = axes.by_side(sides, wanted)
                if by_side is None:
                    continue
                given = {"dim": str(2 * m), "grid": "x".join(map(str, sides)), **own}
                given |= {} if order == "yx" else {"axis-order": order}
                given |= {} if pairs == "blocks" else {"pairs": pairs}
                place = {a: (axes.axes[a].columns - wanted[side].start) // wanted[side].step
                         for side, a in by_side.items()}  # fmt: skip
                size = {a: sides[side] for side, a in by_side.items()}
                for series in ("half", "even-odd"):
                    exponents = {a: place[a] / (m // 2) for a in size}
                    if series == "even-odd":
                        exponents = {a: (2 * place[a] + (side == columns)) / m for side, a in by_side.items()}
                    keys = {} if series == "half" else {"series": series}
                    for more, scale in _coordinates(axes, size, sides[rows:], by_side):
                        for base in axes.common_bases(exponents, scale):
                            one = {} if base == 10000 else {"base": number_text(base)}
                            cost = plain_digits(base, PUBLISHED_BASES) + (2.0 if "reference" in more else len(more) / 2)
                            yield Named({**given, **one, **keys, **more}, np.empty(0), fitted=cost, table=table)


def _coordinates(axes: Axes, size: Mapping[int, int], sides: tuple[int, ...], by_side: Mapping[int, int]) -> Iterator[
    tuple[dict[str, str], dict[int, float]]
]:  # fmt: skip
    """Yield how coordinates are counted, with the step from level to level of each axis."""
    origins = [axes.axes[a].origin for a in size]
    if np.isfinite(origins).all() and np.ptp(origins) <= 0.02:
        middle = float(np.mean(origins))
        near = abs(middle - round(middle)) < 0.02
        first = Decimal(round(middle)) if near else shortest(middle - 0.005, middle + 0.005)
        if digits(first) <= MAX_FIRST_DIGITS:
            yield {} if first == 0 else {"first": number_text(first)}, dict.fromkeys(size, 1.0)
    yield {"coordinates": "separate"}, {a: 4 * math.pi / n for a, n in size.items()}
    for word, one in {"max": max(sides), "min": min(sides)}.items() if min(sides) < max(sides) else ():
        yield {"coordinates": word}, dict.fromkeys(size, 4 * math.pi / one)
    whole, steps = {}, {a: axes.axes[a].pairs for a in size}  # stretched or squeezed to those of another grid
    for a in size:
        wide = max(1e-3, (steps[a].slack(steps[a].steps)[0] + 1e-12) * size[a])
        whole[a] = round(steps[a].steps[0] * size[a])
        if whole[a] < 1 or abs(steps[a].steps[0] * size[a] - whole[a]) > wide:
            return
    if len(size) == 2 and any(whole[a] != n for a, n in size.items()):
        text = "x".join(str(whole[a]) for _, a in sorted(by_side.items()))
        yield {"reference": text}, {a: float(Fraction(whole[a], n)) for a, n in size.items()}
