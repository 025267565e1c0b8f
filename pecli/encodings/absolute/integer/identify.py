"""Columns that rise evenly: positions, as they are or divided by the last one."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pecli.spec.profiles import Candidate, CodeRows, units

MIN_ROWS = 3
# Share of the last column's steps that go the way of its ends, where others are corrupted.
MIN_SHARE_RISING = 0.9
# Units in the last place by which a value may lie off the line.
MAX_ULP_OFF = 4.0


def identify(rows: CodeRows) -> Iterator[Candidate]:
    """Yield p and p / (L - 1) in every column."""
    values = rows.values
    if len(values) < MIN_ROWS or not np.isfinite(values).all():
        return
    ends = np.sign(values[-1, -1] - values[0, -1])
    if (np.diff(values[:, -1]) * ends >= 0).mean() < MIN_SHARE_RISING:
        return
    half, at = len(values) // 2, np.arange(len(values))[:, None]
    rise = np.median(values[half:] - values[: len(values) - half], axis=0) / half
    line = np.median(values - at * rise, axis=0) + at * rise
    largest = np.maximum(np.abs(values), np.abs(rise))
    if not rise.any() or (np.abs(values - line) <= MAX_ULP_OFF * units(largest, rows.effective_dtype)).mean() < 0.9:
        return
    width, start = values.shape[1], float(line[0, 0])
    precision = MAX_ULP_OFF * float(units(np.ones(1), rows.effective_dtype)[0])
    if (values == values[:, :1]).mean() > 0.9:
        step = float(rise[0])
        if step == 1 and start == round(start):
            table = rows.table | ({"start": f"{start:.0f}"} if start else {})
            doubt = "these are counted numbers, which may be positions and no encoding of them"
            yield Candidate("integer", {"dim": str(width), "raw": "true"}, table, doubts=(doubt,))
        elif 0 < step < 1:
            last = _last(values[:, 0], rows.count, precision)
            if last:
                table = rows.table | ({"start": str(round(start * last))} if round(start * last) else {})
                given = {} if last + 1 == rows.count and "start" not in table else {"max-len": str(last + 1)}
                yield Candidate("integer", {"dim": str(width), **given}, table)


def _last(column: np.ndarray[tuple[int], np.dtype[np.float64]], count: int, precision: float) -> int:
    """Return the last position, which the values are divided by: the table's own if it may be; 0 where none is."""
    inverse = (len(column) - 1) / (column[-1] - column[0])
    if abs(inverse - (count - 1)) <= 2 * precision * inverse:
        return count - 1
    return round(inverse) if abs(inverse - round(inverse)) <= precision * inverse and inverse >= 1 else 0
