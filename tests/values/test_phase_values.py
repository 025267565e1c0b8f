"""Values of the engine against mpmath: every one must be the correctly rounded one."""

from __future__ import annotations

import random
from decimal import Decimal
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

from pecli.engine import STORAGE, FrequencySet, default_threads, fill, widen
from pecli.engine.angles import pi_bits
from pecli.errors import BadParameter
from pecli.numbers.decimals import FREQUENCY_DIGITS, PI
from tests.support.phase_reference import filled, frequencies, wanted, wrong_values

DTYPES = list(STORAGE)
RANGES = {
    "from zero": range(5000),
    "through zero": range(-2500, 2500),
    "downwards": range(3000, -4000, -7),
    "near 2^53": range(2**53 - 9000, 2**53, 3),
    "near -2^53": range(-(2**53) + 1, -(2**53) + 1500),
    "large steps": range(5, 2**62, 2**50 + 12345),
}


def places(rng: random.Random, rows: int, columns: int, count: int) -> tuple[list[int], list[int]]:
    """Rows and columns, the first and last among them."""
    chosen = [rng.randrange(rows) for _ in range(count)] + [0, rows - 1]
    return chosen, [rng.randrange(columns) for _ in range(count)] + [0, columns - 1]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("run", RANGES)
def test_long_runs_are_correctly_rounded(dtype: str, run: str) -> None:
    multiples = RANGES[run]
    given = frequencies("10000", 96)
    rows, columns = places(random.Random(run), len(multiples), 48, 150)
    assert wrong_values(FrequencySet(given), given, multiples, dtype, rows, columns) == []


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("base", ["0.000001", "0.5", "500", "5e5", "1e15", "1e30"])
def test_any_base_gives_correctly_rounded_values(dtype: str, base: str) -> None:
    given = frequencies(base, 64)
    rng = random.Random(base)
    for multiples in (range(1000), range(-(2**53) + 1, -(2**53) + 600)):
        rows, columns = places(rng, len(multiples), 32, 60)
        assert wrong_values(FrequencySet(given), given, multiples, dtype, rows, columns) == []


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("count", [3, 40, 300])
def test_positions_in_no_order_are_correctly_rounded(dtype: str, count: int) -> None:
    rng = random.Random(count)
    multiples = [rng.randrange(-(2 ** rng.randint(1, 53)), 2 ** rng.randint(1, 53)) for _ in range(count)] + [0]
    given = frequencies("10000", 64)
    rows, columns = places(rng, len(multiples), 32, 100)
    assert wrong_values(FrequencySet(given), given, multiples, dtype, rows, columns) == []


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("unit", [Fraction(1, 10), Fraction(1, 14), Fraction(1, 10**6), Fraction(1, 2**52)])
def test_decimal_and_fractional_positions_are_exact_multiples_of_their_unit(dtype: str, unit: Fraction) -> None:
    given = frequencies("10000", 32)
    rng = random.Random(str(unit))
    last = min(2**63 - 1, 2**53 * unit.denominator - 1)
    for multiples in (range(-300, 900), range(last - 900, last + 1), [rng.randrange(-last, last) for _ in range(80)]):
        rows, columns = places(rng, len(multiples), 16, 60)
        assert wrong_values(FrequencySet(given, unit=unit), given, multiples, dtype, rows, columns, unit=unit) == []


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("magnitude", ["1.1386294361119890", "-0.5", "0.001", "22.627416997969522", "1e-42", "3e9"])
def test_the_magnitude_is_multiplied_before_rounding(dtype: str, magnitude: str) -> None:
    given, factor = frequencies("10000", 64), Decimal(magnitude)
    for multiples in (range(700), [17, 2**40 + 1, -5]):
        rows, columns = places(random.Random(magnitude), len(multiples), 32, 60)
        freqs = FrequencySet(given, magnitude=factor)
        assert wrong_values(freqs, given, multiples, dtype, rows, columns, magnitude=factor) == []


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dim", [2, 6, 250, 4096])
def test_any_width_is_correctly_rounded(dtype: str, dim: int) -> None:
    given = frequencies("10000", dim)
    for multiples in (range(900), range(9)):
        rows, columns = places(random.Random(dim), len(multiples), dim // 2, 60)
        assert wrong_values(FrequencySet(given), given, multiples, dtype, rows, columns) == []


@pytest.mark.parametrize("dtype", DTYPES)
def test_negative_frequencies_turn_the_other_way_and_zero_ones_stand_still(dtype: str) -> None:
    given = [Decimal("0.5"), Decimal("-0.5"), Decimal(0), Decimal("-1e-9")]
    for multiples in (range(-100, 100), [-3, 0, 8]):
        sine, cosine = filled(FrequencySet(given), multiples, dtype, 4)
        sine, cosine = widen(sine, dtype), widen(cosine, dtype)
        assert np.array_equal(sine[:, 0], -sine[:, 1])
        assert np.array_equal(cosine[:, 0], cosine[:, 1])
        assert not sine[:, 2].any()
        assert not np.signbit(sine[:, 2]).any()
        assert (cosine[:, 2] == 1).all()
        assert sine[0, 3] == wanted(multiples[0], given[3], "sin", dtype, Fraction(1), Decimal(1), False)


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_magnitude_of_zero_gives_positive_zeros(dtype: str) -> None:
    sine, cosine = filled(FrequencySet(frequencies("10000", 8), magnitude=Decimal(0)), range(-60, 60), dtype, 4)
    for table in (widen(sine, dtype), widen(cosine, dtype)):
        assert not table.any()
        assert not np.signbit(table).any()


def test_a_magnitude_beyond_float16_is_infinite_there() -> None:
    freqs = FrequencySet([Decimal(0), Decimal(3)], magnitude=Decimal(100_000))
    sine, cosine = filled(freqs, range(100), "float16", 2)
    assert np.isinf(cosine[:, 0]).all()
    assert not sine[:, 0].any()
    assert np.isinf(cosine[50, 1]) == (abs(100_000 * np.cos(150.0)) > 65520)


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_first_row_is_exact_zeros_and_ones(dtype: str) -> None:
    for multiples in (range(100), range(-50, 50), [5, 0, 3]):
        sine, cosine = filled(FrequencySet(frequencies("1e30", 64)), multiples, dtype, 32)
        row = list(multiples).index(0)
        assert not sine[row].any()
        assert not np.signbit(widen(sine, dtype)[row]).any()
        assert (widen(cosine, dtype)[row] == 1).all()


LAYOUTS: dict[str, Any] = {
    "interleaved": lambda t, k: [("sin", t[:, 0 : 2 * k : 2]), ("cos", t[:, 1 : 2 * k : 2])],
    "cosine first": lambda t, k: [("cos", t[:, 0 : 2 * k : 2]), ("sin", t[:, 1 : 2 * k : 2])],
    "halves": lambda t, k: [("sin", t[:, :k]), ("cos", t[:, k : 2 * k])],
    "backwards": lambda t, k: [("sin", t[::-1, k : 2 * k][:, ::-1]), ("cos", t[::-1, :k][:, ::-1])],
    "one part": lambda t, k: [("cos", t[:, :k])],
    "twice each": lambda t, k: [
        *(("cos", t[:, i : 2 * k : 2]) for i in (0, 1)),
        *(("sin", t[:, 2 * k + i : 4 * k : 2]) for i in (0, 1)),
    ],
    "odd width": lambda t, k: [("sin", t[:, 0 : 2 * k : 2]), ("cos", t[:, 1 : 2 * k - 1 : 2])],
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    "multiples", [range(-400, 1200), range(20), np.array([9, -7, 2**40])], ids=["run", "few", "list"]
)
def test_every_layout_holds_the_same_values(dtype: str, layout: str, multiples: Any) -> None:
    count = 24
    freqs = FrequencySet(frequencies("10000", 2 * count), magnitude=Decimal("1.25"))
    plain = dict(zip(("sin", "cos"), filled(freqs, multiples, dtype, count), strict=True))
    table = np.full((len(multiples), 4 * count + 3), 7, STORAGE[dtype])
    outputs = LAYOUTS[layout](table, count)
    fill(freqs, multiples, outputs, dtype, threads=2)
    for part, view in outputs:
        assert np.array_equal(view, plain[part][:, : view.shape[1]])
        view[...] = 7
    assert (table == 7).all(), "nothing else may be touched"


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("turns", [False, True])
def test_angles_are_position_times_frequency_correctly_rounded(dtype: str, turns: bool) -> None:
    given = [Decimal(1), Decimal("0.1"), Decimal("1e-28"), *frequencies("10000", 16)[1:]]
    rng = random.Random(5)
    for unit in (Fraction(1), Fraction(1, 10)):
        freqs = FrequencySet(given, turns=turns, unit=unit)
        for multiples in (range(-50, 3000), [rng.randrange(-(2**53), 2**53) for _ in range(60)], [2**63 - 1]):
            rows = multiples if isinstance(multiples, range) else np.array(multiples)
            out = np.zeros((len(rows), len(given)), STORAGE[dtype])
            fill(freqs, rows, [("angle", out)], dtype)
            for _ in range(60):
                i, j = rng.randrange(len(rows)), rng.randrange(len(given))
                got = float(widen(out[i : i + 1, j], dtype)[0])
                assert got == wanted(int(rows[i]), given[j], "angle", dtype, unit, Decimal(1), turns)


def test_angles_that_are_ties_go_to_even() -> None:
    out = np.zeros((4, 1), np.float32)
    fill(FrequencySet([Decimal(1)]), np.array([2**24 + 1, 2**24 + 3, -(2**24) - 1, 0]), [("angle", out)], "float32")
    assert out[:, 0].tolist() == [2**24, 2**24 + 4, -(2**24), 0]


def test_pi_is_the_same_number_in_decimal_and_in_binary() -> None:
    with mpmath.workdps(150):
        assert abs(mpmath.mpf(str(PI)) - mpmath.pi) < mpmath.mpf(10) ** -(FREQUENCY_DIGITS + 10)
        assert pi_bits(400) == int(mpmath.floor(mpmath.pi * mpmath.mpf(2) ** 400))


def test_threads_are_cores_but_at_most_eight() -> None:
    assert 1 <= default_threads() <= 8


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"frequencies": [Decimal("NaN")]}, "frequency=NaN is not a finite number"),
        ({"magnitude": Decimal("Infinity")}, "magnitude=Infinity is not a finite number"),
        ({"magnitude": Decimal("1e300")}, "magnitude=1E\\+300 must be 0 or between"),
        ({"unit": Fraction(0)}, "unit=0 must be above 0"),
    ],
)
def test_a_wheel_refuses_what_it_cannot_turn(change: dict[str, Any], message: str) -> None:
    with pytest.raises(BadParameter, match=message):
        FrequencySet(**{"frequencies": [Decimal(1)], **change})


@pytest.mark.parametrize(
    ("multiples", "shape", "kind", "message"),
    [
        (range(5), (4, 1), "float32", "must have 5 rows"),
        (range(5), (5, 2), "float32", "at most 1 columns"),
        (range(5), (5, 1), "float64", "must hold float32"),
        (range(2**63 - 2, 2**63 + 3), (5, 1), "float32", "must be below 2\\^63"),
    ],
)
def test_fill_refuses_wrong_views_and_positions(
    multiples: range, shape: tuple[int, int], kind: str, message: str
) -> None:
    with pytest.raises(BadParameter, match=message):
        fill(FrequencySet([Decimal(1)]), multiples, [("sin", np.zeros(shape, STORAGE[kind]))], "float32")


@pytest.mark.parametrize("dtype", DTYPES)
def test_no_rows_and_no_columns_are_nothing_to_do(dtype: str) -> None:
    """Views without values lie between others, which stay as they are."""
    table = np.full((5, 4), 7, STORAGE[dtype])
    fill(FrequencySet([Decimal(1)]), range(0), [("sin", table[2:2, 1:2]), ("cos", table[2:2, 2:3])], dtype)
    fill(FrequencySet([]), range(3), [("sin", table[:3, 1:1]), ("cos", table[:3, 2:2])], dtype)
    fill(FrequencySet([Decimal(1)]), range(3), [("sin", table[:3, 1:1])], dtype)  # fewer columns than frequencies
    assert (table == 7).all()
    fill(FrequencySet([Decimal(1)]), range(3), [("sin", table[:3, 1:1]), ("cos", table[:3, 2:3])], dtype)
    turned = [wanted(p, Decimal(1), "cos", dtype, Fraction(1), Decimal(1), False) for p in range(3)]
    assert widen(table[:3, 2], dtype).tolist() == turned
    assert (table[:, [0, 1, 3]] == 7).all()
    assert (table[3:] == 7).all()
