"""What was done to queries and keys instead of turning them as expected, or to weights of the other pairing.

A fault is said only after it was done to the whole input and gave the values at hand, every one of them.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from pecli.application.pairing import PAIRINGS, members
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


def rotation_faults(mine: Tabular, golden: Tabular, found: Comparison) -> list[Finding]:
    """Return what was done to each rotated array that differs from a golden file's, by the inputs that it holds."""
    facts = golden.metadata
    said: list[Finding] = []
    different = [array.name for array in found.arrays if array.figures.beyond]
    for name in facts.get("rotated", "").split():
        given = name.removesuffix("_rotated")
        if name not in different or given == name or given not in golden or mine.array(name).dtype not in ULPS:
            continue
        if golden.array(name).bytes > MOST or mine.array(name).shape != golden.array(name).shape:
            continue
        here, x = (widen(t.read(n), t.array(n).dtype) for t, n in ((mine, name), (golden, given)))
        fault = _fault(here, x, golden, mine.array(name).dtype)
        if fault is not None:
            said.append(Finding("rotation", f"{name}: {fault}"))
    return said


ULPS = ("float16", "bfloat16", "float32", "float64")


def _fault(here: Floats, x: Floats, golden: Tabular, dtype: str) -> str | None:
    facts = golden.metadata
    width, pairs = int(facts["rotary-dim"]), facts["pairs"].rpartition(":")[2]
    positions = golden.read("positions").astype(np.int64)
    with np.errstate(all="ignore"):
        for text, values in _candidates(x, facts["applied"], positions, width, pairs):
            norms = np.maximum(pair_norms(values, width, False), pair_norms(values, width, True))
            if (np.abs(here - values) <= UNITS * last_place(norms, dtype)).all():
                return text
    return None


def _candidates(x: Floats, recipe: str, positions: Integers, width: int, pairs: str) -> Iterator[tuple[str, Floats]]:
    """Yield what people get, in words, and its values."""
    other = next(word for word in PAIRINGS if word != pairs)
    c, s = _points(recipe, positions)
    size = float(np.sqrt(c.flat[0] ** 2 + s.flat[0] ** 2))
    yield f"pairs swapped: turned as {other}, and {pairs} was expected", turned(x, c, s, other)
    yield "the angle has the other sign", turned(x, c, -s, pairs)
    yield "it was not turned at all", x
    for by in (1, -1):
        if positions.min() + by >= 0:
            there = _points(recipe, positions + by)
            yield f"positions are off by one: row p has position p {'+' if by > 0 else '-'} 1", turned(x, *there, pairs)
    yield "it was turned twice", turned(turned(x, c, s, pairs), c, s, pairs)
    if positions.min() > 0:
        first = positions - positions[..., :1]
        yield "positions begin at 0, as those of a first step", turned(x, *_points(recipe, first), pairs)
    yield "every row has position 0, as at each step of a decoder", turned(x, *_points(recipe, positions * 0), pairs)
    if abs(size - 1) > 1e-6:
        yield f"the magnitude {figure(size)} is missing", turned(x, c / size, s / size, pairs)
        yield f"the magnitude {figure(size)} is squared", turned(x, c * size, s * size, pairs)
    name, keys = split_recipe(recipe)
    for rotary in sorted({x.shape[-1], x.shape[-1] // 2, x.shape[-1] // 4} - {width}):
        try:
            there = _points(f"{name}:dim={rotary},base={keys.get('base', '10000')}", positions)
        except PecliError:
            continue
        yield f"{rotary} columns were turned, and {width} were expected", turned(x, *there, pairs)


def _points(recipe: str, positions: Integers) -> tuple[Floats, Floats]:
    """Return cos and sin of positions (n,) or (b, n), with an axis for heads after the batch."""
    name, keys = split_recipe(recipe)
    take_table_keys(name, keys)
    distinct, rows = np.unique(positions, return_inverse=True)
    where = Positions.listed(distinct.tolist())
    table = Table.make(Recipe.bind(name, **keys), positions=where, dtype="float64", layout="split")
    rows = rows.reshape(positions.shape)
    cos, sin = (table.read(part)[rows] for part in ("cos", "sin"))
    return (cos[:, None], sin[:, None]) if positions.ndim == 2 else (cos, sin)


def turned(x: Floats, c: Floats, s: Floats, pairs: str) -> Floats:
    """Return vectors (.., n, d) turned by c and s (.., n, pairs)."""
    out, width = x.copy(), 2 * c.shape[-1]
    a, b = members(x, width, pairs)
    first, second = members(out, width, pairs)
    first[...], second[...] = a * c - b * s, a * s + b * c
    return out


def weight_faults(mine: Tabular, expected: Tabular, heads: int, rotary_dim: int | None = None) -> list[Finding]:
    """Return whether the rows of one matrix are those of another in the order of the other pairing."""
    for taken, given in (PAIRINGS, PAIRINGS[::-1]):
        moved = PermutedRows(expected, HeadRows(taken, given, heads, heads, rotary_dim))
        if compare_tables(mine, moved).equal:
            return [Finding("pairs", f"rows permuted: {given} against {taken}, every value equal once they are moved")]
    return []
