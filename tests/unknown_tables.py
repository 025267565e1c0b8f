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
    kind: str
    text: str
    arrays: dict[str, np.ndarray]
    formula: bool = True


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
        angle = np.asarray(np.outer(p.astype(np.longdouble), w) % (2 * np.longdouble(math.pi) + np.longdouble(2.4492935982947064e-16)))
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
            return {"cos": np.concatenate([cos, cos], 1)[None, :, None, :], "sin": np.concatenate([sin, sin], 1)[None, :, None, :]}
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
        yield Unknown("rope", f"rope d={d} base={base:g} start={start:g} {layout} {dtype}", lay_out(cos, sin, layout, dtype))


def scaled(rng: np.random.Generator, count: int) -> Iterator[Unknown]:
    kinds = ("linear", "ntk", "yarn", "yarn", "llama3", "longrope", "rotations", "proportional", "dynamic", "ntk-by-parts")
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
        yield Unknown("arithmetic", text, lay_out(cos, sin, layout, dtype))


def sinusoids(rng: np.random.Generator, count: int) -> Iterator[Unknown]:
    for k in range(count):
        base = float(rng.choice([10000.0, 10000.0, 1000.0, 500000.0, 20.0]))
        d = int(rng.choice([32, 64, 128, 512, 768]))
        order = ("interleaved", "sin-cos", "cos-sin")[k % 3]
        shift = int(rng.choice([0, 0, 1]))
        start, step = float(rng.choice([0, 0, 2, 1000])), float(rng.choice([1, 1, 1, 0.5, 10, 1000]))
        size = float(rng.choice([1, 1, math.sqrt(d)])) if d in (64,) else 1.0
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
        text = f"sinusoidal d={width} base={base:g} {order} shift={shift} start={start:g} step={step:g} {odd} {dtype} {size:g} pad={pad}"
        yield Unknown("sinusoidal", text, {"array": narrow(table, dtype)})


def nothing(rng: np.random.Generator, count: int) -> Iterator[Unknown]:
    kinds = ("normal", "uniform", "noise", "shuffled", "random phases", "random frequencies", "learned bias", "truncated")
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
    rng = np.random.default_rng(SEED)
    found: list[Unknown] = []
    for make, count in ((rotary, 54), (scaled, 60), (arithmetics, 42), (sinusoids, 54), (nothing, 32)):
        found += make(rng, count)
    return found


def save(unknown: Unknown, folder: Any, name: str) -> str:
    """Write it as somebody would: npy for one array, npz for several."""
    if len(unknown.arrays) == 1:
        path = folder / f"{name}.npy"
        np.save(path, next(iter(unknown.arrays.values())))
    else:
        path = folder / f"{name}.npz"
        np.savez(path, **unknown.arrays)
    return str(path)
