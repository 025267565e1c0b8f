"""Where a table differs from a recipe that is right elsewhere, in one line."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pecli.comparison.figures import Figures, Place


def differences(arrays: Sequence[Figures], shapes: Sequence[tuple[int, ...]]) -> str:
    """Say how many values of arrays of some shapes differ, and where: in the words of rows, or of one place."""
    total = sum(arrays, Figures())
    wrong = [
        (_row(f.first, shape), _row(f.last, shape), f.unequal_rows)
        for f, shape in zip(arrays, shapes, strict=True)
        if f.first is not None and f.last is not None
    ]
    assert total.first is not None
    if total.beyond == 1:
        spot = total.first
        return one_value(_index(spot), spot.left, spot.right)
    nan = f", {'all' if total.nan.left == total.beyond else total.nan.left} of them NaN" if total.nan.left else ""
    if total.beyond == 2 and len(wrong) == 1 and wrong[0][0] != wrong[0][1] and total.last is not None:
        return f"2 of {total.compared} values differ{nan}, at {_index(total.first)} and {_index(total.last)}"
    heads = any(len([side for side in shape if side > 1]) > 2 for shape in shapes)
    if heads and total.last is not None:  # a row stands in every one of them
        ends = f"the first at {_index(total.first)}, the last at {_index(total.last)}"
        return f"{total.beyond} of {total.compared} values differ{nan}, {ends}"
    largest = total.columns if total.beyond == total.unequal else None
    columns = [] if largest is None or len(largest) < 2 else np.flatnonzero(largest).tolist()
    if len(columns) == 1 and total.unequal_rows > 1:
        return f"{total.beyond} of {total.compared} values differ{nan}, in column {columns[0]}"
    low, high = min(first for first, _, _ in wrong), max(last for _, last, _ in wrong)
    single = sorted({first for first, last, _ in wrong if first == last})
    if 1 < len(single) == len(wrong):
        return f"{total.beyond} of {total.compared} values differ{nan}, in rows {' and '.join(map(str, single))}"
    counted = total.beyond == total.unequal  # rows are counted that are not equal, whatever is allowed
    if counted and all(rows == high - low + 1 for _, _, rows in wrong):
        where = rows_said(low, high, high - low + 1)
    elif counted and len({rows for _, _, rows in wrong}) == 1:
        where = rows_said(low, high, wrong[0][2])
    else:
        where = f"in row {low}" if low == high else f"between row {low} and row {high}"
    return f"{total.beyond} of {total.compared} values differ{nan}, {where}"


def one_value(at: str, value: object, expected: object) -> str:
    """Say where the one value is that differs, what it is and should be."""
    return f"one value differs, at {at}: {value!r}, and the recipe has {expected!r}"


def rows_said(first: int, last: int, rows: int) -> str:
    """Say which rows: so many of them, from a first to a last one."""
    if first == last:
        return f"in row {first}"
    if rows == last - first + 1:
        return f"in every row from {first} to {last}"
    return f"in {rows} rows, the first {first} and the last {last}"


def _index(place: Place) -> str:
    return "[" + ", ".join(map(str, place.index)) + "]"


def _row(place: Place, shape: tuple[int, ...]) -> int:
    """Return the row: the axis before the last, those of length 1 left out."""
    rows = [index for index, side in zip(place.index[:-1], shape, strict=False) if side > 1]
    return rows[-1] if rows else place.index[0] if len(place.index) == 1 else 0
