"""The file that is written in the place of another, and what takes its place.

Where the file system has files without a name (Linux, O_TMPFILE) it is one of those, of which no kill leaves
anything; it gets its hidden name for the instant between that and the rename.  Elsewhere it has the hidden name from
the beginning.  It is locked as long as its writer lives, so that whoever writes to the same place next can tell what a
killed one left.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat

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
