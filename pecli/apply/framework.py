"""Arithmetic of a framework: every product and sum rounded to a type, and its error against the exact value.

A rotation is computed as q cos + rotate_half(q) sin, with cos and sin computed in float32 (as ``generate --arithmetic
float32`` does) and rounded to the type; an addition as the scaled input, then the sum, with rows rounded to the type.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.apply.cosines import HeadPairs, members
from pecli.apply.exact import Floats
from pecli.apply.tensors import Tensor
from pecli.numbers.rounding import narrow, widen
from pecli.spec.tabular import Tabular
from pecli.tables.figures import last_place, pair_norms

Integers = NDArray[np.int64]


def rounded(values: Floats, dtype: str) -> Floats:
    """Return values rounded to a type, as float64."""
    with np.errstate(all="ignore"):
        return widen(narrow(values, None, dtype), dtype)


class FrameworkRows(Tabular):
    """Tensors as a framework's arithmetic gives them.

    Parameters
    ----------
    exact : Tabular
        The real values, rounded to float64, of the same names and shapes.
    compute : mapping of str to callable
        For each name, of vectors `start` to `stop` gives (n, width) in the arithmetic; and of exact values, what
        their last places are counted in.
    arithmetic : {"float32", "bfloat16"}
        Of every step.
    dtype : str
        Of the outputs.

    Attributes
    ----------
    worst : float
        The largest error so far, in units in the last place of the arithmetic.
    """

    def __init__(
        self,
        exact: Tabular,
        compute: Mapping[str, tuple[Callable[[int, int], Floats], Callable[[Floats], Floats]]],
        arithmetic: str,
        dtype: str,
    ) -> None:
        self.exact, self.compute, self.arithmetic, self.dtype = exact, compute, arithmetic, dtype
        self.arrays = tuple(replace(array, dtype=dtype) for array in exact.arrays)
        self.recipe, self.metadata = None, exact.metadata
        self.worst, self._lock = 0.0, threading.Lock()

    def fill(self, start: int, stop: int, out: Mapping[str, NDArray[Any]]) -> None:
        """Write vectors; see :meth:`pecli.spec.tabular.Tabular.fill`."""
        for name, target in out.items():
            steps, sizes = self.compute[name]
            values = steps(start, stop)
            truth = self.exact.read_rows([name], start, stop)[name]
            with np.errstate(all="ignore"):
                units = np.abs(values - truth) / last_place(sizes(truth), self.arithmetic)
            worst = float(np.max(units, initial=0.0, where=np.isfinite(units)))
            with self._lock:
                self.worst = max(self.worst, worst)
            narrow(values, None, self.dtype, target)


def rotation_steps(
    tensor: Tensor,
    table: Tabular,
    pairing: HeadPairs,
    rows: Integers | None,
    arithmetic: str,
    factor: str | None = None,
    divides: bool = False,
) -> tuple[Callable[[int, int], Floats], Callable[[Floats], Floats]]:
    """Return how a framework rotates a tensor, and the norms of its pairs: q cos + rotate_half(q) sin.

    If a factor multiplies queries or divides keys, cos and sin are multiplied by it, or by its reciprocal.

    Parameters
    ----------
    tensor : Tensor
        Queries or keys.
    table : Tabular
        cos and sin (n, pairs), of the type of the arithmetic.
    pairing : HeadPairs
        Which columns turn together.
    rows : (b, n) int64 ndarray, optional
        Which row of the table each position of each batch has.
    arithmetic : str
        The type of every step.
    factor : str, optional
        The array of the table, (n, pairs) or (n, 1), that scales.
    divides : bool
        Whether by its reciprocal.
    """
    width = 2 * table.array("cos").shape[1]

    def steps(start: int, stop: int) -> Floats:
        numbers = np.arange(start, stop, dtype=np.int64)
        where = tensor.rows(numbers, rows)
        low = int(where.min())
        names = ["cos", "sin", *([factor] if factor else [])]
        held = table.read_rows(names, low, int(where.max()) + 1)
        cos, sin, *scale = (widen(held[name], table.array(name).dtype)[where - low] for name in names)
        for size in scale:
            times = rounded(1 / size, arithmetic) if divides else size
            cos, sin = rounded(cos * times, arithmetic), rounded(sin * times, arithmetic)
        given = rounded(tensor.read(start, stop), arithmetic)
        out = given.copy()
        x, y = members(given, width, pairing.taken)
        first, second = members(out, width, pairing.given)
        with np.errstate(all="ignore"):
            first[...] = rounded(rounded(x * cos, arithmetic) + rounded(-y * sin, arithmetic), arithmetic)
            second[...] = rounded(rounded(y * cos, arithmetic) + rounded(x * sin, arithmetic), arithmetic)
        return out

    def sizes(exact: Floats) -> Floats:
        return pair_norms(exact, width, pairing.given == "interleaved")

    return steps, sizes


def adding_steps(
    tensor: Tensor, table: Tabular, factor: float, rows: Integers | None, arithmetic: str
) -> tuple[Callable[[int, int], Floats], Callable[[Floats], Floats]]:
    """Return how a framework adds a table's rows (n, width) to a tensor that a factor multiplies first."""
    name = table.arrays[0].name

    def steps(start: int, stop: int) -> Floats:
        where = tensor.rows(np.arange(start, stop, dtype=np.int64), rows)
        low = int(where.min())
        held = widen(table.read_rows([name], low, int(where.max()) + 1)[name], table.array(name).dtype)[where - low]
        given = rounded(tensor.read(start, stop), arithmetic)
        with np.errstate(all="ignore"):
            scaled = rounded(given * rounded(np.array([factor]), arithmetic), arithmetic)
            return rounded(scaled + rounded(held, arithmetic), arithmetic)

    return steps, np.abs
