"""Description of a table of waves on one axis: structure, signal, name and arithmetic put together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

import numpy as np

from pecli.errors import PecliError
from pecli.judge.arithmetic import LONE_PHASES, PHASES, WaveName, Way
from pecli.judge.measured import Measured
from pecli.judge.signal import Signal, positions_in_steps, wrapped
from pecli.numbers.decimals import decimal_exactly, shortest
from pecli.spec.catalogue import CATALOGUE
from pecli.spec.measured import Floats, Named
from pecli.spec.plans import Waves
from pecli.spec.recipe import Recipe

# Relative error of frequencies computed in a type: some roundings of a power, a quotient and a product.
LEVELS = {
    "exact": 2.0**-40,
    "float32": 2.0**-21.5,
    "running product": 2.0**-16,
    "float16": 2.0**-10,
    "bfloat16": 2.0**-7.5,
}
# Names that are tried at one level; more cost time, and the right one was among the first three of all tables.
MAX_TRIED = 6
# Phases of a quarter turn, which exchange cosines and sines.
QUARTERS = ("sine negated", "cosine negated")
# By whether cosines and sines stand in exchanged places, and the quarter turns of the angles: what was done.
QUARTER_WORDS = {
    (False, 0): "",
    (False, 1): "every angle is a quarter turn further: -sin stands for cos, and cos for sin",
    (False, 2): "every value has the other sign",
    (False, 3): "every angle is a quarter turn less: sin stands for cos, and -cos for sin",
    (True, 0): "sin and cos are exchanged",
    (True, 1): "the sign of sin is changed: the rotation goes the other way",
    (True, 2): "sin and cos are exchanged, and every value has the other sign",
    (True, 3): "the sign of cos is changed",
}
# Fitted digits below which a name that explains every sampled value needs no rival.
MAX_PLAIN_COST = 1.6
# Whole turns of the slowest pair, in both directions, within which the first position is searched.
MAX_TURNS = 12
# Share of the sampled values that must be explained where rows are at other places than start and step give.
MIN_CLOSE = 0.98
# Share of the sampled rows that must be evenly spaced for a start and a step to describe them.
MIN_REGULAR = 0.5
# Steps by which a row may be off its place and still count as regular; bfloat16 values allow 0.01.
MAX_PLACE = 0.02


def names_of(measured: Measured) -> list[WaveName]:
    """Return names that the encodings' rules give the measured pairs, the best first."""
    found = _names(measured)
    if measured.reading.sin is not None and not (found and _plain(found[0])):
        found = sorted([*found, *_names(measured.otherwise())], key=merit)
    return found


def _plain(name: WaveName) -> bool:
    return name.explained == 1.0 and name.cost < MAX_PLAIN_COST


def _names(measured: Measured) -> list[WaveName]:
    found: list[WaveName] = []
    seen = set()
    if not np.isfinite(measured.pairs.steps).all() or not np.isfinite(measured.pairs.magnitude):
        return found
    rules = [e for e in CATALOGUE.values() if e.declares("identify_waves")]
    for level, error in LEVELS.items():
        if level in ("float16", "bfloat16") and any(n.explained == 1.0 for n in found):
            break
        pairs = measured.pairs.at(error)
        for encoding in rules:
            tried = 0
            for named in encoding.hook("identify_waves")(pairs):
                key = encoding.name, tuple(named.keys.items()), named.step
                if key in seen:
                    continue
                seen.add(key)
                name = fitted(measured, encoding.name, named)
                tried += name is not None
                if name is not None:
                    found.append(name)
                if tried >= MAX_TRIED or any(map(_plain, found)):  # of others the first one may be an alias
                    break
        found.sort(key=merit)
        if found and _plain(found[0]):
            break
    return found


def merit(name: WaveName) -> tuple[float, float, float]:
    """Return the sort key of names: the share of values explained, then the fewest fitted digits, then equal values."""
    return (-round(name.explained, 2), name.cost, -name.equal)


def fitted(
    measured: Measured, encoding: str, named: Named, *, exact: bool = True, guess: float | None = None
) -> WaveName | None:
    """Return a name with the positions of its rows and its arithmetic; None where no origin fits its phases.

    With `exact`, frequencies and magnitude are taken anew from the recipe, to double precision.  `guess` is the
    position that row 0 may have, where it is far out.
    """
    found = exactly(encoding, named) if exact else named
    if found is None:
        return None
    if exact and measured.reading.is_angles:  # what rises by other steps, or all alike, is a bias or has no name
        moving = found.frequencies[found.frequencies > 0]
        if found.frequencies[0] != 1 or moving.min() == 1:
            return None
    named, best = found, None
    phases = LONE_PHASES if measured.reading.is_alone else {"": 0.0} if measured.reading.is_angles else PHASES
    for phase, angle in phases.items():
        if exact and phase in QUARTERS and len(measured.planes) == 1:
            continue  # no recipe has this order of columns
        one = _placed(measured, encoding, named, phase, angle, guess)
        if one is not None and (best is None or merit(one) < merit(best)):
            best = one
        if best is not None and best.explained == 1.0 and best.cost <= MAX_PLAIN_COST + named.fitted:
            return best
    return best


def bound(encoding: str, keys: Mapping[str, str]) -> Recipe:
    """Return the recipe of an encoding with these keys."""
    return Recipe.bind(encoding, **{key.replace("-", "_"): value for key, value in keys.items()})


def exactly(encoding: str, named: Named) -> Named | None:
    """Return a name with the frequencies and the magnitude that its recipe declares, to double precision."""
    try:
        plan = bound(encoding, named.keys).plan
    except PecliError:
        return None
    if not isinstance(plan, Waves) or (len(plan.bands) != 1 and len({band.axis for band in plan.bands}) > 1):
        return None
    w = np.array([float(frequency) for frequency in plan.frequencies])
    if len(w) < len(named.frequencies):
        return None
    size = float(plan.magnitude)
    return replace(named, frequencies=w[: len(named.frequencies)], magnitude=size, blank=tuple(plan.blank))


def _placed(
    measured: Measured, encoding: str, named: Named, phase: str, angle: float, guess: float | None
) -> WaveName | None:
    signal, w = measured.signal, named.frequencies
    step = -named.step if measured.falling else named.step
    near = None if guess is None else guess + float(step) * signal.reference
    origin = _first_angle(signal, w) if measured.reading.is_angles else origin_of(signal, w, angle, near)
    if origin is None:
        return None
    start = origin - float(step) * signal.reference
    number = _number(start, signal, w)
    if number is None:
        return None
    rows = signal.rows.astype(float)
    positions = float(number) + float(step) * rows
    regular = 1.0
    if measured.reading.sin is not None:
        places = positions_in_steps(signal, w, np.full(len(w), angle), positions)
        allowed = MAX_PLACE * abs(float(step)) + _doubt(signal, w) + 2.0**-8 * np.abs(positions)
        regular = float((np.abs(places - positions) <= allowed).mean())
    name = WaveName(encoding, named, number, step, phase, measured, Way("exact", w)).computed()
    if name is None or (regular < MIN_REGULAR and name.explained < MIN_CLOSE):  # narrow angles place rows at random
        return None
    return replace(name, regular=max(regular, MIN_REGULAR))


def _doubt(signal: Signal, w: Floats) -> float:
    """Return the uncertainty of a position, by the pair that determines it best."""
    moving = w != 0
    return float((4 * signal.noise[moving] / np.abs(w[moving])).min(initial=np.inf))


def _first_angle(signal: Signal, w: Floats) -> float | None:
    """Return the position of the reference row by its angles, which were not reduced."""
    moving = w > 0
    return float(np.median(signal.phases[moving] / w[moving])) if moving.any() else None


def origin_of(signal: Signal, w: Floats, angle: float, near: float | None = None) -> float | None:
    """Return the position of the reference row, from slow pairs to fast; None where the phases do not agree.

    The slowest pair determines it up to whole turns, of which the first ones are tried, and the one `near` a guess.
    """
    at = int(np.flatnonzero(signal.rows == signal.reference)[0])
    phases = np.angle(signal.unit[at] * np.exp(-1j * angle))
    known = (w > 0) & np.isfinite(signal.noise)
    if not known.any():
        return 0.0 if near is None else near
    slowest = int(np.flatnonzero(known)[np.argmin(w[known])])
    first, turn = phases[slowest] / w[slowest], 2 * np.pi / w[slowest]
    turns = [] if near is None else [round((near - first) / turn)]
    turns += [k * sign for k in range(MAX_TURNS) for sign in (1, -1)][1:]
    one = replace(signal, unit=np.exp(1j * phases)[None].repeat(len(turns), 0), rows=np.zeros(len(turns), np.int64))
    places = positions_in_steps(one, w, np.zeros(len(w)), first + turn * np.array(turns, float))[:, None]
    rest = np.abs(wrapped(phases - w * places))
    allowed = 0.05 + 6 * signal.noise + np.abs(w * places) * 2.0**-8
    agree = ((rest <= np.minimum(allowed, 0.7)) | ~np.isfinite(signal.noise)).mean(axis=1) > 0.8
    return float(places[agree.argmax(), 0]) if agree.any() else None


def _number(start: float, signal: Signal, w: Floats) -> Fraction | None:
    """Return a start as a whole number, or the shortest decimal that the measurement allows."""
    doubt = max(_doubt(signal, w), 2.0**-23 * abs(start), 1e-9)
    whole = round(start)
    if abs(start - whole) <= max(doubt, 1e-3):
        return Fraction(whole)
    found = Fraction(shortest(start - doubt, start + doubt))
    return found if decimal_exactly(found) else None
