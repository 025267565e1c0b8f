"""safetensors: a JSON header, and a tensor for each array; the other file that holds bfloat16.

The recipe is JSON under the key ``pecli`` of ``__metadata__``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from pecli.formats.format import Draft, WriteOptions
from pecli.formats.io.source import InputFile, RawFile
from pecli.formats.layout import FileLayout
from pecli.formats.stored import KEY, StoredTable, axes_of, facts_json, parse_object, plain, safe_shape, texts
from pecli.numbers.bounds import LONGEST_HEADER
from pecli.numbers.dtypes import storage
from pecli.spec.tabular import Array, Tabular, array_of

CODES = {
    "float64": "F64", "float32": "F32", "float16": "F16", "bfloat16": "BF16", "complex64": "C64", "bool": "BOOL",
    "int64": "I64", "int32": "I32", "int16": "I16", "int8": "I8",
    "uint64": "U64", "uint32": "U32", "uint16": "U16", "uint8": "U8",
}  # fmt: skip
LENGTH_BYTES = 8


def draft(table: Tabular, options: WriteOptions) -> Draft:
    """Put the header first and the arrays behind it, widest values first, so that all are aligned."""
    header: dict[str, Any] = {"__metadata__": {KEY: facts_json(table)}}
    at = 0
    offsets = {}
    for array in sorted(table.arrays, key=lambda a: -storage(a.dtype).itemsize):
        offsets[array.name] = at
        header[array.name] = {"dtype": CODES[array.dtype], "shape": array.shape, "data_offsets": [at, at + array.bytes]}
        at += array.bytes
    head = head_of(header)
    places = {name: len(head) + offset for name, offset in offsets.items()}
    return FileLayout(len(head) + at, ((0, head),), places).draft(table, options)


def head_of(header: Mapping[str, Any]) -> bytes:
    """Return the beginning of a file: the length of its header, and the header, padded with spaces."""
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % LENGTH_BYTES)
    return len(text).to_bytes(LENGTH_BYTES, "little") + text


DTYPES = {code: dtype for dtype, code in CODES.items()}


class SafetensorsTable(StoredTable):
    """An open safetensors file; tensors of types that NumPy lacks are left out.

    Attributes
    ----------
    left_out : list of str
        Their names.
    """

    def __init__(self, source: InputFile) -> None:
        self._file: RawFile = RawFile(source)
        header, self._start = self._header(source)
        held = source.size - self._start
        facts = header.pop("__metadata__", {})
        own = parse_object(facts.get(KEY, "")) if isinstance(facts, dict) and isinstance(facts.get(KEY), str) else {}
        self.offsets: dict[str, int] = {}
        arrays = []
        self.left_out: list[str] = []
        for name, entry in ((plain(name), entry) for name, entry in header.items()):
            array = self._described(source, name, entry, held, axes_of(own, name))
            if array is not None:
                arrays.append(array)
            else:
                self.left_out.append(name)
        self._check_places(source, header, held)
        metadata = texts(own) if own else texts(facts if isinstance(facts, dict) else {})
        super().__init__(source, arrays, metadata.pop("recipe", None) if own else None, metadata)

    def _header(self, source: InputFile) -> tuple[dict[str, Any], int]:
        length = int.from_bytes(self._file.read(0, LENGTH_BYTES), "little")
        if length > source.size - LENGTH_BYTES:
            rule = f"says a header of {length:,} bytes in a file of {source.size:,}: it is truncated or damaged"
            raise source.bad(rule)
        source.allow(length, LONGEST_HEADER, f"has a header of {length:,} bytes")
        header = parse_object(self._file.read(LENGTH_BYTES, length))
        if not header:
            raise source.bad("has a header that is not a JSON object: it is damaged; write it again")
        return header, LENGTH_BYTES + length

    def _described(self, source: InputFile, name: str, entry: object, held: int, axes: list[str]) -> Array | None:
        """Check one entry of the header against the file."""
        if not isinstance(entry, dict):
            raise source.bad(f"describes '{name}' by something that is not an object: it is damaged")
        shape, offsets = safe_shape(entry.get("shape")), safe_shape(entry.get("data_offsets"))
        if shape is None or offsets is None or len(offsets) != 2:
            raise source.bad(f"gives '{name}' a shape or a place that cannot be: it is damaged")
        first, last = offsets
        if last > held:
            raise source.bad(f"says {last:,} bytes of values and holds {held:,}: it is truncated; make it again")
        dtype = DTYPES.get(str(entry.get("dtype")))
        if dtype is None:
            return None
        array = array_of(name, shape, dtype, axes)
        if last - first != array.bytes:
            rule = f"gives '{name}' {last - first:,} bytes where its shape takes {array.bytes:,}"
            raise source.bad(f"{rule}: it is damaged")
        self.offsets[name] = self._start + first
        return array

    @staticmethod
    def _check_places(source: InputFile, header: dict[str, Any], held: int) -> None:
        """Refuse tensors that overlap or leave bytes between or behind them, as the format's own reader does."""
        end, last = 0, "the header"
        for first, stop, name in sorted((*entry["data_offsets"], name) for name, entry in header.items()):
            if first != end:
                what = "overlaps" if first < end else f"leaves {first - end:,} bytes behind"
                raise source.bad(f"gives '{name}' a place that {what} {last}: it is damaged")
            end, last = stop, f"'{name}'"
        if end != held:
            raise source.bad(f"has {held - end:,} bytes behind its tensors: it is damaged; make it again")

    def bytes_at(self, offset: int, count: int) -> bytes:
        """Return bytes of the file."""
        return self._file.read(offset, count)

    def fill_array(self, array: Array, start: int, stop: int, out: NDArray[Any]) -> None:
        """Read rows of one array."""
        self._file.values(self.offsets[array.name] + start * array.row_bytes, storage(array.dtype), out)
