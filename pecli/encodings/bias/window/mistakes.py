"""What people get instead of a window's index: its axes exchanged, the wrong side multiplied."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np
from numpy.typing import NDArray

from pecli.declare.changes import Change


def mistakes(keys: Mapping[str, str]) -> Iterator[Change]:
    """Yield other numbers of an offset's two sides, each with what the row's and the column's are multiplied by."""
    if keys["version"] != "1" or keys["cls"] == "true":
        return
    height, width = map(int, keys["grid"].split("x"))
    ways = (
        ("the index counts columns first: (dx + w - 1)(2h - 1) + dy + h - 1", 1, 2 * height - 1),
        ("the row's offset is multiplied by 2h - 1 where 2w - 1 was expected", 2 * height - 1, 1),
        ("the row's offset is not multiplied by 2w - 1: different offsets share an index", 1, 1),
    )
    for said, by_row, by_column in ways:
        yield Change("index", said, values=partial(_counted, (height, width), (by_row, by_column)))


def _counted(
    grid: tuple[int, int], by: tuple[int, int], name: str, values: NDArray[np.float64], first: int
) -> NDArray[np.float64]:
    """Return rows of the array ``index`` with other multiples of an offset's sides."""
    height, width = grid
    if name != "index" or values.ndim != 2:
        return values
    queries, tokens = first + np.arange(len(values))[:, None], np.arange(values.shape[1])
    rows, columns = queries // width - tokens // width, queries % width - tokens % width
    return np.asarray((rows + height - 1) * by[0] + (columns + width - 1) * by[1], np.float64)
