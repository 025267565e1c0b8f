"""npy: NumPy's own file, a short header and the values; several arrays of one shape are stacked.

It holds no recipe.
"""

from __future__ import annotations

import io
import struct
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.errors import BadFile, BadParameter
from pecli.formats.format import Draft, WriteOptions
from pecli.formats.io.source import InputFile, RawFile
from pecli.formats.layout import FileLayout
from pecli.formats.stored import StoredTable, dtype_name, safe_shape
from pecli.numbers.bounds import LONGEST_NPY_HEADER
from pecli.numbers.dtypes import storage
from pecli.spec.tabular import Array, Tabular, array_of

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


MAX_SPAN_BYTES = 64 << 20  # bytes read to gather rows of a Fortran array


def parse_header(head: bytes) -> tuple[np.dtype[Any], bool, tuple[int, ...], int]:
    """Return type, whether Fortran order, shape and where the values begin.

    Raises
    ------
    ValueError
        With what is wrong, to follow the file's name.
    """
    file, readers = io.BytesIO(head), np.lib.format
    try:
        read = readers.read_array_header_1_0 if readers.read_magic(file) == (1, 0) else readers.read_array_header_2_0
        with warnings.catch_warnings(action="ignore"):  # of an odd escape
            shape, fortran, dtype = read(file, max_header_size=LONGEST_NPY_HEADER)
    except Exception:  # of Python's tokenizer too
        raise ValueError("has a header that is not NumPy's: it is truncated or damaged; make it again") from None
    if safe_shape(shape) is None:
        raise ValueError(f"has the shape {shape!r}, which no array can have: it is damaged")
    if dtype.hasobject or dtype.names is not None:
        raise ValueError("holds Python objects or records, which are never unpickled: save plain numbers")
    if dtype_name(dtype) is None:
        hint = "; NumPy saves bfloat16 so: use safetensors or hdf5" if dtype.str[1:] == "V2" else ""
        raise ValueError(f"holds values of type {dtype.str!r}, which is not a known number type{hint}")
    return dtype, fortran, shape, file.tell()


class NpyArray:
    """One npy array within a file, at any offset, or in a compressed member of an archive."""

    def __init__(self, file: RawFile, offset: int, length: int, name: str) -> None:
        """Read the header at `offset`; the array may take `length` bytes with it."""
        self.file = file
        head = file.read(offset, min(length, 12 + LONGEST_NPY_HEADER))
        try:
            self.dtype, self.fortran, shape, start = parse_header(head)
        except ValueError as error:
            raise BadFile(file.source.name, str(error)) from None
        self.offset = offset + start
        kind = dtype_name(self.dtype)
        assert kind is not None
        self.array = array_of(name, shape, kind)
        if self.array.bytes > length - start:
            rule = f"says {self.array.bytes:,} bytes of values and holds {length - start:,}"
            raise file.source.bad(f"{rule}: it is truncated")
        count = length - start - self.array.bytes
        if count:  # something else was written behind it, or a larger array begun
            rule = f"has {count:,} bytes behind its array: save each array to a file of its own, or use npz"
            raise file.source.bad(rule)

    def fill(self, array: Array, start: int, stop: int, out: NDArray[Any]) -> None:
        """Read rows of the array, as `array` divides it into rows."""
        if self.fortran and len(array.shape) > 1:
            self._fill_transposed(array, start, stop, out)
        else:
            self.file.values(self.offset + start * array.row_bytes, self.dtype, out)

    def _fill_transposed(self, array: Array, start: int, stop: int, out: NDArray[Any]) -> None:
        """Gather rows whose values lie one lead block apart, with one read for each column."""
        lead = array.shape[: array.lead]
        places = np.ravel_multi_index(np.unravel_index(np.arange(start, stop), lead), lead, order="F")
        if not len(places):
            return
        low = int(places.min())
        if (int(places.max()) - low) * self.dtype.itemsize > MAX_SPAN_BYTES:
            raise self.file.source.bad("holds rows in Fortran order that lie too far apart: save it in C order")
        span = np.empty(int(places.max()) + 1 - low, self.dtype)
        flat = np.empty((len(places), *array.row_shape[::-1]), out.dtype)  # columns in the order of the file
        columns = flat.reshape(len(places), -1)
        for column in range(columns.shape[1]):
            offset = self.offset + (column * array.rows + low) * self.dtype.itemsize
            self.file.values(offset, self.dtype, span)
            columns[:, column] = span[places - low]
        out[...] = flat.transpose(0, *range(flat.ndim - 1, 0, -1))


class NpyTable(StoredTable):
    """An open npy file; its array is called ``array``."""

    def __init__(self, source: InputFile) -> None:
        self._file = RawFile(source)
        self._values = NpyArray(self._file, 0, source.size, "array")
        super().__init__(source, [self._values.array], None, {})

    def fill_array(self, array: Array, start: int, stop: int, out: NDArray[Any]) -> None:
        """Read rows of one array."""
        self._values.fill(array, start, stop, out)
