"""Values computed digit by digit with mpmath, to hold tables against."""

import mpmath
import numpy as np

DIGITS = 60


def number(value):
    """A decimal as written, or a fraction, exactly."""
    return mpmath.mpf(value.numerator) / value.denominator if hasattr(value, "numerator") else mpmath.mpf(str(value))


def power(base, exponent):
    """base^exponent of numbers as written."""
    with mpmath.workdps(DIGITS):
        return mpmath.power(number(base), number(exponent))


def matches(made, expected, ulps=1):
    """Whether float64 values are within so many units of the last place of the expected mpmath numbers."""
    exact = np.array([[float(v) for v in row] for row in expected])
    assert made.shape == exact.shape, (made.shape, exact.shape)
    return bool((np.abs(made - exact) <= ulps * np.spacing(np.abs(exact))).all())


def waves(rows):
    """Sines or cosines of rows of (function, angle)."""
    with mpmath.workdps(DIGITS):
        functions = {"sin": mpmath.sin, "cos": mpmath.cos}
        found = [[functions[f](angle) if f in functions else angle for f, angle in row] for row in rows]
        return [[v if abs(v) > 1e-50 else mpmath.mpf(0) for v in row] for row in found]  # the sine of pi, as of zero
