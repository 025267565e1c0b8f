"""Weights from files: named arrays of float64, from npy, npz and text, or from whatever a reader is registered for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pecli.declare.openers import OPENERS
from pecli.errors import BadFile, BadParameter, UnknownName
from pecli.numbers.text import parse_number, shorten

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pecli.declare.tabular import Tabular

    Floats = NDArray[np.float64]

LARGEST_TEXT = 64 << 20  # bytes
TEXTS = ("", ".txt", ".dat", ".tsv")


class OpenArray:
    """One array (n, c) of a file, whose rows are read when they are asked for."""

    def __init__(self, shape: tuple[int, int], read: Callable[[int, int], Floats]) -> None:
        self.shape, self.rows = shape, read


class Named(Mapping[str, "Floats"]):
    """Arrays of a file by name, each read as float64 and checked when it is asked for."""

    def __init__(self, path: str, names: Iterable[str], read: Callable[[str], NDArray[Any]]) -> None:
        self._path, self._names, self._read = path, list(names), read

    def __getitem__(self, name: str) -> Floats:
        import numpy as np

        values = self._read(name)
        if values.dtype.kind not in "iufb" or values.dtype.itemsize > 8:
            raise BadFile(self._path, f"holds {values.dtype} in '{name}': weights are real numbers")
        found: Floats = np.ascontiguousarray(values, np.float64).reshape(values.shape)
        if not np.isfinite(found).all():
            raise BadFile(self._path, f"holds a value in '{name}' that is not finite: weights are finite numbers")
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def read_arrays(path: str) -> Named:
    """Return the arrays of a file by name; the one array of npy or text is called ``array``.

    Raises
    ------
    BadFile
        If it cannot be read; of an array that is asked for, if it holds something other than finite numbers.
    UnknownName
        If ``path::name`` names an array that it does not hold.
    """
    place, name = _split(path)
    names, read = _reader(place)
    if name:
        if name not in names:
            raise UnknownName(f"array in {place}", name, names)
        names = [name]
    return Named(path, names, read)


def open_array(path: str, option: str) -> OpenArray:
    """Return the array (n, c) of a file; of npy its rows are read one by one.

    Raises
    ------
    BadFile
        If it cannot be read, or holds several arrays.
    BadParameter
        If it has another number of axes.
    """
    import numpy as np

    place, _ = _split(path)
    if _head(place).startswith(b"\x93NUMPY"):
        try:
            values = np.load(place, mmap_mode="r", allow_pickle=False)
        except (ValueError, OSError, EOFError) as error:
            raise BadFile(path, f"is no npy file that can be read: {shorten(str(error), 80)}") from error
        if values.dtype.kind not in "iufb":
            raise BadFile(path, f"holds {values.dtype}: {option} is real numbers")
    else:
        values = one_array(read_arrays(path), path)
    if values.ndim != 2 or 0 in values.shape:
        have = "x".join(map(str, values.shape)) or "a single number"
        raise BadParameter(option, path, f"holds {have} values: it must have a row for each position")

    def read(start: int, stop: int) -> Floats:
        return np.ascontiguousarray(values[start:stop], np.float64)

    return OpenArray((values.shape[0], values.shape[1]), read)


def one_array(arrays: Named, path: str, *endings: str) -> Floats:
    """Return the array whose name ends so, the first of the endings that one has, or the only array there is.

    Raises
    ------
    BadFile
        If there is none, or more than one.
    """
    for end in endings:
        named = [key for key in arrays if key == end or key.endswith("." + end)]
        if len(named) == 1:
            return arrays[named[0]]
        if named:
            break
    if len(arrays) == 1:
        return next(iter(arrays.values()))
    wanted = " or ".join(endings) or "one array"
    rule = f"holds {', '.join(list(arrays)[:6])}, and of {wanted} there must be one: choose it with FILE::NAME"
    raise BadFile(path, rule)


def shaped(values: Floats, path: str, shape: tuple[int | None, ...], what: str) -> Floats:
    """Return the values if they have this shape (None: any size).

    Raises
    ------
    BadParameter
        Naming both shapes.
    """
    fits = len(values.shape) == len(shape) and all(
        w is None or w == g for w, g in zip(shape, values.shape, strict=True)
    )
    if not fits:
        want = " x ".join("any" if side is None else str(side) for side in shape)
        have = " x ".join(map(str, values.shape)) or "a single number"
        raise BadParameter("weights", path, f"holds {have} values, and {what} needs {want}: give a file of that shape")
    return values


def _split(path: str) -> tuple[str, str]:
    if "::" in path and not Path(path).exists():
        place, _, name = path.partition("::")
        return place, name
    return path, ""


def _head(path: str) -> bytes:
    try:
        with Path(path).open("rb") as stream:
            return stream.read(8)
    except OSError as error:
        raise BadFile(path, f"cannot be read: {error.strerror}") from error


def _reader(path: str) -> tuple[list[str], Callable[[str], NDArray[Any]]]:
    """Return the names of the arrays of a file, and what reads one."""
    import numpy as np

    if _head(path).startswith((b"\x93NUMPY", b"PK\x03\x04")):
        try:
            loaded: Any = np.load(path, allow_pickle=False)
        except (ValueError, OSError, EOFError, KeyError) as error:
            raise BadFile(path, f"is no npy or npz file that can be read: {shorten(str(error), 80)}") from error
        if isinstance(loaded, np.ndarray):
            return ["array"], lambda _: loaded
        return [name for name in loaded.files if not name.endswith(".json")], lambda name: _member(path, loaded, name)
    if Path(path).suffix.lower() not in TEXTS and OPENERS:
        table = OPENERS[0](path)
        return [array.name for array in table.arrays], lambda name: _stored(table, name)
    values = _text(path)
    return ["array"], lambda _: values


def _member(path: str, loaded: Any, name: str) -> NDArray[Any]:
    try:
        values: NDArray[Any] = loaded[name]
    except (ValueError, OSError, EOFError, KeyError) as error:
        raise BadFile(path, f"has '{name}' damaged: {shorten(str(error), 80)}") from error
    return values


def _stored(table: Tabular, name: str) -> NDArray[Any]:
    from pecli.numbers.rounding import widen

    values = table.read(name)
    return widen(values, "bfloat16") if table.array(name).dtype == "bfloat16" else values


def _text(path: str) -> Floats:
    """Return rows of numbers, separated by blanks or commas; one row or one column is a vector."""
    import numpy as np

    if Path(path).stat().st_size > LARGEST_TEXT:
        raise BadFile(path, f"is larger than {LARGEST_TEXT >> 20} MiB: save numbers of this size as npy")
    try:
        lines = Path(path).read_text().splitlines()
        rows = [line.partition("#")[0].replace(",", " ").split() for line in lines]
        values = [[float(parse_number("value", word)) for word in row] for row in rows if row]
    except UnicodeDecodeError:
        raise BadFile(path, "is neither npy, npz nor text with rows of numbers") from None
    except BadParameter as error:
        raise BadFile(path, f"'{shorten(str(error.value))}' is no number: text holds rows of numbers") from error
    if not values:
        raise BadFile(path, "holds no numbers")
    if len({len(row) for row in values}) != 1:
        raise BadFile(
            path, f"has rows of {min(map(len, values))} to {max(map(len, values))} numbers: all must have as many"
        )
    found = np.array(values, np.float64)
    return found.ravel() if 1 in found.shape else found
