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

from pecli.errors import PecliError, WouldOverwrite, WriteFailed
from pecli.formats.io.output import Output
from pecli.numbers.urls import is_url, shown
from pecli.records import dataclass

UNNAMED = getattr(os, "O_TMPFILE", 0)
_OPEN = os.O_RDWR | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_CANNOT = (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOENT, errno.ENOSYS)  # a system without unnamed files
PERMISSIONS = 0o777  # what a new file takes of the old one's mode; never who it runs as


class HiddenFile:
    """A file beside its place, without a name or with a hidden one.

    Parameters
    ----------
    place : str
        The regular file, or none, that it will replace: no symbolic link.
    mode : int or None
        Permissions of what is there.
    """

    def __init__(self, place: str, mode: int | None) -> None:
        self._place, self._mode = place, mode
        self._folder, name = os.path.split(place)
        # Names are limited to 255 bytes: the hidden one must not be longer than the file's own allows.
        self._stem = os.fsdecode(os.fsencode(name)[:200])
        self._name, self._descriptor = "", -1

    def open(self) -> int:
        """Make the file; return its descriptor, open for reading and writing."""
        mode = 0o666 if self._mode is None else self._mode & PERMISSIONS  # the system applies the umask
        self._sweep()
        self._descriptor = unnamed_file(self._folder, mode)
        while self._descriptor < 0:
            self._name = self._new_name()
            self._descriptor = os.open(self._name, _OPEN | os.O_CREAT | os.O_EXCL, mode)
            if not self._locked():  # somebody swept it away before it was locked
                self.discard()
        self._locked()
        return self._descriptor

    def take_place(self, *, clobber: bool) -> None:
        """Put the file where it belongs, whole, with the owner and the permissions of what it replaces.

        Raises
        ------
        FileExistsError
            If something is there and `clobber` is off.
        """
        if self._mode is not None:
            with contextlib.suppress(FileNotFoundError):
                _own(self._descriptor, os.stat(self._place))
        os.fsync(self._descriptor)
        os.close(os.dup(self._descriptor))  # a network's file system tells on closing that it failed; the lock stays
        # unlike a rename, a link fails where somebody was faster
        if not clobber and hasattr(os, "link") and self._link(self._place):
            return
        if not self._name:
            name = self._name = self._new_name()
            name_file(self._descriptor, name)
        os.replace(self._name, self._place)
        self._name = ""

    def discard(self) -> None:
        """Remove what there is of it."""
        name, self._name = self._name, ""
        if name:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name)
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            with contextlib.suppress(OSError):  # its content was written before, or is not wanted
                os.close(descriptor)

    def _link(self, name: str) -> bool:
        """Give the file this name; whether the file system has links."""
        try:
            if self._name:
                os.link(self._name, name)
            else:
                name_file(self._descriptor, name)
        except FileExistsError:
            raise
        except OSError:
            return False
        return True

    def _new_name(self) -> str:
        return os.path.join(self._folder, f".{self._stem}.{os.urandom(4).hex()}.tmp")

    def _locked(self) -> bool:
        """Lock the file; false where another process has locked or removed it."""
        try:
            import fcntl
        except ImportError:
            return True
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:  # a file system without locks, whose files are never swept
            return True
        return not self._name or os.fstat(self._descriptor).st_nlink > 0

    def _sweep(self) -> None:
        """Remove what killed writers left for this place: hidden files of its name that nobody has locked."""
        left = re.compile(re.escape(f".{self._stem}.") + r"[0-9a-f]{8}\.tmp")
        with contextlib.suppress(OSError, ImportError):
            for name in filter(left.fullmatch, os.listdir(self._folder)):
                _remove_unlocked(os.path.join(self._folder, name))


def unnamed_file(folder: str, mode: int) -> int:
    """Return the descriptor of a file without a name; -1 where there are none."""
    if not (UNNAMED and hasattr(os, "link") and os.path.exists("/proc/self/fd")):
        return -1
    try:
        return os.open(folder, _OPEN | UNNAMED, mode)
    except OSError as error:
        if error.errno in _CANNOT:
            return -1
        raise


def name_file(descriptor: int, name: str) -> None:
    """Give a file without a name one."""
    folder = os.open(os.path.dirname(name), os.O_RDONLY)  # of no use but that the system follows the link then
    try:
        os.link(f"/proc/self/fd/{descriptor}", name, src_dir_fd=folder)
    finally:
        os.close(folder)


def _own(descriptor: int, old: os.stat_result) -> None:
    """Give a file the owner, the group and the permissions of the old one, as far as the system lets us."""
    if not hasattr(os, "fchmod"):
        return
    mode, now = old.st_mode & PERMISSIONS, os.fstat(descriptor)
    if (now.st_uid, now.st_gid) != (old.st_uid, old.st_gid):
        try:
            os.fchown(descriptor, old.st_uid, old.st_gid)
        except OSError:
            try:
                os.fchown(descriptor, -1, old.st_gid)
            except OSError:  # what the old group was allowed is not for another one
                mode = mode & ~0o070 | (mode & 0o007) << 3 & mode
    os.fchmod(descriptor, mode)


def _remove_unlocked(path: str) -> None:
    """Remove a regular file, if nobody has it locked."""
    import fcntl

    with contextlib.suppress(OSError):
        descriptor = os.open(path, _OPEN | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            found = os.fstat(descriptor)
            if stat.S_ISREG(found.st_mode):
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.path.samestat(found, os.lstat(path)):
                    os.unlink(path)
        finally:
            os.close(descriptor)


STANDARD = "-"
_OWN_DESCRIPTOR = re.compile(r"/(?:dev|proc/self)/fd/(\d+)")


@dataclass(frozen=True)
class Need:
    """Bytes that a file takes, or, where that is not known, takes at least."""

    size: int = 0
    exact: bool = True

    def __str__(self) -> str:
        return f"{'' if self.exact else 'at least '}{self.size:,} bytes"


_NOTHING = Need()


@contextlib.contextmanager
def open_output(path: str, *, clobber: bool = True, need: Need = _NOTHING) -> Iterator[Output]:
    """Open `path` for writing; on a clean exit the file stands there whole, on any other nothing is left.

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
    """Whether `path` is written straight: standard output, a device, a FIFO."""
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
        place = _Place(path, clobber)
        free = free_space(place.folder)
        if free is not None and need.size > free:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        limit = _file_limit()
        if limit is not None and need.size > limit:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))


class _Place:
    """Where a regular file goes, checked."""

    def __init__(self, path: str, clobber: bool) -> None:
        if "\0" in path:
            raise WriteFailed(repr(path), "a path cannot contain a null character: name another file")
        if os.path.isdir(path):
            raise WriteFailed(path, "is a folder: name a file in it")
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
def _replacement(path: str, clobber: bool, need: Need) -> Iterator[Output]:
    place = _Place(path, clobber)
    file = HiddenFile(place.real, place.mode)
    output = None
    try:
        output = Output(path, file.open(), regular=True)
        yield output
        try:
            file.take_place(clobber=clobber)
        except FileExistsError:
            raise WouldOverwrite(path) from None
        _sync_folder(place.folder)
    except BaseException:
        if output is not None:
            output.abandon()
            if not need.exact:
                need = Need(max(need.size, output.bytes), exact=False)
        file.discard()  # before the free space is counted
        with explained(path, need):
            raise
    finally:
        file.discard()


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
    """Turn what the system says of a write into :class:`WriteFailed`."""
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
    """Return the bytes that are free where a folder lies; None where nobody knows."""
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


class Objects:
    """A store that is being written.

    Attributes
    ----------
    path : str
        A folder or a URL.
    bytes : int
        Of its objects, once they are settled.
    """

    def __init__(self, path: str) -> None:
        self.path, self.bytes = path, 0

    def settle(self) -> None:
        """See that all that was written is on the disk, before the root says that it is."""
        if is_url(self.path):
            return
        for folder, _, names in os.walk(self.path):
            for name in names:
                if name.endswith(".partial"):  # of a worker that was killed
                    os.unlink(os.path.join(folder, name))
                    continue
                file = os.open(os.path.join(folder, name), os.O_RDONLY)
                try:
                    self.bytes += os.fstat(file).st_size
                    os.fsync(file)
                finally:
                    os.close(file)

    def discard(self) -> None:
        """Delete whatever was written."""
        if is_url(self.path):
            from pecli.formats.io.remote import delete

            delete(self.path)
        else:
            shutil.rmtree(self.path, ignore_errors=True)


def check_objects(path: str, need: Need) -> None:
    """Raise if no store can stand at `path`, before an object is written."""
    if is_url(path):
        from pecli.formats.io.remote import check_empty

        check_empty(path)
        return
    with explained(path, need):
        if os.path.lexists(path):
            whole = os.path.exists(os.path.join(path, "zarr.json"))
            what = "exists" if whole else "exists, without the root that a whole store has"
            raise WriteFailed(path, f"{what}: a store of many objects is not replaced, so remove it, or name another")
        folder = os.path.dirname(os.path.abspath(path))
        if not os.path.isdir(folder):
            raise WriteFailed(path, f"the folder {folder} does not exist: make it first, or name another")
        free = free_space(folder)
        if free is not None and need.size > free:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@contextlib.contextmanager
def open_objects(path: str, need: Need) -> Iterator[Objects]:
    """Take a place for a store; on a clean exit it stands there whole, on any other nothing is left."""
    check_objects(path, need)
    objects = Objects(path)
    with explained(shown(path), need):
        if not is_url(path):
            os.mkdir(path)  # nobody else writes there then
        try:
            yield objects
        except BaseException as error:
            objects.discard()
            if isinstance(error, PecliError | OSError) or not isinstance(error, Exception):
                raise
            raise WriteFailed(shown(path), f"cannot be written ({error}): try again, or name another place") from error
