"""The content that a table needs."""

from __future__ import annotations

from typing import Annotated

from pecli.declare.encoding import Param

Content = Annotated[
    str, Param("Content, a row of numbers for each position: a file (npy, text ..), or a recipe.", metavar="SOURCE")
]
