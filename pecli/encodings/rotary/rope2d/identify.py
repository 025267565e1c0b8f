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
from pecli.numbers.rounding import Integers
from pecli.spec.measured import Axes, Named

# Share of a turn by which the first pair of the pixel series may be off, and radians by which float32 leaves a step.
MAX_TURN_GAP, MAX_STEP_GAP = 0.01, 2.0**-20
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
        yield from _pixels(axes, sides, by_side, place, keys)


def _pixels(
    axes: Axes, sides: tuple[int, ...], by_side: Mapping[int, int], place: Mapping[int, Integers], keys: dict[str, str]
) -> Iterator[Named]:
    """Yield the pixel series, whose first pair turns once from corner to corner and whose second shows the others."""
    side, number = next(iter(by_side.items()))
    pairs, gaps, last = axes.axes[number].pairs, sides[side] - 1, axes.count // 2 - 1
    if last < 1 or place[side][:2].tolist() != [0, 1] or abs(pairs.steps[0] * gaps / (2 * math.pi) - 1) > MAX_TURN_GAP:
        return
    step, off = pairs.steps[1], pairs.slack(pairs.steps)[1] + MAX_STEP_GAP
    ends = [(step + sign * off) * gaps / (2 * math.pi) for sign in (-1, 1)]
    tops = {"pixel": [1 + last * (f - 1) for f in ends], "pixel-log": [f**last for f in ends]}
    for word, (low, high) in tops.items():
        size = shortest(2 * low, 2 * high) if 1 < low <= high else Decimal(0)
        own = {"series": word, "coordinates": "corners"} | (
            {} if size == 224 else {"max-resolution": number_text(size)}
        )
        if size:
            yield Named({**keys, **own}, np.empty(0), fitted=digits(size) / 2, table=axes.table)


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
