"""Writing HDF5: one dataset per array, a dimension scale for every axis, the recipe as an attribute.

A plain file is planned by the library itself: it writes its structures into
memory, with the datasets allocated but empty, and tells where their values
belong.  So several threads write the values, the file can go to a pipe, and a
full disk never reaches the HDF5 library, which crashes on a file that it cannot
close.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import TYPE_CHECKING

from pecli.declare.tabular import Array, Tabular
from pecli.engine.team import apart
from pecli.errors import BadParameter
from pecli.formats.common.facts import plain
from pecli.formats.common.format import Draft, WriteOptions
from pecli.formats.common.output import Output
from pecli.formats.common.places import FileLayout, Numbered
from pecli.formats.common.scales import Places, with_scales
from pecli.formats.hdf5.chunks import chunk_shape, chunks
from pecli.formats.hdf5.images import Image, Shielded, spooled
from pecli.formats.hdf5.types import file_type

if TYPE_CHECKING:
    import h5py

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

    offsets = apart(build, lambda: None)
    return FileLayout(image.size, tuple(image.writes), {name: at for name, at in offsets.items() if at is not None})


def _open(file: io.RawIOBase) -> h5py.File:
    import h5py

    return h5py.File(file, "w", libver="earliest", alignment_threshold=16 * PAGE, alignment_interval=PAGE)


def _create(file: h5py.File, array: Array, *, compress: bool) -> h5py.Dataset:
    """Create an empty dataset that keeps no times."""
    import h5py
    from h5py import h5d, h5p, h5s

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
    facts = {"pecli_recipe": table.recipe, **table.metadata}
    for key, value in facts.items():
        if value is not None:
            file.attrs[plain(key)] = plain(value)
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
                if not array.shape:
                    datasets[array.name][()] = table.read(array.name)  # one value, no chunk
                    continue
                for start, data in chunks(table, array, options):
                    datasets[array.name].id.write_direct_chunk(start, data)
                    shielded.check()

    apart(write, shielded.stop)
    shielded.check()
