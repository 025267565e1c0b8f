"""Columns that rise evenly: positions, as they are or divided by the last one."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from pecli.declare.guess import Guess
from pecli.measures.evidence import Evidence
from pecli.measures.readings import longest_run
from pecli.measures.samples import Floats
from pecli.numbers.shortest import digits, shortest
from pecli.numbers.text import number_text

LOOSE = 4.0  # roundings by which a value may lie off the line through the first and the last row


def recognise(evidence: Evidence) -> Iterator[Guess]:
    """Yield p, p / (L - 1), and p / (L - 1) (i / (d - 1))^a by column."""
    values = evidence.rows
    if values is None or len(values) < 3:
        return
    if evidence.integral:
        yield from _whole(evidence, values)
        return
    with np.errstate(invalid="ignore", over="ignore"):
        steps = np.diff(values, axis=0)
        told = steps[np.isfinite(steps).all(axis=1)]
        if not len(told):
            return
        size = evidence.resolution * (np.abs(values[1:]) + np.abs(values[:-1]))
        even = (np.abs(steps - np.median(told, axis=0)) <= LOOSE * size + 1e-300).all(axis=1)
    run = longest_run(np.asarray(even))
    first, values = run.start, values[run.start : run.stop + 1]
    if len(values) < 3 or 2 * len(values) < len(steps):
        return
    rise = (values[-1] - values[0]) / (len(values) - 1)
    line = values[0] + np.outer(np.arange(len(values)), rise)
    size = np.maximum(np.abs(values), np.abs(rise))
    if (np.abs(values - line) > LOOSE * evidence.resolution * size + 1e-300).any() or not rise.any():
        return
    values = np.concatenate([line[:1] - first * rise, values[1:]])  # what row 0 would be
    if (values[1:] == values[1:, :1]).all():
        yield from _alike(evidence, float(rise[0]), float(values[0, 0]), values.shape[1])
    elif rise[0] == 0 and (rise[1:] > 0).all() and len(rise) > 2:
        yield from _by_column(evidence, rise, values)


def _whole(evidence: Evidence, values: Floats) -> Iterator[Guess]:
    """Yield the step that most neighbours are apart, and the start that most values then have."""
    at = np.arange(len(values), dtype=np.float64)[:, None]
    step = _most_common(np.diff(values, axis=0))
    start = _most_common(values - at * step)
    if step and 2 * (values == start + at * step).sum() > values.size:
        yield from _alike(evidence, step, start, values.shape[1])


def _most_common(values: Floats) -> float:
    found, counts = np.unique(values, return_counts=True)
    return float(found[counts.argmax()])


def _alike(evidence: Evidence, rise: float, start: float, width: int) -> Iterator[Guess]:
    """Yield the same in every column."""
    if rise == round(rise) and abs(start - round(start)) < 1e-6:
        table = {"start": f"{start:.0f}", "step": f"{rise:.0f}", **evidence.length}
        yield Guess("integer", {"dim": str(width), "raw": "true"}, table, 2.0)
    inverse = 1 / rise
    last = round(inverse)
    if abs(inverse - last) <= LOOSE * evidence.resolution * abs(inverse) and last >= 1:
        keys = {"dim": str(width), "max-len": str(last + 1)}
        table = {"start": str(round(start * last)), **evidence.length}
        yield Guess("integer", keys, table, 2.0 + (evidence.length != {"length": str(last + 1)}))


def _by_column(evidence: Evidence, rise: Floats, values: Floats) -> Iterator[Guess]:
    """Yield columns that rise with a power of their number."""
    share = np.arange(1, len(rise)) / (len(rise) - 1)
    middle = len(rise) // 2
    log = math.log(share[middle - 1])
    exponent, spread = math.log(rise[middle] / rise[-1]) / log, 8 * evidence.resolution / abs(log)
    scales, last = shortest(exponent - spread, exponent + spread), round(1 / rise[-1])
    if scales > 0 and last >= 1:
        keys = {"dim": str(len(rise)), "max-len": str(last + 1), "scales": number_text(scales)}
        table = {"start": str(round(float(values[0, -1]) * last)), **evidence.length}
        yield Guess("integer", keys, table, 3.0 + digits(scales), free=("scales",))
