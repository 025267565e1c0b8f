"""A table as rows and columns: what Parquet, Arrow and csv have in common."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pecli.declare.tabular import Array, Tabular
from pecli.errors import BadParameter
from pecli.formats.common.facts import KEY, facts_json
from pecli.formats.common.format import WriteOptions
from pecli.formats.common.places import numbered
from pecli.formats.common.pump import Buffer, Task, fill, groups, in_turn
from pecli.numbers.types import REAL, real_pairs, real_type

if TYPE_CHECKING:
    import pyarrow as pa

GROUP_BYTES = 8 << 20  # of values: what a reader must hold to see one row
GROUP_ROWS = 4096
SCALARS = 65_536  # rows of a group where a row is one value
STEMS = {"bias": "b"}  # of the names of single values; others have the array's own name
FORMER_STEMS = {"pe": "d", "bias": "b"}  # of files that earlier versions wrote


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
        self.lead = first.shape[: first.lead]
        self.numbered = numbered(table)
        self.kind = self.numbered[1] if self.numbered else "int64"
        names = _distinct(first.axes[: first.lead], {array.name for array in self.arrays})
        self.keys = tuple((name, self.kind if name == names[-1] else "int64") for name in names)

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return self.arrays[0].rows

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
    import pyarrow as pa

    names = {"float16": "float16", "float32": "float32", "float64": "float64", "bool": "bool_"}
    kind: pa.DataType = getattr(pa, names.get(dtype, dtype))()
    return kind


def array_type(array: Array) -> pa.DataType:
    """Return the type of a column of rows: lists of fixed size, one level for each axis; complex values as pairs."""
    import pyarrow as pa

    kind = arrow_type(real_type(array.dtype))
    for size in reversed(row_axes(array)):
        kind = pa.list_(pa.field("element", kind, nullable=False), size)
    return kind


def row_axes(array: Array) -> tuple[int, ...]:
    """Return the shape of a row, with an axis of real and imaginary part where it is complex."""
    return (*array.row_shape, 2) if array.dtype in REAL else array.row_shape


def schema(columns: TableColumns, wide: bool = False) -> pa.Schema:
    """Return the Arrow schema, nothing nullable, with the recipe and the shapes under the key ``pecli``."""
    import pyarrow as pa

    fields = [pa.field(name, arrow_type(dtype), nullable=False) for name, dtype in columns.keys]
    for array in columns.arrays:
        if wide and array.row_shape:
            kind = arrow_type(real_type(array.dtype))
            fields += [pa.field(name, kind, nullable=False) for name in wide_names(array)]
        else:
            fields.append(pa.field(array.name, array_type(array), nullable=False))
    facts = facts_json(columns.table, rows=columns.rows)
    return pa.schema(fields, {KEY: facts})


def wide_names(array: Array, stems: Mapping[str, str] = STEMS) -> list[str]:
    """Return a name for each value of a row: pe0, pe1 .. for ``pe``, b0, b1 .. for ``bias``; _re, _im for parts."""
    if not array.row_shape and array.dtype not in REAL:
        return [array.name]
    names = [stems.get(array.name, array.name)]
    for level, size in enumerate(array.row_shape):
        names = [f"{name}{'_' if level else ''}{index}" for name in names for index in range(size)]
    if array.dtype in REAL:
        names = [f"{name}_{part}" for name in names for part in ("re", "im")]
    return names


def arrow_array(values: NDArray[Any], kind: pa.DataType) -> pa.Array:
    """Wrap values without a copy; ``pa.array`` would import pandas where it is installed."""
    import pyarrow as pa

    if pa.types.is_fixed_size_list(kind):
        inner = arrow_array(values.reshape(-1, *values.shape[2:]), kind.value_type)
        return pa.FixedSizeListArray.from_buffers(kind, len(values), [None], children=[inner])
    if values.dtype == np.bool_:
        return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(np.packbits(values, bitorder="little"))])
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(values)])


def batches(
    columns: TableColumns, wide: bool, options: WriteOptions
) -> AbstractContextManager[Iterator[pa.RecordBatch]]:
    """Give the table's rows in order, as record batches of one row group each, computed ahead by threads.

    A batch is good until the next is asked for.
    """
    plan = schema(columns, wide)
    rows = columns.group_rows()

    def make(task: Task, buffer: Buffer) -> tuple[pa.RecordBatch, int]:
        values = fill(columns.table, task, buffer)
        return _batch(columns, plan, wide, task, values), sum(v.nbytes for v in values.values())

    size = rows * sum(array.row_bytes for array in columns.arrays)
    return in_turn(groups(columns.arrays, rows), make, options, size)


def _batch(
    columns: TableColumns, plan: pa.Schema, wide: bool, task: Task, values: dict[str, NDArray[Any]]
) -> pa.RecordBatch:
    import pyarrow as pa

    numbers = columns.numbers(task.start, task.stop)
    found = [arrow_array(column, arrow_type(dtype)) for column, (_, dtype) in zip(numbers, columns.keys, strict=True)]
    for array in columns.arrays:
        rows = real_pairs(values[array.name])
        if wide and array.row_shape:
            kind = arrow_type(real_type(array.dtype))
            turned = np.ascontiguousarray(rows.reshape(len(rows), -1).T)
            found += [arrow_array(column, kind) for column in turned]
        else:
            found.append(arrow_array(rows, array_type(array)))
    return pa.RecordBatch.from_arrays(found, schema=plan)
