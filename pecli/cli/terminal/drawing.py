"""Pictures to a file or to the terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from pecli.cli.terminal.output import clean, say, screen_width, tell, wants_colour
from pecli.plots.charts import Chart
from pecli.plots.images import draw, picture_bytes
from pecli.process import unwinding


def show_charts(charts: Sequence[Chart] | str, path: str, *, clobber: bool = True, quiet: bool = False) -> None:
    """Draw charts in the terminal ("-"), or write them to an SVG or PNG file, or a ready page, whole or not at all.

    Raises
    ------
    UnknownName, MissingPackage, WriteFailed, WouldOverwrite
        If the picture cannot be made or written.
    """
    if path == "-" and not isinstance(charts, str):
        unicode = "utf" in (getattr(sys.stdout, "encoding", None) or "").lower()
        say(draw(charts, min(screen_width() or 80, 120), colour=_depth(), unicode=unicode))
        return
    from pecli.formats.io.atomic import open_output

    data = charts.encode(errors="backslashreplace") if isinstance(charts, str) else picture_bytes(charts, path)
    with unwinding(), open_output(path, clobber=clobber) as output:
        output.write(data)
    if not quiet:
        tell(clean(f"drew {path}"))


def _depth() -> str:
    """Return how many colours the terminal shows."""
    if not wants_colour():
        return "none"
    return "true" if os.environ.get("COLORTERM") in ("truecolor", "24bit") else "256"
