"""A campaign of pairs: what was expected, and values with one fault, made by NumPy alone from independent formulas.

Families x widths x bases x lengths x starts x types x layouts x scalings, drawn from a seed.  Each pair knows what its
maker would call the fault, and what else may truly be said of it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from pecli.comparison.results import Finding
from tests.support import unknown_tables as u
from tests.support.campaign_values import LENGTHS, STARTS, VALUES, Arrays, Rng, every, right_of

SEED = 71
UNKNOWN = "no fault that is known"
TRUE_ANYWAY = (
    r"the expected values are those of",
    r"[\d,]+ of [\d,]+ values are off by at most .*, no more than phases computed in float32",
    r"type \w+ against \w+",
    r"\w+: type \w+ against \w+, compared as numbers",
)
WAYS = ("recipe", "recipe", "verify", "recipe in a file", "file")


@dataclass(frozen=True)
class Pair:
    """Expected values and others: what the fault is called, what may be said beside it, and the right values.

    `says` and `beside` are regular expressions, of which the first must match the first finding and one of the
    others every later one.  `expected` is a recipe, or None for a file of the right values; `way` is one of WAYS;
    `least` is how many findings must follow the first.
    """

    fault: str
    expected: str | None
    mine: Arrays
    right: Arrays
    says: str
    beside: tuple[str, ...] = ()
    way: str = "recipe"
    least: int = 0

    @property
    def recipe(self) -> str:
        """What a file of the expected values says that it is."""
        assert self.expected is not None
        kind = next(iter(self.right.values())).dtype
        said = (
            ""
            if "dtype=" in self.expected or kind.kind == "i"
            else {8: "float64", 2: "float16"}.get(kind.itemsize // (1 + (kind.kind == "c")), "float32")
        )
        return f"{self.expected},dtype={said}" if said else self.expected


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
            recipe = finding.text.removeprefix("these values are ").partition(" (")[0]
            made = right_of(recipe)
            if any(not np.allclose(p, q, 0, 1e-13) for p, q in zip(made.values(), pair.mine.values(), strict=True)):
                return f"false beside: {finding.text}"
        elif not any(re.match(one, finding.text) for one in allowed):
            return f"false beside: {finding.text}"
    if len(later) < pair.least:
        return f"one of two: {first.text}"
    if re.match(pair.says, first.text):
        return "named" if first.kind != "place" else place_is_wrong(first.text, pair) or "named"
    if first.kind == "place":
        return place_is_wrong(first.text, pair) or "located"
    return "silent" if first.text.startswith(UNKNOWN) else f"told as: {first.text}"


def parts(values: np.ndarray) -> np.ndarray:
    """Values as real numbers in rows: complex ones as two columns."""
    wide = values.astype(np.complex128) if values.dtype.kind == "c" else values.astype(np.float64)
    return wide.reshape(len(wide), -1).view(np.float64)


def place_is_wrong(text: str, pair: Pair) -> str:
    """Count and find again what a place says; empty if it holds."""
    name, _, said = text.partition(": ")
    mine, right = pair.mine[name], pair.right[name]
    rows = min(len(mine), len(right))
    mine, right = mine[:rows], right[:rows]
    each = (mine != right) & ~(np.isnan(mine) & np.isnan(right))
    p, q = parts(mine), parts(right)
    differ = (p != q) & ~(np.isnan(p) & np.isnan(q))
    count = re.search(r"in ([\d,]+) values", said)
    if count and int(count[1].replace(",", "")) != differ.sum():
        return f"wrong count: {text}, not {differ.sum()}"
    for index in re.findall(r"\[([\d, ]+)\]", said):
        if not each[tuple(map(int, index.split(", ")))]:
            return f"wrong place: {text}"
    if "one value differs" in said and differ.sum() != 1:
        return f"wrong count: {text}"
    if row := re.search(r"rows (\d+) to (\d+) differ|one row differs, (\d+)", said):
        low, high = (int(row[3]),) * 2 if row[3] else (int(row[1]), int(row[2]))
        if {*np.nonzero(differ.any(axis=1))[0]} != {*range(low, high + 1)}:
            return f"wrong rows: {text}"
    column = re.search(r"column (\d+) differs", said)
    return f"wrong column: {text}" if column and {*np.nonzero(each)[-1]} != {int(column[1])} else ""


# ---------------------------------------------------------------- what the formulas make
BASES = (10000.0, 10000.0, 500000.0, 1e6, 10007.0, 123456.7, 1771.0, 150000.0, 333.0)
TYPES = ("float32", "float32", "float32", "float16", "float64")
LAYOUTS = ("split", "half", "interleaved", "concat", "concat", "sin-cos", "pairs", "complex")
WIDTHS = (16, 24, 32, 48, 64, 80, 96, 128)
ARRAY = {"concat": "cos_sin", "sin-cos": "sin_cos", "pairs": "cos_sin", "complex": "cis"}


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
        return {ARRAY[self.layout]: found["array"]} if self.layout in ARRAY else found

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
        "start": int(rng.choice(STARTS)), "dtype": str(rng.choice(TYPES)),
        "layout": str(rng.choice(LAYOUTS)), "keys": keys,
    }  # fmt: skip
    found |= fixed
    if found["layout"] == "complex" and found["dtype"] == "float16":
        found["dtype"] = "float32"
    return Rotary(**found)


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
        "dtype": str(rng.choice(TYPES)),
        "order": str(rng.choice(["interleaved", "sin-cos", "cos-sin"])),
    }  # fmt: skip
    return Sines(**{**found, **fixed})


def waving(rng: Rng) -> Rotary | Sines:
    return a_rope(rng) if rng.random() < 0.6 else some_sines(rng)


def of_waves(fault: str, it: Rotary | Sines, mine: Arrays, says: str, beside: tuple[str, ...] = ()) -> Pair:
    right = right_of(f"{it.recipe()},dtype={it.dtype}")
    return Pair(
        f"{fault}: {it}", it.recipe(), mine, right, says, (*beside, *(NEAR_ZERO if it.dtype == "float64" else ()))
    )


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


NEAR_ZERO = (r"that leaves [\d,]+ of [\d,]+ values unexplained, by at most [\d.]+e-[12]\d",)  # long double misses these


def other_unit(rng: Rng) -> Pair:
    it = waving(rng)
    factor, said = [(180 / PI, "degrees instead of radians"), (PI / 180, "degrees instead of radians"),
                    (2 * PI, "turns (instead of radians|true where false)"), (1 / (2 * PI), "turns instead of radians"),
                    ][int(rng.integers(4))]  # fmt: skip
    return of_waves(f"unit {float(factor):.3g}", it, it.made(it.plain(), step=factor), said, NEAR_ZERO)


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
    w, size = make(it)
    said = rf"(the )?magnitude (is )?missing|every value is {float(1 / size):.6g} times what was expected"
    return of_waves("no magnitude", it, it.made(w), said)


def magnitude_twice(rng: Rng) -> Pair:
    it, make, _ = scaled_rope(rng, ("yarn",))
    w, size = make(it)
    return of_waves(
        "magnitude twice",
        it,
        it.made(w, size=size * size),
        rf"(the )?magnitude (is )?applied twice|every value is {float(size):.6g} times what was expected",
    )


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


# ---------------------------------------------------------------- layouts, arithmetics
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


def two_at_once(rng: Rng) -> Pair:
    layout, dtype = str(rng.choice(["half", "interleaved", "split"])), str(rng.choice(["float32", "float16"]))
    it, kind = a_rope(rng, layout=layout, dtype=dtype), int(rng.integers(8))
    others = [b for b in (10000.0, 500000.0, 1e6) if b != it.base]
    base, by, factor = float(rng.choice(others)), int(rng.choice([1, -1, 2])), int(rng.choice([2, 4, 8]))
    if kind == 0 and it.layout == "split":
        kind = 1
    p = np.arange(it.rows, dtype=np.longdouble) + it.start
    first = rf"base {re.escape(text_of(base))} where {text_of(it.base)} was expected"
    start = rf"positions start at {it.start + by} where {it.start} was expected"
    if kind == 0:
        other = Rotary(**{**it.__dict__, "layout": "half" if it.layout == "interleaved" else "interleaved"})
        mine, second = other.made(it.plain(base)), "equal after swapping interleaved for halves"
    elif kind == 1:
        mine, second = it.made(it.plain(base), start=it.start + by), start
    elif kind == 2:
        cos, sin = waves(it.plain(base), p)
        mine, second = it.laid(sin, cos), "cos and sin are exchanged"
    elif kind == 3:
        mine = it.made(it.plain(), start=it.start + by, step=np.longdouble(1) / factor)
        first, second = rf"scaling linear factor {factor} where none was expected", start
    elif kind == 4:
        mine, second = it.made(it.plain(base), size=2), r"every value is 2 times|magnitude 2 where 1"
    elif kind == 5:
        cos, sin = waves(it.plain(base), p)
        mine, second = it.laid(cos, -sin), "the sign of sin is changed"
    elif kind == 6:
        mine, second = it.made(it.plain(base)), r"that leaves 1 of [\d,]+ values unexplained"
        mine["sin"][it.rows // 2, 3] = 9
    else:
        it = Rotary(**{**it.__dict__, "dtype": "float32"})
        mine, second = every(it.made(it.plain(base)), u.bf16), "the values are rounded to bfloat16"
    found = of_waves(f"two {kind}", it, mine, f"({first}|{second})", (f"(and )?({first}|{second})",))
    fine = r"that leaves \d+ of [\d,]+ values unexplained, by at most 6e-08"  # below the normal numbers of float16
    return replace(found, least=1, beside=(*found.beside, fine) if kind == 4 else found.beside)


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
        (lambda: made(m[::-1]), "the (heads|rows) run backwards"),
        (lambda: made(-m), r"the sign of (bias|slopes) is changed"),
        (lambda: made(np.sort(m)[::-1]), "the slopes are sorted"),
        (lambda: made(m, flip=True), "(queries and keys|rows and columns) are exchanged"),
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
        (made(-d), "(queries and keys|rows and columns) are exchanged|backward true where false was expected"),
        (right + 1, "1 is added to every value"),
        (right - 1, "-1 is added to every value"),
        (made(d + 1), r"shifted (down by one row|by one column)|row 0 is there twice"),
        *others,
    ][kind]
    if np.array_equal(mine, right):
        return indices(rng)
    rest = (rf"that leaves {n} of",) if kind == 3 else ()
    return Pair(f"index {kind}: {recipe}", recipe, {"index": mine}, {"index": right}, said, rest)


PHASES = (
    other_base, other_start, other_unit, other_exponent, exchanged, no_scaling, no_scaling_no_base, no_base, twice,
    other_factor, divided, linear_unasked, no_magnitude, magnitude_twice, ends_swapped, other_ends, betas, layouts,
    trained, arithmetic, framework, two_at_once, alibi, indices,
)  # fmt: skip
FAULTS = (*PHASES, *VALUES)


def draw(number: int, seed: int = SEED) -> Pair:
    """Return one pair of a campaign."""
    rng = np.random.default_rng((seed, number))
    fault = FAULTS[number % len(FAULTS)]
    found = fault(rng)
    pair = found if isinstance(found, Pair) else Pair(f"{found[0]}: {found[1]}", *found[1:])
    if pair.expected is None:
        return pair
    narrow = any(v.dtype == np.float16 for v in pair.mine.values())  # whose base is known in a range only
    unsure = narrow or "scaling=linear" in pair.expected  # which a step of the positions may be as well
    return replace(pair, way=str(rng.choice(WAYS[: -1 if unsure else None])))
