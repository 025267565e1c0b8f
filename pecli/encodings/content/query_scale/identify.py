"""Factors on the queries that grow with the logarithm of the position."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from pecli.numbers.decimals import digits, number_text, shortest
from pecli.spec.profiles import Candidate, CodeRows, units


def identify(rows: CodeRows) -> Iterator[Candidate]:
    """Yield factors that grow in steps, or from the training's length on."""
    values = rows.values[:, 0]
    if rows.values.shape[1] != 1 or len(values) < 3 or values[0] != 1 or not (values >= 1).all():
        return
    grown = np.flatnonzero(values > 1)
    if not len(grown):
        return
    first, last = int(grown[0]), len(values) - 1
    off = float(units(values[last:], rows.effective_dtype)[0])
    for kind, length in (("llama4", first + 1), ("ministral", first)):
        steps = math.log1p((last + (kind == "llama4")) // length)
        beta = shortest((values[last] - 1 - off) / steps, (values[last] - 1 + off) / steps)
        if beta > 0:
            keys = {"kind": kind, "length": str(length), "beta": number_text(beta)}
            yield Candidate("query-scale", keys, rows.table, fitted=digits(beta), ulp=4.0)
    if first >= 2:
        yield Candidate("query-scale", {"kind": "log-n", "length": str(first)}, rows.table, ulp=4.0)
