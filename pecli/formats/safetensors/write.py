"""Writing safetensors."""

from __future__ import annotations

import json
from typing import Any

from pecli.declare.tabular import Tabular
from pecli.formats.common.facts import KEY, facts_json
from pecli.formats.common.format import Draft, WriteOptions
from pecli.formats.common.places import FileLayout
from pecli.numbers.types import storage

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
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % LENGTH_BYTES)
    head = len(text).to_bytes(LENGTH_BYTES, "little") + text
    places = {name: len(head) + offset for name, offset in offsets.items()}
    return FileLayout(len(head) + at, ((0, head),), places).draft(table, options)
