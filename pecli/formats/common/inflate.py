"""Decompression that stops at a number of bytes: a few bytes of a chunk may stand for gigabytes."""

from __future__ import annotations

import zlib

PIECE = 1 << 16  # bytes that are inflated at once; of zeros they become 64 MiB


def zlib_size(data: bytes, most: int) -> int:
    """Return how many bytes a zlib stream inflates to, or some number above `most`; -1 where it is cut or damaged."""
    stream, size = zlib.decompressobj(), 0
    try:
        for start in range(0, len(data), PIECE):
            left = data[start : start + PIECE]
            while left and size <= most:
                size += len(stream.decompress(left, 1 << 20))
                left = stream.unconsumed_tail
            if size > most:
                return size
        size += len(stream.flush())
    except zlib.error:
        return -1
    return size if stream.eof else -1


def inflated(data: bytes, codec: str, most: int) -> bytes:
    """Return what bytes of "gzip", "zlib" or "zstd" inflate to; :class:`ValueError` where that is more than `most`."""
    if codec == "zlib":
        stream = zlib.decompressobj()
        found = stream.decompress(data, most + 1)
        if not stream.eof:
            raise ValueError(f"inflates to more than {most} bytes, or is cut")
    else:
        import pyarrow as pa

        with pa.CompressedInputStream(pa.BufferReader(data), codec) as opened:
            found = opened.read(most + 1)
    if len(found) > most:
        raise ValueError(f"inflates to more than {most} bytes")
    return found
