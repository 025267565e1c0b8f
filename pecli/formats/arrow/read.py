"""Reading Arrow's inter-process format, files and streams of any origin."""

from __future__ import annotations

import bisect
import contextlib
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

from pecli.formats.arrow.batches import BatchTable
from pecli.formats.arrow.messages import MAGIC, places
from pecli.formats.common.input import InputFile, RawFile, reading, undone
from pecli.numbers.limits import limit, size_text

if TYPE_CHECKING:
    import pyarrow as pa


LARGEST_BATCH = 256 << 20  # bytes of the compressed parts of one, which pyarrow inflates together


class ArrowTable(BatchTable):
    """An open Arrow file or stream; where its record batches lie is found on opening."""

    fault = "cannot be read as Arrow"

    def __init__(self, source: InputFile) -> None:
        import pyarrow as pa

        super().__init__(source)
        self._kept: tuple[int, pa.RecordBatch | None] = (-1, None)
        with reading(source, self.fault):
            self._file = pa.OSFile(source.path) if source.remote is None else pa.PythonFile(source.handle(), "r")
        with undone(self.close):
            with reading(source, self.fault):
                with contextlib.closing(RawFile(source)) as file:
                    self._places = places(file)
                is_file = source.head.startswith(MAGIC)
                self._schema = (pa.ipc.open_file if is_file else pa.ipc.open_stream)(self._file).schema
                self._starts = [0, *accumulate(place.rows for place in self._places)]
                rows = self._starts[-1]
                first = self._batch(bisect.bisect_right(self._starts, 0) - 1) if rows else None
                facts = self.describe(self._schema, first)
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
            import pyarrow as pa

            place = self._places[index]
            if place.inflated > limit(LARGEST_BATCH):
                rule = f"has a record batch that inflates to {place.inflated:,} bytes, of which"
                raise self.source.bad(f"{rule} {size_text(limit(LARGEST_BATCH))}")
            self._kept = -1, None  # before another takes its room
            self._file.seek(place.offset)
            batch = pa.ipc.read_record_batch(pa.ipc.read_message(self._file), self._schema)
            batch.validate(full=True)  # lengths and offsets, which are not checked on reading
            self._kept = index, batch
        return self._kept[1]

    def close(self) -> None:
        """Close the file."""
        self._kept = -1, None
        self._file.close()
