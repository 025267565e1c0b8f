"""Scores on a board: a query and a key of four numbers, and products written out."""

from __future__ import annotations

from collections.abc import Sequence

from pecli.numbers.printing import figure

DIGITS = 4  # of a factor: of three decimals a small one keeps too few to work with
QUERY, KEY = (1.0, -0.5, 0.25, 2.0), (0.5, 1.0, -1.0, 0.25)


def product(a: Sequence[float], b: Sequence[float]) -> tuple[str, float]:
    """Return a scalar product written out, and its value."""
    pairs = list(zip(a, b, strict=False))
    total = sum(x * y for x, y in pairs)
    return f"{' + '.join(f'{_said(x)} x {_said(y)}' for x, y in pairs)} = {_said(total)}", total


def _said(value: float) -> str:
    return figure(value, DIGITS)
