"""Bits of a position, whichever comes first."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from pecli.declare.guess import Guess
from pecli.measures.evidence import Evidence
from pecli.numbers.positions import LIMIT

LEAST_ROWS = 4  # the bits of two or three rows may stand in line by chance


def recognise(evidence: Evidence) -> Iterator[Guess]:
    """Yield binary and Gray codes; the first row and the changes say where they start."""
    values = evidence.matrix
    if values is None or len(values) < 2 or not values.any():
        return
    low = values.min()
    if low not in (-1, 0) or not ((values == low) | (values == 1)).all():
        return
    width = values.shape[1]
    bits = (values > 0).astype(object)
    for msb in (False, True):
        numbers = bits @ [1 << (width - 1 - i if msb else i) for i in range(width)]
        for code in ("binary", "gray"):
            decoded = [int(n) if code == "binary" else _from_gray(int(n)) for n in numbers]
            steps = {b - a for a, b in pairwise(decoded)}
            if len(steps) != 1 or 0 in steps or decoded[0] >= LIMIT:
                continue
            keys = {"dim": str(width), "msb": str(msb).lower(), "code": code, "signed": str(low < 0).lower()}
            table = {"start": str(decoded[0]), "step": str(steps.pop()), **evidence.length}
            yield Guess("binary", keys, table, 2.0 + msb + (code != "binary"), listed=len(values) < LEAST_ROWS)


def _from_gray(number: int) -> int:
    found = 0
    while number:
        found ^= number
        number >>= 1
    return found
