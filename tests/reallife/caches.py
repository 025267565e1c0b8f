"""Caches as well-known repositories write them, in plain NumPy, each with the recipe that is right."""

from __future__ import annotations

import math
from itertools import product

import numpy as np

from tests.reallife.build import (
    F32,
    F64,
    Arrays,
    alibi,
    angles,
    axes_angles,
    bf16,
    cache,
    dynamic_base,
    each,
    half,
    inv32,
    inv64,
    llama3,
    rope,
    rope64,
    sinusoid,
    slopes,
    swin_index,
    t5_index,
    waves,
    widen,
    yarn,
)
from tests.reallife.cases import cache_of


def running_product(dim: int, n: int, base: float, scale: float = 1.0) -> np.ndarray:
    """ggml's angles: theta starts at the position and is multiplied by a float32 ratio from pair to pair."""
    ratio, theta = F32(base ** (-2.0 / dim)), np.arange(n, dtype=F32)
    columns = []
    for _ in range(dim // 2):
        columns.append(F32(scale) * theta)
        theta = theta * ratio
    return np.stack(columns, 1)


def tutorial(n: int, d: int, way: str) -> np.ndarray:
    """Sinusoidal table as tutorials write it, float32."""
    p = np.arange(n, dtype=F32)[:, None]
    if way == "exponential":
        w = np.exp(np.arange(0, d, 2, dtype=F32) * F32(-math.log(10000.0) / d))
    elif way == "power":
        w = (F32(1) / np.power(F32(10000), np.arange(0, d, 2, dtype=F32) / F32(d))).astype(F32)
    else:
        return np.array([[_cell(pos, i, d) for i in range(d)] for pos in range(n)], F32)
    pe = np.zeros((n, d), F32)
    pe[:, 0::2], pe[:, 1::2] = np.sin(p * w), np.cos(p * w)
    return pe


def _cell(pos: int, i: int, d: int) -> float:
    angle = pos / 10000 ** (2 * (i // 2) / d)
    return math.sin(angle) if i % 2 == 0 else math.cos(angle)


def fairseq(n: int, d: int, padding: int = 1) -> np.ndarray:
    """Fairseq's table: endpoint spacing, sines before cosines, the padding row zero."""
    k = d // 2
    w = np.exp(np.arange(k, dtype=F32) * F32(-(math.log(10000) / (k - 1))))
    a = np.arange(n, dtype=F32)[:, None] * w
    pe = np.concatenate([np.sin(a), np.cos(a)], 1)
    pe[padding] = 0
    return pe


def megatron(dim: int, n: int, base: float = 10000.0, *, interleaved: bool = False, scale: float = 1.0) -> Arrays:
    """Megatron's, NeMo's and Transformer Engine's (n, 1, 1, d) angles."""
    a = angles(inv32(dim, base), n) * F32(scale)
    doubled = np.stack([a, a], -1).reshape(n, -1) if interleaved else np.concatenate([a, a], -1)
    return {"freqs": doubled[:, None, None, :]}


cache_of(
    "vllm cos|sin 4096x128 base 10000",
    "rope:dim=128,layout=concat",
    lambda: {"cos_sin_cache": (lambda a: np.concatenate([np.cos(a), np.sin(a)], -1))(angles(inv32(128), 4096))},
    "vLLM's RotaryEmbedding._compute_cos_sin_cache",
)

cache_of(
    "vllm cos|sin llama3 2048x128",
    "rope:dim=128,base=500000,scaling=llama3,factor=8,original-max=8192,layout=concat",
    lambda: {"cos_sin_cache": waves(angles(llama3(inv32(128, 5e5)), 2048), "cos-sin")},
    "vLLM's Llama3RotaryEmbedding",
)


cache_of(
    "vllm yarn 4096x64 factor 40",
    "rope:dim=64,scaling=yarn,factor=40,original-max=4096,mscale=1,mscale-all-dim=1,layout=concat",
    lambda: {"cos_sin_cache": waves(angles(yarn(64, 10000.0, 40, 4096), 4096), "cos-sin")},
    "DeepSeek in vLLM: mscale over mscale_all_dim is 1",
)


cache_of(
    "megatron n11d interleaved 513x64",
    "rope:dim=64,layout=angles",
    lambda: megatron(64, 513, interleaved=True),
    "Megatron-LM with rotary_interleaved",
)

cache_of(
    "nemo n11d interpolation 4 base 10000",
    "rope:dim=96,scaling=linear,factor=4,layout=angles",
    lambda: megatron(96, 300, scale=0.25),
    "NeMo with seq_len_interpolation_factor 4",
)

cache_of(
    "transformer engine n11d base 500000",
    "rope:dim=128,base=500000,layout=angles",
    lambda: megatron(128, 777, 5e5),
    "Transformer Engine's RotaryPositionEmbedding",
)

cache_of(
    "ggml running product 2048x128",
    "rope:dim=128",
    lambda: (lambda a: {"cos": np.cos(a), "sin": np.sin(a)})(running_product(128, 2048, 10000.0)),
    "ggml_rope_cache_init: theta *= theta_scale in float32",
)

cache_of(
    "ggml running product interleaved pairs base 1e6 512x128",
    "rope:dim=128,base=1000000,layout=pairs",
    lambda: {
        "cache": (lambda a: np.stack([np.cos(a), np.sin(a)], -1).reshape(512, -1))(running_product(128, 512, 1e6))
    },
    "ggml's cache holds cos and sin of a pair next to each other",
)

cache_of(
    "ggml freq scale 0.125",
    "rope:dim=64,scaling=linear,factor=8",
    lambda: (lambda a: {"cos": np.cos(a), "sin": np.sin(a)})(running_product(64, 1000, 10000.0, 0.125)),
    "llama.cpp with --rope-freq-scale 0.125",
)

cache_of(
    "lucidrains freqs repeated 1024x32",
    "rope:dim=32,layout=angles",
    lambda: {"freqs": np.repeat(angles(inv32(32), 1024), 2, -1)},
    "rotary-embedding-torch: '... n -> ... (n r)', r = 2",
)

cache_of(
    "lucidrains pixel freqs of one axis",
    "unknown",
    lambda: {"freqs": np.multiply.outer(np.linspace(-1, 1, 64), np.linspace(1, 5, 16) * math.pi)},
    "freqs_for='pixel': evenly spaced frequencies; bands has no layout of angles",
)

cache_of(
    "gpt-neox 2048x24 of 96 rotary_pct 0.25",
    ("rope:dim=24,layout=half", "rope:dim=96,rotary-dim=24,layout=half"),
    lambda: each(rope(24, 2048), lambda a: a[:, None, None, :]),
    "GPT-NeoX: (n, 1, 1, d) cosines and sines",
)

cache_of(
    "gpt-neox half precision 1024x64",
    "rope:dim=64,layout=half",
    lambda: each(rope(64, 1024), half),
    "GPT-NeoX under --fp16",
)


cache_of(
    "tutorial exponential 512x128",
    "sinusoidal:dim=128",
    lambda: {"pe": tutorial(512, 128, "exponential")},
    "the PyTorch tutorial",
)


cache_of(
    "tutorial cell by cell 64x32",
    "sinusoidal:dim=32",
    lambda: {"pe": tutorial(64, 32, "cells")},
    "double loop with math.sin",
)

cache_of(
    "annotated transformer 1x5000x512 cut",
    "sinusoidal:dim=128",
    lambda: {"pe": tutorial(1500, 128, "exponential")[None]},
    "a buffer with a leading axis of length 1",
)

cache_of(
    "pytorch tutorial n x 1 x d",
    "sinusoidal:dim=64",
    lambda: {"pe": tutorial(700, 64, "exponential")[:, None]},
    "the older tutorial: (max_len, 1, d_model)",
)

cache_of(
    "numpy float64 2048x512 bare array",
    "sinusoidal:dim=512",
    lambda: sinusoid(2048, 512),
    "what np.save of a blog holds",
)


cache_of(
    "tensor2tensor 600x64",
    "sinusoidal:dim=64,spacing=endpoint,order=sin-cos",
    lambda: waves(angles(np.exp(np.arange(32, dtype=F32) * F32(-math.log(1e4) / 31)).astype(F32), 600), "sin-cos"),
    "get_timing_signal_1d",
)


cache_of(
    "whisper 1500x384",
    "sinusoidal:dim=384,convention=whisper",
    lambda: {
        "positional_embedding": waves(
            angles(np.exp(F32(-math.log(10000) / 191) * np.arange(192, dtype=F32)), 1500), "sin-cos"
        )
    },
    "whisper's sinusoids()",
)


cache_of(
    "lit-gpt llama3 8192x64",
    "rope:dim=64,base=500000,scaling=llama3,factor=32,original-max=8192,layout=half",
    lambda: cache(llama3(inv32(64, 5e5), 32), 8192),
    "Llama 3.2's extra config",
)

cache_of(
    "mesh-transformer-jax sincos 512x64",
    "rope:dim=64,layout=interleaved",
    lambda: cache(inv64(64), 512, layout="interleaved", dtype=F32),
    "fixed_pos_embedding, repeated to pairs",
)

cache_of(
    "mistral freqs_cis 4096x64 complex64",
    ("rope:dim=128,layout=complex", "complex:dim=128"),
    lambda: {"freqs_cis": np.exp(1j * angles(inv32(128), 4096).astype(F64)).astype(np.complex64)},
    "precompute_freqs_cis: torch.polar of float32 angles",
)

cache_of(
    "llama 3 freqs_cis theta 500000",
    ("rope:dim=128,base=500000,layout=complex", "complex:dim=128,base=500000"),
    lambda: {"freqs_cis": np.exp(1j * angles(inv32(128, 5e5), 1024).astype(F64)).astype(np.complex64)},
    "Meta's code",
)

cache_of(
    "freqs_cis seen as real (n, k, 2)",
    "rope:dim=64,layout=pairs",
    lambda: {"freqs_cis": np.stack([np.cos(angles(inv32(64), 333)), np.sin(angles(inv32(64), 333))], -1)},
    "torch.view_as_real, as gpt-fast keeps it",
)

cache_of(
    "gpt-fast bfloat16 (n, k, 2)",
    "rope:dim=128,layout=pairs",
    lambda: {"freqs_cis": bf16(np.stack([np.cos(angles(inv32(128), 2048)), np.sin(angles(inv32(128), 2048))], -1))},
    "gpt-fast casts its cache to bfloat16",
)


cache_of(
    "inv_freq buffer alone base 1000000",
    ("rope:dim=128,base=1000000", "unknown"),
    lambda: {"inv_freq": inv32(128, 1e6)},
    "the buffer of a checkpoint",
)

cache_of(
    "baichuan 4096x64 leading 1 1",
    "rope:dim=64,layout=half",
    lambda: each(rope(64, 4096), lambda a: a[None, None]),
    "cos_cached of (1, 1, n, d), as transformers had it to 4.37",
)

cache_of(
    "chatglm (n, k, 2) half of the head 64",
    "rope:dim=32,layout=pairs",
    lambda: {"rope_cache": half(np.stack([np.cos(angles(inv32(32), 1024)), np.sin(angles(inv32(32), 1024))], -1))},
    "ChatGLM2's forward_impl in float16",
)


cache_of(
    "codellama base 1e6 16384 rows",
    "rope:dim=64,base=1000000,layout=half",
    lambda: rope(64, 16384, 1e6),
    "rope_theta 1000000",
)

cache_of(
    "internlm dynamic 3 of 2048 at 4096",
    "rope:dim=128,scaling=dynamic,factor=3,max-position=2048,seq-len=4096,layout=half",
    lambda: rope(128, 4096, dynamic_base(10000.0, 3, 128, 4096, 2048)),
    "InternLM's DynamicNTK cache of the whole length",
)

cache_of(
    "yarn authors 8192x128 factor 16",
    "rope:dim=128,scaling=yarn,factor=16,original-max=4096,layout=half",
    lambda: cache(yarn(128, 10000.0, 16, 4096), 8192, magnitude=0.1 * math.log(16) + 1),
    "the authors' LlamaYaRNScaledRotaryEmbedding",
)

cache_of(
    "gpt-oss yarn no truncate 4096x64",
    "rope:dim=64,base=150000,scaling=yarn,factor=32,original-max=4096,truncate=false,layout=split",
    lambda: cache(yarn(64, 150000.0, 32, 4096, truncate=False), 4096, magnitude=0.1 * math.log(32) + 1, layout="split"),
    "gpt-oss: truncate false",
)

cache_of(
    "bloom alibi 16 heads keys 128",
    ("alibi:heads=16,bias=key-position", "alibi:heads=16,convention=bloom"),
    lambda: {"alibi": (slopes(16)[:, None, None] * np.arange(128)[None, None]).astype(F32)},
    "build_alibi_tensor, one batch",
)


cache_of(
    "alibi slopes of 71 heads",
    "alibi:heads=71",
    lambda: {"slopes": slopes(71).astype(F32)},
    "Falcon's 71 heads, not rounded",
)

cache_of(
    "alibi causal -inf 4 heads",
    "alibi:heads=4,mask=causal",
    lambda: {"bias": np.where(np.tril(np.ones((40, 40), bool)), alibi(4, 40), -np.inf).astype(F32)},
    "with the causal mask added",
)

cache_of(
    "t5 buckets both ways 200x200",
    "t5:bidirectional=true",
    lambda: {"index": t5_index(200)},
    "T5's _relative_position_bucket",
)

cache_of(
    "t5 buckets causal 150x150", "t5:bidirectional=false", lambda: {"index": t5_index(150, both=False)}, "T5's decoder"
)

cache_of(
    "flux ids 32x32 axes 16+56+56",
    "rope-axes:axes=16+56+56,grid=1x24x24,layout=interleaved",
    lambda: (lambda a: {"cos": np.cos(a).astype(F32), "sin": np.sin(a).astype(F32)})(
        widen(axes_angles([16, 56, 56], [1, 24, 24]), "interleaved")
    ),
    "FluxPosEmbed: float64 angles repeated, cast to float32",
)

cache_of(
    "wan freqs 44+42+42",
    ("rope-axes:axes=44+42+42,grid=5x6x8,layout=complex",),
    lambda: {"freqs": np.exp(1j * axes_angles([44, 42, 42], [5, 6, 8]))},
    "Wan's complex128 freqs",
)


cache_of(
    "decode slice from 30000",
    "rope:dim=128,base=500000,start=30000,layout=half",
    lambda: rope(128, 64, 5e5, start=30000),
    "cos and sin of one chunk during decoding",
)

cache_of(
    "one row at position 4095",
    ("rope:dim=128,start=4095,layout=half", "unknown"),
    lambda: rope(128, 1, start=4095),
    "cos and sin of one decoding step",
)

cache_of(
    "positions computed in bfloat16",
    ("rope:dim=64,layout=half", "unknown"),
    lambda: cache(inv32(64), 600, positions=bf16(np.arange(600))),
    "autocast rounded the positions above 256",
)

cache_of(
    "eleuther half split one batch axis",
    "rope:dim=80,layout=half",
    lambda: each(rope(80, 257), lambda a: np.stack([a, a])),
    "the same table for two batch rows",
)

cache_of(
    "palm-style xl concat cos cos",
    "rope:dim=64,base=10000,layout=half",
    lambda: {"cos": rope()["cos"]},
    "cosines alone, doubled",
)

cache_of(
    "float64 angles rounded to float32 8192",
    "rope:dim=128,base=10000,layout=interleaved",
    lambda: rope64(128, 8192, layout="interleaved", dtype=F32),
    "positions and frequencies in float64, then .float()",
)

cache_of(
    "diffusers time steps 1000",
    ("sinusoidal:dim=320,order=cos-sin", "rope:dim=320,layout=concat"),
    lambda: waves(angles(np.exp(F32(-math.log(10000)) * np.arange(160, dtype=F32) / F32(160)), 1000), "cos-sin"),
    "Timesteps(flip_sin_to_cos=True, downscale_freq_shift=0)",
)
cache_of(
    "bloom alibi of a batch of 2, (b h) 1 k",
    "alibi:heads=12,bias=key-position,queries=1",
    lambda: np.tile((slopes(12)[:, None, None] * np.arange(64)).astype(F32), (2, 1, 1)),
)


def detr_sine(dim, sides, kind, *, normalize=True, temperature=10000, batch=1):
    """PositionEmbeddingSine with every step in a narrow type, channels first."""
    half_dim, scaled = dim // 2, []
    for side in sides:
        count = kind(np.arange(1, side + 1))
        scaled.append(kind(kind(count / kind(F32(side + 1e-6))) * F32(2 * math.pi)) if normalize else count)
    periods = kind(F64(kind(F32(temperature))) ** F64(kind(F32(2) * (np.arange(half_dim) // 2) / F32(half_dim))))
    table = np.empty((*sides, dim), F32)
    for axis, own in enumerate(scaled):
        phases = kind(own[:, None] / periods)
        both = np.where(np.arange(half_dim) % 2, kind(np.cos(phases)), kind(np.sin(phases)))
        table[..., axis * half_dim : (axis + 1) * half_dim] = both[:, None] if axis == 0 else both[None]
    return np.repeat(table.transpose(2, 0, 1)[None], batch, 0)


for name, recipe, made in (
    ("bfloat16", "detr:dim=256,grid=16x12,normalize=true", lambda: detr_sine(256, (16, 12), bf16)),
    ("bfloat16, dim 96", "detr:dim=96,grid=7x7", lambda: detr_sine(96, (7, 7), bf16, normalize=False)),
    (
        "bfloat16, temperature 20",
        "detr:dim=64,grid=9x9,temperature=20,normalize=true",
        lambda: detr_sine(64, (9, 9), bf16, temperature=20),
    ),
    ("float16", "detr:dim=128,grid=8x10,normalize=true", lambda: detr_sine(128, (8, 10), lambda x: F32(half(x)))),
    ("a batch of 3", "detr:dim=64,grid=6x8,normalize=true", lambda: detr_sine(64, (6, 8), F32, batch=3)),
):
    cache_of(f"detr sine in {name}", recipe, made, "every step in the narrow type")


def matrices(angle):
    cos, sin = np.cos(angle), np.sin(angle)
    return np.stack([cos, -sin, sin, cos], -1).reshape(1, *angle.shape, 2, 2)


for kind in (F32, np.float16, F64):
    cache_of(
        f"rotation matrices of one axis in {kind.__name__}",
        "rope:dim=64,base=2000",
        lambda kind=kind: matrices(angles(inv64(64, 2000), 77)).astype(kind),
        "Flux's rope()",
    )
cache_of(
    "alibi of 14 heads, finfo.min for -inf",
    "alibi:heads=14,mask=causal",
    lambda: np.where(np.tri(48, dtype=bool), alibi(14, 48), np.finfo(F32).min),
)
cache_of("swin index 8x8 in one row", "window:grid=8x8", lambda: {"index": swin_index(8, 8).reshape(-1)})
cache_of("causal mask of float32's minimum", "unknown", lambda: np.triu(np.full((64, 64), np.finfo(F32).min, F32), 1))


def keras_tutorial(n: int, d: int) -> np.ndarray:
    """The Transformer tutorial of TensorFlow: sines, then cosines, in float64."""
    a = np.arange(n)[:, None] * (1 / (10000 ** (np.arange(d / 2) / (d / 2))))
    return np.concatenate([np.sin(a), np.cos(a)], -1)


cache_of("keras tutorial float64 300x64", "sinusoidal:dim=64,order=sin-cos", lambda: keras_tutorial(300, 64))
cache_of("keras tutorial 2048x512", "sinusoidal:dim=512,order=sin-cos", lambda: keras_tutorial(2048, 512).astype(F32))


def diffusers_2d(dim, sides, base_size, scale):
    """get_2d_sincos_pos_embed of diffusers: a column's waves come before a row's."""
    rows, columns = (np.arange(side) / (side / base_size) / scale for side in sides)
    w = 1e4 ** -(np.arange(dim // 4) / (dim // 4))
    x, y = (np.outer(at.ravel(), w) for at in np.meshgrid(columns, rows))
    return np.concatenate([np.sin(x), np.cos(x), np.sin(y), np.cos(y)], 1)


for sides, base_size, scale in (((5, 9), 9, 2), ((8, 12), 16, 1.875), ((10, 6), 7, 2)):
    cache_of(
        f"diffusers sincos2d {sides[0]}x{sides[1]} of {base_size} over {scale}",
        f"sincos2d:dim=80,grid={sides[0]}x{sides[1]},base-size={base_size},grid-scale={scale}",
        lambda sides=sides, size=base_size, scale=scale: diffusers_2d(80, sides, size, scale).astype(F32),
        "get_2d_sincos_pos_embed with base_size and interpolation_scale",
    )

for base, kind in product((82684, 1638400, 12340000, 74300), (bf16, half)):
    cache_of(
        f"base {base} in {kind.__name__}",
        f"rope:dim=128,base={base},layout=half,dtype={'bfloat16' if kind is bf16 else 'float16'}",
        lambda base=base, kind=kind: {name: kind(values) for name, values in cache(inv32(128, base), 128).items()},
        "long-context models: the values fix more digits of the base than one value of the type has",
    )


def timesteps(t: np.ndarray, d: int, *, cosines_first: bool = True) -> np.ndarray:
    """Diffusers' get_timestep_embedding of float32 time steps."""
    a = t.astype(F32)[:, None] * np.exp(-math.log(10000) * np.arange(d // 2, dtype=F32) / F32(d // 2)).astype(F32)
    parts = [np.cos(a), np.sin(a)] if cosines_first else [np.sin(a), np.cos(a)]
    return np.concatenate(parts, 1)


for n in (20, 25, 30, 50):
    cache_of(
        f"time steps of Euler's scheduler, {n} steps",
        f"sinusoidal:dim=320,order=cos-sin,start=999,step={-999 / (n - 1)!r}",
        lambda n=n: timesteps(np.linspace(0, 999, n)[::-1], 320),
        "EulerDiscreteScheduler: linspace from 999 to 0",
    )

cache_of(
    "time steps of flow matching, 28 steps",
    f"sinusoidal:dim=256,order=cos-sin,start=1000,step={-1000 / 28!r}",
    lambda: timesteps(np.linspace(1, 1 / 28, 28).astype(F32) * F32(1000), 256),
    "Stable Diffusion 3 and Flux: 1 to 1/n, times 1000",
)

cache_of(
    "positions over the length, in turns",
    f"sinusoidal:dim=64,order=sin-cos,step={2 * math.pi / 30:.12g}",
    lambda: timesteps(np.arange(30) / 30 * 2 * np.pi, 64, cosines_first=False),
    "DAB-DETR's scale of normalised positions",
)

for factor in (3, 1.5, 6, 2):
    cache_of(
        f"angles of interpolation factor {factor}",
        f"rope:dim=64,scaling=linear,factor={factor},layout=angles",
        lambda factor=factor: {
            "freqs": widen((np.arange(100, dtype=F32) / F32(factor))[:, None] * inv32(64), "interleaved")
        },
        "x-transformers and rotary-embedding-torch divide the positions",
    )

for d in (128, 384, 512, 768, 1024):
    cache_of(
        f"scaled sinusoid of width {d}",
        f"sinusoidal:dim={d},order=sin-cos,amplitude={d**-0.5!r}",
        lambda d=d: timesteps(np.arange(40), d, cosines_first=False) * F32(d**-0.5),
        "x-transformers' ScaledSinusoidalEmbedding: times 1/sqrt(dim)",
    )

cache_of(
    "yarn, mscale 1 over mscale_all_dim 0.8",
    "rope:dim=64,scaling=yarn,original-max=4096,factor=40,attention-factor=1.0569663,layout=half",
    lambda: cache(yarn(64, 1e4, 40, 4096), 200, magnitude=(0.1 * math.log(40) + 1) / (0.08 * math.log(40) + 1)),
    "the quotient of the two is no default of YaRN",
)
