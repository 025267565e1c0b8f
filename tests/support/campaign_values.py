"""Faults of the values of any table: one value, rows, columns, parts, signs, sizes, order, roundings.

The right values are a table's own; what is done to them is NumPy alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import numpy as np

from pecli import Table
from tests.support import unknown_tables as u

Arrays = dict[str, np.ndarray]
Rng = np.random.Generator
Fault = tuple[str, str, Arrays, Arrays, str, tuple[str, ...]]
"""What it is called, the recipe, the values at hand, the right ones, what must be said, and what may be beside."""

LENGTHS = (17, 33, 64, 100, 257, 300, 600, 1000, 1025, 1500, 2500, 8192)
STARTS = (0, 0, 0, 1, 17, 1000, 4096)
WAVES = (
    "sinusoidal:dim=64", "sinusoidal:dim=24,base=1771,order=sin-cos", "sinusoidal:dim=128,dtype=float64",
    "sinusoidal:dim=48,order=cos-sin,dtype=float16", "rope:dim=32", "rope:dim=64,base=500000,layout=half",
    "rope:dim=48,layout=interleaved,base=10007", "rope:dim=64,layout=concat", "rope:dim=32,layout=sin-cos",
    "rope:dim=32,layout=pairs", "rope:dim=24,layout=angles", "rope:dim=64,dtype=float16", "rope:dim=16,dtype=float64",
    "rope:dim=64,scaling=yarn,factor=4,original-max=4096", "retnet:dim=32,heads=4", "xpos:dim=32",
    "mrope:dim=32,sections=8+4+4", "complex:dim=16", "rope:dim=32,layout=complex",
)  # fmt: skip
GRIDS = (
    "sincos2d:dim=32,grid=9x12", "sincos2d:dim=16,grid=40x40,order=sin-cos", "detr:dim=24,grid=8x11",
    "rope2d:dim=32,grid=7x10", "rope-axes:axes=8+12+12,grid=2x5x6", "bands:bands=6,grid=80", "nerf:bands=5,grid=90",
    "learned:dim=24,max-len=70,len=70", "binary:dim=9,len=200", "fourier:dim=16,sigma=0.1,len=80",
)  # fmt: skip
BIASES = (
    "alibi:heads=8,len=17", "alibi:heads=12,len=9,mask=causal", "alibi:heads=6,len=33,form=distance",
    "kerple:heads=2,r1=1+0.5,r2=1+0.25,len=16", "gaussian:heads=3,sigma=1+4+9,len=17",
    "sandwich:heads=4,width=16,len=20", "t5:heads=4,buckets=8,max-distance=16,len=24,form=dense",
)  # fmt: skip


def right_of(recipe: str) -> Arrays:
    table = Table.parse(recipe)
    return {a.name: np.asarray(table[a.name]) for a in table.arrays}


def with_rows(recipe: str, rng: Rng, least: int) -> str:
    rows = max(least, int(rng.choice(LENGTHS, p=[0.09] * 11 + [0.01])))
    whole = recipe.startswith(("xpos", "retnet"))  # these depend on the whole table
    start = 0 if whole else int(rng.choice(STARTS))
    return f"{recipe},len={rows}" + (f",start={start}" if start else "")


def a_table(rng: Rng, least: int = 33, *, kinds: str = "wg") -> tuple[str, Arrays]:
    """Return a recipe and its values, of waves, grids or biases."""
    kind = str(rng.choice([*kinds], p=None if len(kinds) < 3 else [0.6, 0.2, 0.2]))
    some = {"w": WAVES, "g": GRIDS, "b": BIASES}[kind]
    found = some[int(rng.integers(len(some)))]
    recipe = with_rows(found, rng, least) if kind == "w" else found
    return recipe, right_of(recipe)


def every(right: Arrays, change: Callable[[np.ndarray], np.ndarray]) -> Arrays:
    return {name: np.ascontiguousarray(change(v.copy())).astype(v.dtype) for name, v in right.items()}


def rows_of(recipe: str, right: Arrays) -> list[str]:
    """The names of what has a row for every position."""
    names = [name for name in right if name not in ("decay", "B", "u", "v")]
    assert names, recipe
    return names


OF = r"( of \w+( and \w+)?)?"


# ---------------------------------------------------------------- values, rows and columns
def one_value(rng: Rng) -> Fault:
    recipe, right = a_table(rng, 17, kinds="wgb")
    name = str(rng.choice(sorted(k for k, v in right.items() if v.dtype.kind in "fc")))
    mine = every(right, lambda v: v)
    at = tuple(int(rng.integers(n)) for n in right[name].shape)
    old = right[name].real[at]
    value = [np.nan, np.inf, 7.5, 0.123, 0.0, -old, old * 1.001, np.nextafter(old, old.dtype.type(9))]
    mine[name].real[at] = value[int(rng.integers(len(value)))]
    if np.array_equal(mine[name].real[at], old):
        return one_value(rng)
    where = re.escape(", ".join(map(str, at)))
    return "one value", recipe, mine, right, rf"{name}: one value differs, at {name}\[{where}\]", ()


def some_rows(rng: Rng) -> Fault:
    recipe, right = a_table(rng, 64)
    name = str(rng.choice([k for k in right if len(right[k]) > 20]))
    mine, n = every(right, lambda v: v), len(right[name])
    low = int(rng.integers(2, n - 3))
    high = min(n - 1, low + int(rng.integers(1, n // 4)))
    some = mine[name][low:high]
    kind = int(rng.integers(4))
    some[...] = [np.nan, 9.0, rng.standard_normal(some.shape) + 3, some[::-1] + some.dtype.type(2)][kind]
    rows = f"rows {low} to {high - 1}" if high - low > 1 else f"row {low}"
    rows = f"rows {low} and up" if high == n else rows
    whole = [f": every value is {'NaN' if kind == 0 else 9}"] if kind < 2 else []
    said = [f"{name}: {rows} differ", f"{name}: one row differs, {low}", *(f"({name}, )?{rows}{one}" for one in whole)]
    return f"some rows {kind}", recipe, mine, right, "|".join(said), ()


def one_column(rng: Rng) -> Fault:
    recipe, right = a_table(rng)
    name = str(rng.choice([k for k in right if right[k].shape[-1] > 1]))
    mine, k = every(right, lambda v: v), int(rng.integers(right[name].shape[-1]))
    some, kind = mine[name].real, int(rng.integers(4))
    some[..., k] = [7, np.nan, some[..., k] + 2, some[..., k] * 3 + 1][kind]
    differ = np.argwhere(mine[name] != right[name])
    columns = {tuple(i[1:]) for i in differ}
    said = rf"{name}: column {k} differs" if len(columns) == 1 else rf"{name}: .*differ"
    return f"one column {kind}", recipe, mine, right, said, ()


def rows_from(rng: Rng) -> Fault:
    recipe, right = a_table(rng, 64, kinds="w")
    right = {name: right[name] for name in rows_of(recipe, right)}
    if len(right) != len(right_of(recipe)):
        return rows_from(rng)
    n = len(next(iter(right.values())))
    start, kind = int(rng.integers(3, n - 5)), int(rng.integers(4))
    change, said = [
        (lambda v: np.concatenate([v[:start], np.zeros_like(v[start:])]), f"rows {start} and up are zero"),
        (lambda v: np.concatenate([v[:start], v[start:] * np.nan]), f"rows {start} and up are NaN"),
        (lambda v: v[np.minimum(np.arange(n), start - 1)], f"rows {start} and up repeat row {start - 1}"),
        (lambda v: v[np.arange(n) % start], f"rows {start} and up repeat: row {start} is row 0 again"),
    ][kind]
    return f"rows from {kind}", recipe, every(right, change), right, said, ()


def moved_rows(rng: Rng) -> Fault:
    recipe, right = a_table(rng, 64, kinds="w")
    if {*rows_of(recipe, right)} != {*right}:
        return moved_rows(rng)
    n = len(next(iter(right.values())))
    k, kind = int(rng.integers(1, n - 2)), int(rng.integers(3))
    if kind == 0:
        mine = every(right, lambda v: np.concatenate([v[:k], v[k + 1 :]]))
        return "missing row", recipe, mine, right, f"row {k} is missing", (r"\w+: shape",)
    if kind == 1:
        mine = every(right, lambda v: np.concatenate([v[:k], v[k - 1 : -1]]))
        return "doubled row", recipe, mine, right, f"row {k - 1} is there twice", ()
    order = np.arange(n)
    j = int(rng.integers(n))
    if j == k:
        return moved_rows(rng)
    order[[j, k]] = k, j
    a, b = sorted((j, k))
    said = rf"rows {a} and {b} are exchanged|\w+: (2 of [\d,]+ rows|rows {a} to {b}) differ"
    return "two rows", recipe, every(right, lambda v: v[order]), right, said, ()


def column_order(rng: Rng) -> Fault:
    recipe, right = a_table(rng)
    names = rows_of(recipe, right)
    width = right[names[0]].shape[-1]
    if len({right[name].shape[-1] for name in names}) > 1 or right[names[0]].ndim > 2:
        return column_order(rng)
    if rng.random() < 0.5:
        a, b = sorted(int(k) for k in rng.choice(width, 2, replace=False))
        order = np.arange(width)
        order[[a, b]] = b, a
        said = rf"columns {a} and {b}{OF} are exchanged"
    else:
        order, said = rng.permutation(width), rf"permuted columns{OF}: \d+ holds \d+, "
    mine = {k: np.ascontiguousarray(v[..., order]) if k in names else v for k, v in right.items()}
    if all(np.array_equal(mine[k], right[k]) for k in right):
        return column_order(rng)
    same = any(len(np.unique(right[k], axis=1).T) < width for k in names)  # equal columns leave several orders
    return (
        "columns",
        recipe,
        mine,
        right,
        rf"permuted columns{OF}|columns \d+ and \d+{OF} are exchanged" if same else said,
        (),
    )


# ---------------------------------------------------------------- parts, sizes, signs
def parts_of(recipe: str, right: Arrays) -> Iterator[tuple[str, Callable[[np.ndarray], np.ndarray]]]:
    """Yield the array that holds the cosines, then the sines, and how to see them in it."""
    if "cos" in right:
        yield from ((name, lambda v: v) for name in ("cos", "sin"))
        return
    (name,) = right
    m = right[name].shape[-1] // 2
    if right[name].dtype.kind == "c":
        yield from ((name, lambda v: v.real), (name, lambda v: v.imag))
    elif "layout=pairs" in recipe:
        yield from ((name, lambda v: v[..., 0]), (name, lambda v: v[..., 1]))
    elif name == "sin_cos" or "order=sin-cos" in recipe:
        yield from ((name, lambda v: v[:, m:]), (name, lambda v: v[:, :m]))
    elif name == "cos_sin" or "order=cos-sin" in recipe:
        yield from ((name, lambda v: v[:, :m]), (name, lambda v: v[:, m:]))
    else:
        yield from ((name, lambda v: v[:, 1::2]), (name, lambda v: v[:, 0::2]))


def one_part(rng: Rng) -> Fault:
    recipe, right = a_table(rng, kinds="w")
    if "angles" in right or len(right) > 2:
        return one_part(rng)
    (cos, of_cos), (sin, of_sin) = parts_of(recipe, right)
    mine, kind = every(right, lambda v: v), int(rng.integers(6))
    c, s = of_cos(mine[cos]), of_sin(mine[sin])
    factor = float(rng.choice([2, 0.5, 10]))
    if kind < 2:
        said = ["cos", "sin"][1 - kind] + " holds the values of " + ["cos", "sin"][kind]
        (s if kind == 0 else c)[...] = c if kind == 0 else s
    elif kind < 4:
        said = f"{['cos', 'sin'][kind - 2]} is {factor:g} times what was expected"
        (c if kind == 2 else s)[...] *= factor
    else:
        said = f"the sign of {['cos', 'sin'][kind - 4]} is changed"
        (c if kind == 4 else s)[...] *= -1
    return f"one part {kind}", recipe, mine, right, said, ()


def whole(rng: Rng) -> Fault:
    recipe, right = a_table(rng, kinds="wgb")
    right = {k: v for k, v in right.items() if v.dtype.kind in "fc"}
    if len(right) != len(right_of(recipe)) or {*rows_of(recipe, right)} != {*right}:
        return whole(rng)
    first, kind = next(iter(right.values())), int(rng.integers(5))
    factor = float(rng.choice([2, 0.5, 50, 8, 100, 0.02]))
    size = int(first.real.itemsize)
    count = {2: "two", 4: "four", 8: "eight"}[size]
    times = rf"(every value is {factor:g} times what was expected|magnitude {factor:g} where 1 was expected"
    times += r"|magnitude [\d.]+ where 1\.1386)"
    change, said = [
        (lambda v: v * v.dtype.type(factor), times),
        (lambda v: v + v.dtype.type(0.5), "0.5 is added to every value"),
        (lambda v: v[::-1], "the (rows|heads) run backwards"),
        (lambda v: v.byteswap(), f"the {count} bytes of every value"),
        (lambda v: -v, r"the sign of (\w+ is|every value is) changed|cos and sin .*sign"),
    ][kind]
    mine = every(right, change)
    if kind == 2 and "nerf" in recipe:  # is symmetric
        return whole(rng)
    if (kind in (1, 3) and first.dtype.kind == "c") or all(np.array_equal(mine[k], v) for k, v in right.items()):
        return whole(rng)
    return f"whole {kind}", recipe, mine, right, said, ()


def rounded(rng: Rng) -> Fault:
    recipe, right = a_table(rng, kinds="wgb")
    if any(v.dtype != np.float32 for v in right.values()) or "binary" in recipe:
        return rounded(rng)
    kind, digits = int(rng.integers(5)), int(rng.integers(2, 5))
    change, said = [
        (u.bf16, "the expected values rounded to bfloat16"),
        (lambda v: v.astype(np.float16).astype(np.float32), "the expected values rounded to float16"),
        (lambda v: (v.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32),
         "the expected values cut, not rounded, to bfloat16"),
        (lambda v: u.bf16(v.astype(np.float16).astype(np.float32)),
         "the expected values rounded to float16, then to bfloat16"),
        (lambda v: np.array([float(f"{x:.{digits}f}") for x in v.flat]).reshape(v.shape),
         f"the expected values rounded to {digits} decimals"),
    ][kind]  # fmt: skip
    with np.errstate(over="ignore"):
        mine = every(right, change)
    if kind in (2, 3) and all(np.array_equal(mine[k], u.bf16(v)) for k, v in right.items()):
        return rounded(rng)
    if all(np.array_equal(mine[k], v) for k, v in right.items()):
        return rounded(rng)
    return f"rounded {kind}", recipe, mine, right, said + "$", ()


def transposed(rng: Rng) -> Fault:
    recipe, right = a_table(rng, kinds="wgb")
    if any(v.ndim < 2 or v.dtype.kind == "c" for v in right.values()) or "pairs" in recipe or len(right) > 2:
        return transposed(rng)
    if right.keys() & {"B", "index"} or "distance" in recipe or "learned" in recipe:
        return transposed(rng)
    mine = every(right, lambda v: np.swapaxes(v, -1, -2))
    if all(np.array_equal(mine[k], v) for k, v in right.items()):
        return transposed(rng)
    return "transposed", recipe, mine, right, "(rows and columns|queries and keys) are exchanged", (r"\w+: shape",)


VALUES = (
    one_value, some_rows, one_column, rows_from, moved_rows, column_order, one_part, whole, rounded, transposed,
)  # fmt: skip
