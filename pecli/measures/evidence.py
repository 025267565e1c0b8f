"""What the sample of an unknown table shows, each thing measured when somebody first asks for it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pecli.measures.consensus import consensus_of, majority_by_distance
from pecli.measures.lanes import Lane, lane_of
from pecli.measures.parts import Lone, fastest_steps, lone_parts
from pecli.measures.phase_lines import phase_lines
from pecli.measures.profiles import Profile, profile_of
from pecli.measures.readings import Reading, pairs_of, readings, squeezed
from pecli.measures.rises import Rises, rises_of
from pecli.measures.rotations import Pairs, rotations_of
from pecli.measures.samples import Floats, Sample, planes_of, take
from pecli.measures.sides import UNCHANGED, Sides, alike, sides_of
from pecli.measures.spectra import Measured, geometric
from pecli.measures.vectors import falling, once
from pecli.measures.wave import NARROW, Wave
from pecli.measures.waves import Rule, explain, in_series
from pecli.numbers.shortest import shortest
from pecli.numbers.text import number_text

USUAL_BASES = ("10000", "100", "1000")
MOST_BASES = 5
MOSTLY = 0.5  # share of a table's values that are numbers
HUGE = 1e30  # no coordinate's value, but a number that hides one
BLOCK = 1 << 18  # values of an array looked at at a time


@dataclass(frozen=True)
class Evidence:
    """What an encoding's hook may ask about a sample.

    Attributes
    ----------
    sample : Sample
        A stack of two arrays is taken apart in it.
    beside : mapping of str to (n, ...) float64
        Further arrays of the table, by name.
    given : tuple of Wave, optional
        Readings as series, where they were found in another way.
    window : slice, optional
        Rows of the sample to go by, where others may be spoiled.
    plain : bool
        Whether series alone are looked for, and no rules with numbers of their own: where there are many samples.
    slack : float
        What every value may be off by beside its own rounding: by that of one from which a number was taken.
    """

    sample: Sample
    beside: Mapping[str, Floats] = field(default_factory=dict)
    given: tuple[Wave, ...] | None = None
    window: slice | None = None
    plain: bool = False
    slack: float = 0.0

    @cached_property
    def length(self) -> dict[str, str]:
        """The table's key for its number of rows; one row of whole numbers is a number for each."""
        plane = self.sample.planes[0]
        return {"length": str(plane.values.size if self.integral and plane.rows == 1 else plane.rows)}

    @property
    def resolution(self) -> float:
        """Half a unit in the last place of a value of size 1, relative."""
        return self.sample.resolution

    def blocks(self) -> Iterator[tuple[int, list[Floats]]]:
        """Yield the first row of a block, and its rows of every array, axes of length 1 left out; of the whole file."""
        lanes, read = self.sample.lanes, [plane.values for plane in self.sample.planes]
        if all(plane.rows == len(plane.values) for plane in self.sample.planes):
            yield 0, [squeezed(values) for values in read]
            return
        step = max(1, BLOCK // max(lane.row_size for lane in lanes))
        for start in range(0, lanes[0].rows, step):
            stop = min(start + step, lanes[0].rows)
            planes = [plane.values for lane in lanes for plane in planes_of(lane, start, stop)]
            yield start, [values.reshape(len(values), *(n for n in values.shape[1:] if n != 1)) for values in planes]

    @cached_property
    def integral(self) -> bool:
        """Whether the values are of a type of whole numbers."""
        return self.sample.dtype.startswith(("int", "uint", "bool"))

    @cached_property
    def whole(self) -> Sample:
        """The sample with a stack as one array."""
        return take(self.sample.table, unstack=False) if self.sample.stacked else self.sample

    def lanes(self, names: Collection[str]) -> Iterator[list[Lane]]:
        """Yield the table's arrays that arrays of these names may stand for: those of the sample, or all by name."""
        yield list(self.sample.lanes)
        if self.whole is not self.sample:
            yield list(self.whole.lanes)
        table = self.sample.table
        if self.beside and {array.name for array in table.arrays} >= set(names):
            yield [lane_of(table, table.array(name)) for name in names]

    @cached_property
    def readings(self) -> tuple[Reading, ...]:
        """Ways to read the arrays as turning pairs."""
        if self.integral:
            return ()
        if self.window is None:
            return tuple(readings(self.sample))
        planes = [replace(plane, values=plane.values[self.window]) for plane in self.sample.planes]
        first = self.window.start
        return tuple(
            replace(reading, rows=slice(reading.rows.start + first, reading.rows.stop + first))
            for reading in readings(replace(self.sample, planes=planes))
        )

    @cached_property
    def series(self) -> tuple[Wave, ...]:
        """Readings whose frequencies are a geometric series."""
        if self.given is not None:
            return self.given
        return tuple(wave for r in self.readings for wave in in_series(r, self.sample.grain))

    def waves(self, rule: Rule) -> Iterator[Wave]:
        """Yield readings of rotations whose frequencies follow a rule of one's own."""
        if self.given is None and not self.plain:
            for reading in self.readings:
                if reading.family == "rotary" or (reading.layout == "cos-sin" and not reading.tail):
                    yield from explain(reading, self.sample.grain, rule)

    @cached_property
    def profile(self) -> Profile | None:
        """Values by distance, by key or by head, where the table may be a bias."""
        if len(self.whole.planes) != 1 or self.integral or self.window is not None:
            return None
        found = profile_of(self.whole)
        if found is None or found.by in ("matrix", "rows"):
            return consensus_of(self.whole) or found
        return found

    @property
    def regular(self) -> bool:
        """Whether most values depend on the distance or the key alone."""
        return self.profile is not None and self.profile.by in ("distance", "key")

    @cached_property
    def rows(self) -> Floats | None:
        """The one array as (rows, columns), whatever stands in it; None where there are several."""
        return None if self.window is not None else self._columns

    @cached_property
    def _columns(self) -> Floats | None:
        if len(self.sample.planes) != 1:
            return None
        values = squeezed(self.sample.planes[0].values)
        values = values[:, None] if values.ndim == 1 else values
        values = values.T if self.integral and len(values) == 1 else values
        return values if values.ndim == 2 and len(values) > 0 else None

    @cached_property
    def matrix(self) -> Floats | None:
        """The same where all values are finite."""
        return self.rows if self.rows is not None and np.isfinite(self.rows).all() else None

    @cached_property
    def lone(self) -> tuple[Lone, ...]:
        """Cosines or sines alone; none where columns turn in pairs."""
        values, window = self._columns, self.window or slice(0, None)
        if values is None or self.integral or self.series:
            return ()
        return tuple(lone_parts(values[window], self.resolution, window.start))

    @cached_property
    def rising(self) -> Rises | None:
        """What the columns of one array rise by, as angles do; None where most do not."""
        values, w = self._columns, self.window or slice(0, None)
        return None if values is None or self.integral else rises_of(values[w], self.sample.grain, w.start)

    @cached_property
    def frequencies(self) -> tuple[tuple[Measured, bool], ...]:
        """One array of falling numbers from 1, as a module keeps its frequencies; then without some (True)."""
        values = self.rows
        if values is None or self.integral or min(values.shape) != 1:
            return ()
        return tuple(falling(once(values)[0], self.sample.grain))

    @cached_property
    def square(self) -> Floats | None:
        """The one array of whole numbers as (n, n); None where it is none."""
        values = self.matrix
        fits = values is not None and len(values) == values.shape[1] > 2 and (values == np.round(values)).all()
        return values if fits else None

    @cached_property
    def by_distance(self) -> tuple[Floats, str] | None:
        """Whole numbers by distance -(n-1)..n-1, and the form that holds them; None where they depend on more.

        NaN where no value is that of most, where some are spoiled.
        """
        values = self.matrix
        if values is None or not (values == np.round(values)).all():
            return None
        n = len(values)
        if values.shape[1] == 1 and n % 2 and n > 4:
            return values[:, 0], "distance"
        if self.square is None:
            return None
        found = np.concatenate([values[-1], values[0, 1:]])
        rows = np.lib.stride_tricks.sliding_window_view(found, n)[::-1]
        if not np.array_equal(rows, values):
            told = majority_by_distance(values)
            return None if told is None else (told, "index")
        return found, "index"

    @cached_property
    def points(self) -> tuple[Floats, ...]:
        """Arrays with a row for each point of a grid, whatever axes the points have; empty where not all was read."""
        if self.window is not None:
            return ()
        for sample in {id(s): s for s in (self.sample, self.whole)}.values():
            planes = [_points(sample, index) for index in range(len(sample.planes))]
            parts = len(planes) // len(sample.lanes)  # two of complex values
            read = sum(p.size for p in planes) == sum(lane.rows * lane.row_size * parts for lane in sample.lanes)
            if not self.integral and read and all(p.ndim == 2 and len(p) > 3 for p in planes):
                told = [np.abs(p) < HUGE for p in planes]
                return tuple(np.where(t, p, 0.0) for t, p in zip(told, planes, strict=True)) if _most(told) else ()
        return ()

    @cached_property
    def grids(self) -> tuple[Sides, ...]:
        """Grids whose sides the columns of one array, or of cosines and sines, follow."""
        if len(self.points) == 1:
            return tuple(sides_of(self.points[0], np.zeros(self.points[0].shape[1])))
        if len(self.points) == 2 and self.points[0].shape == self.points[1].shape:
            width = self.points[0].shape[1]
            blank = np.concatenate([np.ones(width), np.zeros(width)])
            return tuple(sides_of(np.concatenate(self.points, axis=1), blank))
        return ()

    def side_bases(self, sides: Sides) -> tuple[str, ...]:
        """Return bases of the frequencies along a side of a grid: those that the first row of it shows, and usual ones.

        Along the last side only the columns of that side change; in any order they are pairs of one series.
        """
        found: dict[str, None] = {}
        body, _ = sides.shown(len(self.points[0]))
        lines = [p[body].reshape(-1, sides.lengths[-1], p.shape[1]) for p in self.points]
        line = [np.median(rows, axis=0) for rows in lines]
        same = [alike(rows, 0, UNCHANGED * np.abs(rows).max()) for rows in lines]
        moving = np.logical_or.reduce([np.ptp(p, axis=0) > UNCHANGED for p in line]) & np.logical_and.reduce(same)
        for reading in pairs_of([p[:, moving] for p in line], self.resolution):
            for wave in in_series(reading, self.sample.grain):
                found[wave.spectrum.keys.get("base", "10000")] = None
        if not found and self.sample.grain in NARROW and moving.size % 2 == 0:
            beside = np.repeat(moving.reshape(-1, 2).any(axis=1), 2)  # a slow cosine stays 1, and its sine moves
            for reading in pairs_of([p[:, beside] for p in line], self.resolution):
                found |= dict.fromkeys(_bases_of(reading))
        if not found and len(line[0]) > 3:
            fastest = fastest_steps(np.concatenate([p[:, moving] for p in line], axis=1), self.resolution)
            columns = sum(p.shape[1] for p in self.points)
            for half in {columns / 2 / len(sides.lengths), np.ceil(moving.sum() / (3 - len(self.points)))}:
                for log, error in fastest:
                    spread = error * half
                    found[number_text(shortest(np.exp(log * half - spread), np.exp(log * half + spread)))] = None
        return tuple([*found, *(b for b in USUAL_BASES if b not in found)][:MOST_BASES])

    @cached_property
    def rotations(self) -> tuple[Pairs, ...]:
        """Ways to read the table as pairs that turn by coordinates of any kind, doubled layouts first."""
        (plane, *others) = self.sample.planes
        if not others and plane.values.ndim > 2 and plane.values.shape[-1] == 2:
            pairs = squeezed(np.where(np.abs(plane.values) < HUGE, plane.values, 0.0))
            whole = pairs.ndim == 3 and len(pairs) > 3 and plane.rows == len(plane.values) and self.window is None
            return tuple(rotations_of([pairs], self.resolution)) if whole and not self.integral else ()
        if len(self.points) == len(self.sample.planes) and len({p.shape for p in self.points}) == 1:
            joined = plane.name == "re" and bool(others)
            return tuple(rotations_of(self.points, self.resolution, joined=joined))
        return ()


def _bases_of(reading: Reading) -> Iterator[str]:
    """Yield bases that pairs of few rounded rows may have, to be refined by all values."""
    for lines in phase_lines(reading.rhythm, 4 * reading.resolution):
        if not lines.resting.any() and (lines.steps > 0).all():
            measured = Measured(lines.steps, lines.errors, float(len(lines.steps))).at("bfloat16")
            yield from (spectrum.keys.get("base", "10000") for spectrum in geometric(measured))


def _most(told: list[NDArray[np.bool_]]) -> bool:
    return all(float(t.mean()) > MOSTLY for t in told)


def _points(sample: Sample, index: int) -> Floats:
    plane = sample.planes[index]
    if plane.rows == len(plane.values) and sample.lanes[0].lead > 1:
        return plane.values.reshape(-1, plane.values.shape[-1])
    return squeezed(plane.values)
