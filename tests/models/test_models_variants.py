"""Random configs of every rotary class, against what transformers' own config classes make of them."""

import json
from decimal import Decimal

import pytest

from pecli.encodings.recipe import Recipe
from pecli.errors import PecliError
from pecli.models.reader import read_data
from tests.support.golden_cases import cases

VARIANTS = cases("variants")


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
