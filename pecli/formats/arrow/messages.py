"""Where the record batches of an Arrow file or stream lie, how long they are and what they inflate to.

A message is a length, what is said of its body (a table of FlatBuffers), and
the body.  pyarrow tells none of this without inflating the body.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from pecli.formats.common.input import RawFile
from pecli.records import dataclass

MAGIC, MARK = b"ARROW1", 0xFFFFFFFF  # of a file, and of a message
DICTIONARY, BATCH = 2, 3  # kinds of messages
BODY, ROWS, BUFFERS, COMPRESSION, BATCHES = 3, 0, 2, 3, 3  # places of fields in Message.fbs, File.fbs


@dataclass(frozen=True)
class StoredBatch:
    """A record batch: where its message begins, its rows, and the bytes that its compressed parts inflate to."""

    offset: int
    rows: int
    inflated: int


class Flat:
    """A table of FlatBuffers: fields are found through a list of their offsets."""

    def __init__(self, data: bytes, at: int | None = None) -> None:
        self._data = data
        self._at = _number("<I", data, 0) if at is None else at

    def number(self, field: int, form: str = "<q") -> int:
        """Return a number, 0 where it is left out."""
        at = self._place(field)
        return _number(form, self._data, at) if at else 0

    def table(self, field: int) -> Flat | None:
        """Return a table in this one, if there is one."""
        at = self._place(field)
        return Flat(self._data, at + _number("<I", self._data, at)) if at else None

    def pairs(self, field: int, form: str) -> Iterator[tuple[int, ...]]:
        """Yield the entries of a list of structures."""
        at = self._place(field)
        if at:
            at += _number("<I", self._data, at)
            size = _number("<I", self._data, at) * struct.calcsize(form)
            yield from struct.iter_unpack(form, self._data[at + 4 : at + 4 + size])

    def _place(self, field: int) -> int:
        known = self._at - _number("<i", self._data, self._at)
        offset = (
            _number("<H", self._data, known + 4 + 2 * field) if 4 + 2 * field < _number("<H", self._data, known) else 0
        )
        return self._at + offset if offset else 0


def _number(form: str, data: bytes, at: int) -> int:
    if at < 0:
        raise ValueError("an offset leads out of the message")
    found: int = struct.unpack_from(form, data, at)[0]
    return found


def places(file: RawFile) -> list[StoredBatch]:
    """Return the record batches of a file, by its footer, or of a stream, one after the other.

    Raises
    ------
    ValueError, struct.error
        If the bytes are none of both.
    """
    size = file.source.size
    if not file.source.head.startswith(MAGIC):
        return [found for found in _stream(file) if found is not None]
    length = _number("<i", file.read(size - 10, 10), 0)
    footer = Flat(file.read(size - 10 - length, length))
    found = [_message(file, offset)[0] for offset, _, _ in footer.pairs(BATCHES, "<qi4xq")]
    return [place for place in found if place is not None]


def _stream(file: RawFile) -> Iterator[StoredBatch | None]:
    at = 0
    while at < file.source.size:
        place, after = _message(file, at)
        if after == at:
            return
        yield place
        at = after


def _message(file: RawFile, at: int) -> tuple[StoredBatch | None, int]:
    """Return the batch in a message, and where the next message begins; the same place at the end of a stream."""
    first, second = struct.unpack("<Ii", file.read(at, 8))
    start, length = (at + 8, second) if first == MARK else (at + 4, first)
    if not length:
        return None, at
    about = Flat(file.read(start, length))
    body, after = start + length, start + length + about.number(BODY)
    kind, batch = about.number(1, "<B"), about.table(2)
    if kind == DICTIONARY:
        raise ValueError("dictionaries are not numbers")
    if kind != BATCH or batch is None or not body <= after <= file.source.size:
        if after < body or after > file.source.size:
            raise file.source.bad("ends early: it is truncated; make it again")
        return None, after
    inflated = 0
    if batch.table(COMPRESSION) is not None:  # each buffer begins with its length, -1 where it is as it was
        for offset, size in batch.pairs(BUFFERS, "<qq"):
            inflated += max(0, _number("<q", file.read(body + offset, 8), 0)) if size else 0
    return StoredBatch(at, batch.number(ROWS), inflated), after
