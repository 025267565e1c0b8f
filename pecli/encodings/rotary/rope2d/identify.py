"""The parameters of rope2d from measured axes: order of the sides, series and coordinates."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from decimal import Decimal
from fractions import Fraction

import numpy as np

from pecli.declare.measured import PUBLISHED_BASES, Axes, Floats, Named, plain_digits
from pecli.numbers.decimals import digits, number_text, shortest

NOTHING = np.empty(0)
MAX_FIRST_DIGITS = 3
"""Digits of a first coordinate that somebody chose."""


def identify(axes: Axes) -> Iterator[Named]:
    """Yield the parameters of rope2d, published conventions first."""
    if axes.absolute or axes.count % 2 or not axes.sides:
        return
    half = axes.count // 2
    for sides in _sides(axes):
        for order in ("yx", "xy"):
            for pairs in ("blocks", "alternate"):
                wanted = np.tile([0, 1], half) if pairs == "alternate" else np.repeat([0, 1], half)
                wanted = wanted if order == "yx" else 1 - wanted
                by_side = _by_side(axes, sides, wanted)
                if by_side is None:
                    continue
                own = {"dim": str(2 * axes.count), "grid": "x".join(map(str, sides)), **axes.edges}
                own |= {} if order == "yx" else {"axis-order": order}
                own |= {} if pairs == "blocks" else {"pairs": pairs}
                table = dict(axes.table)
                if table.get("layout") == "half-axis":
                    table, own = {"layout": "half"}, {**own, "halves": "axis"}
                for keys, cost in _series(axes, sides, wanted, by_side):
                    yield Named({**own, **keys}, NOTHING, fitted=cost, table=table)


def _sides(axes: Axes) -> Iterator[tuple[int, ...]]:
    """Yield the grid: as measured, or a line of one row or one column."""
    if len(axes.sides) == 1:
        yield 1, axes.sides[0]
        yield axes.sides[0], 1
    elif len(axes.sides) == 2 and len(axes.axes) == 1:
        yield axes.sides
        yield (*axes.sides, 1)
    else:
        yield axes.sides


def _by_side(axes: Axes, sides: tuple[int, ...], wanted: np.ndarray) -> Mapping[int, int] | None:
    """Return the axis of each side (0 rows, 1 columns) where pairs follow them in this order."""
    if len(sides) > 3:
        return None
    found: dict[int, int] = {}
    for number, axis in enumerate(axes.axes):
        follows = set(wanted[axis.columns].tolist())
        if len(follows) != 1:
            return None
        (side,) = follows
        if side in found or sides[len(sides) - 2 + side] != axis.size:
            return None
        if len(sides) == len(axes.sides) and axes.side_of[number] != len(sides) - 2 + side:
            return None
        found[side] = number
    return found


def _series(axes: Axes, sides: tuple[int, ...], wanted: np.ndarray, by_side: Mapping[int, int]) -> Iterator[
    tuple[dict[str, str], float]
]:  # fmt: skip
    quarter = axes.count // 2
    size = {side: sides[len(sides) - 2 + side] for side in (0, 1)}
    number = {side: np.flatnonzero(wanted == side) for side in (0, 1)}
    index = {side: np.searchsorted(number[side], axes.axes[a].columns) for side, a in by_side.items()}
    scales = {
        "index": dict.fromkeys(by_side, 1.0),
        "separate": {side: 4 * math.pi / size[side] for side in by_side},
        "max": {side: 4 * math.pi / max(size.values()) for side in by_side},
        "min": {side: 4 * math.pi / min(size.values()) for side in by_side},
    }
    square = len(set(size.values())) == 1
    for series in ("half", "even-odd"):
        exponents = {
            a: (index[side] / quarter if series == "half" else (2 * index[side] + side) / (2 * quarter))
            for side, a in by_side.items()
        }
        keys = {} if series == "half" else {"series": series}
        for word, scale in scales.items():
            if square and word in ("max", "min"):
                continue
            more = {} if word == "index" else {"coordinates": word}
            if word == "index":
                first = _first(axes, by_side)
                if first is None:
                    continue
                more = {} if first == 0 else {"first": number_text(first)}
            for base in axes.common_bases(exponents, {a: scale[side] for side, a in by_side.items()}):
                given = {} if base == 10000 else {"base": number_text(base)}
                yield {**given, **keys, **more}, plain_digits(base, PUBLISHED_BASES) + 0.5 * len(more)
        if series == "half":
            yield from _stretched(axes, by_side, size, exponents)
    if axes.axes and all(_is_pixel(axes, a, size[side], index[side], quarter) for side, a in by_side.items()):
        yield {"coordinates": "corners", "series": "pixel"}, 1.0


def _first(axes: Axes, by_side: Mapping[int, int]) -> Decimal | None:
    """Return the one coordinate at which both sides begin; None where it is no plain number."""
    origins = [axes.axes[a].origin for a in by_side.values()]
    if not np.isfinite(origins).all() or np.ptp(origins) > 0.02:
        return None
    middle = float(np.mean(origins))
    if abs(middle - round(middle)) < 0.02:
        return Decimal(round(middle))
    found = shortest(middle - 0.005, middle + 0.005)
    return found if digits(found) <= MAX_FIRST_DIGITS else None


def _stretched(
    axes: Axes, by_side: Mapping[int, int], size: Mapping[int, int], exponents: Mapping[int, Floats]
) -> Iterator[tuple[dict[str, str], float]]:
    """Yield indices that are stretched or squeezed to those of another grid."""
    if len(by_side) < 2:
        return
    reference, scale = [], {}
    for side, a in sorted(by_side.items()):
        pairs = axes.axes[a].pairs
        wide = (pairs.slack(pairs.steps)[0] + 1e-12) * size[side]
        whole = round(pairs.steps[0] * size[side])
        if exponents[a][0] != 0 or whole < 1 or abs(pairs.steps[0] * size[side] - whole) > max(wide, 1e-3):
            return
        reference.append(str(whole))
        scale[a] = float(Fraction(whole, size[side]))
    if all(value == 1 for value in scale.values()):
        return
    for base in axes.common_bases(exponents, scale):
        given = {} if base == 10000 else {"base": number_text(base)}
        yield {**given, "reference": "x".join(reference)}, plain_digits(base, PUBLISHED_BASES) + 2.0


def _is_pixel(axes: Axes, a: int, size: int, index: np.ndarray, quarter: int) -> bool:
    steps = axes.axes[a].pairs
    w = math.pi * (1 + index * (112 - 1) / max(1, quarter - 1)) * 2 / max(1, size - 1)
    folded = np.abs(w - 2 * math.pi * np.round(w / (2 * math.pi)))
    gap = np.minimum(np.abs(steps.steps - folded), np.abs(2 * math.pi - steps.steps - folded))
    return bool((gap <= 0.01 + steps.errors).mean() > 0.8)
