"""Contract of every rope scaling: all that is known of it stands in its module and agrees with its frequencies."""

import json

import numpy as np
import pytest

from pecli import Table
from pecli.encodings.rotary.rope import emulate
from pecli.encodings.rotary.rope.scalings import ROPE_TYPES, SCALING_OPTIONS, SCALINGS
from pecli.errors import BadParameter
from pecli.extrapolate.scalings import scaled_recipe, unscaled
from pecli.judge.identify import identify
from pecli.models.reader import read_config
from pecli.spec.recipe import Recipe
from tests.support.mistakes import changed, mistakes
from tests.support.scalings import GIVEN, recipe_of


@pytest.mark.parametrize("name", SCALINGS)
def test_a_scaling_is_found_by_its_module_and_its_parameters_are_those_of_rope_and_mrope(name):
    assert SCALINGS[name].name == name
    assert set(SCALINGS[name].options) <= SCALING_OPTIONS
    several = recipe_of(name, "mrope", sections="8+4+4").encoding.parameters
    alone = recipe_of(name).encoding.parameters
    for option in SCALINGS[name].options:
        assert several[option.replace("-", "_")] == alone[option.replace("-", "_")]


def test_places_differ():
    assert len({scaling.place for scaling in SCALINGS.values()}) == len(SCALINGS)


@pytest.mark.parametrize("name", SCALINGS)
def test_its_steps_in_float32_are_near_its_exact_frequencies(name):
    recipe = recipe_of(name)
    found = emulate(recipe.plan, recipe.values).frequencies
    # exponent, power, reciprocal and a scaling's own few steps, each rounded
    np.testing.assert_allclose(found, [float(w) for w in recipe.plan.frequencies], rtol=16 * 2.0**-24, atol=0)
    plain = recipe_of("none")
    assert (name == "none") == np.array_equal(found, emulate(plain.plan, plain.values).frequencies)


@pytest.mark.parametrize("name", SCALINGS)
def test_its_mistakes_are_other_tables(name):
    recipe = recipe_of(name)
    told = mistakes(recipe)
    assert len({change.text for change in told}) == len(told)
    for change in told:
        assert changed(recipe, change) != recipe or change.waves or change.step != 1, change.text
    assert (name == "none") == (not any("are unscaled" in change.text for change in told))


@pytest.mark.parametrize("name", SCALINGS)
def test_it_follows_from_lengths_or_says_why_not(name):
    scaling, recipe = SCALINGS[name], recipe_of(name)
    own = {key: value for key, value in recipe.keys().items() if key != "factor"}  # what the model had in training
    assert unscaled(recipe) == (recipe_of("none") if scaling.extends else Recipe.bind("rope", **own))
    start = unscaled(recipe)
    if set(scaling.required) <= {"factor", "original-max", "max-position", "seq-len"}:
        assert scaled_recipe(start, name, 512, 2048) == recipe
    else:
        with pytest.raises(BadParameter, match="searched for a model"):
            scaled_recipe(start, name, 512, 2048)


@pytest.mark.parametrize("name", SCALINGS)
def test_it_is_recognised_from_values_alone_or_says_why_not(name):
    table = Table.make(recipe_of(name, base=500000), length=1000, dtype="float64")
    found = identify(table)
    if SCALINGS[name].unrecognised:
        assert f"scaling={name}," not in (found.recipe or "")  # another scaling may have the same values
        return
    assert found.recipe is not None, "write a rule in rope/identify.py, or declare why it is unrecognised="
    again = Table.parse(found.recipe)
    for part in ("cos", "sin"):
        np.testing.assert_array_equal(again.read(part), table.read(part))


@pytest.mark.parametrize("kind", ROPE_TYPES)
def test_a_rope_type_of_a_config_is_read_as_the_scaling_it_belongs_to(kind, tmp_path):
    (name,) = (s.name for s in SCALINGS.values() if any(t.name == kind for t in s.types))
    params = {"rope_type": kind, "rope_theta": 10000.0, "factor": 4.0, "original_max_position_embeddings": 512}
    params |= {"low_freq_factor": 1.0, "high_freq_factor": 4.0}
    params |= {key.replace("-", "_"): [float(v) for v in GIVEN[key].split("+")] for key in GIVEN if "-factor" in key}
    config = {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 2, "head_dim": 32}
    file = tmp_path / "config.json"
    file.write_text(json.dumps({**config, "max_position_embeddings": 2048, "rope_scaling": params}))
    read = read_config(file).select(None, "rope")
    assert read.params.get("scaling", "none") == name
    assert read.params["dim"] == "32"
