"""The place of a store of many objects: none before, all of them after, and none again where writing failed."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from collections.abc import Iterator

from pecli.errors import PecliError, WriteFailed
from pecli.formats.common.safe import Need, explained, free_space
from pecli.numbers.urls import is_url, shown


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
            from pecli.formats.common.remote import delete

            delete(self.path)
        else:
            shutil.rmtree(self.path, ignore_errors=True)


def check_objects(path: str, need: Need) -> None:
    """Raise if no store can stand at `path`, before an object is written."""
    if is_url(path):
        from pecli.formats.common.remote import check_empty

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
