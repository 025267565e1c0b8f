"""Some arrays of a table, seen as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pecli.tabular import Tabular

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Selection(Tabular):
    """Some of a table's arrays."""

    def __init__(self, table: Tabular, names: Sequence[str]) -> None:
        self.table, self.recipe, self.metadata = table, None, {}
        self.arrays = tuple(table.array(name) for name in names)

    def fill(self, start: int, stop: int, out: Mapping[str, NDArray[Any]]) -> None:
        """Read rows; see :meth:`pecli.tabular.Tabular.fill`."""
        self.table.fill(start, stop, out)

    def position(self, start: int, stop: int) -> NDArray[Any] | None:
        """Return the positions of rows."""
        return self.table.position(start, stop)
