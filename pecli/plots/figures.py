"""Charts as matplotlib figures, and as SVG, PNG and PDF files.

An SVG has a transparent background, and text that takes the colours of a light or a dark page.
"""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from pecli.errors import MissingPackage, UnknownName
from pecli.plots.charts import EQUAL, LINES, MASKED, Axis, Chart, Circles, Heat, LineChart, printable, tick_text, within

SUFFIXES = (".svg", ".png", ".pdf")
PAGE = ".html"
WIDTH = 6.0  # inches, 576 px on a page: letters of 10.5 points are 10 px high where a telephone shows it 400 px wide
DASHES = ("-", (0, (7, 2)), (0, (2, 1.2)), (0, (7, 2, 1.5, 2)))
TITLE, SMALL = 58, 10  # characters of a line of a title; points of small letters
INK, FAINT = "#24292f", "#c9d1d9"
# Colours on a dark page, by those on a light one.
DARK = {INK: "#e6edf3", FAINT: "#4a525c", LINES[0]: "#4aa8e0", LINES[1]: "#ee7a2b", LINES[2]: "#1fbf92"}
STYLE: dict[str, Any] = {
    **dict.fromkeys(("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"), INK),
    **dict.fromkeys(("legend.fontsize", "xtick.labelsize", "ytick.labelsize"), SMALL),
    **dict.fromkeys(("axes.facecolor", "figure.facecolor"), "none"),
    **dict.fromkeys(("legend.frameon", "axes.spines.top", "axes.spines.right", "text.parse_math"), False),
    "font.family": "sans-serif", "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial", "sans-serif"],
    "font.size": 10.5, "figure.titlesize": 11.5, "figure.titleweight": "bold", "grid.color": FAINT,
    "axes.axisbelow": True, "image.composite_image": False, "svg.fonttype": "none", "svg.hashsalt": "pecli",
}  # fmt: skip


def matplotlib(module: str) -> Any:
    """Import a module of matplotlib.

    Raises
    ------
    MissingPackage
        Without it, in one sentence that says how to install it.
    """
    try:
        return import_module(f"matplotlib.{module}" if module else "matplotlib")
    except ImportError:
        remedy = "pip install 'pecli[plot]'; without it, pecli plot draws in the terminal and writes .html"
        raise MissingPackage("matplotlib", "this picture", remedy) from None


def _style() -> Any:
    """Return the context of a picture's style, whatever a matplotlibrc says: a foreign folder's may ask for LaTeX."""
    return matplotlib("style").context(STYLE, after_reset=True)


def figure_of(charts: Sequence[Chart]) -> Any:
    """Return a matplotlib Figure of charts, one below the other, each in a subfigure of its own."""
    base = matplotlib("figure").Figure

    class Picture(base):  # type: ignore[misc, valid-type]
        """A Figure that a notebook shows as SVG, with or without pyplot."""

        def _repr_svg_(self) -> str:
            return saved(self, ".svg").decode()

    with _style():
        heights = [_height(chart) for chart in charts]
        figure = Picture(figsize=(WIDTH, sum(heights)), layout="constrained")
        parts = figure.subfigures(len(charts), 1, height_ratios=heights, squeeze=False)[:, 0]
        for part, chart in zip(parts, charts, strict=True):
            part.suptitle("\n".join(within(chart.title, TITLE)), x=0.01, ha="left")
            if isinstance(chart, LineChart) and chart.apart and len(chart.series) > 1:
                _draw_apart(part, chart)
            else:
                draw_on(part.subplots(), chart)
    return figure


def draw_on(ax: Any, chart: Chart) -> None:
    """Draw a chart into matplotlib's Axes, without its title."""
    with matplotlib("").rc_context({"text.parse_math": False}):
        if isinstance(chart, Heat):
            _draw_heat(ax, chart)
        elif isinstance(chart, Circles):
            _draw_circles(ax, chart)
        else:
            _draw_lines(ax, chart)


def saved(figure: Any, suffix: str) -> bytes:
    """Return a figure as the contents of a file with this suffix, the same bytes every time."""
    dates = {".svg": ["Date"], ".pdf": ["CreationDate", "ModDate"]}.get(suffix, [])
    out = io.BytesIO()
    with _style(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a letter that the font does not have
        _settle(figure)
        paper = {"facecolor": "white"} if suffix != ".svg" else {}
        figure.savefig(out, format=suffix[1:], dpi=200, metadata=dict.fromkeys(dates), **paper)
    return _themed(out.getvalue().decode()).encode() if suffix == ".svg" else out.getvalue()


def _settle(figure: Any) -> None:
    """Lay a figure out and round the places of all that stands in it, whose last bits differ from run to run."""
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    for part in figure.subfigs:
        part.bbox_relative.set_points(np.round(part.bbox_relative.get_points(), 4))
        for text in part.texts:
            text.set_position(np.round(text.get_position(), 4))
    for ax in figure.axes:
        ax.set_position(np.round(ax.get_position(original=True).bounds, 4))


def _themed(svg: str) -> str:
    """Return an SVG whose colours follow the page's scheme; viewers that know no such rule show the light ones."""
    kinds = [(kind, *colours) for colours in DARK.items() for kind in ("fill", "stroke")]
    rules = "".join(f'[style*="{kind}: {light}"]{{{kind}:{dark}!important}}' for kind, light, dark in kinds)
    return svg.replace("</style>", f"@media (prefers-color-scheme:dark){{{rules}}}</style>", 1)


def picture_bytes(charts: Sequence[Chart], path: str) -> bytes:
    """Return charts, one below the other, as the contents of a file with this suffix, which `check_picture` allows."""
    return saved(figure_of(charts), Path(path).suffix.lower())


def check_picture(path: str, *, page: bool = False) -> None:
    """Raise UnknownName unless the suffix is one of a picture's, or with `page` of a page's; "-" is the terminal.

    Raises
    ------
    MissingPackage
        For a picture without matplotlib.
    """
    known = (*SUFFIXES, PAGE) if page else SUFFIXES
    if path != "-" and Path(path).suffix.lower() not in known:
        raise UnknownName("suffix of a picture", Path(path).suffix or path, known)
    if path != "-" and not is_page(path):
        matplotlib("")


def is_page(path: str | None) -> bool:
    """Whether a path has the suffix of an interactive page."""
    return path is not None and Path(path).suffix.lower() == PAGE


def _height(chart: Chart) -> float:
    """Return the inches that a chart is high, its title included."""
    title = 0.2 * len(within(chart.title, TITLE))
    if isinstance(chart, Circles):
        return title + 0.6 + WIDTH / max(2, len(chart.circles)) + 0.17 * len(chart.circles[0].notes) + 0.2
    if isinstance(chart, Heat):
        if not chart.square:
            return title + 3.1
        rows, columns = map(float, chart.values.shape)
        headings = 0.2 * any(span.name for span in chart.columns)
        return title + headings + 0.85 + 4.2 * rows / (columns + GAP * rows * (len(chart.columns) - 1))
    if chart.apart and len(chart.series) > 1:
        rows, _ = _panels(chart)
        return title + 0.6 + (0.95 if chart.style == "steps" else 1.6) * rows
    return title + 2.7 + 0.2 * math.ceil(len(_names(chart)) / _columns(_names(chart)))


def _columns(names: Sequence[str]) -> int:
    """Return how many columns of a legend there is room for."""
    return max(1, min(len(names), 62 // (max(map(len, names)) + 6)))


def _legend(ax: Any, handles: Sequence[Any], names: Sequence[str], title: str = "") -> None:
    """Put a legend above the frame, in as many columns as there is room for."""
    names = [name if len(name) <= 48 else name[:47] + "…" for name in map(printable, names)]
    ax.legend(
        handles, names, loc="lower left", bbox_to_anchor=(0, 1), ncols=_columns(names), borderpad=0.1,
        handlelength=2.2, columnspacing=1.2, handletextpad=0.5, title=title or None, alignment="left",
    )  # fmt: skip


def _names(chart: LineChart) -> list[str]:
    """Return the names of a chart's lines and marks."""
    return [line.name for line in chart.series] + [label for _, label in chart.marks]


def _panels(chart: LineChart) -> tuple[int, int]:
    """Return rows and columns of the frames of lines that are drawn apart; steps are below each other."""
    columns = 1 if chart.style == "steps" else 2
    return math.ceil(len(chart.series) / columns), columns


def _draw_apart(figure: Any, chart: LineChart) -> None:
    """Draw each line in a frame of its own, over all the others, which are faint."""
    panels = figure.subplots(*_panels(chart), sharex=True, sharey=True, squeeze=False)
    for number, ax in enumerate(panels.flat):
        if number == len(chart.series):
            ax.set_axis_off()
            break
        if chart.style != "steps":
            for line in chart.series:
                ax.plot(line.x, line.y, color=FAINT, lw=1)
        _draw_lines(ax, chart._replace(series=[chart.series[number]]), number, marked=False)
        ax.label_outer()
        ax.set(xlabel="", ylabel="")
    marks = "".join(f"; dotted: {label}" for _, label in chart.marks)
    figure.supxlabel(printable(chart.x.label + marks), fontsize=10.5)
    figure.supylabel("\n".join(within(chart.y.label, 44)), fontsize=10.5, multialignment="center")


def _draw_lines(ax: Any, chart: LineChart, first: int = 0, *, marked: bool = True) -> None:
    handles = []
    for number, line in enumerate(chart.series, first):
        colour = LINES[number % len(LINES)]
        if line.curve is not None or chart.style == "dots":
            (drawn,) = ax.plot(*(line.curve or (line.x, line.y)), color=colour, lw=1.6)
            (dots,) = ax.plot(line.x, line.y, "o", color=colour, ms=3.2)
            handles.append((drawn, dots))
        elif chart.style in ("steps", "areas"):
            (drawn,) = ax.step(line.x, line.y, where="mid", color=colour, lw=1.6)
            if chart.style == "areas":
                ax.fill_between(line.x, line.y, step="mid", color=colour, alpha=0.35, lw=0)
            handles.append(drawn)
        else:  # of lines that coincide, a dashed one shows the one below
            dash = "-" if chart.apart else DASHES[number % len(DASHES)]
            (drawn,) = ax.plot(line.x, line.y, color=colour, lw=1.8, ls=dash)
            handles.append(drawn)
    for axis, which in ((chart.x, "x"), (chart.y, "y")):
        _scale(ax, axis, which)
    handles += [ax.axvline(x, color=ax.xaxis.label.get_color(), lw=1, ls=":") for x, _ in chart.marks]
    ax.grid(axis="y")
    names = _names(chart)[: None if marked else len(chart.series)]
    if any(names):
        _legend(ax, handles[: len(names)], names)


def _scale(ax: Any, axis: Axis, which: str) -> None:
    """Set label, scale, ends and ticks of one axis."""
    ticker = matplotlib("ticker")
    drawn = getattr(ax, f"{which}axis")
    getattr(ax, f"set_{which}label")("\n".join(within(axis.label, 60 if which == "x" else 30)))
    if axis.base:
        getattr(ax, f"set_{which}scale")("log", base=axis.base)
        drawn.set(major_locator=ticker.LogLocator(axis.base, numticks=9), minor_locator=ticker.NullLocator())
    elif axis.whole:
        drawn.set_major_locator(ticker.MaxNLocator("auto", integer=True, steps=[1, 2, 4, 5, 8, 10]))
    if axis.base or axis.whole:
        drawn.set_major_formatter(lambda value, _: tick_text(value, axis.base))
    if axis.low is not None or axis.high is not None:  # without ends, frames that share an axis find them together
        getattr(ax, f"set_{which}lim")(axis.low, axis.high)


GAP = 0.06  # between parts of a heat map, as a share of its columns


def _draw_heat(ax: Any, heat: Heat) -> None:
    colors = matplotlib("colors")
    low, high = heat.ends
    colours = colors.LinearSegmentedColormap.from_list("pecli", heat.colours)
    colours = colours.with_extremes(bad=EQUAL if heat.log else MASKED, over=MASKED)
    norm = (colors.LogNorm if heat.log else colors.Normalize)(low, high)
    rows, total = heat.values.shape
    values = np.ma.masked_invalid(heat.values)
    if heat.log:  # cells of 0 are masked, and what is not finite lies beyond the colours
        values = np.ma.masked_equal(np.where(np.isfinite(heat.values), heat.values, 2 * high), 0)
    start, left, ticks, image = 0, 0.0, [], None
    for span in heat.columns:
        image = ax.imshow(
            values[:, start : start + span.count], colours, norm, interpolation="none",
            extent=(left, left + span.count, rows, 0), aspect="equal" if heat.square else "auto",
        )  # fmt: skip
        most = max(2, round(6 * span.count / total))
        ticks += [(left + at, tick_text(number)) for at, number in _ticks(span.first, span.last, span.count, most)]
        middle, look = (left + span.count / 2, 0), {"textcoords": "offset points", "ha": "center", "va": "bottom"}
        ax.annotate(printable(span.name), middle, (0, 4), **look)
        start, left = start + span.count, left + span.count + GAP * (rows if heat.square else total / 2)
    ax.set_xlim(0, left - GAP * (rows if heat.square else total / 2))
    ax.set_ylim(rows, 0)
    ax.spines[:].set_visible(False)
    ax.set_xticks(*zip(*ticks, strict=True))
    ax.set_yticks(*zip(*((at, tick_text(n)) for at, n in _ticks(*heat.rows, rows, 7)), strict=True))
    ax.set(xlabel=printable(heat.x), ylabel=printable(heat.y))
    tall = 48 if heat.square and rows >= total / 2 else 26  # characters that the bar is high
    bar = ax.figure.colorbar(image, ax=ax, label="\n".join(within(heat.value, tall)), pad=0.02, shrink=0.9)
    bar.outline.set_visible(False)
    if heat.log:
        ticker = matplotlib("ticker")
        powers = ticker.LogLocator(subs=(1, 2, 5) if high < 100 * low else (1,))
        places = powers if high >= 10 * low else ticker.MaxNLocator(5)
        bar.ax.minorticks_off()
        bar.ax.yaxis.set(major_locator=places, major_formatter=lambda value, _: tick_text(value))


def _ticks(first: float, last: float, count: int, most: int) -> list[tuple[float, float]]:
    """Return the middles of some cells, counted in cells, and the numbers of these cells."""
    step = (last - first) / max(1, count - 1)
    round_numbers = (2, 4, 8, 16, 32, 64, 128, 256) if count % 16 == 0 else (2, 5, 10, 20, 50, 100, 200, 500)
    every = next((k for k in (1, *round_numbers) if count <= k * most), count)
    merged = float(first).is_integer() and not step.is_integer()  # a cell has the number of the first row it holds
    step = (last + 1 - first) / count if merged else step
    return [(at + 0.5, math.floor(first + at * step) if merged else first + at * step) for at in range(0, count, every)]


def _draw_circles(ax: Any, chart: Circles) -> None:
    patches, wide = matplotlib("patches"), 2.4
    for k, circle in enumerate(chart.circles):
        x = wide * k
        ax.add_patch(patches.Circle((x, 0), 1, fill=False, ec=FAINT))
        ax.plot([x - 1, x + 1, np.nan, x, x], [0, 0, np.nan, -1, 1], color=FAINT, lw=0.7)
        for number, arrow in enumerate(circle.arrows):
            tip = x + arrow.length * math.cos(arrow.angle), arrow.length * math.sin(arrow.angle)
            look = {"color": LINES[number % len(LINES)], "lw": 1.8}
            ax.annotate("", tip, (x, 0), arrowprops={"arrowstyle": "-|>", "shrinkA": 0, "shrinkB": 0, **look})
        text = "\n".join(map(printable, [circle.name, *circle.notes]))
        ax.text(x, -1.12, text, ha="center", va="top", fontsize=SMALL, linespacing=1.35)
    arrows = chart.circles[0].arrows
    keys = [ax.plot([], [], color=LINES[k % len(LINES)], lw=2)[0] for k in range(len(arrows))]
    ax.set(xlim=(-1.1, wide * (len(chart.circles) - 1) + 1.1), ylim=(-1.1, 1.1), aspect="equal")
    ax.set_axis_off()
    _legend(ax, keys, [arrow.name for arrow in arrows], printable(chart.legend))
