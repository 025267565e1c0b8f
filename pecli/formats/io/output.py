"""The open end that a format writes to: a new file, a stream, or a stand-in that the HDF5 library sees."""

from __future__ import annotations

import contextlib
import io
import os
import select
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from pecli.errors import BrokenPipe

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer, WriteableBuffer


Send = Callable[[memoryview], int]  # sends some bytes on, and returns how many


class Placed(io.RawIOBase):
    """A stream with a place, where it is read or written, and a size."""

    def __init__(self, size: int = 0) -> None:
        self._at, self.size = 0, size

    def tell(self) -> int:
        """Return the place."""
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Move to a place."""
        self._at = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self.size}[whence]
        return self._at


class Output(Placed):
    """The open end that a format writes to, in order by `write` or anywhere by `put`.

    Attributes
    ----------
    target : str
        The name that messages use.
    regular : bool
        Whether it is a file of ours, which can be written anywhere; else bytes go out in order.
    kept : bool
        Whether it will be a file all the same, as an object in a store is.
    """

    def __init__(
        self, target: str, descriptor: int, *, regular: bool, send: Send | None = None, kept: bool = False
    ) -> None:
        super().__init__()
        self.target, self.regular, self.kept = target, regular, regular or kept
        self._descriptor = descriptor
        self._send = send or (lambda view: os.write(descriptor, view))
        self._abandoned = False

    def writable(self) -> bool:
        """Return true."""
        return True

    def seekable(self) -> bool:
        """Return whether the output is a regular file, which can be written at any offset."""
        return self.regular

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Move the place of the next `write`."""
        if not self.regular:
            raise io.UnsupportedOperation("a stream cannot seek")
        return super().seek(offset, whence)

    def write(self, data: ReadableBuffer) -> int:
        """Write all of `data` at the present place; a short write of a pipe is continued."""
        view = memoryview(data).cast("B")
        count = len(view)
        if self.regular:
            self.put(view, self._at)
        elif not self._abandoned:
            while view:
                view = view[self._send_some(view) :]
        self._at += count
        self.size = max(self.size, self._at)
        return count

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Read bytes at the current offset of a regular file."""
        view = memoryview(buffer).cast("B")
        data = os.pread(self._descriptor, len(view), self._at)
        view[: len(data)] = data
        self._at += len(data)
        return len(data)

    def truncate(self, size: int | None = None) -> int:
        """Cut or lengthen a regular file."""
        self.size = self._at if size is None else size
        if not self._abandoned:
            os.ftruncate(self._descriptor, self.size)
        return self.size

    def put(self, data: ReadableBuffer, offset: int) -> None:
        """Write all of `data` at `offset` of a regular file; one thread at a time."""
        view = memoryview(data).cast("B")
        self.size = max(self.size, offset + len(view))
        while view and not self._abandoned:
            count = self._pwrite(view, offset)
            view, offset = view[count:], offset + count

    def abandon(self) -> None:
        """Let every further write vanish.

        A library's writer that is closed or collected after a failure appends
        an ending, and a reader would then take the part for a whole.
        """
        self._abandoned = True

    def _send_some(self, view: memoryview) -> int:
        try:
            return self._send(view)
        except BlockingIOError:  # the parent made the pipe non-blocking
            select.select([], [self._descriptor], [])
            return 0
        except BrokenPipeError:
            self.abandon()
            raise BrokenPipe(f"the reader of {self.target} has gone") from None

    def _pwrite(self, view: memoryview, offset: int) -> int:
        if hasattr(os, "pwrite"):
            return os.pwrite(self._descriptor, view, offset)
        os.lseek(self._descriptor, offset, os.SEEK_SET)  # Windows has no write at an offset
        return os.write(self._descriptor, view)


class HeldOutput(Placed):
    """An output for a library's writer, whose pieces are postponed until the caller has seen no failure.

    An interrupt may raise within a write that the library calls; the library
    then ends its file as if it were whole, and a reader of the pipe would
    believe it.  That ending never leaves here.
    """

    def __init__(self, output: Output) -> None:
        super().__init__()
        self._output = output
        self._waiting: list[ReadableBuffer] = []

    def writable(self) -> bool:
        """Return true."""
        return True

    def write(self, data: ReadableBuffer) -> int:
        """Hold `data`, without a copy, until the next `release`."""
        self._waiting.append(data)
        count = memoryview(data).nbytes
        self._at += count
        return count

    def release(self) -> None:
        """Write the postponed pieces."""
        for data in self._waiting:
            self._output.write(data)
        self._waiting.clear()


class Image(Placed):
    """A sparse file in memory: the written pieces with their offsets."""

    def __init__(self) -> None:
        super().__init__()
        self.writes: list[tuple[int, bytes]] = []

    def truncate(self, size: int | None = None) -> int:
        """Set the size."""
        self.size = self._at if size is None else size
        return self.size

    def write(self, data: Any) -> int:
        """Record a piece at the current offset."""
        piece = bytes(data)
        self.writes.append((self._at, piece))
        self._at += len(piece)
        self.size = max(self.size, self._at)
        return len(piece)

    def readinto(self, buffer: Any) -> int:
        """Read bytes at the current offset; bytes never written read as zero."""
        view = memoryview(buffer).cast("B")
        view[:] = overlaid(self.writes, self._at, self._at + len(view))
        self._at += len(view)
        return len(view)


def overlaid(writes: Iterable[tuple[int, bytes]], start: int, stop: int) -> bytes:
    """Return bytes of a file of such pieces, each at an offset, later ones over earlier ones; zeros elsewhere."""
    found = bytearray(stop - start)
    for offset, piece in writes:
        low, high = max(offset, start), min(offset + len(piece), stop)
        if low < high:
            found[low - start : high - start] = piece[low - offset : high - offset]
    return bytes(found)


class Shielded(io.RawIOBase):
    """An output for the HDF5 library: no write fails, and the first failure is kept for `check`."""

    def __init__(self, output: Output) -> None:
        self.output = output
        self.failure: BaseException | None = None

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Move to a place."""
        return self.output.seek(offset, whence)

    def tell(self) -> int:
        """Return the place."""
        return self.output.tell()

    def truncate(self, size: int | None = None) -> int:
        """Set the size."""
        return self._guarded(self.output.truncate, size)

    def write(self, data: Any) -> int:
        """Pass the data on to the output."""
        self._guarded(self.output.write, data)
        return len(data)

    def readinto(self, buffer: Any) -> int:
        """Read bytes from the output."""
        return self._guarded(self.output.readinto, buffer)

    def _guarded(self, act: Any, argument: Any) -> int:
        try:
            return int(act(argument))
        except BaseException as error:
            self.stop(error)
            return 0

    def stop(self, failure: BaseException | None = None) -> None:
        """Let every further write vanish, and `check` fail."""
        self.failure = self.failure or failure or InterruptedError("stopped")
        self.output.abandon()

    def check(self) -> None:
        """Raise the first failure, if a write failed."""
        if self.failure is not None:
            raise self.failure


@contextlib.contextmanager
def spooled(output: Output) -> Iterator[Output]:
    """Give a temporary file in place of a stream that cannot be written anywhere; send it on when it is whole."""
    import tempfile

    with tempfile.TemporaryFile() as spool:
        local = Output(tempfile.gettempdir(), spool.fileno(), regular=True)
        yield local
        spool.seek(0)
        while piece := spool.read(1 << 20):
            output.write(piece)
