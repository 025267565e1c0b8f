"""What a candidate explains: applied to the expected values and compared with all that is at hand."""

from __future__ import annotations

import math
from collections.abc import Iterable

from pecli.comparison.figures import Figures
from pecli.comparison.results import Finding, Tolerance
from pecli.diagnosis.arithmetic import LEAST, arithmetic, in_float32
from pecli.diagnosis.case import WINDOW, Candidate, Case, Lanes
from pecli.diagnosis.float32 import may_be_off, off, split
from pecli.diagnosis.places import rest
from pecli.diagnosis.reworked import roughened
from pecli.records import dataclass
from pecli.tables.table import Table

NEAR = 0.02  # of the difference that may be left where a fault explains the rest
SOME = 0.1  # of the values that differ may still do so, by more than that
HALF = 0.5  # of what there was, at most, after what may have been done: of values, of the largest difference
NEARLY_ALL = 0.99  # of the values that a fault explains where some others are wrong for a reason of their own


@dataclass(frozen=True)
class Explained:
    """What is said of a candidate, and how many values it leaves unexplained; or, `placed`, where these stand alone."""

    left: int
    findings: list[Finding]
    placed: bool = False


def least(found: Iterable[Explained | None]) -> Explained | None:
    """Return what leaves least, the first of several."""
    return min((one for one in found if one is not None), key=lambda one: one.left, default=None)


def best(case: Case, candidates: Iterable[Candidate], whole: Figures, share: float = 1.0) -> Explained | None:
    """Try every candidate in the window; return the one that leaves least of that share and explains the whole."""
    most = case.off(case.there, share=share)
    enough = max(case.rounding, NEAR * min(most, case.scale, case.size))
    fits: list[tuple[float, Candidate]] = []
    for candidate in candidates if most else ():
        left = case.tried(candidate, enough, share)
        if left <= enough:
            fits.append((left, candidate))
        said = None if left else applied(case, candidate, whole)
        if said is not None:
            return said
    every = (applied(case, candidate, whole) for left, candidate in sorted(fits, key=lambda fit: fit[0]) if left)
    return next((said for said in every if said is not None), None)


def applied(case: Case, candidate: Candidate, whole: Figures) -> Explained | None:
    """Compare what a candidate makes of the expected values with the whole table; None if it explains too little."""
    lanes = candidate.lanes()
    if lanes is None:
        return None
    near = max(min(case.rounding, HALF * whole.max_abs), NEAR * min(whole.max_abs, case.size))
    most = max(SOME * whole.unequal, candidate.silent(case.here))

    def too_little(left: Figures) -> bool:
        return left.unequal > most and not left.max_abs <= near < math.inf

    def far_off(left: Figures) -> bool:
        return left.beyond > (1 - NEARLY_ALL) * whole.compared

    left = case.compared(lanes, too_little)  # what is too little for some rows is so for all
    if too_little(left):
        if far_off(case.compared(lanes, far_off, Tolerance(atol=near))):
            return None
        left = case.compared(lanes)
    said = [Finding(candidate.kind, candidate.text), *candidate.beside]
    later = candidate.after is not None and left.last is not None and left.last.index[0] >= candidate.after
    if later and not left.max_abs <= NEAR * case.scale:
        return None
    if left.unequal >= whole.unequal and not left.max_abs < HALF * whole.max_abs:
        return None  # what changes nothing here, as a base with one pair, explains nothing
    made = candidate.made() if candidate.made is not None and left.unequal else None
    further = _further(case, candidate, made) if left.unequal else None
    less = case.compared(further.lanes() or ()) if further is not None else None
    if further is not None and less is not None and less.unequal <= HALF * left.unequal:
        text = further.text.partition(" (" if in_float32(further) else ":")[0]
        said.append(Finding(further.kind, f"and {text}"))
        lanes, left = further.lanes() or (), less
    if (
        case.narrowed
        and candidate.kind not in ("rounding", "constant")
        and roughened(lanes or (), case.grain, case.mine[0].dtype, *case.window)
    ):
        said.append(Finding("rounding", f"and the values are rounded to {case.grain}"))
    own = (made, (0, 1)) if candidate.made is not None else (case.known, case.part or (0, 1))
    small = _float32(case, lanes or (), *own, whole=candidate.kind != "arithmetic") if left.unequal else None
    left, beside = left if small is None else small[0], () if small is None else small[1:]
    return Explained(left.unequal, [*said, *([rest(left, case.part)] if left.unequal else []), *beside])


def _further(case: Case, candidate: Candidate, made: Table | None) -> Candidate | None:
    """Return the arithmetic that phases were computed in as well: of a changed recipe, or in float32, then rounded."""
    if candidate.kind == "rounding" and case.known is not None:
        found = arithmetic(case, case.known)
        return found if found is not None and in_float32(found) else None
    return arithmetic(case, made) if made is not None and candidate.kind != "arithmetic" else None


def _float32(
    case: Case, lanes: Lanes, table: Table | None, rows: tuple[int, int], *, whole: bool
) -> tuple[Figures, Finding] | None:
    """Say that most of what is left is what phases in float32 are off by, and return the rest.

    None where it is not, or where, with `whole`, that is so of the expected values as well.
    """
    if table is None or not may_be_off(case, table):
        return None
    left, small = split(case, lanes, table, rows)
    if left.unequal > small.unequal or not small.unequal:
        return None
    if case.grain not in ("float32", "float64") and small.unequal > (1 - NEARLY_ALL) * small.compared:
        return None  # cut values are off by no more either
    if whole and left.unequal > SOME * split(case, case.expected, table, rows)[0].unequal:
        return None
    return left, off(small.unequal, small.compared, small.max_abs, case.grain)


def remainder(case: Case | None, table: Table, left: Figures) -> list[Finding]:
    """Say what a table for itself leaves of the values at hand, with the arithmetic that accounts for it."""
    said = []
    further = None if case is None else arithmetic(case, table)
    lanes = () if further is None or not in_float32(further) else further.lanes() or ()
    less = None if case is None or not lanes else case.compared(lanes)
    if less is not None and less.unequal <= HALF * left.unequal:
        said, left = [Finding("arithmetic", "and phases were computed in float32")], less
    small = None if case is None else _float32(case, lanes or case.expected, table, (0, 1), whole=False)
    left, beside = left if small is None else small[0], () if small is None else small[1:]
    return [*said, *([rest(left)] if left.unequal else []), *beside]


def in_arithmetic(case: Case, table: Table, whole: Figures) -> Explained | None:
    """Say which arithmetic gives the whole, or the first rows."""
    if whole.unequal < LEAST:
        return None
    found = arithmetic(case, table)
    said = None if found is None else applied(case, found, whole)
    return _of_first_rows(case, table) if said is None else said


def within_float32(case: Case, table: Table) -> bool:
    """Whether no value is off by more than phases in float32 are."""
    own = case.part or (0, 1)
    fine = case.grain == "float32" and may_be_off(case, table)
    return fine and not split(case, case.expected, table, own)[0].unequal


def _of_first_rows(case: Case, table: Table) -> Explained | None:
    """Say which arithmetic gives the first rows of a table, and from which row on it does not."""
    found = arithmetic(case, table, WINDOW) if case.rows > WINDOW else None
    lanes = None if found is None else found.lanes()
    if found is None or lanes is None:
        return None
    left = case.compared(lanes)
    small = _float32(case, lanes, table, (0, 1), whole=False)
    left, beside = left if small is None else small[0], () if small is None else small[1:]
    if left.first is None or left.first.index[0] < WINDOW:
        return None
    text = found.text.replace("phases were", f"phases of the first {left.first.index[0]:,} rows were")
    return Explained(left.unequal, [Finding(found.kind, text), rest(left), *beside])
