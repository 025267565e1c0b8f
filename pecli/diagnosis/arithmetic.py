"""Which arithmetic a table's phases were computed in, and where it shows first."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pecli.comparison.figures import Figures
from pecli.comparison.results import Finding
from pecli.declare.changes import Change
from pecli.declare.plan import Waves
from pecli.declare.tabular import Tabular
from pecli.diagnosis.case import WINDOW, Case
from pecli.diagnosis.mistakes import changed
from pecli.diagnosis.places import rest
from pecli.measures.arithmetics import Arithmetic, find_arithmetic, spacing
from pecli.measures.evidence import Evidence
from pecli.measures.readings import readings
from pecli.measures.samples import Floats, Sample, grain, planes_of, take
from pecli.tables.table import Table

HALF = 0.5  # of the values that differ, at most, may differ from the same arithmetic over all rows
BLOCKS, BLOCK = 24, 32  # stretches of rows all over a long table, that tell its arithmetic
MOSTLY = 0.99  # of the values in these rows, at least, are what the arithmetic gives
LEAST = 3  # values that must differ: one or two a unit off may have been typed
STEP = 2.0**-20  # of an angle: what steps in float32 may move it by, which no narrower type is needed to explain


def arithmetic(case: Case, mine: Tabular, table: Table, unequal: int) -> tuple[int, list[Finding]] | None:
    """Say which arithmetic the phases of a table were computed in, and how many values that leaves, as far as known.

    None where no arithmetic is known to give its values, of which `unequal` are not the expected ones.
    """
    if not isinstance(table.plan, Waves) or len(table.plan.bands) != 1 or unequal < LEAST:
        return None
    sample = take(mine, WINDOW)
    w = np.array([float(f) for f in table.plan.frequencies])
    size = float(table.plan.magnitude)
    later = _of_all_rows(case, sample, table, (w, size)) if case.rows > WINDOW else None
    if later is not None and later[0] <= HALF * unequal:
        return later
    for reading in readings(sample):
        positions = table.part.numbers(0, min(WINDOW, case.rows)).astype(np.float64)[reading.rows]
        if reading.first.shape != (len(positions), len(w)):
            continue
        for cos, sin in ((reading.first, reading.second), (reading.second, reading.first)):
            how = find_arithmetic(positions, w, size, cos, sin, sample.grain)
            if how.fits and how.name != "float64":
                left = _emulated(case, table, how.name)
                whole = left is not None and left.unequal <= HALF * unequal
                window = table.part.numbers(*case.window).astype(np.float64)
                said = Finding("arithmetic", _where(case, how, window, whole=whole))
                if left is not None and whole and left.unequal:
                    return left.unequal, [said, rest(left)]
                return 0 if whole else unequal, [said]
    return None


def _of_all_rows(
    case: Case, sample: Sample, table: Table, waves: tuple[Floats, float]
) -> tuple[int, list[Finding]] | None:
    """Say which arithmetic, seen in rows all over the table, gives nearly all of it, and how much it does not give."""
    from pecli.identification.computed import Workings

    (w, size), start, step, rows = waves, table.part.start, table.part.step, case.rows
    if start is None or step is None:
        return None
    spread = [slice(k, min(k + BLOCK, rows)) for k in np.linspace(0, rows - BLOCK, BLOCKS).astype(int)]
    parts = [[p for lane in sample.lanes for p in planes_of(lane, at.start, at.stop)] for at in spread]
    planes = [replace(some[0], values=np.concatenate([p.values for p in some])) for some in zip(*parts, strict=True)]
    seen = replace(sample, planes=planes, grain=grain(planes, sample.dtype))
    positions = np.concatenate([table.part.numbers(at.start, at.stop) for at in spread]).astype(np.float64)
    for reading in readings(seen):
        for swapped in (False, True) if reading.first.shape == (len(positions), len(w)) else ():
            cos, sin = (reading.second, reading.first) if swapped else (reading.first, reading.second)
            how = find_arithmetic(positions, w, size, cos, sin, seen.grain)
            if how.equal < MOSTLY or how.name == "float64":
                continue
            missed = Workings(reading, swapped, how, float(start), float(step)).over_all(Evidence(sample))
            first = _first_wrong(case, how, table.part.numbers(*case.window).astype(np.float64))
            said = [Finding("arithmetic", f"phases were computed in {how.name} ({how.words()}){first}")]
            left = _emulated(case, table, how.name) if missed.wrong else None
            unsaid = f"that leaves {missed.wrong:,} of {missed.count:,} values unexplained, {missed.where}"
            all_of_it = left is not None and left.unequal == missed.wrong
            more = rest(left) if left is not None and all_of_it else Finding("rest", unsaid)
            return missed.wrong, [*said, more] if missed.wrong else said
    return None


def in_float32(finding: Finding) -> bool:
    """Whether it names an arithmetic that is no fault where frameworks compute, beside which another may stand."""
    return finding.kind == "arithmetic" and "float32" in finding.text.split("(")[0]


def _emulated(case: Case, table: Table, name: str) -> Figures | None:
    """Compare the whole table with the expected recipe in another arithmetic; None where it has none."""
    made = changed(table, Change("arithmetic", ""), case.grain, name)
    lanes = None if made is None else case.beside(made)
    return None if lanes is None else case.compared(lanes)


def _where(case: Case, how: Arithmetic, positions: Floats, *, whole: bool) -> str:
    """Name the arithmetic and the first position whose values rounding alone does not explain."""
    some = "" if whole or case.rows <= WINDOW else f" of the first {WINDOW:,} rows"
    said = f"phases{some} were computed in {how.name} ({how.words()})"
    if case.window[0]:
        return said
    first = _first_wrong(case, how, positions)
    if first or case.rows > len(positions):
        return f"{said}{first}"
    return f"{said}: no value is off by more than its rounding"


def _first_wrong(case: Case, how: Arithmetic, positions: Floats) -> str:
    """Say the first position of the window whose values rounding alone does not explain; nothing where all are so."""
    angles = 0.0 if how.name == "float32" else STEP * (1 + np.abs(positions[:, None]))
    wrong = np.zeros(len(case.here[0]), bool)
    for p, q in zip(case.here, case.there, strict=True):
        wrong |= (np.abs(p - q) > 2 * spacing(q, case.grain) + angles * case.scale).any(axis=1)
    return f": first wrong at position {positions[int(wrong.argmax())]:g}" if wrong.any() else ""
