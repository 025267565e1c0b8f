"""Parquet: one row per position, values as lists of fixed size, compressed; wide floats as byte streams."""

from __future__ import annotations

import bisect
import contextlib
import math
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any

from pecli.errors import BadParameter
from pecli.formats.arrow import BatchTable
from pecli.formats.columns import GROUP_BYTES, GROUP_ROWS, TableColumns, batches, row_axes, schema
from pecli.formats.deferred import pa, pq
from pecli.formats.format import Draft, WriteOptions
from pecli.formats.io.output import HeldOutput, Output
from pecli.formats.io.source import InputFile, reading, undone
from pecli.numbers.bounds import LARGEST_CHUNK
from pecli.numbers.dtypes import ITEM_BYTES
from pecli.spec.tabular import Tabular

RELEASE = 4  # row groups between two times that the allocator gives back what it keeps, some 20 MB
MAX_CHUNKS = 1 << 16  # pyarrow was seen to take 1.6 kB for each


def draft(table: Tabular, options: WriteOptions) -> Draft:
    """Write row group after row group."""
    columns = TableColumns(table, "parquet")
    if options.wide:
        _check_chunks(columns)
    least = sum(array.bytes for array in columns.arrays) // 2000  # biases of few values were seen at 1 : 500
    return Draft(lambda output: _write(columns, output, options), None, least)


def _check_chunks(columns: TableColumns) -> None:
    """Refuse a table whose list of column chunks, kept in memory until the end, would be too long."""
    width = sum(math.prod(row_axes(array)) for array in columns.arrays)
    chunks = width * -(-columns.rows // columns.group_rows())
    if chunks > MAX_CHUNKS:
        rule = f"would make {chunks:,} column chunks, and {MAX_CHUNKS:,} are the most: leave it out"
        raise BadParameter("wide", "true", rule)


def writer_options(plan: pa.Schema, keys: list[str]) -> dict[str, Any]:
    """Return the options of pyarrow's writer for columns of this schema.

    Statistics on the keys alone let a reader find one row among millions; on
    the values they cost and help nobody.  Dictionaries never pay for values
    that hardly repeat.
    """
    encodings = {}
    for field in plan:
        path, kind = field.name, field.type
        while hasattr(kind, "value_type"):
            path, kind = f"{path}.list.element", kind.value_type
        if field.name in keys and str(kind) == "int64":
            encodings[path] = "DELTA_BINARY_PACKED"
        elif str(kind) not in ("bool", "halffloat"):  # DuckDB reads no float16 that is split
            encodings[path] = "BYTE_STREAM_SPLIT"
    return {
        "version": "2.6",
        "compression": "zstd",
        "use_dictionary": False,
        "column_encoding": encodings,
        "write_statistics": keys,
        "write_page_index": True,
        "write_page_checksum": True,
        "store_schema": True,
    }


def _write(columns: TableColumns, output: Output, options: WriteOptions) -> None:
    plan, held = schema(columns, options.wide), HeldOutput(output)
    pool = pa.default_memory_pool()
    writer = pq.ParquetWriter(held, plan, **writer_options(plan, [name for name, _ in columns.keys]))
    with contextlib.closing(writer), batches(columns, options) as found:
        for number, batch in enumerate(found):
            writer.write_table(pa.Table.from_batches([batch]), row_group_size=batch.num_rows)
            held.release()
            if number % RELEASE == 0:
                pool.release_unused()
    held.release()


BYTES_OF_VALUE = 16  # of a list, while it is read: four times its float32, and levels
MAX_VALUES_OF_BYTE = 100  # of the file; values that are no constants are at most some
LARGE_GROUP = 64 << 20  # bytes of a row group that is read through a small buffer instead of whole


class ParquetTable(BatchTable):
    """An open Parquet file."""

    fault = "cannot be read to its end"

    def __init__(self, source: InputFile) -> None:
        super().__init__(source)
        self._file = _opened(source)
        with undone(self.close):
            self._cursors: dict[tuple[str, ...], _Cursor] = {}
            with reading(source, "cannot be read as Parquet"):
                groups, plan = _groups(self._file), self._file.schema_arrow
                self._starts = [0, *accumulate(group.num_rows for group in groups)]
                for group in groups:
                    self._check_lists(group)
                facts = self.describe(plan, next(self._batches(0, [field.name for field in plan], 1), None))
            self.gather(self._starts[-1], facts)

    def _check_lists(self, group: Any) -> None:
        """Raise for lists that a few bytes make so long that a row may take gigabytes; other columns are read in pages.

        The library takes some 16 bytes for each value of a row.
        """
        for index in range(group.num_columns):
            if not self._file.schema.column(index).max_repetition_level:
                continue
            column = group.column(index)  # of damaged statistics the library ends the process here
            if column.num_values > MAX_VALUES_OF_BYTE * column.total_compressed_size:
                size = column.num_values * BYTES_OF_VALUE
                what = f"packs {column.num_values:,} values of lists into {column.total_compressed_size:,} bytes"
                self.source.allow(size, LARGEST_CHUNK, f"{what} that take {size:,}")

    def pieces(self, names: Sequence[str], start: int, stop: int) -> list[pa.RecordBatch]:
        """Return rows `start` to `stop`."""
        key = tuple(names)
        cursor = self._cursors.get(key)
        if cursor is None or start < cursor.start:
            cursor = self._cursors[key] = _Cursor(self, key, start)
        return cursor.read(start, stop)

    def _batches(self, group: int, names: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        groups = range(group, self._file.metadata.num_row_groups)
        yield from self._file.iter_batches(rows, row_groups=list(groups), columns=list(names))

    def close(self) -> None:
        """Close the file."""
        self._cursors = {}
        super().close()


class _Cursor:
    """A place in the file from which batches are read forwards; one batch is kept."""

    def __init__(self, table: ParquetTable, names: tuple[str, ...], row: int) -> None:
        group = bisect.bisect_right(table._starts, row) - 1  # which holds the row
        self._table = table
        size = sum(math.prod(c.shape) * ITEM_BYTES[c.dtype] for c in (table._columns[name] for name in names))
        self._batches = table._batches(group, names, max(1, min(GROUP_ROWS, GROUP_BYTES // max(1, size))))
        self.start = self._next = table._starts[group]
        self._batch: pa.RecordBatch | None = None

    def read(self, start: int, stop: int) -> list[pa.RecordBatch]:
        """Return rows `start` to `stop`, which lie at or after the kept batch, in pieces."""
        pieces = []
        while True:
            if self._batch is not None and start < self._next:
                last = min(stop, self._next)
                pieces.append(self._batch.slice(start - self.start, last - start))
                start = last
            if start == stop:
                return pieces
            self.start, self._batch = self._next, next(self._batches, None)
            if self._batch is None:
                raise self._table.source.bad("holds fewer rows than it says: it is damaged; make it again")
            self._next = self.start + self._batch.num_rows


def _opened(source: InputFile) -> pq.ParquetFile:
    with reading(source, "cannot be opened as Parquet"):
        how: dict[str, Any] = {"pre_buffer": False, "page_checksum_verification": True}
        file = pq.ParquetFile(source.arrow_handle(), **how)
        if any(group.total_byte_size > LARGE_GROUP for group in _groups(file)):
            file.close()
            return pq.ParquetFile(source.arrow_handle(), **how, buffer_size=1 << 20)
        return file


def _groups(file: pq.ParquetFile) -> list[Any]:
    return [file.metadata.row_group(index) for index in range(file.metadata.num_row_groups)]
