"""Which way each run of rows is computed, and in what pieces."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pecli.engine.anchors import Anchors, anchors_at, group_size, ladder_for
from pecli.engine.digits import DigitRun, DigitTables, serves
from pecli.engine.layout import PairLayout
from pecli.engine.narrow_run import WINDOW, NarrowRun
from pecli.engine.narrowing import ordinary
from pecli.engine.scratch import Scratch
from pecli.engine.short import fill_short
from pecli.engine.team import Task
from pecli.engine.wheel import Wheel
from pecli.engine.wide_run import WideRun

Integers = NDArray[np.int64]

TASK = 1 << 21
"""Pairs that one thread takes at a time."""

SIZES = {2: (1 << 18, 1 << 21), 4: (1 << 18, 1 << 20), 8: (1 << 17, 1 << 19), 1 << 30: (1 << 16, 1 << 18)}
"""Up to so many threads alive: pairs per call of NumPy, and pairs whose flags are kept together.

Small calls lose to the interpreter's lock, large ones cost memory: 12 MiB a thread, or 3 of many.
"""

WIDE = 8
"""By which calls of float64 are smaller: six arrays of 16 bytes a pair then stay in the cache; 2 is 8 % slower."""

SHORT = 1 << 21
"""Pairs up to which a table is not worth more fresh memory than small calls need."""

CALL = 1 << 16
"""Pairs per call for such a table."""

WORTH = 160
"""Rows, in all calls, from which on the making of a ladder pays."""

LEAST = 24
"""Rows from which on a ladder that stands is used."""


class RowRun(NamedTuple):
    """Multiples offset + step n for first <= n < last, and the rows they fill.

    ``mirrored``: the multiples are the negatives of these.
    """

    offset: int
    step: int
    first: int
    last: int
    layout: PairLayout
    mirrored: bool

    def multiples(self) -> Integers:
        """List them."""
        found = np.array([self.offset + self.step * n for n in range(self.first, self.last)], dtype=np.int64)
        return -found if self.mirrored else found


def tasks(
    wheel: Wheel, multiples: Integers | range, layout: PairLayout, dtype: str, threads: int, block: int | None
) -> list[Task]:
    """Cut the work into pieces that can be done in any order."""
    if not isinstance(multiples, range):
        return list(_short_tasks(wheel, multiples, layout, dtype, block))
    plain = dtype == "float64" or ordinary(float(wheel.magnitude.hi), dtype)
    found: list[Task] = []
    for run in _runs(multiples, layout):
        if plain and _worth(wheel, run, dtype):
            found += _long_tasks(wheel, run, dtype, threads, block)
        else:
            found += _short_tasks(wheel, run.multiples(), run.layout, dtype, block)
    return found


def _worth(wheel: Wheel, run: RowRun, dtype: str) -> bool:
    """Whether a ladder serves the run, now or with what it has served in earlier calls."""
    key = (run.offset, run.step, dtype == "float64")
    count = run.last - run.first
    with wheel.lock:
        if key in wheel.ladders:
            return count >= LEAST
        wheel.served[key] = wheel.served.get(key, 0) + count
        if len(wheel.served) > 64:
            wheel.served.clear()
        return count >= LEAST and wheel.served.get(key, count) >= WORTH


def _short_tasks(
    wheel: Wheel, multiples: Integers, layout: PairLayout, dtype: str, block: int | None
) -> Iterator[Task]:
    rows = block or max(1, TASK // 8 // wheel.count)
    tables = wheel.digits if isinstance(wheel.digits, DigitTables) and serves(wheel, multiples, dtype) else None
    for at in range(0, len(multiples), rows):
        here = slice(at, at + rows)

        def short(scratch: Scratch, here: slice = here) -> None:
            if tables is None:
                fill_short(wheel, multiples[here], layout.rows(here), dtype, scratch)
            else:
                DigitRun(tables, multiples[here], layout.rows(here), dtype, scratch).fill()

        yield short


def _long_tasks(wheel: Wheel, run: RowRun, dtype: str, threads: int, block: int | None) -> Iterator[Task]:
    wide, count = dtype == "float64", run.last - run.first
    ladder = ladder_for(wheel, run.offset, run.step, wide, 1.0 if wide else WINDOW.bias, count)
    ladder.asked += count
    share = -(-count // max(1, threads))
    rows = block or max(ladder.block, min(TASK // wheel.count, share) // ladder.block * ladder.block)
    group = group_size(ladder) * ladder.block
    at = run.first
    while at < run.last:
        stop = min((at // rows + 1) * rows, (at // group + 1) * group, run.last)

        def long(scratch: Scratch, at: int = at, stop: int = stop) -> None:
            _fill_long(anchors_at(ladder, at // group), run, at, stop, dtype, scratch)

        yield long
        at = stop


def _fill_long(anchors: Anchors, run: RowRun, first: int, last: int, dtype: str, scratch: Scratch) -> None:
    """Fill rows of one group, in pieces where many threads are at work."""
    pairs, task = next(sizes for most, sizes in SIZES.items() if threading.active_count() <= most)
    if anchors.ladder.asked * anchors.ladder.wheel.count < SHORT:
        pairs = min(pairs, CALL)
    rows = max(1, task // anchors.ladder.wheel.count)
    scratch.prepare(pairs)
    for at in range(first, last, rows):
        stop = min(at + rows, last)
        layout = run.layout.rows(slice(at - run.first, stop - run.first))
        if dtype == "float64":
            WideRun(anchors, at, stop, layout, run.mirrored, scratch).fill(pairs // WIDE)
        else:
            NarrowRun(anchors, at, stop, layout, dtype, run.mirrored, scratch).fill(pairs)


def _runs(multiples: range, layout: PairLayout) -> Iterator[RowRun]:
    """Cut a range at zero, into upward ones of multiples without sign."""
    if multiples.step < 0:
        multiples, layout = multiples[::-1], layout.rows(slice(None, None, -1))
    step = multiples.step
    below = min(len(range(multiples.start, 0, step)), len(multiples))
    if below:
        smallest = -multiples[below - 1]
        offset, first = smallest % step, smallest // step
        yield RowRun(
            offset, step, first, first + below, layout.rows(slice(None, below)).rows(slice(None, None, -1)), True
        )
    if below < len(multiples):
        start = multiples[below]
        first = start // step
        yield RowRun(start % step, step, first, first + len(multiples) - below, layout.rows(slice(below, None)), False)
