"""Arrow: the columns of Parquet as they lie in memory; a file on the disk, a stream in a pipe.

The recipe is JSON under the key ``pecli`` of the schema's metadata.
"""

from __future__ import annotations

import bisect
import contextlib
import struct
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pecli.formats.columns import INDEX_NAMES, KEYS, Column, TableColumns, batches, gather, is_row, labels_of, schema
from pecli.formats.deferred import pa
from pecli.formats.format import Draft, WriteOptions
from pecli.formats.io.output import HeldOutput, Output
from pecli.formats.io.source import InputFile, RawFile, reading, undone
from pecli.formats.stored import KEY, StoredTable, parse_object, texts
from pecli.numbers.bounds import LARGEST_CHUNK
from pecli.numbers.dtypes import ITEM_BYTES
from pecli.spec.tabular import Tabular


def draft(table: Tabular, options: WriteOptions) -> Draft:
    """Write record batch after record batch."""
    columns = TableColumns(table, "arrow")
    size = sum(array.bytes for array in columns.arrays)
    return Draft(lambda output: _write(columns, output, options), None, size // 2000 if options.compress else size)


def _write(columns: TableColumns, output: Output, options: WriteOptions) -> None:
    plan, held = schema(columns, wide=False), HeldOutput(output)
    how = pa.ipc.IpcWriteOptions(compression="zstd" if options.compress else None)
    new = pa.ipc.new_file if output.kept else pa.ipc.new_stream
    with new(held, plan, options=how) as writer, batches(columns, options) as found:
        for batch in found:
            writer.write_batch(batch)
            held.release()
    held.release()


_NAMES = {"halffloat": "float16", "float": "float32", "double": "float64"}


def value_type(kind: pa.DataType) -> str | None:
    """Return pecli's name of a plain Arrow type, None for a type that is not numeric."""
    name = _NAMES.get(str(kind), str(kind))
    return name if name in ITEM_BYTES else None


def describe(source: InputFile, field: pa.Field, first: pa.Array | None) -> Column | None:
    """Describe a column; lists of no fixed size are as long as their first one. None for what holds no numbers."""
    kind, shape = field.type, []
    if hasattr(kind, "storage_type"):
        kind, first = kind.storage_type, first.storage if first is not None else None
    while pa.types.is_fixed_size_list(kind) or pa.types.is_list(kind) or pa.types.is_large_list(kind):
        if pa.types.is_fixed_size_list(kind):
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
    """Return the entries of a column as an array (n, *shape).

    A missing float is NaN, as pandas writes NaN; missing positions, integers and lists of unequal length are refused.
    """
    if hasattr(values, "storage"):
        values = values.storage
    count = len(values)
    for size in column.shape:
        if values.null_count:
            raise _nulls(source, column)
        if not pa.types.is_fixed_size_list(values.type):
            lengths = np.unique(np.diff(numbers(values.offsets)))
            if len(values) and (len(lengths) != 1 or lengths[0] != size):
                raise source.bad(f"has lists of unequal length in the column '{column.name}': {size} and others")
        values = values.flatten()
    if values.null_count and (column.name in KEYS or np.dtype(column.dtype).kind != "f"):
        raise _nulls(source, column)
    return with_gaps(values).reshape(count, *column.shape)


def _nulls(source: InputFile, column: Column) -> Exception:
    return source.bad(f"has missing values in the column '{column.name}': fill them first")


def numbers(values: pa.Array) -> NDArray[Any]:
    """Return a plain array without nulls, sharing its memory."""
    dtype = value_type(values.type)
    data = values.buffers()[1]
    if dtype == "bool":
        bits = np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little")
        return bits[values.offset : values.offset + len(values)].view(np.bool_)
    if not len(values):
        return np.empty(0, dtype)
    return np.frombuffer(data, dtype, len(values), values.offset * ITEM_BYTES[str(dtype)])


def with_gaps(values: pa.Array) -> NDArray[Any]:
    """Return numbers as a plain array, where missing ones are NaN; integers with missing ones are float64."""
    found = numbers(values)
    if not values.null_count:
        return found
    valid = np.unpackbits(np.frombuffer(values.buffers()[0], np.uint8), bitorder="little")
    found = found.astype(found.dtype if found.dtype.kind == "f" else np.float64)
    found[valid[values.offset : values.offset + len(values)] == 0] = np.nan
    return found


class BatchTable(StoredTable):
    """A table whose arrays are gathered from columns in record batches; they are read together, forwards.

    A subclass gives `pieces`, and `fault`, what is said where reading fails.
    """

    sequential = True
    fault = "cannot be read"
    numbered: tuple[str, ...] = ()  # ("",) where the first column counts rows from 1, or positions, without a name

    def __init__(self, source: InputFile) -> None:
        self.source, self._lock = source, threading.Lock()
        self._columns: dict[str, Column] = {}

    def pieces(self, names: Sequence[str], start: int, stop: int) -> Iterable[pa.RecordBatch]:
        """Return rows `start` to `stop` (at least one) of the named columns in batches; one thread asks at a time."""
        raise NotImplementedError

    def describe(self, schema: pa.Schema, first: pa.RecordBatch | None) -> dict[str, Any]:
        """Take the columns from the schema and a first batch, and return the facts in the schema's metadata."""
        found = [describe(self.source, f, first.column(i) if first else None) for i, f in enumerate(schema)]
        self._columns = {column.name: column for column in found if column is not None}
        return parse_object((schema.metadata or {}).get(KEY.encode(), b""))

    def gather(self, rows: int, facts: dict[str, Any]) -> None:
        """Find the arrays that the columns make."""
        described, metadata = facts.get("arrays"), texts(facts)
        known = described if isinstance(described, dict) else {}
        found = gather(list(self._columns.values()), rows, known, self._outer(rows))
        self._gathered = {one.array.name: one for one in found}
        used = {name for one in found for name in one.columns}
        self.names_are_numbers = is_row(list(self._columns))
        labels = (name for name in self._columns if name in INDEX_NAMES and name not in used)
        self.row_labels = (*self.numbered, *labels)
        super().__init__(self.source, [one.array for one in found], metadata.pop("recipe", None), metadata)

    def read_batches(self, names: Sequence[str], start: int, stop: int) -> list[dict[str, NDArray[Any]]]:
        """Return entries `start` to `stop` of the named columns, batch by batch."""
        with self._lock, reading(self.source, self.fault):
            batches = self.pieces(names, start, stop) if start < stop else ()
            return [{n: to_numpy(self.source, self._columns[n], b.column(n)) for n in names} for b in batches]

    @property
    def plain_columns(self) -> dict[str, str]:
        """Names and types of the columns that hold a number in each row and are no labels, in the order of the file."""
        labels = {*labels_of(list(self._columns))}
        return {n: column.dtype for n, column in self._columns.items() if n not in labels and not column.shape}

    def read_columns(self, names: Sequence[str]) -> list[NDArray[Any]]:
        """Return all entries of some columns."""
        parts = self.read_batches(names, 0, self.arrays[0].rows)
        return [np.concatenate([part[name] for part in parts]) for name in names]

    def read_column(self, name: str, start: int, stop: int) -> NDArray[Any]:
        """Return entries `start` to `stop` of one column."""
        column, parts = self._columns[name], self.read_batches([name], start, stop)
        return np.concatenate([np.empty((0, *column.shape), column.dtype), *(part[name] for part in parts)])

    def fill(self, start: int, stop: int, out: Mapping[str, NDArray[Any]]) -> None:
        """Read rows; see :meth:`pecli.spec.tabular.Tabular.fill`."""
        names = [column for name in out for column in self._gathered[name].columns]
        at = 0
        for found in self.read_batches(names, start, stop):
            end = at + len(found[names[0]])
            for name, values in out.items():
                self._gathered[name].fill(found, values[at:end])
            at = end

    def position(self, start: int, stop: int) -> NDArray[Any] | None:
        """Return positions; see :meth:`pecli.spec.tabular.Tabular.position`."""
        for name in ("position", "query"):
            if name in self._columns and not self._columns[name].shape:
                values = self.read_column(name, start, stop)
                return values.astype("float64" if values.dtype.kind == "f" else "int64")
        return None

    def _outer(self, rows: int) -> tuple[int, ...]:
        """Return the sizes of the axes that number the rows, but for the last: they count from 0, the last need not."""
        names = labels_of([name for name, column in self._columns.items() if not column.shape])[:-1]
        if not rows or any(name != "head" and not name.startswith("axis") for name in names):
            return ()
        if any(self._columns[name].dtype != "int64" for name in names):
            return ()
        sizes = tuple(int(self.read_column(name, rows - 1, rows)[0]) + 1 for name in names)
        return sizes if all(size > 0 for size in sizes) else ()


MAGIC, MARK = b"ARROW1", 0xFFFFFFFF  # of a file, and of a message
DICTIONARY, BATCH = 2, 3  # kinds of messages
BODY, ROWS, BUFFERS, COMPRESSION = 3, 0, 2, 3  # places of fields in Message.fbs


class StoredBatch(NamedTuple):
    """A record batch: where its message begins, its rows, and the bytes that its compressed parts inflate to."""

    offset: int
    rows: int
    inflated: int


class Flat:
    """A table of FlatBuffers at a place of a message: fields are found through a list of their offsets."""

    def __init__(self, data: bytes, at: int) -> None:
        self._data, self._at = data, at
        self._fields = at - self.read("<i", at)

    def read(self, form: str, at: int) -> int:
        """Return the number at a place of the message."""
        if at < 0:
            raise ValueError("an offset leads out of the message")
        return int(struct.unpack_from(form, self._data, at)[0])

    def place(self, field: int) -> int:
        """Return where a field lies; 0 where it is left out."""
        known = 4 + 2 * field < self.read("<H", self._fields)
        offset = self.read("<H", self._fields + 4 + 2 * field) if known else 0
        return self._at + offset if offset else 0

    def number(self, field: int, form: str = "<q") -> int:
        """Return a number, 0 where it is left out."""
        at = self.place(field)
        return self.read(form, at) if at else 0

    def table(self, field: int) -> Flat | None:
        """Return a table in this one, if there is one."""
        at = self.place(field)
        return Flat(self._data, at + self.read("<I", at)) if at else None

    def pairs(self, field: int) -> list[tuple[int, int]]:
        """Return the entries of a list of two numbers each."""
        if not (at := self.place(field)):
            return []
        at += self.read("<I", at)
        return list(struct.iter_unpack("<qq", self._data[at + 4 : at + 4 + 16 * self.read("<I", at)]))


def places(file: RawFile) -> Iterator[StoredBatch]:
    """Yield the record batches of a stream, or of a file, which holds a stream behind its magic.

    Raises
    ------
    ValueError, struct.error
        If the bytes are neither.
    """
    at, after = -1, len(MAGIC) + 2 if file.source.head.startswith(MAGIC) else 0
    while at < after < file.source.size:
        at = after
        place, after = _message(file, at)
        if place is not None:
            yield place


def _message(file: RawFile, at: int) -> tuple[StoredBatch | None, int]:
    """Return the batch in a message, and where the next message begins; the same place at the end of a stream."""
    first, second = struct.unpack("<Ii", file.read(at, 8))
    start, length = (at + 8, second) if first == MARK else (at + 4, first)
    if not length:
        return None, at
    message = file.read(start, length)
    about = Flat(message, struct.unpack_from("<I", message)[0])
    body, after = start + length, start + length + about.number(BODY)
    kind, batch = about.number(1, "<B"), about.table(2)
    if kind == DICTIONARY:
        raise ValueError("dictionaries are not numbers")
    if kind != BATCH or batch is None or not body <= after <= file.source.size:
        if after < body or after > file.source.size:
            raise file.source.bad("ends early: it is truncated; make it again")
        return None, after
    inflated = 0
    if batch.table(COMPRESSION) is not None:  # each buffer begins with its length, -1 where it is as it was
        for offset, size in batch.pairs(BUFFERS):
            inflated += max(0, struct.unpack("<q", file.read(body + offset, 8))[0]) if size else 0
    return StoredBatch(at, batch.number(ROWS), inflated), after


class ArrowTable(BatchTable):
    """An open Arrow file or stream; where its record batches lie is found on opening."""

    fault = "cannot be read as Arrow"

    def __init__(self, source: InputFile) -> None:
        super().__init__(source)
        self._kept: tuple[int, pa.RecordBatch | None] = (-1, None)
        with reading(source, self.fault):
            handle = source.arrow_handle()
            if isinstance(handle, str):
                handle = pa.OSFile(handle)
            self._file = handle if isinstance(handle, pa.NativeFile) else pa.PythonFile(handle, "r")
        with undone(self.close):
            with reading(source, self.fault):
                with contextlib.closing(RawFile(source)) as file:
                    self._places = list(places(file))
                is_file = source.head.startswith(MAGIC)
                self._schema = (pa.ipc.open_file if is_file else pa.ipc.open_stream)(self._file).schema
                self._starts = [0, *accumulate(place.rows for place in self._places)]
                rows = self._starts[-1]
                first = self._batch(bisect.bisect_right(self._starts, 0) - 1) if rows else None
                facts = self.describe(self._schema, first)
            if facts.get("rows", rows) != rows:  # a stream that is cut between two batches reads as a shorter one
                raise source.bad(f"says {facts['rows']} rows and holds {rows}: it is truncated; make it again")
            self.gather(rows, facts)

    def pieces(self, names: Sequence[str], start: int, stop: int) -> Iterator[pa.RecordBatch]:
        """Yield rows `start` to `stop`."""
        while start < stop:
            index = bisect.bisect_right(self._starts, start) - 1
            first, last = self._starts[index], min(stop, self._starts[index + 1])
            yield self._batch(index).slice(start - first, last - start)
            start = last

    def _batch(self, index: int) -> pa.RecordBatch:
        if self._kept[0] != index:
            place = self._places[index]
            what = f"has a record batch that inflates to {place.inflated:,} bytes"
            self.source.allow(place.inflated, LARGEST_CHUNK, what)
            self._kept = -1, None  # before another takes its room
            self._file.seek(place.offset)
            batch = pa.ipc.read_record_batch(pa.ipc.read_message(self._file), self._schema)
            batch.validate(full=True)  # lengths and offsets, which are not checked on reading
            self._kept = index, batch
        return self._kept[1]

    def close(self) -> None:
        """Close the file."""
        self._kept = -1, None
        super().close()
