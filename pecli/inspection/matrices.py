"""Matrices made of a table's rows, written like tables: how alike rows are, and what takes each to a later one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.declare.tabular import Array, Tabular
from pecli.errors import BadParameter, UnknownName
from pecli.inspection.bias_properties import is_matrix
from pecli.inspection.rows import RowReader, step_of
from pecli.inspection.samples import Floats

SIMILARITIES = ("dot", "cosine")


class Similarity(Tabular):
    """Products of every row with every other, (n, n) float64, made in blocks of rows.

    Parameters
    ----------
    table : Tabular
        Vectors, one for each position; several arrays stand beside each other.
    kind : {"dot", "cosine"}
        Whether the products are divided by both norms; a row of zeros has cosine 0 with every row.

    Notes
    -----
    Sums are NumPy's in float64: of d columns within d 2^-53 of the sum of the products' sizes.

    Raises
    ------
    UnknownName, BadParameter
        For another word, or a table that holds no vectors.
    """

    def __init__(self, table: Tabular, kind: str) -> None:
        if kind not in SIMILARITIES:
            raise UnknownName("similarity", kind, SIMILARITIES)
        self._rows, self._cosine = _vectors(table, "similarity", kind), kind == "cosine"
        n = self._rows.count
        self.arrays = (Array(kind, (n, n), "float64", ("query", "key")),)
        self.recipe, self.metadata = None, {"similarity": kind, **_of(table)}

    def fill(self, start: int, stop: int, out: Mapping[str, NDArray[Any]]) -> None:
        """Write rows into `out`; see :meth:`pecli.declare.tabular.Tabular.fill`."""
        with np.errstate(all="ignore"):  # any bits may stand in a file
            left = self._read(start, stop)
            for target in out.values():
                for first, rows in self._rows.blocks():
                    right = self._unit(rows)
                    target[:, first : first + len(rows)] = left @ right.T

    def _read(self, start: int, stop: int) -> Floats:
        return self._unit(self._rows.read(start, stop))

    def _unit(self, rows: Floats) -> Floats:
        if not self._cosine:
            return rows
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        return np.asarray(np.divide(rows, norms, out=np.zeros_like(rows), where=norms != 0))


class ShiftMatrix(Tabular):
    """The matrix M with PE(p + k) = M PE(p) for every p, (d, d) float64, made in blocks of rows.

    Of pairs that turn it is a rotation of each pair, by the turn that the first rows make on the average; of other
    tables the one that fits the first rows best.

    Parameters
    ----------
    table : Tabular
        Vectors, one for each position.
    shift : int
        k, at least 1.
    """

    def __init__(self, table: Tabular, shift: int) -> None:
        rows = _vectors(table, "shift-matrix", shift)
        self._step = step_of(rows, shift, ("shift-matrix", shift))
        d, count = rows.columns, min(rows.count, len(rows.sample.planes[0].values))
        values = rows.read(0, count)
        with np.errstate(all="ignore"):
            missed = float(self._step.missed(values[:-shift], values[shift:]).max())
        self.residual = np.inf if np.isnan(missed) else missed
        self.measured = f"the first {count:,} of {rows.count:,} rows" if count < rows.count else f"all {count:,} rows"
        self.arrays = (Array("matrix", (d, d), "float64", ("row", "channel")),)
        self.recipe, self.metadata = None, {"shift": str(shift), "residual": f"{self.residual:.3g}", **_of(table)}

    def fill(self, start: int, stop: int, out: Mapping[str, NDArray[Any]]) -> None:
        """Write rows into `out`; see :meth:`pecli.declare.tabular.Tabular.fill`."""
        for target in out.values():
            target[...] = self._step.rows(start, stop)


def _vectors(table: Tabular, option: str, given: object) -> RowReader:
    if any(is_matrix(table, array) for array in table.arrays):
        raise BadParameter(option, given, "is for vectors of positions, and this table relates two positions")
    return RowReader(table)


def _of(table: Tabular) -> dict[str, str]:
    return {} if table.recipe is None else {"of": table.recipe}
