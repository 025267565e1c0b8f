"""Which arithmetic a table's phases were computed in, and where it shows first."""

from __future__ import annotations

import numpy as np

from pecli.comparison.results import Finding
from pecli.declare.plan import Waves
from pecli.declare.tabular import Tabular
from pecli.diagnosis.case import WINDOW, Case
from pecli.measures.arithmetics import Arithmetic, find_arithmetic, spacing
from pecli.measures.readings import readings
from pecli.measures.samples import Floats, take
from pecli.tables.table import Table

STEP = 2.0**-20  # of an angle: what steps in float32 may move it by, which no narrower type is needed to explain


def arithmetic(case: Case, mine: Tabular, table: Table) -> list[Finding]:
    """Say which arithmetic the phases of a table were computed in; empty where none is known to give its values."""
    if not isinstance(table.plan, Waves) or len(table.plan.bands) != 1:
        return []
    sample = take(mine, WINDOW)
    w = np.array([float(f) for f in table.plan.frequencies])
    for reading in readings(sample):
        positions = table.part.numbers(0, min(WINDOW, case.rows)).astype(np.float64)[reading.rows]
        if reading.first.shape != (len(positions), len(w)):
            continue
        for cos, sin in ((reading.first, reading.second), (reading.second, reading.first)):
            how = find_arithmetic(positions, w, float(table.plan.magnitude), cos, sin, sample.grain)
            if how.fits and how.name != "float64":
                return [Finding("arithmetic", _where(case, how, positions))]
    return []


def _where(case: Case, how: Arithmetic, positions: Floats) -> str:
    """Name the arithmetic and the first position whose values rounding alone does not explain."""
    said = f"phases were computed in {how.name} ({how.words()})"
    if case.window[0]:
        return said
    angles = 0.0 if how.name == "float32" else STEP * (1 + np.abs(positions[:, None]))
    wrong = np.zeros(len(case.here[0]), bool)
    for p, q in zip(case.here, case.there, strict=True):
        wrong |= (np.abs(p - q) > 2 * spacing(q, case.grain) + angles * case.scale).any(axis=1)
    if wrong.any():
        return f"{said}: first wrong at position {positions[int(wrong.argmax())]:g}"
    return said if case.rows > len(positions) else f"{said}: no value is off by more than its rounding"
