"""Writing zarr: shard by shard, each by whoever is free, and the root last."""

from __future__ import annotations

import itertools
import math
import threading
from collections.abc import Iterator, Sequence
from typing import Any

from pecli.declare.tabular import Array, Tabular
from pecli.engine.team import apart, together
from pecli.errors import BadParameter
from pecli.formats.common.facts import plain
from pecli.formats.common.format import Draft, Shard, WriteOptions
from pecli.formats.common.objects import Objects
from pecli.formats.common.places import Numbered
from pecli.formats.common.pump import Buffer, Task, fill
from pecli.formats.common.scales import Places, with_scales
from pecli.formats.hdf5.chunks import chunk_shape
from pecli.formats.zarr.stores import Outbox, Target
from pecli.numbers.types import storage

CHUNKS = 4  # of a shard
WRITERS = 4  # threads at most: the library holds three copies of a shard that it writes to a disk, five to a store


def draft(table: Tabular, options: WriteOptions) -> Draft:
    """Plan the arrays; the store is whole when its root is there."""
    scaled, places = with_scales(table)
    for array in scaled.arrays:
        if array.name.strip("/.") != array.name or not array.name or not array.shape:
            raise BadParameter("format", "zarr", f"cannot hold an array named '{array.name}': use npz")

    def write(objects: Objects) -> None:
        for array in scaled.arrays:
            create(scaled, places, array, objects.path, compress=options.compress)
        shards = [Shard(array.name, *span) for array in scaled.arrays for span in shard_rows(array)]
        if options.spread is None:
            _by_threads(scaled, objects, shards, options)
        else:
            numbers = [shard for shard in shards if shard.array in scaled.scales]
            _by_threads(scaled, objects, numbers, WriteOptions())
            options.spread(objects.path, [shard for shard in shards if shard.array not in scaled.scales], options)
        objects.settle()
        _finish(scaled, objects.path)

    size = sum(array.bytes for array in scaled.arrays)
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
        start = 0
        for size, at in zip(lead, corner, strict=True):
            start = start * size + at
        count = math.prod(min(s, n - at) for n, s, at in zip(lead, shard, corner, strict=False))
        yield start, start + count


def create(table: Numbered, places: Places, array: Array, path: str, *, compress: bool) -> None:
    """Write what describes an array, in a store of its own, so that the root stays without a word."""
    import zarr

    names = [places.get((array.name, axis), label) for axis, label in enumerate(array.axes)]
    outbox = Outbox(path, array.name)
    zarr.create_array(
        outbox.store, shape=array.shape, dtype=storage(array.dtype), chunks=chunk_shape(array),
        shards=shard_shape(array), compressors="auto" if compress else None, filters=None, dimension_names=names,
        fill_value=math.nan if array.dtype.startswith("float") else 0,  # what is not there reads as no number
        attributes={"lead": array.lead},
    )  # fmt: skip
    outbox.send()


def write_shard(table: Tabular, shard: Shard, target: Target, buffer: Buffer) -> int:
    """Compute the rows of a shard and write them; return the bytes of values."""
    array = table.array(shard.array)
    values = fill(table, Task((array,), shard.start, shard.stop), buffer)[array.name]
    box: list[slice] = []
    rest = shard.start
    for axis in range(array.lead):
        inner = math.prod(array.shape[axis + 1 : array.lead])
        at, rest = divmod(rest, inner)
        box.append(slice(at, min(array.shape[axis], at + shard_shape(array)[axis])))
    target.write(box, values)
    return values.nbytes


def _by_threads(table: Tabular, objects: Objects, shards: Sequence[Shard], options: WriteOptions) -> None:
    work, lock = iter(shards), threading.Lock()
    targets = {name: Target(objects.path, name) for name in dict.fromkeys(shard.array for shard in shards)}
    stopped: list[bool] = []

    def run(errors: Sequence[BaseException]) -> None:
        buffer = Buffer()
        while not errors and not stopped:
            with lock:
                shard = next(work, None)
            if shard is None:
                return
            options.progress(write_shard(table, shard, targets[shard.array], buffer))

    # within the library an interrupt would leave a write under way behind the deletion
    apart(lambda: together(run, min(WRITERS, options.threads)), lambda: stopped.append(True))


def _finish(table: Numbered, path: str) -> None:
    """Write the root, with what is known of the table."""
    import zarr

    facts = {"pecli_recipe": table.recipe, **table.metadata}
    known: dict[str, Any] = {plain(key): plain(value) for key, value in facts.items() if value is not None}
    outbox = Outbox(path)
    zarr.create_group(outbox.store, attributes=known | {"pecli_arrays": [plain(a.name) for a in table.arrays]})
    outbox.send()
