"""Two faults at once: a mistake in the recipe, and a change of order, sign, size or start of what it gives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from pecli.comparison.results import Finding
from pecli.diagnosis.arithmetic import arithmetic, arithmetic_of, turning_of
from pecli.diagnosis.case import FEW, Candidate, Case, read_rows
from pecli.diagnosis.mistakes import recipe_candidates, started_elsewhere
from pecli.diagnosis.structure import simple
from pecli.measures.lanes import Lane, lane_of
from pecli.measures.samples import Floats
from pecli.tables.selection import InMemory
from pecli.tables.table import Table

NEAR = 0.02  # of the values' size that may be left in the few rows by which pairs of faults are sorted out


def together(case: Case, table: Table) -> Iterator[Candidate]:
    """Yield pairs of faults that together give the last rows of the window, each to be tried on all of it."""
    start, stop = max(case.window[0], case.window[1] - FEW), case.window[1]
    values = [read_rows(lane, start, stop) for lane in case.mine]
    if not all(np.isfinite(plane).any() for plane in values):
        return  # nothing tells one pair from another
    here = _kept(case, values)
    enough = max(case.rounding, NEAR * case.scale)
    for one in (*recipe_candidates(case, table), *started_elsewhere(case, table)):
        lanes = one.lanes()
        if lanes is None or any(lane.rows < stop for lane in lanes):
            continue
        there = _kept(case, [read_rows(lane, start, stop) for lane in lanes])
        if [lane.shape for lane in there] != [lane.shape for lane in here]:  # a mistake that gives another width
            continue
        small = Case(case.table, here, there, 0, known=case.known)
        if one.beside and small.off(small.there) <= enough:
            yield one
        if one.beside:  # two are enough
            continue
        yield from _in_arithmetic(case, one, (start, stop), values)
        for other in simple(small):
            if small.tried(other, enough) <= enough:
                both = _of_all(other, list(simple(replace(case, expected=lanes, exact=()))))
                if both is not None:
                    yield replace(both, kind=one.kind, text=one.text, beside=(Finding(both.kind, f"and {both.text}"),))


def _in_arithmetic(case: Case, one: Candidate, rows: tuple[int, int], values: Sequence[Floats]) -> Iterator[Candidate]:
    """Yield a mistake in the recipe beside phases that were computed in a narrow arithmetic."""
    made = None if one.made is None else one.made()
    turning = None if made is None else turning_of(case, made)
    if made is None or turning is None:
        return
    how = arithmetic_of(turning, values, turning.positions(*rows), case.grain)
    found = None if how is None or how.name == "float32" else arithmetic(case, made)
    if found is not None:
        text = found.text.partition(":")[0]
        yield replace(found, kind=one.kind, text=one.text, beside=(Finding(found.kind, f"and {text}"),))


def _of_all(found: Candidate, others: list[Candidate]) -> Candidate | None:
    """Return the same change as all rows tell it: in the same words, or the only one of its kind; None for none."""
    alike = [other for other in others if other.kind == found.kind]
    same = [other for other in alike if other.text == found.text]
    return same[0] if same else alike[0] if len(alike) == 1 else None


def _kept(case: Case, planes: list[Floats]) -> list[Lane]:
    table = InMemory(dict(zip(case.names, planes, strict=True)))
    return [lane_of(table, array) for array in table.arrays]
