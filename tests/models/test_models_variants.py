"""Random configs and the bare defaults of every rotary class, against what transformers' own classes make of them."""

import json
from decimal import Decimal

import pytest

from pecli.errors import PecliError
from pecli.models.reader import read_data
from pecli.spec.recipe import Recipe
from tests.support.golden_cases import cases

VARIANTS, DEFAULTS = cases("variants"), cases("defaults")


def read(config):
    return read_data(json.loads(json.dumps(config), parse_float=Decimal), "config.json")


def recipes(config):
    return [Recipe.bind(layer.encoding, **layer.params) for layer in read(config).layers.values()]


@pytest.mark.parametrize("case", [c for c in VARIANTS if "layers" in c], ids=lambda c: c["config"]["model_type"])
def test_a_variant_gives_the_frequencies_of_its_class(case):
    layers = {kind: one.of("rope") for kind, one in read(case["config"]).layers.items()}
    assert {kind for kind, one in layers.items() if one} == set(case["layers"])
    for kind, wanted in case["layers"].items():
        params = dict(layers[kind].params)
        if params.get("scaling") in ("dynamic", "longrope"):
            params["seq-len"] = str(case["seq_len"])
        plan = Recipe.bind("rope", **params).plan
        count = wanted["count"]
        assert len(plan.frequencies) == count
        found = [float(plan.frequencies[i]) for i in (0, count // 3, count - 1)]
        assert found == pytest.approx(wanted["frequencies"], rel=1e-11, abs=0)
        assert float(plan.magnitude) == pytest.approx(wanted["magnitude"], rel=1e-14, abs=0)


@pytest.mark.parametrize("case", [c for c in VARIANTS if "error" in c], ids=lambda c: c["config"]["model_type"])
def test_a_variant_that_its_class_refuses_is_refused(case):
    with pytest.raises(PecliError):
        recipes(case["config"])


@pytest.mark.parametrize("rows", DEFAULTS, ids=lambda rows: rows[0]["config"]["model_type"])
def test_what_a_config_leaves_out_is_the_default_of_its_class(rows):
    """Base, width of a head, share that rotates and scaling: of the type alone, and with one key more."""
    for row in rows:
        layers = {kind: one.of("rope") for kind, one in read(row["config"]).layers.items()}
        plans = {kind: Recipe.bind("rope", **one.params).plan for kind, one in layers.items() if one}
        found = {}
        for kind, plan in plans.items():
            count = len(plan.frequencies)
            found[kind] = [count, *(float(plan.frequencies[i]) for i in (count // 3, count - 1)), float(plan.magnitude)]
        assert found.keys() == row["layers"].keys()
        for kind, wanted in row["layers"].items():
            assert found[kind] == pytest.approx(wanted, rel=2e-6, abs=0), row["config"]


@pytest.mark.parametrize(
    ("name", "dim", "rotary", "base"),
    [
        ("gptj", 256, 64, 10000), ("codegen", 256, 64, 10000), ("roformer", 64, 64, 10000),
        ("chatglm", 128, 64, 10000), ("qwen", 128, 128, 10000), ("phi3small", 128, 128, 1000000),
        ("mixformer-sequential", 64, 32, 10000), ("codeshell", 128, 128, 10000), ("openelm", 64, 64, 10000),
    ],
)  # fmt: skip
def test_defaults_of_a_class_that_takes_no_config_for_its_table(name, dim, rotary, base):
    """Older classes and code beside the weights: their sources say so."""
    params = read({"model_type": name}).layers["all"].params
    found = params["dim"], params.get("rotary-dim", params["dim"]), params["base"]
    assert [float(text) for text in found] == [dim, rotary, base]


@pytest.mark.parametrize(("share", "rotary"), [(None, None), (0.5, "64")])
def test_a_type_that_is_not_known_is_read_as_llama(share, rotary):
    config = {"model_type": "unheard", "hidden_size": 512, "num_attention_heads": 4, "num_key_value_heads": 4}
    share = {} if share is None else {"partial_rotary_factor": share}
    params = read({**config, "rms_norm_eps": 1e-6, "intermediate_size": 64, **share}).layers["all"].params
    assert (params["dim"], params["base"], params.get("rotary-dim")) == ("128", "10000", rotary)
