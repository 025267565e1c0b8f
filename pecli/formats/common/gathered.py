"""Arrays found again in the columns of a file: lists, or plain columns that are numbered."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.declare.tabular import Array, array_of
from pecli.formats.common.columns import FORMER_STEMS, STEMS, wide_names
from pecli.formats.common.stored import safe_shape
from pecli.numbers.types import COMPLEX, REAL, real_type

KEYS = ("position", "head", "query", "distance")
MORE_LABELS = ("key", "row", "bucket")
ARRAYS = {stem: name for name, stem in FORMER_STEMS.items()}
_NUMBERED = re.compile(r"(.*?)(\d+(?:_\d+)*)(_re|_im|)", re.DOTALL)


def labels_of(names: Sequence[str]) -> list[str]:
    """Return those columns that say which row this is, in order: by their names, or ``axis0``, ``axis1`` in front."""
    axes = 0
    while axes < len(names) and names[axes] == f"axis{axes}":
        axes += 1
    found = [name for place, name in enumerate(names) if place < axes or name in (*KEYS, *MORE_LABELS)]
    return found if len(found) < len(names) else [name for name in names if name in KEYS]


def stem_of(name: str) -> tuple[str, bool]:
    """Return what a numbered column belongs to, and whether it is a part of complex values."""
    match = _NUMBERED.fullmatch(name)
    return (match[1], bool(match[3])) if match and match[1] else (name, False)


@dataclass(frozen=True)
class Column:
    """One column of a file: its name, the type of its values, and the shape of one entry."""

    name: str
    dtype: str
    shape: tuple[int, ...] = ()


@dataclass(frozen=True)
class ColumnArray:
    """An array and the columns that make it: one of whole rows, or one for each value of a row."""

    array: Array
    columns: tuple[str, ...]

    def fill(self, found: Mapping[str, NDArray[Any]], out: NDArray[Any]) -> None:
        """Put rows of the columns into rows of the array."""
        if out.dtype.kind == "c":
            pairs = np.empty((*out.shape, 2), REAL[out.dtype.name])
            self._fill(found, pairs)
            out[...] = pairs.view(out.dtype)[..., 0]
        else:
            self._fill(found, out)

    def _fill(self, found: Mapping[str, NDArray[Any]], out: NDArray[Any]) -> None:
        if len(self.columns) == 1:
            out[...] = found[self.columns[0]].reshape(out.shape)
            return
        target = np.empty((len(out), len(self.columns)), out.dtype)
        for index, name in enumerate(self.columns):
            target[:, index] = found[name]
        out[...] = target.reshape(out.shape)


def gather(
    columns: Sequence[Column], rows: int, described: Mapping[str, Any], outer: tuple[int, ...] = ()
) -> list[ColumnArray]:
    """Return the arrays that columns of `rows` entries make.

    Parameters
    ----------
    described : mapping
        What the file itself says of its arrays: name to shape, axes, dtype. Believed where the columns agree.
    outer : tuple of int
        Sizes of the axes before the last that numbers the rows: how many heads, where rows have head and query.
    """
    found: list[ColumnArray] = []
    free = {column.name: column for column in columns if column.name not in KEYS or column.shape}
    for label, facts in described.items():
        known = _described(label, facts, free, rows)
        if known is not None:
            found.append(known)
            for name in known.columns:
                del free[name]
    if described and found:
        return found
    for name in labels_of([column.name for column in columns if not column.shape]):
        free.pop(name, None)
    lead = (*outer, rows // math.prod(outer)) if rows % math.prod(outer) == 0 else (rows,)
    for name in [name for name, column in free.items() if column.shape]:
        column = free.pop(name)
        found.append(ColumnArray(_array(name, lead, column.shape, column.dtype), (name,)))
    for stem, members in _numbered(free).items():
        names = tuple(column.name for column in members)
        shape, complex_parts = _grid(names)
        dtype = COMPLEX[members[0].dtype] if complex_parts else members[0].dtype
        found.append(ColumnArray(_array(ARRAYS.get(stem, stem), lead, shape, dtype), names))
        for name in names:
            del free[name]
    found += [ColumnArray(_array(column.name, lead, (), column.dtype), (column.name,)) for column in free.values()]
    return found


def _array(name: str, lead: tuple[int, ...], row: tuple[int, ...], dtype: str) -> Array:
    return array_of(name, (*lead, *row), dtype, lead=len(lead))


def _described(name: str, facts: object, free: Mapping[str, Column], rows: int) -> ColumnArray | None:
    """Return an array as the file describes it, if the columns are there and agree."""
    if not isinstance(facts, dict):
        return None
    shape, dtype, axes = safe_shape(facts.get("shape")), facts.get("dtype"), facts.get("axes")
    if shape is None or not isinstance(dtype, str):
        return None
    lead = next((lead for lead in range(len(shape) + 1) if math.prod(shape[:lead]) == rows and lead), None)
    if lead is None:
        return None
    if not isinstance(axes, list) or not all(isinstance(axis, str) for axis in axes):
        axes = []
    pair = (2,) if dtype in REAL else ()
    stored = real_type(dtype)
    if name in free:
        if free[name].dtype == stored and free[name].shape == (*shape[lead:], *pair):
            return ColumnArray(array_of(name, shape, dtype, axes, lead), (name,))
        return None
    if math.prod(shape[lead:]) > len(free):
        return None
    for stems in (STEMS, FORMER_STEMS):
        names = wide_names(Array(name, shape, dtype, (), lead), stems)
        if all(n in free and free[n].dtype == stored and not free[n].shape for n in names):
            return ColumnArray(array_of(name, shape, dtype, axes, lead), tuple(names))
    return None


def _numbered(free: Mapping[str, Column]) -> dict[str, list[Column]]:
    """Group plain columns that are called alike and numbered in full, in order, and are of one type."""
    groups: dict[str, list[Column]] = {}
    for column in free.values():
        match = _NUMBERED.fullmatch(column.name)
        if match and match[1] and (not match[3] or column.dtype in COMPLEX):
            groups.setdefault(match[1], []).append(column)
    return {
        stem: members
        for stem, members in groups.items()
        if len({column.dtype for column in members}) == 1 and _grid(column.name for column in members)[0] is not None
    }


def _grid(names: Iterable[str]) -> tuple[Any, bool]:
    """Return the shape that numbers like 0_0, 0_1, 1_0 .. count in full, and whether each has two parts."""
    matches = [_NUMBERED.fullmatch(name) for name in names]
    found = [(tuple(map(int, m[2].split("_"))), m[3]) for m in matches if m]
    last = found[-1][0]
    shape = tuple(index + 1 for index in last)
    complex_parts = bool(found[-1][1])
    endings = ("_re", "_im") if complex_parts else ("",)
    if math.prod(shape) * len(endings) != len(found):
        return None, complex_parts
    counted = [(place, ending) for place in product(*map(range, shape)) for ending in endings]
    return (shape if counted == found else None), complex_parts
