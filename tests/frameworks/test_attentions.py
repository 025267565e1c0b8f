"""Whole models of transformers run once: what their projections give, and what reaches the output projection.

Inputs are the outputs of the model's own modules as they are, (batch, position, heads x width); nothing is cut or
reshaped. pecli has the model's config, or a recipe with the model's weights.
"""

import importlib

import numpy as np
import pytest

import pecli

torch = pytest.importorskip("torch", reason="PyTorch is not installed: make frameworks runs this")
transformers = pytest.importorskip("transformers", reason="transformers is not installed")

B, N, HEADS, KEY_HEADS, WIDTH = 2, 9, 4, 2, 16
SIZE = HEADS * WIDTH
SMALL = {
    "hidden_size": SIZE, "num_attention_heads": HEADS, "num_key_value_heads": KEY_HEADS, "num_hidden_layers": 1,
    "intermediate_size": 32, "vocab_size": 32, "max_position_embeddings": 64, "pad_token_id": 0, "dropout": 0.0,
    "head_dim": WIDTH, "attention_dropout": 0.0,
}  # fmt: skip
SEEN = torch.tensor([[0, 0, 0, 1, 1, 1, 1, 1, 1], [1] * N])  # padding on the left
PADDED = (SEEN.cumsum(-1) - 1).clamp(min=0)
LATE = torch.arange(40, 40 + N)[None]
STREAMS = torch.stack([torch.arange(N).clamp(max=4), torch.arange(N) // 2, torch.arange(N) % 4])[:, None].repeat(
    1, B, 1
)
STREAMS[:, 1] += 7


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)
    with torch.no_grad():
        yield


def near(found, expected, rtol=3e-5):
    expected = torch.as_tensor(expected).detach().double()
    assert found.shape == tuple(expected.shape)
    assert float(expected.std()) > 1e-3
    np.testing.assert_allclose(np.asarray(found, float), expected, rtol=0, atol=rtol * float(expected.abs().max()))


class Record(dict):
    """The outputs of some submodules by a short name, and what goes into one, "out"."""

    def __init__(self, root, out, **modules):
        super().__init__()
        for name, path in modules.items():
            root.get_submodule(path).register_forward_hook(lambda _m, _i, made, name=name: self.keep(name, made))
        root.get_submodule(out).register_forward_pre_hook(lambda _m, given: self.keep("out", given[0]))

    def keep(self, name, value):
        self.setdefault(name, value)


def model_of(config, name):
    config._attn_implementation = "eager"
    model = getattr(transformers, name)(config).eval()
    for value in model.parameters():
        if value.ndim > 1:
            value.normal_(0, 1 / value.shape[-1] ** 0.5)
    return model


def sections(*parts, **more):
    return {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": list(parts), **more}


LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 32, "rope_theta": 500000.0}  # fmt: skip
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16, "rope_theta": 10000.0}
PARTIAL = {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.5}

ROTARY = {  # config and model, options, position_ids, whether keys are padded
    "Llama": ("Llama", {}, None, False),
    "Llama, padded": ("Llama", {}, PADDED, True),
    "Llama 3": ("Llama", {"rope_parameters": LLAMA3}, LATE, False),
    "Llama, YaRN": ("Llama", {"rope_parameters": YARN}, LATE, False),
    "Mistral": ("Mistral", {}, LATE, False),
    "Mixtral": ("Mixtral", {}, LATE, False),
    "Qwen2": ("Qwen2", {}, PADDED, True),
    "Gemma": ("Gemma", {}, LATE, False),
    "Granite": ("Granite", {"attention_multiplier": 0.1}, LATE, False),
    "StableLM, half a head": ("StableLm", {"rope_parameters": PARTIAL}, PADDED, True),
    "Phi, half a head": ("Phi", {"rope_parameters": PARTIAL}, LATE, False),
    "Nemotron, half a head": ("Nemotron", {"rope_parameters": PARTIAL}, LATE, False),
    "GLM, half a head": ("Glm", {"rope_parameters": PARTIAL}, LATE, False),
    "Cohere": ("Cohere", {"eos_token_id": 1, "bos_token_id": 1}, LATE, False),
    "Starcoder2": ("Starcoder2", {}, LATE, False),
    "OLMo": ("Olmo", {}, LATE, False),
    "SmolLM3": ("SmolLM3", {"num_hidden_layers": 1, "no_rope_layers": [1]}, LATE, False),
    "Helium": ("Helium", {}, LATE, False),
    "Seed-OSS": ("SeedOss", {}, LATE, False),
    "ERNIE 4.5": ("Ernie4_5", {}, LATE, False),
    "GPT-J, half a head": ("GPTJ", {"n_embd": SIZE, "n_head": HEADS, "rotary_dim": 8, "n_layer": 1}, LATE, False),
    "Qwen2-VL, images": ("Qwen2VLText", {"rope_parameters": sections(2, 3, 3)}, STREAMS, False),
    "Qwen2-VL, images, padded": ("Qwen2VLText", {"rope_parameters": sections(2, 3, 3)}, STREAMS, True),
    "Qwen2.5-VL, images": ("Qwen2_5_VLText", {"rope_parameters": sections(4, 2, 2)}, STREAMS, False),
    "GLM-4V, images": ("Glm4vText", {"rope_parameters": sections(2, 3, 3)}, STREAMS, False),
}  # fmt: skip


@pytest.mark.parametrize("name", ROTARY)
def test_rotary_attention_outputs(name):
    word, options, ids, padded = ROTARY[name]
    config = getattr(transformers, f"{word}Config")(**{**SMALL, **options})
    model = model_of(config, f"{word}Model")
    root = next(path for path, one in model.named_modules() if hasattr(one, "q_proj"))
    out = next(word for word in ("o_proj", "out_proj", "dense") if hasattr(model.get_submodule(root), word))
    record = Record(model, f"{root}.{out}", **{one: f"{root}.{one}_proj" for one in "qkv"})
    ids = torch.arange(N)[None] if ids is None else ids
    mask = {"attention_mask": SEEN} if padded else {}
    model(inputs_embeds=torch.randn(B, N, SIZE), position_ids=ids.expand(B, N) if ids.ndim == 2 else ids, **mask)
    out = record.pop("out")
    positions = ids[0] if len(ids) == 1 else ids
    found = pecli.apply(
        config.to_dict(), dict(record), axes="bs(hd)", positions=positions, scores=True, softmax=True, causal=True,
        **({"key_mask": SEEN} if padded else {}),
    )  # fmt: skip
    keep = (SEEN == 1) if padded else torch.ones(B, N, dtype=torch.bool)
    near(found["output"][keep.numpy()], out.flatten(2)[keep])


def test_persimmons_attention_outputs():
    config = transformers.PersimmonConfig(**{**SMALL, "rope_parameters": PARTIAL})
    model, path = model_of(config, "PersimmonModel"), "layers.0.self_attn"
    record = Record(model, f"{path}.dense", fused=f"{path}.query_key_value", q=f"{path}.q_layernorm",
                    k=f"{path}.k_layernorm")  # fmt: skip
    model(inputs_embeds=torch.randn(B, N, SIZE), position_ids=LATE.expand(B, N))
    v = model.get_submodule(path)._split_heads(record["fused"])[2]
    inputs = {"q": record["q"], "k": record["k"], "v": v}
    found = pecli.apply(config.to_dict(), inputs, axes="bshd", positions=LATE[0], scores=True, softmax=True,
                        causal=True)["output"]  # fmt: skip
    near(found.reshape(B, N, SIZE), record["out"])


def test_the_long_factors_of_phi3_need_the_length():
    rope = {"rope_type": "longrope", "rope_theta": 10000.0, "short_factor": [1 + 0.1 * i for i in range(8)],
            "long_factor": [1.0 + i for i in range(8)]}  # fmt: skip
    config = transformers.Phi3Config(**{**SMALL, "original_max_position_embeddings": 16, "rope_parameters": rope})
    module, inputs = importlib.import_module("transformers.models.phi3.modeling_phi3"), {}
    rotate = module.apply_rotary_pos_emb
    model = model_of(config, "Phi3Model")
    for ids, length in ((torch.arange(N)[None], N), (LATE, 40 + N)):

        def recorded(q, k, *rest):
            inputs.update(q=q, k=k)
            inputs["rotated"] = made = rotate(q, k, *rest)
            return made

        module.apply_rotary_pos_emb = recorded
        try:
            model(inputs_embeds=torch.randn(B, N, SIZE), position_ids=ids.expand(B, N))
        finally:
            module.apply_rotary_pos_emb = rotate
        given = {name: inputs[name] for name in "qk"}
        found = pecli.apply(config.to_dict(), given, positions=ids[0], length=length)
        for name, own in zip("qk", inputs["rotated"], strict=True):
            near(found[name], own)


SIDES = ("encoder", "encoder, padded", "decoder")
T5S = [*((name, side) for name in ("T5", "MT5", "UMT5") for side in SIDES), ("LongT5", "decoder")]


@pytest.mark.parametrize(("name", "side"), T5S)
def test_t5s_attention_outputs(name, side, tmp_path):
    padded, side = "padded" in side, side.partition(",")[0]
    config = getattr(transformers, f"{name}Config")(
        d_model=SIZE, d_kv=WIDTH, num_heads=HEADS, num_layers=1, num_decoder_layers=1, d_ff=32, vocab_size=32,
        relative_attention_num_buckets=8, relative_attention_max_distance=12, dropout_rate=0.0,
    )  # fmt: skip
    model = model_of(config, f"{name}Model")
    path = f"{side}.block.0.layer.0.SelfAttention"
    attention = model.get_submodule(path)
    attention.relative_attention_bias.weight.normal_()
    np.save(tmp_path / "w.npy", attention.relative_attention_bias.weight.numpy())
    record = Record(model, f"{path}.o", **{one: f"{path}.{one}" for one in "qkv"})
    seen = SEEN if padded else torch.ones(B, N, dtype=torch.long)
    x = torch.randn(B, N, SIZE) / 4
    model(inputs_embeds=x, decoder_inputs_embeds=x, attention_mask=seen)
    out, two = record.pop("out"), "true" if side == "encoder" else "false"
    recipe = f"t5:heads={HEADS},buckets=8,max-distance=12,bidirectional={two},weights={tmp_path / 'w.npy'}"
    found = pecli.apply(recipe, dict(record), axes="bs(hd)", scores=True, softmax=True, causal=side == "decoder",
                        key_mask=seen)  # fmt: skip
    near(found["output"], out)


@pytest.mark.parametrize("kinds", [["c2p", "p2c"], ["c2p"], ["p2c"]], ids=" ".join)
@pytest.mark.parametrize("shared", [False, True], ids=["own projections", "shared"])
@pytest.mark.parametrize("padded", [False, True], ids=["whole", "padded"])
def test_debertas_attention_outputs(kinds, shared, padded, tmp_path):
    config = transformers.DebertaV2Config(
        hidden_size=SIZE, num_attention_heads=HEADS, num_hidden_layers=1, intermediate_size=32, vocab_size=32,
        relative_attention=True, pos_att_type=kinds, position_buckets=4, max_relative_positions=8, share_att_key=shared,
        max_position_embeddings=16, position_biased_input=False, norm_rel_ebd="layer_norm", type_vocab_size=0,
    )  # fmt: skip
    model = model_of(config, "DebertaV2Model")
    path = "encoder.layer.0.attention.self"
    attention = model.get_submodule(path)
    np.save(tmp_path / "vectors.npy", model.encoder.get_rel_embedding().numpy())
    options = f"dim={SIZE},weights={tmp_path / 'vectors.npy'},pos-att-type={'+'.join(kinds)}"
    for kind, own, other in (("c2p", "pos_key_proj", "key_proj"), ("p2c", "pos_query_proj", "query_proj")):
        if kind in kinds:
            layer = getattr(attention, other if shared else own)
            np.savez(tmp_path / f"{own}.npz", weight=layer.weight.numpy(), bias=layer.bias.numpy())
            options += f",{own.replace('_', '-')}={tmp_path / own}.npz"
    record = Record(model, "encoder.layer.0.attention.output.dense",
                    **{one[0]: f"{path}.{one}_proj" for one in ("query", "key", "value")})  # fmt: skip
    seen = SEEN if padded else torch.ones(B, N, dtype=torch.long)
    model(inputs_embeds=torch.randn(B, N, SIZE), attention_mask=seen)
    out = record.pop("out")
    found = pecli.apply(
        f"deberta:buckets=4,max-distance=8,{options}", dict(record), axes=f"bs({HEADS}d)", scores=True, softmax=True,
        key_mask=seen,
    )["output"]  # fmt: skip
    keep = seen == 1
    near(found[keep.numpy()], out[keep])


def test_swins_attention_outputs(tmp_path):
    config = transformers.SwinConfig(
        image_size=32, patch_size=2, window_size=4, embed_dim=32, depths=[2, 2], num_heads=[2, 4]
    )
    model, images = model_of(config, "SwinModel"), torch.randn(1, 3, 32, 32)
    for stage, heads in ((0, 2), (1, 4)):
        path = f"encoder.layers.{stage}.blocks.0.attention"
        table = model.get_submodule(path).relative_position_bias.relative_position_bias_table.normal_()
        np.save(tmp_path / f"{stage}.npy", table.numpy())
        record = Record(model, f"{path}.o_proj", **{one: f"{path}.{one}_proj" for one in "qkv"})
        model(images)
        out, recipe = record.pop("out"), f"window:grid=4x4,weights={tmp_path / str(stage)}.npy"
        found = pecli.apply(recipe, dict(record), axes=f"bs({heads}d)", scores=True, softmax=True)
        near(found["output"], out)


def test_wav2vec2_berts_attention_outputs(tmp_path):
    config = transformers.Wav2Vec2BertConfig(
        hidden_size=SIZE, num_attention_heads=HEADS, num_hidden_layers=1, intermediate_size=32,
        left_max_position_embeddings=4, right_max_position_embeddings=2, feature_projection_input_dim=SIZE,
    )  # fmt: skip
    model, path = model_of(config, "Wav2Vec2BertModel"), "encoder.layers.0.self_attn"
    np.save(tmp_path / "w.npy", model.get_submodule(path).distance_embedding.weight.numpy())
    record = Record(model, f"{path}.linear_out", **{one: f"{path}.linear_{one}" for one in "qkv"})
    model(torch.randn(B, N, SIZE))
    out, recipe = record.pop("out"), f"shaw:dim={WIDTH},clip=4,right=2,weights={tmp_path / 'w.npy'}"
    near(pecli.apply(recipe, dict(record), axes=f"bs({HEADS}d)", scores=True, softmax=True)["output"], out)


@pytest.mark.parametrize("new", [False, True], ids=["falcon-rw", "new architecture"])
@pytest.mark.parametrize("padded", [False, True], ids=["whole", "padded"])
def test_falcons_alibi_of_padded_batches(padded, new):
    module = importlib.import_module("transformers.models.falcon.modeling_falcon")
    groups = {"new_decoder_architecture": True, "num_kv_heads": KEY_HEADS} if new else {"multi_query": False}
    config = transformers.FalconConfig(hidden_size=SIZE, num_attention_heads=HEADS, alibi=True, **groups)
    config._attn_implementation = "eager"
    attention, x = module.FalconAttention(config, layer_idx=0).eval(), torch.randn(B, N, SIZE)
    seen = SEEN if padded else torch.ones(B, N, dtype=torch.long)
    alibi = module.build_alibi_tensor(seen, HEADS, torch.float32)
    hidden = torch.full((N, N), -3e38).triu(1)[None, None].repeat(B, 1, 1, 1)
    hidden = hidden.masked_fill(seen[:, None, None] == 0, -3e38)
    own = attention(x, alibi=alibi, attention_mask=hidden, output_attentions=True)[1]
    q, k, _ = attention._split_heads(attention.query_key_value(x))
    places = PADDED if padded else torch.arange(N)
    found = pecli.apply(config.to_dict(), {"q": q, "k": k}, axes="bshd", scores=True, softmax=True, causal=True,
                        key_mask=seen, positions=places)["scores"]  # fmt: skip
    keep = seen == 1
    near(found.swapaxes(1, 2)[keep.numpy()], own.transpose(1, 2)[keep])


def test_vits_relative_keys_and_values(tmp_path):
    """As in Huang et al.'s code, the products of all distances are skewed into place; far distances have none."""
    config = transformers.VitsConfig(
        hidden_size=SIZE, num_attention_heads=HEADS, num_hidden_layers=1, ffn_dim=32, window_size=4, vocab_size=32,
        attention_dropout=0.0,
    )  # fmt: skip
    module = importlib.import_module("transformers.models.vits.modeling_vits")
    attention = module.VitsAttention(config).eval()
    np.save(tmp_path / "k.npy", attention.emb_rel_k[0].numpy())
    np.save(tmp_path / "v.npy", attention.emb_rel_v[0].numpy())
    record = Record(attention, "out_proj", **{one: f"{one}_proj" for one in "qkv"})
    for length in (3, N, 20):
        record.clear()
        attention(torch.randn(B, length, SIZE))
        out = record.pop("out")
        recipe = f"shaw:dim={WIDTH},clip=4,far=zero,weights={tmp_path / 'k.npy'},value-weights={tmp_path / 'v.npy'}"
        near(pecli.apply(recipe, dict(record), axes=f"bs({HEADS}d)", scores=True, softmax=True)["output"], out)
    layer = pecli.read_config(config).layers["all"]
    assert layer.params["far"] == "zero"


def test_opts_config_has_its_offset(tmp_path):
    config = transformers.OPTConfig(
        **{**SMALL, "ffn_dim": 32, "word_embed_proj_dim": SIZE, "do_layer_norm_before": False}
    )
    model = model_of(config, "OPTModel")
    np.save(tmp_path / "w.npy", model.decoder.embed_positions.weight.numpy())
    record = Record(model, "decoder.layers.0")
    x = torch.randn(B, N, SIZE)
    model(inputs_embeds=x, attention_mask=SEEN)
    recipe = f"learned:dim={SIZE},max-len=64,rows-offset=2,weights={tmp_path / 'w.npy'}"
    places = SEEN.cumsum(1) * SEEN - 1
    near(pecli.apply(recipe, x, positions=places)["array"], record["out"])
