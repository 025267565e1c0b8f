"""Verification of a named table of waves: every value of the file against what the named arithmetic gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray

from pecli.engine.threads import default_threads
from pecli.errors import PecliError
from pecli.judge.arithmetic import FLOAT64_UNITS, FREQUENCY_UNITS, LOW_TYPES, Way, allowance, in_double
from pecli.judge.planes import Floats, Plane, planes_of, rounded, unit
from pecli.judge.waves import LONE_PHASES, PHASES, WaveName, magnitude_of
from pecli.numbers.positions import fraction_text
from pecli.spec.recipe import join_recipe
from pecli.tables.table import Table

BLOCK_VALUES = 1 << 19
"""Values compared at a time: a few float64 copies of them fit the caches of one core."""
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


Expected = Callable[[int, int], tuple[list[Floats], list[Floats]]]
"""Of a first and a last row: what the arithmetic gives, and the exact values, for each plane."""


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


def expected_of(name: WaveName) -> Expected:
    """Return what gives the expected rows of each plane: the engine's exact values, or those of a simulated way."""
    way = name.score.way
    exact = _by_engine(name)
    if exact is not None and way.name in ("exact", "float64"):
        if name.measured.dtype in LOW_TYPES:  # of which the exact values are known better
            return lambda start, stop: (exact(start, stop), simulated(name, start, stop)[1])
        return lambda start, stop: (found := exact(start, stop), found)
    return partial(simulated, name)


def _by_engine(name: WaveName) -> Callable[[int, int], list[Floats]] | None:
    """Return the rows that the engine computes, plane by plane; None where a phase keeps the recipe from holding."""
    measured = name.measured
    swapped = measured.swapped and len(measured.planes) == 2
    if name.phase or not name.named.by_engine or magnitude_of(measured, name.named) != name.named.magnitude:
        return None
    try:
        table = Table.parse(recipe_of(name))
    except PecliError:
        return None
    planes = [plane for array in table.arrays for plane in planes_of(table, array)]
    if swapped:
        planes.reverse()
    if [(p.rows, p.width) for p in planes] != [(p.rows, p.width) for p in measured.planes]:
        return None
    return lambda start, stop: [plane.read(start, stop) for plane in planes]


def simulated(name: WaveName, start: int, stop: int) -> tuple[list[Floats], list[Floats]]:
    """Return what a way gives for rows, put where the reading found cosines and sines; NaN in columns of neither."""
    measured, way, w = name.measured, name.score.way, name.named.frequencies
    positions = float(name.start) + float(name.step) * np.arange(start, stop, dtype=float)
    size = magnitude_of(measured, name.named)
    reading = measured.reading
    phases = LONE_PHASES if reading.is_alone else PHASES
    quarter = int(np.round(phases.get(name.phase, 0.0) / (np.pi / 2))) % 4
    found = []
    for kind, each in (("made", way), ("exact", Way("exact", w))):
        out = [np.full((stop - start, plane.width), np.nan) for plane in measured.planes]
        dtype = measured.dtype if kind == "made" else "float64"
        if reading.is_angles:
            cos = sin = rounded(each.angles_at(positions), dtype)
        else:
            cos, sin = each.compute(positions, size, dtype)
            cos, sin = {0: (cos, sin), 1: (-sin, cos), 2: (-cos, -sin), 3: (sin, -cos)}[quarter]
        blank = np.isin(positions, name.named.blank)
        for part, places in ((cos, reading.cos_at), (sin, reading.sin_at)):
            for place in places:
                out[place.plane][:, place.index] = np.where(blank[:, None], 0.0, part) if blank.any() else part
        found.append(out)
    return found[0], found[1]


def _slack(name: WaveName, start: int, stop: int) -> list[Floats]:
    """Return for each plane what float32 frequencies leave open."""
    measured, way, reading = name.measured, name.score.way, name.measured.reading
    positions = float(name.start) + float(name.step) * np.arange(start, stop, dtype=float)
    out = [np.zeros((stop - start, plane.width)) for plane in measured.planes]
    if reading.is_angles:
        both = (np.abs(way.angles_at(positions)) * FREQUENCY_UNITS * 2.0**-23,) * 2
    else:
        both = way.slack(positions, magnitude_of(measured, name.named), measured.dtype)
    exchanged = PHASES.get(name.phase, 0.0) % np.pi != 0
    lone_sine = reading.is_alone and name.phase.startswith("sin")
    cos, sin = both[::-1] if exchanged or lone_sine else both
    for part, places in ((cos, reading.cos_at), (sin, reading.sin_at)):
        for place in places:
            out[place.plane][:, place.index] = part
    return out


def tally(name: WaveName) -> Tally:
    """Compare all values of a named table with what its arithmetic gives, in blocks on all cores."""
    measured = name.measured
    planes, dtype = measured.planes, measured.dtype
    step = max(1, BLOCK_VALUES // max(1, sum(plane.width for plane in planes)))
    starts = range(0, planes[0].rows, step)
    expected = expected_of(name)
    bound = _float64_bound(name) if in_double(name.score.way, dtype) else None
    size = magnitude_of(measured, name.named)
    allowed = allowance(size if size == name.named.magnitude else np.array(2.0))
    spare = partial(_slack, name) if bound is None and name.score.way.name != "exact" else None
    work = partial(_block, planes, expected, dtype, step, allowed, bound, spare)
    found = Tally(rows=np.zeros(planes[0].rows, np.int64), columns=[np.zeros(p.width, np.int64) for p in planes])
    with ThreadPoolExecutor(max(1, min(default_threads(), len(starts)))) as pool:
        for start, part in zip(starts, pool.map(work, starts), strict=True):
            _add(found, start, part)
    return found


def _float64_bound(name: WaveName) -> Callable[[int, int], Floats]:
    """Return by how much double-precision code may be off in each row."""
    w = np.abs(name.named.frequencies)
    logs = float(np.abs(np.log(w[w > 0])).max(initial=0.0))
    fastest = float(w.max(initial=0.0))

    def bound(start: int, stop: int) -> Floats:
        p = np.abs(float(name.start) + float(name.step) * np.arange(start, stop, dtype=float))
        found: Floats = 2.0**-53 * (2 + p * fastest * (FLOAT64_UNITS + logs))[:, None] * max(1.0, name.named.magnitude)
        return found

    return bound


def _block(
    planes: Sequence[Plane], expected: Expected, dtype: str, step: int, allowed: float,
    bound: Callable[[int, int], Floats] | None, spare: Callable[[int, int], list[Floats]] | None, start: int,
) -> Tally:  # fmt: skip
    """Compare one block of rows."""
    stop = min(start + step, planes[0].rows)
    part = Tally(rows=np.zeros(stop - start, np.int64))
    with np.errstate(all="ignore"):
        made, exact = expected(start, stop)
        for number, (plane, want, real) in enumerate(zip(planes, made, exact, strict=True)):
            have = plane.read(start, stop)
            known = ~np.isnan(want)
            same = (have == want) | (np.isnan(have) & ~known)
            part.count += int(np.count_nonzero(known))
            part.equal += int(np.count_nonzero(same & known))
            if same.all() and want is real:
                part.columns.append(np.zeros(plane.width, np.int64))
                continue
            gap = np.abs(have - want)
            one = unit(have, dtype)
            inside = same | (gap <= (allowed * one if bound is None else np.maximum(bound(start, stop), allowed * one)))
            inside |= ~known
            part.worst = max(part.worst, float((gap / one)[inside & known].max(initial=0.0)))
            if spare is not None and not inside.all():
                inside |= gap <= allowed * one + spare(start, stop)[number]
            part.residual = max(part.residual, float(np.abs(have - real)[inside & known].max(initial=0.0)))
            wrong = ~inside
            part.columns.append(np.count_nonzero(wrong, axis=0))
            if wrong.any():
                count = np.count_nonzero(wrong, axis=1)
                part.rows += count
                part.unexplained += int(count.sum())
                part.largest = max(part.largest, float(np.nan_to_num(gap[wrong], nan=np.inf).max()))
                for row, column in np.argwhere(wrong)[: MAX_RUNS - len(part.singles)]:
                    pair = float(have[row, column]), float(want[row, column])
                    part.singles.append((number, start + int(row), int(column), *pair))
                part.first = part.first or part.singles[0]
    return part


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
