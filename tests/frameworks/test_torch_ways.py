"""Every way to run a model: compiled, on meta, vmap, autocast, checkpoints; biases in SDPA and FlexAttention."""

import copy

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: make frameworks runs this")

import torch.nn.functional as F  # noqa: E402, N812 - which need torch
from torch.utils.checkpoint import checkpoint  # noqa: E402

from pecli.torch import AbsoluteModule, BiasModule, EmbeddingModule, RotaryModule  # noqa: E402

torch.manual_seed(2)
X = torch.randn(2, 4, 8, 16)


class Attention(torch.nn.Module):
    """One layer with a table of each kind."""

    def __init__(self):
        super().__init__()
        self.rotary = RotaryModule("rope:dim=16", 32)
        self.bias = BiasModule("t5:heads=4,std=1", 32)
        self.rows = EmbeddingModule("learned:dim=16,max-len=64,std=1")
        self.linear = torch.nn.Linear(16, 16)

    def forward(self, x):
        x = self.linear(x) + self.rows(torch.arange(x.shape[-2], device=x.device))
        q = self.rotary.rotate(x, "half")
        return F.scaled_dot_product_attention(q, q, x, attn_mask=self.bias(x.shape[-2]).to(x.dtype), scale=1.0)


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_backends_of_compile_agree_and_the_table_grows(backend):
    rotary = RotaryModule("rope:dim=16", 16)
    rotate = torch.compile(lambda x, offset: rotary.rotate(x, "half", offset=offset), backend=backend)
    exact = RotaryModule("rope:dim=16", 128)
    for offset in (3, 100):
        assert torch.allclose(rotate(X, offset), exact.rotate(X, "half", offset=offset), atol=1e-6)
    assert rotary.length >= 108


BIASES = (
    "alibi:heads=4", "t5:heads=4,std=1", "t5:heads=4,std=1,bidirectional=false", "kerple:heads=4",
    "window:grid=4x6,heads=4,std=1",
)  # fmt: skip


@pytest.mark.parametrize("recipe", BIASES)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("queries", [24, 5])
def test_a_bias_is_the_same_as_a_mask_of_sdpa_and_as_a_score_mod(recipe, causal, queries):
    flex = pytest.importorskip("torch.nn.attention.flex_attention").flex_attention
    if "window" in recipe and queries != 24:
        pytest.skip("a window has all its tokens as queries")
    module = BiasModule(recipe, None if "window" in recipe else 32)
    q, k, v = torch.randn(3, 2, 4, 24, 16, generator=torch.Generator().manual_seed(1))
    q = q[:, :, -queries:]
    dense = module(queries, 24)
    assert dense.shape == (4, queries, 24)
    assert dense.abs().max() > 0.1
    seen = (
        torch.arange(24) <= torch.arange(24 - queries, 24)[:, None] if causal else torch.ones(queries, 24, dtype=bool)
    )
    logits = (q.double() @ k.double().mT / 4 + dense).masked_fill(~seen, -torch.inf)
    expected = torch.softmax(logits, -1) @ v.double()
    masked = F.scaled_dot_product_attention(q, k, v, attn_mask=module(queries, 24, causal=causal))
    assert torch.allclose(masked.double(), expected, atol=2e-6)
    modified = flex(q, k, v, score_mod=module.score_mod(queries, 24, causal=causal))
    assert torch.allclose(modified.double(), expected, atol=2e-6)


def test_print_shows_recipe_length_and_type():
    text = repr(Attention().to(torch.bfloat16))
    assert "RotaryModule(rope:dim=16, 32 positions, bfloat16)" in text
    assert "BiasModule(t5:heads=4,std=1, 32 positions, bfloat16)" in text


@pytest.mark.parametrize("way", ["to_empty", "assign", "deepcopy"])
def test_a_model_that_was_on_meta_or_copied_gives_the_same(way):
    """As FSDP does it: made on meta, given memory, loaded."""
    model = Attention()
    if way == "deepcopy":
        other = copy.deepcopy(model)
    else:
        with torch.device("meta"):
            other = Attention()
        if way == "to_empty":
            other.to_empty(device="cpu")
        other.load_state_dict(model.state_dict(), assign=way == "assign")
    assert torch.equal(other(X), model(X))


def test_vmap_and_its_gradients():
    rotary = RotaryModule("rope:dim=16", 4)
    positions = torch.stack([torch.arange(8), torch.arange(8) + 40])
    exact = rotary.rotate(X, "half", positions)
    small = RotaryModule("rope:dim=16", 4)  # which grows to positions that vmap holds
    mapped = torch.vmap(lambda x, p: small.rotate(x[None], "half", p[None])[0])(X, positions)
    assert torch.equal(mapped, exact)
    slope = torch.func.grad(lambda x: rotary.rotate(x, "half", positions).square().sum())(X)
    assert torch.allclose(slope, 2 * X, atol=1e-5)


def test_autocast_and_checkpoints():
    model = Attention()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert model(X).dtype == torch.bfloat16
    slopes = []
    for run in (model, lambda x: checkpoint(model, x, use_reentrant=False)):
        x = X.clone().requires_grad_()
        run(x).square().sum().backward()
        slopes.append(x.grad)
    assert torch.equal(*slopes)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_frequencies_saved_in_half_precision_are_taken(dtype):
    inv_freq = 1 / 500000 ** (torch.arange(0, 64, 2) / 64)
    RotaryModule("rope:dim=64,base=500000", 64).load_state_dict({"inv_freq": inv_freq.to(dtype)})
    with pytest.raises(RuntimeError, match="base 500000 where 10000 was expected"):
        RotaryModule("rope:dim=64", 64).load_state_dict({"inv_freq": inv_freq.to(dtype)})


def test_opts_rows_before_position_0():
    config = {"model_type": "opt", "hidden_size": 16, "word_embed_proj_dim": 16, "max_position_embeddings": 64}
    module, weight = EmbeddingModule(config), torch.randn(66, 16)
    module.load_state_dict({"weight": weight})
    assert torch.equal(module(torch.tensor([[-1, -1, 0], [0, 1, 63]])), weight[torch.tensor([[1, 1, 2], [2, 3, 65]])])
    with pytest.raises(IndexError, match="position -3 lies before"):
        module(torch.tensor([-3]))


@pytest.mark.parametrize("kind", ["rows", "rotary", "alibi:heads=4", "t5:heads=4,std=1"])
def test_lengths_of_an_exported_model_vary(kind):
    class One(torch.nn.Module):
        def __init__(self):
            super().__init__()
            made = {"rows": (AbsoluteModule, "sinusoidal:dim=16"), "rotary": (RotaryModule, "rope:dim=16")}
            family, recipe = made.get(kind, (BiasModule, kind))
            self.table = family(recipe, 32)

        def forward(self, x):
            match kind:
                case "rows":
                    return self.table(x)
                case "rotary":
                    return self.table.rotate(x, "half")
            return x + self.table(x.shape[-2], x.shape[-1])

    n, is_bias = torch.export.Dim("n", min=2, max=32), ":" in kind
    sides = {2: n, 3: n} if is_bias else {2: n}
    model = One()
    exported = torch.export.export(
        model, (torch.zeros(1, 4, 8, 8 if is_bias else 16),), dynamic_shapes=(sides,)
    ).module()
    for length in (5, 32):
        x = torch.randn(1, 4, length, length if is_bias else 16)
        assert torch.equal(exported(x), model(x))


def test_fsdp_shards_a_model_made_on_meta():
    fsdp = pytest.importorskip("torch.distributed.fsdp")
    if not hasattr(fsdp, "fully_shard") or not torch.distributed.is_gloo_available():
        pytest.skip("this torch has no fully_shard, or no gloo")
    from torch.distributed.checkpoint.state_dict import StateDictOptions, set_model_state_dict
    from torch.distributed.device_mesh import init_device_mesh

    model = Attention()
    store = torch.distributed.HashStore()
    torch.distributed.init_process_group("gloo", rank=0, world_size=1, store=store)
    try:
        with torch.device("meta"):
            sharded = Attention()
        fsdp.fully_shard(sharded, mesh=init_device_mesh("cpu", (1,)))
        sharded.to_empty(device="cpu")
        set_model_state_dict(sharded, model.state_dict(), options=StateDictOptions(full_state_dict=True))
        assert torch.equal(sharded(X), model(X))
        sharded(X).sum().backward()
        assert sharded.rows.pe.grad.full_tensor().abs().sum() > 0
    finally:
        torch.distributed.destroy_process_group()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_caches_of_other_programs_are_compared(dtype):
    exact, other = RotaryModule("rope:dim=16", 40), RotaryModule("rope:dim=16,base=500", 40)
    for cos, sin in ((exact.cos, exact.sin), (other.cos, other.sin)):
        for saved in ({"cos_sin_cache": torch.cat([cos, sin], -1).to(dtype)}, {"freqs_cis": torch.complex(cos, sin)}):
            if cos is exact.cos:
                RotaryModule("rope:dim=16", 32).load_state_dict(saved)
                continue
            with pytest.raises(RuntimeError, match="base 500 where 10000 was expected"):
                RotaryModule("rope:dim=16", 32).load_state_dict(saved)


def test_it_is_exported_with_all_kinds():
    exported = torch.export.export(model := Attention(), (X,)).module()
    assert torch.allclose(exported(X), model(X), atol=1e-6)
