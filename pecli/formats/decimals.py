"""Decimals for text files: the shortest that reads back to the same value, and reading that rounds once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def shortest(values: NDArray[Any]) -> list[str]:
    """Return the shortest decimal of each value that reads back to it in its own type; else ``inf``, ``nan``."""
    flat = values.reshape(-1)
    if flat.dtype == np.bool_:
        flat = flat.view(np.uint8)
    return [text.decode() for text in flat.astype("S32").tolist()]


def is_number(text: str) -> bool:
    """Return whether a text is a number, infinity and NaN among them."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def narrowed(values: NDArray[Any], dtype: str) -> NDArray[Any]:
    """Return the values of `dtype` nearest to decimals that were read as float64.

    Rounding twice errs only where the first rounding ended in the middle of two narrow values: of these, the one is
    meant whose shortest decimal was read.
    """
    if values.dtype == dtype or np.dtype(dtype).kind != "f" or dtype == "float64":
        return values.astype(dtype, copy=False)
    with np.errstate(over="ignore", invalid="ignore"):
        narrow: NDArray[Any] = values.astype(dtype)
        ahead = np.nextafter(narrow, np.where(values > narrow, np.inf, -np.inf).astype(dtype))
        middle = np.flatnonzero((values != narrow) & (values - narrow == ahead.astype(np.float64) - values))
    for place, text in zip(map(int, middle), shortest(ahead[middle]), strict=True):
        if float(text) == values[place]:
            narrow[place] = ahead[place]
    return narrow


# Significant digits with which a program writes values so that all read back, as ``%.9g`` does.
ALL_DIGITS = {"float32": 9, "float16": 5}


def spelled(values: NDArray[Any], dtype: str) -> bool:
    """Return whether decimals read as float64 are values of this type: exact, shortest or with `ALL_DIGITS` digits."""
    narrow = narrowed(values, dtype)
    if (np.isinf(narrow) & ~np.isinf(values)).any():
        return False
    unsure = np.flatnonzero((narrow.astype(np.float64) != values) & ~np.isnan(values))
    unsure = unsure[narrow[unsure].astype("S32").astype(np.float64) != values[unsure]]
    digits = ALL_DIGITS.get(dtype, 0)
    return all(float(f"{narrow[k]:.{digits}g}") == values[k] for k in unsure)


# Different values that must have few digits; fewer, such as 0, 0.5 and 1, have them by chance.
MIN_PRINTED = 12
MAX_PRINTED = 8
SAMPLED = 4096  # values that show whether to count the digits of all


def printed_digits(
    values: NDArray[Any], error: float = 0.0, least: int = MIN_PRINTED, most: int = MAX_PRINTED
) -> tuple[int, bool] | None:
    """Return the digits to which values were printed, and whether significant ones; None for values in full.

    Decimals, as ``%.4f`` prints them, are counted after the point; significant digits are those of ``%.4g``.

    Parameters
    ----------
    error : float
        Relative error that the type of the values leaves.
    least, most : int
        Different values that must have few digits, and digits that are few.
    """
    few = values.ravel()[:: max(1, values.size // SAMPLED)]
    varied = few.size < values.size and len(np.unique(few)) > SAMPLED // 2
    if varied and printed_digits(few, error, least, most) is None:
        return None
    x = np.unique(np.abs(values[np.isfinite(values) & (values != 0)]))
    if len(x) < least:
        return None
    leading = np.floor(np.log10(x)) + 1
    for digits in range(1, most + 1):
        for significant in (False, True):
            steps = x * 10.0 ** (digits - leading * significant)
            slack = 1e-6 + 2 * error * steps
            clear = slack < 0.1  # of larger values the type has too few digits
            shown = clear & (np.rint(steps) != 0)
            if np.count_nonzero(shown) >= least and (np.abs(steps - np.rint(steps)) <= slack)[clear].all():
                return digits, significant
    return None


def last_digits(values: NDArray[Any], digits: int, significant: bool) -> NDArray[Any]:
    """Return what one step of the last printed digit of each value is."""
    leading = np.floor(np.log10(np.maximum(np.abs(values), np.finfo(np.float64).tiny))) + 1
    return np.asarray(10.0 ** (leading * significant - digits))


def how_printed(values: NDArray[Any], exact: NDArray[Any], slack: NDArray[Any], printed: tuple[int, bool]) -> str:
    """Return whether exact values, each uncertain by `slack`, were "rounded" or "cut" to printed digits, or ""."""
    last, off = last_digits(values, *printed), np.abs(np.where(exact == values, 0.0, exact - values)) - slack
    if (off <= 0.5 * last).all():
        return "rounded"
    return "cut" if (off <= last).all() and (np.abs(values) <= np.abs(exact) + slack).all() else ""


def digits_text(digits: int, significant: bool) -> str:
    """Return what values were printed with: ``6 decimals``, ``8 significant digits``."""
    return f"{digits} {'significant digits' if significant else 'decimals'}"


def json_texts(values: NDArray[Any]) -> list[str]:
    """Return values as JSON has them: infinity and NaN, which JSON lacks, as strings."""
    texts = shortest(values)
    if values.dtype.kind == "f":
        for index in np.flatnonzero(~np.isfinite(values.reshape(-1))):
            texts[index] = f'"{texts[index]}"'
    return texts
