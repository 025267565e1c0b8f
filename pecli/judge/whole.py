"""Verification of a named table of waves: every value of the file against what the named arithmetic gives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from pecli.engine.threads import ordered_map
from pecli.errors import PecliError
from pecli.judge.arithmetic import LOW_TYPES, Circle, Limits
from pecli.judge.orders import numbered
from pecli.judge.planes import Floats, Integers, Plane, planes_of
from pecli.judge.structure import PlaneColumns
from pecli.judge.waves import LONE_PHASES, PHASES, WaveName, magnitude_of
from pecli.numbers.positions import fraction_text
from pecli.spec.recipe import join_recipe
from pecli.tables.table import Table

BLOCK_VALUES = 1 << 16
"""Values compared at a time: a few float64 copies of them fit the caches of one core; of more, each costs 5 ns more."""
MAX_SINGLES = 3
"""Values that are shown with the expected ones; the others are counted."""


@dataclass
class Tally:
    """Counts from a comparison of all values.

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
    singles : list
        Plane, row and column of the first few unexplained values, with the value and the expected one.
    """

    rows: Integers
    columns: list[Integers]
    count: int = 0
    equal: int = 0
    unexplained: int = 0
    worst: float = 0.0
    residual: float = 0.0
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


class BlockDifferences(NamedTuple):
    """Differences of one component in some rows: counts, and the values that the arithmetic does not give.

    Attributes
    ----------
    at : PlaneColumns
    size, equal : int
        How many values, and how many that are equal.
    worst, residual : float
        As in a tally.
    rows, columns : (k,) int64
        Places of the unexplained values, counted in these rows and in the plane.
    have, want : (k,) float64
    """

    at: PlaneColumns
    size: int
    equal: int
    worst: float
    residual: float
    rows: Integers
    columns: Integers
    have: Floats
    want: Floats


class Expectation:
    """Expected values from the arithmetic of a name, compared with the values of the file block by block."""

    def __init__(self, name: WaveName) -> None:
        self.name, self.measured, self.way = name, name.measured, name.score.way
        self.size = magnitude_of(name.measured, name.named)
        self.by_engine = (self.way.name in ("exact", "float64") and self._engine()) or []

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

    def _by_phase(self, parts: Mapping[str, Floats], positions: Floats) -> Sequence[Floats]:
        """Return the values at the places of the cosines and of the sines, by the phase of the name."""
        if "angles" in parts:
            return (parts["angles"],)
        phases = LONE_PHASES if self.measured.reading.is_alone else PHASES
        quarter = int(np.round(phases.get(self.name.phase, 0.0) / (np.pi / 2))) % 4
        cos, sin = parts["cos"], parts["sin"]
        found = {0: (cos, sin), 1: (-sin, cos), 2: (-cos, -sin), 3: (sin, -cos)}[quarter]
        if not self.name.named.blank:
            return found
        blank = np.isin(positions, self.name.named.blank)
        return [np.where(blank[:, None], 0.0, part) for part in found]

    def compare(self, start: int, stop: int) -> Iterator[BlockDifferences]:
        """Yield the differences of at most `rows` rows from the expected values, for each place of a component."""
        measured, reading, dtype = self.measured, self.measured.reading, self.measured.dtype
        positions, angles = self.positions(start, stop), self.measured.reading.is_angles
        limits, made, exact = Limits(self.way, positions, dtype, self.size), list[Floats](), list[Floats]()
        engine = [plane.read(start, stop) for plane in self.by_engine]
        if not engine or dtype in LOW_TYPES:
            near = self._exact(positions)
            real = {"angles": near.angles} if angles else {"cos": near.cos * self.size, "sin": near.sin * self.size}
            exact = list(self._by_phase(real, positions))
            made = list(self._by_phase(self.way.parts(positions, self.size, dtype, near, angles=angles), positions))
        values = [plane.read(start, stop) for plane in measured.planes]
        for number, places in enumerate((reading.cos_at, reading.sin_at)):
            for at in places:
                have = values[at.plane][:, at.index]
                want = engine[at.plane][:, at.index] if engine else made[number]
                odd = np.flatnonzero(have != want)
                gap, inside, worst = limits.judge(have, want, odd, angles=angles)
                rows, columns = np.divmod(odd[~inside], have.shape[1])
                residual = gap[inside].max(initial=0.0)
                if exact:
                    off = np.abs(have - exact[number])
                    off[rows, columns] = 0.0
                    residual = np.fmax.reduce(off, axis=None)
                numbers = np.arange(measured.planes[at.plane].width)[at.index][columns]
                wrong = rows, numbers, have[rows, columns], want[rows, columns]
                yield BlockDifferences(at, have.size, have.size - len(odd), worst, float(residual), *wrong)

    def mended(self, plane: int, corrupted: Integers | None, start: int, stop: int) -> Floats:
        """Return rows of a plane as they should be: values that the arithmetic explains as the file has them.

        `corrupted` are the unexplained values of each row, where they were counted.
        """
        found = self.measured.planes[plane].read(start, stop)
        for first in range(start, stop, self.rows):
            last = min(first + self.rows, stop)
            with np.errstate(all="ignore"):
                some = list(self.compare(first, last)) if corrupted is None or corrupted[first:last].any() else []
            for one in some:
                if one.at.plane == plane:
                    found[one.rows + first - start, one.columns] = one.want
        return found


def tally(name: WaveName) -> Tally:
    """Compare all values of a file with the arithmetic of a name, in blocks on all cores."""
    planes, expected = name.measured.planes, Expectation(name)
    total = Tally(np.zeros(planes[0].rows, np.int64), [np.zeros(plane.width, np.int64) for plane in planes])

    def compared(start: int) -> list[BlockDifferences]:
        with np.errstate(all="ignore"):
            return list(expected.compare(start, min(start + expected.rows, planes[0].rows)))

    starts = range(0, planes[0].rows, expected.rows)
    for start, parts in zip(starts, ordered_map(compared, starts), strict=True):
        for one in parts:
            total.count, total.equal = total.count + one.size, total.equal + one.equal
            total.worst, total.residual = max(total.worst, one.worst), max(total.residual, one.residual)
            total.unexplained += len(one.rows)
            total.rows[start : start + expected.rows] += np.bincount(one.rows, minlength=expected.rows)[
                : planes[0].rows - start
            ]
            total.columns[one.at.plane] += np.bincount(one.columns, minlength=planes[one.at.plane].width)
            few = zip(*(values[:MAX_SINGLES].tolist() for values in one[-4:]), strict=True)
            total.singles += [(one.at.plane, start + row, *more) for row, *more in few]
        total.singles = total.singles[:MAX_SINGLES]
    return total


def single_values(found: Tally, planes: Sequence[Plane]) -> list[str]:
    """Return the first values that do not fit, each with the expected value, as text."""
    return [
        f"{planes[number].name}[{row}, {column}] is {have:.7g}, expected {want:.7g}"
        for number, row, column, have, want in found.singles
    ]


def places(found: Tally, planes: Sequence[Plane]) -> str:
    """Return the places of unexplained values: rows, columns, or a count over both."""
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
