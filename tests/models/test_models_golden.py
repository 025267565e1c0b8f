"""Configs of real and synthetic models against the tables that transformers makes of them.

Every case of tests/data/golden/configs.json is reproduced: frequencies, magnitude,
layout, the table itself.  Two remarks on the references:

- default__pe_audio: the reference says "half" for the pairing, found by
  rotating basis vectors; the source of the class (``stack_freqs`` over
  neighbours) is that of pe_video, whose reference says "adjacent".  The
  reading follows the source.
- default__esm, default__granitemoehybrid: the class defaults switch the rotary
  table off; the reference is of the module by itself, so the table is asked for
  by name.
"""

import json
from decimal import Decimal

import numpy as np
import pytest

from pecli.encodings.rotary.rope import emulate
from pecli.errors import PecliError
from pecli.models.reader import read_config
from pecli.spec.recipe import Recipe
from pecli.tables.table import Table
from tests.support.golden_cases import allowed, cases, values

CASES = cases("configs")
ROTARY = sorted(name for name, case in CASES.items() if "layers" in case)
REFUSED = sorted(name for name, case in CASES.items() if "error" in case)
OTHERS = sorted(name for name, case in CASES.items() if "scheme" in case)
PAIRING_BY_SOURCE = {"default__pe_audio": "adjacent"}


def reading(name, tmp_path, part="config"):
    file = tmp_path / "config.json"
    file.write_text(json.dumps(CASES[name][part]))
    return read_config(file)


def tables(name, tmp_path):
    """Yield the recipe of each reference table, its facts and its arrays."""
    found = reading(name, tmp_path)
    for kind, layer in CASES[name]["layers"].items():
        read = found.select(None if kind == "all" else kind, "rope")
        for i, table in enumerate(layer["tables"]):
            params = dict(read.params)
            if params.get("scaling") in ("dynamic", "longrope"):
                params["seq-len"] = str(table["seq_len"])
            arrays = {n: values("configs")[f"{name}/{kind}/{i}/{n}"] for n in ("cos", "sin")}
            for n in ("float32", "true"):
                arrays[n] = values("configs")[f"{name}/{kind}/{table['frequencies']}/{n}"]
            yield read, Recipe.bind("rope", **params), table, arrays


def recipes(found):
    return [Recipe.bind(layer.encoding, **layer.params) for layer in found.layers.values()]


def test_the_references_are_all_there():
    assert (len(ROTARY), len(REFUSED), len(OTHERS)) == (263, 8, 23)


@pytest.mark.parametrize("name", ROTARY)
def test_frequencies_and_magnitude_are_the_true_ones(name, tmp_path):
    for _, recipe, table, arrays in tables(name, tmp_path):
        found = np.array([float(w) for w in recipe.plan.frequencies])
        np.testing.assert_allclose(found, arrays["true"], rtol=1e-12, atol=0)
        assert float(recipe.plan.magnitude) == table["magnitude"]


@pytest.mark.parametrize("name", ROTARY)
def test_layout_and_pairing_are_those_of_the_module(name, tmp_path):
    found = reading(name, tmp_path)
    for kind, layer in CASES[name]["layers"].items():
        read = found.select(None if kind == "all" else kind, "rope")
        assert read.layout == layer["layout"]
        assert read.pairing == PAIRING_BY_SOURCE.get(name, CASES[name]["pairing"])
        assert read.params["dim"] == str(layer["head"])


@pytest.mark.parametrize("name", ROTARY)
def test_the_exact_table_is_within_the_rounding_of_float32(name, tmp_path):
    for _, recipe, table, arrays in tables(name, tmp_path):
        positions = table["positions"]
        made = Table.make(recipe, positions=",".join(map(str, positions)), dtype="float64")
        bound = allowed(positions, arrays["true"], table["magnitude"])
        for part in ("cos", "sin"):
            assert (np.abs(made.read(part) - arrays[part]) <= bound).all()


def test_float32_arithmetic_gives_99_of_100_frequencies_to_the_bit_and_their_columns_within_1e_6(tmp_path):
    equal = count = 0
    for name in (name for name in ROTARY if "roformer" not in name):  # which makes its angles in double precision
        for _, recipe, table, arrays in tables(name, tmp_path):
            made = emulate(recipe.plan, recipe.values)
            same = made.frequencies == arrays["float32"]
            equal, count = equal + int(same.sum()), count + len(same)
            cos = np.empty((len(table["positions"]), len(same)), np.float32)
            sin = np.empty_like(cos)
            made.fill(np.array(table["positions"]), cos, sin)
            for found, wanted in ((cos, arrays["cos"]), (sin, arrays["sin"])):
                assert (np.abs(found - wanted)[:, same] <= 1e-6).all(), name
    assert equal / count >= 0.99, (equal, count)


@pytest.mark.parametrize("name", REFUSED)
def test_a_config_that_transformers_refuses_is_refused_in_one_sentence(name, tmp_path):
    with pytest.raises(PecliError) as caught:
        recipes(reading(name, tmp_path))
    assert "\n" not in str(caught.value)


SCHEMES = {
    "alibi": "alibi",
    "deberta_log_buckets": "deberta",
    "fixed_2d_sincos": "sincos2d",
    "learned_absolute": "learned",
    "none": "none",
    "sinusoidal": "sinusoidal",
    "sinusoidal_or_learned": "learned",
    "t5_relative_buckets": "t5",
    "xl_relative_sinusoidal": "transformer-xl",
}


@pytest.mark.parametrize("name", OTHERS)
def test_a_model_that_is_not_rotary_gives_its_own_encoding(name, tmp_path):
    found = reading(name, tmp_path)
    assert {layer.encoding for layer in found.layers.values()} == {SCHEMES[CASES[name]["scheme"]]}
    with pytest.raises(PecliError) as caught:
        found.select(None, "rope")
    says = (
        f"pecli generate {found.select().encoding} --config"
        if found.select().encoding != "none"
        else "without positions"
    )
    assert says in str(caught.value)


def test_numbers_are_read_as_decimals(tmp_path):
    file = tmp_path / "config.json"
    file.write_text('{"model_type": "llama", "hidden_size": 64, "num_attention_heads": 1, "rope_theta": 10000.1}')
    recipe = Recipe.bind("rope", **read_config(file).select().params)
    assert recipe.values["base"] == Decimal("10000.1")
