"""Everyday figures: numbers and reasons in an answer that must be true."""

import numpy as np
import pytest

import pecli
from tests.judge.answers import UNKNOWN, angles, cache, sinusoid


@pytest.mark.parametrize("recipe", ["sinusoidal:dim=32", "sinusoidal:dim=32,len=100"])
def test_one_nan_is_named_with_its_place(ask, recipe):
    values = sinusoid(100, 32)
    values[57, 7] = np.nan
    np.save("pe.npy", values)
    ask("compare", "pe.npy", recipe).ends(1).says("nan", "[57, 7]").never("inf", *UNKNOWN)
    ask("inspect", "pe.npy", "--verify", "--recipe", recipe).ends(1).says("nan", "[57, 7]").never(" inf")
    answer = ask("inspect", "pe.npy", "--identify").ends(0)
    answer.says("sinusoidal:dim=32", "nan", "[57, 7]").never("difference inf", "up to inf")


def test_nan_beside_another_difference_is_counted_and_the_figure_is_that_of_numbers(ask):
    values = sinusoid(100, 32)
    values[57, 7] = np.nan
    values[3, 1] += 0.25
    np.save("pe.npy", values)
    ask("compare", "pe.npy", "sinusoidal:dim=32").ends(1).says("nan", "0.25", "[57, 7]", "[3, 1]").never(" inf")
    answer = ask("inspect", "pe.npy", "--identify").ends(0)
    answer.says("[57, 7] is nan", "[3, 1] is -0.7399925", "-0.9899925").never("difference inf", "up to inf")


def test_nan_in_a_cache_is_named_with_its_place(ask):
    found = cache(angles(100, 32))
    found["sin"][11, 5] = np.nan
    np.savez("cache.npz", **found)
    ask("compare", "cache.npz", "rope:dim=32").ends(1).says("sin[11, 5]", "nan").never("inf")
    ask("inspect", "cache.npz", "--identify").ends(0).says("[11, 5]", "nan").never("difference inf", "up to inf")


@pytest.mark.parametrize(("first", "second"), [(0, 2), (3, 90)])
def test_a_row_of_each_array_is_counted_as_two_rows(ask, first, second):
    found = cache(angles(100, 32))
    found["cos"][first] += 5
    found["sin"][second] += 5
    np.savez("cache.npz", **found)
    answer = ask("inspect", "cache.npz", "--identify").ends(0)
    answer.says("rope:dim=32", f"row {first}|rows {first}", f"{second}").never("in 1 rows")
    answer = ask("compare", "cache.npz", "rope:dim=32").ends(1)
    answer.says(f"{first}", f"{second}").never("in 1 rows", *UNKNOWN)


@pytest.mark.parametrize("rows", [(0, 2), (5, 6, 7), (4, 50, 99), (17,)])
def test_rows_that_differ_are_counted_and_named(ask, rows):
    values = sinusoid(100, 32)
    values[list(rows)] += 5
    np.save("pe.npy", values)
    answer = ask("identify", "pe.npy").ends(0).never("in 1 rows")
    if len(rows) == 1:  # more than one row in a hundred is more than "likely" leaves unexplained
        answer.says(f"row {rows[0]}")


POSITION_0 = {  # tables that no recipe gives, whose row of position 0 is zero
    "roots": lambda: np.sqrt(np.arange(64))[:, None] * np.linspace(0.3, 1.7, 24) ** 1.3,
    "sines": lambda: np.sin(np.arange(64)[:, None] ** 0.7 * np.linspace(0.2, 1.9, 24) ** 1.7),
    "powers": lambda: (np.arange(64)[:, None] / 63) ** np.linspace(0.3, 2.1, 24),
}


@pytest.mark.parametrize("case", POSITION_0)
def test_the_row_of_position_0_is_not_called_padding(ask, case):
    np.save("pe.npy", POSITION_0[case]().astype("float32"))
    answer = ask("inspect", "pe.npy", "--identify").ends(0)
    answer.says("unknown").never("row 0 is all zeros, as padding is")


@pytest.mark.parametrize("row", [0, 1, 5])
def test_a_zero_row_of_a_trained_table_is_said_to_be_one(ask, row):
    values = np.random.default_rng(3).standard_normal((64, 24)).astype("float32")
    values[row] = 0
    np.save("learned.npy", values)
    ask("inspect", "learned.npy", "--identify").ends(0).says("unknown", f"row {row} is all zeros")


def float32_angles(rows, dim, base):
    inverse = (1 / np.float32(base) ** (np.arange(0, dim, 2, dtype="float32") / np.float32(dim))).astype("float32")
    return np.outer(np.arange(rows, dtype="float32"), inverse)


UNITS = {
    "np.rad2deg": (np.rad2deg, "degrees instead of radians: every angle is 180/pi times the expected one"),
    "times 180/pi in float64": (lambda a: a.astype("float64") * (180 / np.pi), "every angle is 180/pi times"),
    "np.deg2rad": (np.deg2rad, "every angle is pi/180 times"),
    "times 2 pi": (
        lambda a: a * np.float32(2 * np.pi),
        "turns instead of radians: every angle is 2 pi times the expected one",
    ),
    "over 2 pi": (lambda a: a / np.float32(2 * np.pi), "every angle is the expected one over 2 pi"),
    "times pi": (
        lambda a: a * np.float32(np.pi),
        "half turns instead of radians: every angle is pi times the expected one",
    ),
    "over pi": (lambda a: a / np.float32(np.pi), "every angle is the expected one over pi"),
}


@pytest.mark.parametrize(
    ("rows", "layout", "base"),
    [(512, "split", 10000), (512, "half", 500000), (2048, "interleaved", 10000), (4096, "split", 500000)],
)
@pytest.mark.parametrize("case", UNITS)
@pytest.mark.sample(3)
def test_a_unit_of_angles_explains_values_that_were_computed_in_float32(ask, case, rows, layout, base):
    change, word = UNITS[case]
    np.savez("cache.npz", **cache(change(float32_angles(rows, 64, base)), layout))
    ask("compare", "cache.npz", f"rope:dim=64,base={base}").ends(1).says(word, "float32").never(*UNKNOWN)


@pytest.mark.parametrize("recipe", ["sinusoidal:dim=16", "nerf:bands=2", "complex:dim=16", "sincos2d:dim=16,grid=4x4"])
def test_what_is_added_is_not_said_to_depend_on_the_distance_alone(ask, recipe):
    ask("inspect", recipe, "--properties").ends(0).says("norm").never("depends on m - n alone", "is rotated")
    if recipe.startswith("complex"):
        return  # complex numbers in a file may as well rotate
    np.savez("values.npz", pe=pecli.table(recipe if "grid" in recipe else f"{recipe},len=64")[recipe_array(recipe)])
    ask("inspect", "values.npz", "--properties").ends(0).never("depends on m - n alone", "is rotated")


def recipe_array(recipe):
    return pecli.table(recipe if "grid" in recipe else f"{recipe},len=4").arrays[0].name


@pytest.mark.parametrize("layout", ["split", "half", "concat", "complex"])
def test_what_is_rotated_depends_on_the_distance_alone(ask, layout):
    ask("inspect", f"rope:dim=32,layout={layout}", "--properties").ends(0).says("score depends on m - n alone yes")


def test_digits_that_the_file_shows_by_itself_are_those_of_the_option(ask):
    phases = np.outer(np.arange(100), 10000.0 ** (-np.arange(16) / 16))
    np.savetxt("t.csv", np.concatenate([np.cos(phases), np.sin(phases)], 1), fmt="%.6f", delimiter=",")
    own = ask("identify", "t.csv").ends(0).says("rope:dim=32,len=100,layout=concat", "sure: 6 decimals")
    assert ask("identify", "t.csv", "--digits", "6").out == own.out
