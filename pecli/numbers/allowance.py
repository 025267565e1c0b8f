"""How far whoever computes in float32 may be from the exact values."""

from __future__ import annotations

from pecli.numbers.types import GRIDS


def allowance(largest: float, dtype: str, last: int) -> float:
    """Return how far a kernel may be from the exact values.

    An angle of position p made in float32 is off by at most p u (its frequency) and p u (the product), u = 2^-24,
    which moves a value by that times the pair's length, at most sqrt(2) times the largest input. cos, sin, two
    products and their sum, and the output, are rounded in the inputs' type: 4 roundings of at most that length.

    Examples
    --------
    >>> allowance(1.0, "float32", 0) == 2**0.5 * 4 * 2**-24
    True
    """
    angle = 2 * last * GRIDS["float32"].rounding
    return 2**0.5 * largest * (angle + 4 * GRIDS[dtype].rounding)
