"""Rounding to storage types, against exact fractions."""

from __future__ import annotations

import math
import random
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from pecli.engine import STORAGE, narrow, widen
from pecli.errors import BadParameter
from pecli.numbers.double_double import DoubleDouble, add, divide, from_decimal, multiply, two_prod, two_sum

# precision in bits, smallest normal exponent, largest exponent
TYPES = {"float16": (11, -14, 15), "bfloat16": (8, -126, 127), "float32": (24, -126, 127)}


def reference(value: Fraction, dtype: str) -> float:
    """Round to nearest, ties to even, by comparing fractions."""
    precision, lowest, highest = TYPES[dtype]
    if value < 0:
        return -reference(-value, dtype)
    if not value:
        return 0.0
    exponent = max(math.floor(math.log2(value)) - 2, -2000)
    while Fraction(2) ** (exponent + 1) <= value:
        exponent += 1
    spacing = Fraction(2) ** (max(exponent, lowest) - precision + 1)
    below = value // spacing
    rest = value - below * spacing
    if rest > spacing / 2 or (rest == spacing / 2 and below % 2):
        below += 1
    rounded = below * spacing
    return math.inf if rounded >= Fraction(2) ** (highest + 1) else float(rounded)


def midpoints(dtype: str, rng: random.Random, count: int) -> list[float]:
    """Numbers midway between neighbours: normal, subnormal, at powers of two, at overflow."""
    precision, lowest, highest = TYPES[dtype]
    found = []
    for _ in range(count):
        exponent = rng.choice([lowest - precision + 1, lowest - 1, lowest, highest, rng.randint(lowest, highest)])
        significand = rng.choice([1 << (precision - 1), (1 << precision) - 1, rng.getrandbits(precision - 1)])
        spacing = Fraction(2) ** (max(exponent, lowest) - precision + 1)
        found.append(float((significand + Fraction(1, 2)) * spacing))
    return [*found, *(-f for f in found)]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("rest", ["none", "zero", "above", "below"])
def test_ties_go_by_the_rest_and_else_to_even(dtype: str, rest: str) -> None:
    values = np.array(midpoints(dtype, random.Random(1), 300))
    small = {"none": None, "zero": 0.0, "above": 1e-300, "below": -1e-300}[rest]
    lo = None if small is None else np.full(values.shape, small)
    got = widen(narrow(values, lo, dtype), dtype)
    expected = [reference(Fraction(v) + Fraction(small or 0.0), dtype) for v in values.tolist()]
    assert got.tolist() == expected


@pytest.mark.parametrize("dtype", TYPES)
def test_neighbours_of_ties_ignore_the_rest(dtype: str) -> None:
    ties = np.array(midpoints(dtype, random.Random(2), 200))
    for direction in (np.inf, -np.inf):
        values = np.nextafter(ties, direction)
        expected = [reference(Fraction(v), dtype) for v in values.tolist()]
        for rest in (None, np.full(values.shape, 1e-300), np.full(values.shape, -1e-300)):
            assert widen(narrow(values, rest, dtype), dtype).tolist() == expected


@pytest.mark.parametrize("dtype", TYPES)
def test_any_double_is_rounded_as_its_fraction(dtype: str) -> None:
    rng = np.random.default_rng(3)
    bits = rng.integers(0, 2**64, 4000, dtype=np.uint64)
    values = bits.view(np.float64)
    precision, lowest, highest = TYPES[dtype]
    near = np.ldexp(rng.uniform(-2, 2, 4000), rng.integers(lowest - precision - 2, highest + 2, 4000))
    values = np.concatenate([values[np.isfinite(values)], near])
    expected = [reference(Fraction(v), dtype) for v in values.tolist()]
    assert widen(narrow(values, None, dtype), dtype).tolist() == expected


def test_bfloat16_is_never_rounded_by_way_of_float32() -> None:
    # just above the midpoint 1 + 2^-8, which float32 would make of it: then even would go down to 1
    value = np.array([1 + 2.0**-8 + 2.0**-40])
    assert widen(narrow(value, None, "bfloat16"), "bfloat16").tolist() == [1 + 2.0**-7]
    assert widen(narrow(np.array([1 + 2.0**-11 + 2.0**-40]), None, "float16"), "float16").tolist() == [1 + 2.0**-10]


@pytest.mark.parametrize("dtype", STORAGE)
def test_infinity_not_a_number_and_signed_zeros_pass(dtype: str) -> None:
    values = np.array([np.inf, -np.inf, np.nan, 0.0, -0.0])
    for rest in (None, np.zeros(5)):
        got = widen(narrow(values, rest, dtype), dtype)
        assert got[0] == np.inf
        assert got[1] == -np.inf
        assert np.isnan(got[2])
        assert np.signbit(got[3:]).tolist() == [False, True]


def test_a_bfloat16_nan_stays_one_whatever_its_payload() -> None:
    values = np.array([0x7FF0000000000001], dtype=np.uint64).view(np.float64)
    assert np.isnan(widen(narrow(values, None, "bfloat16"), "bfloat16")).all()


@pytest.mark.parametrize("dtype", STORAGE)
def test_the_result_goes_into_views_of_any_strides(dtype: str) -> None:
    values = np.linspace(-3, 3, 12).reshape(3, 4)
    whole = np.zeros((6, 8), STORAGE[dtype])
    view = whole[::-2, ::2]
    assert narrow(values, None, dtype, view) is view
    assert view.tolist() == narrow(values, None, dtype).tolist()
    assert not whole[:, 1::2].any()


def test_widen_gives_the_value_of_bfloat16_bits() -> None:
    bits = np.array([0x3F80, 0xC000, 0x0001, 0x7F80], dtype=np.uint16)
    assert widen(bits, "bfloat16").tolist() == [1.0, -2.0, 2.0**-133, np.inf]


def test_all_stored_values_come_back() -> None:
    every = np.arange(65536, dtype=np.uint16)
    for dtype in ("float16", "bfloat16"):
        stored = every.view(STORAGE[dtype])
        values = widen(stored, dtype)
        finite = ~np.isnan(values)
        assert np.array_equal(narrow(values[finite], None, dtype).view(np.uint16), every[finite])


def test_an_unknown_type_is_named() -> None:
    with pytest.raises(BadParameter, match=r"dtype=float8 .*float16, bfloat16, float32, float64"):
        narrow(np.zeros(1), None, "float8")


# Double-double arithmetic, against fractions.

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
