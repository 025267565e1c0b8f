"""Worked examples of plain numbers: positions, bits, trained rows, and the rows of anything else."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.encodings.recipe import Recipe
from pecli.lessons.lesson import Grid, Item, Step, count_text, few, short, table_at, text_of, three
from pecli.numbers.positions import Positions
from pecli.tables.table import Table

COLUMNS = 8  # that fit a board
TOKEN = (0.6, -0.2, 0.9, 0.4)  # stands for the embedding of a word


def rows(recipe: Recipe, positions: Positions | None, length: int | None) -> list[Step]:
    """Show the first rows of every array: for encodings without an example of their own."""
    table = _small(recipe, positions, length)
    found: list[Step] = []
    for array in table.arrays:
        if not array.axes or not array.bytes:
            continue
        shown = min(array.rows, COLUMNS)
        values = table.read_rows([array.name], 0, shown)[array.name].reshape(shown, -1)
        axis = array.axes[array.lead - 1]
        where = table.position(0, min(shown, table.part.count)) if axis == "position" else None
        names = [str(i) for i in (range(shown) if where is None or len(where) < shown else where.tolist())]
        across = array.axes[-1] if array.row_shape else "value"
        sides = " x ".join(map(str, array.shape))
        rows_word = f"a row for each {' and '.join(array.axes[: array.lead])}" if axis != "row" else "its rows"
        title = f"Step {len(found) + 1}: {array.name} ({sides}), {rows_word}"
        found.append(Step(title, [_grid(f"{axis} \\ {across}", names, values)]))
    return [*found, *_count(table, len(found) + 1)]


def _small(recipe: Recipe, positions: Positions | None, length: int | None) -> Table:
    """Return a small table of any encoding."""
    fixed = None if recipe.open_parameters else getattr(recipe.plan, "rows", None)
    if positions is not None:
        return table_at(recipe, list(positions), length)
    if fixed is not None:
        return Table.make(recipe, dtype="float64")
    return Table.make(recipe, length=min(length or 5, COLUMNS), dtype="float64")


def _grid(corner: str, names: Sequence[str], values: NDArray[Any]) -> Grid:
    shown = min(COLUMNS, values.shape[1])
    more = ["…"] if values.shape[1] > shown else []
    return Grid(
        [corner, *map(str, range(shown)), *more],
        [[n, *_cells(r[:shown]), *more] for n, r in zip(names, values, strict=True)],
    )


def _cells(values: NDArray[Any]) -> list[str | float]:
    if values.dtype.kind == "c":
        return [f"{three(v.real)}{'-' if v.imag < 0 else '+'}{three(abs(v.imag))}i" for v in values.tolist()]
    return list(values.tolist())


def _count(table: Table, number: int) -> list[Step]:
    """Return how many values are trained."""
    from pecli.inspection.facts import formula_value

    formula = table.source.encoding.facts.parameters
    count = formula_value(formula, table.source.values) if formula != "0" else 0
    return [Step(f"Step {number}: what is trained", [f"{formula} = {count:,} numbers"])] if count else []


def integer(recipe: Recipe, positions: Positions | None, length: int | None) -> list[Step]:
    """Work out p / (L - 1)."""
    recipe = recipe.resolve(length=length or 10, last=(length or 10) - 1, whole=True)
    values = recipe.values
    last = None if values["max_len"] is None else int(str(values["max_len"])) - 1
    ends = 9 if last is None else last
    at = few(positions, sorted({0, (ends + 1) // 2, ends}))
    table = table_at(recipe, at).read("pe")
    if last is None:
        lines = [f"PE({text_of(p)}) = {text_of(p)} in every column" for p in at]
    else:
        lines = [f"PE({text_of(p)}) = {text_of(p)} / ({last + 1} - 1) = {three(float(p) / last)}" for p in at]
    found = [Step("Step 1: the position over the last one", lines)]
    scales, dim = values["scales"], int(str(values["dim"]))
    if isinstance(scales, Decimal):
        lines = [
            f"column {i}: ({i}/{dim - 1})^{short(float(scales))} = {three((i / (dim - 1)) ** float(scales))}"
            for i in range(min(dim, COLUMNS))
        ]
        found.append(Step("Step 2: a scale for each column", lines))
    grid = _grid("position", [text_of(p) for p in at], table)
    return [*found, Step(f"Step {len(found) + 1}: one row for each position", [grid])]


def bits(recipe: Recipe, positions: Positions | None, length: int | None) -> list[Step]:
    """Work out the bits of positions, and how many of them change between neighbours."""
    values = recipe.values
    dim, gray, msb = int(str(values["dim"])), values["code"] == "gray", bool(values["msb"])
    largest = 2**dim - 1
    default = [p for p in ((3, 4) if gray else (13, 3, 4)) if p <= largest] or [0, 1]
    at = few(positions, default)
    table = table_at(recipe, at).read("pe").astype(int).tolist()
    lines = [line for p, row in zip(at, table, strict=True) for line in _written(int(p), dim, gray, row)]
    order = "most significant bit first" if msb else "least significant bit first: column i holds 2^i"
    title = "Step 1: the Gray code, p xor floor(p / 2)" if gray else "Step 1: the position as a sum of powers of two"
    found = [Step(title, [f"columns: {order}", *lines])]
    pairs = list(dict.fromkeys((int(p), int(p) + 1) for p in at if p < largest))
    if not pairs:
        return found
    grid = Grid(
        ["p", "p + 1", "binary", "", "bits changed", "Gray", "", "bits changed"], [_change(a, b, dim) for a, b in pairs]
    )
    return [
        *found,
        Step("Step 2: neighbours, and their Hamming distance", [grid, *_all_changes(recipe, largest, gray)]),
    ]


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


def _all_changes(recipe: Recipe, largest: int, gray: bool) -> list[Item]:
    """Return what the table's own neighbours differ in."""
    count = min(largest + 1, 256)
    values = table_at(recipe, [Fraction(p) for p in range(count)]).read("pe")
    changes = (np.diff(values, axis=0) != 0).sum(axis=1)
    word = "Gray" if gray else "binary"
    most = int(changes.max())
    if most == 1 and int(changes.min()) == 1:
        return [f"in this table ({word}) the neighbours among positions 0 to {count - 1} differ in exactly 1 bit"]
    most_text = count_text(most, "bit")
    return [f"in this table ({word}) the neighbours among positions 0 to {count - 1} differ in 1 to {most_text}"]


def learned(recipe: Recipe, positions: Positions | None, length: int | None) -> list[Step]:
    """Show rows of a trained table at its start, one added to a token, and how many values are trained."""
    recipe = recipe.resolve(length=length or 8, last=(length or 8) - 1, whole=True)
    values = recipe.values
    dim, offset = int(str(values["dim"])), int(str(values["rows_offset"]))
    count = int(str(values["max_len"])) + offset
    at = few(positions, range(min(3, count - offset)))
    table = table_at(recipe, at).read("pe")
    k = min(1, len(at) - 1)
    shown = min(dim, len(TOKEN))
    token, position = np.array(TOKEN[:shown]), table[k][:shown]
    more = ["…"] if dim > shown else []
    names = ("embedding of the token", f"position {text_of(at[k])}", "their sum, the input")
    sums: list[list[str | float]] = []
    for name, vector in zip(names, (token, position, token + position), strict=True):
        sums.append([name, *map(float, vector), *more])
    first = f" (position p has row p + {offset})" if offset else ""
    how = f"{values['init']}, seed {values['seed']}" if values["init"] != "zeros" else "zeros"
    return [
        Step(
            "Step 1: a trained vector for each position",
            [f"{count:,} rows{first} x {dim:,} columns = {count * dim:,} parameters"],
        ),
        Step(f"Step 2: its rows before training ({how})", [_grid("position", [text_of(p) for p in at], table)]),
        Step(
            "Step 3: added to a token",
            [
                Grid(["", *map(str, range(shown)), *more], sums),
                f"training moves all {count:,} rows; position {count - offset} has none, and cannot be asked for",
            ],
        ),
    ]
