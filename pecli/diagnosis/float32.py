"""What phases that were computed in float32 are off by: no fault, but thousands of values that differ."""

from __future__ import annotations

from functools import partial

import numpy as np

from pecli.comparison.figures import Figures
from pecli.comparison.results import Finding
from pecli.declare.plan import Waves
from pecli.diagnosis.case import Case, Lanes, read_rows
from pecli.diagnosis.reworked import reworked
from pecli.measures.computing import spacing
from pecli.measures.samples import Floats
from pecli.tables.table import Table

ERRORS = 4 * 2.0**-23
"""Times 1 + the angle: what frameworks' cosines and sines in float32 are off by at most (3.3 seen)."""
MOST = 0.02  # off which a value is taken for another one, at any angle


def bounds(table: Table, start: int, stop: int, size: float) -> Floats:
    """Return what values of rows `start` to `stop` may be off by, (rows, 1), where the largest values have a size."""
    assert isinstance(table.plan, Waves)
    fastest = max((abs(float(w)) for w in table.plan.frequencies), default=0.0)
    last = table.part.count
    angles = np.abs(table.part.numbers(min(start, last), min(stop, last)).astype(np.float64)) * fastest
    angles = np.concatenate([angles, np.zeros(stop - start - len(angles))])
    return np.minimum(size * ERRORS * (1 + angles), MOST * size)[:, None]


def may_be_off(case: Case, table: Table | None) -> bool:
    """Whether phases in float32 may show: values turn with the positions of their rows, and are not finer."""
    turning = table is not None and isinstance(table.plan, Waves) and not table.plan.axes
    return turning and case.grain != "float64" and all(lane.lead == 1 for lane in (*case.mine, *case.expected))


def brought(case: Case, lanes: Lanes, table: Table, rows: tuple[int, int], *, near: bool) -> Lanes:
    """Return lanes with the values at hand in the place of all that are off by no more than phases in float32 are.

    Or, if not `near`, in the place of all others.  `rows` are the table's row that is their first, and the distance.
    """
    first, step = rows
    mine = {f"{number}": lane for number, lane in enumerate(case.mine)}

    def work(lane: str, _name: str, values: Floats, start: int) -> Floats:
        stop = min(start + len(values), mine[lane].rows)
        here = read_rows(mine[lane], start, stop)
        allowed = bounds(table, first + step * start, first + step * (stop - 1) + 1, case.size)[::step]
        if case.grain != "float32":
            allowed = allowed + spacing(here, case.grain)
        found = values.copy()
        chosen = (np.abs(here - values[: len(here)]) <= allowed) == near
        found[: len(here)][chosen] = here[chosen]
        return found

    return [reworked([lane], "float64", partial(work, f"{number}"))[0] for number, lane in enumerate(lanes)]


def split(case: Case, lanes: Lanes, table: Table, rows: tuple[int, int]) -> tuple[Figures, Figures]:
    """Return the differences from lanes that are larger than those of phases in float32, and the others."""
    near, far = (case.compared(brought(case, lanes, table, rows, near=which)) for which in (True, False))
    return near, far


def off(count: int, of: int, most: float, grain: str = "float32") -> Finding:
    """Say how many values phases in float32, rounded to a type, account for, and by how much those are off."""
    how = "" if grain == "float32" else f" and rounded to {grain}"
    text = f"{count:,} of {of:,} values are off by at most {most:.2g}, no more than phases computed in float32{how} are"
    return Finding("arithmetic", text)
