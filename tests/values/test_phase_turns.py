"""Frequencies in turns: values that are exactly 0, 1/2 or 1, and ties among their multiples."""

from __future__ import annotations

import random
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from pecli.engine import STORAGE, FrequencySet, widen
from tests.support.phase_reference import filled, wrong_values

DTYPES = list(STORAGE)


def octaves(count: int) -> list[Fraction]:
    """2^k pi, in turns."""
    return [Fraction(2**k, 2) for k in range(count)]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "multiples", [range(-640, 640), range(20), [1, -32, 48, 64 * 10**6]], ids=["run", "few", "list"]
)
def test_quarters_of_a_turn_are_exact(dtype: str, multiples: range | list[int]) -> None:
    wheel = FrequencySet([Fraction(1, 4), Fraction(1, 2), Fraction(-3, 4)], turns=True, unit=Fraction(1, 16))
    sine, cosine = (widen(t, dtype) for t in filled(wheel, multiples, dtype, 3))
    for i, multiple in enumerate(multiples):
        for j, frequency in enumerate([1, 2, -3]):
            quarters = Fraction(multiple * frequency, 16)
            if quarters.denominator == 1:
                assert sine[i, j] == [0, 1, 0, -1][int(quarters) % 4]
                assert cosine[i, j] == [1, 0, -1, 0][int(quarters) % 4]
    assert not np.signbit(sine[sine == 0]).any()
    assert not np.signbit(cosine[cosine == 0]).any()


@pytest.mark.parametrize("dtype", DTYPES)
def test_twelfths_of_a_turn_are_exact_halves(dtype: str) -> None:
    wheel = FrequencySet([Fraction(1)], turns=True, unit=Fraction(1, 12))
    for multiples in (range(-60, 1200), [1, 5, 7, 11, 2, 4, 8, 10, -1, 13 * 12 + 5]):
        sine, cosine = (widen(t, dtype)[:, 0] for t in filled(wheel, multiples, dtype, 1))
        for i, multiple in enumerate(multiples):
            assert (sine[i] in (0.5, -0.5)) == (multiple % 12 in (1, 5, 7, 11))
            assert (cosine[i] in (0.5, -0.5)) == (multiple % 12 in (2, 4, 8, 10))
            assert (sine[i] == 0) == (multiple % 6 == 0)
            assert (cosine[i] == 0) == (multiple % 6 == 3)


@pytest.mark.parametrize(("dtype", "bits"), [("float16", 11), ("bfloat16", 8), ("float32", 24), ("float64", 53)])
@pytest.mark.parametrize("many", [False, True])
def test_exact_ties_go_to_even(dtype: str, bits: int, many: bool) -> None:
    # the magnitude lies midway between 1 and its neighbour, and between that and the next
    step = Fraction(2, 2**bits)
    for magnitude, even in ((1 + step / 2, Fraction(1)), (1 + 3 * step / 2, 1 + 2 * step)):
        exact = Decimal((0, tuple(map(int, str(int(magnitude * 10**60)))), -60))
        assert Fraction(exact) == magnitude
        wheel = FrequencySet([Fraction(1)], turns=True, unit=Fraction(1, 12), magnitude=exact)
        multiples = range(1200) if many else [0, 1, 2, 3, 6, 9, 4, 5]
        sine, cosine = (widen(t, dtype)[:, 0] for t in filled(wheel, multiples, dtype, 1))
        for i, multiple in enumerate(multiples):
            if multiple % 3 == 0:
                assert Fraction(cosine[i]) == [even, 0, -even, 0][multiple // 3 % 4]
                assert Fraction(sine[i]) == [0, even, 0, -even][multiple // 3 % 4]
            if multiple % 12 in (1, 5):
                assert Fraction(sine[i]) == even / 2
            if multiple % 12 in (4, 8):
                assert Fraction(cosine[i]) == -even / 2


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("unit", [Fraction(1, 1024), Fraction(1, 100), Fraction(1, 199), Fraction(1, 2**52)])
def test_octaves_of_coordinates_are_correctly_rounded(dtype: str, unit: Fraction) -> None:
    given = octaves(16)
    rng = random.Random(str(unit))
    for multiples in (
        range(-unit.denominator % 1000 - 1000, 1000),
        [rng.randrange(-(2**53), 2**53) for _ in range(90)],
    ):
        rows = [rng.randrange(len(multiples)) for _ in range(150)]
        columns = [rng.randrange(16) for _ in range(150)]
        wheel = FrequencySet(given, turns=True, unit=unit)
        assert wrong_values(wheel, given, multiples, dtype, rows, columns, unit=unit, turns=True) == []


@pytest.mark.parametrize("dtype", DTYPES)
def test_decimal_turns_are_correctly_rounded(dtype: str) -> None:
    rng = random.Random(9)
    given = [Decimal(rng.randrange(-(10**17), 10**17)).scaleb(-15) for _ in range(20)]
    rows, columns = [rng.randrange(700) for _ in range(200)], [rng.randrange(20) for _ in range(200)]
    wheel = FrequencySet(given, turns=True, unit=Fraction(1, 96))
    assert wrong_values(wheel, given, range(-350, 350), dtype, rows, columns, unit=Fraction(1, 96), turns=True) == []
