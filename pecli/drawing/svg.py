"""Shapes as SVG: plain elements and text, the same bytes for the same data."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from pecli.drawing.charts import Chart, printable
from pecli.drawing.layout import shapes_of
from pecli.drawing.pixels import data_address, png
from pecli.drawing.shapes import HEIGHT, INK, PAPER, SIZE, WIDTH, Area, Cells, Disc, Point, Shape, Stroke, Words


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
    place = f'transform="translate({x:.1f} {y:.1f}) rotate(-90)"' if words.turned else f'x="{x:.1f}" y="{y:.1f}"'
    return f'<text {place} text-anchor="{words.anchor}"{style}>{escape(printable(words.text))}</text>'
