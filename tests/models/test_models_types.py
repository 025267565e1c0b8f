"""Every model type of transformers 5.24: its positions by encoding, or why there are none."""

import json
import re

import mpmath
import pytest

from pecli.errors import PecliError
from pecli.inspect.configs import report
from pecli.models.reader import of_layer, read_data
from pecli.spec.recipe import Recipe
from tests.conftest import DATA

TYPES = (DATA / "golden" / "model_types.txt").read_text().split()
MOST_UNKNOWN = 20


def read(config):
    return read_data(config, "config.json")


def layers(**config):
    return {name: (one.encoding, dict(one.params)) for name, one in read(config).layers.items()}


def test_every_model_type_names_its_positions_or_says_why_it_cannot():
    unknown = {}
    for name in TYPES:
        try:
            found = report(read({"model_type": name}))
        except PecliError as error:
            unknown[name] = str(error)
            continue
        assert not any("not known" in warning for warning in found.warnings), name
        for layer in found.layers:
            assert layer.encoding != "none" or layer.notes, name
    assert len(TYPES) == 822
    assert len(unknown) <= MOST_UNKNOWN, unknown
    allowed = ("whose positions no encoding of pecli has: ", "rope_parameters has no parameters for them")
    assert all(any(text in error for text in allowed) for error in unknown.values()), unknown


def test_a_speech_encoder_may_be_rotary():
    found = layers(model_type="seamless_m4t", position_embeddings_type="rotary")
    assert found["speech_encoder"] == ("rope", {"dim": "64", "base": "10000"})
    assert found["text"][0] == "sinusoidal"
    assert layers(model_type="seamless_m4t")["speech_encoder"][0] == "transformer-xl"
    assert layers(model_type="wav2vec2-conformer", position_embeddings_type="rotary")["all"][0] == "rope"


@pytest.mark.parametrize(
    ("name", "convention"),
    [
        ("detr", "detr"), ("conditional_detr", "conditional-detr"), ("deformable_detr", "deformable-detr"),
        ("dab-detr", "dab-detr"), ("mask2former", "mask2former"), ("table-transformer", "table-transformer"),
    ],
)  # fmt: skip
def test_detection_models_have_the_sines_of_detr_normalised(name, convention):
    reading = read({"model_type": name})
    made = of_layer(reading, reading.select(None, "detr"), {"grid": "4x5"})
    assert made.layer.params == {"dim": "256", "convention": convention}
    assert made.recipe.values["normalize"] is True


def test_rt_detr_has_sines_of_two_axes():
    assert layers(model_type="rt_detr")["all"] == ("sincos2d", {"dim": "256", "convention": "rt-detr", "base": "10000"})


def test_sam_has_random_features_and_decomposed_vectors():
    found = layers(model_type="sam")
    assert found["prompt"][1] == {"dim": "256", "sigma": "384", "grid": "64x64", "coordinates": "centres"}
    assert found["window"] == ("decomposed", {"grid": "14x14", "dim": "64", "init": "zeros"})
    assert found["global"][1]["grid"] == "64x64"


@pytest.mark.parametrize("name", ["swin", "swinv2"])
def test_a_window_of_one_number_is_square_and_heads_go_by_stages(name):
    found = layers(model_type=name, window_size=8, num_heads=[4, 8])
    assert list(found) == ["stage_1", "stage_2"]
    assert found["stage_2"][1]["grid"] == "8x8"
    assert found["stage_2"][1]["heads"] == "8"


def test_a_learned_table_is_as_long_as_its_rows_after_the_offset():
    (found,) = read({"model_type": "roberta", "max_position_embeddings": 512}).layers.values()
    assert (found.params["max-len"], found.length) == ("510", 510)


def test_convolutions_carry_the_order_of_speech():
    for name in ("wav2vec2", "hubert"):
        (found,) = read({"model_type": name}).layers.values()
        assert found.encoding == "none"
        assert "convolution" in found.notes[0]
    assert layers(model_type="wavlm")["all"] == ("t5", {"heads": "12", "buckets": "320", "max-distance": "800"})


def test_every_part_that_says_its_type_is_read():
    data = {"model_type": "detr", "backbone_config": {"model_type": "resnet"}}
    assert report(read(json.loads(json.dumps(data)))).parts[0].layers[0].encoding == "none"


def test_positions_without_an_encoding_are_not_guessed():
    config = {"model_type": "inkling_text", "rms_norm_eps": 1e-6, "num_key_value_heads": 8, "intermediate_size": 8}
    with pytest.raises(PecliError, match="no encoding of pecli has"):
        read(config)


def test_the_first_qwens_base_follows_the_length_that_is_asked_for():
    (found,) = read({"model_type": "qwen", "seq_length": 8192, "use_dynamic_ntk": True}).layers.values()
    with mpmath.workdps(40):
        for length, alpha in ((4096, 1), (8192, 1), (8193, 3), (16384, 3), (16385, 7), (32768, 7), (32769, 15)):
            recipe = Recipe.bind("rope", **found.params).resolve(length=length, last=length - 1, whole=True)
            base = 10000 * mpmath.mpf(alpha) ** (mpmath.mpf(128) / 126)
            for i in (1, 40, 63):
                assert mpmath.almosteq(
                    mpmath.mpf(str(recipe.plan.frequencies[i])), base ** (-mpmath.mpf(i) / 64), 1e-25
                )
    (plain,) = read({"model_type": "qwen", "seq_length": 8192}).layers.values()
    assert "scaling" not in plain.params


YARN = {"rope_type": "yarn", "factor": 4.0}


@pytest.mark.parametrize(
    "config",
    [
        {"model_type": "ernie4_5_vl_moe_text", "rope_scaling": {"rope_type": "linear", "factor": 2.0}},
        {"model_type": "cosmos3_edge_text", "rope_parameters": {**YARN, "rope_theta": 1e4}},
        {"model_type": "gemma4_text", "rope_parameters": {**YARN, "rope_theta": 1e4}},
        {"model_type": "cohere2_moe", "rope_parameters": {**YARN, "rope_theta": 1e4}},
        {"model_type": "neomme", "rope_scaling": YARN},
        {"model_type": "gptj", "rope_parameters": YARN},
        {"model_type": "roformer", "rope_scaling": {"rope_type": "llama3", "factor": 4.0}},
    ],
    ids=lambda config: config["model_type"],
)
def test_what_raises_in_transformers_is_an_error_here(config):
    with pytest.raises(PecliError):
        read(config)


def advised(text):
    """The commands that a message advises."""
    return [match.split() for match in re.findall(r"pecli (generate [^;)]*?)(?=$|[;)])", text)]


def test_every_command_that_a_refusal_advises_runs(tmp_path, pecli):
    seen = set()
    for name in TYPES:
        try:
            encodings = {one.encoding for one in read({"model_type": name}).layers.values()}
        except PecliError:
            continue
        if encodings <= seen | {"none", "rope"}:
            continue
        seen |= encodings
        file = tmp_path / "config.json"
        file.write_text(json.dumps({"model_type": name}))
        asked = pecli("generate", "xpos", "--config", str(file), "--dry-run").stderr
        assert advised(asked), (name, asked)
        (command,) = advised(asked)
        done = pecli(*command, "--dry-run")
        assert done.returncode == 0, (name, command, done.stderr)
    assert len(seen) > 12


def test_layers_that_the_config_numbers_with_leading_zeros_have_their_own_heads():
    """As transformers 5.24 writes Gemma 4's per_layer_config; Dory's layer_types name the blocks between."""
    kinds = ["sliding_attention"] * 5 + ["full_attention"]
    found = layers(model_type="gemma4_text", head_dim=256, per_layer_config={"05": {"head_dim": 512}},
                   layer_types=kinds)  # fmt: skip
    assert [found[kind][1]["dim"] for kind in ("sliding_attention", "full_attention")] == ["256", "512"]
    dory = layers(model_type="dory", layer_types=["full_attention", "mlp", "sliding_attention", "mlp"])
    assert sorted(dory) == ["full_attention", "sliding_attention"]
