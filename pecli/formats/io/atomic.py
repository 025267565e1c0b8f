"""Atomic writes: a file appears whole or not at all, and so does a store of many objects.

A regular file is written under a hidden name in the same folder and renamed over its target once its bytes are on the
disk, so that an interrupt or a full disk leaves the old file as it was.  A symbolic link keeps pointing where it
pointed.  Devices, FIFOs and standard output are written directly.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
import stat
import sys
from collections.abc import Iterator
from typing import NamedTuple

from pecli.errors import PecliError, WouldOverwrite, WriteFailed
from pecli.formats.io.output import Output

STANDARD = "-"
_CREATE = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
PERMISSIONS = 0o777  # bits that a new file takes from the old one's mode: not set-user-id
_OWN_DESCRIPTOR = re.compile(r"/(?:dev|proc/self)/fd/(\d+)")


class Need(NamedTuple):
    """Size of a file in bytes, or a lower bound where the size is not known."""

    size: int = 0
    exact: bool = True

    def __str__(self) -> str:
        return f"{'' if self.exact else 'at least '}{self.size:,} bytes"


_NOTHING = Need()


@contextlib.contextmanager
def open_output(path: str, *, clobber: bool = True, need: Need = _NOTHING) -> Iterator[Output]:
    """Open `path` for an atomic write: a clean exit leaves the complete file, any other exit leaves nothing.

    Parameters
    ----------
    path : str
        A path, or "-" for standard output.
    clobber : bool
        Whether a file of this name may be replaced.
    need : Need
        Bytes that will be written, for the message of a full disk.

    Raises
    ------
    WouldOverwrite
        If the file exists and `clobber` is off.
    WriteFailed
        If the system refuses.
    BrokenPipe
        If the reader of a pipe has gone.
    """
    with explained(path, need):
        if is_stream(path):
            with _stream(path) as output:
                try:
                    yield output
                except BaseException:
                    output.abandon()
                    raise
        else:
            with _replacement(path, clobber, need) as output:
                yield output


def is_stream(path: str) -> bool:
    """Return whether `path` is written straight: standard output, a device, a FIFO."""
    if path == STANDARD or path == "/dev/stdout" or path == "/dev/stderr" or _OWN_DESCRIPTOR.fullmatch(path):
        return True
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def check_place(path: str, need: Need, *, clobber: bool = True) -> None:
    """Raise if a file that needs so much cannot be written to `path`, before a byte is."""
    if is_stream(path):
        return
    with explained(path, need):
        check_room(os.path.dirname(_target(path, clobber)[0]), need)
        limit = _file_limit()
        if limit is not None and need.size > limit:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))


def check_room(folder: str, need: Need) -> None:
    """Raise OSError where a file system is known to have less space."""
    free = free_space(folder)
    if free is not None and need.size > free:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def folder_of(path: str) -> str:
    """Return the folder of a path; :class:`WriteFailed` if there is none."""
    folder = os.path.dirname(os.path.realpath(path))
    if not os.path.isdir(folder):
        raise WriteFailed(path, f"the folder {folder} does not exist: make it first, or name another")
    return folder


def _target(path: str, clobber: bool) -> tuple[str, int | None]:
    """Return the path of a regular file that can be written, and the mode of the one that is there."""
    if "\0" in path:
        raise WriteFailed(repr(path), "a path cannot contain a null character: name another file")
    if os.path.isdir(path):
        raise WriteFailed(path, "is a folder: name a file in it")
    if path.endswith(os.sep) or not path:
        raise WriteFailed(path or "''", "ends without a file name: add one")
    real, folder = os.path.realpath(path), folder_of(path)
    if not os.access(folder, os.W_OK | os.X_OK):
        rule = f"the folder {folder} cannot be written: change its permissions, or name another"
        raise WriteFailed(path, rule)
    try:
        mode = stat.S_IMODE(os.stat(real).st_mode)
    except FileNotFoundError:
        return real, None
    if not clobber:
        raise WouldOverwrite(path)
    if not os.access(real, os.W_OK):
        raise WriteFailed(path, "is write-protected: change its permissions, or name another file")
    return real, mode


@contextlib.contextmanager
def _replacement(path: str, clobber: bool, need: Need) -> Iterator[Output]:
    """Write a hidden file in the target's folder, and rename it over the target once it is whole and on the disk."""
    real, old = _target(path, clobber)
    folder, name = os.path.split(real)
    stem = os.fsdecode(os.fsencode(name)[:200])  # names are limited to 255 bytes
    hidden = os.path.join(folder, f".{stem}.{os.urandom(4).hex()}.tmp")
    mode = 0o666 if old is None else old & PERMISSIONS  # the system applies the umask
    descriptor, output = -1, None
    try:
        descriptor = os.open(hidden, _CREATE, mode)
        output = Output(path, descriptor, regular=True)
        yield output
        if old is not None:
            with contextlib.suppress(FileNotFoundError):
                _own(descriptor, os.stat(real))
        os.fsync(descriptor)
        descriptor, whole = -1, descriptor
        os.close(whole)  # a network's file system reports here that a write failed
        if clobber or not _link(hidden, real, path):
            os.replace(hidden, real)
        _sync_folder(folder)
    except BaseException:
        if output is not None:
            output.abandon()
            if not need.exact:
                need = Need(max(need.size, output.size), exact=False)
        _discard(hidden)  # before the free space is counted
        with explained(path, need):
            raise
    finally:
        if descriptor >= 0:
            with contextlib.suppress(OSError):  # its content is not wanted
                os.close(descriptor)
        _discard(hidden)


def _link(hidden: str, name: str, path: str) -> bool:
    """Link the file to its name unless that exists by now; return whether the file system has hard links."""
    try:
        os.link(hidden, name)
    except FileExistsError:
        raise WouldOverwrite(path) from None
    except (OSError, AttributeError):
        return False
    return True


def _discard(name: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(name)


def _own(descriptor: int, old: os.stat_result) -> None:
    """Copy the owner, the group and the permissions of the old file, as far as the system allows."""
    if not hasattr(os, "fchmod"):
        return
    mode, now = old.st_mode & PERMISSIONS, os.fstat(descriptor)
    if (now.st_uid, now.st_gid) != (old.st_uid, old.st_gid):
        for user in (old.st_uid, -1):
            with contextlib.suppress(OSError):
                os.fchown(descriptor, user, old.st_gid)
                break
        else:  # what the old group was allowed is not for another one
            mode = mode & ~0o070 | (mode & 0o007) << 3 & mode
    os.fchmod(descriptor, mode)


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
def explained(path: str, need: Need) -> Iterator[None]:
    """Convert an operating system error of a write into :class:`WriteFailed`."""
    try:
        yield
    except PecliError:
        raise
    except OSError as error:
        raise WriteFailed("standard output" if path == STANDARD else path, _reason(error, path, need)) from error


def _reason(error: OSError, path: str, need: Need) -> str:
    folder = os.path.dirname(os.path.realpath(path))
    remedy = "free some space, or write elsewhere"
    match error.errno:
        case errno.ENOSPC:
            free = free_space(folder)
            if is_stream(path) or free is None:
                return "no space is left on the device: write elsewhere"
            if need.size > free:
                return f"the disk is full: {need} are needed and {free:,} are free in {folder}; {remedy}"
            if hasattr(os, "statvfs") and os.statvfs(folder).f_ffree == 0:
                return f"the disk has room for no further file in {folder}: remove one, or write elsewhere"
            if not need.size:
                return f"the disk is full, or was for a while: {free:,} bytes are free in {folder} now; {remedy}"
            return f"the disk was full for a while: {need} are needed, and now {free:,} are free in {folder}; {remedy}"
        case errno.EDQUOT:
            return f"the disk quota is used up: {need} are needed; {remedy}"
        case errno.EFBIG:
            return f"{need} are needed, more than a file may have here (ulimit -f, or the file system): write elsewhere"
        case errno.EROFS:
            return f"the file system of {folder} is read-only: write elsewhere"
    return f"cannot be written ({error.strerror or error}): name another file"


def free_space(folder: str) -> int | None:
    """Return the free bytes of a folder's file system; None if unknown."""
    try:
        usage = shutil.disk_usage(folder)
    except OSError:
        return None
    return usage.free if usage.total else None  # /proc and the like count no space


def _file_limit() -> int | None:
    try:
        import resource
    except ImportError:
        return None
    soft, _hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    return None if soft == resource.RLIM_INFINITY else soft
