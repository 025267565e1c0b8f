"""Filling tables with correctly rounded cosines, sines and angles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.engine.angle import fill_angles
from pecli.engine.digits import prepare
from pecli.engine.exact import round_ratio
from pecli.engine.layout import Output, PairLayout, arrange, check_outputs
from pecli.engine.tasks import TASK, tasks
from pecli.engine.team import cores, share
from pecli.engine.wheel import Wheel
from pecli.errors import BadParameter
from pecli.numbers.rounding import narrow
from pecli.numbers.types import GRIDS, storage

Integers = NDArray[np.int64]

PER_THREAD = 20
"""Logarithm of the pairs that another thread must find to be worth its start."""

MANY = 64
"""A list of fewer multiples is not searched for an order."""


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
        How many threads share the work; never more than there are cores, or work for.
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
    given = _in_order(multiples if isinstance(multiples, range) else np.asarray(multiples, dtype=np.int64))
    _check_range(given)
    for part, view in views:
        if part == "angle":
            fill_angles(wheel, given, view, dtype)
    turning = [output for output in views if output[0] != "angle" and output[1].shape[1]]
    if not turning:
        return
    if not wheel.exact.factor:
        for _, view in turning:
            view[...] = 0
    elif isinstance(given, range) or len(given) < MANY:
        _fill_all(wheel, given, turning, dtype, threads, block)
    else:
        rows = max(MANY, TASK // wheel.count)
        for at in range(0, len(given), rows):
            here = slice(at, at + rows)
            _fill_list(wheel, given[here], [(part, view[here]) for part, view in turning], dtype, threads, block)


def _in_order(multiples: Integers | range) -> Integers | range:
    """Turn a list of equal steps into a range."""
    if isinstance(multiples, range) or len(multiples) < MANY:
        return multiples
    first, last = int(multiples[0]), int(multiples[-1])
    step = int(multiples[1]) - first
    if not step or last - first != step * (len(multiples) - 1) or not np.all(np.diff(multiples) == step):
        return multiples
    return range(first, last + (1 if step > 0 else -1), step)


def _check_range(multiples: Integers | range) -> None:
    ends = (multiples[0], multiples[-1]) if isinstance(multiples, range) else (multiples.min(), multiples.max())
    low, high = int(min(ends)), int(max(ends))
    if low <= -(1 << 63) or high >= 1 << 63:
        raise BadParameter("multiple", low if low < 0 else high, "must be below 2^63 in size: take a coarser unit")


def _fill_all(
    wheel: Wheel, multiples: Integers | range, outputs: Sequence[Output], dtype: str, threads: int, block: int | None
) -> None:
    layout = arrange(outputs)
    threads = min(threads, cores(), 1 + (len(multiples) * wheel.count >> PER_THREAD))
    share(tasks(wheel, multiples, layout, dtype, threads, block), threads)
    _still(wheel, multiples, layout, dtype)


def _fill_list(
    wheel: Wheel, multiples: Integers, outputs: Sequence[Output], dtype: str, threads: int, block: int | None
) -> None:
    """Fill repeated or close multiples by way of a table of the distinct ones, where that is less work.

    A row copied costs a tenth of one computed from its phases, and a row of a run little more.
    """
    least, last = int(multiples.min()), int(multiples.max())
    source: Integers | range
    if last - least < 2 * len(multiples):
        source, place = range(least, last + 1), multiples - least
    elif prepare(wheel, multiples, dtype):
        _fill_all(wheel, multiples, outputs, dtype, threads, block)
        return
    else:
        source, place = np.unique(multiples, return_inverse=True)
        if 2 * len(source) > len(multiples):
            _fill_all(wheel, multiples, outputs, dtype, threads, block)
            return
    width = max(view.shape[1] for _, view in outputs)
    parts = {part: np.empty((len(source), width), storage(dtype)) for part, _ in outputs}
    _fill_all(wheel, source, list(parts.items()), dtype, threads, block)
    step = max(1, (1 << 18) // width)
    for part, view in outputs:
        for at in range(0, len(multiples), step):
            np.copyto(view[at : at + step], parts[part].take(place[at : at + step], axis=0)[:, : view.shape[1]])


def _still(wheel: Wheel, multiples: Integers | range, layout: PairLayout, dtype: str) -> None:
    """Store the rows of position zero and the columns of frequency zero: zeros are positive."""
    if isinstance(multiples, range):
        rows = [multiples.index(0)] if 0 in multiples else []
    else:
        rows = np.flatnonzero(multiples == 0).tolist()
    if not rows and not wheel.still.size:
        return
    factor = wheel.exact.factor
    one = np.array(round_ratio(factor.numerator, factor.denominator, GRIDS[dtype]))
    magnitude: NDArray[Any] = narrow(one, None, dtype)
    for part, view in layout.views():
        value = magnitude if part == "cos" else np.zeros((), view.dtype)
        view[rows] = value
        view[:, wheel.still[wheel.still < view.shape[1]]] = value
