"""Reading zarr: chunk by chunk."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pecli.declare.tabular import Array, array_of
from pecli.formats.common.ahead import Ahead
from pecli.formats.common.facts import plain, texts
from pecli.formats.common.input import InputFile, reading
from pecli.formats.common.scales import POSITIONS
from pecli.formats.common.stored import StoredTable, boxes, dtype_name, safe_shape
from pecli.formats.zarr.stores import store_at
from pecli.numbers.limits import limit, size_text
from pecli.numbers.types import raw_bytes, storage
from pecli.numbers.urls import is_url

if TYPE_CHECKING:
    import zarr

LARGEST_CHUNK = 256 << 20
LARGEST_PIECE = 16 << 20  # bytes of an object that is fetched whole, where a part of it is wanted
MOST_DIMENSIONS = 32


class ZarrTable(StoredTable):
    """An open zarr store; arrays in groups are called by their paths."""

    _tried: Callable[[Callable[[], Any]], Any] = staticmethod(lambda act: act())

    def __init__(self, source: InputFile) -> None:
        import zarr

        from pecli.formats.zarr.codecs import bounded_codecs

        if is_url(source.path):
            from pecli.formats.common.remote import RemoteFile
            from pecli.formats.common.tries import tried

            RemoteFile(f"{source.path.rstrip('/')}/zarr.json")  # says what hinders
            self._tried = partial(tried, source.name)
        with reading(source, "has no root that zarr reads, so it is no store, or its writing did not end"):
            root = zarr.open_group(store_at(source.path), mode="r")
            facts = dict(root.attrs)
        self._held: dict[str, zarr.Array[Any]] = {}
        self._ahead: dict[str, Ahead] = {}
        arrays = []
        with bounded_codecs():
            found = _arrays(source, root, facts.pop("pecli_arrays", None))
        for name, held in found:
            array = _described(source, name, held)
            if array is not None:
                self._held[name] = held
                arrays.append(array)
                if is_url(source.path):
                    self._read_ahead(array, held.shards or held.chunks)
        metadata = {plain(key): plain(value) for key, value in texts(facts).items()}
        super().__init__(source, "zarr", arrays, metadata.pop("pecli_recipe", None), metadata)
        self.take_scales(POSITIONS, [a.name for a in arrays if a.axes == (a.name,)])

    def _read_ahead(self, array: Array, part: tuple[int, ...]) -> None:
        """Fetch objects whole, where consecutive rows stand in one: their index costs as long a way as they do."""
        run = _run(array, part)
        if not run:
            return
        rows, period = run
        width = array.row_bytes

        def span(offset: int) -> tuple[int, int]:
            outer, row = divmod(offset // width, period)
            first = row // rows * rows
            return (outer * period + first) * width, (outer * period + min(first + rows, period)) * width

        def read(offset: int, count: int) -> memoryview:
            values = np.empty((count // width, *array.row_shape), storage(array.dtype))
            self._fill(array, offset // width, (offset + count) // width, values)
            return raw_bytes(values)

        self._ahead[array.name] = Ahead(read, array.bytes, span)

    def fill_array(self, array: Array, start: int, stop: int, out: NDArray[Any]) -> None:
        """Read rows of one array."""
        ahead = self._ahead.get(array.name)
        if ahead is None:
            self._fill(array, start, stop, out)
            return
        data = ahead.read(start * array.row_bytes, (stop - start) * array.row_bytes)
        out[...] = np.frombuffer(data, storage(array.dtype)).reshape(out.shape)

    def _fill(self, array: Array, start: int, stop: int, out: NDArray[Any]) -> None:
        held, at = self._held[array.name], 0
        rest = tuple(slice(0, size) for size in array.row_shape)
        for box in boxes(array.shape[: array.lead], start, stop):
            count = math.prod(part.stop - part.start for part in box)
            with reading(self.source, f"cannot be read at '{array.name}'"):
                values = np.asarray(self._tried(partial(held.__getitem__, (*box, *rest))))
            out[at : at + count] = values.reshape(count, *array.row_shape)
            at += count

    def key_position(self, start: int, stop: int) -> NDArray[Any] | None:
        """Return the positions of keys, as the scale of this name has them."""
        keys = next((scale for scale in self._scales if scale.name == "key" and scale.shape[0] >= stop), None)
        if keys is None or keys.dtype not in ("int64", "float64"):
            return None
        out = np.empty(stop - start, keys.dtype)
        self.fill_array(keys, start, stop, out)
        return out


def _run(array: Array, part: tuple[int, ...]) -> tuple[int, int] | None:
    """Return how many rows follow one another in one object of such a shape, and after how many that begins anew."""
    lead = array.shape[: array.lead]
    axis = next((axis for axis, size in enumerate(part[: array.lead]) if size > 1), array.lead - 1)
    whole = all(size >= of for size, of in zip(part[axis + 1 :], array.shape[axis + 1 :], strict=True))
    if not lead or not whole or not array.row_bytes:
        return None
    inner = math.prod(lead[axis + 1 :])
    rows = part[axis] * inner
    return (rows, lead[axis] * inner) if rows * array.row_bytes <= LARGEST_PIECE else None


def _arrays(source: InputFile, root: Any, names: object) -> list[tuple[str, Any]]:
    """Return the arrays: those that pecli lists, which need no listing of the store, else whatever is there."""
    import zarr

    with reading(source, "cannot be listed"):
        if isinstance(names, list) and all(isinstance(name, str) for name in names):
            return [(name, root[name]) for name in names]
        return [(name, found) for name, found in root.members(max_depth=None) if isinstance(found, zarr.Array)]


def _described(source: InputFile, name: str, held: Any) -> Array | None:
    from pecli.formats.zarr.codecs import bound

    with reading(source, f"cannot be read at '{name}'"):
        shape, dtype = safe_shape(tuple(held.shape)), dtype_name(np.dtype(held.dtype))
        if shape is None or len(shape) > MOST_DIMENSIONS:
            raise source.bad(f"gives '{name}' a shape that cannot be: it is damaged")
        size = math.prod(held.chunks) * np.dtype(held.dtype).itemsize
        if size > limit(LARGEST_CHUNK):
            raise source.bad(f"has chunks of {size:,} bytes in '{name}', of which {size_text(limit(LARGEST_CHUNK))}")
        bound(source, name, held)
        lead = held.attrs.get("lead")
        names = getattr(held.metadata, "dimension_names", None) or ()
    if dtype is None:
        return None
    axes = tuple(axis if isinstance(axis, str) else "" for axis in names)
    fits = isinstance(lead, int) and 0 <= lead <= len(shape)
    return array_of(plain(name), shape, dtype, axes, lead if fits else None)
