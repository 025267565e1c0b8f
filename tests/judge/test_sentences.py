"""Every sentence of compare: printed where it is true, and not in a case beside; a new one without a row fails."""

from __future__ import annotations

import numpy as np
import pytest

from pecli import Table
from pecli.cli.compare.view import comparison_view, matrix_view
from pecli.comparison.results import Tolerance
from pecli.diagnosis.diagnosis import compare
from pecli.sources.alignment import open_beside
from pecli.sources.sources import read_source
from tests.judge.test_findings import CASES as FOUND
from tests.judge.test_findings import ROPE, SINES, YARN, arrays, changed, put
from tests.support.sentences import said, sentences
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


def printed(case, folder):
    """What compare prints of a case."""
    expected, mine, how = CASES[case]
    np.savez(folder / "mine.npz", **mine)
    if how.get("as") == "plain":
        np.savez(folder / "right.npz", **arrays(expected))
        expected = str(folder / "right.npz")
    a, b = open_beside(read_source(str(folder / "mine.npz")), read_source(expected), 128)
    tolerance = Tolerance.printed(how["digits"]) if "digits" in how else Tolerance(atol=how.get("atol", 0.0))
    items = comparison_view(("mine", a), ("expected", b), compare(a, b, tolerance))
    return "\n".join(map(str, items))


def matrix(case):
    """What compare prints of several tables."""
    lengths = (12, 12, 9 if case == "several" else 12)
    tables = [Table.parse(f"sinusoidal:dim=8,len={length}") for length in lengths]
    pairs = {(j, i): compare(tables[j], tables[i]) for i in range(3) for j in range(i + 1, 3)}
    return "\n".join(map(str, matrix_view(["a", "b", "c"], pairs)))


ROWS = {  # a sentence, where it is printed and true, where it must not be
    "(part): of what both have": ("several", "several alike"),
    "half turns instead of radians: cos and sin were taken of the angle times pi": ("half turns", "turns"),
    "half turns instead of radians: cos and sin were taken of the angle over pi": ("half turns back", "turns back"),
    "the frequencies run backwards: the last one comes first": ("frequencies backwards", "columns backwards"),
    "positions are {} apart, as of a linspace whose end is {}": ("a linspace", "over the count"),
    "every angle is multiplied by the factor {}, by which it should be divided": ("times the factor", "linear unasked"),
    "the frequencies are slowed twice: the ramp is applied to what it has slowed already":
        ("slowed twice", "linear beside"),
    "cosines have frequencies of their own, each half a pair further in the series than its sine has":
        ("own cosines", "exponent between"),
    "every coordinate is {} more than expected": ("a grid from 1", "a grid from 0"),
    "cos and sin are exchanged for every coordinate": ("a grid of cosines", "a grid from 1"),
    "the index counts columns first: (dx + w - 1)(2h - 1) + dy + h - 1": ("columns first", "the other side"),
    "the row's offset is multiplied by 2h - 1 where 2w - 1 was expected": ("the other side", "columns first"),
    "the row's offset is not multiplied by 2w - 1: different offsets share an index": ("no side", "the other side"),
    "the position is divided by the length, {}, where the last position, {}, was expected":
        ("over the length", "over the count"),
    "the distance keeps its sign: keys after the query have a bonus for it": ("signed", "sign under a mask"),
    "at and after": ("nothing at the query", "lower triangle"),
    "at and before": ("nothing before", "lower triangle"),
    "buckets of far distances are rounded up where they should be cut": ("rounded up", "two logarithms"),
    "distances are clipped to the buckets, one for each, where far ones should share them by their logarithm":
        ("clipped", "rounded up"),
    ", by at most {}": ("exchanged and one value", "exchanged"),
    ", the first at row {}": ("one NaN", "one value"),
    "all but {}": ("all but one", "sum"),
    "and the values are rounded to {}": ("base and bfloat16", "base"),
    "as printed with {} decimals": ("as printed", "within a tolerance"),
    "by more than {}": ("beyond a tolerance", "one value"),
    "column {} differs, in {} of {} rows": ("a column", "scattered"),
    "columns {} and {}{} are exchanged": ("columns exchanged", "columns permuted"),
    "cos and sin are exchanged": ("halves swapped", "halves for neighbours"),
    "cos and sin are exchanged:": ("halves swapped", "exchanged"),
    "cosine of rows: smallest {}, mean {}": ("one value", "equal"),
    "degrees instead of radians: cos and sin were taken of the angle times 180/pi": ("degrees", "degrees back"),
    "degrees instead of radians: cos and sin were taken of the angle times pi/180": ("degrees back", "degrees"),
    "every value has lost its sign": ("without signs", "sign of all"),
    "every value is 1 over what was expected": ("one over", "all but one"),
    "every number is taken modulo {}": ("modulo", "around from 0"),
    "the {} are those of a grid {}": ("a grid upside down", "rows swapped"),
    "of {} x {} whose first axis runs backwards": ("a grid upside down", "rows swapped"),
    "of {} x {} whose second axis runs backwards": ("a grid turned round", "a grid upside down"),
    "of {} x {} whose axes are exchanged": ("a grid exchanged", "a grid upside down"),
    "the distance is counted from 1": ("distance from 1", "distance less 1"),
    "the distance is taken less 1": ("distance less 1", "distance from 1"),
    "the square root of the distance is taken": ("root of the distance", "distance squared"),
    "the logarithm of 1 + the distance is taken": ("logarithm of the distance", "root of the distance"),
    "{} stands at all keys {} the query": ("lower triangle", "heads backwards"),
    "the expected values cut, not rounded, to {}": ("cut to 11 bits", "float8"),
    "every row is divided by its length": ("of length 1", "RMS norm"),
    "every row went through RMS normalisation (epsilon {})": ("RMS norm", "of length 1"),
    "every row went through layer normalisation (epsilon {})": ("layer norm", "centred"),
    "every value that differs is {}": ("zeros here and there", "dropout"),
    "the mean of every row is taken from it": ("centred", "layer norm"),
    "values here and there are 0, all others {} times what was expected, as dropout leaves them":
        ("dropout", "zeros here and there"),
    "every value is {}": ("all NaN", "sum"),
    "every {} is there {} times: {} {} holds what was expected at {} 1": ("rows twice each", "rows doubled"),
    "every {}{} {} from {} {} on{}": ("every 3rd row", "rows swapped"),
    "exponent 2i/d where -2i/d was expected": ("growing", "exponent"),
    "log10 taken of the base where its natural logarithm was expected": ("log10", "log2"),
    "log2 taken of the base where its natural logarithm was expected": ("log2", "log10"),
    "pairs are counted from 1 where 0 was expected: every frequency is the next one of the series":
        ("counted from 1", "shifted left"),
    "positions are divided by {}, {}": ("over the count", "base"),
    "powers of 2 taken where powers of e were expected": ("powers of 2", "log2"),
    "powers of e taken where powers of 2 were expected": ("powers of e", "of more heads"),
    "the expected values rounded to {}": ("of 127", "cut off"),
    "the last one": ("over the last", "over the count"),
    "the slopes are the first {} of those of {} heads": ("of more heads", "sorted"),
    "turns instead of radians: cos and sin were taken of the angle over 2 pi": ("turns back", "turns"),
    "turns instead of radians: cos and sin were taken of the angle times 2 pi": ("turns", "turns back"),
    "different: what both have is the same in {} values": ("fewer rows", "missing row"),
    "different: they have nothing in common to compare": ("another rank", "fewer rows"),
    "different: what both have is the same {}": ("fewer rows, about", "another rank"),
    "within the tolerance ({}), {} of {} values are not equal": ("fewer rows, about", "fewer rows"),
    "different: {} differ": ("one value", "within a tolerance"),
    "equal after swapping interleaved for halves": ("layout", "halves swapped"),
    "equal after swapping interleaved for halves:": ("layout", "halves swapped"),
    "every second column from the first": ("sign of some", "second half negated"),
    "every second column from the second": ("sign of odd", "sign of some"),
    "every value is {} times what was expected": ("size", "first half doubled"),
    "exponent 4i/d where 2i/d was expected": ("exponent twice", "exponent"),
    "exponent i/d where 2i/d was expected": ("exponent", "exponent twice"),
    "exponent over d - 1 where d was expected": ("exponent of d - 1", "exponent of d - 2"),
    "exponent (2i + 1)/d where 2i/d was expected: every frequency lies half a pair further in the series":
        ("exponent between", "exponent of d - 1"),
    "exponent over d - 2 where d was expected": ("exponent of d - 2", "base"),
    "linear factor {} applied beside scaling {}: every angle is {} times too small":
        ("linear beside", "linear unasked"),
    "linear factor {} where none was expected": ("linear unasked", "linear beside"),
    "magnitude applied twice ({})": ("magnitude twice", "no magnitude"),
    "magnitude missing ({})": ("no magnitude of a list", "magnitude twice"),
    "magnitude {} where {} was expected": ("a magnitude", "size"),
    "no array of one name: {}; compare one with path::name": ("no common name", "an array less"),
    "no fault that is known explains the difference, and no formula was found that gives these values":
        ("nothing known", "another rank"),
    "phases of the first {} rows were": ("in bfloat16, then noise", "frequencies in bfloat16, long"),
    "key - query + clip": ("around", "around from 0"),
    "{} is squared{}": ("cos squared", "equal"),
    "the frequencies between {} and {} are not smoothed but left as they are":
        ("not smoothed, left", "not smoothed, divided"),
    "{} and {} are exchanged, {}": ("not smoothed, divided", "not smoothed, left"),
    "distances beyond {} count as {}": ("distances clipped", "distance squared"),
    "the distance is squared": ("distance squared", "around"),
    "distances go around where they should be clipped: the index is ({}) modulo {}": ("around", "two logarithms"),
    "{} of the distance is divided by {} of max-distance, where one logarithm was expected of both":
        ("two logarithms", "around from 0"),
    "every value is squared": ("squared", "cos squared"),
    "of {} columns": ("a part", "some rows"),
    "one row differs, {}, in {}": ("a row", "some rows"),
    "one value differs, at {}: {} where {} was expected": ("one value", "a part"),
    "only the {} has {}": ("an array less", "fewer rows"),
    "permuted columns{}: {}": ("columns permuted", "columns exchanged"),
    "phases were computed in {} arithmetic": ("exact for bfloat16", "in bfloat16"),
    "phases were computed in {} ({})": ("in float32", "exact for bfloat16"),
    "positions start at {} where {} was expected": ("start", "rows up"),
    "row {} is missing": ("missing row", "doubled row"),
    "row {} is there twice": ("doubled row", "missing row"),
    "rows {} and up": ("zeros", "some rows"),
    "rows {} to {} differ, in {}": ("some rows", "a row"),
    "same within the tolerance ({}): {} of {} values are not equal": ("within a tolerance", "beyond a tolerance"),
    ", {} of them in other bits: the sign of a zero, or a NaN": ("other zeros", "equal"),
    "same: {} values are equal{}": ("equal", "within a tolerance"),
    "to the bit": ("equal", "other zeros"),
    "the real part": ("twice as real", "conjugate"),
    "the imaginary part": ("conjugate", "twice as real"),
    "{} are swapped": ("trained halves swapped", "conjugate"),
    "scaling {} and the base are missing: base 10000, unscaled": ("scaling and base missing", "no scaling"),
    "scaling {} is missing: the frequencies are unscaled": ("no scaling", "scaling and base missing"),
    "scaling {} where {} was expected": ("another scaling", "no scaling"),
    "shifted by {} to the {}": ("shifted left", "rows up"),
    "shifted by {}: row 0 holds what was expected at row {}": ("rows up", "rows down"),
    "shifted down by {}": ("rows down", "rows up"),
    "that leaves {} unexplained{}, the first at {}": ("exchanged and one value", "exchanged"),
    "the columns run backwards": ("columns backwards", "reversed"),
    "the expected values": ("float16", "base and bfloat16"),
    "the expected values are those of {}": ("no recipe, another base", "base"),
    "the first half": ("first half doubled", "second half negated"),
    "the second half": ("second half negated", "first half doubled"),
    "the heads run backwards": ("heads backwards", "reversed"),
    "the magnitude is missing": ("no magnitude", "magnitude twice"),
    "the sign of {} is changed": ("sign of all", "size"),
    "the sign of {} is changed{}": ("sign of some", "first half doubled"),
    "the slopes are sorted, the {} first": ("sorted", "heads backwards"),
    "the two halves": ("halves swapped", "exchanged and one value"),
    "the {} bytes of every value stand the other way round": ("bytes", "sign of all"),
    "the {} run backwards": ("reversed", "rows up"),
    "these values are {} ({})": ("encoding", "another type"),
    "type {} against {}, compared as numbers": ("another type", "float32"),
    "ulp of {}: {}": ("one value", "equal"),
    "up to {}": ("one value", "equal"),
    "values {} were cut off": ("cut off", "size"),
    "what differs stands beside the table, whose own values are equal": ("frequencies beside", "one value"),
    "where {} was expected": ("base", "exchanged"),
    "yarn with ramp=rotations": ("another ramp", "no magnitude"),
    "yarn with truncate=false": ("not truncated", "no magnitude"),
    "the axes are {} where {} was expected": ("heads last", "distance squared"),
    "the columns hold what was expected row by row, as of an array in rows read down its columns":
        ("rows for columns", "columns for rows"),
    "the mean of every column is taken from it": ("without means", "sum"),
    "the values run down the columns, as those of a transposed array read in rows":
        ("columns for rows", "rows for columns"),
    "{}, which is divided by its deviation": ("of deviation 1", "without means"),
    "and phases were computed in float32": ("an unusual base in float32", "base"),
    "and rounded to {}": ("float32, then float16", "float16"),
    "{} and {} are exchanged": ("exchanged", "same"),
    "{} are NaN": ("NaN from", "zeros"),
    "{} are exchanged": ("queries for keys", "same"),
    "{} of {} values are off by at most {}, no more than phases computed in float32{} are":
        ("in float32, rows exchanged", "in float32"),
    "{} are zero": ("zeros", "NaN from"),
    "{} cut, not rounded, to bfloat16": ("cut", "bfloat16"),
    "{} factor applied twice ({} where {} was expected)": ("factor twice", "another scaling"),
    "{} holds the values of {}{}": ("same", "exchanged"),
    "{} is added to every value": ("sum", "size"),
    "{} is {} times what was expected{}": ("first half doubled", "sum"),
    "{} of {} rows differ, in {}, the first at {}, the last at {}": ("scattered", "a part"),
    "{} of {} values": ("exchanged and one value", "equal"),
    "{} of {} values ({})": ("one value", "within a tolerance"),
    "{} on the left alone, {} on the right alone, {} on both{}": ("one NaN", "one value"),
    "{} repeat row {}": ("last row on", "from row 0 again"),
    "{} repeat: row {} is row 0 again": ("from row 0 again", "last row on"),
    "{} rounded to bfloat16": ("bfloat16", "cut"),
    "{} rounded to float16": ("float16", "bfloat16"),
    "{} rounded to float16, then to bfloat16": ("float16, bfloat16", "bfloat16"),
    "{} rounded to float32": ("float32", "float16"),
    "multiples of 1/{}": ("of 127", "decimals"),
    "{} rounded to {} decimals": ("decimals", "float16"),
    "{} significant bits": ("fewer bits", "float16"),
    "{} stands where {} was expected": ("masked", "sign under a mask"),
    "{} where {} was expected": ("encoding", "exchanged"),
    "{} {} and {} are exchanged": ("rows exchanged", "columns permuted"),
    "{} {} there twice": ("rows doubled", "rows swapped"),
    "{} {} to {} run backwards": ("rows turned", "reversed"),
    "{} {} what was expected at {}": ("rows swapped", "rows turned"),
    "{} {} where {} was expected": ("base", "exchanged"),
    "{}, that of infinity is not": ("sign under a mask", "sign of all"),
    "{}: as {} {} where {} was expected": ("exponent", "base"),
    ": first wrong at position {}": ("in bfloat16", "in float32, short"),
    "{}: neighbours stand where two halves were expected": ("neighbours for halves", "halves for neighbours"),
    ": no value is off by more than its rounding": ("in float32, short", "in float32"),
    "{}: shape {} against {}": ("fewer rows", "doubled row"),
    "{}: these shapes have nothing in common to compare": ("another rank", "fewer rows"),
    "{}: two halves stand where neighbours were expected": ("halves for neighbours", "neighbours for halves"),
    "{}: {} are swapped": ("halves swapped", "exchanged"),
    "{}: {}{} is {} against {}": ("one value", "equal"),
    "{}layout {} where {} was expected": ("layout", "halves for neighbours"),
}  # fmt: skip


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    """What compare prints of every case that a row names."""
    folder, named = tmp_path_factory.mktemp("sentences"), {case for row in ROWS.values() for case in row}
    several = {case: matrix(case) for case in named & {"several", "several alike"}}
    return several | {case: printed(case, folder) for case in named - {*several}}


SOURCES = "diagnosis/*.py", "comparison/*.py", "declare/changes.py", "cli/compare/view.py", "encodings/**/mistakes.py"


def test_every_sentence_has_a_row():
    found = sentences(*SOURCES) | sentences("encodings/**/*.py", inside=("Change", "instead"))
    assert found == {*ROWS}


@pytest.mark.parametrize("sentence", ROWS)
def test_a_sentence_is_printed_where_it_is_true_alone(sentence, texts):
    true, near = ROWS[sentence]
    assert said(sentence, texts[true]), texts[true]
    assert not said(sentence, texts[near]), texts[near]
