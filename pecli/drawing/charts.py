"""Charts as data, and how an axis is divided."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from pecli.drawing.fields import Circles, Heat

TICKS = 6


@dataclass(frozen=True)
class Axis:
    """What runs along one side of a chart.

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
    """

    label: str
    log: bool = False
    low: float | None = None
    high: float | None = None
    whole: bool = False


@dataclass(frozen=True)
class Trace:
    """A line: points in order, with a name for the legend."""

    name: str
    x: Sequence[float]
    y: Sequence[float]


@dataclass(frozen=True)
class Mark:
    """A vertical line at `x`, with what it means."""

    x: float
    label: str


@dataclass(frozen=True)
class LineChart:
    """LineChart in one frame."""

    title: str
    x: Axis
    y: Axis
    series: Sequence[Trace]
    marks: Sequence[Mark] = field(default_factory=tuple)


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
    if axis.log:
        decades = range(math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9) + 1)
        every = max(1, math.ceil(len(decades) / TICKS))
        ticks = tuple(10.0**k for k in decades if k % every == 0)
        return Scale(low, high, True, ticks or (low, high))
    step = max(1.0, _step(high - low)) if axis.whole else _step(high - low)
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
    """Return text without what a terminal or a viewer would obey."""
    return "".join(c if c.isprintable() else "?" for c in text)


def tick_text(value: float) -> str:
    """Return a tick as text: 0.25, 4000, 1e6."""
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
    whole = scale_of(Axis(chart.x.label, low=0, high=max(1, count)), ())
    return whole, scale_of(chart.y, [0.0, *tops])
