"""Heaps, where HDF5 keeps names and attributes: from a damaged one the library reads on without end.

It holds Python's lock meanwhile, so that no signal ends it, and takes all memory.  Found in versions to 2.0.0.
Source: HDF5 File Format Specification 3.0, III.D and III.E, for offsets and lengths of 8 bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from pecli.formats.common.input import RawFile

ENDS = 1 << 18  # bytes at either end of a file, where writers put what describes its values
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
    ends = [(start, raw.read(start, min(ENDS, size - start))) for start in sorted({0, max(0, size - ENDS)})]
    if not _of_eight_bytes(ends[0][1]):
        return
    held: dict[int, dict[int, int]] = {}
    for start, data in ends:
        for at in _places(data, COLLECTION):
            held[start + at] = sizes = dict(_objects(data, at))
            if sizes.pop(0, None) == 0:  # free space of no bytes: the library stays there
                raise raw.source.bad(DAMAGED)
        if any(_circles(raw, data, at) for at in _places(data, LOCAL)):
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
    """Whether a reference to an object of this collection (a length, the address, the index) says it to be longer."""
    for at in _places(data, struct.pack("<Q", address)):
        if at >= 4 and at + 12 <= len(data):
            length, index = struct.unpack_from("<I8xI", data, at - 4)
            if length > max(sizes.get(index, length), LONG) and data[at - 2 : at] != VIRTUAL:
                return True
    return False


def _circles(raw: RawFile, data: bytes, at: int) -> bool:
    """Whether the free blocks of a local heap, each of which names the next, are more than fit into it."""
    if at + 32 > len(data):
        return False
    size, block, address = struct.unpack_from("<8xQQQ", data, at)
    for _ in range(min(size, raw.source.size) // HEADER + 1):
        if block == NOTHING or block + HEADER > size or address + block + HEADER > raw.source.size:
            return False
        block = int.from_bytes(raw.read(address + block, 8), "little")
    return True
