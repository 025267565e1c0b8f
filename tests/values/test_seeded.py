"""Seeded values: the generator's words, the normal distribution, and that any slice equals the whole."""

import hashlib
import json

import mpmath
import numpy as np
import pytest

from pecli import Table
from pecli.numbers import random as seeded
from tests.conftest import DATA

# Philox4x64-10 of an all-zero key, the words of counters 0 and 1 (Salmon et al. 2011, the authors' kat_vectors:
# the first four for a zero counter)
FIRST = [0x16554D9ECA36314C, 0xDB20FE9D672D0FDC, 0xD7E772CEE186176B, 0x7E68B68AEC7BA23B]


def test_the_words_are_those_of_philox_with_ten_rounds():
    drawn = seeded.words(0, 0, 4)
    # NumPy counts before it draws: its first block is that of counter 1
    block = [int(w) for w in np.random.Philox(key=0, counter=(1 << 256) - 1).random_raw(4)]
    assert block == FIRST
    assert drawn.tolist() == np.random.Philox(key=0).random_raw(4).tolist()


@pytest.mark.parametrize("start", [0, 1, 3, 4, 5, 1001, 2**40 + 3, 2**62 + 1])
def test_words_from_anywhere_are_the_same(start):
    whole = seeded.words(7, start, 20)
    for skip in (1, 2, 4, 7):
        assert seeded.words(7, start + skip, 5).tolist() == whole[skip : skip + 5].tolist()


def test_seeds_and_streams_differ():
    words = [seeded.words(seed, 0, 8, stream).tolist() for seed, stream in ((0, 0), (1, 0), (0, 1), (2**64 - 1, 0))]
    assert len({tuple(w) for w in words}) == 4


def test_rows_in_any_order_are_the_rows_of_the_whole():
    whole = seeded.row_words(3, np.arange(50), 7)
    rows = np.array([4, 5, 6, 0, 49, 3, 2, 2])
    assert (seeded.row_words(3, rows, 7) == whole[rows]).all()


def test_a_uniform_value_is_the_middle_of_its_words_interval():
    words = np.array([0, (1 << 64) - 1, 1 << 63, (1 << 12) - 1], np.uint64)
    assert seeded.uniform(words).tolist() == [2.0**-53, 1 - 2.0**-53, 0.5 + 2.0**-53, 2.0**-53]


def test_a_normal_value_is_the_inverse_of_the_distribution_function():
    u = np.concatenate(
        [seeded.uniform(seeded.words(11, 0, 300)), [2.0**-53, 1 - 2.0**-53, 0.075, 0.925, 0.5 + 2.0**-53, 1e-11, 0.425]]
    )
    found = seeded.normal(u)
    with mpmath.workdps(40):
        for x, z in zip(u.tolist(), found.tolist(), strict=True):
            # one step of Newton from the value shows how far it is from the true inverse
            error = (mpmath.ncdf(z) - mpmath.mpf(x)) / mpmath.npdf(z)
            assert abs(error) <= 2e-15 * max(1, abs(z)), x


def test_the_normal_values_are_antisymmetric():
    u = seeded.uniform(seeded.words(5, 0, 1000))
    assert (seeded.normal(1 - u) == -seeded.normal(u)).all()


def test_the_normal_values_have_the_moments_of_the_normal_distribution():
    z = seeded.normal(seeded.uniform(seeded.words(2024, 0, 200_000)))
    n = np.sqrt(len(z))
    assert abs(z.mean()) < 5 / n
    assert abs(z.var() - 1) < 5 * np.sqrt(2) / n
    assert abs((z**3).mean()) < 5 * np.sqrt(15) / n
    assert abs((z**4).mean() - 3) < 5 * np.sqrt(96) / n


def test_the_logarithm_is_within_two_units_of_the_last_place():
    x = np.concatenate([2.0 ** np.linspace(-53, 0, 400), [0.7071067811865475, 0.7071067811865476, 1 - 2.0**-53]])
    found = seeded._log(x)
    with mpmath.workdps(40):
        exact = np.array([float(mpmath.log(mpmath.mpf(v))) for v in x.tolist()])
    assert (np.abs(found - exact) <= 2 * np.spacing(np.abs(exact))).all()


DIGESTS = json.loads((DATA / "golden" / "digests.json").read_text())


def digest(recipe, dtype):
    table = Table.parse(recipe, dtype=dtype, **({} if "grid" in recipe else {"length": 64}))
    return hashlib.sha256(b"".join(table.read(a.name).tobytes() for a in table.arrays)).hexdigest()


@pytest.mark.parametrize("recipe", DIGESTS)
def test_seeded_tables_have_the_digests_they_had(recipe):
    assert digest(recipe, "float64")[:32] + digest(recipe, "float32")[:32] == DIGESTS[recipe]
