"""Charts of two dimensions as data: heat maps, and arrows on a circle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

BLUE_TO_RED = (
    "#053061", "#2166ac", "#4393c3", "#92c5de", "#d1e5f0", "#f7f7f7",
    "#fddbc7", "#f4a582", "#d6604d", "#b2182b", "#67001f",
)  # fmt: skip
LIGHT_TO_DARK = ("#fcfdbf", "#fec287", "#fb8761", "#e65163", "#b63679", "#822681", "#51127c", "#1c1044", "#000004")
HIDDEN = "#bbbbbb"
SHADES = 255  # of a map; one more colour is left for what is hidden


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
    columns, rows : (first, last)
        Numbers of the first and the last column and row.
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
    columns: tuple[float, float]
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
    """One arrow from the middle of a circle: angle in radians, length as a share of the radius."""

    name: str
    angle: float
    length: float = 1.0


@dataclass(frozen=True)
class Circles:
    """Arrows on circles side by side, one circle for each pair that turns.

    Parameters
    ----------
    title : str
    circles : list of (str, list of Arrow)
        Name of each circle, and its arrows in order.
    legend : str
        What an arrow is.
    """

    title: str
    circles: Sequence[tuple[str, Sequence[Arrow]]]
    legend: str


def palette(heat: Heat) -> tuple[str, ...]:
    """Return the colours of a heat map, low to high."""
    return BLUE_TO_RED if heat.centred else LIGHT_TO_DARK


def shade(share: float, colours: Sequence[str], steps: int = SHADES) -> str:
    """Return the colour at a share of the way, of `steps` between the palette's; grey for what is no number."""
    if share != share:
        return HIDDEN
    place = round(min(1.0, max(0.0, share)) * (steps - 1)) / (steps - 1) * (len(colours) - 1)
    i = min(int(place), len(colours) - 2)
    pairs = zip(rgb(colours[i]), rgb(colours[i + 1]), strict=True)
    return "#" + "".join(f"{round(a + (b - a) * (place - i)):02x}" for a, b in pairs)


def rgb(colour: str) -> tuple[int, int, int]:
    """Return red, green and blue of a colour."""
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)
