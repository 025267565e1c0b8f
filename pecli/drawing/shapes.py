"""Shapes on paper: what every chart is laid out as once, and each kind of file writes in its own way.

Lengths are units of the paper, x from the left and y from the top.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Point = tuple[float, float]

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 760, 380, 74, 176, 46, 54
INK, FAINT, PAPER = "#222222", "#d9d9d9", "#ffffff"
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f", "#000000")  # Okabe and Ito
DASHES = ("", "7 3", "2 2", "8 3 2 3", "12 4", "4 4", "1 3", "10 2 2 2")
SIZE = 12  # of letters


@dataclass(frozen=True)
class Stroke:
    """Lines from point to point; `dash` counts ink and gap in turn."""

    lines: Sequence[Sequence[Point]]
    colour: str = INK
    width: float = 1.0
    dash: str = ""


@dataclass(frozen=True)
class Area:
    """Polygons, filled."""

    rings: Sequence[Sequence[Point]]
    colour: str
    opacity: float = 1.0


@dataclass(frozen=True)
class Disc:
    """A circle about a point: filled, or its line alone."""

    x: float
    y: float
    radius: float
    colour: str
    filled: bool = True


@dataclass(frozen=True)
class Words:
    """A line of text; y is where its letters stand."""

    x: float
    y: float
    text: str
    anchor: Literal["start", "middle", "end"] = "start"
    size: int = SIZE
    bold: bool = False
    turned: bool = False


@dataclass(frozen=True)
class Cells:
    """An image: rows of indices of colours, stretched to a box without blending."""

    x: float
    y: float
    wide: float
    high: float
    rows: Sequence[bytes]
    colours: Sequence[tuple[int, int, int]]


Shape = Stroke | Area | Disc | Words | Cells


def box(x: float, y: float, wide: float, high: float) -> list[Point]:
    """Return the corners of a rectangle."""
    return [(x, y), (x + wide, y), (x + wide, y + high), (x, y + high)]


def heading(text: str) -> Words:
    """Return the title of a chart."""
    return Words(LEFT, 24, text, size=14, bold=True)


def pen(number: int, width: float = 1.6) -> tuple[str, float, str]:
    """Return colour, width and dash of the line with this number; dashes show the lower where lines coincide."""
    return COLOURS[number % len(COLOURS)], width, DASHES[number % len(DASHES)]
