"""Tables that lie in files: what every reader shares.

Files come from anywhere: what a header says is held against the size of the
file before any memory is taken, and nothing in a file is ever executed.
"""

from __future__ import annotations

import contextlib
import errno
import math
import os
import stat
import struct
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from pecli.declare.tabular import Array, Tabular
from pecli.errors import BadFile, PecliError, UnknownName
from pecli.formats.common.facts import plain, plain_facts
from pecli.numbers.types import ITEM_BYTES, raw_bytes, storage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LIBRARY_ERRORS = (
    OSError, EOFError, RuntimeError, LookupError, ValueError, TypeError, ArithmeticError, AttributeError, MemoryError,
    SystemError, zlib.error, zipfile.BadZipFile, struct.error,
)  # fmt: skip
"""What the libraries were seen to raise, or might, where a file is damaged."""

LARGEST_ROW = 16 << 20  # a row of more bytes than this is read value by value
LEADS = (("position",), ("head", "query"), ("head", "distance"), ("head",))  # axes that number rows, where named
HEAD_BYTES = 4096
PIECE = 1 << 20  # bytes of a pipe copied at a time


@dataclass(frozen=True)
class InputFile:
    """A regular file to read.

    Parameters
    ----------
    path : str
        Where it lies; a temporary file where the bytes came through a pipe.
    name : str
        What the user called it.
    size : int
        Bytes.
    head : bytes
        Its first bytes.
    """

    path: str
    name: str
    size: int
    head: bytes

    def bad(self, rule: str) -> BadFile:
        """Return the error that says what is wrong with the file."""
        return BadFile(self.name, rule)


@contextlib.contextmanager
def reading(source: InputFile, what: str) -> Iterator[None]:
    """Turn whatever a library raises on a damaged file into :class:`BadFile`; `what` follows the file's name."""
    try:
        yield
    except PecliError:
        raise
    except LIBRARY_ERRORS as error:
        raise source.bad(f"{what}: it is truncated or damaged; make it again") from error


class StoredTable(Tabular):
    """A table in a file; rows are read when they are asked for.

    A context manager: the file stays open until `close`.

    Attributes
    ----------
    path : str
        The file, as it was named.
    format : str
        Name of its format.
    sequential : bool
        Whether going back is dear, so that one thread should read it from the beginning to the end.
    """

    sequential = False

    def __init__(
        self,
        source: InputFile,
        form: str,
        arrays: Sequence[Array],
        recipe: str | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> None:
        self.source, self.path, self.format = source, source.name, form
        self._positions: Array | None = None
        self.arrays, self.metadata = tuple(arrays), plain_facts(metadata or {})
        self.recipe = None if recipe is None else plain(recipe)
        if not self.arrays:
            raise source.bad(f"holds no array of numbers that {form} could give: name another file")

    def select(self, name: str) -> None:
        """Leave only the array of this name; :class:`UnknownName` if there is none."""
        if self._positions is not None and self._positions.name == name:
            self.arrays, self._positions = (self._positions,), None
        if all(array.name != name for array in self.arrays):
            raise UnknownName(f"array in {self.path}", name, [array.name for array in self.arrays])
        self.arrays = (self.array(name),)

    def fill(self, start: int, stop: int, out: Mapping[str, NDArray[Any]]) -> None:
        """Read rows; see :meth:`pecli.declare.tabular.Tabular.fill`."""
        for name, values in out.items():
            self.fill_array(self.array(name), start, stop, values)

    def fill_array(self, array: Array, start: int, stop: int, out: NDArray[Any]) -> None:
        """Read rows `start` to `stop` of one array into `out`."""
        raise NotImplementedError

    def take_positions(self, name: str) -> None:
        """Read the array `name`, if it numbers the rows of another, as their positions."""
        found = next((array for array in self.arrays if array.name == name), None)
        rest = tuple(array for array in self.arrays if array is not found)
        if found is None or len(found.shape) != 1 or found.dtype not in ("int64", "int32", "float64"):
            return
        if any(array.lead and array.shape[array.lead - 1] == found.shape[0] for array in rest):
            self._positions, self.arrays = found, rest

    def position(self, start: int, stop: int) -> NDArray[Any] | None:
        """Return the positions that the file gives to rows `start` to `stop`; None where it gives none."""
        if self._positions is None or stop > self._positions.rows:
            return None
        import numpy as np

        out = np.empty(stop - start, storage(self._positions.dtype))
        self.fill_array(self._positions, start, stop, out)
        return out.astype(np.float64 if out.dtype.kind == "f" else np.int64, copy=False)

    def close(self) -> None:
        """Close the file."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()


class RawFile:
    """Values that stand in a file as they stand in memory, read at offsets by any thread."""

    def __init__(self, source: InputFile) -> None:
        self.source = source
        self.descriptor = os.open(source.path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0))

    def close(self) -> None:
        """Close the file."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1

    def __del__(self) -> None:
        self.close()

    def read(self, offset: int, count: int) -> bytes:
        """Return exactly `count` bytes."""
        if count < 0 or offset + count > self.source.size:
            raise self.source.bad("ends early: it is truncated; make it again")
        data = bytearray(count)
        self.read_into(offset, memoryview(data))
        return bytes(data)

    def read_into(self, offset: int, view: memoryview) -> None:
        """Fill `view` with the bytes at `offset`."""
        while view:
            if hasattr(os, "preadv"):
                count = os.preadv(self.descriptor, [view], offset)
            else:
                data = os.pread(self.descriptor, len(view), offset)
                count = len(data)
                view[:count] = data
            if not count:
                raise self.source.bad("ends early: it is truncated; make it again")
            view, offset = view[count:], offset + count

    def values(self, offset: int, dtype: np.dtype[Any], out: NDArray[Any]) -> None:
        """Read values of `dtype`, in C order from `offset`, into `out`."""
        import numpy as np

        if out.dtype == dtype and out.flags.c_contiguous:
            self.read_into(offset, raw_bytes(out))
        else:
            raw = np.empty(out.size, dtype)
            self.read_into(offset, raw_bytes(raw))
            out[...] = raw.reshape(out.shape)


def stored_array(
    name: str, shape: Sequence[int], dtype: str, axes: Sequence[str] = (), lead: int | None = None
) -> Array:
    """Describe an array of a file: its last axis is a row, where that is not absurdly long."""
    shape = tuple(shape)
    if lead is None and len(axes) == len(shape):
        lead = next((len(start) for start in LEADS if tuple(axes[: len(start)]) == start), None)
    if lead is None:
        lead = max(1, len(shape) - 1) if shape else 0
        if len(shape) > 2 and shape[-1] == 2:  # pairs belong to one row
            lead -= 1
        if math.prod(shape[lead:]) * ITEM_BYTES[dtype] > LARGEST_ROW:
            lead = len(shape)
    named = (
        tuple(axes) if len(axes) == len(shape) and all(axes) else tuple(f"axis{index}" for index in range(len(shape)))
    )
    return Array(name, shape, dtype, named, lead)


def dtype_name(dtype: np.dtype[Any]) -> str | None:
    """Return pecli's name of a NumPy type, whatever its byte order; None where it has none."""
    return dtype.name if dtype.name in ITEM_BYTES and dtype.kind in "biufc" else None


def safe_shape(shape: object) -> tuple[int, ...] | None:
    """Return `shape` if it is a tuple or list of at most 32 sizes that fit an index; else None."""
    if not isinstance(shape, tuple | list) or len(shape) > 32:
        return None
    if not all(type(size) is int and 0 <= size < 1 << 62 for size in shape) or math.prod(shape) >= 1 << 62:
        return None
    return tuple(shape)


def without_limit(_source: InputFile) -> int:
    """Let a pipe give as much as it has, and the disk takes."""
    return sys.maxsize


@contextlib.contextmanager
def regular_source(path: str, most: Callable[[InputFile], int] = without_limit) -> Iterator[InputFile]:
    """Give the file behind `path` as one that can be read anywhere; "-" and pipes are copied to the disk first.

    Parameters
    ----------
    path : str
        A file, a device, a FIFO, or "-" for standard input.
    most : callable
        Of what comes through a pipe, by its first bytes, how many bytes are copied; may raise.

    Raises
    ------
    BadFile
        If there is none, or it cannot be read, or is empty, or more comes through a pipe.
    """
    name = "standard input" if path == "-" else path
    with contextlib.ExitStack() as stack:
        try:
            if path == "-":
                local = _spooled(sys.stdin.buffer, name, most, stack)
            else:
                mode = os.stat(path).st_mode
                if stat.S_ISDIR(mode):
                    raise BadFile(path, "is a folder: name a file in it")
                local = path
                if not stat.S_ISREG(mode):
                    local = _spooled(stack.enter_context(open(path, "rb")), name, most, stack)
            with open(local, "rb") as file:
                head = file.read(HEAD_BYTES)
                size = os.fstat(file.fileno()).st_size
        except BadFile:
            raise
        except (OSError, ValueError) as error:
            raise BadFile(path, _reason(error)) from error
        if not size:
            raise BadFile(name, "is empty: make it again")
        yield InputFile(local, name, size, head)


def _spooled(stream: Any, name: str, most: Callable[[InputFile], int], stack: contextlib.ExitStack) -> str:
    """Copy a stream into a file that is gone once it has been opened."""
    piece = stream.read(HEAD_BYTES)
    left = most(InputFile("", name, sys.maxsize, piece)) if piece else 0
    limit = left >> 20
    descriptor, local = tempfile.mkstemp(prefix="pecli-")
    stack.callback(_unlink, local)
    with os.fdopen(descriptor, "wb") as copy:
        while piece:
            left -= len(piece)
            if left < 0:
                raise BadFile(name, f"gives more than {limit} MiB through a pipe: save it in a file, best as npy")
            copy.write(piece)
            piece = stream.read(PIECE)
    return local


def _unlink(name: str) -> None:
    with contextlib.suppress(OSError):  # Windows keeps an open file
        os.unlink(name)


def _reason(error: OSError | ValueError) -> str:
    number = error.errno if isinstance(error, OSError) else None
    if number == errno.ENOENT:
        return "does not exist: check the name"
    if number in (errno.EACCES, errno.EPERM):
        return "may not be read: change its permissions"
    if number == errno.ENOSPC:
        return f"no space is left in {tempfile.gettempdir()} to hold what comes through the pipe: set TMPDIR"
    return f"cannot be read ({getattr(error, 'strerror', None) or error})"
