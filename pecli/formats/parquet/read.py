"""Reading Parquet files of any origin, batch by batch."""

from __future__ import annotations

import bisect
import math
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

from pecli.formats.arrow.batches import BatchTable
from pecli.formats.common.columns import GROUP_BYTES, GROUP_ROWS
from pecli.formats.common.input import InputFile, reading, undone
from pecli.numbers.types import ITEM_BYTES

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

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
                meta = self._file.metadata
                counts = [meta.row_group(index).num_rows for index in range(meta.num_row_groups)]
                self._starts = [0, *accumulate(counts)]
                plan = self._file.schema_arrow
                facts = self.describe(plan, next(self._batches(0, [field.name for field in plan], 1), None))
            self.gather("parquet", self._starts[-1], facts)

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
        self._file.close()


class _Cursor:
    """A place in the file from which batches are read forwards; one batch is kept."""

    def __init__(self, table: ParquetTable, names: tuple[str, ...], row: int) -> None:
        group = bisect.bisect_right(table._starts, row) - 1  # which holds the row
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
        file = pq.ParquetFile(source.handle(), pre_buffer=False, page_checksum_verification=True)
        meta = file.metadata
        groups = [meta.row_group(index) for index in range(meta.num_row_groups)]
        if any(group.total_byte_size > LARGE_GROUP for group in groups):
            file.close()
            return pq.ParquetFile(
                source.handle(), pre_buffer=False, page_checksum_verification=True, buffer_size=1 << 20
            )
        return file
