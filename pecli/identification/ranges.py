"""Numbers of a recipe that the values leave room for: from which to which they would be the same."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from pecli.declare.encoding import REGISTRY, Parameter
from pecli.declare.guess import Guess
from pecli.errors import PecliError
from pecli.identification.trial import try_guess
from pecli.measures.evidence import Evidence

CLOSEST = 2e-6  # relative distance of a number that somebody would give: of six digits
WIDE = 1e-3  # relative width of a range in which other numbers are as likely
DOUBLINGS = 20  # of the closest distance, up to twice the number
HALVINGS = 8


def ranges_of(guess: Guess, evidence: Evidence) -> dict[str, tuple[str, str]]:
    """Return the ends of every fitted number whose neighbours give the same sample."""
    found = {}
    for name in guess.free:
        key = name.replace("-", "_")
        default = REGISTRY[guess.name].parameters[key].default
        text = guess.keys.get(name, "" if default is None else str(default))
        if not text or "+" in text or text.startswith("("):
            continue
        value = Decimal(text)
        whole = _is_whole(REGISTRY[guess.name].parameters[key])
        ends = tuple(_end(guess, name, value, side, whole, evidence) for side in (-1, 1))
        if ends != (value, value):
            found[name] = (f"{float(ends[0]):.9g}", f"{float(ends[1]):.9g}")
    return found


def _is_whole(parameter: Parameter) -> bool:
    """Whether a parameter takes whole numbers only."""
    try:
        parameter.parse("1.5")
    except PecliError:
        return True
    return False


def _end(guess: Guess, name: str, value: Decimal, side: int, whole: bool, evidence: Evidence) -> Decimal:
    """Return the farthest number on one side that gives the same sample, to some digits."""

    def same(distance: float) -> Decimal | None:
        other = value * Decimal(1 + side * distance)
        other = Decimal(round(other)) if whole else other
        if whole and other == value:
            return value
        trial = try_guess(replace(guess, keys={**guess.keys, name: f"{other:f}"}), evidence)
        return other if trial is not None and trial.equal == 1.0 else None

    good, distance = value, (1.0 / float(value) if whole else CLOSEST)
    low = 0.0
    for _ in range(DOUBLINGS):
        found = same(distance) if distance < 1 or side > 0 else None
        if found is None:
            break
        good, low, distance = found, distance, 2 * distance
    else:
        return good
    if low == 0.0:
        return value
    for _ in range(HALVINGS):
        middle = (low + distance) / 2
        found = same(middle)
        good, low, distance = (good, low, middle) if found is None else (found, middle, distance)
    return good


def wide(ends: tuple[str, str]) -> bool:
    """Whether a range holds other numbers that somebody may have meant."""
    low, high = float(ends[0]), float(ends[1])
    return high - low > WIDE * abs(high)
