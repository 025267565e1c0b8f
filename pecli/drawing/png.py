"""Charts as PNG, drawn by matplotlib, an optional package."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from pecli.drawing.charts import BarChart, Chart, Circles, Heat, LineChart, palette
from pecli.drawing.fields_svg import COLOURS
from pecli.drawing.svg import DASHES
from pecli.errors import MissingPackage

INCHES = (9.5, 4.6)
DOTS = 110


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
    figure = figures.Figure(figsize=(INCHES[0], INCHES[1] * len(charts)), layout="constrained")
    for axes, chart in zip(figure.subplots(len(charts), squeeze=False)[:, 0], charts, strict=True):
        axes.set_title(chart.title, loc="left", fontsize=11, fontweight="bold")
        if isinstance(chart, Heat):
            _heat(figure, axes, chart)
            continue
        if isinstance(chart, Circles):
            _circles(axes, chart)
            continue
        axes.set_xlabel(chart.x.label)
        axes.set_ylabel(chart.y.label)
        if isinstance(chart, LineChart):
            _lines(axes, chart)
        else:
            _bars(axes, chart)
        axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, fontsize=9)
        axes.grid(axis="y", alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    out = io.BytesIO()
    figure.savefig(out, format="png", dpi=DOTS, metadata={"Software": None})
    return out.getvalue()


def _lines(axes: Any, chart: LineChart) -> None:
    for number, series in enumerate(chart.series):
        dash = DASHES[number % len(DASHES)]
        style: Any = (0, tuple(float(part) for part in dash.split())) if dash else "-"
        axes.plot(series.x, series.y, label=series.name, color=COLOURS[number % len(COLOURS)], lw=1.5, ls=style)
    for mark in chart.marks:
        axes.axvline(mark.x, color="#222222", ls="--", lw=0.9, label=mark.label)
    if chart.x.whole:
        axes.xaxis.get_major_locator().set_params(integer=True)
    if chart.x.log:
        axes.set_xscale("log")
    if chart.y.log:
        axes.set_yscale("log")
    axes.set_ylim(chart.y.low, chart.y.high)


def _bars(axes: Any, chart: BarChart) -> None:
    below = [0.0] * len(chart.parts[0].heights)
    for part in chart.parts:
        colour = COLOURS[0 if part.strength > 0.5 else 1]
        axes.bar(
            range(len(below)), part.heights, bottom=below, width=0.84, color=colour, alpha=max(0.25, part.strength),
            label=part.name, align="edge",
        )  # fmt: skip
        below = [a + b for a, b in zip(below, part.heights, strict=True)]
    axes.set_ylim(chart.y.low, chart.y.high)


def _heat(figure: Any, axes: Any, chart: Heat) -> None:
    colours: Any = import_module("matplotlib.colors")
    scale = colours.LinearSegmentedColormap.from_list("pecli", palette(chart))
    scale.set_bad("#bbbbbb")
    low, high = chart.ends()
    (left, right), (top, bottom) = chart.columns, chart.rows
    wide = (right - left) / max(1, len(chart.values[0]) - 1) / 2 or 0.5
    tall = (bottom - top) / max(1, len(chart.values) - 1) / 2 or 0.5
    extent = (left - wide, right + wide, bottom + tall, top - tall)
    values = [[v if abs(v) < float("inf") else float("nan") for v in row] for row in chart.values]
    drawn = axes.imshow(values, cmap=scale, vmin=low, vmax=high, aspect="auto", extent=extent, interpolation="nearest")
    if chart.square:
        axes.set_box_aspect(1)
    axes.set_xlabel(chart.x)
    axes.set_ylabel(chart.y)
    figure.colorbar(drawn, ax=axes, label=chart.value)


def _circles(axes: Any, chart: Circles) -> None:
    axes.set_axis_off()
    axes.set_aspect("equal")
    patches: Any = import_module("matplotlib.patches")
    for k, (name, arrows) in enumerate(chart.circles):
        x = 2.6 * k
        axes.add_patch(patches.Circle((x, 0), 1, fill=False, color="#d9d9d9"))
        for number, arrow in enumerate(arrows):
            end = (x + arrow.length * math.cos(arrow.angle), arrow.length * math.sin(arrow.angle))
            style = {"color": COLOURS[number % len(COLOURS)], "arrowstyle": "-|>", "lw": 1.6}
            axes.annotate("", end, (x, 0), arrowprops=style)
            if k == 0:
                axes.plot([], [], color=style["color"], lw=2, label=arrow.name)
        axes.text(x, -1.25, name, ha="center", fontsize=9)
    axes.set_xlim(-1.3, 2.6 * len(chart.circles) - 1.3)
    axes.set_ylim(-1.5, 1.3)
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, fontsize=9, title=chart.legend)
