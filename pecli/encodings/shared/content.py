"""The content that a table needs."""

from __future__ import annotations

from typing import Annotated

from pecli.declare.encoding import Param
from pecli.encodings.shared.parameters import WIDEST

Channels = Annotated[int | None, Param("Channels that the content must have (default: as it has).", ge=1, le=WIDEST)]
Content = Annotated[
    str, Param("Content, a row of numbers for each position: a file (npy, text ..), or a recipe.", metavar="SOURCE")
]
