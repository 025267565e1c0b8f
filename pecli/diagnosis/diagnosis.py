"""Why two tables differ: what was done to one that makes it the other.

Every fault that is known is tried on the expected values in some rows; the one that leaves least is applied to
all of them and compared with the whole table at hand.  It is said together with what it leaves unexplained.
Where no fault is found, the place of the differences is said, and what the table is for itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import partial

import numpy as np

from pecli.comparison.compare import Progress, compare_tables
from pecli.comparison.figures import Figures
from pecli.comparison.results import Comparison, Finding, Tolerance
from pecli.declare.encoding import Family
from pecli.declare.plan import Waves
from pecli.declare.tabular import Tabular
from pecli.diagnosis.arithmetic import arithmetic
from pecli.diagnosis.case import Candidate, Case, case_of
from pecli.diagnosis.following import followings
from pecli.diagnosis.mistakes import recipe_candidates
from pecli.diagnosis.places import places, rest
from pecli.diagnosis.structure import roundings, structural
from pecli.diagnosis.turned import transposed
from pecli.errors import PecliError
from pecli.records import dataclass
from pecli.tables.table import Table

NEAR = 0.02  # of the difference that may be left where a fault explains the rest
SOME = 0.1  # of the values that differ may still do so, by more than that
HALF = 0.5  # of the values that were left, at most, after what may have been done as well
NEARLY_ALL = 0.99  # of the values that a fault explains where some others are wrong for a reason of their own

UNKNOWN = Finding(
    "unknown", "no fault that is known explains the difference, and no formula was found that gives these values"
)


def compare(a: Tabular, b: Tabular, tolerance: Tolerance | None = None, progress: Progress = None) -> Comparison:
    """Compare all values of two tables; the result knows why they differ.

    Parameters
    ----------
    a, b : Tabular
        A computed one, or else the second, is what was expected.
    tolerance : Tolerance, optional
        What counts as the same; left out, only equal values do.
    progress : callable, optional
        Is told of the bytes read, block by block.

    Returns
    -------
    Comparison
        Its `findings` are looked for when they are first asked for, while both tables are open.
    """
    found = compare_tables(a, b, tolerance, progress)
    computed = isinstance(a, Table) and not isinstance(b, Table)
    found.explain = partial(diagnose, b, a) if computed else partial(diagnose, a, b)
    return found


def diagnose(mine: Tabular, expected: Tabular, found: Comparison) -> list[Finding]:
    """Return why a table differs from the expected one, the most telling first."""
    with np.errstate(all="ignore"):  # any bits may stand in a file
        return _diagnose(mine, expected, found)


def _diagnose(mine: Tabular, expected: Tabular, found: Comparison) -> list[Finding]:
    if found.arrays and not found.total.beyond:
        return []
    firsts = [a.figures.first.index[0] for a in found.arrays if a.figures.first is not None and a.figures.first.index]
    turned = transposed(mine, expected)
    if turned:
        return turned
    case = case_of(mine, expected, min(firsts, default=0))
    table = expected_table(expected)
    said = [] if case is None else _faults(case, table, found.total)
    return said or _otherwise(mine, table, found)


def _faults(case: Case, table: Table | None, whole: Figures) -> list[Finding]:
    """Say which fault explains most: one that leaves nothing, the simplest first, else the one that leaves least."""
    tried = (_applied(case, candidate, whole) for candidate in followings(case))
    said = next((one for one in tried if one is not None), None)
    if said is not None:
        return said.findings
    rounding = _least(_applied(case, candidate, whole) for candidate in roundings(case))
    if rounding is not None and not rounding.left:
        return rounding.findings
    magnitude = None if table is None else _magnitude(table)
    faults = [*(recipe_candidates(case, table) if table is not None else ()), *structural(case, magnitude)]
    said = _least(one for one in (rounding, _best(case, faults, whole)) if one is not None)
    if said is None and table is not None:
        found = arithmetic(case, case.table, table, whole.unequal)
        if found:
            return found
    said = said or _best(case, faults, whole, NEARLY_ALL)
    return [] if said is None else said.findings


@dataclass(frozen=True)
class Explained:
    """What is said of a candidate, and how many values it leaves unexplained."""

    left: int
    findings: list[Finding]


def _least(found: Iterable[Explained | None]) -> Explained | None:
    return min((one for one in found if one is not None), key=lambda one: one.left, default=None)


def _best(case: Case, candidates: Iterable[Candidate], whole: Figures, share: float = 1.0) -> Explained | None:
    """Try every candidate in the window; apply the one that leaves least of that share, if that is little."""
    most, best = case.off(case.there, share=share), None
    least = max(case.rounding, NEAR * min(most, case.scale))
    if not most:
        return None
    for candidate in candidates:
        left = case.tried(candidate, least, share)
        if left <= least and (best is None or left < best[0]):
            best = (left, candidate)
            if not left:
                break
    return None if best is None else _applied(case, best[1], whole)


def _applied(case: Case, candidate: Candidate, whole: Figures) -> Explained | None:
    """Compare what a candidate makes of the expected values with the whole table; None if it explains too little."""
    lanes = candidate.lanes()
    if lanes is None:
        return None
    left = case.compared(lanes)
    said = [Finding(candidate.kind, candidate.text)]
    near = math.isfinite(left.max_abs) and left.max_abs <= max(case.rounding, NEAR * whole.max_abs)
    if left.unequal and not near and left.unequal > SOME * whole.unequal:
        return None
    if left.unequal >= whole.unequal and not left.max_abs < HALF * whole.max_abs:
        return None  # what changes nothing here, as a base with one pair, explains nothing
    for further in candidate.further if left.unequal else ():
        lanes = further.lanes()
        less = None if lanes is None else case.compared(lanes)
        if less is not None and less.unequal <= HALF * left.unequal:
            said, left = [said[0], Finding(further.kind, further.text)], less
    return Explained(left.unequal, [*said, rest(left)] if left.unequal else said)


def expected_table(expected: Tabular) -> Table | None:
    """Return the computed table behind what was expected: itself, or that of the recipe in its file."""
    if isinstance(expected, Table):
        return expected
    if expected.recipe is None:
        return None
    try:
        return Table.parse(expected.recipe)
    except PecliError:
        return None


def _magnitude(table: Table) -> float | None:
    if table.source.encoding.family is not Family.ROTARY:
        return None
    return float(table.plan.magnitude) if isinstance(table.plan, Waves) else 1.0


def _otherwise(mine: Tabular, table: Table | None, found: Comparison) -> list[Finding]:
    """Say what the table at hand is for itself, or else where it differs from the expected one."""
    from pecli.identification.identification import identify

    where = places(found.arrays)
    identity = identify(mine)
    if identity.recipe is None:
        return where or [UNKNOWN]
    against = [] if table is None else _against(identity.recipe, table)
    if table is not None and not against and found.complete:  # the expected recipe itself, which these values are not
        return where or [UNKNOWN]
    said = [*against, Finding("identity", f"these values are {identity.recipe} ({identity.confidence})")]
    again = compare_tables(mine, Table.parse(identity.recipe))
    left = again.total
    if not again.complete or (left.unequal and where):  # a recipe of some of the arrays explains nothing in the others
        return where or [UNKNOWN]
    return [*said, rest(left)] if left.unequal else said


def _against(recipe: str, table: Table) -> list[Finding]:
    """Return the parameters in which a recipe differs from that of the expected table."""
    other = Table.parse(recipe)
    if other.source.encoding is not table.source.encoding:
        names = other.source.encoding.name, table.source.encoding.name
        return [Finding("encoding", f"{names[0]} where {names[1]} was expected")]
    mine, theirs = ({**t.source.keys(), **t.positions.keys(), **t.request.keys()} for t in (other, table))
    differ = [k for k in dict.fromkeys([*mine, *theirs]) if mine.get(k) != theirs.get(k)]
    said = [
        Finding(key, f"{key} {mine.get(key, 'not given')} where {theirs.get(key, 'none')} was expected")
        for key in differ
        if key not in ("len", "dtype", "seq-len", "arithmetic") and (key in mine or not _dependent(table, key))
    ]
    if "arithmetic" in differ:
        said.append(Finding("arithmetic", f"phases were computed in {mine.get('arithmetic', 'exact')} arithmetic"))
    return said


def _dependent(table: Table, key: str) -> bool:
    """Whether a parameter has an effect only beside another one, which then differs too."""
    found = table.source.encoding.parameters.get(key.replace("-", "_"))
    return found is not None and found.param.when is not None
