"""From the values of a kernel to the rows of a table: rounded once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.numbers.double_double import DoubleDouble
from pecli.numbers.rounding import narrow


def round_into(values: DoubleDouble | NDArray[Any], dtype: str, out: NDArray[Any]) -> None:
    """Write values, rounded once to `dtype`, into `out` of any strides."""
    if isinstance(values, DoubleDouble):
        out[...] = narrow(values.hi, values.lo, dtype)
    elif dtype == "bfloat16":
        out[...] = narrow(np.asarray(values, np.float64), None, dtype)
    else:  # one conversion by IEEE 754's rule, straight into the rows
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            out[...] = np.asarray(values, np.float64)


def as_array(multiples: range | NDArray[np.int64]) -> NDArray[np.int64]:
    """Return whole numbers as an int64 array."""
    if isinstance(multiples, range):
        return np.arange(multiples.start, multiples.stop, multiples.step, dtype=np.int64)
    return multiples


def minus_infinity(dtype: str) -> Any:
    """Return minus infinity as the storage of `dtype` holds it."""
    return 0xFF80 if dtype == "bfloat16" else -np.inf
