"""Measured tables of waves: planes that belong together, their cosines and sines, and the signal of each pair."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pecli.judge.planes import EPSILON, Floats, Integers, Plane, effective_dtype, sample_rows
from pecli.judge.signal import Signal, measure, positions_in_steps, runs_of
from pecli.judge.structure import Reading, lone_columns, readings, usable_rows
from pecli.spec.measured import Pairs
from pecli.tables.layouts import cosines_and_sines

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


@dataclass(frozen=True)
class Measured:
    """A reading of a table with its measurements, cosines and sines in order.

    Where the positions of rows were `stated`, these are the numbers of `rows` and the abscissas of the signal.
    """

    planes: tuple[Plane, ...]
    reading: Reading
    signal: Signal
    pairs: Pairs
    dtype: str
    rows: np.ndarray
    swapped: bool
    stated: Integers | None = None
    falling: bool = False

    def otherwise(self) -> Measured:
        """Return the same with cosines and sines the other way round: positions fall where they rose."""
        signal, reading = self.signal.exchanged(), self.reading.swapped()
        pairs = replace(self.pairs, sine_first=not self.swapped, tail=_tail(reading, not self.swapped))
        return replace(self, reading=reading, signal=signal, pairs=pairs, swapped=not self.swapped,
                       falling=not self.falling)  # fmt: skip


def wave_groups(planes: Sequence[Plane]) -> Iterator[tuple[Plane, ...]]:
    """Yield planes that may belong together: cosines and sines, real and imaginary parts, a stack, then each alone."""
    by_name: dict[str, list[Plane]] = {}
    for plane in planes:
        by_name.setdefault(plane.array.name, []).append(plane)
    names = list(by_name)
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


def measured_readings(planes: tuple[Plane, ...], stated: Integers | None = None) -> Iterator[Measured]:
    """Yield the readings of planes that hold cosines and sines, put in order and measured, the best first."""
    rows = sample_rows(planes[0].rows, planes[0].width)
    values = [plane.at(rows) for plane in planes]
    dtype = effective_dtype(np.concatenate([v.ravel() for v in values]), planes[0].array.dtype)
    at = rows if stated is None else stated[rows]
    found = [reading for reading in readings(planes, values) if reading.sin is not None]
    for reading in found:
        yield from _measured(reading, measure(reading, at, dtype), planes, dtype, at, stated)
    for reading in found[:1] if len(rows) > NEAR_ROWS else ():  # the first rows alone, where angles were rounded
        assert reading.sin is not None
        near = replace(reading, cos=reading.cos[:NEAR_ROWS], sin=reading.sin[:NEAR_ROWS])
        yield from _measured(reading, measure(near, at[:NEAR_ROWS], "bfloat16"), planes, dtype, at, stated)


def _measured(
    reading: Reading, signal: Signal | None, planes: tuple[Plane, ...], dtype: str, at: Integers,
    stated: Integers | None,
) -> Iterator[Measured]:  # fmt: skip
    """Yield a reading with its signal, and the other way round where the signal leaves that open."""
    if signal is None or (len(signal.rows) > 1 and np.isinf(signal.errors).all()):  # no pair moves
        return
    doubtful = len(signal.rows) == 1 or (signal.backward and (np.abs(signal.steps) > np.pi / 2).any())
    for swapped in (signal.backward, not signal.backward) if doubtful else (signal.backward,):
        oriented = reading.swapped() if swapped else reading
        own = signal.exchanged() if swapped else signal
        pairs = _pairs(oriented, own, dtype, swapped, planes)
        yield Measured(planes, oriented, own, pairs, dtype, at, swapped, stated)


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


def lone_readings(planes: tuple[Plane, ...], columns: slice | None = None) -> Iterator[Measured]:
    """Yield one plane, or some of its columns, read as cosines alone, sines alone (phase), or raw angles."""
    rows = sample_rows(planes[0].rows, planes[0].width)
    values = [plane.at(rows) for plane in planes]
    dtype = effective_dtype(values[0], planes[0].array.dtype)
    for reading in readings(planes, values) if columns is None else [lone_columns(values, columns)]:
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
        yield Measured(planes, reading, signal, pairs, dtype, rows, False)


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
    run = max(runs_of(own), key=lambda r: r.stop - r.start)
    signal = _waves(values, own, run, 2 * EPSILON[dtype], rows[~good])
    if signal is None and run.stop - run.start > NEAR_ROWS:
        signal = _waves(values, own, slice(run.start, run.start + NEAR_ROWS), 2 * EPSILON["bfloat16"], rows[~good])
    return signal


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
