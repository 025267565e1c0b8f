"""HDF5: one dataset per array, a dimension scale for every axis, the recipe as an attribute of the root.

Datasets are contiguous, or (compressed) shuffled and deflated.  A plain file is planned by the library itself: it
writes its structures into memory, with the datasets allocated but empty, and tells where their values belong.  So
several threads write the values, the file can go to a pipe, and a full disk never reaches the HDF5 library, which
crashes on a file that it cannot close.
"""

from __future__ import annotations

import io
import itertools
import math
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pecli.engine.threads import run_in_thread
from pecli.errors import BadParameter
from pecli.formats.format import Draft, WriteOptions
from pecli.formats.hdf5_checks import FilteredChunks, check_heaps
from pecli.formats.io.output import Image, Output, Shielded, spooled
from pecli.formats.io.source import InputFile, RawFile, reading, undone
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
        self._file = _opened(source)
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


def _opened(source: InputFile) -> h5py.File:
    with reading(source, "cannot be opened as HDF5"):
        return h5py.File(source.handle(), "r", **({} if source.remote else {"locking": False}))


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
