"""Why two tables differ: what was done to one that makes it the other.

Every fault that is known is tried on the expected values in some rows; the one that leaves least is applied to
all of them and compared with the whole table at hand.  It is said together with what it leaves unexplained.
Where no fault is found, the place of the differences is said, and what the table is for itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from pecli.comparison.compare import Progress, compare_tables
from pecli.comparison.figures import Figures
from pecli.comparison.results import Comparison, Finding, Tolerance
from pecli.declare.changes import Change
from pecli.declare.encoding import Family
from pecli.declare.plan import Waves
from pecli.declare.tabular import Tabular
from pecli.diagnosis.arithmetic import arithmetic
from pecli.diagnosis.case import Candidate, Case, case_of
from pecli.diagnosis.following import followings
from pecli.diagnosis.mistakes import changed, recipe_candidates
from pecli.diagnosis.places import few_rows, places, rest
from pecli.diagnosis.reworked import roughened
from pecli.diagnosis.structure import roundings, structural
from pecli.diagnosis.together import together
from pecli.diagnosis.turned import transposed
from pecli.errors import PecliError
from pecli.records import dataclass
from pecli.tables.guise import Guise
from pecli.tables.selection import Renamed
from pecli.tables.table import Table

if TYPE_CHECKING:
    from pecli.identification.verdict import Identification

NEAR = 0.02  # of the difference that may be left where a fault explains the rest
NO_FAULT = ("len", "dtype", "seq-len", "arithmetic", "name", "lead", "with")  # keys that are said otherwise, or not
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
    if isinstance(expected, Table) and expected.request.guise != Guise():
        return _undisguised(mine, expected)
    firsts = [a.figures.first.index[0] for a in found.arrays if a.figures.first is not None and a.figures.first.index]
    turned = transposed(mine, expected)
    if turned:
        return turned
    first, table = min(firsts, default=0), expected_table(expected)
    said = _faults(case_of(mine, expected, first), table, found.total)
    if table is None and (said is None or said.left) and not all(map(few_rows, found.arrays)):
        table = _identified(expected)
        again = None if table is None else _faults(case_of(mine, table, first), table, found.total)
        if table is not None and again is not None and (said is None or again.left < said.left):
            return [*again.findings, Finding("expected", f"the expected values are those of {table.recipe}")]
    return _otherwise(mine, table, found) if said is None else said.findings


def _undisguised(mine: Tabular, expected: Table) -> list[Finding]:
    """Return why a table under other names differs, under those that all else knows, without what is beside."""
    own, called = expected.plain(), {}
    for theirs, array in zip(expected.arrays, own.arrays, strict=False):
        called[theirs.name] = array.name
    seen = Renamed(mine, called)
    said = diagnose(seen, own, compare_tables(seen, own)) if seen.arrays else []
    return said or [Finding("beside", "what differs stands beside the table, whose own values are equal")]


def _faults(case: Case | None, table: Table | None, whole: Figures) -> Explained | None:
    """Say which fault explains most: one that leaves nothing, the simplest first, else the one that leaves least."""
    if case is None:
        return None
    tried = (_applied(case, candidate, whole) for candidate in followings(case))
    said = next((one for one in tried if one is not None), None)
    if said is not None:
        return said
    rounding = _least(_applied(case, candidate, whole) for candidate in roundings(case))
    if rounding is not None and not rounding.left:
        return rounding
    magnitude = None if table is None else _magnitude(table)
    faults = [*(recipe_candidates(case, table) if table is not None else ()), *structural(case, magnitude)]
    said = _least((rounding, _best(case, faults, whole)))
    if said is None and table is not None:
        found = arithmetic(case, case.table, table, whole.unequal)
        if found is not None:
            return Explained(*found)
    return said or _best(case, faults, whole, NEARLY_ALL) or _two(case, table, whole)


def _two(case: Case, table: Table | None, whole: Figures) -> Explained | None:
    """Say which two faults at once explain a table whose values differ nearly everywhere."""
    if table is None or whole.unequal < HALF * whole.compared:
        return None
    return _least(_applied(case, candidate, whole) for candidate in together(case, table))


@dataclass(frozen=True)
class Explained:
    """What is said of a candidate, and how many values it leaves unexplained."""

    left: int
    findings: list[Finding]


def _least(found: Iterable[Explained | None]) -> Explained | None:
    return min((one for one in found if one is not None), key=lambda one: one.left, default=None)


def _best(case: Case, candidates: Iterable[Candidate], whole: Figures, share: float = 1.0) -> Explained | None:
    """Try every candidate in the window; return the one that leaves least of that share and explains the whole."""
    most = case.off(case.there, share=share)
    least = max(case.rounding, NEAR * min(most, case.scale))
    fits: list[tuple[float, Candidate]] = []
    for candidate in candidates if most else ():
        left = case.tried(candidate, least, share)
        if left <= least:
            fits.append((left, candidate))
        said = None if left else _applied(case, candidate, whole)
        if said is not None:
            return said
    applied = (_applied(case, candidate, whole) for left, candidate in sorted(fits, key=lambda fit: fit[0]) if left)
    return next((said for said in applied if said is not None), None)


def _applied(case: Case, candidate: Candidate, whole: Figures) -> Explained | None:
    """Compare what a candidate makes of the expected values with the whole table; None if it explains too little."""
    lanes = candidate.lanes()
    if lanes is None:
        return None
    left = case.compared(lanes)
    said = [Finding(candidate.kind, candidate.text), *candidate.beside]
    near = math.isfinite(left.max_abs) and left.max_abs <= max(case.rounding, NEAR * whole.max_abs)
    if left.unequal and not near and left.unequal > max(SOME * whole.unequal, candidate.silent(case.here)):
        return None
    if left.unequal >= whole.unequal and not left.max_abs < HALF * whole.max_abs:
        return None  # what changes nothing here, as a base with one pair, explains nothing
    for further in candidate.further if left.unequal else ():
        lanes = further.lanes()
        less = None if lanes is None else case.compared(lanes)
        if less is not None and less.unequal <= HALF * left.unequal:
            said, left = [*said[: 1 + len(candidate.beside)], Finding(further.kind, further.text)], less
    if case.narrowed and candidate.kind != "rounding" and roughened(lanes or (), case.grain, *case.window):
        said.append(Finding("rounding", f"and the values are rounded to {case.grain}"))
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


def _identified(expected: Tabular) -> Table | None:
    """Return a computed table that has all values of a file, where one is known; rather one with its arrays' names."""
    from pecli.identification.identification import identify

    found, names = identify(expected), {array.name for array in expected.arrays}
    if found.recipe is None or _far_fetched(found):
        return None
    tables = [Table.parse(recipe) for recipe in (found.recipe, *found.aliases)]
    tables.sort(key=lambda table: ({array.name for array in table.arrays} != names, len(table.recipe or "")))
    return next((table for table in tables if compare_tables(expected, table).equal), None)


def _far_fetched(found: Identification) -> bool:
    """Whether a recipe has numbers that no one would choose."""
    return found.guess is not None and found.guess.listed


def _magnitude(table: Table) -> float | None:
    if table.source.encoding.family is not Family.ROTARY:
        return None
    return float(table.plan.magnitude) if isinstance(table.plan, Waves) else 1.0


def _otherwise(mine: Tabular, table: Table | None, found: Comparison) -> list[Finding]:
    """Say what the table at hand is for itself, or else where it differs from the expected one."""
    from pecli.identification.identification import identify

    where = places(found.arrays)
    unsaid = where or ([UNKNOWN] if found.arrays else [])
    identity = identify(mine)
    if identity.recipe is None or _far_fetched(identity):
        return unsaid
    recipes = [Table.parse(recipe) for recipe in (identity.recipe, *identity.aliases)]
    own = [one for one in recipes if table is not None and one.source.encoding is table.source.encoding]
    for made in (*own, *recipes):
        again = compare_tables(mine, made)
        left = again.total
        if again.complete and not (left.unequal and where):  # a recipe of some arrays explains nothing in the others
            break
    else:
        return unsaid
    placed = made.positions.keys()
    if where and "positions" in placed:  # of rows in another order, the place says more
        return unsaid
    against = [] if table is None else _against(made, table)
    if (
        table is not None and not against and found.complete and left.unequal
    ):  # the expected recipe, which these are not
        return unsaid
    said = [*against, Finding("identity", f"these values are {made.recipe} ({identity.confidence})")]
    return [*said, rest(left)] if left.unequal else said


def _against(other: Table, table: Table) -> list[Finding]:
    """Return the parameters in which a computed table differs from the expected one."""
    if other.source.encoding is not table.source.encoding:
        names = other.source.encoding.name, table.source.encoding.name
        return [Finding("encoding", f"{names[0]} where {names[1]} was expected")]
    mine, theirs = ({**t.source.keys(), **t.positions.keys(), **t.request.keys()} for t in (other, table))
    differ = [k for k in dict.fromkeys([*mine, *theirs]) if mine.get(k) != theirs.get(k)]
    said = [
        Finding(key, f"{key} {_word(mine, key, 'not given')} where {_word(theirs, key, 'none')} was expected")
        for key in differ
        if key not in NO_FAULT and (key in mine or not _dependent(table, key))
        if not _idle(table, key, mine.get(key))
    ]
    if "arithmetic" in differ:
        said.append(Finding("arithmetic", f"phases were computed in {mine.get('arithmetic', 'exact')} arithmetic"))
    return said


def _word(keys: Mapping[str, str], key: str, otherwise: str) -> str:
    return keys.get(key) or {"start": "0", "step": "1"}.get(key, otherwise)


def _idle(table: Table, key: str, value: str | None) -> bool:
    """Whether another value of a parameter leaves all values as they are."""
    own = key in {parameter.option for parameter in table.source.encoding.parameters.values()}
    made = changed(table, Change(key, "", {key: value})) if own else None
    return made is not None and compare_tables(made, table).equal


def _dependent(table: Table, key: str) -> bool:
    """Whether a parameter has an effect only beside another one, which then differs too."""
    found = table.source.encoding.parameters.get(key.replace("-", "_"))
    return found is not None and found.param.when is not None
