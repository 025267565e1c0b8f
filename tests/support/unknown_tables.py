"""Tables that somebody may hand over, made with NumPy alone: nothing here uses pecli.

Every entry is a class, a description, the arrays as an npz would hold them, and
whether a formula gave them.  Values are computed in double precision (long
double for frequencies) and rounded, or with the roundings of a framework.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

SEED = 20240917
ROWS = 64


@dataclass(frozen=True)
class Unknown:
    """A table: its class, what it is in words, its arrays, what they would be without a framework's roundings."""

    kind: str
    text: str
    arrays: dict[str, np.ndarray]
    formula: bool = True
    ideal: dict[str, np.ndarray] | None = None


def powers(base: float, half: float, m: int) -> np.ndarray:
    """base^(-i/half) in long double."""
    return np.power(np.longdouble(base), -np.arange(m, dtype=np.longdouble) / np.longdouble(half))


def bf16(x: np.ndarray) -> np.ndarray:
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32).astype(np.uint64)
    bits = bits + 0x7FFF + ((bits >> 16) & 1)
    return (bits.astype(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)


def narrow(x: np.ndarray, dtype: str) -> np.ndarray:
    """Values of a type; bfloat16 stands in float32."""
    return bf16(np.asarray(x, np.float64).astype(np.float32)) if dtype == "bfloat16" else x.astype(dtype)


def phases(w: np.ndarray, start: float, step: float, rows: int, arithmetic: str) -> tuple[np.ndarray, np.ndarray]:
    """cos and sin of p w, as double precision or as frameworks do it."""
    p = start + step * np.arange(rows, dtype=np.float64)
    if arithmetic == "exact":
        angle = np.asarray(
            np.outer(p.astype(np.longdouble), w) % (2 * np.longdouble(math.pi) + np.longdouble(2.4492935982947064e-16))
        )
        return np.cos(angle).astype(np.float64), np.sin(angle).astype(np.float64)
    if arithmetic == "float32":
        angle = (p.astype(np.float32)[:, None] * w.astype(np.float32)[None, :]).astype(np.float32)
        return np.cos(angle.astype(np.float64)), np.sin(angle.astype(np.float64))
    if arithmetic == "bfloat16":
        angle = bf16(bf16(p.astype(np.float32))[:, None] * bf16(w.astype(np.float32))[None, :])
        return np.cos(angle.astype(np.float64)), np.sin(angle.astype(np.float64))
    if arithmetic == "float16":
        angle = p.astype(np.float16)[:, None].astype(np.float32) * w.astype(np.float16).astype(np.float32)[None, :]
        angle = angle.astype(np.float16).astype(np.float64)
        return np.cos(angle), np.sin(angle)
    if arithmetic == "bfloat16 frequencies":
        angle = p.astype(np.float32)[:, None] * bf16(w.astype(np.float32))[None, :]
        return np.cos(angle.astype(np.float64)), np.sin(angle.astype(np.float64))
    raise ValueError(arithmetic)


def torch_frequencies(base: float, d: int) -> np.ndarray:
    e = np.arange(0, d, 2, dtype=np.float32) / np.float32(d)
    return np.float32(1) / np.power(np.float64(np.float32(base)), e.astype(np.float64)).astype(np.float32)


def exp_frequencies(base: float, d: int) -> np.ndarray:
    k = np.arange(0, d, 2, dtype=np.float32) * np.float32(-math.log(base) / d)
    return np.exp(k.astype(np.float64)).astype(np.float32)


# ---------------------------------------------------------------- scalings
def yarn(base: float, d: int, factor: float, original: int, fast: float = 32, slow: float = 1, truncate: bool = True):
    def index(rotations: float) -> float:
        return d * math.log(original / (rotations * 2 * math.pi)) / (2 * math.log(base))

    low, high = index(fast), index(slow)
    if truncate:
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, d - 1)
    if low == high:
        high += 0.001
    ramp = np.clip((np.arange(d // 2, dtype=np.longdouble) - low) / (np.longdouble(high) - low), 0, 1)
    w = powers(base, d / 2, d // 2)
    return w * (1 - ramp) + w / factor * ramp


def by_rotations(base: float, d: int, factor: float, original: int, low: float, high: float):
    w = powers(base, d / 2, d // 2)
    s = np.clip((original * w / (2 * np.longdouble(math.pi)) - low) / (high - low), 0, 1)
    return w * s + w / factor * (1 - s)


def lay_out(cos: np.ndarray, sin: np.ndarray, layout: str, dtype: str) -> dict[str, np.ndarray]:
    cos, sin = narrow(cos, dtype), narrow(sin, dtype)
    match layout:
        case "split":
            return {"cos": cos, "sin": sin}
        case "stacked":
            return {"array": np.stack([cos, sin])}
        case "half":
            return {"cos": np.concatenate([cos, cos], 1), "sin": np.concatenate([sin, sin], 1)}
        case "interleaved":
            return {"cos": np.repeat(cos, 2, 1), "sin": np.repeat(sin, 2, 1)}
        case "concat":
            return {"array": np.concatenate([cos, sin], 1)}
        case "sin-cos":
            return {"array": np.concatenate([sin, cos], 1)}
        case "pairs":
            return {"array": np.stack([cos, sin], -1)}
        case "complex":
            return {"array": (cos + 1j * sin).astype(np.complex128 if cos.dtype == np.float64 else np.complex64)}
        case "broadcast":
            return {
                "cos": np.concatenate([cos, cos], 1)[None, :, None, :],
                "sin": np.concatenate([sin, sin], 1)[None, :, None, :],
            }
    raise ValueError(layout)


LAYOUTS = ("split", "stacked", "half", "interleaved", "concat", "sin-cos", "pairs", "complex", "broadcast")
BASES = (10000.0, 500000.0, 1e6, 100.0, 150000.0, 5e6, 1000.0, 20000.0, 8000000.0)


def rotary(rng: np.random.Generator, count: int) -> Iterator[Unknown]:
    for k in range(count):
        base = float(rng.choice(BASES))
        d = int(rng.choice([32, 64, 80, 96, 128, 256]))
        layout = LAYOUTS[k % len(LAYOUTS)]
        dtype = str(rng.choice(["float32", "float32", "bfloat16", "float16", "float64"]))
        if layout == "complex" and dtype in ("bfloat16", "float16"):
            dtype = "float32"
        start = float(rng.choice([0, 0, 0, 1, 17, 4096, 100000]))
        cos, sin = phases(powers(base, d / 2, d // 2), start, 1, ROWS, "exact")
        yield Unknown(
            "rope", f"rope d={d} base={base:g} start={start:g} {layout} {dtype}", lay_out(cos, sin, layout, dtype)
        )


def scaled(rng: np.random.Generator, count: int) -> Iterator[Unknown]:
    kinds = (
        "linear",
        "ntk",
        "yarn",
        "yarn",
        "llama3",
        "longrope",
        "rotations",
        "proportional",
        "dynamic",
        "ntk-by-parts",
    )
    for k in range(count):
        kind = kinds[k % len(kinds)]
        base = float(rng.choice([10000.0, 500000.0, 1e6]))
        d = int(rng.choice([64, 96, 128]))
        factor = float(rng.choice([2, 4, 8, 16, 32, 2.5]))
        original = int(rng.choice([2048, 4096, 8192, 32768]))
        size = 1.0
        match kind:
            case "linear":
                w = powers(base, d / 2, d // 2) / factor
            case "ntk":
                w = powers(base * factor ** (d / (d - 2)), d / 2, d // 2)
            case "dynamic":
                w = powers(base * (factor * 1.5 - (factor - 1)) ** (d / (d - 2)), d / 2, d // 2)
            case "yarn":
                w, size = yarn(base, d, factor, original, truncate=bool(k % 2)), 0.1 * math.log(factor) + 1
            case "ntk-by-parts":
                w = yarn(base, d, factor, original)
            case "llama3":
                w = by_rotations(base, d, factor, original, 1, 4)
            case "rotations":
                w, size = by_rotations(base, d, factor, original, 1, 32), 0.1 * math.log(factor) + 1
            case "longrope":
                stretch = np.sort(np.round(1 + rng.random(d // 2) ** 3 * 60, 2))
                w, size = powers(10000.0, d / 2, d // 2) / stretch, math.sqrt(1 + math.log(factor) / math.log(original))
            case _:
                w = powers(base, d / 2, d // 2)
                w[d // 4 :] = 0
        dtype = str(rng.choice(["float32", "float32", "float64", "bfloat16"]))
        layout = str(rng.choice(["split", "half", "concat", "stacked"]))
        cos, sin = phases(w, 0, 1, ROWS, "exact")
        text = f"{kind} d={d} base={base:g} factor={factor:g} original={original} {layout} {dtype}"
        yield Unknown("scaling", text, lay_out(cos * size, sin * size, layout, dtype))


def arithmetics(rng: np.random.Generator, count: int) -> Iterator[Unknown]:
    kinds = ("float32", "float32 exp", "bfloat16", "float16", "bfloat16 frequencies", "rounded", "float32")
    for k in range(count):
        kind = kinds[k % len(kinds)]
        base, d = float(rng.choice([10000.0, 500000.0, 1e6])), int(rng.choice([64, 128]))
        start = float(rng.choice([0, 0, 100, 2000])) if kind in ("float32", "float32 exp", "rounded") else 0.0
        w = torch_frequencies(base, d) if kind != "float32 exp" else exp_frequencies(base, d)
        if kind == "rounded":
            cos, sin = phases(powers(base, d / 2, d // 2), start, 1, ROWS, "exact")
            cos, sin = bf16(cos.astype(np.float32)), bf16(sin.astype(np.float32))
        else:
            cos, sin = phases(w, start, 1, ROWS, kind.removesuffix(" exp"))
        dtype = {"bfloat16": "bfloat16", "float16": "float16"}.get(kind, "float32")
        if k % 2 and kind == "bfloat16":
            dtype = "float32"
        layout = str(rng.choice(["split", "half", "concat"]))
        text = f"{kind} d={d} base={base:g} start={start:g} {layout} {dtype}"
        ideal = lay_out(*phases(powers(base, d / 2, d // 2), start, 1, ROWS, "exact"), layout, "float64")
        yield Unknown("arithmetic", text, lay_out(cos, sin, layout, dtype), ideal=ideal)


def sinusoids(rng: np.random.Generator, count: int) -> Iterator[Unknown]:
    for k in range(count):
        base = float(rng.choice([10000.0, 10000.0, 1000.0, 500000.0, 20.0]))
        d = int(rng.choice([32, 64, 128, 512, 768]))
        order = ("interleaved", "sin-cos", "cos-sin")[k % 3]
        shift = int(rng.choice([0, 0, 1]))
        start, step = float(rng.choice([0, 0, 2, 1000])), float(rng.choice([1, 1, 1, 0.5, 10, 1000]))
        size = float(rng.choice([1, 1, math.sqrt(d)])) if d == 64 else 1.0
        dtype = str(rng.choice(["float32", "float32", "float64", "bfloat16", "float16"]))
        odd = str(rng.choice(["", "", "", "pad", "truncate"]))
        width = d + 1 if odd else d
        half = d / 2 if odd != "truncate" else width / 2
        m = d // 2 + (1 if odd == "truncate" else 0)
        cos, sin = phases(powers(base, half - shift, m), start, step, ROWS, "exact")
        cos, sin = cos * size, sin * size
        cos = cos[:, : d // 2]
        table = np.zeros((ROWS, width))
        if order == "interleaved":
            table[:, 0 : 2 * m : 2], table[:, 1 : 2 * cos.shape[1] : 2] = sin, cos
        elif order == "sin-cos":
            table[:, :m], table[:, m : m + cos.shape[1]] = sin, cos
        else:
            table[:, : cos.shape[1]], table[:, cos.shape[1] : cos.shape[1] + m] = cos, sin
        pad = int(start) + 1 if k % 7 == 3 and step == 1 else None
        if pad is not None:
            table[1] = 0
        text = f"sinusoidal d={width} base={base:g} {order} shift={shift} start={start:g} step={step:g} {odd} {dtype}"
        text += f" {size:g} pad={pad}"
        yield Unknown("sinusoidal", text, {"array": narrow(table, dtype)})


# ---------------------------------------------------------------- biases
def alibi_slopes(heads: int, top: float = 8.0) -> np.ndarray:
    """The authors' rule: powers of two, then every other one of twice as many."""

    def whole(n: int) -> list[float]:
        return [2.0 ** (-top * h / n) for h in range(1, n + 1)]

    power = 1 << (heads.bit_length() - 1)
    return np.array(whole(power) + whole(2 * power)[0::2][: heads - power])


def distances(n: int) -> np.ndarray:
    return np.arange(n)[None, :] - np.arange(n)[:, None]


def biases(rng: np.random.Generator, count: int) -> Iterator[Unknown]:
    forms = (
        "dense",
        "causal",
        "slopes",
        "distance",
        "key-position",
        "last-key",
        "paper",
        "falcon",
        "bloom row",
        "mask number",
    )
    for k in range(count):
        form, heads, n = forms[k % len(forms)], int(rng.choice([4, 8, 12, 16, 20, 32])), int(rng.choice([16, 33, 64]))
        top = float(rng.choice([8, 8, 8, 4, 16]))
        dtype = str(rng.choice(["float32", "float32", "float64", "bfloat16", "float16"]))
        m = alibi_slopes(heads, top)
        if form == "paper":
            m = 2.0 ** (-top * np.arange(1, heads + 1) / heads)
        if form == "falcon":
            m, dtype = bf16(m.astype(np.float32)).astype(np.float64), "float32"
        table = -m[:, None, None] * np.abs(distances(n))
        name = "bias"
        match form:
            case "causal":
                table = np.where(distances(n) > 0, -np.inf, table)
            case "mask number":
                table = np.where(distances(n) > 0, -np.inf, table)
            case "slopes":
                table, name = m, "slopes"
            case "distance":
                table = -m[:, None] * np.abs(np.arange(-(n - 1), n))
            case "key-position":
                table = np.broadcast_to(m[:, None, None] * np.arange(n), (heads, n, n))
            case "last-key":
                table = np.broadcast_to(m[:, None, None] * (np.arange(n) - (n - 1)), (heads, n, n))
            case "bloom row":
                table = (m[:, None] * np.arange(n))[:, None, :]
            case "falcon":
                table = np.broadcast_to(m[:, None, None] * np.arange(n), (heads, n, n))
        yield Unknown(
            "alibi", f"alibi {form} heads={heads} n={n} top={top:g} {dtype}", {name: narrow(np.array(table), dtype)}
        )


def kernels(rng: np.random.Generator, count: int) -> Iterator[Unknown]:
    for k in range(count):
        kind, heads, n = ("log", "power", "gaussian", "gaussian log", "sandwich")[k % 5], int(rng.choice([2, 4, 8])), 48
        size = np.abs(distances(n)).astype(np.float64)
        a, b = np.round(rng.uniform(0.1, 2, heads), 2), np.round(rng.uniform(0.1, 1.9, heads), 2)
        match kind:
            case "log":
                table = np.stack([-x * np.log1p(y * size) for x, y in zip(a, b, strict=True)])
            case "power":
                table = np.stack([-x * size**y for x, y in zip(a, b, strict=True)])
            case "gaussian":
                table = np.stack([np.exp(-(size**2) / (2 * (3 * x) ** 2)) for x in a])
            case "gaussian log":
                table = np.stack([-(size**2) / (2 * (3 * x) ** 2) for x in a])
            case _:
                w = 10000.0 ** (-2 * np.arange(1, 65) / 128)
                table = np.stack(
                    [(np.cos(size[..., None] * w).sum(-1) - 64) / (8 * h / heads) for h in range(1, heads + 1)]
                )
        yield Unknown("kernel", f"{kind} heads={heads} {a} {b}", {"bias": table.astype(np.float32)})


def t5_bucket(d: np.ndarray, buckets: int, reach: int, both: bool) -> np.ndarray:
    """T5's buckets by whole numbers: a distance a is in step k or a later one if (a/e)^n >= (reach/e)^k."""
    side = buckets // 2 if both else buckets
    e = side // 2
    n = side - e

    def bucket(a: int) -> int:
        return a if a < e else e + sum(a**n * e**k >= reach**k * e**n for k in range(1, n))

    largest = int(np.abs(d).max())
    of_size = np.array([bucket(a) for a in range(largest + 1)])
    found = of_size[np.abs(d)] if both else of_size[np.maximum(-d, 0)]
    return found + side * (d > 0) if both else found


def indices(rng: np.random.Generator, count: int) -> Iterator[Unknown]:
    kinds = ("t5", "t5 causal", "t5 bias", "shaw", "window", "t5 64")
    for k in range(count):
        kind, n = kinds[k % len(kinds)], int(rng.choice([150, 200, 260]))
        d = distances(n)
        if kind in ("t5", "t5 64", "t5 causal", "t5 bias"):
            buckets, reach = (64, 256) if kind == "t5 64" else (32, int(rng.choice([128, 64])))
            table = t5_bucket(d, buckets, reach, kind != "t5 causal")
            if kind == "t5 bias":
                weights = rng.standard_normal((4, buckets)).astype(np.float32)
                yield Unknown("index", f"{kind} {buckets} {reach}", {"bias": weights[:, table]}, ideal={"index": table})
                continue
        elif kind == "shaw":
            clip = int(rng.choice([4, 8, 16]))
            table = np.clip(d, -clip, clip) + clip
        else:
            h, w = int(rng.choice([3, 4, 7])), int(rng.choice([4, 5, 7]))
            y, x = np.divmod(np.arange(h * w), w)
            table = (y[:, None] - y[None] + h - 1) * (2 * w - 1) + x[:, None] - x[None] + w - 1
        yield Unknown("index", f"{kind} n={n}", {"index": table.astype(np.int64)})


def plain(rng: np.random.Generator, count: int) -> Iterator[Unknown]:
    kinds = ("integer", "integer raw", "integer scales", "binary", "gray", "signed", "angles", "complex")
    for k in range(count):
        kind, d, start = kinds[k % len(kinds)], int(rng.choice([8, 10, 12])), int(rng.choice([0, 0, 3]))
        p = np.arange(start, start + ROWS)
        match kind:
            case "integer":
                table = np.repeat((p / (start + ROWS - 1))[:, None], d, 1)
            case "integer raw":
                table = p[:, None].astype(np.float64)
            case "integer scales":
                table = p[:, None] / (start + ROWS - 1) * (np.arange(d) / (d - 1)) ** float(rng.choice([2, 0.5, 3]))
            case "angles":
                table = p[:, None] * powers(float(rng.choice([1e4, 5e5])), d / 2, d // 2).astype(np.float64)
            case "complex":
                table = np.exp(1j * (p[:, None] * powers(1e4, d / 2, d // 2).astype(np.float64)))
            case _:
                number = p ^ (p >> 1) if kind == "gray" else p
                table = (number[:, None] >> np.arange(d)) & 1
                table = table[:, ::-1] if rng.random() < 0.5 else table
                table = 2 * table - 1 if kind == "signed" else table
        typed = table.astype(np.complex64 if kind == "complex" else np.float32)
        yield Unknown("plain", f"{kind} d={d} start={start}", {"array": typed})


# ---------------------------------------------------------------- grids and coordinates
def sin_cos(x: np.ndarray, width: int, base: float = 1e4, shift: int = 0) -> np.ndarray:
    w = powers(base, width / 2 - shift, width // 2).astype(np.float64)
    return np.concatenate([np.sin(x[:, None] * w), np.cos(x[:, None] * w)], 1)


def grids(rng: np.random.Generator, count: int) -> Iterator[Unknown]:
    kinds = ("mae", "rt-detr", "timm", "detr", "qwen2-vl", "llama4", "dinov3", "flux", "nerf", "bands", "cls", "xpos")
    for k in range(count):
        kind, h, w, d = (
            kinds[k % len(kinds)],
            int(rng.choice([4, 6, 8])),
            int(rng.choice([4, 5, 8])),
            int(rng.choice([32, 64])),
        )
        y, x = (v.astype(np.float64) for v in np.divmod(np.arange(h * w), w))
        text = f"{kind} {h}x{w} d={d}"
        match kind:
            case "mae" | "cls":
                table = np.concatenate([sin_cos(x, d // 2), sin_cos(y, d // 2)], 1)
                table = np.concatenate([np.zeros((1, d)), table]) if kind == "cls" else table
            case "rt-detr":
                table = np.concatenate([sin_cos(y, d // 2), sin_cos(x, d // 2)], 1)
            case "timm":
                q = d // 4
                a, b = sin_cos(y, d // 2), sin_cos(x, d // 2)
                table = np.concatenate([a[:, :q], b[:, :q], a[:, q:], b[:, q:]], 1)
            case "detr":
                half = []
                for c in (y + 1, x + 1):
                    v = sin_cos(c, d // 2)
                    half.append(np.stack([v[:, : d // 4], v[:, d // 4 :]], 2).reshape(len(v), -1))
                table = np.concatenate(half, 1)
            case "nerf":
                t = np.linspace(-1, 1, ROWS)
                table = np.concatenate(
                    [np.stack([np.sin(2.0**i * np.pi * t), np.cos(2.0**i * np.pi * t)], 1) for i in range(8)], 1
                )
            case "bands":
                t = np.linspace(-1, 1, ROWS)
                f = np.linspace(1, ROWS / 2, 6)
                table = np.concatenate([t[:, None], np.sin(np.pi * t[:, None] * f), np.cos(np.pi * t[:, None] * f)], 1)
            case "xpos":
                p = np.arange(ROWS, dtype=np.float64)
                w_ = powers(1e4, d / 2, d // 2).astype(np.float64)
                z = (2 * np.arange(d // 2) / d + 0.4) / 1.4
                scale = z ** ((p[:, None] - ROWS // 2) / 512)
                arrays = {"cos": np.cos(p[:, None] * w_), "sin": np.sin(p[:, None] * w_), "scale": scale}
                yield Unknown("grid", text, {n: v.astype(np.float32) for n, v in arrays.items()})
                continue
            case _:
                base = 100.0 if kind == "dinov3" else 1e4
                f = powers(base, d / 4, d // 4).astype(np.float64)
                if kind == "llama4":
                    x, y = y + 1, x + 1
                if kind == "dinov3":
                    y, x = (2 * np.pi * (2 * (v + 0.5) / s - 1) for v, s in ((y, h), (x, w)))
                if kind == "flux":
                    f0 = [powers(1e4, m / 2, m // 2).astype(np.float64) for m in (8, 12, 12)]
                    angle = np.concatenate([0 * y[:, None] * f0[0], y[:, None] * f0[1], x[:, None] * f0[2]], 1)
                else:
                    angle = np.concatenate([y[:, None] * f, x[:, None] * f], 1)
                yield Unknown(
                    "grid", text, {"cos": np.cos(angle).astype(np.float32), "sin": np.sin(angle).astype(np.float32)}
                )
                continue
        yield Unknown("grid", text, {"array": table.astype(np.float32)})


def nothing(rng: np.random.Generator, count: int) -> Iterator[Unknown]:
    kinds = (
        "normal",
        "uniform",
        "noise",
        "shuffled",
        "random phases",
        "random frequencies",
        "learned bias",
        "truncated",
    )
    for k in range(count):
        kind = kinds[k % len(kinds)]
        d = int(rng.choice([32, 64, 128]))
        cos, sin = phases(powers(10000.0, d / 2, d // 2), 0, 1, ROWS, "exact")
        table = np.empty((ROWS, d))
        table[:, 0::2], table[:, 1::2] = sin, cos
        match kind:
            case "normal":
                table = rng.standard_normal((ROWS, d)) * 0.02
            case "uniform":
                table = rng.uniform(-0.1, 0.1, (ROWS, d))
            case "noise":
                table = table + rng.standard_normal(table.shape) * float(rng.choice([1e-1, 1e-2, 1e-3, 1e-4]))
            case "shuffled":
                table = rng.permutation(table, axis=1)
            case "random phases":
                angle = np.outer(np.arange(ROWS), powers(10000.0, d / 2, d // 2)) + rng.uniform(0, 6, d // 2)
                table[:, 0::2], table[:, 1::2] = np.sin(angle), np.cos(angle)
            case "random frequencies":
                angle = np.outer(np.arange(ROWS), rng.uniform(0, 1, d // 2))
                table[:, 0::2], table[:, 1::2] = np.sin(angle), np.cos(angle)
            case "learned bias":
                table = rng.standard_normal((8, 16, 16))
            case _:
                table = np.clip(rng.standard_normal((ROWS, d)), -2, 2) * 0.02
        yield Unknown("unknown", f"{kind} d={d}", {"array": table.astype(np.float32)}, formula=False)


def every() -> list[Unknown]:
    """The whole set: 300 tables, always the same."""
    rng = np.random.default_rng(SEED)
    makers = (
        (rotary, 54), (scaled, 50), (arithmetics, 35), (sinusoids, 45), (biases, 30),
        (kernels, 10), (indices, 12), (plain, 16), (grids, 24), (nothing, 24),
    )  # fmt: skip
    return [unknown for make, count in makers for unknown in make(rng, count)]


def save(unknown: Unknown, folder: Any, name: str) -> str:
    """Write it as somebody would: npy for one array, npz for several."""
    if len(unknown.arrays) == 1:
        path = folder / f"{name}.npy"
        np.save(path, next(iter(unknown.arrays.values())))
    else:
        path = folder / f"{name}.npz"
        np.savez(path, **unknown.arrays)
    return str(path)
