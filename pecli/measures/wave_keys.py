"""What an explanation of turning pairs says in a recipe: the table's own keys."""

from __future__ import annotations

from fractions import Fraction

from pecli.measures.wave import Wave
from pecli.numbers.positions import fraction_text
from pecli.numbers.shortest import decimal_exactly
from pecli.numbers.text import number_text


def table_keys(wave: Wave) -> dict[str, str] | None:
    """Return a table's keys for the positions of its rows; None where the step is no decimal."""
    if wave.chosen is not None:
        return {"positions": "+".join(str(int(p)) if p == int(p) else repr(float(p)) for p in wave.chosen)}
    found = {}
    if wave.start:
        found["start"] = number_text(wave.start)
    if wave.step != 1:
        if not decimal_exactly(wave.step):
            return None
        found["step"] = fraction_text(wave.step)
    return found


def rows_between(wave: Wave, step: Fraction) -> Fraction:
    """Return the first position in units of a step, whole where it is as good as whole."""
    start = Fraction(wave.start) / step
    loose = min(Fraction(1, 10**6) * (1 + abs(start)), Fraction(1, 1000))  # of a first position of seven digits
    return Fraction(round(start)) if abs(start - round(start)) < loose else start
