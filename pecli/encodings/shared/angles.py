"""Tables of angles that were not reduced: which rotations have frequencies as their columns rise by."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction

import numpy as np

from pecli.declare.encoding import REGISTRY
from pecli.declare.guess import Guess
from pecli.measures.evidence import Evidence
from pecli.measures.rises import Rises
from pecli.measures.spectra import LEVELS, SHORT, Measured, Spectrum
from pecli.numbers.positions import fraction_text
from pecli.numbers.shortest import as_decimal, decimal_exactly, digits, shortest
from pecli.numbers.text import number_text

MOST = 4  # rules of one arithmetic that are tried: the cheapest
STEPS = ("float32", "bfloat16")  # arithmetics that frameworks compute angles in
Rule = Callable[[Measured], Iterator[Spectrum]]


def angles(name: str, evidence: Evidence, rule: Rule, more: dict[str, str], cost: float = 0.0) -> Iterator[Guess]:
    """Yield tables of angles of an encoding whose frequencies follow a rule, exact and as frameworks compute them.

    Parameters
    ----------
    name : str
        Of the encoding.
    evidence : Evidence
    rule : callable
        Of measured frequencies, what they may be.
    more : dict of str
        Further parameters.
    cost : float
        Of the encoding, in digits.
    """
    rises = evidence.rising
    if rises is None:
        return
    pairs = len(rises.steps) + rises.resting
    for level in LEVELS:
        found = [
            (width, spectrum)
            for width in widths(name, pairs)
            for spectrum in rule(Measured(rises.steps, rises.errors, width / 2).at(level))
            if width % 2 == 0 or digits(Decimal(spectrum.keys.get("base", "1"))) <= SHORT
        ]
        for width, spectrum in sorted(found, key=lambda one: one[1].cost + one[0] % 2)[:MOST]:
            placed = _placed(rises, spectrum, evidence)
            if placed is None or (rises.resting and "scaling" in {**spectrum.keys, **placed[0]}):
                continue
            part = resting_keys(len(rises.steps), pairs)
            keys = {**width_keys(width), **spectrum.keys, **placed[0], **part, **more}
            own = Guess(name, keys, placed[1], spectrum.cost + cost + width % 2, level, free=("base",))
            yield own
            for number, arithmetic in enumerate(STEPS, 1):
                yield Guess(
                    name, keys, {**placed[1], "arithmetic": arithmetic}, own.cost + number, level, free=own.free
                )
        if found:
            return


def widths(name: str, pairs: int) -> tuple[int, ...]:
    """Return what rotates in so many pairs: twice as many columns, or one less where an encoding takes an odd width."""
    return (2 * pairs, 2 * pairs - 1) if "rotary_dim" in REGISTRY[name].parameters else (2 * pairs,)


def width_keys(width: int) -> dict[str, str]:
    """Return the parameters of a width."""
    return {"dim": str(width + width % 2), **({"rotary-dim": str(width)} if width % 2 else {})}


def resting_keys(turning: int, pairs: int) -> dict[str, str]:
    """Return the parameters of pairs of which the last ones rest; none where all turn."""
    share = number_text(Decimal(turning) / Decimal(pairs))
    return {"scaling": "proportional", "partial": share} if turning < pairs else {}


def _placed(rises: Rises, spectrum: Spectrum, evidence: Evidence) -> tuple[dict[str, str], dict[str, str]] | None:
    """Return a step below 1 as linear scaling, and the table's keys; None where its positions are no decimals."""
    table, inverse, whole = {"layout": "angles", **evidence.length}, 1 / spectrum.step, rises.sharp == 0
    if inverse > 1 and decimal_exactly(inverse) and whole and "scaling" not in spectrum.keys:
        start = {"start": f"{rises.first:.0f}"} if rises.first else {}
        return {"scaling": "linear", "factor": fraction_text(inverse)}, {**table, **start}
    if not decimal_exactly(spectrum.step) or digits(as_decimal(spectrum.step)) > SHORT:
        return None
    first = Fraction(rises.first) * spectrum.step
    if not whole:
        about, sharp = rises.start(spectrum.frequencies, float(spectrum.step))
        if not np.isfinite(about):
            return None
        first = Fraction(round(about)) if abs(about - round(about)) <= sharp else _short(about - sharp, about + sharp)
    table |= {"start": fraction_text(first)} if first else {}
    return {}, table | ({"step": fraction_text(spectrum.step)} if spectrum.step != 1 else {})


def _short(low: float, high: float) -> Fraction:
    """Return the shortest number between two of one sign."""
    return -Fraction(shortest(-high, -low)) if high < 0 else Fraction(shortest(low, high))
