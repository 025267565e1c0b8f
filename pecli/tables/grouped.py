"""Several tables as one: their arrays under names of their own, or each table in a group of a file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pecli.spec.tabular import Array, Tabular

if TYPE_CHECKING:
    from numpy.typing import NDArray


class ConcatTable(Tabular):
    """The arrays of several tables, under names of their own.

    Parameters
    ----------
    parts : sequence of (name, table, name in the table)
        In the order of the output.
    metadata : mapping, optional
        What a file of them says.
    numbered : Tabular, optional
        The table whose positions number the rows.
    """

    def __init__(
        self, parts: Sequence[tuple[str, Tabular, str]], metadata: Mapping[str, str] | None = None,
        numbered: Tabular | None = None,
    ) -> None:  # fmt: skip
        self.parts = {name: (table, own) for name, table, own in parts}
        self.arrays = tuple(replace(table.array(own), name=name) for name, table, own in parts)
        self.sequential = any(getattr(table, "sequential", False) for _, table, _ in parts)
        self.recipe, self.metadata, self.numbered = None, metadata or {}, numbered

    def fill(self, start: int, stop: int, out: Mapping[str, NDArray[Any]]) -> None:
        """Write rows, grouped by table; see :meth:`pecli.spec.tabular.Tabular.fill`."""
        for table in {id(self.parts[name][0]): self.parts[name][0] for name in out}.values():
            table.fill(start, stop, {self.parts[name][1]: o for name, o in out.items() if self.parts[name][0] is table})

    def read_rows(self, names: Iterable[str], start: int, stop: int) -> dict[str, NDArray[Any]]:
        """Return rows, as each table reads its own."""
        found = {}
        for name in names:
            table, own = self.parts[self.array(name).name]
            found[name] = table.read_rows([own], start, stop)[own]
        return found

    def position(self, start: int, stop: int) -> NDArray[Any] | None:
        """Return the positions of the table that numbers the rows."""
        return None if self.numbered is None else self.numbered.position(start, stop)


class Grouped(ConcatTable):
    """Tables side by side: array ``cos`` of the table called ``full`` is ``full/cos``.

    Parameters
    ----------
    tables : mapping of str to Tabular
        The tables, by the names of their groups.
    """

    def __init__(self, tables: Mapping[str, Tabular]) -> None:
        first = next(iter(tables.values()))
        recipes = {f"pecli_recipe.{group}": table.recipe or "" for group, table in tables.items()}
        parts = [(f"{group}/{a.name}", table, a.name) for group, table in tables.items() for a in table.arrays]
        alike = len({table.arrays[0].rows for table in tables.values()}) == 1
        super().__init__(parts, {**first.metadata, **recipes}, first if alike else None)

    def groups(self, names: Iterable[str] | None = None) -> list[list[Array]]:
        """Return the arrays grouped by table and by number of rows: a group is produced together."""
        wanted = self.keys() if names is None else {*names}
        found: dict[tuple[int, int], list[Array]] = {}
        for array in self.arrays:
            if array.name in wanted:
                found.setdefault((id(self.parts[array.name][0]), array.rows), []).append(array)
        return list(found.values())
