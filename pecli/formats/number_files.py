"""Files of numbers (weights, content, frequencies, positions) in every format and as plain text."""

from __future__ import annotations

import math
import os
import stat
from collections.abc import Mapping
from functools import partial
from typing import Any

from numpy.typing import NDArray

from pecli.formats import READ, is_text, open_source, open_table, recognised, split_path
from pecli.formats.decimals import is_number
from pecli.formats.io.source import InputFile, regular_source
from pecli.formats.stored import StoredTable
from pecli.numbers.bounds import LARGEST_ARRAY, LARGEST_TEXT, limit, size_text
from pecli.numbers.reader import NumberFile, StoredArray, parse_rows, text_array

TEXTS = ("", ".txt", ".dat", ".tsv")  # what is a list of numbers; csv and json tell their arrays apart


def open_numbers(path: str) -> NumberFile:
    """Open a file of numbers; see :func:`pecli.numbers.reader.open_numbers`.

    What comes through a pipe is kept up to a limit: of text `LARGEST_TEXT`, of other formats `LARGEST_ARRAY`.
    """
    pipe = _pipe(path)
    if pipe not in _KEPT:
        found = _opened(path)
        if pipe is None:
            return found
        _KEPT[pipe] = found
    return _KEPT[pipe]


_KEPT: dict[tuple[str, int, int] | None, NumberFile] = {}  # what came through a pipe, which gives it only once


def _pipe(path: str) -> tuple[str, int, int] | None:
    """Return the name, device and inode that identify a pipe, a device or standard input; None for a file."""
    place, name = split_path(path)
    try:
        found = os.fstat(0) if place == "-" else os.stat(place)
    except (OSError, ValueError):
        return None
    return None if stat.S_ISREG(found.st_mode) and place != "-" else (name or "", found.st_dev, found.st_ino)


def _opened(path: str) -> NumberFile:
    place, name = split_path(path)
    with regular_source(place, _most) as source:
        if not _is_text(source):
            form = READ[recognised(source) or ""]
            return NumberFile(path, None, partial(_arrays, path, open_source(source, form, name)))
        shown_as = source.name
        plain = source.path != shown_as or os.path.splitext(shown_as)[1].lower() in TEXTS
        text = None
        if source.size <= limit(LARGEST_TEXT):
            with open(source.path, "rb") as file:
                text = source.decoded(file.read(limit(LARGEST_TEXT))).removeprefix("\ufeff")
        elif plain:
            raise source.bad(f"is text, of which {size_text(limit(LARGEST_TEXT))}: save longer lists as npy")
    if not plain:
        return NumberFile(shown_as, _list_of(text or ""), lambda: _arrays(path, open_table(path)))
    return NumberFile(shown_as, text, lambda: {"array": text_array(shown_as, parse_rows(shown_as, text or ""))})


def _most(source: InputFile) -> int:
    return limit(LARGEST_TEXT if _is_text(source) else LARGEST_ARRAY)


def _is_text(source: InputFile) -> bool:
    shown = recognised(source)
    if shown is None and not is_text(source.head):
        raise source.bad(f"is neither text with rows of numbers nor a file of {', '.join(READ)}")
    return shown in (None, "json")


def _arrays(path: str, table: StoredTable) -> Mapping[str, StoredArray]:
    return {array.name: _stored(path, table, array.name) for array in table.arrays}


def _list_of(text: str) -> str | None:
    """Return the list of numbers that a csv or JSON file is; None for one that holds named arrays."""
    first, _, remainder = text.lstrip().partition("\n")
    if first.startswith("{"):
        return None
    if first.startswith("[") or all(map(is_number, first.split(","))):
        return text
    return remainder if "," not in first else None  # a column with its name above it


def _stored(path: str, table: StoredTable, name: str) -> StoredArray:
    """Return an array whose rows are read from a table, counted along its first axis."""
    array = table.array(name)
    inner = math.prod(array.shape[1 : array.lead])

    def fetch(start: int, stop: int) -> NDArray[Any]:
        values = table.read_rows([name], start * inner, stop * inner)[name]
        if array.dtype == "bfloat16":
            from pecli.numbers.rounding import widen

            values = widen(values, array.dtype)
        return values.reshape(-1, *array.shape[1:])

    return StoredArray(path, name, array.shape, fetch, array.row_bytes // max(1, math.prod(array.row_shape)))
