"""A campaign of unknown tables, as many as asked for, made with NumPy alone by independent formulas.

Families x widths x bases x lengths x starts x types x orders x layouts x scalings x arithmetics x spoilings, drawn
from a seed, every one with every other.  Each case knows what it would be without roundings and spoiling, which is
what a recipe is held to, and the numbers that somebody chose.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from tests.support import unknown_tables as u

Arrays = dict[str, np.ndarray]
Rng = np.random.Generator
USUAL = (10000.0, 10000.0, 10000.0, 500000.0, 1e6, 100.0)
ODD = (10007.0, 1771.0, 123456.7, 20000.0, 5e6, 333.0, 77777.0, 2.5e7, 54321.0, 8888.0, 150000.0)
LIMITS = (24, 48, 96, 128, 192, 256, 384, 512, 1024, 2048, 4096)  # of samples, windows and trials
LENGTHS = (17, 20, 33, 64, 100, 300, 600, 1000, *(n + k for n in LIMITS[:-2] for k in (-1, 0, 1)))
LONG = (2047, 2048, 2049, 3000, 4095, 4096, 4097, 5000, 8191, 8192)
TYPES = ("float32", "float32", "float32", "float64", "float16", "bfloat16")
ARITHMETICS = (
    *("exact",) * 8, *("float32",) * 3, "exponential", "bfloat16", "bfloat16 frequencies", "bfloat16 positions",
    "float16", "cut", "twice",
)  # fmt: skip
NAMES = (("cos", "sin"), ("cos_cached", "sin_cached"), ("model.rotary_emb.cos_cached", "model.rotary_emb.sin_cached"))


@dataclass(frozen=True)
class Case:
    """A table: its arrays, what they would be unspoiled and without roundings, and what is wrong with it.

    `chosen` are the numbers of a recipe that the values may leave a range for, `alike` those of other recipes for the
    same table (a base of its own for NTK's, for a shift's); `said` are words that must be
    said of it; `frequencies` and `start` are what a part of a table is held to.
    """

    text: str
    arrays: Arrays
    ideal: Arrays | None = None
    chosen: dict[str, float] = field(default_factory=dict)
    spoiled: str = ""
    wrong: int = 0
    said: str = ""
    frequencies: np.ndarray | None = None
    start: float = 0.0
    alike: tuple[dict[str, float], ...] = ()


def pick(rng: Rng, *choices):
    return choices[int(rng.integers(len(choices)))]


def a_base(rng: Rng) -> float:
    return pick(rng, *(USUAL if rng.random() < 0.5 else ODD))


def length(rng: Rng, width: int) -> int:
    return pick(rng, *(LONG if rng.random() < 0.1 and width <= 64 else LENGTHS))


def exact(w: np.ndarray, positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """cos and sin of p w by long double."""
    turn = 2 * np.longdouble(math.pi) + np.longdouble(2.4492935982947064e-16)
    angle = np.asarray(np.outer(positions.astype(np.longdouble), w) % turn, np.longdouble)
    return np.cos(angle).astype(np.float64), np.sin(angle).astype(np.float64)


def cut(x: np.ndarray) -> np.ndarray:
    """Values cut, not rounded, to bfloat16."""
    return (np.ascontiguousarray(x, np.float32).view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)


def computed(w: np.ndarray, p: np.ndarray, how: str) -> tuple[np.ndarray, np.ndarray]:
    """cos and sin by one arithmetic."""
    w32, p32 = w.astype(np.float32), p.astype(np.float32)
    match how:
        case "float32":
            angle = p32[:, None] * w32
        case "exponential":
            angle = p32[:, None] * np.exp(np.log(w.astype(np.float64)).astype(np.float32)).astype(np.float32)
        case "bfloat16":
            angle = u.bf16(u.bf16(p32)[:, None] * u.bf16(w32))
        case "bfloat16 frequencies":
            angle = p32[:, None] * u.bf16(w32)
        case "bfloat16 positions":
            angle = u.bf16(p32)[:, None] * w32
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


def frequencies(rng: Rng, base: float, d: int) -> tuple[str, np.ndarray, float, dict[str, float]]:
    """Words, frequencies, magnitude and chosen numbers of a scaling."""
    w, factor, original = u.powers(base, d / 2, d // 2), pick(rng, 2.0, 4.0, 8.0, 16.0, 32.0, 2.5, 40.0), 0
    kind = pick(rng, *("none",) * 4, "linear", "ntk", "yarn", "yarn whole", "llama3", "proportional")
    original, chosen = pick(rng, 2048, 4096, 8192, 32768), {"base": base}
    if kind not in ("none", "proportional"):
        chosen["factor"] = factor
    match kind:
        case "linear":
            return f"linear {factor:g}", w / factor, 1.0, chosen
        case "ntk":
            return f"ntk {factor:g}", u.powers(base * factor ** (d / (d - 2)), d / 2, d // 2), 1.0, chosen
        case "yarn" | "yarn whole":
            size = 0.1 * math.log(factor) + 1
            scaled = u.yarn(base, d, factor, original, truncate=kind == "yarn")
            return (
                f"{kind} {factor:g} {original}",
                scaled,
                size,
                chosen | {"original-max": original, "attention-factor": size},
            )
        case "llama3":
            scaled = u.by_rotations(base, d, factor, original, 1, 4)
            return f"llama3 {factor:g} {original}", scaled, 1.0, chosen | {"original-max": original}
        case "proportional":
            w = np.concatenate([w[: d // 8], 0 * w[d // 8 :]])
            return "proportional", w, 1.0, chosen
    return "", w, 1.0, chosen


def rotary(rng: Rng) -> Case:
    d, base = pick(rng, 16, 32, 64, 80, 96, 128), a_base(rng)
    words, w, size, chosen = frequencies(rng, base, d)
    how, dtype, layout = pick(rng, *ARITHMETICS), pick(rng, *TYPES), pick(rng, *u.LAYOUTS)
    n, start = length(rng, d), pick(rng, 0, 0, 0, 0, 1, 7, 100, 4096)
    if how in ("cut", "twice"):
        dtype, size = "float32", 1.0
    if how in ("bfloat16", "bfloat16 positions", "float16"):
        start = min(start, 100)  # beyond 256 a bfloat16 position stands for several, and few rows are left
    if how != "exact" and dtype == "float64":
        dtype = "float32"
    if layout == "complex" and dtype in ("float16", "bfloat16"):
        dtype = "float32"
    p = start + np.arange(n, dtype=np.float64)
    if how == "exponential" and words == "proportional":
        how = "float32"
    cos, sin = computed(w, p, how)
    made = u.lay_out(cos * size, sin * size, layout, dtype)
    ideal = u.lay_out(*(size * v for v in exact(w, p)), layout, "float64")
    if len(made) == 2:
        names = pick(rng, *NAMES)
        made = dict(zip(names, made.values(), strict=True))
    text = f"rope d={d} base={base:g} {words} n={n} start={start} {layout} {dtype} {how}"
    return Case(text, made, ideal, chosen, alike=own_bases(base, d, words, chosen))


def own_bases(base: float, d: int, words: str, chosen: dict[str, float]) -> tuple[dict[str, float], ...]:
    """The bases of other recipes for the same frequencies: NTK's larger one, and with a shift."""
    if words and not words.startswith("ntk"):
        return ()
    grown = base * chosen["factor"] ** (d / (d - 2)) if words else base
    return {"base": grown}, {"base": grown ** ((d - 2) / d)}


def sinusoid(rng: Rng) -> Case:
    d, base, order = pick(rng, 32, 64, 128, 256), a_base(rng), pick(rng, "in", "sc", "cs")
    shift, dtype, how = pick(rng, 0, 0, 1), pick(rng, *TYPES), pick(rng, "exact", "exact", "exact", *ARITHMETICS[8:-3])
    n, start, step = length(rng, d), pick(rng, 0, 0, 0, 2, 1000), pick(rng, 1, 1, 1, 1, 0.5, 10)
    size = pick(rng, 1.0, 1.0, 1.0, math.sqrt(d), 0.02)
    dtype = "float32" if how != "exact" and dtype == "float64" else dtype
    if how in ("bfloat16", "bfloat16 positions", "float16"):
        start, step = min(start, 2), min(step, 1)
    w, p = u.powers(base, d / 2 - shift, d // 2), start + step * np.arange(n)

    def table(pair: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
        cos, sin = (size * v for v in pair)
        if order == "in":
            return np.stack([sin, cos], 2).reshape(n, d)
        return np.concatenate([sin, cos] if order == "sc" else [cos, sin], 1)

    text = (
        f"sinusoidal d={d} base={base:g} {order} shift={shift} n={n} start={start} step={step:g} {size:g} {dtype} {how}"
    )
    made, ideal = u.narrow(table(computed(w, p, how)), dtype), table(exact(w, p))
    other = base ** (d / (d - 2) if shift else (d - 2) / d)
    if rng.random() < 0.06:
        return Case(
            f"{text} transposed",
            {"array": made.T},
            {"array": ideal},
            {"base": base},
            said="rows and columns are exchanged",
            alike=({"base": other},),
        )
    return Case(text, {"array": made}, {"array": ideal}, {"base": base}, alike=({"base": other},))


def part(rng: Rng) -> Case:
    """cos alone, sin alone, doubled or not, or a vector of frequencies."""
    d, base, dtype = pick(rng, 32, 64, 128), a_base(rng), pick(rng, *TYPES)
    n, start, kind = length(rng, 64), pick(rng, 0, 0, 0, 1, 50), pick(rng, "cos", "sin", "inv_freq")
    if kind == "inv_freq":
        words, w, _, chosen = frequencies(rng, base, d)
        if words == "proportional":
            words, w = "", u.powers(base, d / 2, d // 2)
        made = u.narrow(w.astype(np.float32), dtype if dtype in ("bfloat16", "float16") else "float32")
        name = pick(rng, "inv_freq", "rotary_emb.inv_freq", "model.layers.0.self_attn.rotary_emb.inv_freq")
        text = f"inv_freq d={d} base={base:g} {words} {dtype}"
        return Case(text, {name: made}, chosen=chosen, frequencies=w, alike=own_bases(base, d, words, chosen))
    w = u.powers(base, d / 2, d // 2)
    values = exact(w, start + np.arange(n))[kind == "sin"]
    doubled = pick(rng, "", "half", "turn")
    values = {"": values, "half": np.concatenate([values, values], 1), "turn": np.repeat(values, 2, 1)}[doubled]
    text = f"part {kind} {doubled} d={d} base={base:g} n={n} start={start} {dtype}"
    name = pick(rng, "array", kind, f"{kind}_cached")
    return Case(text, {name: u.narrow(values, dtype)}, chosen={"base": base}, frequencies=w, start=start)


def bias(rng: Rng) -> Case:
    heads, n = pick(rng, 1, 2, 3, 4, 8, 12, 16, 20), pick(rng, 17, 33, 48, 64, 100)
    kind = pick(
        rng,
        "alibi",
        "causal",
        "number",
        "slopes",
        "distance",
        "key",
        "last",
        "tril",
        "log",
        "power",
        "gaussian",
        "sandwich",
    )
    heads = max(heads, 2) if kind == "slopes" else heads  # one number is any slope
    top, dtype, d = pick(rng, 8.0, 8.0, 8.0, 4.0, 16.0), pick(rng, *TYPES), u.distances(n)
    m, size = u.alibi_slopes(heads, top), np.abs(d).astype(np.float64)
    a, b = np.round(rng.uniform(0.1, 2, heads), 2), np.round(rng.uniform(0.1, 1.9, heads), 2)
    name = "slopes" if kind == "slopes" else "bias"
    table, said = -m[:, None, None] * size, ""
    ideal = table
    match kind:
        case "causal" | "number":
            table = ideal = np.where(d > 0, -np.inf, table)
        case "slopes":
            table = ideal = m
        case "distance":
            table = ideal = -m[:, None] * np.abs(np.arange(-(n - 1), n))
        case "key" | "last":
            at = np.arange(n) - (n - 1 if kind == "last" else 0)
            table = ideal = np.array(np.broadcast_to(m[:, None, None] * at, (heads, n, n)))
        case "tril":
            ideal = np.where(d > 0, -np.inf, table)
            table, said = np.where(d > 0, 0.0, table), "0 stands where keys are hidden"
        case "log":
            table = ideal = np.stack([-x * np.log1p(y * size) for x, y in zip(a, b, strict=True)])
        case "power":
            table = ideal = np.stack([-x * size**y for x, y in zip(a, b, strict=True)])
        case "gaussian":
            table = ideal = np.stack([np.exp(-(size**2) / (2 * (3 * x) ** 2)) for x in a])
        case "sandwich":
            w = 10000.0 ** (-2 * np.arange(1, 33) / 64)
            sums = np.cos(size[..., None] * w).sum(-1) - 32
            table = ideal = np.stack([sums / (8 * h / heads) for h in range(1, heads + 1)])
    if kind in ("log", "power", "gaussian", "sandwich") and dtype in ("float16", "bfloat16"):
        dtype = "float32"  # eight or eleven bits do not tell two numbers a head
    made = u.narrow(table, dtype)
    if kind == "number":
        lowest = {"float16": -65504.0, "float64": -1.7976931348623157e308}.get(dtype, -3.4028234663852886e38)
        made = np.where(np.isneginf(table), made.dtype.type(lowest), made)
        said = "stands where keys are hidden"
    text = f"{kind} heads={heads} n={n} top={top:g} {dtype} {a[:2]} {b[:2]}"
    return Case(text, {name: made}, {name: ideal}, said=said)


def index(rng: Rng) -> Case:
    n = pick(rng, 40, 150, 200)
    kind = pick(
        rng, "t5", "t5 causal", "t5 bias", "shaw", "asymmetric", "window", "binary", "binary", "integer", "integer"
    )
    d, dtype = u.distances(n), "int64"
    match kind:
        case "shaw" | "asymmetric":
            left = pick(rng, 4, 8, 16)
            table = np.clip(d, -left, left if kind == "shaw" else pick(rng, left // 2, 2 * left, 1)) + left
        case "window":
            h, w = pick(rng, 3, 4, 7, 8), pick(rng, 4, 5, 7, 12)
            y, x = np.divmod(np.arange(h * w), w)
            table = (y[:, None] - y[None] + h - 1) * (2 * w - 1) + x[:, None] - x[None] + w - 1
        case "binary":
            n, start = length(rng, 8), pick(rng, 0, 0, 3, 1000)
            width = int(start + n).bit_length() + pick(rng, 0, 1, 4)
            number = start + np.arange(n)
            number = number ^ number >> 1 if rng.random() < 0.3 else number
            table = (number[:, None] >> np.arange(width)) & 1
            table = table[:, ::-1] if rng.random() < 0.5 else table
            table, dtype = (2 * table - 1 if rng.random() < 0.3 else table), pick(rng, *TYPES, "int64", "uint8")
            table = np.maximum(table, 0) if dtype == "uint8" else table
        case "integer":
            n, start, dtype = length(rng, 8), pick(rng, 0, 0, 1, 3), pick(rng, *TYPES[:4])
            table = np.repeat((start + np.arange(n))[:, None].astype(np.float64), pick(rng, 1, 4, 16), 1)
            table = table / (start + n - 1) if rng.random() < 0.7 else table
        case _:
            buckets, reach = pick(rng, (32, 128), (64, 256), (32, 64), (16, 128), (128, 512))
            table = u.t5_bucket(u.distances(300), buckets, reach, kind != "t5 causal")
    if kind == "t5 bias":
        weights = rng.standard_normal((pick(rng, 1, 4), buckets)).astype(np.float32)
        return Case(f"t5 bias {buckets} {reach}", {"bias": weights[:, table]}, {"index": table}, said="trained")
    made = table.astype(dtype) if dtype in ("int64", "uint8") else u.narrow(table.astype(np.float64), dtype)
    name = "array" if table.shape[0] != table.shape[-1] else "index"
    return Case(f"{kind} n={n} {dtype} {table.shape}", {name: made}, {"array": table})


def grid(rng: Rng) -> Case:
    h, w, d = pick(rng, 4, 6, 14, 9), pick(rng, 4, 5, 8, 16), pick(rng, 32, 64, 96)
    base, dtype = pick(rng, 1e4, 1e4, 100.0, 1771.0, 54321.0), pick(rng, *TYPES[1:])
    y, x = (v.astype(np.float64) for v in np.divmod(np.arange(h * w), w))
    kind = pick(rng, "mae", "rt-detr", "timm", "cls", "qwen2-vl", "llama4", "detr", "flux")
    a, b = u.sin_cos(x, d // 2, base), u.sin_cos(y, d // 2, base)
    q = d // 4
    f = u.powers(base, d / 4, d // 4).astype(np.float64)
    match kind:
        case "qwen2-vl" | "llama4":
            angle = np.concatenate([(y + (kind == "llama4"))[:, None] * f, (x + (kind == "llama4"))[:, None] * f], 1)
            ideal = {"cos": np.cos(angle), "sin": np.sin(angle)}
        case "flux":
            g = [u.powers(base, k / 2, k // 2).astype(np.float64) for k in (8, (d - 8) // 2, (d - 8) // 2)]
            angle = np.concatenate([0 * y[:, None] * g[0], y[:, None] * g[1], x[:, None] * g[2]], 1)
            ideal = {"cos": np.cos(angle), "sin": np.sin(angle)}
        case "detr":
            c = [u.sin_cos(v + 1, d // 2, base) for v in (y, x)]
            ideal = {"array": np.concatenate([np.stack([v[:, :q], v[:, q:]], 2).reshape(len(v), -1) for v in c], 1)}
        case _:
            halves = {"rt-detr": [b, a], "timm": [b[:, :q], a[:, :q], b[:, q:], a[:, q:]]}.get(kind, [a, b])
            table = np.concatenate(halves, 1)
            ideal = {"array": np.concatenate([np.zeros((1, d)), table]) if kind == "cls" else table}
    made = {name: u.narrow(v, dtype) for name, v in ideal.items()}
    # base^(-i/q) is b^(-i/(q-1)) with b = base^((q-1)/q): the same columns by a shift of one
    other = {"base": base ** ((q - 1) / q)}
    chosen = {"base": base, "temperature": base}
    return Case(f"{kind} {h}x{w} d={d} base={base:g} {dtype}", made, ideal, chosen, alike=(other,))


def nothing(rng: Rng) -> Case:
    """What no formula gives; of drawn weights their statistics are the answer."""
    n, d = pick(rng, 17, 64, 97, 300), pick(rng, 8, 32, 64)
    kind = pick(rng, "normal", "truncated", "uniform", "padded", "shuffled", "phases", "heads", "bits", "walk", "noisy")
    cos, sin = exact(u.powers(1e4, d / 2, d // 2), np.arange(n))
    table = rng.standard_normal((n, d)) * 0.02
    match kind:
        case "truncated":
            wide = rng.standard_normal(20 * n * d)
            table = (wide[np.abs(wide) < 2][: n * d] * 0.02).reshape(n, d)
        case "uniform":
            table = rng.uniform(-1, 1, (n, d))
        case "padded":
            table[pick(rng, 0, 1)] = 0
        case "shuffled":
            table = rng.permuted(np.concatenate([cos, sin], 1), axis=1)
        case "phases":
            angle = np.outer(np.arange(n), rng.uniform(0, 3, d // 2)) + rng.uniform(0, 6, d // 2)
            table = np.concatenate([np.cos(angle), np.sin(angle)], 1)
        case "heads":
            table = rng.standard_normal((pick(rng, 1, 4), 20, 20))
        case "bits":
            table = rng.integers(0, 2, (n, 9)).astype(float)
        case "walk":
            table = np.cumsum(rng.standard_normal((n, d)), axis=0)
        case "noisy":
            table = np.concatenate([sin, cos], 1) + pick(rng, 1e-2, 1e-3, 1e-4) * rng.standard_normal((n, d))
    said = {"normal": "normal", "truncated": "truncated", "uniform": "uniform", "padded": "normal", "heads": "normal"}
    told = said.get(kind, "") if table.size >= 1000 else ""
    return Case(f"nothing {kind} n={n} d={d}", {"array": table.astype(np.float32)}, spoiled="nothing", said=told)


def spoil(case: Case, rng: Rng) -> Case:
    """Do something to some rows of the first array (of both, for rows)."""
    arrays = {k: np.array(v) for k, v in case.arrays.items()}
    first = next(iter(arrays.values()))
    rows = first.reshape(-1, first.shape[-1]) if first.ndim == 4 else first
    if rows.ndim != 2 or len(rows) < 24 or first.dtype.kind != "f" or case.ideal is None or case.said:
        return case
    n = len(rows)
    row, column, later = int(rng.integers(n)), int(rng.integers(rows.shape[1])), int(rng.integers(n // 2, n - 1))
    kind = pick(rng, "nan", "value", "value", "zeros", "noise", "nans", "repeat", "row")
    match kind:
        case "nan":
            rows[row, column] = np.nan
        case "value":
            rows[row, column] += rows.dtype.type(0.25)
        case "row":
            rows[row] = rng.standard_normal(rows.shape[1])
        case _:
            for array in arrays.values():
                each = array.reshape(-1, array.shape[-1]) if array.ndim == 4 else array
                each[later:] = {"zeros": 0, "nans": np.nan}.get(kind, each[: n - later])
                if kind == "noise":
                    each[later:] = rng.uniform(-1, 1, each[later:].shape)
    wrong = sum(int(((a != b) & ~(np.isnan(a) & np.isnan(b))).sum())
                for a, b in zip(arrays.values(), case.arrays.values(), strict=True))  # fmt: skip
    at = row if kind in ("nan", "value", "row") else later
    return replace(case, text=f"{case.text} + {kind} at {at}", arrays=arrays, spoiled=kind, wrong=wrong)


MAKERS: tuple[tuple[Callable[[Rng], Case], float], ...] = (
    (rotary, 0.36), (sinusoid, 0.18), (part, 0.1), (bias, 0.12), (index, 0.1), (grid, 0.08), (nothing, 0.06),
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
