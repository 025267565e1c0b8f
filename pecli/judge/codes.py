"""Tables of rows that are no waves: codes of positions, masks of two values, constants and ramps."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from pecli.judge.fit import Lines
from pecli.spec.profiles import CodeRows, Floats, units
from pecli.spec.tabular import Tabular

MAX_ROWS = 4096
# Rows, or values of narrow and of wide tables, that parameters are read from; all are compared afterwards. A query
# scale of Llama 4 begins to grow at row 8191.
MAX_VALUES, MAX_WIDE_VALUES = 1 << 18, 1 << 21
# Values of some lines that are counted before all are: more than two are no mask.
FIRST_VALUES = 1 << 12
# Rows and columns of a mask of which the pattern is looked for.
MAX_SIDE = 2048


def rows_of(lines: Lines) -> Iterator[CodeRows]:
    """Yield the table of an array of two axes, or of one whose rows have one value."""
    raw = lines.array.shape
    if len(lines.shape) == 2:
        rows = max(1, MAX_VALUES // lines.width, min(MAX_ROWS, MAX_WIDE_VALUES // lines.width))
        yield CodeRows(lines.read(0, min(lines.count, rows)), lines.count, lines.effective_dtype)
    elif len(lines.shape) == 1 and len(raw) >= 2 and raw[-1] == 1 and lines.width > 1:
        yield CodeRows(lines.read(0, 1).reshape(-1, 1)[:MAX_VALUES], lines.width, lines.effective_dtype)


def measured_of(table: Tabular) -> str | None:
    """Return the description of a single array with at most two distinct values or a ramp; None for any other file."""
    if len(table.arrays) != 1 or table.arrays[0].dtype.startswith("complex"):
        return None
    (array,) = table.arrays
    if 0 in array.shape:
        return "the array is empty"
    lines = Lines(table, array.name)
    if lines.width > 2 and array.shape[:-1] in ((), (1,)) and (ramp := _ramp(lines)) is not None:
        return ramp
    distinct = np.empty(0)
    for values in chain([lines.sample[:8, :FIRST_VALUES]], (values for _, values in lines.blocks())):
        others = values[(values != distinct[0]) & (values != distinct[-1])] if len(distinct) else values
        distinct = np.unique(np.append(distinct, others)) + 0.0
        if len(distinct) > 2:
            return None
    low, high = (f"{value:g}".replace("nan", "NaN") for value in distinct[[0, -1]])
    if len(distinct) == 1:
        return f"every value is {low}" if lines.count * lines.width > 1 else f"a single number, {low}"
    if lines.count * lines.width == 2:
        return None
    what = "a mask of two values" if {"0", "-inf"} & {low, high} else "two values"
    return f"{what}, {low} and {high}: {_pattern(lines, distinct[1], low, high)}"


def _ramp(lines: Lines) -> str | None:
    """Return the description of numbers with a constant step; None for others."""
    values = lines.read(0, 1)[0]
    step = (values[-1] - values[0]) / (len(values) - 1)
    off = np.abs(values - (values[0] + np.arange(len(values)) * step))
    if (
        not np.isfinite(step)
        or step == 0
        or (off > 2 * units(np.abs(values).max(keepdims=True), lines.effective_dtype)).any()
    ):
        return None
    text = f"{len(values)} numbers from {values[0]:g} to {values[-1]:g} in steps of {step:g}"
    return text + (": positions, not an encoding of them" if lines.integral and step == 1 else "")


def _pattern(lines: Lines, value: float, low: str, high: str) -> str:
    """Return which pairs have the second value."""
    *lead, queries, keys = (1, *lines.shape)
    if len(lines.shape) < 2 or max(queries, keys) > MAX_SIDE:
        many = sum(int(_equal(values, value).sum()) for _, values in lines.blocks())
        return f"{many:,} of {lines.count * lines.width:,} are {high}"
    on, every = _equal(lines.read(0, queries), value), math.prod(lead)
    if any((_equal(lines.read(k * queries, (k + 1) * queries), value) != on).any() for k in range(1, every)):
        return f"{every} patterns of {queries} x {keys} that are not the same"
    if (on == on[:1]).all():
        return f"{high} at {int(on[0].sum())} of {keys} keys, the same for every query"
    last = np.arange(keys) - np.arange(queries)[:, None] - (keys - queries)
    for distance in (last, last + keys - queries):
        for chosen, label in ((on, high), (~on, low)):
            if (shape := _shape_of(chosen, distance)) and not (label == "-inf" and "causal" in shape):
                return f"{label} {shape}"
    return f"{high} {visible(on, last)}"


def _equal(values: Floats, value: float) -> NDArray[np.bool_]:
    return np.asarray(np.isnan(values) if math.isnan(value) else values == value)


def visible(on: NDArray[np.bool_], distance: NDArray[np.int64]) -> str:
    """Return at which pairs of query and key a mask is on, by its name or by their number."""
    return _shape_of(on, distance) or f"at {int(on.sum()):,} of {on.size:,} pairs of query and key"


def _shape_of(on: NDArray[np.bool_], distance: NDArray[np.int64]) -> str:
    """Return the name of a pattern of pairs; "" where it has none."""
    size = np.abs(distance)
    reach = int(size[on].max(initial=0))
    for name, pattern in (
        ("on the diagonal (an identity)", distance == 0),
        ("where the key is not after the query (causal)", distance <= 0),
        ("where the key is before the query (strictly causal)", distance < 0),
        ("where the key is not before the query", distance >= 0),
        (f"at distances of at most {reach} (a sliding window of {2 * reach + 1})", size <= reach),
        (
            f"at 0 to {reach} keys before the query (a causal sliding window of {reach + 1})",
            (-distance <= reach) & (distance <= 0),
        ),
    ):
        if np.array_equal(on, pattern):
            return name
    block = np.cumsum(np.any(on[1:] != on[:-1], axis=1, keepdims=True)) if len(on) == on.shape[1] else np.zeros(0)
    block = np.append(0, block)
    if block[-1] and np.array_equal(on, block[:, None] == block):
        sides = np.bincount(block)
        each = f"of {sides[0]}" if np.ptp(sides) == 0 else "of several sizes"
        return f"in {len(sides)} blocks {each} on the diagonal"
    return ""
