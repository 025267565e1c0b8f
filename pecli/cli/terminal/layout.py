"""Lines, facts and tables as text of a width: nothing is cut; what has no room is left out with a sign, or stacked."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from itertools import zip_longest

from pecli.cli.terminal.items import RIGHT, Fact, Item, ScreenTable
from pecli.cli.terminal.output import WIDE, clean

GAP = "  "
NARROW = 60  # columns from which the lines of a fact stand below its first word


def lines_of(item: Item, width: int | None, *, bold: bool = False) -> list[str]:
    """Return an item as lines; a width of None is that of no screen, where prose is left as it is."""
    if isinstance(item, ScreenTable):
        return _table(item, width or WIDE, bold)
    if isinstance(item, Fact):
        hang = item.width if width is None or width >= NARROW else 2
        first, *rest = item.text.splitlines() or [""]
        lead = f"{item.name:<{item.width if item.name else hang}}"
        found = wrapped(first, width, lead, " " * hang)
        return [*found, *(part for line in rest for part in wrapped(line, width, " " * hang, " " * (hang + 2)))]
    found = []
    for line in item.split("\n"):
        lead = line[: len(line) - len(line.lstrip())]
        found += wrapped(line[len(lead) :], width, lead, lead + GAP)
    return found


def wrapped(text: str, width: int | None, lead: str = "", hang: str = "") -> list[str]:
    """Return text as lines that begin with `lead` and then `hang`; no word is broken, runs of blanks stay."""
    line = clean(lead + text)
    if width is None or len(line) <= width:
        return [line.rstrip()]
    return textwrap.wrap(
        clean(text), width, initial_indent=clean(lead), subsequent_indent=hang, break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip


def _table(table: ScreenTable, width: int, bold: bool) -> list[str]:
    """Return a table; where it is too wide, columns in the middle give way, words wrap, or each row is a block."""
    sides = [side for _, side in table.columns]
    rows = [[clean(cell) for cell in row] for row in ([heading for heading, _ in table.columns], *table.rows)]
    title = ["", *wrapped(table.title, width)] if table.title else []
    if table.elide:
        kept = _fitting(rows, width)
        sides = [RIGHT if place is None else sides[place] for place in kept]
        rows = [["…" if place is None else row[place] for place in kept] for row in rows]
    widths = _widths(rows, sides, width)
    if widths is None:
        return [*title, *_stacked(rows, width)]
    head, *body = [_row(row, widths, sides) for row in rows]
    rule = GAP.join("-" * width for width in widths)
    marked = [f"\x1b[1m{line}\x1b[0m" if line else line for line in head] if bold else head
    return [*title, *marked, rule, *(line for lines in body for line in lines)]


def _widths(rows: Sequence[Sequence[str]], sides: Sequence[str], width: int) -> list[int] | None:
    """Return the widths of columns; words wrap where there is too little room, None where even so there is none."""
    columns = list(zip(*rows, strict=True))
    full = [max(map(len, column)) for column in columns]
    least = [
        most if side == RIGHT else max(len(word) for cell in column for word in cell.split() or [""])
        for column, side, most in zip(columns, sides, full, strict=True)
    ]
    room = width - len(GAP) * (len(columns) - 1)
    if sum(full) <= room:
        return full
    if sum(least) > room:
        return None
    level = max(full)  # of the widest columns, the only ones whose words wrap
    while sum(widths := [max(low, min(high, level)) for low, high in zip(least, full, strict=True)]) > room:
        level -= 1
    return widths


def _row(row: Sequence[str], widths: Sequence[int], sides: Sequence[str]) -> list[str]:
    """Return the lines of a row."""
    cells = [wrapped(cell, width) for cell, width in zip(row, widths, strict=True)]
    return [
        GAP.join(
            part.rjust(width) if side == RIGHT else part.ljust(width)
            for part, width, side in zip(parts, widths, sides, strict=True)
        ).rstrip()
        for parts in zip_longest(*cells, fillvalue="")
    ]


def _stacked(rows: Sequence[Sequence[str]], width: int) -> list[str]:
    """Return a block for each row: its first cell, then every other one beside its heading."""
    (name, *headings), *body = rows
    wide = max(map(len, headings), default=0)
    found: list[str] = []
    for first, *cells in body:
        found += wrapped(f"{name} {first}".strip(), width) if first else []
        for heading, cell in zip(headings, cells, strict=True):
            if cell and cell != "…":
                found += wrapped(cell, width, f"{GAP}{heading:<{wide}}{GAP}", GAP * 2)
    return found


def _fitting(rows: Sequence[Sequence[str]], width: int) -> list[int | None]:
    """Return the columns that fit beside the first: all, or the head and the tail with None for those between."""
    first, *widths = (max(map(len, column)) + len(GAP) for column in zip(*rows, strict=True))
    room = width + len(GAP) - first
    if sum(widths) <= room:
        return list(range(1 + len(widths)))
    room -= 1 + len(GAP)
    head, tail = 0, len(widths)
    while head < tail:  # two from the front for one from the back
        nearest = head if head <= 2 * (len(widths) - tail) else tail - 1
        room -= widths[nearest]
        if room < 0:
            break
        head, tail = (head + 1, tail) if nearest == head else (head, tail - 1)
    return [0, *_after(range(max(1, head))), None, *_after(range(max(tail, head + 1), len(widths)))]


def _after(places: Sequence[int]) -> list[int]:
    return [place + 1 for place in places]
