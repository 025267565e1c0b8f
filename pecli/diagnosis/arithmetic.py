"""Which arithmetic a table's phases were computed in, and where it shows first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product

import numpy as np
from numpy.typing import NDArray

from pecli.comparison.results import Finding
from pecli.declare.encoding import Family
from pecli.declare.plan import Waves
from pecli.diagnosis.case import Candidate, Case, Lanes, read_rows
from pecli.diagnosis.reworked import reworked
from pecli.measures.arithmetics import Shown, find_arithmetic, scored
from pecli.measures.computing import Arithmetic, spacing
from pecli.measures.samples import Floats, rounded
from pecli.numbers.types import COMPLEX
from pecli.records import dataclass
from pecli.tables.layouts import layout_arrays, layout_views
from pecli.tables.table import Table

BLOCKS, BLOCK = 24, 8  # stretches of rows all over a table, that tell its arithmetic
LEAST = 3  # values that must differ: one or two a unit off may have been typed
STEP = 2.0**-20  # of an angle: what steps in float32 may move it by, which no narrower type is needed to explain

Columns = NDArray[np.int64]


@dataclass(frozen=True)
class PartColumns:
    """Columns of one array that hold the cosines, or the sines, of the first pairs; complex values are two columns."""

    lane: int
    columns: Columns
    sine: bool


@dataclass(frozen=True)
class Turning:
    """What turns in a computed table of one series.

    Attributes
    ----------
    table : Table
    lanes : sequence of Lane
        Its exact values, beside those at hand.
    places : list of PartColumns
    frequencies : (m,) float64
    magnitude : float
    """

    table: Table
    lanes: Lanes
    places: list[PartColumns]
    frequencies: Floats
    magnitude: float

    @property
    def pairs(self) -> int:
        """How many pairs have both a cosine and a sine."""
        return min(len(place.columns) for place in self.places)

    def part(self, planes: Sequence[Floats], *, sine: bool) -> Floats:
        """Return the cosines or the sines of some rows, (n, pairs)."""
        place = next(place for place in self.places if place.sine == sine)
        return planes[place.lane][:, place.columns[: self.pairs]]

    def positions(self, start: int, stop: int) -> Floats:
        """Return the positions of some rows."""
        found: Floats = self.table.part.numbers(start, stop).astype(np.float64)
        return found

    def computed(self, how: Arithmetic, grain: str) -> Lanes:
        """Return the lanes as an arithmetic gives them."""
        beyond = self.frequencies[self.pairs :]  # of a sine whose cosine an odd width leaves out
        single = beyond if how.frequencies == "float64" else rounded(beyond, "float32")
        used = np.concatenate([how.used, rounded(single, how.frequencies)])
        how = replace(how, exact=self.frequencies, used=used)
        lanes = {lane.name: number for number, lane in enumerate(self.lanes)}

        def work(name: str, values: Floats, start: int) -> Floats:
            parts, found = how.compute(self.positions(start, start + len(values))), values.copy()
            for place in self.places:
                if place.lane == lanes[name]:
                    found[:, place.columns] = parts[place.sine][:, : len(place.columns)]
            padding = ~values.any(axis=1)
            found[padding] = 0.0
            return found

        return reworked(self.lanes, grain, work)


def turning_of(case: Case, table: Table) -> Turning | None:
    """Return what turns in a computed table beside the arrays at hand; None where it is not one series of pairs."""
    plan = table.plan
    if not isinstance(plan, Waves) or len(plan.bands) != 1 or plan.axes or table.request.layout == "angles":
        return None
    exact = replace(table.request, dtype="float64", arithmetic="exact")
    lanes = case.beside(Table(table.source, table.extent, exact, table.names))
    if lanes is None or any(lane.lead != 1 for lane in lanes) or len(lanes) > len(table.arrays):
        return None
    numbers = {lane.array.name: number for number, lane in enumerate(lanes)}
    places = list(_places(table, numbers))
    if {place.sine for place in places} != {False, True}:
        return None
    return Turning(table, lanes, places, np.array([float(w) for w in plan.frequencies]), float(plan.magnitude))


def _places(table: Table, numbers: Mapping[str, int]) -> Iterator[PartColumns]:
    """Yield where cosines and sines stand in arrays, by the arrays' names."""
    assert isinstance(table.plan, Waves)
    (band,) = table.plan.bands
    if table.source.encoding.family is not Family.ROTARY:
        if len(table.arrays) > 1:
            return
        (array,), (number,) = table.arrays, numbers.values()
        whole = array.dtype in COMPLEX.values()
        for part, sine in ((band.cos, False), (band.sin, True)):
            if part is not None:
                columns = np.arange(array.shape[-1])[part]
                yield PartColumns(number, 2 * columns + sine if whole else columns, sine)
        return
    layout, pairs = table.request.layout, len(band.frequencies)
    own = {array.name for array in layout_arrays(layout, table.rows, pairs, "float32")}
    for name, array in ((array.name, array) for array in table.arrays if array.name in own & numbers.keys()):
        size = int(np.prod(array.row_shape))
        if array.dtype in COMPLEX.values():
            columns = (np.arange(size) * 2 + 1j * (np.arange(size) * 2 + 1))[None]
        else:
            columns = np.arange(size).reshape(1, *array.row_shape)
        for kind, view in layout_views(layout, pairs, {name: columns}):
            yield PartColumns(numbers[name], view[0].astype(np.int64), kind == "sin")


def arithmetic(case: Case, table: Table, most: int | None = None) -> Candidate | None:
    """Return the arithmetic in which a computed table's phases give values at hand; None where none is known to.

    With `most`, it is told by so many of the first rows.
    """
    turning = turning_of(case, table) if case.part is None else None
    if turning is None:
        return None
    count = min(case.rows, table.part.count, most or case.rows)
    starts = sorted({*np.linspace(0, max(0, count - BLOCK), BLOCKS).astype(int).tolist()})
    spread = [(start, min(start + BLOCK, count)) for start in starts] if count > BLOCKS * BLOCK else [(0, count)]
    planes = [np.concatenate([read_rows(lane, *at) for at in spread]) for lane in case.mine]
    positions = np.concatenate([turning.positions(*at) for at in spread])
    how = arithmetic_of(turning, planes, positions, case.grain)
    if how is None:
        return None
    text = f"phases were computed in {how.name} ({how.words()})"
    lanes = turning.computed(how, case.grain)
    return Candidate("arithmetic", f"{text}{_first_wrong(case, how, turning)}", lambda: lanes, made=lambda: table)


def arithmetic_of(turning: Turning, planes: Sequence[Floats], positions: Floats, grain: str) -> Arithmetic | None:
    """Return the arithmetic that gives most of some rows; None where none gives nearly all, or no rounding does."""
    cos, sin = (turning.part(planes, sine=sine) for sine in (False, True))
    finite = np.isfinite(cos).all(axis=1) & np.isfinite(sin).all(axis=1) & ((cos != 0) | (sin != 0)).any(axis=1)
    if np.count_nonzero(finite) < 2:
        return None
    positions, cos, sin = positions[finite], cos[finite], sin[finite]
    w = turning.frequencies[: turning.pairs]
    how = find_arithmetic(positions, w, turning.magnitude, cos, sin, grain)
    how = _fewest_steps(how, Shown.of(positions, cos, sin, grain))
    return how if how.fits and how.name != "float64" else None


def _fewest_steps(how: Arithmetic, shown: Shown) -> Arithmetic:
    """Return the arithmetic of fewest narrow steps among those that give as many values; others float32 or exact.

    Whole positions are the same in float32, and those up to 256 in bfloat16 as well.
    """
    steps = (how.frequencies, how.positions, how.angles)
    if how.way or (how.equal == 1 and how.name in ("float32", "float64")):
        return how
    low = "float32" if how.name == "float64" else how.name
    best = how
    for wide in ("float32", "float64") if low != "float32" else ("float64",):
        for f, p, a in product(*((wide, low) if step == low or how.name == "float64" else (wide,) for step in steps)):
            used = how.used if f == how.frequencies else how.exact if f == "float64" else rounded(how.exact, f)
            other = scored(replace(how, frequencies=f, positions=p, angles=a, used=used), shown)
            if (other.equal, -_narrow(other, low)) > (best.equal, -_narrow(best, low)):
                best = other
    return best


def _narrow(how: Arithmetic, low: str) -> int:
    return [how.frequencies, how.positions, how.angles].count(low)


def in_float32(finding: Finding | Candidate) -> bool:
    """Whether it names an arithmetic that is no fault where frameworks compute, beside which another may stand."""
    return finding.kind == "arithmetic" and "float32" in finding.text.split("(")[0]


def _first_wrong(case: Case, how: Arithmetic, turning: Turning) -> str:
    """Say the first position of the window whose values rounding alone does not explain; nothing where all are so."""
    if case.window[0]:
        return ""
    positions = turning.positions(0, min(len(case.here[0]), turning.table.part.count))
    angles = 0.0 if how.name == "float32" else STEP * (1 + np.abs(positions[:, None]))
    wrong = np.zeros(len(positions), bool)
    for p, q in zip(case.here, case.there, strict=True):
        p, q = p[: len(positions)], q[: len(positions)]
        wrong |= (np.abs(p - q) > 2 * spacing(q, case.grain) + angles * case.scale).any(axis=1)
    if wrong.any():
        return f": first wrong at position {positions[int(wrong.argmax())]:g}"
    return ": no value is off by more than its rounding" if len(wrong) == case.rows else ""
