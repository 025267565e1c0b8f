"""Charts as PNG, drawn by matplotlib, an optional package."""

from __future__ import annotations

import io
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from pecli.errors import MissingPackage
from pecli.pictures.charts import Bars, Chart, Lines
from pecli.pictures.svg import COLOURS, DASHES

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
        axes.set_xlabel(chart.x.label)
        axes.set_ylabel(chart.y.label)
        if isinstance(chart, Lines):
            _lines(axes, chart)
        else:
            _bars(axes, chart)
        axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, fontsize=9)
        axes.grid(axis="y", alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    out = io.BytesIO()
    figure.savefig(out, format="png", dpi=DOTS, metadata={"Software": None})
    return out.getvalue()


def _lines(axes: Any, chart: Lines) -> None:
    for number, series in enumerate(chart.series):
        dash = DASHES[number % len(DASHES)]
        style: Any = (0, tuple(float(part) for part in dash.split())) if dash else "-"
        axes.plot(series.x, series.y, label=series.name, color=COLOURS[number % len(COLOURS)], lw=1.5, ls=style)
    for mark in chart.marks:
        axes.axvline(mark.x, color="#222222", ls="--", lw=0.9, label=mark.label)
    if chart.x.log:
        axes.set_xscale("log")
    if chart.y.log:
        axes.set_yscale("log")
    axes.set_ylim(chart.y.low, chart.y.high)


def _bars(axes: Any, chart: Bars) -> None:
    below = [0.0] * len(chart.parts[0].heights)
    for part in chart.parts:
        colour = COLOURS[0 if part.strength > 0.5 else 1]
        axes.bar(
            range(len(below)), part.heights, bottom=below, width=0.84, color=colour, alpha=max(0.25, part.strength),
            label=part.name, align="edge",
        )  # fmt: skip
        below = [a + b for a, b in zip(below, part.heights, strict=True)]
    axes.set_ylim(chart.y.low, chart.y.high)
