"""Weights from files: arrays of float64, whose shapes are checked before a value is read."""

from __future__ import annotations

from collections.abc import Mapping

from pecli.encodings.shared.kernel_types import Floats
from pecli.errors import BadParameter
from pecli.numbers.reader import StoredArray, only_array, open_numbers


class WeightFile:
    """The arrays of a file by name; the one array of npy or text is called ``array``.

    Raises
    ------
    BadFile
        If it cannot be read.
    UnknownName
        If ``path::name`` names an array that it does not hold.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.arrays: Mapping[str, StoredArray] = open_numbers(path).arrays()

    def one(self, *endings: str) -> StoredArray:
        """Return the array whose name ends so; see :func:`pecli.numbers.reader.only_array`."""
        return only_array(self.arrays, self.path, *endings)

    def values(self, shape: tuple[int | None, ...], what: str, *endings: str) -> Floats:
        """Return the values of that array; see :meth:`shaped`."""
        return self.shaped(self.one(*endings), shape, what)

    def shaped(self, array: StoredArray, shape: tuple[int | None, ...], what: str) -> Floats:
        """Return the values of an array if it has this shape (None: any size), which `what` needs.

        Raises
        ------
        BadParameter
            Naming both shapes.
        BadFile
            If a value is no finite real number.
        """
        fits = len(array.shape) == len(shape) and all(w in (None, g) for w, g in zip(shape, array.shape, strict=True))
        if not fits:
            want = " x ".join("any" if side is None else str(side) for side in shape)
            rule = f"holds {_sides(array, ' x ')} values, and {what} needs {want}: give a file of that shape"
            raise BadParameter("weights", self.path, rule)
        return array.values()


def open_array(path: str, option: str) -> StoredArray:
    """Return the one array (n, c) of a file, whose rows are read when they are asked for.

    Raises
    ------
    BadFile
        If it cannot be read, or holds several arrays.
    BadParameter
        If it has another number of axes.
    """
    array = WeightFile(path).one()
    if len(array.shape) != 2 or 0 in array.shape:
        raise BadParameter(option, path, f"holds {_sides(array, 'x')} values: it must have a row for each position")
    return array


def _sides(array: StoredArray, by: str) -> str:
    return by.join(map(str, array.shape)) or "a single number"
