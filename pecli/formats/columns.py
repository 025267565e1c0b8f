"""Tables as rows and columns, as Parquet, Arrow and csv have them: written from arrays, and gathered again."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pecli.errors import BadParameter
from pecli.formats.deferred import pa
from pecli.formats.format import WriteOptions
from pecli.formats.io.blocks import Buffer, Task, fill, in_turn, split
from pecli.formats.layout import numbered
from pecli.formats.stored import KEY, axes_of, facts_json, safe_shape
from pecli.numbers.dtypes import COMPLEX, REAL, real_pairs, real_type
from pecli.spec.tabular import Array, Tabular, array_of

GROUP_BYTES = 8 << 20  # of values: what a reader must hold to see one row
GROUP_ROWS = 4096
SCALARS = 65_536  # rows of a group where a row is one value
STEMS = {"bias": "b"}  # of the names of single values; others have the array's own name


class TableColumns:
    """The columns of a table: those that number the rows, then its arrays.

    Attributes
    ----------
    arrays : list of Array
        Arrays of equal length.
    keys : tuple of (name, dtype)
        TableColumns that number the rows: positions, or head and query.
    """

    def __init__(self, table: Tabular, form: str) -> None:
        self.table, self.arrays = table, one_group(table, form)
        first = self.arrays[0]
        self.lead, self.rows = first.shape[: first.lead], first.rows
        self.numbered = numbered(table)
        self.kind = self.numbered[1] if self.numbered else "int64"
        names = _distinct(first.axes[: first.lead], {array.name for array in self.arrays})
        self.keys = tuple((name, self.kind if name == names[-1] else "int64") for name in names)

    def numbers(self, start: int, stop: int) -> list[NDArray[Any]]:
        """Return the key columns of rows `start` to `stop`."""
        if not self.lead:
            return []
        indices = [np.ascontiguousarray(i, np.int64) for i in np.unravel_index(np.arange(start, stop), self.lead)]
        last = indices[-1]
        if self.numbered and len(last):
            low = int(last.min())
            positions = self.table.position(low, int(last.max()) + 1)
            assert positions is not None
            indices[-1] = np.ascontiguousarray(positions[last - low], self.kind)
        elif self.arrays[0].axes[len(self.lead) - 1] == "distance":
            indices[-1] = last - (self.lead[-1] - 1) // 2  # from -(n - 1) to n - 1
        return indices

    def group_rows(self) -> int:
        """Return how many rows a group has: at most `GROUP_BYTES` of values, or one row."""
        size = sum(array.row_bytes for array in self.arrays)
        most = GROUP_ROWS if any(array.row_shape for array in self.arrays) else SCALARS
        return max(1, min(most, GROUP_BYTES // max(1, size)))


def one_group(table: Tabular, form: str) -> list[Array]:
    """Return the arrays if they share one set of rows; :class:`BadParameter` where they do not."""
    groups = table.groups()
    if len(groups) != 1 or len({array.shape[: array.lead] for array in groups[0]}) != 1:
        shapes = ", ".join(f"{a.name} {'x'.join(map(str, a.shape))}" for a in table.arrays)
        rule = f"holds arrays of equal length only, and these differ ({shapes}): use npz or hdf5 (.h5)"
        raise BadParameter("format", form, rule)
    return groups[0]


def _distinct(names: tuple[str, ...], taken: set[str]) -> list[str]:
    """Return names for the keys that no array has."""
    found: list[str] = []
    for name in names:
        while name in taken:
            name = f"{name}_index"
        taken.add(name)
        found.append(name)
    return found


def arrow_type(dtype: str) -> pa.DataType:
    """Return the Arrow type of a value that is not complex."""
    kind: pa.DataType = getattr(pa, "bool_" if dtype == "bool" else dtype)()
    return kind


def array_type(array: Array) -> pa.DataType:
    """Return the type of a column of rows: lists of fixed size, one level for each axis; complex values as pairs."""
    kind = arrow_type(real_type(array.dtype))
    for size in reversed(row_axes(array)):
        kind = pa.list_(pa.field("element", kind, nullable=False), size)
    return kind


def row_axes(array: Array) -> tuple[int, ...]:
    """Return the shape of a row, with an axis of real and imaginary part where it is complex."""
    return (*array.row_shape, 2) if array.dtype in REAL else array.row_shape


def schema(columns: TableColumns, wide: bool) -> pa.Schema:
    """Return the Arrow schema, nothing nullable, with the recipe and the shapes under the key ``pecli``."""
    fields = [pa.field(name, arrow_type(dtype), nullable=False) for name, dtype in columns.keys]
    for array in columns.arrays:
        if wide and array.row_shape:
            kind = arrow_type(real_type(array.dtype))
            fields += [pa.field(name, kind, nullable=False) for name in wide_names(array)]
        else:
            fields.append(pa.field(array.name, array_type(array), nullable=False))
    facts = facts_json(columns.table, rows=columns.rows)
    return pa.schema(fields, {KEY: facts})


def wide_names(array: Array) -> list[str]:
    """Return a name for each value of a row: pe0, pe1 .. for ``pe``, b0, b1 .. for ``bias``; _re, _im for parts."""
    if not array.row_shape and array.dtype not in REAL:
        return [array.name]
    names = [STEMS.get(array.name, array.name)]
    for level, size in enumerate(array.row_shape):
        names = [f"{name}{'_' if level else ''}{index}" for name in names for index in range(size)]
    if array.dtype in REAL:
        names = [f"{name}_{part}" for name in names for part in ("re", "im")]
    return names


def arrow_array(values: NDArray[Any], kind: pa.DataType) -> pa.Array:
    """Wrap values without a copy; ``pa.array`` would import pandas where it is installed."""
    if pa.types.is_fixed_size_list(kind):
        inner = arrow_array(values.reshape(-1, *values.shape[2:]), kind.value_type)
        return pa.FixedSizeListArray.from_buffers(kind, len(values), [None], children=[inner])
    held = np.packbits(values, bitorder="little") if values.dtype == np.bool_ else values
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(held)])


def batches(columns: TableColumns, options: WriteOptions) -> AbstractContextManager[Iterator[pa.RecordBatch]]:
    """Give the table's rows in order, as record batches of one row group each, computed ahead by threads.

    A batch is good until the next is asked for.
    """
    plan = schema(columns, options.wide)
    rows = columns.group_rows()

    def make(task: Task, buffer: Buffer) -> tuple[pa.RecordBatch, int]:
        values = fill(columns.table, task, buffer)
        return _batch(columns, plan, options.wide, task, values), sum(v.nbytes for v in values.values())

    size = rows * sum(array.row_bytes for array in columns.arrays)
    return in_turn(split(columns.arrays, rows, 0, columns.rows), make, options, size)


def _batch(
    columns: TableColumns, plan: pa.Schema, wide: bool, task: Task, values: dict[str, NDArray[Any]]
) -> pa.RecordBatch:
    numbers = columns.numbers(task.start, task.stop)
    found = [arrow_array(column, arrow_type(dtype)) for column, (_, dtype) in zip(numbers, columns.keys, strict=True)]
    for array in columns.arrays:
        rows = real_pairs(values[array.name])
        if wide and array.row_shape:
            kind = arrow_type(real_type(array.dtype))
            columns_first = np.ascontiguousarray(rows.reshape(len(rows), -1).T)
            found += [arrow_array(column, kind) for column in columns_first]
        else:
            found.append(arrow_array(rows, array_type(array)))
    return pa.RecordBatch.from_arrays(found, schema=plan)


KEYS = ("position", "head", "query", "distance")
INDEX_NAMES = ("", "Unnamed: 0", "__index_level_0__")  # of the index of pandas
MORE_LABELS = ("key", "row", "bucket", *INDEX_NAMES)
ARRAYS = {stem: name for name, stem in STEMS.items()} | {"": "array"}  # columns with a number alone
_DECIMAL = re.compile(r"-?\d+\.\d+(?:[eE]-?\d+)?(?:\.\d+)?")
_NUMBERED = re.compile(r"(.*?)(\d+(?:_\d+)*)(_re|_im|)", re.DOTALL)


def is_row(names: Sequence[str]) -> bool:
    """Whether names of columns are a row of numbers, as pandas takes the first of a file without names: 0.0, 0.0.1."""
    return len(names) > 2 and all(map(_DECIMAL.fullmatch, names))


def labels_of(names: Sequence[str]) -> list[str]:
    """Return the columns that label a row, in order: position and the like, or leading ``axis0``, ``axis1``."""
    axes = 0
    while axes < len(names) and names[axes] == f"axis{axes}":
        axes += 1
    found = [name for place, name in enumerate(names) if place < axes or name in (*KEYS, *MORE_LABELS)]
    return found if len(found) < len(names) else [name for name in names if name in KEYS]


def stem_of(name: str) -> tuple[str, bool]:
    """Return the array name in front of a column's number, and whether the column is a part of complex values."""
    match = _NUMBERED.fullmatch(name)
    return (match[1], bool(match[3])) if match else (name, False)


class Column(NamedTuple):
    """One column of a file: its name, the type of its values, and the shape of one entry."""

    name: str
    dtype: str
    shape: tuple[int, ...] = ()


class ColumnArray(NamedTuple):
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
        target = out if out.flags.c_contiguous else np.empty(out.shape, out.dtype)
        for index, name in enumerate(self.columns):
            target.reshape(len(out), len(self.columns))[:, index] = found[name]
        if target is not out:
            out[...] = target


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
    labels = labels_of([column.name for column in columns if not column.shape])
    for name in labels:
        free.pop(name, None)
    row_axis = labels[0] if labels == [KEYS[0]] else ""
    lead = (*outer, rows // math.prod(outer)) if rows % math.prod(outer) == 0 else (rows,)
    for name in [name for name, column in free.items() if column.shape]:
        column = free.pop(name)
        found.append(ColumnArray(_array(name, lead, column.shape, column.dtype, row_axis), (name,)))
    if is_row(list(free)) and len({column.dtype for column in free.values()}) == 1:
        names, dtype = tuple(free), next(iter(free.values())).dtype
        return [*found, ColumnArray(_array("array", lead, (len(names),), dtype, row_axis), names)]
    for stem, members in _numbered(free).items():
        names = tuple(column.name for column in members)
        shape, complex_parts = _grid(names)
        dtype = COMPLEX[members[0].dtype] if complex_parts else members[0].dtype
        found.append(ColumnArray(_array(ARRAYS.get(stem, stem), lead, shape, dtype, row_axis), names))
        for name in names:
            del free[name]
    return [*found, *(ColumnArray(_array(c.name, lead, (), c.dtype, row_axis), (c.name,)) for c in free.values())]


def _array(name: str, lead: tuple[int, ...], row: tuple[int, ...], dtype: str, row_axis: str) -> Array:
    shape = (*lead, *row)
    axes = [row_axis, *(f"axis{number}" for number in range(1, len(shape)))]
    return array_of(name, shape, dtype, axes, len(lead))


def _described(name: str, facts: object, free: Mapping[str, Column], rows: int) -> ColumnArray | None:
    """Return an array as the file describes it, if the columns are there and agree."""
    if not isinstance(facts, dict):
        return None
    shape, dtype, axes = safe_shape(facts.get("shape")), facts.get("dtype"), axes_of({"arrays": {name: facts}}, name)
    if shape is None or not isinstance(dtype, str):
        return None
    lead = next((lead for lead in range(len(shape) + 1) if math.prod(shape[:lead]) == rows and lead), None)
    if lead is None:
        return None
    array = array_of(name, shape, dtype, axes, lead)
    if name in free:
        names, entry = [name], row_axes(array)
    elif math.prod(shape[lead:]) > len(free):
        return None
    else:
        names, entry = wide_names(array), ()
    fits = all(n in free and (free[n].dtype, free[n].shape) == (real_type(dtype), entry) for n in names)
    return ColumnArray(array, tuple(names)) if fits else None


def _numbered(free: Mapping[str, Column]) -> dict[str, list[Column]]:
    """Group plain columns that are called alike and numbered in full, in order, and are of one type."""
    groups: dict[str, list[Column]] = {}
    for column in free.values():
        match = _NUMBERED.fullmatch(column.name)
        if match and (not match[3] or column.dtype in COMPLEX):
            groups.setdefault(match[1], []).append(column)
    return {
        stem: members
        for stem, members in groups.items()
        if len({column.dtype for column in members}) == 1 and _grid(column.name for column in members)[0] is not None
    }


def _grid(names: Iterable[str]) -> tuple[Any, bool]:
    """Return the shape that numbers like 0_0, 0_1, 1_0 .. or 1, 2, .. count in full, and whether each has two parts."""
    matches = [_NUMBERED.fullmatch(name) for name in names]
    found = [(tuple(map(int, m[2].split("_"))), m[3]) for m in matches if m]
    last, first = found[-1][0], int(found[0][0] == (1,) and len(found) > 1)  # c1, c2, .. as spreadsheets count
    shape = tuple(index + 1 - first for index in last)
    complex_parts = bool(found[-1][1])
    endings = ("_re", "_im") if complex_parts else ("",)
    if math.prod(shape) * len(endings) != len(found):
        return None, complex_parts
    places = product(*(range(first, index + 1) for index in last))
    counted = [(place, ending) for place in places for ending in endings]
    return (shape if counted == found else None), complex_parts
