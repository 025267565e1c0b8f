"""Tables joined: files that are parts of one table, rows of a table, arrays of several tables in one file.

A folder or a pattern names the table whose parts its files are, as
``--shard`` writes them, or of a partitioned dataset.  ``path::name`` is one
array of it, ``path::name[100:110]`` some of its rows.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pecli.errors import BadFile, BadRecipe, PecliError
from pecli.formats import open_table
from pecli.formats.paths import Kind, files_of, kind_of
from pecli.numbers.decimals import shorten
from pecli.numbers.deferred import NDArray, np
from pecli.settings import notice
from pecli.spec.recipe import join_recipe, split_recipe
from pecli.spec.tabular import Array, Tabular, View
from pecli.tables.layouts import cosines_and_sines

if TYPE_CHECKING:
    from pecli.formats.stored import StoredTable

JOINED = ("position", "query")  # axes along which parts follow each other, besides those without a name
_SLICE = re.compile(r"(.*)\[(-?\d*):(-?\d*)\]", re.DOTALL)


def open_path(text: str) -> Tabular:
    """Open a file, a folder of parts or a pattern; with ``::name`` one array of it, with ``[100:110]`` some rows.

    Raises
    ------
    BadFile
        If it cannot be read, or the parts do not make one table; the file that does not belong is named.
    UnknownName, BadParameter
        If it has no such array, or not these rows.
    """
    path, mark, name = text.partition("::")
    if os.path.exists(text):
        path, mark, name = text, "", ""
    match = _SLICE.fullmatch(name)
    if match:
        name = match[1]
    if kind_of(path) is Kind.FOLDER:
        table: Tabular = _joined(path)
        table = View(table, [table.array(name)]) if name else table
    else:
        table = open_table(f"{path}::{name}" if name or (mark and not match) else path)
    return _sliced(table, name, match[2], match[3]) if match else table


class Pieces(Tabular):
    """Rows of tables, one after the other: parts of a table, or a part of one.

    Parameters
    ----------
    pieces : sequence of (table, first, last)
        The first and the last (exclusive) row along the axis that numbers the rows.
    joined : sequence of str
        Names of the arrays that have such an axis; the others are those of the first table.
    """

    def __init__(self, pieces: Sequence[tuple[Tabular, int, int]], joined: Sequence[str]) -> None:
        self._pieces, self._joined = pieces, frozenset(joined)
        self._ends = [0, *accumulate(last - first for _, first, last in pieces)]
        self.sequential = any(getattr(table, "sequential", False) for table, _, _ in pieces)
        first = pieces[0][0]
        self.format = getattr(first, "format", None)
        self.metadata = first.metadata
        self.arrays = tuple(self._whole(array) for array in first.arrays)

    def _whole(self, array: Array) -> Array:
        if array.name not in self._joined:
            return array
        axis = array.lead - 1
        return replace(array, shape=(*array.shape[:axis], self._ends[-1], *array.shape[axis + 1 :]))

    def fill(self, start: int, stop: int, out: Mapping[str, NDArray[Any]]) -> None:
        """Read rows; see :meth:`pecli.spec.tabular.Tabular.fill`."""
        shared = {name: values for name, values in out.items() if name not in self._joined}
        if shared:
            self._pieces[0][0].fill(start, stop, shared)
        if len(shared) == len(out):
            return
        names = [name for name in out if name in self._joined]
        size, at = self._ends[-1], start
        while at < stop:
            outer, row = divmod(at, size)
            number = next(k for k in range(len(self._pieces)) if row < self._ends[k + 1])
            table, first, _ = self._pieces[number]
            count = min(stop - at, self._ends[number + 1] - row)
            array = table.array(names[0])
            begin = outer * array.shape[array.lead - 1] + first + row - self._ends[number]
            table.fill(begin, begin + count, {name: out[name][at - start : at - start + count] for name in names})
            at += count

    def position(self, start: int, stop: int) -> NDArray[Any] | None:
        """Return positions; see :meth:`pecli.spec.tabular.Tabular.position`."""
        found = []
        for (table, first, _), begin, end in zip(self._pieces, self._ends, self._ends[1:], strict=False):
            low, high = max(start, begin), min(stop, end)
            if low < high:
                found.append(table.position(first + low - begin, first + high - begin))
        known = [part for part in found if part is not None]
        return np.concatenate(known) if known and len(known) == len(found) else None


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
        self.metadata, self.numbered = metadata or {}, numbered

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

    def group_of(self, array: Array) -> object:
        """Return what arrays have in common that are produced together: the table and the number of rows."""
        return id(self.parts[array.name][0]), array.rows


def component_names(paths: Sequence[str]) -> list[str]:
    """Return the two of some files that are named as cosines and sines, in this order; empty where none are."""
    stems = {Path(path).stem: path for path in paths}
    return [stems[stem] for stem in cosines_and_sines(list(stems))] if len(stems) == len(paths) else []


def components_of(paths: Sequence[str], tables: Sequence[Tabular]) -> Tabular | None:
    """Return two files as one table where one is named as cosines, the other as sines, with arrays of one shape."""
    named = component_names(paths)
    if len(tables) != 2 or not named or any(len(table.arrays) != 1 for table in tables):
        return None
    cosines, sines = (tables[paths.index(path)] for path in named)
    alike = cosines.arrays[0].shape == sines.arrays[0].shape and cosines.arrays[0].lead == sines.arrays[0].lead
    parts = [(part, table, table.arrays[0].name) for part, table in (("cos", cosines), ("sin", sines))]
    return ConcatTable(parts, cosines.metadata, cosines) if alike else None


def _sliced(table: Tabular, name: str, low: str, high: str) -> Tabular:
    """Return rows `low` to `high` of the array of this name, or of all arrays with such rows."""
    joined = [array.name for array in table.arrays if array.lead and (name or _follows(array))]
    sizes = {array.shape[array.lead - 1] for array in table.arrays if array.name in joined}
    text = f"[{low}:{high}]"
    if len(sizes) != 1:
        raise BadRecipe(f"rows {text} need arrays with one number of rows: write PATH::NAME[100:110]")
    size = sizes.pop()
    first, last, _ = slice(int(low) if low else None, int(high) if high else None).indices(size)
    if first >= last:
        raise BadRecipe(f"no row lies in {text}: there are {size:,}, counted from 0")
    return Pieces([(table, first, last)], joined)


def _follows(array: Array) -> bool:
    label = array.axes[array.lead - 1] if array.lead else ""
    return label in JOINED or label.startswith("axis")


def _joined(path: str) -> Tabular:
    """Return the table whose parts the files of a folder are."""
    tables = [_part(path, file) for file in files_of(path)]
    if not tables:
        raise BadFile(path, "is a folder without a table: name one that holds parts written with --shard")
    components = components_of([table.path for table in tables], tables)
    if components is not None:
        return components
    _refuse_strangers(path, tables)
    recipe, tables = _in_order(path, tables)
    joined = [array.name for array in tables[0].arrays if _follows(array)]
    table = Pieces([(t, 0, _rows(t)) for t in tables], joined)
    table.recipe = recipe
    return table


def _part(path: str, file: str) -> StoredTable:
    try:
        return open_table(file)
    except PecliError as error:
        raise BadFile(path, f"holds {file}, which is not part of a table: {error}") from error


def _refuse_strangers(path: str, tables: Sequence[StoredTable]) -> None:
    """Raise, with its name, for a part that has other arrays than most."""
    kinds = [_kind(table) for table in tables]
    usual = Counter(kinds).most_common(1)[0][0]
    for table, kind in zip(tables, kinds, strict=True):
        if kind != usual:
            actual, others = ", ".join(kind), ", ".join(usual)
            raise BadFile(path, f"holds {table.path}, which does not belong: it has {actual}, and the others {others}")


def _kind(table: StoredTable) -> tuple[str, ...]:
    """Return the properties that all parts of one table share: names, types and shapes but for the number of rows."""
    found = []
    for array in table.arrays:
        shape = list(map(str, array.shape))
        if _follows(array):
            shape[array.lead - 1] = "n"
        found.append(f"{array.name} {' x '.join(shape)} {array.dtype}")
    return (*found, f"the recipe {shorten(shard_of(table.recipe)[0])}" if table.recipe else "no recipe")


def shard_of(recipe: str) -> tuple[str, int, int]:
    """Return a recipe without its shard, and which part of how many it was; 0 of 0 where it had none."""
    name, keys = split_recipe(recipe)
    index, _, count = keys.pop("shard", "0/0").partition("/")
    return join_recipe(name, keys), int(index), int(count)


def _in_order(path: str, tables: Sequence[StoredTable]) -> tuple[str | None, list[StoredTable]]:
    """Return the recipe of the whole, if it is known, and the parts in order: by shard, or position, or name."""
    shards = [shard_of(table.recipe) if table.recipe else (None, 0, 0) for table in tables]
    recipe, _, count = shards[0]
    if recipe is not None and count:
        held = Counter(index for _, index, _ in shards)
        twice = [table.path for table, shard in zip(tables, shards, strict=True) if held[shard[1]] > 1]
        missing = [str(index) for index in range(count) if index not in held]
        if {shard[2] for shard in shards} != {count} or twice:
            raise BadFile(path, f"holds parts that overlap: {', '.join(twice[:4]) or 'of different --shard counts'}")
        if missing:
            rule = f"lacks part {', '.join(missing[:8])} of {count}"
            raise BadFile(path, f"{rule}: make it with --shard {missing[0]}/{count}")
        return recipe, [t for _, t in sorted(zip(shards, tables, strict=True), key=lambda pair: pair[0][1])]
    spans = [_span(table) for table in tables]
    known = [span for span in spans if span is not None]
    if len(known) < len(tables):
        if recipe is not None and len(tables) > 1:
            raise BadFile(path, f"holds whole tables and not parts of one, as {tables[0].path}: name one of them")
        if len(tables) > 1:
            first = os.path.basename(tables[0].path)
            notice(
                f"{path}: {len(tables)} files without positions are joined by the order of their names, {first} first"
            )
        return recipe, list(tables)
    order = sorted(range(len(tables)), key=lambda k: known[k])
    if recipe is not None:
        _check_whole(path, recipe, [(tables[k], *known[k]) for k in order])
    return recipe, [tables[k] for k in order]


def _check_whole(path: str, recipe: str, parts: Sequence[tuple[StoredTable, float, float]]) -> None:
    """Raise where parts that carry the recipe of the whole, such as a partitioned dataset's, are not the whole."""
    for (table, begin, last), (other, first, _) in pairwise(parts):
        if begin == first:
            raise BadFile(path, f"holds whole tables and not parts of one, as {table.path}: name one of them")
        if first <= last:
            raise BadFile(path, f"holds {other.path}, whose positions lie among those of {table.path}: sort them first")
    rows, wanted = sum(_rows(table) for table, _, _ in parts), split_recipe(recipe)[1].get("len", "")
    if len(parts) > 1 and wanted.isdecimal() and rows != int(wanted):
        raise BadFile(path, f"holds {rows} rows of {wanted}: a part is missing, or one too many")


def is_dataset(path: str) -> bool:
    """Whether the files of a folder carry the recipe of the whole and hold a part of it each, as partitions do."""
    files = files_of(path)
    if len(files) < 2:
        return False
    try:
        with open_table(files[0]) as table:
            keys = split_recipe(table.recipe)[1] if table.recipe else {}
            return "shard" not in keys and keys.get("len", "").isdecimal() and _rows(table) < int(keys["len"])
    except PecliError:
        return False


def _rows(table: Tabular) -> int:
    return next((array.shape[array.lead - 1] for array in table.arrays if _follows(array)), 0)


def _span(table: Tabular) -> tuple[float, float] | None:
    """Return the first and the last position; None where they are not known."""
    rows = _rows(table)
    ends = (table.position(0, 1), table.position(rows - 1, rows)) if rows else (None, None)
    return None if ends[0] is None or ends[1] is None else (float(ends[0][0]), float(ends[1][0]))
