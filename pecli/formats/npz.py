"""npz: a zip of npy files, one for each array, stored or deflated, dated 1980; the recipe is an array of text."""

from __future__ import annotations

import io
import re
import threading
import zipfile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.formats.format import Draft, WriteOptions
from pecli.formats.io.output import Output
from pecli.formats.io.source import InputFile, RawFile, reading, undone
from pecli.formats.layout import in_order
from pecli.formats.npy import NpyArray, header
from pecli.formats.stored import StoredTable, axes_of, facts_json, parse_object, texts
from pecli.numbers.bounds import LARGEST_CHUNK, LONGEST_NPY_HEADER
from pecli.numbers.dtypes import raw_bytes
from pecli.spec.tabular import Array, Tabular, array_of

RECIPE = "recipe"  # an array of text: every member of an npz should be an array


def draft(table: Tabular, options: WriteOptions) -> Draft:
    """Write one member per array, stored unless compression is asked for."""
    size = sum(array.bytes for array in table.arrays)
    least = size // 1100 if options.compress else size
    return Draft(lambda output: _write(table, output, options), None, least)


def _text_member(text: str) -> bytes:
    """Return a text as npy: one Unicode string, which `numpy.load` gives as an array of no axes."""
    file = io.BytesIO()
    np.lib.format.write_array(file, np.array(text, dtype=f"<U{max(1, len(text))}"), version=(1, 0))
    return file.getvalue()


def _write(table: Tabular, output: Output, options: WriteOptions) -> None:
    method = zipfile.ZIP_DEFLATED if options.compress else zipfile.ZIP_STORED
    archive = zipfile.ZipFile(output, "w", method, compresslevel=1)
    try:
        for array in table.arrays:
            with archive.open(f"{array.name}.npy", "w", force_zip64=True) as member:
                member.write(header(array.dtype, array.shape))
                for values in in_order(table, array, options):
                    member.write(raw_bytes(values))
        name = RECIPE
        while name in table:  # an array of numbers may have this name
            name += "_"
        with archive.open(f"{name}.npy", "w") as member:  # writestr would date it now
            member.write(_text_member(facts_json(table)))
    except BaseException:
        output.abandon()
        raise
    finally:
        archive.close()


BEST_DEFLATE = 1032  # no deflated byte stands for more, so a member that claims more is a bomb
LOCAL_HEADER = 30
END_RECORD = 22  # bytes, without the comment
PIECE = 1 << 20
LONGEST_TEXT = 4 << 20  # bytes of the recipe, four for each character
_TEXT = re.compile(rb"\x93NUMPY.{4,6}\{'descr': '[<>|=]?[US]\d+'", re.DOTALL)  # the beginning of an array of text
_OBJECTS = re.compile(rb"\x93NUMPY.{4,6}\{'descr': '\|O'", re.DOTALL)  # of Python objects, such as a config


def _text(member: bytes) -> str:
    """Return the text of an array of no axes as NumPy writes it; nothing where it is another."""
    match = re.match(
        rb"\x93NUMPY\x01\0(..)\{'descr': '<U\d+', 'fortran_order': False, 'shape': \(\)", member, re.DOTALL
    )
    start = 10 + int.from_bytes(match[1], "little") if match else len(member)
    return member[start:].decode("utf-32-le", errors="replace").rstrip("\0")


def data_offset(file: RawFile, info: zipfile.ZipInfo) -> int:
    """Return where the bytes of a stored member begin."""
    local = file.read(info.header_offset, LOCAL_HEADER)
    lengths = int.from_bytes(local[26:28], "little") + int.from_bytes(local[28:30], "little")
    return info.header_offset + LOCAL_HEADER + lengths


class NpzTable(StoredTable):
    """An open npz file; members that are no npy, or hold text, are left alone."""

    def __init__(self, source: InputFile) -> None:
        self._raw = RawFile(source)
        self._members: dict[str, NpyArray] = {}
        self._deflated: list[_Deflated] = []
        with reading(source, "cannot be opened as npz"):
            self._archive = zipfile.ZipFile(source.handle())
        with undone(self.close):
            if self._raw.read(source.size - END_RECORD - len(self._archive.comment), 4) != b"PK\x05\x06":
                raise source.bad("goes on behind the end of its archive: it is damaged; make it again")
            members = self._archive.infolist()
            facts, objects = dict[str, Any](), list[zipfile.ZipInfo]()
            for info in members:
                if info.filename.endswith(".npy") and not info.is_dir():
                    head = self._small(source, info, LONGEST_NPY_HEADER)
                    if _OBJECTS.match(head):
                        objects.append(info)
                    elif not _TEXT.match(head):
                        self._members[info.filename.removesuffix(".npy")] = self._open(source, info)
                    elif info.filename.removesuffix(".npy").rstrip("_") == RECIPE:
                        facts = parse_object(_text(self._small(source, info))) or facts
            for info in objects if not self._members else ():
                self._open(source, info)  # which says why it is refused
            arrays = [
                array_of(name, member.array.shape, member.array.dtype, axes_of(facts, name))
                for name, member in self._members.items()
            ]
            metadata = texts(facts)
            super().__init__(source, arrays, metadata.pop("recipe", None), metadata)
        self.sequential = bool(self._deflated)
        self.take_scales()

    def _open(self, source: InputFile, info: zipfile.ZipInfo) -> NpyArray:
        name = info.filename.removesuffix(".npy")
        if info.flag_bits & 1:
            raise source.bad(f"encrypts '{name}': save it without a password")
        if info.compress_type == zipfile.ZIP_DEFLATED:
            if info.file_size > BEST_DEFLATE * info.compress_size + PIECE:
                raise source.bad(f"says {info.file_size:,} bytes for '{name}', more than it can hold: it is damaged")
            file = _Deflated(self._archive, source, info)
            self._deflated.append(file)
            found = NpyArray(file, 0, info.file_size, name)
            if found.fortran and len(found.array.shape) > 1:
                file.hold()
            return found
        if info.compress_type != zipfile.ZIP_STORED:
            raise source.bad(f"compresses '{name}' in a way that npz has not: save it with numpy.savez")
        start = data_offset(self._raw, info)
        return NpyArray(self._raw, start, min(info.file_size, source.size - start), name)

    def _small(self, source: InputFile, info: zipfile.ZipInfo, most: int | None = None) -> bytes:
        """Return a small member, or the beginning of any; nothing where that cannot be had."""
        if info.flag_bits & 1 or info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            return b""
        if most is None and info.file_size > LONGEST_TEXT:
            return b""
        with reading(source, f"cannot be read at '{info.filename}'"), self._archive.open(info) as member:
            return member.read(LONGEST_TEXT if most is None else most)

    def fill_array(self, array: Array, start: int, stop: int, out: NDArray[Any]) -> None:
        """Read rows of one array."""
        self._members[array.name].fill(array, start, stop, out)

    def close(self) -> None:
        """Close the file."""
        for member in self._deflated:
            member.close()
        self._archive.close()
        self._raw.close()


class _Deflated(RawFile):
    """A compressed member as a file that is read forwards; going back starts it again."""

    def __init__(self, archive: zipfile.ZipFile, source: InputFile, info: zipfile.ZipInfo) -> None:
        self.source, self._info = source, info
        self._lock, self._stream = threading.Lock(), archive.open(info)
        self._held: bytes | None = None

    def read(self, offset: int, count: int) -> bytes:
        """Return exactly `count` bytes."""
        if self._held is not None:
            return self._held[offset : offset + count]
        with self._lock, reading(self.source, f"cannot be read at '{self._info.filename}'"):
            self._stream.seek(offset)
            data = self._stream.read(count)
            if len(data) < count:
                raise EOFError
        return data

    def values(self, offset: int, dtype: np.dtype[Any], out: NDArray[Any]) -> None:
        """Read values of `dtype`, in C order from `offset`, into `out`."""
        out[...] = np.frombuffer(self.read(offset, out.size * dtype.itemsize), dtype).reshape(out.shape)

    def hold(self) -> None:
        """Keep all of the member in memory, where reading goes back for every column."""
        size = self._info.file_size
        what = f"holds '{self._info.filename}' compressed in Fortran order, {size:,} bytes"
        self.source.allow(size, LARGEST_CHUNK, what, ": save it in C order")
        self._held = self.read(0, size)

    def close(self) -> None:
        """Close the stream, which holds the archive open."""
        self._stream.close()
