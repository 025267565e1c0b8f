"""Stored values as numbers that NumPy computes with."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.numbers.rounding import widen


def floats(values: NDArray[Any], dtype: str) -> NDArray[Any]:
    """Return values as numbers: bfloat16 from its bits, complex as pairs, booleans as 0 and 1."""
    if dtype == "bfloat16":
        return widen(values, dtype)
    if values.dtype.kind == "c":
        flat = np.ascontiguousarray(values)
        flat = flat.reshape(1) if flat.ndim == 0 else flat
        return flat.view(flat.real.dtype).reshape(*flat.shape[:-1], -1)
    return values.astype(np.uint8) if values.dtype.kind == "b" else values
