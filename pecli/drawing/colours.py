"""Colours of heat maps: two palettes, and the colour at a share of the way through one."""

from __future__ import annotations

from collections.abc import Sequence

from pecli.drawing.charts import Heat

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
