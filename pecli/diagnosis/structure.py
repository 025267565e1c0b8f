"""What may have been done to the values of any table: its order, its signs, its size, its rows, its type."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from pecli.diagnosis.case import Candidate, Case, gaps, read_rows
from pecli.diagnosis.reworked import Indices, Rows, Work, backwards, each, reworked, shifted
from pecli.diagnosis.turned import turnable, turned, words
from pecli.measures.lanes import Lane
from pecli.measures.samples import RESOLUTION, Floats, holds, rounded

SHIFTS = (1, -1, 2, -2, 3, -3, 4, -4, 8, -8)
MOST_DECIMALS = 7  # float32 has no more to lose
LISTED = 4  # columns of a permutation that are named
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
    yield from _sizes(case, widths, magnitude)
    yield from _sums(case)
    if case.mine[0].dtype == "float32":
        yield _changed(case, "bytes", "the four bytes of every value stand the other way round", each(_bytes_swapped))
    yield from _column_shifts(case, widths)
    yield from _row_changes(case)
    yield from _moved_columns(case, widths)


def _changed(
    case: Case, kind: str, text: str, work: Work | None = None, rows: Rows | None = None, *, grain: str | None = None
) -> Candidate:
    return Candidate(kind, text, partial(reworked, case.expected, grain or case.grain, work, rows))


def _sized(case: Case, kind: str, text: str, work: Work) -> Iterator[Candidate]:
    """Yield the values so changed before they were rounded, and after."""
    if case.exact:
        yield Candidate(kind, text, partial(reworked, case.exact, case.grain, work))
    yield _changed(case, kind, text, work)


def _exchanges(case: Case, widths: list[int]) -> Iterator[Candidate]:
    if len(widths) == 2 and widths[0] == widths[1]:
        said = f"{case.names[0]} and {case.names[1]} are exchanged"
        yield Candidate("exchanged", said, partial(reworked, case.expected[::-1], case.grain))
        for k, (held, name) in enumerate(zip(case.names, reversed(case.names), strict=True)):
            same = partial(reworked, [case.expected[k]] * 2, case.grain)
            yield Candidate("same", f"{name} holds the values of {held}", same)
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
    square = [turnable(lane) and lane.shape[-1] == lane.shape[-2] for lane in case.expected]
    if any(square):
        said = words(case.expected[square.index(True)])
        yield Candidate("transposed", said, partial(_turned, case, square))


def _turned(case: Case, chosen: list[bool]) -> list[Lane]:
    return [turned(lane, case.grain) if one else lane for lane, one in zip(case.expected, chosen, strict=True)]


def to_halves(p: Floats) -> Floats:
    """Return columns 0, 2, 4 .. 1, 3, 5 ..: [a0 b0 a1 b1] -> [a0 a1 | b0 b1]."""
    return np.concatenate([p[:, 0::2], p[:, 1::2]], axis=1)


def to_neighbours(p: Floats) -> Floats:
    """Return columns 0, m/2, 1, m/2 + 1 ..: [a0 a1 | b0 b1] -> [a0 b0 a1 b1]."""
    half = p.shape[1] // 2
    return np.stack([p[:, :half], p[:, half:]], axis=2).reshape(p.shape)


def _parts(case: Case, widths: list[int]) -> Iterator[tuple[int, slice, str, str]]:
    """Yield the array, the columns, the name and the place of what may have been treated on its own."""
    if len(widths) > 1:
        yield from ((k, slice(None), name, "") for k, name in enumerate(case.names))
        return
    half = widths[0] // 2
    for text, columns in (
        ("the second half", slice(half, None)),
        ("the first half", slice(0, half)),
        ("every second column", slice(1, None, 2)),
        ("every second column from the first", slice(0, None, 2)),
    ):
        if half:
            yield 0, columns, _part_of(case.there[0][:, columns]), f": {text}"


def _signs(case: Case, widths: list[int]) -> Iterator[Candidate]:
    if len(widths) == 1:
        said = f"the sign of {case.names[0]} is changed"
        yield _changed(case, "sign", said, each(np.negative))
        if any(np.isinf(p).any() for p in case.there):
            masked = each(lambda p: np.where(np.isinf(p), p, -p))
            yield _changed(case, "sign", f"{said}, that of infinity is not", masked)
    for array, columns, text, where in _parts(case, widths):
        work = _scaled(case.expected[array].name, columns, -1.0)
        yield _changed(case, "sign", f"the sign of {text} is changed{where}", work)


def _scaled(array: str, columns: slice, factor: float) -> Work:
    def work(name: str, values: Floats, _start: int) -> Floats:
        if name == array:
            values[:, columns] *= factor
        return values

    return work


def _part_of(values: Floats) -> str:
    """Say whether columns are sines or cosines: in the row of the smallest angles sines are small, cosines large."""
    sizes = np.abs(values).mean(axis=1)
    if sizes[0] == sizes.min() and sizes[0] < 0.5 * sizes.max():
        return "sin"
    return "cos" if sizes[0] == sizes.max() else "these values"


def _sizes(case: Case, widths: list[int], magnitude: float | None) -> Iterator[Candidate]:
    """Yield one factor on all values, or on those of a part."""
    factor = _factor(case, list(zip(case.here, case.there, strict=True)))
    if factor is not None:
        yield from _sized(case, "size", _size_text(factor, magnitude), each(partial(np.multiply, factor)))
    for array, columns, text, where in _parts(case, widths):
        factor = _factor(case, [(case.here[array][:, columns], case.there[array][:, columns])])
        if factor is not None:
            work = _scaled(case.expected[array].name, columns, factor)
            yield from _sized(case, "size", f"{text} is {factor:.6g} times what was expected{where}", work)


def _factor(case: Case, pairs: list[tuple[Floats, Floats]]) -> float | None:
    """Return the factor of least squares, or a number of few digits within its error; None for 1 and for none."""
    above = below = 0.0
    for p, q in pairs:
        known = np.isfinite(p) & np.isfinite(q)
        above += float((p[known] * q[known]).sum())
        below += float((q[known] * q[known]).sum())
    if below <= 0 or above == 0 or not np.isfinite(above):
        return None
    factor, near = above / below, SAME_FACTOR * RESOLUTION[case.grain]
    short = float(f"{factor:.3g}")
    factor = short if abs(factor / short - 1) < near else factor
    return factor if abs(factor - 1) > near else None


def _sums(case: Case) -> Iterator[Candidate]:
    """Yield one number added to all values: the median of what they are off by."""
    off = np.concatenate([(p - q)[np.isfinite(p) & np.isfinite(q)] for p, q in zip(case.here, case.there, strict=True)])
    middle = float(np.median(off)) if off.size else 0.0
    if abs(middle) > case.rounding:
        number = float(f"{middle:.3g}") if abs(float(f"{middle:.3g}") - middle) < case.rounding else middle
        yield from _sized(case, "sum", f"{number:.6g} is added to every value", each(partial(np.add, number)))


def _size_text(factor: float, magnitude: float | None) -> str:
    if magnitude is None:
        return f"every value is {factor:.6g} times what was expected"
    if magnitude != 1.0 and abs(factor * magnitude - 1) < 1e-3:
        return f"magnitude missing ({magnitude:.5g})"
    if magnitude != 1.0 and abs(factor / magnitude - 1) < 1e-3:
        return f"magnitude applied twice ({magnitude:.5g})"
    return f"magnitude {factor * magnitude:.6g} where {magnitude:.6g} was expected"


def _moved_columns(case: Case, widths: list[int]) -> Iterator[Candidate]:
    """Yield the order of the columns in which each holds, to the bit, another expected one."""
    if len(set(widths)) != 1 or not len(case.here[0]):
        return
    here, there = (np.concatenate(planes) for planes in (case.here, case.there))
    places: dict[bytes, list[int]] = {}
    for k, column in enumerate(np.ascontiguousarray(rounded(there, case.grain).T) + 0.0):
        places.setdefault(column.tobytes(), []).append(k)
    order = []
    for k, column in enumerate(np.ascontiguousarray(here.T) + 0.0):
        found = places.get(column.tobytes(), [])
        if not found:
            return
        order.append(k if k in found else found[0])
    moved = [k for k, other in enumerate(order) if k != other]
    if sorted(order) == list(range(len(order))) and moved:
        some = ", ".join(f"{k} holds {order[k]}" for k in moved[:LISTED])
        more = ", .." if len(moved) > LISTED else ""
        text = (
            f"columns {moved[0]} and {moved[1]} are exchanged" if len(moved) == 2 else f"permuted columns: {some}{more}"
        )
        yield _changed(case, "columns", text, each(lambda p: p[:, order]))


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
    n, lane = case.rows, case.expected[0]
    if n > 1:
        what = "heads" if lane.lead == 1 and lane.array.axes[0] == "head" else "rows"
        yield _changed(case, "reversed", f"the {what} run backwards", rows=backwards(n))
    if lane.array.axes[0] == "head" and lane.lead == 2 and lane.shape[0] > 1:
        yield _changed(
            case, "heads", "the heads run backwards", rows=partial(_other_heads, lane.shape[0], lane.shape[1])
        )
    for k in SHIFTS:
        if abs(k) < n - 1:
            word = "one row" if abs(k) == 1 else f"{abs(k)} rows"
            down = f"shifted down by {word}"
            text = f"shifted by {word}: row 0 holds what was expected at row {k}" if k > 0 else down
            spoken = slice(0, -k) if k > 0 else slice(-k, None)
            yield replace(_changed(case, "rows", text, rows=shifted(-k, n)), rows=spoken)


def _other_heads(heads: int, queries: int, rows: Indices) -> Indices:
    return (heads - 1 - rows // queries) * queries + rows % queries


def _bytes_swapped(p: Floats) -> Floats:
    return p.astype(np.float32).byteswap().astype(np.float64)


def _cut(p: Floats) -> Floats:
    """Return values cut to bfloat16: the first half of the bits of a float32."""
    return (p.astype(np.float32).view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32).astype(np.float64)


def roundings(case: Case) -> list[Candidate]:
    """Return what is coarser than the expected values and those may have been brought to, the likeliest first."""
    said = "the expected values"
    works: list[tuple[str, str, Work | None]] = [
        (f"{said} rounded to bfloat16", "bfloat16", None),
        (f"{said} cut, not rounded, to bfloat16", "bfloat16", each(_cut)),
        (f"{said} rounded to float16", "float16", None),
        (f"{said} rounded to float16, then to bfloat16", "bfloat16", each(partial(rounded, kind="float16"))),
        (f"{said} rounded to float32", "float32", None),
    ]
    works = [one for one in works if all(holds(p, one[1]) for p in case.here)]
    works = [one for one in works if not all(holds(p, one[1]) for p in case.there)]
    digits = _decimals(case)
    if digits is not None:
        works.append((f"{said} rounded to {digits} decimals", case.grain, each(lambda p: np.round(p, digits))))
    found = []
    for text, kind, work in works:
        made = [read_rows(lane, *case.window) for lane in reworked(case.expected, kind, work)]
        unlike = sum(int(np.count_nonzero(gaps(p, q))) for p, q in zip(case.here, made, strict=True))
        found.append((unlike, _changed(case, "rounding", text, work, grain=kind)))
    return [candidate for _, candidate in sorted(found, key=lambda item: item[0])]


def _decimals(case: Case) -> int | None:
    """Return the decimals that all values at hand were rounded to, where the expected ones have more."""
    for digits in range(1, MOST_DECIMALS):
        mine, expected = (
            all(np.array_equal(rounded(np.round(p, digits), case.grain), p, equal_nan=True) for p in planes)
            for planes in (case.here, case.there)
        )
        if mine:
            return None if expected else digits
    return None
