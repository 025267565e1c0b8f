"""Planning: which algorithm computes each run of rows, and in which pieces; filling of whole tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pecli.engine.angles import round_ratio
from pecli.engine.digits import DigitTables, fill_digits, prepare, serves
from pecli.engine.frequencies import FrequencySet, fill_angles
from pecli.engine.narrowing import Output, PairLayout, arrange, fill_short, ordinary
from pecli.engine.rotation_tables import RotationTable, anchors_at, group_size, table_for
from pecli.engine.runs import WINDOW, fill_narrow, fill_wide
from pecli.engine.threads import Scratch, Task, cores, count_threads, run_tasks
from pecli.errors import BadParameter
from pecli.numbers.blocks import in_blocks
from pecli.numbers.dtypes import GRIDS, storage
from pecli.numbers.rounding import Integers, narrow

# Pairs that one thread takes at a time.
TASK = 1 << 21

# Block sizes by the largest number of live threads: pairs per call of NumPy, and pairs whose flags are kept together.
#
# Small calls lose to the interpreter's lock, large ones cost memory: 12 MiB a thread, or 3 of many.
SIZES = {2: (1 << 18, 1 << 21), 4: (1 << 18, 1 << 20), 8: (1 << 17, 1 << 19), 1 << 30: (1 << 16, 1 << 18)}

# Divisor of the pairs per call in float64: six arrays of 16 bytes a pair then stay in the cache; 2 is 8 % slower.
FLOAT64_DIVISOR = 8

# Number of pairs below which a table is computed in small calls, which need less fresh memory.
MIN_TABLE_PAIRS = 1 << 21

# Pairs per call for such a table.
CALL = 1 << 16

# Rows, in all calls, from which on the making of a rotation table pays.
MIN_REQUESTS = 160

# Smallest number of rows for which an existing rotation table is used.
MIN_RUN_ROWS = 24


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


def tasks(freqs: FrequencySet, multiples: Integers | range, layout: PairLayout, dtype: str, threads: int) -> list[Task]:
    """Cut the work into pieces that can be done in any order."""
    if not isinstance(multiples, range):
        return list(_short_tasks(freqs, multiples, layout, dtype))
    plain = dtype == "float64" or ordinary(float(freqs.magnitude.hi), dtype)
    found: list[Task] = []
    for run in _runs(multiples, layout):
        signed = run.mirrored and freqs.exact.turns  # with zeros among the sines, which stay positive
        if plain and not signed and _uses_table(freqs, run, dtype):
            found += _long_tasks(freqs, run, dtype, threads)
        else:
            found += _short_tasks(freqs, run.multiples(), run.layout, dtype)
    return found


def _uses_table(freqs: FrequencySet, run: RowRun, dtype: str) -> bool:
    """Whether a rotation table serves the run, counting the rows of earlier calls."""
    key = (run.offset, run.step, dtype == "float64")
    count = run.last - run.first
    with freqs.lock:
        if key in freqs.rotation_tables:
            return count >= MIN_RUN_ROWS
        freqs.rows_requested[key] = freqs.rows_requested.get(key, 0) + count
        if len(freqs.rows_requested) > 64:
            freqs.rows_requested.clear()
        return count >= MIN_RUN_ROWS and freqs.rows_requested.get(key, count) >= MIN_REQUESTS


def _short_tasks(freqs: FrequencySet, multiples: Integers, layout: PairLayout, dtype: str) -> Iterator[Task]:
    tables = freqs.digits if isinstance(freqs.digits, DigitTables) and serves(freqs, multiples, dtype) else None
    fill_rows = partial(fill_short, freqs) if tables is None else partial(fill_digits, tables)
    for here in in_blocks(0, len(multiples), TASK // 8 // freqs.count):
        yield partial(fill_rows, multiples[here], layout.rows(here), dtype)


def _long_tasks(freqs: FrequencySet, run: RowRun, dtype: str, threads: int) -> Iterator[Task]:
    wide, count = dtype == "float64", run.last - run.first
    table = table_for(freqs, run.offset, run.step, wide, 1.0 if wide else WINDOW.bias, count)
    table.asked += count
    share = -(-count // max(1, threads))
    rows = max(table.block, min(TASK // freqs.count, share) // table.block * table.block)
    group = group_size(table) * table.block
    at = run.first
    while at < run.last:
        stop = min((at // rows + 1) * rows, (at // group + 1) * group, run.last)
        yield partial(_fill_long, table, at // group, run, at, stop, dtype)
        at = stop


def _fill_long(
    table: RotationTable, group: int, run: RowRun, first: int, last: int, dtype: str, scratch: Scratch
) -> None:
    """Fill rows of one group of anchors, in pieces where many threads are at work."""
    anchors = anchors_at(table, group)
    pairs, task = next(sizes for most, sizes in SIZES.items() if count_threads() <= most)
    if table.asked * table.freqs.count < MIN_TABLE_PAIRS:
        pairs = min(pairs, CALL)
    if run.mirrored:  # whose sines change their sign afterwards, while they are in the caches
        task = 4 * CALL
    scratch.prepare(pairs)
    for some in in_blocks(first, last, task // table.freqs.count):
        at, stop = some.start, some.stop
        layout = run.layout.rows(slice(at - run.first, stop - run.first))
        if dtype == "float64":
            fill_wide(anchors, at, stop, layout, scratch, pairs // FLOAT64_DIVISOR)
        else:
            fill_narrow(anchors, at, stop, layout, dtype, scratch, pairs)
        if run.mirrored:  # sin(-x) = -sin(x), also of the rounded values
            layout.negate_sines(dtype)


def _runs(multiples: range, layout: PairLayout) -> Iterator[RowRun]:
    """Cut a range at zero, into upward ones of multiples without sign."""
    if multiples.step < 0:
        multiples, layout = multiples[::-1], layout.rows(slice(None, None, -1))
    step = multiples.step
    below = min(len(range(multiples.start, 0, step)), len(multiples))
    if below:
        smallest = -multiples[below - 1]
        offset, first = smallest % step, smallest // step
        yield RowRun(offset, step, first, first + below, layout.rows(slice(below - 1, None, -1)), True)
    if below < len(multiples):
        start = multiples[below]
        first = start // step
        yield RowRun(start % step, step, first, first + len(multiples) - below, layout.rows(slice(below, None)), False)


# Base-2 logarithm of the number of pairs that pays for starting another thread.
PER_THREAD = 20

# A list of fewer multiples is not searched for an order.
MIN_SORTED_COUNT = 64


def fill(
    freqs: FrequencySet, multiples: Integers | range, outputs: Sequence[Output], dtype: str, *, threads: int = 1
) -> None:
    """Fill views with the correctly rounded cosines, sines and angles of rows.

    Parameters
    ----------
    freqs : FrequencySet
        The frequencies.
    multiples : range or ndarray of int64
        Of the unit of the frequencies, below 2^63 in size; one per row, in any order.
    outputs : sequence of (part, view)
        A view has shape (len(multiples), k) and any strides, takes the first k frequencies, and
        holds the storage type of ``dtype``.  "angle" is position times frequency in radians, not
        reduced and without the magnitude.
    dtype : str
        float16, bfloat16, float32 or float64; every value is the correctly rounded one.
    threads : int
        How many threads share the work; never more than there are cores, or work for.

    Raises
    ------
    BadParameter
        A view of a wrong shape or type, or a multiple out of range.
    """
    wanted = storage(dtype)
    for _, view in outputs:
        if view.ndim != 2 or len(view) != len(multiples) or view.shape[1] > freqs.count or view.dtype != wanted:
            rule = (
                f"must have {len(multiples)} rows and at most {freqs.count} columns, and must hold {dtype} as {wanted}"
            )
            raise BadParameter("output", f"{view.shape} {view.dtype}", rule)
    if not len(multiples) or not freqs.count:
        return
    given = _in_order(multiples if isinstance(multiples, range) else np.asarray(multiples, dtype=np.int64))
    check_multiples(given)
    for part, view in outputs:
        if part == "angle":
            fill_angles(freqs, given, view, dtype)
    oscillating = [output for output in outputs if output[0] != "angle" and output[1].shape[1]]
    if not oscillating:
        return
    if not freqs.exact.factor:
        for _, view in oscillating:
            view[...] = 0
    elif isinstance(given, range) or len(given) < MIN_SORTED_COUNT:
        _fill_all(freqs, given, oscillating, dtype, threads)
    else:
        for here in in_blocks(0, len(given), max(MIN_SORTED_COUNT, TASK // freqs.count)):
            _fill_list(freqs, given[here], [(part, view[here]) for part, view in oscillating], dtype, threads)


def _in_order(multiples: Integers | range) -> Integers | range:
    """Turn a list of equal steps into a range."""
    if isinstance(multiples, range) or len(multiples) < MIN_SORTED_COUNT:
        return multiples
    first, last = int(multiples[0]), int(multiples[-1])
    step = int(multiples[1]) - first
    if not step or last - first != step * (len(multiples) - 1) or not np.all(np.diff(multiples) == step):
        return multiples
    return range(first, last + (1 if step > 0 else -1), step)


def check_multiples(multiples: Integers | range) -> None:
    """Raise BadParameter for positions that are too many of their unit."""
    ends = (multiples[0], multiples[-1]) if isinstance(multiples, range) else (multiples.min(), multiples.max())
    low, high = int(min(ends)), int(max(ends))
    if low <= -(1 << 63) or high >= 1 << 63:
        raise BadParameter("multiple", low if low < 0 else high, "must be below 2^63 in size: take a coarser unit")


def _fill_all(
    freqs: FrequencySet, multiples: Integers | range, outputs: Sequence[Output], dtype: str, threads: int
) -> None:
    layout = arrange(outputs)
    threads = min(threads, cores(), 1 + (len(multiples) * freqs.count >> PER_THREAD))
    run_tasks(tasks(freqs, multiples, layout, dtype, threads), threads)
    _still(freqs, multiples, layout, dtype)


def _fill_list(freqs: FrequencySet, multiples: Integers, outputs: Sequence[Output], dtype: str, threads: int) -> None:
    """Fill repeated or close multiples by way of a table of the distinct ones, where that is less work.

    A row copied costs a tenth of one computed from its phases, and a row of a run little more.
    """
    least, last = int(multiples.min()), int(multiples.max())
    source: Integers | range
    if last - least < 2 * len(multiples):
        source, place = range(least, last + 1), multiples - least
    elif prepare(freqs, multiples, dtype):
        _fill_all(freqs, multiples, outputs, dtype, threads)
        return
    else:
        source, place = np.unique(multiples, return_inverse=True)
        if 2 * len(source) > len(multiples):
            _fill_all(freqs, multiples, outputs, dtype, threads)
            return
    width = max(view.shape[1] for _, view in outputs)
    parts = {part: np.empty((len(source), width), storage(dtype)) for part, _ in outputs}
    _fill_all(freqs, source, list(parts.items()), dtype, threads)
    for part, view in outputs:
        for some in in_blocks(0, len(multiples), (1 << 18) // width):
            np.copyto(view[some], parts[part].take(place[some], axis=0)[:, : view.shape[1]])


def _still(freqs: FrequencySet, multiples: Integers | range, layout: PairLayout, dtype: str) -> None:
    """Store the rows of position zero and the columns of frequency zero: zeros are positive."""
    if isinstance(multiples, range):
        rows = [multiples.index(0)] if 0 in multiples else []
    else:
        rows = np.flatnonzero(multiples == 0).tolist()
    if not rows and not freqs.zero_columns.size:
        return
    factor = freqs.exact.factor
    one = np.array(round_ratio(factor.numerator, factor.denominator, GRIDS[dtype]))
    magnitude: NDArray[Any] = narrow(one, None, dtype)
    for part, view in layout.views():
        value = magnitude if part == "cos" else np.zeros((), view.dtype)
        view[rows] = value
        view[:, freqs.zero_columns[freqs.zero_columns < view.shape[1]]] = value
