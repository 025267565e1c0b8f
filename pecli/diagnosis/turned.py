"""Tables whose last two axes have changed places."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from pecli.comparison.results import Finding
from pecli.declare.tabular import Tabular
from pecli.diagnosis.case import Case, read_rows
from pecli.diagnosis.places import rest
from pecli.measures.lanes import Lane, lane_of, pair_lanes
from pecli.measures.samples import rounded
from pecli.tables.selection import InMemory

LARGEST = 1 << 22  # values of a table that is transposed in memory
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


def transposed(mine: Tabular, expected: Tabular) -> list[Finding]:
    """Say that all arrays lie the other way round, where their shapes show it and their values bear it out."""
    pairs = pair_lanes(mine, expected)[0]
    if not pairs or not all(_lies_across(a, b) for a, b in pairs):
        return []
    here: Sequence[Lane] = [turned(a, "float64") for a, _ in pairs]
    left = Case(InMemory({}), here, [b for _, b in pairs], 0).compared([b for _, b in pairs])
    if 2 * left.unequal > left.compared:
        return []
    said = [Finding("transposed", words(pairs[0][1]))]
    return [*said, rest(left)] if left.unequal else said


def _lies_across(a: Lane, b: Lane) -> bool:
    across = len(a.shape) == 2 and a.shape == b.shape[::-1] and a.shape != b.shape
    return across and b.lead == 1 and turnable(a) and not b.dtype.startswith("complex")
