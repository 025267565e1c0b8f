"""Tensors of further models and libraries as their own functions take and give them, and what `pecli.apply` makes.

Nothing is cut or reshaped before it goes in; positions are those that the model was called with.
"""

import importlib
import sys
from contextlib import contextmanager

import numpy as np
import pytest

import pecli

torch = pytest.importorskip("torch", reason="PyTorch is not installed: make frameworks runs this")
transformers = pytest.importorskip("transformers", reason="transformers is not installed")

from pecli.testing import assert_applied  # noqa: E402 - which need torch
from tests.frameworks.test_attentions import (  # noqa: E402 - which need torch
    HEADS,
    KEY_HEADS,
    LATE,
    PADDED,
    SEEN,
    SIZE,
    SMALL,
    STREAMS,
    WIDTH,
    B,
    N,
    near,
    sections,
)

TEXT = torch.arange(N)[None]
MOE = {"num_local_experts": 2, "num_experts": 2, "num_experts_per_tok": 1, "moe_intermediate_size": 32,
       "n_routed_experts": 2, "n_group": 1, "topk_group": 1}  # fmt: skip
FULL, SLIDING, MIXED = "full_attention", "sliding_attention", ["sliding_attention", "full_attention"]


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)
    with torch.no_grad():
        yield


def drawn(*shape):
    return torch.randn(*shape)


def queries_keys(n=N, queries=N):
    return {"q": drawn(B, HEADS, queries, WIDTH), "k": drawn(B, HEADS, n, WIDTH)}


def rope(kind="default", theta=10000.0, **more):
    return {"rope_type": kind, "rope_theta": theta, **more}


def long_factors(pairs=8):
    return {"original_max_position_embeddings": 16, "short_factor": [1 + 0.1 * i for i in range(pairs)],
            "long_factor": [1.0 + i for i in range(pairs)]}  # fmt: skip


def model_of(name, *, frozen=False, drop=(), **options):
    """A tiny model; `frozen` keeps its own numbers, and `drop` names common options that its config lacks."""
    if not hasattr(transformers, f"{name}Model"):
        pytest.skip(f"this transformers has no {name}Model")
    given = {key: value for key, value in {**SMALL, "num_hidden_layers": 2, **options}.items() if key not in drop}
    config = getattr(transformers, f"{name}Config")(**given)
    config._attn_implementation = "eager"
    model = getattr(transformers, f"{name}Model")(config).eval()
    for value in model.parameters():
        if value.ndim > 1 and not frozen:
            value.normal_(0, 1 / value.shape[-1] ** 0.5)
    return model


@contextmanager
def calls_of(model, name):
    """Arguments and result of each call of a function of the model's module."""
    module, calls = sys.modules[type(model).__module__], []
    own = getattr(module, name)

    def recorded(*given, **more):
        calls.append((given, made := own(*given, **more)))
        return made

    setattr(module, name, recorded)
    try:
        yield calls
    finally:
        setattr(module, name, own)


def recorded(model, out=None, **modules):
    """A dictionary that the first outputs of some modules go into, and what goes into one, "out"."""
    held = {}

    def keep(name, value):
        held.setdefault(name, value)  # a hook that returns something changes what the module gives

    for name, path in modules.items():
        model.get_submodule(path).register_forward_hook(lambda _m, _i, made, name=name: keep(name, made))
    if out:
        model.get_submodule(out).register_forward_pre_hook(lambda _m, given: keep("out", given[0]))
    return held


def one_row(positions):
    return positions[0] if positions.ndim == 2 and len(positions) == 1 else positions


OLMO3 = {"layer_types": MIXED, "rope_parameters": {SLIDING: rope(), FULL: rope(
    "yarn", factor=4.0, original_max_position_embeddings=16, attention_factor=1.2)}}  # fmt: skip
GEMMA3 = {"layer_types": MIXED, "rope_parameters": {FULL: rope("linear", 1e6, factor=8.0), SLIDING: rope()}}
GPT_OSS = rope("yarn", 150000.0, factor=32.0, original_max_position_embeddings=16, truncate=False)
LLAMA3 = rope("llama3", 500000.0, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
              original_max_position_embeddings=32)  # fmt: skip
GEMMA3N = {"layer_types": [FULL, FULL], "num_kv_shared_layers": 0, "hidden_size_per_layer_input": 8, "laurel_rank": 4,
           "altup_num_inputs": 2, "vocab_size_per_layer_input": 32,
           "activation_sparsity_pattern": [0.0, 0.0]}  # fmt: skip
HALF, QUARTER = {"rope_parameters": rope(partial_rotary_factor=0.5)}, rope(partial_rotary_factor=0.25)

ROTATED = {  # model, positions, options of its config; options of apply, which call, and of which function
    "Qwen3, padded": ("Qwen3", PADDED, {}, {}),
    "Qwen3-MoE": ("Qwen3Moe", LATE, MOE, {}),
    "OLMo 3, full, YaRN": ("Olmo3", LATE, OLMO3, {"layer_type": FULL, "call": 1}),
    "OLMo 3, sliding": ("Olmo3", LATE, OLMO3, {"layer_type": SLIDING}),
    "Gemma 2, padded": ("Gemma2", PADDED, {}, {}),
    "Gemma 3, local": ("Gemma3Text", LATE, GEMMA3, {"layer_type": SLIDING}),
    "Gemma 3, global, linear": ("Gemma3Text", LATE, GEMMA3, {"layer_type": FULL, "call": 1}),
    "Gemma 3n": ("Gemma3nText", LATE, GEMMA3N, {"layer_type": FULL, "axes": "bshd"}),
    "Cohere 2": ("Cohere2", LATE, {"layer_types": MIXED}, {}),
    "EXAONE 4": ("Exaone4", LATE, {"layer_types": [FULL, FULL], "sliding_window": None}, {}),
    "HunYuan": ("HunYuanDenseV1", LATE, {"rope_parameters": rope("dynamic", alpha=100.0, factor=1.0)}, {}),
    "gpt-oss": ("GptOss", LATE, {"rope_parameters": GPT_OSS, **MOE}, {}),
    "Llama 4": ("Llama4Text", LATE, {**MOE, "interleave_moe_layer_step": 1, "intermediate_size_mlp": 32,
                                     "no_rope_layers": [1, 1]}, {"axes": "bshd", "function": "apply_rotary_emb"}),
    "Phi-MoE, LongRoPE": ("Phimoe", LATE, {**MOE, "rope_parameters": rope(
        "longrope", short_mscale=1.2, long_mscale=1.3, **long_factors())}, {"length": 49}),
    "Apertus": ("Apertus", LATE, {}, {}),
    "Arcee, YaRN's factor": ("Arcee", LATE, {"rope_parameters": rope(
        "yarn", factor=8.0, original_max_position_embeddings=16, attention_factor=0.7)}, {}),
    "Bamba, half": ("Bamba", LATE, {"attn_layer_indices": [0, 1], "mamba_n_heads": 8, "mamba_d_head": 16,
                                    "mamba_expand": 2}, {}),
    "LFM2": ("Lfm2", LATE, {"layer_types": [FULL, FULL]}, {}),
    "Qwen3-Next, a quarter": ("Qwen3Next", LATE, {**MOE, "layer_types": [FULL, FULL], "rope_parameters": QUARTER,
                                                  "shared_expert_intermediate_size": 32}, {}),
    "Qwen3.5, images, half": ("Qwen3_5Text", STREAMS, {"layer_types": [FULL, FULL], "rope_parameters": sections(
        2, 1, 1, mrope_interleaved=True, partial_rotary_factor=0.5)}, {}),
    "Qwen2.5-VL, images": ("Qwen2_5_VLText", STREAMS, {"rope_parameters": sections(2, 3, 3)}, {}),
    "Qwen3-VL-MoE, images": ("Qwen3VLMoeText", STREAMS, {**MOE, "rope_parameters": sections(
        4, 2, 2, mrope_interleaved=True)}, {}),
    "GLM-4.5V, images, half": ("Glm4vMoeText", STREAMS, {**MOE, "rope_parameters": sections(
        1, 1, 2, partial_rotary_factor=0.5)}, {}),
    "ERNIE 4.5 VL, images": ("Ernie4_5_VLMoeText", STREAMS, {"rope_parameters": sections(3, 3, 2), "moe_k": 1,
                                                             "moe_num_experts": 2}, {}),
    "GLM-4 MoE, half": ("Glm4Moe", LATE, {**MOE, **HALF}, {}),
    "MiniMax-M2, half": ("MiniMaxM2", LATE, {**MOE, **HALF}, {}),
    "JetMoE": ("JetMoe", LATE, {"kv_channels": WIDTH}, {}),
    "Llama 3.2 Vision": ("MllamaText", LATE, {"rope_parameters": LLAMA3, "cross_attention_layers": [1]}, {}),
    "EuroBERT, padded": ("EuroBert", PADDED, {}, {}),
    "NomicBERT": ("NomicBert", LATE, {}, {}),
    "Granite MoE": ("GraniteMoeShared", LATE, MOE, {}),
    "Doge": ("Doge", LATE, {}, {}),
    "BitNet": ("BitNet", LATE, {}, {}),
    "GPT-NeoX Japanese": ("GPTNeoXJapanese", LATE, {"rotary_pct": 1.0, "intermediate_multiple_size": 1}, {}),
    "Falcon": ("Falcon", LATE, {"drop": ["head_dim"], "new_decoder_architecture": True, "num_kv_heads": KEY_HEADS}, {}),
}  # fmt: skip


@pytest.mark.parametrize("name", ROTATED)
def test_rotations(name):
    word, positions, options, more = ROTATED[name]
    model, more = model_of(word, **options), dict(more)
    number = more.pop("call", 0)
    with calls_of(model, more.pop("function", "apply_rotary_pos_emb")) as calls:
        ids = positions if positions.ndim == 3 else positions.expand(B, N)
        model(inputs_embeds=drawn(B, N, SIZE), position_ids=ids)
    given, made = calls[number]
    made = made if isinstance(made, tuple) else (made,)
    inputs = dict(zip("qk", given[: len(made)], strict=False))
    found = pecli.apply(model.config, inputs, positions=one_row(positions), **more)
    for key, own in zip(inputs, made, strict=True):
        near(found[key], own)


LATENT = {**MOE, "q_lora_rank": None, "kv_lora_rank": 16, "qk_rope_head_dim": 8, "qk_nope_head_dim": 24,
          "v_head_dim": 16, "first_k_dense_replace": 2, "head_dim": 8, "num_key_value_heads": HEADS}  # fmt: skip
LATENT_YARN = rope("yarn", factor=40.0, original_max_position_embeddings=16, mscale=1.0, mscale_all_dim=1.0)
BOTH, QUERIES, NORMS = {"q": "q_proj", "k": "k_proj"}, {"q": "q_proj"}, {"q": "q_norm", "k": "k_norm"}
LONG = {"rope_parameters": rope("longrope", factor=4.0, **long_factors())}
WHOLE = {  # model, positions, options of its config, options of apply, modules
    "Phi, half": ("Phi", LATE, HALF, {}, BOTH),
    "StableLM, a quarter, padded": ("StableLm", PADDED, {"rope_parameters": QUARTER}, {}, BOTH),
    "OLMo 2 after its norms": ("Olmo2", LATE, {}, {}, NORMS),
    "Nemotron, half": ("Nemotron", LATE, HALF, {}, BOTH),
    "GLM, half, neighbours": ("Glm", LATE, HALF, {}, BOTH),
    "Cohere, neighbours": ("Cohere", LATE, {}, {}, BOTH),
    "Llama, LongRoPE": ("Llama", LATE, LONG, {"length": 49}, BOTH),
    "DeepSeek-V2, rope after nope": ("DeepseekV2", LATE, LATENT, {}, QUERIES),
    "DeepSeek-V3, rope after nope": ("DeepseekV3", LATE, LATENT, {}, QUERIES),
    "DeepSeek-V3, YaRN": ("DeepseekV3", PADDED, {**LATENT, "rope_parameters": LATENT_YARN}, {}, QUERIES),
    "GLM-4.7 Flash, rope after nope": ("Glm4MoeLite", LATE, LATENT, {}, QUERIES),
    "MiniCPM3, rope after nope": ("MiniCPM3", LATE, LATENT, {}, QUERIES),
}


@pytest.mark.parametrize("name", WHOLE)
def test_projections_become_what_attention_takes(name):
    word, positions, options, more, modules = WHOLE[name]
    model = model_of(word, **options)
    held = recorded(model, **{key: f"layers.0.self_attn.{path}" for key, path in modules.items()})
    with calls_of(model, "eager_attention_forward") as calls:
        model(inputs_embeds=drawn(B, N, SIZE), position_ids=positions.expand(B, N))
    found = pecli.apply(model.config, held, positions=one_row(positions), axes="bs(hd)", **more)
    for key, own in zip(modules, calls[0][0][1:3], strict=False):
        near(found[key], own.transpose(1, 2).flatten(2))


def test_a_mistake_in_a_rotation_of_the_last_columns_is_named():
    config = transformers.DeepseekV3Config(**{**SMALL, **LATENT, "num_hidden_layers": 2}).to_dict()
    q = drawn(B, HEADS, N, 32)
    right = pecli.apply(config, {"q": q}, start=3)["q"]
    assert_applied({"q": q}, {"q": right}, config, start=3)
    late = pecli.apply(config, {"q": q}, start=4)["q"]
    with pytest.raises(AssertionError, match=r"each is 1 larger than expected"):
        assert_applied({"q": q}, {"q": late}, config, start=3)
    assert "rotated" not in pecli.apply(config, {"q": q}).outputs.metadata  # which compare reads of first columns
    whole = {**config, "qk_nope_head_dim": 0}
    with pytest.raises(pecli.PecliError, match="heads of 8 columns"):
        pecli.apply(whole, {"q": q})


@pytest.mark.parametrize("scaling", [{}, {"rope_parameters": LATENT_YARN}], ids=["plain", "YaRN"])
def test_deepseeks_outputs_from_whole_heads_and_the_part_of_the_keys_alone(scaling):
    model = model_of("DeepseekV3", **LATENT, **scaling)
    with (
        calls_of(model, "eager_attention_forward") as calls,
        calls_of(model, "apply_rotary_pos_emb_interleave") as parts,
    ):
        model(inputs_embeds=drawn(B, N, SIZE), position_ids=LATE.expand(B, N))
    given, made = parts[0]
    inputs = dict(zip("qk", given[:2], strict=True))
    found = pecli.apply(model.config, inputs, positions=LATE[0])
    for key, own in zip("qk", made, strict=True):
        near(found[key], own)
    rotated, output = dict(zip("qkv", calls[0][0][1:4], strict=True)), calls[0][1][0]
    inputs = {
        key: pecli.apply(model.config, {key: rotated[key]}, positions=LATE[0], way="inverse")[key] for key in "qk"
    }
    found = pecli.apply(model.config, {**inputs, "v": rotated["v"]}, positions=LATE[0], scores=True, softmax=True,
                        causal=True)["output"]  # fmt: skip
    near(found.swapaxes(1, 2), output, rtol=1e-4)


OUTPUTS = {
    "Gemma, padded": ("Gemma", PADDED, {}, "o_proj"),
    "SmolLM3, padded": ("SmolLM3", PADDED, {"no_rope_layers": [1, 0]}, "o_proj"),
    "Phi, half, padded": ("Phi", PADDED, HALF, "dense"),
    "Mistral": ("Mistral", LATE, {}, "o_proj"),
}


@pytest.mark.parametrize("name", OUTPUTS)
def test_outputs_of_padded_batches(name):
    word, positions, options, last = OUTPUTS[name]
    model, path = model_of(word, **options), "layers.0.self_attn"
    held = recorded(model, f"{path}.{last}", **{key: f"{path}.{key}_proj" for key in "qkv"})
    seen = SEEN if positions is PADDED else torch.ones(B, N, dtype=torch.long)
    model(inputs_embeds=drawn(B, N, SIZE), position_ids=positions.expand(B, N), attention_mask=seen)
    own = held.pop("out").flatten(2)
    found = pecli.apply(model.config, held, axes="bs(hd)", scores=True, softmax=True, causal=True, key_mask=seen,
                        positions=one_row(positions))["output"]  # fmt: skip
    near(found[(seen == 1).numpy()], own[seen == 1])


# Biases and relative encodings.


def test_blooms_tensor_of_a_padded_batch_is_added_and_a_step_decoded():
    model = model_of("Bloom", n_head=HEADS)
    bias, keep = model.build_alibi_tensor(SEEN, HEADS, torch.float32).view(B, HEADS, 1, N), SEEN[:, None, None] == 1
    logits = drawn(B, HEADS, N, N)
    found = pecli.apply(model.config, logits, axes="bhqk", positions=PADDED)["array"]
    near(np.where(keep, found, 0), torch.where(keep, logits + bias, 0.0))
    inputs = queries_keys(queries=1)
    own = (inputs["q"] @ inputs["k"].mT / 4 + bias).masked_fill(~keep, -torch.inf).softmax(-1)
    found = pecli.apply(model.config, inputs, scores=True, softmax=True, causal=True, key_mask=SEEN, positions=PADDED)
    near(found["scores"], own)


def test_mpts_bias_of_a_longer_table():
    model = model_of("Mpt", d_model=SIZE, n_heads=HEADS, n_layers=1, max_seq_len=64)
    inputs, bias = queries_keys(), model.build_mpt_alibi_tensor(HEADS, 64)[..., -N:]
    near(pecli.apply(model.config, inputs, scores=True)["scores"], inputs["q"] @ inputs["k"].mT / 4 + bias)


T5S = [*((name, True) for name in ("T5", "UMT5", "MT5", "LongT5")), ("SwitchTransformers", False), ("MT5", False)]


@pytest.mark.parametrize(("name", "decodes"), T5S)
def test_t5s_with_a_cache_or_padding(name, decodes, tmp_path):
    model = model_of(
        name, d_model=SIZE, d_kv=WIDTH, num_heads=HEADS, num_layers=1, num_decoder_layers=1, d_ff=32,
        relative_attention_num_buckets=8, relative_attention_max_distance=12, decoder_start_token_id=0,
    )  # fmt: skip
    stack = model.decoder if decodes else model.encoder
    np.save(path := tmp_path / "w.npy", stack.block[0].layer[0].SelfAttention.relative_attention_bias.weight.normal_())
    ids = torch.randint(3, 30, (B, N))
    first = model(input_ids=ids, decoder_input_ids=ids[:, :-1], use_cache=True) if decodes else None
    with calls_of(model, "eager_attention_forward") as calls:
        if first:
            model(input_ids=ids, decoder_input_ids=ids[:, -1:], past_key_values=first.past_key_values,
                  encoder_outputs=(first.encoder_last_hidden_state,))  # fmt: skip
        else:
            model.encoder(input_ids=ids, attention_mask=SEEN)
    given, (own, *_) = calls[0]
    assert (given[1].shape[2] == 1) == decodes
    mask = {"causal": True} if decodes else {"key_mask": SEEN}
    recipe = f"t5:heads={HEADS},buckets=8,max-distance=12,bidirectional={str(not decodes).lower()},weights={path}"
    found = pecli.apply(recipe, dict(zip("qkv", given[1:4], strict=True)), scores=True, softmax=True, **mask)["output"]
    near(found.swapaxes(1, 2), own)


def test_mpnets_buckets_of_a_padded_batch(tmp_path):
    model = model_of("MPNet", relative_attention_num_buckets=8)
    np.save(path := tmp_path / "w.npy", model.encoder.relative_attention_bias.weight)
    inputs, bias = queries_keys(), model.encoder.compute_position_bias(drawn(B, N, SIZE), num_buckets=8)
    own = (inputs["q"] @ inputs["k"].mT / 4 + bias).masked_fill(SEEN[:, None, None] == 0, -torch.inf).softmax(-1)
    params = {**pecli.read_config(model.config).layers["all"].params, "weights": path}
    recipe = f"t5:{','.join(f'{key}={value}' for key, value in params.items())}"
    near(pecli.apply(recipe, inputs, scores=True, softmax=True, key_mask=SEEN, scale="sqrt")["scores"], own)


def test_a_gate_of_the_content_is_refused():
    config = transformers.WavLMConfig(hidden_size=SIZE, num_attention_heads=HEADS)
    with pytest.raises(pecli.PecliError, match="gate of the content"):
        pecli.apply(config, queries_keys(), scores=True)


SPEECH = {"conv_dim": (16, 16), "conv_kernel": (3, 3), "conv_stride": (2, 2), "num_conv_pos_embedding_groups": 2,
          "num_conv_pos_embeddings": 4, "num_feat_extract_layers": 2}  # fmt: skip


@pytest.mark.parametrize("kinds", [["c2p", "p2c"], ["c2p"], ["p2c"]], ids=" ".join)
def test_sew_ds_terms(kinds, tmp_path):
    model = model_of("SEWD", position_buckets=4, max_position_embeddings=8, squeeze_factor=1, share_att_key=True,
                     pos_att_type=kinds, norm_rel_ebd="none", **SPEECH)  # fmt: skip
    path = next(path for path, one in model.named_modules() if hasattr(one, "query_proj"))
    np.save(
        tmp_path / "rel.npy", next(one for one in model.modules() if hasattr(one, "rel_embeddings")).get_rel_embedding()
    )
    held = recorded(model, own=path, **{one[0]: f"{path}.{one}_proj" for one in ("query", "key", "value")})
    model(drawn(1, 42))
    own = held.pop("own")[0]
    recipe = (
        f"deberta:buckets=4,max-distance=8,dim={SIZE},weights={tmp_path / 'rel.npy'},pos-att-type={'+'.join(kinds)}"
    )
    for kind, option, word in (("c2p", "pos-key-proj", "key"), ("p2c", "pos-query-proj", "query")):
        if kind in kinds:
            layer = model.get_submodule(f"{path}.{word}_proj")
            np.savez(tmp_path / word, weight=layer.weight, bias=layer.bias)
            recipe += f",{option}={tmp_path / word}.npz"
    near(pecli.apply(recipe, held, axes=f"bs({HEADS}d)", scores=True, softmax=True)["output"], own)


def saved(folder, **arrays):
    """Write arrays into files; return them as a recipe's options."""
    for name, value in arrays.items():
        np.save(folder / name, value)
    return "".join(f",{name.replace('_', '-')}={folder / name}.npy" for name in arrays)


def test_a_conformers_relative_terms(tmp_path):
    model = model_of("Wav2Vec2Conformer", position_embeddings_type="relative", **SPEECH)
    path = next(path for path, one in model.named_modules() if hasattr(one, "linear_pos"))
    held = recorded(model, f"{path}.linear_out", **{one: f"{path}.linear_{one}" for one in "qkv"})
    layer = model.get_submodule(path)
    model(drawn(1, 60))
    own = held.pop("out")
    files = saved(tmp_path, u=layer.pos_bias_u, v=layer.pos_bias_v, r_net=layer.linear_pos.weight)
    recipe = f"transformer-xl:dim={SIZE},heads={HEADS},convention=conformer{files}"
    near(pecli.apply(recipe, held, axes="bs(hd)", scores=True, softmax=True)["output"], own)


def test_xlnets_terms_from_what_its_core_takes(tmp_path):
    model = model_of("XLNet", d_model=SIZE, n_head=HEADS, n_layer=1, d_inner=32,
                     drop=["head_dim", "max_position_embeddings"])  # fmt: skip
    layer, held = model.layer[0].rel_attn, {}
    own = layer.rel_attn_core

    def core(*given, **more):
        held.update(
            zip("qkv", (one.transpose(0, 1) for one in given[:3]), strict=True), out=(made := own(*given, **more))
        )
        return made

    layer.rel_attn_core = core
    model(inputs_embeds=drawn(B, N, SIZE))
    made = held.pop("out").transpose(0, 1)
    files = saved(tmp_path, u=layer.r_w_bias, v=layer.r_r_bias, r_net=layer.r)
    recipe = f"transformer-xl:dim={SIZE},heads={HEADS},convention=xlnet{files}"
    near(pecli.apply(recipe, held, axes="bshd", scores=True, softmax=True)["output"], made)


def test_sams_decomposed_terms(tmp_path):
    module = importlib.import_module("transformers.models.sam.modeling_sam")
    config = transformers.SamVisionConfig(hidden_size=SIZE, num_attention_heads=HEADS, image_size=64, patch_size=16,
                                          use_rel_pos=True)  # fmt: skip
    layer = module.SamVisionAttention(config, window_size=4).eval()
    layer.rel_pos_h.normal_()
    layer.rel_pos_w.normal_()
    held = recorded(layer, "proj", qkv="qkv")
    layer(drawn(B, 4, 4, SIZE))
    np.savez(tmp_path / "w", rel_pos_h=layer.rel_pos_h, rel_pos_w=layer.rel_pos_w)
    parts = held["qkv"].reshape(B, 16, 3, HEADS, WIDTH).unbind(2)
    recipe = f"decomposed:dim={WIDTH},grid=4x4,weights={tmp_path / 'w'}.npz"
    found = pecli.apply(recipe, dict(zip("qkv", parts, strict=True)), axes="bshd", scores=True, softmax=True)["output"]
    near(found.reshape(B, 4, 4, SIZE), held["out"])


def test_beits_window_with_a_class_token(tmp_path):
    model = model_of("Beit", image_size=32, patch_size=8, use_relative_position_bias=True)
    table = next(one for one in model.modules() if hasattr(one, "relative_position_bias_table"))
    np.save(tmp_path / "w.npy", table.relative_position_bias_table.normal_())
    with calls_of(model, "eager_attention_forward") as calls:
        model(drawn(B, 3, 32, 32))
    given, (own, *_) = calls[0]
    recipe = f"window:grid=4x4,cls=true,weights={tmp_path / 'w.npy'}"
    found = pecli.apply(recipe, dict(zip("qkv", given[1:4], strict=True)), scores=True, softmax=True)["output"]
    near(found.swapaxes(1, 2), own)


@pytest.mark.parametrize("causal", [False, True])
def test_huangs_skewed_products(causal, tmp_path):
    rows = N if causal else 2 * N - 1
    np.save(path := tmp_path / "e.npy", vectors := drawn(rows, WIDTH))
    inputs, pad = queries_keys(), torch.nn.functional.pad
    products = inputs["q"] @ vectors.mT
    if causal:
        skewed = pad(products, (1, 0)).view(B, HEADS, N + 1, N)[:, :, 1:]
    else:
        skewed = pad(pad(products, (0, 1)).flatten(2), (0, N - 1)).view(B, HEADS, N + 1, rows)[:, :, :N, N - 1 :]
    own = (inputs["q"] @ inputs["k"].mT + skewed) / 4
    own = own.masked_fill(torch.ones(N, N).triu(1) == 1, -torch.inf).softmax(-1) if causal else own.softmax(-1)
    recipe = f"shaw:dim={WIDTH},clip={N - 1},weights={path}{',right=0' * causal}"
    near(pecli.apply(recipe, inputs, scores=True, softmax=True, causal=causal)["scores"], own)


# Rows that are added.

BART = {"d_model": SIZE, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 4, "pad_token_id": 1,
        "decoder_attention_heads": 4, "encoder_ffn_dim": 32, "decoder_ffn_dim": 32,
        "decoder_start_token_id": 0}  # fmt: skip
IDS = torch.where(SEEN == 1, 5, 1)
ADDED = {  # model, options, module, its arguments, positions, and the recipe's convention or learned rows
    "M2M100, padded": ("M2M100", BART, "decoder.embed_positions", (IDS,), torch.where(SEEN == 1, SEEN.cumsum(1) + 1, 1),
                       "fairseq"),
    "XGLM, padded": ("XGLM", {"d_model": SIZE, "attention_heads": 4, "ffn_dim": 32, "num_layers": 1, "pad_token_id": 1},
                     "embed_positions", (PADDED,), PADDED + 2, "fairseq"),
    "Whisper": ("Whisper", BART, "encoder.embed_positions", (torch.arange(N),), None, "whisper"),
    "Marian": ("Marian", BART, "encoder.embed_positions", ((B, N),), None, "marian"),
    "XLM": ("XLM", {"emb_dim": SIZE, "n_heads": 4, "n_layers": 1, "sinusoidal_embeddings": True},
            "position_embeddings", (torch.arange(N),), None, "xlm"),
    "OPT, a padded step": ("OPT", {"ffn_dim": 32, "word_embed_proj_dim": SIZE}, "decoder.embed_positions",
                           (SEEN, N - 1), PADDED[:, -1:], "max-len=64,rows-offset=2"),
    "GPT-2, a step": ("GPT2", {"n_embd": SIZE, "n_head": HEADS, "n_positions": 64}, "wpe",
                      (torch.tensor([[7], [12]]),), torch.tensor([[7], [12]]), "max-len=64"),
    "RoBERTa, padded": ("Roberta", {"pad_token_id": 1}, "embeddings.position_embeddings",
                        (torch.where(SEEN == 1, SEEN.cumsum(1) + 1, 1),), torch.where(SEEN == 1, SEEN.cumsum(1) + 1, 1),
                        "max-len=64"),
}  # fmt: skip


@pytest.mark.parametrize("name", ADDED)
def test_rows_that_a_module_adds(name, tmp_path):
    word, options, path, given, positions, recipe = ADDED[name]
    module = model_of(word, frozen=True, **options).get_submodule(path)
    rows = module(*given)
    x = drawn(B, rows.shape[-2], SIZE)
    if "max-len" in recipe:
        np.save(tmp_path / "w.npy", module.weight)
        recipe = f"learned:dim={SIZE},{recipe},weights={tmp_path / 'w.npy'}"
    else:
        recipe = f"sinusoidal:dim={SIZE},convention={recipe}"
    near(pecli.apply(recipe, x, positions=positions)["array"], x + rows)


def test_positions_on_queries_and_keys_alone():
    """(Q + p)(K + p), as in DETR's decoder, with DETR's own sines of a grid and with a sequence that starts at -1."""
    module = importlib.import_module("transformers.models.detr.modeling_detr")
    made = module.DetrSinePositionEmbedding(num_position_features=SIZE // 2, normalize=True)
    sines = made((B, SIZE, 3, 5), torch.device("cpu"), torch.float32)
    sines = sines if sines.ndim == 3 else sines.flatten(2).mT
    waves = torch.from_numpy(pecli.table(f"sinusoidal:dim={SIZE},start=-1", length=15)["pe"])
    for recipe, rows in (
        (f"detr:dim={SIZE},grid=3x5,convention=detr", sines),
        (f"sinusoidal:dim={SIZE},start=-1", waves),
    ):
        inputs = dict(zip("qkv", drawn(3, B, 15, SIZE), strict=True))
        own = torch.nn.functional.scaled_dot_product_attention(inputs["q"] + rows, inputs["k"] + rows, inputs["v"])
        near(pecli.apply(recipe, inputs, scores=True, softmax=True)["output"], own)


# Rotations of images, and of other libraries.


def test_roformers_neighbours():
    model = model_of("RoFormer", frozen=True)
    inputs, sines = queries_keys(), model.encoder.embed_positions((B, N))[None, None]
    own = model.encoder.layer[0].attention.self.apply_rotary_position_embeddings(sines, inputs["q"], inputs["k"])
    found = pecli.apply(model.config, inputs)
    for key, values in zip("qk", own, strict=True):
        near(found[key], values)


def test_esm_and_dinov3_take_their_tensors_as_they_are():
    config = transformers.DINOv3ViTConfig(hidden_size=SIZE, num_attention_heads=HEADS, num_hidden_layers=1,
                                          intermediate_size=32, image_size=32, patch_size=8)  # fmt: skip
    config._attn_implementation = "eager"
    vit = transformers.DINOv3ViTModel(config).eval()
    esm = model_of("Esm", position_embedding_type="rotary", mask_token_id=3, token_dropout=False)
    for model, given, recipe in (
        (esm, {"inputs_embeds": drawn(B, N, SIZE)}, esm.config),
        (vit, {"pixel_values": drawn(B, 3, 32, 32)}, "rope2d:dim=16,grid=4x4,convention=dinov3,base=100,prefix=1"),
    ):
        with calls_of(model, "apply_rotary_pos_emb") as calls:
            model(**given)
        inputs = dict(zip("qk", calls[0][0][:2], strict=True))
        found = pecli.apply(recipe, inputs, pairs="half" if model is vit else None)
        for key, own in zip("qk", calls[0][1], strict=True):
            near(found[key], own)


TOWERS = {
    "PixtralVision": ({"image_size": 16, "patch_size": 4, "head_dim": WIDTH}, "pixtral", "bhsd",
                      "apply_rotary_pos_emb"),
    "Qwen2VLVision": ({"depth": 1, "embed_dim": SIZE, "num_heads": HEADS, "patch_size": 4, "spatial_merge_size": 2,
                       "in_channels": 3}, "qwen2-vl", "thd", "apply_rotary_pos_emb_vision"),
}  # fmt: skip


@pytest.mark.parametrize("name", TOWERS)
def test_towers_of_images(name):
    options, convention, axes, function = TOWERS[name]
    sizes = {"hidden_size": SIZE, "num_attention_heads": HEADS, "num_hidden_layers": 1, "intermediate_size": 32}
    config = getattr(transformers, f"{name}Config")(**{**sizes, **options})
    config._attn_implementation = "eager"
    module = importlib.import_module(type(config).__module__.replace("configuration", "modeling"))
    kind = module.PixtralVisionModel if name[0] == "P" else module.Qwen2VisionTransformerPretrainedModel
    model = kind(config).eval()
    images = (drawn(1, 3, 16, 16),) if name[0] == "P" else (drawn(16, 96), torch.tensor([[1, 4, 4]]))
    with calls_of(model, function) as calls:
        model(*images)
    inputs = dict(zip("qk", calls[0][0][:2], strict=True))
    found = pecli.apply(f"rope2d:dim={WIDTH},grid=4x4,convention={convention}", inputs, axes=axes, pairs="half")
    for key, own in zip("qk", calls[0][1], strict=True):
        near(found[key], own)
    said = pecli.read_config(config).layers["all"]
    assert (said.pairing, said.params["convention"]) == ("half", convention)


def test_onnxruntimes_rotation_of_half_a_head():
    onnx, runtime = pytest.importorskip("onnx"), pytest.importorskip("onnxruntime")
    make, kinds = onnx.helper, onnx.TensorProto
    node = make.make_node("RotaryEmbedding", ["x", "p", "c", "s"], ["y"], domain="com.microsoft", num_heads=HEADS,
                          rotary_embedding_dim=8, interleaved=0)  # fmt: skip
    types = {"x": kinds.FLOAT, "p": kinds.INT64, "c": kinds.FLOAT, "s": kinds.FLOAT, "y": kinds.FLOAT}
    *inputs, output = (make.make_tensor_value_info(name, kind, None) for name, kind in types.items())
    domains = [make.make_opsetid("", 18), make.make_opsetid("com.microsoft", 1)]
    model = make.make_model(make.make_graph([node], "g", inputs, [output]), opset_imports=domains, ir_version=9)
    held, x, places = pecli.table("rope:dim=8", length=64), drawn(B, N, SIZE).numpy(), np.stack([TEXT[0], LATE[0]])
    session = runtime.InferenceSession(model.SerializeToString())
    own = session.run(None, {"x": x, "p": places, "c": held["cos"], "s": held["sin"]})[0]
    recipe = f"rope:dim={WIDTH},rotary-dim=8"
    near(pecli.apply(recipe, {"q": x}, pairs="half", positions=places, axes="bs(hd)")["q"], own)


def test_x_transformers():
    library = pytest.importorskip("x_transformers.x_transformers")
    q, logits = drawn(B, HEADS, N, WIDTH), drawn(B, HEADS, N, N)
    angles, scale = library.RotaryEmbedding(WIDTH).forward_from_seq_len(N)
    own = library.apply_rotary_pos_emb(q, angles, scale)
    near(pecli.apply(f"rope:dim={WIDTH}", {"q": q}, pairs="interleaved")["q"], own)
    bias = library.AlibiPositionalBias(heads=HEADS, total_heads=HEADS)(N, N)
    near(pecli.apply(f"alibi:heads={HEADS}", logits, axes="bhqk")["array"], logits + bias)


def test_flux_and_timm():
    flux = pytest.importorskip("diffusers.models.transformers.transformer_flux")
    rotate, timm = (
        importlib.import_module("diffusers.models.embeddings").apply_rotary_emb,
        pytest.importorskip("timm.layers"),
    )
    q, places = drawn(B, HEADS, 15, WIDTH), torch.cartesian_prod(torch.arange(1), torch.arange(3), torch.arange(5))
    own = rotate(q, flux.FluxPosEmbed(theta=10000, axes_dim=[4, 6, 6])(places.float()))
    near(pecli.apply("rope-axes:axes=4+6+6,grid=1x3x5", {"q": q}, pairs="interleaved")["q"], own)
    rows = timm.RotaryEmbeddingCat(WIDTH, in_pixels=False, feat_shape=[3, 5], ref_feat_shape=[4, 4]).get_embed()
    recipe = f"rope2d:dim={WIDTH},grid=3x5,reference=4x4"
    near(pecli.apply(recipe, {"q": q}, pairs="interleaved")["q"], timm.apply_rot_embed_cat(q, rows))
