"""Arrays of several tables as one table, and tensors drawn from a seed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

from pecli.declare.tabular import Array, Tabular
from pecli.numbers import random as draws
from pecli.numbers.rounding import narrow


class Joined(Tabular):
    """The arrays of several tables, under names of their own.

    Parameters
    ----------
    parts : sequence of (name, table, name in the table)
        In the order of the output.
    recipe : str, optional
        What the file says it was made with.
    """

    def __init__(self, parts: Sequence[tuple[str, Tabular, str]], metadata: Mapping[str, str] | None = None) -> None:
        self.parts = {name: (table, own) for name, table, own in parts}
        arrays = [(name, table.array(own)) for name, table, own in parts]
        self.arrays = tuple(Array(name, a.shape, a.dtype, a.axes, a.lead) for name, a in arrays)
        self.recipe, self.metadata = None, metadata or {}

    def fill(self, start: int, stop: int, out: Mapping[str, NDArray[Any]]) -> None:
        """Write rows; see :meth:`pecli.declare.tabular.Tabular.fill`."""
        for name, target in out.items():
            table, own = self.parts[name]
            table.fill(start, stop, {own: target})

    def read_rows(self, names: Iterable[str], start: int, stop: int) -> dict[str, NDArray[Any]]:
        """Return rows, as each table reads its own."""
        found = {}
        for name in names:
            table, own = self.parts[self.array(name).name]
            found[name] = table.read_rows([own], start, stop)[own]
        return found


class Drawn(Tabular):
    """Standard normal vectors drawn from a seed, so that any slice equals the whole.

    Parameters
    ----------
    name : str
        Of the array.
    shape : tuple of int
        Its shape; a row is a vector.
    dtype : str
        Type to which each value is rounded.
    seed, stream : int
        Key of the generator.
    """

    def __init__(self, name: str, shape: tuple[int, ...], dtype: str, seed: int, stream: int) -> None:
        self.arrays = (Array(name, shape, dtype, tuple(f"axis{i}" for i in range(len(shape))), len(shape) - 1),)
        self.seed, self.stream, self.dtype = seed, stream, dtype
        self.recipe, self.metadata = None, {}

    def fill(self, start: int, stop: int, out: Mapping[str, NDArray[Any]]) -> None:
        """Write rows; see :meth:`pecli.declare.tabular.Tabular.fill`."""
        for target in out.values():
            width = target.shape[-1]
            words = draws.words(self.seed, start * width, (stop - start) * width, self.stream)
            narrow(draws.normal(draws.uniform(words)).reshape(-1, width), None, self.dtype, target)
