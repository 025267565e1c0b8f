"""What stacks make of configs, as their own sources say; each test names the file that its rule was read in."""

import json
import math

import mpmath
import numpy as np
import pytest

from pecli.cli.run import run
from pecli.tables.table import Table

LLAMA = {
    "model_type": "llama", "hidden_size": 1024, "num_attention_heads": 8, "max_position_embeddings": 131072,
    "rope_theta": 1e4,
}  # fmt: skip
YARN = {"rope_type": "yarn", "factor": 16.0, "original_max_position_embeddings": 8192, "beta_fast": 32, "beta_slow": 1}


@pytest.fixture
def rows(tmp_path, capfd):
    """Return what each stack makes of a config: rows by its name, by kind of layer."""

    def found(config):
        path = tmp_path / "config.json"
        path.write_text(json.dumps(config))
        assert run(["compare", str(path), "--stacks", "--json"]) in (0, 1)
        layers = json.loads(capfd.readouterr().out)["layers"]
        return {kind: {row["stack"]: row for row in listed} for kind, listed in layers.items()}

    return found


@pytest.mark.parametrize("mscale", [(1.0, 1.0), (0.707, 1.0)])
def test_kimi_k2_has_deepseek_s_magnitude_in_exllamav3(rows, mscale):
    """Its architecture is DeepseekV3ForCausalLM: exllamav3/architecture/deepseek_v3.py asks for the ratio."""
    above, below = mscale
    yarn = {**YARN, "factor": 32.0, "original_max_position_embeddings": 4096, "mscale": above, "mscale_all_dim": below}
    config = {
        "model_type": "kimi_k2", "hidden_size": 7168, "num_attention_heads": 64, "qk_rope_head_dim": 64,
        "qk_nope_head_dim": 128, "v_head_dim": 128, "max_position_embeddings": 131072, "rope_theta": 5e4,
        "rope_scaling": yarn,
    }  # fmt: skip
    row = rows(config)["all"]["exllamav3"]
    assert row["magnitude"] == pytest.approx((0.1 * above * math.log(32) + 1) / (0.1 * below * math.log(32) + 1))


@pytest.mark.parametrize("model", ["olmo2", "olmo3"])
def test_lmdeploy_has_no_olmo(rows, model):
    """lmdeploy/pytorch/models/module_map.py lists none, and patch.py raises."""
    config = {**LLAMA, "model_type": model, "num_hidden_layers": 4, "num_attention_heads": 8}
    for kind in rows(config).values():
        assert "Can not found rewrite" in kind["lmdeploy"]["trouble"]


def test_gemma4_is_read_by_kind_of_layer_in_exllamav3(rows):
    """exllamav3/architecture/gemma4.py hands on the parameters of sliding_attention and full_attention."""
    config = {
        "model_type": "gemma4_text", "hidden_size": 1024, "num_attention_heads": 8, "head_dim": 256,
        "global_head_dim": 512, "num_hidden_layers": 6, "max_position_embeddings": 131072,
        "layer_types": ["sliding_attention"] * 5 + ["full_attention"],
        "rope_parameters": {
            "sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
            "full_attention": {"rope_type": "proportional", "partial_rotary_factor": 0.25, "rope_theta": 1e6},
        },
    }  # fmt: skip
    found = rows(config)
    assert {kind: listed["exllamav3"]["equal"] for kind, listed in found.items()} == dict.fromkeys(found, True)
    assert "proportional" in found["full_attention"]["exllamav3"]["recipe"]


@pytest.mark.parametrize(
    ("given", "magnitude"),
    [
        ({"mscale": 0.7}, 0.07 * math.log(16) + 1),
        ({"mscale_all_dim": 0.5}, 0.05 * math.log(16) + 1),
        ({"mscale": 0.7, "mscale_all_dim": 0.5}, (0.07 * math.log(16) + 1) / (0.05 * math.log(16) + 1)),
        ({"mscale": 0, "mscale_all_dim": 0.5}, 0.05 * math.log(16) + 1),
        ({}, 1.0),
    ],
)
@pytest.mark.sample(3)
def test_one_mscale_alone_counts_in_litgpt(rows, given, magnitude):
    """litgpt/model.py:979-987: whichever is given multiplies 0.1 ln(factor), and plus 1 it is the magnitude."""
    row = rows({**LLAMA, "rope_scaling": {**YARN, **given}})["all"]["litgpt"]
    assert row["magnitude"] == pytest.approx(magnitude, rel=1e-9)


def test_the_ramp_of_litgpt_ends_at_half_the_width(rows):
    """litgpt/model.py:1009 cuts its end at n_elem // 2 - 1; slow pairs are left, fast ones divided."""
    length = 10**6
    yarn = {**YARN, "original_max_position_embeddings": length}
    row = rows({**LLAMA, "max_position_embeddings": 16 * length, "rope_scaling": yarn})["all"]["litgpt"]
    low = math.floor(128 * math.log(length / (32 * 2 * math.pi)) / (2 * math.log(1e4)))
    end = math.ceil(128 * math.log(length / (2 * math.pi)) / (2 * math.log(1e4)))
    assert end > 63
    found = Table.parse(row["recipe"] + ",len=2,dtype=float64")
    share = np.clip((np.arange(64) - low) / (63 - low), 0, 1)
    plain = 1e4 ** (-np.arange(64) / 64)
    frequencies = plain * share + plain / 16 * (1 - share)
    np.testing.assert_allclose(found.read("sin")[1], np.sin(frequencies), rtol=1e-9)


@pytest.mark.parametrize("stack", ["exllamav2", "litgpt", "sglang", "exllamav3", "lmdeploy", "megatron", "vllm"])
def test_a_share_at_a_llama_s_top_level_is_honoured(rows, stack):
    """exllamav2/config.py:381, litgpt/config.py:145, sglang/srt/models/llama.py:199; transformers' Llama ignores it."""
    found = rows({**LLAMA, "partial_rotary_factor": 0.5})["all"]
    assert "rotary-dim=64" in found[stack]["recipe"]
    assert not found[stack]["equal"]
    assert "rotary-dim" not in found["transformers"]["recipe"]


NONE_REFUSED = {
    "exllamav2": "exllamav2/rope.py: math.log of it",
    "litgpt": "litgpt/model.py: it multiplies the frequencies",
    "lmdeploy": "lmdeploy/pytorch/nn/rotary_embedding.py: get_mscale compares it with 1",
    "megatron": "megatron/core/models/common/embeddings/yarn_rotary_pos_embedding.py: it multiplies the frequencies",
    "mlx": "mlx_lm/models/rope_utils.py: yarn_get_mscale compares it with 1",
    "sglang": "sglang/srt/layers/rotary_embedding/yarn.py:55: yarn_get_mscale compares it with 1",
    "tensorrt-llm": "the same function of its attention_backend/interface.py",
    "tgi": "server/text_generation_server/layers/rotary.py: get_mscale compares it with 1",
    "vllm": "vllm/model_executor/layers/rotary_embedding/yarn_scaling_rope.py",
}


def test_a_factor_of_yarn_that_is_null_is_refused(rows):
    """transformers takes the ratio of the lengths; ExLlamaV3 does so whatever the key says, llama.cpp drops it all."""
    found = rows({**LLAMA, "rope_scaling": {**YARN, "factor": None}})["all"]
    refused = {name for name, row in found.items() if "TypeError" in row["trouble"]}
    assert refused == {*NONE_REFUSED}
    assert found["exllamav3"]["equal"]
    assert "scaling=none" in found["llama.cpp"]["recipe"] or "scaling" not in found["llama.cpp"]["recipe"]


def test_exllamav3_has_no_factor_where_no_original_length_gives_it(rows):
    """exllamav3/util/rope.py takes the key where original_max_position_embeddings is absent."""
    found = rows({**LLAMA, "rope_scaling": {"rope_type": "yarn", "factor": None}})["all"]
    assert "TypeError" in found["exllamav3"]["trouble"]


def test_exllamav2_takes_one_key_for_the_type(rows):
    """exllamav2/config.py:387 asserts it."""
    found = rows({**LLAMA, "rope_scaling": {**YARN, "type": "yarn"}})["all"]
    assert "AssertionError" in found["exllamav2"]["trouble"]


QWEN = {
    "model_type": "qwen", "hidden_size": 4096, "num_attention_heads": 32, "kv_channels": 128, "seq_length": 8192,
    "max_position_embeddings": 32768, "use_dynamic_ntk": True, "rotary_emb_base": 10000, "rotary_pct": 1.0,
}  # fmt: skip


@pytest.mark.parametrize(("length", "alpha"), [(8192, 1), (8193, 3), (16384, 3), (16385, 7), (32768, 7)])
def test_qwen_doubles_from_its_own_length(tmp_path, length, alpha):
    """Qwen-7B's modeling_qwen.py, get_ntk_alpha: 2^ceil(log2(L / seq_length) + 1) - 1, at least 1."""
    path = tmp_path / "config.json"
    path.write_text(json.dumps(QWEN))
    out = tmp_path / "x.npz"
    assert run(["generate", str(path), "--len", str(length), "--dtype", "float64", "-q", "-o", str(out)]) == 0
    with np.load(out) as found, mpmath.workdps(30):
        base = mpmath.mpf(10000) * mpmath.mpf(alpha) ** (mpmath.mpf(128) / 126)
        expected = [float(mpmath.cos(1000 * base ** (-mpmath.mpf(2 * k) / 128))) for k in range(64)]
        np.testing.assert_allclose(found["cos"][1000], expected, atol=1e-14)


def test_inkling2_counts_places_from_one_and_its_class_token_is_at_zero(tmp_path, capfd):
    """transformers/models/inkling2/modeling_inkling2.py, Inkling2VisionModel.forward.

    Columns have the first half of the pairs; patches come in squares of two by two.
    """
    path = tmp_path / "config.json"
    config = {
        "model_type": "inkling2_vision", "hidden_size": 1024, "num_attention_heads": 16, "spatial_merge_size": 2,
        "rope_parameters": {"rope_type": "axial", "rope_theta": 10000.0},
    }  # fmt: skip
    path.write_text(json.dumps(config))
    out = tmp_path / "x.npz"
    line = ["generate", str(path), "--grid", "4x6", "--dtype", "float64", "--layout", "split", "-q", "-o", str(out)]
    assert run(line) == 0, capfd.readouterr().err
    places = [
        (y, x) for top in range(0, 4, 2) for left in range(0, 6, 2) for y in (top, top + 1) for x in (left, left + 1)
    ]
    angles = np.zeros((25, 32))
    frequencies = 10000.0 ** (-np.arange(16) / 16)
    for row, (y, x) in enumerate(places, 1):
        angles[row] = np.concatenate([(x + 1) * frequencies, (y + 1) * frequencies])
    with np.load(out) as found:
        np.testing.assert_allclose(found["cos"], np.cos(angles), atol=1e-13)
        np.testing.assert_allclose(found["sin"], np.sin(angles), atol=1e-13)
