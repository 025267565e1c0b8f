"""Readings of a table of waves, and the signal of each pair: frequency, direction, phase, and the position of each row.

Structure is decided from the values: two columns are a pair if the sum of their squares is the same in every row; a
column is doubled if another one equals it.  Names of arrays only break ties.

Frequencies are measured in radians a row, by the median of angle differences over ever longer lags.  The place of a
row, in steps from a reference row, comes from the slow pairs first, each faster one sharpening it: this array shows
clamped, missing, repeated, reversed and rounded positions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pecli.judge.orders import consecutive
from pecli.judge.planes import EPSILON, Floats, Integers, Plane, effective_dtype, sample_rows
from pecli.spec.measured import Pairs
from pecli.tables.layouts import cosines_and_sines

# Mean departure of cos^2 + sin^2 from its median, relative; bfloat16 leaves 0.005, columns of two pairs 0.3.
MAX_DEPARTURE = 0.02
# Largest departure of pairs whose columns also look like copies, as columns of nearly equal frequencies do.
SURE_DEPARTURE = 0.001
# Rows that show this: one row has no departure at all.
MIN_SURE_ROWS = 8
# Share of the rows that pairs are found by: a few corrupted rows must not hide them.
KEPT_ROWS = 0.95
# Difference of a value from its copy, of the column's size: bfloat16 buffers that were computed twice stay below.
COPY_GAP = 0.02
# Rows in which a copy must agree: a corrupted value must not hide it.
MIN_COPY_SHARE = 0.9
# Radians a row to which raw angles must rise somewhere: smaller ones are within a turn, like values of a sine.
MIN_STEP = 3.2

ALL = np.s_[:]


@dataclass(frozen=True)
class PlaneColumns:
    """Columns of one plane that hold one component: `plane` is the number of the plane, `index` selects columns."""

    plane: int
    index: Any

    def of(self, values: Sequence[Floats]) -> Floats:
        """Return these columns of the values of all planes."""
        return values[self.plane][:, self.index]


@dataclass(frozen=True)
class Reading:
    """Assignment of the columns of planes to cosines and sines.

    Attributes
    ----------
    layout : str
        split, half, interleaved, concat, sin-cos, pairs, alternate (sine and cosine in neighbouring columns),
        complex, angles, angles-half, angles-interleaved.
    values : tuple of (rows, width) float64
        Of the sampled rows, for each plane.
    cos_at, sin_at : tuple of PlaneColumns
        Every place of the component, the first being the one read; of angles `cos_at` has the angles.
    tail : PlaneColumns or None
        The last column of an odd width.
    departure : float
        Mean departure of the pairs from one magnitude, relative.
    """

    layout: str
    values: tuple[Floats, ...] = field(repr=False, compare=False)
    cos_at: tuple[PlaneColumns, ...]
    sin_at: tuple[PlaneColumns, ...] = ()
    tail: PlaneColumns | None = None
    departure: float = 0.0

    @cached_property
    def cos(self) -> Floats:
        """The cosines, (rows, m); the angles where there are no cosines."""
        return self.cos_at[0].of(self.values)

    @cached_property
    def sin(self) -> Floats | None:
        """The sines, (rows, m), if there are any."""
        return self.sin_at[0].of(self.values) if self.sin_at else None

    @property
    def pairs(self) -> int:
        """Number of pairs of columns."""
        return int(self.cos.shape[1])

    @property
    def is_angles(self) -> bool:
        """Whether the values are angles and no sines."""
        return self.layout.startswith("angles")

    @property
    def is_alone(self) -> bool:
        """Whether the reading has cosines alone or sines alone."""
        return self.sin is None and not self.is_angles

    def swapped(self) -> Reading:
        """Return the reading with cosines and sines exchanged."""
        layout = {"concat": "sin-cos", "sin-cos": "concat"}.get(self.layout, self.layout)
        return replace(self, layout=layout, cos_at=self.sin_at, sin_at=self.cos_at)


def usable_rows(values: Sequence[Floats]) -> NDArray[np.bool_]:
    """Return which rows have finite values that are not all zero."""
    finite = np.all([np.isfinite(plane).all(axis=1) for plane in values], axis=0)
    return np.asarray(finite & np.any([plane.any(axis=1) for plane in values], axis=0))


def sampled(planes: Sequence[Plane]) -> tuple[Integers, tuple[Floats, ...], str]:
    """Return the numbers and the values of the sampled rows of planes, and the effective type of these."""
    rows = sample_rows(planes[0].rows, planes[0].width)
    values = tuple(plane.at(rows) for plane in planes)
    coarsest = max((plane.array.dtype for plane in planes), key=lambda kind: EPSILON.get(kind, 0.0))
    return rows, values, effective_dtype(np.concatenate([part.ravel() for part in values]), coarsest)


def readings(planes: Sequence[Plane], values: Sequence[Floats]) -> list[Reading]:
    """Return the readings whose pairs have one magnitude, the best first; else readings of one component or of angles.

    Parameters
    ----------
    planes : one plane, or two of one shape
    values : their sampled rows, (rows, width) each
    """
    with np.errstate(all="ignore"):
        good = usable_rows(values)
        kept = [plane[good] for plane in values]
        found = _two(kept) if len(kept) == 2 else _one(kept[0], planes[0])
        whole = [replace(reading, values=tuple(values)) for reading in found]
    return sorted(whole, key=lambda reading: round(reading.departure, 3))


def departure(cos: Floats, sin: Floats) -> float:
    """Return how far cos^2 + sin^2 is from its median in each pair, relative, the mean over all."""
    squares = cos**2 + sin**2
    if not squares.size:
        return np.inf
    middle = np.median(squares, axis=0)
    if not (middle > 0).all():
        return np.inf
    off = np.abs(squares / middle - 1)
    by_row = np.sort(np.minimum(off, 1.0).mean(axis=1))
    return float(by_row[: max(1, int(len(by_row) * KEPT_ROWS))].mean())


def same_columns(left: Floats, right: Floats) -> bool:
    """Whether columns equal others in nearly all rows."""
    size = np.abs(left).max(initial=0.0)
    near = np.abs(left - right) <= COPY_GAP * size
    return bool(size > 0 and (near.mean(axis=1) >= MIN_COPY_SHARE).mean() >= MIN_COPY_SHARE)


def copies(values: Floats) -> Iterator[tuple[str, Any, Any]]:
    """Yield the ways in which columns of a plane repeat: halves, or neighbours; only where they are not all alike."""
    width = values.shape[1]
    if width % 2:
        return
    for layout, first, second in (
        ("half", np.s_[: width // 2], np.s_[width // 2 :]),
        ("interleaved", np.s_[0::2], np.s_[1::2]),
    ):
        if same_columns(values[:, first], values[:, second]):
            yield layout, first, second


def _pair_of(
    layout: str, values: Sequence[Floats], cos: Sequence[PlaneColumns], sin: Sequence[PlaneColumns],
    tail: PlaneColumns | None = None, most: float = MAX_DEPARTURE,
) -> Iterator[Reading]:  # fmt: skip
    """Yield a reading of cosines and sines if their squares have one sum."""
    apart = departure(cos[0].of(values), sin[0].of(values))
    if apart < most:
        yield Reading(layout, tuple(values), tuple(cos), tuple(sin), tail, apart)


def _two(values: list[Floats]) -> Iterator[Reading]:
    a, b = values
    for (layout, *parts), (other, *_) in zip(copies(a), copies(b), strict=False):
        if layout == other:
            cos, sin = ([PlaneColumns(k, part) for part in parts] for k in (0, 1))
            yield from _pair_of(layout, values, cos, sin)
    yield from _pair_of("split", values, [PlaneColumns(0, ALL)], [PlaneColumns(1, ALL)])


def _one(values: Floats, plane: Plane) -> Iterator[Reading]:
    width, half = values.shape[1], values.shape[1] // 2
    paired = plane.array.shape[-1:] == (2,) and len([s for s in plane.array.shape if s != 1]) > 2
    doubled = list(copies(values))
    for layout, *parts in copies(values[:, :half]) if width % 4 == 0 else ():  # [cos cos | sin sin]
        ends = ([range(start, start + half)[part] for part in parts] for start in (0, half))
        cos, sin = ([PlaneColumns(0, slice(r.start, r.stop, r.step)) for r in side] for side in ends)
        if same_columns(*(at.of([values]) for at in sin)):
            yield from _pair_of(layout, [values], cos, sin)
    tail = PlaneColumns(0, np.s_[-1:]) if width % 2 else None
    options = [
        ("pairs" if paired else "alternate", np.s_[0 : 2 * half : 2], np.s_[1 : 2 * half : 2], tail),
        ("concat", np.s_[:half], np.s_[half : 2 * half], tail),
    ]
    if width % 2:  # one cosine is missing, or one sine: [s s s | c c], [c c | s s s]
        options.append(("concat", np.s_[:half], np.s_[half + 1 :], PlaneColumns(0, np.s_[half : half + 1])))
    most = MAX_DEPARTURE if not doubled else SURE_DEPARTURE if len(values) >= MIN_SURE_ROWS else 0.0
    for layout, first, second, rest in options:
        yield from _pair_of(layout, [values], [PlaneColumns(0, first)], [PlaneColumns(0, second)], rest, most)
    for layout, *parts in doubled:
        places = tuple(PlaneColumns(0, part) for part in parts)
        kind = f"angles-{layout}" if is_angles(places[0].of([values])) else layout
        yield Reading(kind, (values,), places, departure=MAX_DEPARTURE)
    if is_angles(values):
        yield Reading("angles", (values,), (PlaneColumns(0, ALL),), departure=MAX_DEPARTURE)
    yield Reading("split", (values,), (PlaneColumns(0, ALL),), departure=2 * MAX_DEPARTURE)


def is_angles(values: Floats) -> bool:
    """Whether columns rise or fall evenly past the range of a sine, as unreduced angles do."""
    if len(values) < 3 or np.abs(values).max(initial=0.0) <= MIN_STEP:
        return False
    steps = np.diff(values, axis=0)
    middle = np.median(steps, axis=0)
    even = np.abs(steps - middle) <= 0.02 * np.abs(middle) + 2.0**-7 * np.abs(values).max(axis=0)
    return bool((even.mean(axis=0) > MIN_COPY_SHARE).all() and (middle != 0).any())


MIN_ROWS = 2
# Rows of a block by which the steps are first measured.
HEAD = 64
# Radians by which angle differences of one lag may spread (median) before longer lags are given up: bfloat16 positions
# make fast pairs jump by half a turn.
MAX_SPREAD = 0.35
# Rows whose angle differences are taken for one lag; more add digits with their square root only.
LAG_ROWS = 96
# Mean spread in radians at which the first such block is measured by; later ones look calmer in bfloat16, whose angles
# repeat there.
GOOD_SPREAD = 0.1
# Consecutive rows that move otherwise than those before, from which on frequencies are not measured.
BREAK_ROWS = 4
# A pair must place rows this much sharper than the last one; with 1, wide tables ask hundreds of pairs for nothing.
MIN_GAIN = 0.6
# Roundings of a value that an angle may be off by.
NOISE = 1.5


class Signal(NamedTuple):
    """Measurements of the pairs of one reading.

    Attributes
    ----------
    steps : (m,) float64
        Radians a row of each pair, positive where cosine and sine turn forward, within half a turn.
    errors : (m,) float64
        Absolute uncertainty of `steps`.
    phases : (m,) float64
        Angle of each pair at the reference row.
    magnitudes : (m,) float64
        Length of each pair, the median over rows.
    still : (m,) bool
        Pairs that do not move, though slower rotation would show.
    reference : int
        Row number of the reference row.
    rows : (n,) int64
        Row numbers sampled and usable.
    unit : (n, m) complex128
        Pairs of these rows, of length 1.
    noise : (m,) float64
        Radians by which one angle of a pair may be off: sines of slow pairs are rounded finer.
    blank : (k,) int64
        Sampled rows that hold zeros only, or no numbers.
    """

    steps: Floats
    errors: Floats
    phases: Floats
    magnitudes: Floats
    still: NDArray[np.bool_]
    reference: int
    rows: Integers
    unit: NDArray[np.complex128]
    noise: Floats
    blank: Integers

    def exchanged(self) -> Signal:
        """Return the signal with cosines and sines exchanged, which turn the other way."""
        return self._replace(steps=-self.steps, phases=wrapped(np.pi / 2 - self.phases), unit=1j * np.conj(self.unit))

    @property
    def magnitude(self) -> float:
        """Median length of the pairs that move, or of all pairs if none does."""
        moving = ~self.still
        return float(np.median(self.magnitudes[moving] if moving.any() else self.magnitudes))

    @property
    def backward(self) -> bool:
        """Whether most pairs turn backward."""
        clear = np.abs(self.steps) > 4 * self.errors
        signs = np.sign(self.steps[clear & (np.abs(self.steps) < np.pi / 2)])
        return bool(len(signs) and signs.sum() < 0)


# Relative error of a row's squared size that rounding can make; larger ones are corrupted values and not averaged.
MAX_SIZE_OFF = 0.05


def measure(reading: Reading, rows: Integers, dtype: str) -> Signal | None:
    """Return the signal of a reading with cosines and sines; None where fewer than one row is usable."""
    assert reading.sin is not None
    with np.errstate(all="ignore"):
        good = usable_rows([reading.cos, reading.sin])
        if not good.any():
            return None
        cos, sin, own = reading.cos[good], reading.sin[good], rows[good]
        squares = cos**2 + sin**2
        magnitudes = np.sqrt(np.median(squares, axis=0))
        around = np.ptp(cos, axis=0) > magnitudes / 2  # roundings cancel in the mean of what goes around
        if around.any():
            usual = np.abs(squares / magnitudes**2 - 1) < MAX_SIZE_OFF
            means = np.sqrt(np.where(usual, squares, 0).sum(axis=0) / np.maximum(usual.sum(axis=0), 1))
            magnitudes = np.where(around & (np.abs(means / magnitudes - 1) < 0.01), means, magnitudes)
            typical = float(np.median(magnitudes[around]))
            magnitudes = np.where(~around & (np.abs(magnitudes / typical - 1) < 0.01), typical, magnitudes)
        low, high = np.minimum(np.abs(cos), np.abs(sin)), np.maximum(np.abs(cos), np.abs(sin))
        least = 2.0**-14 if dtype == "float16" else 2.0**-40  # below it float16 has fewer digits
        noise = NOISE * EPSILON[dtype] * np.maximum((low / high).max(axis=0), least)
        unit = phasors(cos / magnitudes, sin / magnitudes)
        steps, errors, first = _steps(unit, own, noise)
        still = (low == 0).all(axis=0) & (np.ptp(cos, axis=0) == 0) & (len(own) > 1)
        return Signal(steps, errors, np.angle(unit[first]), magnitudes, still, int(own[first]), own, unit, noise,
                      rows[~good])  # fmt: skip


def phasors(cos: Floats, sin: Floats) -> NDArray[np.complex128]:
    """Return cosines and sines as complex numbers of length 1, the larger part taken from the smaller one.

    The smaller part is rounded finer; the larger one's rounding is the same in many rows of a slow pair and would
    tilt its line.
    """
    cos, sin = np.clip(cos, -1, 1), np.clip(sin, -1, 1)
    by_sine = np.abs(sin) < np.abs(cos)
    found = np.empty(np.broadcast(cos, sin).shape, np.complex128)
    found.real = np.where(by_sine, np.copysign(np.sqrt(1 - sin * sin), cos), cos)
    found.imag = np.where(by_sine, sin, np.copysign(np.sqrt(1 - cos * cos), sin))
    return found


def wrapped(angles: Floats) -> Floats:
    """Return angles brought into half a turn to both sides."""
    return angles - 2 * np.pi * np.round(angles / (2 * np.pi))


def _steps(unit: NDArray[np.complex128], rows: Integers, noise: Floats) -> tuple[Floats, Floats, int]:
    """Return radians a row of each pair, their uncertainty, and the index of the row that phases refer to."""
    pairs = unit.shape[1]
    best: tuple[float, slice] | None = None
    for start, stop in ((start, run.stop) for run in consecutive(rows) for start in range(run.start, run.stop, HEAD)):
        block = unit[start : min(start + HEAD, stop)]
        if len(block) < MIN_ROWS:
            continue
        turns = np.angle(block[1:] * np.conj(block[:-1]))
        middle = np.median(turns, axis=0)
        spread = float(np.median(np.abs(wrapped(turns - middle)), axis=0).mean())
        if (np.abs(middle) > 2 * noise).any() and (best is None or spread < best[0] - 4 * noise.mean()):
            best = spread, slice(start, stop)
        if best is not None and best[0] < GOOD_SPREAD:
            break
    if best is None:
        return np.zeros(pairs), np.full(pairs, np.inf), 0
    part = unit[best[1]]
    turns = np.angle(part[1:] * np.conj(part[:-1]))
    steps = np.median(turns[: HEAD - 1], axis=0)
    apart = np.abs(wrapped(turns - steps)).mean(axis=1)
    loose = 2 * float(np.median(apart[: HEAD - 1]))
    first = best[1].start + int((apart <= max(GOOD_SPREAD, loose)).argmax())  # a corrupted first row says nothing
    usual = max(min(GOOD_SPREAD, float(np.abs(steps).mean()) / 2), loose)
    changed = np.flatnonzero(np.convolve(apart > usual, np.ones(BREAK_ROWS), "valid") == BREAK_ROWS)
    part = part[: changed[0] + 1] if len(changed) and changed[0] >= BREAK_ROWS else part  # clamped rows tell nothing
    errors = 2 * noise
    lag, open_ = 2, np.ones(pairs, bool)
    while lag < len(part) and open_.any():
        starts = np.arange(0, len(part) - lag, max(1, (len(part) - lag) // LAG_ROWS))
        apart = np.angle(part[starts + lag] * np.conj(part[starts]))
        expected = lag * steps
        rest = wrapped(apart - expected)
        shift = np.median(rest, axis=0)
        scatter: Floats = np.median(np.abs(rest - shift), axis=0)
        open_ &= (scatter < MAX_SPREAD) & (np.abs(shift) < np.pi / 2)
        steps = np.where(open_, steps + shift / lag, steps)
        gain = (2 * noise + scatter) / lag
        errors = np.where(open_, np.minimum(errors, gain), errors)
        lag *= 2
    return steps, errors, first


def positions_in_steps(signal: Signal, frequencies: Floats, phases: Floats, guess: Floats | None = None) -> Floats:
    """Return the place of each sampled row in units of the frequencies' steps, (n,), from slow pairs to fast.

    Parameters
    ----------
    signal : Signal
    frequencies : (m,) float64
        Radians a step of each pair; signed as the pair turns.
    phases : (m,) float64
        Angle of each pair at place 0.
    guess : (n,) float64, optional
        Where the rows are roughly; without it the slowest pairs must turn less than once.
    """
    with np.errstate(all="ignore"):
        angles = np.angle(signal.unit * np.exp(-1j * phases))
        speed = np.abs(frequencies)
        known = np.flatnonzero((speed > 0) & ~signal.still & np.isfinite(signal.noise))
        order = known[np.argsort(speed[known], kind="stable")]
        places, doubt = guess, np.inf
        if guess is not None and len(order):
            doubt = np.pi / (4 * speed[order[0]])
        for k, fast, own in zip(order, speed[order], 2 * signal.noise[order] / speed[order], strict=True):
            if places is None:
                places, doubt = angles[:, k] / frequencies[k], own
            elif doubt * fast <= np.pi / 2 and own < MIN_GAIN * doubt:
                rest = wrapped(angles[:, k] - frequencies[k] * places)
                places, doubt = places + rest / frequencies[k], own
        return np.zeros(len(signal.rows)) if places is None else places


# Roundings by which one minus the cosine of a step must differ from 0; with 5, bfloat16 invents steps.
CLEAR_COSINE = 20.0
# Consecutive rows that a frequency is measured by; a column of fewer is fitted by too many series.
MIN_LONE_ROWS = 6
# Radians that a column must move for its phase to be known.
MIN_TURN = 0.5
# Mean distance of a column from the one wave that fits it best, of its size; noise has 0.7.
MAX_WAVE_GAP = 0.05
# Smallest share of the sampled values that waves must explain for a table to be called one of cosines and sines.
MIN_WAVES = 0.9


class Measured(NamedTuple):
    """A reading of a table with its measurements, cosines and sines in order.

    Where the positions of rows were `stated`, these are the numbers of `rows` and the abscissas of the signal.
    """

    planes: tuple[Plane, ...]
    reading: Reading
    signal: Signal
    pairs: Pairs
    dtype: str
    rows: np.ndarray
    stated: Integers | None = None
    falling: bool = False

    def otherwise(self) -> Measured:
        """Return the same with cosines and sines the other way round: positions fall where they rose."""
        signal, reading, sine_first = self.signal.exchanged(), self.reading.swapped(), not self.pairs.sine_first
        pairs = replace(self.pairs, sine_first=sine_first, tail=_tail(reading, sine_first))
        return self._replace(reading=reading, signal=signal, pairs=pairs, falling=not self.falling)


# Share of the pairs that turn by more than a quarter a row beyond which the others do not tell the direction.
MAX_FAST = 0.25
# Values of a row up to which a few rows are read as waves: longer ones are flattened tables, and trying every name on
# them would take minutes.
MAX_ROW, MIN_LONG_ROWS = 1 << 14, 4


def wave_groups(planes: Sequence[Plane]) -> Iterator[tuple[Plane, ...]]:
    """Yield planes that may belong together: cosines and sines, real and imaginary parts, a stack, then each alone."""
    by_name: dict[str, list[Plane]] = {}
    for plane in planes:
        if plane.width <= MAX_ROW or plane.rows >= MIN_LONG_ROWS:
            by_name.setdefault(plane.array.name, []).append(plane)
    pair = cosines_and_sines(list(by_name))
    both = [by_name[name][0] for name in pair or by_name]
    if _are_pair(both):
        yield tuple(both)
    for name, every in by_name.items():
        own = every[:2] if every[0].part else every  # real and imaginary parts of the first of several copies
        if name in pair and _are_pair(both):
            continue
        if _are_pair(own):
            yield tuple(own)
        if not own[0].part or len(own) != 2:  # a part of complex numbers alone says nothing of the other
            yield (own[0],)


def _are_pair(planes: Sequence[Plane]) -> bool:
    return len(planes) == 2 and len({(plane.rows, plane.width) for plane in planes}) == 1


def measured_readings(
    planes: tuple[Plane, ...], stated: Integers | None = None, *, still: bool = False
) -> Iterator[Measured]:
    """Yield the readings of planes that hold cosines and sines, put in order and measured, the best first.

    With `still`, only those whose rows move too seldom to be measured, as at positions rounded to a narrow type.
    """
    rows, values, dtype = sampled(planes)
    at = rows if stated is None else stated[rows]
    found = [reading for reading in readings(planes, values) if reading.sin is not None]
    tries = [(reading, len(rows), dtype) for reading in found]
    tries += [(found[0], NEAR_ROWS, "bfloat16")] if found and len(rows) > NEAR_ROWS else []  # where angles were rounded
    for reading, count, kind in tries:
        first = replace(reading, values=tuple(plane[:count] for plane in values))
        signal = measure(first, at[:count], kind)
        if signal is None or (len(signal.rows) > 1 and bool(np.isinf(signal.errors).all())) != still:
            continue
        fast = np.abs(signal.steps) > np.pi / 2  # these may turn either way, and the reading is yielded both ways
        doubtful = len(signal.rows) == 1 or (fast.any() and (signal.backward or fast.mean() > MAX_FAST))
        for swapped in (signal.backward, not signal.backward) if doubtful else (signal.backward,):
            oriented = reading.swapped() if swapped else reading
            own = signal.exchanged() if swapped else signal
            pairs = _pairs(oriented, own, dtype, swapped, planes)
            yield Measured(planes, oriented, own, pairs, dtype, at, stated)


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
    column = reading.tail.of(reading.values)
    if (column[np.isfinite(column)] == 0).all():
        return "zero"
    middle = reading.tail.index.start != reading.values[0].shape[1] - 1
    return "sine" if swapped != middle else "cosine"


def lone_readings(planes: tuple[Plane, ...], columns: slice | None = None) -> Iterator[Measured]:
    """Yield one plane, or some of its columns, read as cosines alone, sines alone (phase), or raw angles."""
    rows, values, dtype = sampled(planes)
    if values[0].shape[1] > 2 and (values[0] == values[0][:, :1]).all():  # a channel of a grid: no pairs
        return
    alone = [] if columns is None else [Reading("split", values, (PlaneColumns(0, columns),))]
    for reading in alone or readings(planes, values):
        if reading.sin is not None:
            continue
        with np.errstate(all="ignore"):
            signal = _raw_angles(reading, rows, dtype) if reading.is_angles else _component(reading, rows, dtype)
        if signal is None or (reading.is_angles and reading.pairs == 1):  # one column that rises: positions
            continue
        layout = "angles" if reading.is_angles else reading.layout
        loose = EPSILON[dtype] if reading.is_angles else float(signal.noise.min()) / 4  # angles may be narrower
        pairs = Pairs(np.abs(signal.steps), signal.errors, signal.still, signal.magnitude, max(2.0**-20, loose),
                      False, False, layout, 2 * reading.pairs)  # fmt: skip
        yield Measured(planes, reading, signal, pairs, dtype, rows)


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


# Rows in which bfloat16 angles are still near the exact ones.
NEAR_ROWS = 24


def _component(reading: Reading, rows: np.ndarray, dtype: str) -> Signal | None:
    """Return each column as one wave A cos(w r + phase); None where columns are no waves.

    Where the first rows alone are waves, angles or positions were rounded.
    """
    good = usable_rows([reading.cos])
    values, own = reading.cos[good], rows[good]
    run = max(consecutive(own), key=lambda r: r.stop - r.start, default=slice(0, 0))
    tries = [(run, dtype), (slice(run.start + 1, run.stop), dtype)]  # a first row of another scale, as of a transform
    if run.stop - run.start > NEAR_ROWS:
        tries.append((slice(run.start, run.start + NEAR_ROWS), "bfloat16"))
    found = (_waves(values, own, at, 2 * EPSILON[kind], rows[~good]) for at, kind in tries)
    return next((signal for signal in found if signal is not None), None)


def _waves(values: Floats, own: Integers, run: slice, eps: float, unused: Integers) -> Signal | None:
    """Return the columns of a run of consecutive rows as waves."""
    x, count = values[run], run.stop - run.start
    if count < MIN_LONE_ROWS:
        return None
    size = float(np.abs(values).max())
    steps, errors = _frequencies(x / size, eps)
    r = np.arange(count)[:, None]
    c, s = np.cos(r * steps), np.sin(r * steps)
    cc, ss, cs = (c * c).sum(0), (s * s).sum(0), (c * s).sum(0)
    xc, xs = (x * c).sum(0), (x * s).sum(0)
    det = cc * ss - cs * cs
    a, b = (xc * ss - xs * cs) / det, (xs * cc - xc * cs) / det
    known = np.isfinite(a) & np.isfinite(b) & (steps * count > MIN_TURN) & np.isfinite(errors)
    if not known.any():
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
                  unused)  # fmt: skip


def _frequencies(x: Floats, eps: float) -> tuple[Floats, Floats]:
    """Return radians a row of columns of cosines: x(r + L) + x(r - L) = 2 cos(w L) x(r), for lags L = 1, 2, 4, .."""
    count, width = x.shape
    steps, errors = np.full(width, np.nan), np.full(width, np.inf)
    lag = 1
    while 2 * lag < count:
        middle = x[lag:-lag]
        both = x[2 * lag :] + x[: -2 * lag]
        cosine = (both * middle).sum(0) / (2 * (middle * middle).sum(0))
        angle = np.arccos(np.clip(cosine, -1, 1))
        doubt = eps / np.maximum(np.abs(np.sin(angle)), 1e-12) / np.sqrt(np.maximum(1, count - 2 * lag)) * 2
        clear = (1 - np.abs(cosine) > CLEAR_COSINE * eps * 0.1) & (1 - cosine > CLEAR_COSINE * eps)
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


def _fits(rows: Integers, values: Floats, step: float) -> bool:
    """Whether a wave of some radians a row gives a column, whatever its phase."""
    waves = np.stack([np.cos(step * rows), np.sin(step * rows)], axis=1)
    left = values - waves @ np.linalg.lstsq(waves, values, rcond=None)[0]
    return bool(np.std(left) <= MAX_WAVE_GAP * np.abs(values).max())


def may_be_waves(measured: Measured) -> bool:
    """Whether one position per row may explain cosines or sines that are read alone, as far as some rows show it."""
    is_shown = len(measured.signal.rows) >= MIN_LONE_ROWS and np.isfinite(measured.signal.errors).mean() >= MIN_WAVES
    return measured.reading.is_angles or not is_shown or follows_waves(measured)


def follows_waves(measured: Measured) -> bool:
    """Whether waves, or angles, with one position per row explain nearly all sampled values of some rows."""
    signal, reading = measured.signal, measured.reading
    known = np.isfinite(signal.errors)
    if len(signal.rows) < MIN_LONE_ROWS or known.mean() < (MIN_WAVES if reading.is_alone else 1):
        return False
    if reading.is_alone:
        if 2 * np.count_nonzero(reading.cos) <= reading.cos.size:  # to a few numbers anything fits
            return False
        fits = [_fits(measured.rows, reading.cos[:, k], signal.steps[k]) for k in np.flatnonzero(known)]
        return bool(np.mean(fits) >= MIN_WAVES)
    rows = (signal.rows - signal.reference)[:, None]
    if reading.is_angles:
        shown = reading.cos[np.searchsorted(measured.rows, signal.rows)]
        starts = signal.phases[signal.steps > 0] / signal.steps[signal.steps > 0]
        off = np.abs(shown - signal.phases - signal.steps * rows) / np.abs(shown).max(axis=0)
        return bool((off < MAX_WAVE_GAP).mean() >= MIN_WAVES and np.ptp(starts) <= 1 / MIN_WAVES)
    lengths = signal.magnitudes[~signal.still]
    if not len(lengths):
        return False
    places = positions_in_steps(signal, signal.steps, signal.phases, rows[:, 0].astype(float))
    off = np.abs(signal.unit - np.exp(1j * (signal.phases + signal.steps * places[:, None])))
    one_length = (np.abs(lengths / np.median(lengths) - 1) < MAX_WAVE_GAP).mean() >= MIN_WAVES
    return bool((off < MAX_WAVE_GAP).mean() >= MIN_WAVES and one_length)


# Of a straight line, relative to its range, and of the lengths of a pair whose angle is to be read; radians by which
# the turns of rows may differ that are evenly spaced.
MAX_BEND, MAX_COARSE, MAX_UNEVEN_TURN = 1e-3, 0.01, 0.05


def straight_columns(reading: Reading) -> Integers:
    """Return the columns that rise or fall evenly, beyond what sines do, as the first one of Time2Vec."""
    columns, rows = reading.cos - reading.cos.mean(axis=0), np.arange(len(reading.cos))[:, None]
    rows = rows - rows.mean()
    slopes = (columns * rows).sum(axis=0) / (rows**2).sum()
    off, size = np.abs(columns - slopes * rows).max(axis=0), np.ptp(columns, axis=0)
    return np.flatnonzero((off <= MAX_BEND * size) & (size > 2 * np.median(size)))


def uneven_turns(reading: Reading, signal: Signal) -> str:
    """Return that rows are at uneven positions, by which the first pair turns; "" where they are even."""
    assert reading.sin is not None
    if np.ptp(np.hypot(reading.cos[:, 0], reading.sin[:, 0])) > MAX_COARSE * signal.magnitude:  # the values are coarse
        return ""
    near = np.flatnonzero(np.diff(signal.rows) == 1)
    turns = np.abs(np.angle(signal.unit[near + 1, 0] * signal.unit[near, 0].conj()))
    if not len(turns) or signal.still[0] or turns.max() > np.pi / 2 or np.ptp(turns) <= MAX_UNEVEN_TURN:
        return ""
    low, high = turns.min(), turns.max()
    return f"the rows are at uneven positions, the first pair turns by {low:.4g} to {high:.4g} radians from row to row"
