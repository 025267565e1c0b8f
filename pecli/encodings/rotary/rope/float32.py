"""Steps that the frameworks' float32 arithmetic of frequencies is made of."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

from pecli.encodings.shared.kernel_types import Float32 as Float32
from pecli.numbers.decimals import CONTEXT


def powers(base: float | Decimal, d: int, stop: int | None = None) -> Float32:
    """Return base^(k/d) for k = 0, 2, .. below `stop` (default: d): base and exponent float32, the power rounded."""
    import numpy as np

    return powers_of(base, np.arange(0, d if stop is None else stop, 2, dtype=np.float32) / np.float32(d))


def powers_of(base: float | Decimal, exponents: Float32) -> Float32:
    """Return a base, rounded to float32, to float32 powers."""
    import numpy as np

    rounded = Decimal(float(np.float32(float(base))))
    if rounded == 1:
        return np.ones(len(exponents), np.float32)
    logarithm = CONTEXT.ln(rounded)
    return nearest(CONTEXT.exp(CONTEXT.multiply(logarithm, Decimal(float(e)))) for e in exponents)


def inverse_powers(base: float | Decimal, d: int, stop: int | None = None) -> Float32:
    """Return one over the `powers`."""
    import numpy as np

    found: Float32 = np.float32(1) / powers(base, d, stop)
    return found


def nearest(values: Iterable[Decimal]) -> Float32:
    """Return exact values rounded to double precision, as Python holds a config's, and then to float32."""
    import numpy as np

    return np.array([float(value) for value in values], np.float32)
