"""A comparison on the screen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pecli.cli.output import clean
from pecli.cli.render import grid, show
from pecli.cli.screen import shapes_text

if TYPE_CHECKING:
    from pecli.analysis.comparison import ArrayComparison, Comparison, Place, Tolerance
    from pecli.tabular import Tabular

WORST = 3  # columns and stretches of rows that are named


def show_comparison(
    first: tuple[str, Tabular], second: tuple[str, Tabular], found: Comparison, tolerance: Tolerance
) -> None:
    """Print what two tables are, whether they are the same, and where and why they differ."""
    for text, table in (first, second):
        show(clean(f"{text}   {shapes_text(table.arrays)}"))
    show(clean(f"\n{_verdict(found, tolerance)}"))
    for finding in found.findings:
        show(clean(f"  {finding}"))
    if any(array.unequal or array.nan or array.infinite for array in found.arrays):
        show(_table(found))
        for array in found.arrays:
            for line in details(array):
                show(clean(f"  {line}"))


def _verdict(found: Comparison, tolerance: Tolerance) -> str:
    compared = sum(array.compared for array in found.arrays)
    beyond = sum(array.beyond for array in found.arrays)
    unequal = sum(array.unequal for array in found.arrays)
    if found.equal:
        if not unequal:
            return f"same: {compared:,} values are equal to the bit"
        return f"same within the tolerance ({_words(tolerance)}): {unequal:,} of {compared:,} values are not equal"
    if not beyond:
        return f"different: what both have is the same in {compared:,} values"
    share = f"{beyond:,} of {compared:,} values ({beyond / compared:.3g})"
    return f"different: {share} differ" + ("" if tolerance.exact else f" by more than {_words(tolerance)}")


def _words(tolerance: Tolerance) -> str:
    parts = {"atol": tolerance.atol, "rtol": tolerance.rtol, "ulp": tolerance.ulp}
    return ", ".join(f"{name} {value:g}" for name, value in parts.items() if value)


def _table(found: Comparison) -> object:
    columns = [("array", "left"), ("differ", "right"), ("max abs", "right"), ("mean abs", "right"), ("max ulp", "right"),
               ("cosine min", "right"), ("worst at", "left"), ("first at", "left")]  # fmt: skip
    rows = [
        (
            a.name, f"{a.unequal:,}", f"{a.max_abs:.4g}", f"{a.mean_abs:.3g}", "" if a.max_ulp is None else f"{a.max_ulp:,}",
            "" if a.cosine_min is None else f"{a.cosine_min:.9f}", _place(a.worst), _place(a.first),
        )
        for a in found.arrays
    ]  # fmt: skip
    return grid(columns, rows)


def _place(place: Place | None) -> str:
    return "" if place is None else f"[{', '.join(map(str, place.index))}]"


def details(found: ArrayComparison) -> list[str]:
    """Return lines on one array: values at the worst place, ulp histogram, worst columns and rows, NaN."""
    lines = []
    if found.worst is not None:
        lines.append(f"{found.name}{_place(found.worst)}: {found.worst.left!r} against {found.worst.right!r}")
    if found.unequal and found.histogram:
        counts = "  ".join(f"{name}: {count:,}" for name, count in found.histogram.items())
        lines.append(f"ulp of {found.ulp_dtype}: {counts}")
    if found.unequal and len(found.columns) > 1:
        order = sorted(range(len(found.columns)), key=lambda c: -found.columns[c])[:WORST]
        lines.append("worst columns: " + ", ".join(f"{c} ({found.columns[c]:.3g})" for c in order))
    if found.unequal and len(found.profile) > 1:
        top = sorted(found.profile, key=lambda item: -item[1])[:WORST]
        lines.append("worst rows: " + ", ".join(f"from {row} ({value:.3g})" for row, value in top))
    for name, counts in (("NaN", found.nan), ("infinity", found.infinite)):
        if counts:
            where = f", the first at row {counts['first_row'][0]}" if counts.get("first_row") else ""
            sides = f"{counts['left']} on the left alone, {counts['right']} on the right alone, {counts['both']} on both"
            lines.append(f"{name}: {sides}{where}")
    return lines


def show_matrix(names: Sequence[str], pairs: Mapping[tuple[int, int], Comparison]) -> None:
    """Print the largest differences of every pair of several sources."""
    for number, name in enumerate(names, 1):
        show(clean(f"{number}  {name}"))
    cells = {pair: _cell(found) for pair, found in pairs.items()}
    columns = [("max abs", "right"), *((str(j + 1), "right") for j in range(1, len(names)))]
    rows = [
        [str(i + 1), *(cells.get((i, j), "") for j in range(1, len(names)))] for i in range(len(names) - 1)
    ]
    show(grid(columns, rows))
    for (i, j), found in pairs.items():
        for finding in found.findings:
            show(clean(f"  {i + 1} and {j + 1}: {finding}"))


def _cell(found: Comparison) -> str:
    if not found.arrays:
        return "-"
    if found.equal and not any(array.unequal for array in found.arrays):
        return "equal"
    return f"{found.max_abs:.3g}" + ("" if found.equal else " *" if found.complete else " (part)")
