"""What a config.json says: precedence of keys, widths, parts, warnings and refusals."""

import copy
import json
import math
import random
from contextlib import suppress
from decimal import Decimal

import pytest

from pecli.errors import BadFile, PecliError, UnknownName
from pecli.models.config import as_stored
from pecli.models.families import known_types, lines, rotary_family
from pecli.models.reader import read_config, read_data
from pecli.spec.recipe import Recipe
from tests.support.golden_cases import cases

LLAMA = {"model_type": "llama", "hidden_size": 512, "num_attention_heads": 8, "max_position_embeddings": 4096}
YARN = {"rope_type": "yarn", "factor": 4, "original_max_position_embeddings": 1024}


def read(**config):
    return read_data(json.loads(json.dumps(config), parse_float=Decimal), "config.json")


def params(layer_type=None, **config):
    return read(**config).select(layer_type).params


def test_a_config_gives_a_recipe_that_binds():
    found = params(**LLAMA, rope_theta=500000)
    assert found == {"dim": "64", "base": "500000"}
    assert str(Recipe.bind("rope", **found)).startswith("rope:dim=64,base=500000")


@pytest.mark.parametrize(
    ("keys", "width"),
    [
        ({"model_type": "llama", "hidden_size": 512, "num_attention_heads": 8}, "64"),
        ({"model_type": "qwen3", "hidden_size": 512, "num_attention_heads": 8}, "128"),
        ({"model_type": "qwen3", "hidden_size": 512, "num_attention_heads": 8, "head_dim": 96}, "96"),
        ({"model_type": "deepseek_v3", "qk_rope_head_dim": 32}, "32"),
        ({"model_type": "kimi_k2", "qk_rope_head_dim": 32}, "32"),
        ({"model_type": "chatglm", "kv_channels": 96}, "96"),
        (
            {
                "model_type": "zamba2",
                "hidden_size": 512,
                "num_attention_heads": 8,
                "kv_channels": 64,
                "use_mem_rope": True,
            },
            "128",
        ),
        ({"model_type": "dbrx", "d_model": 512, "n_heads": 4}, "128"),
        ({"model_type": "cohere2", "hidden_size": 512, "num_attention_heads": 8}, "64"),
        ({"model_type": "gptj", "n_embd": 1024, "n_head": 4, "rotary_dim": 32}, "256"),
    ],
)
def test_the_width_of_a_head_goes_by_many_names(keys, width):
    assert params(**keys)["dim"] == width


def test_one_kind_of_layer_may_have_wider_heads():
    gemma = {"model_type": "gemma4_text", "head_dim": 256}
    assert params("full_attention", **gemma)["dim"] == "512"
    assert params("full_attention", **gemma, global_head_dim=384)["dim"] == "384"
    assert params("sliding_attention", **gemma)["dim"] == "256"


@pytest.mark.parametrize(
    ("keys", "rotary"),
    [
        ({"model_type": "gpt_neox", "hidden_size": 512, "num_attention_heads": 8}, "16"),
        ({"model_type": "gpt_neox", "hidden_size": 512, "num_attention_heads": 8, "rotary_pct": 0.5}, "32"),
        ({"model_type": "stablelm", "hidden_size": 512, "num_attention_heads": 8}, "16"),
        ({"model_type": "stablelm_epoch", "hidden_size": 512, "num_attention_heads": 8, "rope_pct": 0.5}, "32"),
        ({"model_type": "bamba", "hidden_size": 512, "num_attention_heads": 8, "partial_rotary_factor": 1.0}, "32"),
        ({"model_type": "minimax_m2", "head_dim": 64, "rotary_dim": 32}, "32"),
        ({**LLAMA, "partial_rotary_factor": 0.5, "rope_scaling": {"type": "linear", "factor": 2}}, "32"),
    ],
)
def test_the_part_that_rotates_is_read_by_class(keys, rotary):
    assert params(**keys)["rotary-dim"] == rotary


def test_llama_ignores_a_share_unless_it_is_scaled_and_says_so():
    found = read(**LLAMA, partial_rotary_factor=0.5)
    assert "rotary-dim" not in found.select().params
    assert any("partial_rotary_factor has no effect" in text for text in found.warnings)


def test_a_share_is_multiplied_in_double_precision_as_python_does():
    # 0.29 * 100 is 28.999999999999996 in double precision: 28 columns, where exact arithmetic has 29
    phi = {"model_type": "phi", "hidden_size": 400, "num_attention_heads": 4, "partial_rotary_factor": 0.29}
    assert params(**phi)["rotary-dim"] == "28"


@pytest.mark.parametrize(
    ("keys", "base"),
    [
        ({}, "10000"),
        ({"rope_theta": 777}, "777"),
        ({"rope_theta": 777, "rope_parameters": {"rope_type": "default", "rope_theta": 5}}, "5"),
        ({"rope_theta": 777, "rope_parameters": {"rope_type": "default"}}, "777"),
        ({"rope_theta": 777, "rope_parameters": {"rope_theta": 5}, "rope_scaling": {"type": "default"}}, "777"),
        ({"rope_theta": 777, "rope_parameters": {"rope_theta": 5}, "rope_scaling": {}}, "5"),
    ],
)
def test_an_inner_base_wins_and_a_rope_scaling_that_says_anything_replaces_rope_parameters(keys, base):
    assert params(**LLAMA, **keys)["base"] == base


@pytest.mark.parametrize(
    ("model_type", "base"),
    [
        ("cohere", "500000"),
        ("mixtral", "1000000"),
        ("helium", "100000"),
        ("nomic_bert", "1000"),
        ("minimax", "1000000"),
    ],
)
def test_a_class_has_a_base_of_its_own(model_type, base):
    assert params(model_type=model_type)["base"] == base


def test_rope_type_beats_type():
    scaling = {"rope_type": "linear", "type": "dynamic", "factor": 2}
    assert params(**LLAMA, rope_scaling=scaling)["scaling"] == "linear"


def test_a_top_level_original_length_overrides_the_inner_one():
    found = read(**LLAMA, rope_scaling=YARN, original_max_position_embeddings=2048)
    assert found.select().params["original-max"] == "2048"
    assert any("the top-level original_max_position_embeddings overrides it" in text for text in found.warnings)


def test_an_original_length_that_is_nowhere_is_the_longest_position():
    assert params(**LLAMA, rope_scaling={"type": "yarn", "factor": 4})["original-max"] == "4096"


def test_yarn_reads_mscale_only_with_its_partner_and_reports_it():
    alone = read(**LLAMA, rope_scaling={**YARN, "mscale": 0.7})
    assert "mscale" not in alone.select().params
    assert any("mscale has no effect" in text for text in alone.warnings)
    assert any("ignores rope_scaling.mscale" in text for text in alone.faults)
    both = params(**LLAMA, rope_scaling={**YARN, "mscale": 0.7, "mscale_all_dim": 1})
    assert (both["mscale"], both["mscale-all-dim"]) == ("0.7", "1")


def test_hunyuan_reads_alpha_as_a_fixed_factor_and_llama_does_not():
    scaling = {"type": "dynamic", "alpha": 1000, "factor": 2}
    assert params(model_type="hunyuan_v1_dense", head_dim=128, rope_scaling=scaling)["scaling"] == "ntk"
    assert params(**LLAMA, rope_scaling=scaling)["scaling"] == "dynamic"


def test_layers_with_tables_of_their_own_must_be_chosen():
    found = read(model_type="gemma3_text", rope_theta=555, rope_local_base_freq=333)
    with pytest.raises(BadFile, match=r"choose one with --layer-type \(full_attention, sliding_attention\)"):
        found.select()
    assert found.select("full_attention").params["base"] == "555"
    assert found.select("sliding_attention").params["base"] == "333"
    with pytest.raises(UnknownName, match="did you mean 'full_attention'"):
        found.select("full_atention")


def test_layers_with_the_same_table_need_no_choice():
    assert params(model_type="olmo3") == {"dim": "128", "base": "500000"}


def test_a_kind_of_layer_without_positions_is_none_and_leaves_no_choice():
    found = read(model_type="beam")
    assert found.layers["full_attention"].encoding == "none"
    assert found.select().encoding == "rope"


def test_parameters_by_kind_of_layer_where_a_class_takes_one_set_are_refused():
    nested = {"full_attention": {"rope_type": "default"}}
    with pytest.raises(BadFile, match="takes one set for all"):
        read(model_type="qwen2", layer_types=["full_attention"], rope_parameters=nested)


def test_layers_that_rotate_nothing_are_named():
    notes = read(model_type="smollm3", num_hidden_layers=8).select().notes
    assert notes == ("layers 3, 7 have no positions",)


def test_the_text_part_of_a_model_of_several_parts_is_read():
    found = read(model_type="mllama", text_config={"hidden_size": 256, "num_attention_heads": 2, "rope_theta": 5})
    assert (found.part, found.model_type) == ("text_config", "mllama_text_model")
    assert found.select().params == {"dim": "128", "base": "5"}


def test_keys_of_a_missing_part_may_stand_at_the_top():
    found = params(model_type="qwen2_vl", hidden_size=256, num_attention_heads=2, rope_theta=5)
    assert found == {"dim": "128", "base": "5"}


def test_the_vision_part_is_asked_for_by_name():
    vision = {"model_type": "pixtral", "hidden_size": 1024, "num_attention_heads": 16}
    found = read(model_type="mistral3", text_config=LLAMA, vision_config=vision)
    assert found.select().encoding == "rope"
    assert found.select("vision_config").encoding == "rope2d"
    assert found.select("vision_config").params["convention"] == "pixtral"


def test_multimodal_sections_are_a_second_reading_of_the_same_keys():
    config = {**LLAMA, "model_type": "qwen2_vl", "rope_scaling": {"type": "mrope", "mrope_section": [8, 12, 12]}}
    found = read(**config).select(None, "mrope")
    assert (found.params["sections"], found.params["section-order"]) == ("8+12+12", "chunked")
    config["rope_scaling"]["mrope_section"] = [8, 8, 8]
    with pytest.raises(BadFile, match="adds up to 24: they must add up to 32"):
        read(**config)


@pytest.mark.parametrize(
    ("config", "encoding", "wanted"),
    [
        ({"model_type": "bloom", "n_head": 16}, "alibi", {"heads": "16", "bias": "key-position"}),
        ({"model_type": "mpt", "n_heads": 16, "attn_config": {"alibi_bias_max": 16}}, "alibi", {"bias-max": "16"}),
        ({"model_type": "mpt", "attn_config": {"alibi": False}}, "learned", {"dim": "2048"}),
        ({"model_type": "falcon", "alibi": True}, "alibi", {"slope-dtype": "bfloat16"}),
        ({"model_type": "baichuan", "hidden_size": 5120, "num_attention_heads": 40}, "alibi", {"heads": "40"}),
        ({"model_type": "roberta", "max_position_embeddings": 514}, "learned", {"max-len": "512", "rows-offset": "2"}),
        ({"model_type": "opt", "max_position_embeddings": 2048}, "learned", {"max-len": "2048", "rows-offset": "2"}),
        ({"model_type": "distilbert", "sinusoidal_pos_embds": True}, "sinusoidal", {"convention": "xlm"}),
        ({"model_type": "deberta-v2", "position_buckets": 256}, "deberta", {"buckets": "256", "max-distance": "512"}),
        ({"model_type": "vit", "image_size": 384, "patch_size": 32}, "learned", {"max-len": "145"}),
        ({"model_type": "esm", "position_embedding_type": "absolute"}, "learned", {"max-len": "1024"}),
        ({"model_type": "esm", "position_embedding_type": "rotary"}, "rope", {"dim": "64"}),
        ({"model_type": "granitemoehybrid"}, "none", {}),
        ({"model_type": "whisper", "d_model": 384}, "sinusoidal", {"dim": "384", "convention": "whisper"}),
    ],
)
def test_a_model_gives_its_own_encoding(config, encoding, wanted):
    found = read(**config).select()
    assert found.encoding == encoding
    assert {name: found.params.get(name) for name in wanted} == wanted
    Recipe.bind(encoding, **found.params)


def test_the_encoder_of_t5_is_meant_unless_the_decoder_is_named():
    found = read(model_type="t5", num_heads=8)
    assert "bidirectional" not in found.select().params
    assert found.select("decoder").params["bidirectional"] == "false"


def test_a_rotary_table_that_is_switched_off_can_still_be_asked_for():
    found = read(model_type="esm", hidden_size=320, num_attention_heads=20)
    assert found.select(None, "rope").params == {"dim": "16", "base": "10000"}


def test_an_unknown_model_type_is_read_by_its_keys_with_a_warning():
    found = read(model_type="brandnew", hidden_size=512, num_attention_heads=8, rope_theta=5, partial_rotary_factor=0.5)
    assert found.select().params == {"dim": "64", "rotary-dim": "32", "base": "5"}
    assert 'model_type "brandnew", which is not known' in found.warnings[0]


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ({"model_type": "gpt9"}, "did you mean gpt"),
        ({**LLAMA, "rope_scaling": {"type": "linear"}}, "has no rope_scaling.factor, which rope type linear requires"),
        (
            {**LLAMA, "rope_scaling": {"type": "linear", "fator": 4}},
            "has rope_scaling.fator: did you mean factor, which rope type linear requires?",
        ),
        ({**LLAMA, "rope_scaling": {"type": "linear", "factor": 0}}, "rope_scaling.factor=0: it must be above 0"),
        ({**LLAMA, "rope_scaling": {"type": "linear", "factor": "two"}}, 'factor "two": it must be a number'),
        ({**LLAMA, "rope_theta": 0}, "rope_theta=0: it must be above 0"),
        ({**LLAMA, "rope_scaling": {"type": "yearn"}}, "did you mean 'yarn'?"),
        (
            {**LLAMA, "rope_scaling": {"type": "ntk"}},
            "known: default, linear, dynamic, yarn, longrope, llama3, proportional",
        ),
        ({**LLAMA, "rope_scaling": [1]}, "must be an object of rope parameters or null"),
        ({**LLAMA, "num_attention_heads": 0}, "num_attention_heads 0: it must be a whole number of at least 1"),
        ({**LLAMA, "hidden_size": "big"}, 'hidden_size "big"'),
        ({**LLAMA, "rope_scaling": {**YARN, "original_max_position_embeddings": 0.5}}, "must be whole"),
        ({"model_type": "mixtral", "rope_scaling": YARN}, "add head_dim 128"),
        (
            {"model_type": "phi3", "rope_scaling": {"type": "linear", "factor": 2}},
            "phi3 takes default or longrope alone",
        ),
        (
            {**LLAMA, "rope_scaling": {"type": "longrope", "short_factor": [1, 2], "long_factor": [1, 2]}},
            "short_factor of 2 numbers: it must have 32",
        ),
        (  # Phi3Config.validate_rope of transformers 5.24: its lists are of hidden_size // num_attention_heads
            {
                "model_type": "phi3",
                "head_dim": 4,
                "rope_scaling": {"type": "longrope", "short_factor": [1, 2], "long_factor": [1, 2]},
            },
            "has head_dim 4, and phi3 needs factors for heads of hidden_size / num_attention_heads, 96",
        ),
        ({"model_type": "phi", "partial_rotary_factor": 0}, "leaves no column of a head of 64 to rotate"),
        ({"model_type": "phi", "partial_rotary_factor": 2}, "rotates 128 of the 64 columns"),
    ],
)
def test_a_config_of_which_no_table_can_be_right_is_refused_in_one_sentence(config, says):
    with pytest.raises(PecliError) as caught:
        read(**config)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("{", "is not JSON"),
        ("[1, 2]", "is JSON but no object"),
        ('{"model_type": "llama", "rope_theta": NaN}', "has rope_theta NaN: it must be a number"),
        ('{"model_type": "llama", "head_dim": Infinity}', "has head_dim Infinity: it must be a whole number"),
        ("\x00\xff", "is not JSON"),
    ],
)
def test_a_file_that_is_no_config_is_refused(tmp_path, content, says):
    file = tmp_path / "config.json"
    file.write_text(content)
    with pytest.raises(BadFile) as caught:
        read_config(file)
    assert says in str(caught.value)


def test_infinity_beside_the_keys_of_positions_is_no_fault(tmp_path):
    """Mamba 2, Zamba 2, Falcon-H1 and Nemotron-H publish it as Python's JSON writes it."""
    config = {"model_type": "falcon_h1", "head_dim": 64, "rope_theta": 1e11, "time_step_limit": [0.0, math.inf]}
    (tmp_path / "config.json").write_text(json.dumps(config))
    for subject in (tmp_path / "config.json", config):
        assert read_config(subject).layers["all"].params == {"dim": "64", "base": "1e11"}


@pytest.mark.parametrize("factor", [math.inf, math.nan])
def test_a_factor_that_is_not_finite_is_refused(factor):
    with pytest.raises(BadFile, match=r"has rope_scaling.factor (Infinity|NaN): it must be a number"):
        read(model_type="llama", rope_scaling={"type": "linear", "factor": factor})


def test_a_folder_is_read_by_the_config_in_it(tmp_path):
    with pytest.raises(BadFile, match=r"is a folder without config\.json"):
        read_config(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps(LLAMA))
    assert read_config(tmp_path).layers["all"].params == {"dim": "64", "base": "10000"}


def test_a_layer_type_narrows_the_reading(tmp_path):
    (tmp_path / "config.json").write_text('{"model_type": "gemma3_text"}')
    found = read_config(tmp_path / "config.json", layer_type="sliding_attention")
    assert found.select().params["base"] == "10000"


def test_keys_used_and_ignored_are_named_with_their_meaning():
    found = read(**LLAMA, rope_scaling={**YARN, "finetuned": True}, rope_theta=5)
    assert "rope_theta" in {key.name for key in found.used}
    assert ("rope_scaling.finetuned", "rope type yarn does not read it") in [tuple(key) for key in found.ignored]
    assert "rope_scaling: finetuned has no effect, for rope type yarn does not read it" in found.warnings


def test_faults_of_the_framework_are_reported():
    dbrx = read(model_type="dbrx", attn_config={"rope_theta": 500000})
    assert dbrx.select().params["base"] == "10000"
    assert "transformers ignores attn_config.rope_theta=500000 of dbrx and uses 10000" in dbrx.faults
    olmo = read(model_type="olmo3", rope_theta=10000)
    assert any("sliding layers keep the default 500000" in text for text in olmo.faults)


@pytest.mark.parametrize(
    ("model", "scaling"),
    [
        ("gemma3_text", {"rope_type": "linear", "factor": 8.0}),
        ("olmo3", {"rope_type": "yarn", "factor": 8.0, "original_max_position_embeddings": 8192, "beta_fast": 32.0}),
    ],
)
def test_a_scaling_of_full_attention_alone_is_not_said_to_have_no_effect(model, scaling):
    """Gemma 3 and OLMo 3 as they are published."""
    found = read(
        model_type=model, head_dim=32, rope_theta=500000 if model == "olmo3" else 1000000, rope_scaling=scaling
    )
    assert found.layers["full_attention"].params["factor"] == "8"
    assert "factor" not in found.layers["sliding_attention"].params
    assert (found.warnings, found.faults) == ((), ())
    assert {f"rope_scaling.{name}" for name in scaling} <= {key.name for key in found.used}
    assert "-" not in {key.name for key in found.used}
    other = read(model_type=model, head_dim=32, rope_scaling={**scaling, "finetuned": True})
    assert [text for text in other.warnings if "finetuned has no effect" in text]


WORDS = {"half", "interleaved", "split", "complex", "sin-cos", "pairs"}


@pytest.mark.parametrize("name", list(lines("families.txt")))
def test_a_line_of_the_families_parses(name):
    family = rotary_family(name)
    assert family.layout in WORDS
    assert family.pairs in {"half", "adjacent", "deinterleave"}
    assert family.head
    assert family.rope is None or isinstance(family.rope, dict)


@pytest.mark.parametrize("name", [name for name in known_types() if not name.endswith("+")])
def test_every_known_model_type_gives_a_reading_of_its_defaults_or_says_what_it_lacks(name):
    try:
        layers = read(model_type=name).layers
    except PecliError as error:
        layers = str(error)
    if isinstance(layers, str):
        assert "\n" not in layers
    else:
        assert layers
        assert all(isinstance(text, str) and text for one in layers.values() for text in one.params.values())


def test_reading_a_config_loads_no_numpy(tmp_path):
    import subprocess
    import sys
    from pathlib import Path

    (tmp_path / "config.json").write_text(json.dumps({**LLAMA, "rope_scaling": YARN}))
    code = (
        "import sys; from pecli.models.reader import read_config; from pecli.spec.recipe import Recipe; "
        f"Recipe.bind('rope', **read_config({str(tmp_path / 'config.json')!r}).select().params); "
        "sys.exit('numpy' in sys.modules)"
    )
    root = Path(__file__).parents[2]
    assert subprocess.run([sys.executable, "-c", code], cwd=root, check=False).returncode == 0


@pytest.mark.parametrize(
    ("keys", "warning"),
    [
        (
            {"rope_scaling": {"rope_type": "linear", "type": "yarn", "factor": 2}},
            'rope_scaling.type has no effect: rope_type "linear" beside it wins',
        ),
        (
            {"rope_scaling": {"type": "linear", "factor": 2}, "original_max_position_embeddings": 5},
            "original_max_position_embeddings has no effect: llama does not read it with this rope type",
        ),
        ({"rope_type": "yarn"}, "rope_type has no effect: llama does not read it"),
        ({"layer_types": "x"}, 'layer_types has no effect: "x" is not a list of layer types'),
        (
            {"rope_scaling": {**YARN, "attention_factor": 2, "mscale": 1}},
            "rope_scaling.mscale has no effect: attention_factor is given, which wins",
        ),
    ],
)
def test_a_key_without_effect_is_warned_of(keys, warning):
    found = read(**LLAMA, **keys)
    assert warning in found.warnings
    assert warning.split(" has ")[0] in {key.name for key in found.ignored}


def test_every_key_without_effect_is_named_though_another_has_its_name_within():
    found = read(**LLAMA, rope_type="x", rope_scaling={"rope_type": "linear", "type": "yarn", "factor": 2})
    assert [warning.split(" has ")[0] for warning in found.warnings] == ["rope_scaling.type", "rope_type"]


def test_a_key_that_only_repeats_what_holds_is_no_warning():
    scaling = {"rope_type": "linear", "type": "linear", "factor": 2, "rope_theta": 10000}
    assert read(**LLAMA, rope_scaling=scaling, rope_theta=10000, head_dim=64).warnings == ()


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ({**LLAMA, "rope_theta": 0}, "has rope_theta=0: it must be above 0"),
        ({**LLAMA, "rope_parameters": {"rope_theta": 0}}, "has rope_parameters.rope_theta=0"),
        ({"model_type": "gpt_neox", "rotary_emb_base": "x"}, 'has rotary_emb_base "x": it must be a number'),
        ({**LLAMA, "hidden_size": 10**30}, "has hidden_size 1000000000000000000000000000000: it must be below 2^53"),
        ({**LLAMA, "hidden_size": 1 << 40}, "has heads of 137438953472 columns: at most 65536 make a table"),
        ({**LLAMA, "rope_scaling": {"rope_type": None}}, "has rope_scaling.rope_type null: it must be one of default"),
        ({**LLAMA, "rope_scaling": {"type": 5}}, "has rope_scaling.type 5: it must be one of default"),
        (
            {"model_type": "gemma3_text", "rope_parameters": {"full_attention": 5, "sliding_attention": None}},
            "has rope_parameters.full_attention 5: it must be an object of rope parameters",
        ),
        ({"model_type": "llama4_text", "num_hidden_layers": 10**9}, "num_hidden_layers 1000000000: it must be at most"),
    ],
)
def test_what_is_wrong_is_named_as_it_stands_in_the_file(config, says):
    with pytest.raises(PecliError) as caught:
        read(**config)
    assert says in str(caught.value)
    assert len(str(caught.value)) < 200


WRONG = (
    None, "x", [], ["x"], [None], [5], {}, {"x": 5}, {"full_attention": 5, "sliding_attention": None}, 10**30, -1, 0,
    True, Decimal("0.5"), Decimal("1e400"), Decimal("1e-400"), {"rope_type": "yarn", "factor": 4},
    {"rope_type": "longrope", "short_factor": [1], "long_factor": 2, "original_max_position_embeddings": 1024},
)  # fmt: skip
ANYWHERE = (
    "rope_parameters", "rope_scaling", "rope_theta", "layer_types", "head_dim", "hidden_size", "num_attention_heads",
    "max_position_embeddings", "partial_rotary_factor", "no_rope_layers", "text_config", "num_hidden_layers",
)  # fmt: skip


def places_of(value, path=()):
    """Every place of a JSON value, as a path."""
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value[:3]):
        yield (*path, key)
        if isinstance(inner, dict | list):
            yield from places_of(inner, (*path, key))


def test_whatever_stands_in_a_config_only_sentences_come_of_it():
    rng = random.Random(20)
    configs = [c["config"] for c in cases("configs").values() if "config" in c]
    configs += [{"model_type": name} for name in known_types()]
    read_so_far = 0
    for config in configs * 2:
        changed = json.loads(json.dumps(config), parse_float=Decimal)
        *path, last = rng.choice([*places_of(changed), *((name,) for name in ANYWHERE)])
        inner = changed
        for key in path:
            inner = inner[key]
        inner[last] = copy.deepcopy(rng.choice(WRONG))
        try:
            read_data(changed, "config.json")
            read_so_far += 1
        except PecliError:
            pass
    assert read_so_far > len(configs) / 2


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("rope_thetta", 500000, "rope_thetta is not read; did you mean rope_theta? base 10000 is the default"),
        ("rope_tetha", 500000, "rope_tetha is not read; did you mean rope_theta? base 10000 is the default"),
        ("ropeTheta", 500000, "ropeTheta is not read; did you mean rope_theta? base 10000 is the default"),
        (
            "num_atention_heads",
            4,
            "num_atention_heads is not read; did you mean num_attention_heads? 32 is the default",
        ),
        ("rope_scalling", YARN, "rope_scalling is not read; did you mean rope_scaling? the default is used"),
        ("rope_scaling", {**YARN, "beta_fst": 16}, "rope_scaling.beta_fst is not read; did you mean beta_fast? "),
    ],
)
def test_a_misspelled_key_is_named_with_the_one_that_was_meant(key, value, said):
    found = read(**{"model_type": "llama", "hidden_size": 512, "max_position_embeddings": 4096, key: value})
    assert any(one.startswith(said) for one in found.misspelled)
    assert set(found.misspelled) <= set(found.warnings)
    assert not any("no effect" in warning for warning in found.warnings)
    assert any("did you mean" in one.text for one in found.ignored)


def test_a_misspelled_key_of_a_part_is_named_with_its_place():
    found = read(model_type="gemma3", text_config={"head_dmi": 128}, vision_config={})
    assert found.misspelled == ("text_config.head_dmi is not read; did you mean head_dim? the default is used",)
    found = read(model_type="gemma3", text_confg={"head_dim": 128})
    assert found.misspelled[0].startswith("text_confg is not read; did you mean text_config?")


def test_no_key_of_a_real_config_is_taken_for_a_misspelled_one():
    readings = []
    for case in cases("configs").values():
        with suppress(PecliError):
            readings.append(read_data(as_stored(case["config"]), "config.json"))
    assert len(readings) > 250
    assert [text for one in readings for part in (one, *one.parts.values()) for text in part.misspelled] == []


def test_a_key_that_stands_twice_is_warned_of(tmp_path):
    path = tmp_path / "config.json"
    path.write_text(json.dumps(LLAMA)[:-1] + ', "rope_theta": 5, "rope_theta": 7}')
    found = read_config(path)
    assert found.warnings == ("rope_theta stands more than once in an object: the last counts",)
    assert found.select().params["base"] == "7"


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"rope_scaling": {"rope_type": "linear", "factor": 0.5}}, "factor 0.5 is below 1"),
        (
            {
                "rope_scaling": {
                    "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 4.0, "high_freq_factor": 1.0,
                    "original_max_position_embeddings": 8192,
                }
            },
            "low_freq_factor 4.0 is not below high_freq_factor 1.0",
        ),
        ({"num_attention_heads": 12}, "hidden_size 512 is not a multiple of num_attention_heads 12"),
    ],
)  # fmt: skip
def test_numbers_that_make_no_sense_are_warned_of(keys, said):
    assert any(said in text for text in read(**{**LLAMA, **keys}).warnings)
