"""What was measured beside what is asked, as a picture: ``python -m tests.bench --chart FILE.svg``."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from math import log2

from tests.bench.rows import Row

LEFT, WIDE, LINE, TOP = 620, 300, 20, 64
ENDS = 2.0  # twofold either way: longer bars are cut
REACHED, SHORT, INK = "#4477aa", "#cc6677", "#222222"


def margin(row: Row) -> float:
    """Return by how many doublings a figure is better than what is asked; negative where it falls short."""
    assert row.value is not None
    ratio = row.value / row.reach if row.unit == "x faster" else row.reach / row.value
    return max(-ENDS, min(ENDS, log2(ratio)))


def svg(rows: Sequence[Row], caption: str) -> str:
    """Return bars from a line: to the right what is better than asked, to the left what falls short."""
    measured = [row for row in rows if row.value is not None]
    height, middle = TOP + LINE * len(measured) + 16, LEFT + WIDE / 2
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + WIDE + 80} {height}" '
            f'font-family="Helvetica, Arial, sans-serif" font-size="12" fill="{INK}">'
        ),
        f'<rect width="100%" height="{height}" fill="#ffffff"/>',
        f'<text x="12" y="22" font-size="14" font-weight="bold">{escape(caption)}</text>',
    ]
    for doublings, said in ((-1, "half of it"), (0, "as asked"), (1, "twice as good")):
        x = middle + doublings * WIDE / 2 / ENDS
        parts.append(f'<text x="{x:.0f}" y="{TOP - 14}" text-anchor="middle" fill="#666666">{said}</text>')
        parts.append(f'<path d="M{x:.0f} {TOP - 8}V{height - 10}" stroke="#bbbbbb"/>')
    for number, row in enumerate(measured):
        far, y = margin(row) * WIDE / 2 / ENDS, TOP + LINE * number
        colour = REACHED if row.reached else SHORT
        parts += [
            f'<text x="{LEFT - 10}" y="{y + 13}" text-anchor="end">{escape(row.what)}</text>',
            (
                f'<rect x="{middle + min(far, 0):.1f}" y="{y + 3}" width="{max(abs(far), 1):.1f}" height="13" '
                f'fill="{colour}"/>'
            ),
            f'<text x="{LEFT + WIDE + 8}" y="{y + 13}">{escape(row.figure)}</text>',
        ]
    return "\n".join([*parts, "</svg>"]) + "\n"
