"""Charts as data: lines, bars, heat maps, arrows on circles; scales of axes, and colours."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pecli.errors import BadParameter, UnknownName

TICKS = 6


@dataclass(frozen=True)
class Axis:
    """One axis of a chart.

    Parameters
    ----------
    label : str
        Quantity and unit.
    log : bool
        Whether equal steps are equal ratios.
    low, high : float, optional
        Ends; by default those of the data.
    whole : bool
        Whether only whole numbers are ticks, as for heads.
    halves : bool
        Whether a logarithmic axis has its ticks at powers of two, as slopes are.
    """

    label: str
    log: bool = False
    low: float | None = None
    high: float | None = None
    whole: bool = False
    halves: bool = False


@dataclass(frozen=True)
class Trace:
    """A line: points in order, with a name for the legend."""

    name: str
    x: Sequence[float]
    y: Sequence[float]


@dataclass(frozen=True)
class Mark:
    """A vertical line at `x`, with its label."""

    x: float
    label: str


@dataclass(frozen=True)
class LineChart:
    """Lines in one frame; with `dots` each point is marked."""

    title: str
    x: Axis
    y: Axis
    series: Sequence[Trace]
    marks: Sequence[Mark] = field(default_factory=tuple)
    dots: bool = False


@dataclass(frozen=True)
class BarLayer:
    """One layer of stacked bars: a height for each bar, drawn stronger or fainter (0 to 1)."""

    name: str
    heights: Sequence[float]
    strength: float = 1.0


@dataclass(frozen=True)
class BarChart:
    """Stacked bars over whole numbers from 0."""

    title: str
    x: Axis
    y: Axis
    parts: Sequence[BarLayer]


@dataclass(frozen=True)
class Span:
    """Columns of a map that are numbered evenly: their first and last number, how many they are, and their name."""

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
        What columns and rows are.
    values : list of list of float
        Rows from the top; NaN and infinity are grey.
    value : str
        What the colours stand for.
    columns : sequence of Span
        Numbers of the columns; of several kinds, one span for each.
    rows : (first, last)
        Numbers of the first and the last row.
    centred : bool
        Whether colours run from one side over white at 0 to the other.
    low, high : float, optional
        Values of the ends of the colours; by default those of the data.
    square : bool
        Whether both axes count the same, so that the map is as high as wide.
    """

    title: str
    x: str
    y: str
    values: Sequence[Sequence[float]]
    value: str
    columns: Sequence[Span]
    rows: tuple[float, float]
    centred: bool = True
    low: float | None = None
    high: float | None = None
    square: bool = False

    def ends(self) -> tuple[float, float]:
        """Return the values of the ends of the colours."""
        finite = [v for row in self.values for v in row if abs(v) < float("inf")]
        low = min(finite, default=0.0) if self.low is None else self.low
        high = max(finite, default=1.0) if self.high is None else self.high
        if self.centred:
            size = max(abs(low), abs(high)) or 1.0
            return -size, size
        return (low, high) if high > low else (low - 0.5, low + 0.5)


@dataclass(frozen=True)
class Arrow:
    """One arrow from the middle of a circle: angle in radians, length as a share of the radius; `before` is dashed."""

    name: str
    angle: float
    length: float = 1.0
    before: bool = False


@dataclass(frozen=True)
class Arc:
    """An angle between two arrows, in radians, at a share of the radius."""

    name: str
    start: float
    stop: float
    radius: float


@dataclass(frozen=True)
class Circles:
    """Arrows on circles side by side, one circle for each rotating pair.

    Parameters
    ----------
    title : str
    circles : list of (str, list of Arrow)
        Name of each circle, and its arrows in order.
    legend : str
        What an arrow is.
    arcs : list of list of Arc
        Angles of each circle.
    notes : list of str
        A line below each name.
    """

    title: str
    circles: Sequence[tuple[str, Sequence[Arrow]]]
    legend: str
    arcs: Sequence[Sequence[Arc]] = ()
    notes: Sequence[str] = ()


Framed = LineChart | BarChart
Chart = Framed | Heat | Circles


@dataclass(frozen=True)
class Scale:
    """From values to shares of an axis, and where its ticks are."""

    low: float
    high: float
    log: bool
    ticks: tuple[float, ...]

    def place(self, value: float) -> float:
        """Return where a value lies, 0 at the low end and 1 at the high one."""
        if self.log:
            value = max(value, self.low)
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)


def scale_of(axis: Axis, values: Iterable[float]) -> Scale:
    """Return the scale of an axis for these values; ends are moved outwards to ticks where they are not given."""
    finite = [v for v in values if math.isfinite(v) and not (axis.log and v <= 0)]
    low = axis.low if axis.low is not None else min(finite, default=1.0 if axis.log else 0.0)
    high = axis.high if axis.high is not None else max(finite, default=10.0 if axis.log else 1.0)
    if not high > low:
        low, high = (low / 2, low * 2) if axis.log and low > 0 else (low - 0.5, low + 0.5)
    if axis.log and axis.halves:
        powers = range(math.floor(math.log2(low) + 1e-9), math.ceil(math.log2(high) - 1e-9) + 1)
        every = max(1, math.ceil(len(powers) / (2 * TICKS)))
        low, high = 2.0 ** powers[0], 2.0 ** powers[-1]
        return Scale(low, high, True, tuple(2.0**k for k in powers if k % every == 0))
    if axis.log:
        decades = range(math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9) + 1)
        every = max(1, math.ceil(len(decades) / TICKS))
        ticks = tuple(10.0**k for k in decades if k % every == 0)
        return Scale(low, high, True, ticks or (low, high))
    step = _step(high - low)
    if axis.whole:
        step = 1.0 if high - low <= 2 * TICKS else max(1.0, step)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    if axis.low is None:
        low = first * step
    if axis.high is None:
        high = last * step
    ticks = tuple(k * step for k in range(first, last + 1) if low - step * 1e-9 <= k * step <= high + step * 1e-9)
    return Scale(low, high, False, ticks)


def _step(span: float) -> float:
    """Return 1, 2 or 5 times a power of ten that divides a span into about `TICKS` parts."""
    raw = span / TICKS
    power = 10.0 ** math.floor(math.log10(raw))
    return next(m * power for m in (1, 2, 5, 10) if m * power >= raw * 0.999)


def some_of(count: int, most: int) -> list[int]:
    """Return numbers 0 .. count-1: all of them, or `most`, the first, the last and some between."""
    return sorted({round(i * (count - 1) / max(1, min(count, most) - 1)) for i in range(min(count, most))})


def printable(text: str) -> str:
    """Return text without control characters, which a terminal or a viewer would obey."""
    return "".join(c if c.isprintable() else "?" for c in text)


def within(text: str, width: int, lead: str = "") -> list[str]:
    """Return text as lines of a width, none of whose words is cut."""
    return textwrap.wrap(
        printable(text), width, initial_indent=lead, subsequent_indent=lead, break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip


def tick_text(value: float, axis: Axis | None = None) -> str:
    """Return a tick as text: 0.25, 4000, 1e6; of an axis of powers of two, 1/4."""
    if axis is not None and axis.halves and 0 < value < 1:
        return f"1/{1 / value:g}"
    if value != 0 and (abs(value) >= 1e5 or abs(value) < 1e-3):
        mantissa, _, exponent = f"{value:.2e}".partition("e")
        return f"{mantissa.rstrip('0').rstrip('.')}e{int(exponent)}"
    return f"{round(value, 6):g}"


def scales(chart: Framed) -> tuple[Scale, Scale]:
    """Return the scales of both axes of a chart."""
    if isinstance(chart, LineChart):
        across = [v for s in chart.series for v in s.x] + [m.x for m in chart.marks]
        return scale_of(chart.x, across), scale_of(chart.y, [v for s in chart.series for v in s.y])
    count = len(chart.parts[0].heights)
    tops = [sum(heights) for heights in zip(*(p.heights for p in chart.parts), strict=True)]
    middles = scale_of(Axis(chart.x.label, low=-0.5, high=max(1, count) - 0.5, whole=True), ())  # a bar's number
    return middles, scale_of(chart.y, [0.0, *tops])


def check_words(words: Sequence[str], known: Sequence[str]) -> None:
    """Raise UnknownName for a word that is no picture."""
    for word in words:
        if word not in known:
            raise UnknownName("picture", word, known)


def chosen(makers: Mapping[str, Callable[[], list[Chart]]], words: Sequence[str], name: str) -> list[Chart]:
    """Return the pictures that these words name, or all that the makers give.

    Raises
    ------
    BadParameter
        For a picture that `name` has not.
    """
    made = {word: makers[word]() for word in words or makers if word in makers}
    for word in words:
        if not made.get(word):
            others = [other for other, make in makers.items() if other != word and make()]
            rule = f"cannot be drawn of {name}, which has no such thing: {' and '.join(others) or 'nothing'} can"
            raise BadParameter("picture", word, rule)
    return [chart for word in words or makers for chart in made.get(word, [])]


BLUE_TO_RED = (
    "#053061", "#2166ac", "#4393c3", "#92c5de", "#d1e5f0", "#f7f7f7",
    "#fddbc7", "#f4a582", "#d6604d", "#b2182b", "#67001f",
)  # fmt: skip
CUBE_BLUE_TO_RED = (  # of a terminal's 216 colours, of which the nearest to a dark red is a magenta
    "#00005f", "#000087", "#005faf", "#0087d7", "#5fafd7", "#87afd7", "#afd7ff", "#d7d7ff", "#ffffff",
    "#ffd7d7", "#ffaf87", "#ff875f", "#ff5f5f", "#d75f5f", "#d70000", "#af0000", "#5f0000",
)  # fmt: skip
LIGHT_TO_DARK = ("#fcfdbf", "#fec287", "#fb8761", "#e65163", "#b63679", "#822681", "#51127c", "#1c1044", "#000004")
HIDDEN = "#bbbbbb"
SHADES = 255  # of a map; one more colour is left for what is hidden


def palette(heat: Heat) -> tuple[str, ...]:
    """Return the colours of a heat map, low to high."""
    return BLUE_TO_RED if heat.centred else LIGHT_TO_DARK


def shade(share: float, colours: Sequence[str], steps: int = SHADES) -> str:
    """Return the colour at a fraction of `steps` between the palette's colours; grey for NaN."""
    if share != share:
        return HIDDEN
    place = round(min(1.0, max(0.0, share)) * (steps - 1)) / (steps - 1) * (len(colours) - 1)
    i = min(int(place), len(colours) - 2)
    pairs = zip(rgb(colours[i]), rgb(colours[i + 1]), strict=True)
    return "#" + "".join(f"{round(a + (b - a) * (place - i)):02x}" for a, b in pairs)


def rgb(colour: str) -> tuple[int, int, int]:
    """Return red, green and blue of a colour."""
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)
