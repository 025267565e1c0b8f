"""Phases beyond the training length, against a count of every position in high precision."""

import random
from decimal import Decimal
from fractions import Fraction

import mpmath
import pytest

from pecli.extrapolate.coverage import TURN, cover, critical_dimension, floor_sum, turn_fraction
from pecli.numbers.decimals import geometric


def brute_outside(frequency, train, test, trained=None):
    """Positions train .. test-1 whose phase was not seen, one by one with 60 digits."""
    with mpmath.workdps(60):
        turn = 2 * mpmath.pi
        new, old = (mpmath.mpf(str(w)) % turn for w in (frequency, frequency if trained is None else trained))
        if old > mpmath.pi:
            new, old = (turn - new) % turn, turn - old
        if train * old >= turn:
            return []
        return [p for p in range(train, test) if (p * new) % turn >= train * old]


def test_a_floor_sum_is_the_sum_of_its_terms():
    draw = random.Random(1)
    for _ in range(2000):
        n, m, a, b = draw.randint(0, 30), draw.randint(1, 40), draw.randint(-50, 50), draw.randint(-60, 60)
        assert floor_sum(n, m, a, b) == sum((a * p + b) // m for p in range(n)), (n, m, a, b)


@pytest.mark.parametrize(
    ("base", "dim", "train", "test"),
    [
        ("10000", 16, 20, 200),
        ("100", 8, 10, 77),
        ("0.5", 8, 9, 100),
        ("3", 8, 4, 50),
        ("10", 12, 3, 300),
        ("1e6", 8, 1, 40),
    ],
)
def test_coverage_equals_a_count_of_every_position(base, dim, train, test):
    frequencies = geometric(Decimal(base), Fraction(2, dim), dim // 2)
    for found, frequency in zip(cover(frequencies, train, test, frequencies), frequencies, strict=True):
        outside = brute_outside(frequency, train, test)
        assert found.outside == len(outside)
        assert found.first == (outside[0] if outside else None)


def test_coverage_of_other_frequencies_than_the_trained_ones_equals_a_count():
    old = geometric(Decimal(10000), Fraction(2, 16), 8)
    new = geometric(Decimal(25000), Fraction(2, 16), 8)
    assert [c.outside for c in cover(new, 30, 400, old)] == [
        len(brute_outside(a, 30, 400, b)) for a, b in zip(new, old, strict=True)
    ]


def test_the_circle_seen_and_the_new_part_are_shares_of_a_turn():
    with mpmath.workdps(40):
        slow = Decimal(str(2 * mpmath.pi / 1000))  # one turn in a thousand positions
    found = cover([slow], 250, 400, [slow])[0]
    assert found.turns == pytest.approx(0.25, abs=1e-15)
    assert found.seen == pytest.approx(0.25, abs=1e-15)
    assert found.unseen == pytest.approx(0.15, abs=1e-15)
    assert found.wavelength == pytest.approx(1000, abs=1e-9)
    assert (found.outside, found.first) == (150, 250)


def test_a_frequency_of_zero_brings_nothing_new():
    found = cover([Decimal(0)], 10, 100, [Decimal(0)])[0]
    assert (found.outside, found.first, found.wavelength) == (0, None, float("inf"))


@pytest.mark.parametrize(
    ("base", "dim", "train", "expected"),
    [
        (10000, 128, 4096, 92),  # Llama 2, as Liu et al. 2023 give it
        (10000, 128, 2048, 82),  # Llama 1: 2 ceil(64 log(2048 / 2 pi) / log(10000)) = 2 ceil(40.2)
        (500000, 128, 8192, 70),  # Llama 3: 2 ceil(64 log(8192 / 2 pi) / log(500000)) = 2 ceil(34.98)
    ],
)
def test_the_critical_dimension_is_the_published_one(base, dim, train, expected):
    frequencies = geometric(Decimal(base), Fraction(2, dim), dim // 2)
    assert critical_dimension(frequencies, train) == expected
    assert expected == 2 * int(mpmath.ceil(mpmath.mpf(dim) / 2 * mpmath.log(train / (2 * mpmath.pi), base)))


def test_a_fraction_of_a_turn_is_exact_to_its_last_bits():
    with mpmath.workdps(120):
        expected = int(mpmath.floor(mpmath.mpf("0.3") / (2 * mpmath.pi) * TURN))
    assert abs(turn_fraction(Decimal("0.3")) - expected) <= 1


def test_a_first_unseen_position_may_come_after_the_training_length():
    # 4 positions of 1.5 rad show 0 to 6 of 6.283 rad; slowed to 1.3, position 4 is at 5.2 and the next wrap round.
    old, new = Decimal("1.5"), Decimal("1.3")
    outside = brute_outside(new, 4, 200, old)
    found = cover([new], 4, 200, [old])[0]
    assert outside[0] > 4
    assert (found.first, found.outside) == (outside[0], len(outside))
