"""Plain NumPy builders: tables as repositories write them, in the arithmetic that they use."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

F16, F32, F64 = np.float16, np.float32, np.float64
Arrays = dict[str, Any]


def bf16(values: Any) -> np.ndarray:
    """Values rounded to bfloat16, to nearest even, stored as float32."""
    bits = np.ascontiguousarray(values, F32).view(np.uint32)
    rounded = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) & np.uint32(0xFFFF0000)
    return rounded.view(F32)


def half(values: Any) -> np.ndarray:
    """Values rounded to float16, stored as float16."""
    return np.asarray(values).astype(F16)


def write_safetensors(path: Path, arrays: Mapping[str, np.ndarray], *, bfloat16: bool = False) -> None:
    """Write a safetensors file; with bfloat16 the upper halves of float32 values."""
    kinds = {"float16": "F16", "float32": "F32", "float64": "F64", "int64": "I64"}
    header, body = {}, b""
    for name, array in arrays.items():
        kind, data = kinds[str(array.dtype)], np.ascontiguousarray(array).tobytes()
        if bfloat16:
            upper = np.ascontiguousarray(array, F32).view(np.uint32) >> np.uint32(16)
            kind, data = "BF16", upper.astype("<u2").tobytes()
        header[name] = {"dtype": kind, "shape": list(array.shape), "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(len(text).to_bytes(8, "little") + text + body)


# Frequencies


def inv32(dim: int, base: float = 10000.0) -> np.ndarray:
    """1 / base^(2i/dim), each step rounded to float32, as torch code computes it."""
    exponent = (np.arange(0, dim, 2, dtype=F32) / F32(dim)).astype(F32)
    power = np.power(F64(base), exponent.astype(F64)).astype(F32)
    return (F32(1) / power).astype(F32)


def inv64(dim: int, base: float = 10000.0) -> np.ndarray:
    """base^(-2i/dim) in float64."""
    return base ** (-np.arange(0, dim, 2, dtype=F64) / dim)


def llama3(inv: Any, factor: float = 8, low: float = 1, high: float = 4, original: float = 8192) -> np.ndarray:
    """Frequencies of Llama 3.1: slow ones divided by the factor, smooth between."""
    inv = np.asarray(inv)
    wave = 2 * math.pi / inv
    smooth = (original / wave - low) / (high - low)
    between = (1 - smooth) * inv / factor + smooth * inv
    scaled = np.where(wave > original / low, inv / factor, np.where(wave < original / high, inv, between))
    return scaled.astype(inv.dtype)


def correction(rotations: float, dim: int, base: float, original: float) -> float:
    """Pair index that makes so many rotations in the original length."""
    return dim * math.log(original / (rotations * 2 * math.pi)) / (2 * math.log(base))


def yarn(
    dim: int, base: float, factor: float, original: float, *, fast: float = 32, slow: float = 1,
    truncate: bool = True, swapped: bool = False, dtype: Any = F32, ends: Any = (math.floor, math.ceil),
) -> np.ndarray:  # fmt: skip
    """Frequencies of YaRN, from the authors' code; swapped exchanges what is scaled and what is not."""
    low, high = correction(fast, dim, base, original), correction(slow, dim, base, original)
    if truncate:
        low, high = ends[0](low), ends[1](high)
    low, high = max(low, 0), min(high, dim - 1)
    if low == high:
        high += 0.001
    ramp = np.clip((np.arange(dim // 2) - low) / (high - low), 0, 1)
    if swapped:
        ramp = 1 - ramp
    plain = inv32(dim, base) if dtype == F32 else inv64(dim, base)
    return (plain / factor * ramp + plain * (1 - ramp)).astype(dtype)


def ntk_base(base: float, factor: float, dim: int) -> float:
    """NTK-aware base."""
    return base * factor ** (dim / (dim - 2))


def dynamic_base(base: float, factor: float, dim: int, length: int, maximum: int) -> float:
    """Dynamic NTK base at a length."""
    return base * ((factor * length / maximum) - (factor - 1)) ** (dim / (dim - 2))


# Rotary tables


def angles(inv: Any, n: int, *, start: float = 0, step: float = 1, positions: Any = None) -> np.ndarray:
    """Positions times frequencies, in the frequencies' dtype."""
    inv = np.asarray(inv)
    if positions is None:
        positions = start + step * np.arange(n)
    return np.multiply.outer(np.asarray(positions).astype(inv.dtype), inv)


def widen(angle: np.ndarray, layout: str) -> np.ndarray:
    """Angles of doubled width, halves or neighbours; split leaves them."""
    if layout == "half":
        return np.concatenate([angle, angle], -1)
    return np.repeat(angle, 2, -1) if layout == "interleaved" else angle


def cache(
    inv: Any, n: int = 512, *, layout: str = "half", start: float = 0, step: float = 1, positions: Any = None,
    magnitude: float = 1.0, dtype: Any = None,
) -> Arrays:  # fmt: skip
    """Cos and sin of a rotary cache."""
    angle = widen(angles(inv, n, start=start, step=step, positions=positions), layout)
    m = angle.dtype.type(magnitude)
    cos, sin = np.cos(angle) * m, np.sin(angle) * m
    return {"cos": cos, "sin": sin} if dtype is None else {"cos": cos.astype(dtype), "sin": sin.astype(dtype)}


def rope(dim: int = 64, n: int = 512, base: float = 10000.0, **choice: Any) -> Arrays:
    """Ordinary float32 cache as transformers makes it."""
    return cache(inv32(dim, base), n, **choice)


def rope64(dim: int = 64, n: int = 512, base: float = 10000.0, **choice: Any) -> Arrays:
    """Cache of plain float64 NumPy."""
    return cache(inv64(dim, base), n, **choice)


def each(arrays: Mapping[str, np.ndarray], change: Any) -> Arrays:
    """Apply a change to every array."""
    return {name: change(array) for name, array in arrays.items()}


def edit(arrays: Mapping[str, np.ndarray], where: Any, value: Any) -> Arrays:
    """Copy of arrays with the same place of each overwritten."""
    made = {name: np.array(array) for name, array in arrays.items()}
    for array in made.values():
        array[where] = value
    return made


def rotate(x: np.ndarray, cos: np.ndarray, sin: np.ndarray, pairs: str = "half") -> np.ndarray:
    """Rotate the last axis by a split table that broadcasts against (..., n, d/2)."""
    x = np.asarray(x)
    out = np.empty(np.broadcast_shapes(x.shape, (*cos.shape[:-1], x.shape[-1])), x.dtype)
    d = x.shape[-1] // 2
    one, two = (x[..., :d], x[..., d:]) if pairs == "half" else (x[..., 0::2], x[..., 1::2])
    a, b = one * cos - two * sin, two * cos + one * sin
    if pairs == "half":
        out[..., :d], out[..., d:] = a, b
    else:
        out[..., 0::2], out[..., 1::2] = a, b
    return out


# Absolute tables


def waves(angle: np.ndarray, order: str = "interleaved") -> np.ndarray:
    """Sines and cosines of angles in one table."""
    sin, cos = np.sin(angle), np.cos(angle)
    if order == "interleaved":
        return np.stack([sin, cos], -1).reshape(*angle.shape[:-1], -1)
    return np.concatenate([sin, cos] if order == "sin-cos" else [cos, sin], -1)


def sinusoid(
    n: int = 128, d: int = 64, *, base: float = 10000.0, order: str = "interleaved", shift: float = 0,
    dtype: Any = F64, start: float = 0, step: float = 1, positions: Any = None,
) -> np.ndarray:  # fmt: skip
    """Sinusoidal table, paper spacing with shift 0 and endpoint with 1."""
    k = d // 2
    w = base ** (-np.arange(k, dtype=F64) / (k - shift))
    return waves(angles(w.astype(dtype), n, start=start, step=step, positions=positions), order)


def grid_waves(height: int, width: int, d: int, *, base: float = 10000.0, order: str = "xy") -> np.ndarray:
    """MAE's 2-D table: half the width for each axis, sines before cosines."""
    y, x = np.meshgrid(np.arange(height, dtype=F64), np.arange(width, dtype=F64), indexing="ij")
    first, second = (x, y) if order == "xy" else (y, x)
    w = base ** (-np.arange(d // 4, dtype=F64) / (d // 4))
    parts = [waves(np.multiply.outer(side.ravel(), w), "sin-cos") for side in (first, second)]
    return np.concatenate(parts, 1)


# Biases and indices


def slopes(heads: int, bias_max: float = 8.0) -> np.ndarray:
    """ALiBi slopes as the authors' get_slopes returns them."""
    power = 2 ** math.floor(math.log2(heads))
    first = [2 ** (-bias_max * h / power) for h in range(1, power + 1)]
    extra = [2 ** (-bias_max * h / (2 * power)) for h in range(1, 2 * (heads - power), 2)]
    return np.array(first + extra, F64)


def alibi(heads: int = 8, n: int = 32, *, slope: Any = None, dtype: Any = F32) -> np.ndarray:
    """-m abs(j - i) of all heads."""
    m = slopes(heads) if slope is None else np.asarray(slope)
    return (-m[:, None, None] * distance(n)).astype(dtype)


def distance(n: int, m: int | None = None) -> np.ndarray:
    """Absolute distances."""
    return np.abs(np.arange(n)[:, None] - np.arange(m or n)[None])


def t5_index(
    n: int,
    *,
    buckets: int = 32,
    maximum: int = 128,
    both: bool = True,
    keys: int | None = None,
    exact: int | None = None,
) -> np.ndarray:
    """T5's bucket of key minus query, as its code computes it in float32."""
    d = np.arange(keys or n)[None] - np.arange(n)[:, None]
    index = np.zeros_like(d)
    if both:
        buckets //= 2
        index += (d > 0) * buckets
        d = np.abs(d)
    else:
        d = -np.minimum(d, 0)
    exact = exact or buckets // 2
    with np.errstate(divide="ignore"):
        large = np.log(d.astype(F32) / F32(exact)) / F32(math.log(maximum / exact)) * F32(buckets - exact)
    large = exact + np.where(d > 0, large, 0).astype(np.int64)
    return index + np.where(d < exact, d, np.minimum(large, buckets - 1))


def swin_index(h: int, w: int) -> np.ndarray:
    """Swin's relative position index."""
    y, x = (a.ravel() for a in np.meshgrid(np.arange(h), np.arange(w), indexing="ij"))
    return (y[:, None] - y[None] + h - 1) * (2 * w - 1) + x[:, None] - x[None] + w - 1


def shaw_index(n: int, clip: int) -> np.ndarray:
    """Clipped distance key minus query, from 0."""
    return np.clip(np.arange(n)[None] - np.arange(n)[:, None], -clip, clip) + clip


def deberta_index(n: int, *, buckets: int = 256, maximum: int = 512) -> np.ndarray:
    """DeBERTa-v2's log bucket of query minus key."""
    d = np.arange(n)[:, None] - np.arange(n)[None]
    mid = buckets // 2
    size = np.where((d < mid) & (d > -mid), mid - 1, np.abs(d)).astype(F64)
    log = np.ceil(np.log(size / mid) / math.log((maximum - 1) / mid) * (mid - 1)) + mid
    return np.where(size <= mid, d, log * np.sign(d)).astype(np.int64)


def axes_angles(axes: Sequence[int], sides: Sequence[int], base: float = 10000.0, dtype: Any = F64) -> np.ndarray:
    """Angles of a row-major grid: each axis its own width, blocks joined."""
    grid = np.meshgrid(*[np.arange(s, dtype=F64) for s in sides], indexing="ij")
    parts = [np.multiply.outer(g.ravel(), inv64(d, base)).astype(dtype) for g, d in zip(grid, axes, strict=True)]
    return np.concatenate(parts, 1)
