"""What compare finds in tables with one fault each: said where it is true, and not where something else is."""

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest

from pecli import Table
from tests.conftest import clean_environment
from tests.judge.test_findings import CASES as FOUND
from tests.judge.test_findings import ROPE, SINES, YARN, arrays, changed, put
from tests.support.commands import command
from tests.support.unknown_tables import alibi_slopes, bf16, torch_frequencies

LLAMA = "rope:dim=64,len=200,scaling=llama3,factor=8,original-max=8192,base=500000"
ALIBI = "alibi:heads=8,len=9"
LISTED = "rope:dim=8,len=40,scaling=longrope,original-max=64,short-factor=1+1+1+2,long-factor=2+2+2+2"
HALF = "rope:dim=16,len=120,layout=half"
SMOOTH = "rope:dim=64,len=200,scaling=llama3,factor=8,original-max=2048"
DISTANCES = np.subtract.outer(range(24), range(24)).T
CONCAT = "rope:dim=16,len=120,layout=concat"


def turned(recipe, factor):
    table = arrays(recipe)
    n, m = table["cos"].shape
    angle = np.arange(n)[:, None] * 10000.0 ** (-np.arange(m) / m) * factor
    return {"cos": np.cos(angle).astype("f4"), "sin": np.sin(angle).astype("f4")}


def turned_yarn(factor, power=1):
    table = Table.parse(f"{YARN},dtype=float64")
    angle = np.arange(300)[:, None] * np.array([float(w) for w in table.plan.frequencies]) * factor
    size = float(table.plan.magnitude) ** power
    return {"cos": (np.cos(angle) * size).astype("f4"), "sin": (np.sin(angle) * size).astype("f4")}


def framework(rows, base=10000.0, change=lambda w: w, kind=lambda p: p):
    angle = (kind(np.arange(rows, dtype="f4"))[:, None] * change(torch_frequencies(base, 16))).astype("f8")
    return {"cos": np.cos(angle).astype("f4"), "sin": np.sin(angle).astype("f4")}


def bits(p):
    return (p.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)


def some_columns(p):
    p[5:9, 2:5] = 9
    return p


def halves_of(p, factor):
    return np.concatenate([p[:, :8] * np.float32(factor), p[:, 8:]], 1)


def divided(by):
    """SINES at positions over a number."""
    angle = np.outer(np.arange(120) / by, 10000.0 ** (-np.arange(16) / 16))
    return {"pe": np.stack([np.sin(angle), np.cos(angle)], 2).reshape(120, 32).astype("f4")}


def next_frequencies():
    angle = np.outer(np.arange(120), 10000.0 ** (-np.arange(1, 17) / 16))
    return {"pe": np.stack([np.sin(angle), np.cos(angle)], 2).reshape(120, 32).astype("f4")}


def of_base(base):
    return arrays(f"{SINES},base={base:.15g}")


def mixed_bases(p):
    return np.concatenate([p[:60], of_base(500000)["pe"][60:]])


def own_cosines():
    odd = np.outer(np.arange(120), 10000.0 ** (-np.arange(1, 32, 2) / 32))
    return changed(SINES, pe=lambda p: put((slice(None), slice(1, None, 2)), np.cos(odd))(p))


def grid_of(by=0.0, cosines=0):
    """GRID with coordinates that are larger by a number, or with its cosines first."""
    angle = np.outer(np.arange(6) + by, 10000.0 ** (-np.arange(4) / 4))
    waves = [np.sin(angle), np.cos(angle)]
    side = np.concatenate([waves[cosines], waves[1 - cosines]], 1)
    across, down = np.tile(side, (6, 1)), np.repeat(side, 6, 0)
    return {"pe": np.concatenate([across, down], 1).astype("f4")}


def window_index(by_row, by_column):
    row, column = np.divmod(np.arange(24), 6)
    off = (np.subtract.outer(one, one) for one in (row, column))
    dy, dx = off
    return {"index": (dy + 3) * by_row + (dx + 5) * by_column}


def slowed_twice():
    table = Table.parse(f"{YARN},dtype=float64")
    plain = 10000.0 ** (-np.arange(32) / 32)
    slow = np.array([float(w) for w in table.plan.frequencies])
    angle, size = np.outer(np.arange(300), slow * slow / plain), float(table.plan.magnitude)
    return {"cos": (np.cos(angle) * size).astype("f4"), "sin": (np.sin(angle) * size).astype("f4")}


def every_3rd(p):
    p[::3] *= 2
    return p


def distances(n):
    return abs(np.subtract.outer(range(n), range(n)))


def eight_bits():
    """The values of float8 e4m3 of sizes up to 1, of which those halfway between two are no values of a table."""
    sizes = [m * 2.0**-9 for m in range(8)] + [(8 + m) * 2.0 ** (e - 10) for e in range(1, 8) for m in range(8)]
    return np.array(sorted({sign * size for size in sizes for sign in (1, -1) if size <= 1}), np.float32)


def slopes_of(slopes, power=1, plus=0):
    sizes = np.maximum(distances(9) + plus, 0) ** power
    return {"bias": (-np.array(slopes)[:, None, None] * sizes).astype("f4")}


def in_float16(rows, dim):
    """Phases, cosines and sines in float32, the last as NumPy computes them, rounded to float16."""
    w = (10000.0 ** (-np.arange(0, dim, 2) / dim)).astype("f4")
    angle = np.arange(rows, dtype="f4")[:, None] * w
    return {k: f(angle).astype("f2").astype("f4") for k, f in (("cos", np.cos), ("sin", np.sin))}


def noisy(parts, first, stop=None):
    """Arrays of which some rows are noise."""
    rng, rows = np.random.default_rng(5), slice(first, stop)
    return {k: put(rows, rng.uniform(-1, 1, v[rows].shape))(v.copy()) for k, v in parts.items()}


def t5_logarithms(log, other):
    sizes = np.maximum(abs(DISTANCES), 8)
    far = np.minimum(8 + np.floor(log(sizes / 8) / other(64 / 8) * 8), 15).astype(int)
    return np.where(abs(DISTANCES) < 8, abs(DISTANCES), far) + 16 * (DISTANCES > 0)


def t5_far(to):
    sizes = np.maximum(abs(DISTANCES), 8)
    far = np.minimum(8 + to(np.log(sizes / 8) / np.log(8) * 8), 15).astype(int)
    return np.where(abs(DISTANCES) < 8, abs(DISTANCES), far) + 16 * (DISTANCES > 0)


T5_INDEX = "t5:buckets=32,max-distance=64,len=24,form=index"
GRID = "sincos2d:dim=16,grid=6x6"
WINDOW = "window:grid=4x6"
LINEAR = "rope:dim=16,len=120,scaling=linear,factor=4"
LEARNED = "learned:dim=8,max-len=50,len=50"


def normalised(p, epsilon=1e-5, centre=True):
    q = p - p.mean(1, keepdims=True) if centre else p
    return q / np.sqrt((q * q).mean(1, keepdims=True) + np.float32(epsilon))


def dropped(p, share, scale):
    return np.where(np.random.default_rng(3).random(p.shape) < share, 0, p * np.float32(scale)).astype("f4")


CASES = {name: (expected, mine, {}) for name, (expected, mine, _) in FOUND.items()} | {
    "a file with a recipe": (SINES, {**arrays(f"{SINES},base=500000")}, {"as": "file"}),
    "within a tolerance": (SINES, changed(SINES, pe=lambda p: p + np.float32(1e-6)), {"atol": 1e-5}),
    "beyond a tolerance": (SINES, changed(SINES, pe=put((7, 3), 9)), {"atol": 1e-5}),
    "as printed": (SINES, changed(SINES, pe=lambda p: p.round(3)), {"digits": 3}),
    "fewer rows": (SINES, changed(SINES, pe=lambda p: p[:100]), {}),
    "no common name": (ROPE, {"re": arrays(ROPE)["cos"], "im": arrays(ROPE)["sin"]}, {}),
    "another rank": (SINES, {"pe": arrays(SINES)["pe"].reshape(12, 10, 32)[:7]}, {}),
    "all but one": (SINES, changed(SINES, pe=lambda p: put((0, 0), p[0, 0])(p + np.float32(2))), {}),
    "a part": (SINES, changed(SINES, pe=some_columns), {}),
    "scattered": (
        SINES,
        changed(SINES, pe=lambda p: put((slice(3, 90, 7), 4), 9)(put((slice(5, 90, 9), 6), 9)(p))),
        {},
    ),
    "a column": (SINES, changed(SINES, pe=put((slice(None), 5), 9)), {}),
    "a row": (SINES, changed(SINES, pe=put(7, np.arange(32))), {}),
    "some rows": (SINES, changed(SINES, pe=put(slice(7, 11), np.arange(32))), {}),
    "one NaN": (SINES, changed(SINES, pe=put((7, 3), np.nan)), {}),
    "columns exchanged": (SINES, changed(SINES, pe=lambda p: p[:, [0, 3, 2, 1, *range(4, 32)]]), {}),
    "columns permuted": (SINES, changed(SINES, pe=lambda p: p[:, np.random.default_rng(1).permutation(32)]), {}),
    "columns of two": (
        "retnet:dim=8,len=40,heads=2",
        changed("retnet:dim=8,len=40,heads=2", cos=lambda p: p[:, [1, 0, 2, 3]], sin=lambda p: p[:, [1, 0, 2, 3]]),
        {},
    ),
    "columns backwards": (SINES, changed(SINES, pe=lambda p: p[:, ::-1]), {}),
    "degrees": (ROPE, turned(ROPE, 180 / np.pi), {}),
    "degrees back": (ROPE, turned(ROPE, np.pi / 180), {}),
    "turns": (ROPE, turned(ROPE, 2 * np.pi), {}),
    "turns back": (ROPE, turned(ROPE, 1 / (2 * np.pi)), {}),
    "half turns": (ROPE, turned(ROPE, np.pi), {}),
    "half turns back": (ROPE, turned(ROPE, 1 / np.pi), {}),
    "frequencies backwards": (
        f"{SINES},order=sin-cos",
        changed(f"{SINES},order=sin-cos", pe=lambda p: np.concatenate([p[:, 15::-1], p[:, :15:-1]], 1)),
        {},
    ),
    "a linspace": (SINES, divided(119 / 120), {}),
    "a linspace less": (SINES, divided(120 / 119), {}),
    "times the factor": (LINEAR, turned(ROPE, 4), {}),
    "slowed twice": (YARN, slowed_twice(), {}),
    "own cosines": (SINES, own_cosines(), {}),
    "a grid from 1": (GRID, grid_of(1), {}),
    "a grid from 0": (f"{GRID},base=100", grid_of(), {}),
    "a grid of cosines": (GRID, grid_of(cosines=1), {}),
    "columns first": (WINDOW, window_index(1, 7), {}),
    "the other side": (WINDOW, window_index(7, 1), {}),
    "no side": (WINDOW, window_index(1, 1), {}),
    "over the length": (
        "integer:dim=4,max-len=50,len=50",
        {"pe": np.repeat((np.arange(50) / 50)[:, None], 4, 1).astype("f4")},
        {},
    ),
    "signed": (
        ALIBI,
        {"bias": np.array(alibi_slopes(8))[:, None, None].astype("f4") * -np.subtract.outer(*[range(9)] * 2)},
        {},
    ),
    "rounded up": (T5_INDEX, {"index": t5_far(lambda steps: np.ceil(steps - 1e-9))}, {}),
    "clipped": (
        T5_INDEX.replace("32,max-distance=64", "16,max-distance=64"),
        {"index": np.minimum(abs(DISTANCES), 7) + 8 * (DISTANCES > 0)},
        {},
    ),
    "exponent of d - 2": (ROPE, arrays(f"{ROPE},base={10000.0 ** (16 / 14):.12g}"), {}),
    "exponent of d - 1": (ROPE, arrays(f"{ROPE},base={10000.0 ** (16 / 15):.12g}"), {}),
    "exponent between": (ROPE, turned(ROPE, 10000.0 ** (-1 / 16)), {}),
    "exponent twice": (ROPE, arrays(f"{ROPE},base=1e8"), {}),
    "another ramp": (YARN, arrays(f"{YARN},ramp=rotations"), {}),
    "not truncated": (YARN, arrays(f"{YARN},truncate=false"), {}),
    "linear unasked": (ROPE, arrays(f"{ROPE},scaling=linear,factor=4"), {}),
    "linear beside": (YARN, turned_yarn(0.25), {}),
    "scaling and base missing": (LLAMA, arrays("rope:dim=64,len=200"), {}),
    "factor twice": (LLAMA, arrays(LLAMA.replace("factor=8", "factor=64")), {}),
    "another scaling": (YARN, arrays("rope:dim=64,len=300,scaling=linear,factor=4"), {}),
    "no magnitude": (YARN, turned_yarn(1, 0), {}),
    "no magnitude in float32": (
        YARN,
        {k: v / np.float32(1.1386294) for k, v in arrays(f"{YARN},arithmetic=float32").items()},
        {},
    ),
    "no magnitude of its own": (f"{YARN},attention-factor=1.25", turned_yarn(1, 0), {}),
    "no magnitude of a list": (f"{LISTED},attention-factor=1.25", arrays(f"{LISTED},attention-factor=1"), {}),
    "a magnitude": (ROPE, {k: v * np.float32(1.25) for k, v in arrays(ROPE).items()}, {}),
    "magnitude twice": (YARN, turned_yarn(1, 2), {}),
    "missing row": (SINES, changed(SINES, pe=lambda p: np.delete(p, 17, 0)), {}),
    "doubled row": (SINES, changed(SINES, pe=lambda p: np.insert(p, 17, p[16], 0)[:120]), {}),
    "zeros": (SINES, changed(SINES, pe=put(slice(90, None), 0)), {}),
    "NaN from": (SINES, changed(SINES, pe=put(slice(90, None), np.nan)), {}),
    "last row on": (SINES, changed(SINES, pe=lambda p: p[np.minimum(np.arange(120), 89)]), {}),
    "from row 0 again": (SINES, changed(SINES, pe=lambda p: p[np.arange(120) % 90]), {}),
    "shifted left": (SINES, changed(SINES, pe=lambda p: np.roll(p, -1, 1)), {}),
    "rows up": (
        LEARNED,
        changed(LEARNED, pe=lambda p: put(-1, 7)(np.roll(p, -1, 0))),
        {},
    ),
    "rows down": (
        LEARNED,
        changed(LEARNED, pe=lambda p: put(0, 7)(np.roll(p, 1, 0))),
        {},
    ),
    "bytes": (SINES, changed(SINES, pe=lambda p: p.byteswap()), {}),
    "sign of all": (SINES, changed(SINES, pe=np.negative), {}),
    "sign of some": (SINES, changed(SINES, pe=lambda p: p * np.where(np.arange(32) % 2, 1, -1).astype("f4")), {}),
    "sign of odd": (SINES, changed(SINES, pe=lambda p: p * np.where(np.arange(32) % 2, -1, 1).astype("f4")), {}),
    "sign under a mask": (
        f"{ALIBI},mask=causal",
        changed(f"{ALIBI},mask=causal", bias=lambda p: np.where(np.isinf(p), p, -p)),
        {},
    ),
    "first half doubled": (CONCAT, changed(CONCAT, cos_sin=lambda p: halves_of(p, 2)), {}),
    "second half negated": (CONCAT, changed(CONCAT, cos_sin=lambda p: -halves_of(p, -1)), {}),
    "halves swapped": (CONCAT, changed(CONCAT, cos_sin=lambda p: np.roll(p, 8, 1)), {"as": "plain"}),
    "halves for neighbours": (SINES, arrays(f"{SINES},order=sin-cos"), {"as": "plain"}),
    "neighbours for halves": (
        CONCAT,
        changed(CONCAT, cos_sin=lambda p: p.reshape(120, 2, 8).swapaxes(1, 2).reshape(120, 16)),
        {"as": "plain"},
    ),
    "layout": (HALF, arrays("rope:dim=16,len=120,layout=interleaved"), {}),
    "bfloat16": (SINES, changed(SINES, pe=bf16), {}),
    "cut": (SINES, changed(SINES, pe=bits), {}),
    "float16": (SINES, changed(SINES, pe=lambda p: p.astype("f2").astype("f4")), {}),
    "float16, bfloat16": (SINES, changed(SINES, pe=lambda p: bf16(p.astype("f2").astype("f4"))), {}),
    "float32": (
        f"{SINES},dtype=float64",
        changed(f"{SINES},dtype=float64", pe=lambda p: p.astype("f4").astype("f8")),
        {},
    ),
    "decimals": (SINES, changed(SINES, pe=lambda p: p.round(3)), {}),
    "transposed": (SINES, changed(SINES, pe=lambda p: p.T), {}),
    "queries for keys": (f"{ALIBI},mask=causal", changed(f"{ALIBI},mask=causal", bias=lambda p: p.swapaxes(1, 2)), {}),
    "heads backwards": (ALIBI, changed(ALIBI, bias=lambda p: p[::-1]), {}),
    "sorted": (
        "alibi:heads=6,len=9",
        changed(
            "alibi:heads=6,len=9",
            bias=lambda p: p[[0, 4, 1, 5, 2, 3]][np.argsort(-np.abs(p[[0, 4, 1, 5, 2, 3]])[:, 0, 8])],
        ),
        {},
    ),
    "in float32": ("rope:dim=16,len=300", framework(300), {}),
    "in float32, long": ("rope:dim=16", framework(3000), {}),
    "frequencies in bfloat16, long": ("rope:dim=16", framework(1500, change=bf16), {}),
    "in bfloat16, then noise": ("rope:dim=16", noisy(framework(2500, change=bf16), 1100), {}),
    "in bfloat16, but one": ("rope:dim=16", noisy(framework(1500, change=bf16), 1440, 1441), {}),
    "positions in float16": ("rope:dim=16", framework(4000, kind=lambda p: p.astype("f2").astype("f4")), {}),
    "not smoothed, left": (SMOOTH, arrays(SMOOTH + ",high-freq-factor=1.0000000001"), {}),
    "not smoothed, divided": (SMOOTH, arrays(SMOOTH + ",low-freq-factor=3.9999999999"), {}),
    "distances clipped": (
        "alibi:heads=6,len=30",
        {"bias": -np.array(alibi_slopes(6))[:, None, None] * np.minimum(distances(30), 16)},
        {},
    ),
    "distance squared": ("alibi:heads=6,len=9", slopes_of(alibi_slopes(6), 2), {}),
    "around": ("shaw:dim=4,clip=3,len=24,form=index", {"index": (DISTANCES + 3) % 7}, {}),
    "around from 0": ("shaw:dim=4,clip=3,len=24,form=index", {"index": DISTANCES % 7}, {}),
    "two logarithms": (
        "t5:buckets=32,max-distance=64,len=24,form=index",
        {"index": t5_logarithms(np.log2, np.log)},
        {},
    ),
    "squared": (ROPE, {k: v * v for k, v in arrays(ROPE).items()}, {}),
    "cos squared": (ROPE, changed(ROPE, cos=lambda p: p * p), {}),
    "exact for bfloat16": (f"{ROPE},arithmetic=bfloat16", arrays(ROPE), {}),
    "an unusual base in float32": ("rope:dim=16,len=300", framework(300, 10007.0), {}),
    "columns for rows": (SINES, changed(SINES, pe=lambda p: p.T.reshape(p.shape)), {}),
    "rows for columns": (SINES, changed(SINES, pe=lambda p: p.reshape(p.shape[::-1]).T.copy()), {}),
    "heads last": ("alibi:heads=6,len=9", {"bias": slopes_of(alibi_slopes(6))["bias"].transpose(1, 2, 0)}, {}),
    "without means": (SINES, changed(SINES, pe=lambda p: (p - p.astype(float).mean(0)).astype("f4")), {}),
    "of deviation 1": (
        SINES,
        changed(SINES, pe=lambda p: ((p - p.astype(float).mean(0)) / p.astype(float).std(0)).astype("f4")),
        {},
    ),
    "float32, then float16": ("rope:dim=64", in_float16(2000, 64), {}),
    "in float32, short": ("rope:dim=16,len=20", framework(4), {}),
    "an odd base in float32": ("rope:dim=16,len=300", framework(300, 12345.0), {}),
    "in bfloat16": (ROPE, arrays(f"{ROPE},arithmetic=bfloat16"), {}),
    "another base in float32": ("rope:dim=16,len=300,base=500000", framework(300), {}),
    "base and bfloat16": (ROPE, {k: bf16(v) for k, v in arrays(f"{ROPE},base=500000").items()}, {}),
    "frequencies beside": (f"{ROPE},with=inv_freq", changed(f"{ROPE},with=inv_freq", inv_freq=lambda w: 2 * w), {}),
    "rows exchanged": (SINES, changed(SINES, pe=lambda p: p[[*range(9), 40, *range(10, 40), 9, *range(41, 120)]]), {}),
    "rows turned": (SINES, changed(SINES, pe=lambda p: np.concatenate([p[:20], p[20:40][::-1], p[40:]])), {}),
    "rows twice each": (SINES, changed(SINES, pe=lambda p: p[np.arange(120) // 2]), {}),
    "rows doubled": (SINES, changed(SINES, pe=lambda p: np.concatenate([p[:30], p[20:110]])), {}),
    "rows swapped": (SINES, changed(SINES, pe=lambda p: np.concatenate([p[60:], p[:60]])), {}),
    "without signs": (SINES, changed(SINES, pe=np.abs), {}),
    "in float32, rows exchanged": (
        "rope:dim=16,len=300",
        {k: v[[*range(9), 40, *range(10, 40), 9, *range(41, 300)]] for k, v in framework(300).items()},
        {},
    ),
    "all NaN": (ROPE, {k: v * np.nan for k, v in arrays(ROPE).items()}, {}),
    "cut off": (SINES, changed(SINES, pe=lambda p: np.clip(p, -0.75, 0.75)), {}),
    "of 127": (SINES, changed(SINES, pe=lambda p: np.round(p * 127) / np.float32(127)), {}),
    "fewer bits": (SINES, changed(SINES, pe=lambda p: ((p.view("u4") + 0x800) & 0xFFFFF000).view("f4")), {}),
    "masked": (
        f"{ALIBI},mask=causal",
        changed(f"{ALIBI},mask=causal", bias=lambda p: np.where(np.isinf(p), np.float32(-1e9), p)),
        {},
    ),
    "every 3rd row": (SINES, changed(SINES, pe=every_3rd), {}),
    "base from a row on": (SINES, changed(SINES, pe=mixed_bases), {}),
    "log10": (SINES, of_base(10000 ** (1 / np.log(10))), {}),
    "log2": (SINES, of_base(10000 ** (1 / np.log(2))), {}),
    "powers of 2": (SINES, of_base(10000 ** np.log(2)), {}),
    "growing": (SINES, of_base(1e-4), {}),
    "counted from 1": (SINES, next_frequencies(), {}),
    "over the count": (SINES, divided(120), {}),
    "over the last": (SINES, divided(119), {}),
    "powers of e": (ALIBI, slopes_of(np.exp(-np.arange(1, 9))), {}),
    "of more heads": ("alibi:heads=6,len=9", slopes_of(2.0 ** -np.arange(1, 7)), {}),
    "distance from 1": (ALIBI, slopes_of(alibi_slopes(8), plus=1), {}),
    "distance less 1": (ALIBI, slopes_of(alibi_slopes(8), plus=-1), {}),
    "root of the distance": (ALIBI, slopes_of(alibi_slopes(8), 0.5), {}),
    "logarithm of the distance": (
        ALIBI,
        {"bias": (-np.array(alibi_slopes(8))[:, None, None] * np.log1p(distances(9))).astype("f4")},
        {},
    ),
    "nothing at the query": (
        ALIBI,
        changed(ALIBI, bias=lambda p: np.where(np.tri(9, k=-1) > 0, p, np.float32(-7))),
        {},
    ),
    "nothing before": (ALIBI, changed(ALIBI, bias=lambda p: np.where(np.tri(9) > 0, np.float32(-7), p)), {}),
    "lower triangle": (ALIBI, changed(ALIBI, bias=np.tril), {}),
    "upper triangle": (ALIBI, changed(ALIBI, bias=np.triu), {}),
    "float8": (SINES, changed(SINES, pe=lambda p: eight_bits()[abs(eight_bits() - p[..., None]).argmin(-1)]), {}),
    "cut to 11 bits": (SINES, changed(SINES, pe=lambda p: (p.view("u4") & np.uint32(0xFFFFE000)).view("f4")), {}),
    "one over": (LEARNED, changed(LEARNED, pe=lambda p: 1 / p), {}),
    "modulo": (T5_INDEX, changed(T5_INDEX, index=lambda p: p % 16), {}),
    "a grid turned round": (SINES, changed(SINES, pe=lambda p: p.reshape(10, 12, 32)[:, ::-1].reshape(120, 32)), {}),
    "a grid exchanged": (SINES, changed(SINES, pe=lambda p: p.reshape(10, 12, 32).swapaxes(0, 1).reshape(120, 32)), {}),
    "a grid upside down": (SINES, changed(SINES, pe=lambda p: p.reshape(10, 12, 32)[::-1].reshape(120, 32)), {}),
    "dropout": (SINES, changed(SINES, pe=lambda p: dropped(p, 0.2, 1.25)), {}),
    "zeros here and there": (SINES, changed(SINES, pe=lambda p: dropped(p, 0.2, 1)), {}),
    "of length 1": (LEARNED, changed(LEARNED, pe=lambda p: p / np.sqrt((p * p).sum(1, keepdims=True))), {}),
    "layer norm": (LEARNED, changed(LEARNED, pe=normalised), {}),
    "RMS norm": (LEARNED, changed(LEARNED, pe=lambda p: normalised(p, 1e-6, False)), {}),
    "centred": (LEARNED, changed(LEARNED, pe=lambda p: p - p.mean(1, keepdims=True)), {}),
    "other zeros": (SINES, changed(SINES, pe=lambda p: np.where(p == 0, np.float32(-0.0), p)), {}),
    "fewer rows, about": (SINES, changed(SINES, pe=lambda p: p[:100] + np.float32(1e-6)), {"atol": 1e-5}),
    "conjugate": (f"{ROPE},layout=complex", changed(f"{ROPE},layout=complex", cis=np.conj), {}),
    "twice as real": (f"{ROPE},layout=complex", changed(f"{ROPE},layout=complex", cis=lambda p: p + p.real), {}),
    "trained halves swapped": (LEARNED, changed(LEARNED, pe=lambda p: np.roll(p, 4, 1)), {}),
    "no recipe, another base": (SINES, arrays(f"{SINES},base=500000"), {"as": "plain"}),
}


@cache
def printed(case):
    """The status of `pecli compare` and what it prints of a case."""
    with TemporaryDirectory() as folder:
        if case in SEVERAL:
            lengths = SEVERAL[case]
            sources = [f"{k}.npz" for k in range(len(lengths))]
            for source, length in zip(sources, lengths, strict=True):
                np.savez(Path(folder, source), **arrays(f"sinusoidal:dim=8,len={length}"))
            done = command(["compare", *sources], cwd=folder, env=ENVIRONMENT)
        else:
            expected, mine, how = CASES[case]
            np.savez(Path(folder, "mine.npz"), **mine)
            if how.get("as") == "plain":
                np.savez(Path(folder, "right.npz"), **arrays(expected))
                expected = "right.npz"
            more = [word for key in ("atol", "digits") if key in how for word in (f"--{key}", how[key])]
            done = command(["compare", "mine.npz", expected, *more], cwd=folder, env=ENVIRONMENT)
    assert done.returncode in (0, 1), done.stderr
    return done.returncode, " ".join((done.stdout + done.stderr).split())


SEVERAL = {"several": (12, 12, 9), "several alike": (12, 12, 12)}
ENVIRONMENT = clean_environment(COLUMNS="400")

WORDS = {  # a case, another case of which not all of it is said, and what is said of the case
    "several": ("several alike", "part"),
    "half turns": ("turns", "half turns", "times pi"),
    "half turns back": ("turns back", "half turns", "over pi"),
    "frequencies backwards": ("columns backwards", "frequencies run backwards"),
    "a linspace": ("over the count", "linspace", "120/119"),
    "times the factor": ("linear unasked", "multiplied by the factor 4"),
    "slowed twice": ("linear beside", "slowed twice"),
    "own cosines": ("exponent between", "cosines have frequencies of their own"),
    "a grid from 1": ("a grid from 0", "1 more than expected"),
    "a grid of cosines": ("a grid from 1", "exchanged"),
    "columns first": ("the other side", "columns first"),
    "the other side": ("columns first", "2h - 1 where 2w - 1"),
    "no side": ("the other side", "not multiplied by 2w - 1"),
    "over the length": ("over the count", "divided by the length", "50"),
    "signed": ("sign under a mask", "keeps its sign"),
    "nothing at the query": ("lower triangle", "at and after"),
    "nothing before": ("lower triangle", "at and before"),
    "rounded up": ("two logarithms", "rounded up"),
    "clipped": ("rounded up", "clipped to the buckets"),
    "exchanged and one value": ("exchanged", "at most", "leaves 1 of 3,840"),
    "one NaN": ("one value", "row 7", "NaN"),
    "all but one": ("sum", "all but 1"),
    "base and bfloat16": ("base", "rounded to bfloat16"),
    "beyond a tolerance": ("one value", "atol"),
    "a column": ("scattered", "column 5 differs"),
    "columns exchanged": ("columns permuted", "columns 1 and 3"),
    "halves swapped": ("halves for neighbours", "cos and sin are exchanged"),
    "one value": ("equal", "one value differs", "[7", "3]", "9 where"),
    "degrees": ("degrees back", "degrees", "180/pi"),
    "degrees back": ("degrees", "pi/180"),
    "without signs": ("sign of all", "lost its sign"),
    "one over": ("all but one", "1 over what was expected"),
    "modulo": ("around from 0", "modulo 16"),
    "a grid upside down": ("rows swapped", "grid", "10 x 12", "first axis"),
    "a grid turned round": ("a grid upside down", "second axis"),
    "a grid exchanged": ("a grid upside down", "axes are exchanged"),
    "distance from 1": ("distance less 1", "counted from 1"),
    "distance less 1": ("distance from 1", "less 1"),
    "root of the distance": ("distance squared", "square root"),
    "logarithm of the distance": ("root of the distance", "logarithm of 1 +"),
    "lower triangle": ("heads backwards", "0 stands", "after the query"),
    "cut to 11 bits": ("float8", "cut", "not rounded", "to 11"),
    "of length 1": ("RMS norm", "divided by its length"),
    "RMS norm": ("of length 1", "RMS"),
    "layer norm": ("centred", "layer norm"),
    "zeros here and there": ("dropout", "every value that differs is 0"),
    "centred": ("layer norm", "mean of every row"),
    "dropout": ("zeros here and there", "dropout", "1.25 times"),
    "all NaN": ("sum", "NaN"),
    "rows twice each": ("rows doubled", "2 times"),
    "every 3rd row": ("rows swapped", "every 3rd row"),
    "growing": ("exponent", "2i/d where -2i/d"),
    "log10": ("log2", "log10"),
    "log2": ("log10", "log2"),
    "counted from 1": ("shifted left", "pairs are counted from 1"),
    "over the count": ("base", "positions are divided by", "120"),
    "powers of 2": ("log2", "powers of 2 taken where powers of e"),
    "powers of e": ("of more heads", "powers of e taken where powers of 2"),
    "of 127": ("cut off", "multiples of 1/127"),
    "over the last": ("over the count", "119", "the last one"),
    "of more heads": ("sorted", "first 6", "8 heads"),
    "turns back": ("turns", "turns instead of radians", "over 2 pi"),
    "turns": ("turns back", "turns instead of radians", "times 2 pi"),
    "fewer rows": ("missing row", "same in 3,200 values", "100 x 32"),
    "another rank": ("fewer rows", "nothing in common to compare"),
    "fewer rows, about": ("fewer rows", "within the tolerance"),
    "layout": ("halves swapped", "interleaved for halves"),
    "sign of some": ("second half negated", "sign", "every second column from the first"),
    "sign of odd": ("sign of some", "sign", "every second column from the second"),
    "size": ("first half doubled", "every value is 3 times"),
    "exponent twice": ("exponent", "4i/d"),
    "exponent": ("exponent twice", "exponent i/d"),
    "exponent of d - 1": ("exponent of d - 2", "over d - 1"),
    "exponent between": ("exponent of d - 1", "(2i + 1)/d"),
    "exponent of d - 2": ("base", "over d - 2"),
    "linear beside": ("linear unasked", "linear factor 4 applied"),
    "linear unasked": ("linear beside", "linear factor 4 where none"),
    "magnitude twice": ("no magnitude", "magnitude applied twice"),
    "no magnitude of a list": ("magnitude twice", "magnitude missing", "1.25"),
    "a magnitude": ("size", "magnitude 1.25 where 1 was expected"),
    "no common name": ("an array less", "no array of one name"),
    "nothing known": ("another rank", "no fault that is known"),
    "in bfloat16, then noise": ("frequencies in bfloat16, long", "first 1,100 rows"),
    "around": ("around from 0", "modulo 7", "+ clip"),
    "cos squared": ("equal", "cos is squared"),
    "not smoothed, left": ("not smoothed, divided", "left as they are"),
    "not smoothed, divided": ("not smoothed, left", "low-freq-factor and high-freq-factor are exchanged"),
    "distances clipped": ("distance squared", "beyond 16"),
    "distance squared": ("around", "distance is squared"),
    "two logarithms": ("around from 0", "log", "divided by"),
    "squared": ("cos squared", "every value is squared"),
    "a part": ("some rows", "12 values of 3 columns"),
    "a row": ("some rows", "one row differs", "7"),
    "an array less": ("fewer rows", "only the second has 'sin'"),
    "columns permuted": ("columns exchanged", "permuted columns"),
    "exact for bfloat16": ("in bfloat16", "arithmetic"),
    "in float32": ("exact for bfloat16", "computed in float32"),
    "start": ("rows up", "start at 1 where 0 was expected"),
    "missing row": ("doubled row", "row 17 is missing"),
    "doubled row": ("missing row", "row 16", "twice"),
    "zeros": ("some rows", "rows 90 and up", "zero"),
    "some rows": ("a row", "rows 7 to 10 differ"),
    "within a tolerance": ("beyond a tolerance", "same within the tolerance"),
    "other zeros": ("equal", "sign of a zero"),
    "equal": ("within a tolerance", "same: 3,840 values are equal"),
    "twice as real": ("conjugate", "real part"),
    "conjugate": ("twice as real", "imaginary part"),
    "trained halves swapped": ("conjugate", "halves", "swapped"),
    "scaling and base missing": ("no scaling", "llama3", "base", "missing"),
    "no scaling": ("scaling and base missing", "scaling yarn is missing"),
    "another scaling": ("no scaling", "linear where yarn"),
    "shifted left": ("rows up", "to the left"),
    "rows up": ("rows down", "row 0 holds", "at row 1"),
    "rows down": ("rows up", "shifted down by one row"),
    "columns backwards": ("reversed", "columns run backwards"),
    "float16": ("base and bfloat16", "rounded to float16"),
    "no recipe, another base": ("base", "expected values are those of"),
    "first half doubled": ("second half negated", "first half", "2 times"),
    "second half negated": ("first half doubled", "sign", "second half"),
    "heads backwards": ("reversed", "heads run backwards"),
    "no magnitude": ("magnitude twice", "magnitude", "missing"),
    "sign of all": ("size", "sign of pe is changed"),
    "sorted": ("heads backwards", "slopes are sorted", "largest first"),
    "bytes": ("sign of all", "bytes of every value"),
    "reversed": ("rows up", "rows run backwards"),
    "encoding": ("exchanged", "binary where sinusoidal was expected"),
    "another type": ("float32", "float32 against float64"),
    "cut off": ("size", "0.75", "cut off"),
    "frequencies beside": ("one value", "beside the table"),
    "base": ("exchanged", "500000 where 10000 was expected"),
    "another ramp": ("no magnitude", "ramp=rotations"),
    "not truncated": ("no magnitude", "truncate=false"),
    "heads last": ("distance squared", "axes"),
    "rows for columns": ("columns for rows", "columns hold what was expected row by row"),
    "without means": ("sum", "mean of every column"),
    "columns for rows": ("rows for columns", "transposed"),
    "of deviation 1": ("without means", "deviation"),
    "an unusual base in float32": ("base", "computed in float32"),
    "exchanged": ("same", "sin and cos are exchanged"),
    "NaN from": ("zeros", "rows 90 and up", "NaN"),
    "queries for keys": ("same", "exchanged"),
    "in float32, rows exchanged": ("bytes", "exchanged", "computed in float32"),
    "cut": ("bfloat16", "cut", "not rounded", "to bfloat16"),
    "factor twice": ("another scaling", "factor applied twice", "64 where 8"),
    "same": ("exchanged", "sin holds the values of cos"),
    "sum": ("size", "0.5 is added"),
    "scattered": ("a part", "rows differ", "the first at"),
    "last row on": ("from row 0 again", "repeat row 89"),
    "from row 0 again": ("last row on", "repeat: row 90 is row 0 again"),
    "bfloat16": ("cut", "rounded to bfloat16"),
    "float16, bfloat16": ("bfloat16", "rounded to float16", "then to bfloat16"),
    "float32": ("float16", "rounded to float32"),
    "decimals": ("float16", "rounded to 3 decimals"),
    "as printed": ("within a tolerance", "3 decimals"),
    "fewer bits": ("float16", "12 significant bits"),
    "masked": ("sign under a mask", "-1e+09", "stands where"),
    "rows exchanged": ("columns permuted", "rows 9 and 40 are exchanged"),
    "rows doubled": ("rows swapped", "there twice"),
    "rows turned": ("reversed", "rows 20 to 39 run backwards"),
    "rows swapped": ("rows turned", "what was expected at"),
    "sign under a mask": ("sign of all", "sign", "infinity is not"),
    "in bfloat16": ("in float32, short", "first wrong at position 5"),
    "neighbours for halves": ("halves for neighbours", "neighbours stand where two halves"),
    "in float32, short": ("in float32", "no value is off by more than its rounding"),
    "halves for neighbours": ("neighbours for halves", "two halves stand where neighbours"),
    "float32, then float16": ("columns permuted", "float32", "rounded to float16"),
}
SAME = ("equal", "as printed", "within a tolerance", "other zeros", "several alike")


@pytest.mark.parametrize("case", [*CASES, *SEVERAL])
def test_the_fault_is_named(case):
    status, said = printed(case)
    assert status == (0 if case in SAME else 1), said
    near, *words = WORDS.get(case, ("",))
    assert [word for word in words if word not in said] == [], said
    assert not words or not all(word in printed(near)[1] for word in words), printed(near)[1]
