"""Common interface of tables: named arrays, read in blocks of rows.

A computed table (:class:`pecli.tables.table.Table`) and a stored one (whatever
:func:`pecli.formats.open_table` returns) share this interface, so that formats
write either and analyses read either.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

from pecli.errors import BadParameter, UnknownName
from pecli.numbers.blocks import in_blocks
from pecli.numbers.deferred import NDArray, np
from pecli.numbers.dtypes import ITEM_BYTES, storage

LARGEST_ROW = 16 << 20  # a row of more bytes than this is read value by value
LEADS = (("position",), ("head", "query"), ("head", "distance"), ("head",))  # axes that number rows, where named
NAMELESS = "first column, without a name (such as a data frame's index),"
BLOCK_BYTES = 4 << 20  # large enough that NumPy's calls dominate Python's, small enough to stay in the caches


@dataclass(frozen=True)
class Array:
    """Named array of a table.

    The first ``lead`` axes count as rows: a row of ``pe`` (n, dim) is a
    position, a row of a dense ``bias`` (heads, q, k) with lead 2 is a head and
    a query.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    axes: tuple[str, ...]
    lead: int = 1

    @property
    def rows(self) -> int:
        """Number of rows."""
        return math.prod(self.shape[: self.lead])

    @property
    def row_shape(self) -> tuple[int, ...]:
        """Shape of one row."""
        return self.shape[self.lead :]

    @property
    def row_bytes(self) -> int:
        """Bytes of one row."""
        return math.prod(self.row_shape) * ITEM_BYTES[self.dtype]

    @property
    def bytes(self) -> int:
        """Bytes of all values."""
        return self.rows * self.row_bytes


def shape_text(shape: Sequence[int]) -> str:
    """Return a shape as messages say it: 2 x 3; () where there are no axes."""
    return " x ".join(map(str, shape)) or "()"


def array_of(name: str, shape: Sequence[int], dtype: str, axes: Sequence[str] = (), lead: int | None = None) -> Array:
    """Describe an array by its shape: its last axis is a row, or its last two where the last holds pairs."""
    shape = tuple(shape)
    if lead is None and len(axes) == len(shape):
        lead = next((len(start) for start in LEADS if tuple(axes[: len(start)]) == start), None)
    if lead is None:
        lead = max(1, len(shape) - 1) if shape else 0
        if len(shape) > 2 and shape[-1] == 2 and not (len(shape) == 3 and shape[0] == 2):
            lead -= 1  # pairs belong to one row; (2, n, 2) may hold the cosines and the sines of two pairs
        if math.prod(shape[lead:]) * ITEM_BYTES[dtype] > LARGEST_ROW:
            lead = len(shape)
    named = (
        tuple(axes) if len(axes) == len(shape) and all(axes) else tuple(f"axis{index}" for index in range(len(shape)))
    )
    return Array(name, shape, dtype, named, lead)


class Block(NamedTuple):
    """Consecutive rows of one or several arrays that have the same number of rows."""

    start: int
    stop: int
    values: Mapping[str, NDArray[Any]]


class Tabular(ABC):
    """Named arrays that are read in blocks of rows, in any order, from any thread.

    Attributes
    ----------
    arrays : tuple of Array
        What it holds, in the order in which it is written.
    recipe : str or None
        The text that reproduces it, if known.
    metadata : mapping of str to str
        Further facts about it: formula, source, version.
    row_labels : tuple of str
        Columns of a file that number its rows, as the index of pandas, and are in no array; "" has no name.
    other_names, unlike : tuple of str
        Arrays of a model's file that hold no positions, and those of other layers that hold other ones.
    """

    arrays: tuple[Array, ...]
    recipe: str | None = None
    metadata: Mapping[str, str] = MappingProxyType({})
    row_labels: tuple[str, ...] = ()
    other_names: tuple[str, ...] = ()
    unlike: tuple[str, ...] = ()
    _indexed: tuple[tuple[Array, ...], dict[str, int]] = (), {}

    @property
    def label_words(self) -> list[str]:
        """Return what is said of each column that labels the rows."""
        columns = (f"column '{name}'" if name else NAMELESS for name in self.row_labels)
        return [f"the {column} labels the rows and was left out" for column in columns]

    @property
    def _index_by_name(self) -> dict[str, int]:
        """Index of each array in `arrays`, by name: a file may hold 65,536 of them."""
        found = self._indexed
        if found[0] is not self.arrays:
            self._indexed = found = self.arrays, {array.name: place for place, array in enumerate(self.arrays)}
        return found[1]

    @abstractmethod
    def fill(self, start: int, stop: int, out: Mapping[str, NDArray[Any]]) -> None:
        """Write rows `start` to `stop` of the named arrays into `out`.

        Parameters
        ----------
        start, stop : int
            Rows, 0 <= start <= stop <= the arrays' rows; the named arrays have the same number of rows.
        out : mapping of name to (stop - start, *row_shape) ndarray
            Of the array's storage dtype (bfloat16: uint16 bits), any strides.

        Notes
        -----
        Safe to call from several threads at once.
        """

    def held(self, name: str, start: int, stop: int) -> NDArray[Any] | None:
        """Return a read-only view of rows that are already in memory; None for others."""
        return None

    def position(self, start: int, stop: int) -> NDArray[Any] | None:
        """Return the positions of rows `start` to `stop`, int64 or (fractional) float64; None where unknown."""
        return None

    def key_position(self, start: int, stop: int) -> NDArray[Any] | None:
        """Return the positions of keys `start` to `stop` of a bias, as `position` does of its queries."""
        return None

    def array(self, name: str) -> Array:
        """Return the description of the array of this name.

        Raises
        ------
        UnknownName
            If there is none, with the nearest.
        """
        places = self._index_by_name
        if name not in places:
            raise UnknownName("array", str(name), list(places))
        return self.arrays[places[name]]

    def group_of(self, array: Array) -> object:
        """Return what arrays have in common that are produced together: the number of rows."""
        return array.rows

    def groups(self, names: Iterable[str] | None = None) -> list[list[Array]]:
        """Return the arrays in groups that are produced together, in order."""
        wanted = self.arrays
        if names is not None:
            places = {self._index_by_name[self.array(name).name] for name in names}
            wanted = tuple(self.arrays[place] for place in sorted(places))
        found: dict[object, list[Array]] = {}
        for array in wanted:
            found.setdefault(self.group_of(array), []).append(array)
        return list(found.values())

    def blocks(self, names: Iterable[str] | None = None, block_bytes: int = BLOCK_BYTES) -> Iterator[Block]:
        """Yield all rows of the named arrays (default: all), group by group, in order.

        A block holds about `block_bytes` bytes, at least one row; its arrays
        are fresh and belong to the caller.
        """
        for group in self.groups(names):
            for some in in_blocks(0, group[0].rows, block_rows(group, block_bytes)):
                yield Block(some.start, some.stop, self.read_rows([a.name for a in group], some.start, some.stop))

    def read_rows(self, names: Iterable[str], start: int, stop: int) -> dict[str, NDArray[Any]]:
        """Return rows `start` to `stop` of the named arrays as fresh arrays.

        Raises
        ------
        BadParameter
            If the rows are not among those of the arrays.
        """
        out = self.empty(names, start, stop)
        self.fill(start, stop, out)
        return out

    def empty(self, names: Iterable[str], start: int, stop: int) -> dict[str, NDArray[Any]]:
        """Return arrays for rows `start` to `stop`, whose values are still to come."""
        out = {}
        for array in map(self.array, names):
            if not 0 <= start <= stop <= array.rows:
                rule = f"must lie within 0..{array.rows}, the rows of {array.name}"
                raise BadParameter("rows", f"{start}..{stop}", rule)
            out[array.name] = np.empty((stop - start, *array.row_shape), storage(array.dtype))
        return out

    def read(self, name: str) -> NDArray[Any]:
        """Return one whole array in its shape (bfloat16: uint16 bits)."""
        array = self.array(name)
        return self.read_rows([name], 0, array.rows)[name].reshape(array.shape)

    def keys(self) -> tuple[str, ...]:
        """Return the names of its arrays; with them a table is a mapping of names to arrays."""
        return tuple(array.name for array in self.arrays)

    def __getitem__(self, name: str) -> NDArray[Any]:
        """Return one whole array; bfloat16 as its bits in uint16, which `pecli.widen` reads, whatever is installed."""
        return self.read(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __len__(self) -> int:
        """Return the number of arrays, as of a mapping."""
        return len(self.arrays)

    def __bool__(self) -> bool:
        return True

    def items(self) -> Iterator[tuple[str, NDArray[Any]]]:
        """Yield the name and the values of each array, which are computed or read now."""
        return ((name, self[name]) for name in self.keys())

    def get(self, name: str, default: Any = None) -> Any:
        """Return an array, or the default where there is none of this name."""
        return self[name] if name in self.keys() else default

    def __contains__(self, name: object) -> bool:
        return name in self.keys()

    @property
    def title(self) -> str:
        """Name of the table in its `repr`."""
        return self.recipe or "without a recipe"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """Return the array where there is one.

        Raises
        ------
        BadParameter
            Where there are several: which is meant?
        """
        if len(self.arrays) != 1:
            rule = "are several: choose one by its name, or take them all with dict(table)"
            raise BadParameter("arrays", ", ".join(self.keys()), rule)
        array = self.arrays[0]
        values = self.read(array.name)
        if dtype is None:
            return values
        if array.dtype == "bfloat16":
            from pecli.numbers.rounding import widen

            values = widen(values, "bfloat16")
        return values.astype(dtype)

    def __repr__(self) -> str:
        arrays = ", ".join(f"{a.name} {a.shape} {a.dtype}" for a in self.arrays)
        return f"<{type(self).__name__} {self.title}: {arrays}>"


def block_rows(group: Iterable[Array], block_bytes: int = BLOCK_BYTES) -> int:
    """Return how many rows of these arrays together make about `block_bytes` bytes, at least one."""
    return max(1, block_bytes // max(1, sum(array.row_bytes for array in group)))


class View(Tabular):
    """View of another table: its rows, its positions, no recipe unless that still holds.

    Parameters
    ----------
    source : Tabular
        What is read.
    arrays : sequence of Array
        What is seen of it.
    """

    def __init__(self, source: Tabular, arrays: Sequence[Array]) -> None:
        self.source, self.arrays, self.metadata = source, tuple(arrays), source.metadata
        self.row_labels = source.row_labels

    def fill(self, start: int, stop: int, out: Mapping[str, NDArray[Any]]) -> None:
        """Write rows into `out`; see :meth:`pecli.spec.tabular.Tabular.fill`."""
        self.source.fill(start, stop, out)

    def position(self, start: int, stop: int) -> NDArray[Any] | None:
        """Return the source's positions."""
        return self.source.position(start, stop)


class InMemory(Tabular):
    """Arrays in memory as a table; the last axis of each is a row, or the last two where they hold pairs.

    Parameters
    ----------
    arrays : mapping of str to ndarray
        float16, float32 or float64; uint16 holds the bits of bfloat16.
    """

    def __init__(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self.values = dict(arrays)
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
