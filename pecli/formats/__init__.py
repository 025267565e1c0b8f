"""Files: every format, one way to write a table and one to open it.

Listing the formats loads none of the packages that read and write them.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pecli.errors import BadParameter, UnknownName, WriteFailed
from pecli.formats.format import COMPLEX, INTEGERS, REALS, Draft, Format, WriteOptions, no_progress, one_at_a_time
from pecli.formats.io.atomic import Need, check_place, free_space, is_stream, open_output
from pecli.formats.io.source import InputFile, regular_source, undone
from pecli.numbers.reader import is_url, shown
from pecli.spec.tabular import Tabular

if TYPE_CHECKING:
    from pecli.formats.stored import StoredTable


_PLAIN = ("bfloat16", *REALS)
# Every format that a table can be written in, by its name.
WRITTEN: Mapping[str, Format] = MappingProxyType(
    {
        form.name: form
        for form in (
            Format("npy", "NumPy array", (".npy",), "NpyTable", magic=(b"\x93NUMPY",)),
            Format("npz", "npz", (".npz",), "NpzTable", magic=(b"PK\x03\x04", b"PK\x05\x06"), compresses=True),
            Format(
                "hdf5", "HDF5", (".h5", ".hdf5"), "Hdf5Table", dtypes=("bfloat16", *REALS, *COMPLEX, *INTEGERS),
                magic=(b"\x89HDF\r\n\x1a\n",), magic_at=(0, 512, 1024, 2048),  # behind a block of the user's
                package="h5py", compresses=True,
            ),
            Format(
                "parquet", "Parquet", (".parquet",), "ParquetTable", magic=(b"PAR1",), package="pyarrow",
                room=192 << 20, compresses=True, widens=True, rereads=True,
            ),
            Format("csv", "csv", (".csv",), "CsvTable"),
            Format("json", "JSON", (".json",), "JsonTable"),
            Format(
                "arrow", "Arrow IPC", (".arrow", ".feather", ".arrows"), "ArrowTable",
                magic=(b"ARROW1\0\0", b"\xff\xff\xff\xff"), package="pyarrow", room=192 << 20, compresses=True,
                rereads=True,
            ),
            Format(
                "safetensors", "safetensors", (".safetensors",), "SafetensorsTable",
                dtypes=(*_PLAIN, "complex64", *INTEGERS),
            ),
            Format(
                "zarr", "zarr", (".zarr",), "ZarrTable", package="zarr", extra=True, compresses=True, many=True,
            ),
            Format("c", "a C header", (".h",), None, "c_header", dtypes=(*_PLAIN, *INTEGERS)),
            Format(
                "gguf", "GGUF", (".gguf",), None, dtypes=(*_PLAIN, "int8", "int16", "int32", "int64"),
                magic=(b"GGUF",), package="gguf", extra=True,
            ),
            Format(
                "onnx", "an ONNX model", (".onnx",), None, dtypes=("bfloat16", "float16", "float32"),
                package="onnx", extra=True,
            ),
        )
    }
)  # fmt: skip
# Formats that pecli writes and reads as one file: all but the exports and the stores of many objects.
FORMATS: Mapping[str, Format] = MappingProxyType(
    {name: f for name, f in WRITTEN.items() if f.reader is not None and not f.many}
)
# Formats of files that pecli reads, GGUF without its package; PyTorch's has other suffixes too, so that its content
# decides.
READ: Mapping[str, Format] = MappingProxyType(
    {
        **FORMATS,
        "torch": Format("torch", "PyTorch", (".pt", ".pth"), "TorchTable", "torch_file", magic=(b"PK\x03\x04",)),
        "gguf": WRITTEN["gguf"]._replace(reader="GgufTable", package=None),
    }
)


def format_for(path: str | os.PathLike[str], name: str | None = None) -> Format:
    """Return the format of this name, or else the one that the suffix of `path` means.

    Standard output and devices, which have no suffix, are npy.

    Raises
    ------
    UnknownName
        If there is no such format or suffix, with the nearest.
    WriteFailed
        If it has no suffix, or is a folder.
    """
    if name is not None:
        if name not in WRITTEN:
            raise UnknownName("format", name, WRITTEN)
        return WRITTEN[name]
    form = _by_suffix(os.fspath(path).rstrip("/"))
    if form is not None and form.name in WRITTEN:
        return WRITTEN[form.name]
    if is_stream(os.fspath(path)):
        return FORMATS["npy"]
    known = [suffix for f in WRITTEN.values() for suffix in f.suffixes]
    if os.path.isdir(path):
        raise WriteFailed(path, "is a folder: name a file in it")
    if not _suffix(path):
        raise WriteFailed(path, f"has no suffix: add one of {' '.join(known)}, or give --format")
    raise UnknownName("suffix", _suffix(path), known, MEANT.get(_suffix(path)))


# Suffixes of other programs, with the one whose format does their work.
MEANT = {
    **dict.fromkeys((".pt", ".pth", ".bin", ".ckpt", ".pkl"), ".safetensors"),
    **dict.fromkeys((".txt", ".dat", ".tsv", ".xlsx"), ".csv"),
    **dict.fromkeys((".nc", ".mat"), ".h5"),
}


def check(
    table: Tabular, form: Format, path: str | os.PathLike[str], *, clobber: bool = True, compress: bool = False,
    wide: bool = False, space: bool = True,
) -> tuple[Need, int | None]:  # fmt: skip
    """Raise whatever can be refused before a byte is written; without `space`, want of space is no reason.

    For the other options see `write_table`.

    Returns
    -------
    tuple of Need and int
        What the file takes, and the bytes that are free where it goes; None where nobody knows.

    Raises
    ------
    BadParameter
        If the format cannot hold the table, or has no use for an option.
    WriteFailed, WouldOverwrite
        If the place cannot be written, has not the space, or is taken.
    MissingPackage
        If the format's package is not installed.
    """
    path = os.fspath(path)
    draft = _checked(table, form, path, WriteOptions(compress=compress, wide=wide), clobber=clobber, space=space)
    on_disk = not is_url(path) and not is_stream(path)
    return _needed(draft), free_space(os.path.dirname(os.path.realpath(path))) if on_disk else None


def write_table(
    table: Tabular,
    path: str | os.PathLike[str],
    *,
    format: str | None = None,  # noqa: A002
    threads: int | None = None,
    clobber: bool = True,
    compress: bool = False,
    wide: bool = False,
    progress: Callable[[int], None] | None = None,
) -> int:
    """Write a table in blocks with constant memory; the file appears whole or not at all.

    Parameters
    ----------
    table : Tabular
        Computed or stored.
    path : path-like
        The file; "-" for standard output. Devices and FIFOs are written straight.
    format : str, optional
        Name of a format; default: the one that the suffix means.
    threads : int, optional
        Threads that compute and write; default: `pecli.engine.default_threads`.
    clobber : bool
        Whether a file that exists is replaced.
    compress : bool
        Whether hdf5, npz and arrow compress; parquet always does.
    wide : bool
        For parquet, whether each value of a row gets a column of its own.
    progress : callable, optional
        Called from time to time with the bytes of values written since it was last called, by one thread at a time.

    Returns
    -------
    int
        Bytes of the file.

    Raises
    ------
    BadParameter, UnknownName, MissingPackage, WriteFailed, WouldOverwrite
        See `check`; nothing is left behind.
    BrokenPipe
        If the reader of standard output has gone.

    Examples
    --------
    >>> from pecli import table
    >>> write_table(table("sinusoidal:dim=4", len=8), "pe.npy")  # doctest: +SKIP
    256
    """
    if not isinstance(table, Tabular):
        raise BadParameter("table", type(table).__name__, "is no table: make one with pecli.table")
    path = _path(path)
    if threads is None:
        from pecli.engine import default_threads

        threads = default_threads()
    if threads < 1:
        raise BadParameter("threads", threads, "must be 1 or more")
    if getattr(table, "sequential", False):  # a file in which going back is dear
        threads = 1
    report = one_at_a_time(progress, sum(a.bytes for a in table.arrays)) if progress else no_progress
    form, options = format_for(path, format), WriteOptions(threads, compress, wide, report)
    draft = _checked(table, form, path, options, clobber=clobber)
    _, opened = _place(form, path)
    with opened(path, clobber=clobber, need=_needed(draft)) as output:
        draft.write(output)
        return int(output.size)


def open_table(path: str | os.PathLike[str], *, format: str | None = None) -> StoredTable:  # noqa: A002
    """Open a table in a file; its rows are read when they are asked for.

    Parameters
    ----------
    path : path-like
        A file, ``file::name`` for one array in it, or "-" for standard input.
    format : str, optional
        Name of a format; default: what the suffix and the content say.

    Returns
    -------
    StoredTable
        A context manager; close it after use.

    Raises
    ------
    BadFile
        If it cannot be read as what it claims to be.
    UnknownName
        If it has no array of this name, or there is no such format.

    Examples
    --------
    >>> with open_table("pe.npy") as stored:  # doctest: +SKIP
    ...     rows = stored["pe"]
    """
    path, name = split_path(_path(path))
    named = None if format is None else READ.get(format) or format_for(path, format)

    def form_of(source: InputFile) -> Format:
        expected = named or _by_suffix(source.name)
        if expected is not None and expected.reader is None:
            raise source.bad(f"is {expected.title}, which pecli only writes: name the table it was made of")
        return format_of(source, expected)

    def most(source: InputFile) -> int:
        form_of(source)  # what is none of them need not be copied
        return sys.maxsize

    if form := (named if named is not None and named.many else store_at(path)):
        return open_source(InputFile(path, shown(path), 0, b""), form, name)
    if is_url(path):
        from pecli.formats.io.remote import remote_source

        source = remote_source(path)
        return open_source(source, form_of(source), name)
    with regular_source(path, most) as source:
        return open_source(source, form_of(source), name)


def _path(given: object) -> str:
    if not isinstance(given, str | os.PathLike):
        raise BadParameter("path", type(given).__name__, "is no path")
    return os.fspath(given)


def store_at(path: str) -> Format | None:
    """Return the format of a store of many objects, such as zarr, that a path names; None for files and folders."""
    form = _by_suffix(path.rstrip("/"))
    return form if form is not None and form.many and (is_url(path) or os.path.isdir(path)) else None


def open_source(source: InputFile, form: Format, name: str | None = None) -> StoredTable:
    """Open a regular file of this format; with a name, only the array that is called so."""
    form.need()
    table = form.open(source)
    table.reopen = reopened
    if name is not None:
        with undone(table.close):
            table.select(name)
    return table


def _by_suffix(path: str) -> Format | None:
    return next((form for form in {**WRITTEN, **READ}.values() if _suffix(path).lower() in form.suffixes), None)


def _suffix(path: str | os.PathLike[str]) -> str:
    return os.path.splitext(os.fspath(path))[1]


def _checked(
    table: Tabular, form: Format, path: str, options: WriteOptions, *, clobber: bool, space: bool = True
) -> Draft:
    for option, given, known in (("compress", options.compress, "compresses"), ("wide", options.wide, "widens")):
        if given and not getattr(form, known):
            able = ", ".join(f.name for f in FORMATS.values() if getattr(f, known))
            raise BadParameter(option, "true", f"has no effect on {form.name}: leave it out, or write {able}")
    form.need()
    draft = form.draft(table, options)
    need = _needed(draft) if space else Need()
    check, _ = _place(form, path)
    check(path, need, clobber=clobber)
    return draft


def _place(form: Format, path: str) -> tuple[Callable[..., None], Callable[..., AbstractContextManager[Any]]]:
    """Return what checks a place, and what opens it for writing."""
    if form.many:
        from pecli.formats.zarr import check_objects, open_objects

        return check_objects, open_objects
    if is_url(path):
        from pecli.formats.io.remote import check_target, remote_output

        return check_target, remote_output
    return check_place, open_output


def _needed(draft: Draft) -> Need:
    return Need(draft.least, exact=False) if draft.size is None else Need(draft.size)


def split_path(path: str) -> tuple[str, str | None]:
    """Return a file and, of ``file::name``, the name of the array."""
    place, colons, name = path.partition("::")
    return (place, name) if colons and not os.path.exists(path) else (path, None)


def reopened(path: str, form: str, names: tuple[str, ...]) -> StoredTable:
    """Reopen a file for a pickled table, with the arrays of the given names."""
    made = open_table(path, format=form)
    made.arrays = tuple(made.array(name) for name in names)
    return made


_TORCH = re.compile(rb"PK\x03\x04.{26}[^/]{1,255}/data(\.pkl|/\d)", re.DOTALL)  # the first member of torch.save
_OFFICE = re.compile(rb"PK\x03\x04.{26}(\[Content_Types\]\.xml|mimetypeapplication/vnd\.oasis)", re.DOTALL)
_FOREIGN = (
    (
        re.compile(rb"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19"),
        "a PyTorch file of before 1.6, a bare pickle, which is never unpickled: save it again with a newer PyTorch",
    ),
    (
        re.compile(rb"\x80[\x02-\x05]"),
        "a Python pickle, which is never unpickled: save plain numbers, for example as npy",
    ),
    (re.compile(rb"\x1f\x8b"), "a gzip file: unpack it first"),
    (re.compile(rb"BZh|\xfd7zXZ|\x28\xb5\x2f\xfd|7z\xbc\xaf"), "a compressed file: unpack it first"),
    (re.compile(rb"CDF[\x01\x02\x05]"), "a classic netCDF file: save it as netCDF-4, which is HDF5"),
    (re.compile(rb"MATLAB 5"), "a MATLAB 5 file: save it as version 7.3, which is HDF5"),
    (re.compile(rb"\x89PNG|GIF8|\xff\xd8\xff|%PDF"), "a picture or a document, not a table"),
    (re.compile(rb"\x7fELF|MZ"), "a program, not a table"),
    (re.compile(rb"\xff\xfe|\xfe\xff"), "text in UTF-16: save it in UTF-8"),
    (re.compile(rb"version https://git-lfs"), "a Git LFS pointer in place of the file: run git lfs pull"),
    (re.compile(rb"\s*<(!doctype|html)", re.IGNORECASE), "a web page in place of the file: download it again"),
)


def recognised(source: InputFile) -> str | None:
    """Return the format recognised from the content, or None if only the file's name could decide.

    Raises
    ------
    BadFile
        If it is a file of another kind that has a name.
    """
    head = source.head
    if _TORCH.match(head):
        return "torch"
    if _OFFICE.match(head):
        raise source.bad("is a spreadsheet or another office document: save the sheet as csv")
    for form in READ.values():
        if any(head.startswith(magic, place) for magic in form.magic for place in form.magic_at):
            return form.name
    # before the foreign kinds: a header of 128 bytes, say, begins as a pickle does
    if len(head) > 8 and int.from_bytes(head[:8], "little") < source.size and head[8:9] == b"{":
        return "safetensors"
    for pattern, what in _FOREIGN:
        if pattern.match(head):
            raise source.bad(f"is {what}")
    text = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    is_json = text.startswith((b"{", b"[", b"tensor([", b"array([", b"Array(["))  # or what NumPy, PyTorch or JAX prints
    return "json" if is_json else None


def is_text(head: bytes) -> bool:
    """Return whether the bytes can be the beginning of a UTF-8 text."""
    try:
        head.decode()
    except UnicodeDecodeError as error:
        return error.start >= len(head) - 3 and b"\0" not in head  # a character cut in two at the end
    return b"\0" not in head


def format_of(source: InputFile, expected: Format | None) -> Format:
    """Return the expected format if the content agrees, or, where none is expected, the one that it shows.

    Raises
    ------
    BadFile
        With what the file is instead.
    """
    shown = recognised(source)
    if shown is None:
        if expected is not None and not expected.magic and is_text(source.head):
            return expected
        if expected is None and is_text(source.head):
            return FORMATS["csv"]
        if expected is None:
            known = ", ".join(READ)
            raise source.bad(
                f"is of no known format ({known}): raw numbers have neither shape nor type; save it as npy"
            )
        if not expected.magic and b"\0" not in source.head:
            raise source.bad("is text that is not in UTF-8: save it in UTF-8")
        raise source.bad(f"is no {expected.title} file: it is damaged, or has the wrong suffix")
    if expected is not None and expected.name != shown:
        remedy = f"name it {READ[shown].suffixes[0]}"
        raise source.bad(f"holds {READ[shown].title}, and its name says {expected.title}: {remedy}")
    return READ[shown]
