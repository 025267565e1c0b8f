"""What people get instead of Shaw's index: distances that go around where they should be clipped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np
from numpy.typing import NDArray

from pecli.declare.changes import Change


def mistakes(keys: Mapping[str, str]) -> Iterator[Change]:
    """Yield distances modulo the rows of the table, counted from its first row and from its middle one."""
    clip = int(keys["clip"])
    rows = clip + int(keys.get("right", clip)) + 1
    sign = -1 if keys.get("backward") == "true" else 1

    def around(by: int, name: str, values: NDArray[np.float64], first: int) -> NDArray[np.float64]:
        if name != "index" or values.ndim != 2:
            return values
        distance = sign * (np.arange(values.shape[1]) - (first + np.arange(len(values)))[:, None])
        return np.asarray((distance + by) % rows, np.float64)

    for by, said in ((clip, "key - query + clip"), (0, "key - query")):
        text = f"distances go around where they should be clipped: the index is ({said}) modulo {rows}"
        yield Change("clip", text, values=partial(around, by))
