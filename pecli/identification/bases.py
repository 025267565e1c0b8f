"""Bases that rounded frequencies and values may come from: which ones, from where to where, and the shortest."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property

import numpy as np

from pecli.declare.guess import Guess
from pecli.declare.plan import Waves
from pecli.errors import PecliError
from pecli.identification.computed import Workings
from pecli.identification.trial import make
from pecli.measures.arithmetics import ROUNDED, spread_rows
from pecli.measures.computing import AFTER, spacing
from pecli.measures.evidence import Evidence
from pecli.measures.overlaps import overlap
from pecli.measures.samples import Floats, rounded
from pecli.measures.wave import NARROW
from pecli.numbers.shortest import price, shortest
from pecli.numbers.text import number_text

QUARTER = np.pi / 2
NUDGE = 2.0**-20  # relative change of a base, whose effect is measured
NONE = 1e-6  # of a power: that of no base
FARTHEST = 1.0  # logarithm by which a base may be off
TURNED = 2 * 2.0**-24  # roundings of an angle in float32, of its size
OUTLYING = 8.0  # half units, or usual differences, beyond which a value is spoiled
OVERLAP = 0.9  # share of the pairs whose frequencies must allow a base: a value spoiled, and one is off
LEAST_STEP = 2.0**-44  # of a base's logarithm: a smaller one changes no digit that is printed
TRIED = 33  # bases in a range
HALVINGS = 10  # of the last step
MARGINS = (1.0, 0.98, 0.5, 0.2)  # of a range that was found by some rows
SLACKS = (0.5, 0.51, 1.5, 4.5, 9.5, 14.5)
"""Units by which a frequency may be off: rounded, a power's, an exponential's, the most that is looked for."""


@dataclass(frozen=True)
class Bases:
    """The bases that the values of a guess may come from, by the arithmetic that explains them."""

    guess: Guess
    found: Workings

    @cached_property
    def given(self) -> float:
        """The base of the guess."""
        return float(self.guess.keys.get("base", "10000"))

    @cached_property
    def exponents(self) -> Floats | None:
        """By which power of the base each frequency falls; None where it is none that was fitted."""
        found = None if self._every is None else self._every[: len(self.found.how.exact)]
        return found if found is not None and found.any() else None

    @cached_property
    def _every(self) -> Floats | None:
        """The same of all frequencies of the recipe."""
        exact = np.concatenate([self.found.how.exact, self.found.beyond]) / self.found.share
        return exponents_of(self.guess, exact, self.given) if "base" in self.guess.free else None

    @cached_property
    def fits(self) -> list[tuple[float, float, bool]]:
        """Ends of the bases that fit all values, and whether all between are as good."""
        if self.exponents is None:
            return []
        fits, how = list(_fitted(self.found, self.given, self.exponents)), self.found.how
        if how.way not in ("", AFTER, "cut") and how.equal < 1 and fits:  # rounded twice: no unit bounds the error
            fits.insert(0, (*_scanned(self.found, self.given, self.exponents, fits[-1]), True))
        if how.name == "float64" and how.grain in NARROW:  # which hides what float32 does to an angle
            fits.extend(_fitted(replace(self.found, how=how.in_float32()), self.given, self.exponents))
        return fits

    def refined(self) -> Iterator[tuple[Guess, tuple[str, str], bool]]:
        """Yield the guess with other bases, their range, and whether all in it are as good."""
        seen = set()
        for low, high, every in self._intervals():
            guess = _with_base(self.guess, low, high)
            if guess.keys["base"] not in seen:  # the narrowest range of it came first
                seen.add(guess.keys["base"])
                yield guess, _text(low, high), every

    def ends(self) -> tuple[tuple[str, str] | None, bool]:
        """Return from where to where the values would be the same, and whether all between; None if unknown."""
        base = self.given
        holding = (((low, high), every) for low, high, every in self._intervals(base) if low <= base <= high)
        ends, every = next(holding, (None, True))
        return _text(*ends) if ends else None, every

    def _intervals(self, base: float | None = None) -> Iterator[tuple[float, float, bool]]:
        """Yield ends of bases, and whether all values between are as good, the frequencies' first where they show."""
        if self.exponents is None:
            return
        if self.found.how.frequencies in NARROW or self.found.how.grain not in NARROW:
            for ends in _bounds(self.found, self.exponents, self.given, base):
                yield *ends, True
        yield from self.fits

    def verified(self, evidence: Evidence, wrong: int) -> tuple[str, str] | None:
        """Return a range at whose ends the arithmetic fails to give no more values than so many; None if unknown.

        Both ends are looked for from the base outwards; what stays the same at an end does on the way to it.
        """
        found, exponents, every = self.found, self.exponents, self._every
        if (
            exponents is None
            or every is None
            or not np.array_equal(found.how.used, found.how.shifted(exponents, 0.0).used)
        ):
            return None
        rows, (cos, sin) = spread_rows(len(found.positions)), found.parts

        def failing(log: float) -> int:
            made = found.how.shifted(exponents, log).compute(found.positions[rows])
            return sum(int((a != b[rows]).sum()) for a, b in zip(made, (cos, sin), strict=True))

        def everywhere(log: float) -> bool:
            return found.shifted(every, log).over_all(evidence).wrong <= wrong

        most = failing(0.0)
        ends = [_farthest(lambda log: failing(log) <= most, side) for side in (-1.0, 1.0)]
        ends = [next((share * end for share in MARGINS if everywhere(share * end)), 0.0) for end in ends]
        return _text(*(self.given * float(np.exp(end)) for end in ends)) if ends[0] < ends[1] else None


def _text(low: float, high: float) -> tuple[str, str]:
    return f"{low:.12g}", f"{high:.12g}"


def exponents_of(guess: Guess, exact: Floats, base: float) -> Floats | None:
    """Return by which power of the base each frequency falls, those of pairs that rest 0; None where all rest."""
    other = replace(guess, keys={**guess.keys, "base": number_text(Decimal(repr(base * (1 + NUDGE))))})
    try:
        plan = make(other, "float64").plan
    except PecliError:
        return None
    moved = np.array([float(w) for w in plan.frequencies])[: len(exact)] if isinstance(plan, Waves) else exact
    told = (exact > 0) & (moved > 0)
    exponents = np.zeros(len(exact))
    exponents[told] = -np.log(moved[told] / exact[told]) / np.log1p(NUDGE)
    exponents[np.abs(exponents) < NONE] = 0.0
    return exponents if exponents.any() else None


def _bounds(
    found: Workings, exponents: Floats, given: float, base: float | None = None
) -> Iterator[tuple[float, float]]:
    """Yield bases from which to which rounded frequencies are as they are, exactly or within a power's errors.

    If a base is asked for, those that hold it.
    """
    narrow = found.how.frequencies if found.how.frequencies in NARROW else "bfloat16"
    shown = [(_second_row(found, narrow), narrow), (found.how.used, found.how.frequencies)]
    if base is not None and found.how.frequencies not in NARROW:  # a narrower type leaves more bases than these do
        del shown[0]
    if found.how.frequencies in NARROW and base is None:
        shown.append((found.nearest(), found.how.frequencies))
    for used, kind in shown:
        if used is None or kind == "float64":
            continue
        unit = spacing(used, kind)
        slacks = SLACKS[: 2 if kind in NARROW else None]
        for slack, most in (*((slack, 1.0) for slack in slacks), *((slack, OVERLAP) for slack in slacks)):
            ends = between(given, found.how.exact, exponents, used, slack * unit, most)
            if ends[0] <= (ends[1] if base is None else base) <= ends[1]:
                yield ends
                break


def between(
    base: float, exact: Floats, exponents: Floats, used: Floats, loose: Floats, most: float = OVERLAP
) -> tuple[float, float]:
    """Return from which base to which frequencies are as shown, to so much; an empty interval where they disagree.

    Frequencies of rows that go backward are below 0 as those that they show are.
    """
    some = exponents > 0
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        size, shown = np.abs(exact[some]), np.copysign(used[some], used[some] * exact[some])
        low = base * (size / (shown + loose[some])) ** (1 / exponents[some])
        high = base * (size / (shown - loose[some])) ** (1 / exponents[some])
    found, last, count = overlap(np.nan_to_num(low, nan=0.0), np.nan_to_num(high, nan=1e30))
    return (found, last) if count >= most * len(low) else (1.0, 0.0)


def _with_base(guess: Guess, low: float, high: float) -> Guess:
    base = shortest(low, high)
    return replace(
        guess,
        keys={**guess.keys, "base": number_text(base)},
        cost=guess.cost + price(base) - price(Decimal(guess.keys.get("base", "10000"))),
    )


def _fitted(found: Workings, base: float, exponents: Floats) -> Iterator[tuple[float, float, bool]]:
    """Yield ends of the bases that fit all values: what every value allows (True), then what all do on average.

    By Newton's method on its logarithm.  An angle p w changes by -e p w with it, e the exponent of the pair; early
    rows come first, whose angles are right to a fraction of a turn.
    """
    how = found.how
    parts, positions = found.parts, rounded(found.positions, how.positions)
    half = [spacing(part, how.grain) / 2 + ROUNDED[how.grain] * np.abs(part) for part in parts]
    if how.way == "cut":  # towards zero: the middle of what is cut to a value lies half a unit beyond it
        up = [np.copysign(spacing(part, how.grain) / 2, part) for part in parts]
        parts = parts[0] + up[0], parts[1] + up[1]
    log, error, turned = 0.0, 1.0, 0.0 if how.name == "float64" else TURNED
    for rows in (*(2**k for k in range(4, 13) if 2**k < len(parts[0])), len(parts[0]), len(parts[0])):
        angles = np.outer(positions[:rows], how.exact * np.exp(-exponents * log))
        turn = -angles * exponents
        made = tuple(how.magnitude * part for part in how.parts(angles))
        quarter = tuple(how.magnitude * part for part in how.parts(angles + QUARTER))  # how both change with the angle
        slopes = quarter[0] * turn, quarter[1] * turn
        rests = parts[0][:rows] - made[0], parts[1][:rows] - made[1]
        total = sum(float((slope**2).sum()) for slope in slopes) or 1.0
        change = sum(float((rest * slope).sum()) for rest, slope in zip(rests, slopes, strict=True)) / total
        log += change
        error = float(np.sqrt(sum((rest**2).mean() for rest in rests) / 2 / total)) + 2.0**-50
    for loose in dict.fromkeys((turned, TURNED)):  # exact angles first, where they may be such
        low, high = _allowed(rests, slopes, [unit + loose * np.abs(slope / np.where(exponents == 0, 1, exponents))
                                             for slope, unit in zip(slopes, half, strict=True)])  # fmt: skip
        if low <= high:
            break
    log -= change
    soft = [(change - width * error, change + width * error, False) for width in (2.0, 8.0)]
    inner = (2 * low + high) / 3, (low + 2 * high) / 3, False  # what every value allows is not enough at the ends
    for start, stop, every in ((low, high, how.name not in NARROW), inner, *soft):
        if start <= stop and abs(log) + abs(stop) + abs(start) < FARTHEST:
            yield base * float(np.exp(log + start)), base * float(np.exp(log + stop)), every


def _scanned(found: Workings, base: float, exponents: Floats, ends: tuple[float, float, bool]) -> tuple[float, float]:
    """Return the bases between two that give most values, tried one by one, twice ever nearer to the best."""
    rows, (cos, sin) = spread_rows(len(found.positions)), found.parts
    low, high = (float(np.log(end / base)) for end in ends[:2])
    for _ in range(2):
        logs = np.linspace(low, high, TRIED)
        made = (found.how.shifted(exponents, log).compute(found.positions[rows]) for log in logs)
        equal = np.array([(a == cos[rows]).mean() + (b == sin[rows]).mean() for a, b in made])
        best = np.flatnonzero(equal == equal.max())
        low, high = logs[max(best[0] - 1, 0)], logs[min(best[-1] + 1, TRIED - 1)]
    return base * float(np.exp(logs[best[0]])), base * float(np.exp(logs[best[-1]]))


def _allowed(rests: Sequence[Floats], slopes: Sequence[Floats], loose: Sequence[Floats]) -> tuple[float, float]:
    """Return from where to where a logarithm may lie, by all values that are not spoiled."""
    low, high = -np.inf, np.inf
    with np.errstate(divide="ignore", invalid="ignore"):
        for rest, slope, unit in zip(rests, slopes, loose, strict=True):
            kept = np.abs(rest) <= OUTLYING * np.maximum(unit, np.median(np.abs(rest)))
            ends = np.where(kept, (rest - unit) / slope, np.nan), np.where(kept, (rest + unit) / slope, np.nan)
            low = max(low, float(np.nanmax(np.minimum(*ends))))
            high = min(high, float(np.nanmin(np.maximum(*ends))))
    return low, high


def _farthest(good: Callable[[float], bool], side: float) -> float:
    """Return how far a logarithm may be moved to one side: by ever larger steps, then by halves."""
    step = LEAST_STEP
    while step < FARTHEST and good(side * step):
        step *= 2
    low, high = step / 2 if step > LEAST_STEP else 0.0, step
    for _ in range(HALVINGS if low else 0):
        middle = (low + high) / 2
        low, high = (middle, high) if good(side * middle) else (low, middle)
    return side * low


def _second_row(found: Workings, kind: str) -> Floats | None:
    """Return the frequencies that the row of position 1 shows, rounded to a type: its angles are they themselves."""
    at = (1 - found.start) / found.step - found.reading.rows.start
    if found.how.part or at != int(at) or not 0 <= at < len(found.reading.first):
        return None
    cos, sin = found.parts
    return rounded(np.arctan2(sin[int(at)], cos[int(at)]), kind)
