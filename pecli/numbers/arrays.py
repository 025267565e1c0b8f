"""Arrays in files, of which only what is asked for is read."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pecli.errors import BadFile
from pecli.numbers.limits import limit, size_text

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LARGEST_TEXT = 16 << 20
"""Bytes of a text of numbers, which is read whole: 2^20 doubles written in full."""

LARGEST_ARRAY = 1 << 30
"""Bytes of an array that is read whole."""


@dataclass(frozen=True)
class StoredArray:
    """One array of real numbers in a file; its values are read when they are asked for.

    Parameters
    ----------
    path, name : str
        The file as it was named, and what the array is called in it.
    shape : tuple of int
        Of the array; ``()`` for a single number.
    fetch : callable
        Of a first and a last (exclusive) index along the first axis, gives those values as they are stored,
        bfloat16 as float64.
    item_bytes : int
        Of one value.
    """

    path: str
    name: str
    shape: tuple[int, ...]
    fetch: Callable[[int, int], NDArray[Any]]
    item_bytes: int = 8

    def reshape(self, *shape: int) -> StoredArray:
        """Return the same values in another shape (one side may be -1); they are read whole then."""

        def fetch(start: int, stop: int) -> NDArray[Any]:
            return self.stored().reshape(shape)[start:stop]

        rest = math.prod(self.shape) // max(1, math.prod(side for side in shape if side != -1))
        return replace(self, shape=tuple(rest if side == -1 else side for side in shape), fetch=fetch)

    def rows(self, start: int, stop: int) -> NDArray[np.float64]:
        """Return entries `start` to `stop` of the first axis as float64; :class:`BadFile` where one is not finite."""
        import numpy as np

        return np.ascontiguousarray(self._finite(start, stop), np.float64)

    def values(self) -> NDArray[np.float64]:
        """Return all values as float64, (*shape); :class:`BadFile` where one is not finite or they are too many."""
        import numpy as np

        return self.stored().astype(np.float64)

    def stored(self, most: int = LARGEST_ARRAY) -> NDArray[Any]:
        """Return all values in their own type; :class:`BadFile` where they take more than `most` bytes."""
        size = math.prod(self.shape) * self.item_bytes
        if size > limit(most):
            raise BadFile(self.path, f"holds {size:,} bytes in '{self.name}', of which {size_text(limit(most))} here")
        return self._finite(0, self.shape[0] if self.shape else 1).reshape(self.shape)

    def _finite(self, start: int, stop: int) -> NDArray[Any]:
        import numpy as np

        values = self.fetch(start, stop)
        if values.dtype.kind == "c":
            raise BadFile(self.path, f"holds {values.dtype} in '{self.name}': only real numbers mean something here")
        if not np.isfinite(values).all():
            raise BadFile(self.path, f"holds a value in '{self.name}' that is not finite")
        return values
