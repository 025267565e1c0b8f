"""What a longer table made of trained rows is like, beside the rows it came from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pecli.declare.tabular import Tabular
from pecli.extrapolation.resize import trained_rows
from pecli.numbers.rounding import widen

LOOKED_AT = 1 << 14


@dataclass(frozen=True)
class ExtensionReach:
    """Figures of trained rows and of the longer table.

    Attributes
    ----------
    source, way, name, dtype : str
    shape : tuple of int
        Of the longer table.
    rows, new_rows : int
    norm, new_norm : float
        Mean length of a row.
    step, new_step : float
        Mean distance of neighbouring rows: what a longer table loses in resolution.
    repeated : int
        Rows of the longer table that equal another one (among those looked at).
    looked_at : int
        Rows of the longer table that the figures come from, the first ones.
    """

    source: str
    way: str
    name: str
    dtype: str
    shape: tuple[int, ...]
    rows: int
    new_rows: int
    norm: float
    new_norm: float
    step: float
    new_step: float
    repeated: int
    looked_at: int


def extension_reach(source: str, table: Tabular, longer: Tabular, way: str) -> ExtensionReach:
    """Return the figures of a longer table beside its rows."""
    rows, array = trained_rows(table)
    made = longer.arrays[0]
    count = min(made.rows, LOOKED_AT)
    with np.errstate(all="ignore"):  # any bits may stand in a file
        old, new = widen(rows, array.dtype), widen(longer.read_rows([made.name], 0, count)[made.name], made.dtype)
        return ExtensionReach(
            source, way, made.name, made.dtype, made.shape, rows=len(old), new_rows=made.rows,
            norm=_norm(old), new_norm=_norm(new), step=_norm(np.diff(old, axis=0)),
            new_step=_norm(np.diff(new, axis=0)), repeated=len(new) - len(np.unique(new, axis=0)), looked_at=count,
        )  # fmt: skip


def _norm(rows: NDArray[np.float64]) -> float:
    """Return the mean length of the rows, 0 where there are none."""
    return float(np.sqrt((rows * rows).sum(1)).mean()) if len(rows) else 0.0
