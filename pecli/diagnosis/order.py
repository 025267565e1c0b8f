"""Rows, or heads, of the expected table in another order: exchanged, turned round, left out, there again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from pecli.diagnosis.case import Candidate, Case, read_rows
from pecli.diagnosis.reworked import reworked
from pecli.measures.lanes import Lane
from pecli.measures.samples import Floats, rounded

LARGEST = 1 << 22  # values of all arrays among which rows are looked for
MOST_RUNS = 4  # stretches of rows from elsewhere that are said one by one
LISTED = 4  # rows of a permutation that are named

Order = list[int]
"""Of each row at hand, the expected one that it is."""
Run = tuple[int, int, int]
"""First and last row of a stretch, and by how much the expected row grows from one to the next: 1, 0 or -1."""


def reordered(case: Case) -> Iterator[Candidate]:
    """Yield the expected rows in the order at hand, if every row at hand is, to the bit, an expected one."""
    lanes = (*case.mine, *case.expected)
    counts, others = ({lane.shape[0] if lane.lead else 0 for lane in side} for side in (case.mine, case.expected))
    if (
        case.part is not None
        or len(counts) > 1
        or len(others) > 1
        or sum(lane.rows * lane.row_size for lane in lanes) > 2 * LARGEST
    ):
        return
    (count,), (other,) = counts, others
    if min(count, other) < 2 or any(p.shape[1:] != q.shape[1:] for p, q in zip(case.mine, case.expected, strict=True)):
        return
    keys: dict[bytes, int] = {}
    expected = [keys.setdefault(row, len(keys)) for row in _rows(case.expected, other, case.grain)]
    mine = [keys.get(row, -1) for row in _rows(case.mine, count, "float64")]
    order = None if -1 in mine else _places(mine, expected)
    unit = "head" if case.expected[0].array.axes[0] == "head" else "row"
    text = None if order is None else _words(order, other, unit)
    if order is not None and text is not None:
        yield Candidate("rows", text, partial(_taken, case, order))


def _rows(lanes: Sequence[Lane], count: int, grain: str) -> Iterator[bytes]:
    """Yield the bytes of every row of all arrays; both zeros are the same."""
    parts = [rounded(read_rows(lane, 0, lane.rows), grain).reshape(count, -1) + 0.0 for lane in lanes]
    return (row.tobytes() for row in np.concatenate(parts, axis=1))


def _places(mine: Sequence[int], expected: Sequence[int]) -> Order:
    """Return which expected row stands where: its own, the neighbour of the one before, or else one not yet seen."""
    left: dict[int, list[int]] = {}
    for k in reversed(range(len(expected))):
        if k >= len(mine) or mine[k] != expected[k]:
            left.setdefault(expected[k], []).append(k)
    found: Order = []
    for k, content in enumerate(mine):
        before = found[-1] if found else 0
        likely = (k, before + 1, before - 1, before)
        near = next((j for j in likely if 0 <= j < len(expected) and expected[j] == content), None)
        rest = left.get(content)
        if near is None:
            near = rest.pop() if rest else expected.index(content)
        found.append(near)
    return found


def _runs(order: Order) -> list[Run]:
    """Return the stretches in which rows follow each other."""
    found, start = [], 0
    while start < len(order):
        stop, step = start + 1, 1
        if stop < len(order) and abs(order[stop] - order[start]) <= 1:
            step = order[stop] - order[start]
            while stop < len(order) and order[stop] - order[stop - 1] == step:
                stop += 1
        found.append((start, stop - 1, step))
        start = stop
    return found


def _words(order: Order, count: int, unit: str) -> str | None:
    """Say what has become of the order; None where there is no rule to it."""
    off, units = [k for k, row in enumerate(order) if row != k], f"{unit}s"
    if not off:
        return None
    first, last = off[0], off[-1]
    if len(off) == 2 and (order[first], order[last]) == (last, first):
        return f"{units} {first} and {last} are exchanged"
    if order[first : last + 1] == [*range(last, first - 1, -1)]:
        return f"the {units} run backwards" if last - first + 1 == count else f"{units} {first} to {last} run backwards"
    times = order.count(0)
    if times > 1 and order == [k // times for k in range(len(order))]:
        return f"every {unit} is there {times} times: {unit} {times} holds what was expected at {unit} 1"
    runs = [run for run in _runs(order) if order[run[0]] != run[0] or run[2] != 1]
    by = order[first] - first
    if len(runs) == 1 and runs[0][1:] == (len(order) - 1, 1):
        some = _some((first, first + by - 1) if by > 0 else (first + by, first - 1), unit)
        verb = "is" if abs(by) == 1 else "are"
        return f"{some} {verb} missing" if by > 0 else f"{some} {verb} there twice"
    if len(runs) <= MOST_RUNS:
        return ", ".join(_moved(order, run, unit) for run in runs)
    if len({*order}) == len(order) == count:
        grid = _grid(order)
        if grid is not None:
            return f"the {units} are those of a grid {grid}"
        named = ", ".join(f"{k} holds {order[k]}" for k in off[:LISTED]) + (", .." if len(off) > LISTED else "")
        return f"permuted {units}: {named}"
    return None


def _grid(order: Order) -> str | None:
    """Say of which grid an order is, with one axis turned round or both exchanged; None of none."""
    places = np.arange(len(order))
    for width in range(2, len(order) // 2 + 1):
        height, odd = divmod(len(order), width)
        if not odd:
            grid = places.reshape(height, width)
            for said, changed in (
                (f"of {height} x {width} whose first axis runs backwards", grid[::-1]),
                (f"of {height} x {width} whose second axis runs backwards", grid[:, ::-1]),
                (f"of {height} x {width} whose axes are exchanged", grid.T),
            ):
                if np.array_equal(changed.ravel(), order):
                    return said
    return None


def _some(ends: tuple[int, int], unit: str) -> str:
    first, last = ends
    return f"{unit} {first}" if first == last else f"{unit}s {first} to {last}"


def _moved(order: Order, run: Run, unit: str) -> str:
    verb = "holds" if run[0] == run[1] else "hold"
    return f"{_some(run[:2], unit)} {verb} what was expected at {_some((order[run[0]], order[run[1]]), unit)}"


def _taken(case: Case, order: Order) -> list[Lane]:
    """Return the expected lanes with their rows in another order, NaN where there are no more."""
    kept = {}
    for lane in case.expected:
        values = read_rows(lane, 0, lane.rows)
        kept[lane.name] = values.reshape(lane.shape[0], -1)[order].reshape(-1, values.shape[1])

    def work(name: str, values: Floats, first: int) -> Floats:
        some = kept[name][first : first + len(values)]
        return np.concatenate([some, np.full((len(values) - len(some), values.shape[1]), np.nan)])

    return reworked(case.expected, case.grain, work)
