"""Reference values of what frameworks do to queries, keys and logits: writes applied.json beside it.

Made with torch 2.13.0, transformers 5.23.0 and onnx 1.23.2, their own functions called on drawn float32 tensors:

    python tests/data/reference/applied.py

The tests read the file and need none of the three.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
from onnx.reference.ops.op_rotary_embedding import rotary_embedding
from safetensors.torch import load_file, save_file
from transformers import (
    CohereConfig,
    DebertaV2Config,
    GPTNeoXConfig,
    LlamaConfig,
    LlamaForCausalLM,
    Qwen2VLTextConfig,
    T5Config,
    Wav2Vec2BertConfig,
    Wav2Vec2ConformerConfig,
    XLNetConfig,
    XLNetModel,
)
from transformers.models.bloom.modeling_bloom import build_alibi_tensor
from transformers.models.cohere import modeling_cohere
from transformers.models.deberta_v2 import modeling_deberta_v2
from transformers.models.gpt_neox import modeling_gpt_neox
from transformers.models.gptj import modeling_gptj
from transformers.models.llama import modeling_llama
from transformers.models.mpt.modeling_mpt import build_mpt_alibi_tensor
from transformers.models.qwen2_vl import modeling_qwen2_vl
from transformers.models.t5.modeling_t5 import T5Attention
from transformers.models.wav2vec2_bert import modeling_wav2vec2_bert
from transformers.models.wav2vec2_conformer import modeling_wav2vec2_conformer
from transformers.models.xlnet.modeling_xlnet import XLNetRelativeAttention

from pecli.tables.table import Table

torch.manual_seed(0)
CASES = []


def short(value):
    """Return a float32 with few digits that read back to it."""
    return float(str(np.float32(value)))


def case(name, recipe, inputs, output, **wish):
    arrays = {key: np.asarray(value.detach() if torch.is_tensor(value) else value) for key, value in inputs.items()}
    found = {key: {"shape": a.shape, "values": [short(v) for v in a.ravel()]} for key, a in arrays.items()}
    out = np.asarray(output.detach() if torch.is_tensor(output) else output)
    values = {"shape": out.shape, "values": [short(v) for v in out.ravel()]}
    CASES.append({"name": name, "recipe": recipe, "inputs": found, "output": values, "wish": wish})


def rotations():
    ids = torch.arange(100, 105)[None]
    q = torch.randn(1, 2, 5, 8)
    for name, module, config, embedding, pairs, recipe in (
        ("llama", modeling_llama, LlamaConfig, "LlamaRotaryEmbedding", "half", "rope:dim=8"),
        ("cohere", modeling_cohere, CohereConfig, "CohereRotaryEmbedding", "interleaved", "rope:dim=8,base=500000"),
    ):
        made = config(hidden_size=16, num_attention_heads=2, num_key_value_heads=2, head_dim=8)
        cos, sin = getattr(module, embedding)(made)(q, ids)
        case(name, recipe, {"q": q}, module.apply_rotary_pos_emb(q, q, cos, sin)[0], pairs=pairs, start="100")
    made = Qwen2VLTextConfig(
        hidden_size=16, num_attention_heads=2, num_key_value_heads=2,
        rope_parameters={"rope_type": "default", "mrope_section": [2, 1, 1], "rope_theta": 10000.0},
    )  # fmt: skip
    cos, sin = modeling_qwen2_vl.Qwen2VLRotaryEmbedding(made)(q, ids[None].expand(3, 1, 5))
    out = modeling_qwen2_vl.apply_rotary_pos_emb(q, q, cos, sin)[0]
    case("qwen2-vl", "mrope:dim=8,sections=2+1+1", {"q": q}, out, pairs="half", start="100")
    streams = torch.tensor([[3, 3, 3, 3, 7], [0, 0, 1, 2, 7], [0, 4, 1, 0, 7]])  # t, h, w of five tokens
    cos, sin = modeling_qwen2_vl.Qwen2VLRotaryEmbedding(made)(q, streams[:, None])
    out = modeling_qwen2_vl.apply_rotary_pos_emb(q, q, cos, sin)[0]
    recipe = "mrope:dim=8,sections=2+1+1,streams=@streams"
    case("qwen2-vl of an image", recipe, {"q": q, "streams": streams.T}, out, pairs="half")
    x = torch.randn(1, 5, 2, 8)
    sincos = modeling_gptj.create_sinusoidal_positions(200, 4)[ids]
    sin, cos = sincos.chunk(2, -1)
    out = torch.cat([modeling_gptj.apply_rotary_pos_emb(x[..., :4], sin, cos), x[..., 4:]], -1)
    recipe = "rope:dim=8,rotary-dim=4"
    case("gpt-j", recipe, {"q": x}, out, pairs="interleaved", start="100", axes="bshd")
    made = GPTNeoXConfig(hidden_size=16, num_attention_heads=2, rotary_pct=0.5)
    cos, sin = modeling_gpt_neox.GPTNeoXRotaryEmbedding(made)(q, ids)
    case(
        "gpt-neox",
        recipe,
        {"q": q},
        modeling_gpt_neox.apply_rotary_pos_emb(q, q, cos, sin)[0],
        pairs="half",
        start="100",
    )


def pytorch():
    """Turn neighbours as complex numbers, as Meta's Llama does, and attend with a bias."""
    x = torch.randn(1, 2, 5, 8)
    angles = torch.outer(torch.arange(100.0, 105.0), 10000.0 ** (-torch.arange(0, 8, 2) / 8))
    turned = torch.view_as_complex(x.view(1, 2, 5, 4, 2)) * torch.polar(torch.ones_like(angles), angles)
    case("torch", "rope:dim=8", {"q": x}, torch.view_as_real(turned).flatten(3), pairs="interleaved", start="100")
    q, k = torch.randn(2, 1, 2, 5, 4)
    distance = (torch.arange(5)[:, None] - torch.arange(5)).abs()
    bias = -distance * torch.tensor([2.0**-4, 2.0**-8])[:, None, None]
    hidden = torch.ones(5, 5).triu(1) == 1
    weights = torch.nn.functional.scaled_dot_product_attention(
        q, k, torch.eye(5).expand(1, 2, 5, 5), attn_mask=bias[None].masked_fill(hidden, -torch.inf)
    )
    case("torch attention", "alibi:heads=2", {"q": q, "k": k}, weights, scores=True, softmax=True, causal=True)


def onnx():
    x = np.random.default_rng(1).normal(size=(1, 2, 5, 8)).astype(np.float32)
    for width in (8, 4):
        table = Table.parse(f"rope:dim={width}", length=5)
        for interleaved in (0, 1):
            out = rotary_embedding(
                x, table["cos"], table["sin"], np.arange(5)[None],
                interleaved=interleaved, rotary_embedding_dim=width, num_heads=2,
            )  # fmt: skip
            pairs = "interleaved" if interleaved else "half"
            case(f"onnx {pairs} {width}", f"rope:dim=8,rotary-dim={width}", {"q": x}, out, pairs=pairs)


def biases():
    x = torch.randn(1, 6, 4, 4)
    bloom = build_alibi_tensor(torch.ones(1, 4), 6, torch.float32).view(1, 6, 1, 4)
    case("bloom", "alibi:heads=6,bias=key-position,arithmetic=float32", {"logits": x}, x + bloom)
    x = torch.randn(1, 6, 4, 4)
    case("mpt", "alibi:heads=6,bias=last-key", {"logits": x}, x + build_mpt_alibi_tensor(6, 4)[None])
    made = T5Config(
        d_model=8, d_kv=4, num_heads=2, relative_attention_num_buckets=8, relative_attention_max_distance=16
    )
    attention = T5Attention(made, has_relative_attention_bias=True)
    torch.nn.init.normal_(attention.relative_attention_bias.weight)
    x = torch.randn(1, 2, 9, 9)
    recipe = "t5:heads=2,buckets=8,max-distance=16,weights=@weights"
    inputs = {"logits": x, "weights": attention.relative_attention_bias.weight}
    case("t5", recipe, inputs, x + attention.compute_bias(9, 9))


def deberta():
    made = DebertaV2Config(
        hidden_size=8, num_attention_heads=2, relative_attention=True, position_buckets=4, max_relative_positions=16,
        pos_att_type=["c2p", "p2c"], share_att_key=True,
    )  # fmt: skip
    attention = modeling_deberta_v2.DisentangledSelfAttention(made)
    for layer in (attention.query_proj, attention.key_proj):
        torch.nn.init.eye_(layer.weight)
        torch.nn.init.zeros_(layer.bias)
    rel, (q, k) = torch.randn(8, 8), torch.randn(2, 2, 9, 4)
    bias = attention.disentangled_attention_bias(q, k, None, rel, 3)
    scores = torch.bmm(q, k.transpose(-1, -2)) / (4 * 3) ** 0.5 + bias
    recipe = "deberta:buckets=4,max-distance=16,dim=8,weights=@weights"
    case("deberta-v2", recipe, {"q": q[None], "k": k[None], "weights": rel}, scores[None], scores=True)
    made.share_att_key = False
    attention = modeling_deberta_v2.DisentangledSelfAttention(made)
    layers = {"key": attention.pos_key_proj, "query": attention.pos_query_proj}
    for layer in layers.values():
        torch.nn.init.normal_(layer.weight)
        torch.nn.init.normal_(layer.bias)
    bias = attention.disentangled_attention_bias(q, k, None, rel, 3)
    scores = torch.bmm(q, k.transpose(-1, -2)) / (4 * 3) ** 0.5 + bias
    held = {f"{name}.{part}": getattr(layer, part) for name, layer in layers.items() for part in ("weight", "bias")}
    inputs = {"q": q[None], "k": k[None], "weights": rel, **held}
    recipe += ",pos-key-proj=@key,pos-query-proj=@query"
    case("deberta-v2 projected", recipe, inputs, scores[None], scores=True)


def xlnet():
    made = XLNetConfig(d_model=8, n_head=2, d_inner=8, n_layer=1, vocab_size=9)
    model, attention = XLNetModel(made), XLNetRelativeAttention(made).eval()
    recipe = "transformer-xl:dim=8,heads=2,head-dim=4,convention=xlnet,std=0.5"
    table = Table.parse(recipe, length=5)
    attention.r_w_bias.data = torch.tensor(table["u"])
    attention.r_r_bias.data = torch.tensor(table["v"])
    q, k = torch.randn(2, 5, 1, 2, 4)
    rows = model.relative_positional_encoding(5, 5).view(10, 1, 2, 4)
    weights = attention.rel_attn_core(q, k, k, rows, output_attentions=True)[1]
    inputs = {"q": q.permute(1, 2, 0, 3), "k": k.permute(1, 2, 0, 3)}
    case("xlnet", recipe, inputs, weights.permute(2, 3, 0, 1), scores=True, softmax=True)
    for name in ("r", "r_w_bias", "r_r_bias"):
        torch.nn.init.normal_(getattr(attention, name))
    rows = torch.einsum("ibh,hnd->ibnd", model.relative_positional_encoding(5, 5), attention.r)
    weights = attention.rel_attn_core(q, k, k, rows, output_attentions=True)[1]
    inputs |= {"r": attention.r, "u": attention.r_w_bias, "v": attention.r_r_bias}
    recipe = "transformer-xl:dim=8,heads=2,head-dim=4,convention=xlnet,r-net=@r,u=@u,v=@v"
    case("xlnet projected", recipe, inputs, weights.permute(2, 3, 0, 1), scores=True, softmax=True)


def conformer():
    made = Wav2Vec2ConformerConfig(hidden_size=8, num_attention_heads=2, position_embeddings_type="relative")
    attention = modeling_wav2vec2_conformer.Wav2Vec2ConformerSelfAttention(made).eval()
    for weight in (attention.linear_pos.weight, attention.pos_bias_u, attention.pos_bias_v):
        torch.nn.init.normal_(weight)
    x = torch.randn(1, 5, 8)
    rows = modeling_wav2vec2_conformer.Wav2Vec2ConformerRelPositionalEmbedding(made)(x)
    q, k = (layer(x).view(1, 5, 2, 4).transpose(1, 2) for layer in (attention.linear_q, attention.linear_k))
    made._attn_implementation = "eager"
    weights = attention(x, relative_position_embeddings=rows)[1]
    inputs = {"q": q, "k": k, "r": attention.linear_pos.weight, "u": attention.pos_bias_u, "v": attention.pos_bias_v}
    recipe = "transformer-xl:dim=8,heads=2,convention=conformer,r-net=@r,u=@u,v=@v"
    case("wav2vec2-conformer", recipe, inputs, weights, scores=True, softmax=True)


def shaw():
    made = Wav2Vec2BertConfig(
        hidden_size=8, num_attention_heads=2, position_embeddings_type="relative_key",
        left_max_position_embeddings=3, right_max_position_embeddings=1,
    )  # fmt: skip
    attention = modeling_wav2vec2_bert.Wav2Vec2BertSelfAttention(made)
    q, k = torch.randn(2, 1, 2, 6, 4)
    bias = modeling_wav2vec2_bert._apply_relative_key_position_encoding(attention, q, k)[1]
    scores = q @ k.transpose(-1, -2) * attention.scaling + bias
    inputs = {"q": q, "k": k, "weights": attention.distance_embedding.weight}
    case("wav2vec2-bert", "shaw:dim=4,clip=3,right=1,weights=@weights", inputs, scores, scores=True)


def permuted_llama():
    """Permute a tiny model's weights for neighbours, turn neighbours in its attention, and compare the logits."""
    made = LlamaConfig(
        hidden_size=16,
        intermediate_size=8,
        num_attention_heads=2,
        num_key_value_heads=1,
        num_hidden_layers=2,
        vocab_size=7,
    )
    model = LlamaForCausalLM(made).eval()
    for name, weight in model.named_parameters():
        if "proj" in name:
            weight *= 25  # as drawn, they are so small that the scores hardly differ
    ids = torch.tensor([[1, 5, 2, 6, 3]])
    before = model(ids).logits

    def neighbours(q, k, cos, sin, unsqueeze_dim=1):
        c, s = (x[..., : x.shape[-1] // 2].repeat_interleave(2, -1).unsqueeze(unsqueeze_dim) for x in (cos, sin))
        return tuple(x * c + modeling_cohere.rotate_half(x) * s for x in (q, k))

    with tempfile.TemporaryDirectory() as folder:
        one, other = Path(folder, "one.safetensors"), Path(folder, "other.safetensors")
        save_file({name: value.contiguous().clone() for name, value in model.state_dict().items()}, one)
        pairs = ["--from-pairs", "half", "--to-pairs", "interleaved", "--heads", "2", "--kv-heads", "1"]
        subprocess.run([sys.executable, "-m", "pecli", "convert", one, *pairs, "-o", other], check=True)
        model.load_state_dict(load_file(other))
    found = {"before": before, "unturned": model(ids).logits}
    modeling_llama.apply_rotary_pos_emb = neighbours
    found["after"] = model(ids).logits
    return {when: logits[0, -1].tolist() for when, logits in found.items()}


if __name__ == "__main__":
    with torch.no_grad():
        for make in (rotations, pytorch, onnx, biases, deberta, xlnet, conformer, shaw):
            make()
        llama = permuted_llama()
    Path(__file__).with_suffix(".json").write_text(json.dumps({"cases": CASES, "llama": llama}) + "\n")
