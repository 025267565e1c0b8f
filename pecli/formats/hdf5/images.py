"""The files that the HDF5 library sees instead of the one on the disk."""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Iterator
from typing import Any

from pecli.formats.common.output import Output


class Image(io.RawIOBase):
    """A file in memory that keeps what was written and where, and no byte of what was not."""

    def __init__(self) -> None:
        self.writes: list[tuple[int, bytes]] = []
        self.size = 0
        self._at = 0

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Move to a place."""
        self._at = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self.size}[whence]
        return self._at

    def tell(self) -> int:
        """Return the place."""
        return self._at

    def truncate(self, size: int | None = None) -> int:
        """Set the size."""
        self.size = self._at if size is None else size
        return self.size

    def write(self, data: Any) -> int:
        """Keep or pass on what is written."""
        piece = bytes(data)
        self.writes.append((self._at, piece))
        self._at += len(piece)
        self.size = max(self.size, self._at)
        return len(piece)

    def readinto(self, buffer: Any) -> int:
        """Read back what was written."""
        view = memoryview(buffer).cast("B")
        view[:] = bytes(len(view))
        for offset, piece in self.writes:
            low, high = max(offset, self._at), min(offset + len(piece), self._at + len(view))
            if low < high:
                view[low - self._at : high - self._at] = piece[low - offset : high - offset]
        self._at += len(view)
        return len(view)


class Shielded(io.RawIOBase):
    """An output as the HDF5 library sees it: no write ever fails; the first failure is kept."""

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
        """Keep or pass on what is written."""
        self._guarded(self.output.write, data)
        return len(data)

    def readinto(self, buffer: Any) -> int:
        """Read back what was written."""
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
        """Raise the failure that was kept."""
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
