"""Waves on a board: frequencies, where rows of a grid lie, angles, and each value with its numbers put in."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

from pecli.declare.board import Item, SmallTable, Step, short, three
from pecli.declare.plan import Waves
from pecli.encodings.shared.lessons import COLUMNS, Pair
from pecli.numbers.positions import fraction_text as text_of

PAIRS = 4  # that fit a board
SEARCHED = 1 << 16  # rows of a grid that are looked at
SIDES = ("column", "row", "frame")


def pairs_of(plan: Waves, most: int | None = None) -> list[Pair]:
    """Return the first `most` frequencies of each axis, with the columns that they fill."""
    found: list[Pair] = []
    for band in plan.bands:
        sines = range(plan.width)[band.sin] if band.sin is not None else range(0)
        cosines = range(plan.width)[band.cos] if band.cos is not None else range(0)
        turn = 2 * math.pi if band.turns else 1.0
        for i, w in enumerate(band.frequencies[:most]):
            sin = sines[i] if i < len(sines) else None
            cos = cosines[i] if i < len(cosines) else None
            found.append(Pair(i, band.axis, float(w) * turn, sin, cos))
    return found


def coordinates(plan: Waves, at: Sequence[Fraction]) -> list[list[float]]:
    """Return the coordinates of each position, (positions, axes); the position itself where there are no axes."""
    if not plan.axes:
        return [[float(p)] for p in at]
    rows = np.array([int(p) - plan.prefix for p in at], np.int64)
    columns = [[float(axis.multiples[int(i)] * axis.unit) for i in axis.index(rows)] for axis in plan.axes]
    return [list(row) for row in zip(*columns, strict=True)]


def frequency_step(plan: Waves, pairs: Sequence[Pair], formula: Callable[[Pair], str] | None = None) -> Step:
    """Return frequencies and how far apart their turns are; by a formula, where one is given."""
    axes, names = len({band.axis for band in plan.bands}) > 1, axis_names(plan)
    unit = "unit" if plan.axes else "position"
    head = (["axis"] if axes else []) + ["pair", "w", "one turn in"]
    rows: list[list[str | float]] = []
    for pair in pairs:
        turn = short(2 * math.pi / abs(pair.frequency)) if pair.frequency else "never"
        rows.append([*([names[pair.axis]] if axes else []), pair.index, pair.frequency, turn])
    total = sum(len(band.frequencies) for band in plan.bands)
    more = [] if len(pairs) == total else [f"{len(pairs)} of {total} pairs are shown"]
    lines: list[Item] = [SmallTable(head, rows, None)]
    if formula is not None:
        where = (f"{names[p.axis]}, w_{p.index}" if axes else f"w_{p.index}" for p in pairs)
        lines += [f"{w}: {formula(p)} = {short(p.frequency)}" for w, p in zip(where, pairs, strict=True)]
    return Step(f"a frequency for each pair, in radians per {unit}", [*lines, *more])


def angle_table(plan: Waves, pairs: Sequence[Pair], at: Sequence[Fraction]) -> SmallTable:
    """Return position (or coordinate) times frequency."""
    where = coordinates(plan, at)
    axes = axis_names(plan)
    names = [f"w_{p.index}" + (f" {axes[p.axis]}" if len(plan.axes) > 1 else "") for p in pairs[:COLUMNS]]
    rows: list[list[str | float]] = [
        [text_of(p), *(c[q.axis] * q.frequency for q in pairs[:COLUMNS])] for p, c in zip(at, where, strict=True)
    ]
    return SmallTable(["position", *names], rows, None)


def places_step(plan: Waves, at: Sequence[Fraction], formula: Callable[[int, int], str] | None = None) -> Step:
    """Return where rows of a grid lie, and which coordinates these places have."""
    rows = np.array([int(p) - plan.prefix for p in at], np.int64)
    places = list(zip(*(axis.index(rows).tolist() for axis in plan.axes), strict=True))
    names = axis_names(plan)
    lines: list[Item] = []
    for p, place, found in zip(at, places, coordinates(plan, at), strict=True):
        lines.append(f"position {text_of(p)}: {', '.join(f'{n} {i}' for n, i in zip(names, place, strict=True))}")
        for axis, (index, value) in enumerate(zip(place, found, strict=True)):
            said = formula(axis, index) if formula is not None else ""
            if said or value != index:
                lines.append(f"{names[axis]} {index}: {said or 'the coordinate'} = {short(value)}")
    return Step("where each position lies, and its coordinates", list(dict.fromkeys(map(str, lines))))


def axis_names(plan: Waves) -> list[str]:
    """Return what each axis of a grid runs along: the one that changes from row to row along columns."""
    if len(plan.axes) < 2:
        return ["place"]
    if len(plan.axes) > len(SIDES):
        return [f"axis {axis}" for axis in range(len(plan.axes))]
    strides = _strides(plan)
    order = sorted(range(len(strides)), key=strides.__getitem__)
    return [SIDES[order.index(axis)] for axis in range(len(plan.axes))]


def _strides(plan: Waves) -> list[int]:
    """Return the first row of a grid at which each axis moves; the number of rows where it never does."""
    rows = np.arange(min((plan.rows or 1) - plan.prefix, SEARCHED), dtype=np.int64)
    found = []
    for axis in plan.axes:
        moved = np.flatnonzero(axis.index(rows) != axis.index(rows[:1]))
        found.append(int(moved[0]) if len(moved) else len(rows))
    return found


def far_apart(plan: Waves, most: int = PAIRS) -> list[int]:
    """Return rows whose coordinates differ in every axis: the first, one step along each, and the last."""
    count = (plan.rows or most + plan.prefix) - plan.prefix
    if len(plan.axes) < 2:
        return list(range(plan.prefix, plan.prefix + min(most, count)))
    strides = sorted(set(_strides(plan)) - {count})
    return sorted({plan.prefix + row for row in (0, *strides[: most - 2], sum(strides) % count, count - 1)})[: most + 1]


def wave_lines(
    pairs: Sequence[Pair], where: Sequence[float], position: str, row: Sequence[float | complex]
) -> list[Item]:
    """Return the values of one row, with the coordinate and the frequency of each put in."""
    lines: list[Item] = []
    for pair in pairs:
        product, angle = f"{short(where[pair.axis])} x {short(pair.frequency)}", where[pair.axis] * pair.frequency
        if pair.sin is not None and pair.sin == pair.cos:
            value = row[pair.cos]
            for name, part in (("cos", value.real), ("sin", value.imag)):
                of = "real part" if name == "cos" else "imaginary part"
                lines.append(f"PE({position}, {pair.cos}), {of}: {name}({product}) = {three(part)}")
            continue
        for name, column in (("sin", pair.sin), ("cos", pair.cos)):
            if column is not None:
                said = three(float(row[column].real))
                lines.append(f"PE({position}, {column}): {name}({product}) = {name}({short(angle)}) = {said}")
    return lines
