"""Bits of positions on the board, and how many of them change between neighbours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np

from pecli.declare.board import Item, SmallTable, Step, count_text
from pecli.encodings.shared.lessons import Exercise


def steps(exercise: Exercise) -> Iterator[Step]:
    """Work out the bits of positions, and how many of them change between neighbours."""
    values = exercise.recipe.values
    dim, gray, msb = int(str(values["dim"])), values["code"] == "gray", bool(values["msb"])
    largest = 2**dim - 1
    default = [p for p in ((3, 4) if gray else (13, 3, 4)) if p <= largest] or [0, 1]
    at = exercise.at(default)
    table = exercise.arrays(at)["pe"].astype(int).tolist()
    lines = [line for p, row in zip(at, table, strict=True) for line in _written(int(p), dim, gray, row)]
    order = "most significant bit first" if msb else "least significant bit first: column i holds 2^i"
    title = "the Gray code, p xor floor(p / 2)" if gray else "the position as a sum of powers of two"
    yield Step(title, [f"columns: {order}", *lines])
    pairs = list(dict.fromkeys((int(p), int(p) + 1) for p in at if p < largest))
    if not pairs:
        return
    grid = SmallTable(
        ["p", "p + 1", "binary", "", "bits changed", "Gray", "", "bits changed"], [_change(a, b, dim) for a, b in pairs]
    )
    yield Step("neighbours, and their Hamming distance", [grid, *_all_changes(exercise, largest, gray)])


def _written(p: int, dim: int, gray: bool, stored: Sequence[int]) -> list[str]:
    number = p ^ (p >> 1) if gray else p
    powers = " + ".join(str(1 << i) for i in range(number.bit_length() - 1, -1, -1) if number >> i & 1) or "0"
    code = f"{p} xor {p >> 1} = {number} = " if gray else ""
    shown = " ".join(map(str, stored))
    return [f"{p} = {code}{powers} = {number:0{min(dim, 16)}b} in binary: PE({p}) = {shown}"]


def _change(a: int, b: int, dim: int) -> list[str | float]:
    """Return two neighbours in both codes, and how many bits differ."""
    codes = [n ^ (n >> 1) for n in (a, b)]
    width = min(dim, max(4, b.bit_length()))
    row: list[str | float] = [a, b, f"{a:0{width}b}", f"{b:0{width}b}", (a ^ b).bit_count()]
    return [*row, f"{codes[0]:0{width}b}", f"{codes[1]:0{width}b}", (codes[0] ^ codes[1]).bit_count()]


def _all_changes(exercise: Exercise, largest: int, gray: bool) -> list[Item]:
    """Return what the table's own neighbours differ in."""
    count = min(largest + 1, 256)
    values = exercise.arrays([Fraction(p) for p in range(count)])["pe"]
    changes = (np.diff(values, axis=0) != 0).sum(axis=1)
    word = "Gray" if gray else "binary"
    most = int(changes.max())
    if most == 1 and int(changes.min()) == 1:
        return [f"in this table ({word}) the neighbours among positions 0 to {count - 1} differ in exactly 1 bit"]
    most_text = count_text(most, "bit")
    return [f"in this table ({word}) the neighbours among positions 0 to {count - 1} differ in 1 to {most_text}"]
