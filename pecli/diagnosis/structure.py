"""What may have been done to the values of any table: its order, its signs, its size, its rows, its type."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from pecli.diagnosis.case import Candidate, Case, read_rows
from pecli.diagnosis.reworked import Rows, Work, backwards, each, reworked, shifted
from pecli.measures.lanes import Lane, lane_of
from pecli.measures.samples import RESOLUTION, Floats, holds, rounded
from pecli.tables.selection import InMemory

SHIFTS = (1, -1, 2, -2, 3, -3, 4, -4, 8, -8)
LARGEST_TURNED = 1 << 22  # values of a table that is transposed in memory
SAME_FACTOR = 16  # roundings within which a factor is 1, or a shorter number
SWAP = "equal after swapping interleaved for halves"
EXCHANGED = "cos and sin are exchanged"


def structural(case: Case, magnitude: float | None) -> Iterator[Candidate]:
    """Yield changes of order, sign and size, the simplest first.

    `magnitude` is that of the expected recipe, where it may have one.
    """
    widths = [p.shape[1] for p in case.there]
    yield from _exchanges(case, widths)
    yield from _orders(case, widths)
    yield from _signs(case, widths)
    yield from _sizes(case, magnitude)
    yield from _column_shifts(case, widths)
    yield from _row_changes(case)


def _changed(case: Case, kind: str, text: str, work: Work | None = None, rows: Rows | None = None) -> Candidate:
    return Candidate(kind, text, partial(reworked, case.expected, case.grain, work, rows))


def _exchanges(case: Case, widths: list[int]) -> Iterator[Candidate]:
    if len(widths) == 2 and widths[0] == widths[1]:
        said = f"{case.names[0]} and {case.names[1]} are exchanged"
        yield Candidate("exchanged", said, partial(reworked, case.expected[::-1], case.grain))
    if len(widths) == 1 and widths[0] % 2 == 0:
        yield _changed(case, "exchanged", f"{EXCHANGED}: the two halves are swapped", each(_swap_halves))
        yield _changed(case, "exchanged", f"{EXCHANGED}: neighbouring columns are swapped", each(_swap_neighbours))


def _swap_halves(p: Floats) -> Floats:
    return np.roll(p, p.shape[1] // 2, axis=1)


def _swap_neighbours(p: Floats) -> Floats:
    return p.reshape(len(p), -1, 2)[:, :, ::-1].reshape(p.shape)


def _orders(case: Case, widths: list[int]) -> Iterator[Candidate]:
    if all(width % 2 == 0 and width >= 4 for width in widths):
        halves = f"{SWAP}: two halves stand where neighbours were expected"
        yield _changed(case, "layout", halves, each(to_halves))
        neighbours = f"{SWAP}: neighbours stand where two halves were expected"
        yield _changed(case, "layout", neighbours, each(to_neighbours))
    if max(widths) > 1:
        yield _changed(case, "reversed", "the columns run backwards", each(lambda p: p[:, ::-1]))
    (lane, *others) = case.expected
    if not others and lane.shape == (lane.rows, lane.rows) and lane.rows * lane.row_size <= LARGEST_TURNED:
        yield Candidate("transposed", "rows and columns are exchanged", partial(_turned, case, lane))


def _turned(case: Case, lane: Lane) -> list[Lane]:
    table = InMemory({lane.name: rounded(read_rows(lane, 0, lane.rows), case.grain).T})
    return [lane_of(table, table.arrays[0])]


def to_halves(p: Floats) -> Floats:
    """Return columns 0, 2, 4 .. 1, 3, 5 ..: [a0 b0 a1 b1] -> [a0 a1 | b0 b1]."""
    return np.concatenate([p[:, 0::2], p[:, 1::2]], axis=1)


def to_neighbours(p: Floats) -> Floats:
    """Return columns 0, m/2, 1, m/2 + 1 ..: [a0 a1 | b0 b1] -> [a0 b0 a1 b1]."""
    half = p.shape[1] // 2
    return np.stack([p[:, :half], p[:, half:]], axis=2).reshape(p.shape)


def _signs(case: Case, widths: list[int]) -> Iterator[Candidate]:
    """Yield changed signs: of an array, of a half, of every second column."""
    for name, expected in zip(case.names, case.expected, strict=True):
        work = _negated(expected.name, slice(None))
        yield _changed(case, "sign", f"the sign of {name} is changed", work)
    if len(widths) != 1:
        return
    half = widths[0] // 2
    for text, columns in (
        ("the second half", slice(half, None)),
        ("the first half", slice(0, half)),
        ("every second column", slice(1, None, 2)),
        ("every second column from the first", slice(0, None, 2)),
    ):
        said = f"the sign of {_part_of(case.there[0][:, columns])} is changed: {text}"
        yield _changed(case, "sign", said, _negated(case.expected[0].name, columns))


def _negated(array: str, columns: slice) -> Work:
    def work(name: str, values: Floats, _start: int) -> Floats:
        if name == array:
            values[:, columns] *= -1
        return values

    return work


def _part_of(values: Floats) -> str:
    """Say whether columns are sines or cosines: in the row of the smallest angles sines are small, cosines large."""
    sizes = np.abs(values).mean(axis=1)
    if sizes[0] == sizes.min() and sizes[0] < 0.5 * sizes.max():
        return "sin"
    return "cos" if sizes[0] == sizes.max() else "these values"


def _sizes(case: Case, magnitude: float | None) -> Iterator[Candidate]:
    """Yield one factor on all values: the one of least squares, or a number of few digits within its error."""
    above = below = 0.0
    for p, q in zip(case.here, case.there, strict=True):
        known = np.isfinite(p) & np.isfinite(q)
        above += float((p[known] * q[known]).sum())
        below += float((q[known] * q[known]).sum())
    if below <= 0 or above == 0 or not np.isfinite(above):
        return
    factor, near = above / below, SAME_FACTOR * RESOLUTION[case.grain]
    short = float(f"{factor:.3g}")
    factor = short if abs(factor / short - 1) < near else factor
    if abs(factor - 1) > near:
        yield _changed(case, "size", _size_text(factor, magnitude), each(lambda p: p * factor))


def _size_text(factor: float, magnitude: float | None) -> str:
    if magnitude is None:
        return f"every value is {factor:.6g} times what was expected"
    if magnitude != 1.0 and abs(factor * magnitude - 1) < 1e-3:
        return f"magnitude missing ({magnitude:.5g})"
    if magnitude != 1.0 and abs(factor / magnitude - 1) < 1e-3:
        return f"magnitude applied twice ({magnitude:.5g})"
    return f"magnitude {factor * magnitude:.6g} where {magnitude:.6g} was expected"


def _column_shifts(case: Case, widths: list[int]) -> Iterator[Candidate]:
    for k in SHIFTS:
        if abs(k) >= min(widths):
            continue
        word = "one column" if abs(k) == 1 else f"{abs(k)} columns"
        text = f"shifted by {word} to the {'right' if k > 0 else 'left'}"
        spoken = slice(k, None) if k > 0 else slice(0, k)
        yield replace(_changed(case, "columns", text, each(partial(np.roll, shift=k, axis=1))), columns=spoken)


def _row_changes(case: Case) -> Iterator[Candidate]:
    if any(lane.rows != case.rows for lane in (*case.mine, *case.expected)):
        return
    n = case.rows
    if n > 1:
        yield _changed(case, "reversed", "the rows run backwards", rows=backwards(n))
    for k in SHIFTS:
        if abs(k) < n - 1:
            word = "one row" if abs(k) == 1 else f"{abs(k)} rows"
            down = f"shifted down by {word}"
            text = f"shifted by {word}: row 0 holds what was expected at row {k}" if k > 0 else down
            spoken = slice(0, -k) if k > 0 else slice(-k, None)
            yield replace(_changed(case, "rows", text, rows=shifted(-k, n)), rows=spoken)


def roundings(case: Case) -> Iterator[Candidate]:
    """Yield types coarser than the expected values' to which those may have been rounded."""
    for kind in ("bfloat16", "float16", "float32"):  # what the first holds, the others mostly hold
        if all(holds(p, kind) for p in case.here) and not all(holds(p, kind) for p in case.there):
            said = f"the expected values rounded to {kind}"
            yield Candidate("rounding", said, partial(reworked, case.expected, kind))
