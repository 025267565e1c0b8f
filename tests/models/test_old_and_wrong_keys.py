"""Configs whose base, share or scaling stands layer by layer, under an old name or in a wrong shape."""

import pytest

from pecli.errors import PecliError
from pecli.models.reader import configured, read_config, read_data

LLAMA3 = {"rope_type": "llama3", "factor": 8, "low_freq_factor": 1, "high_freq_factor": 4}
FULL, SLIDING = "full_attention", "sliding_attention"
PLAIN = {"rope_type": "default", "rope_theta": 10000}


def layers(config):
    return {name: (one.encoding, dict(one.params)) for name, one in read_data(config, "config.json").layers.items()}


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (
            {"model_type": "step3p5", "layer_types": [FULL, SLIDING], "rope_theta": [5000000, 10000],
             "partial_rotary_factors": [0.5, 1.0]},
            {FULL: {"dim": "128", "rotary-dim": "64", "base": "5000000"}, SLIDING: {"dim": "128", "base": "10000"}},
        ),
        (
            {"model_type": "ultrabert", "rope_theta": [10000, 10000, 160000]},
            {FULL: {"dim": "128", "base": "160000"}, SLIDING: {"dim": "128", "base": "10000"}},
        ),
        (
            {"model_type": "neomme", "rope_theta": 50000},
            {FULL: {"dim": "64", "rotary-dim": "16", "base": "50000"}, SLIDING: {"dim": "64", "base": "50000"}},
        ),
        ({"model_type": "chatglm", "rope_ratio": 500}, {"all": {"dim": "128", "rotary-dim": "64", "base": "5000000"}}),
        (
            {"model_type": "phi3small", "rope_position_scale": 4},
            {"all": {"dim": "128", "base": "1000000", "scaling": "linear", "factor": "4"}},
        ),
    ],
    ids=lambda value: value.get("model_type"),
)  # fmt: skip
def test_a_base_of_each_layer_and_old_names_of_a_scaling_are_read(config, expected):
    assert layers(config) == {kind: ("rope", params) for kind, params in expected.items()}


def test_keys_that_a_class_does_not_read_are_warned_of():
    found = read_data({"model_type": "gptj", "rope_theta": 50000}, "config.json")
    assert dict(found.layers["all"].params)["base"] == "10000"
    assert found.warnings == ("rope_theta has no effect: gptj does not read it",)


def test_what_transformers_fills_in_beside_rope_scaling_is_not_missed():
    found = read_data({"model_type": "codegen", "rope_scaling": LLAMA3, "rope_theta": 10000}, "config.json")
    assert dict(found.layers["all"].params) == {"dim": "256", "rotary-dim": "64", "base": "10000"}


def test_terms_of_deberta_are_read_in_either_order_and_not_where_they_are_switched_off():
    for switched, terms in ((True, "c2p+p2c"), (False, "none")):
        found = layers({"model_type": "deberta-v2", "relative_attention": switched, "pos_att_type": "p2c|c2p"})
        assert found["all"][1]["pos-att-type"] == terms


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ({"model_type": "cosmos3_edge_text", "rope_parameters": {"type": "default"}}, "has no mrope_section"),
        ({"model_type": "cosmos3_edge_text", "head_dim": 48}, "adds up to 64: they must add up to 24"),
        (
            {"model_type": "gptj", "rope_parameters": {**LLAMA3, "original_max_position_embeddings": 256}},
            "rope_parameters.rope_theta",
        ),
        ({"model_type": "codegen", "rope_parameters": LLAMA3, "rope_theta": 10000}, "original_max_position_embeddings"),
        ({"model_type": "llama", "hidden_size": 16, "num_attention_heads": 32}, "a head would have no width"),
        ({"model_type": "step3p5", "rope_theta": [5000000], "layer_types": [FULL, SLIDING]}, "rope_theta of 1 layers"),
        (
            {"model_type": "step3p5", "layer_types": [FULL], "rope_scaling": {"rope_type": "llama3", "factor": 2}},
            "has no rope_scaling.low_freq_factor, which rope type llama3 requires",
        ),
        ({"model_type": "neomme", "rope_parameters": {FULL: 3}}, "full_attention 3: it must be an object"),
        ({"model_type": "neomme", "rope_parameters": {FULL: None}}, "null: it must be an object of rope parameters"),
        ({"model_type": "qwen", "rotary_emb_base": "x"}, 'rotary_emb_base "x": the base must be a number'),
        ({"model_type": "chatglm", "rope_ratio": "x"}, 'rope_ratio "x": it must be a number'),
        (
            {"model_type": "gemma3_text", "rope_scaling": {"rope_type": "linear", "factor": 8},
             "rope_parameters": {SLIDING: PLAIN}},
            "rope_parameters has no full_attention that it could extend",
        ),
        (
            {"model_type": "gemma4_text", "rope_parameters": {FULL: {**PLAIN, "rope_type": "yarn"}, SLIDING: PLAIN}},
            "no original_max_position_embeddings in rope_parameters.full_attention, which yarn requires",
        ),
        (
            {"model_type": "gemma4_text", "rope_parameters": {FULL: 5, SLIDING: PLAIN}},
            "rope_parameters.full_attention 5: it must be an object of rope parameters",
        ),
        ({"model_type": "swin", "num_heads": "3"}, 'num_heads "3": it must be a list of numbers, one for each stage'),
        ({"model_type": "swin", "window_size": 0}, "window_size 0: it must be a whole number of at least 1"),
        ({"model_type": "deberta-v2", "relative_attention": True, "pos_att_type": 3}, "a list of c2p and p2c"),
    ],
)  # fmt: skip
def test_a_key_in_a_wrong_shape_is_named_with_its_value(config, says):
    with pytest.raises(PecliError) as error:
        read_data(config, "config.json")
    assert str(error.value).startswith("config.json: ")
    assert says in str(error.value)


@pytest.mark.parametrize("number", ["1e999999999999", "-1e350"])
@pytest.mark.parametrize("key", ["rope_theta", "partial_rotary_factor"])
def test_a_number_that_no_double_holds_is_none(key, number, tmp_path):
    """Its digits filled the memory, and a share of it was no column."""
    path = tmp_path / "config.json"
    path.write_text(f'{{"model_type": "phi", "hidden_size": 64, "num_attention_heads": 4, "{key}": {number}}}')
    with pytest.raises(PecliError, match="it must be a number"):
        read_config(path)


def test_a_number_that_a_double_holds_as_zero_is_refused_with_its_exponent(tmp_path):
    path = tmp_path / "config.json"
    path.write_text(
        '{"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4, "rope_theta": 1e-999999999999}'
    )
    with pytest.raises(PecliError, match="exponents of 10 go from -400 to 400"):
        configured(str(path))
