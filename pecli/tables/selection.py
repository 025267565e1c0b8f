"""Some arrays of a table, or arrays in memory, seen as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pecli.declare.tabular import Array, Tabular

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Selection(Tabular):
    """Some of a table's arrays."""

    def __init__(self, table: Tabular, names: Sequence[str]) -> None:
        self.table, self.recipe, self.metadata = table, None, {}
        self.arrays = tuple(table.array(name) for name in names)

    def fill(self, start: int, stop: int, out: Mapping[str, NDArray[Any]]) -> None:
        """Read rows; see :meth:`pecli.declare.tabular.Tabular.fill`."""
        self.table.fill(start, stop, out)

    def position(self, start: int, stop: int) -> NDArray[Any] | None:
        """Return the positions of rows."""
        return self.table.position(start, stop)


class InMemory(Tabular):
    """Arrays in memory, (n, columns) float64."""

    def __init__(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self.values = dict(arrays)
        self.recipe, self.metadata = None, {}
        self.arrays = tuple(Array(n, v.shape, "float64", ("position", "channel")[: v.ndim]) for n, v in arrays.items())

    def fill(self, start: int, stop: int, out: Mapping[str, NDArray[Any]]) -> None:
        """Write rows; see :meth:`pecli.declare.tabular.Tabular.fill`."""
        for name, target in out.items():
            target[...] = self.values[name][start:stop]
