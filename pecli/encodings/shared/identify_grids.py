"""The parameters of tables over a grid, from measured axes or from their columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import product
from math import isqrt, nan, prod

import numpy as np

from pecli.encodings.absolute.sincos3d import widths_of
from pecli.encodings.shared.grids import Columns, on_grid
from pecli.numbers.decimals import digits, near, number_text, shortest
from pecli.numbers.rounding import Integers
from pecli.spec.measured import PUBLISHED_BASES, Axes, Floats, Held, Named, plain_digits

# Parameters of coordinates, the coordinate from level to level of each axis, and the digits that were fitted.
Coordinates = tuple[dict[str, str], dict[int, float], float]

# Divisors of coordinates in published models, such as CogVideoX.
PUBLISHED_SCALES = ("1", "1.875", "2")
# Digits of a scale of coordinates that somebody chose.
MAX_SCALE_DIGITS = 4
# Different values of some column that features need; all of 0 and 1 fit any.
MIN_VALUES = 4
# Columns among which that one is looked for.
MAX_COLUMNS = 512
# Coordinates of points that stand in the same array as their features.
MAX_POINT_AXES = 3
# Frequencies that doubling must show, and the error of the first angle, in float32 arithmetic.
MIN_BANDS, MAX_DOUBLING = 3, 4e-6
# Of the ends of a range of coordinates, relative and absolute.
MAX_END = 1e-5
# The largest sampling rate, and the error of one, relative.
MAX_RATE, MAX_RATE_GAP = 1e9, 1e-5
# Levels by which the first coordinate of an axis may seem to be off.
MAX_OFF = 0.1


def two_sides(axes: Axes) -> Iterator[tuple[int, ...]]:
    """Yield the sides of a grid; of a line both as one row and as one column."""
    if len(axes.sides) == 2:
        yield axes.sides
    if len(axes.sides) == 1:
        yield 1, axes.sides[0]
        yield axes.sides[0], 1


def by_base(
    axes: Axes, exponents: Mapping[int, Floats], coordinates: Iterable[Coordinates], keys: Mapping[str, str], *,
    name: str = "base", table: Mapping[str, str] | None = None,
) -> Iterator[Named]:  # fmt: skip
    """Yield parameters with each base that fits every axis.

    Parameters
    ----------
    axes : Axes
    exponents : mapping of int to (k,) float64
        Of the pairs of each axis.
    coordinates : iterable of Coordinates
    keys : mapping of str to str
        Parameters that are known.
    name : str
        What the base is called.
    table : mapping of str to str, optional
        The table's own keys.
    """
    for more, steps, cost in coordinates:
        for base in axes.common_bases(exponents, steps):
            own = {} if base == 10000 else {name: number_text(base)}
            cost_of_all = plain_digits(base, PUBLISHED_BASES) + cost
            yield Named({**keys, **own, **more}, np.empty(0), fitted=cost_of_all, table=table or {})


def _sincos(
    axes: Axes, sides: tuple[int, ...], wanted: Mapping[int, range], keys: Mapping[str, str]
) -> Iterator[Named]:
    """Yield the parameters of a table whose coordinates begin at 0, with the pairs of each side."""
    by_side = axes.by_side(sides, wanted)
    if not by_side or any(abs(axes.axes[a].origin) > MAX_OFF for a in by_side.values()):
        return
    own = {"dim": str(axes.width), "grid": "x".join(map(str, sides)), **axes.edges, **keys}
    for shift in (0, 1):
        counts = {s: len(wanted[s]) - shift for s in by_side}
        if min(counts.values()) > 0:
            exponents = {a: (axes.axes[a].columns - wanted[s][0]) / counts[s] for s, a in by_side.items()}
            given = {**own, **({"shift": "1"} if shift else {})}
            scales = sorted(_scales(axes, by_side, sides, 0.25 * shift), key=lambda found: found[2])
            yield from by_base(axes, exponents, scales, given)


def _scales(axes: Axes, by_side: Mapping[int, int], sides: tuple[int, ...], cost: float) -> Iterator[Coordinates]:
    """Yield the divisors of coordinates, measured on the first pair of each axis, whose frequency is 1."""
    yield {}, dict.fromkeys(by_side.values(), 1.0), cost
    pairs = {s: axes.axes[a].pairs for s, a in by_side.items()}
    slack = {s: pairs[s].slack(pairs[s].steps)[0] for s in pairs}
    if any(slack[s] > 0.1 * pairs[s].steps[0] for s in pairs):
        return
    low, high = ({s: pairs[s].steps[0] + sign * slack[s] for s in pairs} for sign in (-1, 1))
    if all(low[s] <= 1 <= high[s] for s in pairs):
        return
    for word in PUBLISHED_SCALES if len(sides) == 2 else ():
        sizes = {shortest(low[s] * sides[s] * float(word), high[s] * sides[s] * float(word)) for s in pairs}
        if len(sizes) == 1 and (size := sizes.pop()) == size.to_integral_value():
            steps = {a: float(size) / sides[s] / float(word) for s, a in by_side.items()}
            more = {} if word == "1" else {"grid-scale": word}
            yield {"base-size": number_text(size), **more}, steps, digits(size) + len(more) + cost
            break
    scales = {s: _scale(1 / high[s], 1 / low[s]) for s in pairs}
    if all(digits(scale) <= MAX_SCALE_DIGITS for scale in scales.values()):
        each = [scales.get(side, Decimal(1)) for side in range(len(sides))]
        text = number_text(each[0]) if len(set(each)) == 1 else "+".join(map(number_text, each))
        price = 0.75 * sum(digits(scale) for scale in set(each) - {Decimal(1)})
        yield {"grid-scale": text}, {a: 1 / float(scales[s]) for s, a in by_side.items()}, price + cost


def _scale(low: float, high: float) -> Decimal:
    """Return the divisor of coordinates: 1 or a published number within the interval, else the shortest one."""
    return next((Decimal(text) for text in PUBLISHED_SCALES if low <= float(text) <= high), shortest(low, high))


def sincos2d(axes: Axes) -> Iterator[Named]:
    """Yield the parameters of sincos2d from measured axes."""
    quarter = axes.count // 2
    blocks = f"blocks{axes.width // 2}+{axes.width // 2}"
    order = {"halves": "sin-sin", blocks: "sin-cos", "alternate": "interleaved"}.get(axes.layout)
    if not axes.absolute or order is None or axes.suffix or axes.merge > 1:
        return
    for sides, (word, first) in product(two_sides(axes), (("xy", 1), ("yx", 0))):
        wanted = {first: range(quarter), 1 - first: range(quarter, 2 * quarter)}
        keys = ({} if word == "xy" else {"axis-order": word}) | ({} if order == "sin-cos" else {"order": order})
        yield from _sincos(axes, sides, wanted, keys)


def sincos3d(axes: Axes) -> Iterator[Named]:
    """Yield the parameters of sincos3d from measured axes."""
    if not axes.absolute or len(axes.sides) not in (2, 3) or axes.suffix or axes.merge > 1 or axes.width % 2:
        return
    sides = axes.sides if len(axes.sides) == 3 else (1, *axes.sides)
    for split, divisor in (("quarter-rest", 16), ("half-quarters", 8), ("thirds", 2)):
        widths = [] if axes.width % divisor else widths_of(axes.width, split)
        if widths and axes.layout in ("alternate", "blocks" + "+".join(str(width) for _, width in widths)):
            ends = np.cumsum([0, *(width // 2 for _, width in widths)]).tolist()
            wanted = {side: range(*ends[k : k + 2]) for k, (side, _) in enumerate(widths)}
            keys = {} if split == "quarter-rest" else {"split": split}
            keys |= {"order": "interleaved"} if axes.layout == "alternate" else {}
            yield from _sincos(axes, sides, wanted, keys)


def detr(axes: Axes) -> Iterator[Named]:
    """Yield the parameters of detr from measured axes: normalised coordinates end at 2 pi, others count from 1."""
    quarter = axes.count // 2
    if not axes.absolute or axes.layout != "alternate" or axes.prefix or axes.suffix or axes.merge > 1:
        return
    blocks = {0: range(quarter), 1: range(quarter, 2 * quarter)}
    alternate = {0: range(1, 2 * quarter, 2), 1: range(0, 2 * quarter, 2)}
    for sides, (pairs, wanted) in product(two_sides(axes), (("", blocks), ("alternate", alternate))):
        by_side = axes.by_side(sides, wanted)
        if not by_side:
            continue
        keys = {"dim": str(axes.width), "grid": "x".join(map(str, sides))} | ({"pairs": pairs} if pairs else {})
        ones = all(abs(axes.axes[a].origin - 1) < MAX_OFF for a in by_side.values())
        places = {a: axes.axes[a].columns for a in by_side.values()}
        exponents = {a: (at // 2 if pairs else at % quarter) / quarter for a, at in places.items()}
        whole = {a: 2 * np.pi / (sides[side] + 1e-6) for side, a in by_side.items()}
        plain: Coordinates = {}, dict.fromkeys(whole, 1.0), 0.0
        normal = {"normalize": "true", **({} if ones else {"center": "true"})}
        options = [*([plain] if ones else []), (normal, whole, 0.5 * len(normal)), *_scaled(axes, whole, normal)]
        yield from by_base(axes, exponents, options, keys, name="temperature")


def _scaled(axes: Axes, whole: Mapping[int, float], normal: Mapping[str, str]) -> Iterator[Coordinates]:
    """Yield the scale of normalised coordinates, measured on the first pair of each axis, whose frequency is 1."""
    scales = [axes.axes[a].pairs.steps[0] * 2 * np.pi / step for a, step in whole.items()]
    slack = max(axes.axes[a].pairs.slack(axes.axes[a].pairs.steps)[0] * 2 * np.pi / step for a, step in whole.items())
    scale = shortest(max(scales) - slack, min(scales) + slack) if slack < 0.1 * min(scales) else Decimal(0)
    if scale > 0 and digits(scale) <= MAX_SCALE_DIGITS:
        steps = {a: step * float(scale) / (2 * np.pi) for a, step in whole.items()}
        yield {**normal, "coordinate-scale": number_text(scale)}, steps, digits(scale) + 1.0


def features(
    axes: Axes, orders: Sequence[str], scales: Sequence[float], usual: Mapping[str, str]
) -> Iterator[tuple[dict[str, str], float, tuple[int, ...], float]]:
    """Yield the parameters and scales that give sines and cosines of a grid from -1 to 1, or of columns of the array.

    Parameters
    ----------
    axes : Axes
        Of layout "columns".
    orders : sequence of str
        Of the columns.
    scales : sequence of float
        Radians per unit of the coordinate in the slowest sine.
    usual : mapping of str to str
        Parameters that need no mention.

    Yields
    ------
    dict, float, tuple of int, float
        The parameters bands, grid, coordinates, axis-order, include-input and order that are not usual; the scale; the
        columns that hold the coordinates, where no grid gives them; the second frequency, in units of the first.
    """
    sorted_columns = np.sort(axes.values[:256, :: max(1, axes.width // MAX_COLUMNS)], axis=0)
    if (np.diff(sorted_columns, axis=0) != 0).sum(axis=0).max(initial=0) < MIN_VALUES - 1:
        return
    some = np.linspace(0, len(axes.values) - 1, min(len(axes.values), 128)).astype(int)
    values = axes.values[some]
    for keys, shown, include, inputs in _coordinates(axes, some, usual["axis-order"]):
        many = shown.shape[1]
        count, rest = divmod(axes.width - many * (include != "none"), 2 * many)
        for order, scale in product(orders, scales) if count > 0 and not rest else ():
            columns = Columns(many, count, 2, include, order)
            first = values[:, [columns.of(a, 0).start for a in range(many)]]
            if np.abs(first - np.sin(scale * shown)).max() < 0.02:
                own = {"bands": str(count), **keys, "order": order, "include-input": include}
                given = {key: text for key, text in own.items() if usual.get(key) != text}
                sin, cos = (values[:, columns.of(0, part)][:, min(1, count - 1)] for part in (0, 1))
                yield given, scale, inputs, _slope(shown[:, 0], np.arctan2(sin, cos)) / scale


def _slope(x: Floats, angles: Floats) -> float:
    """Return the radians by which angles, which are known but for whole turns, rise with a coordinate."""
    known = np.isfinite(angles) & np.isfinite(x)
    x, angles = x[known], angles[known]
    _, first = np.unique(x, return_index=True)
    apart = len(first) > 1 and np.ptp(x) > np.finfo(np.float32).tiny
    return float(np.polyfit(x[first], np.unwrap(angles[first]), 1)[0]) if apart else nan


def _coordinates(
    axes: Axes, some: Integers, usual_turn: str
) -> Iterator[tuple[dict[str, str], Floats, str, tuple[int, ...]]]:
    """Yield coordinates of some rows, of a grid or in columns: their parameters, values, whether they are included."""
    n, rows = axes.rows, axes.streams[some, 0].astype(np.int64)
    sides = [(a, n // a) for a in range(isqrt(n), 1, -1) if n % a == 0]
    root = round(n ** (1 / 3))
    grids = [(n,), *sides, *((b, a) for a, b in sides if a != b), *([(root,) * 3] if root > 1 and root**3 == n else [])]
    for grid, word, turn in product(grids, ("corners", "centres"), ("xy", "yx")):
        if len(grid) == 1 and turn != usual_turn:
            continue
        shown = np.empty((len(some), len(grid)))
        for number, axis in enumerate(on_grid(grid, word, turn).axes):
            assert isinstance(axis.multiples, range)
            own = axis.multiples.start + axis.multiples.step * axis.index(rows)
            shown[:, number] = own * float(axis.unit)
        keys = {"grid": "x".join(map(str, grid)), "coordinates": word, "axis-order": turn}
        yield from ((keys, shown, include, ()) for include in ("none", "first", "last"))
    for many, include in product(range(1, MAX_POINT_AXES + 1), ("first", "last")):
        start = 0 if include == "first" else axes.width - many
        inputs = tuple(range(start, start + many))
        if start >= 0 and axes.width > many:
            keys = {"coordinates": "given", **({"point-axes": str(many)} if many > 1 else {})}
            yield keys, axes.values[some][:, inputs], include, inputs


def bands(axes: Axes) -> Iterator[Named]:
    """Yield the parameters of bands; the sampling rate is the grid's side, or ImageNet's 224."""
    usual = {"coordinates": "corners", "axis-order": "yx", "include-input": "first", "order": "sin-cos"}
    rules = features(axes, ("sin-cos", "by-axis"), (np.pi,), usual) if axes.layout == "columns" else ()
    for own, _, inputs, second in rules:
        gaps = int(own["bands"]) - 1
        yield from (Named({**own, **more}, np.empty(0), inputs=inputs) for more in ({}, {"spacing": "log"}))
        tops = {"linear": 1 + gaps * (second - 1), "log": max(0.0, second) ** gaps}
        rates = {near(2 * top, MAX_RATE_GAP): spacing for spacing, top in tops.items() if gaps and 1 < top < MAX_RATE}
        for rate, spacing in [*rates.items(), *((Decimal(224), spacing) for spacing in tops)]:  # ImageNet's side
            more = {"max-resolution": number_text(rate)} | ({"spacing": "log"} if spacing == "log" else {})
            yield Named({**own, **more}, np.empty(0), fitted=1.0 * digits(rate), inputs=inputs)


def points_words(points: Floats) -> str:
    """Describe coordinates (n, k): the grid that they are, and their range."""
    sides = [len(np.unique(column.round(5))) for column in points.T]
    ends = f"{number_text(near(float(points.min()), MAX_END))} to {number_text(near(float(points.max()), MAX_END))}"
    inner = next((k for k, column in enumerate(points.T) if abs(column[1] - column[0]) > MAX_END), 0)
    if len(points) != prod(sides) or len(points) == sides[0]:
        return f"{len(points)} points from {ends}"
    grid = "x".join(map(str, [*(side for k, side in enumerate(sides) if k != inner), sides[inner]]))
    return f"a grid of {grid} from {ends}, {'column' if inner == 0 else 'row'} first"


def nerf_points(arrays: Mapping[str, Floats]) -> Iterator[Held]:
    """Yield the parameters of doubling frequencies at any points, which the slowest sines and cosines show."""
    values = next(iter(arrays.values()))
    for many, order in product(range(1, MAX_POINT_AXES + 1), ("in-turn", "by-frequency", "sin-cos", "by-axis")):
        bands, rest = divmod(values.shape[1], 2 * many)
        if len(arrays) > 1 or rest or bands < MIN_BANDS or len(values) < MIN_VALUES:
            continue
        columns = Columns(many, bands, 2, "none", order)
        sin, cos = (np.stack([values[:, columns.of(axis, part)] for axis in range(many)], 1) for part in (0, 1))
        angles, doubled = np.arctan2(sin, cos)[..., 0], 2.0 ** np.arange(bands)
        apart = np.abs(sin + 1j * cos - 1j * np.exp(-1j * angles[..., None] * doubled))
        if (apart.max(axis=(0, 1)) < MAX_DOUBLING * doubled).all() and np.ptp(angles) > MAX_OFF:
            keys = {"bands": str(bands), "coordinates": "given", "points": "FILE"}
            keys |= {"point-axes": str(many)} if many > 1 else {}
            keys |= {"order": order} if order != "in-turn" else {}
            own = f"FILE is a file of the points, which this one lacks: {points_words(angles / np.pi)}"
            yield Held(keys, f"{own}, if none is outside -1 to 1, or pi times as far with pi=false")
            return


def nerf(axes: Axes) -> Iterator[Named]:
    """Yield the parameters of nerf: the paper's with pi, the code's without, nerfstudio's with 2 pi."""
    usual = {"coordinates": "corners", "axis-order": "xy", "include-input": "none", "order": "in-turn"}
    orders, scales = ("in-turn", "by-frequency", "sin-cos", "by-axis"), (np.pi, 1.0, 2 * np.pi)
    for own, scale, inputs, _ in features(axes, orders, scales, usual) if axes.layout == "columns" else ():
        own |= {} if scale == np.pi else {"pi": "false"} if scale == 1 else {"scale": "2"}
        for more in ({}, {"spacing": "linear"}):
            yield Named({**own, **more}, np.empty(0), fitted=0.5 + len(more), inputs=inputs)
