"""Axes of a table: pairs whose rows repeat in the same pattern share one, and each is a table of waves over its levels.

The levels of an axis are its different values, in the order in which they first appear.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise, permutations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pecli.encodings.shared.grids import Lattice
from pecli.judge.planes import EPSILON, Plane, effective_dtype
from pecli.judge.signal import Signal, measure, positions_in_steps, wrapped
from pecli.judge.structure import ALL, MAX_DEPARTURE, PlaneColumns, Reading, copies, departure, readings, usable_rows
from pecli.spec.measured import Axes, Floats, GridAxis, Pairs
from pecli.spec.tabular import Array, Tabular
from pecli.tables.layouts import cosines_and_sines

Integers = NDArray[np.int64]

MAX_WHOLE = 1 << 22
"""Values of a table that is measured whole (4096 x 1024 takes 0.5 s); of a longer one, rows from the beginning and
blocks of the others are taken."""
STRUCTURE_ROWS = 512
"""Rows by which columns are paired."""
WINDOW = 64
MAX_AXES = 6
"""Axes beyond which nothing is looked for; noise has as many as columns."""
MIN_SHARE = 0.95
"""Share of the values in which the halves of a block must agree."""
MIN_CLEAR = 2
"""Roundings that a pair must turn by from row to row for every change of its axis to show."""
MIN_PAIRS = 3
"""Pairs of an axis beside which a lone pair that hardly differs is taken for a spoiled one."""
MAX_SPOILED = 4
"""Rows in which a spoiled pair may change otherwise: two spoiled values."""
SAME_LEVELS = (0.995, 0.8)
"""Share of the rows in which a slow pair must be the same on each level of its axis; the second where another of the
axis is too slow for its roundings to tell all levels apart, as in bfloat16."""
EVEN = 0.05
"""Difference of unit vectors that turn alike; bfloat16 leaves 0.02."""
LINE_PAIRS = 24
"""Pairs that must all change from every row to the next for a table to be a line."""
SIZED_ROWS = 64
"""Rows by which it is measured how far a pair turns from row to row."""
MAX_KEYS = 12
"""Pairs by which rows are told apart."""
JUMP = 0.4
"""Share of the usual step by which half of the pairs must step otherwise where coordinates jump, as after an image."""
MERGES = (2, 3, 4)
"""Sides of the blocks in which vision towers order their patches."""


@dataclass(frozen=True)
class AxisView:
    """Arrays of a table as rows of columns, measured in some of its rows.

    Attributes
    ----------
    planes : tuple of Plane
        One, or cosines and sines.
    rows : (n,) int64
        Which rows were read: all, or some of a long table.
    values : tuple of (n, width) float64
        Of these rows.
    dtype : str
        The effective type.
    note : str
        How cosines and sines stand in one array otherwise than a layout says.
    """

    planes: tuple[Plane, ...]
    rows: Integers
    values: tuple[Floats, ...] = field(repr=False)
    dtype: str
    note: str = ""

    @property
    def total(self) -> int:
        """Rows of the table."""
        return self.planes[0].rows

    @property
    def whole(self) -> bool:
        """Whether all rows were read."""
        return len(self.rows) == self.total


@dataclass(frozen=True)
class Grid:
    """A view with the axes that were found in one reading of it: which columns hold the cosines and sines of each pair.

    An absolute table that is taken as columns has no reading.
    """

    view: AxisView
    reading: Reading | None
    axes: Axes


class GridOrder(NamedTuple):
    """The grid that rows follow: the order of the axes, its sides (none where there is no grid), which each axis is."""

    order: tuple[int, ...]
    sides: tuple[int, ...] = ()
    side_of: tuple[int, ...] = ()
    merge: int = 1
    prefix: int = 0
    suffix: int = 0


def views(table: Tabular) -> Iterator[AxisView]:
    """Yield the views of a table's arrays, the likeliest first: cosines and sines, then each array alone."""
    arrays = {array.name: array for array in table.arrays if _real(array)}
    pair = cosines_and_sines(list(arrays)) or (list(arrays) if len(arrays) == 2 else [])
    groups: list[tuple[Plane, ...]] = []
    if pair and arrays[pair[0]].shape == arrays[pair[1]].shape:
        groups.append((_plane(table, arrays[pair[0]]), _plane(table, arrays[pair[1]])))
    for name, array in arrays.items():
        if not groups or name not in pair:
            groups += _alone(table, array)
    for planes in groups:
        rows = _sample(planes[0].rows, planes[0].width * len(planes))
        values = tuple(plane.at(rows) for plane in planes)
        some = values[0][:: max(1, len(rows) // 64)]
        dtype = effective_dtype(
            np.concatenate([some.ravel(), *(v[:64].ravel() for v in values)]), planes[0].array.dtype
        )
        yield AxisView(planes, rows, values, dtype)
    for array in (a for a in arrays.values() if not pair and not a.dtype.startswith("complex")):
        for note, planes in _parts(_plane(table, array)):
            values = tuple(plane.read(0, plane.rows) for plane in planes)
            yield AxisView(planes, np.arange(planes[0].rows), values, effective_dtype(values[0], array.dtype), note)


def _real(array: Array) -> bool:
    kinds = ("float16", "bfloat16", "float32", "float64", "complex64", "complex128")
    return array.dtype in kinds and len([s for s in array.shape if s != 1]) >= 2


def _plane(table: Tabular, array: Array, part: str = "") -> Plane:
    shape = [side for side in array.shape if side != 1]
    if shape[-1] == 2 and len(shape) > 2:
        shape = [*shape[:-2], 2 * shape[-2]]
    return Plane(table, array, array.name, math.prod(shape[:-1]), shape[-1], 0, part)


def _alone(table: Tabular, array: Array) -> Iterator[tuple[Plane, ...]]:
    """Yield one array: complex, as rows of its last axis, as a stack of two, or with its channels first."""
    if array.dtype.startswith("complex"):
        yield _plane(table, array, "real"), _plane(table, array, "imag")
        return
    shape = [side for side in array.shape if side != 1]
    whole = _plane(table, array)
    yield (whole,)
    if shape[0] == 2 and len(shape) > 2:
        half = whole.rows // 2
        yield tuple(replace(whole, rows=half, offset=k * half * whole.width) for k in (0, 1))
    size = math.prod(shape)
    if size <= MAX_WHOLE and shape[0] % 4 == 0 and size // shape[0] >= 4 and len(shape) > 2:
        values = np.ascontiguousarray(whole.read(0, whole.rows).reshape(shape[0], -1).T)
        yield (Plane(table, array, array.name, len(values), shape[0], values=values),)


def _parts(whole: Plane) -> Iterator[tuple[str, tuple[Plane, ...]]]:
    """Yield cosines and sines that one array holds in halves of doubled columns, or as rotation matrices."""
    if whole.rows * whole.width > MAX_WHOLE or whole.part:
        return
    values = whole.read(0, whole.rows)
    shape = [side for side in whole.array.shape if side != 1]
    half = whole.width // 2
    parts: tuple[Floats, Floats] | None = None
    note = ""
    if shape[-2:] == [2, 2] and len(shape) > 3:  # [[cos, -sin], [sin, cos]] for each pair
        entries = values.reshape(-1, shape[-3], 4)
        if (entries[..., 0] == entries[..., 3]).all() and (entries[..., 1] == -entries[..., 2]).all():
            parts, note = (entries[..., 0], entries[..., 2]), "rotation matrices of 2 x 2"
    elif whole.width % 4 == 0 and half > 2:
        left, right = values[:, :half], values[:, half:]
        if next(copies(left), None) and next(copies(right), None):
            sines_first = np.abs(left).mean() < np.abs(right).mean()  # slow pairs have cosines near 1
            parts = (right, left) if sines_first else (left, right)
            note = f"{'sines, then cosines' if sines_first else 'cosines, then sines'} in one array, each value twice"
    if parts is not None:
        cos, sin = (np.ascontiguousarray(part) for part in parts)
        yield note, tuple(replace(whole, rows=len(p), width=p.shape[1], values=p) for p in (cos, sin))


def _sample(rows: int, width: int) -> Integers:
    if rows * width <= MAX_WHOLE:
        return np.arange(rows)
    head = max(WINDOW, MAX_WHOLE // (2 * width))
    starts = np.linspace(head, rows - WINDOW, max(2, head // (2 * WINDOW))).astype(np.int64)
    return np.unique(np.concatenate([np.arange(head), (starts[:, None] + np.arange(WINDOW)).ravel()]))


def grids_of(view: AxisView) -> Iterator[Grid]:
    """Yield the readings of a view whose pairs follow several axes, or one, the best first."""
    seen: set[tuple[Any, ...]] = set()
    for reading in readings_of(view):
        key = (reading.layout, reading.pairs, str(reading.cos_at[0].index))
        if reading.sin is None or key in seen:
            continue
        seen.add(key)
        some = np.linspace(0, reading.pairs - 1, min(reading.pairs, LINE_PAIRS)).astype(np.int64)
        if (reading.sin[1:, some] != reading.sin[:-1, some]).all():  # a line, and so in other readings
            return
        found = grid_of(view, reading)
        if found is not None:
            yield found


def columns_of(view: AxisView) -> Grid | None:
    """Return an absolute table as columns alone, for encodings whose frequencies rise or whose input stands beside."""
    values, none = view.values[0], np.empty(0, np.int64)
    if len(view.planes) > 1 or view.planes[0].part:
        return None
    rows = view.rows[:, None].astype(float)
    return Grid(view, None, Axes(0, values.shape[1], True, "columns", (), (), (), none, rows, view.total,
                                 values=values))  # fmt: skip


def readings_of(view: AxisView) -> Iterator[Reading]:
    """Yield what columns may be pairs: as in rotary tables, and one array's by blocks of [sines | cosines]."""
    if len(view.values) == 1:
        yield from _blocks(view.values[0])
    some = np.linspace(0, len(view.rows) - 1, min(len(view.rows), STRUCTURE_ROWS)).astype(np.int64)
    for found in readings(view.planes, [values[some] for values in view.values]):
        cos, sin = (view.values[at[0].plane][:, at[0].index] if at else None for at in (found.cos_at, found.sin_at))
        assert cos is not None
        reading = replace(found, cos=cos, sin=sin, values=view.values)
        if reading.layout == "split" and reading.sin is not None:
            yield from _doubled(reading)
        yield reading


def _blocks(values: Floats) -> Iterator[Reading]:
    """Yield absolute tables whose columns are blocks, each with its sines before its cosines."""
    d = values.shape[1]
    third = 2 * -(-(d // 2) // 3)
    splits = {(d // 2,) * 2: 4, (d // 4, 3 * d // 8, 3 * d // 8): 16, (d // 2, d // 4, d // 4): 8, (third,) * 3: 2}
    good = values[np.linspace(0, len(values) - 1, min(len(values), STRUCTURE_ROWS)).astype(np.int64)]
    good = good[usable_rows([good])]
    for widths, divisor in splits.items() if len(good) > 1 and d > 4 else ():
        sines: list[int] = []
        cosines: list[int] = []
        for start, half in zip(np.cumsum((0, *widths)).tolist(), [width // 2 for width in widths], strict=False):
            count = max(0, min(half, d - start - half))  # what lies beyond the width is cut
            sines += range(start, start + count)
            cosines += range(start + half, start + half + count)
        sin, cos = np.array(sines), np.array(cosines)
        apart = np.inf if d % divisor else departure(good[:, cos], good[:, sin])
        if apart < MAX_DEPARTURE:
            at = (PlaneColumns(0, cos),), (PlaneColumns(0, sin),)
            layout = "blocks" + "+".join(map(str, widths))
            yield Reading(layout, values[:, cos], values[:, sin], *at, departure=apart)


def _doubled(reading: Reading) -> Iterator[Reading]:
    """Yield a table whose columns are blocks of two equal halves each, as one with each pair once."""
    assert reading.sin is not None
    for blocks in (2, 3):
        if reading.pairs % (2 * blocks):
            continue
        shape = (blocks, 2, reading.pairs // (2 * blocks))
        index = np.arange(reading.pairs).reshape(shape)
        first, second = index[:, 0].reshape(-1), index[:, 1].reshape(-1)
        both = (reading.cos, reading.sin)
        if all((part[:, first] == part[:, second]).mean() > MIN_SHARE for part in both):
            at = [tuple(PlaneColumns(plane, which) for which in (first, second)) for plane in (0, 1)]
            yield Reading("half-axis", reading.cos[:, first], reading.sin[:, first], at[0], at[1])


def grid_of(view: AxisView, reading: Reading, inside: tuple[int, int] | None = None) -> Grid | None:
    """Return the axes of a reading, by the rows inside; None where all rows are different, or none."""
    assert reading.sin is not None
    usable = usable_rows([reading.cos, reading.sin])
    if inside is not None:
        usable &= (view.rows >= inside[0]) & (view.rows < inside[1])
    cos, sin, rows = reading.cos[usable], reading.sin[usable], view.rows[usable]
    groups = _groups(cos, sin, rows, view.dtype) if len(rows) > 1 else []
    if not groups or (len(groups) == 1 and len(groups[0].first) == len(rows)):
        return None
    axes = [measured_axis(*group.levels(cos, sin), view.dtype, group.columns) for group in groups]
    turned = [axis.backward for axis, _ in axes if axis.size > 2]
    single, swapped = len(view.planes) == 1, False
    if single and reading.layout in ("alternate", "concat") and turned and all(turned):  # sines stand first
        reading, swapped, cos, sin = reading.swapped(), True, sin, cos
        axes = [measured_axis(*group.levels(cos, sin), view.dtype, group.columns) for group in groups]
    places = np.stack([levels[group.level] for group, (_, levels) in zip(groups, axes, strict=True)], axis=1)
    lines = _lattice(places, rows, view.total, cos, sin)
    prefix, suffix = lines.prefix, lines.suffix
    if inside is None and (prefix, suffix) != (int(rows[0]), view.total - 1 - int(rows[-1])):
        return grid_of(view, reading.swapped() if swapped else reading, (prefix, view.total - suffix))
    owner = np.full(reading.pairs, -1, np.int64)
    for number, at in enumerate(lines.order):
        owner[groups[at].columns] = number
    absolute = swapped or reading.layout.startswith("blocks")
    layout = {"alternate": "alternate" if absolute else "pairs"}.get(reading.layout, reading.layout)
    layout = "halves" if absolute and layout in ("concat", "sin-cos") else layout
    layout = "complex" if view.planes[0].part else "split" if view.note else layout
    width = view.planes[0].width if single or layout in ("half", "interleaved", "half-axis") else 2 * reading.pairs
    order = list(lines.order)
    return Grid(view, reading, Axes(
        reading.pairs, width, absolute, layout, tuple(axes[at][0] for at in order), lines.sides, lines.side_of, owner,
        places[:, order], view.total, lines.merge, prefix, suffix))  # fmt: skip


class Group(NamedTuple):
    """Pairs that share an axis, the level of each row, and the first row of each level."""

    columns: Integers
    level: Integers
    first: Integers

    def levels(self, cos: Floats, sin: Floats) -> tuple[Floats, Floats]:
        """Return the cosines and sines of the levels."""
        at = np.ix_(self.first, self.columns)
        return cos[at], sin[at]


def _groups(cos: Floats, sin: Floats, rows: Integers, dtype: str) -> list[Group]:
    """Return the pairs of each axis; nothing where there are too many for a grid.

    Pairs of one axis change in the same rows; slow ones of narrow types in some of these.
    """
    near = np.flatnonzero(np.diff(rows) == 1)
    changed = np.asfortranarray((cos[1:] != cos[:-1]) | (sin[1:] != sin[:-1]))[near]
    size = np.zeros(changed.shape[1])
    for k in np.flatnonzero(changed.any(axis=0)).tolist():
        at = near[np.flatnonzero(changed[:, k])[:SIZED_ROWS]]
        turns = np.arctan2(sin[at + 1, k], cos[at + 1, k]) - np.arctan2(sin[at, k], cos[at, k])
        size[k] = max(np.median(np.abs(wrapped(turns))), 1e-300)
    by_pattern: dict[bytes, list[int]] = {}
    for k in np.flatnonzero(size > MIN_CLEAR * EPSILON[dtype]).tolist():
        by_pattern.setdefault(changed[:, k].tobytes(), []).append(k)
        if len(by_pattern) > 4 * MAX_AXES:
            return []
    groups = sorted(by_pattern.values(), key=len)
    none = np.empty(0, np.int64)
    keys = {id(group): group[:MAX_KEYS] for group in groups}
    most = max(map(len, groups), default=0)
    left = np.flatnonzero((size > 0) & (size <= MIN_CLEAR * EPSILON[dtype])).tolist()
    for group in list(groups):
        own, others = changed[:, group[0]], [other for other in groups if other is not group]
        spoiled = len(group) == 1 and most >= MIN_PAIRS
        for other in others:
            pattern = changed[:, other[0]]
            if (spoiled and np.count_nonzero(own != pattern) <= MAX_SPOILED) or (
                not (own & ~pattern).any() and _evenly(cos, sin, group, _levels(cos, sin, other, keys[id(other)]))
            ):  # a spoiled value, or a fast pair that is back where it began
                other += group
                groups.remove(group)
                break
    found = [_levels(cos, sin, group, keys[id(group)]) for group in groups]
    for k in sorted(left, key=lambda k: -int(changed[:, k].sum())):
        same = np.array([
            ((cos[:, k] == cos[g.first, k][g.level]) & (sin[:, k] == sin[g.first, k][g.level])).mean() for g in found
        ])  # fmt: skip
        fits = next((at for share in SAME_LEVELS if len(at := np.flatnonzero(same >= share))), none)
        if len(fits) > 1:  # the same in every row that tells axes apart, unless it changes as one axis does
            fits = np.array([g for g in fits if np.array_equal(changed[:, k], changed[:, groups[g][0]])])[:1]
        elif not len(fits):
            groups.append([k])
            found.append(_levels(cos, sin, [k], [k]))
            continue
        for g in fits.tolist():
            groups[g].append(k)
    return [_levels(cos, sin, g, keys.get(id(g), g)) for g in groups] if len(groups) <= MAX_AXES else []


def _evenly(cos: Floats, sin: Floats, columns: list[int], group: Group) -> bool:
    """Whether pairs have one value on each level, and turn by one angle each from level to level."""
    first = group.first
    if not all(np.array_equal(part[:, k], part[first[group.level], k]) for part in (cos, sin) for k in columns):
        return False
    at = np.ix_(first, np.array(columns))
    z = cos[at] + 1j * sin[at]
    turns = z[1:] * np.conj(z[:-1])
    return bool(len(turns) > 1 and (np.abs(turns - turns[0]) < EVEN).all())


def _levels(cos: Floats, sin: Floats, columns: list[int], keys: list[int]) -> Group:
    """Return the level of each row by some pairs, and the first row of each level, in order of appearance."""
    found = []
    for some in (keys, keys[::2], keys[1::2]) if len(keys) > MIN_PAIRS else (keys,):
        key = np.zeros(len(cos))
        for k in some[:MAX_KEYS]:  # equal rows have equal sums
            key = key * 1.6180339887 + cos[:, k] + sin[:, k] * 0.7071067811865
        found.append(np.unique(key, return_index=True, return_inverse=True)[1:])
    fewest = min(found, key=lambda one: len(one[0]))  # a spoiled value makes one more
    first, level = fewest if len(found[0][0]) - len(fewest[0]) <= MAX_SPOILED else found[0]
    order = np.argsort(first)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return Group(np.sort(np.array(columns)), rank[level.reshape(-1)], first[order])


def measured_axis(cos: Floats, sin: Floats, dtype: str, columns: Integers) -> tuple[GridAxis, Floats]:
    """Return an axis as its levels show it, and the place of each level, in levels from the first."""
    signal = _signal(cos, sin, dtype)
    backward = signal.backward
    steps = -signal.steps if backward else signal.steps
    steps = np.where(steps < -4 * signal.errors, steps + 2 * np.pi, np.abs(steps))
    slow = int(np.argmin(np.where(np.abs(signal.steps) > 4 * signal.noise, np.abs(signal.steps), np.inf)))
    guess = np.unwrap(np.angle(signal.unit[:, slow])) / signal.steps[slow]
    at = int(np.flatnonzero(signal.rows == signal.reference)[0])
    places = positions_in_steps(
        signal, signal.steps, signal.phases, guess - guess[at] if np.isfinite(guess).all() else None
    )
    near = np.rint(places)
    if len(near) != len(cos) or np.abs(places - near).max(initial=0) > 0.3 or (np.diff(np.sort(near)) == 0).any():
        near = np.arange(len(cos), dtype=float) - signal.reference
    loose = max(2.0**-20, 4 * EPSILON[dtype] / np.sqrt(max(1, len(cos))))
    errors = signal.errors
    if dtype == "float16":  # below its smallest normal number sines of slow pairs have no relative precision
        errors = errors + 2.0**-23 / len(cos)
    still = np.zeros(len(columns), bool)
    pairs = Pairs(steps, errors, still, signal.magnitude, loose, width=2 * len(columns))
    size = int(np.ptp(near)) + 1  # some levels of a long table are not read
    return GridAxis(size, columns, pairs, _first_place(signal, backward), backward), near - near[0]


def _signal(cos: Floats, sin: Floats, dtype: str) -> Signal:
    """Return the signal of the levels of an axis, measured where they follow one another without a jump."""
    z = cos + 1j * sin
    turns = np.angle(z[1:] * np.conj(z[:-1]))
    usual = np.median(turns, axis=0)
    noise = 2 * EPSILON[dtype] * np.minimum(np.abs(cos), np.abs(sin)) + 2.0**-40  # the smaller part is rounded finer
    noise = noise[1:] + noise[:-1]
    clear = np.abs(usual) > 2 * noise
    off = clear & (np.abs(wrapped(turns - usual)) > JUMP * np.abs(usual) + noise)
    jumps = np.flatnonzero(2 * off.sum(axis=1) > clear.sum(axis=1)) + 1
    edges = [0, *jumps.tolist(), len(z)]
    start, stop = max(pairwise(edges), key=lambda run: run[1] - run[0])
    signals = []
    for part in (slice(start, stop), slice(0, len(z))):
        reading = Reading("split", cos[part], sin[part], (PlaneColumns(0, ALL),), (PlaneColumns(1, ALL),))
        signal = measure(reading, np.arange(len(z))[part], dtype)
        assert signal is not None
        signals.append(signal)
        if stop - start == len(z):
            return signal
    return replace(signals[0], unit=signals[1].unit, rows=signals[1].rows)


def _first_place(signal: Signal, backward: bool) -> float:
    """Return the coordinate of the first level, in levels; NaN where the phases name none."""
    w = np.abs(signal.steps)
    with np.errstate(all="ignore"):
        unit = signal.unit[:1]
        one = replace(signal, unit=np.conj(unit) if backward else unit, rows=signal.rows[:1])
        (place,) = positions_in_steps(one, w, np.zeros(len(w)))
        rest = np.abs(wrapped(np.angle(one.unit[0]) - w * place))
    agree = rest <= 0.05 + 6 * signal.noise + np.abs(place) * signal.errors
    return float(place) if agree.mean() > 0.8 else float("nan")


def _lattice(places: Floats, rows: Integers, total: int, cos: Floats, sin: Floats) -> GridOrder:
    """Return which grid the rows follow: by its edges, the order of its axes, and a side that no axis follows."""
    lead, tail = int(rows[0]), total - 1 - int(rows[-1])
    edges = [(lead, tail)]
    if not lead and not tail:  # rows without a coordinate look like those of coordinate 0
        plain = ((cos == 1) & (sin == 0)).all(axis=1)
        first, last = (0, 0) if plain.all() else (int((~plain).argmax()), int((~plain[::-1]).argmax()))
        lower = max(0, first - 1)
        edges = list(dict.fromkeys([(0, 0), (first, 0), (lower, 0), (0, last), (first, last), (lower, last)]))
    for prefix, suffix in edges:
        inside = (rows >= prefix) & (rows < total - suffix)
        body, index = places[inside], rows[inside] - prefix
        count = total - prefix - suffix
        if len(body) < 2:
            continue
        body = body - body.min(axis=0)
        sizes = body.max(axis=0).astype(np.int64) + 1
        if count % math.prod(sizes.tolist()) or (sizes < 2).any():
            continue
        for order, sides, which, merge in _orders(sizes.tolist(), count):
            lattice = Lattice(sides, merge)
            if all((lattice.index(side)(index) == body[:, a]).all() for a, side in zip(order, which, strict=True)):
                return GridOrder(order, sides, which, merge, prefix, suffix)
    return GridOrder(tuple(range(places.shape[1])))


def _orders(sizes: list[int], rows: int) -> Iterator[tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], int]]:
    """Yield orders of axes, with the sides of the grid, which side each axis is, and the side of merged blocks."""
    frames = rows // math.prod(sizes)
    for at in range(len(sizes) + 1) if frames > 1 else (-1,):  # where a side stands that no axis follows
        for order in permutations(range(len(sizes))):
            own = [sizes[a] for a in order]
            which = tuple(k + (0 <= at <= k) for k in range(len(own)))
            sides = tuple(own if at < 0 else [*own[:at], frames, *own[at:]])
            for merge in (1, *MERGES) if len(sizes) > 1 else (1,):
                if merge == 1 or not any(side % merge for side in sides[-2:]):
                    yield order, sides, which, merge
