"""What people get instead of an encoding stands with its declaration, and applies to it."""

from decimal import Decimal

import pytest

from pecli import Recipe
from pecli.numbers.decimals import number_text
from pecli.spec.catalogue import CATALOGUE
from pecli.spec.measured import PUBLISHED_BASES
from tests.support.mistakes import changed, mistakes


def test_usual_bases_are_written_as_recipes_write_them():
    assert [number_text(Decimal(base)) for base in PUBLISHED_BASES] == list(PUBLISHED_BASES)


@pytest.mark.parametrize("name", CATALOGUE)
def test_no_mistake_is_the_expected_recipe_itself(name):
    recipe = Recipe.parse(CATALOGUE[name].example)
    for change in mistakes(recipe):
        own = change.values or change.waves or change.shift or change.step != 1
        assert own or changed(recipe, change) != recipe, change.text
        assert change.kind
        assert change.text


@pytest.mark.parametrize(
    ("recipe", "texts"),
    [
        ("sinusoidal:dim=8", {"base 500000 where 10000 was expected"}),
        ("alibi:heads=6", {"the slopes are sorted, the largest first", "the distance is counted from 1"}),
        ("rope:dim=8,scaling=linear,factor=2", {"linear factor 4 where 2 was expected, as if it were applied twice",
         "scaling linear is missing: the frequencies are unscaled", "base 1000000 where 10000 was expected"}),
        ("mrope:dim=8,sections=2+1+1,scaling=yarn,factor=2,original-max=8,beta-fast=16,mscale=2",
         {"the magnitude is missing", "beta-fast 32 where 16 was expected", "scaling ntk where yarn was expected",
          "yarn with ramp=rotations where ramp=index was expected"}),
        ("retnet:dim=8,heads=2", {"base 100 where 10000 was expected"}),
    ],
)  # fmt: skip
def test_declared_mistakes(recipe, texts):
    assert texts <= {change.text for change in mistakes(Recipe.parse(recipe))}
