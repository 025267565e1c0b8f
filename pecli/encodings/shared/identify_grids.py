"""The parameters of absolute tables over a grid, from measured axes or from their columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import product
from math import isqrt

import numpy as np

from pecli.encodings.absolute.sincos3d import widths_of
from pecli.encodings.shared.grids import Columns, on_grid
from pecli.errors import BadParameter
from pecli.numbers.decimals import digits, number_text, shortest
from pecli.spec.measured import PUBLISHED_BASES, Axes, Named, plain_digits

PUBLISHED_SCALES = ("1", "1.875", "2")
"""What published models divide coordinates by, such as CogVideoX."""
MAX_SCALE_DIGITS = 4
"""Digits of a scale of coordinates that somebody chose."""

MIN_VALUES = 4
"""Different values of some column that features need; all of 0 and 1 fit any."""


def two_sides(axes: Axes, *, frames: bool = False) -> Iterator[tuple[int, ...]]:
    """Yield the sides of a grid, of frames too; of a line both as one row and as one column."""
    if len(axes.sides) == 2 or (frames and len(axes.sides) == 3):
        yield axes.sides
    if frames and len(axes.sides) == 2 and len(axes.axes) == 1:
        yield (*axes.sides, 1)
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
    if max(len(np.unique(column)) for column in axes.values[:256].T) < MIN_VALUES:
        return
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


def sincos2d(axes: Axes) -> Iterator[Named]:
    """Yield the parameters of sincos2d from measured axes."""
    quarter = axes.count // 2
    order = {"halves": "sin-sin", f"blocks{axes.width // 2}+{axes.width // 2}": "sin-cos"}.get(axes.layout)
    if not axes.absolute or order is None or axes.suffix or axes.merge > 1:
        return
    for sides in two_sides(axes):
        for word, first in (("xy", 1), ("yx", 0)):
            wanted = {first: range(quarter), 1 - first: range(quarter, 2 * quarter)}
            by_side = axes.by_side(sides, wanted)
            if by_side is None:
                continue
            keys = {"dim": str(axes.width), "grid": "x".join(map(str, sides)), **axes.edges}
            keys |= ({} if word == "xy" else {"axis-order": word}) | ({} if order == "sin-cos" else {"order": order})
            for more, cost in spaced(axes, by_side, wanted, sides, base_size=True):
                yield Named({**keys, **more}, np.empty(0), fitted=cost)


def sincos3d(axes: Axes) -> Iterator[Named]:
    """Yield the parameters of sincos3d from measured axes."""
    if not axes.absolute or len(axes.sides) not in (2, 3) or axes.suffix or axes.merge > 1:
        return
    for split in ("quarter-rest", "half-quarters", "thirds"):
        try:
            widths = widths_of(axes.width, split)
        except BadParameter:
            continue
        if axes.layout != "blocks" + "+".join(str(width) for _, width in widths):
            continue
        wanted, start = {}, 0
        for side, width in widths:
            wanted[side] = range(start, start + width // 2)
            start += width // 2
        sides = axes.sides if len(axes.sides) == 3 else (1, *axes.sides)
        by_side = axes.by_side(sides, wanted)
        if by_side is None:
            continue
        keys = {"dim": str(axes.width), "grid": "x".join(map(str, sides)), **axes.edges}
        keys |= {} if split == "quarter-rest" else {"split": split}
        for more, cost in spaced(axes, by_side, wanted, sides):
            yield Named({**keys, **more}, np.empty(0), fitted=cost)


def detr(axes: Axes) -> Iterator[Named]:
    """Yield the parameters of detr from measured axes: normalised coordinates end at 2 pi, others count from 1."""
    quarter = axes.count // 2
    if not axes.absolute or axes.layout != "alternate" or axes.prefix or axes.suffix or axes.merge > 1:
        return
    for grid in two_sides(axes):
        by_side = axes.by_side(grid, {0: range(quarter), 1: range(quarter, 2 * quarter)})
        if by_side is None:
            continue
        keys = {"dim": str(axes.width), "grid": "x".join(map(str, grid))}
        origin = float(np.mean([axes.axes[a].origin for a in by_side.values()]))
        exponents = {a: axes.axes[a].columns % quarter / quarter for a in by_side.values()}
        whole = {a: 2 * np.pi / (grid[side] + 1e-6) for side, a in by_side.items()}
        fast = next(iter(by_side.values()))
        shown = axes.axes[fast].pairs.steps[0] / whole[fast] * (2 * np.pi)
        own = number_text(shortest(shown * (1 - 1e-5), shown * (1 + 1e-5)))
        plain: tuple[dict[str, str], dict[int, float]] = ({}, dict.fromkeys(whole, 1.0))
        options = [plain] if abs(origin - 1) < 0.1 else []
        center = {} if abs(origin - 1) < 0.1 else {"center": "true"}
        options.append(({"normalize": "true", **center}, whole))
        if len(own) < 6:
            scaled = {a: step * float(own) / (2 * np.pi) for a, step in whole.items()}
            options.append(({"normalize": "true", "coordinate-scale": own, **center}, scaled))
        for more, steps in options:
            for a in by_side.values():
                for base in axes.axes[a].pairs.bases(exponents[a], steps[a]):
                    given = {} if base == 10000 else {"temperature": number_text(base)}
                    yield Named(
                        {**keys, **given, **more},
                        np.empty(0),
                        fitted=plain_digits(base, PUBLISHED_BASES) + 0.5 * len(more),
                    )


def bands(axes: Axes) -> Iterator[Named]:
    """Yield the parameters of bands; the sampling rate is the grid's side, or ImageNet's 224."""
    usual = {"coordinates": "corners", "axis-order": "yx", "include-input": "first", "order": "sin-cos"}
    for keys, _ in features(axes, ("sin-cos", "by-axis"), (np.pi,), "yx") if axes.layout == "columns" else ():
        own = {key: text for key, text in keys.items() if usual.get(key) != text}
        for more in ({}, {"spacing": "log"}, {"max-resolution": "224"}, {"max-resolution": "224", "spacing": "log"}):
            yield Named({**own, **more}, np.empty(0), fitted=1.0 * len(more))


def nerf(axes: Axes) -> Iterator[Named]:
    """Yield the parameters of nerf: the paper's with pi, the code's without, nerfstudio's with 2 pi."""
    usual = {"coordinates": "corners", "axis-order": "xy", "include-input": "none", "order": "in-turn"}
    orders, scales = ("in-turn", "by-frequency", "sin-cos", "by-axis"), (np.pi, 1.0, 2 * np.pi)
    for keys, scale in features(axes, orders, scales, "xy") if axes.layout == "columns" else ():
        own = {key: text for key, text in keys.items() if usual.get(key) != text}
        own |= {} if scale == np.pi else {"pi": "false"} if scale == 1 else {"scale": "2"}
        yield Named(own, np.empty(0), fitted=0.5)
