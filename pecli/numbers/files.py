"""Files of numbers as the rooms below the formats know them: by name.

A declaration, a list of positions, a source of content: each names a file and
asks for what stands in it.  Who opens it is handed in: the package itself does
so before any of its modules runs, and hands in the formats' reader, which opens
every format that pecli reads.  Nothing is read before its size was held against
a limit, and of an array only the rows that are asked for.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Protocol

from pecli.errors import BadFile, BadParameter
from pecli.numbers.text import parse_number, shorten

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LARGEST_TEXT = 16 << 20
"""Bytes of a text of numbers, which is read whole: 2^20 doubles written in full."""

LARGEST_ARRAY = 1 << 30
"""Bytes of an array that is read whole."""


@dataclass(frozen=True)
class StoredArray:
    """One array of real numbers in a file; its values are read when they are asked for.

    Parameters
    ----------
    path, name : str
        The file as it was named, and what the array is called in it.
    shape : tuple of int
        Of the array; ``()`` for a single number.
    fetch : callable
        Of a first and a last (exclusive) index along the first axis, gives those values as they are stored,
        bfloat16 as float64.
    item_bytes : int
        Of one value.
    """

    path: str
    name: str
    shape: tuple[int, ...]
    fetch: Callable[[int, int], NDArray[Any]]
    item_bytes: int = 8

    def reshape(self, *shape: int) -> StoredArray:
        """Return the same values in another shape (one side may be -1); they are read whole then."""

        def fetch(start: int, stop: int) -> NDArray[Any]:
            return self.stored().reshape(shape)[start:stop]

        rest = math.prod(self.shape) // max(1, math.prod(side for side in shape if side != -1))
        return replace(self, shape=tuple(rest if side == -1 else side for side in shape), fetch=fetch)

    def rows(self, start: int, stop: int) -> NDArray[np.float64]:
        """Return entries `start` to `stop` of the first axis as float64; :class:`BadFile` where one is not finite."""
        import numpy as np

        return np.ascontiguousarray(self._finite(start, stop), np.float64)

    def values(self) -> NDArray[np.float64]:
        """Return all values as float64, (*shape); :class:`BadFile` where one is not finite or they are too many."""
        import numpy as np

        return self.stored().astype(np.float64)

    def stored(self, most: int = LARGEST_ARRAY) -> NDArray[Any]:
        """Return all values in their own type; :class:`BadFile` where they take more than `most` bytes."""
        size = math.prod(self.shape) * self.item_bytes
        if size > most:
            rule = f"holds {size:,} bytes in '{self.name}', and at most {most >> 20} MiB are read here"
            raise BadFile(self.path, rule)
        return self._finite(0, self.shape[0] if self.shape else 1).reshape(self.shape)

    def _finite(self, start: int, stop: int) -> NDArray[Any]:
        import numpy as np

        values = self.fetch(start, stop)
        if values.dtype.kind == "c":
            raise BadFile(self.path, f"holds {values.dtype} in '{self.name}': only real numbers mean something here")
        if not np.isfinite(values).all():
            raise BadFile(self.path, f"holds a value in '{self.name}' that is not finite")
        return values


class NumberFile(Protocol):
    """A file of numbers, opened."""

    @property
    def path(self) -> str:
        """What messages call it."""

    def text(self) -> str | None:
        """Return what it holds, if it is a text; :class:`BadFile` if it is too long."""

    def arrays(self) -> Mapping[str, StoredArray]:
        """Return its arrays by name; the one array of a plain text is called ``array``."""


NumberReader = Callable[[str], NumberFile]
"""Opens ``FILE``, ``FILE::NAME`` or ``-``; raises :class:`BadFile` and :class:`UnknownName`."""

_reader: NumberReader | None = None


def hand_in(reader: NumberReader) -> None:
    """Say who opens files of numbers."""
    global _reader
    _reader = reader


def open_numbers(path: str) -> NumberFile:
    """Open a file of numbers with the reader that was handed in."""
    assert _reader is not None, "importing pecli hands one in"
    return _reader(path)


def only_array(arrays: Mapping[str, StoredArray], path: str, *endings: str) -> StoredArray:
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


def read_vector(path: str, rows: bool = False) -> tuple[Decimal, ...]:
    """Return the numbers of a file, exactly as they are written or stored.

    Parameters
    ----------
    path : str
        A file that holds one array with one axis longer than 1, or a text: see `parse_rows`.
    rows : bool
        Whether it may hold a matrix, which is read row by row.

    Returns
    -------
    tuple of Decimal
        The decimals as written; of other files the exact binary values.

    Raises
    ------
    BadFile
        If it cannot be read, or is no vector of finite numbers.
    """
    found = read_exact(path, rows=rows)
    if isinstance(found, list):
        return tuple(found)
    return tuple(Decimal(item) for item in found.astype(float if found.dtype.kind == "f" else object).tolist())


def read_exact(path: str, *, rows: bool = False, most: int = LARGEST_TEXT) -> list[Decimal] | NDArray[Any]:
    """Return the numbers of a text as decimals, or those of an array in their own type, (n,)."""
    file = open_numbers(path)
    text = file.text()
    if text is not None:
        return [number for row in parse_rows(file.path, text, nested=rows) for number in row]
    array = only_array(file.arrays(), file.path)
    size = math.prod(array.shape)
    if not size or not (size == max(array.shape, default=1) or (rows and len(array.shape) == 2)):
        what = "a matrix has two axes" if rows else "a list of numbers has one axis"
        raise BadFile(file.path, f"holds an array of shape {array.shape}: {what}")
    return array.stored(most).ravel()


def parse_rows(path: str, text: str, *, nested: bool = True) -> list[list[Decimal]]:
    r"""Return the rows of numbers that a text holds, exactly as they are written.

    Parameters
    ----------
    path : str
        What messages call the file.
    text : str
        A JSON list of numbers or of lists of them; or lines of numbers that blanks or commas separate, where
        ``#`` starts a comment.
    nested : bool
        Whether a JSON list may hold lists.

    Raises
    ------
    BadFile
        If it holds something else, or nothing.

    Examples
    --------
    >>> parse_rows("w.txt", "1 2.50  # a comment\n3,4")
    [[Decimal('1'), Decimal('2.50')], [Decimal('3'), Decimal('4')]]
    >>> parse_rows("w.json", "[0.1, 1e-2]")
    [[Decimal('0.1'), Decimal('0.01')]]
    """
    found = []
    count = 0
    for row in _json_rows(path, text, nested) if text.lstrip()[:1] in ("[", "{") else _lines(text):
        numbers = []
        for item in row:
            count += 1
            try:
                numbers.append(parse_number("value", item))
            except BadParameter as error:
                why = error.rule if error.rule.startswith("is too") else "is no finite number"
                raise BadFile(path, f"item {count} is '{shorten(str(item), 30)}', which {why}") from None
        if numbers:
            found.append(numbers)
    if not found:
        raise BadFile(path, "holds no numbers")
    return found


def _lines(text: str) -> Sequence[Sequence[object]]:
    return [line.partition("#")[0].replace(",", " ").split() for line in text.splitlines()]


def _json_rows(path: str, text: str, nested: bool) -> Sequence[Sequence[object]]:
    try:
        loaded = json.loads(text, parse_float=Decimal)
    except (ValueError, RecursionError) as error:
        raise BadFile(path, f"is not JSON: {error}") from error
    if not isinstance(loaded, list):
        raise BadFile(path, "is JSON but no list: name a list of numbers")
    return loaded if nested and all(isinstance(item, list) for item in loaded) else [loaded]


def text_array(path: str, rows: Sequence[Sequence[Decimal]]) -> StoredArray:
    """Return rows of numbers as an array of float64; one row or one column is a vector.

    Raises
    ------
    BadFile
        If the rows differ in length.
    """
    import numpy as np

    lengths = {len(row) for row in rows}
    if len(lengths) != 1:
        raise BadFile(path, f"has rows of {min(lengths)} to {max(lengths)} numbers: all must have as many")
    values = np.array([[float(number) for number in row] for row in rows])
    if 1 in values.shape:
        values = values.ravel()
    return StoredArray(path, "array", values.shape, lambda start, stop: values[start:stop])
