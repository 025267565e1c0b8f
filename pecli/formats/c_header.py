"""A C header: each array as ``static const``, in decimals that a compiler rounds back to the same values.

float16 and bfloat16, which C lacks, are the floats that they are exactly.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.formats.decimals import shortest
from pecli.formats.format import INTEGERS, Draft, WriteOptions
from pecli.formats.io.output import Output
from pecli.formats.layout import in_order
from pecli.formats.stored import plain
from pecli.numbers.rounding import widen
from pecli.spec.tabular import Array, Tabular

Literals = Callable[[NDArray[Any]], list[str]]
_NUMBERS = {"inf": "INFINITY", "-inf": "-INFINITY", "nan": "NAN"}
_TYPES = {"float64": "double", "bool": "uint8_t"}


def draft(table: Tabular, options: WriteOptions) -> Draft:
    """Plan a C header in which every array holds literals of its own type."""

    def write(output: Output) -> None:
        begin(table, output)
        for array in table.arrays:
            kind = f"{array.dtype}_t" if array.dtype in INTEGERS else "float"
            blocks = in_order(table, array, options)
            declare(array, _TYPES.get(array.dtype, kind), blocks, _literals(array), output)
        output.write(b"\n#endif\n")

    return Draft(write, None, 4 * sum(array.bytes // max(1, array.row_bytes) for array in table.arrays))


def begin(table: Tabular, output: Output) -> None:
    """Write the include guard and a comment that gives pecli's version and the recipe."""
    from pecli.version import __version__

    guard = f"{_word(output)}_H".upper()
    fact = f"pecli {__version__}: {plain(table.recipe or 'a table without a recipe')}"
    comment = fact.replace("*/", "* /").replace("\\", "/")
    text = f"/*\n * {comment}\n */\n#ifndef {guard}\n#define {guard}\n\n#include <math.h>\n#include <stdint.h>\n"
    output.write(text.encode("ascii", "backslashreplace"))


def declare(array: Array, kind: str, blocks: Iterator[NDArray[Any]], literals: Literals, output: Output) -> None:
    """Write one array, nested as its axes are."""
    shape = array.shape or (1,)
    sizes = "".join(f"[{size}]" for size in shape)
    output.write(f"\nstatic const {kind} {name_of(array, output)}{sizes} = {{\n".encode())
    width = shape[-1] if len(shape) > 1 else 1
    levels = list(accumulate(reversed(shape[1:-1]), lambda product, size: product * size))  # rows that a brace holds
    row = 0
    for values in blocks:
        flat = values.reshape(-1)
        lines = []
        for at in range(0, flat.size, 1 << 12 if width == 1 else width):
            texts = literals(flat[at : at + (1 << 12 if width == 1 else width)])
            if width == 1 and len(shape) == 1:
                lines += [f"{text},\n" for text in texts]
                continue
            for first in range(0, len(texts), width):
                opens = "{" * sum(row % size == 0 for size in levels)
                row += 1
                closes = "}" * sum(row % size == 0 for size in levels)
                body = ", ".join(texts[first : first + width])
                lines.append(f"{opens}{{{body}}}{closes},\n")
        output.write("".join(lines).encode())
    output.write(b"};\n")


def name_of(array: Array, output: Output) -> str:
    """Return the C identifier of an array: after the file and itself."""
    return f"{_word(output)}_{re.sub(r'[^A-Za-z0-9_]', '_', array.name)}"


def _word(output: Output) -> str:
    stem = os.path.splitext(os.path.basename(output.target))[0] if output.kept else "table"
    word = re.sub(r"[^A-Za-z0-9_]", "_", stem) or "table"
    return f"table_{word}" if word[0].isdigit() or word[0] == "_" else word


def _literals(array: Array) -> Literals:
    def literals(values: NDArray[Any]) -> list[str]:
        if array.dtype in INTEGERS:
            return shortest(values)
        if array.dtype != "float64":
            wide = widen(values, array.dtype) if array.dtype == "bfloat16" else values
            values = wide.astype(np.float32)  # exact
        mark = "" if array.dtype == "float64" else "f"
        return [_NUMBERS.get(text) or text + mark for text in shortest(values)]

    return literals
