"""Description of a table of waves on one axis: structure, signal, name and arithmetic put together."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from pecli.errors import PecliError
from pecli.judge.arithmetic import Score, Shown, best_way, float32_series
from pecli.judge.planes import EPSILON, Plane, effective_dtype, sample_rows
from pecli.judge.signal import Signal, measure, positions_in_steps, runs_of, wrapped
from pecli.judge.structure import Reading, readings, usable_rows
from pecli.numbers.decimals import decimal_exactly, digits, shortest
from pecli.spec.catalogue import CATALOGUE
from pecli.spec.measured import PUBLISHED_FACTORS, Floats, Named, Pairs
from pecli.spec.plans import Waves
from pecli.spec.recipe import Recipe
from pecli.tables.layouts import cosines_and_sines

LEVELS = {
    "exact": 2.0**-40,
    "float32": 2.0**-21.5,
    "running product": 2.0**-16,
    "float16": 2.0**-10,
    "bfloat16": 2.0**-7.5,
}
"""Relative error of frequencies computed in a type: some roundings of a power, a quotient and a product."""
MAX_TRIED = 6
"""Names that are tried at one level; more cost time, and the right one was among the first three of all tables."""
PHASES = {"": 0.0, "negated": np.pi, "sine negated": np.pi / 2, "cosine negated": -np.pi / 2}
"""Phase of every pair at position 0 for each sign error, after cosine and sine were put in order."""
QUARTERS = ("sine negated", "cosine negated")
"""Phases of a quarter turn, which exchange cosines and sines."""
LONE_PHASES = {"cos": 0.0, "sin": -np.pi / 2, "cos negated": np.pi, "sin negated": np.pi / 2}
"""Phases of a single component, A cos(p w + phase)."""
MAX_SIZE_DIGITS = 5
"""Digits of a magnitude that somebody chose; of a longer one the measured value is nearer."""
OTHER_SIZE = 3.0
"""Digits that a magnitude counts for which the parameters do not give."""
MAX_PLAIN_COST = 1.6
"""Fitted digits below which a name that explains every sampled value needs no rival."""
MAX_TURNS = 12
"""Whole turns of the slowest pair, in both directions, within which the first position is searched."""
MIN_REGULAR = 0.5
"""Share of the sampled rows that must be evenly spaced for a start and a step to describe them."""
MAX_PLACE = 0.02
"""Steps by which a row may be off its place and still count as regular; bfloat16 values allow 0.01."""
CLEAR_COSINE = 20.0
"""Roundings by which one minus the cosine of a step must differ from 0; with 5, bfloat16 invents steps."""
MIN_LONE_ROWS = 6
"""Consecutive rows that a frequency is measured by; a column of fewer is fitted by too many series."""
MIN_TURN = 0.5
"""Radians that a column must move for its phase to be known."""
MAX_WAVE_GAP = 0.05
"""Mean distance of a column from the one wave that fits it best, of its size; noise has 0.7."""

MIN_WAVES = 0.9
"""Smallest share of the sampled values that waves must explain for a table to be called one of cosines and sines."""


@dataclass(frozen=True)
class Measured:
    """A reading of a table with its measurements, cosines and sines in order."""

    planes: tuple[Plane, ...]
    reading: Reading
    signal: Signal
    pairs: Pairs
    dtype: str
    rows: np.ndarray
    swapped: bool
    stated: Floats | None = None
    falling: bool = False

    def otherwise(self) -> Measured:
        """Return the same with cosines and sines the other way round: positions fall where they rose."""
        signal, reading = self.signal.exchanged(), self.reading.swapped()
        pairs = replace(self.pairs, sine_first=not self.swapped, tail=_tail(reading, not self.swapped))
        return replace(self, reading=reading, signal=signal, pairs=pairs, swapped=not self.swapped,
                       falling=not self.falling)  # fmt: skip


@dataclass(frozen=True)
class WaveName:
    """A named table of waves: what its values are computed from.

    Attributes
    ----------
    encoding : str
    named : Named
    start : Fraction
        Position of row 0.
    step : Fraction
    phase : str
        A key of `PHASES`.
    score : Score
        Of the arithmetic that gives most sampled values.
    regular : float
        Share of the sampled rows at the places that start and step give.
    """

    encoding: str
    named: Named
    start: Fraction
    step: Fraction
    phase: str
    score: Score
    regular: float
    measured: Measured = field(repr=False)

    @property
    def cost(self) -> float:
        """Fitted digits, with penalties for phases, offsets and magnitudes."""
        plain = {"": 0.0, "negated": 1.0}.get(self.phase, 1.5)
        own = 0.0 if self.start == 0 else 0.5 if self.start.denominator == 1 else 2.0
        last = self.start + self.step * (self.measured.planes[0].rows - 1)
        own += 2.0 * (min(self.start, last) < 0 and self.start != -last)  # distances run to both sides
        own += OTHER_SIZE * (magnitude_of(self.measured, self.named) != self.named.magnitude)
        return self.named.fitted + plain + own + (0.5 if self.step < 0 else 0.0)


def wave_groups(planes: Sequence[Plane]) -> Iterator[tuple[Plane, ...]]:
    """Yield planes that may belong together: cosines and sines, real and imaginary parts, a stack, then each alone."""
    names = list(dict.fromkeys(plane.array.name for plane in planes))
    by_name = {name: [plane for plane in planes if plane.array.name == name] for name in names}
    pair = cosines_and_sines(names)
    used: set[str] = set()
    if pair and _alike(by_name[pair[0]][:1] + by_name[pair[1]][:1]):
        used |= set(pair)
        yield by_name[pair[0]][0], by_name[pair[1]][0]
    rest = [name for name in names if name not in used]
    if not pair and len(rest) == 2 and _alike([by_name[rest[0]][0], by_name[rest[1]][0]]):
        yield by_name[rest[0]][0], by_name[rest[1]][0]
    for name in rest:
        own = by_name[name]
        if len(own) == 2 and _alike(own):
            yield tuple(own)
        yield (own[0],)


def _alike(planes: Sequence[Plane]) -> bool:
    a, b = planes
    return (a.rows, a.width) == (b.rows, b.width)


def measured_readings(planes: tuple[Plane, ...], stated: Floats | None = None) -> Iterator[Measured]:
    """Yield the readings of planes that hold cosines and sines, put in order and measured, the best first."""
    rows = sample_rows(planes[0].rows, planes[0].width)
    values = [plane.at(rows) for plane in planes]
    dtype = effective_dtype(np.concatenate([v.ravel() for v in values]), planes[0].array.dtype)
    for reading in readings(planes, values):
        if reading.sin is None:
            continue
        signal = measure(reading, rows, dtype)
        if signal is None or (len(signal.rows) > 1 and np.isinf(signal.errors).all()):  # no pair moves
            continue
        for swapped in (False, True) if len(signal.rows) == 1 else (signal.backward,):
            oriented = reading.swapped() if swapped else reading
            own = signal.exchanged() if swapped else signal
            yield Measured(planes, oriented, own, _pairs(oriented, own, dtype, swapped, planes), dtype, rows, swapped,
                           stated)  # fmt: skip


def _pairs(reading: Reading, signal: Signal, dtype: str, swapped: bool, planes: tuple[Plane, ...]) -> Pairs:
    noise = EPSILON[dtype]
    steps = np.where(signal.still, 0.0, signal.steps)
    steps = np.where(steps < -4 * signal.errors, steps + 2 * np.pi, np.abs(steps))  # past half a turn a row
    layout = {"sin-cos": "concat"}.get(reading.layout, reading.layout)
    width = sum(plane.width for plane in planes) if layout not in ("half", "interleaved") else planes[0].width
    if planes[0].part:
        layout = "complex"
    loose = max(2.0**-20, 4 * noise / np.sqrt(max(1, len(signal.rows))))
    return Pairs(steps, signal.errors, signal.still, signal.magnitude, loose, len(planes) == 1, swapped,
                 layout, width, rows=planes[0].rows, tail=_tail(reading, swapped))  # fmt: skip


def _tail(reading: Reading, swapped: bool) -> str:
    """Return the content of the unpaired column of an odd width: "zero", "sine" or "cosine"; "" for an even width."""
    if reading.tail is None:
        return ""
    column = reading.values[reading.tail.plane][:, reading.tail.index]
    if (column[np.isfinite(column)] == 0).all():
        return "zero"
    middle = reading.tail.index.start != reading.values[0].shape[1] - 1
    return "sine" if swapped != middle else "cosine"


def lone_readings(planes: tuple[Plane, ...], stated: Floats | None = None) -> Iterator[Measured]:
    """Yield one plane read as cosines alone, sines alone (phase), or raw angles."""
    rows = sample_rows(planes[0].rows, planes[0].width)
    values = [plane.at(rows) for plane in planes]
    dtype = effective_dtype(values[0], planes[0].array.dtype)
    for reading in readings(planes, values):
        if reading.sin is not None:
            continue
        with np.errstate(all="ignore"):
            signal = _raw_angles(reading, rows, dtype) if reading.is_angles else _component(reading, rows, dtype)
        if signal is None or (reading.is_angles and reading.pairs == 1):  # one column that rises: positions
            continue
        layout = "angles" if reading.is_angles else reading.layout
        pairs = Pairs(np.abs(signal.steps), signal.errors, signal.still, signal.magnitude,
                      max(2.0**-20, EPSILON[dtype]), False, False, layout, 2 * reading.pairs)  # fmt: skip
        yield Measured(planes, reading, signal, pairs, dtype, rows, False, stated)


def _raw_angles(reading: Reading, rows: np.ndarray, dtype: str) -> Signal | None:
    """Return the slope of each column of angles; `unit` holds their phases modulo whole turns."""
    good = usable_rows([reading.cos])
    angles, own = reading.cos[good], rows[good]
    if len(own) < 2:
        return None
    span = (own - own[0])[1:, None]
    slopes = np.median((angles[1:] - angles[0]) / span, axis=0)
    noise = EPSILON[dtype] * np.abs(angles).max(axis=0)
    errors = 2 * noise / max(1, int(span[-1, 0]))
    still = (angles == 0).all(axis=0)
    if (slopes < 0).sum() > (slopes > 0).sum():
        return None
    return Signal(slopes, errors, angles[0], np.ones(len(slopes)), still, int(own[0]), own, np.exp(1j * angles), noise,
                  rows[~good])  # fmt: skip


def _component(reading: Reading, rows: np.ndarray, dtype: str) -> Signal | None:
    """Return each column as one wave A cos(w r + phase); None where columns are no waves."""
    good = usable_rows([reading.cos])
    values, own = reading.cos[good], rows[good]
    runs = runs_of(own)
    run = max(runs, key=lambda r: r.stop - r.start)
    x, count = values[run], run.stop - run.start
    if count < MIN_LONE_ROWS:
        return None
    size = float(np.abs(values).max())
    eps = 2 * EPSILON[dtype]
    steps, errors = _frequencies(x / size, eps)
    r = np.arange(count)[:, None]
    c, s = np.cos(r * steps), np.sin(r * steps)
    cc, ss, cs = (c * c).sum(0), (s * s).sum(0), (c * s).sum(0)
    xc, xs = (x * c).sum(0), (x * s).sum(0)
    det = cc * ss - cs * cs
    a, b = (xc * ss - xs * cs) / det, (xs * cc - xc * cs) / det
    known = np.isfinite(a) & np.isfinite(b) & (steps * count > MIN_TURN) & np.isfinite(errors)
    if np.count_nonzero(known) < 1:
        return None
    fit = a * c + b * s
    gap = np.abs(fit - x)[:, known].mean() / size
    length = np.hypot(a, b)
    middle = float(np.median(length[known]))
    if gap > MAX_WAVE_GAP or not (np.abs(length[known] / middle - 1) < 0.1).mean() > 0.9:
        return None
    phases = np.where(known, np.arctan2(-b, a), 0.0)
    steps, errors = np.where(known, steps, 0.0), np.where(known, errors, np.inf)
    unit = np.exp(1j * (phases + r * steps))
    noise = np.where(known, eps * 2, np.inf)
    flat = np.zeros(len(steps), bool)
    return Signal(steps, errors, phases, np.full(len(steps), middle), flat, int(own[run.start]), own[run], unit, noise,
                  rows[~good])  # fmt: skip


def _frequencies(x: Floats, eps: float) -> tuple[Floats, Floats]:
    """Return radians a row of columns of cosines: x(r + L) + x(r - L) = 2 cos(w L) x(r), for lags L = 1, 2, 4, .."""
    count, width = x.shape
    steps, errors = np.full(width, np.nan), np.full(width, np.inf)
    lag = 1
    while 2 * lag < count:
        middle = x[lag:-lag]
        both = x[2 * lag :] + x[: -2 * lag]
        cosine = (both * middle).sum(0) / (2 * (middle * middle).sum(0))
        inside = np.abs(cosine) < 1
        angle = np.arccos(np.clip(cosine, -1, 1))
        doubt = eps / np.maximum(np.abs(np.sin(angle)), 1e-12) / np.sqrt(np.maximum(1, count - 2 * lag)) * 2
        clear = inside & (1 - np.abs(cosine) > CLEAR_COSINE * eps * 0.1) & (1 - cosine > CLEAR_COSINE * eps)
        first = clear & np.isnan(steps)
        steps = np.where(first, angle / lag, steps)
        errors = np.where(first, doubt / lag, errors)
        sure = clear & ~first & (errors * lag < 0.3)
        turn = 2 * np.pi * np.round((lag * steps - angle) / (2 * np.pi))
        other = 2 * np.pi * np.round((lag * steps + angle) / (2 * np.pi))
        one, two = (angle + turn) / lag, (other - angle) / lag
        near = np.where(np.abs(one - steps) < np.abs(two - steps), one, two)
        better = sure & (doubt / lag < errors) & (np.abs(near - steps) < 3 * errors + doubt / lag)
        steps, errors = np.where(better, near, steps), np.where(better, doubt / lag, errors)
        lag *= 2
    return steps, errors


def follows_waves(measured: Measured) -> bool:
    """Whether waves, or angles, with one position per row explain nearly all sampled values of some rows."""
    signal, reading = measured.signal, measured.reading
    if len(signal.rows) < MIN_LONE_ROWS or not np.isfinite(signal.errors).all():
        return False
    if reading.is_alone:
        return True  # its component was fitted to the values
    rows = (signal.rows - signal.reference)[:, None]
    if reading.is_angles:
        shown = reading.cos[np.searchsorted(measured.rows, signal.rows)]
        starts = signal.phases[signal.steps > 0] / signal.steps[signal.steps > 0]
        off = np.abs(shown - signal.phases - signal.steps * rows) / np.abs(shown).max(axis=0)
        return bool((off < MAX_WAVE_GAP).mean() >= MIN_WAVES and np.ptp(starts) <= 1 / MIN_WAVES)
    lengths = signal.magnitudes[~signal.still]
    places = positions_in_steps(signal, signal.steps, signal.phases, rows[:, 0].astype(float))
    off = np.abs(signal.unit - np.exp(1j * (signal.phases + signal.steps * places[:, None])))
    one_length = (np.abs(lengths / np.median(lengths) - 1) < MAX_WAVE_GAP).mean() >= MIN_WAVES
    return bool((off < MAX_WAVE_GAP).mean() >= MIN_WAVES and one_length)


def names_of(measured: Measured) -> list[WaveName]:
    """Return names that the encodings' rules give the measured pairs, the best first."""
    found = _names(measured)
    if measured.reading.sin is not None and not (found and _plain(found[0])):
        found = sorted([*found, *_names(measured.otherwise())], key=merit)
    return found


def _plain(name: WaveName) -> bool:
    return name.score.close == 1.0 and name.cost < MAX_PLAIN_COST


def _names(measured: Measured) -> list[WaveName]:
    found: list[WaveName] = []
    seen = set()
    if not np.isfinite(measured.pairs.steps).all() or not np.isfinite(measured.pairs.magnitude):
        return found
    rules = [e for e in CATALOGUE.values() if e.declares("identify_waves")]
    for level, error in LEVELS.items():
        if level in ("float16", "bfloat16") and any(n.score.close == 1.0 for n in found):
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
                    if _plain(name):
                        return sorted(found, key=merit)
                if tried >= MAX_TRIED:
                    break
        found.sort(key=merit)
        if found and _plain(found[0]):
            break
    return found


def merit(name: WaveName) -> tuple[float, float, float]:
    """Return the sort key of names: the share of values explained, then the fewest fitted digits, then equal values."""
    return (-round(name.score.close, 2), name.cost, -name.score.equal)


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
        if best is not None and best.score.close == 1.0 and best.cost <= MAX_PLAIN_COST + named.fitted:
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
    score = arithmetic_of(measured, encoding, named, positions, angle)
    if regular < MIN_REGULAR and not score.fits:  # narrow angles place rows at random and are explained all the same
        return None
    return WaveName(encoding, named, number, step, phase, score, max(regular, MIN_REGULAR), measured)


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


def magnitude_of(measured: Measured, named: Named) -> float:
    """Return the recipe's magnitude where the values have it, else the shortest number within the measured one."""
    size, loose = measured.signal.magnitude, 4 * measured.pairs.magnitude_error
    if measured.reading.is_angles or abs(size / named.magnitude - 1) <= loose:
        return named.magnitude
    for factor in PUBLISHED_FACTORS:  # YaRN's attention factor, which other frequencies may have too
        own = 0.1 * np.log(float(factor)) + 1
        if abs(size / own - 1) <= loose:
            return float(own)
    short = shortest(size * (1 - loose), size * (1 + loose))
    return float(short) if digits(short) <= MAX_SIZE_DIGITS else size


def singles_of(encoding: str, named: Named) -> dict[str, Floats]:
    """Return the frequencies as float32 code computes them, by the ways of libraries."""
    singles = {}
    if named.by_engine and CATALOGUE[encoding].declares("emulate"):
        recipe = bound(encoding, named.keys)
        with contextlib.suppress(PecliError, KeyError):
            steps = CATALOGUE[encoding].hook("emulate")(recipe.plan, recipe.values)
            singles["framework's float32 steps"] = steps.frequencies.astype(np.float64)
    if named.series is not None:
        base, exponents, factor = named.series
        for method, w in float32_series(base, exponents, factor):
            singles[method] = np.where(named.frequencies == 0, 0.0, w)
    return singles


def arithmetic_of(measured: Measured, encoding: str, named: Named, positions: Floats, angle: float) -> Score:
    """Return the arithmetic that gives most of the sampled values of a named table."""
    reading, signal = measured.reading, measured.signal
    index = np.searchsorted(measured.rows, signal.rows)
    cos, quarter = reading.cos[index], int(np.round(angle / (np.pi / 2))) % 4
    sin = cos if reading.sin is None else reading.sin[index]  # the values are i^quarter times what is named
    part, other = {0: (cos, sin), 1: (sin, -cos), 2: (-cos, -sin), 3: (-sin, cos)}[quarter]
    parts = {"angles": cos} if reading.is_angles else {"cos": part, "sin": other}
    if reading.is_alone:
        parts = {"cos": part} if quarter in (0, 2) else {"sin": other}
    shown = Shown(positions, parts, measured.dtype, magnitude_of(measured, named))
    return best_way(named.frequencies, singles_of(encoding, named), shown)


MAX_DOUBTFUL_ROWS = 128
"""Rows by which another arithmetic is looked for; they cost as much as a first look."""


def by_rows(name: WaveName, rows: np.ndarray) -> WaveName | None:
    """Return a name with the arithmetic that gives most values of some rows and of the sample's."""
    measured = name.measured
    if not len(rows):
        return None
    rows = rows[np.unique(np.linspace(0, len(rows) - 1, min(len(rows), MAX_DOUBTFUL_ROWS)).astype(np.int64))]
    values = tuple(plane.at(rows) for plane in measured.planes)
    reading = measured.reading
    cos = values[reading.cos_at[0].plane][:, reading.cos_at[0].index]
    sin = values[reading.sin_at[0].plane][:, reading.sin_at[0].index] if reading.sin_at else None
    seen = replace(measured, rows=rows, reading=replace(reading, cos=cos, sin=sin),
                   signal=replace(measured.signal, rows=rows))  # fmt: skip
    phases = LONE_PHASES if reading.is_alone else PHASES
    positions = float(name.start) + float(name.step) * rows
    score = arithmetic_of(seen, name.encoding, name.named, positions, phases.get(name.phase, 0.0))
    return replace(name, score=score)
