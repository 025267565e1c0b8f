"""Files of numbers, read by name: limits, lists, and arrays of which only the requested rows are read.

A declaration, a list of positions or a source of content names a file, in every format that pecli reads. Nothing is
read before its size was held against a limit; one option raises all limits.

A recipe may be stated by a file that somebody else made. Such a text is an :class:`UntrustedText`, and so are the
values that are taken from it; a path that is one is opened only where the user trusts recipes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from importlib import import_module
from typing import Any, NamedTuple

from pecli.errors import BadFile, BadParameter, BadRecipe
from pecli.numbers.bounds import LARGEST_ARRAY, LARGEST_TEXT, limit, size_text
from pecli.numbers.decimals import parse_number, shorten
from pecli.numbers.deferred import NDArray, np
from pecli.settings import settings

_URL = re.compile(r"(?!file:)[a-z][a-z0-9+.-]+://", re.IGNORECASE)
_WORD = re.compile(r"(?<=://)[^\s\"'<>]+")
_LOGIN = re.compile(r"[^/?#@:]*:(?!:|\d+(?:[/?#]|$))")  # a user and the colon before a password, not before a port
_REST = re.compile(r"([?#]).*", re.DOTALL)
MAX_SCHEME_LENGTH = 32  # characters of a protocol and ://
MIN_SECRET_LENGTH = 4  # characters; a shorter secret is not hidden outside its URL: it may be any word

_names: dict[str, str] = {}  # opened URLs without "scheme://", and their names in messages
_secrets: set[str] = set()


def is_url(text: str) -> bool:
    """Whether a text names something behind a protocol, such as s3:// or https://."""
    return _URL.match(text) is not None


def url_name(text: str) -> str:
    """Return the name of a URL in messages, and hide its secrets from now on, whatever characters they have.

    Parameters
    ----------
    text : str
        A URL, or a text that ends in one.
    """
    at = text.find("://") + 3
    if at < 3 or not _URL.search(text, max(0, at - MAX_SCHEME_LENGTH)):
        return text
    rest = text[at:]
    name = _bare(rest)
    if name != rest:
        from urllib.parse import quote, unquote  # only where there is a secret: it takes as long as a small command

        login, _, _ = rest.rpartition("@")
        _names[rest] = name
        parts = (login, login.partition(":")[2], *re.split("[?#]", rest)[1:])
        _secrets.update(
            form for part in parts for form in (part, quote(part), unquote(part)) if len(part) >= MIN_SECRET_LENGTH
        )
    return text[:at] + name


def shown(text: str, secrets: bool = False) -> str:
    """Return a text whose URLs have no secrets: user, password, signed query, fragment.

    Parameters
    ----------
    text : str
    secrets : bool
        Whether the secrets of opened URLs are hidden outside the URLs too, as in messages of a library; not
        in results, in which a password may be a number.

    Examples
    --------
    >>> shown("https://me:secret@host/a.npy?X-Amz-Signature=1 is damaged")
    'https://host/a.npy?... is damaged'
    """
    for rest in sorted(_names, key=len, reverse=True):
        text = text.replace(rest, _names[rest])
    if secrets and _secrets:
        text = re.sub("|".join(map(re.escape, sorted(_secrets, key=len, reverse=True))), "...", text)
    return _WORD.sub(lambda word: _bare(word[0]), text) if "://" in text else text


def _bare(rest: str) -> str:
    """Return the part of a URL after "://" without secrets; an ambiguous one is dropped as a whole."""
    login, at, place = rest.rpartition("@")
    if at and _LOGIN.match(rest):  # a password may have any character, so that only the last @ ends it
        if re.search("[?#]", login):
            return "..."
        rest = place
    else:
        host = re.split("[/?#]", rest, maxsplit=1)[0]
        rest = rest[host.rfind("@") + 1 :]
    return _REST.sub(r"\1...", rest)


class StoredArray(NamedTuple):
    """Array of real numbers in a file; its values are read on request.

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
        return self._replace(shape=tuple(rest if side == -1 else side for side in shape), fetch=fetch)

    def rows(self, start: int, stop: int) -> NDArray[np.float64]:
        """Return entries `start` to `stop` of the first axis as float64; :class:`BadFile` where one is not finite."""
        return np.ascontiguousarray(self._finite(start, stop), np.float64)

    def values(self) -> NDArray[np.float64]:
        """Return all values as float64, (*shape); :class:`BadFile` where one is not finite or they are too many."""
        return self.stored().astype(np.float64)

    def stored(self, most: int = LARGEST_ARRAY) -> NDArray[Any]:
        """Return all values in their own type; :class:`BadFile` where they take more than `most` bytes."""
        size = math.prod(self.shape) * self.item_bytes
        if size > limit(most):
            raise BadFile(self.path, f"holds {size:,} bytes in '{self.name}', of which {size_text(limit(most))} here")
        return self._finite(0, self.shape[0] if self.shape else 1).reshape(self.shape)

    def _finite(self, start: int, stop: int) -> NDArray[Any]:
        values = self.fetch(start, stop)
        if values.dtype.kind == "c":
            raise BadFile(self.path, f"holds {values.dtype} in '{self.name}': only real numbers mean something here")
        if not np.isfinite(values).all():
            raise BadFile(self.path, f"holds a value in '{self.name}' that is not finite")
        return values


class NumberFile(NamedTuple):
    """A file of numbers, opened.

    Parameters
    ----------
    path : str
        Name of the file in messages.
    text : str or None
        The content of a list of numbers as text; None for others.
    arrays : callable
        Returns its arrays by name; the one array of a plain text is called ``array``.
    """

    path: str
    text: str | None
    arrays: Callable[[], Mapping[str, StoredArray]]


class UntrustedText(str):
    """Text that a file states about itself, such as its recipe; ``str`` of it is a text that the caller vouches for."""

    __slots__ = ()


def open_numbers(path: str) -> NumberFile:
    """Open ``FILE``, ``FILE::NAME`` or ``-`` in any format that pecli reads.

    The formats need this package, so their reader is loaded when a file is named, by its name.

    Raises
    ------
    BadRecipe
        If a recipe that a file states names it, and such recipes are not trusted.
    BadFile, UnknownName
        If it cannot be read, or has no array of this name.
    """
    if isinstance(path, UntrustedText) and not settings().trusts_recipes:
        rule = "which a recipe in a file may not do: give --trust-recipe, if you know where it comes from"
        raise BadRecipe(f"the recipe names the file {path!r}, {rule}")
    found: NumberFile = import_module("pecli.formats.number_files").open_numbers(path)
    return found


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
    """Return the numbers of a text as decimals, or the numbers of an array in their own type, (n,)."""
    file = open_numbers(path)
    if file.text is not None:
        return [number for row in parse_rows(file.path, file.text, nested=rows) for number in row]
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
    import json

    try:
        loaded = json.loads(text, parse_float=Decimal)
    except ArithmeticError as error:
        raise BadFile(path, "holds a number whose exponent no number has") from error
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
    lengths = {len(row) for row in rows}
    if len(lengths) != 1:
        raise BadFile(path, f"has rows of {min(lengths)} to {max(lengths)} numbers: all must have as many")
    values = np.array([[float(number) for number in row] for row in rows])
    if 1 in values.shape:
        values = values.ravel()
    return StoredArray(path, "array", values.shape, lambda start, stop: values[start:stop])
