"""Where zarr keeps objects: a folder, or behind a URL."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from pecli.numbers.urls import is_url

if TYPE_CHECKING:
    import zarr

DESCRIPTION = "zarr.json"


def store_at(path: str) -> Any:
    """Return the store of the root, to be read."""
    if is_url(path):
        from pecli.formats.common.remote import chunk_store

        return chunk_store(path.rstrip("/"))
    from zarr.storage import LocalStore

    return LocalStore(path, read_only=True)


class Outbox:
    """The store of the root, or of an array in it, to be written.

    Behind a URL, objects are made in memory, and each is sent by the thread that made it.  Given the store itself, the
    library asks it for every shard that is to be written, and holds five copies of one until it is there.

    Parameters
    ----------
    path : str
        A folder or a URL.
    name : str, optional
        The array.
    """

    def __init__(self, path: str, name: str = "") -> None:
        from zarr.storage import LocalStore, MemoryStore

        self._made: dict[str, Any] = {}
        self._url = "/".join(filter(None, (path.rstrip("/"), name))) if is_url(path) else None
        self.store = LocalStore(os.path.join(path, name)) if self._url is None else MemoryStore(self._made)

    def send(self, key: str = DESCRIPTION) -> None:
        """See that an object that was made is where it belongs."""
        if self._url is not None:
            from pecli.formats.common.remote import put

            put(f"{self._url}/{key}", self._made.pop(key).to_bytes())

    def opened(self) -> zarr.Array[Any]:
        """Return the array, to be written: chunks of zeros are written too, since one that is lost is none."""
        import zarr
        from zarr.buffer import cpu

        if self._url is not None:
            from pecli.formats.common.remote import get

            self._made[DESCRIPTION] = cpu.Buffer.from_bytes(get(f"{self._url}/{DESCRIPTION}"))
        return zarr.open_array(self.store, mode="r+", config={"write_empty_chunks": True})


class Target:
    """An array of a store, to be written shard by shard, by any thread."""

    def __init__(self, path: str, name: str) -> None:
        self._outbox = Outbox(path, name)
        self._array, self._making = self._outbox.opened(), threading.Lock()

    def write(self, box: Sequence[slice], values: NDArray[Any]) -> None:
        """Write a shard: whole rows of a box of the leading axes."""
        rest = self._array.shape[len(box) :]
        with self._making:
            self._array[(*box, *map(slice, rest))] = values.reshape([part.stop - part.start for part in box] + [*rest])
        corner = [part.start // size for part, size in zip(box, self._array.shards or (), strict=False)]
        self._outbox.send("/".join(map(str, ["c", *corner, *(0 for _ in rest)])))
