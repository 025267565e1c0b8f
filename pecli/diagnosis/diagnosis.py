"""Why two tables differ: what was done to one that makes it the other.

Every fault that is known is tried on the expected values in some rows; the one that leaves least is applied to
all of them and compared with the whole table at hand.  It is said together with what it leaves unexplained.
Where no fault is found, the place of the differences is said, and what the table is for itself.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

import numpy as np

from pecli.comparison.compare import Progress, compare_tables
from pecli.comparison.figures import Figures
from pecli.comparison.results import Comparison, Finding, Tolerance
from pecli.declare.encoding import Family
from pecli.declare.plan import Waves
from pecli.declare.tabular import Tabular
from pecli.diagnosis.applied import (
    HALF,
    NEAR,
    NEARLY_ALL,
    SOME,
    Explained,
    applied,
    best,
    in_arithmetic,
    least,
    within_float32,
)
from pecli.diagnosis.arithmetic import LEAST, in_float32
from pecli.diagnosis.bounds import stuck
from pecli.diagnosis.case import Case, case_of
from pecli.diagnosis.float32 import rounding_of
from pecli.diagnosis.following import followings
from pecli.diagnosis.heads import heads_of
from pecli.diagnosis.identity import identified, otherwise
from pecli.diagnosis.mistakes import recipe_candidates
from pecli.diagnosis.order import reordered
from pecli.diagnosis.part import beside_blank, parts_of
from pecli.diagnosis.places import few_rows, places
from pecli.diagnosis.roundings import coarser, roundings
from pecli.diagnosis.settled import settled
from pecli.diagnosis.structure import structural
from pecli.diagnosis.together import together
from pecli.diagnosis.turned import transposed
from pecli.errors import PecliError
from pecli.tables.guise import Guise
from pecli.tables.selection import Renamed
from pecli.tables.table import Table

FEW = 2  # rows that differ, of which their place says enough


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
    found.explain = (lambda seen: diagnose(b, a, seen.reversed)) if computed else partial(diagnose, a, b)
    return found


def diagnose(mine: Tabular, expected: Tabular, found: Comparison) -> list[Finding]:
    """Return why a table differs from the expected one, the most telling first."""
    with np.errstate(all="ignore"):  # any bits may stand in a file
        return _diagnose(mine, expected, found)


def _diagnose(mine: Tabular, expected: Tabular, found: Comparison) -> list[Finding]:
    if not found.complete and (heads := heads_of(mine, expected)):
        return heads
    if found.arrays and not found.total.beyond:
        return []
    if isinstance(expected, Table) and expected.request.guise != Guise():
        return _undisguised(mine, expected)
    firsts = [a.figures.first.index[0] for a in found.arrays if a.figures.first is not None and a.figures.first.index]
    first, table = min(firsts, default=0), expected_table(expected)
    if (rounding := rounding_of(found, table)) is not None:
        return [rounding]
    turned = transposed(mine, expected)
    if turned:
        return turned
    said = _settled(case_of(mine, expected, first, table), table, found)
    findings = partial(_findings, said, mine, found)
    few = all(map(few_rows, found.arrays)) and sum(a.figures.unequal_rows for a in found.arrays) <= FEW  # says more
    if (
        table is None
        and (said is None or said.left)
        and not (few and all(one.kind != "identity" for one in findings(table)))
    ):
        table = identified(expected)
        again = None if table is None else _settled(case_of(mine, table, first, table), table, found)
        if table is not None and again is not None and (said is None or again.left < said.left):
            return [*again.findings, Finding("expected", f"the expected values are those of {table.recipe}")]
    return findings(table)


def _findings(said: Explained | None, mine: Tabular, found: Comparison, table: Table | None) -> list[Finding]:
    if said is not None and any(one.kind != "place" and one.kind != "arithmetic" for one in said.findings):
        return said.findings
    much = said is not None and said.placed and said.left > SOME * found.total.compared  # one value may be wrong alone
    own = otherwise(mine, table, found) if said is None or much else []
    exact = any(one.kind == "identity" for one in own) and not any(one.kind == "rest" for one in own)
    return own if said is None or exact else said.findings


def _undisguised(mine: Tabular, expected: Table) -> list[Finding]:
    """Return why a table under other names differs, under those that all else knows, without what is beside."""
    own, called = expected.plain(), {}
    for theirs, array in zip(expected.arrays, own.arrays, strict=False):
        called[theirs.name] = array.name
    seen = Renamed(mine, called)
    said = diagnose(seen, own, compare_tables(seen, own)) if seen.arrays else []
    return said or [Finding("beside", "what differs stands beside the table, whose own values are equal")]


def _settled(case: Case | None, table: Table | None, found: Comparison) -> Explained | None:
    """Say which fault explains the whole, to the bit or else but for what phases in float32 are off by."""
    said = _explained(case, table, found)
    if case is None or table is None or (said is not None and not said.left):
        return said
    vague = said is None or in_float32(said.findings[0])
    most = math.inf if said is None else said.left if vague else NEAR * said.left
    for one in settled(case, table):
        again = compare_tables(one.table, table)
        firsts = [a.figures.first.index[0] for a in again.arrays if a.figures.first is not None]
        more = _explained(case_of(one.table, table, min(firsts), table), table, again) if firsts else Explained(0, [])
        if more is None:
            more = Explained(again.total.unequal, places(again.arrays) if vague else [], placed=True)
        if (more.left <= most if vague else more.left < most) and (one.said or more.findings):
            return Explained(more.left, [*one.said, *more.findings, one.off], more.placed)
    return said


def _explained(case: Case | None, table: Table | None, found: Comparison) -> Explained | None:
    """Say which fault explains the whole, or else, and better, the part of it in which all differences lie."""
    if case is None:
        return None
    said = _faults(case, table, found.total)
    for part in parts_of(case, table, found) if said is None or said.left else ():
        less = _faults(part.case, part.table, part.case.compared(part.case.expected))
        if less is not None and (said is None or not less.left):
            first, *others = less.findings
            return Explained(less.left, [replace(first, text=f"{part.text}: {first.text}"), *others])
    for blank, part in beside_blank(case, table) if said is None or said.left else ():
        less = _faults(part.case, part.table, part.case.compared(part.case.expected))
        if less is not None and (said is None or less.left < said.left):
            first, *others = less.findings
            return Explained(less.left, [blank, replace(first, text=f"{part.text}: {first.text}"), *others])
    return _stuck(case, found) if said is None else said


def _stuck(case: Case, found: Comparison) -> Explained | None:
    """Say that all values that differ are one number, and where they are."""
    for one in stuck(case):
        said = applied(case, one, found.total)
        if said is not None and not said.left:
            where = [replace(place, text=f"{place.text}: {one.text}") for place in places(found.arrays)]
            return Explained(0, where or said.findings)
    return None


def _faults(case: Case, table: Table | None, whole: Figures) -> Explained | None:
    """Say which fault explains most: one that leaves nothing, the simplest first, else the one that leaves least."""
    tried = (applied(case, candidate, whole) for candidate in followings(case))
    said = next((one for one in tried if one is not None), None)
    orders = partial(reordered, case) if whole.unequal > 1 else tuple  # of one value, its place says more
    if said is not None:
        return said if not said.left else least(applied(case, one, whole) for one in orders()) or said
    rounding = least(applied(case, candidate, whole) for candidate in roundings(case))
    if rounding is not None and not rounding.left:
        return rounding
    if table is not None and whole.unequal >= LEAST and within_float32(case, table):
        said = in_arithmetic(case, table, whole)
        if said is not None:
            return said
    magnitude = None if table is None else _magnitude(table)
    faults = [
        *(recipe_candidates(case, table) if table is not None else ()),
        *structural(case, magnitude),
        *coarser(case),
    ]
    said = least((rounding, best(case, faults, whole)))
    if said is None or said.left:
        said = least(applied(case, one, whole) for one in orders()) or said
    if table is not None and (said is None or said.left):
        said = least((said, in_arithmetic(case, table, whole)))
    return said or best(case, faults, whole, NEARLY_ALL) or _two(case, table, whole)


def _two(case: Case, table: Table | None, whole: Figures) -> Explained | None:
    """Say which two faults at once explain a table whose values differ nearly everywhere."""
    if table is None or case.part is not None or whole.unequal < HALF * whole.compared:
        return None
    return least(applied(case, candidate, whole) for candidate in together(case, table))


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
