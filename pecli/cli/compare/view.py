"""A comparison on the screen."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pecli.cli.terminal.items import RIGHT, Item, ScreenTable, grid, shapes_text
from pecli.numbers.printing import figure

if TYPE_CHECKING:
    from pecli.comparison.figures import Figures, OddValues, Place
    from pecli.comparison.results import ArrayComparison, Comparison
    from pecli.spec.tabular import Tabular

JOINED = 8  # units beyond which bins are joined on the screen
WORST = 3  # columns and stretches of rows that are named


def comparison_view(first: tuple[str, Tabular], second: tuple[str, Tabular], found: Comparison) -> list[Item]:
    """Return what two tables are, whether they are the same, and where and why they differ."""
    items: list[Item] = [f"{text}   {shapes_text(table.arrays)}" for text, table in (first, second)]
    items += [f"\n{found.verdict}", *(f"  {finding.text}" for finding in found.findings)]
    total = found.total
    if total.unequal or total.nan.as_dict() or total.infinite.as_dict():
        items += [_table(found), *(f"  {line}" for array in found.arrays for line in details(array))]
    return items


def _table(found: Comparison) -> ScreenTable:
    columns = [("array", "left"), ("differ", RIGHT), ("max abs", 4), ("mean abs", 4), ("max ulp", RIGHT)]
    rows = [
        (
            a.name,
            f"{f.unequal:,}",
            f.largest if f.nan.alone else f.max_abs,
            f.mean_abs,
            f"{f.max_ulp:,}" if a.ulp_dtype else "",
        )
        for a, f in ((array, array.figures) for array in found.arrays)
    ]
    return grid(columns, rows)


def _cosine(value: float) -> str:
    """Return a cosine; near 1 what it lacks says more."""
    return f"{value:.6f}" if value < 0.9999 else "1" if value == 1.0 else f"1 - {figure(1 - value, 2)}"


def _place(place: Place | None) -> str:
    return "" if place is None else f"[{', '.join(map(str, place.index))}]"


def details(found: ArrayComparison) -> list[str]:
    """Return lines on one array: the worst and the first place, distances in ulp, worst columns and rows, NaN."""
    lines, figures = [], found.figures
    for word, place in (("worst", figures.worst), ("first", figures.first)):
        if place is not None:
            lines.append(f"{word}: {found.name}{_place(place)} is {place.left!r} against {place.right!r}")
    if figures.unequal and found.units:
        lines.append(f"ulp of {found.ulp_dtype}: {_histogram(found.units)}")
    if figures.unequal and figures.cosine_mean is not None:
        lines.append(f"cosine of rows: smallest {_cosine(figures.cosine_min)}, mean {_cosine(figures.cosine_mean)}")
    if figures.unequal and len(found.columns) > 1:
        columns = [max(found.columns[at : at + found.parts]) for at in range(0, len(found.columns), found.parts)]
        order = sorted(range(len(columns)), key=lambda c: -columns[c])[:WORST]
        lines.append("worst columns: " + ", ".join(f"{c} ({_gap(columns[c], figures)})" for c in order if columns[c]))
    if figures.unequal and len(found.profile) > 1:
        top = sorted(found.profile, key=lambda item: -item[1])[:WORST]
        shown = (f"from {_row(found.place(row))} ({_gap(value, figures)})" for row, value in top if value)
        lines.append("worst rows: " + ", ".join(shown))
    for word, counts in (("NaN", figures.nan), ("infinity", figures.infinite)):
        if counts.as_dict():
            lines.append(f"{word}: {_sides(counts)}")
    return lines


def _gap(value: float, figures: Figures) -> str:
    """Return a difference; a number has none from NaN."""
    return "NaN" if figures.nan.alone and math.isinf(value) else figure(value, 3)


def _row(place: Sequence[int]) -> str:
    """Return a row's number; of a row of several axes, such as head and query, those of all."""
    return str(place[0]) if len(place) == 1 else f"[{', '.join(map(str, place))}]"


def _sides(counts: OddValues) -> str:
    where = f", the first at row {_row(counts.first_row)}" if counts.first_row else ""
    return f"{counts.left} on the left alone, {counts.right} on the right alone, {counts.both} on both{where}"


def _histogram(counts: Mapping[str, int]) -> str:
    """Return how many values are so many units apart; beyond eight units the bins grow by sixteen."""
    joined: dict[str, int] = {}
    for name, count in counts.items():
        high = name.partition("..")[2]
        if not high or int(high) <= JOINED:
            joined[name] = count
            continue
        edge = 1 << (-(-(int(high).bit_length() - 1) // 4) * 4)
        label = f"up to {edge:,}"
        joined[label] = joined.get(label, 0) + count
    return "  ".join(f"{name}: {count:,}" for name, count in joined.items())


def matrix_view(names: Sequence[str], pairs: Mapping[tuple[int, int], Comparison]) -> list[Item]:
    """Return the largest differences of every pair of several sources, of which the second is what was expected."""
    cells = {(min(pair), max(pair)): _cell(found) for pair, found in pairs.items()}
    columns = [("max abs", "right"), *((str(j + 1), "right") for j in range(1, len(names)))]
    rows = [[str(i + 1), *(cells.get((i, j), "") for j in range(1, len(names)))] for i in range(len(names) - 1)]
    findings = [(i, j, finding.text) for (i, j), found in pairs.items() for finding in found.findings]
    marks = {"*": "  * differs", "(part)": "  (part): of what both have"}
    return [
        *(f"{number}  {name}" for number, name in enumerate(names, 1)),
        grid(columns, rows),
        *(text for mark, text in marks.items() if any(cell.endswith(mark) for cell in cells.values())),
        *(f"  {i + 1} against {j + 1}: {text}" for i, j, text in findings),
    ]


def _cell(found: Comparison) -> str:
    if not found.arrays:
        return "-"
    if found.equal and not found.total.unequal:
        return "equal"
    return figure(found.total.max_abs, 3) + ("" if found.equal else " *" if found.complete else " (part)")
