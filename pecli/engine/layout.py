"""Where the values of a fill go: views of any strides, and the fast case of interleaved ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from pecli.engine.wheel import Part
from pecli.errors import BadParameter
from pecli.numbers.types import storage

Output = tuple[Part, NDArray[Any]]


class PairLayout(NamedTuple):
    """The outputs of a fill.

    Parameters
    ----------
    singles : list of (part, view)
        Views that are stored one by one.
    pair : ndarray or None
        Sine and cosine of a column side by side, as one array (rows, 2 columns).
    sine_first : bool
        Their order in ``pair``.
    """

    singles: list[Output]
    pair: NDArray[Any] | None = None
    sine_first: bool = False

    def rows(self, pick: slice) -> PairLayout:
        """Pick some rows, in their order or reversed."""
        pair = None if self.pair is None else self.pair[pick]
        return PairLayout([(part, view[pick]) for part, view in self.singles], pair, self.sine_first)

    def views(self) -> list[Output]:
        """Every output one by one."""
        if self.pair is None:
            return self.singles
        first: Output = ("sin" if self.sine_first else "cos", self.pair[:, 0::2])
        second: Output = ("cos" if self.sine_first else "sin", self.pair[:, 1::2])
        return [first, second, *self.singles]


def check_outputs(outputs: Sequence[Output], rows: int, columns: int, dtype: str) -> list[Output]:
    """Refuse outputs whose shapes or types are wrong."""
    wanted = storage(dtype)
    for part, view in outputs:
        if part not in ("cos", "sin", "angle"):
            raise BadParameter("part", part, "is none of cos, sin, angle")
        if view.ndim != 2 or view.shape[0] != rows or view.shape[1] > columns:
            raise BadParameter("output", view.shape, f"must have {rows} rows and at most {columns} columns")
        if view.dtype != wanted:
            raise BadParameter("output", view.dtype, f"must hold {dtype} as {wanted}")
    return list(outputs)


def arrange(outputs: Sequence[Output]) -> PairLayout:
    """Find a sine and a cosine view that interleave."""
    for i, (part, view) in enumerate(outputs):
        for j, (other, second) in enumerate(outputs):
            if {part, other} == {"sin", "cos"} and _interleave(view, second):
                rows, columns = view.shape
                shape, strides = (rows, 2 * columns), (view.strides[0], view.itemsize)
                pair = as_strided(view, shape, strides)
                return PairLayout([o for k, o in enumerate(outputs) if k not in (i, j)], pair, part == "sin")
    return PairLayout(list(outputs))


def _interleave(first: NDArray[Any], second: NDArray[Any]) -> bool:
    """Whether ``second`` stands one place behind ``first``, and both at every other place."""
    size = first.itemsize
    return (
        first.shape == second.shape
        and first.size > 0
        and first.strides == second.strides
        and first.strides[1] == 2 * size
        and second.__array_interface__["data"][0] - first.__array_interface__["data"][0] == size
    )
