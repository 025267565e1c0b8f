"""Worked examples as text of at most 80 columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pecli.cli.terminal.items import LEFT, RIGHT, ScreenTable
from pecli.cli.terminal.layout import lines_of, wrapped
from pecli.cli.terminal.output import WIDE, clean

if TYPE_CHECKING:
    from pecli.spec.board import Equation, Matrix, SmallTable, Step
    from pecli.teach.examples import Example

INDENT = "  "


def text_of(example: Example, *, formula: bool = True, most: int | None = None, width: int = WIDE) -> str:
    """Return a worked example as text; with `most`, those of its first steps that so many lines hold."""
    lines = wrapped(f"{example.title}: {example.recipe}", width, "", INDENT)
    if formula:
        lines += ["", "Formula"]
        lines += [part for line in example.formula for part in wrapped(line, width, INDENT, INDENT * 2)]
    for number, step in enumerate(example.steps):
        block = ["", *_step(step, width)]
        if most is not None and len(lines) + len(block) > most:
            if number == 0:  # of a long one, what there is room for
                lines += [*block[: max(2, most - len(lines) - 1)], INDENT + ".."]
            break
        lines += block
    return clean("\n".join(lines))


def _step(step: Step, width: int) -> list[str]:
    from pecli.spec.board import SmallTable

    lines = wrapped(step.title, width, "", INDENT)
    for number, item in enumerate(step.items):
        if isinstance(item, str):
            lines += wrapped(item, width, INDENT, INDENT * 2)
        else:
            block = _grid(item, width) if isinstance(item, SmallTable) else _equation(item, width)
            lines += ["", *block] if number else block
    return lines


def _grid(grid: SmallTable, width: int) -> list[str]:
    """Return a table; where it counts something along its columns, those without room give way to an ellipsis."""
    from pecli.numbers.printing import DECIMALS, column
    from pecli.spec.board import NOISE

    digits = 6 if grid.decimals is None else None
    texts = [
        column(items, grid.decimals or DECIMALS, digits=digits, noise=NOISE) for items in zip(*grid.rows, strict=True)
    ]
    columns = [(heading, RIGHT if place else LEFT) for place, heading in enumerate(grid.columns)]
    counted = all(heading.replace(".", "").lstrip("-").isdigit() or heading == "…" for heading, _ in columns[1:])
    table = ScreenTable(columns, [list(row) for row in zip(*texts, strict=True)], elide=counted)
    return [INDENT + line for line in lines_of(table, width - len(INDENT))]


def _equation(equation: Equation, width: int) -> list[str]:
    """Return matrices beside each other, signs at the middle of their height; one below the other where too wide."""
    height = 1 + max((len(t.rows) for t in equation.terms if not isinstance(t, str)), default=1)
    blocks = [_sign(t, height) if isinstance(t, str) else _matrix(t, height) for t in equation.terms]
    lines = [(INDENT + "  ".join(parts)).rstrip() for parts in zip(*blocks, strict=True)]
    if max(map(len, lines)) <= width:
        return lines
    return [(INDENT + line).rstrip() for block in blocks for line in block if line.strip()]


def _sign(text: str, height: int) -> list[str]:
    return [text if row == (height + 1) // 2 else " " * len(text) for row in range(height)]


def _matrix(matrix: Matrix, height: int) -> list[str]:
    """Return the name and the rows of a matrix, padded to a height."""
    from pecli.spec.board import entry

    cells = [[entry(value) for value in row] for row in matrix.rows]
    wide = max(len(cell) for row in cells for cell in row)
    lines = [matrix.name, *("[ " + "  ".join(cell.rjust(wide) for cell in row) + " ]" for row in cells)]
    across = max(map(len, lines))
    return [line.ljust(across) for line in lines] + [" " * across] * (height - len(lines))
