"""What Arrow and Parquet have in common when they are read: rows that come in record batches."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from pecli.formats.arrow.values import describe, to_numpy
from pecli.formats.common.column_table import ColumnTable
from pecli.formats.common.facts import KEY, parse_object
from pecli.formats.common.gathered import Column
from pecli.formats.common.input import InputFile, reading

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray


class BatchTable(ColumnTable):
    """A table of columns in record batches.

    A subclass gives `pieces`, and `fault`, what is said where reading fails.
    """

    fault = "cannot be read"

    def __init__(self, source: InputFile) -> None:
        self.source, self._lock = source, threading.Lock()
        self._described: dict[str, Column] = {}

    def pieces(self, names: Sequence[str], start: int, stop: int) -> Iterable[pa.RecordBatch]:
        """Return rows `start` to `stop` (at least one) of the named columns in batches; one thread asks at a time."""
        raise NotImplementedError

    def describe(self, schema: pa.Schema, first: pa.RecordBatch | None) -> dict[str, Any]:
        """Take the columns from the schema and a first batch, and return the facts that stand with it."""
        found = [describe(self.source, f, first.column(i) if first else None) for i, f in enumerate(schema)]
        self._described = {column.name: column for column in found if column is not None}
        return parse_object((schema.metadata or {}).get(KEY.encode(), b""))

    def gather(self, form: str, rows: int, facts: dict[str, Any]) -> None:
        """Find the arrays that the columns make."""
        super().__init__(self.source, form, list(self._described.values()), rows, facts)

    def read_columns(self, names: Sequence[str], start: int, stop: int) -> dict[str, NDArray[Any]]:
        """Return entries `start` to `stop` of the named columns."""
        import numpy as np

        with self._lock, reading(self.source, self.fault):
            batches = list(self.pieces(names, start, stop)) if start < stop else []
            found = {n: [to_numpy(self.source, self._described[n], b.column(n)) for b in batches] for n in names}
        for name in names:
            if not found[name]:
                found[name].append(np.empty((0, *self._described[name].shape), self._described[name].dtype))
        return {name: parts[0] if len(parts) == 1 else np.concatenate(parts) for name, parts in found.items()}
