"""Trained positions before training: every distribution, slices, offsets, and what is refused."""

import numpy as np
import pytest

from pecli import Recipe, Table
from pecli.errors import PecliError

N, DIM = 2000, 64


def table(init, **more):
    keys = "".join(f",{k.replace('_', '-')}={v}" for k, v in more.items())
    return Table.parse(f"learned:dim={DIM},max-len={N},init={init}{keys}", length=N, dtype="float64").read("pe")


@pytest.mark.parametrize(
    ("init", "more", "spread"),
    [
        ("normal", {}, 1 / np.sqrt(DIM)),
        ("normal", {"std": "0.02"}, 0.02),
        ("truncated-normal", {"std": "0.02"}, 0.02 * 0.8796256610342398),  # the deviation left within two
        ("uniform", {}, 0.1 / np.sqrt(3)),
        ("uniform", {"bound": 3}, np.sqrt(3)),
        ("xavier-uniform", {}, np.sqrt(2 / (N + DIM))),
        ("xavier-normal", {}, np.sqrt(2 / (N + DIM))),
    ],
)
def test_an_initialisation_has_its_mean_and_deviation(init, more, spread):
    values = table(init, **more)
    error = 5 / np.sqrt(values.size)
    assert abs(values.mean()) < error * spread
    assert abs(values.std() / spread - 1) < error


def test_normal_values_follow_the_normal_distribution():
    values = np.sort(table("normal", std=1).ravel())
    for share, quantile in (
        (0.5, 0.0),
        (0.8413447460685429, 1.0),
        (0.9772498680518208, 2.0),
        (0.022750131948179195, -2.0),
    ):
        assert abs(values[int(share * values.size)] - quantile) < 0.02


def test_truncated_values_stay_within_two_deviations():
    values = table("truncated-normal", std=1)
    assert np.abs(values).max() <= 2
    assert np.abs(values).max() > 1.99


def test_uniform_values_stay_within_their_bound():
    assert np.abs(table("uniform")).max() <= 0.1
    bound = np.sqrt(6 / (N + DIM))
    assert 0.999 * bound < np.abs(table("xavier-uniform")).max() <= bound


def test_zeros_are_zeros():
    assert not table("zeros").any()


def test_a_trainable_sinusoid_is_the_sinusoid_and_small_offsets():
    sinusoid = Table.parse(f"sinusoidal:dim={DIM}", length=N, dtype="float64").read("pe")
    offsets = table("sinusoidal", std="0.02") - sinusoid
    assert abs(offsets.std() / 0.02 - 1) < 0.02
    assert np.array_equal(offsets > 0, table("normal", std="0.02") > 0)


@pytest.mark.parametrize("init", ["normal", "truncated-normal", "uniform", "xavier-normal", "sinusoidal"])
def test_any_rows_equal_those_of_the_whole(init):
    whole = table(init)
    recipe = f"learned:dim={DIM},max-len={N},init={init}"
    for start, length in ((0, 1), (1, 7), (777, 100), (N - 1, 1)):
        part = Table.parse(recipe, start=start, length=length, dtype="float64").read("pe")
        assert np.array_equal(part, whole[start : start + length])
    rows = [5, 1999, 0, 5, 63]
    listed = Table.parse(recipe, positions=",".join(map(str, rows)), dtype="float64").read("pe")
    assert np.array_equal(listed, whole[rows])


def test_a_longer_matrix_begins_with_a_shorter_one():
    short = Table.parse("learned:dim=8,max-len=10", length=10).read("pe")
    long = Table.parse("learned:dim=8,max-len=1000", length=1000).read("pe")
    assert np.array_equal(long[:10], short)


def test_seeds_give_different_tables_and_stand_in_the_recipe_with_the_generator():
    assert not np.array_equal(table("normal", seed=1), table("normal", seed=2))
    text = str(Recipe.parse("learned:dim=4,max-len=8,seed=3"))
    assert "seed=3" in text
    assert "generator=philox4x64-10+as241" in text


def test_the_rows_before_position_0_are_part_of_the_matrix():
    whole = Table.parse("learned:dim=4,max-len=12", length=12).read("pe")
    shifted = Table.parse("learned:dim=4,max-len=10,rows-offset=2", start=-2, length=12).read("pe")
    assert np.array_equal(shifted, whole)


def test_the_table_itself_is_as_long_as_asked_where_nothing_is_said():
    assert "max-len=50" in Table.parse("learned:dim=4", length=50).recipe


@pytest.mark.parametrize(
    ("recipe", "options", "says"),
    [
        ("learned:dim=4,max-len=8", {"length": 9}, ["position 8", "positions 0 to 7", "max-len"]),
        ("learned:dim=4,max-len=8", {"length": 4, "start": -1}, ["position -1", "max-len"]),
        ("learned:dim=4", {"length": 4, "start": 2}, ["max-len", "part"]),
        ("learned:dim=4,max-len=8", {"positions": "0.5"}, ["whole numbers"]),
        ("learned:dim=5,max-len=8,init=sinusoidal", {"length": 4}, ["dim=5", "4 or 6"]),
        ("learned:dim=4,max-len=8,init=zeros,std=1", {"length": 4}, ["std=1", "init=zeros"]),
        ("learned:dim=4,max-len=8,init=uniform,std=1", {"length": 4}, ["std=1", "init=uniform"]),
        ("learned:dim=4,max-len=8,std=0", {"length": 4}, ["std=0", "from 1e-30"]),
        ("learned:dim=4,max-len=8,seed=-1", {"length": 4}, ["seed=-1"]),
        ("learned:dim=4,max-len=8,seed=18446744073709551616", {"length": 4}, ["seed=18446744073709551616"]),
        ("learned:dim=4,max-len=8,init=normall", {"length": 4}, ["normall", "'normal'"]),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(recipe, options, says):
    with pytest.raises(PecliError) as error:
        Table.parse(recipe, **options)
    message = str(error.value)
    assert "\n" not in message
    for word in says:
        assert word in message


def test_trained_rows_of_a_file_before_position_0_too(tmp_path):
    rows = np.random.default_rng(0).normal(size=(10, 4)).astype(np.float32)
    np.save(tmp_path / "w.npy", rows)
    recipe = f"learned:dim=4,max-len=8,rows-offset=2,weights={tmp_path / 'w.npy'}"
    np.testing.assert_array_equal(Table.parse(f"{recipe},start=-2", length=10).read("pe"), rows)
    with pytest.raises(PecliError, match="seed=1 has no effect with weights="):
        Table.parse(f"{recipe},seed=1", length=4)
    with pytest.raises(PecliError, match="needs 8 x 4"):
        Table.parse(f"learned:dim=4,max-len=8,weights={tmp_path / 'w.npy'}", length=4).read("pe")
