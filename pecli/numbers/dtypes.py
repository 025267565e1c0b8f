"""Types of values: one table of their names, sizes, grids and storage, and complex values as pairs."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from pecli.errors import UnknownName
from pecli.numbers.deferred import NDArray, np


class FloatGrid(NamedTuple):
    """The numbers that a binary floating-point type holds: its significand, its exponents."""

    precision: int
    lowest: int  # exponent of the smallest normal number
    highest: int  # exponent of the largest

    @property
    def largest(self) -> float:
        """The largest finite value."""
        return math.ldexp(2.0 - math.ldexp(1.0, 1 - self.precision), self.highest)

    @property
    def rounding(self) -> float:
        """The largest relative error of rounding to it."""
        return 2.0**-self.precision


# The numbers of each type that a table is computed in.
GRIDS = {
    "float16": FloatGrid(11, -14, 15),
    "bfloat16": FloatGrid(8, -126, 127),
    "float32": FloatGrid(24, -126, 127),
    "float64": FloatGrid(53, -1022, 1023),
}
DTYPES = tuple(GRIDS)
# Complex types, and the type of their parts.
REAL = {"complex64": "float32", "complex128": "float64"}
# The other way.
COMPLEX = {part: name for name, part in REAL.items()}
_INTEGERS = {f"{sign}int{8 * size}": size for size in (1, 2, 4, 8) for sign in ("", "u")}
_FLOATS = {"float16": 2, "bfloat16": 2, "float32": 4, "float64": 8, "complex64": 8, "complex128": 16}
# Bytes of a value of each type that a table may have.
ITEM_BYTES = {"bool": 1, **_INTEGERS, **_FLOATS}
_WORDS = {
    "float16": ("fp16", "f16", "half"),
    "bfloat16": ("bf16",),
    "float32": ("fp32", "f32", "float", "single"),
    "float64": ("fp64", "f64", "double"),
}  # what other programs call them


def dtype_of(word: object) -> str:
    """Return pecli's name of a type that other programs call `word`; the word itself where none does.

    Examples
    --------
    >>> dtype_of("bf16"), dtype_of("half"), dtype_of("FP32"), dtype_of("torch.float16"), dtype_of("int8")
    ('bfloat16', 'float16', 'float32', 'float16', 'int8')
    """
    text = str(word).lower().removeprefix("torch.")
    return next((name for name, words in _WORDS.items() if text == name or text in words), str(word))


def known_dtype(word: object) -> str:
    """Return pecli's name of a type that values are computed in.

    Raises
    ------
    UnknownName
        Where no such type is called `word`.
    """
    if dtype_of(word) not in DTYPES:
        raise UnknownName("dtype", str(word), DTYPES)
    return dtype_of(word)


def storage(dtype: str) -> np.dtype[Any]:
    """Return the little-endian NumPy dtype that holds `dtype`; bfloat16 is held as its bits in uint16.

    Examples
    --------
    >>> storage("bfloat16").str, storage("float32").str
    ('<u2', '<f4')
    """
    return np.dtype("<u2" if dtype == "bfloat16" else dtype).newbyteorder("<")


def real_type(dtype: str) -> str:
    """Return the type of the parts of complex values; of others their own.

    Examples
    --------
    >>> real_type("complex64"), real_type("bfloat16")
    ('float32', 'bfloat16')
    """
    return REAL.get(dtype, dtype)


def real_pairs(values: NDArray[Any]) -> NDArray[Any]:
    """Return complex values as pairs of real and imaginary part, (..., 2), without a copy; others as they are.

    Examples
    --------
    >>> import numpy as np
    >>> real_pairs(np.array([1 + 2j, 3j])).tolist()
    [[1.0, 2.0], [0.0, 3.0]]
    """
    if values.dtype.kind != "c":
        return values
    pairs: NDArray[Any] = values.view(values.real.dtype).reshape(*values.shape, 2)
    return pairs


def raw_bytes(values: NDArray[Any]) -> memoryview:
    """Return the memory of contiguous values of any type."""
    return values.reshape(-1).view("u1").data
