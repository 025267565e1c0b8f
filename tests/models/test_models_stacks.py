"""Readings of other stacks, where they differ from transformers."""

import json
from decimal import Decimal

import numpy as np
import pytest

from pecli.errors import BadFile, PecliError, UnknownName
from pecli.inspect.configs import advise, compare_stacks
from pecli.models.reader import read_config, read_data, read_for
from pecli.models.stack import as_stack, read_as, rule_text, stack_of
from pecli.models.stacks import STACKS
from pecli.spec.recipe import Recipe
from pecli.tables.table import Table
from tests.support.golden_cases import cases, values

OTHERS = STACKS[1:]
RULES = [(name, rule) for name in OTHERS for rule in stack_of(name).rules]
LLAMA = {"model_type": "llama", "hidden_size": 512, "num_attention_heads": 8, "max_position_embeddings": 4096}
YARN = {"rope_type": "yarn", "factor": 40, "original_max_position_embeddings": 1024}
DEEPSEEK = {"model_type": "deepseek_v3", "max_position_embeddings": 163840}


def stacks(config, **scaling):
    """Parameters and keys of the differences by stack."""
    data = {**config, "rope_scaling": scaling} if scaling else config
    layer = read_data(data, "config.json").select()
    found = {name: read_as(layer, name) for name in OTHERS if stack_of(name).knows(layer.written.model)}
    return {"transformers": layer, **found}


def magnitude(one, **more):
    return float(Recipe.bind("rope", **one.params, **more).plan.magnitude)


def test_stacks_agree_where_no_rule_applies():
    found = stacks(LLAMA)
    assert len(found) == 19
    assert all(one.params == found["transformers"].params for one in found.values())
    assert not any(found[name].differences for name in found if name != "transformers")


def test_a_given_attention_factor_divides_the_stacks():
    found = stacks(LLAMA, **YARN, attention_factor=1.0)
    plain = pytest.approx(1.3688879454113936)
    assert magnitude(found["transformers"]) == 1
    assert magnitude(found["vllm"]) == 1  # since 0.30.0
    for name in ("mlx", "llama.cpp", "megatron", "sglang"):
        assert magnitude(found[name]) == plain
    assert [rule.key for rule in found["mlx"].differences] == ["attention_factor"]


def test_both_readings_of_a_rule_that_changed_are_kept():
    layer = read_data({**LLAMA, "rope_scaling": {**YARN, "attention_factor": 1.0}}, "config.json").select()
    assert magnitude(read_as(layer, "vllm", "0.29.0")) == pytest.approx(1.3688879454113936)
    assert magnitude(read_as(layer, "vllm", "0.30")) == 1
    layer = read_data({**LLAMA, "rope_scaling": {"type": "dynamic", "factor": 4.0}}, "config.json").select()
    assert read_as(layer, "vllm", "0.22.0").params["seq-len"] == "16384"
    assert "scaling" not in read_as(layer, "vllm").params
    assert read_as(layer, "mlx", "0.31.3").params is None
    assert read_as(layer, "mlx").params == layer.params


def test_a_lone_mscale_divides_the_stacks():
    found = stacks(DEEPSEEK, **YARN, mscale=0.707)
    assert magnitude(found["transformers"]) == pytest.approx(1.3688879454113936)
    for name in ("vllm", "megatron", "mlx"):
        assert magnitude(found[name]) == pytest.approx(1.2608037774058553)
    assert magnitude(found["deepseek"]) == 1


def test_llama_cpp_leaves_deepseek_unscaled_when_all_dimensions_are_weighted():
    found = stacks(DEEPSEEK, **YARN, mscale=0.707, mscale_all_dim=0.707)
    assert magnitude(found["llama.cpp"]) == 1


def test_sglang_makes_one_dynamic_table_for_the_longest_length():
    found = stacks(LLAMA, type="dynamic", factor=4.0)
    assert found["sglang"].params["seq-len"] == "16384"
    assert "seq-len" not in found["transformers"].params


def test_longrope_is_chosen_by_context_or_always_long():
    scaling = {"type": "longrope", "short_factor": [1] * 32, "long_factor": [2] * 32}
    found = stacks(LLAMA, **scaling, original_max_position_embeddings=1024, attention_factor=1.5)
    assert found["vllm"].params["seq-len"] == "4096"
    assert "scaling" not in found["llama.cpp"].params  # the lists of Phi-3 and its kin alone
    assert found["mlx"].params["short-factor"] == found["mlx"].params["long-factor"]
    assert magnitude(found["mlx"], **{"seq-len": "1"}) == pytest.approx(1.0954451150103321)
    assert magnitude(found["transformers"], **{"seq-len": "1"}) == 1.5


def test_truncation_is_not_read_by_every_stack():
    found = stacks(LLAMA, **YARN, truncate=False)
    without = {name for name, one in found.items() if one.params is not None and "truncate" not in one.params}
    assert without >= {"llama.cpp", "mlx", "exllamav2", "tensorrt-llm"}
    assert not without & {"transformers", "vllm", "megatron", "sglang", "exllamav3", "lmdeploy"}


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
    with pytest.raises(BadFile, match="documents no model of type llama"):
        as_stack(read_data(LLAMA, "config.json"), "deepseek")


def test_a_stack_is_chosen_when_a_config_is_read(tmp_path):
    file = tmp_path / "config.json"
    file.write_text(json.dumps({**LLAMA, "rope_scaling": {**YARN, "attention_factor": 1.0}}))
    found = read_config(file, stack="vllm@0.29")
    assert (found.stack, found.version) == ("vllm", "0.29")
    assert "attention-factor" not in found.select().params
    assert any("vllm 0.29 computes the magnitude" in note for note in found.select().notes)
    assert found.warnings[0] == "this is the table of vLLM 0.29"
    with pytest.raises(UnknownName, match=r"unknown version '0\.34' of vllm: did you mean '0\.33\.0'"):
        read_config(file, stack="vllm@0.34")
    with pytest.raises(UnknownName, match="did you mean 'vllm'"):
        read_config(file, stack="vlm")


@pytest.mark.parametrize(("name", "rule"), RULES, ids=lambda one: getattr(one, "key", one))
def test_a_rule_names_its_source_and_the_version_it_was_checked_at(name, rule):
    stack = stack_of(name)
    assert rule.source
    assert rule.text[0].islower()
    assert not rule.text.endswith(".")
    assert rule.checked or stack.version
    text = rule_text(rule, name, "0", stack)
    assert f"checked at {rule.checked or stack.version.split()[0]}" in text
    assert ("read, not run" in text) is (not stack.run)


def test_a_stack_that_does_not_read_a_config_names_the_conversion():
    for name in ("litgpt", "maxtext", "megatron", "llama.cpp"):
        assert stack_of(name).conversion
        assert stack_of(name).conversion in as_stack(read_data(LLAMA, "config.json"), name).warnings[0]


LISTS = {"short_factor": [1] * 32, "long_factor": [2] * 32, "original_max_position_embeddings": 1024}


@pytest.mark.parametrize(
    ("scaling", "without"),
    [
        ({"rope_type": "linear", "factor": 2}, {"vllm", "sglang"}),  # a whole number is a TypeError there
        ({"rope_type": "linear", "factor": 2.0}, set()),
        ({"rope_type": "dynamic", "factor": 2.0}, {"exllamav3", "litgpt", "onnxruntime-genai"}),
        ({**YARN, "beta_fast": 32, "beta_slow": 1}, set()),
        (YARN, {"onnxruntime-genai"}),  # no default for the betas
        (
            {**YARN, "beta_fast": None},
            {"vllm", "sglang", "mlx", "lmdeploy", "exllamav3", "litgpt", "onnxruntime-genai"},
        ),
        ({"rope_type": "longrope", **LISTS}, {"exllamav2", "litgpt", "onnxruntime-genai"}),
        ({**YARN, "low_freq_factor": 1, "high_freq_factor": 4, "rope_type": "llama3"}, set()),
        ({"rope_type": "proportional", "factor": 2.0}, {"lmdeploy", "litgpt", "onnxruntime-genai"}),
    ],
)
def test_a_stack_that_refuses_a_scaling_gives_no_table(scaling, without):
    found = stacks(LLAMA, **scaling)
    run = {name: one for name, one in found.items() if name != "transformers" and stack_of(name).run}
    assert {name for name, one in run.items() if one.params is None} == without
    assert all(run[name].differences[-1].error for name in without)


def test_a_refusal_is_said_with_its_error():
    reading = read_data({**LLAMA, "rope_scaling": {"rope_type": "linear", "factor": 2}}, "config.json")
    with pytest.raises(BadFile, match=r"has no table in vllm: .*: TypeError: 'int' object is not iterable"):
        as_stack(reading, "vllm")


def test_a_stack_that_is_not_known_to_have_an_encoding_gives_no_table():
    layer = read_data({"model_type": "bloom"}, "config.json").select()
    known = {name for name in OTHERS if read_as(layer, name).params is not None}
    assert known == {"llama.cpp", "mlx"}


def test_vllm_divides_by_no_proportional_factor():
    found = stacks(LLAMA, rope_type="proportional", factor=2.0)
    assert "factor" in found["exllamav3"].params
    assert "factor" not in found["vllm"].params


def test_mlx_reads_no_rope_parameters_of_a_llama():
    llama3 = {**YARN, "low_freq_factor": 1, "high_freq_factor": 4, "rope_type": "llama3", "rope_theta": 500000}
    found = stacks({**LLAMA, "rope_parameters": llama3})
    assert found["mlx"].params == {"dim": "64", "base": "10000"}
    assert found["vllm"].params == found["transformers"].params


def test_mlx_turns_the_whole_head_of_a_llama_whatever_share_stands_beside_rope_parameters():
    config = {"model_type": "llama", "head_dim": 20, "rope_parameters": {"rope_theta": 5e5}}
    for model in ("llama", "mistral", "qwen2"):
        for share in (0.5, 0.25):  # of which the second gives an odd width
            found = stacks({**config, "model_type": model, "partial_rotary_factor": share})["mlx"]
            assert found.params == {"dim": "20", "base": "1000000" if model == "qwen2" else "10000"}


def test_an_original_length_inside_counts_written_with_a_point_too():
    lengths = {"original_max_position_embeddings": 2048}
    found = stacks({**LLAMA, **lengths}, **{**YARN, "original_max_position_embeddings": 1024.0})
    assert {name: found[name].params["original-max"] for name in ("transformers", "llama.cpp", "mlx")} == {
        "transformers": "2048", "llama.cpp": "1024", "mlx": "1024",
    }  # fmt: skip


@pytest.mark.parametrize(
    "config", [{"architectures": 4}, {"rope_scaling": {"type": "dynamic", "factor": 2, "alpha": "9"}}]
)
def test_a_value_of_the_wrong_kind_is_no_reason_to_fail(config):
    assert all(one.params or one.differences for one in stacks({**LLAMA, **config}).values())


def test_vllm_computes_a_multimodal_ramp_from_four_times_the_length():
    sections = {"mrope_section": [8, 12, 12]}
    config = {**LLAMA, "model_type": "qwen2_vl", "max_position_embeddings": 32768}
    found = stacks(config, **{**YARN, "factor": 4.0}, **sections)
    assert (found["transformers"].params["original-max"], found["vllm"].params["original-max"]) == ("1024", "4096")


def test_a_stack_departs_with_several_streams_as_with_one():
    config = {**LLAMA, "model_type": "qwen2_vl", "rope_scaling": {**YARN, "factor": 4.0, "mrope_section": [8, 12, 12]}}
    own = read_data(config, "config.json")
    other = as_stack(own, "vllm")
    assert own.select(None, "mrope").params["original-max"] == "1024"
    assert other.select(None, "mrope").params["original-max"] == "4096"
    assert other.select(None, "mrope").params["sections"] == "8+12+12"


def test_an_odd_head_turns_whole():
    config = {
        **LLAMA,
        "head_dim": 33,
        "partial_rotary_factor": 0.5,
        "rope_scaling": {"rope_type": "linear", "factor": 2},
    }
    layer = read_data(config, "config.json").select()
    assert layer.params["rotary-dim"] == "16"
    assert read_as(layer, "llama.cpp").params["rotary-dim"] == "33"


def test_a_stack_of_its_own_models_is_silent_on_others():
    layer = read_data({"model_type": "gpt_oss"}, "config.json").select()
    found = read_as(layer, "gpt-oss")
    assert not found.differences  # its ramp is fractional in the config too
    assert not stack_of("gpt-oss").knows("llama")


def test_the_change_that_makes_most_stacks_agree_was_tried(tmp_path):
    file = tmp_path / "config.json"
    file.write_text(json.dumps({**LLAMA, "rope_scaling": {"rope_type": "linear", "factor": 8}}))
    (rows,) = compare_stacks(str(file)).values()
    found = advise(str(file), "all", rows)
    assert found.change == "write the factor with a decimal point"
    assert "TypeError" in found.text
    file.write_text(json.dumps({**LLAMA, "rope_scaling": {"rope_type": "linear", "factor": 8.0}}))
    (then,) = compare_stacks(str(file)).values()
    assert sum(row.equal for row in then) == found.agree > sum(row.equal for row in rows)


def test_a_config_that_transformers_refuses_shows_who_reads_it(tmp_path):
    file = tmp_path / "config.json"
    file.write_text(json.dumps({**LLAMA, "model_type": "qwen2", "rope_scaling": {"type": "mrope"}}))
    (rows,) = compare_stacks(str(file)).values()
    found = {row.stack: row for row in rows}
    assert "unknown rope type" in found["transformers"].trouble
    assert found["vllm"].recipe == "rope:dim=64"
    assert "Unknown RoPE scaling type mrope" in found["sglang"].trouble


# What every stack makes of the public configs, against tables that the stacks' own code computed.

STACKS = cases("stacks")
ALL = [(stack, case) for stack, found in STACKS.items() for case in found["cases"]]
FREQUENCIES = {"llama.cpp": 3e-5}  # ggml multiplies its way from pair to pair
ANGLES = {"llama.cpp": 3e-5, "mlx": 1e-5}  # of a float32 angle, relative: their own powers; the others' to 4e-7


ARCHITECTURES = {"rope_phi3_5_vision_su": ["Phi3VForCausalLM"]}  # left out of the configs, where they do not matter


def readings(stack, case):
    """The stack's reading of every kind of layer, or the error with which the config is refused."""
    config = json.loads(json.dumps(cases("configs")[case]["config"]), parse_float=Decimal)
    config |= {"architectures": ARCHITECTURES[case]} if case in ARCHITECTURES else {}
    try:
        return {kind: read_as(layer, stack) for kind, layer in read_for(config, case, stack).layers.items()}
    except PecliError as error:
        return error


def test_the_references_are_all_there():
    assert len(ALL) == 409


@pytest.mark.parametrize(("stack", "case"), ALL)
def test_a_stack_makes_its_own_table(stack, case):
    wanted = STACKS[stack]["cases"][case]
    found = readings(stack, case)
    if "error" in wanted:
        if isinstance(found, PecliError):
            assert not stack_of(stack).own_reader, found  # transformers' refusal is its own
            return
        for one in found.values():
            assert one.params is None
            assert one.differences[-1].error == wanted["error"]
        return
    for kind, table in wanted.items():
        one = found[kind] if kind in found else next(iter(found.values()))
        if "error" in table:
            assert one.params is None
            assert one.differences[-1].error[:30] == table["error"][:30]
            continue
        compared(one, case, table, stack)


def compared(one, case, table, stack):
    length = cases("configs")[case]["config"].get("max_position_embeddings", 131072)
    recipe = Recipe.bind("rope", **one.params).resolve(length=length, last=length - 1, whole=True)
    turning = np.array([float(w) for w in recipe.plan.frequencies])
    wanted = values("stacks")[table["frequencies"]].astype(float)
    turning = turning if len(turning) == len(wanted) else turning[turning != 0]  # some leave out pairs that stand still
    np.testing.assert_allclose(turning, wanted, rtol=FREQUENCIES.get(stack, 3e-6), atol=1e-12)
    assert float(recipe.plan.magnitude) == pytest.approx(table["scale"], rel=3e-6)
    made = Table.make(recipe, positions=",".join(table["samples"]), dtype="float64")
    for i, (position, samples) in enumerate(table["samples"].items()):
        bound = 2e-5 + table["scale"] * float(position) * np.abs(turning) * ANGLES.get(stack, 4e-7)
        for part, name in zip(("cos", "sin"), samples, strict=True):
            error = np.abs(made.read(part)[i][: len(turning)] - values("stacks")[name])
            assert (error <= bound).all(), (part, position)


@pytest.mark.parametrize("name", OTHERS)
def test_every_rule_of_a_file_does_something_or_is_a_remark(name):
    for rule in stack_of(name).rules:
        assert rule.text
        assert rule.source
        assert not (rule.error and rule.change)
