"""The content that a table needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pecli.declare.encoding import Param

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

Content = Annotated[
    str, Param("Content, a row of numbers for each position: a file (npy, text ..), or a recipe.", metavar="SOURCE")
]
