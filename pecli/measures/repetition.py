"""What the rows of a table hold from one on where those before are as expected: repeats, zeros, NaN."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from pecli.measures.lanes import Lane
from pecli.measures.samples import Floats

RUN = 4  # rows that show what repeats
SCANNED = 1 << 26  # values among which the beginning of a repetition is looked for row by row
LENGTHS = (*(1 << k for k in range(4, 31)), *(1000 * k for k in (1, 2, 4, 8, 10, 16, 32)), 1536, 3072, 12288)
"""Numbers of rows that models have, and caches therefore end at."""
Pairs = Sequence[tuple[Lane, Lane]]


def what_follows(pairs: Pairs, first: int) -> str | None:
    """Say what all arrays hold from a row on that was not expected; `first` is the first row that differs."""
    for start in _suspects(pairs, first):
        texts = {_what(a, b, start) for a, b in pairs}
        text = texts.pop()
        if not texts and text is not None:
            return text
    return None


def read_rows(lane: Lane, start: int, stop: int) -> Floats:
    """Return rows of a lane as (rows, columns) float64."""
    from pecli.measures.floats import floats

    values = floats(lane.read(start, stop), lane.dtype).astype(np.float64)
    return values.reshape(stop - start, -1)


def _suspects(pairs: Pairs, first: int) -> Iterator[int]:
    """Yield rows at which something new may begin: the first that differs, usual lengths, any row equal to row 0."""
    n = min(a.rows for a, _ in pairs)
    yield from sorted(row for row in {first, *LENGTHS} if 1 < row < n)
    lane = pairs[0][0]
    if lane.rows * lane.row_size <= SCANNED and n > 2 * RUN:
        head = lane.read(0, 1)
        for start in range(1, n, 4096):
            rows = lane.read(start, min(start + 4096, n))
            same = (rows == head).reshape(len(rows), -1).all(axis=1)
            if same.any():
                yield start + int(same.argmax())
                return


def _what(a: Lane, b: Lane, start: int) -> str | None:
    """Say what an array holds from a row on that was not expected there; None for nothing known."""
    stop = min(start + RUN, a.rows, b.rows)
    if stop <= start or start < 1:
        return None
    mine, expected = read_rows(a, start, stop), read_rows(b, start, stop)
    before = read_rows(a, start - 1, start)
    scale = float(np.abs(expected[np.isfinite(expected)]).max(initial=0.0)) or 1.0
    with np.errstate(invalid="ignore"):
        if np.abs(mine - expected).max() <= 0.01 * scale:
            return None
        if np.abs(before - read_rows(b, start - 1, start)).max() > 0.01 * scale:
            return None
    if np.isnan(mine).all():
        return f"rows {start} and up are NaN"
    if not mine.any():
        return f"rows {start} and up are zero"
    if np.array_equal(mine, np.broadcast_to(before, mine.shape)):
        return f"rows {start} and up repeat row {start - 1}"
    again = read_rows(a, 0, stop - start)
    if np.array_equal(mine, again) and not np.array_equal(expected, read_rows(b, 0, stop - start)):
        return f"rows {start} and up repeat: row {start} is row 0 again"
    return None
