"""`audit` of timm's models, of caches as vLLM keeps them, and of tensors by name: checkpoints and state dicts."""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: make frameworks runs this")

from pecli.errors import BadParameter  # noqa: E402
from pecli.torch import audit, replace  # noqa: E402 - which need torch

CONFIG = {
    "model_type": "llama", "hidden_size": 64, "num_attention_heads": 4, "max_position_embeddings": 128,
    "rope_theta": 10000.0,
}  # fmt: skip
NAME = "model.layers.{}.self_attn.rotary_emb."


def rotary(base=10000.0, dtype=torch.float32):
    """Frequencies and caches of 128 positions as checkpoints have them, for two layers."""
    w = 1 / base ** (torch.arange(0, 16, 2) / 16)
    angles = torch.arange(128.0)[:, None] * w
    tensors = {
        "inv_freq": w, "cos_sin_cache": torch.cat([angles.cos(), angles.sin()], -1),
        "cos_cached": torch.cat([angles.cos()] * 2, -1)[None, None],
        "sin_cached": torch.cat([angles.sin()] * 2, -1)[None, None],
    }  # fmt: skip
    return {NAME.format(i) + key: value.to(dtype) for i in range(2) for key, value in tensors.items()}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_frequencies_and_caches_by_name(dtype):
    found = audit({**rotary(dtype=dtype), "lm_head.weight": torch.zeros(4, 4)}, config=CONFIG)
    assert len(found) == 6
    assert all(found), found
    assert {one.recipe for one in found} == {"rope:dim=16"}
    wrong = audit(rotary(base=500000.0, dtype=dtype), config=CONFIG)
    assert not any(wrong)
    assert all("base 500000 where 10000 was expected" in repr(one) for one in wrong), wrong


def test_halves_of_a_cache_in_the_wrong_order_are_seen():
    name = NAME.format(0) + "cos_sin_cache"
    cache = rotary()[name].roll(8, -1)
    (found,) = audit({name: cache}, config=CONFIG)
    assert not found
    assert "exchanged" in repr(found) or "swapped" in repr(found), found


def test_what_no_tensor_holds_and_what_nobody_knows_is_said():
    found = audit({"model.rope.scratch": torch.zeros(3), "model.norm.weight": torch.ones(4)}, config=CONFIG)
    assert [one.good for one in found] == [False, False]
    assert "does not know which table has this name" in repr(found[0])
    assert "no tensor was found to hold it" in repr(found[1])
    (odd,) = audit({"inv_freq": torch.ones(5)}, config=CONFIG)[:1]
    assert "no table of the config has this size" in repr(odd)
    with pytest.raises(BadParameter, match="config"):
        audit(rotary())


def test_trained_vectors_and_the_other_sides_sinusoids():
    whisper = {"model_type": "whisper", "d_model": 8, "max_source_positions": 12, "max_target_positions": 12}
    time = torch.arange(12)[:, None] * torch.exp(-torch.log(torch.tensor(10000.0)) / 3 * torch.arange(4))
    rows = torch.cat([time.sin(), time.cos()], -1)
    trained = torch.randn(12, 8, generator=torch.Generator().manual_seed(1))
    names = [f"model.{side}.embed_positions.weight" for side in ("encoder", "decoder")]
    found = audit(dict(zip(names, (rows, trained), strict=True)), config=whisper)
    assert [(one.equal, one.trained) for one in found[:2]] == [(True, False), (False, True)]
    assert not audit(dict(zip(names, (rows.flip(-1), trained), strict=True)), config=whisper)[0]


class Cache(torch.nn.Module):
    """As vLLM's RotaryEmbedding: cosines beside sines in one buffer, shared by the layers."""

    def __init__(self, base, dtype):
        super().__init__()
        self.register_buffer("cos_sin_cache", rotary(base, dtype)[NAME.format(0) + "cos_sin_cache"], persistent=False)

    def forward(self, positions, query, key):
        return query, key


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_live_model_with_vllms_cache(dtype):
    from pecli import table, widen

    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    model = torch.nn.Module()
    model.config = transformers.LlamaConfig(**CONFIG)
    model.rotary_emb = Cache(10000.0, dtype)
    assert [bool(one) for one in audit(model)] == [True]
    assert replace(model) == ["rotary_emb.cos_sin_cache"]
    word = str(dtype).removeprefix("torch.")
    exact = widen(table("rope:dim=16,len=128,layout=concat", dtype=word).read("cos_sin"), word)
    assert (model.rotary_emb.cos_sin_cache.double().numpy() == exact).all()
    model.rotary_emb = Cache(500000.0, dtype)
    (found,) = audit(model)
    assert "base 500000 where 10000 was expected" in repr(found)
    assert list(replace(model).left) == ["rotary_emb.cos_sin_cache"]


def test_a_model_without_a_config():
    assert audit(torch.nn.Linear(2, 2)) == []
    assert [(one.name, one.good) for one in audit(torch.nn.Sequential(Cache(1e4, torch.float32)))] == [
        ("0.cos_sin_cache", False)
    ]


TIMM = {
    "vit_tiny_patch16_224": {"pos_embed": "trained"},
    "vit_small_patch16_rope_224": {"rope": "rope2d:dim=64,grid=14x14,base=100,axis-order=xy"},
    "vit_base_patch16_rope_mixed_224": {"rope": "trained"},
    "vit_small_patch16_dinov3": {"rope": "rope2d:dim=64,grid=3x4,base=100,coordinates=separate"},
    "eva02_tiny_patch14_224": {"pos_embed": "trained", "rope": "rope2d:dim=64,grid=16x16,reference=16x16"},
    "vit_pe_core_tiny_patch16_384": {
        "pos_embed": "trained", "rope": "rope2d:dim=64,grid=24x24,axis-order=xy,first=1,reference=24x24"},
    "swin_tiny_patch4_window7_224": {"attn": "window:grid=7x7", "relative_position_bias_table": "trained"},
    "swinv2_tiny_window8_256": {"attn": "window:grid=8x8"},
    "beit_base_patch16_224": {"attn": "window:grid=14x14,cls=true", "relative_position_bias_table": "trained"},
}  # fmt: skip


@pytest.mark.parametrize("name", TIMM)
def test_tables_of_timm(name):
    timm = pytest.importorskip("timm", reason="timm, or the torchvision that fits this torch, is not installed")
    model = timm.create_model(name, depth=1) if "vit" in name or "eva" in name or "beit" in name else None
    model = (model or timm.create_model(name, depths=(1, 1, 1, 1))).eval()
    found = audit(model)
    assert {one.name.rpartition(".")[2] for one in found} == TIMM[name].keys()
    for one in found:
        said = TIMM[name][one.name.rpartition(".")[2]]
        assert said in (one.note or one.recipe), one
        assert one.good, one
    own = [value.clone() for value in model.state_dict().values()]
    assert replace(model) == []
    assert all(torch.equal(*pair) for pair in zip(own, model.state_dict().values(), strict=True))
    for buffer in model.buffers():
        buffer.data = buffer.flip(-1)
    wrong = [one for one in audit(model) if not one.trained]
    assert not any(wrong), wrong
