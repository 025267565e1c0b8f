"""Reading Parquet files of any origin, batch by batch."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from pecli.formats.arrow.values import describe, to_numpy
from pecli.formats.common.column_table import ColumnTable
from pecli.formats.common.columns import GROUP_BYTES, GROUP_ROWS
from pecli.formats.common.facts import KEY, parse_object
from pecli.formats.common.stored import InputFile, reading
from pecli.numbers.types import ITEM_BYTES

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq
    from numpy.typing import NDArray

LARGE_GROUP = 64 << 20  # bytes of a row group that is read through a small buffer instead of whole


class ParquetTable(ColumnTable):
    """An open Parquet file."""

    def __init__(self, source: InputFile) -> None:
        self.source, self._lock = source, threading.Lock()
        self._file = _opened(source)
        try:
            self._cursors: dict[tuple[str, ...], _Cursor] = {}
            with reading(source, "cannot be read as Parquet"):
                meta = self._file.metadata
                counts = [meta.row_group(index).num_rows for index in range(meta.num_row_groups)]
                self._starts = [0, *accumulate(counts)]
                plan = self._file.schema_arrow
                first = next(self._batches(0, [field.name for field in plan], 1), None)
                columns = [describe(source, field, first.column(i) if first else None) for i, field in enumerate(plan)]
                self._described = {column.name: column for column in columns if column is not None}
                facts = parse_object((plan.metadata or {}).get(KEY.encode(), b""))
            super().__init__(source, "parquet", list(self._described.values()), self._starts[-1], facts)
        except BaseException:
            self.close()
            raise

    def read_columns(self, names: Sequence[str], start: int, stop: int) -> dict[str, NDArray[Any]]:
        """Return entries `start` to `stop` of the named columns."""
        import numpy as np

        if start == stop:
            return {name: np.empty((0, *self._described[name].shape), self._described[name].dtype) for name in names}
        key = tuple(names)
        with self._lock, reading(self.source, "cannot be read to its end"):
            cursor = self._cursors.get(key)
            if cursor is None or start < cursor.start:
                cursor = self._cursors[key] = _Cursor(self, key, start)
            pieces = cursor.read(start, stop)
            found = {
                name: [to_numpy(self.source, self._described[name], p.column(name)) for p in pieces] for name in names
            }
        return {name: parts[0] if len(parts) == 1 else np.concatenate(parts) for name, parts in found.items()}

    def _batches(self, group: int, names: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        groups = range(group, self._file.metadata.num_row_groups)
        yield from self._file.iter_batches(rows, row_groups=list(groups), columns=list(names))

    def group_of(self, row: int) -> int:
        """Return the row group that holds a row."""
        import bisect

        return bisect.bisect_right(self._starts, row) - 1

    def close(self) -> None:
        """Close the file."""
        self._cursors = {}
        self._file.close()


class _Cursor:
    """A place in the file from which batches are read forwards; one batch is kept."""

    def __init__(self, table: ParquetTable, names: tuple[str, ...], row: int) -> None:
        group = table.group_of(row)
        self._table = table
        size = sum(math.prod(c.shape) * ITEM_BYTES[c.dtype] for c in (table._described[name] for name in names))
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
    import pyarrow.parquet as pq

    with reading(source, "cannot be opened as Parquet"):
        file = pq.ParquetFile(source.path, pre_buffer=False, page_checksum_verification=True)
        meta = file.metadata
        groups = [meta.row_group(index) for index in range(meta.num_row_groups)]
        if any(group.total_byte_size > LARGE_GROUP for group in groups):
            file.close()
            return pq.ParquetFile(source.path, pre_buffer=False, page_checksum_verification=True, buffer_size=1 << 20)
        return file
