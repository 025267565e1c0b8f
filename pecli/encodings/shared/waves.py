"""Parameters of rotations that a reading of turning pairs stands for."""

from __future__ import annotations

from pecli.measures.evidence import Evidence
from pecli.measures.wave import Wave, underflowed
from pecli.measures.wave_keys import table_keys


def rotary_layout(wave: Wave) -> str | None:
    """Return the layout of a rotary table that has its pairs so; None where it is none of one."""
    layout = wave.reading.layout
    if layout == "concat" or (wave.reading.family == "absolute" and layout == "cos-sin"):
        return "sin-cos" if wave.lines.swapped else "concat"
    return layout if wave.reading.family == "rotary" else None


def rotary_keys(wave: Wave, evidence: Evidence) -> tuple[dict[str, str], dict[str, str]] | None:
    """Return width and base, and the table's keys, of an unscaled rotation of every pair; None if it is none."""
    layout, table = rotary_layout(wave), table_keys(wave)
    resting = wave.lines.resting.any() and not underflowed(wave)
    swapped = wave.lines.swapped and layout != "sin-cos"
    if layout is None or table is None or resting or swapped or wave.reading.blank or wave.reading.tail:
        return None
    if wave.magnitude != 1:
        return None
    keys = {"dim": str(2 * len(wave.lines.resting))}
    if "base" in wave.spectrum.keys:
        keys["base"] = wave.spectrum.keys["base"]
    return keys, {**table, "layout": layout, **evidence.length}
