"""Writing npy."""

from __future__ import annotations

import struct

from pecli.declare.tabular import Tabular
from pecli.errors import BadParameter
from pecli.formats.common.format import Draft, WriteOptions
from pecli.formats.common.places import FileLayout
from pecli.numbers.types import storage

MAGIC = b"\x93NUMPY"


def header(dtype: str, shape: tuple[int, ...]) -> bytes:
    """Return the header of version 1.0, padded so that the values begin at a multiple of 64 bytes."""
    kind = storage(dtype).str
    text = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape!r}, }}"
    padding = -(len(MAGIC) + 4 + len(text) + 1) % 64
    data = (text + " " * padding + "\n").encode("latin1")
    return MAGIC + b"\x01\x00" + struct.pack("<H", len(data)) + data


def draft(table: Tabular, options: WriteOptions) -> Draft:
    """Stack arrays of one shape, so that ``cos, sin = np.load(file)``."""
    arrays = table.arrays
    if len({(array.shape, array.dtype) for array in arrays}) != 1:
        shapes = ", ".join(f"{a.name} {a.dtype} {'x'.join(map(str, a.shape))}" for a in arrays)
        rule = f"holds one array, or several of one shape and type, and these differ ({shapes}): use npz or hdf5 (.h5)"
        raise BadParameter("format", "npy", rule)
    shape = arrays[0].shape if len(arrays) == 1 else (len(arrays), *arrays[0].shape)
    head = header(arrays[0].dtype, shape)
    offsets = {array.name: len(head) + index * array.bytes for index, array in enumerate(arrays)}
    size = len(head) + sum(array.bytes for array in arrays)
    return FileLayout(size, ((0, head),), offsets).draft(table, options)
