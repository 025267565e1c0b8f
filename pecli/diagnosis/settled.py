"""A table computed in float32 or float64, with the expected values where it is off by no more than its phases are.

What else is wrong with it then shows to the bit, as it does with a table whose phases are exact.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.comparison.results import Finding
from pecli.declare.plan import Waves
from pecli.diagnosis.case import Case, read_rows
from pecli.diagnosis.float32 import bounds, off
from pecli.diagnosis.structure import bytes_text
from pecli.measures.floats import floats
from pecli.measures.samples import Floats
from pecli.numbers.types import real_type
from pecli.records import dataclass
from pecli.tables.selection import InMemory
from pecli.tables.table import Table

KINDS = ("float32", "complex64", "float64", "complex128")
LARGEST = 1 << 22  # values of all arrays that are looked at
PRODUCTS = 1 << 33  # of rows with rows, at most
BLOCK = 512  # rows that are multiplied at once
SEEN = 16  # rows that stand nowhere near their place, of which some must be found elsewhere before all are looked for
TURNED = 0.9  # of the values, at least, are near once their bytes are turned round: turned numbers are small ones
FEW = 0.1  # of the rows, at least, are expected ones

Order = NDArray[np.int64]
"""A number for each row."""


@dataclass(frozen=True)
class Settled:
    """A table with expected values in the place of those that are off by little.

    Attributes
    ----------
    table : InMemory
        Its arrays.
    said : sequence of Finding
        What was done to the table at hand to get there.
    off : Finding
        How many values were off, and by how much.
    """

    table: InMemory
    said: Sequence[Finding]
    off: Finding


def settled(case: Case, table: Table) -> Iterator[Settled]:
    """Yield a table with the expected values where it is near them: as it stands, and with its bytes turned round."""
    lanes = (*case.mine, *case.expected)
    waves = isinstance(table.plan, Waves) and case.mine[0].dtype in KINDS
    if not waves or case.part is not None or any(lane.lead != 1 for lane in lanes):
        return
    if sum(lane.rows * lane.row_size for lane in lanes) > 2 * LARGEST or len({lane.rows for lane in case.mine}) > 1:
        return
    mine, expected = ([read_rows(lane, 0, lane.rows) for lane in side] for side in (case.mine, case.expected))
    other_way = [floats(lane.read(0, lane.rows).byteswap(), lane.dtype) for lane in case.mine]  # bits of NaN are kept
    if [p.shape[1] for p in mine] != [p.shape[1] for p in expected] or len({len(p) for p in expected}) > 1:
        return
    kind = real_type(case.mine[0].dtype)
    allowed = bounds(table, 0, len(expected[0]), case.scale, kind)
    turned = Finding("bytes", bytes_text(kind))
    found = _settled(case, mine, expected, allowed)
    if found is not None:
        yield Settled(found[0], [], found[1])
    elif (found := _settled(case, _planes(other_way), expected, allowed, TURNED)) is not None:
        yield Settled(found[0], [turned], found[1])


def _planes(arrays: Sequence[NDArray[Any]]) -> list[Floats]:
    return [values.astype(np.float64).reshape(len(values), -1) for values in arrays]


def _settled(
    case: Case, mine: list[Floats], expected: list[Floats], allowed: Floats, least: float = 0.0
) -> tuple[InMemory, Finding] | None:
    p, q = np.concatenate(mine, axis=1), np.concatenate(expected, axis=1)
    order = _places(p, q, allowed)
    if order is None:
        return None
    known = np.maximum(order, 0)
    gap = np.abs(p - q[known])
    near = (gap <= allowed[known]) & (order >= 0)[:, None]
    differ = near & (gap > 0)
    if not differ.any() or near.mean() < least:
        return None
    values, arrays, column = np.where(near, q[known], p), {}, 0
    for lane, plane in zip(case.mine, mine, strict=True):
        own = np.ascontiguousarray(values[:, column : column + plane.shape[1]]).astype(real_type(lane.dtype))
        arrays[lane.name] = (own.view(lane.dtype) if lane.dtype != real_type(lane.dtype) else own).reshape(lane.shape)
        column += plane.shape[1]
    return InMemory(arrays), off(
        int(np.count_nonzero(differ)), differ.size, float(gap[differ].max()), real_type(case.mine[0].dtype)
    )


def _places(p: Floats, q: Floats, allowed: Floats) -> Order | None:
    """Return which expected row each row is, -1 for none; None if hardly any is one."""
    order = np.full(len(p), -1)
    both = min(len(p), len(q))
    there = _alike(p[:both], q[:both], allowed[:both]) == p.shape[1]
    order[:both] = np.where(there, np.arange(both), -1)
    known = np.nan_to_num(p, posinf=0.0, neginf=0.0)
    strangers = np.flatnonzero((order < 0) & known.any(axis=1))
    if strangers.size and strangers.size * len(q) * p.shape[1] <= PRODUCTS:
        some = strangers[:: max(1, strangers.size // SEEN)]
        order[some] = _nearest(known[some], q, allowed)
        if (order[some] >= 0).any():
            order[strangers] = _nearest(known[strangers], q, allowed)
    here = strangers[strangers < both]  # a row with a wrong value or column may be far from all, least from its own
    own, other = _alike(p[here], q[here], allowed[here]), _alike(p[here], q[order[here]], allowed[order[here]])
    better = (2 * own > p.shape[1]) & ((order[here] < 0) | (own >= other))
    order[here[better]] = here[better]
    return order if np.count_nonzero(order >= 0) >= FEW * len(p) else None


def _alike(p: Floats, q: Floats, allowed: Floats) -> Order:
    """Return how many values of each row are within its bound."""
    found: Order = np.count_nonzero(np.abs(p - q) <= allowed, axis=1)
    return found


def _nearest(p: Floats, q: Floats, allowed: Floats) -> Order:
    """Return the expected row nearest to each; -1 where most of its values are not near."""
    low, size = q.astype(np.float32), (q * q).sum(axis=1).astype(np.float32)
    found = np.concatenate([
        np.argmin(size - 2 * (p[at : at + BLOCK].astype(np.float32) @ low.T), axis=1)
        for at in range(0, len(p), BLOCK)
    ])  # fmt: skip
    return np.where(2 * _alike(p, q[found], allowed[found]) > p.shape[1], found, -1)
