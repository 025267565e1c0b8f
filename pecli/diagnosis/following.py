"""What the rows of a table hold from one on where those before are as expected: repeats, zeros, NaN."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from pecli.diagnosis.bounds import constant
from pecli.diagnosis.case import Candidate, Case, Lanes, gaps, read_rows
from pecli.diagnosis.reworked import Indices, candidate
from pecli.measures.samples import Floats

RUN = 4  # rows that show what repeats
NEAR = 0.01  # of the values' size that rows as expected may be off by: angles in float32, other roundings
SCANNED = 1 << 26  # values among which the beginning of a repetition is looked for row by row
LENGTHS = (*(1 << k for k in range(4, 31)), *(1000 * k for k in (1, 2, 4, 8, 10, 16, 32)), 1536, 3072, 12288)
"""Numbers of rows that models have, and caches therefore end at."""


def followings(case: Case) -> Iterator[Candidate]:
    """Yield what all arrays may hold from a row on that was not expected."""
    yield from constant(case)
    if case.part is not None or any(lane.lead != 1 for lane in case.expected):
        return
    yield from _displaced(case)
    for start in _suspects(case):
        stop = min(start + RUN, case.rows)
        here, there = (_read(lanes, start, stop) for lanes in (case.mine, case.expected))
        before, head = _read(case.mine, start - 1, start), _read(case.mine, 0, stop - start)
        if _near(case, here, there) or not _near(case, before, _read(case.expected, start - 1, start)):
            continue
        said = f"rows {start} and up"
        if all(np.isnan(p).all() for p in here):
            found = _filled(case, start, f"{said} are NaN", np.nan)
        elif not any(p.any() for p in here):
            found = _filled(case, start, f"{said} are zero", 0.0)
        elif all((p == q).all() for p, q in zip(here, before, strict=True)):
            found = candidate(case, "rows", f"{said} repeat row {start - 1}", rows=partial(np.minimum, start - 1))
        elif all(np.array_equal(p, q) for p, q in zip(here, head, strict=True)):
            text = f"{said} repeat: row {start} is row 0 again"
            found = candidate(case, "rows", text, rows=partial(_again, start))
        else:
            continue
        yield replace(found, after=start)


def _displaced(case: Case) -> Iterator[Candidate]:
    """Yield a row that is missing, or there twice, where the rows after it are those of before or after."""
    start, count = case.first, min(lane.rows for lane in case.expected)
    stop = min(start + RUN, case.rows)
    for by, text in ((1, f"row {start} is missing"), (-1, f"row {start - 1} is there twice")):
        if start + by >= 0 and stop + by <= count and 0 < start < stop - 1:
            moved = _read(case.expected, start + by, stop + by)
            if _near(case, _read(case.mine, start, stop), moved):
                yield candidate(case, "rows", text, rows=partial(_moved, start, by, count))


def _moved(start: int, by: int, count: int, rows: Indices) -> Indices:
    found = np.where(rows < start, rows, rows + by)
    return np.where(found < count, found, -1)


def _suspects(case: Case) -> Iterator[int]:
    """Yield rows at which something new may begin: the first that differs, usual lengths, any row equal to row 0."""
    n, lane = case.rows, case.mine[0]
    yield from sorted(row for row in {case.first, *LENGTHS} if 1 < row < n)
    if lane.rows * lane.row_size <= SCANNED and n > 2 * RUN:
        head = lane.read(0, 1)
        for start in range(1, n, 4096):
            rows = lane.read(start, min(start + 4096, n))
            same = (rows == head).reshape(len(rows), -1).all(axis=1)
            if same.any():
                yield start + int(same.argmax())
                return


def _read(lanes: Lanes, start: int, stop: int) -> list[Floats]:
    return [read_rows(lane, start, stop) for lane in lanes]


def _near(case: Case, mine: list[Floats], expected: list[Floats]) -> bool:
    return all(gaps(p, q).max() <= NEAR * case.scale for p, q in zip(mine, expected, strict=True))


def _filled(case: Case, start: int, text: str, value: float) -> Candidate:
    def work(_name: str, values: Floats, first: int) -> Floats:
        values[max(0, start - first) :] = value
        return values

    return candidate(case, "rows", text, work)


def _again(period: int, rows: Indices) -> Indices:
    return rows % period
