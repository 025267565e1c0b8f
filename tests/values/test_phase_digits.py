"""Long lists of positions in no order: the same values as from the phases, within the errors that are claimed."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from functools import reduce

import numpy as np
import pytest

from pecli.engine import STORAGE, FrequencySet, digits, fill, runs
from pecli.engine.digits import CALL, MAX_DIGITS, DigitTables, serves, table_bits
from pecli.engine.narrowing import DoubtWindow
from pecli.engine.planning import MIN_SORTED_COUNT
from tests.support.phase_reference import frequencies

NARROW = ["float16", "bfloat16", "float32"]
WHEELS = {
    "usual": (frequencies("10000", 64), Decimal(1), Fraction(1)),
    "slow columns": (frequencies("1e30", 32), Decimal("7.5"), Fraction(1, 10)),
    "many columns": (frequencies("500000", 600), Decimal("-0.5"), Fraction(1, 3)),
    "both ways, and still": (
        [w * (-1) ** i for i, w in enumerate(frequencies("100", 12))] + [Decimal(0)],
        Decimal("1.3"),
        Fraction(1),
    ),
}
LAYOUTS = {
    "sine first": lambda t, m: [("sin", t[:, 0::2]), ("cos", t[:, 1::2])],
    "cosine first": lambda t, m: [("cos", t[:, 0::2]), ("sin", t[:, 1::2])],
    "halves": lambda t, m: [("cos", t[:, :m]), ("sin", t[:, m:])],
    "cosines": lambda t, m: [("cos", t[:, :m]), ("cos", t[:, m:])],
}


def frequency_set(name: str) -> FrequencySet:
    """Return a frequency set with so many listed positions that tables pay."""
    speeds, magnitude, unit = WHEELS[name]
    wheel = FrequencySet(speeds, magnitude=magnitude, unit=unit)
    wheel.listed = 1 << 40
    return wheel


def scattered(rows: int, largest: int, seed: int, bits: int) -> np.ndarray:
    """Draw positions up to one, with those at which digits carry."""
    ends = [1 << (bits * k) for k in range(1, MAX_DIGITS)]
    special = [0, 1, 2, *(e + d for e in ends for d in (-1, 0, 1)), largest]
    drawn = np.random.default_rng(seed).integers(0, largest, rows)
    return np.minimum(np.concatenate([special, drawn]), largest)


def by_digits(wheel: FrequencySet, positions: np.ndarray, layout: str, dtype: str, threads: int = 1) -> np.ndarray:
    """Fill a table by its digits."""
    table = np.empty((len(positions), 2 * wheel.count), STORAGE[dtype])
    fill(wheel, positions, LAYOUTS[layout](table, wheel.count), dtype, threads=threads)
    assert isinstance(wheel.digits, DigitTables)
    return table


def by_phases(name: str, positions: np.ndarray, layout: str, dtype: str) -> np.ndarray:
    """Fill it in lists that are too short for anything else."""
    speeds, magnitude, unit = WHEELS[name]
    wheel = FrequencySet(speeds, magnitude=magnitude, unit=unit)
    table = np.empty((len(positions), 2 * wheel.count), STORAGE[dtype])
    for at in range(0, len(positions), MIN_SORTED_COUNT - 1):
        here = slice(at, at + MIN_SORTED_COUNT - 1)
        fill(wheel, positions[here], LAYOUTS[layout](table[here], wheel.count), dtype)
    assert wheel.digits is None
    return table


@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", WHEELS)
@pytest.mark.sample(3)
def test_a_list_has_the_values_of_its_phases(name, layout, dtype):
    wheel = frequency_set(name)
    for largest in (10**5, 10**7, min(10**10, (1 << MAX_DIGITS * table_bits(wheel)) - 1)):
        positions = scattered(600, largest, 7, table_bits(wheel))
        expected = by_phases(name, positions, layout, dtype)
        assert by_digits(wheel, positions, layout, dtype).tobytes() == expected.tobytes()


def test_blocks_and_threads_change_nothing():
    positions = scattered(3 * CALL // 32, 10**9, 8, 11)
    one, two = (by_digits(frequency_set("usual"), positions, "sine first", "float32", threads) for threads in (1, 2))
    parts = [by_digits(frequency_set("usual"), part, "sine first", "float32") for part in np.array_split(positions, 7)]
    assert one.tobytes() == two.tobytes() == np.concatenate(parts).tobytes()


@pytest.mark.parametrize("name", WHEELS)
def test_a_candidate_errs_by_less_than_is_claimed(name):
    wheel = frequency_set(name)
    tables, factor = DigitTables(wheel), float(wheel.magnitude.hi) * digits.WINDOW.bias
    positions = scattered(2000, (1 << MAX_DIGITS * tables.bits) - 1, 9, tables.bits)
    parts = [tables.rows(k, swapped=False)[0][digit] for k, digit in enumerate(tables.digits(positions))]
    assert len(parts) == MAX_DIGITS
    cosine, sine = wheel.doubled_rows(positions)
    candidate = reduce(np.multiply, reversed(parts))
    off = np.hypot(*(
        (part - factor * exact.hi) - factor * exact.lo
        for part, exact in ((candidate.real, cosine), (candidate.imag, sine))
    ))  # fmt: skip
    assert off.max() < (digits.FIRST_PLANE + 2.0**-52) * abs(factor)  # what is compared with is rounded here


@pytest.mark.parametrize("dtype", NARROW)
def test_wider_bounds_change_no_value(dtype, monkeypatch):
    positions = scattered(20_000, 10**9, 10, 11)
    expected = by_digits(frequency_set("usual"), positions, "sine first", dtype)
    monkeypatch.setattr(digits, "PLANE", digits.PLANE * 64)
    monkeypatch.setattr(runs, "RELATIVE", runs.RELATIVE * 64)
    monkeypatch.setattr(digits, "WINDOW", DoubtWindow(64 * digits.FIRST_PLANE / digits.SMALL))
    assert by_digits(frequency_set("usual"), positions, "sine first", dtype).tobytes() == expected.tobytes()


def test_what_tables_cannot_serve_has_its_phases():
    wheel = frequency_set("usual")
    high = np.array([0, 1 << MAX_DIGITS * table_bits(wheel)])
    assert not serves(wheel, high, "float32")
    assert serves(wheel, high - 1 + (high == 0), "float32")
    assert not serves(wheel, np.array([-1, 5]), "float32")
    assert not serves(wheel, np.array([5]), "float64")
    assert not serves(FrequencySet(frequencies("10000", 8), magnitude=Decimal("1e150")), np.array([5]), "float32")


def test_short_lists_make_no_tables():
    wheel = FrequencySet(frequencies("10000", 64))
    table = np.empty((100, 64), np.float32)
    fill(wheel, scattered(100, 10**9, 11, 11)[:100], LAYOUTS["sine first"](table, 32), "float32")
    assert wheel.digits is None


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", WHEELS)
def test_long_lists_have_the_values_of_their_phases(name, seed):
    wheel = frequency_set(name)
    positions = scattered(200_000, (1 << MAX_DIGITS * table_bits(wheel)) - 1, 100 + seed, table_bits(wheel))
    for dtype in NARROW:
        expected = by_phases(name, positions, "sine first", dtype)
        assert by_digits(wheel, positions, "sine first", dtype).tobytes() == expected.tobytes()
