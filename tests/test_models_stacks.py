"""Readings of other stacks, where they differ from transformers."""

import json

import pytest

from pecli.encodings.recipe import Recipe
from pecli.errors import BadFile, UnknownName
from pecli.models import read_config
from pecli.models.reader import read_data
from pecli.models.stacks import RULES, as_stack, by_stack

LLAMA = {"model_type": "llama", "hidden_size": 512, "num_attention_heads": 8, "max_position_embeddings": 4096}
YARN = {"rope_type": "yarn", "factor": 40, "original_max_position_embeddings": 1024}
DEEPSEEK = {"model_type": "deepseek_v3", "max_position_embeddings": 163840}


def stacks(config, **scaling):
    """Parameters and keys of the differences by stack."""
    data = {**config, "rope_scaling": scaling} if scaling else config
    return {one.stack: one for one in by_stack(read_data(data, "config.json").select())}


def magnitude(one, **more):
    return float(Recipe.bind("rope", **one.params, **more).plan.magnitude)


def test_stacks_agree_where_no_rule_applies():
    found = stacks(LLAMA, rope_type="linear", factor=2)
    assert list(found) == ["transformers", "vllm", "llama.cpp", "megatron", "mlx"]
    assert all(one.params == found["transformers"].params and not one.differences for one in found.values())


def test_a_given_attention_factor_divides_the_stacks():
    found = stacks(LLAMA, **YARN, attention_factor=1.0)
    plain = pytest.approx(1.3688879454113936)
    assert magnitude(found["transformers"]) == 1
    assert magnitude(found["mlx"]) == 1
    assert magnitude(found["vllm"]) == plain
    assert magnitude(found["llama.cpp"]) == plain
    assert magnitude(found["megatron"]) == plain
    assert [rule.key for rule in found["vllm"].differences] == ["attention_factor"]


def test_a_lone_mscale_divides_the_stacks():
    found = stacks(DEEPSEEK, **YARN, mscale=0.707)
    assert magnitude(found["transformers"]) == pytest.approx(1.3688879454113936)
    for name in ("vllm", "megatron", "mlx"):
        assert magnitude(found[name]) == pytest.approx(1.2608037774058553)
    assert magnitude(found["deepseek"]) == 1


def test_llama_cpp_leaves_deepseek_unscaled_when_all_dimensions_are_weighted():
    found = stacks(DEEPSEEK, **YARN, mscale=0.707, mscale_all_dim=0.707)
    assert magnitude(found["llama.cpp"]) == 1


def test_vllm_makes_one_dynamic_table_for_the_longest_length():
    found = stacks(LLAMA, type="dynamic", factor=4.0)
    assert found["vllm"].params["seq-len"] == "16384"
    assert "seq-len" not in found["transformers"].params


def test_mlx_has_no_dynamic_table():
    assert stacks(LLAMA, type="dynamic", factor=4.0)["mlx"].params is None
    reading = read_data({**LLAMA, "rope_scaling": {"type": "dynamic", "factor": 4.0}}, "config.json")
    with pytest.raises(BadFile, match="has no table in mlx: it has no rope type dynamic"):
        as_stack(reading, "mlx")


def test_longrope_is_chosen_by_context_or_always_long():
    scaling = {"type": "longrope", "short_factor": [1] * 32, "long_factor": [2] * 32}
    found = stacks({**LLAMA, "original_max_position_embeddings": 1024}, **scaling, attention_factor=1.5)
    assert found["vllm"].params["seq-len"] == "4096"
    assert found["llama.cpp"].params["seq-len"] == "4096"
    assert found["mlx"].params["short-factor"] == found["mlx"].params["long-factor"]
    assert magnitude(found["mlx"], **{"seq-len": "1"}) == pytest.approx(1.0954451150103321)
    assert magnitude(found["transformers"], **{"seq-len": "1"}) == 1.5


def test_truncation_is_not_read_by_every_stack():
    found = stacks(LLAMA, **YARN, truncate=False)
    assert {name for name, one in found.items() if "truncate" in one.params} == {"transformers", "vllm", "megatron"}


def test_vllm_reads_a_nested_truncation_that_transformers_does_not():
    nested = {"full_attention": {**YARN, "rope_theta": 5e5, "truncate": False}}
    config = {"model_type": "olmo3", "layer_types": ["full_attention"], "rope_parameters": nested}
    found = stacks(json.loads(json.dumps(config)))
    assert "truncate" not in found["transformers"].params
    assert found["vllm"].params["truncate"] == "false"


def test_vllm_rotates_the_given_share_of_every_model():
    found = stacks({**LLAMA, "partial_rotary_factor": 0.5})
    assert "rotary-dim" not in found["transformers"].params
    assert found["vllm"].params["rotary-dim"] == "32"


def test_megatron_has_llamas_lengths_built_in_and_rotates_whole_heads_with_yarn():
    llama3 = {"rope_type": "llama3", "factor": 32, "low_freq_factor": 2, "high_freq_factor": 8}
    found = stacks(LLAMA, **llama3, original_max_position_embeddings=1024)["megatron"].params
    assert (found["low-freq-factor"], found["high-freq-factor"], found["original-max"]) == ("1", "4", "8192")
    assert "rotary-dim" not in stacks({**LLAMA, "partial_rotary_factor": 0.5}, **YARN)["megatron"].params


def test_deepseek_scales_only_beyond_the_original_length():
    short = stacks({**DEEPSEEK, "max_position_embeddings": 1024}, **YARN)["deepseek"].params
    assert "scaling" not in short
    with pytest.raises(BadFile, match="is no DeepSeek model"):
        as_stack(read_data(LLAMA, "config.json"), "deepseek")


def test_a_stack_is_chosen_when_a_config_is_read(tmp_path):
    file = tmp_path / "config.json"
    file.write_text(json.dumps({**LLAMA, "rope_scaling": {**YARN, "attention_factor": 1.0}}))
    found = read_config(file, stack="vllm")
    assert found.stack == "vllm"
    assert "attention-factor" not in found.select().params
    assert any("vLLM" in note for note in found.select().notes)
    with pytest.raises(UnknownName, match="did you mean 'vllm'"):
        read_config(file, stack="vlm")


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule.stack}-{rule.scaling}-{rule.key}")
def test_a_rule_names_its_source_and_reads_as_a_sentence(rule):
    assert rule.source
    assert rule.text[0].islower()
    assert not rule.text.endswith(".")


LISTS = {"short_factor": [1] * 32, "long_factor": [2] * 32, "original_max_position_embeddings": 1024}


@pytest.mark.parametrize(
    ("scaling", "without"),
    [
        ({"rope_type": "linear", "factor": 2}, set()),
        ({"rope_type": "dynamic", "factor": 2}, {"llama.cpp", "megatron", "mlx"}),
        (YARN, set()),
        ({"rope_type": "longrope", **LISTS}, {"megatron"}),
        ({**YARN, "low_freq_factor": 1, "high_freq_factor": 4, "rope_type": "llama3"}, set()),
        ({"rope_type": "proportional", "factor": 2}, {"llama.cpp", "megatron"}),
    ],
)
def test_a_scaling_that_a_stack_is_not_known_to_have_gives_no_table(scaling, without):
    found = stacks(LLAMA, **scaling)
    assert {name for name, one in found.items() if one.params is None} == without
    for name in without - {"mlx"}:
        assert f"documents no {scaling['rope_type']} scaling" in found[name].differences[-1].text


def test_an_undocumented_scaling_is_refused_by_name():
    reading = read_data({**LLAMA, "rope_scaling": {"rope_type": "dynamic", "factor": 2}}, "config.json")
    with pytest.raises(BadFile, match=r"has no table in llama\.cpp: it documents no dynamic scaling"):
        as_stack(reading, "llama.cpp")


def test_a_stack_that_is_not_known_to_have_an_encoding_gives_no_table():
    found = {one.stack: one.params for one in by_stack(read_data({"model_type": "bloom"}, "config.json").select())}
    assert {name for name, params in found.items() if params is None} == {"vllm", "megatron"}


def test_vllm_divides_by_no_proportional_factor():
    found = stacks(LLAMA, rope_type="proportional", factor=2)
    assert "factor" in found["mlx"].params
    assert "factor" not in found["vllm"].params
