"""A campaign of pairs: what was expected, and values with one fault, made by NumPy alone from independent formulas.

Families x widths x bases x lengths x starts x types x layouts x scalings, drawn from a seed.  Each pair knows what its
maker would call the fault, and what else may truly be said of it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pecli import Table
from pecli.comparison.results import Finding

from . import unknown_tables as u

Arrays = dict[str, np.ndarray]
Rng = np.random.Generator
SEED = 71
UNKNOWN = "no fault that is known"
TRUE_ANYWAY = (r"type \w+ against \w+", r"\w+: type \w+ against \w+, compared as numbers")


@dataclass(frozen=True)
class Pair:
    """Expected values and others: what the fault is called, what may be said beside it, and the right values.

    `says` and `beside` are regular expressions, of which the first must match the first finding and one of the
    others every later one.  `expected` is a recipe, or None for a file of the right values.
    """

    fault: str
    expected: str | None
    mine: Arrays
    right: Arrays | None
    says: str
    beside: tuple[str, ...] = ()


def score(pair: Pair, findings: list[Finding]) -> str:
    """Return "named", "located", "silent", or what is wrong with what was said."""
    if not findings:
        return "nothing was said"
    first, *later = findings
    for finding in later:
        allowed = (*pair.beside, *TRUE_ANYWAY)
        if finding.kind == "place":
            wrong = place_is_wrong(finding.text, pair)
            if wrong:
                return wrong
        elif finding.kind == "identity":
            recipe = finding.text.removeprefix("these values are ").removesuffix(" (sure)")
            made = Table.parse(recipe)
            if any(not np.array_equal(made[a.name].astype(float), pair.mine.get(a.name)) for a in made.arrays):
                return f"false beside: {finding.text}"
        elif not any(re.match(one, finding.text) for one in allowed):
            return f"false beside: {finding.text}"
    if re.match(pair.says, first.text):
        return "named" if first.kind != "place" else place_is_wrong(first.text, pair) or "named"
    if first.kind == "place":
        return place_is_wrong(first.text, pair) or "located"
    return "silent" if first.text.startswith(UNKNOWN) else f"told as: {first.text}"


def place_is_wrong(text: str, pair: Pair) -> str:
    """Count and find again what a place says; empty if it holds."""
    name, _, said = text.partition(": ")
    if pair.right is None:
        return ""
    mine, right = pair.mine[name], pair.right[name]
    if mine.shape != right.shape:
        rows = min(len(mine), len(right))
        mine, right = mine[:rows], right[:rows]
    differ = (mine != right) & ~(np.isnan(mine) & np.isnan(right))
    count = re.search(r"in ([\d,]+) values", said)
    if count and mine.dtype.kind != "c" and int(count[1].replace(",", "")) != differ.sum():
        return f"wrong count: {text}, not {differ.sum()}"
    for index in re.findall(r"\[([\d, ]+)\]", said):
        if not differ[tuple(map(int, index.split(", ")))]:
            return f"wrong place: {text}"
    rows = re.search(r"rows (\d+) to (\d+) differ", said)
    if rows and {*np.nonzero(differ.any(axis=1))[0]} != {*range(int(rows[1]), int(rows[2]) + 1)}:
        return f"wrong rows: {text}"
    column = re.search(r"column (\d+) differs", said)
    return f"wrong column: {text}" if column and {*np.nonzero(differ)[-1]} != {int(column[1])} else ""


# ---------------------------------------------------------------- what the formulas make
BASES = (10000.0, 10000.0, 500000.0, 1e6, 10007.0, 123456.7, 1771.0, 150000.0, 333.0)
LENGTHS = (17, 33, 64, 100, 257, 300, 600, 1000, 1025, 1500, 2500)
WIDTHS = (16, 24, 32, 48, 64, 80, 96, 128)
STARTS = (0, 0, 0, 1, 17, 1000, 4096)


def text_of(number: float) -> str:
    return f"{number:.15g}".replace("e+0", "e").replace("e+", "e")


@dataclass(frozen=True)
class Rotary:
    """What a rope is made of; `keys` name its scaling in a recipe."""

    d: int
    base: float
    rows: int
    start: int
    dtype: str
    layout: str
    keys: str = ""

    def recipe(self) -> str:
        start = f",start={self.start}" if self.start else ""
        base = f",base={text_of(self.base)}" if self.base != 10000 else ""
        return f"rope:dim={self.d}{base}{self.keys},len={self.rows}{start},layout={self.layout}"

    def made(self, w: np.ndarray, *, start: float | None = None, step=1, size: float = 1.0) -> Arrays:
        """The arrays for frequencies w (m,), longdouble: positions times step."""
        p = (np.arange(self.rows, dtype=np.longdouble) + (self.start if start is None else start)) * step
        return self.laid(*waves(w, p, size))

    def laid(self, cos: np.ndarray, sin: np.ndarray) -> Arrays:
        cos, sin = (v.astype(np.float64) for v in (cos, sin))  # NumPy brings long doubles to float16 by way of float32
        found = u.lay_out(cos, sin, self.layout, self.dtype)
        return {"cos_sin": found["array"]} if self.layout == "concat" else found

    def plain(self, base: float | None = None) -> np.ndarray:
        return u.powers(base or self.base, self.d / 2, self.d // 2)


def waves(w: np.ndarray, p: np.ndarray, size: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """cos and sin of p w in long double."""
    turn = 2 * np.longdouble(math.pi) + np.longdouble(2.4492935982947064e-16)
    angle = np.asarray(np.outer(p, w) % turn, np.longdouble)
    return np.cos(angle) * size, np.sin(angle) * size


def a_rope(rng: Rng, keys: str = "", **fixed) -> Rotary:
    found = {
        "d": int(rng.choice(WIDTHS)), "base": float(rng.choice(BASES)), "rows": int(rng.choice(LENGTHS)),
        "start": int(rng.choice(STARTS)), "dtype": str(rng.choice(["float32", "float32", "float16"])),
        "layout": str(rng.choice(["split", "half", "interleaved", "concat"])), "keys": keys,
    }  # fmt: skip
    return Rotary(**{**found, **fixed})


@dataclass(frozen=True)
class Sines:
    """What a sinusoidal table is made of."""

    d: int
    base: float
    rows: int
    start: int
    dtype: str
    order: str

    def recipe(self) -> str:
        start = f",start={self.start}" if self.start else ""
        return f"sinusoidal:dim={self.d},base={text_of(self.base)},order={self.order},len={self.rows}{start}"

    def made(self, w: np.ndarray, *, start: float | None = None, step=1) -> Arrays:
        p = (np.arange(self.rows, dtype=np.longdouble) + (self.start if start is None else start)) * step
        cos, sin = waves(w, p)
        m, table = self.d // 2, np.zeros((self.rows, self.d))
        at = {"interleaved": (slice(0, None, 2), slice(1, None, 2)), "sin-cos": (slice(0, m), slice(m, None)),
              "cos-sin": (slice(m, None), slice(0, m))}[self.order]  # fmt: skip
        table[:, at[0]], table[:, at[1]] = sin, cos
        return {"pe": u.narrow(table, self.dtype)}

    laid = None

    def plain(self, base: float | None = None) -> np.ndarray:
        return u.powers(base or self.base, self.d / 2, self.d // 2)


def some_sines(rng: Rng, **fixed) -> Sines:
    found = {
        "d": int(rng.choice([16, 24, 64, 96, 128])), "base": float(rng.choice(BASES)),
        "rows": int(rng.choice(LENGTHS)), "start": int(rng.choice(STARTS)),
        "dtype": str(rng.choice(["float32", "float32", "float16"])),
        "order": str(rng.choice(["interleaved", "sin-cos", "cos-sin"])),
    }  # fmt: skip
    return Sines(**{**found, **fixed})


def waving(rng: Rng) -> Rotary | Sines:
    return a_rope(rng) if rng.random() < 0.6 else some_sines(rng)


def of_waves(fault: str, it: Rotary | Sines, mine: Arrays, says: str, beside: tuple[str, ...] = ()) -> Pair:
    return Pair(f"{fault}: {it}", it.recipe(), mine, None, says, beside)


# ---------------------------------------------------------------- faults of phases
def other_base(rng: Rng) -> Pair:
    it = waving(rng)
    others = [b for b in (10000.0, 500000.0, 1e6, 5e6, 12345.0, 77777.0) if b != it.base and b * b != it.base]
    other = float(rng.choice(others))
    return of_waves(
        "base", it, it.made(it.plain(other)), rf"base {re.escape(text_of(other))} where {text_of(it.base)} was expected"
    )


def other_start(rng: Rng) -> Pair:
    it, by = waving(rng), int(rng.choice([1, 1, -1, 2, 5, 100, 512]))
    said = rf"(positions start at|start) {it.start + by} where ({it.start}|none) was expected"
    return of_waves(f"start {by}", it, it.made(it.plain(), start=it.start + by), said)


PI = np.longdouble(math.pi) + np.longdouble(1.2246467991473532e-16)


NEAR_ZERO = r"that leaves \d+ of [\d,]+ values unexplained, by at most [\d.]+e-1\d"  # cos(pi/2): long double misses it


def other_unit(rng: Rng) -> Pair:
    it = waving(rng)
    factor, said = [(180 / PI, "degrees instead of radians"), (PI / 180, "degrees instead of radians"),
                    (2 * PI, "turns (instead of radians|true where false)"), (1 / (2 * PI), "turns instead of radians"),
                    ][int(rng.integers(4))]  # fmt: skip
    return of_waves(f"unit {float(factor):.3g}", it, it.made(it.plain(), step=factor), said, (NEAR_ZERO,))


def other_exponent(rng: Rng) -> Pair:
    it, kind = waving(rng), int(rng.integers(3))
    h = it.d / 2
    if kind == 0:
        w, said = u.powers(it.base, h - 1, it.d // 2), r"(exponent over d - 2|spacing endpoint where paper)"
    elif kind == 1:
        w, said = u.powers(it.base, 2 * h, it.d // 2), "exponent i/d where 2i/d was expected"
    else:
        w, said = u.powers(it.base, h / 2, it.d // 2), "exponent 4i/d where 2i/d was expected"
    return of_waves(f"exponent {kind}", it, it.made(w), said)


def exchanged(rng: Rng) -> Pair:
    it = waving(rng)
    p = np.arange(it.rows, dtype=np.longdouble) + it.start
    cos, sin = waves(it.plain(), p)
    if isinstance(it, Rotary):
        return of_waves("exchanged", it, it.laid(sin, cos), "cos and sin are exchanged")
    found = it.made(it.plain())["pe"]
    m = it.d // 2
    found = np.roll(found, m, 1) if it.order != "interleaved" else found.reshape(-1, m, 2)[..., ::-1].reshape(-1, it.d)
    return of_waves("exchanged", it, {"pe": np.ascontiguousarray(found)}, "cos and sin are exchanged")


# ---------------------------------------------------------------- scalings
def a_scaling(rng: Rng) -> tuple[str, Callable[[Rotary], tuple[np.ndarray, float]], dict]:
    """A scaling's keys, its frequencies and magnitude, its numbers."""
    kind = str(rng.choice(["linear", "ntk", "yarn", "llama3", "ntk-by-parts"]))
    factor = float(rng.choice([2, 4, 8, 16, 40, 2.5]))
    original = int(rng.choice([2048, 4096, 8192]))
    numbers = {"kind": kind, "factor": factor, "original": original}
    keys = f",scaling={kind},factor={text_of(factor)}"
    if kind in ("yarn", "llama3", "ntk-by-parts"):
        keys += f",original-max={original}"
    return keys, lambda it: scaled(it, **numbers), numbers


def scaled(it: Rotary, kind: str, factor: float, original: int, base: float | None = None, **other):
    """Frequencies and magnitude by independent formulas."""
    base = base or it.base
    if kind == "linear":
        return it.plain(base) / np.longdouble(factor), 1.0
    if kind == "ntk":
        power = np.longdouble(it.d) / (it.d - 2)
        return np.power(np.longdouble(base) * np.longdouble(factor) ** power,
                        -np.arange(it.d // 2, dtype=np.longdouble) * 2 / it.d), 1.0  # fmt: skip
    if kind == "llama3":
        return u.by_rotations(base, it.d, factor, original, other.get("low", 1), other.get("high", 4)), 1.0
    w = u.yarn(base, it.d, factor, original, other.get("fast", 32), other.get("slow", 1))
    size = np.longdouble(1) / 10 * np.log(np.longdouble(factor)) + 1
    return w, (size if kind == "yarn" else 1.0)


def scaled_rope(rng: Rng, kinds: tuple[str, ...] = (), **fixed):
    while True:
        keys, make, numbers = a_scaling(rng)
        if not kinds or numbers["kind"] in kinds:
            break
    it = a_rope(rng, keys, **{"d": int(rng.choice([64, 96, 128])), "base": float(rng.choice([10000.0, 500000.0, 1e6])),
                              "rows": int(rng.choice([100, 300, 1000, 1500])), **fixed})  # fmt: skip
    return it, make, numbers


def no_scaling(rng: Rng) -> Pair:
    it, _, numbers = scaled_rope(rng)
    return of_waves(
        "no scaling", it, it.made(it.plain()), rf"scaling {numbers['kind']} is missing: the frequencies are unscaled"
    )


def no_scaling_no_base(rng: Rng) -> Pair:
    it, _, numbers = scaled_rope(rng, base=500000.0)
    return of_waves(
        "no scaling, no base", it, it.made(it.plain(10000.0)), rf"scaling {numbers['kind']} and the base are missing"
    )


def no_base(rng: Rng) -> Pair:
    it, _, numbers = scaled_rope(rng, base=500000.0)
    w, size = scaled(it, **{**numbers, "base": 10000.0})
    return of_waves("base dropped", it, it.made(w, size=size), r"base 10000 where 500000 was expected")


def twice(rng: Rng) -> Pair:
    it, _, n = scaled_rope(rng)
    squared = {**n, "factor": n["factor"] ** 2}
    w, size = scaled(it, **squared)
    return of_waves("factor twice", it, it.made(w, size=size), rf"{n['kind']} factor applied twice")


def other_factor(rng: Rng) -> Pair:
    it, _, n = scaled_rope(rng)
    other = float(rng.choice([f for f in (2, 4, 8, 16, 32) if f not in (n["factor"], n["factor"] ** 2)]))
    w, size = scaled(it, **{**n, "factor": other})
    said = rf"factor {text_of(other)} where {re.escape(text_of(n['factor']))} was expected"
    return of_waves("other factor", it, it.made(w, size=size), said)


def divided(rng: Rng) -> Pair:
    it, make, n = scaled_rope(rng, ("yarn", "llama3", "ntk"))
    factor = int(rng.choice([2, 4, 8]))
    w, size = make(it)
    return of_waves("divided as well", it, it.made(w, step=np.longdouble(1) / factor, size=size),
                    rf"linear factor {factor} applied beside scaling {n['kind']}")  # fmt: skip


def linear_unasked(rng: Rng) -> Pair:
    it, factor = a_rope(rng), int(rng.choice([2, 4, 8, 16]))
    said = rf"(scaling )?linear (with )?factor {factor} where none was expected"
    return of_waves("linear unasked", it, it.made(it.plain(), step=np.longdouble(1) / factor), said)


def no_magnitude(rng: Rng) -> Pair:
    it, make, _ = scaled_rope(rng, ("yarn",))
    return of_waves("no magnitude", it, it.made(make(it)[0]), r"(the )?magnitude (is )?missing")


def magnitude_twice(rng: Rng) -> Pair:
    it, make, _ = scaled_rope(rng, ("yarn",))
    w, size = make(it)
    return of_waves("magnitude twice", it, it.made(w, size=size * size), r"(the )?magnitude (is )?applied twice")


def ends_swapped(rng: Rng) -> Pair:
    it, _, n = scaled_rope(rng, ("llama3",))
    w = it.plain()
    turns = n["original"] * w / (2 * PI)
    w = np.where(turns < 4, w / np.longdouble(n["factor"]), w)
    return of_waves("low and high swapped", it, it.made(w), r"low-freq-factor and high-freq-factor are exchanged")


def other_ends(rng: Rng) -> Pair:
    it, _, n = scaled_rope(rng, ("llama3",))
    low, high = [(1, 2), (1, 8), (2, 4)][int(rng.integers(3))]
    w, _ = scaled(it, **n, low=low, high=high)
    said = rf"high-freq-factor {high} where 4" if low == 1 else rf"low-freq-factor {low} where 1"
    return of_waves("other ends", it, it.made(w), said)


def betas(rng: Rng) -> Pair:
    it, _, n = scaled_rope(rng, ("yarn",))
    fast, slow = [(16, 1), (64, 1), (32, 2), (1, 32)][int(rng.integers(4))]
    if (fast, slow) == (1, 32):
        w, said = reversed_ramp(it, n["factor"], n["original"]), r"beta-fast and beta-slow are exchanged"
    else:
        w, _ = scaled(it, **n, fast=fast, slow=slow)
        said = rf"beta-fast {fast} where 32" if fast != 32 else rf"beta-slow {slow} where 1"
    size = np.longdouble(1) / 10 * np.log(np.longdouble(n["factor"])) + 1
    return of_waves(f"betas {fast} {slow}", it, it.made(w, size=size), said)


def reversed_ramp(it: Rotary, factor: float, original: int) -> np.ndarray:
    """transformers' steps with beta_fast = 1 and beta_slow = 32: the ends of the ramp change places."""

    def index(turns: float) -> float:
        return it.d * math.log(original / (turns * 2 * math.pi)) / (2 * math.log(it.base))

    low, high = max(math.floor(index(1)), 0), min(math.ceil(index(32)), it.d - 1)
    ramp = np.clip((np.arange(it.d // 2, dtype=np.longdouble) - low) / (high - low), 0, 1)
    return it.plain() * (1 - ramp) + it.plain() / np.longdouble(factor) * ramp


# ---------------------------------------------------------------- faults of any table
STRUCTURAL = (
    "sinusoidal:dim=64", "sinusoidal:dim=24,base=1771,order=sin-cos", "rope:dim=32",
    "rope:dim=64,base=500000,layout=half",
    "rope:dim=48,layout=interleaved,base=10007", "rope:dim=64,layout=concat", "retnet:dim=32,heads=4",
    "rope:dim=64,scaling=yarn,factor=4,original-max=4096", "mrope:dim=32,sections=8+4+4", "xpos:dim=32",
    "complex:dim=16", "sinusoidal:dim=128,dtype=float64", "rope:dim=64,dtype=float16",
)  # fmt: skip


def right_of(recipe: str) -> Arrays:
    table = Table.parse(recipe)
    return {a.name: np.asarray(table[a.name]) for a in table.arrays}


def any_table(rng: Rng, least: int = 33) -> tuple[str, Arrays]:
    rows = max(least, int(rng.choice(LENGTHS)))
    found = STRUCTURAL[int(rng.integers(len(STRUCTURAL)))]
    recipe = f"{found},len={rows}" + (f",start={s}" if (s := int(rng.choice(STARTS))) else "")
    try:
        return recipe, right_of(recipe)
    except Exception:
        return any_table(rng, least)


def of_values(fault: str, recipe: str, right: Arrays, mine: Arrays, says: str, beside=(), *, file=None) -> Pair:
    return Pair(f"{fault}: {recipe}", recipe, mine, right, says, tuple(beside))


def every(right: Arrays, change: Callable[[np.ndarray], np.ndarray]) -> Arrays:
    return {name: np.ascontiguousarray(change(v.copy())).astype(v.dtype) for name, v in right.items()}


def one(right: Arrays, rng: Rng) -> str:
    return str(rng.choice(sorted(right)))


def one_value(rng: Rng) -> Pair:
    recipe, right = any_table(rng)
    name = one(right, rng)
    mine = every(right, lambda v: v)
    at = tuple(int(rng.integers(n)) for n in right[name].shape)
    mine[name].real[at] = rng.choice([np.nan, np.inf, 7.5, 0.123])
    where = re.escape(", ".join(map(str, at)))
    return of_values("one value", recipe, right, mine, rf"{name}: one value differs, at {name}\[{where}\]")


def some_rows(rng: Rng) -> Pair:
    recipe, right = any_table(rng, 64)
    name = one(right, rng)
    mine, n = every(right, lambda v: v), len(right[name])
    low = int(rng.integers(2, n // 2))
    high = low + int(rng.integers(2, n // 4))
    mine[name][low:high] = rng.choice([np.nan, 9.0])
    return of_values("some rows", recipe, right, mine, rf"{name}: rows {low} to {high - 1} differ")


def one_column(rng: Rng) -> Pair:
    recipe, right = any_table(rng)
    name = one(right, rng)
    mine, k = every(right, lambda v: v), int(rng.integers(right[name].shape[-1]))
    mine[name].real[..., k] = 7
    return of_values("one column", recipe, right, mine, rf"{name}: column {k} differs")


def rows_from(rng: Rng) -> Pair:
    recipe, right = any_table(rng, 100)
    n = len(next(iter(right.values())))
    start = int(rng.integers(n // 3, n - 8))
    kind = int(rng.integers(4))
    if kind == 3 and start < n // 2:
        start = n // 2 + 1
    change, said = [
        (lambda v: np.concatenate([v[:start], np.zeros_like(v[start:])]), f"rows {start} and up are zero"),
        (lambda v: np.concatenate([v[:start], v[start:] * np.nan]), f"rows {start} and up are NaN"),
        (lambda v: v[np.minimum(np.arange(n), start - 1)], f"rows {start} and up repeat row {start - 1}"),
        (lambda v: v[np.arange(n) % start], f"rows {start} and up repeat: row {start} is row 0 again"),
    ][kind]
    return of_values(f"rows {kind}", recipe, right, every(right, change), said)


def noise_from(rng: Rng) -> Pair:
    recipe, right = any_table(rng, 100)
    n = len(next(iter(right.values())))
    start = int(rng.integers(n // 2 + 1, n - 2))
    mine = every(right, lambda v: v)
    for v in mine.values():
        v[start:] = rng.standard_normal(v[start:].shape)
    return of_values("noise rows", recipe, right, mine, rf"\w+: rows {start} to {n - 1} differ")


def missing_row(rng: Rng) -> Pair:
    recipe, right = any_table(rng, 64)
    n = len(next(iter(right.values())))
    k = int(rng.integers(3, n - 6))
    if rng.random() < 0.5:
        mine = every(right, lambda v: np.concatenate([v[:k], v[k + 1 :]]))
        return of_values("missing row", recipe, right, mine, f"row {k} is missing", (r"\w+: shape",))
    mine = every(right, lambda v: np.concatenate([v[:k], v[k - 1 : -1]]))
    return of_values("doubled row", recipe, right, mine, f"row {k - 1} is there twice")


def column_order(rng: Rng) -> Pair:
    recipe, right = any_table(rng)
    widths = {v.shape[-1] for v in right.values()}
    width = widths.pop()
    if rng.random() < 0.5:
        a, b = sorted(int(k) for k in rng.choice(width, 2, replace=False))
        order = np.arange(width)
        order[[a, b]] = b, a
        said = rf"columns {a} and {b} are exchanged|cos and sin are exchanged"
    else:
        order, said = rng.permutation(width), "permuted columns"
    mine = every(right, lambda v: v[..., order])
    if all(np.array_equal(mine[k], right[k]) for k in right) or right[next(iter(right))].ndim > 2:
        return column_order(rng)
    same = all(len(np.unique(v, axis=1).T) < width for v in right.values())  # equal columns leave several orders
    return of_values("columns", recipe, right, mine, ".*columns" if same else said)


def one_part(rng: Rng) -> Pair:
    it = a_rope(rng, layout="split")
    right = it.made(it.plain())
    cos, sin = right["cos"], right["sin"]
    kind = int(rng.integers(5))
    mine, said = [
        ((cos, cos), "sin holds the values of cos"), ((sin, sin), "cos holds the values of sin"),
        ((cos * 2, sin), "cos is 2 times what was expected"), ((cos, -sin), "the sign of sin is changed"),
        ((-cos, sin), "the sign of cos is changed"),
    ][kind]  # fmt: skip
    return Pair(f"one part {kind}: {it}", it.recipe(), dict(zip(("cos", "sin"), mine, strict=True)), right, said)


def whole(rng: Rng) -> Pair:
    recipe, right = any_table(rng)
    name = next(iter(right))
    kind = int(rng.integers(4))
    factor = float(rng.choice([2, 0.5, 50, 8, 100]))
    change, said = [
        (
            lambda v: v * v.dtype.type(factor),
            rf"(every value is {factor:g} times|magnitude {factor:g} where 1|magnitude)",
        ),
        (lambda v: v + v.dtype.type(0.5), "0.5 is added to every value"),
        (lambda v: v[::-1], "the rows run backwards"),
        (lambda v: v.byteswap(), "the four bytes of every value"),
    ][kind]
    if kind == 3 and right[name].dtype != np.float32:
        return whole(rng)
    if kind == 1 and right[name].dtype == np.float16:
        return whole(rng)
    return of_values(f"whole {kind}", recipe, right, every(right, change), said)


def rounded(rng: Rng) -> Pair:
    it = waving(rng)
    it = type(it)(**{**it.__dict__, "dtype": "float32"})
    right = it.made(it.plain())
    kind = int(rng.integers(5))
    digits = int(rng.integers(2, 5))
    change, said = [
        (lambda v: u.bf16(v), "the expected values rounded to bfloat16"),
        (lambda v: v.astype(np.float16).astype(np.float32), "the expected values rounded to float16"),
        (lambda v: (v.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32),
         "the expected values cut, not rounded, to bfloat16"),
        (lambda v: u.bf16(v.astype(np.float16).astype(np.float32)),
         "the expected values rounded to float16, then to bfloat16"),
        (lambda v: np.array([float(f"{x:.{digits}f}") for x in v.flat]).reshape(v.shape),
         f"the expected values rounded to {digits} decimals"),
    ][kind]  # fmt: skip
    return of_waves(f"rounded {kind}", it, every(right, change), said)


def transposed(rng: Rng) -> Pair:
    it = some_sines(rng)
    right = it.made(it.plain())
    recipe = it.recipe() if rng.random() < 0.5 else it.recipe().replace(f",len={it.rows}", "")
    if it.start and "start" not in recipe:
        recipe += f",start={it.start}"
    mine = {"pe": np.ascontiguousarray(right["pe"].T)}
    return Pair(f"transposed: {it}", recipe, mine, None, "rows and columns are exchanged", (r"pe: shape",))


def layouts(rng: Rng) -> Pair:
    it = a_rope(rng, layout=str(rng.choice(["half", "interleaved"])))
    other = "half" if it.layout == "interleaved" else "interleaved"
    mine = Rotary(**{**it.__dict__, "layout": other}).made(it.plain())
    return of_waves("layout", it, mine, "equal after swapping interleaved for halves")


def trained(rng: Rng) -> Pair:
    right = {"pe": (rng.standard_normal((int(rng.choice(LENGTHS)), 32)) * 0.02).astype(np.float32)}
    kind = int(rng.integers(4))
    change, said = [
        (lambda v: v * np.float32(50), "every value is 50 times what was expected"),
        (lambda v: -v, "the sign of pe is changed"),
        (lambda v: v[::-1], "the rows run backwards"),
        (lambda v: v[:, ::-1], "the columns run backwards"),
    ][kind]
    return Pair(f"trained {kind}", None, every(right, change), right, said)


def arithmetic(rng: Rng) -> Pair:
    it = a_rope(rng, base=float(rng.choice([10000.0, 500000.0])), d=64, rows=int(rng.choice([300, 600, 1500])),
                start=0, dtype="float32")  # fmt: skip
    p, w = np.arange(it.rows, dtype=np.float32), u.torch_frequencies(it.base, it.d)
    kind = int(rng.integers(2))
    if kind:
        angle, said = (
            u.bf16(u.bf16(p)[:, None] * u.bf16(w)),
            r"phases (of the first 1,024 rows )?were computed in bfloat16",
        )
    else:
        angle, said = p[:, None] * w, "phases were computed in float32"
    mine = it.laid(*(f(angle.astype(np.float64)).astype(np.float32) for f in (np.cos, np.sin)))
    return of_waves(f"arithmetic {kind}", it, mine, said, (r"that leaves [\d,]+ of",))


def framework(rng: Rng) -> Pair:
    """Another base, and all of it in float32."""
    it = a_rope(rng, base=500000.0, d=64, rows=int(rng.choice([300, 600])), start=0, dtype="float32")
    p = np.arange(it.rows, dtype=np.float32)
    kind = int(rng.integers(3))
    base, p = (10000.0, p) if kind == 0 else (it.base, p + np.float32(1)) if kind == 1 else (it.base, p / np.float32(4))
    said = ["base 10000 where 500000", "positions start at 1", "scaling linear factor 4 where none"][kind]
    angle = (p[:, None] * u.torch_frequencies(base, it.d)).astype(np.float64)
    mine = it.laid(*(f(angle).astype(np.float32) for f in (np.cos, np.sin)))
    return of_waves(f"framework {kind}", it, mine, said,
                    ("and phases were computed in float32", r"that leaves [\d,]+ of"))  # fmt: skip


# ---------------------------------------------------------------- biases and indices
def alibi(rng: Rng) -> Pair:
    heads, n = int(rng.choice([4, 6, 8, 12, 20])), int(rng.choice([9, 16, 33]))
    form = str(rng.choice(["dense", "dense", "slopes", "distance"]))
    mask = form == "dense" and rng.random() < 0.5
    m = u.alibi_slopes(heads)

    def made(m: np.ndarray, flip: bool = False) -> Arrays:
        if form == "slopes":
            return {"slopes": m.astype(np.float32)}
        if form == "distance":
            return {"bias": (-m[:, None] * np.abs(np.arange(-(n - 1), n))).astype(np.float32)}
        table = -m[:, None, None] * np.abs(u.distances(n))
        if mask:
            table = np.where((u.distances(n) < 0) if flip else (u.distances(n) > 0), -np.inf, table)
        return {"bias": table.astype(np.float32)}

    keys = "" if form == "slopes" else f",len={n}"
    recipe = f"alibi:heads={heads}{',mask=causal' if mask else ''}{keys},form={form}"
    kind = int(rng.integers(5))
    if kind == 2 and heads in (4, 8):
        kind = 0
    if kind == 3 and not mask:
        kind = 1
    mine, said = [
        (lambda: made(m[::-1]), "the heads run backwards"),
        (lambda: made(-m), r"the sign of (bias|slopes) is changed"),
        (lambda: made(np.sort(m)[::-1]), "the slopes are sorted"),
        (lambda: made(m, flip=True), "queries and keys are exchanged"),
        (lambda: made(u.alibi_slopes(heads, 4.0)), "bias-max 4 where 8 was expected"),
    ][kind]
    return Pair(f"alibi {kind}: {recipe}", recipe, mine(), made(m), said)


def t5_buckets(d: np.ndarray, buckets: int, far: int, both: bool) -> np.ndarray:
    """The function of T5's authors, in double precision."""
    found, n = np.zeros_like(d), buckets
    if both:
        n //= 2
        found, d = found + (d > 0) * n, np.abs(d)
    else:
        d = -np.minimum(d, 0)
    exact = n // 2
    with np.errstate(divide="ignore"):
        large = exact + (np.log(np.maximum(d, 1) / exact) / math.log(far / exact) * (n - exact) + 1e-9).astype(np.int64)
    return found + np.where(d < exact, d, np.minimum(large, n - 1))


def indices(rng: Rng) -> Pair:
    n, kind = int(rng.choice([16, 33, 64])), int(rng.integers(6))
    d = u.distances(n)
    if rng.random() < 0.5:
        both = rng.random() < 0.5
        recipe = f"t5:buckets=32,max-distance=128,len={n}" + ("" if both else ",bidirectional=false") + ",form=index"

        def made(d: np.ndarray, buckets: int = 32, far: int = 128) -> np.ndarray:
            return t5_buckets(d, buckets, far, both)

        others = [(made(d, 64), "buckets 64 where 32 was expected"), (made(d, 32, 256), "max-distance 256 where 128")]
    else:
        clip = int(rng.choice([3, 4, 8]))
        recipe = f"shaw:dim=4,clip={clip},len={n},form=index"

        def made(d: np.ndarray, by: int = 0) -> np.ndarray:
            return np.clip(d, -clip, clip) + clip + by

        others = [(made(d) - clip, f"-{clip} is added to every value"), (made(d), "")]
    right = made(d)
    mine, said = [
        (made(-d), "queries and keys are exchanged"),
        (right + 1, "1 is added to every value"),
        (right - 1, "-1 is added to every value"),
        (made(d + 1), r"shifted (down by one row|by one column)"),
        *others,
    ][kind]
    if np.array_equal(mine, right):
        return indices(rng)
    rest = (rf"that leaves {n} of",) if kind == 3 else ()
    return Pair(f"index {kind}: {recipe}", recipe, {"index": mine}, {"index": right}, said, rest)


FAULTS = (
    other_base, other_start, other_unit, other_exponent, exchanged, no_scaling, no_scaling_no_base, no_base, twice,
    other_factor, divided, linear_unasked, no_magnitude, magnitude_twice, ends_swapped, other_ends, betas, one_value,
    some_rows, one_column, rows_from, noise_from, missing_row, column_order, one_part, whole, rounded, transposed,
    layouts, trained, arithmetic, framework, alibi, indices,
)  # fmt: skip


def draw(number: int) -> Pair:
    """Return one pair of the campaign."""
    rng = np.random.default_rng((SEED, number))
    return FAULTS[number % len(FAULTS)](rng)
