"""Signal of a table of waves: frequency, direction and phase of each pair, and the position of each row.

Frequencies are measured in radians a row, by the median of angle differences over ever longer lags.  The place of a
row, in steps from a reference row, comes from the slow pairs first, each faster one sharpening it: this array
shows clamped, missing, repeated, reversed and rounded positions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from pecli.judge.planes import EPSILON, Floats
from pecli.judge.structure import Reading, usable_rows

TURN = 2 * np.pi
MIN_ROWS = 2
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


@dataclass(frozen=True)
class Signal:
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
    rows: NDArray[np.int64]
    unit: NDArray[np.complex128]
    noise: Floats
    blank: NDArray[np.int64]

    def exchanged(self) -> Signal:
        """Return the signal with cosines and sines exchanged, which turn the other way."""
        return replace(self, steps=-self.steps, phases=wrapped(np.pi / 2 - self.phases), unit=1j * np.conj(self.unit))

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


def measure(reading: Reading, rows: NDArray[np.int64], dtype: str) -> Signal | None:
    """Return the signal of a reading with cosines and sines; None where fewer than one row is usable."""
    assert reading.sin is not None
    with np.errstate(all="ignore"):
        good = usable_rows([reading.cos, reading.sin])
        if np.count_nonzero(good) < 1:
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
        noise = NOISE * EPSILON[dtype] * np.maximum((low / high).max(axis=0), 2.0**-40)
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
    return angles - TURN * np.round(angles / TURN)


def runs_of(rows: NDArray[np.int64]) -> list[slice]:
    """Return the slices of consecutive row numbers."""
    breaks = np.flatnonzero(np.diff(rows) != 1) + 1
    edges = [0, *breaks.tolist(), len(rows)]
    return [slice(a, b) for a, b in pairwise(edges)]


def _steps(unit: NDArray[np.complex128], rows: NDArray[np.int64], noise: Floats) -> tuple[Floats, Floats, int]:
    """Return radians a row of each pair, their uncertainty, and the index of the row that phases refer to."""
    pairs = unit.shape[1]
    best: tuple[float, slice] | None = None
    for run in runs_of(rows):
        for start in range(run.start, run.stop, 64):
            block = slice(start, min(start + 64, run.stop))
            if block.stop - block.start < MIN_ROWS:
                continue
            turns = np.angle(unit[block][1:] * np.conj(unit[block][:-1]))
            middle = np.median(turns, axis=0)
            spread = float(np.median(np.abs(wrapped(turns - middle)), axis=0).mean())
            if (np.abs(middle) > 2 * noise).any() and (best is None or spread < best[0] - 4 * noise.mean()):
                best = spread, slice(start, run.stop)
            if best is not None and best[0] < GOOD_SPREAD:
                break
        if best is not None and best[0] < GOOD_SPREAD:
            break
    if best is None:
        return np.zeros(pairs), np.full(pairs, np.inf), 0
    part = unit[best[1]]
    turns = np.angle(part[1:64] * np.conj(part[:63][: len(part[1:64])]))
    steps = np.median(turns, axis=0)
    apart = np.abs(wrapped(turns - steps)).mean(axis=1)  # of a corrupted first row the next one says nothing
    first = best[1].start + int((apart <= max(GOOD_SPREAD, 2 * float(np.median(apart)))).argmax())
    usual = max(min(GOOD_SPREAD, float(np.abs(steps).mean()) / 2), 2 * float(np.median(apart)))
    off = np.abs(wrapped(np.angle(part[1:] * np.conj(part[:-1])) - steps)).mean(axis=1) > usual
    changed = np.flatnonzero(np.convolve(off, np.ones(BREAK_ROWS), "valid") == BREAK_ROWS)
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
