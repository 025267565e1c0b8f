"""What files of rows and columns share when they are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.formats.common.facts import texts
from pecli.formats.common.gathered import Column, gather, labels_of
from pecli.formats.common.input import InputFile
from pecli.formats.common.stored import StoredTable


class ColumnTable(StoredTable):
    """A table whose arrays are gathered from columns; they are read together, forwards.

    A subclass gives `read_columns`.
    """

    sequential = True

    def __init__(
        self, source: InputFile, form: str, columns: Sequence[Column], rows: int, facts: Mapping[str, Any]
    ) -> None:
        self._gather(columns, rows, facts.get("arrays"))
        metadata = texts(facts)
        recipe = metadata.pop("recipe", None)
        super().__init__(source, form, [found.array for found in self._gathered.values()], recipe, metadata)

    def _gather(self, columns: Sequence[Column], rows: int, described: object = None) -> None:
        self._columns = {column.name: column for column in columns}
        known = described if isinstance(described, dict) else {}
        self._gathered = {found.array.name: found for found in gather(columns, rows, known, self._outer(rows))}

    def read_columns(self, names: Sequence[str], start: int, stop: int) -> dict[str, NDArray[Any]]:
        """Return entries `start` to `stop` of the named columns."""
        raise NotImplementedError

    def fill(self, start: int, stop: int, out: Mapping[str, NDArray[Any]]) -> None:
        """Read rows; see :meth:`pecli.declare.tabular.Tabular.fill`."""
        names = [column for name in out for column in self._gathered[name].columns]
        found = self.read_columns(names, start, stop)
        for name, values in out.items():
            self._gathered[name].fill(found, values)

    def position(self, start: int, stop: int) -> NDArray[Any] | None:
        """Return positions; see :meth:`pecli.declare.tabular.Tabular.position`."""
        name = next(
            (key for key in ("position", "query") if key in self._columns and not self._columns[key].shape), None
        )
        if name is None:
            return None
        values = self.read_columns([name], start, stop)[name]
        return values.astype(np.float64 if values.dtype.kind == "f" else np.int64)

    def _outer(self, rows: int) -> tuple[int, ...]:
        """Return the sizes of the axes that number the rows, but for the last: they count from 0, the last need not."""
        names = labels_of([name for name, column in self._columns.items() if not column.shape])[:-1]
        if not rows or any(name != "head" and not name.startswith("axis") for name in names):
            return ()
        if any(self._columns[name].dtype != "int64" for name in names):
            return ()
        last = self.read_columns(names, rows - 1, rows) if names else {}
        sizes = tuple(int(last[name][0]) + 1 for name in names)
        return sizes if all(size > 0 for size in sizes) else ()
