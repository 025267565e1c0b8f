"""Charts as SVG, PNG and PDF files, and in a notebook.

A heat map in an SVG is a PNG whose pixels are stored, not compressed: compressors differ between versions of zlib, and
the same picture is to have the same bytes everywhere.
"""

from __future__ import annotations

import base64
import io
import os
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from importlib import import_module
from pathlib import Path
from typing import Any

from pecli.errors import MissingPackage, UnknownName
from pecli.plots.charts import Chart, printable
from pecli.plots.shapes import (
    HEIGHT,
    INK,
    PAPER,
    SIZE,
    WIDTH,
    Area,
    Cells,
    Disc,
    Point,
    Shape,
    Stroke,
    Words,
    shapes_of,
)

LARGEST = 65535  # bytes of a stored block


def png(rows: Sequence[bytes], colours: Sequence[tuple[int, int, int]]) -> bytes:
    """Return rows of palette indices as a PNG file.

    Parameters
    ----------
    rows : sequence of bytes
        One byte for each pixel, rows of the same length.
    colours : sequence of (red, green, blue)
        At most 256.
    """
    header = struct.pack(">IIBBBBB", len(rows[0]), len(rows), 8, 3, 0, 0, 0)
    plain = b"".join(b"\0" + row for row in rows)
    parts = [
        (b"IHDR", header),
        (b"PLTE", bytes(part for c in colours for part in c)),
        (b"IDAT", stored(plain)),
        (b"IEND", b""),
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(name, data) for name, data in parts)


def stored(data: bytes) -> bytes:
    """Return data as a zlib stream of stored blocks (RFC 1950, RFC 1951)."""
    blocks = [data[at : at + LARGEST] for at in range(0, len(data), LARGEST)] or [b""]
    parts = [b"\x78\x01"]
    for number, block in enumerate(blocks):
        last = number == len(blocks) - 1
        parts.append(struct.pack("<BHH", last, len(block), len(block) ^ 0xFFFF) + block)
    return b"".join([*parts, struct.pack(">I", zlib.adler32(data))])


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def data_address(image: bytes) -> str:
    """Return an image as the address that an SVG's image element takes."""
    return "data:image/png;base64," + base64.b64encode(image).decode()


def svg_of(charts: Sequence[Chart]) -> str:
    """Return charts, one below the other, as an SVG document."""
    height = HEIGHT * len(charts)
    size = f'viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"'
    font = f'font-family="Helvetica, Arial, sans-serif" font-size="{SIZE}" fill="{INK}" stroke="none"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} {font}>',
        f'<rect width="{WIDTH}" height="{height}" fill="{PAPER}"/>',
    ]
    for number, chart in enumerate(charts):
        shapes = [text for shape in shapes_of(chart) if (text := _element(shape))]
        parts += [f'<g transform="translate(0 {number * HEIGHT})">', *shapes, "</g>"]
    return "\n".join([*parts, "</svg>"]) + "\n"


def _element(shape: Shape) -> str:
    """Return one element; nothing for a shape without a line."""
    if isinstance(shape, Words):
        return _text(shape)
    if isinstance(shape, Stroke):
        dash = f' stroke-dasharray="{shape.dash}"' if shape.dash else ""
        width = f' stroke-width="{shape.width:g}"' if shape.width != 1 else ""
        look = f'fill="none" stroke="{shape.colour}"{width} stroke-linejoin="round"{dash}'
        return f'<path d="{_path(shape.lines)}" {look}/>' if shape.lines else ""
    if isinstance(shape, Area):
        faint = f' fill-opacity="{shape.opacity:.2g}"' if shape.opacity < 1 else ""
        return f'<path d="{_path(shape.rings, "z")}" fill="{shape.colour}"{faint}/>'
    if isinstance(shape, Disc):
        look = f'fill="{shape.colour}"' if shape.filled else f'fill="none" stroke="{shape.colour}"'
        return f'<circle cx="{shape.x:.1f}" cy="{shape.y:.1f}" r="{shape.radius:.1f}" {look}/>'
    return _image(shape)


def _path(lines: Sequence[Sequence[Point]], end: str = "") -> str:
    return "".join("M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in line) + end for line in lines)


def _image(cells: Cells) -> str:
    place = f'x="{cells.x}" y="{cells.y}" width="{cells.wide}" height="{cells.high}"'
    address = data_address(png(cells.rows, cells.colours))
    return f'<image {place} preserveAspectRatio="none" style="image-rendering:pixelated" href="{address}"/>'


def _text(words: Words) -> str:
    style = (f' font-size="{words.size}"' if words.size != SIZE else "") + (' font-weight="bold"' if words.bold else "")
    x, y = words.x, words.y
    place = f'transform="translate({x:.1f} {y:.1f}) rotate(-90)"' if words.vertical else f'x="{x:.1f}" y="{y:.1f}"'
    return f'<text {place} text-anchor="{words.anchor}"{style}>{escape(printable(words.text))}</text>'


UNITS = 100  # of the paper to an inch
DOTS = 200  # to an inch: two to a unit
POINT = 72 / UNITS  # of a unit
LETTERS = 0.92  # of their size, as matplotlib's own font is wider than Helvetica
ANCHORS = {"start": "left", "middle": "center", "end": "right"}


def drawn_by_matplotlib(charts: Sequence[Chart], form: str) -> bytes:
    """Return charts, one below the other, as a PNG or PDF file.

    Raises
    ------
    MissingPackage
        Without matplotlib.
    """
    figures = _figures()
    height = HEIGHT * len(charts)
    figure = figures.Figure(figsize=(WIDTH / UNITS, height / UNITS), dpi=DOTS, facecolor=PAPER)
    paper = figure.add_axes((0, 0, 1, 1))
    paper.set_axis_off()
    paper.set_xlim(0, WIDTH)
    paper.set_ylim(height, 0)
    patches: Any = import_module("matplotlib.patches")
    for number, chart in enumerate(charts):
        for order, shape in enumerate(shapes_of(chart)):
            _put(paper, patches, shape, number * HEIGHT, order)
    paper.set_xlim(0, WIDTH)  # images move the limits
    paper.set_ylim(height, 0)
    out = io.BytesIO()
    stamp = {"Software": None} if form == "png" else {"CreationDate": None}  # the same bytes every day
    figure.savefig(out, format=form, dpi=DOTS, metadata=stamp)
    return out.getvalue()


def _figures() -> Any:
    try:
        return import_module("matplotlib.figure")
    except ImportError:
        raise MissingPackage("matplotlib", "this picture", "pip install 'pecli[plot]', or write .svg") from None


def _put(paper: Any, patches: Any, shape: Shape, down: float, order: int) -> None:
    """Draw one shape at a vertical offset, over the shapes drawn before."""
    if isinstance(shape, Words):
        paper.text(
            shape.x, shape.y + down, printable(shape.text).replace("$", r"\$"), ha=ANCHORS[shape.anchor],
            va="baseline", fontsize=shape.size * POINT * LETTERS, fontweight="bold" if shape.bold else "normal",
            rotation=90 if shape.vertical else 0, rotation_mode="anchor", color=INK, zorder=order,
        )  # fmt: skip
    elif isinstance(shape, Stroke):
        width = shape.width * POINT
        style: Any = (0, [float(part) / shape.width for part in shape.dash.split()]) if shape.dash else "-"
        for line in shape.lines:
            across, up = zip(*line, strict=True)
            paper.plot(
                across, [y + down for y in up], color=shape.colour, lw=width, ls=style, zorder=order,
                solid_joinstyle="round", solid_capstyle="butt",
            )  # fmt: skip
    elif isinstance(shape, Area):
        for ring in shape.rings:
            corners = [(x, y + down) for x, y in ring]
            paper.add_patch(patches.Polygon(corners, fc=shape.colour, ec="none", alpha=shape.opacity, zorder=order))
    elif isinstance(shape, Disc):
        look = {"fc": shape.colour, "ec": "none"} if shape.filled else {"fill": False, "ec": shape.colour, "lw": POINT}
        paper.add_patch(patches.Circle((shape.x, shape.y + down), shape.radius, zorder=order, **look))
    else:
        image = [[shape.colours[index] for index in row] for row in shape.rows]
        extent = (shape.x, shape.x + shape.wide, shape.y + down + shape.high, shape.y + down)
        paper.imshow(image, extent=extent, aspect="auto", interpolation="nearest", zorder=order)


SUFFIXES = (".svg", ".png", ".pdf")
PAGE = ".html"


def check_picture(path: str, *, page: bool = False) -> None:
    """Check the suffix, and the package that it needs, before any work; "-" is the terminal.

    Raises
    ------
    UnknownName
        Unless the suffix is one of a picture's, or with `page` of a page's.
    MissingPackage
        For png and pdf without matplotlib.
    """
    known, suffix = (*SUFFIXES, PAGE) if page else SUFFIXES, Path(path).suffix.lower()
    if path != "-" and suffix not in known:
        raise UnknownName("suffix of a picture", suffix or path, known)
    if suffix in SUFFIXES[1:]:
        _figures()


def is_page(path: str | None) -> bool:
    """Whether a path has the suffix of an interactive page."""
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
    from pecli.plots.terminal import Screen, text_of

    return "\n\n".join(text_of(chart, Screen(width, colour, unicode)) for chart in charts)


def picture_bytes(charts: Sequence[Chart], path: str) -> bytes:
    """Return charts, one below the other, as the contents of a file with this suffix.

    Raises
    ------
    MissingPackage
        For png and pdf without matplotlib.
    """
    check_picture(path)
    form = Path(path).suffix.lower()[1:]
    return svg_of(charts).encode() if form == "svg" else drawn_by_matplotlib(charts, form)


@dataclass(frozen=True, repr=False)
class Picture:
    """Charts of a table; a notebook shows them, and :meth:`save` writes them."""

    charts: Sequence[Chart]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write an SVG, or with matplotlib a PNG or PDF, by the suffix."""
        Path(path).write_bytes(picture_bytes(self.charts, os.fspath(path)))

    def _repr_html_(self) -> str:

        return svg_of(self.charts)

    def __repr__(self) -> str:
        return draw(self.charts)
