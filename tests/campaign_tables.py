"""A campaign of unknown tables, as many as asked for, made with NumPy alone by independent formulas.

Families x widths x bases x lengths x starts x types x orders x layouts x scalings x arithmetics x spoilings, drawn
from a seed.  Each case knows what it would be without roundings and spoiling, which is what a recipe is held to.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from . import unknown_tables as u

BASES = (10000.0, 10000.0, 500000.0, 1e6, 100.0, 10007.0, 1771.0, 123456.7, 20000.0, 5e6, 333.0)
LENGTHS = (
    17,
    32,
    48,
    64,
    95,
    96,
    97,
    100,
    128,
    191,
    192,
    193,
    255,
    256,
    257,
    384,
    511,
    512,
    513,
    600,
    1000,
    1024,
    1025,
)
LONG = (2048, 4095, 4096, 4097, 8192)
TYPES = ("float32", "float32", "float32", "float64", "float16", "bfloat16")


@dataclass(frozen=True)
class Case:
    """A table: its arrays, what they would be unspoiled and without roundings, and what is wrong with it."""

    text: str
    arrays: dict[str, np.ndarray]
    ideal: dict[str, np.ndarray] | None
    spoiled: str = ""
    loose: float = 0.0
    extra: dict[str, object] = field(default_factory=dict)


def exact(w: np.ndarray, positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """cos and sin of p w by long double."""
    turn = 2 * np.longdouble(math.pi) + np.longdouble(2.4492935982947064e-16)
    angle = np.asarray(np.outer(positions.astype(np.longdouble), w) % turn, np.longdouble)
    return np.cos(angle).astype(np.float64), np.sin(angle).astype(np.float64)


def cut(x: np.ndarray) -> np.ndarray:
    """Values cut, not rounded, to bfloat16."""
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32) & np.uint32(0xFFFF0000)
    return bits.view(np.float32)


def computed(w: np.ndarray, base: float, d: int, p: np.ndarray, how: str) -> tuple[np.ndarray, np.ndarray]:
    """cos and sin by one arithmetic."""
    w32, p32 = w.astype(np.float32), p.astype(np.float32)
    match how:
        case "float32":
            angle = (p32[:, None] * w32).astype(np.float32)
        case "bfloat16":
            angle = u.bf16(u.bf16(p32)[:, None] * u.bf16(w32))
        case "bfloat16 frequencies":
            angle = (p32[:, None] * u.bf16(w32)).astype(np.float32)
        case "bfloat16 positions":
            angle = (u.bf16(p32)[:, None] * w32).astype(np.float32)
        case "float16":
            half = p.astype(np.float16).astype(np.float32)[:, None] * w.astype(np.float16).astype(np.float32)
            angle = half.astype(np.float16)
        case _:
            cos, sin = exact(w, p)
            if how == "cut":
                return cut(cos), cut(sin)
            if how == "twice":
                cos, sin = (u.bf16(v.astype(np.float16).astype(np.float32)) for v in (cos, sin))
            return cos, sin
    angle = angle.astype(np.float64)
    return np.cos(angle).astype(np.float32), np.sin(angle).astype(np.float32)


ARITHMETICS = (
    *("exact",) * 6, "float32", "float32", "bfloat16", "bfloat16 frequencies", "bfloat16 positions", "cut", "twice",
)  # fmt: skip


def scaled(rng: np.random.Generator, base: float, d: int) -> tuple[str, np.ndarray, float]:
    """Frequencies and magnitude of a scaling."""
    w, factor = u.powers(base, d / 2, d // 2), float(rng.choice([2, 4, 8, 16, 32]))
    match str(rng.choice(["none", "none", "none", "linear", "ntk", "yarn", "llama3"])):
        case "linear":
            return f"linear {factor:g}", w / factor, 1.0
        case "ntk":
            return f"ntk {factor:g}", u.powers(base * factor ** (d / (d - 2)), d / 2, d // 2), 1.0
        case "yarn":
            return f"yarn {factor:g}", u.yarn(base, d, factor, 4096), 0.1 * math.log(factor) + 1
        case "llama3":
            return f"llama3 {factor:g}", u.by_rotations(base, d, factor, 8192, 1, 4), 1.0
    return "", w, 1.0


def rotary(rng: np.random.Generator) -> Case:
    d, base = int(rng.choice([16, 32, 64, 96, 128])), float(rng.choice(BASES))
    words, w, size = scaled(rng, base, d)
    how, dtype, layout = str(rng.choice(ARITHMETICS)), str(rng.choice(TYPES)), str(rng.choice(u.LAYOUTS))
    n, start = length(rng, d), int(rng.choice([0, 0, 0, 0, 1, 7, 100, 4096]))
    if how != "exact":
        start, dtype, size = 0, "float32", 1.0
        if words.startswith("yarn"):
            words, w = "", u.powers(base, d / 2, d // 2)
    if layout == "complex" and dtype in ("float16", "bfloat16"):
        dtype = "float32"
    p = start + np.arange(n, dtype=np.float64)
    cos, sin = computed(w, base, d, p, how)
    ideal = u.lay_out(*(size * v for v in exact(w, p)), layout, "float64")
    text = f"rope d={d} base={base:g} {words} n={n} start={start} {layout} {dtype} {how}"
    return Case(text, u.lay_out(cos * size, sin * size, layout, dtype), ideal, "", 0.0 if how == "exact" else 1.0)


def sinusoid(rng: np.random.Generator) -> Case:
    d, base, order = int(rng.choice([32, 64, 128, 256])), float(rng.choice(BASES)), str(rng.choice(["in", "sc", "cs"]))
    shift, dtype, how = (
        int(rng.choice([0, 0, 1])),
        str(rng.choice(TYPES)),
        str(rng.choice(["exact", "exact", "float32"])),
    )
    n, start = length(rng, d), int(rng.choice([0, 0, 0, 2, 1000]))
    step = float(rng.choice([1, 1, 1, 0.5, 10]))
    dtype = dtype if how == "exact" else "float32"
    w, p = u.powers(base, d / 2 - shift, d // 2), start + step * np.arange(n)

    def table(pair: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
        cos, sin = pair
        if order == "in":
            return np.stack([sin, cos], 2).reshape(n, d)
        return np.concatenate([sin, cos] if order == "sc" else [cos, sin], 1)

    text = f"sinusoidal d={d} base={base:g} {order} shift={shift} n={n} start={start} step={step:g} {dtype} {how}"
    made = u.narrow(table(computed(w, base, d, p, how)), dtype)
    return Case(text, {"array": made}, {"array": table(exact(w, p))}, "", 0.0 if how == "exact" else 1.0)


def part(rng: np.random.Generator) -> Case:
    """cos alone, sin alone, doubled or not, or a vector of frequencies."""
    d, base, n = int(rng.choice([32, 64, 128])), float(rng.choice(BASES[:5])), length(rng, 64)
    cos, sin = exact(u.powers(base, d / 2, d // 2), np.arange(n))
    kind = str(rng.choice(["cos", "sin", "cos half", "sin half", "cached", "cos turn", "inv_freq"]))
    if kind == "inv_freq":
        w = (1 / np.power(np.float32(base), np.arange(0, d, 2, dtype=np.float32) / np.float32(d))).astype(np.float32)
        return Case(
            f"inv_freq d={d} base={base:g}", {"rotary_emb.inv_freq": w}, None, "", 0.0, {"base": base, "dim": d}
        )
    values = {"cos": cos, "sin": sin}[kind[:3]] if kind != "cached" else cos
    if kind.endswith("half"):
        values = np.concatenate([values, values], 1)
    elif kind.endswith("turn"):
        values = np.repeat(values, 2, 1)
    arrays = {"array": values}
    if kind == "cached":
        arrays = {"cos_cached": np.concatenate([cos, cos], 1), "sin_cached": np.concatenate([sin, sin], 1)}
    typed = {k: v.astype(np.float32) for k, v in arrays.items()}
    return Case(f"part {kind} d={d} base={base:g} n={n}", typed, None, "", 0.0, {"base": base, "dim": d})


def bias(rng: np.random.Generator) -> Case:
    heads, n = int(rng.choice([2, 4, 8, 12, 16])), int(rng.choice([17, 33, 48, 64]))
    kind = str(
        rng.choice(["alibi", "causal", "slopes", "distance", "key", "last", "log", "power", "gaussian", "sandwich"])
    )
    dtype, m, d = str(rng.choice(TYPES)), u.alibi_slopes(heads), u.distances(n)
    size = np.abs(d).astype(np.float64)
    a, b = np.round(rng.uniform(0.1, 2, heads), 2), np.round(rng.uniform(0.1, 1.9, heads), 2)
    name = "slopes" if kind == "slopes" else "bias"
    match kind:
        case "causal":
            table = np.where(d > 0, -np.inf, -m[:, None, None] * size)
        case "slopes":
            table = m
        case "distance":
            table = -m[:, None] * np.abs(np.arange(-(n - 1), n))
        case "key" | "last":
            at = np.arange(n) - (n - 1 if kind == "last" else 0)
            table = np.array(np.broadcast_to(m[:, None, None] * at, (heads, n, n)))
        case "log":
            table, dtype = np.stack([-x * np.log1p(y * size) for x, y in zip(a, b, strict=True)]), "float32"
        case "power":
            table, dtype = np.stack([-x * size**y for x, y in zip(a, b, strict=True)]), "float32"
        case "gaussian":
            table, dtype = np.stack([np.exp(-(size**2) / (2 * (3 * x) ** 2)) for x in a]), "float32"
        case "sandwich":
            w = 10000.0 ** (-2 * np.arange(1, 33) / 64)
            sums = np.cos(size[..., None] * w).sum(-1) - 32
            table, dtype = np.stack([sums / (8 * h / heads) for h in range(1, heads + 1)]), "float32"
        case _:
            table = -m[:, None, None] * size
    return Case(f"{kind} heads={heads} n={n} {dtype}", {name: u.narrow(table, dtype)}, {name: table})


def index(rng: np.random.Generator) -> Case:
    n = int(rng.choice([40, 150, 200]))
    d = u.distances(n)
    kind = str(rng.choice(["t5", "t5 causal", "shaw", "asymmetric", "window", "binary", "integer"]))
    match kind:
        case "shaw" | "asymmetric":
            left = int(rng.choice([4, 8, 16]))
            table = np.clip(d, -left, left if kind == "shaw" else left // 2) + left
        case "window":
            h, w = int(rng.choice([3, 4, 7])), int(rng.choice([4, 5, 7]))
            y, x = np.divmod(np.arange(h * w), w)
            table = (y[:, None] - y[None] + h - 1) * (2 * w - 1) + x[:, None] - x[None] + w - 1
        case "binary":
            table = (np.arange(n)[:, None] >> np.arange(9)) & 1
        case "integer":
            table = np.repeat(np.arange(n)[:, None] / (n - 1), 4, 1)
        case _:
            buckets, reach = ((32, 128), (64, 256), (32, 64))[int(rng.integers(3))]
            n = 300
            table = u.t5_bucket(u.distances(n), buckets, reach, kind == "t5")
    made = table.astype(np.float32 if kind in ("binary", "integer") else np.int64)
    return Case(f"{kind} n={n}", {"index" if made.dtype.kind == "i" else "array": made}, {"array": table})


def grid(rng: np.random.Generator) -> Case:
    h, w, d = (int(rng.choice(c)) for c in ([4, 6, 14], [4, 5, 8, 16], [32, 64]))
    base, dtype = float(rng.choice([1e4, 1e4, 100.0, 1771.0])), str(rng.choice(["float32", "float64"]))
    y, x = (v.astype(np.float64) for v in np.divmod(np.arange(h * w), w))
    kind = str(rng.choice(["mae", "rt-detr", "timm", "cls", "qwen2-vl"]))
    a, b = u.sin_cos(x, d // 2, base), u.sin_cos(y, d // 2, base)
    q = d // 4
    if kind == "qwen2-vl":
        f = u.powers(base, d / 4, d // 4).astype(np.float64)
        angle = np.concatenate([y[:, None] * f, x[:, None] * f], 1)
        arrays = {"cos": np.cos(angle), "sin": np.sin(angle)}
    else:
        made = {"mae": [a, b], "cls": [a, b], "rt-detr": [b, a], "timm": [b[:, :q], a[:, :q], b[:, q:], a[:, q:]]}[kind]
        table = np.concatenate(made, 1)
        arrays = {"array": np.concatenate([np.zeros((1, d)), table]) if kind == "cls" else table}
    return Case(f"{kind} {h}x{w} d={d} base={base:g} {dtype}", {k: v.astype(dtype) for k, v in arrays.items()}, arrays)


def nothing(rng: np.random.Generator) -> Case:
    """What no formula gives."""
    n, d = int(rng.choice([17, 64, 97, 300])), int(rng.choice([8, 32, 64]))
    kind = str(rng.choice(["normal", "uniform", "shuffled", "phases", "heads", "bits", "walk"]))
    cos, sin = exact(u.powers(1e4, d / 2, d // 2), np.arange(n))
    match kind:
        case "normal":
            table = rng.standard_normal((n, d)) * 0.02
        case "uniform":
            table = rng.uniform(-1, 1, (n, d))
        case "shuffled":
            table = rng.permuted(np.concatenate([cos, sin], 1), axis=1)
        case "phases":
            angle = np.outer(np.arange(n), rng.uniform(0, 3, d // 2)) + rng.uniform(0, 6, d // 2)
            table = np.concatenate([np.cos(angle), np.sin(angle)], 1)
        case "heads":
            table = rng.standard_normal((int(rng.choice([1, 4])), 20, 20))
        case "bits":
            table = rng.integers(0, 2, (n, 9)).astype(float)
        case _:
            table = np.cumsum(rng.standard_normal((n, d)), axis=0)
    return Case(f"nothing {kind} n={n} d={d}", {"array": table.astype(np.float32)}, None, "nothing")


def length(rng: np.random.Generator, d: int) -> int:
    return int(rng.choice(LONG if rng.random() < 0.06 and d <= 64 else LENGTHS))


def spoil(case: Case, rng: np.random.Generator) -> Case:
    """Do something to some rows of the first array (of both, for rows)."""
    arrays = {k: np.array(v) for k, v in case.arrays.items()}
    first = next(iter(arrays.values()))
    if first.ndim != 2 or len(first) < 24 or first.dtype.kind != "f" or case.ideal is None:
        return case
    n = len(first)
    row, column = int(rng.integers(n)), int(rng.integers(first.shape[1]))
    kind = str(rng.choice(["nan", "value", "zeros", "noise", "nans", "repeat", "row"]))
    later = int(rng.integers(n // 2, n - 1))
    match kind:
        case "nan":
            first[row, column] = np.nan
        case "value":
            first[row, column] = first[row, column] + first.dtype.type(0.25)
        case "row":
            first[row] = rng.standard_normal(first.shape[1])
        case _:
            for array in arrays.values():
                if kind == "zeros":
                    array[later:] = 0
                elif kind == "nans":
                    array[later:] = np.nan
                elif kind == "noise":
                    array[later:] = rng.uniform(-1, 1, array[later:].shape)
                else:
                    array[later:] = array[: n - later]
    return Case(f"{case.text} + {kind} at {row if kind in ('nan', 'value', 'row') else later}", arrays, case.ideal,
                kind, case.loose, case.extra)  # fmt: skip


MAKERS: tuple[tuple[Callable[[np.random.Generator], Case], float], ...] = (
    (rotary, 0.34), (sinusoid, 0.2), (part, 0.08), (bias, 0.14), (index, 0.08), (grid, 0.08), (nothing, 0.08),
)  # fmt: skip


def cases(seed: int, count: int) -> list[Case]:
    """The campaign: always the same for a seed."""
    rng = np.random.default_rng(seed)
    makers, weights = zip(*MAKERS, strict=True)
    found = []
    for _ in range(count):
        case = makers[int(rng.choice(len(makers), p=weights))](rng)
        found.append(spoil(case, rng) if rng.random() < 0.2 else case)
    return found
