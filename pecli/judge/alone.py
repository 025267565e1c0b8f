"""Cosines or sines alone, and angles that were never reduced: measured so that the same rules can name them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pecli.judge.planes import EPSILON, Floats, Plane, effective_dtype, sample_rows
from pecli.judge.signal import Signal, runs_of
from pecli.judge.structure import Reading, readings, usable_rows
from pecli.judge.waves import Measured
from pecli.spec.measured import Pairs

CLEAR = 20.0
"""Roundings by which one minus the cosine of a step must differ from 0; with 5, bfloat16 invents steps."""
MIN_ROWS = 6
"""Consecutive rows that a frequency is measured by; a column of fewer is fitted by too many series."""
MIN_TURN = 0.5
"""Radians that a column must move for its phase to be known."""
MAX_WAVE_GAP = 0.05
"""Mean distance of a column from the one wave that fits it best, of its size; noise has 0.7."""


def lone_readings(planes: tuple[Plane, ...], stated: Floats | None = None) -> Iterator[Measured]:
    """Yield one plane read as cosines alone, sines alone (phase), or raw angles."""
    rows = sample_rows(planes[0].rows, planes[0].width)
    values = [plane.at(rows) for plane in planes]
    dtype = effective_dtype(values[0], planes[0].array.dtype)
    for reading in readings(planes, values):
        if reading.sin is not None:
            continue
        with np.errstate(all="ignore"):
            signal = _angles(reading, rows, dtype) if reading.is_angles else _component(reading, rows, dtype)
        if signal is None or (reading.is_angles and reading.pairs == 1):  # one column that rises: positions
            continue
        layout = "angles" if reading.is_angles else reading.layout
        pairs = Pairs(np.abs(signal.steps), signal.errors, signal.still, signal.magnitude,
                      max(2.0**-20, EPSILON[dtype]), False, False, layout, 2 * reading.pairs)  # fmt: skip
        yield Measured(planes, reading, signal, pairs, dtype, rows, False, stated)


def _angles(reading: Reading, rows: np.ndarray, dtype: str) -> Signal | None:
    """Return the slope of each column of angles; their phases stand in `unit`'s argument only up to whole turns."""
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
    if count < MIN_ROWS:
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
        clear = inside & (1 - np.abs(cosine) > CLEAR * eps * 0.1) & (1 - cosine > CLEAR * eps)
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
