"""Double-double arithmetic, against fractions."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np

from pecli.numbers.double_double import DoubleDouble, add, divide, from_decimal, multiply, two_prod, two_sum

U = Fraction(1, 2**53)


def exact(number: DoubleDouble, i: int) -> Fraction:
    return Fraction(float(number.hi[i])) + Fraction(float(number.lo[i]))


def samples(seed: int) -> DoubleDouble:
    rng = np.random.default_rng(seed)
    hi = np.ldexp(rng.uniform(-1, 1, 500), rng.integers(-40, 40, 500))
    return DoubleDouble(*two_sum(hi, hi * rng.uniform(-1, 1, 500) * 2.0**-54))


def test_sums_and_products_of_doubles_lose_nothing() -> None:
    a, b = samples(1).hi, samples(2).hi
    for operation, whole in ((two_sum, Fraction.__add__), (two_prod, Fraction.__mul__)):
        hi, lo = operation(a, b)
        for x, y, h, rest in zip(a.tolist(), b.tolist(), hi.tolist(), lo.tolist(), strict=True):
            assert Fraction(h) + Fraction(rest) == whole(Fraction(x), Fraction(y))


def test_operations_keep_their_error_bounds() -> None:
    a, b = samples(3), samples(4)
    cases = [(add, Fraction.__add__, 3), (multiply, Fraction.__mul__, 7), (divide, Fraction.__truediv__, 15)]
    for operation, whole, units in cases:
        got = operation(a, b)
        for i in range(500):
            true = whole(exact(a, i), exact(b, i))
            assert abs(exact(got, i) - true) <= units * U * U * abs(true)
            assert float(got.hi[i]) == float(got.hi[i]) + float(got.lo[i])


def test_operators_are_the_functions() -> None:
    a, b = samples(5), samples(6)
    for one, other in ((a + b, add(a, b)), (a * b, multiply(a, b)), (a / b, divide(a, b)), (a - b, add(a, -b))):
        assert np.array_equal(one.hi, other.hi)
        assert np.array_equal(one.lo, other.lo)


def test_exact_numbers_become_their_nearest_doubled() -> None:
    third = from_decimal(Fraction(1, 3))
    assert float(third.hi) == 1 / 3
    assert abs(Fraction(float(third.hi)) + Fraction(float(third.lo)) - Fraction(1, 3)) < U * U / 3
    several = from_decimal([Decimal("0.1"), 3, Fraction(-1, 7)])
    assert several.hi.tolist() == [0.1, 3.0, -1 / 7]
    assert abs(exact(several, 0) - Fraction(1, 10)) < U * U
    assert several.lo[1] == 0.0
