"""Parameters of axial rotary tables."""

from __future__ import annotations

from typing import Annotated, Literal

from pecli.declare.encoding import Param

Halves = Annotated[
    Literal["whole", "axis"],
    Param("In the layout half: two halves for the whole head, or for each side's block (Gemma 4, V-JEPA 2)."),
]
