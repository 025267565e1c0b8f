"""Columns that rise evenly: positions, as they are or divided by the last one."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from pecli.declare.guess import Guess
from pecli.measures.evidence import Evidence
from pecli.measures.samples import Floats
from pecli.numbers.shortest import digits, shortest
from pecli.numbers.text import number_text

LOOSE = 4.0  # roundings by which a value may lie off the line through the first and the last row


def recognise(evidence: Evidence) -> Iterator[Guess]:
    """Yield p, p / (L - 1), and p / (L - 1) (i / (d - 1))^a by column."""
    values = evidence.matrix
    if values is None or len(values) < 3:
        return
    rise = (values[-1] - values[0]) / (len(values) - 1)
    line = values[0] + np.outer(np.arange(len(values)), rise)
    size = np.maximum(np.abs(values), np.abs(rise))
    if (np.abs(values - line) > LOOSE * evidence.resolution * size + 1e-300).any() or not rise.any():
        return
    if (values == values[:, :1]).all():
        yield from _alike(evidence, float(rise[0]), float(values[0, 0]), values.shape[1])
    elif rise[0] == 0 and (rise[1:] > 0).all() and len(rise) > 2:
        yield from _by_column(evidence, rise, values)


def _alike(evidence: Evidence, rise: float, start: float, width: int) -> Iterator[Guess]:
    """Yield the same in every column."""
    if rise == round(rise) and start == round(start):
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
