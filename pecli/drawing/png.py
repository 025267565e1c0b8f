"""Shapes as PNG, drawn by matplotlib, an optional package."""

from __future__ import annotations

import io
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from pecli.drawing.charts import Chart, printable
from pecli.drawing.layout import shapes_of
from pecli.drawing.shapes import HEIGHT, INK, PAPER, WIDTH, Area, Disc, Shape, Stroke, Words
from pecli.errors import MissingPackage

UNITS = 100  # of the paper to an inch
DOTS = 200  # to an inch: two to a unit
POINT = 72 / UNITS  # of a unit
LETTERS = 0.92  # of their size, as matplotlib's own font is wider than Helvetica
ANCHORS = {"start": "left", "middle": "center", "end": "right"}


def png_of(charts: Sequence[Chart]) -> bytes:
    """Return charts, one below the other, as a PNG file.

    Raises
    ------
    MissingPackage
        Without matplotlib.
    """
    try:
        figures: Any = import_module("matplotlib.figure")
    except ImportError:
        raise MissingPackage("matplotlib", "pip install 'pecli[plot]', or write .svg, which needs nothing") from None
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
    figure.savefig(out, format="png", dpi=DOTS, metadata={"Software": None})
    return out.getvalue()


def _put(paper: Any, patches: Any, shape: Shape, down: float, order: int) -> None:
    """Draw one shape, so far down, above those before it."""
    if isinstance(shape, Words):
        paper.text(
            shape.x, shape.y + down, printable(shape.text).replace("$", r"\$"), ha=ANCHORS[shape.anchor],
            va="baseline", fontsize=shape.size * POINT * LETTERS, fontweight="bold" if shape.bold else "normal",
            rotation=90 if shape.turned else 0, rotation_mode="anchor", color=INK, zorder=order,
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
