"""Files whose every byte has a known place before the first is computed, and the scales that number axes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pecli.formats.format import Draft, WriteOptions
from pecli.formats.io.blocks import BLOCK_BYTES, Buffer, Task, fill, in_turn, place, tasks
from pecli.formats.io.output import Output, overlaid
from pecli.numbers.dtypes import ITEM_BYTES, raw_bytes
from pecli.spec.tabular import Array, Tabular, View

PIECE = 1 << 17  # numbers of a scale that are made at once, 1 MiB: for a whole block they took three times its memory


class FileLayout(NamedTuple):
    """Offsets of the literals and arrays of a file.

    Parameters
    ----------
    size : int
        Bytes of the file.
    literals : tuple of (offset, bytes)
        Headers and the like; a later one is written over an earlier one.
    offsets : mapping of str to int
        Where the values of each array begin, in C order.
    """

    size: int
    literals: tuple[tuple[int, bytes], ...]
    offsets: Mapping[str, int]

    def draft(self, table: Tabular, options: WriteOptions) -> Draft:
        """Return how `table` is written so."""

        def write(output: Output) -> None:
            if output.regular:
                for offset, data in self.literals:
                    output.put(data, offset)
                place(table, output, self.offsets, options)
                output.truncate(self.size)
            else:
                self._send(table, output, options)

        return Draft(write, self.size, self.size)

    def _send(self, table: Tabular, output: Output, options: WriteOptions) -> None:
        """Write everything in the order of the file; arrays that belong together are computed one after the other."""
        for name, offset in sorted(self.offsets.items(), key=lambda entry: entry[1]):
            output.write(overlaid(self.literals, output.tell(), offset))
            for values in in_order(table, table.array(name), options):
                output.write(raw_bytes(values))
        output.write(overlaid(self.literals, output.tell(), self.size))


def in_order(table: Tabular, array: Array, options: WriteOptions) -> Iterator[NDArray[Any]]:
    """Yield the values of one array in order; each is good until the next is asked for."""

    def make(task: Task, buffer: Buffer) -> tuple[NDArray[Any], int]:
        values = fill(table, task, buffer)[array.name]
        return values, values.nbytes

    with in_turn(tasks([array]), make, options, max(BLOCK_BYTES, array.row_bytes)) as results:
        yield from results


CHUNK_BYTES = 1 << 20  # of HDF5 and zarr


def chunk_shape(array: Array) -> tuple[int, ...]:
    """Return a chunk of at most `CHUNK_BYTES`."""
    return block_shape(array.shape, CHUNK_BYTES // ITEM_BYTES[array.dtype])


def block_shape(shape: tuple[int, ...], left: int) -> tuple[int, ...]:
    """Return a block of at most `left` values, consecutive in C order: whole last axes, a part of one, then 1."""
    block: tuple[int, ...] = ()
    for size in reversed(shape):
        part = max(1, min(size, left))
        left = left // part if part == size else 1
        block = (part, *block)
    return block


class DimensionScale(NamedTuple):
    """Coordinates of an axis.

    Parameters
    ----------
    size : int
    dtype : str
        int64, or float64 where it is fractional.
    values : callable
        Of a start and a stop, the numbers from the one to the other.
    """

    size: int
    dtype: str
    values: Callable[[int, int], NDArray[Any] | None]


class Numbered(View):
    """A table with one array more for each scale, under the name of the axis that it numbers."""

    def __init__(self, table: Tabular, scales: Mapping[str, DimensionScale]) -> None:
        more = [Array(name, (s.size,), s.dtype, (name,)) for name, s in scales.items()]
        super().__init__(table, [*table.arrays, *more])
        self.scales, self.recipe = scales, table.recipe

    def fill(self, start: int, stop: int, out: Mapping[str, NDArray[Any]]) -> None:
        """Read rows; see :meth:`pecli.spec.tabular.Tabular.fill`."""
        remaining = dict(out)
        for name in remaining.keys() & self.scales.keys():
            numbers = remaining.pop(name)
            for at in range(start, stop, PIECE):
                part = slice(at - start, min(at + PIECE, stop) - start)
                numbers[part] = self.scales[name].values(start + part.start, start + part.stop)
        if remaining:
            self.source.fill(start, stop, remaining)

    def group_of(self, array: Array) -> object:
        """Set scales apart, and last: a few bytes behind each block, threads would queue for the file."""
        return array.name in self.scales, array.rows


def numbered(table: Tabular) -> tuple[int, str] | None:
    """Return how many positions number the rows of a table and their type; None where nothing numbers them."""
    first = table.arrays[0]
    axis = first.axes[first.lead - 1] if first.lead else ""
    if not first.rows or (axis not in ("position", "query", "distance") and not axis.startswith("axis")):
        return None
    size = first.shape[first.lead - 1]
    sample = table.position(0, size if axis == "distance" else 1)
    if sample is None or (axis == "distance" and len(sample) != size):  # what has positions need not know its distances
        return None
    return size, "float64" if sample.dtype.kind == "f" else "int64"


def with_positions(table: Tabular) -> Tabular:
    """Add the positions of the rows as an array, where they are known."""
    found = numbered(table)
    if found is None or any(array.name == "position" for array in table.arrays):
        return table
    return Numbered(table, {"position": DimensionScale(*found, table.position)})


MAX_ARRAYS = 256  # with more, the list of those that a scale numbers outgrows the 64 KiB of an attribute
POSITIONS = ("position", "query", "distance")  # scales that hold the positions, or distances, of the rows

Places = dict[tuple[str, int], str]


def with_scales(table: Tabular) -> tuple[Numbered, Places]:
    """Add an array for each axis of a table, and say of each array's axis which one numbers it.

    Axes of one name and one size share a scale; of another size, a scale is
    called by the array too.  Positions, queries and distances have the
    positions of the rows, keys theirs; all else counts from 0.
    """
    known = numbered(table)
    rows = table.arrays[0]
    taken = {array.name for array in table.arrays}
    scales: dict[str, DimensionScale] = {}
    places: Places = {}
    by_size: dict[tuple[str, int], str] = {}
    for array in table.arrays if len(table.arrays) <= MAX_ARRAYS else ():
        for axis, (label, size) in enumerate(zip(array.axes, array.shape, strict=True)):
            name = by_size.get((label, size))
            if name is None:
                name = by_size[label, size] = _free_name(label, array, taken)
                taken.add(name)
                numbers = known is not None and label == rows.axes[rows.lead - 1] and size == known[0]
                scales[name] = (
                    DimensionScale(*known, table.position) if known and numbers else _scale(table, label, size)
                )
            places[array.name, axis] = name
    return Numbered(table, scales), places


def _free_name(label: str, array: Array, taken: set[str]) -> str:
    """Return a name for a scale that nothing else in the file has; a slash would make it a group's."""
    name = label.replace("/", "_")
    if name in taken:
        name = f"{name}_{array.name.replace('/', '_')}"
    while name in taken:
        name += "_"
    return name


def _scale(table: Tabular, label: str, size: int) -> DimensionScale:
    first = table.key_position(size - 1, size) if label == "key" else None
    if first is not None:
        return DimensionScale(size, "float64" if first.dtype.kind == "f" else "int64", table.key_position)
    return DimensionScale(size, "int64", _count)


def _count(start: int, stop: int) -> NDArray[Any]:
    return np.arange(start, stop, dtype=np.int64)
