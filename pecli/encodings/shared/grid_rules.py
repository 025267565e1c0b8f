"""What the identification rules of tables over a grid share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import product
from math import isqrt

import numpy as np

from pecli.declare.measured import PUBLISHED_BASES, Axes, plain_digits
from pecli.encodings.shared.columns import Columns
from pecli.encodings.shared.coordinates import on_grid
from pecli.numbers.shortest import digits, shortest
from pecli.numbers.text import number_text

PUBLISHED_SCALES = ("1", "1.875", "2")
"""What published models divide coordinates by, such as CogVideoX."""
MAX_SCALE_DIGITS = 4
"""Digits of a scale of coordinates that somebody chose."""


def two_sides(axes: Axes) -> Iterator[tuple[int, ...]]:
    """Yield the two sides of a grid; of a line both as one row and as one column."""
    if len(axes.sides) == 2:
        yield axes.sides
    if len(axes.sides) == 1:
        yield 1, axes.sides[0]
        yield axes.sides[0], 1


def spaced(axes: Axes, by_side: Mapping[int, int], wanted: Mapping[int, range], sides: tuple[int, ...], *,
           base_size: bool = False) -> Iterator[tuple[dict[str, str], float]]:  # fmt: skip
    """Yield base, shift and the scale of the coordinates, which begin at 0.

    Parameters
    ----------
    axes : Axes
    by_side : mapping of int to int
        Which axis each side is.
    wanted : mapping of int to range
        Pairs of each side.
    sides : tuple of int
    base_size : bool
        Whether coordinates may run up to one size on every side.
    """
    counts = {a: len(wanted[side]) for side, a in by_side.items()}
    blocks = {a: axes.axes[a].columns - wanted[side][0] for side, a in by_side.items()}
    if any(abs(axes.axes[a].origin) > 0.05 for a in counts) or not counts:
        return
    for scale, keys, cost in sorted(_scales(axes, by_side, sides, base_size=base_size), key=lambda found: found[2]):
        for shift in (0, 1):
            if any(count <= shift for count in counts.values()):
                continue
            exponents = {a: blocks[a] / (count - shift) for a, count in counts.items()}
            for base in axes.common_bases(exponents, scale):
                given = {} if base == 10000 else {"base": number_text(base)}
                given |= {"shift": "1"} if shift else {}
                yield {**given, **keys}, plain_digits(base, PUBLISHED_BASES) + 0.25 * shift + cost


def _scales(axes: Axes, by_side: Mapping[int, int], sides: tuple[int, ...], *, base_size: bool) -> Iterator[
    tuple[dict[int, float], dict[str, str], float]
]:  # fmt: skip
    yield dict.fromkeys(by_side.values(), 1.0), {}, 0.0
    low, high, told = {}, {}, {}
    for side, a in by_side.items():
        pairs = axes.axes[a].pairs
        slack = pairs.slack(pairs.steps)[0]
        low[side], high[side] = pairs.steps[0] - slack, pairs.steps[0] + slack
        told[side] = bool(slack < 0.1 * pairs.steps[0])
    if not all(told.values()) or all(low[s] <= 1 <= high[s] for s in told):
        return
    if base_size:
        sizes = {s: shortest(low[s] * sides[s], high[s] * sides[s]) for s in told}
        if len(set(sizes.values())) == 1 and (size := next(iter(sizes.values()))) == size.to_integral_value():
            steps = {a: float(size) / sides[s] for s, a in by_side.items()}
            yield steps, {"base-size": number_text(size)}, float(digits(size))
    scales = {s: _scale(1 / high[s], 1 / low[s]) for s in told}
    if all(digits(scale) <= MAX_SCALE_DIGITS for scale in scales.values()):
        each = [scales.get(side, Decimal(1)) for side in range(len(sides))]
        text = number_text(each[0]) if len(set(each)) == 1 else "+".join(map(number_text, each))
        cost = float(sum(digits(scale) for scale in set(each) - {Decimal(1)})) * 0.75
        yield {a: 1 / float(scales[s]) for s, a in by_side.items()}, {"grid-scale": text}, cost


def _scale(low: float, high: float) -> Decimal:
    """Return what divides coordinates: 1 or a published number within the interval, else the shortest one."""
    return next((Decimal(text) for text in PUBLISHED_SCALES if low <= float(text) <= high), shortest(low, high))


def features(axes: Axes, orders: Sequence[str], scales: Sequence[float], usual: str) -> Iterator[
    tuple[dict[str, str], float]
]:  # fmt: skip
    """Yield what an array of sines and cosines of coordinates from -1 to 1 may be, by its slowest sines.

    Parameters
    ----------
    axes : Axes
        Of layout "columns".
    orders : sequence of str
        Of the columns.
    scales : sequence of float
        Radians per unit of the coordinate in the slowest sine.
    usual : {"xy", "yx"}
        Order of the coordinates that needs no mention.

    Yields
    ------
    dict, float
        The parameters bands, grid, coordinates, axis-order, include-input and order; the scale.
    """
    n, some = axes.rows, np.linspace(0, len(axes.values) - 1, min(len(axes.values), 128)).astype(int)
    values, rows = axes.values[some], axes.streams[some, 0].astype(np.int64)
    sides = [(a, n // a) for a in range(isqrt(n), 1, -1) if n % a == 0]
    root = round(n ** (1 / 3))
    grids = [(n,), *sides, *((b, a) for a, b in sides if a != b), *([(root,) * 3] if root > 1 and root**3 == n else [])]
    for grid, word, turn in product(grids, ("corners", "centres"), ("xy", "yx")):
        widths = [(include, axes.width - len(grid) * (include != "none")) for include in ("none", "first", "last")]
        fits = [
            (include, left // (2 * len(grid))) for include, left in widths if left > 0 and left % (2 * len(grid)) == 0
        ]
        if not fits or (len(grid) == 1 and turn != usual):
            continue
        shown = []
        for axis in on_grid(grid, word, turn).axes:
            assert isinstance(axis.multiples, range)
            shown.append((axis.multiples.start + axis.multiples.step * axis.index(rows)) * float(axis.unit))
        for (include, count), order, scale in product(fits, orders, scales):
            columns = Columns(len(grid), count, 2, include, order)
            first = [columns.of(a, 0).start for a in range(len(grid))]
            if all(np.abs(values[:, c] - np.sin(scale * x)).max() < 0.02 for c, x in zip(first, shown, strict=True)):
                keys = {"bands": str(count), "grid": "x".join(map(str, grid)), "order": order}
                yield {**keys, "coordinates": word, "axis-order": turn, "include-input": include}, scale
