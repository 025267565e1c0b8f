"""Numbers of a recipe from the values themselves: the ones that give these values, whatever the encoding.

A table is a function of its numbers; its change with one of them, by difference, and the half unit by which a
value may be off say how far the number may be moved.  What all values allow is the number's range, and the
shortest decimal in it is what somebody chose.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np

from pecli.declare.encoding import REGISTRY
from pecli.declare.guess import Guess
from pecli.declare.plan import Plan
from pecli.errors import PecliError
from pecli.identification.trial import make, pairs_of, read_rows, try_guess
from pecli.measures.arithmetics import ROUNDED
from pecli.measures.computing import spacing
from pecli.measures.evidence import Evidence
from pecli.measures.overlaps import overlap
from pecli.measures.samples import Floats
from pecli.measures.spectra import SHORT
from pecli.numbers.shortest import digits, price, shortest
from pecli.numbers.text import number_text

ROWS = 256  # at the beginning and at the end of a table
PLACES = 8  # where rows are read
MOST = 1 << 16  # values of them that tell what to try
NUDGE = 2.0**-20  # relative change of a number whose effect is measured
STEPS = 8  # of Newton's method: it starts where angles are right to a fraction of a turn
PATIENCE = 3  # of them after which they must become smaller
FAR = 0.25  # share of the largest value: what is farther off is spoiled, or not yet placed
OUTLYING = 6.0  # half units, or usual differences, beyond which a value is spoiled
SETTLED = 1e-15
ANY = ("base", "temperature")  # numbers that are chosen with many digits
WIDTHS = (1.0, 4.0)  # standard errors, times three, in which a number is looked for where roundings add up
TELLING = 5  # digits of a number that somebody would have chosen
CHANCE = Decimal("0.001")  # of a number of so few digits in a range that says something
MARGINS = (0.9999, 0.98, 0.5, 0.2)  # of a range, whose ends are computed to some digits


@dataclass(frozen=True)
class Fit:
    """Where a number may lie, as logarithms relative to the value given: by every value, by most, and on average."""

    value: float
    low: float
    high: float
    mean: float
    error: float
    most: tuple[float, float] | None = None

    def intervals(self) -> Iterator[tuple[float, float]]:
        """Yield the ends that the number may lie between, what every value allows first."""
        if self.low <= self.high:
            yield self._ends(self.low, self.high)
        if self.most is not None:
            yield self._ends(*self.most)
        for width in WIDTHS:
            yield self._ends(self.mean - 3 * width * self.error, self.mean + 3 * width * self.error)

    def _ends(self, low: float, high: float) -> tuple[float, float]:
        return self.value * float(np.exp(low)), self.value * float(np.exp(high))


def number_of(guess: Guess, name: str) -> Decimal | None:
    """Return a single number that was fitted; None for lists and whole numbers."""
    parameter, text = REGISTRY[guess.name].parameters[name.replace("-", "_")], chosen(guess, name)
    if not text or "+" in text or text.startswith("("):
        return None
    try:
        parameter.parse("1.5")
    except PecliError:
        return None
    return Decimal(text)


def chosen(guess: Guess, name: str) -> str:
    """Return what a parameter is, its default included; empty where it is none."""
    default = REGISTRY[guess.name].parameters[name.replace("-", "_")].default
    return guess.keys.get(name, "" if default is None else str(default))


def with_number(guess: Guess, name: str, value: Decimal | float) -> Guess:
    """Return the guess with another number."""
    text = number_text(value if isinstance(value, Decimal) else Decimal(repr(value)))
    return replace(guess, keys={**guess.keys, name: text})


def refitted(guess: Guess, evidence: Evidence) -> Iterator[Guess]:
    """Yield a guess with its fitted numbers as the values have them, one after the other the shortest."""
    for name in guess.free[:1]:  # the others are chosen among usual ones
        if number_of(guess, name) is None:
            continue
        fit = fit_number(guess, name, evidence, most=MOST)
        if fit is None:
            continue
        seen = set()
        for low, high in fit.intervals():
            value = shortest(low, high)
            if value > 0 and value not in seen and (name in ANY or digits(value) <= SHORT):
                seen.add(value)
                extra = price(value) - price(number_of(guess, name) or value)
                yield replace(with_number(guess, name, value), cost=guess.cost + extra)


def fit_number(
    guess: Guess, name: str, evidence: Evidence, rounded: Mapping[str, float] = ROUNDED, *, most: int | None = None
) -> Fit | None:
    """Return where one number of a guess may lie; None where the values do not depend on it.

    `rounded` is what steps before the last rounding may add to half a unit, relative, by grain; so many values are
    asked at `most`, of rows here and there.
    """
    given = number_of(guess, name)
    assert given is not None
    value, before = float(given), np.inf
    for step in range(STEPS):
        try:
            told = _told(guess, name, value, evidence, most)
        except PecliError:
            return None
        if told is None:
            return None
        rest, slope, half, size = told
        kept = np.abs(rest) <= OUTLYING * np.maximum(half, np.median(np.abs(rest)))
        rest, slope, half, size = rest[kept], slope[kept], half[kept], size[kept]
        total = float(slope @ slope)
        mean = float(slope @ rest) / total
        error = float(np.sqrt(((rest - slope * mean) ** 2).mean() / total)) + SETTLED
        if not np.isfinite(mean) or (abs(mean) > 1 and step == STEPS - 1):
            return None
        if abs(mean) <= max(error, SETTLED) or step == STEPS - 1:
            break  # what was told is of this value
        if step >= PATIENCE and abs(mean) > before / 2:
            return None  # these are no values of it: each step would be halved at least
        before = abs(mean)
        value *= float(np.exp(np.clip(mean, -1, 1)))
    half = half + rounded.get(evidence.sample.grain, 0.0) * size
    away = np.abs(rest - slope * mean)
    kept = away <= OUTLYING * np.maximum(half, np.median(away))
    rest, slope, half = rest[kept], slope[kept], half[kept]
    ends = (rest - half) / slope, (rest + half) / slope
    lows, highs = np.minimum(*ends), np.maximum(*ends)
    low, high = float(lows.max()), float(highs.min())
    return Fit(value, low, high, mean, error, None if low <= high else overlap(lows, highs)[:2])


def _told(
    guess: Guess, name: str, value: float, evidence: Evidence, most: int | None
) -> tuple[Floats, Floats, Floats, Floats] | None:
    """Return differences from a recipe's values, their change with the number's logarithm, half a unit, sizes: (k,).

    Of values that say something, and are not spoiled.
    """
    here = _laid(with_number(guess, name, value), evidence, most)
    there = _laid(with_number(guess, name, value * (1 + NUDGE)), evidence, most)
    if here is None or there is None:
        return None
    theirs, mine = here
    with np.errstate(invalid="ignore"):
        slope, rest = (there[1] - mine) / NUDGE, theirs - mine
        good = np.isfinite(rest) & np.isfinite(slope) & (slope != 0)
        good &= np.abs(rest) <= FAR * max(float(np.abs(mine[np.isfinite(mine)]).max(initial=0.0)), 1e-300)
    rest, slope = rest[good], slope[good]
    telling = np.abs(slope) > 1e-6 * np.abs(slope).max(initial=0.0)
    size = np.abs(theirs[good][telling])
    half = spacing(size, evidence.sample.grain) / 2
    return (rest[telling], slope[telling], half, size) if telling.any() else None


def _laid(guess: Guess, evidence: Evidence, most: int | None) -> tuple[Floats, Floats] | None:
    """Return values of the file and of a guess, in double precision, side by side: of fewer rows where few will do."""
    pairs = pairs_of(guess, make(guess, "float64"), evidence)
    if pairs is None:
        return None
    parts: tuple[list[Floats], list[Floats]] = [], []
    for pair in pairs:
        rows, window = pair[0].rows, evidence.window or slice(0, pair[0].rows)
        first, stop = window.start, min(window.stop, rows)
        spans = [(first, stop)] if stop - first <= 2 * ROWS else [(first, first + ROWS), (stop - ROWS, stop)]
        if most is not None and sum(b - a for a, b in spans) * pair[0].row_size * len(pairs) > 2 * most:
            short = max(1, most // (PLACES * pair[0].row_size * len(pairs)))
            places = {a + (b - a - short) * k // (PLACES - 1) for a, b in spans for k in range(0, PLACES, len(spans))}
            spans = [(at, at + short) for at in sorted(places)]
        for lane, part in zip(pair, parts, strict=True):
            part.extend(read_rows(lane, *span).reshape(-1) for span in spans)
    return np.concatenate(parts[0]), np.concatenate(parts[1])


def ranges_of(guess: Guess, evidence: Evidence) -> dict[str, tuple[str, str]]:
    """Return the ends of every fitted number whose neighbours give the same values."""
    found = {}
    for name in guess.free:
        value = number_of(guess, name)
        if value is None:
            whole = guess.keys.get(name, "")
            ends = [_whole_end(guess, name, int(whole), side, evidence) for side in (-1, 1)] if whole.isdigit() else []
        else:
            fit = fit_number(guess, name, evidence, {}) if value > 0 else None
            ends = [] if fit is None or fit.low > fit.high else [
                _end(guess, name, value, fit.value * float(np.exp(e)), evidence) for e in (fit.low, fit.high)
            ]  # fmt: skip
        low, high = (f"{end:.12g}" for end in ends) if ends else ("", "")
        if low != high:
            found[name] = (low, high)
    return found


def _same(guess: Guess, evidence: Evidence, known: Plan | None = None) -> bool:
    """Whether a guess gives all values: those of a plan that does, or others that are rounded to the same."""
    try:
        if known is not None and make(guess, "float64").plan == known:
            return True
    except PecliError:
        return False
    trial = try_guess(guess, evidence)
    return trial is not None and trial.equal == 1.0


def _whole_end(guess: Guess, name: str, value: int, side: int, evidence: Evidence) -> float:
    """Return how far a whole number may be moved to one side: by ever larger steps, then by smaller ones."""
    known = make(guess, "float64").plan

    def same(number: int) -> bool:
        return number > 0 and _same(replace(guess, keys={**guess.keys, name: str(number)}), evidence, known)

    good, step = value, 1
    while step < value and same(good + side * step):
        good, step = good + side * step, 2 * step
    while step > 1:
        step //= 2
        good += side * step if same(good + side * step) else 0
    return float(good)


def _end(guess: Guess, name: str, value: Decimal, end: float, evidence: Evidence) -> float:
    """Return how far a number may be moved to one side: as far as was computed, less where that is not so."""
    for share in MARGINS:
        there = float(value) + share * (end - float(value))
        if _same(with_number(guess, name, there), evidence):
            return there
    return float(value)


def near_ranges(guess: Guess, evidence: Evidence) -> dict[str, tuple[str, str]]:
    """Return from where to where the first fitted number gives nearly the same values."""
    name = guess.free[0] if guess.free else ""
    fit = fit_number(guess, name, evidence) if name and number_of(guess, name) else None
    if fit is None:
        return {}
    low, high = next(iter(fit.intervals())) if fit.low <= fit.high else list(fit.intervals())[-1]
    ends = f"{low:.12g}", f"{high:.12g}"
    holds = low <= float(chosen(guess, name)) <= high  # else what is spoiled has moved it
    return {name: ends} if ends[0] != ends[1] and holds else {}


def wide(value: str, ends: tuple[str, str]) -> bool:
    """Whether a range holds other numbers that somebody may have meant: of as few digits, or of five.

    Any range holds some short number: this one must be shorter than chance would have it.
    """
    chosen = Decimal(value)
    unit = Decimal(1).scaleb(chosen.adjusted() - max(TELLING, digits(chosen) + 1) + 1)
    low, high = map(Decimal, ends)
    by_chance = (high - low) > CHANCE * Decimal(1).scaleb(chosen.adjusted() - digits(chosen) + 1)
    return chosen - unit >= low or chosen + unit <= high or by_chance


def said(ranges: Mapping[str, tuple[str, str]], words: str = "gives these values") -> tuple[str, ...]:
    """Say what ranges leave, where that is more than a difference in the tenth digit."""
    return tuple(
        f"{name}: any from {low} to {high} {words}"
        for name, (low, high) in ranges.items()
        if f"{float(low):.9g}" != f"{float(high):.9g}"
    )


def room_for(others: Sequence[str]) -> str:
    """Say which other recipes give the same values."""
    if len(others) == 1:
        return f"the values leave room for another choice: {others[0]}"
    return f"the values leave room for {len(others)} other choices, such as {others[0]}"
