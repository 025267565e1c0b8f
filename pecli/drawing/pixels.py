"""A matrix of colours as a PNG inside an SVG, with nothing but the standard library.

The pixels are stored, not compressed: compressors differ between versions of
zlib, and the same picture is to have the same bytes everywhere.
"""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Sequence

LARGEST = 65535  # bytes of a stored block


def png(rows: Sequence[bytes], colours: Sequence[tuple[int, int, int]]) -> bytes:
    """Return rows of palette indices as a PNG file.

    Parameters
    ----------
    rows : sequence of bytes
        One byte for each pixel, rows of the same length.
    colours : sequence of (red, green, blue)
        At most 256.
    """
    header = struct.pack(">IIBBBBB", len(rows[0]), len(rows), 8, 3, 0, 0, 0)
    plain = b"".join(b"\0" + row for row in rows)
    parts = [
        (b"IHDR", header),
        (b"PLTE", bytes(part for c in colours for part in c)),
        (b"IDAT", stored(plain)),
        (b"IEND", b""),
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(name, data) for name, data in parts)


def stored(data: bytes) -> bytes:
    """Return data as a zlib stream of stored blocks (RFC 1950, RFC 1951)."""
    blocks = [data[at : at + LARGEST] for at in range(0, len(data), LARGEST)] or [b""]
    parts = [b"\x78\x01"]
    for number, block in enumerate(blocks):
        last = number == len(blocks) - 1
        parts.append(struct.pack("<BHH", last, len(block), len(block) ^ 0xFFFF) + block)
    return b"".join([*parts, struct.pack(">I", zlib.adler32(data))])


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def data_address(image: bytes) -> str:
    """Return an image as the address that an SVG's image element takes."""
    return "data:image/png;base64," + base64.b64encode(image).decode()
