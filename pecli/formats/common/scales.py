"""The dimension scales of HDF5 and zarr: every axis has one, so that netCDF and xarray call it by its name."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.declare.tabular import Array, Tabular
from pecli.formats.common.places import DimensionScale, Numbered, numbered

MOST_ARRAYS = 256  # with more, the list of those that a scale numbers outgrows the 64 KiB of an attribute
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
    for array in table.arrays if len(table.arrays) <= MOST_ARRAYS else ():
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
