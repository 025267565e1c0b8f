"""Weights from files: arrays of float64, whose shapes are checked before a value is read."""

from __future__ import annotations

from collections.abc import Mapping

from pecli.encodings.shared.kernel_types import Floats
from pecli.errors import BadParameter
from pecli.numbers.arrays import StoredArray
from pecli.numbers.files import only_array
from pecli.numbers.reader import open_numbers

__all__ = ["one_array", "open_array", "read_arrays", "shaped"]

one_array = only_array


def read_arrays(path: str) -> Mapping[str, StoredArray]:
    """Return the arrays of a file by name; the one array of npy or text is called ``array``.

    Raises
    ------
    BadFile
        If it cannot be read.
    UnknownName
        If ``path::name`` names an array that it does not hold.
    """
    return open_numbers(path).arrays()


def open_array(path: str, option: str) -> StoredArray:
    """Return the one array (n, c) of a file, whose rows are read when they are asked for.

    Raises
    ------
    BadFile
        If it cannot be read, or holds several arrays.
    BadParameter
        If it has another number of axes.
    """
    array = only_array(read_arrays(path), path)
    if len(array.shape) != 2 or 0 in array.shape:
        raise BadParameter(option, path, f"holds {_sides(array, 'x')} values: it must have a row for each position")
    return array


def shaped(array: StoredArray, path: str, shape: tuple[int | None, ...], what: str) -> Floats:
    """Return the values of an array if it has this shape (None: any size).

    Raises
    ------
    BadParameter
        Naming both shapes.
    BadFile
        If a value is no finite real number.
    """
    fits = len(array.shape) == len(shape) and all(w is None or w == g for w, g in zip(shape, array.shape, strict=True))
    if not fits:
        want = " x ".join("any" if side is None else str(side) for side in shape)
        rule = f"holds {_sides(array, ' x ')} values, and {what} needs {want}: give a file of that shape"
        raise BadParameter("weights", path, rule)
    return array.values()


def _sides(array: StoredArray, by: str) -> str:
    return by.join(map(str, array.shape)) or "a single number"
