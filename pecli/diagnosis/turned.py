"""Tables whose axes have changed places."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import permutations

import numpy as np

from pecli.comparison.results import Finding
from pecli.declare.tabular import Tabular
from pecli.diagnosis.case import Candidate, Case, read_rows
from pecli.diagnosis.places import rest
from pecli.measures.floats import floats
from pecli.measures.lanes import Lane, lane_of, pair_lanes
from pecli.measures.samples import rounded
from pecli.tables.selection import InMemory

LARGEST = 1 << 22  # values of a table that is transposed in memory
NEAR = 0.01  # of the values' size that some may be off by where all others are worth a look
SAID = {"query": "queries", "key": "keys"}


def turnable(lane: Lane) -> bool:
    """Whether the last two axes of a lane may change places in memory."""
    real = not lane.dtype.startswith("complex")
    return real and len(lane.shape) > 1 and lane.rows * lane.row_size <= LARGEST


def turned(lane: Lane, grain: str) -> Lane:
    """Return the lane whose last two axes have changed places."""
    values = rounded(read_rows(lane, 0, lane.rows), grain).reshape(lane.shape)
    values = np.ascontiguousarray(np.swapaxes(values, -1, -2))
    rows = InMemory({lane.name: values.reshape(-1, values.shape[-1])})
    return replace(lane_of(rows, rows.arrays[0]), shape=values.shape, lead=values.ndim - 1)


def words(lane: Lane) -> str:
    """Say that the last two axes of a lane have changed places."""
    said = [SAID.get(axis, word) for axis, word in zip(lane.array.axes[-2:], ("rows", "columns"), strict=False)]
    return f"{' and '.join(said)} are exchanged"


def read_across(case: Case) -> Iterator[Candidate]:
    """Yield the values of a transposed array in the shape that was expected, and of one that was to be transposed."""
    if not all(lane.lead == 1 and turnable(lane) for lane in case.expected) or case.window[0]:
        return
    here, there = case.here[0], case.there[0]
    width, enough = there.shape[1], NEAR * case.scale
    rows = min(len(here), len(there))
    if here.shape != there.shape or width < 2 or case.rows <= width:
        return
    if np.abs(here[0, :rows] - there[:width, 0][: len(here[0, :rows])]).max() <= enough:
        said = "the values run down the columns, as those of a transposed array read in rows"
        yield Candidate("transposed", said, partial(_across, case, down=True))
    if np.abs(here[:rows, 0] - there.ravel()[:rows]).max() <= enough:
        said = "the columns hold what was expected row by row, as of an array in rows read down its columns"
        yield Candidate("transposed", said, partial(_across, case, down=False))


def _across(case: Case, *, down: bool) -> list[Lane]:
    found = []
    for lane in case.expected:
        values = rounded(read_rows(lane, 0, lane.rows), case.grain)
        across = values.T.reshape(values.shape) if down else values.reshape(values.shape[::-1]).T
        table = InMemory({lane.name: np.ascontiguousarray(across)})
        found.append(replace(lane_of(table, table.arrays[0]), shape=lane.shape))
    return found


def transposed(mine: Tabular, expected: Tabular) -> list[Finding]:
    """Say that the axes of all arrays lie in another order, where their shapes show it and their values bear it out."""
    pairs = pair_lanes(mine, expected)[0]
    if not pairs or not all(_lies_across(a, b) for a, b in pairs):
        return []
    (_, first), *_ = pairs
    found = []
    for axes in permutations(range(len(first.shape))):
        if all(tuple(a.shape[k] for k in axes) == b.shape for a, b in pairs):
            here = [_permuted(a, axes, b.lead) for a, b in pairs]
            found.append((Case(InMemory({}), here, [b for _, b in pairs], 0).compared([b for _, b in pairs]), axes))
    left, axes = min(found, key=lambda one: one[0].unequal)
    if 2 * left.unequal > left.compared:
        return []
    if len(axes) == 2:
        text = words(first)
    else:
        names = first.array.axes[-len(axes) :]
        lie = ", ".join(names[axes.index(k)] for k in range(len(axes)))
        text = f"the axes are {lie} where {', '.join(names)} was expected"
    said = [Finding("transposed", text)]
    return [*said, rest(left)] if left.unequal else said


def _lies_across(a: Lane, b: Lane) -> bool:
    small = a.rows * a.row_size <= LARGEST and len(a.shape) > 1 and len(b.array.axes) >= len(b.shape)
    across = a.shape != b.shape and sorted(a.shape) == sorted(b.shape)
    return small and across and a.dtype.startswith("complex") == b.dtype.startswith("complex")


def _permuted(lane: Lane, axes: tuple[int, ...], lead: int) -> Lane:
    """Return a lane with its axes in another order."""
    raw = lane.read(0, lane.rows)
    values = raw if raw.dtype.kind == "c" else floats(raw, lane.dtype).astype(np.float64)
    values = np.ascontiguousarray(np.transpose(values.reshape(lane.shape), axes))
    rows = InMemory({lane.name: values.reshape(-1, *values.shape[lead:])})
    return replace(lane_of(rows, rows.arrays[0]), shape=values.shape, lead=lead)
