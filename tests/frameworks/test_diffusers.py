"""Models of diffusers: their positional modules are compared with what their own attributes say."""

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
diffusers = pytest.importorskip("diffusers", reason="diffusers is not installed")

from pecli.torch import audit, replace  # noqa: E402 - which need torch

SMALL = {"in_channels": 4, "out_channels": 4, "num_layers": 1, "num_attention_heads": 2}
COG = {"time_embed_dim": 2, "text_embed_dim": 8, "sample_width": 8, "sample_height": 8, "sample_frames": 8}
MODELS = {
    "Flux": ("FluxTransformer2DModel", ["pos_embed"], {
        "num_single_layers": 1, "attention_head_dim": 16, "joint_attention_dim": 32, "pooled_projection_dim": 32,
        "axes_dims_rope": (4, 4, 8)}),
    "Wan": ("WanTransformer3DModel", ["rope"], {
        "attention_head_dim": 12, "text_dim": 16, "freq_dim": 256, "ffn_dim": 32, "rope_max_seq_len": 32}),
    "CogVideoX": ("CogVideoXTransformer3DModel", ["patch_embed"], {
        **COG, "attention_head_dim": 16, "max_text_seq_length": 8}),
    "Qwen-Image": ("QwenImageTransformer2DModel", ["pos_embed"], {
        "in_channels": 16, "attention_head_dim": 16, "joint_attention_dim": 16, "axes_dims_rope": (8, 4, 4)}),
    "HunyuanVideo": ("HunyuanVideoTransformer3DModel", ["rope"], {
        "attention_head_dim": 10, "num_single_layers": 1, "num_refiner_layers": 1, "patch_size": 1, "patch_size_t": 1,
        "text_embed_dim": 16, "pooled_projection_dim": 8, "rope_axes_dim": (2, 4, 4)}),
}  # fmt: skip


@pytest.mark.parametrize("model", MODELS)
def test_their_tables_are_compared(model):
    name, modules, options = MODELS[model]
    made = getattr(diffusers, name)(**{**SMALL, **options})
    found = audit(made)
    assert [one.name for one in found] == modules
    assert all(found)
    done = replace(made)
    assert done == []
    assert list(done.left) == modules


def test_a_wrong_table_is_found():
    name, modules, options = MODELS["CogVideoX"]
    made = getattr(diffusers, name)(**{**SMALL, **options})
    made.patch_embed.pos_embedding[0, 9, 3] += 0.25
    found = audit(made)
    assert [one.name for one in found] == modules
    assert not any(found)
