"""Rotary tables in the arithmetic of the frameworks."""

import mpmath
import numpy as np
import pytest

from pecli.encodings.rotary.rope import bfloat16_values, emulate
from pecli.errors import BadParameter, UnknownName
from pecli.spec.recipe import Recipe
from pecli.tables.table import Table


def emulated(text, arithmetic="float32", **more):
    recipe = Recipe.parse(text)
    return emulate(recipe.plan, recipe.values, arithmetic, **more)


def test_a_frequency_is_the_reciprocal_of_a_rounded_power_of_rounded_numbers():
    found = emulated("rope:dim=128,base=1000042").frequencies
    assert found.dtype == np.float32
    for i in (0, 1, 31, 63):
        exponent = np.float32(2 * i) / np.float32(128)
        power = np.float32(float(mpmath.mpf(1000042) ** mpmath.mpf(float(exponent))))
        assert found[i] == np.float32(1) / power


def test_a_base_that_float32_does_not_hold_is_rounded_first():
    # 2^24 + 1 becomes 2^24
    np.testing.assert_array_equal(
        emulated("rope:dim=64,base=16777217").frequencies, emulated("rope:dim=64,base=16777216").frequencies
    )


def test_cos_and_sin_are_correctly_rounded_of_a_rounded_angle():
    made = emulated("rope:dim=8")
    positions = np.array([0, 1, 1000, 131071])
    cos, sin = np.empty((2, 4, 4), np.float32)
    made.fill(positions, cos, sin)
    for row, p in enumerate(positions):
        for column, w in enumerate(made.frequencies):
            angle = mpmath.mpf(float(np.float32(p) * w))
            assert cos[row, column] == np.float32(float(mpmath.cos(angle)))
            assert sin[row, column] == np.float32(float(mpmath.sin(angle)))


def test_rows_do_not_depend_on_how_many_are_asked_for_at_once():
    made = emulated("rope:dim=512")
    positions = np.arange(3000)
    whole, part = np.empty((2, 3000, 256), np.float32), np.empty((2, 10, 256), np.float32)
    made.fill(positions, *whole)
    made.fill(positions[1500:1510], *part)
    np.testing.assert_array_equal(part, whole[:, 1500:1510])


def test_the_magnitude_is_rounded_and_multiplied_last():
    made = emulated("rope:dim=8,scaling=yarn,factor=8,original-max=512")
    assert made.magnitude == np.float32(1.2079441541679836)
    cos, sin = np.empty((2, 1, 4), np.float32)
    made.fill(np.array([0]), cos, sin)
    assert (cos == made.magnitude).all()
    assert (sin == 0).all()


def test_positions_above_2_to_24_are_rounded_like_the_framework_rounds_them():
    made = emulated("rope:dim=2")
    rows = np.empty((2, 2, 1), np.float32)
    made.fill(np.array([2**24, 2**24 + 1]), *rows)
    assert (rows[:, 0] == rows[:, 1]).all()


@pytest.mark.parametrize(
    ("value", "wanted"),
    [(1.0, 1.0), (257.0, 256.0), (259.0, 260.0), (1.00390625, 1.0), (1.01171875, 1.015625), (-3.3, -3.296875)],
)
def test_bfloat16_rounds_to_nearest_and_ties_to_even(value, wanted):
    assert bfloat16_values(np.array([value], np.float32))[0] == wanted


def test_bfloat16_arithmetic_makes_neighbouring_positions_equal():
    made = emulated("rope:dim=8", "bfloat16")
    np.testing.assert_array_equal(made.frequencies, bfloat16_values(made.frequencies))
    rows = np.empty((2, 2, 4), np.float32)
    made.fill(np.array([4090, 4095]), *rows)  # both are 4096 there
    assert (rows[:, 0] == rows[:, 1]).all()
    np.testing.assert_array_equal(rows, bfloat16_values(rows))


def test_given_frequencies_are_rounded_once():
    found = emulated("rope:dim=4,frequencies=1+0.1").frequencies
    np.testing.assert_array_equal(found, np.array([1, 0.1], np.float32))


def test_steps_of_a_scaling_that_nobody_declared_are_an_error_and_not_the_unscaled_ones():
    recipe = Recipe.parse("rope:dim=8,scaling=linear,factor=4")
    with pytest.raises(UnknownName, match="scaling 'halved'"):
        emulate(recipe.plan, {**recipe.values, "scaling": "halved"})


def test_mrope_follows_the_steps_of_rope():
    table, other = (
        Table.parse(f"{text},base=1000000,arithmetic=float32,len=50")
        for text in ("mrope:dim=64,sections=16+8+8", "rope:dim=64")
    )
    np.testing.assert_array_equal(table.read("cos"), other.read("cos"))


@pytest.mark.parametrize(
    "recipe",
    ["rope2d:dim=8,grid=3x4", "rope-axes:axes=4+4,grid=3x4",
     "mrope:dim=8,sections=2+1+1,sequence=5+1x2x2", "sinusoidal:dim=8,len=4", "none:dim=8,len=4",
     "xpos:dim=6,len=4", "retnet:dim=4,heads=2,len=4"],
)  # fmt: skip
def test_what_declares_no_steps_is_refused_in_one_sentence(recipe):
    with pytest.raises(BadParameter, match=r"^arithmetic=float32 is for rotary tables"):
        Table.parse(recipe, arithmetic="float32")
