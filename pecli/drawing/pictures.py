"""Pictures of what was found: charts as data, drawn as SVG or text without further packages, as PNG with matplotlib."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pecli.drawing.charts import Chart
from pecli.errors import UnknownName

SUFFIXES = (".svg", ".png")
PAGE = ".html"


def check_picture(path: str, *, page: bool = False) -> None:
    """Raise UnknownName unless the suffix is one of a picture's, or with `page` of a page's; "-" is the terminal."""
    known = (*SUFFIXES, PAGE) if page else SUFFIXES
    if path != "-" and Path(path).suffix.lower() not in known:
        raise UnknownName("suffix of a picture", Path(path).suffix or path, known)


def is_page(path: str | None) -> bool:
    """Whether a path is that of a page to play with."""
    return path is not None and Path(path).suffix.lower() == PAGE


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


@dataclass(frozen=True, repr=False)
class Picture:
    """Charts of a table; a notebook shows them, and :meth:`save` writes them."""

    charts: Sequence[Chart]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write an SVG, or with matplotlib a PNG, by the suffix."""
        Path(path).write_bytes(picture_bytes(self.charts, os.fspath(path)))

    def _repr_html_(self) -> str:
        from pecli.drawing.svg import svg_of

        return svg_of(self.charts)

    def __repr__(self) -> str:
        return draw(self.charts)
