"""Several tables in one file, each in a group of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pecli.spec.tabular import Array, Tabular

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Grouped(Tabular):
    """Tables side by side: array ``cos`` of the table called ``full`` is ``full/cos``.

    Parameters
    ----------
    tables : mapping of str to Tabular
        The tables, by the names of their groups.
    """

    def __init__(self, tables: Mapping[str, Tabular]) -> None:
        self.tables = dict(tables)
        self._owner = {f"{group}/{a.name}": (group, a) for group, table in tables.items() for a in table.arrays}
        self.arrays = tuple(Array(name, a.shape, a.dtype, a.axes, a.lead) for name, (_, a) in self._owner.items())
        self.recipe = None
        first = next(iter(self.tables.values()))
        recipes = {f"pecli_recipe.{group}": table.recipe or "" for group, table in tables.items()}
        self.metadata: Mapping[str, str] = {**first.metadata, **recipes}

    def groups(self, names: Any = None) -> list[list[Array]]:
        """Return the arrays grouped by table and by number of rows: a group is produced together."""
        wanted = None if names is None else set(names)

        def wants(name: str) -> bool:
            return wanted is None or name in wanted

        return [
            [self.array(f"{group}/{a.name}") for a in arrays]
            for group, table in self.tables.items()
            for arrays in table.groups([a.name for a in table.arrays if wants(f"{group}/{a.name}")])
        ]

    def position(self, start: int, stop: int) -> NDArray[Any] | None:
        """Return the positions, where all tables have the same rows."""
        rows = {table.arrays[0].rows for table in self.tables.values()}
        return next(iter(self.tables.values())).position(start, stop) if len(rows) == 1 else None

    def fill(self, start: int, stop: int, out: Mapping[str, NDArray[Any]]) -> None:
        """Write rows into `out`; see :meth:`pecli.spec.tabular.Tabular.fill`."""
        for group, table in self.tables.items():
            mine = {a.name: out[f"{group}/{a.name}"] for a in table.arrays if f"{group}/{a.name}" in out}
            if mine:
                table.fill(start, stop, mine)
