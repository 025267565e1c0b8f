"""The parameters of rope2d from measured axes: order of the sides, series and coordinates."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from itertools import product

import numpy as np

from pecli.encodings.shared.identify_grids import Coordinates, by_base, two_sides
from pecli.numbers.decimals import digits, number_text, shortest
from pecli.spec.measured import Axes, Named

# Digits of a first coordinate that somebody chose.
MAX_FIRST_DIGITS = 3


def identify(axes: Axes) -> Iterator[Named]:
    """Yield the parameters of rope2d, published conventions first."""
    m = axes.count
    if axes.absolute or m % 2:
        return
    halves = {"blocks": (range(m // 2), range(m // 2, m)), "alternate": (range(0, m, 2), range(1, m, 2))}
    grids = [axes.sides] if len(axes.sides) == 3 else two_sides(axes)  # frames repeat a grid
    for sides, pairs, order in product(grids, halves, ("yx", "xy")):
        rows, columns = len(sides) - 2, len(sides) - 1
        wanted = dict(zip((rows, columns) if order == "yx" else (columns, rows), halves[pairs], strict=True))
        by_side = axes.by_side(sides, wanted)
        if not by_side:
            continue
        keys = {"dim": str(2 * m), "grid": "x".join(map(str, sides)), **axes.edges}
        keys |= {} if order == "yx" else {"axis-order": order}
        keys |= {} if pairs == "blocks" else {"pairs": pairs}
        place = {s: (axes.axes[a].columns - wanted[s].start) // wanted[s].step for s, a in by_side.items()}
        half = {a: place[s] / (m // 2) for s, a in by_side.items()}
        even_odd = {a: (2 * place[s] + (s == columns)) / m for s, a in by_side.items()}
        for more, exponents in (({}, half), ({"series": "even-odd"}, even_odd)):
            yield from by_base(axes, exponents, _coordinates(axes, sides, by_side), {**keys, **more}, table=axes.table)


def _coordinates(axes: Axes, sides: tuple[int, ...], by_side: Mapping[int, int]) -> Iterator[Coordinates]:
    """Yield each way to count coordinates, the step between levels of each axis, and the cost in digits."""
    origins = [axes.axes[a].origin for a in by_side.values()]
    if np.isfinite(origins).all() and np.ptp(origins) <= 0.02:
        middle = float(np.mean(origins))
        near = abs(middle - round(middle)) < 0.02
        first = Decimal(round(middle)) if near else shortest(middle - 0.005, middle + 0.005)
        if digits(first) <= MAX_FIRST_DIGITS:
            more = {"first": number_text(first)} if first else {}
            yield more, dict.fromkeys(by_side.values(), 1.0), len(more) / 2
    lengths = {"separate": [sides[s] for s in by_side], "max": [max(sides[-2:])] * 2, "min": [min(sides[-2:])] * 2}
    for word, size in lengths.items():
        if word == "separate" or min(sides[-2:]) < max(sides[-2:]):
            yield {"coordinates": word}, {a: 4 * math.pi / n for a, n in zip(by_side.values(), size, strict=False)}, 0.5
    if len(by_side) < 2:
        return
    whole = {}  # interpolated to the coordinates of another grid
    for s, a in sorted(by_side.items()):
        pairs, length = axes.axes[a].pairs, sides[s]
        whole[a] = round(pairs.steps[0] * length)
        wide = max(1e-3, (pairs.slack(pairs.steps)[0] + 1e-12) * length)
        if whole[a] < 1 or abs(pairs.steps[0] * length - whole[a]) > wide:
            return
    steps = {a: float(Fraction(whole[a], sides[s])) for s, a in by_side.items()}
    if set(steps.values()) != {1.0}:
        yield {"reference": "x".join(map(str, whole.values()))}, steps, 2.0
