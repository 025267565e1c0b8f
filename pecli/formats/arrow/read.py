"""Reading Arrow's inter-process format, files and streams of any origin."""

from __future__ import annotations

import bisect
import threading
from collections.abc import Sequence
from contextlib import AbstractContextManager
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from pecli.formats.arrow.values import describe, to_numpy
from pecli.formats.common.column_table import ColumnTable
from pecli.formats.common.facts import KEY, parse_object
from pecli.formats.common.gathered import Column
from pecli.formats.common.stored import InputFile, reading

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray


class ArrowTable(ColumnTable):
    """An open Arrow file or stream; where the batches of a stream begin is found on opening."""

    def __init__(self, source: InputFile) -> None:
        import pyarrow as pa

        self.source, self._lock = source, threading.Lock()
        self._kept: tuple[int, pa.RecordBatch | None] = (-1, None)
        with self._reading():
            self._file = pa.OSFile(source.path)
        try:
            with self._reading():
                is_file = source.head.startswith(b"ARROW1")
                self._batches: _FileBatches | _StreamBatches = (_FileBatches if is_file else _StreamBatches)(self._file)
                self._starts = [0, *accumulate(self._batches.counts)]
                facts = parse_object((self._batches.schema.metadata or {}).get(KEY.encode(), b""))
            rows = self._starts[-1]
            if facts.get("rows", rows) != rows:  # a stream that is cut between two batches reads as a shorter one
                raise source.bad(f"says {facts['rows']} rows and holds {rows}: it is truncated; make it again")
            with self._reading():
                self._described = self._describe(source, rows)
            super().__init__(source, "arrow", list(self._described.values()), rows, facts)
        except BaseException:
            self.close()
            raise

    def _describe(self, source: InputFile, rows: int) -> dict[str, Column]:
        first = self._batch(bisect.bisect_right(self._starts, 0) - 1) if rows else None
        found = [describe(source, f, first.column(i) if first else None) for i, f in enumerate(self._batches.schema)]
        return {column.name: column for column in found if column is not None}

    def read_columns(self, names: Sequence[str], start: int, stop: int) -> dict[str, NDArray[Any]]:
        """Return entries `start` to `stop` of the named columns."""
        import numpy as np

        pieces: dict[str, list[NDArray[Any]]] = {
            name: [np.empty((0, *self._described[name].shape), self._described[name].dtype)] for name in names
        }
        with self._lock, self._reading():
            while start < stop:
                index = bisect.bisect_right(self._starts, start) - 1
                first, last = self._starts[index], min(stop, self._starts[index + 1])
                batch = self._batch(index).slice(start - first, last - start)
                for name in names:
                    pieces[name].append(to_numpy(self.source, self._described[name], batch.column(name)))
                start = last
        return {name: found[-1] if len(found) < 3 else np.concatenate(found) for name, found in pieces.items()}

    def _batch(self, index: int) -> pa.RecordBatch:
        if self._kept[0] != index:
            batch = self._batches.read(index)
            batch.validate(full=True)  # lengths and offsets, which are not checked on reading
            self._kept = index, batch
        return self._kept[1]

    def _reading(self) -> AbstractContextManager[None]:
        return reading(self.source, "cannot be read as Arrow")

    def close(self) -> None:
        """Close the file."""
        self._kept = -1, None
        self._file.close()


class _FileBatches:
    """The batches of a file, by its footer."""

    def __init__(self, file: pa.OSFile) -> None:
        import pyarrow as pa

        self._reader = pa.ipc.open_file(file)
        self.schema: pa.Schema = self._reader.schema
        # Of one column only, since all that is wanted is how many rows each batch has.
        narrow = pa.ipc.open_file(file, options=pa.ipc.IpcReadOptions(included_fields=[0]))
        self.counts = [narrow.get_batch(index).num_rows for index in range(narrow.num_record_batches)]

    def read(self, index: int) -> pa.RecordBatch:
        return self._reader.get_batch(index)


class _StreamBatches:
    """The batches of a stream, found by reading it once."""

    def __init__(self, file: pa.OSFile) -> None:
        import pyarrow as pa

        self._file = file
        self.schema: pa.Schema = pa.ipc.read_schema(pa.ipc.read_message(file))
        self._places: list[int] = []
        self.counts: list[int] = []
        place = file.tell()
        for message in pa.ipc.MessageReader.open_stream(file):
            if message.type != "record batch":
                raise ValueError("dictionaries are not numbers")
            self._places.append(place)
            self.counts.append(pa.ipc.read_record_batch(message, self.schema).num_rows)
            place = file.tell()

    def read(self, index: int) -> pa.RecordBatch:
        import pyarrow as pa

        self._file.seek(self._places[index])
        return pa.ipc.read_record_batch(pa.ipc.read_message(self._file), self.schema)
