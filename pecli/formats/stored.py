"""Tables in files: what every reader shares, and the facts (recipe, axes, metadata) that a file states.

Files come from anywhere: what a header says is held against the size of the file before any memory is taken, and
nothing in a file is ever executed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from pecli.errors import UnknownName
from pecli.formats.io.source import InputFile
from pecli.numbers.bounds import MAX_ARRAYS, MAX_EMPTY_ROWS
from pecli.numbers.dtypes import ITEM_BYTES, storage
from pecli.numbers.reader import UntrustedText
from pecli.spec.tabular import Array, Tabular

KEY = "pecli"


def plain(text: str) -> str:
    r"""Return a text that every format holds: bytes that were no UTF-8, and zeros, as ``\udcff`` and ``\x00``."""
    return text.encode(errors="backslashreplace").decode().replace("\0", "\\x00")


def facts_json(table: Tabular, **more: Any) -> str:
    """Return the recipe, the metadata, shape, axes and dtype of the arrays, and `more` as JSON with sorted keys."""
    arrays = {
        plain(array.name): {"shape": array.shape, "axes": array.axes, "dtype": array.dtype} for array in table.arrays
    }
    facts = {**plain_facts({**table.metadata, "recipe": table.recipe}), "arrays": arrays, **more}
    return json.dumps(facts, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def plain_facts(facts: Mapping[str, str | None]) -> dict[str, str]:
    """Return facts as UTF-8 can hold them, without those that are not known."""
    return {plain(key): plain(value) for key, value in facts.items() if value is not None}


def texts(facts: Mapping[str, Any]) -> dict[str, str]:
    """Return the facts whose values are text."""
    return {key: value for key, value in facts.items() if isinstance(value, str)}


def axes_of(facts: Mapping[str, Any], name: str) -> list[str]:
    """Return the names of an array's axes in the facts; an empty list if they are missing or not text."""
    arrays = facts.get("arrays")
    described = arrays.get(name) if isinstance(arrays, dict) else None
    axes = described.get("axes") if isinstance(described, dict) else None
    return axes if isinstance(axes, list) and all(isinstance(axis, str) for axis in axes) else []


def parse_object(data: bytes | str) -> dict[str, Any]:
    """Return a JSON object, or an empty one where the text is none."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


class StoredTable(Tabular):
    """A table in a file; rows are read when they are asked for.

    A context manager: the file stays open until `close`.

    Attributes
    ----------
    path : str
        The file, as it was named.
    format : str
        Name of its format.
    sequential : bool
        Whether going back is dear, so that one thread should read it from the beginning to the end.
    """

    format: str
    sequential = False
    _file: Any = None
    # Opens the same arrays of a path and a format again.
    reopen: Callable[[str, str, tuple[str, ...]], StoredTable] | None = None

    def __init__(
        self, source: InputFile, arrays: Sequence[Array], recipe: str | None, facts: Mapping[str, str]
    ) -> None:
        self.source, self.path = source, source.name
        self._positions: Array | None = None
        self._scales: tuple[Array, ...] = ()
        self.arrays, self.metadata = tuple(arrays), plain_facts(facts)
        self.recipe = None if recipe is None else UntrustedText(plain(recipe))
        if not self.arrays:
            raise source.bad("holds no array of numbers: name another file")
        if len(self.arrays) > MAX_ARRAYS:
            raise source.bad(f"holds {len(self.arrays):,} arrays, and {MAX_ARRAYS:,} are the most")
        for array in self.arrays:
            if array.rows > MAX_EMPTY_ROWS and not array.row_bytes:
                rule = f"says {array.rows:,} rows of no values for '{array.name}'"
                raise source.bad(f"{rule}, and {MAX_EMPTY_ROWS:,} are the most: it is damaged")

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle and copy where the file is: a copy opens it for itself."""
        if self.reopen is None:
            raise TypeError(f"{self.path} was not opened by open_table: it cannot be pickled or copied")
        return self.reopen, (str(self.path), self.format, self.keys())

    def select(self, name: str) -> None:
        """Leave only the array of this name; :class:`UnknownName` if there is none."""
        self.arrays += tuple(scale for scale in self._scales if scale.name == name)
        if self._positions is not None and self._positions.name == name:
            self._positions = None
        if all(array.name != name for array in self.arrays):
            raise UnknownName(f"array in {self.path}", name, [array.name for array in self.arrays])
        self.arrays = (self.array(name),)

    def fill(self, start: int, stop: int, out: Mapping[str, NDArray[Any]]) -> None:
        """Read rows; see :meth:`pecli.spec.tabular.Tabular.fill`."""
        for name, values in out.items():
            self.fill_array(self.array(name), start, stop, values)

    def fill_array(self, array: Array, start: int, stop: int, out: NDArray[Any]) -> None:
        """Read rows `start` to `stop` of one array into `out`."""
        raise NotImplementedError

    def take_scales(self, positions: Iterable[str] = ("position",), scales: Iterable[str] = ()) -> None:
        """Set apart the arrays that number the axes of others; the first in `positions` that fits numbers the rows."""
        for name in positions:
            found = next((array for array in self.arrays if array.name == name), None)
            if found is not None and self._numbers(found):
                self._positions = found
                break
        names = {*scales, *([] if self._positions is None else [self._positions.name])}
        if any(array.name not in names for array in self.arrays):
            self._scales = tuple(array for array in self.arrays if array.name in names)
            self.arrays = tuple(array for array in self.arrays if array.name not in names)

    def _numbers(self, found: Array) -> bool:
        """Return whether an array can be the positions of the rows of another."""
        if len(found.shape) != 1 or found.dtype not in ("int64", "int32", "float64"):
            return False
        others = (array for array in self.arrays if array is not found)
        return any(array.lead and array.shape[array.lead - 1] == found.shape[0] for array in others)

    def position(self, start: int, stop: int) -> NDArray[Any] | None:
        """Return the positions that the file gives to rows `start` to `stop`; None where it gives none."""
        return self._numbers_of(self._positions, start, stop)

    def key_position(self, start: int, stop: int) -> NDArray[Any] | None:
        """Return the positions of keys, as the scale of this name has them."""
        keys = next((scale for scale in self._scales if scale.name == "key"), None)
        return self._numbers_of(keys if keys and keys.dtype in ("int64", "float64") else None, start, stop)

    def _numbers_of(self, scale: Array | None, start: int, stop: int) -> NDArray[Any] | None:
        if scale is None or stop > scale.rows:
            return None
        out = np.empty(stop - start, storage(scale.dtype))
        self.fill_array(scale, start, stop, out)
        return out.astype(np.float64 if out.dtype.kind == "f" else np.int64, copy=False)

    is_text = False  # numbers written out, which need state no type

    def take_type(self, dtype: str) -> bool:
        """Read decimals of no stated type as values of `dtype`, if every one is such a value's; say whether they are.

        A text without a type is read as float64.  Compared with float32 values, it may be those, written out.
        """
        return False

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()
        if self.source.remote is not None:  # what was compared may outlive the file
            self.source.remote.release()


Box = tuple[slice, ...]


def boxes(shape: tuple[int, ...], start: int, stop: int) -> Iterator[Box]:
    """Split elements `start` to `stop` of an array, counted in C order, into boxes, in order."""
    if start >= stop:
        return
    if len(shape) <= 1:
        yield (slice(start, stop),) * len(shape)
        return
    inner = math.prod(shape[1:])
    first, last = -(-start // inner), stop // inner
    if first > last:  # within one element of the first axis
        first = last
        for box in boxes(shape[1:], start - first * inner, stop - first * inner):
            yield slice(first, first + 1), *box
        return
    if start < first * inner:
        for box in boxes(shape[1:], start - (first - 1) * inner, inner):
            yield slice(first - 1, first), *box
    if first < last:
        yield slice(first, last), *(slice(0, size) for size in shape[1:])
    for box in boxes(shape[1:], 0, stop - last * inner):
        yield slice(last, last + 1), *box


def boxes_of(array: Array, start: int, stop: int, rows: NDArray[Any]) -> Iterator[tuple[Box, NDArray[Any]]]:
    """Split rows of an array into boxes of its leading axes, each with its part of `rows`."""
    at = 0
    for box in boxes(array.shape[: array.lead], start, stop):
        count = math.prod(part.stop - part.start for part in box)
        yield box, rows[at : at + count]
        at += count


def dtype_name(dtype: np.dtype[Any]) -> str | None:
    """Return pecli's name of a NumPy type, whatever its byte order; None where it has none."""
    return dtype.name if dtype.name in ITEM_BYTES and dtype.kind in "biufc" else None


def safe_shape(shape: object) -> tuple[int, ...] | None:
    """Return `shape` if it is a tuple or list of at most 32 sizes that fit an index; else None."""
    if not isinstance(shape, tuple | list) or len(shape) > 32:
        return None
    if not all(type(size) is int and 0 <= size < 1 << 62 for size in shape) or math.prod(shape) >= 1 << 62:
        return None
    return tuple(shape)
