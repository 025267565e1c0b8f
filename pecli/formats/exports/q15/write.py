"""Writing fixed-point numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.declare.tabular import Array, Tabular
from pecli.errors import BadParameter
from pecli.formats.common.decimals import shortest
from pecli.formats.common.format import Draft, WriteOptions
from pecli.formats.common.output import Output
from pecli.formats.common.places import in_order
from pecli.formats.exports.c.write import begin, declare, end, name_of
from pecli.numbers.rounding import widen
from pecli.tables.table import Table

NOTE = "16-bit fixed point: a value is its integer times the array's SCALE, rounded to nearest; 32767 may stand for 1."


def draft(table: Tabular, options: WriteOptions) -> Draft:
    """Write every array as int16, rounded from the real values where those are computed.

    They come by way of float64, which holds them correctly rounded: that differs from one rounding only where a
    float64 lies exactly in the middle of two integers and the real value does not, one in some 10^11.
    """
    exact = table.as_type("float64") if isinstance(table, Table) and table.request.arithmetic == "exact" else table

    def write(output: Output) -> None:
        begin(exact, output, NOTE)
        for array in exact.arrays:
            power = _power(exact, array, options)
            name = name_of(array, output)
            scale = f"\n#define {name.upper()}_SCALE {2.0 ** (power - 15)!r}f /* 2^{power - 15} */\n"
            output.write(scale.encode())
            declare(array, "int16_t", _integers(exact, array, power, options), shortest, output)
        end(output)

    return Draft(write, None, 2 * sum(array.bytes // max(1, array.row_bytes) for array in table.arrays))


def _power(table: Tabular, array: Array, options: WriteOptions) -> int:
    """Return the least power of two, from 1 on, that no value exceeds in size."""
    largest = 0.0
    for values in _floats(table, array, options):
        largest = max(largest, float(np.abs(values).max(initial=0.0)))
        if not np.isfinite(values).all():
            rule = f"has no infinity and no NaN, and '{array.name}' has: use c"
            raise BadParameter("format", "q15", rule)
    fraction, power = math.frexp(largest)
    return max(0, power - (fraction == 0.5))


def _integers(table: Tabular, array: Array, power: int, options: WriteOptions) -> Iterator[NDArray[Any]]:
    for values in _floats(table, array, options):
        yield np.rint(values * 2.0 ** (15 - power)).clip(-32768, 32767).astype(np.int16)  # the product is exact


def _floats(table: Tabular, array: Array, options: WriteOptions) -> Iterator[NDArray[Any]]:
    quiet = WriteOptions(options.threads)  # each value is asked for twice, and counted once
    for values in in_order(table, array, quiet):
        yield widen(values, array.dtype).astype(np.float64)
