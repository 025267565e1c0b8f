"""Parameters that several encodings share, each written once."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated

from pecli.declare.changes import other_values
from pecli.declare.encoding import Param
from pecli.declare.words import USUAL_BASES

Dim = Annotated[int, Param("Width of each vector.", ge=1, le=1 << 20)]
OTHER_BASES = other_values(*USUAL_BASES)
Base = Annotated[
    Decimal, Param("Base of the geometric series of frequencies (theta).", ge=1e-6, le=1e30, mistaken=OTHER_BASES)
]
Heads = Annotated[int, Param("Number of attention heads.", ge=1, le=1 << 16)]
Seed = Annotated[int, Param("Seed of the drawn values.", ge=0, lt=1 << 64)]
MaxLen = Annotated[
    int | None, Param("Rows of the whole table (default: the table's own length).", ge=1, lt=1 << 53, of_table="length")
]
