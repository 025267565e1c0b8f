"""Checks of HDF5 files before the library reads them: chunks that inflate without bound, heaps without end.

The library's own inflation takes whatever memory a chunk wants, and then keeps as many bytes as the chunk has values:
a bomb reads as zeros, a short chunk as whatever lay in memory.  From a damaged heap, where names and attributes are
kept, it reads on without end, holding Python's lock, so that no signal ends it.  Found in versions to 2.0.0.
Source: HDF5 File Format Specification 3.0, III.D and III.E, for offsets and lengths of 8 bytes.
"""

from __future__ import annotations

import itertools
import math
import struct
import zlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from pecli.formats.io.source import InputFile, RawFile, inflated
from pecli.numbers.bounds import LARGEST_CHUNK
from pecli.spec.tabular import Array

if TYPE_CHECKING:
    from h5py import h5d


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
