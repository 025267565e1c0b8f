"""Worked examples as text of at most 80 columns."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from pecli.cli.terminal.output import clean

if TYPE_CHECKING:
    from pecli.declare.board import Equation, Matrix, SmallTable
    from pecli.lessons.lesson import Example

WIDTH = 80
INDENT = "  "


def text_of(example: Example, *, formula: bool = True, most: int | None = None) -> str:
    """Return a worked example as text; with `most`, its first steps that have about so many lines."""
    lines = _wrapped(f"{example.title}: {example.recipe}", "")
    if formula:
        lines += ["", "Formula", *(part for line in example.formula for part in _wrapped(line, INDENT))]
    for step in example.steps:
        if most is not None and len(lines) > most:
            break
        lines += ["", *_wrapped(step.title, "")]
        after_lines = False
        for item in step.items:
            if isinstance(item, str):
                lines += _wrapped(item, INDENT)
            else:
                from pecli.declare.board import SmallTable

                block = _grid(item) if isinstance(item, SmallTable) else _equation(item)
                lines += ["", *block] if after_lines else block
            after_lines = True
    return clean("\n".join(lines))


def _wrapped(text: str, lead: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=lead, subsequent_indent=lead + INDENT, break_on_hyphens=False) or [
        lead
    ]


def _cell(value: str | float, rounded: bool) -> str:
    from pecli.declare.board import short, three

    if isinstance(value, str):
        return value
    if isinstance(value, int):
        return str(value)
    return three(value) if rounded else short(value)


def _grid(grid: SmallTable) -> list[str]:
    """Return a table; columns that the width has no room for give way to an ellipsis."""
    rows = [list(grid.columns), *([_cell(value, grid.rounded) for value in row] for row in grid.rows)]
    columns = [list(column) for column in zip(*rows, strict=True)]
    cut = False
    while len(columns) > 2 and len(INDENT) + sum(2 + max(map(len, c)) for c in columns) - 2 > WIDTH:
        del columns[-2 if cut else -1]
        if not cut:
            columns.append(["…"] * len(rows))
        cut = True
    widths = [max(map(len, column)) for column in columns]
    lines = []
    for number, row in enumerate(zip(*columns, strict=True)):
        cells = [row[0].ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(row[1:], widths[1:], strict=True))]
        lines.append((INDENT + "  ".join(cells)).rstrip())
        if number == 0:
            lines.append(INDENT + "  ".join("-" * w for w in widths))
    return lines


def _equation(equation: Equation) -> list[str]:
    """Return matrices beside each other, signs at the middle of their height; one below the other where too wide."""
    height = 1 + max((len(t.rows) for t in equation.terms if not isinstance(t, str)), default=1)
    blocks = [_sign(t, height) if isinstance(t, str) else _matrix(t, height) for t in equation.terms]
    lines = [(INDENT + "  ".join(parts)).rstrip() for parts in zip(*blocks, strict=True)]
    if max(map(len, lines)) <= WIDTH:
        return lines
    return [(INDENT + line).rstrip() for block in blocks for line in block if line.strip()]


def _sign(text: str, height: int) -> list[str]:
    return [text if row == (height + 1) // 2 else " " * len(text) for row in range(height)]


def _matrix(matrix: Matrix, height: int) -> list[str]:
    """Return the name and the rows of a matrix, padded to a height."""
    cells = [[f"{value + 0.0:.3f}".replace("-0.000", "0.000") for value in row] for row in matrix.rows]
    wide = max(len(cell) for row in cells for cell in row)
    lines = [matrix.name, *("[ " + "  ".join(cell.rjust(wide) for cell in row) + " ]" for row in cells)]
    across = max(map(len, lines))
    return [line.ljust(across) for line in lines] + [" " * across] * (height - len(lines))
