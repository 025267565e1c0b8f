"""Bits of a position, whichever comes first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from pecli.declare.guess import Guess
from pecli.measures.evidence import Evidence
from pecli.numbers.positions import LIMIT

RIGHT = 0.5  # share of the rows that must follow a code, where others are spoiled
LEAST_ROWS = 4  # the bits of two or three rows may stand in line by chance


def recognise(evidence: Evidence) -> Iterator[Guess]:
    """Yield binary and Gray codes; the first row and the changes say where they start."""
    values = evidence.rows
    if values is None or len(values) < 2 or not values.any():
        return
    low = -1 if (values == -1).any(axis=1).mean() > RIGHT else 0
    right = ((values == low) | (values == 1)).all(axis=1)
    if right.mean() < RIGHT:
        return
    width = values.shape[1]
    bits = (values > 0).astype(object)
    for msb in (False, True):
        numbers = bits @ [1 << (width - 1 - i if msb else i) for i in range(width)]
        for code in ("binary", "gray"):
            decoded = [int(n) if code == "binary" else _from_gray(int(n)) for n in numbers]
            ((step, often),) = Counter(b - a for a, b in pairwise(decoded)).most_common(1)
            ((start, same),) = Counter(n - step * k for k, n in enumerate(decoded)).most_common(1)
            if min(often, same) < RIGHT * (len(decoded) - 1) or not (0 < abs(step) < LIMIT and 0 <= start < LIMIT):
                continue
            keys = {"dim": str(width), "msb": str(msb).lower(), "code": code, "signed": str(low < 0).lower()}
            table = {"start": str(start), "step": str(step), **evidence.length}
            yield Guess("binary", keys, table, 2.0 + msb + (code != "binary"), listed=len(values) < LEAST_ROWS)


def _from_gray(number: int) -> int:
    found = 0
    while number:
        found ^= number
        number >>= 1
    return found
