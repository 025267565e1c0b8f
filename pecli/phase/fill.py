"""Filling tables: which way each run of rows is computed, in what blocks, by which threads."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.errors import BadParameter
from pecli.phase.angle import fill_angles
from pecli.phase.layout import Layout, Output, arrange, check_outputs
from pecli.phase.ladder import block_rows, ladder_for
from pecli.phase.narrow_run import WINDOW, NarrowRun, ordinary
from pecli.phase.narrowing import Scratch
from pecli.phase.rounding import GRIDS, narrow
from pecli.phase.short import fill_short
from pecli.phase.wheel import Wheel
from pecli.phase.wide_run import WideRun

Integers = NDArray[np.int64]
TASK = 1 << 20
"""Pairs that one thread takes at a time."""

CALL = 1 << 18
"""Pairs per call of NumPy: small calls lose to the interpreter's lock, large ones cost memory (4 MiB a thread)."""

_local = threading.local()


@dataclass(frozen=True)
class Run:
    """Multiples offset + step n for first <= n < last, and the rows they fill.

    ``mirrored``: the multiples are the negatives of these.
    """

    offset: int
    step: int
    first: int
    last: int
    layout: Layout
    mirrored: bool


def default_threads() -> int:
    """All cores this process may use, up to eight."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, min(8, len(os.sched_getaffinity(0))))
    return max(1, min(8, os.cpu_count() or 1))


def fill(
    wheel: Wheel,
    multiples: Integers | range,
    outputs: Sequence[Output],
    dtype: str,
    *,
    threads: int = 1,
    block: int | None = None,
) -> None:
    """Fill views with the correctly rounded cosines, sines and angles of rows.

    Parameters
    ----------
    wheel : Wheel
        The frequencies.
    multiples : range or ndarray of int64
        Of the wheel's unit, below 2^63 in size; one per row, in any order.
    outputs : sequence of (part, view)
        A view has shape (len(multiples), k) and any strides, takes the first k frequencies, and
        holds the storage type of ``dtype``.  "angle" is position times frequency in radians, not
        reduced and without the magnitude.
    dtype : str
        float16, bfloat16, float32 or float64; every value is the correctly rounded one.
    threads : int
        How many threads share the work; never more than there is work for.
    block : int, optional
        Rows that a thread takes at a time; the values do not depend on it.

    Raises
    ------
    BadParameter
        A view of a wrong shape or type, or a multiple out of range.
    """
    views = check_outputs(outputs, len(multiples), wheel.count, dtype)
    if not len(multiples) or not wheel.count:
        return
    progression = _progression(multiples)
    given = progression if progression is not None else np.asarray(multiples, dtype=np.int64)
    _check_range(given)
    for part, view in views:
        if part == "angle":
            fill_angles(wheel, given, view, dtype)
    layout = arrange([o for o in views if o[0] != "angle"])
    if layout.pair is None and not layout.singles:
        return
    if not wheel.exact.factor:
        for _, view in layout.views():
            view[...] = 0
        return
    _share(list(_tasks(wheel, given, layout, dtype, threads, block)), threads)
    _still(wheel, given, layout, dtype)


def _progression(multiples: Integers | range) -> range | None:
    """The multiples as a range where their steps are equal and not zero."""
    if isinstance(multiples, range):
        return multiples
    if len(multiples) < 64:
        return None
    first, last = int(multiples[0]), int(multiples[-1])
    step = int(multiples[1]) - first
    if not step or last - first != step * (len(multiples) - 1) or not np.all(np.diff(multiples) == step):
        return None
    return range(first, last + (1 if step > 0 else -1), step)


def _check_range(multiples: Integers | range) -> None:
    low, high = (
        (min(multiples[0], multiples[-1]), max(multiples[0], multiples[-1]))
        if isinstance(multiples, range)
        else (int(multiples.min()), int(multiples.max()))
    )
    if low <= -(1 << 63) or high >= 1 << 63:
        raise BadParameter("multiple", low if low < 0 else high, "must be below 2^63 in size: take a coarser unit")


def _tasks(
    wheel: Wheel, multiples: Integers | range, layout: Layout, dtype: str, threads: int, block: int | None
) -> Iterator[Callable[[Scratch], None]]:
    """The work in pieces that can be done in any order."""
    plain = dtype == "float64" or ordinary(float(wheel.magnitude.hi), dtype)
    if isinstance(multiples, range) and len(multiples) > 48 and plain:
        for run in _runs(multiples, layout):
            yield from _long_tasks(wheel, run, dtype, threads, block)
        return
    given = np.asarray(multiples, dtype=np.int64)
    rows = block or max(1, TASK // 8 // wheel.count)
    for at in range(0, len(given), rows):
        here = slice(at, at + rows)

        def short(scratch: Scratch, here: slice = here) -> None:
            fill_short(wheel, given[here], layout.rows(here), dtype)

        yield short


def _runs(multiples: range, layout: Layout) -> Iterator[Run]:
    """Cut a range at zero, into upward ones of multiples without sign."""
    if multiples.step < 0:
        multiples, layout = multiples[::-1], layout.rows(slice(None, None, -1))
    step = multiples.step
    below = len(range(multiples.start, 0, step))
    below = min(below, len(multiples))
    if below:
        smallest = -multiples[below - 1]
        offset, first = smallest % step, smallest // step
        yield Run(offset, step, first, first + below, layout.rows(slice(None, below)).rows(slice(None, None, -1)), True)
    if below < len(multiples):
        start = multiples[below]
        first = start // step
        yield Run(start % step, step, first, first + len(multiples) - below, layout.rows(slice(below, None)), False)


def _long_tasks(
    wheel: Wheel, run: Run, dtype: str, threads: int, block: int | None
) -> Iterator[Callable[[Scratch], None]]:
    wide = dtype == "float64"
    count = run.last - run.first
    share = -(-count // max(1, threads))
    unit = block_rows(wheel.count)
    rows = block or max(unit, min(TASK // wheel.count, share) // unit * unit)
    ladder = ladder_for(wheel, run.offset, run.step, wide, 1.0 if wide else WINDOW.bias)
    pairs = CALL if threads <= 4 else CALL // 2
    at = run.first
    while at < run.last:
        stop = min((at // rows + 1) * rows, run.last)

        def long(scratch: Scratch, at: int = at, stop: int = stop) -> None:
            layout = run.layout.rows(slice(at - run.first, stop - run.first))
            if wide:
                WideRun(ladder, at, stop, layout, run.mirrored, scratch, pairs // 2).fill()
            else:
                NarrowRun(ladder, at, stop, layout, dtype, run.mirrored, scratch, pairs).fill()

        yield long
        at = stop


def _scratch() -> Scratch:
    if not hasattr(_local, "scratch"):
        _local.scratch = Scratch()
    found: Scratch = _local.scratch
    return found


def _share(tasks: list[Callable[[Scratch], None]], threads: int) -> None:
    """Do the tasks, with helpers beside the calling thread; the first error of any is raised."""
    left = iter(tasks)
    lock = threading.Lock()
    errors: list[BaseException] = []

    def work() -> None:
        scratch = _scratch()
        try:
            while not errors:
                with lock:
                    task = next(left, None)
                if task is None:
                    return
                task(scratch)
        except BaseException as error:  # handed to the caller below
            errors.append(error)

    helpers = [threading.Thread(target=work, daemon=True) for _ in range(min(threads, len(tasks)) - 1)]
    for helper in helpers:
        helper.start()
    work()
    for helper in helpers:
        helper.join()
    if errors:
        raise errors[0]


def _still(wheel: Wheel, multiples: Integers | range, layout: Layout, dtype: str) -> None:
    """Rows of position zero and columns of frequency zero: magnitude and zero, exactly and positive."""
    if isinstance(multiples, range):
        rows = [multiples.index(0)] if 0 in multiples else []
    else:
        rows = np.flatnonzero(multiples == 0).tolist()
    if not rows and not wheel.still.size:
        return
    magnitude = _rounded_magnitude(wheel, dtype)
    for part, view in layout.views():
        value = magnitude if part == "cos" else np.zeros((), view.dtype)
        view[rows] = value
        view[:, wheel.still[wheel.still < view.shape[1]]] = value


def _rounded_magnitude(wheel: Wheel, dtype: str) -> NDArray[Any]:
    from pecli.phase.exact import round_ratio

    factor = wheel.exact.factor
    return narrow(np.array(round_ratio(factor.numerator, factor.denominator, GRIDS[dtype])), None, dtype)
