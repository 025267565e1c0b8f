"""Tensors that modules of transformers, torchtune, x-transformers, ONNX and others make, from inputs as they are."""

import importlib

import numpy as np
import pytest

import pecli

torch = pytest.importorskip("torch", reason="PyTorch is not installed: make frameworks runs this")
transformers = pytest.importorskip("transformers", reason="transformers is not installed")

BATCH, HEADS, N, WIDTH = 2, 4, 9, 16
SIZE = HEADS * WIDTH
COMMON = {
    "hidden_size": SIZE, "num_attention_heads": HEADS, "num_key_value_heads": 2, "head_dim": WIDTH, "pad_token_id": 0,
    "num_hidden_layers": 1, "intermediate_size": 32, "vocab_size": 32, "max_position_embeddings": 128,
}  # fmt: skip
SEEN = torch.tensor([[0, 0, 0, 1, 1, 1, 1, 1, 1], [1] * N])  # padding on the left
PADDED = (SEEN.cumsum(-1) - 1).clamp(min=0)
CAUSAL = torch.full((N, N), -torch.inf).triu(1)


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)
    with torch.no_grad():
        yield


def drawn(*shape, dtype=torch.float32):
    return torch.randn(*shape, dtype=dtype)


def modeling(folder):
    return importlib.import_module(f"transformers.models.{folder}.modeling_{folder}")


def config_of(name, **options):
    config = getattr(transformers, f"{name}Config")(**{**COMMON, **options})
    config._attn_implementation = "eager"
    return config


def near(found, expected, rtol=3e-5):
    expected = torch.as_tensor(expected).detach()
    assert found.shape == tuple(expected.shape)
    size = float(expected.abs().max())
    np.testing.assert_allclose(np.asarray(found, float), expected.double().numpy(), rtol=0, atol=rtol * size)


def plain(x):
    return x.detach().float().numpy() if x.dtype == torch.bfloat16 else x.detach().numpy()


# Rotations: the model's own config, and queries and keys as its attention has them.

LINEAR = {"rope_type": "linear", "factor": 4.0, "rope_theta": 10000.0}
DYNAMIC = {"rope_type": "dynamic", "factor": 2.0, "rope_theta": 10000.0}
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32, "rope_theta": 10000.0}
LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 32, "rope_theta": 500000.0}  # fmt: skip


def longrope(pairs):
    factors = {"short_factor": [1 + 0.1 * i for i in range(pairs)], "long_factor": [1.0 + i for i in range(pairs)]}
    return {"rope_type": "longrope", "rope_theta": 10000.0, **factors}


def sections(*parts, **more):
    return {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": list(parts), **more}


STREAMS = torch.stack([torch.arange(N).clamp(max=4), torch.arange(N) // 2, torch.arange(N) % 4])[:, None].repeat(
    1, 2, 1
)
STREAMS[:, 1] += 7
LATE = torch.arange(40, 40 + N)[None]
SHORT = {"max_position_embeddings": 64, "original_max_position_embeddings": 16}

ROTATED = {  # folder, config, options of the config; positions, options of apply
    "Llama": ("llama", "Llama", {}, None, {}),
    "Llama, float16": ("llama", "Llama", {}, None, {"type": torch.float16}),
    "Llama, bfloat16": ("llama", "Llama", {}, None, {"type": torch.bfloat16}),
    "Llama, a decoding step": ("llama", "Llama", {}, torch.tensor([[77], [77]]), {"start": 77}),
    "Llama, padding on the left": ("llama", "Llama", {}, PADDED, {}),
    "Llama, (batch, position, head)": ("llama", "Llama", {}, LATE, {"axes": "bshd"}),
    "Llama, one head and one batch": ("llama", "Llama", {"num_attention_heads": 1, "num_key_value_heads": 1}, LATE,
                                      {"heads": 1, "batch": 1}),
    "Llama 3": ("llama", "Llama", {"rope_parameters": LLAMA3}, LATE, {}),
    "YaRN": ("llama", "Llama", {"rope_parameters": YARN}, LATE, {}),
    "linear": ("llama", "Llama", {"rope_parameters": LINEAR}, LATE, {}),
    "dynamic NTK": ("llama", "Llama", {"rope_parameters": DYNAMIC, "max_position_embeddings": 16}, LATE,
                    {"length": 49}),
    "Phi-3, short factors": ("phi3", "Phi3", {**SHORT, "rope_parameters": longrope(8)}, None, {"length": N}),
    "Phi-3, long factors": ("phi3", "Phi3", {**SHORT, "rope_parameters": longrope(8)}, LATE, {"length": 49}),
    "Phi-4-mini, part of a head": (
        "phi3", "Phi3", {**SHORT, "rope_parameters": {**longrope(6), "partial_rotary_factor": 0.75}}, LATE,
        {"length": 49}),
    "GPT-NeoX": ("gpt_neox", "GPTNeoX", {"rotary_pct": 0.25}, LATE, {"key_heads": HEADS}),
    "GLM": ("glm", "Glm", {"partial_rotary_factor": 0.5}, LATE, {}),
    "GLM-4": ("glm4", "Glm4", {"partial_rotary_factor": 0.5}, PADDED, {}),
    "Cohere": ("cohere", "Cohere", {}, LATE, {}),
    "Gemma 3, global": ("gemma3", "Gemma3Text", {"num_hidden_layers": 6}, LATE, {"layer_type": "full_attention"}),
    "Gemma 3, sliding": ("gemma3", "Gemma3Text", {"num_hidden_layers": 6}, LATE, {"layer_type": "sliding_attention"}),
    "ModernBERT": ("modernbert", "ModernBert", {}, LATE, {"layer_type": "full_attention", "key_heads": HEADS}),
    "Qwen2-VL, images in a batch": ("qwen2_vl", "Qwen2VLText", {"rope_parameters": sections(2, 3, 3)}, STREAMS, {}),
    "Qwen3-VL, images in a batch": (
        "qwen3_vl", "Qwen3VLText", {"rope_parameters": sections(4, 2, 2, mrope_interleaved=True)}, STREAMS, {}),
    "GLM-4V, images in a batch": (
        "glm4v", "Glm4vText", {"rope_parameters": sections(2, 3, 3)}, STREAMS, {}),
    "ERNIE 4.5": ("ernie4_5", "Ernie4_5", {}, LATE, {}),
    "Nemotron, part of a head": ("nemotron", "Nemotron", {"partial_rotary_factor": 0.5}, LATE, {}),
}  # fmt: skip


@pytest.mark.parametrize("name", ROTATED)
def test_rotated_queries_and_keys(name):
    folder, word, options, ids, more = ROTATED[name]
    more, module, config = dict(more), modeling(folder), config_of(word, **options)
    dtype, axes = more.pop("type", torch.float32), more.get("axes", "bhsd")
    batch, heads = more.pop("batch", BATCH), more.pop("heads", HEADS)
    key_heads = more.pop("key_heads", min(heads, 2))
    kind = more.get("layer_type")
    n = N if ids is None else ids.shape[-1]
    q, k = (drawn(batch, h, n, WIDTH if heads > 1 else config.head_dim, dtype=dtype) for h in (heads, key_heads))
    if axes == "bshd":
        q, k = q.transpose(1, 2).contiguous(), k.transpose(1, 2).contiguous()
    rotary = next(x for key, x in vars(module).items()
                  if key.endswith("RotaryEmbedding") and "Vision" not in key)(config)  # fmt: skip
    places = torch.arange(n)[None] if ids is None else ids
    cos, sin = rotary(q, places, kind) if kind else rotary(q, places)
    expected = module.apply_rotary_pos_emb(q, k, cos, sin, **({"unsqueeze_dim": 2} if axes == "bshd" else {}))
    if "start" not in more:
        more["positions"] = places[0] if places.ndim == 2 and len(places) == 1 else places
    inputs = {"q": q, "k": k}
    found = pecli.apply(config.to_dict(), inputs, **more)
    eps = torch.finfo(dtype).eps
    for given, own in zip(inputs, expected, strict=True):
        values = found[given]
        if dtype == torch.bfloat16:
            values = pecli.widen(values, "bfloat16") if values.dtype == np.uint16 else np.asarray(values, float)
        near(values, own, rtol=max(3e-5, 3 * eps))


@pytest.mark.parametrize("width", [8, WIDTH])
@pytest.mark.parametrize("pairs", ["half", "interleaved"])
def test_onnx_heads_side_by_side_at_positions_of_each_batch(pairs, width):
    rotary = pytest.importorskip("onnx.reference.ops.op_rotary_embedding").rotary_embedding
    held = pecli.table(f"rope:dim={width}", length=64)
    x = drawn(BATCH, N, SIZE).numpy()
    places = np.stack([np.arange(N), np.arange(N) + 31])
    expected = rotary(x, held["cos"], held["sin"], places, interleaved=int(pairs == "interleaved"),
                      rotary_embedding_dim=width, num_heads=HEADS)  # fmt: skip
    recipe = f"rope:dim={WIDTH},rotary-dim={width}"
    near(pecli.apply(recipe, {"q": x}, pairs=pairs, positions=places, axes="bs(hd)")["q"], expected)


def test_rotary_embedding_torch():
    library = pytest.importorskip("rotary_embedding_torch")
    q = drawn(BATCH, HEADS, N, WIDTH)
    expected = library.RotaryEmbedding(dim=8).rotate_queries_or_keys(q, offset=11)
    near(pecli.apply(f"rope:dim={WIDTH},rotary-dim=8", {"q": q}, pairs="interleaved", start=11)["q"], expected)


def test_the_gradient_of_a_llamas_rotation():
    module, config = modeling("llama"), config_of("Llama")
    q, upstream = drawn(BATCH, HEADS, N, WIDTH).requires_grad_(), drawn(BATCH, HEADS, N, WIDTH)
    with torch.enable_grad():
        turned = module.apply_rotary_pos_emb(q, q, *module.LlamaRotaryEmbedding(config)(q, LATE))[0]
        (turned * upstream).sum().backward()
    near(pecli.apply(config.to_dict(), {"q": upstream}, start=40, way="gradient")["q"], q.grad)


# Biases: queries, keys and values of an attention module, its weights and outputs.


def masks(padded):
    """The additive mask of (batch, 1, query, key), and apply's options."""
    hidden = CAUSAL[None, None].repeat(BATCH, 1, 1, 1)
    if not padded:
        return hidden, {"causal": True}
    hidden = hidden.masked_fill(SEEN[:, None, None] == 0, -torch.inf)
    return hidden, {"causal": True, "key_mask": SEEN, "positions": PADDED}


@pytest.mark.parametrize("heads", [HEADS, 6, 1])
@pytest.mark.parametrize("padded", [False, True])
def test_bloom(padded, heads):
    module, size = modeling("bloom"), heads * WIDTH
    config = config_of("Bloom", hidden_size=size, num_attention_heads=heads)
    attention, x = module.BloomAttention(config, 0).eval(), 3 * drawn(BATCH, N, size)
    bias = module.build_alibi_tensor(SEEN if padded else torch.ones(BATCH, N), heads, torch.float32)
    hidden, options = masks(padded)
    own = attention(x, x, bias, hidden.clamp(min=-3e38))[1]
    q, k, v = attention._reshape(attention.query_key_value(x))
    inputs = {"q": q, "k": k, "v": v}
    made = pecli.apply(config.to_dict(), inputs, scores=True, softmax=True, **options)["output"]
    own = own * (hidden == 0) @ v  # a query without a key has no weights
    near(made, torch.where((hidden == 0).any(-1, keepdim=True), own, 0.0))


@pytest.mark.parametrize("heads", [HEADS, 6])
def test_mpt_and_its_decoding_step(heads):
    module, size = modeling("mpt"), heads * WIDTH
    config = config_of("Mpt", hidden_size=size, num_attention_heads=heads)
    q, k = drawn(BATCH, heads, N, WIDTH), drawn(BATCH, heads, N, WIDTH)
    bias = module.build_mpt_alibi_tensor(heads, N)
    for first in (0, N - 1):
        logits = q[:, :, first:] @ k.mT / WIDTH**0.5 + bias + CAUSAL[first:]
        inputs = {"q": q[:, :, first:], "k": k}
        found = pecli.apply(config.to_dict(), inputs, scores=True, softmax=True, causal=True)["scores"]
        near(found, logits.softmax(-1))


def test_absolute_terms_of_a_score():
    pe = pecli.table(f"sinusoidal:dim={WIDTH}", length=N, dtype="float64")["pe"]
    q, k, v = drawn(3, BATCH, HEADS, N, WIDTH, dtype=torch.float64)
    rows = torch.from_numpy(pe)
    expected = torch.nn.functional.scaled_dot_product_attention(q + rows, k + rows, v)
    made = pecli.apply(f"sinusoidal:dim={WIDTH}", {"q": q, "k": k, "v": v}, scores=True, softmax=True)["output"]
    near(made, expected, rtol=1e-12)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_t5_in_every_type(dtype):
    config = config_of("T5", d_model=SIZE, d_kv=WIDTH, num_heads=HEADS)
    attention = modeling("t5").T5Attention(config, has_relative_attention_bias=True, layer_idx=0)
    held = pecli.table(f"t5:heads={HEADS},std=1,form=parameters", length=N)
    attention.relative_attention_bias.weight.data = torch.from_numpy(np.array(held["weight"]))
    q, k = (drawn(BATCH, HEADS, N, WIDTH).to(dtype) for _ in range(2))
    logits = q.double() @ k.double().mT + attention.compute_bias(N, N).double()
    made = pecli.apply(f"t5:heads={HEADS},std=1", {"q": q, "k": k}, scores=True)["scores"]
    near(made, logits)


def test_learned_rows_of_gpt2_padded_on_the_left(tmp_path):
    rows = torch.nn.Embedding(32, SIZE)
    np.save(tmp_path / "wpe.npy", rows.weight.numpy())
    x = drawn(BATCH, N, SIZE)
    table = pecli.open_table(str(tmp_path / "wpe.npy"))
    near(pecli.apply(table, x, positions=PADDED.numpy())["array"], x + rows(PADDED))


@pytest.mark.parametrize("folder", ["m2m_100", "speech_to_text", "pegasus"])
def test_fixed_sinusoids_are_added(folder):
    module = modeling(folder)
    name = next(word for word in vars(module) if word.endswith("SinusoidalPositionalEmbedding"))
    if folder == "pegasus":
        recipe, weight = "pegasus", getattr(module, name)(64, SIZE).create_weight()
    else:
        recipe, weight = "fairseq", getattr(module, name).get_embedding(64, SIZE, 1)  # whose row is zero
    x = drawn(BATCH, N, SIZE)
    near(pecli.apply(f"sinusoidal:dim={SIZE},convention={recipe}", x)["array"], x + weight[:N])
