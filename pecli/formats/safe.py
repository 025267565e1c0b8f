"""One way to write a file safely: whole or not at all.

A regular file is written under a hidden name beside its place and renamed over
it when its bytes are on the disk, so that an interrupt, a kill or a full disk
leaves the old file as it was.  A symbolic link keeps pointing where it pointed.
Devices, FIFOs and standard output are written straight.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import re
import select
import shutil
import stat
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from pecli.errors import BrokenPipe, PecliError, WouldOverwrite, WriteFailed

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer, WriteableBuffer

STANDARD = "-"
RESERVED_AT_ONCE = 16 << 20
SLOW_RESERVATION = 1e-10  # seconds a byte; seen: ext4 1e-12, tmpfs 3e-10
_OWN_DESCRIPTOR = re.compile(r"/(?:dev|proc/self)/fd/(\d+)")


class Output(io.RawIOBase):
    """The open end that a format writes to, in order by `write` or anywhere by `put`.

    Attributes
    ----------
    target : str
        The name that messages use.
    regular : bool
        Whether it is a file of ours, which can be written anywhere; else bytes go out in order.
    """

    def __init__(self, target: str, descriptor: int, *, regular: bool, send: Callable[[memoryview], int] | None = None):
        self.target, self.regular = target, regular
        self._descriptor = descriptor
        self._send = send or (lambda view: os.write(descriptor, view))
        self._at = self._end = 0
        self._abandoned = False
        self._placing = threading.Lock()

    def writable(self) -> bool:
        """Return true."""
        return True

    def seekable(self) -> bool:
        """Whether any place can be written."""
        return self.regular

    def tell(self) -> int:
        """Return the place where `write` goes on."""
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Move that place."""
        if not self.regular:
            raise io.UnsupportedOperation("a stream cannot seek")
        self._at = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._end}[whence]
        return self._at

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
        self._end = max(self._end, self._at)
        return count

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Read back what was written at the present place of a regular file."""
        view = memoryview(buffer).cast("B")
        data = b"" if self._abandoned else os.pread(self._descriptor, len(view), self._at)
        view[: len(data)] = data
        self._at += len(data)
        return len(data)

    def truncate(self, size: int | None = None) -> int:
        """Cut or lengthen a regular file."""
        self._end = self._at if size is None else size
        if not self._abandoned:
            os.ftruncate(self._descriptor, self._end)
        return self._end

    def put(self, data: ReadableBuffer, offset: int) -> None:
        """Write all of `data` at `offset` of a regular file; threads may call it at once."""
        view = memoryview(data).cast("B")
        self._end = max(self._end, offset + len(view))
        while view and not self._abandoned:
            count = self._pwrite(view, offset)
            view, offset = view[count:], offset + count

    def abandon(self) -> None:
        """Let every further write vanish.

        A library's writer that is closed or collected after a failure appends
        an ending, and a reader would then take the part for a whole.
        """
        self._abandoned = True

    @property
    def bytes(self) -> int:
        """Bytes written so far, counted to the furthest."""
        return self._end

    def reserve(self, size: int, stopped: Callable[[], bool] = lambda: False) -> None:
        """Take `size` bytes of the disk now, so that it cannot run full later.

        Where that takes as long as writing (tmpfs, which has nothing to
        reserve but the memory itself) it would keep the other threads from the
        file; there the free space was checked, and a write that fails is told.
        """
        if not self.regular or not hasattr(os, "posix_fallocate"):
            return
        for start in range(0, size, RESERVED_AT_ONCE):
            if stopped():
                return
            count = min(RESERVED_AT_ONCE, size - start)
            begun = time.thread_time()
            try:
                os.posix_fallocate(self._descriptor, start, count)
            except OSError as error:
                if error.errno in (errno.EINVAL, errno.EOPNOTSUPP, errno.ENOSYS):  # a file system that cannot
                    return
                raise
            if time.thread_time() - begun > count * SLOW_RESERVATION:
                return

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
        with self._placing:  # Windows has no write at an offset
            os.lseek(self._descriptor, offset, os.SEEK_SET)
            return os.write(self._descriptor, view)


@contextlib.contextmanager
def open_output(path: str, *, clobber: bool = True, size: int = 0) -> Iterator[Output]:
    """Open `path` for writing; on a clean exit the file stands there whole, on any other nothing is left.

    Parameters
    ----------
    path : str
        A path, or "-" for standard output.
    clobber : bool
        Whether a file of this name may be replaced.
    size : int
        Bytes that will be written, as far as known, for the message of a full disk.

    Raises
    ------
    WouldOverwrite
        If the file exists and `clobber` is off.
    WriteFailed
        If the system refuses.
    BrokenPipe
        If the reader of a pipe has gone.
    """
    with _explained(path, size):
        if is_stream(path):
            with _stream(path) as output:
                try:
                    yield output
                except BaseException:
                    output.abandon()
                    raise
        else:
            with _replacement(path, clobber) as output:
                yield output


def is_stream(path: str) -> bool:
    """Whether `path` is written straight: standard output, a device, a FIFO."""
    if path == STANDARD or path == "/dev/stdout" or path == "/dev/stderr" or _OWN_DESCRIPTOR.fullmatch(path):
        return True
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def check_place(path: str, size: int, *, clobber: bool = True) -> None:
    """Raise if a file of at least `size` bytes cannot stand at `path`, before a byte is written."""
    if is_stream(path):
        return
    with _explained(path, size):
        place = _Place(path, clobber)
        free = _free(place.folder)
        if free is not None and size > free:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        limit = _file_limit()
        if limit is not None and size > limit:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))


class _Place:
    """Where a regular file goes, checked."""

    def __init__(self, path: str, clobber: bool) -> None:
        if "\0" in path:
            raise WriteFailed(repr(path), "a path cannot contain a null character: name another file")
        if os.path.isdir(path):
            raise WriteFailed(path, "is a directory: name a file in it")
        if path.endswith(os.sep) or not path:
            raise WriteFailed(path or "''", "ends without a file name: add one")
        self.real = os.path.realpath(path)
        self.folder, self.name = os.path.split(self.real)
        if not os.path.isdir(self.folder):
            raise WriteFailed(path, f"the folder {self.folder} does not exist: make it first, or name another")
        if not os.access(self.folder, os.W_OK | os.X_OK):
            raise WriteFailed(
                path, f"the folder {self.folder} cannot be written: change its permissions, or name another"
            )
        self.mode: int | None = None
        with contextlib.suppress(FileNotFoundError):
            self.mode = stat.S_IMODE(os.stat(self.real).st_mode)
        if self.mode is not None:
            if not clobber:
                raise WouldOverwrite(path)
            if not os.access(self.real, os.W_OK):
                raise WriteFailed(path, "is write-protected: change its permissions, or name another file")


@contextlib.contextmanager
def _replacement(path: str, clobber: bool) -> Iterator[Output]:
    place = _Place(path, clobber)
    # Names are limited to 255 bytes: the hidden one must not be longer than the file's own allows.
    stem = os.fsdecode(os.fsencode(place.name)[:200])
    hidden = os.path.join(place.folder, f".{stem}.{os.urandom(4).hex()}.tmp")
    descriptor = -1
    output = None
    try:
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
        descriptor = os.open(hidden, flags, 0o666 if place.mode is None else place.mode)  # the system applies the umask
        output = Output(path, descriptor, regular=True)
        yield output
        if place.mode is not None and hasattr(os, "fchmod"):
            os.fchmod(descriptor, place.mode)
        os.fsync(descriptor)
        _move(hidden, place.real, clobber, path)
        _sync_folder(place.folder)
    except BaseException:
        if output is not None:
            output.abandon()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(hidden)
        raise
    finally:
        if descriptor >= 0:
            os.close(descriptor)


def _move(hidden: str, real: str, clobber: bool, path: str) -> None:
    if clobber or not hasattr(os, "link"):
        os.replace(hidden, real)
        return
    try:
        os.link(hidden, real)  # unlike a rename it fails where somebody was faster
    except FileExistsError:
        raise WouldOverwrite(path) from None
    except OSError:  # a file system without hard links
        os.replace(hidden, real)
    else:
        os.unlink(hidden)


def _sync_folder(folder: str) -> None:
    with contextlib.suppress(OSError):  # not every file system lets a directory be opened or synced
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextlib.contextmanager
def _stream(path: str) -> Iterator[Output]:
    if path in (STANDARD, "/dev/stdout"):
        sys.stdout.flush()
        try:
            descriptor = sys.stdout.fileno()
        except (OSError, ValueError):  # standard output was replaced by an object in memory
            yield Output("standard output", -1, regular=False, send=sys.stdout.buffer.write)
        else:
            yield Output("standard output", descriptor, regular=False)
        return
    own = _OWN_DESCRIPTOR.fullmatch(path)
    if path == "/dev/stderr" or own:  # opened by name it would start at the beginning of a redirected file
        yield Output(path, int(own[1]) if own else 2, regular=False)
        return
    descriptor = os.open(path, os.O_WRONLY | getattr(os, "O_CLOEXEC", 0))
    try:
        yield Output(path, descriptor, regular=False)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _explained(path: str, size: int) -> Iterator[None]:
    try:
        yield
    except PecliError:
        raise
    except OSError as error:
        raise WriteFailed("standard output" if path == STANDARD else path, _reason(error, path, size)) from error


def _reason(error: OSError, path: str, size: int) -> str:
    folder = os.path.dirname(os.path.realpath(path))
    if error.errno == errno.ENOSPC:
        free = _free(folder)
        if is_stream(path) or free is None:
            return "no space is left on the device: write elsewhere"
        need = f"{size:,} bytes are needed and " if size else ""
        return f"the disk is full: {need}{free:,} are free in {folder}; free some space, or write elsewhere"
    if error.errno == errno.EDQUOT:
        return f"the disk quota is used up: {size:,} bytes are needed; free some space, or write elsewhere"
    if error.errno == errno.EFBIG:
        return f"{size:,} bytes are more than a file may have here (ulimit -f, or the file system): write elsewhere"
    if error.errno == errno.EROFS:
        return f"the file system of {folder} is read-only: write elsewhere"
    return f"cannot be written ({error.strerror or error}): name another file"


def _free(folder: str) -> int | None:
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return None


def _file_limit() -> int | None:
    try:
        import resource
    except ImportError:
        return None
    soft, _hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    return None if soft == resource.RLIM_INFINITY else soft
