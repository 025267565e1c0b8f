"""Lines, facts and tables as text of a width: nothing is cut; what has no room is left out with a sign, or stacked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import groupby, zip_longest

from pecli.cli.terminal.items import RIGHT, Fact, Item, ScreenTable, Section, Verdict
from pecli.cli.terminal.output import WIDE, clean, has_unicode, wrapped
from pecli.errors import BadParameter, UnknownName

GAP = "  "
FRAME = "│  │"  # of a panel
LONGEST_NAME = 20  # columns of a name beside its text
NARROW = 60  # columns from which the lines of a fact stand below its first word


def lines_of(item: Item, width: int | None, *, terminal: bool = False, colour: bool = False) -> list[str]:
    """Return an item as lines; a width of None is that of no screen, where prose is left as it is.

    On a terminal tables are rich ones.
    """
    if isinstance(item, ScreenTable):
        return _table(item, width or WIDE, terminal, colour)
    if isinstance(item, Verdict):
        shade = {True: "1;32", False: "1;31", None: "1"}[item.good]
        lines = wrapped(item.text, width, "", GAP)
        return [f"\x1b[{shade}m{line}\x1b[0m" for line in lines] if colour else lines
    if isinstance(item, Section):
        return _section(item, width or WIDE, terminal, colour)
    if isinstance(item, Fact):
        hang = item.width if width is None or width >= NARROW else min(2, item.width)
        first, *rest = item.text.splitlines() or [""]
        lead = f"{item.name:<{item.width if item.name else hang}}"
        found = wrapped(first, width, lead, " " * hang)
        return [*found, *(part for line in rest for part in _line(line, width, " " * hang))]
    return [part for line in item.split("\n") for part in _line(line, width)]


def _line(line: str, width: int | None, lead: str = "") -> list[str]:
    """Return a line as those that it takes; a command, to be pasted, is left whole."""
    text = line.lstrip()
    lead += line[: len(line) - len(text)]
    return [clean(lead + text)] if text.startswith(("$ ", "pecli ")) else wrapped(text, width, lead, lead + GAP)


def _section(item: Section, width: int, terminal: bool, colour: bool) -> list[str]:
    """Return what each name is, beside it where it is short and the screen is wide, else below it."""
    panel = terminal and width >= WIDE and has_unicode()
    width -= len(FRAME) if panel else len(GAP)
    indent = 4 if width < NARROW else 2 + min(LONGEST_NAME, max(len(name) for name, _ in item.rows))
    lines = []
    for name, text in item.rows:
        if len(name) + 2 > indent:
            lines += wrapped(name, width, "", " " * 4)
            name = ""
        lines += wrapped(text, width, f"{name:<{indent}}", " " * indent)
    if panel:
        from pecli.cli.terminal.richly import panel_lines

        return panel_lines(item.title, lines, width + len(FRAME), colour=colour)
    return ["", *wrapped(f"{item.title}:", width), *(f"{GAP}{line}" for line in lines)]


def _table(table: ScreenTable, width: int, terminal: bool, colour: bool) -> list[str]:
    """Return a table; where it is too wide, columns in the middle give way, words wrap, or each row is a block."""
    width -= len(table.indent)
    sides = [side for _, side in table.columns]
    rows = _cells(table)
    title = ["", *wrapped(table.title, width)] if table.title else []
    if table.elide:
        gap = next((place for place, head in enumerate(rows[0]) if head == "…"), 0)
        if gap:  # columns are left out already
            rows = [[*row[:gap], *row[gap + 1 :]] for row in rows]
        kept = _fitting(rows, width, gap)
        sides = [RIGHT if place is None else sides[place] for place in kept]
        rows = [["…" if place is None else row[place] for place in kept] for row in rows]
    widths = _widths(rows, sides, width)
    if widths is None:
        lines = _stacked(rows, width)
    elif terminal:
        from pecli.cli.terminal.richly import table_lines

        lines = table_lines(rows, widths, sides, colour=colour)
    else:
        head, *body = [_row(row, widths, sides) for row in rows]
        lines = [*head, GAP.join("-" * width for width in widths), *(line for lines in body for line in lines)]
    return [*title, *(table.indent + line for line in lines)]


def _cells(table: ScreenTable) -> list[list[str]]:
    """Return the headings and the rows of a table, without control characters."""
    return [[clean(cell) for cell in row] for row in ([heading for heading, _ in table.columns], *table.rows)]


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


def _fitting(rows: Sequence[Sequence[str]], width: int, gap: int = 0) -> list[int | None]:
    """Return the columns that fit next to the first: all, or the head and the tail with None for those between.

    With a `gap`, columns are missing before that one, which None shows too.
    """
    first, *widths = (max(map(len, column)) + len(GAP) for column in zip(*rows, strict=True))
    room = width + len(GAP) - first
    if sum(widths) <= room and not gap:
        return list(range(1 + len(widths)))
    room -= 1 + len(GAP)
    head, tail = 0, len(widths)
    while head < tail:  # two from the front for one from the back
        nearest = head if head <= 2 * (len(widths) - tail) else tail - 1
        room -= widths[nearest]
        if room < 0:
            break
        head, tail = (head + 1, tail) if nearest == head else (head, tail - 1)
    if gap and head == tail:
        head = tail = gap - 1
    tail = tail if gap else max(tail, head + 1)
    return [*range(1 + max(1, head)), None, *range(1 + tail, 1 + len(widths))]


# Formats of a table that a command prints; json is what --json prints.
TABLE_FORMATS = ("markdown", "latex", "csv", "json")
LATEX = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "…": r"\dots{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
}  # fmt: skip


def known_format(word: str) -> str:
    """Return the name of a format of tables; UnknownName where there is none."""
    if word not in TABLE_FORMATS:
        raise UnknownName("format", word, TABLE_FORMATS)
    return word


def exported(items: Iterable[Item], form: str) -> str:
    """Return the tables among some items as text of a format.

    Raises
    ------
    BadParameter
        If none of the items is a table.
    """
    tables = [item for item in items if isinstance(item, ScreenTable)]
    if not tables:
        raise BadParameter("format", form, "is for tables, and this answer has none: leave it out")
    if form == "csv":
        groups = groupby(tables, key=lambda table: [heading for heading, _ in table.columns])
        return "\n\n".join(_csv(list(group)) for _, group in groups)
    return "\n\n".join(map(_markdown if form == "markdown" else _latex, tables))


def _trimmed(table: ScreenTable) -> list[list[str]]:
    return [[cell.strip() for cell in row] for row in _cells(table)]


def _csv(tables: Sequence[ScreenTable]) -> str:
    """Return tables of the same columns as one, whose first column is their titles if there are several."""
    import csv
    import io

    several, paper = len(tables) > 1, io.StringIO()
    made = csv.writer(paper, lineterminator="\n")
    made.writerow([*(["table"] if several else []), *_trimmed(tables[0])[0]])
    for table in tables:
        for row in _trimmed(table)[1:]:
            numbers = [cell.replace(",", "") if re.fullmatch(r"\d{1,3}(,\d{3})+", cell) else cell for cell in row]
            made.writerow([*([table.title or ""] if several else []), *numbers])
    return paper.getvalue().rstrip("\n")


def _markdown(table: ScreenTable) -> str:
    head, *body = [[cell.replace("|", r"\|") for cell in row] for row in _trimmed(table)]
    rule = ["---:" if side == RIGHT else "---" for _, side in table.columns]
    lines = [f"| {' | '.join(row)} |" for row in (head, rule, *body)]
    return "\n".join([*([clean(table.title), ""] if table.title else []), *lines])


def _latex(table: ScreenTable) -> str:
    head, *body = [
        " & ".join("".join(LATEX.get(c, c) for c in cell) for cell in row) + r" \\" for row in _trimmed(table)
    ]
    sides = "".join("r" if side == RIGHT else "l" for _, side in table.columns)
    title = [f"% {clean(table.title)}"] if table.title else []
    return "\n".join([*title, rf"\begin{{tabular}}{{{sides}}}", head, r"\hline", *body, r"\end{tabular}"])
