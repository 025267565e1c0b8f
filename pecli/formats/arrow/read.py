"""Reading Arrow's inter-process format, files and streams of any origin."""

from __future__ import annotations

import bisect
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

from pecli.formats.arrow.batches import BatchTable
from pecli.formats.common.input import InputFile, reading, undone

if TYPE_CHECKING:
    import pyarrow as pa


class ArrowTable(BatchTable):
    """An open Arrow file or stream; where the batches of a stream begin is found on opening."""

    fault = "cannot be read as Arrow"

    def __init__(self, source: InputFile) -> None:
        import pyarrow as pa

        super().__init__(source)
        self._kept: tuple[int, pa.RecordBatch | None] = (-1, None)
        with reading(source, self.fault):
            self._file = pa.OSFile(source.path)
        with undone(self.close):
            with reading(source, self.fault):
                is_file = source.head.startswith(b"ARROW1")
                self._batches: _FileBatches | _StreamBatches = (_FileBatches if is_file else _StreamBatches)(self._file)
                self._starts = [0, *accumulate(self._batches.counts)]
                rows = self._starts[-1]
                first = self._batch(bisect.bisect_right(self._starts, 0) - 1) if rows else None
                facts = self.describe(self._batches.schema, first)
            if facts.get("rows", rows) != rows:  # a stream that is cut between two batches reads as a shorter one
                raise source.bad(f"says {facts['rows']} rows and holds {rows}: it is truncated; make it again")
            self.gather("arrow", rows, facts)

    def pieces(self, names: Sequence[str], start: int, stop: int) -> Iterator[pa.RecordBatch]:
        """Yield rows `start` to `stop`."""
        while start < stop:
            index = bisect.bisect_right(self._starts, start) - 1
            first, last = self._starts[index], min(stop, self._starts[index + 1])
            yield self._batch(index).slice(start - first, last - start)
            start = last

    def _batch(self, index: int) -> pa.RecordBatch:
        if self._kept[0] != index:
            batch = self._batches.read(index)
            batch.validate(full=True)  # lengths and offsets, which are not checked on reading
            self._kept = index, batch
        return self._kept[1]

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
