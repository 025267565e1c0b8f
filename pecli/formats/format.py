"""The declaration of a file format, and the drafts and options with which one is written."""

from __future__ import annotations

import mmap
import sys
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from pecli.errors import BadParameter, MissingPackage
from pecli.spec.tabular import Tabular

if TYPE_CHECKING:
    from pecli.formats.io.source import InputFile
    from pecli.formats.stored import StoredTable


REALS = ("float16", "float32", "float64")
COMPLEX = ("complex64", "complex128")
INTEGERS = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")


def no_progress(_bytes: int) -> None:
    """Report nothing."""


def one_at_a_time(progress: Callable[[int], None], total: int) -> Callable[[int], None]:
    """Return a thread-safe `progress` that counts at most `total` bytes: positions are written but not counted."""
    import threading

    lock = threading.Lock()
    left = total

    def report(count: int) -> None:
        nonlocal left
        with lock:
            count = min(count, left)
            left -= count
            progress(count)

    return report


class WriteOptions(NamedTuple):
    """Options of a write, apart from the format.

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


class Draft(NamedTuple):
    """A file that is about to be written.

    Parameters
    ----------
    write : callable
        Writes it to an open output, in order or at offsets as the output allows; to the objects of a store of many.
    size : int or None
        Bytes of the file, where they are known before it is written.
    least : int
        Bytes that it takes at the very least.
    """

    write: Callable[[Any], None]
    size: int | None = None
    least: int = 0


class Format(NamedTuple):
    """One kind of file; :data:`pecli.formats.WRITTEN` has them all.

    Parameters
    ----------
    name, title : str
        What users write, and what the documents call it.
    suffixes : tuple of str
        File names that mean it.
    reader : str or None
        Name of the `StoredTable` that opens an `InputFile`, in the module of the format; None for what is only written.
    module : str
        Its module in `pecli.formats`, where it is not called like the format.  The function ``draft`` in it returns,
        of a table that fits and `WriteOptions`, the `Draft` of the file.
    dtypes : tuple of str
        What it holds.
    magic : tuple of bytes
        How such a file begins; empty where text does not tell.
    magic_at : tuple of int
        Offsets at which that may be found.
    package : str or None
        The package that reads and writes it, where NumPy is not enough.
    extra : bool
        Whether that is no dependency of pecli, but the extra of its name.
    room : int
        Bytes of addresses that the package takes to load, where running out of them while it does ends the process.
    compresses, widens : bool
        Whether it has a use for the options of these names.
    many : bool
        Whether it is not a file, but a folder of objects, or those below a URL.
    rereads : bool
        Whether its reader goes through a file more than once: what is behind a URL is kept on the disk then.
    """

    name: str
    title: str
    suffixes: tuple[str, ...]
    reader: str | None
    module: str = ""
    dtypes: tuple[str, ...] = (*REALS, *COMPLEX, *INTEGERS)
    magic: tuple[bytes, ...] = ()
    magic_at: tuple[int, ...] = (0,)
    package: str | None = None
    extra: bool = False
    room: int = 0
    compresses: bool = False
    widens: bool = False
    many: bool = False
    rereads: bool = False

    def need(self) -> None:
        """Raise where its package is not there, or has no room to be loaded."""
        import importlib.util

        if self.package is None or self.package in sys.modules:
            return
        if importlib.util.find_spec(self.package) is None:
            wanted = f"'pecli[{self.package}]'" if self.extra else self.package
            raise MissingPackage(self.package, self.name, f"pip install {wanted}, or use npy or npz")
        if self.room:
            mmap.mmap(-1, self.room).close()  # OSError ENOMEM, where the library would say "std::bad_alloc" and abort

    def draft(self, table: Tabular, options: WriteOptions) -> Draft:
        """Return how a table is written; nothing is written yet.

        Raises
        ------
        BadParameter
            Naming what does not fit and which format takes it.
        """
        if not table.arrays:
            raise BadParameter("format", self.name, "has nothing to write: the table holds no array")
        for array in table.arrays:
            if not array.bytes:
                raise BadParameter("format", self.name, f"has nothing to write of '{array.name}': it is empty")
            if array.dtype not in self.dtypes:
                remedy = "use hdf5 (.h5) or " + ("safetensors" if array.dtype == "bfloat16" else "npz")
                raise BadParameter("format", self.name, f"has no {array.dtype}, the type of '{array.name}': {remedy}")
        draft: Draft = self._module().draft(table, options)
        return draft

    def open(self, source: InputFile) -> StoredTable:
        """Open a file of this format; :class:`BadFile` if it is damaged."""
        assert self.reader is not None, "exports are refused before"
        if self.rereads and source.remote is not None:
            source.remote.keep()
        table: StoredTable = getattr(self._module(), self.reader)(source)
        table.format = self.name
        return table

    def _module(self) -> Any:
        return import_module(f"pecli.formats.{self.module or self.name}")
