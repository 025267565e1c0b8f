"""Weights of queries and keys beside those that the attention modules of transformers compute."""

import numpy as np
import pytest

import pecli
from pecli import api

torch = pytest.importorskip("torch", reason="torch is not installed")
transformers = pytest.importorskip("transformers", reason="transformers is not installed")

N, HEADS, WIDTH = 9, 4, 8
SIZE = HEADS * WIDTH


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)
    with torch.no_grad():
        yield


def heads(x):
    return x.view(1, N, -1, WIDTH).transpose(1, 2).numpy()


def weights(config, q, k, **options):
    return pecli.apply(config, {"q": q, "k": k}, scores=True, softmax=True, **options)["scores"]


def near(found, expected):
    np.testing.assert_allclose(found, expected.numpy(), rtol=0, atol=3e-5)  # of float32
    assert expected.numpy().std() > 0.01  # weights that tell something apart


@pytest.mark.parametrize("side", ["encoder", "decoder"])
@pytest.mark.parametrize("name", ["T5", "MT5", "UMT5", "LongT5"])
def test_t5_does_not_divide_its_scores(name, side):
    module = __import__(f"transformers.models.{name.lower()}.modeling_{name.lower()}", fromlist=["*"])
    config = getattr(transformers, f"{name}Config")(d_model=SIZE, d_kv=WIDTH, num_heads=HEADS)
    config._attn_implementation = "eager"
    config.is_decoder = side == "decoder"
    attention = getattr(module, f"{name}Attention")(config, has_relative_attention_bias=True, layer_idx=0).eval()
    trained = (
        api.source_of(config.to_dict(), layer_type=side)
        .open(form="parameters", length=N, dtype="float32")
        .read("weight")
    )
    attention.relative_attention_bias.weight.data = torch.from_numpy(trained * 50)
    x = 3 * torch.randn(1, N, SIZE)
    mask = torch.full((1, 1, N, N), -3e38).triu(1) * (side == "decoder")
    masked = {"attention_mask" if name == "UMT5" else "mask": mask}
    results = attention(x, **masked, **({"output_attentions": True} if name in ("UMT5", "LongT5") else {}))
    own = next(one for one in results if one is not None and one.shape == (1, HEADS, N, N) and (one >= 0).all())
    q, k = heads(attention.q(x)), heads(attention.k(x))
    bias = api.source_of(config.to_dict(), layer_type=side).open(length=N, dtype="float64").read("bias")
    found = pecli.apply(config.to_dict(), {"q": q, "k": k}, scores=True, layer_type=side)
    logits = found["scores"] + 49 * bias + mask.numpy()
    raised = np.exp(logits - logits.max(-1, keepdims=True))
    near(raised / raised.sum(-1, keepdims=True), own)
    assert any("not divided" in note for note in found.notes)


KINDS = (["c2p", "p2c"], ["p2c", "c2p"], "c2p|p2c", ["c2p"], "p2c", [])


@pytest.mark.parametrize("kinds", KINDS, ids=str)
def test_a_debertas_terms_are_those_of_its_config(kinds):
    from transformers.models.deberta_v2.modeling_deberta_v2 import DisentangledSelfAttention, build_relative_position

    config = transformers.DebertaV2Config(
        hidden_size=SIZE, num_attention_heads=HEADS, relative_attention=True, pos_att_type=kinds, position_buckets=4,
        max_relative_positions=8, share_att_key=False, max_position_embeddings=16,
    )  # fmt: skip
    attention = DisentangledSelfAttention(config).eval()
    for name in ("pos_key_proj", "pos_query_proj"):
        if hasattr(attention, name):  # vectors as they are
            getattr(attention, name).weight.data, getattr(attention, name).bias.data = (
                torch.eye(SIZE),
                torch.zeros(SIZE),
            )
    source = api.source_of(config.to_dict())
    vectors = torch.from_numpy(source.open(length=N, dtype="float32").read("vector"))
    scale = 50.0  # drawn vectors are small beside those of a trained model
    x = 3 * torch.randn(1, N, SIZE)
    rows = build_relative_position(x, x, bucket_size=4, max_position=8)
    mask = torch.ones(1, 1, N, N)
    own = attention(x, mask, output_attentions=True, relative_pos=rows, rel_embeddings=vectors * scale)[1]
    q, k = (heads(attention.query_proj(x)), heads(attention.key_proj(x)))
    both = pecli.apply(config.to_dict(), {"q": q, "k": k}, scores=True)["scores"]
    count = 1 + len(kinds.split("|") if isinstance(kinds, str) else kinds)
    content = q.astype(np.float64) @ k.astype(np.float64).swapaxes(-1, -2) / np.sqrt(count * WIDTH)
    logits = content + scale * (both - content)
    near(np.exp(logits) / np.exp(logits).sum(-1, keepdims=True), own)
    assert (abs(both - content).max() > 1e-3) == (count > 1)


@pytest.mark.parametrize("kinds", [["c2p", "p2c"], ["c2p"], ["p2c"]], ids=str)
def test_the_first_debertas_terms_too(kinds):
    from transformers.models.deberta.modeling_deberta import DisentangledSelfAttention, build_relative_position

    config = transformers.DebertaConfig(
        hidden_size=SIZE, num_attention_heads=HEADS, relative_attention=True, pos_att_type=kinds,
        max_relative_positions=16,
    )  # fmt: skip
    attention = DisentangledSelfAttention(config).eval()
    for name in ("pos_proj", "pos_q_proj"):
        if hasattr(attention, name):
            getattr(attention, name).weight.data = torch.eye(SIZE)
    if hasattr(attention, "pos_q_proj"):
        attention.pos_q_proj.bias.data.zero_()
    vectors = torch.from_numpy(api.source_of(config.to_dict()).open(length=N, dtype="float32").read("vector"))
    x = 3 * torch.randn(1, N, SIZE)
    rows = build_relative_position(x, x)
    own = attention(x, torch.ones(1, 1, N, N), True, relative_pos=rows, rel_embeddings=vectors)[1]
    q, k, _ = attention.transpose_for_scores(attention.in_proj(x)).chunk(3, dim=-1)
    near(weights(config.to_dict(), q.numpy(), k.numpy()), own)


@pytest.mark.parametrize("both", [False, True])
def test_berts_relative_key_and_relative_key_query(both):
    """As BERT's module computed them while transformers had it, written out: einsums of both sides with one table."""
    recipe = f"shaw:dim={WIDTH},clip=15,backward=true" + ",kind=key-query" * both
    table = torch.from_numpy(pecli.table(recipe, length=N, dtype="float64").read("vector"))
    q, k = torch.randn(2, 1, HEADS, N, WIDTH, dtype=torch.float64)
    distance = torch.arange(N)[:, None] - torch.arange(N)[None]
    vectors = table[distance + 16 - 1]
    scores = q @ k.transpose(-1, -2) + torch.einsum("bhld,lrd->bhlr", q, vectors)
    if both:
        scores = scores + torch.einsum("bhrd,lrd->bhlr", k, vectors)
    made = pecli.apply(recipe, {"q": q.numpy(), "k": k.numpy()}, scores=True)
    np.testing.assert_allclose(made["scores"], (scores / WIDTH**0.5).numpy(), rtol=0, atol=1e-13)


def rotary_weights(name, config, attention, x):
    """The weights of an attention module that takes cosines and sines."""
    module = __import__(f"transformers.models.{name}.modeling_{name}", fromlist=["*"])
    places = torch.arange(N)[None]
    rotary = next(value for key, value in vars(module).items() if key.endswith("RotaryEmbedding"))(config)
    kinds = getattr(rotary, "layer_types", None)
    cos_sin = rotary(x, places, next(iter(kinds))) if kinds else rotary(x, places)
    return attention(x, position_embeddings=cos_sin, attention_mask=None)[1]


COMMON = {"hidden_size": SIZE, "num_attention_heads": HEADS, "num_key_value_heads": HEADS, "head_dim": WIDTH}


@pytest.mark.parametrize(
    ("name", "word", "more"),
    [
        ("llama", "Llama", {}),
        ("granite", "Granite", {"attention_multiplier": 0.71}),
        ("granitemoe", "GraniteMoe", {"attention_multiplier": 0.9}),
        ("gemma2", "Gemma2", {"query_pre_attn_scalar": 2, "attn_logit_softcapping": None}),
        ("dia", "DiaDecoder", {}),
    ],
)
def test_a_models_own_scale_is_read_from_its_config(name, word, more):
    module = __import__(f"transformers.models.{name}.modeling_{name}", fromlist=["*"])
    config = getattr(transformers.models, name)
    config = getattr(__import__(f"transformers.models.{name}.configuration_{name}", fromlist=["*"]), f"{word}Config")
    config = config(**COMMON, **more)
    config._attn_implementation = "eager"
    made = {"llama": "LlamaAttention", "granite": "GraniteAttention", "granitemoe": "GraniteMoeAttention",
            "gemma2": "Gemma2Attention", "dia": "DiaSelfAttention"}[name]  # fmt: skip
    extra = {"is_causal": False} if name == "dia" else {"layer_idx": 0}
    attention = getattr(module, made)(config, **({"layer_idx": 0} | extra)).eval()
    x = torch.randn(1, N, SIZE)
    own = rotary_weights(name, config, attention, x)
    found = weights(config.to_dict(), heads(attention.q_proj(x)), heads(attention.k_proj(x)))
    near(found, own)


def test_a_cap_of_scores_is_not_passed_over():
    config = transformers.Gemma2Config(**COMMON).to_dict()
    q = np.ones((1, HEADS, N, WIDTH), np.float32)
    with pytest.raises(pecli.PecliError, match="caps at 50"):
        weights(config, q, q)
    assert pecli.apply(config, {"q": q, "k": q}, scores=True)["scores"].shape == (1, HEADS, N, N)


def test_falcon_divides_the_bias_too():
    from transformers.models.falcon.modeling_falcon import FalconAttention, build_alibi_tensor

    config = transformers.FalconConfig(
        hidden_size=SIZE, num_attention_heads=HEADS, alibi=True, multi_query=False, new_decoder_architecture=False
    )
    config._attn_implementation = "eager"
    attention = FalconAttention(config, layer_idx=0).eval()
    x = torch.randn(1, N, SIZE)
    alibi = build_alibi_tensor(torch.ones(1, N), HEADS, torch.float32)
    own = attention(x, alibi=alibi, attention_mask=torch.zeros(1, 1, N, N), output_attentions=True)[1]
    q, k, _ = attention._split_heads(attention.query_key_value(x))
    near(weights(config.to_dict(), *(one.transpose(1, 2).numpy() for one in (q, k))), own)


def test_mpnet_and_wavlm_are_no_t5():
    config = transformers.MPNetConfig(hidden_size=SIZE, num_attention_heads=HEADS).to_dict()
    q = np.random.default_rng(0).normal(size=(1, HEADS, N, WIDTH))
    found = pecli.apply(config, {"q": q, "k": q}, scores=True)["scores"]
    bias = api.source_of(config).open(length=N, dtype="float64").read("bias")
    np.testing.assert_allclose(found, q @ q.swapaxes(-1, -2) / WIDTH**0.5 + bias, atol=1e-12)
    gated = transformers.WavLMConfig(hidden_size=SIZE, num_attention_heads=HEADS).to_dict()
    with pytest.raises(pecli.PecliError, match="gate of the content"):
        pecli.apply(gated, {"q": q, "k": q}, scores=True)
