"""Rows of arrays that are compared: of views of files, computed, or in memory."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pecli.judge import orders
from pecli.judge.planes import Floats, Integers
from pecli.numbers import rounding
from pecli.numbers.dtypes import REAL
from pecli.tables.views import ArrayView

MAX_HELD = 1 << 25  # values of an array that is read into memory; of a longer one only runs of rows are compared


class ComputedRows(NamedTuple):
    """An array whose rows a function gives, or that are in memory; views of files are used in the same way."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    read: Callable[[int, int], NDArray[Any]]
    lead: int = 1
    axes: tuple[str, ...] = ()
    values: NDArray[Any] | None = None


Rows = ArrayView | ComputedRows


def count_of(array: Rows) -> int:
    """Return how many rows an array has."""
    return math.prod(array.shape[: array.lead])


def width_of(array: Rows) -> int:
    """Return the real numbers of a row: a complex value is two."""
    return math.prod(array.shape[array.lead :]) * (2 if array.dtype in REAL else 1)


def floats(array: Rows, start: int, stop: int) -> Floats:
    """Return rows as float64, (stop - start, width)."""
    return _numbers(array, np.asarray(array.read(start, stop)))


def _numbers(array: Rows, values: NDArray[Any]) -> Floats:
    stored = array.dtype if values.dtype == np.uint16 else ""
    return rounding.floats(values, stored).reshape(len(values), width_of(array)).astype(np.float64)


def rows_at(array: Rows, rows: Integers) -> Floats:
    """Return rows in any order; NaN for `UNKNOWN` and `NAN`, zeros for `ZERO`."""
    found = np.where(rows == orders.ZERO, 0.0, np.nan)[:, None].repeat(width_of(array), 1)
    known = np.flatnonzero((rows >= 0) & (rows < count_of(array)))
    if isinstance(array, ComputedRows) and array.values is not None:
        found[known] = _numbers(array, array.values[rows[known]])
        return found
    for at in (known[run] for run in orders.consecutive(rows[known])):
        found[at] = floats(array, int(rows[at[0]]), int(rows[at[-1]]) + 1)
    return found


def with_rows(array: Rows, rows: NDArray[Any]) -> ComputedRows:
    """Return an array of the same name, shape and type with these rows, (n, width)."""
    return ComputedRows(array.name, array.shape, array.dtype, lambda a, b: rows[a:b], array.lead, array.axes, rows)


def held(array: Rows) -> Rows:
    """Return an array with its rows in memory, if it is not too long for that."""
    if count_of(array) * width_of(array) > MAX_HELD:
        return array
    return with_rows(array, np.asarray(array.read(0, count_of(array))).reshape(count_of(array), -1))


def real_parts(a: Rows, b: Rows) -> list[tuple[Rows, Rows]]:
    """Return two complex arrays as two pairs of real ones, the real and the imaginary parts; others as they are."""
    if not {a.dtype, b.dtype} <= {*REAL}:
        return [(a, b)]
    name = a.name or b.name
    return [(_part(a, name, part), _part(b, name, part)) for part in ("real", "imag")]


def _part(array: Rows, name: str, part: str) -> Rows:
    def read(start: int, stop: int) -> NDArray[Any]:
        return np.asarray(getattr(np.asarray(array.read(start, stop)), part))

    own, values = f"{name}.{part}".lstrip("."), read(0, count_of(array)) if isinstance(array, ComputedRows) else None
    return ComputedRows(own, array.shape, REAL[array.dtype], read, array.lead, array.axes, values)
