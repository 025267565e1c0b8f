"""Tables over several axes: which pairs share an axis, what encodings call them, and the arithmetic of every value.

Pairs whose rows repeat in the same pattern share an axis, and each is a table of waves over its levels: its different
values, in the order in which they first appear.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise, permutations, product
from typing import NamedTuple

import numpy as np

from pecli.encodings.shared.grids import Lattice
from pecli.engine import FrequencySet, fill
from pecli.judge.description import ANGLES, COPIES, TWICE, UNLIKE, BlockDifferences, Identification, Tally
from pecli.judge.orders import MERGES, numbered
from pecli.judge.planes import EPSILON, Floats, Integers, Plane, exchanged, is_large, only_array, rounded, unit
from pecli.judge.signal import (
    ALL,
    MAX_DEPARTURE,
    PlaneColumns,
    Reading,
    copies,
    departure,
    measure,
    phasors,
    positions_in_steps,
    readings,
    sampled,
    usable_rows,
    wave_groups,
    wrapped,
)
from pecli.judge.waves import LOW_TYPES, MIN_EQUAL, library_units, origin_of, plan_of
from pecli.numbers.blocks import in_blocks
from pecli.numbers.decimals import number_text, shortest
from pecli.numbers.printing import limit
from pecli.numbers.rounding import Complex
from pecli.spec.catalogue import CATALOGUE
from pecli.spec.measured import Axes, GridAxis, Named, Pairs
from pecli.spec.plans import Waves
from pecli.spec.recipe import Recipe, join_recipe
from pecli.spec.tabular import Array, InMemory, Tabular
from pecli.tables.sources import read_source

# Types of the arrays that may hold sines.
KINDS = ("float16", "bfloat16", "float32", "float64", "complex64", "complex128")
# Axes beyond which nothing is looked for; noise has as many as columns.
MAX_AXES = 4
# Share of the values in which the halves of a block must agree.
MIN_SHARE = 0.95
# Roundings that a pair must turn by from row to row for every change of its axis to show.
MIN_CLEAR = 2
# Share of the rows in which a slow pair must be the same on each level of its axis: where the others of the axis are
# slow as well, roundings do not tell all levels apart.
MIN_SAME = 0.8
# Pairs that must all change from every row to the next for a table to be a line.
LINE_PAIRS = 24
# Pairs by which rows are distinguished; two may be back where they began, more meet more corrupted values.
MAX_KEYS = 3
# Such pairs in all rows of a grid, 512 MiB; three of each side of 2048 x 2048 are fewer.
MAX_GRID_PAIRS = 1 << 25
# Share of the usual step by which half of the pairs must step otherwise where coordinates jump, as after an image.
JUMP = 0.4
# Arrangements of cosines and sines in one array that no layout of a recipe describes.
JOINED = (
    "rotation matrices of 2 x 2",
    "cosines, then sines in one array, each value twice",
    "sines, then cosines in one array, each value twice",
)
CHANNELS_FIRST = "the channels come before the grid"
# Prefixes of the layouts of absolute tables, where sines and cosines are columns of one array, the sines first.
ABSOLUTE = ("blocks", "alternate", "halves")


@dataclass(frozen=True)
class AxisView:
    """Arrays of a table as rows of columns, with a sample of them.

    Attributes
    ----------
    planes : tuple of Plane
        One, or cosines and sines.
    rows : (n,) int64
        Which rows are in the sample.
    values : tuple of (n, width) float64
        Of these rows.
    dtype : str
        The effective type.
    """

    planes: tuple[Plane, ...]
    rows: Integers
    values: tuple[Floats, ...] = field(repr=False)
    dtype: str

    @property
    def total(self) -> int:
        """Rows of the table."""
        return self.planes[0].rows

    @property
    def channels_first(self) -> bool:
        """Whether the first axis of the array is that of the channels."""
        return self.planes[0].values is not None

    def few(self, most: int) -> AxisView:
        """Return the view with fewer rows in its sample: the first ones and others spread over the table."""
        last = len(self.rows) - 1
        some = np.unique(np.r_[0 : min(most // 2, last + 1), np.linspace(0, last, most // 2).astype(np.int64)])
        return replace(self, rows=self.rows[some], values=tuple(values[some] for values in self.values))


class Grid(NamedTuple):
    """A view with the axes that were found in one reading of it: which columns hold the cosines and sines of each pair.

    An absolute table that is taken as columns has no reading.
    """

    view: AxisView
    reading: Reading | None
    axes: Axes


def pairs_of(view: AxisView, reading: Reading, which: Integers, rows: Integers | None = None) -> Complex:
    """Return some pairs of a reading as cosine + i sine, for given rows or for the sampled ones."""
    values = view.values if rows is None else [plane.at(rows) for plane in view.planes]
    cos, sin = (places[0].of(values)[:, which] for places in (reading.cos_at, reading.sin_at))
    found: Complex = cos + 1j * sin
    return found


def views(table: Tabular) -> Iterator[AxisView]:
    """Yield the views of a table's arrays, the likeliest first: cosines and sines, then each array alone."""
    held = [array for array in table.arrays if array.dtype in KINDS and array.bytes]
    planes = [plane for array in held for plane in _planes(table, array)]
    groups = list(wave_groups(planes))
    if len(planes) == 1 and (channels_last := _channels_last(planes[0])) is not None:
        groups.append((channels_last,))
    for group in groups:
        yield AxisView(group, *sampled(group))


def _planes(table: Tabular, array: Array) -> Iterator[Plane]:
    """Yield the planes of an array: rows of its last axis, pairs and 2 x 2 matrices flattened; complex as two."""
    shape = [side for side in array.shape if side != 1]
    inner = 3 if shape[-2:] == [2, 2] and len(shape) > 3 else 2 if shape[-1:] == [2] and len(shape) > 2 else 1
    for part in () if len(shape) < 2 else ("real", "imag") if array.dtype.startswith("complex") else ("",):
        name = f"{array.name}.{part}" if part else array.name
        yield Plane(table, array, name, math.prod(shape[:-inner]), math.prod(shape[-inner:]), 0, part)


def _channels_last(plane: Plane) -> Plane | None:
    """Return the first channels-first table of an array as rows of channels; None if its shape is no such one."""
    channels, *sides = [side for side in plane.array.shape if side != 1][-3:]
    if channels % 4 or len(sides) < 2:
        return None
    return exchanged(replace(plane, rows=channels, width=math.prod(sides)))


def tables_of(view: AxisView) -> tuple[int, bool]:
    """Return how many tables a channels-first array holds, and whether they are equal."""
    plane = view.planes[0]
    whole = plane.table.read(plane.array.name).reshape(-1, plane.rows * plane.width)
    return len(whole), bool((whole == whole[:1]).all())


# readings -----------------------------------------------------------------------------------------


def readings_of(view: AxisView) -> Iterator[Reading]:
    """Yield the candidate pairings of columns: as in rotary tables, and one array's by blocks of [sines | cosines]."""
    single = len(view.values) == 1
    if single:
        yield from _blocks(view.values[0])
        yield from _joined(view.values[0])
    for reading in readings(view.planes, view.values):
        if reading.sin is None:
            continue
        if reading.layout == "split":
            yield from _doubled(reading)
        if single and reading.layout in ("alternate", "concat") and _backward(reading):
            yield replace(reading.swapped(), layout="halves" if reading.layout == "concat" else "alternate")
        else:
            yield replace(reading, layout="pairs") if reading.layout == "alternate" else reading


def _backward(reading: Reading) -> bool:
    """Whether most pairs rotate backward from row to row, as where sines come first."""
    assert reading.sin is not None
    z = reading.cos + 1j * reading.sin
    turns = np.angle(z[1:] * np.conj(z[:-1]))
    return bool(np.sign(turns[np.abs(turns) < np.pi / 2]).sum() < 0)


def _blocks(values: Floats) -> Iterator[Reading]:
    """Yield absolute tables whose columns are blocks, each with its sines before its cosines."""
    d = values.shape[1]
    third = 2 * -(-(d // 2) // 3)
    splits = {(d // 2,) * 2: 4, (d // 4, 3 * d // 8, 3 * d // 8): 16, (d // 2, d // 4, d // 4): 8, (third,) * 3: 2}
    good = values[usable_rows([values])]
    for widths, divisor in splits.items() if len(good) > 1 and d > 4 else ():
        sines, cosines = list[int](), list[int]()
        for start, half in zip(np.cumsum((0, *widths)).tolist(), [width // 2 for width in widths], strict=False):
            count = max(0, min(half, d - start - half))  # what lies beyond the width is cut
            sines += range(start, start + count)
            cosines += range(start + half, start + half + count)
        sin, cos = np.array(sines), np.array(cosines)
        apart = np.inf if d % divisor else departure(good[:, cos], good[:, sin])
        if apart < MAX_DEPARTURE:
            yield _of_one(values, "blocks" + "+".join(map(str, widths)), [cos], [sin], apart)


def _of_one(
    values: Floats, layout: str, cos: Sequence[Integers], sin: Sequence[Integers], apart: float = 0.0
) -> Reading:
    """Return a reading of one array from the columns of its cosines and sines."""
    cos_at, sin_at = (tuple(PlaneColumns(0, columns) for columns in places) for places in (cos, sin))
    return Reading(layout, (values,), cos_at, sin_at, departure=apart)


def _joined(values: Floats) -> Iterator[Reading]:
    """Yield cosines and sines that one array holds as rotation matrices, or in halves of doubled columns."""
    index, half = np.arange(values.shape[1]), values.shape[1] // 2
    if len(index) % 4 or half < 3:
        return
    a, b, c, d = (values[:, k::4] for k in range(4))  # [[cos, -sin], [sin, cos]] for each pair
    if (a == d).all() and (b == -c).all():
        yield _of_one(values, JOINED[0], [index[0::4], index[3::4]], [index[2::4]])
    places = []
    for part in (index[:half], index[half:]):
        places += [[part[first], part[second]] for _, first, second in copies(values[:, part])][:1]
    if len(places) == 2:
        sines_first = int(np.abs(values[:, :half]).mean() < np.abs(values[:, half:]).mean())  # slow cosines are near 1
        for first in (sines_first, 1 - sines_first):
            yield _of_one(values, JOINED[1 + first], places[first], places[1 - first])


def pairing_of(reading: Reading) -> str:
    """Return the layout of a reading, of cosines and sines in one array that of the columns in which each stands."""
    if reading.layout not in JOINED[1:]:
        return reading.layout
    return "half" if reading.cos_at[0].index[1] == reading.cos_at[0].index[0] + 1 else "interleaved"


def _doubled(reading: Reading) -> Iterator[Reading]:
    """Yield a table whose columns are blocks of two equal halves each, as one with each pair once."""
    assert reading.sin is not None
    both = (reading.cos, reading.sin)
    for blocks in (2, 3):
        if reading.pairs % (2 * blocks):
            continue
        index = np.arange(reading.pairs).reshape(blocks, 2, -1)
        first, second = index[:, 0].reshape(-1), index[:, 1].reshape(-1)
        if all((part[:, first] == part[:, second]).mean() > MIN_SHARE for part in both):
            cos, sin = (tuple(PlaneColumns(plane, which) for which in (first, second)) for plane in (0, 1))
            yield Reading("half-axis", reading.values, cos, sin)


# axes of a reading --------------------------------------------------------------------------------


def grids_of(view: AxisView) -> Iterator[Grid]:
    """Yield the readings of a view whose pairs follow several axes, or one, the best first."""
    for reading in readings_of(view):
        assert reading.sin is not None
        some = np.linspace(0, reading.pairs - 1, min(reading.pairs, LINE_PAIRS)).astype(np.int64)
        if (reading.sin[1:, some] != reading.sin[:-1, some]).all():  # a line, and so in other readings
            return
        groups = _groups(pairs_of(view, reading, np.arange(reading.pairs)), view.rows, view.dtype)
        if groups and (found := _grid(view, reading, groups)) is not None:
            yield found


def unmeasured(view: AxisView, reading: Reading | None = None) -> Grid:
    """Return a reading whose axes are not looked for; without one, a table as columns."""
    layout, count = ("columns", 0) if reading is None else (reading.layout, reading.pairs)
    rows = view.rows[:, None].astype(float)
    return Grid(view, reading, Axes(view.planes[0].width, reading is None, layout, (), (), np.full(count, -1), rows,
                                    view.total, values=view.values[0]))  # fmt: skip


def columns_of(view: AxisView) -> Grid | None:
    """Return an absolute table as plain columns, for encodings whose frequencies rise or whose input is a column."""
    return None if len(view.planes) > 1 or view.planes[0].part else unmeasured(view)


def _groups(z: Complex, rows: Integers, dtype: str) -> list[list[int]]:
    """Return the pairs of each axis, the pairs that distinguish its levels first; [] for more than `MAX_AXES` axes.

    Pairs of one axis change in the same rows; slow ones of narrow types in some of these.
    """
    changed, near = np.asfortranarray(z[1:] != z[:-1]), np.diff(rows) == 1
    turns = np.where(changed, np.abs(np.angle(z[1:] * np.conj(z[:-1]))), 0.0)[near]
    typical = turns.sum(axis=0) / changed[near].sum(axis=0)  # not a number for what changes in rows far apart alone
    patterns: dict[bytes, list[int]] = {}
    moving = np.flatnonzero(changed.any(axis=0) & ~(typical <= MIN_CLEAR * EPSILON[dtype])).tolist()
    for k in moving:
        patterns.setdefault(changed[:, k].tobytes(), []).append(k)
    if len(patterns) > 4 * MAX_AXES:
        return []
    groups, shown = list[list[int]](), list[tuple[Integers, Integers]]()
    every = [own for own in patterns.values() if len(own) > 1] or list(patterns.values())
    for own in sorted(every, key=lambda own: -int(changed[:, own[0]].sum())):
        points = z[:, own]
        ends = ((k, points[first], level) for k, (level, first) in enumerate(shown))  # half turns, the same at both
        of = next((k for k, one, level in ends if (one[0] == one[-1]).all() and (points == one[level]).all()), -1)
        if of < 0:
            groups.append(own)
            shown.append(levels_of(z[:, own[:MAX_KEYS]]))
        else:
            groups[of] += own
    left = set(np.flatnonzero(changed.any(axis=0)).tolist()) - {k for own in groups for k in own}
    for k in sorted(left, key=lambda k: -int(changed[:, k].sum())):
        same = [float((z[:, k] == z[first, k][level]).mean()) for level, first in shown]
        best = max(same, default=0.0)
        if best < MIN_SAME:
            groups.append([k])
            shown.append(levels_of(z[:, [k]]))
        elif same.count(best) == 1:  # otherwise it is the same in every row that tells these axes apart
            groups[same.index(best)].append(k)
    return groups if len(groups) <= MAX_AXES else []


def levels_of(z: Complex) -> tuple[Integers, Integers]:
    """Return the level of each row by some pairs, and the first row of each level, in order of appearance."""
    key = np.zeros(len(z))
    for pair in z.T:  # equal rows have equal sums
        key = key * 1.6180339887 + pair.real + pair.imag * 0.7071067811865
    _, first, level = np.unique(key, return_index=True, return_inverse=True)
    order = np.argsort(first)
    return np.argsort(order)[level], first[order]


def _grid(view: AxisView, reading: Reading, groups: list[list[int]]) -> Grid | None:
    """Return the axes of a reading whose rows follow a grid, or none; None where all rows are different."""
    keys = [own[:MAX_KEYS] for own in groups]
    which = np.array([k for own in keys for k in own])
    if view.total * len(which) > MAX_GRID_PAIRS:
        return None
    blocks = in_blocks(0, view.total, BLOCK_VALUES // view.planes[0].width)
    shown = np.concatenate([pairs_of(view, reading, which, np.arange(at.start, at.stop)) for at in blocks])
    if not np.isfinite(shown).all():
        return None
    parts = np.split(shown, np.cumsum([len(own) for own in keys])[:-1], axis=1)
    found: Grid | None = None
    for prefix, suffix in _edges(shown):
        levels = [levels_of(part[prefix : view.total - suffix]) for part in parts]
        if len(levels) == 1 and len(levels[0][1]) == view.total - prefix - suffix:
            return None
        if min(len(first) for _, first in levels) > 1:
            one = _measured_grid(view, reading, groups, levels, prefix, suffix)
            if one is not None and one.axes.sides:
                return one
            found = found or one
    return found


def _edges(shown: Complex) -> list[tuple[int, int]]:
    """Return how many rows before and after a grid may have no coordinate: their values are 0, or those of angle 0."""
    total = len(shown)

    def outer(value: float) -> tuple[int, int]:
        other = np.flatnonzero((shown != value).any(axis=1))
        return (int(other[0]), total - 1 - int(other[-1])) if len(other) else (0, 0)

    if any(outer(0.0)):
        return [outer(0.0)]
    first, last = outer(1.0)  # the first row of a grid may have angle 0 as well
    return list(dict.fromkeys(product((0, max(0, first - 1), first), (0, last))))


def _measured_grid(
    view: AxisView, reading: Reading, groups: list[list[int]], levels: Sequence[tuple[Integers, Integers]],
    prefix: int, suffix: int,
) -> Grid | None:  # fmt: skip
    """Return the axes of groups of pairs, each measured on its levels, and the grid that the rows follow, if any."""
    axes = []
    for own, (_, first) in zip(groups, levels, strict=True):
        columns = np.sort(np.array(own))
        axis = _measured_axis(pairs_of(view, reading, columns, first + prefix), view.dtype, columns)
        if axis is None:
            return None
        axes.append(axis)
    places = np.stack([own[level] for (level, _), (_, own) in zip(levels, axes, strict=True)], axis=1)
    order, sides, merge = _lattice(places - places.min(axis=0))
    owner = np.full(reading.pairs, -1, np.int64)
    for number, at in enumerate(order):
        owner[groups[at]] = number
    layout = "complex" if view.planes[0].part else "split" if reading.layout in JOINED else reading.layout
    absolute, kept = reading.layout.startswith(ABSOLUTE), tuple(axes[at][0] for at in order)
    angles = np.angle(pairs_of(view, reading, np.arange(reading.pairs), np.array([prefix]))[0])
    return Grid(view, reading, Axes(view.planes[0].width, absolute, layout, kept, sides, owner, places[:, list(order)],
                                    view.total, merge, prefix, suffix, angles=angles))  # fmt: skip


def _measured_axis(z: Complex, dtype: str, columns: Integers) -> tuple[GridAxis, Floats] | None:
    """Return an axis as its levels show it, and the place of each level, in levels from the first; None of no waves."""
    run = _even_run(z, dtype)
    reading = Reading("split", (z.real[run], z.imag[run]), (PlaneColumns(0, ALL),), (PlaneColumns(1, ALL),))
    signal = measure(reading, np.arange(len(z))[run], dtype)
    if signal is None:
        return None
    steps = np.where(signal.steps < -4 * signal.errors, signal.steps + 2 * np.pi, np.abs(signal.steps))
    start = origin_of(signal, np.abs(signal.steps), 0.0)
    near = np.arange(len(z), dtype=float) - signal.reference
    if run != slice(0, len(z)):  # coordinates jump
        unit = phasors(z.real / signal.magnitudes, z.imag / signal.magnitudes)
        every = signal._replace(unit=unit, rows=np.arange(len(z)))
        places = positions_in_steps(every, signal.steps, signal.phases)
        whole = np.rint(places)
        near = whole if np.abs(places - whole).max() <= 0.3 and len(np.unique(whole)) == len(z) else near
    errors = signal.errors
    if dtype == "float16":  # below its smallest normal number sines of slow pairs have no relative precision
        errors = errors + 2.0**-23 / len(z)
    pairs = Pairs(steps, errors, np.zeros(len(columns), bool), signal.magnitude)
    origin = np.nan if start is None else start + near[0]
    return GridAxis(int(np.ptp(near)) + 1, columns, pairs, float(origin)), near - near[0]


def _even_run(z: Complex, dtype: str) -> slice:
    """Return the longest run of levels of an axis without a jump."""
    turns = np.angle(z[1:] * np.conj(z[:-1]))
    usual = np.median(turns, axis=0)
    noise = 2 * EPSILON[dtype] * np.minimum(np.abs(z.real), np.abs(z.imag)) + 2.0**-40  # the smaller part is finer
    noise = noise[1:] + noise[:-1]
    clear = np.abs(usual) > 2 * noise
    off = clear & (np.abs(wrapped(turns - usual)) > JUMP * np.abs(usual) + noise)
    jumps = np.flatnonzero(2 * off.sum(axis=1) > clear.sum(axis=1)) + 1
    start, stop = max(pairwise([0, *jumps.tolist(), len(z)]), key=lambda run: run[1] - run[0])
    return slice(start, stop)


def _lattice(places: Floats) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    """Return the grid that rows follow: the order of the axes, its sides, none if there is none, and its merge.

    A side before the sides of the axes counts frames that repeat the grid.
    """
    count, sizes = len(places), (places.max(axis=0).astype(np.int64) + 1).tolist()
    frames, left = divmod(count, math.prod(sizes))
    index, orders = np.arange(count), tuple(permutations(range(len(sizes))))
    for order, merge in product(orders, (1, *MERGES)) if not left and min(sizes) > 1 else ():
        sides = (*([frames] if frames > 1 else []), *(sizes[a] for a in order))
        if merge > 1 and (len(order) < 2 or any(side % merge for side in sides[-2:])):
            continue
        grid, first = Lattice(sides, merge), len(sides) - len(order)
        if all((grid.index(first + k)(index) == places[:, a]).all() for k, a in enumerate(order)):
            return order, sides, merge
    return orders[0], (), 1


# Relative errors of frequencies computed in float64, float32, float16 and bfloat16.
LEVELS = (2.0**-40, 2.0**-22, 2.0**-10, 2.0**-7.5)
# Names that are tried on one reading; more cost time, and the right one was among the first dozen of all tables.
MAX_NAMES = 24
# Share of the values that must be explained for a likely answer.
MIN_SHARE_LIKELY = 0.99
# Values that may not fit a table whose parameters are certain; they are located.
MAX_ODD = 8
# Fitted digits up to which parameters count as determined; three numbers of two digits each.
MAX_SURE_DIGITS = 6.0
# Share of the sampled values that a name must explain to be kept; a few rows may be corrupted.
MIN_RESEMBLANCE = 0.95
# Share of them that rounded frequencies must explain besides; near 1, both explain corrupted values by chance.
MIN_GAIN = 0.005
# Values of each plane by which a name is tried.
SAMPLE_VALUES = 1 << 19
# Half units in the last place that an angle may be off by: its coordinate's (normalised ones are a quotient, a
# difference and a product), its frequency's and its own.
ROUNDINGS = 8
# Roundings of the exponent of a frequency, for each unit of its logarithm: a quotient and a product.
EXPONENT_ROUNDINGS = 2
# Units in the last place that exact values, rounded once by a library, are off by.
MAX_EXACT_ULP = 1.01
# Largest value that a double leaves of the sine of a whole number of half turns.
MAX_ZERO = 2.0**-48
# Most that roundings of an angle may change a value: where angles are so large that they leave more, any value fits.
MAX_SLACK = 0.1
# Share of the slack that float32 leaves at least: a quarter of half a unit of the largest angle.
MIN_SINGLE = 2.0**-31
# Largest error of an angle, in units in the last place of the largest one in float32.
MAX_ANGLE_ULP = 8
# Values compared at once.
BLOCK_VALUES = 1 << 20


class PlannedPairs(NamedTuple):
    """Pairs of a plan in the order of its bands: frequencies, coordinates and columns.

    Attributes
    ----------
    plan : Waves
    frequencies : (m,) float64
        Radians per unit of the coordinate.
    axis : (m,) int64
    cos, sin : (m,) int64
        Columns.
    magnitude : (m,) float64
    streams : (rows, axes) float64, optional
        Coordinates that each row has instead of the plan's.
    kind : str
        Type that the frequencies were rounded to: "float64", or a narrow one.
    bases : tuple of float
        Of the axes, where coordinates, exponents, periods and angles were rounded to that type as well; () elsewhere.
    """

    plan: Waves
    frequencies: Floats
    axis: Integers
    cos: Integers
    sin: Integers
    magnitude: Floats
    streams: Floats | None = None
    kind: str = "float64"
    bases: tuple[float, ...] = ()

    @classmethod
    def of(cls, plan: Waves) -> PlannedPairs:
        """Return the pairs of a plan; the column of a sine or cosine that was cut is -1."""
        parts: list[tuple[float, int, int, int, float]] = []
        for band in plan.bands:
            sin, cos = (range(plan.width)[where] if where is not None else range(0) for where in (band.sin, band.cos))
            for k, w in enumerate(band.frequencies):
                s, c = (which[k] if k < len(which) else -1 for which in (sin, cos))
                parts.append((float(w) * (2 * np.pi if band.turns else 1), band.axis, c, s, float(band.magnitude)))
        frequencies, *places, magnitude = np.array(parts).T
        axis, cos, sin = np.array(places, np.int64)
        return cls(plan, frequencies, axis, cos, sin, magnitude)

    @property
    def ascending(self) -> bool:
        """Whether frequencies rise from band to band, as Fourier features of coordinates from -1 to 1 do."""
        return bool(self.plan.ramps) or bool((np.diff(self.frequencies[self.axis == self.axis[0]]) > 0).any())

    def coordinates(self, rows: Integers) -> Integers:
        """Return which coordinate of its axis each row has, (n, axes)."""
        if self.streams is not None:
            return np.repeat(rows[:, None], len(self.plan.axes), axis=1)
        return np.stack([axis.index(rows - self.plan.prefix) for axis in self.plan.axes], axis=1)

    def values(self, number: int) -> Floats:
        """Return the coordinates that an axis takes."""
        if self.streams is not None:
            return self.streams[:, number]
        axis = self.plan.axes[number]
        found: Floats = np.array(list(axis.multiples), np.float64) * float(axis.unit)
        return found

    def points(self, number: int, dtype: str) -> list[Floats]:
        """Return the cosines and the sines of the pairs of an axis, at each coordinate that it takes."""
        own = self.axis == number
        if dtype != "float64" or self.kind != "float64" or self.streams is not None:
            values, w = self.values(number), self.frequencies[own]
            angles = np.multiply.outer(values, w)
            if self.bases:  # coordinates were multiplied by the fastest frequency, such as 2 pi
                base, step = self.bases[number % len(self.bases)], partial(rounded, kind=self.kind)
                periods = step(step(np.array(base)) ** step(np.log(w.max() / w) / np.log(base)))
                angles = step(step(step(values) * w.max())[:, None] / periods)
            made = [wave(angles) * self.magnitude[own] for wave in (np.cos, np.sin)]
            zero = np.maximum(MAX_ZERO, 2.0**-52 * np.abs(angles))
            return [rounded(np.where(np.abs(values) < zero, 0.0, values), dtype) for values in made]
        axis, made = self.plan.axes[number], []
        for band in self.plan.bands:  # which NumPy does not round correctly
            if band.axis == number:
                made.append(np.empty((2, len(axis.multiples), len(band.frequencies))))
                exact = FrequencySet(band.frequencies, turns=band.turns, unit=axis.unit, magnitude=band.magnitude)
                fill(exact, np.array(axis.multiples, np.int64), [("cos", made[-1][0]), ("sin", made[-1][1])], dtype)
        return list(np.concatenate(made, axis=2))


@dataclass(frozen=True)
class GridName:
    """A named table over several axes.

    Attributes
    ----------
    encoding : str
    named : Named
        Its parameters, as a rule gave them.
    pairs : PlannedPairs
    sampled : Tally
    """

    encoding: str
    named: Named
    pairs: PlannedPairs
    sampled: Tally
    grid: Grid = field(repr=False)

    @property
    def recipe(self) -> str:
        """The text that gives its table."""
        dtype = self.grid.view.dtype
        more = {} if dtype == "float32" else {"dtype": dtype}
        points = {"points": "FILE"} if self.named.inputs else {}
        return join_recipe(self.encoding, {**self.named.keys, **points, **self.named.table, **more})

    def arithmetic(self, tally: Tally) -> str:
        """Return the narrowest type in which a step was computed, "exact", or "unknown" where none leaves as much."""
        if self.pairs.kind != "float64":
            return self.pairs.kind
        near = tally.residual < MAX_ZERO and self.grid.view.dtype != "float64"
        if near or (tally.worst <= MAX_EXACT_ULP and tally.equal >= MIN_EQUAL * tally.count):
            return "exact"
        slack = max(float(part.slack.max(initial=1.0)) for part in _expected(self.grid, self.pairs))
        if self.grid.view.dtype != "float64" or tally.residual > MIN_SINGLE * slack:
            return "float32"
        return "float64" if tally.residual <= 2.0**-53 * (2 * library_units("float64") + slack) else "unknown"


def identify_grid(table: Tabular) -> Identification | None:
    """Return the identification of a table over several axes; None for any other table."""
    with np.errstate(all="ignore"):
        seen = list(views(table))
        grids = [grid for view in seen for grid in grids_of(view)]
        for found in (*grids, *filter(None, map(columns_of, seen))):
            if (names := names_of(found)) and (verdict := _verdict(names)) is not None:
                return verdict
        origins = [axis.origin for axis in grids[0].axes.axes] if grids else []
        if len(origins) < 2 or not grids[0].axes.sides or not np.isfinite(origins).all():
            return None
        return Identification(None, "unknown", measured=measured_words(grids[0].axes), usual=tuple(_usual(grids[0])))


def identify_angles(table: Tabular) -> Identification | None:
    """Return the identification of the angles of a table over several axes, once or twice each; else None."""
    array = only_array(table)
    if array is None or len(array.shape) < 2 or is_large(table) or array.dtype not in ("float32", "float64"):
        return None
    whole = table.read(array.name).astype(np.float64).reshape(-1, array.shape[-1])
    layout, columns, _ = next(copies(whole), ("", np.s_[:], None))
    angles = whole[:, columns]
    if not np.isfinite(angles).all() or np.abs(angles).max(initial=0) <= 1:
        return None
    points = {part: wave(angles).astype(np.float32) for part, wave in (("cos", np.cos), ("sin", np.sin))}
    found = identify_grid(InMemory(points))
    if found is None or found.recipe is None:
        return None
    recipe = f"{found.recipe},layout=angles" + f",dtype={array.dtype}" * (array.dtype != "float32")
    exact = read_source(recipe).open().read("angles").reshape(angles.shape)
    off, most = np.abs(angles - exact), MAX_ANGLE_ULP * EPSILON["float32"] * float(np.abs(angles).max())
    if off.max() > most:
        return None
    notes = (ANGLES, *(f"each angle stands twice ({word})" for key, word in TWICE.items() if key == layout))
    notes += (f"every angle is within {limit(float(off.max()), 2)} of the exact one",) * bool(off.any())
    arithmetic, equal = "float32" if off.any() else "exact", float((off == 0).mean())
    return Identification(recipe, found.confidence, float(off.max()), equal, arithmetic, notes, (), whole.size,
                          (array.name,))  # fmt: skip


def _usual(grid: Grid) -> Iterator[str]:
    """Yield the plain recipes of a grid, without a width, to compare an unknown table with."""
    size = {"grid": "x".join(map(str, grid.axes.sides)), **grid.axes.edges}
    whole = math.prod(grid.axes.sides) + grid.axes.prefix + grid.axes.suffix == grid.view.total
    for encoding in CATALOGUE.values() if whole else ():
        if encoding.declares("identify_axes") and (encoding.family.word == "absolute") == grid.axes.absolute:
            yield join_recipe(encoding.name, size)
            if grid.axes.suffix and not grid.axes.prefix:  # rows that were expected before the grid
                yield join_recipe(encoding.name, {"grid": size["grid"], "prefix": str(grid.axes.suffix)})


def names_of(grid: Grid) -> list[GridName]:
    """Return names that the encodings' rules give measured axes, the best first."""
    found: list[GridName] = []
    seen: set[str] = set()
    rules = [e for e in CATALOGUE.values() if e.declares("identify_axes")]
    for level in LEVELS:
        axes = grid.axes.at(level)
        for encoding in rules:
            for named in encoding.hook("identify_axes")(axes):
                text = join_recipe(encoding.name, {**named.keys, **named.table})
                if text in seen or len(seen) >= MAX_NAMES:
                    continue
                seen.add(text)
                name = fitted(grid, encoding.name, named)
                if name is not None:
                    found.append(name)
                    if not name.sampled.unexplained and named.fitted < MAX_SURE_DIGITS / 2:
                        break
        found.sort(key=lambda name: (-round(name.sampled.explained, 2), name.named.fitted, -name.sampled.equal))
        if found and found[0].sampled.explained > 0.999 and found[0].named.fitted < MAX_SURE_DIGITS:
            break
    return found


def fitted(grid: Grid, encoding: str, named: Named) -> GridName | None:
    """Return a name as sampled rows show it; None where its table is another one."""
    view = grid.view
    points = {"points": "+".join("0" * len(named.inputs))} if named.inputs else {}  # one, for the plan
    plan = plan_of(encoding, {**named.keys, **points})
    width = view.planes[0].width if grid.axes.absolute else grid.axes.count
    if plan is None or not plan.bands or (view.total if points else plan.rows, plan.width) != (view.total, width):
        return None
    pairs = PlannedPairs.of(plan)
    if points:
        pairs = pairs._replace(streams=view.planes[0].read(0, view.total)[:, named.inputs])
    few = view.few(max(16, SAMPLE_VALUES // view.planes[0].width))
    best: GridName | None = None
    text = Recipe.bind(encoding, **named.keys, **points).keys().get("temperature")
    bases = (tuple(map(float, text.split("+"))),) if text else ()
    for own_bases, kind in (((), "float64"), *product(((), *bases), LOW_TYPES)):
        frequencies = pairs.frequencies if own_bases else rounded(pairs.frequencies, kind)
        own = pairs._replace(frequencies=frequencies, kind=kind, bases=own_bases)
        tally = compare_rows(grid, own, [(few.rows, few.values)])
        if tally.explained >= (MIN_RESEMBLANCE if best is None else best.sampled.explained + MIN_GAIN):
            best = GridName(encoding, _shortest_temperature(named, kind) if own_bases else named, own, tally, grid)
    return best


def _shortest_temperature(named: Named, kind: str) -> Named:
    """Return a name whose temperature, which was rounded to a type, is the shortest decimal that gives the same."""
    at = rounded(np.array(named.keys.get("temperature", "10000").split("+"), np.float64), kind)
    half = unit(at, kind) / 2.1
    short = "+".join(number_text(shortest(a - h, a + h)) for a, h in zip(at, half, strict=True))
    return replace(named, keys={**named.keys, "temperature": short}) if "temperature" in named.keys else named


def planned_grids(view: AxisView, pairs: PlannedPairs) -> Iterator[Grid]:
    """Yield the readings of a view that may hold the pairs of a plan."""
    if (pairs.cos != pairs.sin).any():
        columns = columns_of(view)
        if columns is not None and columns.axes.width == pairs.plan.width:
            yield columns
        return
    for reading in readings_of(view):
        if reading.pairs == pairs.plan.width and not reading.layout.startswith(ABSOLUTE):
            yield unmeasured(view, reading)


def _verdict(names: Sequence[GridName]) -> Identification | None:
    """Return the identification by the best name that explains the values; None if none does."""
    fits: list[tuple[GridName, Tally]] = []
    for name in names[:3]:
        fits.append((name, compare_all(name.grid, name.pairs)))
        if not fits[-1][1].unexplained:
            break
    name, tally = min(fits, key=lambda fit: (fit[1].unexplained, fit[0].named.fitted))
    if tally.explained < MIN_SHARE_LIKELY:
        return None
    most = MAX_SURE_DIGITS if not tally.unexplained else MAX_SURE_DIGITS / 2
    sure = tally.unexplained <= MAX_ODD and name.named.fitted <= most
    others = tuple(n.recipe for n in names if n.encoding != name.encoding and n.named.fitted <= MAX_SURE_DIGITS
                   and n.sampled.unexplained <= name.sampled.unexplained)  # fmt: skip
    arrays = tuple(dict.fromkeys(plane.array.name for plane in name.grid.view.planes))
    reading = name.grid.reading
    notes = [reading.layout] if reading is not None and reading.layout in JOINED else []
    if inputs := name.named.inputs:
        notes.append(f"points=FILE is a file of {numbered('column', np.array(inputs))} of this one, the points")
    if name.grid.view.channels_first:
        many, alike = tables_of(name.grid.view)
        if not alike:
            return Identification(None, "unknown", measured=(f"{UNLIKE}; the first is {name.recipe}",), arrays=arrays)
        notes += [CHANNELS_FIRST, *[COPIES.format(many)] * (many > 1)]
    return Identification(name.recipe, "sure" if sure else "likely", tally.residual, tally.equal / max(1, tally.count),
                          name.arithmetic(tally), (*notes, *tally.texts()), others, tally.count, arrays)  # fmt: skip


def compare_all(grid: Grid, pairs: PlannedPairs) -> Tally:
    """Compare every value of a table with the exact values of a plan."""
    view = grid.view
    ends = ((at.start, at.stop) for at in in_blocks(0, view.total, BLOCK_VALUES // max(1, 2 * len(pairs.axis))))
    return compare_rows(grid, pairs, ((np.arange(*at), [plane.read(*at) for plane in view.planes]) for at in ends))


def compare_rows(grid: Grid, pairs: PlannedPairs, blocks: Iterable[tuple[Integers, Sequence[Floats]]]) -> Tally:
    """Compare some rows of a table with the exact values of a plan."""
    plan, total, tally = pairs.plan, grid.view.total, Tally.of(grid.view.planes)
    parts = list(_expected(grid, pairs))
    for rows, values in blocks:
        inside = (rows >= plan.prefix) & (rows < total - plan.suffix)
        at = pairs.coordinates(np.clip(rows, plan.prefix, total - plan.suffix - 1))
        for part in parts:
            expected = np.where(inside[:, None], part.values[at[:, part.axis]], part.outside)
            tally.add(_differences(values[part.plane][:, part.columns], expected, part, rows, grid.view.dtype))
    return tally


class Expected(NamedTuple):
    """Values that some columns of a plane have at each coordinate of an axis.

    `slack` is what roundings of coordinate, frequency and angle make, in half units in the last place of 1; `outside`
    is the value of rows without a coordinate.
    """

    plane: int
    columns: Integers
    axis: int
    values: Floats
    slack: Floats
    outside: float = 0.0


def _expected(grid: Grid, pairs: PlannedPairs) -> Iterator[Expected]:
    """Yield the values of a plan's columns, plane by plane."""
    reading, dtype = grid.reading, grid.view.dtype
    for ramp in pairs.plan.ramps:
        values = rounded(pairs.values(ramp.axis) * float(ramp.factor), dtype)[:, None]
        yield Expected(0, np.array([ramp.column]), ramp.axis, values, np.ones(1))
    for axis in range(len(pairs.plan.axes)):
        own = np.flatnonzero(pairs.axis == axis)
        w, size = pairs.frequencies[own], pairs.magnitude[own]
        growth = ROUNDINGS + EXPONENT_ROUNDINGS * np.maximum(0.0, -np.log(w))
        slack = np.abs(pairs.values(axis)).max() * np.abs(w) * growth * size
        cos, sin = pairs.points(axis, dtype)
        for points, columns, cosine in ((cos, pairs.cos[own], True), (sin, pairs.sin[own], False)):
            held = columns >= 0
            values = points[:, held]
            if reading is None or grid.axes.absolute:
                yield Expected(0, columns[held], axis, values, slack[held])
                continue
            for at in reading.cos_at if cosine else reading.sin_at:
                where = np.arange(grid.view.planes[at.plane].width)[at.index][columns[held]]
                yield Expected(at.plane, where, axis, values, slack[held], float(cosine))


def _differences(actual: Floats, expected: Floats, part: Expected, rows: Integers, dtype: str) -> BlockDifferences:
    """Return the differences of a block: a value may be off by its own rounding and by the slack of its column."""
    row, column = np.nonzero(actual != expected)
    have, want = actual[row, column], expected[row, column]
    own = unit(want, dtype)
    if dtype != "float64":  # near 0, what a double leaves of half turns is no rounding of this type
        own = np.maximum(own, 2.0**-53 * np.maximum(16.0, part.slack[column]))
    slack = np.minimum(2.0**-24 * part.slack[column], MAX_SLACK * np.maximum(1.0, np.abs(want)))
    fits = np.abs(have - want) <= library_units(dtype) * own + slack
    return BlockDifferences.of(part.plane, actual.size, rows[row], part.columns[column], have, want, own, fits)


def measured_words(axes: Axes) -> tuple[str, str]:
    """Return the measurements of a table on a grid without a name, as text."""
    what = "an absolute table" if axes.absolute else "cos and sin"
    rows = ", ".join([f"rows follow a grid {'x'.join(map(str, axes.sides))}", *map(" ".join, axes.edges.items())])
    return f"{what} over {len(axes.axes)} axes, {axes.count} pairs, layout {axes.layout}", rows
