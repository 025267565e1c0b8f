"""Recipes: the grammar, identity, and the sentences that refuse."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pecli import CATALOGUE, Recipe
from pecli.errors import BadParameter, BadRecipe, PecliError, UnknownName
from pecli.spec.recipe import join_recipe, split_recipe
from pecli.tables.table import Table


def test_defaults_are_part_of_the_identity():
    assert Recipe.parse("sinusoidal:dim=4") == Recipe.parse("sinusoidal:dim=4,base=10000,order=interleaved")
    assert Recipe.parse("sinusoidal:dim=4") != Recipe.parse("sinusoidal:dim=4,base=10001")


@pytest.mark.parametrize("text", ["10000", "1e4", "10000.0", "1.0E+4", "010000"])
def test_numbers_stand_in_their_shortest_form(text):
    recipe = Recipe.parse(f"sinusoidal:dim=4,base={text}")
    assert ",base=10000," in str(recipe)
    assert recipe == Recipe.parse("sinusoidal:dim=4")
    assert hash(recipe) == hash(Recipe.parse("sinusoidal:dim=4"))


@pytest.mark.parametrize("name", CATALOGUE)
def test_the_example_of_every_encoding_parses_back_from_both_texts(name):
    recipe = Recipe.parse(CATALOGUE[name].example)
    assert Recipe.parse(str(recipe)) == recipe
    assert Recipe.parse(recipe.short) == recipe
    assert recipe.encoding.name == name


def test_lists_may_be_written_with_commas_and_stand_with_plus_signs():
    assert Recipe.bind("mrope", dim=128, sections="16,24,24") == Recipe.parse("mrope:dim=128,sections=16+24+24")
    assert Recipe.bind("rope", dim=8, frequencies="1e+0, 2,3,4").keys()["frequencies"] == "1+2+3+4"
    assert Recipe.parse('mrope:dim=128,sections="16,24,24"').keys()["sections"] == "16+24+24"


def test_a_list_that_names_an_existing_file_is_the_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "1,x").write_text("\ufeff3 4")
    assert Recipe.bind("rope", dim=4, frequencies="1,x").keys()["frequencies"] == "3+4"


@pytest.mark.parametrize(
    ("options", "part"), [({"positions": "1,2"}, "positions="), ({"length": 2, "start": 1}, "start="),
                          ({"length": 2, "shard": "0/2"}, "shard=")]
)  # fmt: skip
def test_a_part_of_a_table_names_the_option_that_made_it_one(options, part):
    with pytest.raises(BadRecipe, match=f"a table with {part} needs max-len="):
        Table.make(Recipe.parse("xpos:dim=4"), **options)


def test_a_preset_expands_and_leaves_no_trace():
    recipe = Recipe.parse("sinusoidal:dim=8,spacing=endpoint")
    assert recipe == Recipe.parse("sinusoidal:dim=8,shift=1")
    assert "spacing" not in str(recipe)


def test_what_stands_beside_a_preset_wins():
    assert Recipe.parse("sinusoidal:dim=8,spacing=endpoint,shift=2") == Recipe.parse("sinusoidal:dim=8,shift=2")


@pytest.mark.parametrize(
    ("text", "error", "says"),
    [
        ("sinusoidl:dim=4", UnknownName, "unknown encoding 'sinusoidl': did you mean 'sinusoidal'?"),
        ("sinusoidal:dmi=4", UnknownName, "unknown parameter 'dmi' of sinusoidal: did you mean 'dim'?"),
        ("sinusoidal:dim=7", BadParameter, "dim=7 must be even: use 6 or 8"),
        ("sinusoidal:dim=0", BadParameter, "dim=0 must be from 1 to"),
        ("sinusoidal:dim=4.5", BadParameter, "dim=4.5 must be a whole number"),
        ("sinusoidal:dim=4,base=0", BadParameter, "base=0 must be from 1e-6 to 1e30"),
        ("sinusoidal:dim=4,base=-3", BadParameter, "base=-3 must be from 1e-6 to 1e30"),
        ("sinusoidal:dim=4,base=nan", BadParameter, "base=nan must be a finite number"),
        ("sinusoidal:dim=4,base=1e999999999", BadParameter, "is too large: exponents of 10 go from"),
        ("sinusoidal:dim=4,base=1e-999999999", BadParameter, "base=1e-999999999 is too small: exponents"),
        ("sinusoidal:dim=1", BadParameter, "dim=1 must be even: use 2, or odd=truncate or round-up"),
        ("sinusoidal:dim=1,odd=pad", BadParameter, "odd=pad leaves no column at dim=1"),
        ("rope:dim=1", BadParameter, "dim=1 must be even: use 2, or rotary-dim=1 for one pair"),
        ("complex:dim=3", BadParameter, "dim=3 must be even: use 2 or 4"),
        ("complex:dim=1048576.5", BadParameter, "must be a whole number"),
        ("sinusoidal:dim=4,scale=1e-30", BadParameter, "scale=1e-30 must be from 1e-12 to 1e12"),
        ("gaussian:sigma=1e-40", BadParameter, "sigma=1e-40 must be from 1e-30 to 1e30"),
        ("sinusoidal:dim=1_0", BadParameter, "dim=1_0 must be a whole number"),
        ("sinusoidal:dim=\uff18", BadParameter, "must be a whole number"),
        ("sinusoidal:dim=4,base=\u0663", BadParameter, "must be a finite number"),
        (
            "rope:dim=8,scaling=yarn,factor=2,original-max=64,beta-fast=1,beta-slow=32",
            BadParameter,
            "beta-fast=1 must be at least beta-slow=32: fast pairs turn more often",
        ),
        ("nerf:bands=2000", BadParameter, "bands=2000 must be from 1 to 96"),
        ("rope:dim=8,frequencies=1+2+x+4", BadParameter, "frequencies=x must be a finite number"),
        ("sinusoidal:dim=4,base=2e30", BadParameter, "from 1e-6 to 1e30"),
        ("sinusoidal:dim=4,order=sin", UnknownName, "did you mean"),
        ("sinusoidal:dim=2,shift=1", BadParameter, "shift=1 divides by 1 - 1 = 0"),
        ("sinusoidal", BadRecipe, "sinusoidal needs dim=N"),
        ("sinusoidal:", BadRecipe, "is not a recipe"),
        (":dim=4", BadRecipe, "is not a recipe"),
        ("sinusoidal:dim", BadRecipe, "is not key=value"),
        ("sinusoidal:dim=4,", BadRecipe, "is not key=value"),
        ("sinusoidal:dim=4,dim=4", BadRecipe, "gives dim twice"),
        ('sinusoidal:dim="4', BadRecipe, "has a quote that does not end"),
        ("rope:dim=64,factor=2", BadParameter, "factor=2 has no effect"),
        ("integer:dim=1,scales=2,max-len=4", BadParameter, "dim=1 must be at least 2 with scales="),
        ("integer:dim=1,max-len=1", BadParameter, "max-len=1 must be at least 2"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(text, error, says):
    with pytest.raises(error) as caught:
        Recipe.parse(text)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)
    assert isinstance(caught.value, PecliError)


@given(st.dictionaries(st.from_regex(r"[a-z][a-z0-9-]{0,8}", fullmatch=True), st.text(max_size=20), max_size=5))
@settings(max_examples=100, deadline=None)
def test_any_keys_and_values_survive_the_text(keys):
    keys = {key: value.strip() for key, value in keys.items()}
    assert split_recipe(join_recipe("name", keys)) == ("name", keys)


@given(st.text(max_size=40))
@settings(max_examples=120, deadline=None)
def test_any_text_parses_or_is_refused_in_a_sentence(text):
    try:
        Recipe.parse("sinusoidal:" + text)
    except PecliError as error:
        assert str(error)  # noqa: PT017 - either way is right; nothing else may be raised
