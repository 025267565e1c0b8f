"""Charts as data: lines, heat maps, arrows on circles; every kind of output draws them in its own way."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pecli.errors import BadParameter, UnknownName

Floats = NDArray[np.float64]
Style = Literal["lines", "dots", "steps", "areas"]


class Axis(NamedTuple):
    """One axis of a chart.

    Parameters
    ----------
    label : str
        Quantity and unit.
    base : int
        0 for a linear axis; otherwise the base of a logarithmic one: 10, or 2 for slopes.
    low, high : float, optional
        Ends; by default those of the data.
    whole : bool
        Whether only whole numbers are ticks, as for heads.
    """

    label: str
    base: int = 0
    low: float | None = None
    high: float | None = None
    whole: bool = False


class Trace(NamedTuple):
    """A named line through points; `curve` holds the same quantity between them, where it is known."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    curve: tuple[Sequence[float], Sequence[float]] | None = None


Mark = tuple[float, str]  # a vertical line at this place, with its label


class LineChart(NamedTuple):
    """Lines in one frame.

    Parameters
    ----------
    title : str
    x, y : Axis
    series : sequence of Trace
    marks : sequence of Mark
    style : {"lines", "dots", "steps", "areas"}
        "dots": each point is marked.  "steps": a value holds around its point, as for bits, grids and buckets.
        "areas": steps that are filled down to 0.
    apart : bool
        Whether each line has a frame of its own where there is room, so that none hides another.
    """

    title: str
    x: Axis
    y: Axis
    series: Sequence[Trace]
    marks: Sequence[Mark] = ()
    style: Style = "lines"
    apart: bool = False


@dataclass(frozen=True)
class Span:
    """Neighbouring columns of a heat map, numbered evenly from `first` to `last`, with a heading."""

    first: float
    last: float
    count: int
    name: str = ""


@dataclass(frozen=True)
class Heat:
    """A matrix of values as colours.

    Parameters
    ----------
    title : str
    x, y : str
        Quantities of columns and rows.
    values : (rows, columns) float64
        Rows from the top; NaN is grey.
    value : str
        Quantity of the colours.
    columns : sequence of Span
        The columns, in parts that are drawn apart.
    rows : (first, last)
        Numbers of the first and the last row.
    low, high : float, optional
        Values at the ends of the colours; by default those of the data.
    log : bool
        Whether equal steps of the colours are equal ratios; cells of 0 are white.
    square : bool
        Whether cells are as high as wide.
    """

    title: str
    x: str
    y: str
    values: Floats
    value: str
    columns: Sequence[Span]
    rows: tuple[float, float]
    low: float | None = None
    high: float | None = None
    log: bool = False
    square: bool = False

    @cached_property
    def ends(self) -> tuple[float, float]:
        """Values at the ends of the colours; 0 lies in the middle where they have both signs."""
        known = self.values[np.isfinite(self.values) & ((self.values > 0) | (not self.log))]
        low = (float(known.min()) if known.size else 0.0) if self.low is None else self.low
        high = (float(known.max()) if known.size else 1.0) if self.high is None else self.high
        if self.log:
            return (low, high) if high > low else (high / 10, high)
        size = max(-low, high)
        return (-size, size) if low < 0 < high else (low, high) if high > low else (low - 0.5, low + 0.5)

    @property
    def centred(self) -> bool:
        """Whether the colours run from one hue over white at 0 to another."""
        return self.ends[0] == -self.ends[1]

    @property
    def colours(self) -> tuple[str, ...]:
        """The colours, low to high."""
        return BLUE_TO_RED if self.centred else LIGHT_TO_DARK[self.log :]


class Arrow(NamedTuple):
    """An arrow from the centre of a circle: angle in radians, length as a share of the radius."""

    name: str
    angle: float
    length: float = 1.0


class ArrowCircle(NamedTuple):
    """A circle with its arrows, and a name and notes below it."""

    name: str
    arrows: Sequence[Arrow]
    notes: Sequence[str] = ()


class Circles(NamedTuple):
    """Circles side by side, whose arrows have the same names; `legend` is what an arrow shows."""

    title: str
    circles: Sequence[ArrowCircle]
    legend: str


Chart = LineChart | Heat | Circles


def resampled(values: Floats, rows: int, columns: int, *, largest: bool = False, spread: bool = False) -> Floats:
    """Return a matrix of at most that size: cells merge to their mean, or their largest; with `spread` they repeat."""
    for axis, most in ((0, rows), (1, columns)):
        size = values.shape[axis]
        count = most if spread else min(most, size)
        starts = np.arange(count) * size // count
        if largest or count >= size:
            values = np.maximum.reduceat(values, starts, axis=axis)
        else:
            sums, sizes = np.add.reduceat(values, starts, axis=axis), np.diff([*starts, size])
            values = sums / (sizes[:, None] if axis == 0 else sizes)
    return values


def printable(text: str) -> str:
    """Return text without control characters, which a terminal or a viewer would obey."""
    return "".join(c if c.isprintable() else "?" for c in text)


def within(text: str, width: int, lead: str = "") -> list[str]:
    """Return text as lines of a width, none of whose words is cut."""
    return textwrap.wrap(
        printable(text), width, initial_indent=lead, subsequent_indent=lead, break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip


def tick_text(value: float, base: int = 0) -> str:
    """Return a tick as text: 0.25, 4000, 1e6; on an axis of powers of two, 1/4."""
    if base == 2 and 0 < value < 1:
        return f"1/{1 / value:g}"
    if math.isfinite(value) and value != 0 and (abs(value) >= 1e5 or abs(value) < 1e-3):
        mantissa, _, exponent = f"{value:.2e}".partition("e")
        return f"{mantissa.rstrip('0').rstrip('.')}e{int(exponent)}"
    return f"{round(value, 6):g}"


def chosen(
    makers: Mapping[str, Callable[[], list[Chart]]], words: Sequence[str], known: Sequence[str], name: str
) -> list[Chart]:
    """Return the pictures that these words name; of no word or of all, all that the makers give.

    Raises
    ------
    UnknownName, BadParameter
        For a word that is no picture, and for a picture that `name` does not have.
    """
    if wrong := next((word for word in words if word not in known), None):
        raise UnknownName("picture", wrong, known)
    words = () if "all" in words else words
    made = {word: makers[word]() for word in words or makers if word in makers}
    for word in words:
        if not made.get(word):
            others = [other for other, make in makers.items() if other != word and make()]
            rule = f"cannot be drawn of {name}: choose {', '.join(others)}" if others else f"cannot be drawn of {name}"
            raise BadParameter("kind", word, rule)
    return [chart for word in words or makers for chart in made.get(word, [])]


BLUE_TO_RED = (
    "#053061", "#2166ac", "#4393c3", "#92c5de", "#d1e5f0", "#f7f7f7",
    "#fddbc7", "#f4a582", "#d6604d", "#b2182b", "#67001f",
)  # fmt: skip
LIGHT_TO_DARK = ("#fcfdbf", "#fec287", "#fb8761", "#e65163", "#b63679", "#822681", "#51127c", "#1c1044", "#000004")
# Colours of lines: those of Okabe and Ito, which the colour-blind tell apart, the yellow darker.
LINES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#c98a00", "#56b4e9", "#7f7f7f", "#8c564b")
MASKED, EQUAL = "#bbbbbb", "#f7f7f7"  # cells that are not finite, and of a logarithmic map, those of 0
