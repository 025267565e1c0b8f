"""GGUF: a tensor for each array, and the keys of a rotary table as runtimes of that container name them.

The package makes the header, the values follow in blocks. Reading needs no package: tensors of plain numbers are read,
quantised ones are left out.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.formats.format import Draft, WriteOptions
from pecli.formats.io.source import InputFile, RawFile
from pecli.formats.layout import FileLayout
from pecli.formats.stored import KEY, StoredTable, axes_of, facts_json, parse_object, plain, texts
from pecli.numbers.bounds import LONGEST_GGUF_HEADER, MAX_ARRAYS
from pecli.numbers.dtypes import storage
from pecli.spec.declaration import Family
from pecli.spec.plans import Waves
from pecli.spec.recipe import Recipe
from pecli.spec.tabular import Array, Tabular, array_of

ARCHITECTURE = "pecli"  # a table is no model: its keys stand where a model of this name would have them
IN_KEYS = ("linear", "yarn")  # scalings that runtimes compute from keys; others take the factors of a tensor
KEYS = {"factor": "FACTOR", "original_max": "ORIG_CTX_LEN", "attention_factor": "ATTN_FACTOR"}
YARN = {"beta_fast": "YARN_BETA_FAST", "beta_slow": "YARN_BETA_SLOW"}
FACTORS = "rope_freqs.weight"


def draft(table: Tabular, options: WriteOptions) -> Draft:
    """Plan the header, and each tensor at a multiple of the alignment behind it."""
    import gguf

    writer = gguf.GGUFWriter(None, ARCHITECTURE)
    writer.add_string(KEY, facts_json(table))
    for key, value in _rotary(table, gguf.Keys.Rope):
        add = {str: writer.add_string, int: writer.add_uint32, float: writer.add_float32}[type(value)]
        add(key.format(arch=ARCHITECTURE), value)
    factors = _factors(table)
    small = {} if factors is None else {FACTORS: factors}
    align, at, places = writer.data_alignment, 0, {}
    sizes = [(name, values.shape, "float32", values.nbytes) for name, values in small.items()]
    for name, shape, dtype, size in [*sizes, *((a.name, a.shape, a.dtype, a.bytes) for a in table.arrays)]:
        raw = gguf.GGMLQuantizationType.BF16 if dtype == "bfloat16" else None
        writer.add_tensor_info(name, shape or (1,), storage(dtype), size, raw)
        places[name] = at
        at += size + -size % align
    head = _header(writer)
    head += bytes(-len(head) % align)
    literals = [(0, head), *((len(head) + places[name], values.tobytes()) for name, values in small.items())]
    offsets = {array.name: len(head) + places[array.name] for array in table.arrays}
    return FileLayout(len(head) + at, tuple(literals), offsets).draft(table, options)


def _header(writer: Any) -> bytes:
    """Return the bytes of a GGUF file before the tensors, as the package gguf writes them."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "header")
        writer.write_header_to_file(path)
        writer.write_kv_data_to_file()
        writer.write_ti_data_to_file()
        writer.close()
        with open(path, "rb") as file:
            return file.read()


def _rotary(table: Tabular, keys: Any) -> Iterator[tuple[str, str | int | float]]:
    """Yield the keys of a rotary table."""
    recipe = _recipe(table)
    if recipe is None or recipe.encoding.family is not Family.ROTARY or "base" not in recipe.values:
        return
    values = recipe.values
    if not isinstance(recipe.plan, Waves) or isinstance(values["base"], tuple):  # a base for each axis has no key
        return
    yield keys.DIMENSION_COUNT, 2 * recipe.plan.width
    yield keys.FREQ_BASE, float(values["base"])
    scaling = values.get("scaling")
    if scaling not in IN_KEYS:
        return
    yield keys.SCALING_TYPE, str(scaling)
    for name, key in {**KEYS, **(YARN if scaling == "yarn" else {})}.items():
        value = values.get(name)
        if value is not None:
            yield getattr(keys, f"SCALING_{key}"), int(value) if name == "original_max" else float(value)


def _recipe(table: Tabular) -> Recipe | None:
    """Return the recipe of a computed table."""
    source = getattr(table, "source", None)
    return source if isinstance(source, Recipe) else None


def _factors(table: Tabular) -> np.ndarray[Any, Any] | None:
    """Return the divisor that runtimes apply to each frequency; None without scaling, or if a key gives the scaling."""
    recipe = _recipe(table)
    if recipe is None or recipe.values.get("scaling", "none") in ("none", *IN_KEYS):
        return None
    values = recipe.values
    plain = {key: values[key] for key in ("dim", "rotary_dim", "partial", "base")}
    given = {key.replace("_", "-"): str(value) for key, value in plain.items() if value is not None}
    plans = Recipe.bind(recipe.encoding.name, **given).plan, recipe.plan
    bands = [plan.bands[0] for plan in plans if isinstance(plan, Waves) and len(plan.bands) == 1]
    if len(bands) != 2 or any(band.turns for band in bands):
        return None
    pairs = zip(*(band.frequencies for band in bands), strict=True)
    return np.array([float(Decimal(one) / Decimal(other)) if other else np.inf for one, other in pairs], np.float32)


VERSIONS = (2, 3)
# Of ggml's types of tensors, those of plain numbers; and the bytes of a key's value by its kind.
DTYPES = {
    0: "float32", 1: "float16", 24: "int8", 25: "int16", 26: "int32", 27: "int64", 28: "float64", 30: "bfloat16",
}  # fmt: skip
VALUE_BYTES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
STRING, LIST = 8, 9  # kinds of values that have no fixed size
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
        if end > self._first + len(self._window):
            self._first = self.at
            self._window = self._file.read(self.at, max(count, min(WINDOW, self._source.size - self.at)))
        start, self.at = self.at - self._first, end
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
        header.take(4)  # the letters GGUF
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
