"""Mistakes people make, right tables that must not be called wrong, and wrong kernels."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.reallife.build import (
    F16,
    F32,
    F64,
    Arrays,
    alibi,
    angles,
    axes_angles,
    bf16,
    cache,
    deberta_index,
    distance,
    dynamic_base,
    each,
    edit,
    grid_waves,
    half,
    inv32,
    inv64,
    llama3,
    ntk_base,
    rope,
    rope64,
    rotate,
    shaw_index,
    sinusoid,
    slopes,
    swin_index,
    t5_index,
    waves,
    widen,
    yarn,
)
from tests.reallife.cases import applied, mistake, right

LLAMA31 = "rope:dim=128,base=500000,scaling=llama3,factor=8,original-max=8192"
YARN = "rope:dim=128,base=1000000,scaling=yarn,factor=4,original-max=32768"
M4 = 0.1 * math.log(4) + 1


def random(*shape: int, seed: int = 0) -> np.ndarray:
    """Normal float32 values."""
    return np.random.default_rng(seed).normal(size=shape).astype(F32)


def cs(angle: np.ndarray) -> Arrays:
    """Cos and sin of angles."""
    return {"cos": np.cos(angle), "sin": np.sin(angle)}


def streams(t: int, h: int, w: int) -> np.ndarray:
    """Three position streams of a grid."""
    return np.stack([g.ravel() for g in np.meshgrid(np.arange(t), np.arange(h), np.arange(w), indexing="ij")])


def mrope(
    inv: np.ndarray, positions: np.ndarray, sections: tuple[int, ...], order: tuple[int, ...] = (0, 1, 2)
) -> np.ndarray:
    """Angles with chunked sections, each of its own stream."""
    which = np.repeat(order, sections)
    return positions[which].T.astype(inv.dtype) * inv


def causal(n: int, value: float = -np.inf) -> np.ndarray:
    """Causal mask that is added: 0, and the value for keys after the query."""
    return np.triu(np.full((n, n), value, F32), 1)


def numpy_rope(inv: np.ndarray, n: int) -> Arrays:
    """Cache of halves from frequencies."""
    return cache(inv, n)


# Wrong base

mistake("base 10000 for 500000", "rope:dim=128,base=500000", lambda: rope(128, 1024), ("base 10000", "500000"))
mistake("base 500000 for 10000", "rope:dim=64", lambda: rope(64, 2048, 5e5), ("base 500000", "10000"))
mistake(
    "base 10000 for 1e6 bfloat16",
    "rope:dim=128,base=1000000",
    lambda: each(rope(128, 512), bf16),
    ("base 10000", "1000000"),
    "bfloat16",
)
mistake(
    "base 10000 for 8e6 float16",
    "rope:dim=96,base=8000000",
    lambda: each(rope(96, 300), half),
    ("base 10000", "8000000"),
    "float16",
)
mistake(
    "base 100000 for 10000 interleaved",
    "rope:dim=64",
    lambda: rope(64, 700, 1e5, layout="interleaved"),
    ("base 100000", "10000"),
)
mistake(
    "base of complex cache",
    "rope:dim=128,base=500000",
    lambda: {"freqs_cis": np.exp(1j * angles(inv32(128), 300)).astype(np.complex64)},
    ("base 10000", "500000"),
)
mistake("sinusoid base 100", "sinusoidal:dim=64", lambda: sinusoid(200, 64, base=100.0), ("base 100", "10000"))
mistake(
    "sinusoid base 1000 float32",
    "sinusoidal:dim=128",
    lambda: sinusoid(512, 128, base=1000.0, dtype=F32),
    ("base 1000", "10000"),
)
mistake("base typo 1000", "rope:dim=64", lambda: rope(64, 256, 1000.0), ("base 1000", "10000"))
mistake("base 500000 float32 as 5e5+1", "rope:dim=128,base=500000", lambda: rope64(128, 4096, 500001.0), "base 500001")

# Scaling forgotten, doubled or other

mistake("llama3 forgotten", LLAMA31, lambda: rope(128, 2048, 5e5), ("llama3", "missing|without|unscaled|none|expected"))
mistake(
    "llama3 where plain was expected",
    "rope:dim=128,base=500000",
    lambda: cache(llama3(inv32(128, 5e5)), 1024),
    "llama3",
    "scaling",
)
mistake("llama3 factor 32 for 8", LLAMA31, lambda: cache(llama3(inv32(128, 5e5), 32), 1024), ("factor 32", "8"))
mistake(
    "llama3 twice",
    LLAMA31,
    lambda: cache(llama3(llama3(inv32(128, 5e5))), 1024),
    ("llama3|scaling", "twice|two times|second time"),
)
mistake(
    "llama3 of 4096 for 8192",
    LLAMA31,
    lambda: cache(llama3(inv32(128, 5e5), original=4096), 2048),
    ("original-max|original length", "4096"),
    "scaling",
)
mistake(
    "llama3 high 2 for 4",
    LLAMA31,
    lambda: cache(llama3(inv32(128, 5e5), high=2), 2048),
    ("high-freq-factor", "2"),
    "scaling",
)
mistake("llama3 as linear 8", LLAMA31, lambda: cache(inv32(128, 5e5) / F32(8), 1024), ("linear", "llama3"))
mistake(
    "llama3 no smooth band",
    LLAMA31,
    lambda: cache(np.where(2 * math.pi / inv32(128, 5e5) > 8192 / 2, inv32(128, 5e5) / F32(8), inv32(128, 5e5)), 1024),
    "smooth|ramp|band|low-freq-factor|high-freq-factor|between|pair|column",
    "scaling",
)
mistake(
    "linear 4 forgotten",
    "rope:dim=128,scaling=linear,factor=4",
    lambda: rope(128, 1024),
    ("linear|factor|scaling", "missing|without|unscaled|none|expected"),
    "positions",
)
mistake(
    "linear 2 for 4",
    "rope:dim=128,scaling=linear,factor=4",
    lambda: rope(128, 512, step=0.5),
    "factor 2|step|linear",
    "scaling positions",
)
mistake(
    "linear the wrong way",
    "rope:dim=64,scaling=linear,factor=4",
    lambda: rope(64, 256, step=4),
    "factor 0.25|multiplied|step 4|inverse|linear",
    "scaling positions magnitude sign",
)
mistake(
    "linear twice",
    "rope:dim=64,scaling=linear,factor=4",
    lambda: rope(64, 512, step=1 / 16),
    "factor 16|twice|linear",
    "scaling positions",
)
mistake(
    "ntk forgotten",
    "rope:dim=128,scaling=ntk,factor=4",
    lambda: rope(128, 512),
    ("ntk|scaling|base 10000",),
    "scaling base",
)
mistake(
    "ntk exponent without -2",
    "rope:dim=64,scaling=ntk,factor=8",
    lambda: rope(64, 512, 10000.0 * 8),
    ("base 80000|ntk|factor",),
    "base scaling",
)
mistake(
    "dynamic not updated",
    "rope:dim=64,scaling=dynamic,factor=2,max-position=2048,seq-len=8192",
    lambda: rope(64, 8192),
    "dynamic|scaling|seq-len|base",
    "base scaling",
)
mistake(
    "dynamic of 4096 for 8192",
    "rope:dim=64,scaling=dynamic,factor=2,max-position=2048,seq-len=8192",
    lambda: rope(64, 1024, dynamic_base(10000.0, 2, 64, 4096, 2048)),
    "seq-len|4096|dynamic|base",
    "base scaling",
)
mistake(
    "yarn without attention factor",
    YARN,
    lambda: cache(yarn(128, 1e6, 4, 32768), 512),
    ("magnitude|attention factor|mscale",),
    "zero",
)
mistake(
    "yarn factor squared on cos and sin",
    YARN,
    lambda: cache(yarn(128, 1e6, 4, 32768), 512, magnitude=M4**2),
    ("magnitude|attention factor|mscale",),
    "repeat",
)
mistake(
    "yarn magnitude without yarn",
    YARN,
    lambda: cache(inv32(128, 1e6), 512, magnitude=M4),
    ("yarn|scaling|frequenc",),
    "scaling magnitude",
)
mistake(
    "yarn ramp not rounded",
    YARN,
    lambda: cache(yarn(128, 1e6, 4, 32768, truncate=False), 2048, magnitude=M4),
    ("truncat|rounded|ramp",),
    "scaling",
)
for _how, _ends in (("inwards", (math.ceil, math.floor)), ("to the nearest index", (round, round))):
    mistake(
        f"yarn ramp rounded {_how}", YARN,
        lambda ends=_ends: cache(yarn(128, 1e6, 4, 32768, ends=ends), 512, magnitude=M4),
        f"ends of the ramp are rounded {_how}", "scaling", never="original-max|beta",
    )  # fmt: skip
mistake(
    "yarn betas exchanged",
    YARN,
    lambda: cache(yarn(128, 1e6, 4, 32768, swapped=True), 512, magnitude=M4),
    ("ramp|beta|exchang|swap|revers|other way|inver",),
    "scaling exchange sign order",
)
mistake(
    "yarn of original 4096 for 32768",
    YARN,
    lambda: cache(yarn(128, 1e6, 4, 4096), 1024, magnitude=M4),
    ("original-max|original length", "4096"),
    "scaling",
)
mistake(
    "yarn factor 8 for 4",
    YARN,
    lambda: cache(yarn(128, 1e6, 8, 32768), 1024, magnitude=0.1 * math.log(8) + 1),
    ("factor 8", "4"),
    "scaling magnitude",
)
mistake(
    "yarn as linear",
    YARN,
    lambda: cache(inv32(128, 1e6) / F32(4), 512, magnitude=M4),
    ("linear|every frequency|all frequencies",),
    "scaling magnitude",  # which is as expected, and said to be
)
mistake(
    "yarn as llama3", YARN, lambda: cache(llama3(inv32(128, 1e6), 4, 1, 4, 32768), 512), ("llama3", "yarn"), "magnitude"
)
mistake(
    "longrope short for long",
    "rope:dim=16,scaling=longrope,factor=32,original-max=4096,seq-len=8192,short-factor=1+1.1+1.2+1.3+1.4+1.5+1.6+1.7,long-factor=1+2+4+8+16+24+32+48",
    lambda: cache(
        inv32(16) / np.array([1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7], F32),
        256,
        magnitude=math.sqrt(1 + math.log(32) / math.log(4096)),
    ),
    ("short", "long"),
    "scaling",
)
mistake(
    "longrope forgotten",
    "rope:dim=16,scaling=longrope,factor=32,original-max=4096,seq-len=8192,short-factor=1+1.1+1.2+1.3+1.4+1.5+1.6+1.7,long-factor=1+2+4+8+16+24+32+48",
    lambda: rope(16, 256),
    ("longrope|scaling|long-factor",),
    "scaling magnitude",
)
mistake(
    "longrope magnitude missing",
    "rope:dim=16,scaling=longrope,factor=32,original-max=4096,seq-len=8192,short-factor=1+1.1+1.2+1.3+1.4+1.5+1.6+1.7,long-factor=1+2+4+8+16+24+32+48",
    lambda: cache(inv32(16) / np.array([1, 2, 4, 8, 16, 24, 32, 48], F32), 256),
    ("magnitude|attention factor",),
    "scaling",
)

# Magnitude, sign, exchange

mistake(
    "cos and sin exchanged",
    "rope:dim=64",
    lambda: (lambda a: {"cos": a["sin"], "sin": a["cos"]})(rope()),
    "exchang|swap|each other",
)
mistake(
    "sine negated",
    "rope:dim=64",
    lambda: (lambda a: {"cos": a["cos"], "sin": -a["sin"]})(rope()),
    ("sin", "negat|sign|other way|opposite|backwards|minus"),
    "positions sign",
)
mistake(
    "complex conjugated",
    "rope:dim=64",
    lambda: {"freqs_cis": np.exp(-1j * angles(inv32(64), 256)).astype(np.complex64)},
    "conjug|negat|sign|other way|opposite|backwards|minus",
    "positions sign",
)
mistake(
    "halved values",
    "rope:dim=64",
    lambda: each(rope(), lambda a: a * F32(0.5)),
    ("0\\.5|half|halv",),
    "magnitude layout",
)
mistake(
    "sqrt of d on the table",
    "sinusoidal:dim=64",
    lambda: sinusoid(128, 64) * 8,
    ("\\b8\\b", "multipl|times|amplitude|factor|magnitude|scale"),
    "magnitude scaling",
)
mistake(
    "sin in both arrays",
    "rope:dim=64",
    lambda: (lambda a: {"cos": a["sin"], "sin": a["sin"]})(rope()),
    ("cos", "sin"),
    "exchange repeat positions",
    about="the array cos holds the sines",
)
mistake(
    "cos in both arrays",
    "rope:dim=64",
    lambda: (lambda a: {"cos": a["cos"], "sin": a["cos"]})(rope()),
    ("cos", "sin"),
    "exchange repeat positions",
)
mistake(
    "sinusoid cos first",
    "sinusoidal:dim=64",
    lambda: (lambda a: np.stack([np.cos(a), np.sin(a)], -1).reshape(128, 64))(angles(inv64(64), 128)),
    "exchang|swap|cos.*first|order|cosine",
    "order exchange",
)
mistake(
    "sinusoid halves for interleaved",
    "sinusoidal:dim=64",
    lambda: sinusoid(128, 64, order="sin-cos"),
    "sin-cos|halves|all sines|interleaved|order",
    "order layout",
)
mistake(
    "sinusoid interleaved for halves",
    "sinusoidal:dim=64,order=sin-cos",
    lambda: sinusoid(128, 64),
    "interleaved|order|sin-cos",
    "order layout",
)
mistake(
    "sinusoid cos-sin for sin-cos",
    "sinusoidal:dim=64,order=sin-cos",
    lambda: sinusoid(128, 64, order="cos-sin"),
    "cos-sin|exchang|swap|cos.*first|order",
    "order exchange",
)

# Positions

mistake(
    "positions from 1 float64 sinusoid",
    "sinusoidal:dim=64",
    lambda: sinusoid(100, 64, start=1),
    ("1", "start|position|shift|first|offset|row"),
    "positions",
)
mistake(
    "cache restarted at a chunk",
    "rope:dim=64",
    lambda: rope(64, 512, positions=np.r_[0:256, 0:256]),
    ("256", "again|restart|repeat|start|begin|from"),
    "repeat positions",
)
mistake(
    "positions clamped at 255",
    "rope:dim=64",
    lambda: rope(64, 400, positions=np.minimum(np.arange(400), 255)),
    ("255|256", "clamp|repeat|stay|last|same|stop|constant"),
    "repeat positions",
)
mistake(
    "left padding of 10",
    "rope:dim=64",
    lambda: rope(64, 256, positions=np.maximum(np.arange(256) - 10, 0)),
    ("10", "pad|position|start|shift|later|earlier|row"),
    "positions repeat missing order",
)
mistake(
    "step 2",
    "rope:dim=64",
    lambda: rope(64, 256, step=2),
    ("2", "step|position|apart|every|factor"),
    "positions scaling missing",
)
mistake(
    "positions divided by the length",
    "sinusoidal:dim=64",
    lambda: sinusoid(128, 64, step=1 / 128),
    ("128|0\\.0078125", "step|divided|scale|position|factor"),
    "positions scaling magnitude",
)
mistake(
    "float16 positions above 2048",
    "rope:dim=64",
    lambda: cache(inv32(64), 4096, positions=np.arange(4096).astype(F16)),
    ("float16", "2048|2049|position|phase"),
    "float16 positions",
)
mistake(
    "one row twice",
    "rope:dim=64",
    lambda: each(rope(64, 256), lambda a: np.insert(a, 100, a[100], 0)[:256]),
    ("100|101", "repeat|twice|again|row|position"),
    "positions repeat missing order",
)
mistake(
    "one row lost",
    "rope:dim=64",
    lambda: each(rope(64, 257), lambda a: np.delete(a, 100, 0)),
    ("100", "missing|lost|skip|left out|row|position|drop"),
    "positions repeat missing order",
)
mistake(
    "two rows exchanged",
    "rope:dim=64",
    lambda: each(rope(64, 256), lambda a: a[np.r_[0:50, 60, 51:60, 50, 61:256]]),
    ("50", "60", "exchang|swap|order|row|moved"),
    "exchange order positions",
)
mistake(
    "rows shuffled",
    "rope:dim=64",
    lambda: each(rope(64, 256), lambda a: a[np.random.default_rng(3).permutation(256)]),
    "shuffl|permut|order|moved",
    "order positions exchange",
)
mistake(
    "even rows alone",
    "sinusoidal:dim=64",
    lambda: sinusoid(256, 64)[::2],
    ("2", "step|every|second|other row|apart"),
    "positions missing scaling",
)
mistake(
    "positions modulo 512",
    "rope:dim=128",
    lambda: rope(128, 1024, positions=np.arange(1024) % 512),
    ("512", "again|wrap|repeat|modul|restart|start|begin"),
    "repeat positions",
)

# Layout

mistake("interleaved for half", "rope:dim=64,layout=half", lambda: rope(layout="interleaved"), "interleaved", "layout")
mistake(
    "split halves tiled wrongly",
    "rope:dim=64,layout=half",
    lambda: each(rope(layout="split"), lambda a: np.concatenate([a, a[:, ::-1]], -1)),
    "revers|order|column|half",
    "order layout",
)
mistake(
    "cos transposed",
    "rope:dim=64",
    lambda: each(rope(64, 300), lambda a: a.T.copy()),
    "transpos|rows and columns",
    "exchange transposed",
)
mistake(
    "sinusoid transposed",
    "sinusoidal:dim=64",
    lambda: sinusoid(100, 64).T.copy(),
    "transpos|rows and columns",
    "exchange transposed",
)
mistake(
    "reshape instead of transpose",
    "sinusoidal:dim=64",
    lambda: sinusoid(100, 64).T.copy().reshape(100, 64),
    "transpos|reshape",
    "transposed",
)
mistake(
    "columns reversed",
    "rope:dim=64",
    lambda: cache(inv32(64)[::-1].copy(), 256),
    "revers|backward|slow.*first|order",
    "order",
)
mistake(
    "columns rolled by one",
    "rope:dim=64,layout=split",
    lambda: each(rope(64, 256, layout="split"), lambda a: np.roll(a, 1, 1)),
    "roll|shift|moved|column|cyclic",
    "order positions repeat",
)
mistake(
    "two columns exchanged",
    "rope:dim=64,layout=split",
    lambda: each(rope(64, 256, layout="split"), lambda a: a[:, np.r_[0:5, 9, 6:9, 5, 10:32]]),
    ("5", "9"),
    "exchange order",
)

# Width and exponent

mistake(
    "exponent over the head instead of the rotary width",
    "rope:dim=16",
    lambda: cache((F32(1) / F32(10000) ** (np.arange(0, 16, 2, dtype=F32) / F32(64))), 256),
    ("64|proportional|exponent|base 10",),
    "width scaling base",
)
mistake(
    "exponent over half the width",
    "rope:dim=64",
    lambda: cache(inv32(64) ** F32(2), 256),
    ("exponent|base 100000000|1e\\+?08|twice|4i",),
    "base",
)
mistake(
    "exponent i over d",
    "rope:dim=64",
    lambda: cache(np.sqrt(inv32(64)), 256),
    ("exponent|base 100\\b|half",),
    "base layout",
)
mistake(
    "exponent over d - 1",
    "sinusoidal:dim=64",
    lambda: waves(angles(10000.0 ** (-np.arange(0, 64, 2) / 63), 256)),
    ("63|d - 1|dim - 1|exponent",),
    "spacing base positions",
)
mistake(
    "endpoint spacing",
    "sinusoidal:dim=64",
    lambda: sinusoid(256, 64, shift=1),
    "endpoint|spacing|d/2 - 1|dim/2 - 1",
    "spacing",
)
mistake(
    "2i over every column",
    "sinusoidal:dim=64",
    lambda: (
        lambda w: np.where(np.arange(64) % 2, np.cos(np.outer(np.arange(128), w)), np.sin(np.outer(np.arange(128), w)))
    )(10000.0 ** (-2 * np.arange(64) / 64)),
    ("exponent 2j/d", "different frequencies"),
    "spacing",
)
mistake(
    "i over every column",
    "sinusoidal:dim=64",
    lambda: (
        lambda w: np.where(np.arange(64) % 2, np.cos(np.outer(np.arange(128), w)), np.sin(np.outer(np.arange(128), w)))
    )(10000.0 ** (-np.arange(64) / 64)),
    "exponent",
    "spacing",
)
mistake(
    "2 * (i // 2) forgotten for even",
    "sinusoidal:dim=32",
    lambda: (
        lambda w: np.where(np.arange(32) % 2, np.cos(np.outer(np.arange(64), w)), np.sin(np.outer(np.arange(64), w)))
    )(10000.0 ** (-2 * (np.arange(32) // 2 + np.arange(32) % 2) / 32)),
    "exponent",
    "spacing",
)
mistake(
    "integer division in the exponent",
    "sinusoidal:dim=64",
    lambda: waves(angles(10000.0 ** -(np.arange(0, 64, 2) // 64).astype(F64), 64)),
    "frequenc|same|equal|exponent|base|//|integer",
    "base repeat",
)
mistake(
    "degrees",
    "sinusoidal:dim=64",
    lambda: waves(angles(inv64(64), 128) * math.pi / 180),
    "degree|180|0\\.0174",
    "degrees scaling positions",
)
mistake(
    "2 pi in the angle",
    "sinusoidal:dim=64",
    lambda: waves(angles(inv64(64), 128) * 2 * math.pi),
    "2 pi|2π|6\\.28|turn",
    "degrees scaling positions",
)
mistake("head count for head width", "rope:dim=128", lambda: rope(64, 128), ("64", "dim|width|column"), "width")
mistake(
    "log base 2 for ln",
    "sinusoidal:dim=64",
    lambda: waves(angles(np.exp(-np.arange(0, 64, 2) * math.log2(10000) / 64), 128)),
    "base|log",
    "base",
)

# Precision

mistake(
    "cache in float16 for float32",
    "rope:dim=64,dtype=float32",
    lambda: each(rope(), lambda a: half(a).astype(F32)),
    "float16|half",
    "float16",
)
mistake(
    "inv_freq in bfloat16",
    "rope:dim=64",
    lambda: cache(bf16(inv32(64)), 1024),
    ("bfloat16", "frequenc|inv_freq"),
    "bfloat16",
)
mistake(
    "phases in bfloat16",
    "rope:dim=64",
    lambda: cs(widen(bf16(np.multiply.outer(bf16(np.arange(1024)), bf16(inv32(64)))), "half")),
    ("bfloat16", "phase|angle|frequenc|computed"),
    "bfloat16 positions",
)
mistake(
    "phases in float16",
    "rope:dim=64",
    lambda: cs(widen(angles(inv32(64), 512).astype(F16).astype(F32), "half")),
    ("float16|half", "phase|angle|computed"),
    "float16 positions",
)
mistake(
    "rounded to 2 decimals", "sinusoidal:dim=32", lambda: np.round(sinusoid(50, 32), 2), "decimal|digits|rounded", ""
)
mistake(
    "truncated to 3 decimals",
    "sinusoidal:dim=32",
    lambda: np.trunc(sinusoid(50, 32) * 1000) / 1000,
    "decimal|digits|cut|truncat",
    "",
)
mistake(
    "saturated to int8",
    "sinusoidal:dim=32",
    lambda: np.round(sinusoid(50, 32) * 127) / 127,
    "127|quantis|quantiz|int8|steps? of|multiples",
    "",
)

# Damage

mistake("one NaN", "rope:dim=64", lambda: edit(rope(), (300, 7), np.nan), ("nan", "300"), "nan")
mistake(
    "one value wrong", "rope:dim=64", lambda: edit(rope(), (300, 7), 0.25), ("300", "7|1 value|one value|2 value"), ""
)
mistake("one row zero", "rope:dim=64", lambda: edit(rope(), 77, 0), ("77", "zero|\\b0\\b"), "zero")
mistake("one column zero", "rope:dim=64", lambda: edit(rope(), (slice(None), 5), 0), ("5", "zero|\\b0\\b"), "zero")
mistake(
    "rows from 256 of another base",
    "rope:dim=64",
    lambda: {
        k: np.concatenate([a[:256], b[256:]])
        for (k, a), b in zip(rope().items(), rope(64, 512, 5e5).values(), strict=True)
    },
    ("256", "base 500000|row"),
    "base",
)
mistake(
    "offset of 1 on sin",
    "rope:dim=64",
    lambda: (lambda a: {"cos": a["cos"], "sin": a["sin"] + 1})(rope()),
    ("sin", "1", "added|offset|larger|more|plus|\\+"),
    "positions",
)
mistake("infinity at the end", "rope:dim=64", lambda: edit(rope(), (511, 63), np.inf), ("inf", "511"), "nan")
mistake(
    "fewer rows than asked for",
    "rope:dim=64,len=512",
    lambda: rope(64, 433),
    ("433|79", "row|missing|shorter|fewer"),
    "missing",
)
mistake(
    "random table for a sinusoid",
    "sinusoidal:dim=64",
    lambda: random(128, 64) * F32(0.02),
    "random|normal|drawn|trained|learned",
    "noise",
)

# ALiBi

mistake(
    "alibi paper slopes at 12 heads",
    "alibi:heads=12",
    lambda: alibi(12, 24, slope=2.0 ** (-8 * np.arange(1, 13) / 12)),
    ("slope", "paper|8h/H|heads 8|2\\^"),
    "slopes heads",
)
mistake("alibi sign", "alibi:heads=8", lambda: -alibi(8, 24), "sign|negat|positive", "sign slopes")
mistake(
    "alibi not causal where causal", "alibi:heads=8,mask=causal", lambda: alibi(8, 24), "mask|-inf|infinit", "mask nan"
)
mistake("alibi bias max 16", "alibi:heads=8", lambda: alibi(8, 24, slope=slopes(8, 16)), "bias-max|slope|16", "slopes")
mistake(
    "alibi slopes from h = 0",
    "alibi:heads=8",
    lambda: alibi(8, 24, slope=2.0 ** -np.arange(8)),
    "slope|2 times|twice|doubled",
    "slopes magnitude",
)
mistake(
    "alibi scaled by 1/sqrt(d)",
    "alibi:heads=8",
    lambda: alibi(8, 24) / F32(8),
    ("0\\.125|1/8|\\b8\\b", "multipl|divid|scale|times|factor|slope"),
    "slopes magnitude scaling",
)
mistake(
    "alibi heads reversed",
    "alibi:heads=8",
    lambda: alibi(8, 24)[::-1].copy(),
    "revers|order|slope|backward",
    "slopes order heads",
)
mistake(
    "alibi bloom positions for distances",
    "alibi:heads=8",
    lambda: (slopes(8)[:, None, None] * np.broadcast_to(np.arange(24), (24, 24))).astype(F32),
    "key-position|bloom|key position",
    "slopes positions sign",
)
mistake(
    "alibi slopes in bfloat16",
    "alibi:heads=12",
    lambda: alibi(12, 24, slope=bf16(slopes(12))),
    ("bfloat16", "slope"),
    "slopes bfloat16",
)
mistake(
    "alibi of rank 1's heads",
    "alibi:heads=16",
    lambda: alibi(8, 24, slope=slopes(16)[8:]),
    ("head", "8"),
    "slopes heads missing",
)
mistake(
    "alibi squared distance",
    "alibi:heads=4",
    lambda: (-slopes(4)[:, None, None] * distance(24) ** 2).astype(F32),
    "squar|power|distance",
    "slopes",
)
mistake(
    "alibi distance off by one",
    "alibi:heads=4",
    lambda: (-slopes(4)[:, None, None] * (distance(24) + 1)).astype(F32),
    "1|offset|distance|added|constant|slope",
    "slopes positions",
)

mistake(
    "alibi finfo.min for -inf, an attention mask that was added",
    "alibi:heads=8,mask=causal",
    lambda: np.maximum(alibi(8, 24) + causal(24, np.finfo(F32).min), np.finfo(F32).min),
    "masked|softmax|-inf",
    "mask nan",
)
mistake(
    "alibi with a causal mask added",
    "alibi:heads=8",
    lambda: alibi(8, 40) + causal(40),
    "causal mask",
    "mask nan slopes",
)
mistake(
    "alibi of every fourth head, as strided ranks have",
    "alibi:heads=32",
    lambda: alibi(8, 24, slope=slopes(32)[1::4]),
    "every 4th head",
    "slopes heads missing order",
)
mistake(
    "alibi row of the padding zero",
    "alibi:heads=4",
    lambda: edit({"bias": alibi(4, 32)}, np.s_[:, 31], 0)["bias"],
    ("31", "zero"),
    "slopes",
)
mistake(
    "alibi sign under a causal mask",
    "alibi:heads=8,mask=causal",
    lambda: causal(24) - alibi(8, 24),
    "sign",
    "slopes nan",
)

# Buckets and indices

mistake(
    "t5 causal for bidirectional",
    "t5:bidirectional=true",
    lambda: {"index": t5_index(64, both=False)},
    "bidirectional|causal|one side|one-sided",
    "buckets mask",
)
mistake(
    "t5 max distance 256",
    "t5:bidirectional=true",
    lambda: {"index": t5_index(200, maximum=256)},
    ("max-distance", "256"),
    "buckets",
)
mistake(
    "t5 64 buckets", "t5:bidirectional=true", lambda: {"index": t5_index(200, buckets=64)}, ("buckets", "64"), "buckets"
)
mistake(
    "t5 query minus key",
    "t5:bidirectional=true",
    lambda: {"index": t5_index(64).T.copy()},
    "transpos|query|sign|side|swap|exchang",
    "buckets transposed sign exchange",
)
mistake(
    "swin index of transposed window",
    "window:grid=7x7",
    lambda: {"index": swin_index(7, 7).T.copy()},
    "transpos|query|key|sign|exchang|swap",
    "transposed sign exchange",
)
mistake(
    "swin index of x first",
    "window:grid=4x6",
    lambda: {"index": (lambda i: i.reshape(6, 4, 6, 4).transpose(1, 0, 3, 2).reshape(24, 24))(swin_index(6, 4))},
    "column|axis|order|window|grid|row|6x4|transpos",
    "grid order transposed exchange",
)
mistake("shaw clip 8 for 16", "shaw:dim=4,clip=16", lambda: {"index": shaw_index(40, 8)}, ("clip", "8"), "repeat")
mistake(
    "shaw query minus key",
    "shaw:dim=4,clip=8",
    lambda: {"index": shaw_index(40, 8).T.copy()},
    "transpos|query|sign|revers|negat|exchang|swap|backward",
    "transposed sign order exchange",
)
mistake(
    "deberta buckets 128",
    "deberta:buckets=256,max-distance=512",
    lambda: {"index": deberta_index(300, buckets=128)},
    ("bucket", "128"),
    "buckets",
)
mistake(
    "deberta unbucketed",
    "deberta:buckets=256,max-distance=512",
    lambda: {"index": np.subtract.outer(np.arange(300), np.arange(300))},
    "bucket|distance",
    "buckets",
)

mistake(
    "swin index without the height's offset",
    "window:grid=7x7",
    lambda: {"index": swin_index(7, 7) - 6 * 13},
    "78 is subtracted",
    "positions",
)
mistake(
    "shaw clip not shifted to 0",
    "shaw:dim=4,clip=16",
    lambda: {"index": shaw_index(40, 16) - 16},
    "16 is subtracted",
    "",
)

# Grids

mistake(
    "vit sincos of rows and columns exchanged",
    "sincos2d:dim=64,grid=8x8",
    lambda: grid_waves(8, 8, 64, order="yx"),
    "height and width are exchanged",
    "grid order",
)
mistake(
    "class token's row missing",
    "sincos2d:dim=64,grid=7x7,prefix=1",
    lambda: grid_waves(7, 7, 64),
    "class token",
    "missing grid",
)
mistake(
    "flux axes in another order",
    "rope-axes:axes=16+56+56,grid=2x6x8",
    lambda: cs(axes_angles([56, 56, 16], [2, 6, 8])),
    "axis widths 56",
    "grid width order",
)
mistake(
    "sincos2d grid transposed",
    "sincos2d:dim=64,grid=6x8",
    lambda: grid_waves(8, 6, 64),
    "grid|8x6|transpos|axis|axes",
    "grid order transposed exchange",
)
mistake(
    "sincos2d interleaved",
    "sincos2d:dim=64,grid=6x8",
    lambda: (
        lambda y, x: np.concatenate(
            [waves(np.multiply.outer(x.ravel(), inv64(32))), waves(np.multiply.outer(y.ravel(), inv64(32)))], 1
        )
    )(*np.meshgrid(np.arange(6.0), np.arange(8.0), indexing="ij")),
    "interleaved|order",
    "layout order",
)
mistake(
    "wan axes in another order",
    "rope-axes:axes=44+42+42,grid=3x4x5",
    lambda: cs(axes_angles([42, 42, 44], [3, 4, 5])),
    "axes|axis|width|42",
    "grid width order exchange",
)
mistake(
    "mrope sections h and w exchanged",
    "mrope:dim=64,sections=8+12+12,sequence=2x4x6",
    lambda: cs(mrope(inv64(64), streams(2, 4, 6), (8, 12, 12), (0, 2, 1))),
    "section|stream|exchang|swap|order|axis|axes|h and w",
    "sections exchange order grid",
)
mistake(
    "mrope ignored as text",
    "mrope:dim=64,sections=8+12+12,sequence=2x4x6",
    lambda: cs(angles(inv32(64), 48)),
    "rope|text|section|stream|position",
    "sections positions grid",
)
mistake(
    "mrope t of all streams",
    "mrope:dim=64,sections=8+12+12,sequence=2x4x6",
    lambda: cs(mrope(inv32(64), streams(2, 4, 6), (8, 12, 12), (0, 0, 0))),
    "section|stream|position|\\bt\\b|frame",
    "sections positions grid",
)

# Right tables

right("rope float32 for its recipe", "rope:dim=64", lambda: rope())
right("rope float32 base 500000 131072 rows", "rope:dim=128,base=500000", lambda: rope(128, 32768, 5e5))
right("rope float64", "rope:dim=64", lambda: rope64())
right("rope float64 rounded to float32", "rope:dim=64", lambda: rope64(dtype=F32))
right("rope interleaved", "rope:dim=64", lambda: rope(layout="interleaved"))
right("rope split", "rope:dim=64", lambda: rope(layout="split"))
right("rope concat", "rope:dim=64", lambda: {"cache": waves(angles(inv32(64), 200), "cos-sin")})
right("rope sin cos", "rope:dim=64", lambda: {"cache": waves(angles(inv32(64), 200), "sin-cos")})
right("rope complex", "rope:dim=64", lambda: {"freqs_cis": np.exp(1j * angles(inv64(64), 200)).astype(np.complex64)})
right("rope angles doubled", "rope:dim=64", lambda: {"freqs": widen(angles(inv32(64), 200), "half")[:, None, None]})
right("rope llama3 float32", LLAMA31, lambda: cache(llama3(inv32(128, 5e5)), 4096))
right("rope llama3 float64", LLAMA31, lambda: cache(llama3(inv64(128, 5e5)), 2048))
right("rope yarn float32", YARN, lambda: cache(yarn(128, 1e6, 4, 32768), 2048, magnitude=M4))
right("rope linear float32", "rope:dim=64,scaling=linear,factor=4", lambda: rope(64, 777, step=0.25))
right("rope linear by frequencies", "rope:dim=64,scaling=linear,factor=3", lambda: cache(inv32(64) / F32(3), 777))
right("rope ntk", "rope:dim=128,scaling=ntk,factor=4", lambda: rope(128, 600, ntk_base(10000.0, 4, 128)))
right("rope float16", "rope:dim=64,dtype=float16", lambda: each(rope(64, 300), half), "float16")
mistake(
    "sinusoid with cosines in the even columns, by exp",
    "sinusoidal:dim=96,base=20000",
    lambda: waves(angles(np.exp(np.arange(48, dtype=F32) * F32(-math.log(2e4) / 48)), 150))[:, np.arange(96) ^ 1],
    ("exchang",),
    "exchange",
)
mistake(
    "base of another model",
    "rope:dim=64,base=1000000",
    lambda: rope(64, 300, 1000.0),
    (r"base 1000\b.*1000000",),
    never="exponent",
)
mistake(
    "dropout on a rotary cache",
    "rope:dim=96",
    lambda: each(
        rope(96, 80), lambda a: (a * (np.random.default_rng(8).random(a.shape) > 0.25) / F32(0.75)).astype(F32)
    ),
    ("dropout", r"0\.25"),
    "noise zero magnitude",
    never=r"p = (?!0\.25)",
)
mistake(
    "positions run on over packed texts",
    lambda: rope(64, 90, positions=np.concatenate([np.arange(25), np.arange(45), np.arange(20)])),
    lambda: rope(64, 90),
    (r"\b25\b", r"\b70\b"),
    "positions order repeat",
    never="missing",
)
right(
    "rope bfloat16 in float32", "rope:dim=64,dtype=bfloat16", lambda: each(rope64(64, 300, dtype=F32), bf16), "bfloat16"
)
right("rope lone sin float64", "rope:dim=64", lambda: {"sin": rope64()["sin"]})
right("rope leading axes", "rope:dim=64", lambda: each(rope(), lambda a: a[None, None]))
right("rope one head axis", "rope:dim=64", lambda: each(rope(), lambda a: a[:, None]))
right("rope batch of one", "rope:dim=96", lambda: each(rope(96, 33), lambda a: a[None]))
right("rope one row", "rope:dim=64", lambda: rope(64, 1))
right("rope two rows", "rope:dim=128,base=500000", lambda: rope(128, 2, 5e5))
right("rope shorter than its recipe", "rope:dim=64", lambda: rope(64, 7))
right("rope odd width of pairs", "rope:dim=66", lambda: rope(66, 100))
right("rope from 1000", "rope:dim=64,start=1000", lambda: rope(64, 100, start=1000))
right("rope from 100000", "rope:dim=64,start=100000", lambda: rope(64, 50, start=100000))
right(
    "rope exponential of a logarithm",
    "rope:dim=64",
    lambda: cache(np.exp(np.arange(0, 64, 2, dtype=F32) * F32(-math.log(10000) / 64)), 512),
)
right("rope wide 256 base 1e6", "rope:dim=256,base=1000000", lambda: rope(256, 1024, 1e6))
right("rope 16384 values of a rotation", "rope:dim=8", lambda: rope(8, 4096))
right("sinusoid float64", "sinusoidal:dim=64", lambda: sinusoid(256, 64))
right("sinusoid float32", "sinusoidal:dim=512", lambda: sinusoid(2048, 512, dtype=F32))
right("sinusoid rounded", "sinusoidal:dim=128", lambda: sinusoid(100, 128).astype(F32))
right(
    "sinusoid exponential",
    "sinusoidal:dim=128",
    lambda: waves(angles(np.exp(np.arange(0, 128, 2, dtype=F32) * F32(-math.log(10000.0) / 128)), 5000)),
)
right("sinusoid leading axis", "sinusoidal:dim=64", lambda: sinusoid(256, 64, dtype=F32)[None])
right("sinusoid n 1 d", "sinusoidal:dim=64", lambda: sinusoid(256, 64, dtype=F32)[:, None])
right(
    "sinusoid endpoint",
    "sinusoidal:dim=64,convention=tensor2tensor",
    lambda: sinusoid(256, 64, shift=1, order="sin-cos", dtype=F32),
)
right(
    "sinusoid sin-cos other order than default",
    "sinusoidal:dim=64,order=sin-cos",
    lambda: sinusoid(256, 64, order="sin-cos"),
)
right("sinusoid 3 rows", "sinusoidal:dim=4", lambda: sinusoid(3, 4))
right("sinusoid one row", "sinusoidal:dim=8", lambda: sinusoid(1, 8))
right("sinusoid float16", "sinusoidal:dim=64,dtype=float16", lambda: half(sinusoid(100, 64)), "float16")
right("alibi float64", "alibi:heads=8", lambda: alibi(8, 20, dtype=F64))
right("alibi float32 of 12 heads", "alibi:heads=12", lambda: alibi(12, 20))
right("alibi slopes", "alibi:heads=12", lambda: {"slopes": slopes(12).astype(F32)})
right("alibi bloom", "alibi:heads=8,convention=bloom", lambda: (slopes(8)[:, None, None] * np.arange(20)).astype(F32))
right(
    "alibi causal",
    "alibi:heads=4,mask=causal",
    lambda: np.where(np.tril(np.ones((20, 20), bool)), alibi(4, 20), -np.inf).astype(F32),
)
right("t5 index", "t5:bidirectional=true", lambda: {"index": t5_index(100)})
right("t5 index causal int32", "t5:bidirectional=false", lambda: {"index": t5_index(100, both=False).astype(np.int32)})
right("shaw index", "shaw:dim=4,clip=8", lambda: {"index": shaw_index(30, 8)})


def joined(sides: tuple[int, ...], axes: tuple[int, ...], *, matrices: bool = False) -> np.ndarray:
    """timm's [sines | cosines], each twice, or Flux's rotation matrices of 2 x 2, in one array."""
    angle = axes_angles(axes, sides)
    cos, sin = np.cos(angle).astype(F32), np.sin(angle).astype(F32)
    if matrices:
        return np.stack([cos, -sin, sin, cos], -1).reshape(1, *cos.shape, 2, 2)
    return np.concatenate([np.repeat(part, 2, -1) for part in (sin, cos)], -1)


mistake(
    "timm's rope in one array",
    "rope2d:dim=64,grid=8x8",
    lambda: joined((8, 8), (32, 32)),
    "sines, then cosines in one array",
    never="columns 0 to",
)
mistake(
    "timm's rope in one array, another grid",
    "rope2d:dim=64,grid=8x5",
    lambda: joined((5, 8), (32, 32)),
    "grid 5x8 where 8x5 was expected",
)
mistake(
    "rotation matrices of three axes",
    "rope-axes:axes=16+24+24,grid=2x6x7",
    lambda: joined((2, 6, 7), (16, 24, 24), matrices=True),
    "rotation matrix of 2 x 2",
)
right("sincos2d", "sincos2d:dim=64,grid=6x8", lambda: grid_waves(6, 8, 64))
right("sincos2d float32", "sincos2d:dim=128,grid=14x14", lambda: grid_waves(14, 14, 128).astype(F32))
right("flux axes", "rope-axes:axes=16+56+56,grid=1x8x8", lambda: each(cs(axes_angles([16, 56, 56], [1, 8, 8])), F32))
right(
    "mrope float32",
    "mrope:dim=64,sections=8+12+12,sequence=2x4x6",
    lambda: cs(mrope(inv32(64), streams(2, 4, 6), (8, 12, 12))),
)
right(
    "mrope float64",
    "mrope:dim=128,sections=16+24+24,base=1000000,sequence=1x8x8",
    lambda: cs(mrope(inv64(128, 1e6), streams(1, 8, 8), (16, 24, 24))),
)

right(
    "rope exponential of a logarithm, 24 pairs",
    "rope:dim=48",
    lambda: cache(np.exp(np.arange(0, 48, 2, dtype=F32) * F32(-math.log(10000.0) / 48)), 2000),
)

# Wrong kernels


def table(n: int = 32, d: int = 64, base: float = 10000.0, start: float = 0) -> tuple[np.ndarray, np.ndarray]:
    """Split cos and sin."""
    a = angles(inv32(d, base), n, start=start)
    return np.cos(a), np.sin(a)


def kernel(change: Any, shape: tuple[int, ...] = (1, 4, 32, 64)) -> tuple[Arrays, Arrays]:
    """Queries and keys, and what a kernel makes of each."""
    inputs = {"q": random(*shape, seed=1), "k": random(*shape, seed=2)}
    return inputs, {name: np.asarray(change(name, x), F32) for name, x in inputs.items()}


applied(
    "kernel base 500000",
    "rope:dim=64",
    lambda: kernel(lambda _, x: rotate(x, *table(base=5e5))),
    ("base 500000",),
    pairs="half",
)
applied(
    "kernel base 10000",
    "rope:dim=64,base=1000000",
    lambda: kernel(lambda _, x: rotate(x, *table())),
    ("base 10000",),
    pairs="half",
)
applied(
    "kernel interleaved for halves",
    "rope:dim=64",
    lambda: kernel(lambda _, x: rotate(x, *table(), "interleaved")),
    ("interleaved",),
    "layout",
    pairs="half",
)
applied(
    "kernel does nothing",
    "rope:dim=64",
    lambda: kernel(lambda _, x: x),
    ("nothing|not rotated|unchanged|as they were|equal the inputs|not applied",),
    "",
    pairs="half",
)
applied(
    "kernel positions from 1",
    "rope:dim=64",
    lambda: kernel(lambda _, x: rotate(x, *table(start=1))),
    ("position|start", "1"),
    "positions",
    pairs="half",
)
applied(
    "kernel applied twice",
    "rope:dim=64",
    lambda: kernel(lambda _, x: rotate(rotate(x, *table()), *table())),
    ("twice|two times",),
    "repeat positions scaling",
    pairs="half",
)
applied(
    "kernel queries alone",
    "rope:dim=64",
    lambda: kernel(lambda name, x: rotate(x, *table()) if name == "q" else x),
    ("\\bk\\b", "nothing|not rotated|unchanged|as they were|equal|not applied"),
    "",
    pairs="half",
)
applied(
    "kernel cosines repeated pairwise with rotate_half",
    "rope:dim=64",
    lambda: kernel(
        lambda _, x: (
            x * np.repeat(table()[0], 2, -1)
            + np.concatenate([-x[..., 32:], x[..., :32]], -1) * np.repeat(table()[1], 2, -1)
        )
    ),
    ("interleaved|repeat|neighbour|half",),
    "layout repeat",
    pairs="half",
)
applied(
    "kernel partner i + d/4",
    "rope:dim=64",
    lambda: kernel(
        lambda _, x: (
            x * np.tile(table()[0], 2)
            + np.concatenate([-x[..., 16:32], x[..., :16], -x[..., 48:], x[..., 32:48]], -1) * np.tile(table()[1], 2)
        )
    ),
    ("partner|pair|quarter|16|d/4",),
    "layout",
    pairs="half",
)
applied(
    "kernel along the heads",
    "rope:dim=64",
    lambda: kernel(lambda _, x: np.swapaxes(rotate(np.swapaxes(x, 1, 2), *table(4)), 1, 2)),
    ("head|axis|axes",),
    "grid exchange",
    pairs="half",
)
applied(
    "kernel sign on one half",
    "rope:dim=64",
    lambda: kernel(
        lambda _, x: (
            x * np.tile(table()[0], 2) + np.concatenate([x[..., 32:], x[..., :32]], -1) * np.tile(table()[1], 2)
        )
    ),
    ("sign|negat|minus",),
    "sign layout",
    pairs="half",
)
applied(
    "kernel scales the keys",
    "rope:dim=64",
    lambda: kernel(lambda name, x: rotate(x, *table()) * (1 if name == "q" else F32(0.125))),
    ("\\bk\\b", "0\\.125|1/8|\\b8\\b"),
    "magnitude scaling",
    pairs="half",
)
applied(
    "kernel attention factor once",
    "rope:dim=64",
    lambda: kernel(lambda _, x: rotate(x, *table()) * F32(1.2)),
    ("1\\.2",),
    "magnitude scaling",
    pairs="half",
)
applied(
    "kernel partial 16 of 64",
    "rope:dim=64",
    lambda: kernel(lambda _, x: np.concatenate([rotate(x[..., :16], *table(d=16)), x[..., 16:]], -1)),
    ("16|partial|rotary-dim|columns? 16",),
    "width",
    pairs="half",
)
applied(
    "kernel whole head for partial",
    "rope:dim=64,rotary-dim=16",
    lambda: kernel(lambda _, x: rotate(x, *table())),
    ("partial|rotary-dim|whole|64|all",),
    "width",
    pairs="half",
)
applied(
    "kernel cos and sin exchanged",
    "rope:dim=64",
    lambda: kernel(lambda _, x: rotate(x, table()[1], table()[0])),
    ("exchang|swap|each other",),
    "exchange",
    pairs="half",
)
applied(
    "kernel one head wrong",
    "rope:dim=64",
    lambda: kernel(lambda _, x: np.concatenate([rotate(x, *table())[:, :3], x[:, 3:]], 1)),
    ("head", "3"),
    "heads",
    pairs="half",
)
applied(
    "kernel positions clamped",
    "rope:dim=64",
    lambda: kernel(
        lambda _, x: rotate(
            x,
            np.cos(angles(inv32(64), 32, positions=np.minimum(np.arange(32), 15))),
            np.sin(angles(inv32(64), 32, positions=np.minimum(np.arange(32), 15))),
        )
    ),
    ("15|16",),
    "positions repeat",
    pairs="half",
)
applied(
    "kernel last position only",
    "rope:dim=64",
    lambda: kernel(lambda _, x: rotate(x, table()[0][-1:], table()[1][-1:])),
    ("position", "31|same|one position|every"),
    "positions repeat",
    pairs="half",
)
applied(
    "kernel bfloat16 table",
    "rope:dim=64",
    lambda: kernel(lambda _, x: rotate(x, bf16(table()[0]), bf16(table()[1]))),
    ("bfloat16",),
    "bfloat16",
    pairs="half",
)
applied(
    "kernel llama3 forgotten",
    LLAMA31.replace("128", "64"),
    lambda: kernel(
        lambda _, x: rotate(x, np.cos(angles(inv32(64, 5e5), 2048)), np.sin(angles(inv32(64, 5e5), 2048))),
        (1, 2, 2048, 64),
    ),
    ("llama3|scaling|unscaled|factor",),
    "scaling",
    pairs="half",
)
applied(
    "kernel of one batch's positions",
    "rope:dim=64",
    lambda: kernel(lambda _, x: np.stack([rotate(one, *table()) for one in x]), (2, 4, 32, 64)),
    "position",
    "positions",
    pairs="half",
    positions=np.stack([np.arange(32), np.arange(32) + 40]),
)
applied(
    "kernel base 10000 and interleaved",
    "rope:dim=64,base=500000",
    lambda: kernel(lambda _, x: rotate(x, *table(), "interleaved")),
    ("interleaved", "10000"),
    "layout base",
    pairs="half",
)
applied(
    "kernel keys one position late",
    "rope:dim=64",
    lambda: kernel(lambda name, x: rotate(x, *table(start=0 if name == "q" else 1))),
    (r"\bk\b", "position"),
    "positions",
    pairs="half",
)


# Right on another machine: powers, exponentials and sines of other libraries and of GPUs


def jitter(values: np.ndarray, units: int, kind: type, seed: int = 1) -> np.ndarray:
    """Values off by up to some units in the last place of a type."""
    off = np.random.default_rng(seed).integers(-units, units + 1, np.shape(values))
    return (np.asarray(values, F64) + off * np.spacing(np.abs(np.asarray(values, kind))).astype(F64)).astype(kind)


def exact_sinusoid(n: int, w: np.ndarray) -> np.ndarray:
    """Float64 table of frequencies."""
    a = np.arange(n)[:, None] * w
    return np.stack([np.sin(a), np.cos(a)], -1).reshape(n, -1)


right(
    "float64 frequencies off by 3 ulp", "sinusoidal:dim=128", lambda: exact_sinusoid(1000, jitter(inv64(128), 3, F64))
)
right(
    "float64 rope frequencies off by 3 ulp",
    "rope:dim=128,base=500000",
    lambda: cs(np.arange(4096)[:, None] * jitter(inv64(128, 5e5), 3, F64)),
)
right("float64 sines off by 1 ulp", "sinusoidal:dim=64", lambda: jitter(exact_sinusoid(500, inv64(64)), 1, F64))
right("float32 sines off by 2 ulp", "rope:dim=128", lambda: each(rope(128, 2048), lambda a: jitter(a, 2, F32)))
right("float32 sines off by 3 ulp", "sinusoidal:dim=128", lambda: jitter(sinusoid(1024, 128, dtype=F32), 3, F32))
right(
    "float32 frequencies and sines off by 1 ulp",
    "rope:dim=64",
    lambda: each(cs(np.arange(2048, dtype=F32)[:, None] * jitter(inv32(64), 1, F32)), lambda a: jitter(a, 1, F32)),
)
mistake(
    "log10 for the natural logarithm",
    "sinusoidal:dim=64",
    lambda: exact_sinusoid(200, np.exp(-np.log10(10000.0) * np.arange(0, 64, 2) / 64)),
    "log10|54.6",
    "base",
)
mistake(
    "frequencies of arange(dim // 2) / dim",
    "rope:dim=64",
    lambda: cs(np.arange(500, dtype=F32)[:, None] * (10000 ** (-np.arange(32) / 64)).astype(F32)),
    "base 100|exponent",
    "spacing",
)

# Copies of one table in a batch, and changes of the cosines or the sines alone


def batch(count: int, number: int, changed: np.ndarray, table: np.ndarray) -> np.ndarray:
    """Return copies of a table, one of which is another."""
    return np.stack([changed if k == number else table for k in range(count)])


def padded(positions: Callable[[int], list[int]], *pads: int) -> Arrays:
    """Return the caches of a batch, each with its number of rows before the first token."""
    made = [cache(inv32(64), 48, layout="half", positions=np.array(positions(pad))) for pad in pads]
    return {name: np.stack([one[name] for one in made]) for name in made[0]}


mistake(
    "four copies of a sinusoid", "sinusoidal:dim=64", lambda: np.stack([sinusoid(128, 64, dtype=F32)] * 4),
    "4 equal copies of one table", never="shape|has the shape",
)  # fmt: skip
mistake(
    "three copies of a cache with its length", "rope:dim=64,len=200",
    lambda: each(rope(64, 200), lambda a: np.stack([a] * 3)), "3 equal copies", never="has the shape",
)  # fmt: skip
mistake(
    "one copy of a batch from position 1", "sinusoidal:dim=64",
    lambda: batch(4, 2, sinusoid(128, 64, start=1, dtype=F32), sinusoid(128, 64, dtype=F32)),
    ("batch index 2 differs", "start at 1"), "positions", never="has the shape",
)  # fmt: skip
mistake(
    "first copy of a batch zero", "sinusoidal:dim=64",
    lambda: batch(3, 0, np.zeros((128, 64), F32), sinusoid(128, 64, dtype=F32)),
    ("batch index 0 differs", "zero"), "zero", never="has the shape",
)  # fmt: skip
mistake(
    "all copies of a batch from position 1", "sinusoidal:dim=64",
    lambda: np.stack([sinusoid(128, 64, start=1, dtype=F32)] * 4), ("start at 1",), "positions", never="has the shape",
)  # fmt: skip
mistake(
    "left padding of one batch element at position 1", "rope:dim=64,layout=half",
    lambda: padded(lambda pad: [*([1] * pad), *range(48 - pad)], 0, 5, 9),
    ("batch index 1 differs: left padding by 5", "all hold row 1"), "positions repeat order", never="has the shape",
)  # fmt: skip
mistake(
    "left padding of one batch element with zeros", "rope:dim=64,layout=half",
    lambda: each(padded(lambda pad: [*([0] * pad), *range(48 - pad)], 6, 0), bf16),
    ("batch index 0 differs: left padding by 6", "repeat row 0"), "positions repeat order bfloat16",
)  # fmt: skip
mistake(
    "negative positions of one batch element", "rope:dim=64,layout=half",
    lambda: padded(lambda pad: list(range(-pad, 48 - pad)), 0, 0, 3),
    ("batch index 2 differs: left padding by 3", "start at -3"), "positions", never="has the shape",
)  # fmt: skip
mistake(
    "one batch element of another base", "rope:dim=64,layout=half",
    lambda: (lambda a, b: {n: np.stack([a[n], b[n]]) for n in a})(rope(64, 60), rope(64, 60, 500000)),
    ("batch index 1 differs: base 500000",), "base", never="has the shape|padding",
)  # fmt: skip
mistake(
    "absolute distances", "sinusoidal:dim=64,len=127,start=-63",
    lambda: sinusoid(127, 64, positions=np.abs(np.arange(-63, 64)), dtype=F32),
    "rows 0 to 63 hold what was expected at rows 63 to 126, backwards", "order positions", never="sign",
)  # fmt: skip
mistake(
    "angles of positions and frequencies in float16", "rope:dim=64,layout=angles",
    lambda: angles(half(inv32(64)), 4096).astype(F32), "float16", "float16 bfloat16", never="float32 rounding",
)  # fmt: skip
mistake(
    "first rows of another base", "rope:dim=128,base=500000,layout=half",
    lambda: (lambda a, b: {n: np.concatenate([b[n][:640], a[n][640:]]) for n in a})(
        rope(128, 1024, 500000, layout="half"), rope(128, 1024, layout="half")
    ),
    "rows 1 to 639: base 10000 where 500000 was expected", "base",
)  # fmt: skip
mistake(
    "most rows of another base", "sinusoidal:dim=64",
    lambda: np.concatenate([sinusoid(100, 64, dtype=F32), sinusoid(700, 64, base=1e6, dtype=F32)[100:]]),
    "rows 100 to 699: base 1000000 where 10000 was expected", "base",
)  # fmt: skip
mistake(
    "exponent without the width, sines alone", "rope:dim=64",
    lambda: {"sin": np.sin(np.outer(np.arange(128), 10000.0 ** -np.arange(0, 64, 2.0))).astype(F32)},
    "", never="integers|decimals|rounded",
)  # fmt: skip
mistake(
    "frequencies of two pairs NaN", "rope:dim=64,layout=half",
    lambda: cache(np.where(np.isin(np.arange(32), [3, 20]), np.nan, inv32(64)) * (1 + 0.3 * (np.arange(32) == 9)), 256,
                  layout="half"),
    "NaN or infinity in 4 of 64 columns, 3 to 52|columns 3, 20, 35 and 52", "nan",
)  # fmt: skip
mistake(
    "cosines of the next pair", "sinusoidal:dim=32",
    lambda: np.stack(
        [np.sin(angles(inv64(32), 100)), np.cos(angles(inv64(32) * 10000.0 ** (-2 / 32), 100))], -1
    ).reshape(100, 32),
    ("cosines", "exponent", "next pair"), "spacing",
)  # fmt: skip
mistake(
    "attention factor on cos alone", "rope:dim=64",
    lambda: (lambda a: {"cos": a["cos"] * F32(1.1386294), "sin": a["sin"]})(rope(64, 300)),
    ("cos: every value is multiplied by 1.13863", "sin is right"), "magnitude", never="one value|ulp",
)  # fmt: skip
mistake(
    "attention factor missing on sin alone", YARN,
    lambda: (lambda w: {"cos": cache(w, 512, magnitude=M4)["cos"], "sin": cache(w, 512)["sin"]})(
        yarn(128, 1e6, 4, 32768)
    ),
    ("sin: the magnitude is missing", "cos is right"), "magnitude zero", never="one value",
)  # fmt: skip
mistake(
    "real part doubled", "rope:dim=64",
    lambda: {"freqs_cis": (lambda a: 2 * np.cos(a) + 1j * np.sin(a))(angles(inv64(64), 200)).astype(np.complex64)},
    ("the real part: every value is multiplied by 2", "imaginary part is right"), "magnitude", never="missing",
)  # fmt: skip

# Rows lost or written twice, where the length is that of the file

mistake(
    "a row missing in a file without a length", "sinusoidal:dim=64",
    lambda: np.delete(sinusoid(200, 64), 57, 0), "row 57 is missing", "missing order positions",
    never="19[89]|not among|twice",
)  # fmt: skip
mistake(
    "rows missing in a cache without a length", "rope:dim=64",
    lambda: each(rope(64, 300), lambda a: np.delete(a, [57, 58, 59], 0)), "rows 57 to 59 are missing",
    "missing order positions",
    never="29[4-9]|not among|twice",
)  # fmt: skip
mistake(
    "a row twice in a file without a length", "sinusoidal:dim=64",
    lambda: (lambda a: np.insert(a, 57, a[57], 0))(sinusoid(200, 64, dtype=F32)), "row 57 is repeated",
    "repeat order positions", never="missing|row 200",
)  # fmt: skip
mistake(
    "a row of zeros inserted", "rope:dim=64",
    lambda: each(rope(64, 200), lambda a: np.insert(a, 57, 0, 0)), "row 57 is zero", "zero order positions",
    never="missing|row 200",
)  # fmt: skip

# Coordinates of grids and of multimodal positions, measured for each axis


def with_text(before: int, image: int, after: int, sides: tuple[int, int, int]) -> np.ndarray:
    """Three position streams: text, an image whose coordinates start at `image`, text from `after` on."""
    text = np.tile(np.arange(before), (3, 1))
    return np.concatenate([text, streams(*sides) + image, np.tile(np.arange(4), (3, 1)) + after], 1)


def detr(rows: int, columns: int, dim: int, scale: float = 2 * math.pi, **sides: int) -> np.ndarray:
    """DETR's normalised table of a grid, perhaps divided by other sides or counted from another number."""
    w = 10000.0 ** (-2 * np.arange(dim // 4) / (dim // 2))
    first, parts = sides.get("first", 1), []
    for count, side in ((rows, sides.get("height", rows)), (columns, sides.get("width", columns))):
        parts.append(waves(np.multiply.outer((np.arange(count) + first) / (side + 1e-6) * scale, w)))
    return np.concatenate([np.repeat(parts[0], columns, 0), np.tile(parts[1], (rows, 1))], 1).astype(F32)


MROPE = "mrope:dim=64,sections=8+12+12,sequence="
for offset in ((1, 1, 1), (0, 3, 3), (100, 100, 100)):
    mistake(
        f"mrope streams start at {offset}", MROPE + "2x4x6",
        lambda offset=offset: cs(mrope(inv32(64), streams(2, 4, 6) + np.array(offset)[:, None], (8, 12, 12))),
        f"coordinates start at {offset[1]} where 0 was expected", "positions grid",
    )  # fmt: skip
mistake(
    "mrope image starts at 0 after text", MROPE + "7+2x4x6+4",
    lambda: cs(mrope(inv32(64), with_text(7, 0, 13, (2, 4, 6)), (8, 12, 12))),
    "rows 7 to 54: coordinates start at 0 where 7 was expected", "positions grid",
)  # fmt: skip
mistake(
    "mrope text goes on after all patches", MROPE + "7+2x4x6+4",
    lambda: cs(mrope(inv32(64), with_text(7, 7, 55, (2, 4, 6)), (8, 12, 12))),
    "rows 55 to 58: coordinates start at 55 where 13 was expected", "positions grid",
)  # fmt: skip
for side, dim in ((7, 128), (12, 64)):
    own = f"detr:dim={dim},grid={side}x{side + 2},normalize=true"
    mistake(
        f"detr scale pi {side}", own, lambda side=side, dim=dim: detr(side, side + 2, dim, math.pi),
        "a scale of pi where 2 pi was expected", "grid scaling degrees",
    )  # fmt: skip
    mistake(
        f"detr normalised by the padded size {side}", own,
        lambda side=side, dim=dim: detr(side, side + 2, dim, height=side + 4, width=side + 5),
        f"as of {side + 4} cells where there are {side}", "grid scaling",
    )  # fmt: skip
    mistake(
        f"detr counted from 0 {side}", own, lambda side=side, dim=dim: detr(side, side + 2, dim, first=0),
        "coordinates start at 0 where 1 was expected", "grid positions",
    )  # fmt: skip
mistake(
    "detr without the valid image", "detr:dim=64,grid=10x12,normalize=true,valid=7x9", lambda: detr(10, 12, 64),
    "valid 7x9 is missing", "grid missing",
)  # fmt: skip
for dim, height, width in ((64, 6, 8), (128, 5, 9)):
    mistake(
        f"sincos2d interleaved in each axis {dim}", f"sincos2d:dim={dim},grid={height}x{width},axis-order=yx",
        lambda dim=dim, height=height, width=width: grid_waves(height, width, dim, order="yx")[
            :, (lambda k: k // (dim // 2) * (dim // 2) + k % (dim // 2) // 2 + k % 2 * (dim // 4))(np.arange(dim))
        ],
        "columns in the order interleaved where sin-cos was expected", "layout order grid",
    )  # fmt: skip

# Quarter turns, orders of pairs, rounded factors, precedence


def quarter(cos_sign: int, sin_sign: int, dim: int, layout: str) -> Arrays:
    """Cosines and sines of angles a quarter turn further or less."""
    return (lambda a: {"cos": cos_sign * a["sin"], "sin": sin_sign * a["cos"]})(rope(dim, 300, layout=layout))


for dim, layout in ((32, "half"), (64, "interleaved"), (128, "split")):
    for signs, word in (((-1, 1), "further"), ((1, -1), "less")):
        mistake(
            f"quarter turn {word} {layout}", f"rope:dim={dim}",
            lambda signs=signs, dim=dim, layout=layout: quarter(*signs, dim, layout),
            f"a quarter turn {word}", "sign exchange", never="other way|exchanged",
        )  # fmt: skip
mistake(
    "exchanged and both negated", "rope:dim=64", lambda: quarter(-1, -1, 64, "half"),
    ("exchanged", "other sign"), "sign exchange",
)  # fmt: skip


def tf32(values: np.ndarray) -> np.ndarray:
    """Float32 values rounded to 11 bits, as tensor cores read them."""
    bits = np.ascontiguousarray(values, F32).view(np.uint32)
    return ((bits + np.uint32(0xFFF) + ((bits >> np.uint32(13)) & np.uint32(1))) & np.uint32(0xFFFFE000)).view(F32)


for dim, rows, base in ((128, 1024, 1e6), (128, 4096, 5e5)):
    mistake(
        f"frequencies multiplied in TF32 {rows}", f"rope:dim={dim},base={base:.0f}",
        lambda dim=dim, rows=rows, base=base: cs(
            widen(np.multiply.outer(tf32(np.arange(rows)), tf32(inv32(dim, base))), "half")
        ),
        "TF32", "float16 positions",
    )  # fmt: skip
for dim, rotary in ((64, 32), (80, 20)):
    mistake(
        f"unrotated pairs first {rotary} of {dim}", f"rope:dim={dim},scaling=proportional,partial={rotary / dim}",
        lambda dim=dim, rotary=rotary: cache(np.roll(inv32(dim) * (np.arange(dim // 2) < rotary // 2), -rotary // 2)),
        "unrotated pairs come first", "order scaling width",
    )  # fmt: skip
mistake(
    "cosines of the next pair in a cache", "rope:dim=64",
    lambda: {"cos": cache(inv32(64) * F32(1e4 ** (-2 / 64)), 300)["cos"], "sin": rope(64, 300)["sin"]},
    ("cosines", "next pair"), "spacing",
)  # fmt: skip
mistake(
    "rows at other positions", "rope:dim=64",
    lambda: rope(64, 128, positions=np.sort(np.random.default_rng(2).choice(600, 128, replace=False))),
    "other positions", "positions order",
)  # fmt: skip
for text, power in (
    ("d base", lambda i, d: d * 1e4 ** (-2.0 * i)),
    (r"base\^\(-2i\)/d", lambda i, d: 1e4 ** (-2.0 * i) / d),
):
    for dim in (32, 64):
        mistake(
            f"power before the division, {text} {dim}", f"sinusoidal:dim={dim}",
            lambda power=power, dim=dim: waves(angles(power(np.arange(dim // 2), dim), 200)),
            ("power is taken before the division", text), "base spacing",
        )  # fmt: skip
mistake(
    "a quarter of the head turns by its own width", "rope:dim=64",
    lambda: cache(np.concatenate([inv32(16), np.zeros(24, F32)]), 200),
    "rotary-dim 16 where 64", "width scaling base degrees",
)  # fmt: skip

# Heads, buckets, lengths, padded widths, stretched rows


for heads in (8, 12, 16):
    mistake(
        f"slopes of the second half of {2 * heads} heads", f"alibi:heads={heads}",
        lambda heads=heads: alibi(heads, 24, slope=slopes(2 * heads)[heads:]),
        f"heads {heads} to {2 * heads - 1} of {2 * heads}", "slopes heads",
    )  # fmt: skip
mistake(
    "slopes of the next rank", lambda: {"slopes": slopes(32)[:8]}, lambda: {"slopes": slopes(32)[8:16]},
    "heads 8 to 15 of 32", "slopes heads",
)  # fmt: skip
for both, exact in ((True, 12), (True, 4), (False, 12)):
    mistake(
        f"t5 with {exact} exact buckets {both}", f"t5:bidirectional={both}".lower(),
        lambda both=both, exact=exact: {"index": t5_index(200, both=both, exact=exact)},
        f"{exact} of a side's", "buckets",
    )  # fmt: skip
for length, factor, trained in ((6144, 2, 2048), (16384, 4, 4096)):
    mistake(
        f"dynamic at {length}",
        f"rope:dim=128,scaling=dynamic,factor={factor},max-position={trained},seq-len={trained}",
        lambda length=length, factor=factor, trained=trained: rope(
            128, 512, dynamic_base(10000.0, factor, 128, length, trained)
        ),
        f"seq-len {length}", "base scaling",
    )  # fmt: skip
for dim, width in ((64, 40), (128, 96)):
    mistake(
        f"width {width} filled up with zeros", f"rope:dim={dim}",
        lambda dim=dim, width=width: each(rope(width, 200), lambda a: np.pad(a, ((0, 0), (0, dim - width)))),
        f"columns {width} to {dim - 1} are zero", "zero width",
    )  # fmt: skip
for rows, corners in ((77, True), (128, False)):
    mistake(
        f"{rows} rows stretched to 248", "sinusoidal:dim=64",
        lambda rows=rows, corners=corners: stretched(sinusoid(rows, 64), 248, corners),
        f"rows 0 to {rows - 1} are stretched to 248 rows by linear interpolation", "scaling",
    )  # fmt: skip


def stretched(values: np.ndarray, count: int, corners: bool) -> np.ndarray:
    """Rows resized by linear interpolation, as images are."""
    last, rows = len(values) - 1, np.arange(count)
    at = rows * last / (count - 1) if corners else np.clip((rows + 0.5) * (last + 1) / count - 0.5, 0, last)
    low = np.minimum(at.astype(int), last - 1)
    return values[low] * (1 - (at - low)[:, None]) + values[low + 1] * (at - low)[:, None]


mistake(
    "yarn with the model's own length", YARN, lambda: cache(yarn(128, 1e6, 4, 40960), 512, magnitude=M4),
    "original-max 40960 where 32768", "scaling magnitude",
)  # fmt: skip

# Rotated tensors without their inputs, standardised tables, mixed conventions


def outputs(change: Any, shape: tuple[int, ...] = (4, 32, 64)) -> np.ndarray:
    """Queries that a kernel made of random ones."""
    return np.asarray(change(random(*shape, seed=5)), F32)


def right_outputs() -> np.ndarray:
    """Queries rotated as they should be."""
    return outputs(lambda x: rotate(x, *table()))


mistake(
    "rotated queries, interleaved", right_outputs, lambda: outputs(lambda x: rotate(x, *table(), "interleaved")),
    "interleaved pairs were rotated where half-split", "layout base",
)  # fmt: skip
mistake(
    "rotated queries, other sense", right_outputs, lambda: outputs(lambda x: rotate(x, table()[0], -table()[1])),
    "goes the other way", "layout base sign",
)  # fmt: skip
mistake(
    "queries that were not rotated", right_outputs, lambda: outputs(lambda x: x), "not rotated", "layout base",
)  # fmt: skip
mistake(
    "queries compared with others that were not rotated", lambda: outputs(lambda x: x), right_outputs,
    ("once more", "not at all"), "layout base repeat",
)  # fmt: skip
mistake(
    "standardised table", "sinusoidal:dim=32", lambda: (lambda t: (t - t.mean()) / t.std())(sinusoid(100, 32)),
    ("times the expected ones", "mean"), "magnitude",
)  # fmt: skip
mistake(
    "half-split cosines, interleaved sines", "rope:dim=64",
    lambda: {"cos": rope(64, 200)["cos"], "sin": rope(64, 200, layout="interleaved")["sin"]},
    ("sin", "interleaved"), "layout",
)  # fmt: skip

# Widths, steps and grids that follow from the model's own numbers

mistake(
    "exponents over 512 for every width", "sinusoidal:dim=96",
    lambda: waves(np.outer(np.arange(300), 1e4 ** (-np.arange(0, 96, 2) / 512))).astype(F32),
    "exponent over 512 where 96", "base",
)  # fmt: skip
mistake(
    "exponents over 96 in a head of 128", "rope:dim=128", lambda: cache(1e4 ** (-np.arange(0, 128, 2) / 96), 300),
    "exponent over 96 where 128", "base width",
)  # fmt: skip
mistake(
    "30 of 32 pairs", "rope:dim=64", lambda: {k: v[:, :30] for k, v in rope(64, 200, layout="split").items()},
    "columns 30 and 31 are missing", "missing",
)  # fmt: skip
mistake(
    "rotary width 32 for 64", "rope:dim=128,rotary-dim=64", lambda: rope(32, 300), "rotary width 32 where 64", "width",
)  # fmt: skip
mistake(
    "positions by linspace", "rope:dim=64", lambda: cache(inv64(64), 600, step=511 / 599), "511/599", "positions",
)  # fmt: skip
mistake(
    "base of a cache whose sines are zero", "rope:dim=64",
    lambda: {"cos": rope(64, 300, 5e5)["cos"], "sin": np.zeros((300, 64), F32)}, "sin: all values are zero",
    "zero base",
)  # fmt: skip
mistake(
    "196 rows of a grid of 16 x 16", "sincos2d:dim=64,grid=14x14", lambda: grid_waves(16, 16, 64)[:196],
    ("first 196", "16 columns"), "grid missing",
)  # fmt: skip
mistake(
    "grid flipped", "sincos2d:dim=64,grid=10x14",
    lambda: grid_waves(10, 14, 64).reshape(10, 14, 64)[::-1].reshape(140, 64), "flipped upside down", "grid order",
)  # fmt: skip
mistake(
    "trained grid flipped behind the class token", lambda: random(197, 32),
    lambda: random(197, 32)[[0, *(1 + np.arange(196).reshape(14, 14)[:, ::-1].ravel())]],
    ("flipped left to right", "after row 0"), "grid order",
)  # fmt: skip


def unit_patches(sides: tuple[int, int], dim: int) -> Arrays:
    """DINOv3's angles with coordinates from 0 to 1."""
    centres = np.stack([(g.ravel() + 0.5) / n for g, n in zip(np.indices(sides), sides, strict=True)], 1)
    angle = (2 * np.pi * centres[:, :, None] * 100.0 ** (-np.arange(dim // 4) * 4 / dim)).reshape(len(centres), -1)
    return each(cs(np.concatenate([angle, angle], 1)), F32)


mistake(
    "patches from 0 to 1", "rope2d:dim=64,grid=10x14,convention=dinov3", lambda: unit_patches((10, 14), 64),
    "coordinates on the axis height run from 0.05", "grid",
)  # fmt: skip
mistake(
    "rotated queries, base 500000", right_outputs, lambda: outputs(lambda x: rotate(x, *table(base=5e5))),
    "base 500000 where 10000", "layout",
)  # fmt: skip
mistake(
    "rotated queries, one position later", right_outputs,
    lambda: outputs(lambda x: rotate(x, *table(start=1))), "positions are 1 later", "base positions",
)  # fmt: skip
mistake(
    "inv_freq with 3 decimals", "rope:dim=64", lambda: cache(np.round(inv64(64), 3), 300), "rounded to 3 decimals",
    "base",
)  # fmt: skip
mistake(
    "half steps up to a limit", "rope:dim=64",
    lambda: cache(inv32(64), 600, positions=np.minimum(np.arange(600), 400) / 2),
    "linear scaling (factor 2)".replace("(", r"\(").replace(")", r"\)"), "repeat positions",
)  # fmt: skip
mistake(
    "one padded copy of a batch", lambda: np.stack([sinusoid(60, 32)] * 4),
    lambda: np.stack([sinusoid(60, 32)] * 3 + [sinusoid(67, 32)[[*([0] * 7), *range(53)]]]),
    ("batch index 3", "repeat row 0"), "repeat order positions",
)  # fmt: skip
mistake(
    "cosines of bfloat16 phases in float32", "rope:dim=64,layout=half",
    lambda: {"cos": np.cos(np.tile(bf16(np.outer(bf16(np.arange(1024)), bf16(inv32(64)))), 2)).astype(F32)},
    "computed in bfloat16", "missing",
)  # fmt: skip
mistake(
    "rotated queries, positions along the heads", right_outputs,
    lambda: outputs(lambda x: np.stack([rotate(v, *table(start=h, n=1)) for h, v in enumerate(x)])),
    "positions run along the heads", "base",
)  # fmt: skip
mistake(
    "one head of four not rotated", lambda: right_outputs()[None],
    lambda: np.where(np.arange(4)[:, None, None] == 3, random(4, 32, 64, seed=5), right_outputs())[None],
    ("head 3", "not rotated"), "base layout",
)  # fmt: skip
mistake(
    "2,048 rows shuffled", "rope:dim=64,len=2048",
    lambda: {k: v[np.random.default_rng(0).permutation(2048)] for k, v in rope(64, 2048).items()},
    "the rows are in another order", "order",
)  # fmt: skip
mistake(
    "factor of llama3 multiplied", LLAMA31, lambda: cache(llama3(inv32(128, 5e5), 1 / 8), 512),
    "multiplies the frequencies", "scaling",
)  # fmt: skip
mistake(
    "angles doubled", "rope:dim=32,layout=angles", lambda: angles(inv32(32), 128).repeat(2, 1).astype(F32),
    "each angle stands in two columns", "repeat layout",
)  # fmt: skip
mistake(
    "amplitude forgotten", "sinusoidal:dim=64,amplitude=0.125", lambda: sinusoid(300, 64, dtype=F32),
    ("missing", "amplitude 0.125"), "magnitude",
)  # fmt: skip
right("arrays named c and s", "rope:dim=64", lambda: {k[0]: v for k, v in rope(64, 300).items()})


def patches(sides: tuple[int, int], added: float, factor: float = 1, dim: int = 64) -> Arrays:
    """DINOv3's angles with something added to the coordinates of the patches, in patches."""
    f, parts = 100.0 ** (-np.arange(dim // 4) * 4 / dim), []
    for index, n in zip(np.indices(sides), sides, strict=True):
        parts.append(np.outer(factor * 2 * np.pi * (2 * (index.ravel() + 0.5 + added) / n - 1), f))
    return each(cs(np.tile(np.concatenate(parts, 1), 2)), F32)


for side, low, want in (((8, 8), "-1", "-0.875"), ((10, 14), "-1", "-0.9"), ((11, 9), "-1", "-0.909091")):
    mistake(
        f"patch corners of {side}", f"rope2d:dim=64,grid={side[0]}x{side[1]},convention=dinov3",
        lambda side=side: patches(side, -0.5), (f"start at {low} where {want} was", "half a patch earlier.*corners"),
        "positions grid",
    )  # fmt: skip
mistake(
    "patch corners at the ends", "rope2d:dim=64,grid=10x14,convention=dinov3",
    lambda: patches((10, 14), 0) | each(cs(np.tile(np.concatenate([
        np.outer(2 * np.pi * (2 * g.ravel() / (n - 1) - 1), 100.0 ** (-np.arange(16) / 16))
        for g, n in zip(np.indices((10, 14)), (10, 14), strict=True)], 1), 2)), F32),
    r"run from -1 to \d", "grid",
)  # fmt: skip
mistake(
    "coordinates times pi", "rope2d:dim=64,grid=10x14,convention=dinov3", lambda: patches((10, 14), 0, 0.5),
    "a scale of pi where 2 pi was expected", "grid degrees",
)  # fmt: skip


def grid_of(change: Any) -> np.ndarray:
    """MAE's table of 10 x 14 patches whose coordinates y and x are changed by their sides."""
    w, parts = 10000.0 ** (-np.arange(16) / 16), []
    for index, n in zip(np.indices((10, 14))[::-1], (14, 10), strict=True):
        angle = np.outer(change(index.ravel(), n), w)
        parts += [np.sin(angle), np.cos(angle)]
    return np.concatenate(parts, 1).astype(F32)


mistake(
    "coordinates from 0 to 2 pi", "sincos2d:dim=64,grid=10x14", lambda: grid_of(lambda i, n: 2 * np.pi * i / n),
    "coordinates of the height are 0.628319 times", "grid",
)  # fmt: skip
mistake(
    "coordinates resized like pixels", "sincos2d:dim=64,grid=10x14,base-size=16",
    lambda: grid_of(lambda i, n: (i + 0.5) * 16 / n - 0.5), r"start at [0]\.3 where 0 ", "grid positions",
)  # fmt: skip
mistake(
    "buckets cut by one", "t5:len=100,form=index", lambda: np.minimum(t5_index(100), 30), "none is above 30", "",
    "integers|decimals",
)  # fmt: skip


def behind(n: int = 32) -> np.ndarray:
    """Key minus query."""
    return np.arange(n)[None] - np.arange(n)[:, None]


CAUSAL = "alibi:heads=8,mask=causal,len=32"
for name, mask, words in (
    ("one key too many", behind() <= 1, "at most 1 after the query"),
    ("a key too few", behind() <= -2, "at least 2 before the query"),
    ("left padding", (behind() <= 0) & (np.arange(32) >= 4), r"\(causal\), except for keys 0 to 3"),
    ("padding without causal", (behind() < 99) & (np.arange(32) < 28), "everywhere, except for keys 28 to 31"),
    ("a padded window", (abs(behind()) < 6) & (np.arange(32) > 1), "window of 11.*except for keys 0 and 1"),
):  # fmt: skip
    mistake(
        f"ALiBi with {name}", CAUSAL, lambda mask=mask: np.where(mask, alibi(8), -np.inf).astype(F32), words,
        "mask order repeat",
    )  # fmt: skip
mistake(
    "half of the heads with slopes", "alibi:heads=8,len=32", lambda: alibi(slope=[*slopes(4), 0, 0, 0, 0]),
    "4 heads have a slope where all", "slopes",
)  # fmt: skip
mistake(
    "slopes of 12 heads from 0", "alibi:heads=12,len=32", lambda: alibi(slope=2.0 ** (-8 * np.arange(12) / 12)),
    "-1, -0.63, -0.3969, -0.25 .. times the distance, where alibi", "slopes",
)  # fmt: skip
mistake(
    "shared slopes in a row", "alibi:heads=8,bias=key-position,queries=1,len=32",
    lambda: np.repeat(slopes(8)[:, None, None] * np.arange(32), 4, 0), "every head is there 4 times", "slopes repeat",
)  # fmt: skip
cut = {"": "t5:len=100,form=index", "causal ": "t5:len=100,form=index,bidirectional=false"}
mistake("bucket of distance 0", cut[""], lambda: t5_index(100) + 16 * np.eye(100, dtype=int), ">= 0 was tested")
mistake(
    "causal buckets of both sides", cut["causal "],
    lambda: np.maximum(t5_index(100, both=False), t5_index(100, both=False).T), "lost its sign", "sign buckets",
)  # fmt: skip
mistake("buckets up to 100", cut[""], lambda: t5_index(100, maximum=100), "max-distance 100 where 128")
mistake(
    "trained window with the heads last", "window:grid=6x8,heads=3",
    lambda: random(11 * 15, 3)[swin_index(6, 8)], "heads are the last axis", "mask heads grid", "missing",
)  # fmt: skip


def xpos(sign: int) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Queries and keys of 64 positions rotated and scaled as xPos has them, the keys by the inverse; and the inputs."""
    x, n = random(1, 2, 64, 32, seed=3), np.arange(64)
    scale = ((np.arange(0, 32, 2) + 0.4 * 32) / (1.4 * 32)) ** (sign * (n[:, None] - 32) / 512)
    turned = rotate(x, *(f(angles(inv64(32), 64)) for f in (np.cos, np.sin)))
    return {"q": (x, (turned * np.tile(scale, 2)).astype(F32)), "k": (x, (turned / np.tile(scale, 2)).astype(F32))}


for name, made, words in (
    ("no scale", xpos(0), "scale of each position is missing"),
    ("the scales exchanged", xpos(-1), "inverted"),
):
    applied(
        f"xPos with {name}", "xpos:dim=32,max-len=64",
        lambda made=made: tuple({k: pair[side] for k, pair in made.items()} for side in (0, 1)), words,
        "positions sign scaling", pairs="half",
    )  # fmt: skip


def rotated(positions: np.ndarray, x: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Inputs of 2 batches and 4 heads, and others rotated at these positions in float32."""
    inputs = random(2, 4, 32, 64, seed=9)
    angle = np.asarray(positions)[..., None] * inv64(64)
    return inputs, rotate(inputs if x is None else x, np.cos(angle), np.sin(angle)).astype(F32)


applied(
    "one batch padded on the left", "rope:dim=64",
    lambda: rotated(np.stack([np.arange(32), np.maximum(np.arange(32) - 7, 0)])[:, None]),
    ("batch 1", "1 to 7 repeat position 0"), "positions repeat order", "among", pairs="half",
)  # fmt: skip
applied(
    "positions of bfloat16", "rope:dim=64", lambda: rotated(bf16(300 + np.arange(32))), "positions were rounded to bfl",
    "positions bfloat16", pairs="half", start=300,
)  # fmt: skip
applied(
    "inputs of float16", "rope:dim=64",
    lambda: rotated(np.arange(32), random(2, 4, 32, 64, seed=9).astype(F16).astype(F32)),
    "the inputs were rounded to float16", pairs="half",
)  # fmt: skip


def phases(how: str, start: int) -> tuple[np.ndarray, np.ndarray]:
    """Inputs, and their rotation in float32 with some steps of the phases rounded to bfloat16."""
    x, at = random(1, 2, 64, 64, seed=11), (start + np.arange(64, dtype=F32))[:, None]
    angle = (bf16(at) if "p" in how else at) * (bf16(inv32(64)) if "w" in how else inv32(64))
    c, s = (f(bf16(angle) if "a" in how else angle) for f in (np.cos, np.sin))
    out = rotate(x, *(map(bf16, (c, s)) if "c" in how else (c, s)))
    return x, bf16(out) if "o" in how else out


for how, words in (
    ("w", r"\(inv_freq\) were rounded to bfloat16$"), ("p", "array: positions were"), ("a", "array: angles were"),
    ("pwa", "phases were computed in bfloat16 .frequencies, positions and angles"), ("wo", "frequencies.*outputs are"),
    ("c", "cosines and sines were rounded to bfloat16"),
):  # fmt: skip
    for start in (300, 5000)[: 1 if how == "c" else 2]:
        applied(
            f"phases of bfloat16, {how} from {start}", "rope:dim=64", lambda how=how, start=start: phases(how, start),
            words, "positions bfloat16", "start", pairs="half", start=start,
        )  # fmt: skip

mistake(
    "attention factor of yarn in float16 where 1 was expected",
    "rope:dim=64,base=500000,scaling=yarn,factor=4,original-max=8192,attention-factor=1,layout=half,dtype=float16",
    lambda: each(cache(yarn(64, 5e5, 4, 8192), 200, magnitude=0.1 * math.log(4) + 1), half),
    "attention.factor",
    "scaling magnitude",
    never="no attention-factor",
)

mistake(
    "positions count down, as in relative tables",
    "sinusoidal:dim=64",
    lambda: waves(angles(inv32(64), 0, positions=np.arange(49, -50, -1)), "interleaved"),
    "positions fall by 1",
    "positions",
    never="sign of sin",
)
