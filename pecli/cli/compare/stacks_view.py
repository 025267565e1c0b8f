"""Showing which stacks agree on a config: for ``pecli compare config.json --stacks``."""

from __future__ import annotations

import textwrap
from dataclasses import asdict

from pecli.cli.terminal.output import clean, print_json, say


def show_stacks(path: str, *, layer_type: str | None = None, json: bool = False, quiet: bool = False) -> int:
    """Print every stack's table beside that of transformers; return 0 where all agree, else 1.

    Raises
    ------
    PecliError
        If the config cannot be read.
    """
    from pecli.inspection.stacks import compare_stacks

    found = compare_stacks(path, layer_type)
    agree = all(row.equal for rows in found.values() for row in rows)
    if json:
        layers = {name: [asdict(row) for row in rows] for name, rows in found.items()}
        print_json({"source": path, "equal": agree, "layers": layers})
        return int(not agree)
    if quiet:
        return int(not agree)
    from pecli.cli.terminal.items import grid
    from pecli.cli.terminal.screen import show

    for name, rows in found.items():
        cells = [
            (
                row.stack,
                "yes" if row.equal else "no",
                _figure(row.frequencies, ".2e"),
                _figure(row.magnitude, ".7g"),
                _figure(row.values, ".2e"),
                ", ".join(row.keys),
            )
            for row in rows
        ]
        figures = [(word, "right") for word in ("frequency", "magnitude", "value")]
        heads = [("stack", "left"), ("same", "left"), *figures, ("hangs on", "left")]
        title = f"Layers: {name}; largest relative difference of a frequency, largest of a value"
        show(grid(heads, cells, title=title))
        for row in rows:
            for departure, source in zip(row.departures, row.sources, strict=True):
                say(textwrap.fill(clean(f"{row.stack} {departure} ({source})"), 80, subsequent_indent="  "))
            if row.trouble and row.trouble not in row.departures:
                say(textwrap.fill(clean(f"{row.stack}: {row.trouble}"), 80, subsequent_indent="  "))
    return int(not agree)


def _figure(value: float | None, form: str) -> str:
    return "-" if value is None else "0" if value == 0 else format(value, form)
