"""Showing which stacks agree on a config: for ``pecli compare config.json --stacks``."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from pecli.cli.terminal.layout import wrapped
from pecli.cli.terminal.output import print_json, prose_width, say

if TYPE_CHECKING:
    from pecli.inspect.configs import StackRow


def show_stacks(path: str, *, layer_type: str | None = None, json: bool = False) -> int:
    """Print every stack's table beside that of transformers; return 0 where all agree, else 1.

    Raises
    ------
    PecliError
        If the config cannot be read.
    """
    from pecli.inspect.configs import advise, compare_stacks

    found = compare_stacks(path, layer_type)
    agree = all(row.equal for rows in found.values() for row in rows if row.known)
    advice = {name: advise(path, name, rows) for name, rows in found.items()}
    if json:
        layers = {name: [_row(row) for row in rows] for name, rows in found.items()}
        advised = {name: asdict(one) for name, one in advice.items()}
        print_json({"source": path, "equal": agree, "layers": layers, "advice": advised})
        return int(not agree)
    for name, rows in found.items():
        _show(name, rows)
        _say("\n" + advice[name].text)
    return int(not agree)


def _row(row: StackRow) -> dict[str, object]:
    return {**asdict(row), "remedies": [remedy.text for remedy in row.remedies]}


def _show(name: str, rows: tuple[StackRow, ...]) -> None:
    from pecli.cli.terminal.items import grid
    from pecli.cli.terminal.screen import show

    cells = [
        (
            row.stack,
            row.version if row.run else f"{row.version}, read",
            "yes" if row.equal else "no",
            *("-" if figure is None else figure for figure in (row.frequencies, row.magnitude, row.values)),
        )
        for row in rows
        if row.known
    ]
    heads = [("stack", "left"), ("version", "left"), ("same", "left"), ("frequency", 3), ("magnitude", 7), ("value", 3)]
    title = f"Layers: {name}; largest relative difference of a frequency, largest of a value"
    show(grid(heads, cells, title=title))
    for row in rows:
        if row.known:
            _details(row)
    unknown = [row.stack for row in rows if not row.known]
    if unknown:
        _say(f"of {', '.join(unknown)} it is not known whether and how they make this table")
    if any(not row.run for row in rows if row.known):
        _say('"read": the rules of that stack were read from its source, its code was not run')


def _details(row: StackRow) -> None:
    for key, departure, source in zip(row.keys, row.departures, row.sources, strict=True):
        refusal = row.trouble.removeprefix(departure) if row.trouble.startswith(departure) else ""
        _say(f"{row.stack} {departure}{refusal} (key {key}; {source})")
    for remark in row.remarks:
        _say(remark)
    if row.trouble and not any(row.trouble.startswith(departure) for departure in row.departures):
        _say(f"{row.stack}: {row.trouble}")


def _say(text: str) -> None:
    lead = "\n" * text.startswith("\n")
    say(lead + "\n".join(wrapped(text.strip(), prose_width(), "", "  ")))
