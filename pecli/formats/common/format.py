"""What a format is: one value per format, listed once in :mod:`pecli.formats`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pecli.declare.tabular import Array, Tabular
from pecli.errors import BadParameter

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pecli.formats.common.output import Output
    from pecli.formats.common.stored import Source, StoredTable

REALS = ("float16", "float32", "float64")
COMPLEX = ("complex64", "complex128")
INTEGERS = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
BLOCK_BYTES = 4 << 20  # of a worker's buffer: enough work between two takes of Python's lock, and still in the caches
BUFFER_BYTES = 16 << 20  # of all workers' buffers together


def no_progress(_bytes: int) -> None:
    """Report nothing."""


def raw_bytes(values: NDArray[Any]) -> memoryview:
    """Return the memory of contiguous values of any type."""
    return values.reshape(-1).view("u1").data


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


@dataclass(frozen=True)
class Options:
    """How a table is written, beside the format.

    Parameters
    ----------
    threads : int
        Threads that compute.
    compress : bool
        Whether a format that is plain by default compresses.
    wide : bool
        Whether each value of a row gets a column of its own.
    progress : callable
        Told the bytes of values written so far, from whichever thread wrote them.
    """

    threads: int = 1
    compress: bool = False
    wide: bool = False
    progress: Callable[[int], None] = no_progress


@dataclass(frozen=True)
class Draft:
    """A file that is about to be written.

    Parameters
    ----------
    write : callable
        Writes it to an open output, in order or at offsets as the output allows.
    size : int or None
        Bytes of the file, where they are known before it is written.
    least : int
        Bytes that it takes at the very least.
    """

    write: Callable[[Output], None]
    size: int | None = None
    least: int = 0


@dataclass(frozen=True)
class Format:
    """One kind of file.

    Parameters
    ----------
    name, title : str
        What users write, and what the documents call it.
    suffixes : tuple of str
        File names that mean it.
    draft : callable
        Checks that a table fits and says how it is written; raises before a byte is written.
    open : callable
        Opens a file of it.
    magic : tuple of bytes
        How such a file begins; empty where text does not tell.
    places : tuple of int
        Where that may stand.
    dtypes : tuple of str
        What it holds.
    stores, metadata : str
        One line each for the documents: how values lie in it, and where its recipe stands.
    package : str or None
        The package that reads and writes it, where NumPy is not enough.
    streams : bool
        Whether it goes to a pipe in constant memory, compressed or not.
    compresses, widens : bool
        Whether it has a use for the options of these names.
    """

    name: str
    title: str
    suffixes: tuple[str, ...]
    draft: Callable[[Tabular, Options], Draft]
    open: Callable[[Source], StoredTable]
    dtypes: tuple[str, ...]
    stores: str
    metadata: str
    magic: tuple[bytes, ...] = ()
    places: tuple[int, ...] = (0,)
    package: str | None = None
    streams: bool = True
    compresses: bool = False
    widens: bool = False


@dataclass(frozen=True)
class Rules:
    """What a format cannot hold, checked alike for all of them."""

    format: str
    dtypes: tuple[str, ...]
    remedies: Mapping[str, str] = field(default_factory=dict)

    def check(self, table: Tabular) -> None:
        """Raise :class:`BadParameter` naming what does not fit and which format takes it."""
        if not table.arrays:
            raise BadParameter("format", self.format, "has nothing to write: the table holds no array")
        for array in table.arrays:
            if not array.bytes:
                raise BadParameter("format", self.format, f"has nothing to write of '{array.name}': it is empty")
            if array.dtype not in self.dtypes:
                remedy = "use hdf5 (.h5) or safetensors" if array.dtype == "bfloat16" else "use hdf5 (.h5) or npz"
                remedy = self.remedies.get(array.dtype, remedy)
                raise BadParameter("format", self.format, f"has no {array.dtype}, the type of '{array.name}': {remedy}")

    def one_group(self, table: Tabular) -> list[Array]:
        """Return the arrays if they share one set of rows; raise where they do not."""
        groups = table.groups()
        if len(groups) != 1 or len({array.shape[: array.lead] for array in groups[0]}) != 1:
            shapes = ", ".join(f"{a.name} {'x'.join(map(str, a.shape))}" for a in table.arrays)
            rule = f"holds arrays of equal length only, and these differ ({shapes}): use npz or hdf5 (.h5)"
            raise BadParameter("format", self.format, rule)
        return groups[0]
