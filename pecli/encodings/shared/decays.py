"""Parameters of rotary tables with decay."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pecli.declare.encoding import Param

if TYPE_CHECKING:
    pass

HeadDim = Annotated[int, Param("Width of one attention head.", ge=2, le=1 << 20, even=True)]
