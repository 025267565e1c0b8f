"""A table seen in another way, or arrays in memory as one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pecli.spec.tabular import Array, Tabular, array_of

if TYPE_CHECKING:
    from numpy.typing import NDArray


class View(Tabular):
    """What another table holds, seen in another way: its rows, its positions, no recipe unless that still holds.

    Parameters
    ----------
    source : Tabular
        What is read.
    arrays : sequence of Array
        What is seen of it.
    """

    def __init__(self, source: Tabular, arrays: Sequence[Array]) -> None:
        self.source, self.arrays, self.recipe, self.metadata = source, tuple(arrays), None, source.metadata

    def fill(self, start: int, stop: int, out: Mapping[str, NDArray[Any]]) -> None:
        """Write rows into `out`; see :meth:`pecli.spec.tabular.Tabular.fill`."""
        self.source.fill(start, stop, out)

    def position(self, start: int, stop: int) -> NDArray[Any] | None:
        """Return the source's positions."""
        return self.source.position(start, stop)


class Renamed(View):
    """Some arrays of a table under other names.

    Parameters
    ----------
    source : Tabular
        What is read; of a table with one array only, whose name says nothing, that one.
    called : mapping of str to str
        New names by the old ones.
    """

    def __init__(self, source: Tabular, called: Mapping[str, str]) -> None:
        old = [array for array in source.arrays if array.name in called] or source.arrays[: len(called)]
        new = [
            replace(array, name=called.get(array.name, name)) for array, name in zip(old, called.values(), strict=False)
        ]
        self._old = {array.name: before.name for array, before in zip(new, old, strict=True)}
        super().__init__(source, new)

    def fill(self, start: int, stop: int, out: Mapping[str, NDArray[Any]]) -> None:
        """Write rows into `out`; see :meth:`pecli.spec.tabular.Tabular.fill`."""
        self.source.fill(start, stop, {self._old[name]: values for name, values in out.items()})


class InMemory(Tabular):
    """Arrays in memory as a table; the last axis of each is a row, or the last two where they hold pairs.

    Parameters
    ----------
    arrays : mapping of str to ndarray
        float16, float32 or float64; uint16 stands for the bits of bfloat16.
    """

    def __init__(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self.values = dict(arrays)
        self.recipe, self.metadata = None, {}
        self.arrays = tuple(_described(name, values) for name, values in arrays.items())
        self._rows = {a.name: self.values[a.name].reshape(a.rows, *a.row_shape) for a in self.arrays}

    def fill(self, start: int, stop: int, out: Mapping[str, NDArray[Any]]) -> None:
        """Write rows into `out`; see :meth:`pecli.spec.tabular.Tabular.fill`."""
        for name, target in out.items():
            target[...] = self.held(name, start, stop)

    def held(self, name: str, start: int, stop: int) -> NDArray[Any]:
        """Return rows; see :meth:`pecli.spec.tabular.Tabular.held`."""
        return self._rows[self.array(name).name][start:stop]


def _described(name: str, values: NDArray[Any]) -> Array:
    dtype = "bfloat16" if values.dtype.name == "uint16" else values.dtype.name
    axes = ("position", "channel")[: values.ndim] if values.ndim < 3 else ()
    return array_of(name, values.shape, dtype, axes)
