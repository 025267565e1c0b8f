"""A C header: each array as ``static const``, in decimals that a compiler rounds back to the same values.

float16 and bfloat16, which C lacks, are the floats that they are exactly.
"""

from __future__ import annotations

import os
import re
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.formats.decimals import shortest
from pecli.formats.format import INTEGERS, Draft, WriteOptions
from pecli.formats.io.output import Output
from pecli.formats.json import write_nested
from pecli.formats.stored import plain
from pecli.numbers.rounding import widen
from pecli.spec.tabular import Tabular
from pecli.version import __version__

_NUMBERS = {"inf": "INFINITY", "-inf": "-INFINITY", "nan": "NAN"}
_TYPES = {"float64": "double", "bool": "uint8_t"}


def draft(table: Tabular, options: WriteOptions) -> Draft:
    """Plan a C header in which every array holds literals of its own type."""

    def write(output: Output) -> None:
        _begin(table, output)
        for array in table.arrays:
            kind = f"{array.dtype}_t" if array.dtype in INTEGERS else "float"
            name = f"{_word(output)}_{re.sub(r'[^A-Za-z0-9_]', '_', array.name)}"
            sizes = "".join(f"[{size}]" for size in array.shape)
            output.write(f"\nstatic const {_TYPES.get(array.dtype, kind)} {name}{sizes} =".encode())
            write_nested(table, array, output, options, partial(_literals, array.dtype), ("{", "}"), ", ")
            output.write(b";\n")
        output.write(b"\n#endif\n")

    return Draft(write, None, 4 * sum(array.bytes // max(1, array.row_bytes) for array in table.arrays))


def _begin(table: Tabular, output: Output) -> None:
    """Write the include guard and a comment that gives pecli's version and the recipe."""
    guard = f"{_word(output)}_H".upper()
    fact = f"pecli {__version__}: {plain(table.recipe or 'a table without a recipe')}"
    comment = fact.replace("*/", "* /").replace("\\", "/")
    text = f"/*\n * {comment}\n */\n#ifndef {guard}\n#define {guard}\n\n#include <math.h>\n#include <stdint.h>\n"
    output.write(text.encode("ascii", "backslashreplace"))


def _word(output: Output) -> str:
    stem = os.path.splitext(os.path.basename(output.target))[0] if output.kept else "table"
    word = re.sub(r"[^A-Za-z0-9_]", "_", stem) or "table"
    return f"table_{word}" if word[0].isdigit() or word[0] == "_" else word


def _literals(dtype: str, values: NDArray[Any]) -> list[str]:
    if dtype in INTEGERS:
        return shortest(values)
    if dtype != "float64":
        values = (widen(values, dtype) if dtype == "bfloat16" else values).astype(np.float32)  # exact
    mark = "" if dtype == "float64" else "f"
    return [_NUMBERS.get(text) or text + mark for text in shortest(values)]
