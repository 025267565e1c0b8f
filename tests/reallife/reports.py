"""Public reports of wrong positional encodings, re-enacted: the thread, the cause, and what must be said first."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tests.reallife.build import (
    F16,
    F32,
    Arrays,
    angles,
    axes_angles,
    bf16,
    cache,
    correction,
    dynamic_base,
    each,
    grid_waves,
    inv32,
    inv64,
    llama3,
    rope,
    rotate,
    sinusoid,
    waves,
    widen,
    yarn,
)
from tests.reallife.cases import report

HUB = "https://github.com/"
LLAMA31 = "rope:dim=128,base=500000,scaling=llama3,factor=8,original-max=8192"
PHI = (
    "rope:dim=16,scaling=longrope,factor=32,original-max=4096,seq-len={},short-factor=1+1.01+1.01+1.02+1.02+1.02+1.03+1.03,"
    "long-factor=1.03+1.05+1.23+1.6+5.49+15.79+32.35+64.8"
)
SHORT = np.array([1, 1.01, 1.01, 1.02, 1.02, 1.02, 1.03, 1.03], F32)
LONG = np.array([1.03, 1.05, 1.23, 1.6, 5.49, 15.79, 32.35, 64.8], F32)
SU = math.sqrt(1 + math.log(32) / math.log(4096))


def cs(angle: np.ndarray) -> Arrays:
    """Cos and sin of angles."""
    return {"cos": np.cos(angle), "sin": np.sin(angle)}


def kernel(change: Any, shape: tuple[int, ...] = (1, 4, 48, 64)) -> tuple[Arrays, Arrays]:
    """Queries and keys, and what a kernel makes of each."""
    draw = np.random.default_rng(7)
    inputs = {name: draw.normal(size=shape).astype(F32) for name in ("q", "k")}
    return inputs, {name: np.asarray(change(x), F32) for name, x in inputs.items()}


def table(n: int = 48, d: int = 64, base: float = 10000.0) -> tuple[np.ndarray, np.ndarray]:
    """Split cos and sin."""
    return np.cos(angles(inv32(d, base), n)), np.sin(angles(inv32(d, base), n))


def columns(exponent: np.ndarray, n: int, base: float = 10000.0) -> np.ndarray:
    """Table with an exponent of its own for each column, sine in even and cosine in odd ones."""
    angle = np.arange(n)[:, None] * base**-exponent
    return np.where(np.arange(len(exponent)) % 2, np.cos(angle), np.sin(angle))


def streams(t: int, h: int, w: int) -> np.ndarray:
    """Three position streams of a grid."""
    return np.stack([g.ravel() for g in np.meshgrid(np.arange(t), np.arange(h), np.arange(w), indexing="ij")])


def chunked(sections: tuple[int, ...]) -> np.ndarray:
    """Stream of each pair, section after section."""
    return np.repeat(range(3), sections)


def woven(sections: tuple[int, ...]) -> np.ndarray:
    """Stream of each pair as Qwen3-VL has them."""
    which = np.zeros(sum(sections), int)
    which[1 : 3 * sections[1] : 3], which[2 : 3 * sections[2] : 3] = 1, 2
    return which


def sections(which: np.ndarray, p: np.ndarray, dim: int, base: float) -> Arrays:
    """Cos and sin of pairs that follow streams."""
    return cs(p[which].T.astype(F32) * inv32(dim, base))


# Precision

report(
    "float16 phases",
    HUB + "EleutherAI/gpt-neox/issues/1003",
    "inv_freq, positions and their products in float16",
    "rope:dim=32",
    lambda: cs(widen((np.arange(2048, dtype=F16)[:, None] * inv32(32).astype(F16)).astype(F32), "half")),
    "float16|half precision",
    "float16 positions",
)
report(
    "inv_freq cast to bfloat16",
    HUB + "huggingface/transformers/issues/25681",
    "the inv_freq buffer is cast with the model",
    "rope:dim=128",
    lambda: cache(bf16(inv32(128)), 1024),
    ("bfloat16", "frequenc|inv_freq"),
    "bfloat16",
)
report(
    "bfloat16 phases in long contexts",
    HUB + "huggingface/transformers/pull/29285",
    "positions and frequencies are bfloat16 under autocast",
    "rope:dim=256",
    lambda: cs(widen(bf16(bf16(np.arange(600))[:, None] * bf16(inv32(256))), "half")),
    "bfloat16",
    "bfloat16 positions",
)
report(
    "inv_freq in bfloat16 in Megatron",
    HUB + "NVIDIA/Megatron-LM/issues/744",
    "to(bfloat16) rounds inv_freq, angles are float32",
    "rope:dim=128,layout=angles",
    lambda: {"freqs": widen(angles(bf16(inv32(128)), 512), "half")[:, None, None]},
    ("bfloat16", "frequenc|inv_freq"),
    "bfloat16",
)
report(
    "cos and sin cached in bfloat16",
    HUB + "KellerJordan/modded-nanogpt/issues/39",
    ".bfloat16() of the cached cosines and sines",
    "rope:dim=64,dtype=float32",
    lambda: each(rope(64, 1024, layout="split"), bf16),
    "bfloat16",
    "bfloat16",
)
report(
    "positions above 256 in bfloat16",
    HUB + "nkalyanv99/UNI-D2/pull/6",
    "arange takes the dtype of inv_freq",
    "rope:dim=64",
    lambda: cache(inv32(64), 1024, positions=bf16(np.arange(1024))),
    ("bfloat16", "position|25[67]"),
    "bfloat16 positions repeat",
)
report(
    "time steps in bfloat16",
    HUB + "modelscope/DiffSynth-Studio/pull/1025",
    "time steps of 0 to 1000 are cast to bfloat16 before the sinusoid",
    "sinusoidal:dim=256,order=cos-sin",
    lambda: sinusoid(1000, 256, order="cos-sin", positions=bf16(np.arange(1000))),
    ("bfloat16", "position|25[67]|step"),
    "bfloat16 positions repeat",
)
report(
    "text ids in bfloat16",
    HUB + "Nerogar/OneTrainer/issues/1177",
    "ids of up to 512 text tokens are cast to bfloat16",
    "rope:dim=32,base=2000",
    lambda: cache(inv64(32, 2000.0), 512, positions=bf16(np.arange(512)), layout="interleaved", dtype=F32),
    ("bfloat16", "position|25[67]"),
    "bfloat16 positions repeat",
)
report(
    "cache follows the model to bfloat16",
    HUB + "InternLM/InternLM/issues/237",
    "position embedding in a buffer is cast with the model",
    "rope:dim=128,dtype=float32",
    lambda: each(rope(128, 600), bf16),
    "bfloat16",
    "bfloat16",
)

# Pairs

report(
    "interleaved cosines with rotate_half",
    HUB + "raiyanyahya/how-to-train-your-gpt/issues/6",
    "emb is repeat_interleave(2) where rotate_half wants halves",
    "rope:dim=64,layout=half",
    lambda: rope(64, 200, layout="interleaved"),
    "interleaved",
    "layout",
)
report(
    "GPT-J rotated by halves",
    HUB + "TransformerLensOrg/TransformerLens/pull/365",
    "a stray comma makes every model rotate halves",
    "rope:dim=64",
    lambda: (*kernel(lambda x: rotate(x, *table())), {"pairs": "interleaved"}),
    "half|halves",
    "layout",
)
report(
    "mimi rotated interleaved",
    HUB + "huggingface/candle/issues/3948",
    "neighbours are rotated where the checkpoint has halves",
    "rope:dim=64",
    lambda: (*kernel(lambda x: rotate(x, *table(), "interleaved")), {"pairs": "half"}),
    "interleaved|neighbour",
    "layout",
)
report(
    "halves for GLM's neighbours",
    HUB + "vllm-project/vllm-ascend/issues/12765",
    "the kernel rotates halves whatever the model",
    "rope:dim=64",
    lambda: (*kernel(lambda x: rotate(x, *table()), (1, 2, 48, 64)), {"pairs": "interleaved"}),
    "half|halves",
    "layout",
)
report(
    "second half of cos and sin dropped",
    HUB + "Tencent/ncnn/issues/6833",
    "the width's frequencies are replaced by the height's",
    "rope2d:dim=64,grid=6x8",
    lambda: cs(axes_angles([32, 32], [6, 8])[:, np.r_[0:16, 0:16]]),
    "column|axis|axes|row|repeat|half|width",
    "grid repeat order layout",
)
report(
    "rotation along the heads",
    HUB + "mlfoundations/open_lm/issues/4",
    "the position is taken from the heads axis",
    "rope:dim=64",
    lambda: (*kernel(lambda x: np.swapaxes(rotate(np.swapaxes(x, 1, 2), *table(4)), 1, 2)), {"pairs": "half"}),
    "head|axis|axes",
    "grid exchange",
)

# Base

report(
    "theta of Llama 3 hard-coded",
    HUB + "google-deepmind/penzai/pull/102",
    "10000 where the model has 500000",
    "rope:dim=128,base=500000",
    lambda: rope(128, 512),
    ("base 10000", "500000"),
)
report(
    "theta not carried to MLX",
    HUB + "lyogavin/airllm/pull/369",
    "rope_theta is not copied from the config",
    LLAMA31,
    lambda: cache(llama3(inv32(128)), 512),
    ("base 10000", "500000"),
    "scaling",
)
report(
    "rope_theta of Qwen 2.5 not used",
    HUB + "sgl-project/SpecForge/issues/265",
    "default base 10000 where the config says 1000000",
    "rope:dim=128,base=1000000",
    lambda: each(rope(128, 512), bf16),
    ("base 10000", "1000000"),
    "bfloat16",
)
report(
    "theta of Code Llama",
    HUB + "karpathy/llama2.c/issues/356",
    "10000 hard-coded where the model has 1000000",
    "rope:dim=128,base=1000000,layout=interleaved",
    lambda: rope(128, 512, layout="interleaved"),
    ("base 10000", "1000000"),
)
report(
    "theta of Mixtral",
    HUB + "deepspeedai/Megatron-DeepSpeed/pull/351",
    "10000 hard-coded where the model has 1000000",
    "rope:dim=128,base=1000000,layout=angles",
    lambda: {"freqs": widen(angles(inv32(128), 400), "half")[:, None, None]},
    ("base 10000", "1000000"),
)

# Scaling

report(
    "llama3 scaling dropped on a fast path",
    HUB + "unslothai/unsloth/pull/6197",
    "rope_scaling is parsed and not used",
    LLAMA31,
    lambda: each(rope(128, 1024, 5e5), bf16),
    "llama3|scaling|unscaled",
    "scaling bfloat16",
)
report(
    "llama3 factor 32 of Llama 3.2",
    HUB + "jmaczan/tiny-vllm/pull/1",
    "1/500000^(2i/64) without the three regions",
    "rope:dim=64,base=500000,scaling=llama3,factor=32,original-max=8192",
    lambda: rope(64, 1024, 5e5),
    "llama3|scaling|unscaled",
    "scaling",
)
report(
    "theta and llama3 both missing",
    HUB + "young-geng/EasyLM/pull/117",
    "rope_theta is never passed, and the frequencies are not corrected",
    LLAMA31,
    lambda: {"freqs_cis": np.exp(1j * angles(inv32(128), 400)).astype(np.complex64)},
    ("base", "llama3|scaling"),
    "base scaling",
)
report(
    "long factors for short prompts",
    HUB + "lablup/mlxcel/issues/1358",
    "one table is made of long_factor and used at every position",
    PHI.format(2048),
    lambda: cache(inv32(16) / LONG, 512, magnitude=SU),
    ("long", "short"),
    "scaling",
)
report(
    "long factors by allocated context",
    HUB + "ggml-org/llama.cpp/issues/24823",
    "the list is chosen by the allocated context, not by the sequence",
    PHI.format(1024),
    lambda: cache(inv64(16) / LONG, 256, magnitude=SU, dtype=F32),
    ("long", "short"),
    "scaling",
)
report(
    "upper end of the ramp",
    HUB + "jingyaogong/minimind/issues/602",
    "the ramp ends at dim/2 - 1 where the code has dim - 1",
    "rope:dim=64,scaling=yarn,factor=4,original-max=131072",
    lambda: cache(_short_ramp(64, 10000.0, 4, 131072), 1024, magnitude=0.1 * math.log(4) + 1),
    "ramp|end|pair|beta|truncat|column",
    "scaling",
)
report(
    "ramp rounded in gpt-oss",
    HUB + "vllm-project/vllm/pull/28244",
    "the ramp's ends are rounded where truncate is false",
    "rope:dim=64,base=150000,scaling=yarn,factor=32,original-max=4096,truncate=false",
    lambda: cache(yarn(64, 150000.0, 32, 4096), 1024, magnitude=0.1 * math.log(32) + 1, layout="split"),
    "truncat|rounded|ramp",
    "scaling",
)
report(
    "dynamic as static",
    HUB + "vllm-project/vllm/issues/5093",
    "the base of the longest length is used for every length",
    "rope:dim=128,scaling=dynamic,factor=4,max-position=2048,seq-len=2048",
    lambda: rope(128, 1024, dynamic_base(10000.0, 4, 128, 8192, 2048)),
    "dynamic|seq-len|base|length",
    "base scaling",
)
report(
    "dynamic not reset",
    HUB + "huggingface/transformers/pull/46624",
    "after a long sequence the frequencies stay scaled",
    "rope:dim=64,scaling=dynamic,factor=2,max-position=2048,seq-len=512",
    lambda: rope(64, 512, dynamic_base(10000.0, 2, 64, 6000, 2048)),
    "dynamic|seq-len|base|length",
    "base scaling",
)
report(
    "dynamic below the training length",
    HUB + "vllm-project/vllm/issues/52665",
    "the base becomes 0 for half the training length",
    "rope:dim=64,base=1000",
    lambda: cache(_base_zero(64), 256),
    "nan|base 0|infinit",
    "nan base",
)
report(
    "alpha read as dynamic",
    HUB + "huggingface/transformers/pull/48960",
    "alpha 1000 is dropped where frequencies are computed anew",
    "rope:dim=128,scaling=ntk,alpha=1000",
    lambda: rope(128, 512),
    "ntk|alpha|base|scaling",
    "base scaling",
)
report(
    "linear factor on sliding layers",
    HUB + "antonellof/ferrox/issues/39",
    "layers that are not scaled get the factor 8 of the others",
    "rope:dim=256",
    lambda: rope(256, 512, step=0.125),
    "linear|factor 8|0\\.125|divided|step",
    "scaling positions magnitude",
)
report(
    "original length clamped to 32767",
    HUB + "panbanda/higgs/pull/31",
    "163840 is cut to 16 bits in YaRN's ramp",
    "rope:dim=64,scaling=yarn,factor=40,original-max=163840",
    lambda: cache(yarn(64, 10000.0, 40, 32767), 1024, magnitude=0.1 * math.log(40) + 1),
    ("original-max|original length|ramp", "32767|32,767|32768"),
    "scaling",
)
report(
    "magnitude dropped for neighbours",
    HUB + "GaijinEntertainment/daScript/pull/3479",
    "mscale 1.416 is applied to halves only",
    "rope:dim=128,base=1000000,scaling=yarn,factor=64,original-max=4096,beta-fast=4",
    lambda: cache(yarn(128, 1e6, 64, 4096, fast=4), 512, layout="interleaved"),
    "magnitude|attention factor|mscale|1\\.41",
    "magnitude",
)
report(
    "rotary width ignored in the exponent",
    HUB + "pie-project/pie/pull/603",
    "theta^(-2i/head) where the rotary width belongs",
    "rope:dim=256,base=10000000,rotary-dim=64",
    lambda: cache(inv32(256, 1e7)[:32], 512),
    "256|head|exponent|proportional|rotary",
    "scaling width base",
)
report(
    "partial rotary ignored",
    HUB + "huggingface/transformers/issues/48630",
    "inv_freq has the whole head's width",
    "rope:dim=64,partial=0.5",
    lambda: rope(64, 200),
    "partial|rotary-dim|rotary width|whole|all",
    "width missing",
)

# Sinusoids

report(
    "2i over every column",
    HUB + "jadore801120/attention-is-all-you-need-pytorch/issues/32",
    "10000^(2i/d) with i over all columns",
    "sinusoidal:dim=64",
    lambda: columns(2 * np.arange(64) / 64, 200),
    "2i|twice|every column|exponent|column|frequenc",
    "spacing",
)
report(
    "2i over every column, float32",
    HUB + "shenweichen/DeepCTR/issues/379",
    "2 i / d for i in range(d)",
    "sinusoidal:dim=32",
    lambda: columns(2 * np.arange(32) / 32, 50).astype(F32),
    "2i|twice|every column|exponent|column|frequenc",
    "spacing",
)
report(
    "1000 and odd exponents of cosines",
    HUB + "maxjcohen/transformer/issues/62",
    "1000 for 10000, and the cosine's exponent is 2i + 1",
    "sinusoidal:dim=64",
    lambda: columns(np.arange(64) / 64, 128, 1000.0),
    "1000\\b|cos|exponent|column|frequenc",
    "base spacing",
)
report(
    "exponent and base exchanged",
    HUB + "ivanvovk/WaveGrad/issues/12",
    "x ** 1e-4 where 1e-4 ** x was meant",
    "sinusoidal:dim=64,order=sin-cos",
    lambda: waves(np.arange(128.0)[:, None] * (np.arange(32) / 32) ** 1e-4, "sin-cos"),
    "base and exponent are exchanged",
    "base exchange",
)
report(
    "floor division of the exponent",
    HUB + "zju3dv/LoFTR/issues/41",
    "-log(10000) / d // 2 is -1",
    "sinusoidal:dim=64",
    lambda: waves(np.arange(128.0)[:, None] * np.exp(-np.arange(0, 64, 2) * 1.0)),
    "base|exponent|frequenc",
    "base spacing",
)
report(
    "multiplied where divided was meant",
    HUB + "hkproj/pytorch-transformer/issues/2",
    "p * 10000^(2i/d), as the comment says",
    "sinusoidal:dim=64",
    lambda: waves(np.arange(64.0)[:, None] * 10000.0 ** (np.arange(0, 64, 2) / 64)),
    "base 0\\.0001|sign|minus|negat|exponent|inverse|multipl|divid",
    "base sign magnitude",
)

# ALiBi

report(
    "slopes from h = 0",
    HUB + "paiml/aprender/pull/2143",
    "2^(-8h/n) with h from 0",
    "alibi:heads=8",
    lambda: {"slopes": 2.0 ** -np.arange(8)},
    "slope|2 times|twice|doubled|h = 0|from 0",
    "slopes magnitude",
)
report(
    "slopes of 12 heads by the paper's formula",
    HUB + "ml-explore/mlx/issues/343",
    "2^(-8h/H) for a number of heads that is no power of two",
    "alibi:heads=12",
    lambda: {"slopes": (2.0 ** (-8 * np.arange(1, 13) / 12)).astype(F32)},
    ("slope", "paper|8h/H|formula|rule"),
    "slopes heads",
)

# Grids and streams

report(
    "column and row exchanged",
    HUB + "facebookresearch/mae/issues/18",
    "grid[0] and grid[1] are swapped against the pre-trained table",
    "sincos2d:dim=64,grid=8x8",
    lambda: grid_waves(8, 8, 64, order="yx").astype(F32),
    "axis|axes|yx|row|column|order",
    "grid order exchange transposed",
)
report(
    "grid flattened in the wrong order",
    HUB + "huggingface/transformers/pull/41380",
    "meshgrid(x, y, 'ij') is flattened column by column",
    "sincos2d:dim=64,grid=6x8",
    lambda: grid_waves(6, 8, 64).reshape(6, 8, 64).transpose(1, 0, 2).reshape(48, 64),
    "order|transpos|column|row|grid|8x6|moved|permut",
    "grid order transposed exchange positions",
)
report(
    "H and W exchanged for xy indexing",
    HUB + "huggingface/pytorch-image-models/pull/2541",
    "the grid of a non-square image is transposed",
    "rope2d:dim=64,grid=6x10",
    lambda: cs(axes_angles([32, 32], [10, 6])),
    "grid|10x6|transpos|axis|axes|order",
    "grid order transposed exchange",
)
report(
    "window index of another order",
    HUB + "leondgarse/keras_cv_attention_models/issues/26",
    "meshgrid(range(height), range(width)) without ij",
    "window:grid=3x4",
    lambda: {"index": _beit_index(3, 4)},
    "grid|order|axis|width|column|row|transpos|window|4x3",
    "grid order transposed exchange",
)
report(
    "height stream zeroed",
    HUB + "vllm-project/vllm/pull/29425",
    "h is set to 0 where t was meant",
    "mrope:dim=64,sections=8+12+12,sequence=1x6x8",
    lambda: sections(chunked((8, 12, 12)), streams(1, 6, 8) * np.array([[1], [0], [1]]), 64, 10000.0),
    "section|stream|\\bh\\b|height|row|zero|never|frequency 0|unrotated|column",
    "sections grid zero positions repeat",
)
report(
    "interleaved sections for Qwen2-VL",
    HUB + "Blaizzy/mlx-vlm/pull/576",
    "Qwen3-VL's order is used for Qwen2-VL",
    "mrope:dim=128,sections=16+24+24,sequence=2x6x8,base=1000000",
    lambda: sections(woven((16, 24, 24)), streams(2, 6, 8), 128, 1e6),
    "interleaved|section-order|chunked",
    "sections order layout grid",
)
report(
    "flat positions of image patches",
    HUB + "ml-explore/mlx-lm/pull/1768",
    "patches count 0, 1, 2 where they have t, h, w",
    "mrope:dim=128,sections=24+20+20,section-order=interleaved,sequence=1x6x8,base=5000000",
    lambda: cs(angles(inv32(128, 5e6), 48)),
    "text|rope|one stream|stream|position|section|sequence",
    "sections positions grid",
)

# Positions

report(
    "cached offset",
    HUB + "lucidrains/rotary-embedding-torch/issues/11",
    "the cache key leaves the offset out",
    "rope:dim=32,start=100,layout=angles",
    lambda: {"freqs": widen(angles(inv32(32), 64), "interleaved")},
    ("100|\\b0\\b", "start|position|shift|offset|row"),
    "positions",
)
report(
    "one position too far",
    HUB + "fla-org/flash-linear-attention/issues/766",
    "upper layers count the current token already",
    "rope:dim=64,start=100",
    lambda: rope(64, 64, start=101),
    ("1", "start|position|shift|later|row|offset"),
    "positions",
)
report(
    "offset jumps after the prompt",
    HUB + "skyzh/tiny-llm/pull/46",
    "the offset grows by the prompt's length once more",
    "rope:dim=64",
    lambda: rope(64, 64, positions=np.r_[0:6, 12:70]),
    ("6|12", "position|row|shift|start|skip|missing|later"),
    "positions missing missing order",
)
report(
    "left padding not counted",
    HUB + "huggingface/transformers/issues/22161",
    "positions count the padding",
    lambda: rope(64, 96, positions=np.maximum(np.arange(96) - 16, 0)),
    lambda: rope(64, 96),
    ("16", "position|row|shift|start|later|pad"),
    "positions repeat missing order",
)
report(
    "position ids of packed sequences ignored",
    HUB + "epfLLM/Megatron-LLM/issues/23",
    "positions run on where each sequence starts at 0",
    lambda: rope(64, 128, positions=np.r_[0:50, 0:78]),
    lambda: rope(64, 128),
    ("50", "position|row|restart|start|again|repeat"),
    "positions repeat missing order",
)


def _short_ramp(dim: int, base: float, factor: float, original: float) -> np.ndarray:
    low = max(math.floor(correction(32, dim, base, original)), 0)
    high = min(math.ceil(correction(1, dim, base, original)), dim // 2 - 1)
    ramp = np.clip((np.arange(dim // 2) - low) / (high - low), 0, 1)
    return (inv32(dim, base) * (1 - ramp) + inv32(dim, base) / factor * ramp).astype(F32)


def _base_zero(dim: int) -> np.ndarray:
    return (F32(1) / F32(0) ** (np.arange(0, dim, 2, dtype=F32) / F32(dim))).astype(F32)


def _beit_index(h: int, w: int) -> np.ndarray:
    column, row = (g.ravel() for g in np.meshgrid(np.arange(w), np.arange(h), indexing="ij"))
    return (column[:, None] - column) * (2 * w - 1) + row[:, None] - row + (h - 1) * (2 * w - 1) + w - 1
