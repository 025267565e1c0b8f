"""Verification of a named table of waves: every value of the file against what the named arithmetic gives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pecli.engine.threads import ordered_map
from pecli.errors import PecliError
from pecli.judge.arithmetic import (
    FLOAT64_UNITS,
    LIBRARY_SINE,
    LOW_TYPES,
    MAX_DOUBLE,
    Circle,
    Way,
    allowance,
    in_double,
    slack,
)
from pecli.judge.planes import Floats, Plane, planes_of, rounded, unit
from pecli.judge.waves import LONE_PHASES, PHASES, WaveName, magnitude_of
from pecli.numbers.positions import fraction_text
from pecli.spec.recipe import join_recipe
from pecli.tables.table import Table

BLOCK_VALUES = 1 << 16
"""Values compared at a time: a few float64 copies of them fit the caches of one core; of more, each costs 5 ns more."""
MAX_RUNS = 3
"""Places that are named; the others are counted."""


@dataclass
class Tally:
    """What a comparison of all values found.

    Attributes
    ----------
    count, equal, unexplained : int
    worst : float
        Largest departure of the explained values, in units in the last place.
    residual : float
        Largest departure from the exact values, of the explained ones.
    rows : (n,) int64
        Unexplained values of each row.
    columns : (width,) int64 for each plane
        Unexplained values of each column.
    first : tuple or None
        Plane, row and column of the first unexplained value, with the value and the expected one.
    singles : list
        The first few of them.
    """

    count: int = 0
    equal: int = 0
    unexplained: int = 0
    worst: float = 0.0
    residual: float = 0.0
    largest: float = 0.0
    rows: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    columns: list[NDArray[np.int64]] = field(default_factory=list)
    first: tuple[int, int, int, float, float] | None = None
    singles: list[tuple[int, int, int, float, float]] = field(default_factory=list)

    @property
    def explained(self) -> float:
        """Share of the values that the arithmetic gives."""
        return 1.0 - self.unexplained / self.count if self.count else 0.0


def recipe_of(name: WaveName, *, rows: int | None = None) -> str:
    """Return the recipe's text with the table's own keys, defaults left out."""
    measured = name.measured
    keys = dict(name.named.keys)
    count = measured.planes[0].rows if rows is None else rows
    keys["len"] = str(count)
    if name.start:
        keys["start"] = fraction_text(name.start)
    if name.step != 1:
        keys["step"] = fraction_text(name.step)
    keys |= name.named.table
    if measured.dtype != "float32":
        keys["dtype"] = measured.dtype
    return join_recipe(name.encoding, keys)


class Departures(NamedTuple):
    """Values of some rows beside those of an arithmetic and the exact ones.

    `odd` are the places, counted in C order, that are not equal; of these `gap` is the difference, and `inside` says
    which are explained all the same.
    """

    have: Floats
    want: Floats
    exact: Floats
    odd: NDArray[np.int64]
    gap: Floats
    inside: NDArray[np.bool_]
    worst: float


class Expectation:
    """The values that the arithmetic of a name gives, and the exact ones, block by block."""

    def __init__(self, name: WaveName) -> None:
        self.name, self.measured, self.way = name, name.measured, name.score.way
        self.size = magnitude_of(name.measured, name.named)
        self.doubted = not in_double(self.way, self.measured.dtype) and self.way.name != "exact"
        self.by_engine = self.way.name in ("exact", "float64") and self._engine()

    def _engine(self) -> list[Plane] | None:
        """Return the planes that the engine computes; None where a phase keeps the recipe from holding."""
        name, measured = self.name, self.measured
        if name.phase or not name.named.by_engine or self.size != name.named.magnitude:
            return None
        try:
            table = Table.parse(recipe_of(name))
        except PecliError:
            return None
        planes = [plane for array in table.arrays for plane in planes_of(table, array)]
        if measured.swapped and len(measured.planes) == 2:
            planes.reverse()
        alike = [(p.rows, p.width) for p in planes] == [(p.rows, p.width) for p in measured.planes]
        return planes if alike else None

    def positions(self, start: int, stop: int) -> Floats:
        """Return the positions of rows."""
        found: Floats = float(self.name.start) + float(self.name.step) * np.arange(start, stop, dtype=float)
        return found

    @cached_property
    def _first(self) -> Circle:
        """Angles of the rows of a block, counted from its first one."""
        angles = np.multiply.outer(self.positions(0, self.rows) - float(self.name.start), self.name.named.frequencies)
        return Circle(angles, np.cos(angles), np.sin(angles))

    @cached_property
    def rows(self) -> int:
        """Rows of a block."""
        return max(1, BLOCK_VALUES // max(1, sum(plane.width for plane in self.measured.planes)))

    def _exact(self, positions: Floats) -> Circle:
        """Return the exact angles of a block of rows, their cosines and sines by the addition theorem."""
        begin, count = positions[0] * self.name.named.frequencies, len(positions)
        c, s, (_, cos, sin) = np.cos(begin), np.sin(begin), self._first
        angles = positions[:, None] * self.name.named.frequencies
        return Circle(angles, c * cos[:count] - s * sin[:count], s * cos[:count] + c * sin[:count])

    def block(self, start: int, stop: int) -> tuple[list[Floats], list[Floats]]:
        """Return what the arithmetic gives for at most `rows` rows, and the exact values, for each plane."""
        if self.by_engine:
            found = [plane.read(start, stop) for plane in self.by_engine]
            if self.measured.dtype not in LOW_TYPES:
                return found, found
        reading, dtype = self.measured.reading, self.measured.dtype
        positions = self.positions(start, stop)
        if reading.is_angles:
            made, real = (way.angles_at(positions) for way in (self.way, Way("exact", self.name.named.frequencies)))
            return self._put((rounded(made, dtype),) * 2), self._put((real,) * 2)
        near = self._exact(positions)
        exact = self._put(self._turned(near.cos * self.size, near.sin * self.size), positions)
        if self.by_engine:
            return found, exact
        return self._put(self._turned(*self.way.compute(positions, self.size, dtype, near)), positions), exact

    def _turned(self, cos: Floats, sin: Floats) -> tuple[Floats, Floats]:
        """Return cosines and sines with the phase of the name."""
        phases = LONE_PHASES if self.measured.reading.is_alone else PHASES
        quarter = int(np.round(phases.get(self.name.phase, 0.0) / (np.pi / 2))) % 4
        return {0: (cos, sin), 1: (-sin, cos), 2: (-cos, -sin), 3: (sin, -cos)}[quarter]

    def _put(self, parts: Sequence[Floats], positions: Floats | None = None) -> list[Floats]:
        """Return parts put where the reading found cosines and sines; NaN in columns of neither."""
        reading, blank = self.measured.reading, self.name.named.blank
        out = [np.full((len(parts[0]), plane.width), np.nan) for plane in self.measured.planes]
        empty = np.isin(positions, blank) if blank and positions is not None else np.zeros(1, bool)
        for part, places in zip(parts, (reading.cos_at, reading.sin_at), strict=True):
            for place in places:
                out[place.plane][:, place.index] = np.where(empty[:, None], 0.0, part) if empty.any() else part
        return out

    def slack(self, values: Sequence[Floats], start: int, stop: int) -> list[Floats]:
        """Return for each plane what float32 frequencies leave open of its values."""
        doubt = self.way.doubt(self.positions(start, stop))
        if self.measured.reading.is_angles:
            return self._put((doubt, doubt))
        doubts = self._put((doubt, doubt))
        return [slack(doubt, plane, self.size) for doubt, plane in zip(doubts, values, strict=True)]

    def double(self, start: int, stop: int) -> Floats:
        """Return by how much double-precision code may be off in each row."""
        w = np.abs(self.name.named.frequencies)
        logs = float(np.abs(np.log(w[w > 0])).max(initial=0.0))
        fastest = float(w.max(initial=0.0)) * (FLOAT64_UNITS + logs)
        found: Floats = 2.0**-53 * (2 + np.abs(self.positions(start, stop)) * fastest) * max(1.0, self.size)
        return np.minimum(found, MAX_DOUBLE)

    def departures(self, start: int, stop: int) -> Iterator[Departures]:
        """Yield for each plane which values of some rows are not the arithmetic's, and which of these are near it."""
        planes, dtype, spare = self.measured.planes, self.measured.dtype, list[Floats]()
        allowed = allowance(self.size if self.size == self.name.named.magnitude else 2.0)
        values = [plane.read(start, stop) for plane in planes]
        made, exact = self.block(start, stop)
        double = self.double(start, stop)
        for number, (have, want, real) in enumerate(zip(values, made, exact, strict=True)):
            odd = np.flatnonzero((have != want) & ~np.isnan(want))
            some, other = have.ravel()[odd], want.ravel()[odd]
            gap, one = np.abs(some - other), unit(some, dtype)
            inside = gap <= np.maximum(allowed * one, 0.0 if self.doubted else double[odd // have.shape[1]])
            worst = float((gap / one)[inside].max(initial=0.0))
            if self.doubted and not inside.all():
                spare = spare or self.slack(values, start, stop)
                inside |= gap <= (allowed + LIBRARY_SINE) * one + spare[number].ravel()[odd]
            yield Departures(have, want, real, odd, gap, inside, worst)

    def compare(self, start: int) -> Tally:
        """Compare the block of rows that begins at this one."""
        stop = min(start + self.rows, self.measured.planes[0].rows)
        part = Tally(rows=np.zeros(stop - start, np.int64))
        with np.errstate(all="ignore"):
            for number, (have, want, real, odd, gap, inside, worst) in enumerate(self.departures(start, stop)):
                width, wrong = have.shape[1], odd[~inside]
                known = int(np.count_nonzero(~np.isnan(want)))
                part.count += known
                part.equal += known - len(odd)
                part.worst = max(part.worst, worst)
                off = np.abs(have - real)
                off.ravel()[wrong] = 0.0
                part.residual = max(part.residual, float(np.fmax.reduce(off, axis=None, initial=0.0)))
                rows, columns = np.divmod(wrong, width)
                part.columns.append(np.bincount(columns, minlength=width))
                if len(wrong):
                    part.rows += np.bincount(rows, minlength=stop - start)
                    part.unexplained += len(wrong)
                    part.largest = max(part.largest, float(np.nan_to_num(gap[~inside], nan=np.inf).max()))
                    for row, column in zip(rows[:MAX_RUNS].tolist(), columns.tolist(), strict=False):
                        pair = float(have[row, column]), float(want[row, column])
                        part.singles.append((number, start + row, column, *pair))
                    part.first = part.first or part.singles[0]
        part.singles = part.singles[:MAX_RUNS]
        return part

    def mended(self, plane: int, start: int, stop: int) -> Floats:
        """Return rows of a plane as they should be: values that the arithmetic explains as the file has them."""
        found = list[Floats]()
        for first in range(start, stop, self.rows):
            have, want, _, odd, _, inside, _ = list(self.departures(first, min(first + self.rows, stop)))[plane]
            have.ravel()[odd[~inside]] = want.ravel()[odd[~inside]]
            found.append(have)
        return np.concatenate(found)


def tally(name: WaveName) -> Tally:
    """Compare all values of a named table with what its arithmetic gives, in blocks on all cores."""
    planes, expected = name.measured.planes, Expectation(name)
    starts = range(0, planes[0].rows, expected.rows)
    found = Tally(rows=np.zeros(planes[0].rows, np.int64), columns=[np.zeros(p.width, np.int64) for p in planes])
    for start, part in zip(starts, ordered_map(expected.compare, starts), strict=True):
        _add(found, start, part)
    return found


def _add(total: Tally, start: int, part: Tally) -> None:
    total.count += part.count
    total.equal += part.equal
    total.unexplained += part.unexplained
    total.worst = max(total.worst, part.worst)
    total.residual = max(total.residual, part.residual)
    total.largest = max(total.largest, part.largest)
    total.rows[start : start + len(part.rows)] += part.rows
    for column, more in zip(total.columns, part.columns, strict=True):
        column += more
    total.first = total.first or part.first
    total.singles += part.singles[: MAX_RUNS - len(total.singles)]


def single_values(found: Tally, planes: Sequence[Plane]) -> list[str]:
    """Say the first values that do not fit, and what each should be."""
    return [
        f"{planes[number].name}[{row}, {column}] is {have:.7g}, expected {want:.7g}"
        for number, row, column, have, want in found.singles
    ]


def places(found: Tally, planes: Sequence[Plane]) -> str:
    """Say where unexplained values are: rows, columns, or a count over both."""
    rows = np.flatnonzero(found.rows)
    columns = [(plane.name, np.flatnonzero(c)) for plane, c in zip(planes, found.columns, strict=True) if c.any()]
    if found.unexplained == len(found.singles):
        return "; ".join(single_values(found, planes))
    width = sum(len(c) for _, c in columns)
    if len(rows) <= len(found.rows) // 2 and (len(rows) <= 2 * width or width > 8):
        return numbered("row", rows)
    if width <= 8:
        return " and ".join(f"{numbered('column', c)} of {name}" for name, c in columns)
    return f"in {len(rows):,} rows and {width:,} columns"


def numbered(word: str, numbers: NDArray[np.int64]) -> str:
    """Return row or column numbers as runs: row 7; rows 3 to 9, 12 and 40 to 50."""
    if not len(numbers):
        return f"no {word}"
    breaks = np.flatnonzero(np.diff(numbers) != 1) + 1
    runs = [(int(r[0]), int(r[-1])) for r in np.split(numbers, breaks)]
    texts = [f"{a}" if a == b else f"{a} to {b}" for a, b in runs[:MAX_RUNS]]
    if len(runs) > MAX_RUNS:
        texts.append(f"{len(runs) - MAX_RUNS:,} more places")
    joined = texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"
    return f"{word}{'' if len(numbers) == 1 else 's'} {joined}"
