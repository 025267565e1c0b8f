"""What was done to queries and keys instead of turning them as expected, or to weights of the other pairing.

A fault is said only after it was done to the whole input and gave the values at hand, every one of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product

import numpy as np
from numpy.typing import NDArray

from pecli.application.pairing import PAIRINGS, HeadPairs, members
from pecli.application.products import Floats
from pecli.application.weights import HeadRows, PermutedRows
from pecli.comparison.compare import compare_tables
from pecli.comparison.results import Comparison, Finding
from pecli.declare.tabular import Tabular
from pecli.encodings.recipe import Recipe, split_recipe
from pecli.errors import PecliError
from pecli.measures.ulps import last_place, pair_norms
from pecli.numbers.positions import Positions
from pecli.numbers.printing import figure
from pecli.numbers.rounding import widen
from pecli.tables.request import take_table_keys
from pecli.tables.table import Table

MOST = 1 << 25
"""Values of an array that is turned anew in memory."""

UNITS = 64
"""Units in the last place of a pair's norm within which a fault explains a value: some steps of a framework's
arithmetic, each rounded, and angles of a few hundred radians in float32."""

Integers = NDArray[np.int64]


def explained(found: Comparison, a: Tabular, b: Tabular, heads: int | None = None) -> Comparison:
    """Let what was applied explain a difference first: a golden file says it, and heads make weights of a matrix."""
    usual = found.explain
    mine, golden = (b, a) if "rotated" in a.metadata and "rotated" not in b.metadata else (a, b)
    if heads is None and "rotated" not in golden.metadata:
        return found

    def explain(comparison: Comparison) -> list[Finding]:
        said = rotation_faults(mine, golden, comparison) if heads is None else weight_faults(a, b, heads)
        return said or (usual(comparison) if usual is not None else [])

    found.explain = explain
    return found


def rotation_faults(mine: Tabular, golden: Tabular, found: Comparison) -> list[Finding]:
    """Return what was done to each rotated array that differs from a golden file's, by the inputs that it holds."""
    facts = golden.metadata
    said: list[Finding] = []
    same = [array.name for array in found.arrays if not array.figures.beyond]
    for name in facts.get("rotated", "").split():
        given = name.removesuffix("_rotated")
        if name not in mine or given == name or given not in golden:
            continue
        alike = mine.array(name).shape == golden.array(name).shape
        if mine.array(name).dtype not in ULPS or (alike and name in same):
            continue
        if max(table.array(name).bytes for table in (mine, golden)) > MOST:
            continue
        here, x = (widen(t.read(n), t.array(n).dtype) for t, n in ((mine, name), (golden, given)))
        if alike:
            fault = _fault(here, x, golden, mine.array(name).dtype)
        else:
            truth = widen(golden.read(name), golden.array(name).dtype)
            fault = _repeated(here, truth, int(facts["rotary-dim"]), mine.array(name).dtype)
        if fault is not None:
            said.append(Finding("rotation", f"{name}: {fault}"))
    return said


ULPS = ("float16", "bfloat16", "float32", "float64")


def _fault(here: Floats, x: Floats, golden: Tabular, dtype: str) -> str | None:
    facts = golden.metadata
    width, pairs = int(facts["rotary-dim"]), HeadPairs.parse(facts["pairs"])
    positions = golden.read("positions").astype(np.int64)
    heads = max(golden.array(n.removesuffix("_rotated")).shape[1] for n in facts["rotated"].split())
    with np.errstate(all="ignore"):
        for text, values in _candidates(x, facts["applied"], positions, pairs, heads):
            if _near(here, values, width, dtype):
                return text
    return None


def _near(here: Floats, values: Floats, width: int, dtype: str) -> bool:
    """Tell whether all values are those that a fault gives."""
    norms = np.maximum(pair_norms(values, width, False), pair_norms(values, width, True))
    return bool((np.abs(here - values) <= UNITS * last_place(norms, dtype)).all())


def _repeated(here: Floats, truth: Floats, width: int, dtype: str) -> str | None:
    """Return whether keys (b, heads, n, d) stand once for each head of the queries."""
    if here.ndim != 4 or truth.ndim != 4 or here.shape[1] % truth.shape[1]:
        return None
    times = here.shape[1] // truth.shape[1]
    heads = f"{here.shape[1]} heads where {truth.shape[1]} were expected, the queries'"
    each, all_in_turn = np.repeat(truth, times, axis=1), np.tile(truth, (1, times, 1, 1))
    if each.shape == here.shape and _near(here, each, width, dtype):
        return f"{heads}: each stands {times} times"
    if each.shape == here.shape and _near(here, all_in_turn, width, dtype):
        return f"{heads}, and in the order of none of their groups"
    return None


def _candidates(
    x: Floats, recipe: str, positions: Integers, pairs: HeadPairs, heads: int
) -> Iterator[tuple[str, Floats]]:
    """Yield what people get, in words, and its values."""
    name, keys = split_recipe(recipe)
    c, s = _points(name, keys, positions)
    width, size = 2 * c.shape[-1], float(np.sqrt(c.flat[0] ** 2 + s.flat[0] ** 2))

    def at(where: Integers) -> Floats:
        return turned(x, *_points(name, keys, where), pairs)

    for other in (HeadPairs(*ways) for ways in product(PAIRINGS, repeat=2)):
        if other != pairs:
            yield f"pairs swapped: turned as {other}, and {pairs} was expected", turned(x, c, s, other)
    yield "the angle has the other sign", turned(x, c, -s, pairs)
    yield "it was not turned at all", x
    for by in (1, -1):
        if positions.min() + by >= 0:
            yield f"positions are off by one: row p has position p {'+' if by > 0 else '-'} 1", at(positions + by)
    yield "it was turned twice", turned(turned(x, c, s, pairs), c, s, pairs)
    if positions.min() > 0:
        yield "positions begin at 0, as those of a first step", at(positions - positions[..., :1])
    yield "every row has position 0, as at each step of a decoder", at(positions * 0)
    if x.ndim == 4 and heads != x.shape[1]:
        counted = at(_counted(positions, x.shape, heads))
        yield f"positions count {heads} heads, the queries', where it has {x.shape[1]}", counted
    if abs(size - 1) > 1e-6:
        yield f"the magnitude {figure(size)} is missing", turned(x, c / size, s / size, pairs)
        yield f"the magnitude {figure(size)} is squared", turned(x, c * size, s * size, pairs)
    for rotary in sorted({x.shape[-1], x.shape[-1] // 2, x.shape[-1] // 4} - {width}):
        try:
            there = _points(name, {**keys, "dim": str(rotary), "rotary-dim": str(rotary)}, positions)
        except PecliError:
            continue
        yield f"{rotary} columns were turned, and {width} were expected", turned(x, *there, pairs)


def _counted(positions: Integers, shape: tuple[int, ...], heads: int) -> Integers:
    """Return the positions (b, h, n) of vectors that lie as (b, n, h) in memory, counted as if they had more heads."""
    batches, own, length = shape[:3]
    number = np.arange(batches * length * own).reshape(batches, length, own).transpose(0, 2, 1)
    batch, place = np.divmod(number // heads, length)
    return positions[place] if positions.ndim == 1 else positions[batch, place]


def _points(name: str, given: Mapping[str, str], positions: Integers) -> tuple[Floats, Floats]:
    """Return cos and sin of positions (n,), (b, n) or (b, h, n), with an axis for heads after the batch."""
    keys = dict(given)
    take_table_keys(name, keys)
    distinct, rows = np.unique(positions, return_inverse=True)
    where = Positions.listed(distinct.tolist())
    table = Table.make(Recipe.bind(name, **keys), positions=where, dtype="float64", layout="split")
    rows = rows.reshape(positions.shape)
    cos, sin = (table.read(part)[rows] for part in ("cos", "sin"))
    return (cos[:, None], sin[:, None]) if positions.ndim == 2 else (cos, sin)


def turned(x: Floats, c: Floats, s: Floats, pairs: HeadPairs) -> Floats:
    """Return vectors (.., n, d) turned by c and s (.., n, pairs)."""
    out, width = x.copy(), 2 * c.shape[-1]
    a, b = members(x, width, pairs.taken)
    first, second = members(out, width, pairs.given)
    first[...], second[...] = a * c - b * s, a * s + b * c
    return out


def weight_faults(mine: Tabular, expected: Tabular, heads: int, rotary_dim: int | None = None) -> list[Finding]:
    """Return whether the rows of one matrix are those of another in the order of the other pairing."""
    for taken, given in (PAIRINGS, PAIRINGS[::-1]):
        moved = PermutedRows(expected, HeadRows(taken, given, heads, heads, rotary_dim))
        if compare_tables(mine, moved).equal:
            return [Finding("pairs", f"rows permuted: {given} against {taken}, every value equal once they are moved")]
    return []
