"""Pictures of what was found: charts as data, drawn as SVG or text without further packages, as PNG with matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pecli.drawing.charts import Chart
from pecli.errors import UnknownName

SUFFIXES = (".svg", ".png")


def check_picture(path: str) -> None:
    """Raise UnknownName unless the suffix is one of a picture's; "-" is the terminal."""
    if path != "-" and Path(path).suffix.lower() not in SUFFIXES:
        raise UnknownName("suffix of a picture", Path(path).suffix or path, SUFFIXES)


def draw(charts: Sequence[Chart], width: int = 80, *, colour: str = "none", unicode: bool = True) -> str:
    """Return charts as text for a terminal.

    Parameters
    ----------
    charts : sequence of Chart
    width : int
        Columns.
    colour : {"none", "256", "true"}
        Colours that it shows; without any a map is letters.
    unicode : bool
        Whether it shows more than ASCII.
    """
    from pecli.drawing.fields_text import Screen
    from pecli.drawing.terminal import text_of

    return "\n\n".join(text_of(chart, Screen(width, colour, unicode)) for chart in charts)


def picture_bytes(charts: Sequence[Chart], path: str) -> bytes:
    """Return charts, one below the other, as the contents of a file with this suffix.

    Raises
    ------
    MissingPackage
        For png without matplotlib.
    """
    check_picture(path)
    if Path(path).suffix.lower() == ".svg":
        from pecli.drawing.svg import svg_of

        return svg_of(charts).encode()
    from pecli.drawing.png import png_of

    return png_of(charts)
