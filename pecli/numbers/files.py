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
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from pecli.errors import BadFile, BadParameter
from pecli.numbers.arrays import LARGEST_TEXT, StoredArray
from pecli.numbers.reader import open_numbers
from pecli.numbers.text import parse_number, shorten

if TYPE_CHECKING:
    from numpy.typing import NDArray


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
