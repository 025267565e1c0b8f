"""Take the position tables that libraries' own modules make, and store them with their truth.

Run by `make reallife` in an environment with the libraries; what is not installed keeps its stored table.
Usage: python -m tests.reallife.make_tables [FOLDER [NAME]]
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import inspect
import json
import math
import sys
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tests.reallife.build import write_safetensors

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Made:
    """One table of a library and its truth."""

    name: str
    truth: tuple[str, ...]
    make: Callable[[], Any]


MADE: list[Made] = []


def table(name: str, truth: str | Sequence[str], make: Callable[[], Any]) -> None:
    """Register a table: the recipes that are right, and how it is made."""
    MADE.append(Made(name, (truth,) if isinstance(truth, str) else tuple(truth), make))


def torch() -> Any:
    """Return torch, imported late."""
    return importlib.import_module("torch")


def config(kind: str, **given: Any) -> Any:
    """Config of a transformers model."""
    return importlib.import_module("transformers").AutoConfig.for_model(kind, **given)


def part(kind: str, name: str) -> Any:
    """Class or function of a transformers model's code."""
    return getattr(importlib.import_module(f"transformers.models.{kind}.modeling_{kind}"), name)


def diffuser(name: str, module: str = "embeddings") -> Any:
    """Class or function of diffusers."""
    where = module if module == "embeddings" else f"transformers.transformer_{module}"
    return getattr(importlib.import_module(f"diffusers.models.{where}"), name)


def module(name: str, what: str) -> Any:
    """Class or function of any module; where a package's __init__ wants more than is installed, without that."""
    try:
        return getattr(importlib.import_module(name), what)
    except Exception:
        top, *parts = name.split(".")[:-1]
        known = sys.modules.get(top)
        path = Path(known.__path__[0] if known else str(importlib.util.find_spec(top).origin)[: -len("/__init__.py")])
        for parent in [top, *(f"{top}." + ".".join(parts[: i + 1]) for i in range(len(parts)))]:
            bare = types.ModuleType(parent)
            bare.__path__ = [str(path.joinpath(*parent.split(".")[1:]))]
            sys.modules[parent] = bare
        return getattr(importlib.import_module(name), what)


def rotary(
    kind: str, cls: str, n: int, *, start: int = 0, dtype: str = "float32", layer: str | None = None, **given: Any
) -> dict[str, Any]:
    """Cos and sin that a rotary module of transformers returns."""
    t = torch()
    emb = part(kind, cls)(config(kind, **given))
    x, p = t.zeros(1, 1, 8, dtype=getattr(t, dtype)), t.arange(start, start + n)[None]
    found = emb(x, p) if layer is None else emb(x, p, layer)
    if isinstance(found, tuple):
        return {"cos": found[0], "sin": found[1]}
    return {"freqs_cis": found}


def llama(n: int, head: int = 64, **given: Any) -> dict[str, Any]:
    """Llama's cache with any rope_parameters."""
    start, dtype = given.pop("start", 0), given.pop("dtype", "float32")
    rope = {"rope_theta": 10000.0, "rope_type": "default", **given.pop("rope", {})}
    return rotary(
        "llama", "LlamaRotaryEmbedding", n, start=start, dtype=dtype, head_dim=head, hidden_size=head * 4,
        num_attention_heads=4, rope_parameters=rope, **given,
    )  # fmt: skip


def weight(module_: Any) -> dict[str, Any]:
    """Weight of an embedding."""
    return {"weight": module_.weight}


# transformers: rotary

table("llama default", "rope:dim=64,layout=half", lambda: llama(160))
table(
    "llama head 128 base 500000",
    "rope:dim=128,base=500000,layout=half",
    lambda: llama(96, 128, rope={"rope_theta": 500000.0}),
)
table("llama bfloat16", "rope:dim=64,layout=half", lambda: llama(200, dtype="bfloat16"))
table("llama float16", "rope:dim=64,layout=half", lambda: llama(200, dtype="float16"))
table("llama from 4000", "rope:dim=64,start=4000,layout=half", lambda: llama(48, start=4000))
table("llama tiny head 8", "rope:dim=8,layout=half", lambda: llama(30, 8))
table("llama 2048 rows head 16", "rope:dim=16,layout=half", lambda: llama(2048, 16))
table(
    "llama linear 4",
    "rope:dim=64,scaling=linear,factor=4,layout=half",
    lambda: llama(128, rope={"rope_type": "linear", "factor": 4.0}),
)
table(
    "llama dynamic 2 at 3000 of 2048",
    (
        "rope:dim=16,scaling=dynamic,factor=2,max-position=2048,seq-len=3000,layout=half",
        "rope:dim=16,base=21196.83,layout=half",
        "rope:dim=16,base=21196.826,layout=half",
    ),
    lambda: llama(3000, 16, max_position_embeddings=2048, rope={"rope_type": "dynamic", "factor": 2.0}),
)
table(
    "llama dynamic not reached",
    ("rope:dim=64,layout=half", "rope:dim=64,scaling=dynamic,factor=2,max-position=2048,seq-len=100,layout=half"),
    lambda: llama(100, max_position_embeddings=2048, rope={"rope_type": "dynamic", "factor": 2.0}),
)
table(
    "llama3 scaling 32 head 64",
    "rope:dim=64,base=500000,scaling=llama3,factor=32,original-max=8192,layout=half",
    lambda: llama(
        160,
        64,
        rope={
            "rope_type": "llama3",
            "rope_theta": 500000.0,
            "factor": 32.0,
            "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
            "original_max_position_embeddings": 8192,
        },
    ),
)
table(
    "llama3 scaling 8 bfloat16",
    ("rope:dim=128,base=500000,scaling=llama3,factor=8,original-max=8192,layout=half", "unknown"),
    lambda: llama(
        128,
        128,
        dtype="bfloat16",
        rope={
            "rope_type": "llama3",
            "rope_theta": 500000.0,
            "factor": 8.0,
            "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
            "original_max_position_embeddings": 8192,
        },
    ),
)
table(
    "yarn 4 of 32768",
    "rope:dim=128,base=1000000,scaling=yarn,factor=4,original-max=32768,layout=half",
    lambda: llama(
        128,
        128,
        rope={"rope_type": "yarn", "rope_theta": 1000000.0, "factor": 4.0, "original_max_position_embeddings": 32768},
    ),
)
table(
    "yarn 16 of 4096 head 64",
    "rope:dim=64,scaling=yarn,factor=16,original-max=4096,layout=half",
    lambda: llama(150, rope={"rope_type": "yarn", "factor": 16.0, "original_max_position_embeddings": 4096}),
)
table(
    "yarn beta 16 2",
    "rope:dim=64,scaling=yarn,factor=8,original-max=8192,beta-fast=16,beta-slow=2,layout=half",
    lambda: llama(
        150,
        rope={
            "rope_type": "yarn",
            "factor": 8.0,
            "original_max_position_embeddings": 8192,
            "beta_fast": 16.0,
            "beta_slow": 2.0,
        },
    ),
)
table(
    "longrope short",
    (
        "rope:dim=16,scaling=longrope,factor=32,original-max=4096,seq-len=100,short-factor=1+1.05+1.1+1.2+1.4+1.8+2.4+2.8,long-factor=1+2+4+8+16+24+32+48,layout=half",
        "unknown",
    ),
    lambda: llama(
        100,
        16,
        max_position_embeddings=131072,
        rope={
            "rope_type": "longrope",
            "factor": 32.0,
            "original_max_position_embeddings": 4096,
            "short_factor": [1, 1.05, 1.1, 1.2, 1.4, 1.8, 2.4, 2.8],
            "long_factor": [1, 2, 4, 8, 16, 24, 32, 48],
        },
    ),
)
table(
    "gemma 2 head 256", "rope:dim=256,layout=half", lambda: rotary("gemma2", "Gemma2RotaryEmbedding", 40, head_dim=256)
)
table("gemma 3 global", "rope:dim=256,base=1000000,layout=half", lambda: _gemma3("full_attention"))
table(
    "qwen2 base 1e6",
    "rope:dim=64,base=1000000,layout=half",
    lambda: rotary(
        "qwen2",
        "Qwen2RotaryEmbedding",
        144,
        hidden_size=256,
        num_attention_heads=4,
        rope_parameters={"rope_type": "default", "rope_theta": 1e6},
    ),
)
table(
    "mistral bfloat16",
    "rope:dim=128,layout=half",
    lambda: rotary("mistral", "MistralRotaryEmbedding", 100, dtype="bfloat16"),
)
table(
    "gpt-neox partial 0.25",
    ("rope:dim=16,layout=half", "rope:dim=64,rotary-dim=16,layout=half"),
    lambda: rotary("gpt_neox", "GPTNeoXRotaryEmbedding", 300, hidden_size=256, num_attention_heads=4),
)
table(
    "phi partial 0.4",
    ("rope:dim=32,layout=half", "rope:dim=80,rotary-dim=32,layout=half"),
    lambda: rotary(
        "phi",
        "PhiRotaryEmbedding",
        200,
        hidden_size=2560,
        num_attention_heads=32,
        rope_parameters={"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.4},
    ),
)
table(
    "stablelm partial 0.25",
    ("rope:dim=20,layout=half", "rope:dim=80,rotary-dim=20,layout=half"),
    lambda: rotary("stablelm", "StableLmRotaryEmbedding", 150),
)
table("glm interleaved half", ("rope:dim=64,layout=half",), lambda: rotary("glm", "GlmRotaryEmbedding", 150))
table(
    "cohere interleaved",
    "rope:dim=64,layout=interleaved",
    lambda: rotary(
        "cohere",
        "CohereRotaryEmbedding",
        150,
        hidden_size=256,
        num_attention_heads=4,
        rope_parameters={"rope_type": "default", "rope_theta": 10000.0},
    ),
)
table(
    "olmo2",
    "rope:dim=64,base=500000,layout=half",
    lambda: rotary(
        "olmo2",
        "Olmo2RotaryEmbedding",
        150,
        hidden_size=256,
        num_attention_heads=4,
        rope_parameters={"rope_type": "default", "rope_theta": 500000.0},
    ),
)
table(
    "gpt-oss",
    "rope:dim=64,base=150000,scaling=yarn,factor=32,original-max=4096,truncate=false,layout=split",
    lambda: rotary("gpt_oss", "GptOssRotaryEmbedding", 200),
)
table(
    "deepseek v3 yarn",
    ("rope:dim=64,scaling=yarn,factor=40,original-max=4096,mscale=1,mscale-all-dim=1,layout=half",),
    lambda: rotary(
        "deepseek_v3",
        "DeepseekV3RotaryEmbedding",
        150,
        rope_parameters={
            "rope_type": "yarn",
            "rope_theta": 10000.0,
            "factor": 40.0,
            "original_max_position_embeddings": 4096,
            "mscale": 1.0,
            "mscale_all_dim": 1.0,
            "beta_fast": 32,
            "beta_slow": 1,
        },
    ),
)
table(
    "deepseek v2 complex",
    ("rope:dim=64,layout=complex", "complex:dim=64"),
    lambda: rotary("deepseek_v2", "DeepseekV2RotaryEmbedding", 150),
)
table(
    "ernie 4.5",
    "rope:dim=128,base=500000,layout=half",
    lambda: rotary("ernie4_5", "Ernie4_5RotaryEmbedding", 80, head_dim=128),
)
table(
    "smollm3",
    "rope:dim=64,base=2000000,layout=half",
    lambda: rotary(
        "smollm3",
        "SmolLM3RotaryEmbedding",
        150,
        hidden_size=256,
        num_attention_heads=4,
        rope_parameters={"rope_type": "default", "rope_theta": 2000000.0},
    ),
)
table(
    "qwen3-next partial 0.25",
    "rope:dim=64,base=10000,layout=half",
    lambda: rotary("qwen3_next", "Qwen3NextRotaryEmbedding", 120),
)
table(
    "starcoder2 float16",
    "rope:dim=64,layout=half",
    lambda: rotary(
        "starcoder2", "Starcoder2RotaryEmbedding", 160, dtype="float16", hidden_size=256, num_attention_heads=4
    ),
)
table(
    "gpt-j sin|cos",
    "rope:dim=64,layout=sin-cos",
    lambda: {"embed_positions": part("gptj", "create_sinusoidal_positions")(150, 64)},
)
table(
    "codegen sin|cos 32",
    "rope:dim=32,layout=sin-cos",
    lambda: {"embed_positions": part("codegen", "create_sinusoidal_positions")(256, 32)},
)
table(
    "roformer",
    ("sinusoidal:dim=64,order=sin-cos", "rope:dim=64,layout=sin-cos"),
    lambda: {"weight": _created("roformer", "RoFormerSinusoidalPositionalEmbedding", 160, 64)},
)
table("esm rotary", "rope:dim=64,layout=half", lambda: _esm(100))
table(
    "wav2vec2 conformer rotary",
    "rope:dim=64,layout=half",
    lambda: (lambda e: {"cos": e[0], "sin": e[1]})(
        part("wav2vec2_conformer", "Wav2Vec2ConformerRotaryPositionalEmbedding")(
            config("wav2vec2-conformer", hidden_size=256, num_attention_heads=4)
        )(torch().zeros(1, 99, 64))
    ),
)
table(
    "llama inv_freq",
    "rope:dim=128,base=500000",
    lambda: {
        "inv_freq": part("llama", "LlamaRotaryEmbedding")(
            config("llama", head_dim=128, rope_parameters={"rope_type": "default", "rope_theta": 500000.0})
        ).inv_freq
    },
)
table("llama cos alone", "rope:dim=64,layout=half", lambda: {"cos": llama(128)["cos"]})
table(
    "llama four heads",
    "rope:dim=32,layout=half",
    lambda: {k: v[:, None].expand(-1, 4, -1, -1).clone() for k, v in llama(60, 32).items()},
)
table("llama half() inv_freq", "rope:dim=64,layout=half", lambda: _half_llama(400))
table(
    "llama bfloat16 concat",
    "rope:dim=64,layout=concat",
    lambda: (lambda c: {"cache": torch().cat([c["cos"][0, :, :32], c["sin"][0, :, :32]], -1)})(
        llama(200, dtype="bfloat16")
    ),
)


def _gemma3(layer: str) -> dict[str, Any]:
    t = torch()
    emb = part("gemma3", "Gemma3RotaryEmbedding")(config("gemma3_text"))
    cos, sin = emb(t.zeros(1, 1, 8), t.arange(40)[None], layer)
    return {"cos": cos, "sin": sin}


def _init(module_: Any) -> Any:
    for name in ("_init_weight", "_init_weights"):
        if hasattr(module_, name):
            made = getattr(module_, name)
            made() if not inspect.signature(made).parameters else None
    return module_


def _esm(n: int) -> dict[str, Any]:
    return rotary("esm", "EsmRotaryEmbedding", n, hidden_size=256, num_attention_heads=4)


def _half_llama(n: int) -> dict[str, Any]:
    t = torch()
    emb = part("llama", "LlamaRotaryEmbedding")(config("llama", head_dim=64)).half()
    cos, sin = emb(t.zeros(1, 1, 8), t.arange(n)[None])
    return {"cos": cos, "sin": sin}


# transformers: vision rotary, streams


def _vision(kind: str, cls: str, h: int, w: int, **given: Any) -> dict[str, Any]:
    found = part(kind, cls)(**given)(torch().tensor([[1, h, w]]))
    return {"freqs": found} if not isinstance(found, tuple) else {"cos": found[0], "sin": found[1]}


table("pixtral", "rope2d:dim=64,grid=8x8,convention=pixtral,layout=half", lambda: _pixtral(8))
table(
    "dinov3",
    ("rope2d:dim=64,grid=6x8,convention=dinov3,layout=half",),
    lambda: (lambda e: {"cos": e[0], "sin": e[1]})(
        part("dinov3_vit", "DINOv3ViTRopePositionEmbedding")(
            config("dinov3_vit", hidden_size=256, num_attention_heads=4, patch_size=16)
        ).eval()(torch().zeros(1, 3, 96, 128))
    ),
)


def _pixtral(side: int) -> dict[str, Any]:
    t = torch()
    emb = part("pixtral", "PixtralVisionRotaryEmbedding")(
        config("pixtral", image_size=side * 16, patch_size=16, head_dim=64, hidden_size=256, num_attention_heads=4)
    )
    ids = t.stack(t.meshgrid(t.arange(side), t.arange(side), indexing="ij"), -1).reshape(-1, 2)
    cos, sin = emb(t.zeros(1, 1, 8), ids)
    return {"cos": cos, "sin": sin}


def _qwen2vl(image: Any) -> dict[str, Any]:
    t = torch()
    c = config("qwen2_vl").text_config
    c.hidden_size, c.num_attention_heads = 512, 4
    c.rope_parameters = {"rope_type": "default", "rope_theta": 1e6, "mrope_section": [16, 24, 24]}
    emb = part("qwen2_vl", "Qwen2VLRotaryEmbedding")(c)
    if image is None:
        p = t.arange(60)[None, None].expand(3, 1, -1)
        cos, sin = emb(t.zeros(1, 1, 8), p)
        return {"cos": cos[0], "sin": sin[0]} if cos.ndim == 4 else {"cos": cos, "sin": sin}
    before, frames, h, w, after = image
    grid = t.stack(t.meshgrid(t.arange(frames), t.arange(h), t.arange(w), indexing="ij")).reshape(3, -1) + before
    text = t.arange(before)[None].expand(3, -1)
    tail = t.arange(after)[None].expand(3, -1) + before + max(frames, h, w)
    p = t.cat([text, grid, tail], 1)[:, None]
    cos, sin = emb(t.zeros(1, 1, 8), p)
    if cos.ndim == 4:
        sections = [16, 24, 24] * 2
        cos, sin = (t.cat([m[i % 3] for i, m in enumerate(v.split(sections, -1))], -1) for v in (cos, sin))
    return {"cos": cos, "sin": sin}


# transformers: sinusoids


def _fairseq_like(kind: str, cls: str, n: int = 120, d: int = 64) -> dict[str, Any]:
    made = part(kind, cls)(n, d, 1)
    return {"weights": made.weights if hasattr(made, "weights") else made.weight}


table(
    "speech to text",
    "sinusoidal:dim=64,convention=fairseq",
    lambda: _fairseq_like("speech_to_text", "Speech2TextSinusoidalPositionalEmbedding"),
)
table(
    "xglm", "sinusoidal:dim=64,convention=fairseq", lambda: _fairseq_like("xglm", "XGLMSinusoidalPositionalEmbedding")
)
table(
    "nllb moe odd 33 rows",
    "sinusoidal:dim=32,convention=fairseq",
    lambda: _fairseq_like("nllb_moe", "NllbMoeSinusoidalPositionalEmbedding", 31, 32),
)
table(
    "speecht5",
    "sinusoidal:dim=64,convention=fairseq",
    lambda: _fairseq_like("speecht5", "SpeechT5SinusoidalPositionalEmbedding"),
)
table(
    "musicgen",
    "sinusoidal:dim=64,convention=musicgen",
    lambda: (lambda m: {"weights": m.weights})(part("musicgen", "MusicgenSinusoidalPositionalEmbedding")(100, 64)),
)
table(
    "trocr",
    "sinusoidal:dim=64,convention=fairseq",
    lambda: (lambda m: {"weights": m.weights})(part("trocr", "TrOCRSinusoidalPositionalEmbedding")(100, 64, 1)),
)
table(
    "informer",
    "sinusoidal:dim=64,order=sin-cos",
    lambda: {"weight": _created("informer", "InformerSinusoidalPositionalEmbedding", 100, 64)},
)
table(
    "autoformer odd 63",
    "sinusoidal:dim=63,order=sin-cos,odd=truncate",
    lambda: {"weight": _created("autoformer", "AutoformerSinusoidalPositionalEmbedding", 90, 63)},
)
table(
    "whisper encoder",
    "sinusoidal:dim=64,convention=whisper",
    lambda: {"embed_positions": part("whisper", "sinusoids")(300, 64)},
)
table("distilbert", "sinusoidal:dim=64", lambda: _filled(part("distilbert", "create_sinusoidal_embeddings"), 128, 64))
table("flaubert", "sinusoidal:dim=64", lambda: _filled(part("flaubert", "create_sinusoidal_embeddings"), 100, 64))
table(
    "seamless m4t",
    "sinusoidal:dim=64,convention=fairseq",
    lambda: _fairseq_like("seamless_m4t", "SeamlessM4TSinusoidalPositionalEmbedding"),
)
table(
    "pegasus-x",
    "sinusoidal:dim=64,order=sin-cos,spacing=endpoint",
    lambda: {"pe": part("pegasus_x", "PegasusXSinusoidalPositionalEmbedding")(64)(torch().zeros(1, 100, 64))},
)
table(
    "m2m100 float16",
    "sinusoidal:dim=64,convention=fairseq",
    lambda: {"weights": part("m2m_100", "M2M100SinusoidalPositionalEmbedding")(300, 64, 1).weights.half()},
)


def _created(kind: str, cls: str, n: int, d: int) -> Any:
    emb = part(kind, cls)(n, d)
    made = emb.create_weight() if hasattr(emb, "create_weight") else _init(emb).weight
    return made if made is not None else emb.weight


def _filled(fill: Any, n: int, d: int) -> dict[str, Any]:
    weights = torch().zeros(n, d)
    fill(n, d, weights)
    return {"weight": weights}


# transformers: grids


table("vit mae", "sincos2d:dim=64,grid=7x7,prefix=1,axis-order=yx", lambda: {"pos_embed": _mae(64, 7)})
table("vit mae without class", "sincos2d:dim=96,grid=6x6,axis-order=yx", lambda: {"pos_embed": _mae(96, 6)[1:]})
table(
    "detr sine",
    "detr:dim=64,grid=7x9,normalize=true",
    lambda: {
        "pos": part("detr", "DetrSinePositionEmbedding")(32, normalize=True)((1, 3, 7, 9), "cpu", torch().float32)
    },
)
table(
    "vit learned",
    "unknown",
    lambda: {
        "position_embeddings": (
            torch().manual_seed(0),
            torch().nn.init.trunc_normal_(torch().empty(1, 50, 64), std=0.02),
        )[1]
    },
)

# transformers: biases and indices

table(
    "bloom alibi",
    ("alibi:heads=16,bias=key-position,queries=1",),
    lambda: {"alibi": part("bloom", "build_alibi_tensor")(torch().ones(1, 64), 16, torch().float32)},
)
table(
    "bloom alibi 112 heads",
    ("alibi:heads=112,bias=key-position,queries=1",),
    lambda: {"alibi": part("bloom", "build_alibi_tensor")(torch().ones(1, 20), 112, torch().float32)},
)
table(
    "mpt alibi",
    ("alibi:heads=8,bias=last-key,queries=1",),
    lambda: {"alibi": part("mpt", "build_mpt_alibi_tensor")(8, 64)},
)
table(
    "falcon alibi",
    ("alibi:heads=16,bias=key-position,slope-dtype=bfloat16,queries=1",),
    lambda: {"alibi": part("falcon", "build_alibi_tensor")(torch().ones(1, 40), 16, torch().float32)},
)
table("t5 index", "t5:bidirectional=true", lambda: {"index": _t5(64, True)})
table("t5 index 64 buckets 256", "t5:buckets=64,max-distance=256", lambda: {"index": _t5(400, True, 64, 256)})
table(
    "mpnet index",
    "t5:bidirectional=true",
    lambda: {
        "index": part("mpnet", "MPNetEncoder").relative_position_bucket(
            torch().arange(100)[None] - torch().arange(100)[:, None]
        )
    },
)
table(
    "deberta v2 buckets",
    "deberta:buckets=256,max-distance=512",
    lambda: {
        "index": part("deberta_v2", "build_relative_position")(
            torch().zeros(1, 300, 8), torch().zeros(1, 300, 8), 256, 512
        )[0]
    },
)
table(
    "deberta v2 small buckets",
    "deberta:buckets=32,max-distance=128",
    lambda: {
        "index": part("deberta_v2", "build_relative_position")(
            torch().zeros(1, 200, 8), torch().zeros(1, 200, 8), 32, 128
        )[0]
    },
)
table("swin index 4 by 6", "window:grid=4x6", lambda: {"relative_position_index": _swin(4, 6)})
table(
    "beit index",
    "window:grid=6x6,cls=true",
    lambda: {
        "relative_position_index": part("beit", "BeitRelativePositionBias").generate_relative_position_index((6, 6))
    },
)
table(
    "conformer relative",
    ("transformer-xl:dim=64,convention=conformer", "sinusoidal:dim=64,start=39,step=-1"),
    lambda: {"pe": _conformer(40, 64)},
)
table(
    "perceiver fourier",
    "bands:bands=8,grid=12x10",
    lambda: {
        "pos": part("perceiver", "generate_fourier_features")(
            part("perceiver", "build_linear_positions")((12, 10)).reshape(1, 120, 2), 8, max_resolution=(12, 10)
        )[0]
    },
)
table(
    "swin v2 coordinates",
    ("window:grid=8x8,version=2", "unknown"),
    lambda: {
        "relative_coords_table": part("swinv2", "Swinv2SelfAttention")(
            config("swinv2"), 32, 4, (8, 8)
        ).relative_coords_table
    },
)


def _mae(d: int, side: int) -> Any:
    return part("vit_mae", "build_2d_sinusoidal_position_embedding")(side, side, d, cls_token=True)


def _swin(h: int, w: int) -> Any:
    return part("swin", "SwinRelativePositionBias")(4, (h, w))._create_relative_position_index()


def _t5(n: int, both: bool, buckets: int = 32, maximum: int = 128) -> Any:
    p = torch().arange(n)
    return part("t5", "T5Attention")._relative_position_bucket(p[None] - p[:, None], both, buckets, maximum)


def _xlnet(n: int, d: int) -> Any:
    model = part("xlnet", "XLNetModel")(config("xlnet", d_model=d, n_head=2, n_layer=1, d_inner=32, vocab_size=20))
    return model.relative_positional_encoding(n, n)


def _conformer(n: int, d: int) -> Any:
    emb = part("wav2vec2_conformer", "Wav2Vec2ConformerRelPositionalEmbedding")(
        config("wav2vec2-conformer", hidden_size=d, num_attention_heads=2, max_source_positions=64)
    )
    return emb(torch().zeros(1, n, d))


# diffusers

table(
    "diffusers timestep",
    "sinusoidal:dim=64,convention=diffusers-function",
    lambda: {"emb": diffuser("get_timestep_embedding")(torch().arange(200), 64)},
)
table(
    "diffusers timestep unet",
    ("sinusoidal:dim=64,convention=diffusers-unet", "rope:dim=64,layout=concat"),
    lambda: {"emb": diffuser("Timesteps")(64, True, 0)(torch().arange(200))},
)
table("diffusers 1d", "sinusoidal:dim=64", lambda: {"pe": diffuser("SinusoidalPositionalEmbedding")(64, 100).pe})
table(
    "diffusers sincos2d",
    "sincos2d:dim=64,grid=8x8,grid-scale=0.5",
    lambda: {"pos_embed": diffuser("get_2d_sincos_pos_embed")(64, 8, output_type="pt")},
)
table(
    "diffusers sincos2d base size",
    "sincos2d:dim=64,grid=6x10,base-size=16",
    lambda: {"pos_embed": diffuser("get_2d_sincos_pos_embed")(64, (6, 10), base_size=16, output_type="pt")},
)
table(
    "diffusers sincos3d",
    "sincos3d:dim=64,grid=3x4x5",
    lambda: {"pos_embed": diffuser("get_3d_sincos_pos_embed")(64, (5, 4), 3, output_type="pt").flatten(0, 1)},
)
table(
    "cogvideox 2b sincos3d",
    "sincos3d:dim=64,grid=3x6x8,grid-scale=1+1.875+1.875",
    lambda: {
        "pos_embed": diffuser("get_3d_sincos_pos_embed")(64, (8, 6), 3, 1.875, 1.0, output_type="pt").flatten(0, 1)
    },
)
table(
    "flux",
    "rope-axes:axes=16+56+56,grid=1x8x9,layout=interleaved",
    lambda: (lambda e: {"cos": e[0], "sin": e[1]})(
        diffuser("FluxPosEmbed", "flux")(10000, [16, 56, 56])(_ids(1, 8, 9))
    ),
)
table(
    "flux with text rows",
    ("rope-axes:axes=16+56+56,grid=1x5x6,prefix=12,layout=interleaved",),
    lambda: (lambda e: {"cos": e[0], "sin": e[1]})(
        diffuser("FluxPosEmbed", "flux")(10000, [16, 56, 56])(torch().cat([torch().zeros(12, 3), _ids(1, 5, 6)]))
    ),
)
table(
    "wan",
    "rope-axes:axes=44+42+42,grid=3x4x5,layout=interleaved",
    lambda: (lambda e: {"cos": e[0], "sin": e[1]})(
        diffuser("WanRotaryPosEmbed", "wan")(128, (1, 2, 2), 64)(torch().zeros(1, 4, 3, 8, 10))
    ),
)
table(
    "hunyuan video",
    "rope-axes:axes=16+56+56,grid=3x4x5,base=256,layout=interleaved",
    lambda: (lambda e: {"cos": e[0], "sin": e[1]})(
        diffuser("HunyuanVideoRotaryPosEmbed", "hunyuan_video")(2, 1, [16, 56, 56])(torch().zeros(1, 4, 3, 8, 10))
    ),
)
table(
    "cogvideox rotary",
    "rope-axes:axes=16+24+24,grid=3x4x5,layout=interleaved",
    lambda: (lambda e: {"cos": e[0], "sin": e[1]})(
        diffuser("get_3d_rotary_pos_embed")(64, None, (4, 5), 3, grid_type="slice", max_size=(4, 5))
    ),
)
table(
    "lumina 2d complex",
    ("rope2d:dim=64,grid=6x5,pairs=alternate,layout=complex", "unknown"),
    lambda: {"freqs_cis": diffuser("get_2d_rotary_pos_embed_lumina")(64, 6, 5)},
)
table(
    "diffusers 1d rotary ntk",
    "rope:dim=64,base=20000,layout=complex",
    lambda: {"freqs_cis": diffuser("get_1d_rotary_pos_embed")(64, 120, ntk_factor=2.0)},
)
table(
    "gaussian fourier of random scale",
    "unknown",
    lambda: (
        torch().manual_seed(1),
        {"emb": diffuser("GaussianFourierProjection")(16, 16.0)(torch().linspace(0.01, 1, 40))},
    )[1],
)


def _ids(frames: int, h: int, w: int) -> Any:
    t = torch()
    return t.stack(t.meshgrid(t.arange(frames), t.arange(h), t.arange(w), indexing="ij"), -1).reshape(-1, 3)


# timm

table(
    "timm sincos2d interleaved",
    ("sincos2d:dim=64,grid=6x8,axis-order=yx",),
    lambda: {
        "pos_embed": module("timm.layers.pos_embed_sincos", "build_sincos2d_pos_embed")(
            [6, 8], 64, interleave_sin_cos=True
        )
    },
)
table(
    "timm rotary pixel",
    "rope2d:dim=64,grid=7x7,series=pixel-log,coordinates=corners",
    lambda: (lambda e: {"sin": e[0], "cos": e[1]})(
        module("timm.layers.pos_embed_sincos", "build_rotary_pos_embed")([7, 7], dim=64)
    ),
)
table(
    "timm dinov3",
    ("rope2d:dim=64,grid=5x7,convention=dinov3", "unknown"),
    lambda: {"pos_embed": module("timm.layers.pos_embed_sincos", "RotaryEmbeddingDinoV3")(64).get_embed([5, 7])},
)
table(
    "timm fourier",
    "unknown",
    lambda: {"pos": module("timm.layers.pos_embed_sincos", "FourierEmbed")(224, 8)(torch().zeros(1, 0, 6, 6))},
)
table(
    "timm window index",
    "window:grid=8x8",
    lambda: {"relative_position_index": module("timm.layers.pos_embed_rel", "gen_relative_position_index")((8, 8))},
)
table(
    "timm window index with class",
    "window:grid=5x5,cls=true",
    lambda: {
        "relative_position_index": module("timm.layers.pos_embed_rel", "gen_relative_position_index")(
            (5, 5), class_token=True
        )
    },
)

# x-transformers, rotary-embedding-torch, positional-encodings, lucidrains

table(
    "x-transformers rotary rescaled",
    "rope:dim=64,scaling=ntk,factor=4,layout=angles",
    lambda: {
        "freqs": module("x_transformers.x_transformers", "RotaryEmbedding")(
            64, base_rescale_factor=4.0
        ).forward_from_seq_len(128)[0]
    },
)
table(
    "x-transformers scaled sinusoid",
    "sinusoidal:dim=64,order=sin-cos,amplitude=0.125",
    lambda: {
        "emb": module("x_transformers.x_transformers", "ScaledSinusoidalEmbedding")(64)(torch().zeros(1, 120, 64))
    },
)
table(
    "x-transformers alibi",
    "alibi:heads=8",
    lambda: {"bias": module("x_transformers.x_transformers", "AlibiPositionalBias")(8)(40, 40)},
)
table(
    "x-transformers alibi 6 heads",
    "alibi:heads=6",
    lambda: {"bias": module("x_transformers.x_transformers", "AlibiPositionalBias")(6)(33, 33)},
)
table(
    "rotary-embedding-torch theta rescale",
    "rope:dim=64,scaling=ntk,factor=2,layout=angles",
    lambda: {
        "freqs": module("rotary_embedding_torch", "RotaryEmbedding")(64, theta_rescale_factor=2.0)(torch().arange(100))
    },
)
table(
    "rotary-embedding-torch interpolate",
    "rope:dim=64,scaling=linear,factor=2,layout=angles",
    lambda: (lambda r: {"freqs": r(r.get_seq_pos(100, device="cpu", dtype=torch().float32))})(
        module("rotary_embedding_torch", "RotaryEmbedding")(64, interpolate_factor=2.0)
    ),
)
table(
    "rotary-embedding-torch pixel axial",
    ("unknown",),
    lambda: {
        "freqs": module("rotary_embedding_torch", "RotaryEmbedding")(
            16, freqs_for="pixel", max_freq=256
        ).get_axial_freqs(8, 8)
    },
)
table(
    "positional-encodings 1d",
    "sinusoidal:dim=64",
    lambda: {
        "pe": module("positional_encodings.torch_encodings", "PositionalEncoding1D")(64)(torch().zeros(1, 100, 64))
    },
)
table(
    "positional-encodings 1d odd 31",
    ("sinusoidal:dim=31,odd=round-up",),
    lambda: {
        "pe": module("positional_encodings.torch_encodings", "PositionalEncoding1D")(31)(torch().zeros(1, 100, 31))
    },
)
table(
    "positional-encodings 1d permuted",
    "sinusoidal:dim=64",
    lambda: {
        "pe": module("positional_encodings.torch_encodings", "PositionalEncodingPermute1D")(64)(
            torch().zeros(1, 64, 100)
        )
    },
)
table(
    "positional-encodings 2d",
    ("sincos2d:dim=64,grid=8x6,axis-order=yx,order=interleaved",),
    lambda: {
        "pe": module("positional_encodings.torch_encodings", "PositionalEncoding2D")(64)(torch().zeros(1, 8, 6, 64))
    },
)
table(
    "local-attention rotary",
    "rope:dim=32,layout=angles",
    lambda: {"freqs": module("local_attention.rotary", "SinusoidalEmbeddings")(32)(torch().zeros(1, 120, 32))[0]},
)

# torchtune, keras, jax

table(
    "torchtune cache",
    "rope:dim=64,layout=pairs",
    lambda: {"cache": module("torchtune.modules.position_embeddings", "RotaryPositionalEmbeddings")(64, 200).cache},
)
table(
    "torchtune phi3",
    ("rope:dim=96", "unknown"),
    lambda: {
        "cache": module("torchtune.models.phi3._position_embeddings", "Phi3RotaryPositionalEmbeddings")(96, 100).cache
    },
)
table(
    "torchtune qwen2",
    ("rope:dim=64,base=1000000", "unknown"),
    lambda: {
        "cache": module("torchtune.models.qwen2._positional_embeddings", "Qwen2RotaryPositionalEmbeddings")(
            64, 100
        ).cache
    },
)
table("torchtune t5 bias index", "unknown", lambda: (torch().manual_seed(0), {"bias": _torchtune_t5()})[1])
table(
    "keras hub sine",
    ("sinusoidal:dim=64",),
    lambda: {
        "pe": np.asarray(module("keras_hub.layers", "SinePositionEncoding")()(np.zeros((1, 100, 64), "float32")))[0]
    },
)
table("jax rope bfloat16", "rope:dim=64,layout=split", lambda: _jax_rope())
table("tensorflow models sinusoid", "sinusoidal:dim=64,convention=tensor2tensor", lambda: {"pe": _tensorflow(100, 64)})
table("torch learned normal", "unknown", lambda: (torch().manual_seed(2), weight(torch().nn.Embedding(64, 48)))[1])


def _torchtune_t5() -> Any:
    made = module("torchtune.models.t5._encoder", "T5EncoderRelativePositionBias")(32, 128, 4, 20)
    return (
        made(torch().zeros(1, 4, 20, 20))
        if not inspect.signature(made.forward).parameters.keys() <= {"self"}
        else made()
    )


def _jax() -> Any:
    jnp = importlib.import_module("jax.numpy")
    w = 10000.0 ** (-jnp.arange(32) / 32)
    angle = jnp.arange(100)[:, None] * w
    return np.asarray(jnp.concatenate([jnp.sin(angle), jnp.cos(angle)], -1))


def _jax_rope() -> dict[str, Any]:
    jnp = importlib.import_module("jax.numpy")
    angle = jnp.arange(150)[:, None] * (1.0 / 10000.0 ** (jnp.arange(0, 64, 2) / 64))
    return {n: np.asarray(f(angle).astype(jnp.bfloat16)) for n, f in (("cos", jnp.cos), ("sin", jnp.sin))}


def _tensorflow(n: int, d: int) -> Any:
    tf = importlib.import_module("tensorflow")
    w = tf.exp(tf.range(d // 2, dtype=tf.float32) * -(math.log(1e4) / (d // 2 - 1)))
    angle = tf.range(n, dtype=tf.float32)[:, None] * w[None]
    return tf.concat([tf.sin(angle), tf.cos(angle)], 1).numpy()


# More dtypes, sizes and models

ROPE1M = {"rope_type": "default", "rope_theta": 1e6}
table("llama 8192 rows head 32", "rope:dim=32,layout=half", lambda: llama(8192, 32))
table(
    "llama 2500 rows bfloat16 base 500000",
    "rope:dim=32,base=500000,layout=half",
    lambda: llama(2500, 32, dtype="bfloat16", rope={"rope_theta": 500000.0}),
)
table(
    "llama float16 from 30000",
    ("rope:dim=64,start=30000,layout=half", "unknown"),
    lambda: llama(64, start=30000, dtype="float16"),
)
table(
    "llama from 100000",
    ("rope:dim=64,base=1000000,start=100000,layout=half", "unknown"),
    lambda: llama(64, start=100000, rope={"rope_theta": 1e6}),
)
table(
    "yarn float16",
    "rope:dim=64,scaling=yarn,factor=16,original-max=4096,layout=half",
    lambda: llama(
        200, dtype="float16", rope={"rope_type": "yarn", "factor": 16.0, "original_max_position_embeddings": 4096}
    ),
)
table(
    "yarn bfloat16",
    ("rope:dim=128,base=1000000,scaling=yarn,factor=4,original-max=32768,layout=half", "unknown"),
    lambda: llama(
        300,
        128,
        dtype="bfloat16",
        rope={"rope_type": "yarn", "rope_theta": 1000000.0, "factor": 4.0, "original_max_position_embeddings": 32768},
    ),
)
table(
    "linear 8 bfloat16",
    "rope:dim=64,scaling=linear,factor=8,layout=half",
    lambda: llama(300, dtype="bfloat16", rope={"rope_type": "linear", "factor": 8.0}),
)
table(
    "proportional of gemma 4",
    ("rope:dim=64,partial=0.25,base=1000000,scaling=proportional,layout=half", "unknown"),
    lambda: llama(120, rope={"rope_type": "proportional", "rope_theta": 1e6, "partial_rotary_factor": 0.25}),
)
table(
    "phi3 longrope",
    ("unknown",),
    lambda: rotary(
        "phi3",
        "Phi3RotaryEmbedding",
        100,
        hidden_size=256,
        num_attention_heads=4,
        max_position_embeddings=131072,
        original_max_position_embeddings=4096,
        rope_parameters={
            "rope_type": "longrope",
            "rope_theta": 10000.0,
            "short_factor": [1.0 + 0.013 * i for i in range(32)],
            "long_factor": [1.0 + i for i in range(32)],
            "factor": 32.0,
            "original_max_position_embeddings": 4096,
        },
    ),
)
table(
    "cohere2 bfloat16",
    "rope:dim=64,layout=interleaved",
    lambda: rotary(
        "cohere2",
        "Cohere2RotaryEmbedding",
        200,
        dtype="bfloat16",
        head_dim=64,
        hidden_size=256,
        num_attention_heads=4,
        rope_parameters={"rope_type": "default", "rope_theta": 10000.0},
    ),
)
table(
    "helium", "rope:dim=64,base=100000,layout=half", lambda: rotary("helium", "HeliumRotaryEmbedding", 100, head_dim=64)
)
table(
    "granite 96",
    "rope:dim=96,base=1000000,layout=half",
    lambda: rotary(
        "granite", "GraniteRotaryEmbedding", 90, hidden_size=384, num_attention_heads=4, rope_parameters=ROPE1M
    ),
)
table(
    "sam random fourier",
    "unknown",
    lambda: (
        torch().manual_seed(5),
        {
            "pos": part("sam", "SamPositionalEmbedding")(
                importlib.import_module("types").SimpleNamespace(scale=1.0, num_pos_feats=32)
            )(torch().rand(1, 1, 50, 2))[0, 0]
        },
    )[1],
)
table(
    "wav2vec2-bert distances",
    "shaw:dim=4,clip=64,right=8",
    lambda: {"index": torch().clamp(torch().arange(100)[None] - torch().arange(100)[:, None], -64, 8) + 64},
)
table(
    "bert position ids",
    "unknown",
    lambda: {
        "position_ids": part("bert", "BertEmbeddings")(config("bert", hidden_size=48, vocab_size=30)).position_ids
    },
)
table(
    "m2m100 bfloat16",
    "sinusoidal:dim=64,convention=fairseq",
    lambda: {"weights": part("m2m_100", "M2M100SinusoidalPositionalEmbedding")(200, 64, 1).weights.bfloat16()},
)
table(
    "whisper float16",
    "sinusoidal:dim=64,convention=whisper",
    lambda: {"embed_positions": part("whisper", "sinusoids")(300, 64).half()},
)
table(
    "diffusers sincos2d float16",
    "sincos2d:dim=64,grid=8x8,grid-scale=0.5",
    lambda: {"pos_embed": diffuser("get_2d_sincos_pos_embed")(64, 8, output_type="pt").half()},
)
table(
    "flux bfloat16",
    ("rope-axes:axes=16+56+56,grid=1x8x9,layout=interleaved",),
    lambda: (lambda e: {"cos": e[0].bfloat16(), "sin": e[1].bfloat16()})(
        diffuser("FluxPosEmbed", "flux")(10000, [16, 56, 56])(_ids(1, 8, 9))
    ),
)
table(
    "bloom alibi float16 40 heads",
    ("alibi:heads=40,bias=key-position,queries=1",),
    lambda: {"alibi": part("bloom", "build_alibi_tensor")(torch().ones(1, 64), 40, torch().float16)},
)
table(
    "diffusers timestep scale 1000",
    (
        "sinusoidal:dim=64,convention=diffusers-unet,step=0.001,scale=1000",
        "sinusoidal:dim=64,convention=diffusers-unet",
        "rope:dim=64,layout=concat",
    ),
    lambda: {"emb": diffuser("get_timestep_embedding")(torch().arange(100) / 1000, 64, True, 0, 1000)},
)
table(
    "longt5 block index",
    "unknown",
    lambda: {
        "index": part("longt5", "LongT5Attention")._relative_position_bucket(
            torch().arange(96)[None] - torch().arange(32, 64)[:, None]
        )
    },
)
table(
    "data2vec vision index",
    "window:grid=4x4,cls=true",
    lambda: {
        "relative_position_index": part("beit", "BeitRelativePositionBias").generate_relative_position_index((4, 4))
    },
)
table(
    "llama4 text complex",
    ("rope:dim=64,base=500000,layout=complex", "complex:dim=64,base=500000"),
    lambda: {
        "freqs_cis": part("llama4", "Llama4TextRotaryEmbedding")(
            config("llama4_text", head_dim=64, rope_parameters={"rope_type": "default", "rope_theta": 500000.0})
        )(torch().zeros(1, 1, 8), torch().arange(100)[None])
    },
)


# Storing


def _array(value: Any) -> tuple[np.ndarray, bool]:
    """Return an array, and whether its values are bfloat16 (then as float32)."""
    if hasattr(value, "detach"):
        value = value.detach()
        narrow = str(value.dtype) == "torch.bfloat16"
        return (value.float() if narrow else value).numpy(), narrow
    value = np.asarray(value)
    narrow = str(value.dtype) == "bfloat16"
    return (value.astype(np.float32) if narrow else value), narrow


def store(made: Made, folder: Path) -> dict[str, Any]:
    """Make one table and write it, and return its row of the manifest."""
    arrays = {name: _array(value) for name, value in made.make().items()}
    narrow = any(flag for _, flag in arrays.values())
    stem = "".join(c if c.isalnum() else "-" for c in made.name.lower())
    name = f"{stem}.{'safetensors' if narrow else 'npz'}"
    values = {key: np.ascontiguousarray(array) for key, (array, _) in arrays.items()}
    if narrow:
        write_safetensors(folder / name, values, bfloat16=True)
    else:
        np.savez_compressed(folder / name, **values)
    how = " ".join(inspect.getsource(made.make).split())
    how = how.partition("lambda: ")[2].removesuffix(")") or how
    shapes = {key: [*array.shape, "bfloat16" if narrow else str(array.dtype)] for key, array in values.items()}
    digest = hashlib.sha256(b"".join(array.tobytes() for array in values.values())).hexdigest()[:16]
    return {"name": made.name, "file": name, "truth": made.truth, "made": how, "arrays": shapes, "digest": digest}


def main(folder: Path, only: str = "") -> None:
    """Make every table; one that cannot be made here keeps its row and its file."""
    (folder / "data").mkdir(exist_ok=True)
    manifest = folder / "tables.json"
    rows = {row["name"]: row for row in json.loads(manifest.read_text())} if manifest.exists() else {}
    rows = {made.name: rows[made.name] for made in MADE if made.name in rows}
    for made in MADE:
        if only and only not in made.name:
            continue
        try:
            rows[made.name] = store(made, folder / "data")
        except Exception as error:
            print(f"{made.name}: {type(error).__name__}: {str(error)[:200]}", file=sys.stderr)
    wanted = {row["file"] for row in rows.values()}
    for path in (folder / "data").iterdir():
        if path.name not in wanted:
            path.unlink()
    manifest.write_text(json.dumps([rows[made.name] for made in MADE if made.name in rows], indent=1) + "\n")
    print(
        f"{len(rows)} of {len(MADE)} tables, {sum((folder / 'data' / f).stat().st_size for f in wanted) / 1e6:.2f} MB"
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE, sys.argv[2] if len(sys.argv) > 2 else "")
