"""Weights from files: named arrays of float64, from npy, npz and text, or from whatever a reader is registered for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pecli.errors import BadFile, BadParameter, UnknownName
from pecli.openers import OPENERS
from pecli.text import parse_number, shorten

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Arrays = Mapping[str, NDArray[np.float64]]

LARGEST_TEXT = 64 << 20  # bytes
TEXTS = ("", ".txt", ".dat", ".tsv")


class OpenArray:
    """One array (n, c) of a file, whose rows are read when they are asked for."""

    def __init__(self, shape: tuple[int, int], read: Callable[[int, int], NDArray[np.float64]]) -> None:
        self.shape, self.rows = shape, read


def read_arrays(path: str) -> Arrays:
    """Return the arrays of a file by name, as float64; the one array of npy or text is called ``array``.

    Raises
    ------
    BadFile
        If it cannot be read, or holds something other than finite numbers.
    UnknownName
        If ``path::name`` names an array that it does not hold.
    """
    import numpy as np

    place, name = _split(path)
    found = _read(place)
    if name:
        if name not in found:
            raise UnknownName(f"array in {place}", name, found)
        found = {name: found[name]}
    for key, values in found.items():
        if not np.isfinite(values).all():
            raise BadFile(path, f"holds a value in '{key}' that is not finite: weights are finite numbers")
    return found


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

    def read(start: int, stop: int) -> NDArray[np.float64]:
        return np.ascontiguousarray(values[start:stop], np.float64)

    return OpenArray((values.shape[0], values.shape[1]), read)


def one_array(arrays: Arrays, path: str, *endings: str) -> NDArray[np.float64]:
    """Return the array whose name ends so, or the only one there is.

    Raises
    ------
    BadFile
        If there is none, or more than one.
    """
    named = [values for key, values in arrays.items() if any(key == end or key.endswith("." + end) for end in endings)]
    if len(named) == 1:
        return named[0]
    if len(arrays) == 1:
        return next(iter(arrays.values()))
    wanted = " or ".join(endings) or "one array"
    rule = f"holds {', '.join(list(arrays)[:6])}, and of {wanted} there must be one: choose it with FILE::NAME"
    raise BadFile(path, rule)


def shaped(values: NDArray[np.float64], path: str, shape: tuple[int | None, ...], what: str) -> NDArray[np.float64]:
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


def _read(path: str) -> Arrays:
    import numpy as np

    if _head(path).startswith((b"\x93NUMPY", b"PK\x03\x04")):
        try:
            loaded: Any = np.load(path, allow_pickle=False)
            arrays = {"array": loaded} if isinstance(loaded, np.ndarray) else {key: loaded[key] for key in loaded.files}
        except (ValueError, OSError, EOFError, KeyError) as error:
            raise BadFile(path, f"is no npy or npz file that can be read: {shorten(str(error), 80)}") from error
        return {key: as_float64(path, key, values) for key, values in arrays.items() if values.ndim}
    if Path(path).suffix.lower() not in TEXTS and OPENERS:
        return _opened(path)
    return {"array": _text(path)}


def _opened(path: str) -> Arrays:
    from pecli.phase.rounding import widen

    table = OPENERS[0](path)
    found = {}
    for array in table.arrays:
        values = table.read(array.name)
        found[array.name] = (
            widen(values, array.dtype) if array.dtype == "bfloat16" else as_float64(path, array.name, values)
        )
    return found


def as_float64(path: str, name: str, values: NDArray[Any]) -> NDArray[np.float64]:
    """Return real numbers as float64; :class:`BadFile` for anything else."""
    import numpy as np

    if values.dtype.kind not in "iufb" or values.dtype.itemsize > 8:
        raise BadFile(path, f"holds {values.dtype} in '{name}': weights are real numbers")
    return np.ascontiguousarray(values, np.float64)


def _text(path: str) -> NDArray[np.float64]:
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
