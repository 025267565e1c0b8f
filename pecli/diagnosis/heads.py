"""A bias of other heads than expected: one head of several, fewer of them, or more."""

from __future__ import annotations

import numpy as np

from pecli.comparison.compare import compare_tables
from pecli.comparison.results import Finding
from pecli.declare.changes import Change
from pecli.declare.tabular import Tabular
from pecli.diagnosis.float32 import rounding_of
from pecli.diagnosis.mistakes import changed
from pecli.measures.floats import floats
from pecli.tables.table import Table

MOST_VALUES = 1 << 24  # of all heads that one is looked for among
ROUNDING = 1e-6  # of the largest value, by which a head may differ


def heads_of(mine: Tabular, expected: Tabular) -> list[Finding]:
    """Say that a bias is one head of those expected, or that it has more or fewer; nothing where neither is so."""
    if not isinstance(expected, Table) or len(mine.arrays) != 1 or expected.arrays[0].axes[:1] != ("head",):
        return []
    array = expected.arrays[0]
    shape = tuple(side for side in mine.arrays[0].shape if side != 1)
    count, heads = array.shape[0], shape[0] if len(shape) == len(array.shape) else 1
    if len(array.shape) == 3 and shape == array.shape[1:] and count > 1:
        return _one_of(mine, expected)
    made = None if heads in (1, count) else changed(expected, Change("heads", "", {"heads": str(heads)}))
    found = None if made is None else compare_tables(mine, made)
    if made is None or found is None or not (found.equal or rounding_of(found, made)):
        return []
    return [Finding("heads", f"{heads} heads where {count} were expected")]


def _one_of(mine: Tabular, expected: Table) -> list[Finding]:
    """Say which head of the expected bias a square one is."""
    array, own = expected.arrays[0], mine.arrays[0]
    count, queries = array.shape[:2]
    if own.bytes * count > 8 * MOST_VALUES:
        return []
    here = floats(mine.read(own.name), own.dtype).astype(np.float64).reshape(array.shape[1:])
    off = []
    for head in range(count):
        rows = expected.read_rows([array.name], head * queries, (head + 1) * queries)[array.name]
        there = floats(rows, array.dtype).astype(np.float64)
        off.append(float(np.where(here == there, 0.0, np.nan_to_num(np.abs(here - there), nan=np.inf)).max(initial=0)))
    best = int(np.argmin(off))
    finite = np.abs(here[np.isfinite(here)])
    if off[best] > ROUNDING * finite.max(initial=0.0):
        return []
    but = f", but for rounding of at most {off[best]:.2g}" if off[best] else ""
    return [Finding("heads", f"this is head {best} of {count}{but}")]
