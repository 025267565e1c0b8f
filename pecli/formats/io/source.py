"""Files to read: regular ones, pipes copied to the disk, and the format that their first bytes show.

Files come from anywhere: what a header says is held against the size of the file before any memory is taken, and
nothing in a file is ever executed.
"""

from __future__ import annotations

import contextlib
import errno
import io
import mmap
import os
import re
import stat
import struct
import sys
import zlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from pecli.errors import BadFile, PecliError
from pecli.formats.deferred import pa
from pecli.formats.io.output import Placed
from pecli.numbers.bounds import limit, size_text
from pecli.numbers.deferred import NDArray, np
from pecli.numbers.dtypes import raw_bytes

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


# Errors that the libraries raise, or might raise, on a damaged file.
LIBRARY_ERRORS = (
    OSError, EOFError, RuntimeError, LookupError, ValueError, TypeError, ArithmeticError, AttributeError, MemoryError,
    SystemError, zlib.error, struct.error,
)  # fmt: skip

HEAD_BYTES = 4096
PIECE = 1 << 20  # bytes of a pipe copied at a time
AHEAD = 1 << 16  # bytes asked of a server where a library wants a few


class InputFile(NamedTuple):
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
    remote : RemoteFile, optional
        What reads it by ranges, where it lies behind a URL; see `pecli.formats.io.remote`.
    """

    path: str
    name: str
    size: int
    head: bytes
    remote: Any = None

    def bad(self, rule: str) -> BadFile:
        """Return the error for a fault of the file."""
        return BadFile(self.name, rule)

    def allow(self, size: int, most: int, what: str, remedy: str = "") -> None:
        """Raise :class:`BadFile` where a size in bytes, said by `what`, is beyond `most` and the user's limit."""
        if size > limit(most):
            raise self.bad(f"{what}, of which {size_text(limit(most))}{remedy}")

    def decoded(self, data: bytes | bytearray) -> str:
        """Return text of the file; :class:`BadFile` where it is no UTF-8."""
        try:
            return data.decode()
        except UnicodeDecodeError:
            raise self.bad("is no text in UTF-8") from None

    def handle(self) -> Any:
        """Return the argument with which a library opens the file: the path, or an object that reads ranges."""
        if self.remote is None:
            return self.path
        return io.BufferedReader(_Ranges(self.remote), AHEAD)

    def arrow_handle(self) -> Any:
        """Return the argument with which Arrow opens the file, which takes no path that is not UTF-8."""
        if self.remote is None and re.search("[\ud800-\udfff]", self.path):
            with open(self.path, "rb") as file:
                return pa.BufferReader(pa.py_buffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)))
        return self.handle()


class _Ranges(Placed):
    """A remote file as a binary stream for libraries."""

    def __init__(self, file: Any) -> None:
        super().__init__(int(file.size))
        self._remote = file

    def readable(self) -> bool:
        """Return true."""
        return True

    def seekable(self) -> bool:
        """Return true."""
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Read on from the place."""
        view = memoryview(buffer).cast("B")
        count = max(0, min(len(view), self.size - self._at))
        view[:count] = self._remote.read(self._at, count)
        self._at += count
        return count


@contextlib.contextmanager
def reading(source: InputFile, what: str) -> Iterator[None]:
    """Convert any error of a library on a damaged file into :class:`BadFile`; `what` follows the file's name."""
    try:
        yield
    except PecliError:
        raise
    except UnicodeDecodeError as error:
        raise source.bad(f"{what}: a name in it is not UTF-8 text; rename it where the file was made") from error
    except Exception as error:
        if not isinstance(error, LIBRARY_ERRORS) and type(error).__name__ != "BadZipFile":
            raise
        why = "it is truncated or damaged; make it again"
        if isinstance(error, MemoryError) or getattr(error, "errno", 0) == errno.ENOMEM or "llocat" in str(error):
            why = "there is too little memory here, or it is damaged; allow more (ulimit -v), or make it again"
        raise source.bad(f"{what}: {why}") from error


@contextlib.contextmanager
def undone(close: Callable[[], None]) -> Iterator[None]:
    """Close an opened file if the body of the with statement fails."""
    try:
        yield
    except BaseException:
        close()
        raise


class RawFile:
    """Uncompressed values of a file, read at offsets by any thread."""

    def __init__(self, source: InputFile) -> None:
        self.source, self.descriptor = source, -1
        if source.remote is None:
            flags = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
            self.descriptor = os.open(source.path, flags)

    def close(self) -> None:
        """Close the file."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1

    def __del__(self) -> None:
        self.close()

    def read(self, offset: int, count: int) -> bytes:
        """Return exactly `count` bytes."""
        if count < 0 or offset < 0 or offset + count > self.source.size:
            raise self.source.bad("ends early: it is truncated; make it again")
        data = bytearray(count)
        self.read_into(offset, memoryview(data))
        return bytes(data)

    def read_into(self, offset: int, view: memoryview) -> None:
        """Fill `view` with the bytes at `offset`."""
        if self.source.remote is not None:
            view[:] = self.source.remote.read(offset, len(view))
            return
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
        if out.dtype == dtype and out.flags.c_contiguous:
            self.read_into(offset, raw_bytes(out))
        else:
            raw = np.empty(out.size, dtype)
            self.read_into(offset, raw_bytes(raw))
            out[...] = raw.reshape(out.shape)


def whole(source: InputFile, title: str, most: int) -> bytearray:
    """Return all of a text file; :class:`BadFile` where it is longer than `most` bytes and than the user allows."""
    remedy = ": convert it to npy where it was made, or allow more"
    source.allow(source.size, most, f"is {title} of {source.size:,} bytes", remedy)
    data = bytearray(source.size)
    with contextlib.closing(RawFile(source)) as file:
        file.read_into(0, memoryview(data))
    return data


@contextlib.contextmanager
def regular_source(path: str, most: Callable[[InputFile], int]) -> Iterator[InputFile]:
    """Open `path` for random access; standard input ("-") and pipes are copied to the disk first.

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
    """Copy a stream into a temporary file that is deleted once it has been opened."""
    import tempfile

    piece = stream.read(HEAD_BYTES)
    left = most(InputFile("", name, sys.maxsize, piece)) if piece else 0
    limit = left >> 20
    copy = stack.enter_context(tempfile.NamedTemporaryFile(prefix="pecli-"))  # noqa: SIM115 - the stack closes it
    while piece:
        left -= len(piece)
        if left < 0:
            raise BadFile(name, f"gives more than {limit} MiB through a pipe: save it in a file, best as npy")
        copy.write(piece)
        piece = stream.read(PIECE)
    copy.flush()
    return copy.name


def _reason(error: OSError | ValueError) -> str:
    import tempfile

    number = error.errno if isinstance(error, OSError) else None
    if number == errno.ENOENT:
        return "does not exist: check the name"
    if number in (errno.EACCES, errno.EPERM):
        return "may not be read: change its permissions"
    if number == errno.ENOSPC:
        return f"no space is left in {tempfile.gettempdir()} to hold what comes through the pipe: set TMPDIR"
    return f"cannot be read ({getattr(error, 'strerror', None) or error})"


def inflated(data: bytes, codec: str, max_bytes: int) -> bytes:
    """Return "gzip", "zlib" or "zstd" data decompressed; :class:`ValueError` beyond `max_bytes`."""
    if codec == "zlib":
        stream = zlib.decompressobj()
        found = stream.decompress(data, max_bytes + 1)
        if not stream.eof:
            raise ValueError(f"inflates to more than {max_bytes} bytes, or is cut")
    else:
        with pa.CompressedInputStream(pa.BufferReader(data), codec) as opened:
            found = opened.read(max_bytes + 1)
    if len(found) > max_bytes:
        raise ValueError(f"inflates to more than {max_bytes} bytes")
    return found
