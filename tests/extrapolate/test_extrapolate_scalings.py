"""Scalings side by side: what they keep, proved by counting."""

import numpy as np
import pytest

from pecli import PecliError, Recipe, Table
from pecli.encodings.rotary.rope.scalings import SCALINGS
from pecli.extrapolate.scalings import chosen, compare_scalings, scaled_recipe, scalings_of, unscaled

LLAMA = "rope:dim=128"


def by_name(recipe, train, test, **options):
    recipe = Recipe.parse(recipe)
    return {s.scaling: s for s in compare_scalings(recipe, chosen("all", recipe), train, test, **options)}


def test_all_scalings_of_a_rotary_encoding_are_compared():
    assert tuple(by_name(LLAMA, 4096, 32768)) == tuple(s for s in SCALINGS if SCALINGS[s].extends)


def test_the_share_inside_equals_a_count_over_the_angles_of_the_table():
    for name, found in by_name("rope:dim=16", 50, 300).items():
        if found.reach is None:
            assert name == "longrope"
            continue
        angles = Table.make(Recipe.parse(found.recipe), length=300, layout="angles", dtype="float64").read("angles")[
            50:
        ]
        arcs = 50 * Table.parse("rope:dim=16,len=2,layout=angles,dtype=float64").read("angles")[1]
        outside = (np.mod(angles, 2 * np.pi) >= arcs) & (arcs < 2 * np.pi)
        assert found.reach.inside == pytest.approx(1 - outside.mean(), abs=1e-12), name


def test_linear_by_the_ratio_of_lengths_leaves_every_phase_inside_and_a_finer_step():
    found = by_name(LLAMA, 4096, 32768)["linear"]
    assert found.reach.inside == 1
    assert found.interpolated == tuple(range(64))
    assert found.reach.resolution_kept == pytest.approx(0.128, abs=5e-4)


def test_yarn_keeps_blends_and_interpolates_as_its_correction_dimensions_say():
    found = by_name(LLAMA, 4096, 32768)["yarn"]
    # 64 ln(4096 / (2 pi 32)) / ln(10000) = 20.9, with 1 in place of 32: 45.03; rounded outwards 20 and 46
    assert found.kept == tuple(range(21))
    assert found.blended == tuple(range(21, 46))
    assert found.interpolated == tuple(range(46, 64))
    assert found.reach.magnitude == pytest.approx(1.2079441541679836, abs=1e-12)


def test_llama3_keeps_wavelengths_below_a_quarter_of_the_training_length():
    found = by_name(LLAMA, 8192, 65536)["llama3"]
    wavelengths = 2 * np.pi * 10000 ** (np.arange(64) / 64)
    assert found.kept == tuple(np.nonzero(wavelengths < 8192 / 4)[0])
    assert found.interpolated == tuple(np.nonzero(wavelengths > 8192)[0])


def test_an_encoding_without_frequencies_has_no_scalings():
    with pytest.raises(PecliError, match="not for integer"):
        chosen("all", Recipe.parse("integer:dim=4"))


def test_a_misspelt_scaling_is_named_with_the_nearest():
    with pytest.raises(PecliError, match="did you mean 'yarn'"):
        chosen("yarm", Recipe.parse(LLAMA))


def test_longrope_needs_its_lists():
    with pytest.raises(PecliError, match="lists that were searched for a model"):
        compare_scalings(Recipe.parse(LLAMA), ["longrope"], 100, 200, strict=True)
    stretch = "+".join(["2"] * 4)
    recipe = Recipe.parse(
        f"rope:dim=8,scaling=longrope,factor=2,original-max=100,long-factor={stretch},short-factor={stretch}"
    )
    found = compare_scalings(recipe, ["longrope"], 100, 200, strict=True)[0]
    assert found.interpolated == (0, 1, 2, 3)


def test_a_recipe_keeps_what_it_says_of_its_own_scaling():
    recipe = Recipe.parse("rope:dim=64,scaling=yarn,factor=4,original-max=1000,beta-fast=16")
    assert str(scaled_recipe(recipe, "yarn", 1000, 4000)) == str(recipe)
    assert str(unscaled(recipe)) == str(Recipe.parse("rope:dim=64"))
    assert scaled_recipe(recipe, "linear", 1000, 4000).values["factor"] == 4


def test_the_scaling_of_the_model_itself_was_there_in_training():
    recipe = Recipe.parse("rope:dim=64,scaling=proportional,partial=0.25,factor=8")
    found = by_name(str(recipe), 4096, 32768)
    assert tuple(found) == ("none", "proportional")
    assert unscaled(recipe) == Recipe.parse("rope:dim=64,scaling=proportional,partial=0.25")
    assert found["proportional"].interpolated == tuple(range(8))
    assert found["proportional"].kept == tuple(range(8, 32))  # they stand still


def test_mrope_is_scaled_as_rope_is():
    sections = Recipe.parse("mrope:dim=16,sections=4+2+2")
    assert scalings_of(sections) == scalings_of(Recipe.parse("rope:dim=16"))
    wanted = Recipe.parse("mrope:dim=16,sections=4+2+2,scaling=yarn,factor=4,original-max=100")
    assert scaled_recipe(sections, "yarn", 100, 400) == wanted
    assert unscaled(wanted) == sections
