"""Tables of rows that are no waves: codes of positions, masks of two values, constants and ramps."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from pecli.judge.description import Identification
from pecli.judge.fit import Lines
from pecli.spec.profiles import CodeRows, Floats, units
from pecli.spec.tabular import Tabular

MAX_ROWS = 4096
MAX_VALUES = 1 << 18
"""Rows, or values of narrow tables, that parameters are read from; all are compared afterwards. A query scale of
Llama 4 begins to grow at row 8191."""
FEW_VALUES = 1 << 12
"""Values of some lines that are counted before all are: more than two are no mask."""
MAX_SIDE = 2048
"""Rows and columns of a mask of which the pattern is looked for."""


def rows_of(lines: Lines) -> Iterator[CodeRows]:
    """Yield the table of an array of two axes, or of one whose rows have one value."""
    raw = lines.array.shape
    if len(lines.shape) == 2:
        yield CodeRows(
            lines.read(0, min(lines.count, max(MAX_ROWS, MAX_VALUES // lines.width))), lines.count, lines.grain
        )
    elif len(lines.shape) == 1 and len(raw) >= 2 and raw[-1] == 1 and lines.width > 1:
        yield CodeRows(lines.read(0, 1).reshape(-1, 1)[:MAX_VALUES], lines.width, lines.grain)


def measured_of(table: Tabular) -> Identification | None:
    """Return what a file of one array is that is no encoding: empty, NaN, constant, a mask, a ramp."""
    if len(table.arrays) != 1:
        return None
    array = table.arrays[0]
    if array.dtype.startswith("complex"):
        return None
    if 0 in array.shape:
        return _unknown("the array is empty")
    lines = Lines(table, array.name)
    if (
        len(lines.shape) == 1
        and lines.width > 2
        and (len(array.shape) == 1 or (len(array.shape) == 2 and array.shape[0] == 1))
    ):
        ramp = _ramp(lines)
        if ramp is not None:
            return ramp
    if len(np.unique(lines.sample[:, :FEW_VALUES][:8])) > 2:
        return None
    distinct = np.unique(lines.sample)
    if len(distinct) > 2:
        return None
    distinct = _all_values(lines, distinct)
    if len(distinct) > 2:
        return None
    distinct = distinct + 0.0
    if len(distinct) == 1:
        value = distinct[0]
        said = "NaN" if np.isnan(value) else f"{value:g}"
        return _unknown(f"every value is {said}" if lines.count * lines.width > 1 else f"a single number, {said}")
    if lines.count * lines.width == 2:
        return None
    pattern = _pattern(lines, distinct)
    if pattern is None:
        return None
    return _unknown(f"a mask of two values, {distinct[0]:g} and {distinct[1]:g}: {pattern}")


def _ramp(lines: Lines) -> Identification | None:
    """Return what numbers are that rise or fall by the same step."""
    values = lines.read(0, 1)[0]
    step = (values[-1] - values[0]) / (len(values) - 1)
    off = np.abs(values - (values[0] + np.arange(len(values)) * step))
    if not np.isfinite(step) or step == 0 or (off > 2 * units(np.abs(values).max(keepdims=True), lines.grain)).any():
        return None
    whole = lines.integral and step == 1
    said = f"{len(values)} numbers from {values[0]:g} to {values[-1]:g} in steps of {step:g}"
    return _unknown(said + (": positions, not an encoding of them" if whole else ""))


def _all_values(lines: Lines, distinct: Floats) -> Floats:
    for _, values in lines.blocks():
        distinct = np.unique(np.concatenate([distinct, values.reshape(-1)]))
        if len(distinct) > 2:
            break
    return distinct


def _unknown(*measured: str) -> Identification:
    return Identification(None, "unknown", measured=measured)


def _pattern(lines: Lines, distinct: Floats) -> str | None:
    """Return which pairs have the second value; None for the bits of consecutive positions."""
    shape = lines.shape
    if len(shape) < 2 or max(shape[-2:]) > MAX_SIDE:
        many = sum(int((values == distinct[1]).sum()) for _, values in lines.blocks())
        return f"{many:,} of {lines.count * lines.width:,} are {distinct[1]:g}"
    queries, keys = shape[-2:]
    on = lines.read(0, queries) == distinct[1]
    every = lines.count // queries
    same = all((lines.read(k * queries, (k + 1) * queries) == distinct[1]).tobytes() == on.tobytes()
               for k in range(1, every))  # fmt: skip
    if every == 1 and _counts(on):
        return None
    if not same:
        return f"{shape[0] if len(shape) == 3 else every} patterns of {queries} x {keys} that are not the same"
    low, high = f"{distinct[0]:g}", f"{distinct[1]:g}"
    if (on == on[:1]).all():
        return f"{high} at {int(on[0].sum())} of {keys} keys, the same for every query"
    distances = [
        np.arange(keys) - np.arange(queries)[:, None] - offset for offset in dict.fromkeys((keys - queries, 0))
    ]
    named = ((said, _shape_of(chosen, distance)) for distance in distances for chosen, said in ((on, high), (~on, low)))
    return next((f"{said} {shape}" for said, shape in named if shape), f"{high} {visible(on, distances[0])}")


def visible(on: NDArray[np.bool_], distance: NDArray[np.int64]) -> str:
    """Return at which pairs of query and key a mask is on, by its name or by their number."""
    return _shape_of(on, distance) or f"at {int(on.sum()):,} of {on.size:,} pairs of query and key"


def _shape_of(on: NDArray[np.bool_], distance: NDArray[np.int64]) -> str:
    """Return the name of a pattern of pairs; "" where it has none."""
    size = np.abs(distance)
    if np.array_equal(on, distance == 0):
        return "on the diagonal (an identity)"
    if np.array_equal(on, distance <= 0):
        return "where the key is not after the query (causal)"
    if np.array_equal(on, distance < 0):
        return "where the key is before the query (strictly causal)"
    if np.array_equal(on, distance == np.clip(distance, -1, 1)) and len(on) > 2:
        return "at distances of at most 1 (a sliding window)"
    reach = int(size[on].max()) if on.any() else 0
    if np.array_equal(on, size <= reach):
        return f"at distances of at most {reach} (a sliding window of {2 * reach + 1})"
    if np.array_equal(on, (distance <= 0) & (size <= reach)):
        return f"at 0 to {reach} keys before the query (a causal sliding window of {reach + 1})"
    starts: list[int] = []
    if on.shape[0] == on.shape[1]:
        starts = np.flatnonzero(np.r_[True, (on[1:] != on[:-1]).any(axis=1)]).tolist()
    blocks = list(zip(starts, [*starts[1:], len(on)][: len(starts)], strict=True))
    if (
        len(blocks) > 1
        and all(on[a:b, a:b].all() for a, b in blocks)
        and on.sum() == sum((b - a) ** 2 for a, b in blocks)
    ):
        sides = {int(b - a) for a, b in blocks}
        each = f"of {sides.pop()}" if len(sides) == 1 else "of several sizes"
        return f"in {len(blocks)} blocks {each} on the diagonal"
    return ""


def _counts(on: NDArray[np.bool_]) -> bool:
    """Whether the rows are the bits of consecutive numbers, least or most significant first, or of Gray's code."""
    if len(on) < 4 or on.shape[1] > 53:
        return False
    for bits in (on, on[:, ::-1]):
        for gray in (False, True):
            plain = np.cumsum(bits[:, ::-1], axis=1)[:, ::-1] % 2 if gray else bits
            numbers = plain @ (2.0 ** np.arange(on.shape[1]))
            if len(numbers) >= 4 and (np.diff(numbers) == 1).all():
                return True
    return False
