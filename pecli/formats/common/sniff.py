"""What a file is by its first bytes, whatever its name says."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from pecli.formats.common.format import Format
from pecli.formats.common.input import InputFile

_FOREIGN = (
    (
        re.compile(rb"\x80[\x02-\x05]"),
        "a Python pickle, which is never unpickled: save plain numbers, for example as npy",
    ),
    (re.compile(rb"\x1f\x8b"), "a gzip file: unpack it first"),
    (re.compile(rb"BZh|\xfd7zXZ|\x28\xb5\x2f\xfd|7z\xbc\xaf"), "a compressed file: unpack it first"),
    (re.compile(rb"GGUF"), "a GGUF file: save its tensor as npy or safetensors"),
    (re.compile(rb"CDF[\x01\x02\x05]"), "a classic netCDF file: save it as netCDF-4, which is HDF5"),
    (re.compile(rb"MATLAB 5"), "a MATLAB 5 file: save it as version 7.3, which is HDF5"),
    (re.compile(rb"\x89PNG|GIF8|\xff\xd8\xff|%PDF"), "a picture or a document, not a table"),
    (re.compile(rb"\x7fELF|MZ"), "a program, not a table"),
)


def recognised(source: InputFile, formats: Iterable[Format]) -> str | None:
    """Return the name of the format that the content shows, or None where only the name could tell.

    Raises
    ------
    BadFile
        If it is a file of another kind that has a name.
    """
    head = source.head
    for form in formats:
        if any(head.startswith(magic, place) for magic in form.magic for place in form.magic_at):
            return form.name
    # before the foreign kinds: a header of 128 bytes, say, begins as a pickle does
    if len(head) > 8 and int.from_bytes(head[:8], "little") < source.size and head[8:9] == b"{":
        return "safetensors"
    for pattern, what in _FOREIGN:
        if pattern.match(head):
            raise source.bad(f"is {what}")
    text = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if text[:1] in (b"{", b"["):
        return "json"
    return None


def is_text(head: bytes) -> bool:
    """Whether these bytes can begin a text of UTF-8."""
    try:
        head.decode()
    except UnicodeDecodeError as error:
        return error.start >= len(head) - 3 and b"\0" not in head  # a character cut in two at the end
    return b"\0" not in head


def format_of(source: InputFile, expected: Format | None, formats: Mapping[str, Format]) -> Format:
    """Return the expected format if the content agrees, or, where none is expected, the one that it shows.

    Raises
    ------
    BadFile
        With what the file is instead.
    """
    shown = recognised(source, formats.values())
    if shown is None:
        if expected is not None and not expected.magic and is_text(source.head):
            return expected
        if expected is None and is_text(source.head):
            return formats["csv"]
        if expected is None:
            raise source.bad(f"is of no known format ({', '.join(formats)}): name it with --format")
        raise source.bad(f"is no {expected.title} file: it is damaged, or has the wrong suffix")
    if expected is not None and expected.name != shown:
        remedy = f"name it {formats[shown].suffixes[0]}, or give --format {shown}"
        raise source.bad(f"is a {formats[shown].title} file and not {expected.title}: {remedy}")
    return formats[shown]
