"""Decimals for text files: the shortest that reads back to the same value, and reading that rounds once."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

_INTEGER = re.compile(r"\s*[+-]?\d+\s*")
_LONGEST = 100  # characters of an integer that int() should look at


def shortest(values: NDArray[Any]) -> list[str]:
    """Return the shortest decimal of each value that reads back to it in its own type; else ``inf``, ``nan``."""
    flat = values.reshape(-1)
    if flat.dtype == np.bool_:
        flat = flat.view(np.uint8)
    return [text.decode() for text in flat.astype("S32").tolist()]


def parse(texts: Sequence[str], dtype: str) -> NDArray[Any]:
    """Return the values of `dtype` nearest to decimals.

    Raises
    ------
    ValueError
        If a text is no number.
    OverflowError
        If a number is beyond the largest of the type.
    """
    if np.dtype(dtype).kind in "biu":
        numbers = [int(text) for text in texts]
        low, high = (0, 1) if dtype == "bool" else (int(np.iinfo(dtype).min), int(np.iinfo(dtype).max))
        if numbers and not low <= min(numbers) <= max(numbers) <= high:
            raise OverflowError(
                next(text for text, number in zip(texts, numbers, strict=True) if not low <= number <= high)
            )
        return np.array(numbers, dtype)
    values = _rounded(texts, dtype)
    for index in map(int, np.flatnonzero(np.isinf(values))):
        if "inf" not in texts[index].lower():
            raise OverflowError(texts[index])
    return values


def is_number(text: str) -> bool:
    """Whether a text is a number, infinity and NaN among them."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def is_whole(text: str) -> bool:
    """Whether a text is an integer that int64 holds."""
    return len(text) < _LONGEST and _INTEGER.fullmatch(text) is not None and -(1 << 63) <= int(text) < 1 << 63


def _rounded(texts: Sequence[str], dtype: str) -> NDArray[Any]:
    """Return the floats of `dtype` nearest to decimals, infinity for what is beyond the largest."""
    wide = np.array([float(text) for text in texts], np.float64)
    if dtype == "float64":
        return wide
    with np.errstate(over="ignore", invalid="ignore"):
        narrow = wide.astype(dtype)
        # Rounding twice errs only where the first rounding ended in the middle of two narrow values.
        ahead = np.nextafter(narrow, np.where(wide > narrow, np.inf, -np.inf).astype(dtype))
        middle = (wide != narrow) & (wide - narrow == ahead.astype(np.float64) - wide)
    for index in map(int, np.flatnonzero(middle)):
        exact, rounded = Fraction(texts[index].strip()), Fraction(float(wide[index]))
        if exact != rounded:
            pair = sorted((narrow[index], ahead[index]))
            narrow[index] = pair[1] if exact > rounded else pair[0]
    return narrow


def infer(texts: Sequence[str]) -> str:
    """Return the type of decimals that say none: int64 where all are integers that it holds, else float64.

    Raises
    ------
    ValueError
        If a text is no number.
    """
    if all(map(is_whole, texts)):
        return "int64"
    for text in texts:
        float(text)
    return "float64"


ALL_DIGITS = {"float32": 9, "float16": 5}
"""Significant digits with which a program writes values so that all read back, as ``%.9g`` does."""


def spelled(texts: Sequence[str], dtype: str) -> bool:
    """Whether decimals are values of this type: each in full, shortest, or with the digits that always read back."""
    wide, narrow = np.array([float(text) for text in texts]), _rounded(texts, dtype)
    if (np.isinf(narrow) & ~np.isinf(wide)).any():
        return False
    exact = (narrow.astype(np.float64) == wide) | np.isnan(wide)
    exact |= np.array([float(text) for text in shortest(narrow)]) == wide
    digits = ALL_DIGITS.get(dtype, 0)
    return all(float(f"{narrow[k]:.{digits}g}") == wide[k] for k in np.flatnonzero(~exact))


def json_texts(values: NDArray[Any]) -> list[str]:
    """Return values as JSON has them: infinity and NaN, which JSON lacks, as strings."""
    texts = shortest(values)
    if values.dtype.kind == "f":
        for index in np.flatnonzero(~np.isfinite(values.reshape(-1))):
            texts[index] = f'"{texts[index]}"'
    return texts
