"""Parameters of rotary tables with decay."""

from __future__ import annotations

from typing import Annotated

from pecli.declare.encoding import Param
from pecli.encodings.shared.parameters import HEAD_WIDTH, NO_MODEL

HeadDim = Annotated[
    int, Param("Width of one attention head.", ge=2, le=1 << 20, even=True, names=HEAD_WIDTH, wrong=NO_MODEL)
]
