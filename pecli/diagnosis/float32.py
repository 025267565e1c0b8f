"""What phases computed in float32, or in float64, are off by: no fault, but thousands of values that differ."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from pecli.comparison.figures import Figures
from pecli.comparison.results import Comparison, Finding
from pecli.declare.plan import Waves
from pecli.diagnosis.case import Case, Lanes, read_rows
from pecli.diagnosis.reworked import reworked
from pecli.measures.computing import spacing
from pecli.measures.samples import Floats
from pecli.numbers.types import real_type
from pecli.tables.table import Table

ERRORS = 4 * 2.0**-23
"""Times 1 + the angle: what frameworks' cosines and sines in float32 are off by at most (3.3 seen)."""
ERRORS64 = 16 * 2.0**-53
"""The same in float64, where frequencies that come from exp or a power have a few roundings more."""
RELATIVE64 = 1024  # units in the last place: what a few roundings of an exponential or a logarithm's argument make
FLOAT32_BIAS = 8  # the same in float32, where a table holds no sines and cosines: powers and products of slopes
FEW_ULP = 16  # of which --ulp speaks; larger ones are of values near 0, for which --atol is the better word
MOST = 0.02  # off which a value is taken for another one, at any angle


def bounds(table: Table, start: int, stop: int, size: float, grain: str = "float32") -> Floats:
    """Return what values of rows `start` to `stop` may be off by, (rows, 1), where the largest values have a size."""
    assert isinstance(table.plan, Waves)
    fastest = max((abs(float(w)) for w in table.plan.frequencies), default=0.0)
    last = table.part.count
    angles = np.abs(table.part.numbers(min(start, last), min(stop, last)).astype(np.float64)) * fastest
    angles = np.concatenate([angles, np.zeros(stop - start - len(angles))])
    errors = ERRORS64 if grain == "float64" else ERRORS
    return np.minimum(size * errors * (1 + angles), MOST * size)[:, None]


def may_be_off(case: Case, table: Table | None) -> bool:
    """Whether phases in float32 may show: values turn with the positions of their rows, and are not finer."""
    turning = table is not None and isinstance(table.plan, Waves) and not table.plan.axes
    return turning and all(lane.lead == 1 for lane in (*case.mine, *case.expected))


def brought(case: Case, lanes: Lanes, table: Table, rows: tuple[int, int], *, near: bool) -> Lanes:
    """Return lanes with the values at hand in the place of all that are off by no more than phases in float32 are.

    Or, if not `near`, in the place of all others.  `rows` are the table's row that is their first, and the distance.
    """
    first, step = rows
    mine = {f"{number}": lane for number, lane in enumerate(case.mine)}

    def work(lane: str, _name: str, values: Floats, start: int) -> Floats:
        stop = min(start + len(values), mine[lane].rows)
        here = read_rows(mine[lane], start, stop)
        allowed = bounds(table, first + step * start, first + step * (stop - 1) + 1, case.size, case.grain)
        allowed = allowed[::step]
        if case.grain not in ("float32", "float64"):
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
    if grain == "float64":
        text = f"{count:,} of {of:,} values are off by float64 rounding, at most {most:.2g}: harmless"
        return Finding("rounding", text)
    how = "" if grain == "float32" else f" and rounded to {grain}"
    text = f"{count:,} of {of:,} values are off by at most {most:.2g}, no more than phases computed in float32{how} are"
    return Finding("arithmetic", text)


def rounding_of(found: Comparison, table: Table | None) -> Finding | None:
    """Say that two tables differ by the rounding of float64 or float32 alone, and which tolerance accepts it.

    That is so where no value is many units in the last place off, or none by more than phases in float64 are.
    """
    total = found.total
    kinds = {real_type(kind) for array in found.arrays for kind in (array.dtype, array.other_dtype)}
    if kinds == {"float64", "float32"} and not total.max_ulp and real_type(found.arrays[0].dtype) == "float64":
        power = math.ceil(math.log10(total.max_abs)) if total.max_abs else 0
        text = (
            f"float64 values where float32 was expected: equal once rounded to float32, --atol 1e{power} accepts them"
        )
        return Finding("rounding", text) if total.max_abs else None
    if len(kinds) != 1 or not found.arrays or not 0 < total.max_abs < np.inf:
        return None
    (kind,) = kinds
    most = RELATIVE64 if kind == "float64" else FLOAT32_BIAS if kind == "float32" else 0
    if kind == "float64" and table is not None and isinstance(table.plan, Waves):
        size = max(1.0, abs(float(table.plan.magnitude))) if table.plan.magnitude else 1.0
        near = not table.plan.axes and total.max_abs <= bounds(table, 0, table.part.count, size, kind).max()
    else:
        near = not (table is not None and isinstance(table.plan, Waves)) and total.max_ulp <= most
    if not near:
        return None
    power = math.ceil(math.log10(total.max_abs))
    option = f"--ulp {total.max_ulp}" if total.max_ulp <= FEW_ULP else f"--atol 1e{power}"
    ulp = f", {total.max_ulp:,} ulp" if total.max_ulp <= FEW_ULP else ""
    count = f"{total.unequal:,} of {total.compared:,} values"
    text = f"{kind} rounding: {count} are off by at most {total.max_abs:.2g}{ulp}; harmless, {option} accepts it"
    return Finding("rounding", text)
