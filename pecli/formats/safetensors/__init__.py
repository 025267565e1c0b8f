"""safetensors: a JSON header and the values; the other file that holds bfloat16."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pecli.declare.tabular import Tabular, storage
from pecli.formats.common.format import INTEGERS, REALS, Draft, Format, Options, Rules

if TYPE_CHECKING:
    from pecli.formats.common.stored import Source, StoredTable

CODES = {
    "float64": "F64", "float32": "F32", "float16": "F16", "bfloat16": "BF16", "complex64": "C64", "bool": "BOOL",
    "int64": "I64", "int32": "I32", "int16": "I16", "int8": "I8",
    "uint64": "U64", "uint32": "U32", "uint16": "U16", "uint8": "U8",
}  # fmt: skip
LENGTH_BYTES = 8
RULES = Rules("safetensors", ("bfloat16", *REALS, "complex64", *INTEGERS))


def draft(table: Tabular, options: Options) -> Draft:
    """Put the header first and the arrays behind it, widest values first, so that all are aligned."""
    import json

    from pecli.formats.common.facts import KEY, facts_json
    from pecli.formats.common.places import Layout

    RULES.check(table)
    header: dict[str, Any] = {"__metadata__": {KEY: facts_json(table)}}
    at = 0
    offsets = {}
    for array in sorted(table.arrays, key=lambda a: -storage(a.dtype).itemsize):
        offsets[array.name] = at
        header[array.name] = {
            "dtype": CODES[array.dtype],
            "shape": array.shape,
            "data_offsets": [at, at + array.bytes],
        }
        at += array.bytes
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % LENGTH_BYTES)
    head = len(text).to_bytes(LENGTH_BYTES, "little") + text
    places = {name: len(head) + offset for name, offset in offsets.items()}
    return Layout(len(head) + at, ((0, head),), places).draft(table, options)


def open_safetensors(source: Source) -> StoredTable:
    """Open a safetensors file."""
    from pecli.formats.safetensors.read import SafetensorsTable

    return SafetensorsTable(source)


SAFETENSORS = Format(
    name="safetensors",
    title="safetensors",
    suffixes=(".safetensors",),
    draft=draft,
    open=open_safetensors,
    dtypes=RULES.dtypes,
    stores="a tensor for each array",
    metadata="JSON under the key `pecli` of `__metadata__`",
)
