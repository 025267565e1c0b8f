"""Everyday tables made with NumPy, right or with one known change, and what pecli's answers say that is not true.

A sentence of ``compare`` may claim what the change made and nothing else (topics of tests/reallife/score.py), its
numbers must be those of the arrays, the recipe or the change, and its places must differ. What ``identify`` names must
give the values.
"""

from __future__ import annotations

import io
import json
import math
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import pecli
from pecli.errors import PecliError
from tests.fuzz.children import Outcome
from tests.reallife import build
from tests.reallife.build import Arrays
from tests.reallife.score import topics_of
from tests.reallife.truth import keys_of

EPSILON = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}
MARGIN = 0.1  # of a limit that is printed with one or two digits
WAVES, ROWS = ("rope", "sinusoidal"), ("rope", "sinusoidal", "sincos2d", "rope2d")
REAL = (*ROWS, "alibi", "inv_freq")
Keys = Mapping[str, Any]
Rng = np.random.Generator


# Tables


def frequencies(k: Keys) -> np.ndarray:
    """Frequencies of a rotary or sinusoidal table, in the type of its arithmetic."""
    dim, base, factor, original, times = (k[key] for key in ("dim", "base", "factor", "original-max", "times"))
    base = build.ntk_base(base, factor**times, dim) if k["scaling"] == "ntk" else base
    w = (build.inv32 if k["arithmetic"] == "float32" else build.inv64)(dim, base)
    if k["scaling"] == "yarn":
        once = build.yarn(dim, base, factor, original, dtype=np.float64) / build.inv64(dim, base)
        return (w * once**times).astype(w.dtype)
    for _ in range(times if k["scaling"] in ("linear", "llama3") else 0):
        w = w / w.dtype.type(factor) if k["scaling"] == "linear" else build.llama3(w, factor, original=original)
    return w


def attention_factor(k: Keys) -> float:
    """Magnitude of a rotary table."""
    return (0.1 * math.log(k["factor"]) + 1) ** k["times"] if k["scaling"] == "yarn" else 1.0


def rope(k: Keys) -> Arrays:
    """Rotary cache."""
    layout, extent = k["layout"], {key: k[key] for key in ("start", "step")}
    made = build.cache(frequencies(k), k["len"], layout=layout, magnitude=attention_factor(k), **extent)
    joined = {"concat": np.concatenate, "pairs": np.stack}.get(layout)
    one = {"freqs_cis": made["cos"] + 1j * made["sin"]} if layout == "complex" else made
    return {"emb": joined([made["cos"], made["sin"]], axis=-1)} if joined else one


def alibi(k: Keys) -> Arrays:
    """ALiBi's bias, or its slopes."""
    m, n = build.slopes(k["heads"])[:, None, None], k.get("len", 1)
    mask = np.triu(np.full((n, n), -np.inf), 1) if k.get("mask") == "causal" else 0.0
    if k.get("form") == "slopes":
        return {"slopes": m.ravel()}
    return {"alibi": m * np.arange(n) if k["bias"] == "key-position" else -m * build.distance(n) + mask}


def rope2d(k: Keys) -> Arrays:
    """Rotary cache of a grid."""
    angle = build.axes_angles([k["dim"] // 2] * 2, sides(k), k["base"])
    return {"cos": np.cos(angle), "sin": np.sin(angle)}


def sides(k: Keys) -> list[int]:
    """Height and width of a grid."""
    return [int(side) for side in k["grid"].split("x")]


MAKERS: dict[str, Callable[[Keys], Arrays]] = {
    "rope": rope, "alibi": alibi, "rope2d": rope2d, "inv_freq": lambda k: {"inv_freq": frequencies(k)},
    "sinusoidal": lambda k: {"pe": build.waves(
        build.angles(frequencies(k), k["len"], start=k["start"], step=k["step"]), k["order"])},
    "sincos2d": lambda k: {"pe": build.grid_waves(*sides(k), k["dim"], base=k["base"])},
    "t5": lambda k: {"index": build.t5_index(k["len"], both=k["bidirectional"] == "true")},
}  # fmt: skip
SHORT = ("none", "linear", "ntk")  # scalings without an original length
DEFAULTS = {"start": 0, "step": 1, "scaling": "none", "factor": 1, "original-max": 0, "times": 1,
            "arithmetic": "float64"}  # fmt: skip


TABLES = tuple(text.replace(" waves", "dim=64|128|32|64|80|16|20,base=10000|10000|500000|1000000").replace(
    " extent", "len=128|256|512|100|64|37|300|16|5,arithmetic=float64|float32") for text in (
    *["sinusoidal: waves, extent,order=interleaved|sin-cos|cos-sin"] * 3,
    *["rope: waves, extent,layout=half|half|interleaved|split|concat|pairs|complex"] * 3,
    "rope: waves, extent,layout=half|interleaved|concat|complex,scaling=linear|ntk,factor=2|4|8",
    "rope: waves, extent,layout=half|split|pairs,scaling=yarn|llama3,factor=2|4|8,original-max=2048|8192",
    "inv_freq: waves", "inv_freq: waves,scaling=yarn|llama3|linear|ntk,factor=2|4|8,original-max=2048|8192",
    "alibi:heads=8|12|16|5|32,len=32|16|40,bias=symmetric,mask=none|causal",
    "alibi:heads=8|12|16|5|32,len=32|16|40,bias=key-position,mask=none", "alibi:heads=8|12|16|5|32,form=slopes",
    "sincos2d: waves,grid=14x14|7x9|4x6", "rope2d: waves,grid=14x14|7x9|4x6",
    "t5:len=64|40|100,form=index,bidirectional=true|false"))  # fmt: skip
"""Recipes with what their keys may be; those of `inv_freq` are of rope."""


class Table(NamedTuple):
    """A table as NumPy code makes it: its keys are those of the recipe, and `times` and `arithmetic`."""

    encoding: str
    keys: dict[str, Any]
    dtype: str

    def get(self, key: str) -> Any:
        """A key, or its default."""
        return {**DEFAULTS, **self.keys}.get(key)

    def other(self, **keys: Any) -> Table:
        """The same table but for some keys."""
        return self._replace(keys={**self.keys, **keys})

    @property
    def arrays(self) -> Arrays:
        """Values, rounded to the type."""
        made = MAKERS[self.encoding]({**DEFAULTS, **self.keys})
        return {name: rounded(values, self.dtype) for name, values in made.items()}

    @property
    def first(self) -> np.ndarray:
        """The first array."""
        return next(iter(self.arrays.values()))

    @property
    def is_flat(self) -> bool:
        """Whether rows are vectors of real numbers."""
        return self.get("layout") not in ("pairs", "complex")

    def recipe(self, *, has_len: bool = True) -> str:
        """The recipe of the exact table."""
        left_out = {"times", "arithmetic", *["len"] * (not has_len), *["original-max"] * (self.get("scaling") in SHORT)}
        keys = {k: v for k, v in {**self.keys, "dtype": self.dtype}.items() if k not in left_out and v != "int64"}
        return f"{self.encoding.replace('inv_freq', 'rope')}:" + ",".join(f"{k}={v}" for k, v in keys.items())


def rounded(values: np.ndarray, dtype: str) -> np.ndarray:
    """Values in a type: those of bfloat16 in float32, whole numbers as they are."""
    if np.iscomplexobj(values):
        return rounded(values.real, dtype) + np.complex64(1j) * rounded(values.imag, dtype)
    if values.dtype.kind in "iu":
        return values
    return build.bf16(values).reshape(values.shape) if dtype == "bfloat16" else values.astype(dtype)


def pick(rng: Rng, *choices: Any) -> Any:
    """One of some choices."""
    return choices[rng.integers(len(choices))]


def random_table(rng: Rng) -> Table:
    """A table that people have."""
    name, keys = keys_of(pick(rng, *TABLES))
    chosen = {key: pick(rng, *text.split("|")) for key, text in keys.items()}
    dtype = "int64" if name == "t5" else pick(rng, *EPSILON, "float32", "float32")
    dtype = "float32" if chosen.get("layout") == "complex" and EPSILON[dtype] > EPSILON["float32"] else dtype
    chosen |= {"arithmetic": "float64"} if dtype == "float64" else {}
    return Table(name, {key: int(text) if text.isdigit() else text for key, text in chosen.items()}, dtype)


# Changes


class Made(NamedTuple):
    """What a change made: arrays, numbers that a sentence may name, the table if it is one, the narrowest type."""

    arrays: Arrays
    numbers: tuple[float, ...]
    table: Table | None
    dtype: str


def each(t: Table, change: Callable[[np.ndarray], np.ndarray], *numbers: float, dtype: str = "") -> Made:
    """Change every array in the same way; the values are rounded to the type again."""
    made = {name: rounded(np.asarray(change(v)), t.dtype) for name, v in t.arrays.items()}
    return Made(made, numbers, None, dtype or t.dtype)


def other(t: Table, *numbers: float, **keys: Any) -> Made:
    """Make the table with other parameters."""
    return Made(t.other(**keys).arrays, numbers, t.other(**keys), t.dtype)


def edited(t: Table, at: Any, change: Callable[[np.ndarray], Any], *numbers: float) -> Made:
    """Change a part of every array."""

    def edit(v: np.ndarray) -> np.ndarray:
        v = np.array(v)
        v[at] = change(v[at])
        return v

    return each(t, edit, *numbers)


def row(t: Table, rng: Rng) -> int:
    """A row that is neither the first nor the last one."""
    return int(rng.integers(1, len(t.first) - 1))


def in_order(rows: Callable[[int, int], Any], *numbers: float) -> Callable[[Table, Rng], Made]:
    """Put rows in another order, which the number of a row and the count of the rows give."""

    def make(t: Table, rng: Rng) -> Made:
        k, n = row(t, rng), len(t.first)
        return each(t, lambda v: v[rows(k, n)], k, k - 1, k + 1, k - n, n - k, 2 * n, *numbers)

    return make


def in_rows(change: Callable[[np.ndarray, Rng], Any], *numbers: float) -> Callable[[Table, Rng], Made]:
    """Change one row, or all from one on."""

    def make(t: Table, rng: Rng) -> Made:
        k = row(t, rng)
        at = pick(rng, slice(k, k + 1), slice(k, None))
        return edited(t, at, lambda v: change(v, rng), k, *numbers)

    return make


def in_column(change: Callable[[np.ndarray], Any]) -> Callable[[Table, Rng], Made]:
    """Change one column."""

    def make(t: Table, rng: Rng) -> Made:
        width = t.first.shape[-1]
        k = int(rng.integers(width))
        return edited(t, (..., k), change, k, k // 2, k - width // 2)

    return make


def columns_exchanged(t: Table, rng: Rng) -> Made:
    """Exchange two columns; a sentence may name those with the same values instead."""
    a, b = map(int, rng.choice(t.first.shape[-1], 2, replace=False))
    k = np.arange(t.first.shape[-1])
    k[[a, b]] = b, a
    alike = {c for v in t.arrays.values() for c in k for d in (a, b) if (v[..., c] == v[..., d]).all()}
    return each(t, lambda v: v[..., k], *(int(c) + by for c in alike for by in (-1, 0, 1)))


def flat(make: Callable[[Table, Rng], Made | None]) -> Callable[[Table, Rng], Made | None]:
    """Leave tables of pairs and complex ones out."""
    return lambda t, rng: make(t, rng) if t.is_flat else None


def parts(change: Callable[[Arrays], Arrays]) -> Callable[[Table, Rng], Made | None]:
    """Change cosines and sines in two arrays."""
    return lambda t, rng: Made(change(t.arrays), (), None, t.dtype) if "cos" in t.arrays else None


def noise(size: float) -> tuple[float, ...]:
    """Deviations that noise of a size may be measured as."""
    return tuple(size * np.linspace(0.7, 1.3, 61))


def multiplied(t: Table, rng: Rng) -> Made:
    """Multiply all values."""
    by = pick(rng, 2.0, 0.5, 1.1, 0.1, (t.get("dim") or 4) ** 0.5)
    return each(t, lambda v: v * by, by, by**2, 1 / by, by**-2, t.get("factor") * by, t.get("factor") / by)


def narrowed(t: Table, rng: Rng) -> Made | None:
    """Round to a narrower type."""
    kind = pick(rng, "float16", "bfloat16")
    wider = EPSILON[kind] > EPSILON[t.dtype] and t.is_flat and t.get("form") != "slopes"  # both may round alike
    return each(t, lambda v: rounded(v, kind), dtype=kind) if wider else None


def scaled(t: Table, rng: Rng) -> Made | None:
    """Leave the scaling out, apply it twice, or use another factor."""
    m, f = attention_factor({**DEFAULTS, **t.keys}), t.get("factor")
    keys = pick(rng, {"scaling": "none"}, {"times": 2}, {"factor": 16})
    made = other(t, m, m * m, f * f, 2 * m, 16, 0.1 * math.log(16) + 1, **keys)
    return None if "scaling" not in t.keys else made._replace(table=None) if "times" in keys else made


Change = tuple[tuple[str, ...], str, Callable[[Table, Rng], Made | None]]
CHANGES: dict[str, Change] = {  # encodings, topics that a sentence may claim, and what is done
    "nothing": ((*MAKERS,), "", lambda t, rng: other(t)),
    "base": ((*ROWS, "inv_freq"), "base grid", lambda t, rng: other(
        t, base := pick(rng, 100, 1000, 10000, 20000, 100000, 500000, 5000000), base=base)),
    "scaling": (("rope", "inv_freq"), "scaling magnitude base", scaled),
    "start": (WAVES, "positions missing", lambda t, rng: other(t, k := pick(rng, 1, 2, 100), start=k)),
    "step": (WAVES, "positions scaling", lambda t, rng: other(t, 2, t.get("factor") / 2, step=2)),
    "row missing": (ROWS, "missing order grid positions", in_order(lambda k, n: np.delete(np.arange(n), k))),
    "row twice": (ROWS, "repeat missing order grid positions", in_order(
        lambda k, n: np.insert(np.arange(n), k, k)[:n])),
    "last rows equal": (ROWS, "repeat positions grid", in_order(lambda k, n: np.minimum(np.arange(n), k))),
    "rows exchanged": (ROWS, "exchange order grid positions", in_order(lambda k, n: np.r_[:k, k + 1, k, k + 2 : n])),
    "rows rolled": (ROWS, "order positions grid", in_order(lambda k, n: np.roll(np.arange(n), k))),
    "rows reversed": (ROWS, "order positions", in_order(lambda k, n: np.s_[::-1])),
    "first rows missing": (ROWS, "missing positions order grid", in_order(lambda k, n: np.s_[k:])),
    "last rows missing": (ROWS, "missing grid", in_order(lambda k, n: np.s_[:k])),
    "every second row": (ROWS, "missing order positions grid scaling", in_order(lambda k, n: np.s_[::2], 0.5)),
    "all rows twice": (ROWS, "repeat positions order grid", in_order(lambda k, n: np.arange(2 * n) % n)),
    "a row before": (ROWS, "zero order missing positions grid", lambda t, rng: each(
        t, lambda v: np.concatenate([0 * v[:1], v[:-1]]))),
    "rows zero": (ROWS, "zero", in_rows(lambda v, rng: 0)),
    "rows NaN": (ROWS, "nan", in_rows(lambda v, rng: v * np.nan)),
    "rows doubled": (ROWS, "magnitude", in_rows(lambda v, rng: 2 * v, 2)),
    "rows with an offset": (ROWS, "", in_rows(lambda v, rng: v + 0.25, 0.25)),
    "rows with noise": (ROWS, "noise", in_rows(lambda v, rng: v + 0.01 * rng.normal(size=v.shape), *noise(0.01))),
    "rows of noise": (ROWS, "noise", flat(in_rows(lambda v, rng: rng.normal(size=v.shape), *noise(1), *noise(1.2)))),
    "one value": (ROWS, "", flat(lambda t, rng: edited(t, (row(t, rng), 1), lambda v: v + 0.5))),
    "one NaN": (ROWS, "nan", flat(lambda t, rng: edited(t, (row(t, rng), 1), lambda v: np.nan))),
    "column zero": (ROWS, "zero degrees", flat(in_column(lambda v: 0))),
    "column negated": (ROWS, "sign degrees", flat(in_column(np.negative))),
    "columns exchanged": (ROWS, "exchange order", columns_exchanged),
    "halves exchanged": (ROWS, "exchange order layout sign positions grid", lambda t, rng: each(
        t, lambda v: np.roll(v, v.shape[-1] // 2, -1), t.first.shape[-1] // 4)),
    "cos and sin exchanged": (ROWS, "exchange", parts(lambda a: {"cos": a["sin"], "sin": a["cos"]})),
    "sines negated": (ROWS, "sign", parts(lambda a: {**a, "sin": -a["sin"]})),
    "sign": (REAL, "sign", lambda t, rng: each(t, np.negative)),
    "absolute values": (ROWS, "sign", flat(lambda t, rng: each(t, np.abs))),
    "offset": (REAL, "", lambda t, rng: each(t, lambda v: v + k, k := pick(rng, 0.5, 1.0, 0.01))),
    "factor": (REAL, "magnitude slopes scaling degrees", multiplied),
    "decimals": (REAL, "zero", flat(lambda t, rng: each(
        t, lambda v: np.round(v.astype(np.float64), k), k := int(rng.integers(1, 6))))),
    "noise": (REAL, "noise", lambda t, rng: each(
        t, lambda v: v + k * rng.normal(size=v.shape), *noise(k := pick(rng, 1e-4, 1e-3, 0.01, 0.1)))),
    "narrower type": (REAL, "float16 bfloat16", narrowed),
    "clipped": (ROWS, "", flat(lambda t, rng: each(t, lambda v: np.clip(v, -0.5, 0.5), 0.5))),
    "steps of int8": (ROWS, "", flat(lambda t, rng: each(t, lambda v: np.round(v * 127) / 127, 127))),
    "dropout": (ROWS, "noise zero magnitude", flat(lambda t, rng: each(
        t, lambda v: v * (rng.random(v.shape) > 0.1) / 0.9, 0.1, *range(5, 16)))),
    "layer norm": (("sinusoidal", "sincos2d"), "noise", lambda t, rng: each(
        t, lambda v: (v - v.mean(-1, keepdims=True)) / v.std(-1, keepdims=True))),
    "transposed": (ROWS, "transposed exchange grid order", lambda t, rng: each(t, lambda v: v.swapaxes(0, 1))),
    "batch": (ROWS, "", lambda t, rng: each(t, lambda v: np.stack([v] * 3), 3)),
    "half-split or interleaved": (("rope",), "layout exchange", lambda t, rng: other(
        t, layout="half" if t.get("layout") == "interleaved" else "interleaved")
        if t.get("layout") in ("half", "interleaved") else None),
    "order of the columns": (("sinusoidal",), "order exchange layout", lambda t, rng: other(
        t, order=pick(rng, *{"interleaved", "sin-cos", "cos-sin"} - {t.get("order")}))),
    "head less": (("alibi",), "missing slopes", lambda t, rng: each(t, lambda v: v[:-1])),
    "heads exchanged": (("alibi",), "exchange order", in_order(lambda k, n: np.r_[:k, k + 1, k, k + 2 : n])),
    "heads zero": (("alibi",), "zero slopes", in_rows(lambda v, rng: 0 * np.ones_like(v))),
    "mask": (("alibi",), "mask nan zero", lambda t, rng: other(
        t, mask="none" if t.get("mask") == "causal" else "causal") if t.get("bias") == "symmetric" else None),
    "queries for keys": (("alibi", "t5"), "transposed exchange mask order", lambda t, rng: each(
        t, lambda v: v.swapaxes(-1, -2)) if t.get("form") != "slopes" else None),
}  # fmt: skip


# Truth


NUMBER = r"-?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:e[-+]?\d+)?"
VALUE = rf"(NaN|-?infinity|{NUMBER})"
RUN = rf"{NUMBER}\b(?! of)(?: to {NUMBER})?"
PLACES = rf"(?:({NUMBER}) of {NUMBER} )?(row|column|head|flattened column)s?,? (from )?({RUN}(?:(?:, | and ){RUN})*)"


def value(text: str) -> float:
    """A number as it is written in a sentence."""
    return float(text.replace(",", "").replace("infinity", "inf"))


def near(text: str, truth: float) -> bool:
    """Whether a number is printed as it is, or as the next one of so many digits."""
    unit = last_digit(text) if re.search(r"[.e]", text) else 0.0
    return value(text) == truth or abs(value(text) - truth) <= 1.01 * unit + 1e-6 * abs(truth)


def last_digit(text: str) -> float:
    """What a unit of the last digit of a number is worth."""
    digits, _, exponent = text.replace(",", "").partition("e")
    return 10.0 ** (int(exponent or 0) - len(digits.partition(".")[2]))


def numbers_in(text: str) -> list[str]:
    """Numbers of a text that are no part of a word."""
    return re.findall(rf"(?<![\w.^]){NUMBER}(?![\w^]|-bit)", text)


def gaps(have: Arrays, want: Arrays) -> Arrays:
    """Distances of arrays of the same shapes, by name; infinite where one value is not finite."""
    found = {}
    for (name, a), b in zip(have.items(), want.values(), strict=True):
        if a.shape == b.shape:
            with np.errstate(invalid="ignore"):
                off = a.astype(np.complex128) - b
            off = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0, np.maximum(abs(off.real), abs(off.imag)))
            found[name] = np.where(np.isnan(off), np.inf, off)
    return found


class Case:
    """A file, the recipe it is compared with, and what is true of both."""

    def __init__(self, table: Table, change: str, made: Made, *, has_len: bool) -> None:
        self.table, self.change, self.made, self.recipe = table, change, made, table.recipe(has_len=has_len)
        rows = next(iter(made.arrays.values())).shape[0]
        exact = table.other(arithmetic="float64", **{"len": rows} if table.encoding in WAVES and not has_len else {})
        self.have, self.want = made.arrays, exact.arrays
        self.off = gaps(self.have, self.want)
        self.whole = len(self.off) == len(self.have)
        self.rest = gaps(self.have, made.table.other(arithmetic="float64").arrays) if made.table else self.off
        self.most = max((float(off.max(initial=0)) for off in self.off.values()), default=0.0)
        size = max(float(np.abs(v[np.isfinite(v)]).max(initial=1.0)) for v in self.want.values())
        self.epsilon = max(EPSILON.get(kind, 0.0) for kind in (table.dtype, made.dtype))
        last = max((t.get("len") or 64) * t.get("step") + t.get("start") for t in (table, made.table or table))
        phases = 2.0 ** (-50 if table.get("arithmetic") == "float64" else -22)  # for each position
        self.rounding = 4 * size * (self.epsilon + phases * last)
        self.is_inexact = table.dtype == "float64"  # as computed by NumPy
        shapes = [v.shape for v in (*self.have.values(), *self.want.values())]
        lengths = {side for shape in shapes for side in shape} | {table.get("dim") or 2}
        keys = [value(number) for number in numbers_in(re.sub("[x=]", " ", self.recipe))]
        factor = attention_factor({**DEFAULTS, **table.keys})
        self.numbers = {0, 1, 2, factor, *keys, *map(math.prod, shapes), sum(v.size for v in self.have.values())}
        self.numbers |= {k for n in lengths for k in (n, n - 1, n - 2, n // 2, n // 2 - 1)}
        if table.encoding == "inv_freq":
            ends = [(v.max(), v.min(), v[1] / v[0]) for v in (*self.have.values(), *self.want.values())]
            ratios = [a / b for a, b in zip(self.have.values(), self.want.values(), strict=True) if a.shape == b.shape]
            ends += [(v.max(), v.min()) for v in ratios]
            self.numbers |= {float(number) for end in ends for number in end}
        self.numbers |= {m * number for number in made.numbers for m in (1.0, factor)}

    def file(self) -> tuple[str, bytes]:
        """Name and bytes of the file."""
        stream = io.BytesIO()
        if self.table.dtype == "bfloat16":
            with tempfile.TemporaryDirectory() as folder:
                build.write_safetensors(path := Path(folder, "a"), self.have, bfloat16=True)
                return "bad.safetensors", path.read_bytes()
        np.savez(stream, **self.have) if len(self.have) > 1 else np.save(stream, *self.have.values())
        return "bad.npz" if len(self.have) > 1 else "bad.npy", stream.getvalue()

    def named(self, sentence: str) -> Arrays:
        """Distances of the arrays that a sentence names, or of all."""
        return {n: v for n, v in self.off.items() if re.search(rf"\b{n}\b", sentence)} or self.off

    def counts(self, off: Arrays) -> tuple[int, int]:
        """How many values differ at least, and at most."""
        least = sum(int((v > self.rounding).sum()) for v in off.values())
        return least, sum(int((v > 0).sum()) if not self.is_inexact else v.size for v in off.values())

    def false(self, sentence: str) -> Iterator[str]:
        """Yield what is not true of a sentence about differences."""
        own = {self.table.dtype, self.made.dtype, self.table.get("arithmetic")}
        topics = {*CHANGES[self.change][1].split(), *own, *["missing"] * (not self.whole)}
        topics |= {"heads"} if self.table.encoding == "alibi" else set()
        topics |= {"sign"} if (self.have.get("inv_freq", np.zeros(1)) < 0).any() else set()
        plain = re.sub(rf"\b({'|'.join(self.have)})\b|where the key is [\d to]+", " ", sentence)
        if more := topics_of(plain) - topics:
            yield f"claims {', '.join(sorted(more))}"
        if more := set(re.findall(r"\bb?float\d\d\b", sentence)) - own:
            yield f"names {', '.join(sorted(more))}"
        if "harmless" in sentence and self.most > 4 * self.rounding:
            yield f"is off by {self.most:.3g}, which is not harmless"
        rest = sentence
        for pattern, is_true in (*CHECKS.items(), *[(PLACES, are_places)] * ("differ" in sentence)):
            for found in re.finditer(pattern, rest) if self.whole else ():
                if not is_true(self, sentence, *found.groups()):
                    yield f"not true: {found[0]}"
            rest = re.sub(pattern, " ", rest)
        for number in numbers_in(rest):
            if not any(near(number, truth) for truth in self.numbers):
                yield f"{number} is no number of the tables"


def at(array: Any, index: str) -> tuple[int, ...] | None:
    """A place of an array, or None."""
    place = tuple(map(int, index.split(",")))
    inside = len(place) == array.ndim and all(i < n for i, n in zip(place, array.shape, strict=True))
    return place if inside else None


def is_value(case: Case, sentence: str, name: str, index: str, have: str, want: str) -> bool:
    """Whether a value and the expected one are those of a place; where most values differ, others may be expected."""
    array, _, part = name.partition(".")
    few = case.counts(case.off)[0] < MARGIN * sum(v.size for v in case.off.values())
    for text, arrays, slack in ((have, case.have, 0.0), (want, case.want, case.rounding if few else np.inf)):
        values = arrays.get(array, next(iter(arrays.values())))
        if (place := at(values, index)) is None:
            return False
        own = float(getattr(values[place], part or "real"))
        both_nan = math.isnan(value(text)) and math.isnan(own)
        if not (both_nan or near(text, own) or abs(value(text) - own) <= slack):
            return False
    return True


def is_largest(case: Case, sentence: str, size: str | None, name: str, index: str) -> bool:
    """Whether the largest difference is at a place."""
    array, _, part = name.partition(".")
    off = case.off.get(array, next(iter(case.off.values())))
    if part or (place := at(off, index)) is None:
        return bool(part)
    gap = abs(value(size) - off[place]) if size else 0.0 if np.isinf(off[place]) else np.inf
    return bool(off[place] >= off.max() - case.rounding and gap <= 1.01 * last_digit(size or ""))


def is_limit(case: Case, sentence: str, limit: str) -> bool:
    """Whether no difference is larger, of a table that differs by this alone; of a rest, whether it can be as large."""
    most = max(float(off.max(initial=0)) for off in case.named(sentence).values())
    alone = re.search(r"harmless|off$|^[\w]* ?differs by at most", sentence)
    slack = 1.01 * last_digit(limit) + (2.0**-40 if case.is_inexact else 0.0)
    return bool((not alone or most - slack <= value(limit)) and value(limit) <= most + slack)


def is_count(case: Case, sentence: str, many: str, whole: str = "") -> bool:
    """Whether so many values differ."""
    if "from that" in sentence and case.made.table is None:
        return True
    off = case.rest if "from that" in sentence else case.named(sentence.partition("differ")[0])
    least, most = case.counts(off)
    sizes = {v.size for v in off.values()} | {sum(v.size for v in off.values())}
    sizes |= {2 * size for size in sizes if case.table.get("layout") == "complex"}  # real and imaginary parts
    if limit := re.search(rf"by more than ({NUMBER})", sentence):
        least, most = (sum(int((v > value(limit[1]) * by).sum()) for v in off.values()) for by in (1.1, 0.9))
    least = 0 if re.search("more than .*rounding|other values|not fit", sentence) else least
    return least <= value(many) <= most and (not whole or value(whole) in sizes)


def are_places(case: Case, sentence: str, many: str | None, word: str, start: str | None, listed: str) -> bool:
    """Whether values differ in the rows, columns or heads that a sentence names."""
    if case.is_inexact or re.search(r"\d more\b|\.real|\.imag|from that|other values", sentence):
        return True
    found, limit = set[int](), re.search(rf"by more than ({NUMBER})", sentence)
    for v in case.named(sentence).values():
        v = v.reshape(len(v), -1) if "flattened" in word or case.table.get("layout") == "pairs" else v
        axis = {"row": max(0, v.ndim - 2), "head": 0}.get(word, v.ndim - 1)
        most = np.moveaxis(v, axis, 0).reshape(v.shape[axis], -1).max(1)
        found |= {*np.flatnonzero(most > (0.9 * value(limit[1]) if limit else 0)).tolist()}
    if many is not None:
        return bool(limit) or (len(found) == value(many) and listed == f"{min(found)} to {max(found)}")
    runs = [[int(value(n)) for n in run.split(" to ")] for run in re.split(", | and ", listed)]
    return {run[0] for run in runs} | {run[-1] for run in runs if not start} <= found


CHECKS: dict[str, Callable[..., bool]] = {
    rf"([\w.]+)\[([\d, ]+)\] is {VALUE}, expected {VALUE}": is_value,
    rf"{VALUE} at ([\w.]*)\[([\d, ]+)\], expected {VALUE}":
        lambda case, s, have, name, index, want: is_value(case, s, name, index, have, want),
    rf"by (?:at most ({NUMBER})|NaN or infinity) at ([\w.]+)\[([\d, ]+)\]": is_largest,
    rf"({NUMBER}) of ({NUMBER})(?: \w+)? values": is_count,
    rf"({NUMBER}) other values differ|\(({NUMBER}) values\)":
        lambda case, s, *many: is_count(case, s, many[0] or many[1]),
    rf"(?:at most|up to|(?<=ulp) and) ({NUMBER})(?! ulp|[\d.e])": is_limit,
    rf" are ({NUMBER})$": lambda case, s, size: all(
        near(size, float(v)) for n, off in case.off.items() for v in case.have[n][off > case.rounding].ravel().real),
    rf"--atol ({NUMBER})": lambda case, s, size: value(size) >= case.most * (1 - 1e-9),
    rf"^rows? {NUMBER}(?: to {NUMBER})?: coordinates start at .*": lambda case, s: "row" in case.change,
    r"^frequenc(?:y|ies) (.*) (?:is|are) (zero|negative)$": lambda case, s, listed, sign: all(
        np.sign(case.have["inv_freq"][int(n)]) == -(sign == "negative")
        for n in numbers_in(re.sub(r"and [\d,]+ more$", "", listed))),
    ".* look drawn at random.*": lambda case, s: "noise" in case.change,
    rf"--ulp {NUMBER}|\({NUMBER}\)|{NUMBER} %|by more than {NUMBER}|at most {NUMBER} ulp": lambda case, s: True,
}  # fmt: skip


# Answers


def false_comparison(case: Case, status: int, said: Keys) -> Iterator[tuple[str, str]]:
    """Yield what is not true of an answer of ``compare --json``, with the sentence."""
    least, most = case.counts(case.off)
    if (status == 0) != said["equal"] or said["equal"] != (said["verdict"] == "same"):
        yield f"status {status}, equal {said['equal']}", f'"verdict": "{said["verdict"]}"'
    if case.whole and (least if said["equal"] else not most):
        yield f"{least} to {most} values differ", f'"verdict": "{said["verdict"]}"'
    for array in said["arrays"] if case.whole else ():
        off = case.off.get(array["name"], next(iter(case.off.values())))
        (least, most), largest, stated = case.counts({"": off}), float(off.max(initial=0)), float(array["max_abs"])
        if off.size == array["compared"] and not least <= array["unequal"] <= most + 1e-3 * off.size + 1:
            yield f"{least} to {most} values differ", f'"unequal": {array["unequal"]}'
        if off.size == array["compared"] and stated != largest and not abs(stated - largest) <= case.rounding:
            yield f"the largest difference is {largest}", f'"max_abs": {array["max_abs"]}'
    for sentence in said["findings"]:
        if case.change == "nothing" and not re.search("rounding|rounded|harmless", sentence):
            yield "the table is right", sentence
        if why := "; ".join(case.false(sentence)):
            yield why, sentence


def values_of(recipe: str, **more: Any) -> np.ndarray | None:
    """All values of a recipe in float64; None of one without a table."""
    name, keys = keys_of(recipe)
    try:
        table = pecli.table(f"{name}:" + ",".join(f"{k}={v}" for k, v in {**keys, "dtype": "float64", **more}.items()))
        return np.concatenate([np.asarray(table[array]).ravel() for array in table])
    except PecliError:
        return None


def false_identity(case: Case, said: Keys) -> Iterator[tuple[str, str]]:
    """Yield what is not true of an answer of ``identify --json``, with the sentence."""
    recipe, notes, truth = said["recipe"] or "", " ".join(said["notes"]), case.made.table
    sentence, keys = f'"recipe": "{recipe}", "confidence": "{said["confidence"]}"', keys_of(recipe)[1]
    values = np.concatenate([v.ravel() for v in case.have.values()])
    named = values_of(recipe) if recipe and "not a table" not in notes else None
    if named is None or named.size != values.size or re.search("copies|exchang|swapped|sign|times|zero|NaN", notes):
        return
    last = abs(float(keys.get("start", 0))) + len(case.have) * len(next(iter(case.have.values())))
    last *= max(1.0, abs(float(keys.get("step", 1))))
    slack = case.epsilon + last * (2.0**-50 if case.is_inexact else 2.0**-22)
    slack *= 4 * np.abs(named[np.isfinite(named)]).max(initial=1.0)
    slack += 0.6 * 10.0 ** -float(digits[1]) if (digits := re.search(r"(\d+) decimals", notes)) else 0.0
    with np.errstate(invalid="ignore"):
        misfits = int((~(np.abs(values - named) <= slack) & (values != named)).sum())
    counted = [value(number) for number in re.findall(rf"({NUMBER}) of {NUMBER} values do not fit", notes)]
    stated = max(*counted, notes.count(", expected "), 0 if said["confidence"] == "sure" else 0.01 * values.size, 0)
    if misfits > stated:
        yield f"{misfits} of {values.size} values are others", sentence
    if said["confidence"] == "sure" and truth is not None and truth.encoding in WAVES and "len" in keys:
        longer = values_of(recipe, len=4 * truth.get("len"))
        right = truth.other(len=4 * truth.get("len"), arithmetic="float64")._replace(dtype="float64").arrays.values()
        own = np.concatenate([v.ravel() for v in right])
        if longer is not None and longer.size == own.size and (np.abs(longer - own) > 8 * slack).any():
            yield f"the parameters are {truth.recipe()}", sentence


def case_of(seed: int, number: int) -> Case:
    """The case of a seed and a number."""
    rng = np.random.default_rng([seed, number])
    while True:
        table = random_table(rng)
        change = pick(rng, *(name for name, (encodings, *_) in CHANGES.items() if table.encoding in encodings))
        if (made := CHANGES[change][2](table, rng)) is not None:
            return Case(table, change, made, has_len=bool(rng.integers(2)))


def false_answers(case: Case, run: Callable[[list[str]], Outcome]) -> Iterator[tuple[list[str], str]]:
    """Yield command lines with what is not true of their answers; `run` runs one where the case's file is."""
    name = case.file()[0]
    for words in (["compare", name, case.recipe, "--json"], ["identify", name, "--json"]):
        outcome = run(words)
        if (problem := outcome.problem(0)) or outcome.status == 2:
            yield words, f"{case.change}: {problem or outcome.errors.decode()}"
            continue
        said = json.loads(outcome.output)
        is_identity = words[0] == "identify"
        false = false_identity(case, said) if is_identity else false_comparison(case, outcome.status, said)
        yield from ((words, f"{case.change}: {why}\nsaid: {sentence}") for why, sentence in false)
