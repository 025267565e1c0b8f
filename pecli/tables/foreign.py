"""Arrays of other libraries as tables: NumPy, PyTorch, JAX, MLX, TensorFlow, by their protocols; none is imported."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from pecli.errors import BadParameter
from pecli.numbers.deferred import NDArray, np
from pecli.numbers.dtypes import ITEM_BYTES
from pecli.numbers.positions import Positions
from pecli.spec.tabular import InMemory

# Name of an array that has none.
SOLE = "array"


def table_of(values: Any) -> InMemory:
    """Return arrays in memory as a table.

    Parameters
    ----------
    values : array, pair of arrays, or mapping of str to array
        Anything with ``__array__`` or ``__dlpack__``, of any device; two arrays are cosines and sines. bfloat16 is
        read by its bits; an array of uint16 is taken for such bits.

    Raises
    ------
    BadParameter
        For what is no array of numbers.
    """
    if isinstance(values, Mapping):
        return InMemory({str(name): to_numpy(array) for name, array in values.items()})
    if isinstance(values, tuple) and len(values) == 2 and all(map(is_array, values)):
        return InMemory(dict(zip(("cos", "sin"), map(to_numpy, values), strict=True)))
    return InMemory({SOLE: to_numpy(values)})


def positions_of_values(positions: Any) -> Any:
    """Return positions as an application takes them: one list for all rows, or an array of two or three axes."""
    if positions is None:
        return None
    if isinstance(positions, str):
        return Positions.parse(positions)
    if is_array(positions):
        positions = to_numpy(positions)
        if positions.ndim in (2, 3):
            return positions.astype("int64")
        positions = positions.tolist()
    return Positions.listed(positions)


def is_array(value: object) -> bool:
    """Whether a value offers an array by a protocol."""
    return any(hasattr(value, name) for name in ("__array__", "__dlpack__", "__array_interface__"))


def to_numpy(value: Any) -> NDArray[Any]:
    """Return an array of any library as NumPy's, bfloat16 as its bits in uint16.

    Raises
    ------
    BadParameter
        For what is no array of numbers.
    """
    for name in ("detach", "cpu", "resolve_conj", "resolve_neg"):  # what a tensor of PyTorch needs first
        if callable(getattr(value, name, None)):
            value = getattr(value, name)()
    if "bfloat16" in str(getattr(value, "dtype", "")) and not isinstance(value, np.ndarray):
        value = _bits(value)
    found = np.asarray(value)  # by __array__, by a buffer, or of lists of numbers
    if found.dtype.kind == "O" and not isinstance(value, np.ndarray) and hasattr(value, "__dlpack__"):
        found = np.from_dlpack(value)
    if found.dtype.name == "bfloat16":
        found = found.view(np.uint16)
    if found.dtype.name not in ITEM_BYTES:
        kind = type(value).__name__ if found.dtype.kind == "O" else f"{found.dtype.name}"
        raise BadParameter("values", kind, f"is no array of numbers: give one of {', '.join(ITEM_BYTES)}")
    return found


def _bits(value: Any) -> Any:
    """Return bfloat16 values as 16-bit integers where their library can show them so; else as they are."""
    names = type(value).__module__.split(".")
    for end in range(len(names), 0, -1):
        uint16 = getattr(sys.modules.get(".".join(names[:end])), "uint16", None)
        if uint16 is not None and callable(getattr(value, "view", None)):
            return value.view(uint16)
    return value
