"""GGUF files as llama.cpp has them: tensors of plain numbers are read, quantised ones are left out.

A header of counted keys and tensors, little-endian, and the values at multiples of the alignment behind it.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from pecli.formats.io.source import InputFile, RawFile
from pecli.formats.stored import KEY, StoredTable, axes_of, parse_object, plain, texts
from pecli.numbers.bounds import LONGEST_GGUF_HEADER, MAX_ARRAYS
from pecli.numbers.dtypes import storage
from pecli.spec.tabular import Array, array_of

MAGIC, VERSIONS = b"GGUF", (2, 3)
DTYPES = {
    0: "float32", 1: "float16", 24: "int8", 25: "int16", 26: "int32", 27: "int64", 28: "float64", 30: "bfloat16",
}  # fmt: skip
VALUE_BYTES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
STRING, LIST = 8, 9
USUAL_ALIGNMENT = 32
MAX_AXES = 4
WINDOW = 1 << 20  # bytes of the header that are read at once


class Header:
    """The beginning of a file, read in order."""

    def __init__(self, file: RawFile, source: InputFile) -> None:
        self._file, self._source, self._window, self._first, self.at = file, source, b"", 0, 0

    def take(self, count: int) -> bytes:
        """Return the next bytes."""
        end = self.at + count
        self._source.allow(end, LONGEST_GGUF_HEADER, f"has a header of {end:,} bytes or more")
        if not self._first <= self.at <= self.at + count <= self._first + len(self._window):
            self._first = self.at
            self._window = self._file.read(self.at, max(count, min(WINDOW, self._source.size - self.at)))
        start = self.at - self._first
        self.at += count
        return self._window[start : start + count]

    def number(self, size: int) -> int:
        """Return a whole number of some bytes."""
        return int.from_bytes(self.take(size), "little")

    def string(self) -> bytes:
        """Return the next counted text."""
        return self.take(self.number(8))

    def value(self, kind: int) -> bytes:
        """Return the bytes of the next value of a kind; those of a list are passed over."""
        if kind == STRING:
            return self.string()
        if kind == LIST:
            kind, count = self.number(4), self.number(8)
            if kind != STRING:
                return self.take(count * self._bytes_of(kind))[:0]
            for _ in range(count):
                self.string()
            return b""
        return self.take(self._bytes_of(kind))

    def _bytes_of(self, kind: int) -> int:
        if kind not in VALUE_BYTES:
            raise self._source.bad(f"holds a key of the unknown kind {kind}: it is damaged")
        return VALUE_BYTES[kind]


class GgufTable(StoredTable):
    """An open GGUF file.

    Attributes
    ----------
    left_out : list of str
        Names of the tensors that are quantised.
    """

    def __init__(self, source: InputFile) -> None:
        self._file = RawFile(source)
        header = Header(self._file, source)
        header.take(len(MAGIC))
        if (version := header.number(4)) not in VERSIONS:
            raise source.bad(f"is GGUF of version {version}: pecli reads {' and '.join(map(str, VERSIONS))}")
        tensors, count = header.number(8), header.number(8)
        keys: dict[bytes, bytes] = {}
        for _ in range(count):
            name = header.string()
            keys[name] = header.value(header.number(4))
        align = int.from_bytes(keys.get(b"general.alignment", b""), "little") or USUAL_ALIGNMENT
        facts = parse_object(keys.get(KEY.encode(), b""))
        if tensors > MAX_ARRAYS:
            raise source.bad(f"names {tensors:,} tensors: it is damaged")
        self.offsets: dict[str, int] = {}
        self.left_out: list[str] = []
        arrays = [one for _ in range(tensors) if (one := self._described(header, source, facts)) is not None]
        start = header.at + -header.at % align
        self.offsets = {name: start + at for name, at in self.offsets.items()}
        for array in arrays:
            if self.offsets[array.name] + array.bytes > source.size:
                raise source.bad(f"ends before the values of '{array.name}': it is truncated; make it again")
        metadata = texts(facts)
        super().__init__(source, arrays, metadata.pop("recipe", None), metadata)

    def _described(self, header: Header, source: InputFile, facts: dict[str, Any]) -> Array | None:
        """Return the next tensor of the header; None of a quantised one."""
        name = plain(header.string().decode(errors="backslashreplace"))
        axes = header.number(4)
        if axes > MAX_AXES:
            raise source.bad(f"gives '{name}' {axes:,} axes: it is damaged")
        shape = tuple(header.number(8) for _ in range(axes))[::-1]  # the fastest comes first
        kind, at = header.number(4), header.number(8)
        if kind not in DTYPES:
            self.left_out.append(name)
            return None
        self.offsets[name] = at
        return array_of(name, shape, DTYPES[kind], axes_of(facts, name))

    def fill_array(self, array: Array, start: int, stop: int, out: NDArray[Any]) -> None:
        """Read rows of one array."""
        self._file.values(self.offsets[array.name] + start * array.row_bytes, storage(array.dtype), out)
