"""zarr: a folder, or a place in an object store, of many objects.

Arrays are cut into shards of about 4 MiB, and those into chunks of at most 1 MiB; every axis is named and numbered, so
that xarray opens it.  The recipe is an attribute of the root, which is written last: a part of a store has no root.
No chunk inflates to much more than the bytes that its shape says.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import math
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pecli.engine.threads import run_in_thread, share
from pecli.errors import BadParameter, PecliError, WriteFailed
from pecli.formats.format import Draft, WriteOptions
from pecli.formats.io.atomic import Need, check_room, explained, folder_of
from pecli.formats.io.blocks import Buffer, Task, fill
from pecli.formats.io.source import InputFile, inflated, reading
from pecli.formats.layout import POSITIONS, Numbered, Places, chunk_shape, with_scales
from pecli.formats.stored import StoredTable, boxes, boxes_of, dtype_name, plain, plain_facts, safe_shape, texts
from pecli.numbers.bounds import LARGEST_ARRAY, LARGEST_CHUNK, limit
from pecli.numbers.deferred import Deferred
from pecli.numbers.dtypes import storage
from pecli.numbers.reader import is_url, shown, url_name
from pecli.spec.tabular import Array, Tabular, array_of

if TYPE_CHECKING:
    import zarr
else:
    zarr = Deferred("zarr")

MORE = 1 << 20  # bytes in addition to the values of a chunk: checksums, the index of a shard
SAFE = ("bytes", "transpose", "crc32c", "sharding_indexed", "gzip", "zstd", "blosc")


def _most(spec: Any) -> int:
    return 2 * int(math.prod(spec.shape) * spec.dtype.to_native_dtype().itemsize) + MORE


@cache
def _bounded() -> dict[str, Any]:
    """Return the codecs of zarr that inflate, each by its name, as ones that are bounded."""
    from zarr.codecs import BloscCodec, GzipCodec, ZstdCodec

    def inflating(codec: Any, kind: str) -> Any:
        def decode(_self: Any, chunk_bytes: Any, chunk_spec: Any) -> Any:
            return chunk_spec.prototype.buffer.from_bytes(inflated(chunk_bytes.to_bytes(), kind, _most(chunk_spec)))

        async def decode_single(self: Any, chunk_bytes: Any, chunk_spec: Any) -> Any:
            return await asyncio.to_thread(decode, self, chunk_bytes, chunk_spec)

        names = {"_decode_sync": decode, "_decode_single": decode_single, "__module__": __name__}
        return type(f"Bounded{codec.__name__}", (codec,), names)

    async def decode_blosc(self: Any, chunk_bytes: Any, chunk_spec: Any) -> Any:
        if int.from_bytes(chunk_bytes.to_bytes()[4:8], "little") > _most(chunk_spec):
            raise ValueError("states a larger size than that of a chunk, by which the library takes memory")
        return await BloscCodec._decode_single(self, chunk_bytes, chunk_spec)

    blosc = type("BoundedBloscCodec", (BloscCodec,), {"_decode_single": decode_blosc, "__module__": __name__})
    return {"gzip": inflating(GzipCodec, "gzip"), "zstd": inflating(ZstdCodec, "zstd"), "blosc": blosc}


@contextlib.contextmanager
def bounded_codecs() -> Iterator[None]:
    """Have the arrays that are opened within decode their chunks with the bounded codecs."""
    from zarr import config
    from zarr.registry import register_codec

    names = {}
    for name, codec in _bounded().items():
        names[f"codecs.{name}"] = f"{codec.__module__}.{codec.__qualname__}"
        register_codec(name, codec)
    with config.set(names):
        yield


def bound(source: InputFile, name: str, held: Any) -> None:
    """Raise :class:`BadFile` for an array of zarr version 2, or with codecs whose size nothing bounds."""
    if held.metadata.zarr_format != 3:
        raise source.bad(f"holds '{name}' in version 2 of zarr: rewrite it in version 3 (zarr v2-to-v3)")
    other = next((n for n in _names(held.metadata.codecs) if n not in SAFE), None)
    if other is not None:
        remedy = "rewrite the array with gzip, zstd or blosc"
        raise source.bad(f"compresses '{name}' with {other}, whose size nothing bounds: {remedy}")


def _names(codecs: Any) -> Iterator[str]:
    for codec in codecs:
        yield codec.to_dict()["name"]
        yield from _names(getattr(codec, "codecs", ()))
        yield from _names(getattr(codec, "index_codecs", ()))


def _store(path: str, *, read_only: bool) -> Any:
    if is_url(path):
        from pecli.formats.io.remote import chunk_store

        return chunk_store(path.rstrip("/"), read_only=read_only)
    return zarr.storage.LocalStore(path, read_only=read_only)


CHUNKS = 4  # of a shard
WRITERS = 3  # threads at most: the library holds three copies of a shard, and four threads take 197 MB at the most


def draft(table: Tabular, options: WriteOptions) -> Draft:
    """Plan the arrays; the store is whole when its root is there."""
    scaled, places = with_scales(table)
    for array in scaled.arrays:
        if array.name.strip("/.") != array.name or not array.name or not array.shape:
            raise BadParameter("format", "zarr", f"cannot hold an array named '{array.name}': use npz")

    size = sum(array.bytes for array in scaled.arrays)

    def write(objects: Objects) -> None:
        _write_shards(scaled, places, objects.path, options)
        objects.size = _sync(objects.path) or size
        _finish(scaled, objects.path)

    return Draft(write, None, size // 1100 if options.compress else size)


def shard_shape(array: Array) -> tuple[int, ...]:
    """Return a shard: some chunks that follow one another, and whole rows."""
    left, shape = CHUNKS, []
    for axis, (size, part) in reversed(list(enumerate(zip(array.shape, chunk_shape(array), strict=True)))):
        count = -(-size // part)
        taken = count if axis >= array.lead else min(count, left)
        left = max(1, left // taken) if taken == count else 1
        shape.append(part * taken)
    return tuple(reversed(shape))


def shard_rows(array: Array) -> Iterator[tuple[int, int]]:
    """Yield the rows of each shard, from and to."""
    lead, shard = array.shape[: array.lead], shard_shape(array)
    for corner in itertools.product(*(range(0, n, s) for n, s in zip(lead, shard, strict=False))):
        start = int(np.ravel_multi_index(corner, lead)) if lead else 0
        count = math.prod(min(s, n - at) for n, s, at in zip(lead, shard, corner, strict=False))
        yield start, start + count


def _created(table: Numbered, places: Places, array: Array, path: str, compress: bool) -> zarr.Array[Any]:
    """Make an array, in a store of its own, so that the root's metadata is not written yet."""
    names = [places.get((array.name, axis), label) for axis, label in enumerate(array.axes)]
    return zarr.create_array(
        _store(f"{path.rstrip('/')}/{array.name}", read_only=False), shape=array.shape, dtype=storage(array.dtype),
        chunks=chunk_shape(array), shards=shard_shape(array), compressors="auto" if compress else None, filters=None,
        dimension_names=names, attributes={"lead": array.lead},
        fill_value=math.nan if array.dtype.startswith("float") else 0,  # what is not there reads as no number
        config={"write_empty_chunks": True},  # chunks of zeros are written too, since one that is lost is none
    )  # fmt: skip


def _write_shards(table: Numbered, places: Places, path: str, options: WriteOptions) -> None:
    tried = _retried(path)
    made = {a.name: tried(partial(_created, table, places, a, path, options.compress)) for a in table.arrays}
    shards = (Task((array,), *span) for array in table.arrays for span in shard_rows(array))
    stopped: list[bool] = []

    def write(shard: Task, buffer: Buffer) -> None:
        (array,) = shard.arrays
        values = fill(table, shard, buffer)[array.name]
        (box,) = boxes(array.shape[: array.lead], shard.start, shard.stop)
        shape = [part.stop - part.start for part in box]
        tried(partial(made[array.name].__setitem__, (*box, ...), values.reshape(*shape, *array.row_shape)))
        options.progress(values.nbytes)

    def run() -> None:
        work = itertools.takewhile(lambda _: not stopped, shards)
        share(work, min(WRITERS, options.threads), lambda: contextlib.nullcontext(Buffer()), write)

    # within the library an interrupt would leave a write under way behind the deletion
    run_in_thread(run, lambda: stopped.append(True))


def _retried(path: str) -> Callable[[Callable[[], Any]], Any]:
    """Return a function that calls another one, again where a connection was lost."""
    if not is_url(path):
        return lambda act: act()
    from pecli.formats.io.remote import retry

    return partial(retry, url_name(path))


def _finish(table: Numbered, path: str) -> None:
    """Write the root group with the recipe, the metadata and the names of the arrays."""
    known = plain_facts({"pecli_recipe": table.recipe, **table.metadata})
    attributes = {**known, "pecli_arrays": [plain(a.name) for a in table.arrays]}
    _retried(path)(lambda: zarr.open_group(_store(path, read_only=False), mode="a", attributes=attributes))


MAX_DIMENSIONS = 32


class ZarrTable(StoredTable):
    """An open zarr store; arrays in groups are called by their paths."""

    def __init__(self, source: InputFile) -> None:
        self._retry = _retried(source.path)
        if is_url(source.path):
            from pecli.formats.io.remote import RemoteFile

            RemoteFile(f"{source.path.rstrip('/')}/zarr.json")  # says what hinders
        with reading(source, "has no readable zarr root: it is not a store, or was not written completely"):
            root = zarr.open_group(_store(source.path, read_only=True), mode="r")
            facts = dict(root.attrs)
        self._held: dict[str, zarr.Array[Any]] = {}
        arrays = []
        with bounded_codecs():
            found = _arrays(source, root, facts.pop("pecli_arrays", None))
        for name, held in found:
            array = _described(source, name, held)
            if array is not None:
                self._held[name] = held
                arrays.append(array)
        metadata = texts(facts)
        super().__init__(source, arrays, metadata.pop("pecli_recipe", None), metadata)
        self.take_scales(POSITIONS, [a.name for a in arrays if a.axes == (a.name,)])

    def fill_array(self, array: Array, start: int, stop: int, out: NDArray[Any]) -> None:
        """Read rows of one array."""
        held = self._held[array.name]
        for box, rows in boxes_of(array, start, stop, out):
            with reading(self.source, f"cannot be read at '{array.name}'"):
                rows[...] = np.asarray(self._retry(partial(held.__getitem__, (*box, ...)))).reshape(rows.shape)


def _arrays(source: InputFile, root: Any, names: object) -> list[tuple[str, Any]]:
    """Return the arrays: those that pecli lists, which need no listing of the store, else whatever is there."""
    with reading(source, "cannot be listed"):
        if isinstance(names, list) and all(isinstance(name, str) for name in names):
            return [(name, root[name]) for name in names]
        return [(name, found) for name, found in root.members(max_depth=None) if isinstance(found, zarr.Array)]


def _described(source: InputFile, name: str, held: Any) -> Array | None:

    with reading(source, f"cannot be read at '{name}'"):
        shape, dtype = safe_shape(tuple(held.shape)), dtype_name(np.dtype(held.dtype))
        if shape is None or len(shape) > MAX_DIMENSIONS:
            raise source.bad(f"gives '{name}' a shape that cannot be: it is damaged")
        size = math.prod(held.chunks) * np.dtype(held.dtype).itemsize
        source.allow(size, LARGEST_CHUNK, f"has chunks of {size:,} bytes in '{name}'")
        bound(source, name, held)
        lead = held.attrs.get("lead")
        names = getattr(held.metadata, "dimension_names", None) or ()
    if dtype is None:
        return None
    axes = tuple(axis if isinstance(axis, str) else "" for axis in names)
    fits = isinstance(lead, int) and 0 <= lead <= len(shape)
    array = array_of(plain(name), shape, dtype, axes, lead if fits else None)
    _check_size(source, array, held.shards or held.chunks)
    return array


def _check_size(source: InputFile, array: Array, part: tuple[int, ...]) -> None:
    """Raise :class:`BadFile` for long rows, and for a large array most of whose objects are missing.

    What is missing has the fill value, so that a shape of a few digits would be gigabytes to read.
    """
    source.allow(array.row_bytes, LARGEST_CHUNK, f"has rows of {array.row_bytes:,} bytes in '{array.name}'")
    if array.bytes <= limit(LARGEST_ARRAY) or is_url(source.path):
        return
    needed = math.prod(-(-size // of) for size, of in zip(array.shape, part, strict=True))
    present = sum(len(names) for _, _, names in os.walk(os.path.join(source.path, array.name)))
    if 4 * present < needed:
        raise source.bad(f"says {needed:,} objects of values in '{array.name}' and has {present:,}: it is damaged")


def _sync(path: str) -> int:
    """Flush every object of a store to the disk, before the root marks it as complete; return their bytes."""
    size = 0
    for folder, _, names in os.walk(path):
        for name in names:
            with open(os.path.join(folder, name), "rb") as file:
                size += os.fstat(file.fileno()).st_size
                os.fsync(file.fileno())
    return size


def check_objects(path: str, need: Need, *, clobber: bool) -> None:
    """Raise if no store can be created at `path`, before an object is written; what is there is never replaced."""
    if is_url(path):
        from pecli.formats.io.remote import check_empty

        check_empty(path)
        return
    with explained(path, need):
        if os.path.lexists(path):
            whole = os.path.exists(os.path.join(path, "zarr.json"))
            what = "exists" if whole else "exists, without the root that a whole store has"
            raise WriteFailed(path, f"{what}: a store of many objects is not replaced, so remove it, or name another")
        check_room(folder_of(path), need)


@dataclass
class Objects:
    """A store that is being written, and the bytes of its objects once they are written."""

    path: str
    size: int


@contextlib.contextmanager
def open_objects(path: str, need: Need, *, clobber: bool) -> Iterator[Objects]:
    """Create a store; a clean exit leaves it complete, any other exit leaves nothing."""
    check_objects(path, need, clobber=clobber)
    with explained(shown(path), need):
        if not is_url(path):
            os.mkdir(path)  # nobody else writes there then
        try:
            yield Objects(path, need.size)
        except BaseException as error:
            if is_url(path):
                from pecli.formats.io.remote import delete

                delete(path)
            else:
                shutil.rmtree(path, ignore_errors=True)
            if isinstance(error, PecliError | OSError) or not isinstance(error, Exception):
                raise
            raise WriteFailed(shown(path), f"cannot be written ({error}): try again, or name another place") from error
