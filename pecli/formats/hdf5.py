"""HDF5: one dataset per array, a dimension scale for every axis, the recipe as an attribute of the root.

Datasets are contiguous, or (compressed) shuffled and deflated.  A plain file is planned by the library itself: it
writes its structures into memory, with the datasets allocated but empty, and tells where their values belong.  So
several threads write the values, the file can go to a pipe, and a full disk never reaches the HDF5 library, which
crashes on a file that it cannot close.

A file that is read is checked first. The library's own inflation takes whatever memory a chunk wants, and then keeps
as many bytes as the chunk has values: a bomb reads as zeros, a short chunk as whatever lay in memory. From a damaged
heap, where names and attributes are kept, it reads on without end, holding Python's lock, so that no signal ends it.
Found in versions to 2.0.0. Source: HDF5 File Format Specification 3.0, III.D and III.E, for offsets and lengths of 8
bytes.
"""

from __future__ import annotations

import io
import itertools
import math
import struct
import threading
import zlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pecli.engine.threads import run_in_thread
from pecli.errors import BadParameter
from pecli.formats.format import Draft, WriteOptions
from pecli.formats.io.output import Image, Output, Shielded, spooled
from pecli.formats.io.source import InputFile, RawFile, inflated, reading, undone
from pecli.formats.layout import POSITIONS, FileLayout, Numbered, Places, chunk_shape, in_order, with_scales
from pecli.formats.stored import Box, StoredTable, boxes_of, dtype_name, plain, plain_facts
from pecli.numbers.bounds import LARGEST_CHUNK
from pecli.numbers.deferred import Deferred
from pecli.numbers.dtypes import ITEM_BYTES, storage
from pecli.spec.tabular import Array, Tabular, array_of

if TYPE_CHECKING:
    import h5py
    from h5py import h5a, h5d, h5p, h5s, h5t
else:
    h5py = Deferred("h5py")
    h5a, h5d, h5p, h5s, h5t = (Deferred(f"h5py.{name}") for name in ("h5a", "h5d", "h5p", "h5s", "h5t"))


_BFLOAT16_FIELDS = (15, 7, 8, 0, 7)  # places of sign, exponent (8 bits) and fraction (7 bits)


def file_type(dtype: str) -> h5t.TypeID:
    """Return the HDF5 type that stores `dtype`."""
    if dtype != "bfloat16":
        return h5t.py_create(storage(dtype), logical=True)
    kind = h5t.IEEE_F32LE.copy()
    kind.set_fields(*_BFLOAT16_FIELDS)
    kind.set_size(2)
    kind.set_ebias(127)
    return kind


def stored_type(dataset: h5d.DatasetID) -> str | None:
    """Return pecli's name of a dataset's type; None for a type that is not numeric or that NumPy lacks."""
    kind = dataset.get_type()
    if isinstance(kind, h5t.TypeFloatID) and kind.get_size() == 2 and kind.get_fields() == _BFLOAT16_FIELDS:
        return "bfloat16"
    try:
        return dtype_name(kind.dtype)
    except (TypeError, ValueError):
        return None


PAGE = 4096  # larger datasets begin at a page, which suits writing and memory mapping


def draft(table: Tabular, options: WriteOptions) -> Draft:
    """Plan a contiguous file, or a compressed one."""
    scaled, places = with_scales(table)
    if options.compress:
        least = sum(array.bytes for array in table.arrays) // 1100  # no deflate does better than 1 : 1032
        return Draft(lambda output: _write_compressed(scaled, places, output, options), None, least)
    return plain_layout(scaled, places).draft(scaled, options)


def plain_layout(table: Numbered, places: Places) -> FileLayout:
    """Return the places of everything in an uncompressed file, as the library chooses them."""
    image = Image()

    def build() -> dict[str, int | None]:
        with _open(image) as file:
            datasets = {array.name: _create(file, array, compress=False) for array in table.arrays}
            _describe(table, places, file, datasets)
            return {name: dataset.id.get_offset() for name, dataset in datasets.items()}

    offsets = run_in_thread(build, lambda: None)
    return FileLayout(image.size, tuple(image.writes), {name: at for name, at in offsets.items() if at is not None})


def _open(file: io.RawIOBase) -> h5py.File:
    return h5py.File(file, "w", libver="earliest", alignment_threshold=16 * PAGE, alignment_interval=PAGE)


def _create(file: h5py.File, array: Array, *, compress: bool) -> h5py.Dataset:
    """Create an empty dataset that keeps no times."""
    plan = h5p.create(h5p.DATASET_CREATE)
    plan.set_obj_track_times(False)
    plan.set_fill_time(h5d.FILL_TIME_NEVER)
    if compress and array.shape:
        plan.set_chunk(chunk_shape(array))
        plan.set_shuffle()
        plan.set_deflate(1)
    else:
        plan.set_layout(h5d.CONTIGUOUS)
        plan.set_alloc_time(h5d.ALLOC_TIME_EARLY)
    parent = file
    *groups, name = [part for part in array.name.split("/") if part not in ("", ".")] or [""]
    if not name:
        raise BadParameter("format", "hdf5", f"cannot hold an array named '{array.name}': use npz")
    for group in groups:
        parent = parent.require_group(group)
    space = h5s.create_simple(array.shape) if array.shape else h5s.create(h5s.SCALAR)
    return h5py.Dataset(h5d.create(parent.id, name.encode(), file_type(array.dtype), space, plan))


def _describe(table: Numbered, places: Places, file: h5py.File, datasets: Mapping[str, h5py.Dataset]) -> None:
    """Write attributes and labels, and attach to every axis the scale that numbers it."""
    for key, value in plain_facts({"pecli_recipe": table.recipe, **table.metadata}).items():
        file.attrs[key] = value
    for name in table.scales:
        datasets[name].make_scale(plain(name))
    for array in table.source.arrays:
        for axis, label in enumerate(array.axes):
            dimension = datasets[array.name].dims[axis]
            dimension.label = label
            if (array.name, axis) in places:
                dimension.attach_scale(datasets[places[array.name, axis]])


def _write_compressed(table: Numbered, places: Places, output: Output, options: WriteOptions) -> None:
    if not output.regular:
        with spooled(output) as local:
            _write_compressed(table, places, local, options)
        return
    shielded = Shielded(output)

    def write() -> None:
        with _open(shielded) as file:
            datasets = {array.name: _create(file, array, compress=True) for array in table.arrays}
            _describe(table, places, file, datasets)
            for array in table.arrays:
                row = 0
                for values in in_order(table, array, options):
                    dataset = datasets[array.name].id
                    for box, part in boxes_of(array, row, row + len(values), values):
                        dataset.write(*_spaces(dataset, array, box), part.reshape(-1), file_type(array.dtype))
                    row += len(values)
                    shielded.check()

    run_in_thread(write, shielded.stop)
    shielded.check()


def _spaces(dataset: h5d.DatasetID, array: Array, box: Box) -> tuple[h5s.SpaceID, h5s.SpaceID]:
    """Return where the rows of a box lie in memory, one after the other, and in the file."""
    space = dataset.get_space()
    size = tuple(part.stop - part.start for part in box) + array.row_shape
    if array.shape:
        space.select_hyperslab(tuple(part.start for part in box) + (0,) * len(array.row_shape), size)
    return h5s.create_simple((math.prod(size),)), space


MAX_DATASETS = 10_000
CHUNK_CACHE = 1 << 20  # the library's own for each dataset
LONGEST_FACT = 1 << 20


class Hdf5Table(StoredTable):
    """An open HDF5 file; datasets in groups are called by their paths."""

    def __init__(self, source: InputFile) -> None:
        self._raw = RawFile(source)
        check_heaps(self._raw)
        self._lock = threading.Lock()
        with reading(source, "cannot be opened as HDF5"):
            self._file = h5py.File(source.handle(), "r", **({} if source.remote else {"locking": False}))
        with undone(self.close):
            with reading(source, "cannot be read as HDF5"):
                self._datasets: dict[str, h5py.Dataset] = {}
                self._filtered: dict[str, FilteredChunks] = {}
                arrays = []
                for name, dataset in _datasets(source, self._file):
                    array = _described(source, name, dataset)
                    if array is not None:
                        self._datasets[name] = opened = _with_cache(dataset)
                        arrays.append(array)
                        if opened.chunks and opened.id.get_create_plist().get_nfilters():
                            self._filtered[name] = FilteredChunks(source, name, opened.id, array)
                self._offsets = {a.name: _plain_offset(self._datasets[a.name], a.dtype) for a in arrays}
                recipe, metadata = _facts(self._file)
            super().__init__(source, arrays, recipe, metadata)
        self.take_scales(POSITIONS, [name for name in self._datasets if _is_scale(self._datasets[name])])

    def fill_array(self, array: Array, start: int, stop: int, out: NDArray[Any]) -> None:
        """Read rows of one array."""
        offset = self._offsets[array.name]
        if offset is not None:
            self._raw.values(offset + start * array.row_bytes, storage(array.dtype), out)
            return
        values = out if out.flags.c_contiguous and out.dtype == storage(array.dtype) else np.empty(out.shape, out.dtype)
        dataset = self._datasets[array.name].id
        for box, part in boxes_of(array, start, stop, values):
            with self._lock, reading(self.source, f"cannot be read at '{array.name}'"):
                if array.name in self._filtered:
                    self._filtered[array.name].check((*box, *(slice(0, size) for size in array.row_shape)))
                dataset.read(*_spaces(dataset, array, box), part.reshape(-1), file_type(array.dtype))
        if values is not out:
            out[...] = values

    def close(self) -> None:
        """Close the file."""
        self._raw.close()
        super().close()


def _datasets(source: InputFile, file: h5py.File) -> list[tuple[str, h5py.Dataset]]:
    """Return every dataset once; links, which may lead out of the file or in circles, are not followed."""
    found: list[tuple[str, h5py.Dataset]] = []
    seen = itertools.count(1)

    def visit(name: str | bytes, item: h5py.Group | h5py.Dataset) -> bool | None:
        if isinstance(item, h5py.Dataset):
            found.append((_text(name), item))
        return True if next(seen) > MAX_DATASETS else None

    if file.visititems(visit):
        raise source.bad(f"holds more than {MAX_DATASETS:,} objects: name a smaller file")
    return found


def _described(source: InputFile, name: str, dataset: h5py.Dataset) -> Array | None:
    """Describe a numeric dataset after checking that the file can hold its declared size; None for other data."""
    dtype = stored_type(dataset.id)
    if dtype is None or dataset.shape is None:
        return None
    shape = tuple(int(size) for size in dataset.shape)
    array = array_of(name, shape, dtype, _labels(dataset))
    _check_storage(source, name, dataset.id, array)
    return array


def _with_cache(dataset: h5py.Dataset) -> h5py.Dataset:
    """Return the dataset with room for one of its chunks, which would else be inflated again for every block."""
    size = math.prod(dataset.chunks or ()) * dataset.id.get_type().get_size()
    if size <= CHUNK_CACHE:
        return dataset
    plan = h5p.create(h5p.DATASET_ACCESS)
    plan.set_chunk_cache(1, size, 1.0)
    name = dataset.name.encode()
    place = dataset.file.id
    dataset.id.close()  # an open one lends its cache to whoever opens it again
    return h5py.Dataset(h5d.open(place, name, plan))


def _attribute(item: h5py.Group | h5py.Dataset, name: str | bytes) -> Any:
    """Return an attribute of texts or numbers; None where there is none, or it is of another kind or damaged.

    It is looked at before it is read: a damaged one may say gigabytes, and the library's own ways to a label and to
    whether a dataset is a scale were seen to abort the process on damaged files.
    """
    key = name if isinstance(name, bytes) else name.encode()
    try:
        if not h5a.exists(item.id, key):
            return None
        held = h5a.open(item.id, key)
        kind = held.get_type()
        lists = kind.detect_class(h5t.VLEN) and not isinstance(kind, h5t.TypeStringID)
        return None if lists or held.get_storage_size() > LONGEST_FACT else item.attrs[name]
    except (OSError, RuntimeError, TypeError, ValueError, UnicodeDecodeError):
        return None


def _is_scale(dataset: h5py.Dataset) -> bool:
    """Return whether a dataset is a dimension scale."""
    word = _attribute(dataset, "CLASS") if len(dataset.shape) == 1 else None
    return isinstance(word, str | bytes) and _text(word) == "DIMENSION_SCALE"


def _labels(dataset: h5py.Dataset) -> list[str]:
    """Return the names of the axes."""
    labels = _attribute(dataset, "DIMENSION_LABELS")
    if not isinstance(labels, np.ndarray) or labels.shape != (len(dataset.shape),):
        return []
    return [_text(label) for label in labels] if all(isinstance(label, str | bytes) for label in labels) else []


def _check_storage(source: InputFile, name: str, dataset: h5d.DatasetID, array: Array) -> None:
    plan = dataset.get_create_plist()
    layout = plan.get_layout()
    if layout == h5d.VIRTUAL or plan.get_external_count():
        raise source.bad(f"keeps '{name}' in other files, which are not opened: copy it with h5repack")
    held = dataset.get_storage_size()
    if layout == h5d.CONTIGUOUS:
        offset = dataset.get_offset()
        if array.bytes and (offset is None or offset + held > source.size):
            rule = f"says {array.bytes:,} bytes for '{name}' and does not hold them"
            raise source.bad(f"{rule}: it is truncated; make it again")
    if layout != h5d.CHUNKED:
        return
    chunk = plan.get_chunk()
    size = math.prod(chunk) * ITEM_BYTES[array.dtype]
    source.allow(size, LARGEST_CHUNK, f"has chunks of {size:,} bytes in '{name}'", ": repack it with h5repack -l")
    expected = math.prod(-(-size // part) for size, part in zip(array.shape, chunk, strict=True))
    if held > source.size or dataset.get_num_chunks() < expected:
        rule = f"lacks chunks of '{name}', which would read as zeros"
        raise source.bad(f"{rule}: it was not written to its end; make it again")


def _plain_offset(dataset: h5py.Dataset, dtype: str) -> int | None:
    """Return the offset of a contiguous dataset in its native type, whose reads need no lock of HDF5; else None."""
    return dataset.id.get_offset() if dataset.chunks is None and dataset.id.get_type() == file_type(dtype) else None


def _text(held: str | bytes) -> str:
    """Return a name or a text of the file, which h5py gives as bytes where it is no UTF-8."""
    return held.decode(errors="backslashreplace") if isinstance(held, bytes) else plain(held)


def _facts(file: h5py.File) -> tuple[str | None, dict[str, str]]:
    """Return the recipe and the other texts and numbers at the root."""
    facts = {}
    for name in file.attrs:
        value = _attribute(file, name)
        if isinstance(value, bytes):
            value = _text(value)
        if value is not None and getattr(value, "ndim", 0) == 0 and len(text := str(value)) <= LONGEST_FACT:
            facts[_text(name)] = text
    return facts.pop("pecli_recipe", None), facts


DEFLATE, SHUFFLE, FLETCHER32, LZF = 1, 2, 3, 32000
BEST_LZF = 88  # three bytes stand for 264 at most


class FilteredChunks:
    """The chunks of a dataset with filters.

    Parameters
    ----------
    source : InputFile
        The file.
    name : str
        What the dataset is called.
    dataset : h5py.h5d.DatasetID
        Open.
    array : Array
        Its shape and type.

    Raises
    ------
    BadFile
        If a filter is another one than those of h5py (deflate, LZF, shuffle, Fletcher32), or two compress.
    """

    def __init__(self, source: InputFile, name: str, dataset: h5d.DatasetID, array: Array) -> None:
        plan = dataset.get_create_plist()
        filters = [plan.get_filter(index) for index in range(plan.get_nfilters())]
        self._source, self._name, self._dataset, self._filters = source, name, dataset, filters
        self._chunk: tuple[int, ...] = plan.get_chunk()
        self._bytes: int = math.prod(self._chunk) * dataset.get_type().get_size()
        self._grid = [-(-size // part) for size, part in zip(array.shape, self._chunk, strict=True)]
        self._sound = bytearray(math.prod(self._grid))
        for code, *_ in filters:
            if code not in (DEFLATE, LZF, SHUFFLE, FLETCHER32):
                raise source.bad(f"compresses '{name}' with filter {code}: repack it with h5repack -f GZIP=1")
        if sum(code in (DEFLATE, LZF) for code, *_ in filters) > 1:
            raise source.bad(f"compresses '{name}' twice: repack it with h5repack -f GZIP=1")

    def check(self, box: tuple[slice, ...]) -> None:
        """Raise :class:`BadFile` where a chunk in a box inflates to another size than its own."""
        spans = [range(b.start // c, -(-b.stop // c)) for b, c in zip(box, self._chunk, strict=True)]
        for place in itertools.product(*spans):
            index = int(np.ravel_multi_index(place, self._grid))
            if not self._sound[index]:
                corner = tuple(a * c for a, c in zip(place, self._chunk, strict=True))
                mask, data = self._dataset.read_direct_chunk(corner)
                if not self._is_sound(mask, data):
                    rule = f"has a chunk of '{self._name}' that does not inflate to its {self._bytes:,} bytes"
                    raise self._source.bad(f"{rule}: it is damaged; make it again")
                self._sound[index] = 1

    def _is_sound(self, mask: int, data: bytes) -> bool:
        """Return whether a chunk inflates to its declared size; set bits of `mask` are filters left out."""
        used = [code for index, (code, *_) in enumerate(self._filters) if not mask >> index & 1]
        if FLETCHER32 in used:
            data = data[:-4]
        if DEFLATE in used:
            try:
                return len(inflated(data, "zlib", self._bytes)) == self._bytes
            except (ValueError, zlib.error):
                return False
        if LZF in used:
            most = len(data) * BEST_LZF
            self._source.allow(most, LARGEST_CHUNK, f"has a chunk in LZF in '{self._name}' of up to {most:,} bytes")
            return True
        return len(data) == self._bytes


END_BYTES = 1 << 18  # bytes at either end of a file, where writers put what describes its values
FILE, COLLECTION, LOCAL = b"\x89HDF\r\n\x1a\n", b"GCOL\x01\0\0\0", b"HEAP\0\0\0\0"
HEADER = 16  # bytes of a collection's own, of each of its objects', and of a free block of a local heap
NOTHING = 1  # the offset of no block
LONG = 1 << 20  # bytes; above any index, which stands before the address where one reference follows another
VIRTUAL = b"\x04\x03"  # before the address in the layout of a virtual dataset, which has no length
DAMAGED = "has a damaged heap of names or attributes: make it again"


def check_heaps(raw: RawFile) -> None:
    """Raise :class:`BadFile` where a heap near either end of the file would take all time or memory.

    It has free space without end, or something says that a text in it is longer than what is held there: the library
    takes as much memory as is said.
    """
    size = raw.source.size
    ends = [(start, raw.read(start, min(END_BYTES, size - start))) for start in sorted({0, max(0, size - END_BYTES)})]
    if not _of_eight_bytes(ends[0][1]):
        return
    held: dict[int, dict[int, int]] = {}
    for start, data in ends:
        for at in _places(data, COLLECTION):
            held[start + at] = sizes = dict(_objects(data, at))
            if sizes.pop(0, None) == 0:  # free space of no bytes: the library stays there
                raise raw.source.bad(DAMAGED)
        if any(_has_cycle(raw, data, at) for at in _places(data, LOCAL)):
            raise raw.source.bad(DAMAGED)
    if any(_overstated(data, address, sizes) for _, data in ends for address, sizes in held.items()):
        raise raw.source.bad(DAMAGED)


def _of_eight_bytes(data: bytes) -> bool:
    sizes = 13 if len(data) > 8 and data[8] < 2 else 9  # where the version of the file has those of offsets and lengths
    return data[:8] == FILE and data[sizes : sizes + 2] == b"\x08\x08"


def _places(data: bytes, signature: bytes) -> Iterator[int]:
    at = data.find(signature)
    while at >= 0:
        yield at
        at = data.find(signature, at + 1)


def _objects(data: bytes, at: int) -> Iterator[tuple[int, int]]:
    """Yield the index and the size of each object of a collection; free space has index 0."""
    end = min(len(data), at + int.from_bytes(data[at + 8 : at + HEADER], "little"))
    at += HEADER
    while at + HEADER <= end:
        index, size = struct.unpack_from("<H6xQ", data, at)
        yield index, size
        if not index and not size:
            return
        # the size of free space counts its header; objects are padded to 8 bytes
        at += HEADER + (size + 7) // 8 * 8 if index else size


def _overstated(data: bytes, address: int, sizes: dict[int, int]) -> bool:
    """Return whether a reference (length, address, index) into this collection claims more than its object has."""
    for at in _places(data, struct.pack("<Q", address)):
        if at >= 4 and at + 12 <= len(data):
            length, index = struct.unpack_from("<I8xI", data, at - 4)
            if length > max(sizes.get(index, length), LONG) and data[at - 2 : at] != VIRTUAL:
                return True
    return False


def _has_cycle(raw: RawFile, data: bytes, at: int) -> bool:
    """Return whether the free blocks of a local heap, each of which names the next, are more than fit into it."""
    if at + 32 > len(data):
        return False
    size, block, address = struct.unpack_from("<8xQQQ", data, at)
    for _ in range(min(size, raw.source.size) // HEADER + 1):
        if block == NOTHING or block + HEADER > size or address + block + HEADER > raw.source.size:
            return False
        block = int.from_bytes(raw.read(address + block, 8), "little")
    return True
