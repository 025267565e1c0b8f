"""From Arrow's columns to NumPy's arrays, without pandas and without trust."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pecli.formats.common.gathered import Column
from pecli.formats.common.input import InputFile
from pecli.numbers.types import ITEM_BYTES

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

_NAMES = {"halffloat": "float16", "float": "float32", "double": "float64"}


def value_type(kind: pa.DataType) -> str | None:
    """Return pecli's name of a plain Arrow type, None for what is no number."""
    name = _NAMES.get(str(kind), str(kind))
    return name if name in ITEM_BYTES else None


def describe(source: InputFile, field: pa.Field, first: pa.Array | None) -> Column | None:
    """Describe a column; lists of no fixed size are as long as their first one. None for what holds no numbers."""
    import pyarrow.types as types

    kind, shape = field.type, []
    if hasattr(kind, "storage_type"):
        kind, first = kind.storage_type, first.storage if first is not None else None
    while types.is_fixed_size_list(kind) or types.is_list(kind) or types.is_large_list(kind):
        if types.is_fixed_size_list(kind):
            shape.append(kind.list_size)
        elif first is None or not len(first) or first[0].as_py() is None:
            raise source.bad(f"has an empty list in the column '{field.name}', where its width should show")
        else:
            shape.append(len(first[0]))
        first = first.flatten() if first is not None else None
        kind = kind.value_type
    dtype = value_type(kind)
    return None if dtype is None else Column(field.name, dtype, tuple(shape))


def to_numpy(source: InputFile, column: Column, values: pa.Array) -> NDArray[Any]:
    """Return the entries of a column as an array (n, *shape); lists of unequal length and nulls are refused."""
    import numpy as np
    import pyarrow.types as types

    if hasattr(values, "storage"):
        values = values.storage
    count = len(values)
    for size in column.shape:
        if values.null_count:
            raise _nulls(source, column)
        if not types.is_fixed_size_list(values.type):
            lengths = np.unique(np.diff(_numbers(values.offsets)))
            if len(values) and (len(lengths) != 1 or lengths[0] != size):
                raise source.bad(f"has lists of unequal length in the column '{column.name}': {size} and others")
        values = values.flatten()
    if values.null_count:
        raise _nulls(source, column)
    return _numbers(values).reshape(count, *column.shape)


def _nulls(source: InputFile, column: Column) -> Exception:
    return source.bad(f"has missing values in the column '{column.name}': fill them first")


def _numbers(values: pa.Array) -> NDArray[Any]:
    """Return a plain array without nulls, sharing its memory."""
    import numpy as np

    dtype = value_type(values.type)
    data = values.buffers()[1]
    if dtype == "bool":
        bits = np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little")
        return bits[values.offset : values.offset + len(values)].view(np.bool_)
    if not len(values):
        return np.empty(0, dtype)
    return np.frombuffer(data, dtype, len(values), values.offset * ITEM_BYTES[str(dtype)])
