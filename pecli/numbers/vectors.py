"""Vectors of numbers from small files, as exact decimals: text, JSON or npy."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path

from pecli.errors import BadFile, BadParameter
from pecli.numbers.text import parse_number, shorten

LARGEST_FILE = 16 << 20  # bytes; a vector of 2^20 exact doubles as text


def read_vector(path: str, rows: bool = False) -> tuple[Decimal, ...]:
    """Return the numbers of a file, exactly as they are written or stored.

    Parameters
    ----------
    path : str
        A JSON list, an npy file with one axis longer than 1, or text with one
        number a line (blanks and commas separate too, ``#`` starts a comment).
    rows : bool
        Whether it may hold a matrix, which is read row by row.

    Returns
    -------
    tuple of Decimal
        The decimals as written; of npy the exact binary values.

    Raises
    ------
    BadFile
        If it cannot be read, or is no vector of finite numbers.
    """
    try:
        with Path(path).open("rb") as file:
            data = file.read(LARGEST_FILE + 1)
    except OSError as error:
        raise BadFile(path, f"cannot be read: {error.strerror}") from error
    if len(data) > LARGEST_FILE:
        raise BadFile(
            path, f"is larger than {LARGEST_FILE >> 20} MiB, too large for a vector of frequencies or factors"
        )
    items = _npy(path, rows) if data.startswith(b"\x93NUMPY") else _text(path, data, rows)
    if not items:
        raise BadFile(path, "holds no numbers")
    return items


def _text(path: str, data: bytes, rows: bool) -> tuple[Decimal, ...]:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise BadFile(path, "is neither text nor npy: a vector is a list of numbers") from None
    items: list[object]
    if text.lstrip().startswith(("[", "{")):
        try:
            loaded = json.loads(text, parse_float=Decimal)
        except ValueError as error:
            raise BadFile(path, f"is not JSON: {error}") from error
        if not isinstance(loaded, list):
            raise BadFile(path, "is JSON but no list: a vector is one flat list of numbers")
        nested = rows and all(isinstance(item, list) for item in loaded)
        items = [number for row in loaded for number in row] if nested else loaded
    else:
        items = [word for line in text.splitlines() for word in line.partition("#")[0].replace(",", " ").split()]
    try:
        return tuple(parse_number("value", item) for item in items)
    except BadParameter as error:
        raise BadFile(
            path, f"'{shorten(str(error.value))}' is no finite number: a vector is a list of numbers"
        ) from error


def _npy(path: str, rows: bool) -> tuple[Decimal, ...]:
    import numpy as np

    try:
        values = np.load(path, allow_pickle=False)
    except (ValueError, OSError) as error:
        raise BadFile(path, f"is no npy file that can be read: {error}") from error
    flat = values.size == max(values.shape, default=1) or (rows and values.ndim == 2)
    if not flat or values.dtype.kind not in "iuf":
        what = "a matrix has two axes" if rows else "a vector has one axis"
        raise BadFile(path, f"holds {values.dtype} of shape {values.shape}: {what} and real numbers")
    if not np.isfinite(values).all():
        raise BadFile(path, "holds a value that is not finite")
    return tuple(
        Decimal(item) for item in values.astype(np.float64 if values.dtype.kind == "f" else object).ravel().tolist()
    )
