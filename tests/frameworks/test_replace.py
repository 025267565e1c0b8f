"""Replacing and auditing the tables of live models of transformers: nothing breaks, and what stays is named."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
transformers = pytest.importorskip("transformers", reason="transformers is not installed")

from pecli.torch import audit, replace  # noqa: E402 - which need torch

TEXT = {
    "hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 4, "head_dim": 16, "num_hidden_layers": 1,
    "intermediate_size": 32, "vocab_size": 32, "max_position_embeddings": 128,
}  # fmt: skip
IDS = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}


def mrope(*sections):
    return {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": list(sections)}


TEXT_MODELS = {
    "Llama": {},
    "Qwen2VLText": {"rope_parameters": mrope(2, 3, 3)},
    "Qwen2_5_VLText": {"rope_parameters": mrope(2, 3, 3)},
    "Qwen3VLText": {"rope_parameters": mrope(4, 2, 2)},
    "Glm4vText": {"rope_parameters": mrope(2, 3, 3)},
    "Ernie4_5_VLMoeText": {"rope_parameters": mrope(3, 3, 2)},
}


def build(name, **options):
    torch.manual_seed(1)
    config = getattr(transformers, f"{name}Config")(**options)
    config._attn_implementation = "eager"
    return getattr(transformers, f"{name}Model")(config).eval()


def text(name, **more):
    if not hasattr(transformers, f"{name}Model"):
        pytest.skip(f"this transformers has no {name}Model")
    return build(name, **{**TEXT, **IDS, **TEXT_MODELS.get(name, {}), **more})


WORDS = torch.arange(3, 23)[None].repeat(2, 1) % 29 + 3


def streams(n=20):
    """Positions of an image between words: three streams that differ."""
    t = torch.arange(n)
    return torch.stack([t.clamp(max=5), t.clamp(max=5) + t // 4, t.clamp(max=5) + t % 4])[:, None].repeat(1, 2, 1)


@pytest.mark.parametrize("positions", [None, streams()], ids=["text alone", "an image"])
@pytest.mark.parametrize("name", [name for name in TEXT_MODELS if name != "Llama"])
def test_a_model_of_several_streams_gives_the_same(name, positions):
    model = text(name)
    more = {} if positions is None else {"position_ids": positions}
    with torch.no_grad():
        own = model(input_ids=WORDS, **more).last_hidden_state
        done = replace(model)
        assert "rotary_emb" in [*done, *done.left]
        exact = model(input_ids=WORDS, **more).last_hidden_state
    assert not torch.isnan(exact).any()
    assert (own - exact).abs().max() < 2e-5
    if name != "Ernie4_5_VLMoeText":
        assert done == ["rotary_emb"], done
        assert type(model.rotary_emb).__name__ == "RotaryInPlace"


def test_streams_differ_where_positions_do():
    """So that the test above would see columns that took another stream."""
    model = text("Qwen2VLText")
    with torch.no_grad():
        plain = model(input_ids=WORDS).last_hidden_state
        assert (model(input_ids=WORDS, position_ids=streams()).last_hidden_state - plain).abs().max() > 1e-3


def test_a_whole_qwen2_vl_with_its_tower_works_on():
    sizes = {"depth": 1, "embed_dim": 32, "num_heads": 2, "hidden_size": 64, "patch_size": 4, "spatial_merge_size": 2}
    torch.manual_seed(1)
    config = transformers.Qwen2VLConfig(
        text_config={**TEXT, **IDS, "vocab_size": 40, "rope_parameters": mrope(2, 3, 3)},
        vision_config={**sizes, "in_channels": 3}, image_token_id=35, vision_start_token_id=36, video_token_id=37,
    )  # fmt: skip
    config._attn_implementation = "eager"
    model = transformers.Qwen2VLModel(config).eval()
    words = torch.tensor([[3, 36, 35, 35, 35, 35, 5, 6]])
    image = {"pixel_values": torch.randn(16, 3 * 2 * 4 * 4), "image_grid_thw": torch.tensor([[1, 4, 4]])}
    calls = [{"input_ids": torch.tensor([[3, 4, 5, 6]])},
             {"input_ids": words, **image, "mm_token_type_ids": (words == 35).int()}]  # fmt: skip
    with torch.no_grad():
        own = [model(**call).last_hidden_state for call in calls]
        done = replace(model)
        exact = [model(**call).last_hidden_state for call in calls]
    assert max(float((a - b).abs().max()) for a, b in zip(own, exact, strict=True)) < 2e-5
    assert done == ["language_model.rotary_emb"]
    assert [*done.left] == ["visual.rotary_pos_emb"]
    assert "is left as it is" in repr(done)


def test_dinov3_is_audited_and_left():
    model = build("DINOv3ViT", hidden_size=32, num_attention_heads=2, num_hidden_layers=1, intermediate_size=32,
                  image_size=32, patch_size=8)  # fmt: skip
    (found,) = (one for one in audit(model) if "rope" in one.name)
    assert found.comparison is not None, found
    assert found.good, found
    image = torch.randn(1, 3, 32, 32)
    with torch.no_grad():
        own = model(image).last_hidden_state
        done = replace(model)
        assert torch.equal(model(image).last_hidden_state, own)
    assert done == []
    assert any("pixel_values" in why for why in done.left.values())


@pytest.mark.parametrize("name", ["Wav2Vec2Conformer", "Wav2Vec2Bert"])
def test_a_conformers_rotary_module_is_audited_and_left(name):
    sizes = {"hidden_size": 32, "num_attention_heads": 2, "num_hidden_layers": 1, "intermediate_size": 32,
             "position_embeddings_type": "rotary"}  # fmt: skip
    if name == "Wav2Vec2Conformer":
        sizes |= {"conv_dim": (16, 16), "conv_kernel": (3, 3), "conv_stride": (2, 2), "num_feat_extract_layers": 2,
                  "num_conv_pos_embedding_groups": 2, "num_conv_pos_embeddings": 4}  # fmt: skip
    model = build(name, **sizes)
    found = [one for one in audit(model) if one.comparison is not None]
    assert (len(found) == 1 and found[0].good) or name == "Wav2Vec2Bert", audit(model)
    x = torch.randn(1, 400) if name == "Wav2Vec2Conformer" else torch.randn(1, 12, 160)
    with torch.no_grad():
        own = model(x).last_hidden_state
        done = replace(model)
        assert torch.equal(model(x).last_hidden_state, own)
    assert done == []


def test_a_wrong_table_of_a_conformer_is_seen():
    model = build("Wav2Vec2Conformer", hidden_size=32, num_attention_heads=2, num_hidden_layers=1, intermediate_size=32,
                  position_embeddings_type="rotary", num_conv_pos_embedding_groups=2)  # fmt: skip
    module = next(one for one in model.modules() if hasattr(one, "inv_freq"))
    module.inv_freq.mul_(0.5)
    assert [one.good for one in audit(model) if one.comparison is not None] == [False]


BUFFERS = {
    "GPTJ": {"n_embd": 32, "n_head": 2, "n_layer": 2, "n_positions": 64, "rotary_dim": 8},
    "CodeGen": {"n_embd": 32, "n_head": 4, "n_layer": 1, "n_positions": 64, "n_ctx": 64, "rotary_dim": 8},
    "Mpt": {"d_model": 16, "n_heads": 4, "n_layers": 1, "max_seq_len": 32},
    "Falcon": {"hidden_size": 32, "num_attention_heads": 4, "num_hidden_layers": 1, "alibi": True},
}


@pytest.mark.parametrize("name", BUFFERS)
def test_buffers_and_functions_are_compared(name):
    model = build(name, **BUFFERS[name], vocab_size=32, **IDS)
    found = audit(model)
    assert found
    assert all(one.comparison is not None and one.good for one in found), found
    with torch.no_grad():
        own = model(input_ids=WORDS).last_hidden_state
        done = replace(model)
        assert (model(input_ids=WORDS).last_hidden_state - own).abs().max() < 2e-5
    assert (len(done) > 0) != (name == "Falcon"), (done, done.left)


def test_a_wrong_buffer_is_seen_and_is_not_written_over():
    model = build("GPTJ", **BUFFERS["GPTJ"], vocab_size=32, **IDS)
    name, buffer = [(name, one) for name, one in model.named_buffers() if name.endswith("embed_positions")][-1]
    count = len(audit(model))  # one for the model, or one a layer before transformers 5.24
    buffer.mul_(-1)
    assert [one.name for one in audit(model) if not one.good] == [name]
    done = replace(model)
    assert len(done) == count - 1
    assert list(done.left) == [name]
    assert "every value has the other sign" in repr(done)


def test_a_pair_that_turns_faster_is_named():
    model = text("Llama")
    model.rotary_emb.inv_freq[3] *= 1.01
    (found,) = audit(model)
    assert not found.good
    assert "pair 3 turns 1.01 times as fast" in repr(found)
    assert list(replace(model).left) == ["rotary_emb"]


def test_a_wrong_module_is_left():
    model = text("Llama")
    with torch.no_grad():
        model.rotary_emb.inv_freq.mul_(3)
    done = replace(model)
    assert done == []
    assert "rotary_emb" in done.left
    assert type(model.rotary_emb).__name__ == "LlamaRotaryEmbedding"


def test_frequencies_that_were_rounded_to_bfloat16_are_replaced():
    model = text("Llama")
    model.rotary_emb.inv_freq = model.rotary_emb.inv_freq.bfloat16()
    assert replace(model) == ["rotary_emb"]


def test_a_scaling_that_waits_is_left_by_name():
    model = text("Llama", rope_parameters={"rope_type": "dynamic", "factor": 4.0, "rope_theta": 10000.0})
    done = replace(model)
    assert done == []
    assert "length of the sequence" in done.left["rotary_emb"]


def test_what_nobody_saw_is_not_good():
    model = text("Llama")
    model.rotary_emb = torch.nn.Identity()
    (found,) = audit(model)
    assert not found.good
    assert not found
    assert "no module of the model was found" in repr(found)
    trained = build("GPT2", n_embd=32, n_head=2, n_layer=1, n_positions=64, vocab_size=32, **IDS)
    assert all(audit(trained))


VISION = {"hidden_size": 32, "num_attention_heads": 2, "num_hidden_layers": 1, "intermediate_size": 32,
          "image_size": 32, "patch_size": 8}  # fmt: skip
SWIN = {"image_size": 32, "patch_size": 4, "embed_dim": 16, "depths": [1, 1], "num_heads": [1, 2], "window_size": 4}
TRAINED = {
    "CLIP": {"text_config": {**VISION, "vocab_size": 32, "max_position_embeddings": 16}, "vision_config": VISION},
    "DebertaV2": {**VISION, "vocab_size": 32, "relative_attention": True, "pos_att_type": "c2p|p2c"},
    "MPNet": {**VISION, "vocab_size": 32}, "Beit": {**VISION, "use_relative_position_bias": True},
    "Swin": SWIN, "Swinv2": SWIN,
}  # fmt: skip


@pytest.mark.parametrize("name", TRAINED)
def test_trained_tables_of_every_part_are_found(name):
    found = audit(build(name, **TRAINED[name]))
    assert found
    assert all(found), found
    assert any(one.trained for one in found) or name == "Swinv2"  # whose network makes the numbers


def test_a_gpt_oss_whose_module_returns_each_pair_once_is_replaced():
    model = text("GptOss", num_local_experts=2, num_experts_per_tok=1)
    with torch.no_grad():
        own = model(input_ids=WORDS).last_hidden_state
        assert replace(model) == ["rotary_emb"]
        assert (model(input_ids=WORDS).last_hidden_state - own).abs().max() < 2e-5


def test_a_masked_mpt_and_a_cache_give_the_same():
    model = build("Mpt", **BUFFERS["Mpt"], vocab_size=32, **IDS)
    with torch.no_grad():
        first = model(input_ids=WORDS[:, :9], use_cache=True)
        own = model(input_ids=WORDS[:, 9:10], past_key_values=first.past_key_values).last_hidden_state
        assert replace(model)
        first = model(input_ids=WORDS[:, :9], use_cache=True)
        exact = model(input_ids=WORDS[:, 9:10], past_key_values=first.past_key_values).last_hidden_state
    np.testing.assert_allclose(exact.numpy(), own.numpy(), atol=2e-5)
