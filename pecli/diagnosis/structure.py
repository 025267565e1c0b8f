"""What may have been done to the values of any table: its order, its signs, its size, its rows, its type."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from pecli.diagnosis.bounds import bounded
from pecli.diagnosis.case import Candidate, Case
from pecli.diagnosis.halves import alone, halves, moved, multiplied, squared
from pecli.diagnosis.processed import dropped, normalised
from pecli.diagnosis.reworked import Indices, backwards, candidate, changed_values, each, shifted
from pecli.diagnosis.turned import read_across, turnable, turned, words
from pecli.measures.lanes import Lane
from pecli.measures.samples import Floats, rounded

SHIFTS = (1, -1, 2, -2, 3, -3, 4, -4, 8, -8)
LISTED = 4  # columns of a permutation that are named
HALF = 0.5  # of a value, at most, that one may be off by which still shows the factor on all
SAME_FACTOR = 16  # roundings within which a factor is 1, or a shorter number
SWAP = "equal after swapping interleaved for halves"
EXCHANGED = "cos and sin are exchanged"
BYTES = {"float16": "two", "float32": "four", "float64": "eight"}


def structural(case: Case, magnitude: float | None) -> Iterator[Candidate]:
    """Yield changes of order, sign and size, the simplest first.

    `magnitude` is that of the expected recipe, where it may have one.
    """
    widths = [p.shape[1] for p in case.there]
    yield from _exchanges(case)
    yield from _orders(case, widths)
    yield from _signs(case)
    yield from _sizes(case, magnitude)
    yield from _sums(case)
    yield from _squares(case)
    yield from bounded(case)
    yield from _bytes(case)
    yield from _column_shifts(case, widths)
    yield from _row_changes(case)
    yield from _moved_columns(case)
    yield from normalised(case)
    yield from dropped(case, partial(_factor, case))


def simple(case: Case) -> Iterator[Candidate]:
    """Yield the changes that come beside others too."""
    yield from _exchanges(case)
    widths = [p.shape[1] for p in case.there]
    yield from _swaps(case, widths)
    for half in alone(case):
        yield candidate(case, "sign", f"the sign of {half.name} is changed{half.where}", multiplied(case, half, -1.0))
    factor = _factor(case, list(zip(case.here, case.there, strict=True)))
    if factor is not None:
        yield candidate(case, "size", _size_text(factor), each(partial(np.multiply, factor)))


def _exchanges(case: Case) -> Iterator[Candidate]:
    """Yield what stands in the place of cosines and sines: each other, or the same in both."""
    for one, other in halves(case):
        text = f"{one.name} and {other.name} are exchanged"
        if one.lane == other.lane and not case.mine[0].dtype.startswith("complex"):
            how = "the two halves" if one.columns[1] == 1 else "neighbouring columns"
            text = f"{EXCHANGED}: {how} are swapped" if one.where else f"{how} are swapped"
        yield Candidate("exchanged", text, partial(moved, case, {one: other, other: one}))
        for target, source in ((other, one), (one, other)):
            text = f"{target.name} holds the values of {source.name}{target.where}"
            yield Candidate("same", text, partial(moved, case, {target: source}))


def _swaps(case: Case, widths: list[int]) -> Iterator[Candidate]:
    if all(width % 2 == 0 and width >= 4 for width in widths):
        halves = f"{SWAP}: two halves stand where neighbours were expected"
        yield candidate(case, "layout", halves, each(to_halves))
        neighbours = f"{SWAP}: neighbours stand where two halves were expected"
        yield candidate(case, "layout", neighbours, each(to_neighbours))


def _orders(case: Case, widths: list[int]) -> Iterator[Candidate]:
    yield from _swaps(case, widths)
    if max(widths) > 1:
        yield candidate(case, "reversed", "the columns run backwards", each(lambda p: p[:, ::-1]))
    yield from read_across(case)
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


def _signs(case: Case) -> Iterator[Candidate]:
    said = f"the sign of {case.names[0] if len(case.names) == 1 else 'every value'} is changed"
    yield candidate(case, "sign", said, each(np.negative))
    if any(np.isinf(p).any() for p in case.there):
        masked = each(lambda p: np.where(np.isinf(p), p, -p))
        yield candidate(case, "sign", f"{said}, that of infinity is not", masked)
    for half in alone(case):
        yield candidate(case, "sign", f"the sign of {half.name} is changed{half.where}", multiplied(case, half, -1.0))


def _sizes(case: Case, magnitude: float | None) -> Iterator[Candidate]:
    """Yield one factor on all values, or on those of a part."""
    factor = _factor(case, list(zip(case.here, case.there, strict=True)))
    for number in _in_types(factor, case):
        text = _size_text(number, magnitude, SAME_FACTOR * case.resolution)
        yield from changed_values(case, "size", text, each(partial(np.multiply, number)))
    for half in alone(case):
        for number in _in_types(_factor(case, [(half.of(case.here), half.of(case.there))]), case):
            text = f"{half.name} is {number:.6g} times what was expected{half.where}"
            yield from changed_values(case, "size", text, multiplied(case, half, number))


def _in_types(factor: float | None, case: Case) -> list[float]:
    """Return a factor as it is, and as float32 holds it, in which frameworks multiply; nothing for none."""
    if factor is None:
        return []
    single = float(np.float32(factor))
    return [factor] if single == factor or case.grain == "float64" else [factor, single]


def _squares(case: Case) -> Iterator[Candidate]:
    """Yield squares and reciprocals of all values, squares of those of a part; of whole numbers, remainders."""
    yield from changed_values(case, "square", "every value is squared", each(np.square))
    yield from changed_values(case, "square", "every value is 1 over what was expected", each(np.reciprocal))
    if all(lane.dtype.startswith(("int", "uint")) for lane in case.mine):
        off = [p - q for p, q in zip(case.here, case.there, strict=True) if np.isfinite(q).all()]
        parts = int(np.gcd.reduce(np.concatenate([gap.ravel() for gap in off]).astype(np.int64))) if off else 0
        if parts > 1:
            text = f"every number is taken modulo {parts}"
            yield candidate(case, "remainder", text, each(partial(_remainders, parts=parts)))
    for half in alone(case):
        yield from changed_values(case, "square", f"{half.name} is squared{half.where}", squared(case, half))


def _remainders(p: Floats, parts: int) -> Floats:
    return p % parts


def _factor(case: Case, pairs: list[tuple[Floats, Floats]]) -> float | None:
    """Return the factor of least squares, or a number of few digits within its error; None for 1 and for none.

    Values that are off by more than half of what the median factor gives are left out: they have a reason of their own.
    """
    some = [(p[known], q[known]) for p, q in pairs for known in [np.isfinite(p) & np.isfinite(q) & (q != 0)]]
    mine, theirs = (np.concatenate(side) for side in zip(*some, strict=True))
    if not mine.size:
        return None
    middle = float(np.median(mine / theirs))
    near_it = np.abs(mine - middle * theirs) <= HALF * np.abs(middle * theirs)
    mine, theirs = mine[near_it], theirs[near_it]
    below = float((theirs * theirs).sum())
    factor = float((mine * theirs).sum()) / below if below > 0 else 0.0
    if factor == 0 or not np.isfinite(factor):
        return None
    near = SAME_FACTOR * case.resolution
    short = float(f"{factor:.3g}")
    factor = short if abs(factor / short - 1) < near else factor
    return factor if abs(factor - 1) > near and f"{factor:.6g}" != "1" else None


def _sums(case: Case) -> Iterator[Candidate]:
    """Yield one number added to all values: the median of what they are off by."""
    off = np.concatenate([(p - q)[np.isfinite(p) & np.isfinite(q)] for p, q in zip(case.here, case.there, strict=True)])
    middle = float(np.median(off)) if off.size else 0.0
    if abs(middle) > case.rounding:
        number = float(f"{middle:.3g}") if abs(float(f"{middle:.3g}") - middle) < case.rounding else middle
        yield from changed_values(case, "sum", f"{number:.6g} is added to every value", each(partial(np.add, number)))


def _size_text(factor: float, magnitude: float | None = None, near: float = 0.0) -> str:
    if magnitude is None:
        return f"every value is {factor:.6g} times what was expected"
    if magnitude != 1.0 and abs(factor * magnitude - 1) < near:
        return f"magnitude missing ({magnitude:.5g})"
    if magnitude != 1.0 and abs(factor / magnitude - 1) < near:
        return f"magnitude applied twice ({magnitude:.5g})"
    return f"magnitude {factor * magnitude:.6g} where {magnitude:.6g} was expected"


def _moved_columns(case: Case) -> Iterator[Candidate]:
    """Yield the order of the columns in which each holds, to the bit, another expected one; alike in all that moved."""
    parts = [2 if lane.dtype.startswith("complex") else 1 for lane in case.expected]
    orders = [_order(p, rounded(q, case.grain), n) for p, q, n in zip(case.here, case.there, parts, strict=True)]
    others = {lane.name: order for lane, order in zip(case.expected, orders, strict=True) if order}
    if None in orders or not others or len({*map(tuple, others.values())}) > 1:
        return
    order = next(iter(others.values()))
    off = [k for k, other in enumerate(order) if k != other]
    of = "" if len(others) == len(orders) else f" of {' and '.join(others)}"
    some = ", ".join(f"{k} holds {order[k]}" for k in off[:LISTED]) + (", .." if len(off) > LISTED else "")
    text = f"columns {off[0]} and {off[1]}{of} are exchanged" if len(off) == 2 else f"permuted columns{of}: {some}"
    places = np.add.outer(np.array(order) * max(parts), np.arange(max(parts))).ravel()
    yield candidate(case, "columns", text, lambda name, p, _start: p[:, places] if name in others else p)


def _order(here: Floats, there: Floats, parts: int) -> list[int] | None:
    """Return which column, of so many parts, stands where.

    Empty if all stand where they belong, None if they are no permutation.
    """
    if here.shape[1] != there.shape[1]:
        return None
    columns = here.shape[1] // parts
    mine, theirs = ([c.tobytes() for c in (p.T + 0.0).reshape(columns, -1)] for p in (here, there))
    unlike = [k for k, (one, other) in enumerate(zip(mine, theirs, strict=True)) if one != other]
    places: dict[bytes, list[int]] = {}
    for k in unlike:
        places.setdefault(theirs[k], []).append(k)
    order = list(range(len(mine))) if unlike else []
    for k in unlike:
        left = places.get(mine[k])
        if not left:
            return None
        order[k] = left.pop(0)
    return order


def _column_shifts(case: Case, widths: list[int]) -> Iterator[Candidate]:
    for k in SHIFTS:
        if 2 * abs(k) >= min(widths):  # half of them are two halves that are swapped
            continue
        word = "one column" if abs(k) == 1 else f"{abs(k)} columns"
        text = f"shifted by {word} to the {'right' if k > 0 else 'left'}"
        spoken = slice(k, None) if k > 0 else slice(0, k)
        yield replace(candidate(case, "columns", text, each(partial(np.roll, shift=k, axis=1))), columns=spoken)


def _row_changes(case: Case) -> Iterator[Candidate]:
    if case.part is not None or any(lane.rows != case.rows for lane in (*case.mine, *case.expected)):
        return
    n, lane = case.rows, case.expected[0]
    if n > 1:
        what = "heads" if lane.lead == 1 and lane.array.axes[0] == "head" else "rows"
        yield candidate(case, "reversed", f"the {what} run backwards", rows=backwards(n))
    if lane.array.axes[0] == "head" and lane.lead == 2 and lane.shape[0] > 1:
        yield candidate(
            case, "heads", "the heads run backwards", rows=partial(_other_heads, lane.shape[0], lane.shape[1])
        )
    for k in SHIFTS:
        if 2 * abs(k) <= n:
            word = "one row" if abs(k) == 1 else f"{abs(k)} rows"
            down = f"shifted down by {word}"
            text = f"shifted by {word}: row 0 holds what was expected at row {k}" if k > 0 else down
            spoken = slice(0, -k) if k > 0 else slice(-k, None)
            yield replace(candidate(case, "rows", text, rows=shifted(-k, n)), rows=spoken)


def _other_heads(heads: int, queries: int, rows: Indices) -> Indices:
    return (heads - 1 - rows // queries) * queries + rows % queries


def bytes_text(kind: str) -> str:
    """Say that the bytes of a type's values are swapped."""
    return f"the {BYTES[kind]} bytes of every value stand the other way round"


def _bytes(case: Case) -> Iterator[Candidate]:
    kind = case.mine[0].dtype
    if kind in BYTES:
        yield candidate(
            case, "bytes", bytes_text(kind), each(lambda p: p.astype(kind).byteswap().astype(np.float64)), grain=kind
        )
