"""Cosines or sines alone: what they say of the pairs that they are part of.

A cosine x_k = cos (a + k w) has x_(k-1) + x_(k+1) = 2 cos(w) x_k, and so has a sine; each column gives its step.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from pecli.measures.phase_lines import first_row
from pecli.measures.placing import position_of
from pecli.measures.readings import ALL, Reading, doublings
from pecli.measures.samples import Floats
from pecli.measures.sides import UNCHANGED, Sides, alike
from pecli.measures.spectra import Measured

FAR = 1.2  # radians before a quarter of a turn, up to which an angle is read off its cosine or sine
TELLING = 0.1  # relative error of a step that says something
FAST = 0.3  # radians a row by which the other part is told from neighbours
ROUGH = 4.0  # half units by which a size may be off
SURE = 0.05  # radians a row above which a column's step can be told from its curvature
BEFORE = 4  # times the rows that position 0 may lie before them, for slow columns not to have gone around since
AROUND = 8  # turns of the distance by which a column's step was told, whose rows give its first angle
QUARTER = np.pi / 2
NEAR = 0.25  # by which a position may be off the whole number, or number of steps, that it is
LEAST_ROWS = 16  # by which steps are fitted
FOLLOWED = 0.5  # radians that a column may be off by at the last of some rows to be fitted to them


@dataclass(frozen=True)
class Lone:
    """One part of rotations.

    Attributes
    ----------
    part : {"cos", "sin"}
    reading : Reading
        Where it stands, in the place of both.
    measured : Measured
        The steps of its columns, of the fast ones.
    size : float
        Of the pairs.
    phases, blurs : (m,) float64, optional
        Their angles in the first row, and what these may be off by; None where this is position 0.
    """

    part: str
    reading: Reading
    measured: Measured
    size: float = 1.0
    phases: Floats | None = None
    blurs: Floats | None = None

    def start(self, w: Floats, step: Fraction) -> Fraction | None:
        """Return the position of the table's row 0 for frequencies in radians a position; None where none is found.

        A whole position, or a whole number of steps; only the fast pairs are asked: the first of `w`.
        """
        if self.phases is None or self.blurs is None:
            return -int(self.reading.rows.start) * step
        found = _position(w * float(step), self.measured.errors, self.phases, self.blurs, float(step))
        units = (Fraction(1), step) if found is not None else ()
        nearest = (Fraction(round((found or 0.0) / float(unit))) * unit for unit in units)
        loose = NEAR * min(1.0, float(step))
        whole = (place for place in nearest if abs((found or 0.0) - float(place)) <= loose)
        first: Fraction | None = next(whole, None)
        return None if first is None else first - int(self.reading.rows.start) * step


def _position(steps: Floats, errors: Floats, phases: Floats, blurs: Floats, step: float) -> float | None:
    """Return where columns of steps a row are that have these first angles; None where they agree on no position."""
    steps = steps[: len(phases)]
    errors, phases, blurs = 2 * errors[: len(steps)] + 1e-12, phases[: len(steps)], blurs[: len(steps)]
    chain, _ = first_row(steps, phases, errors + blurs)
    errors = errors * (1 + abs(chain)) + blurs  # so many rows of what a step may be off by
    found = position_of(steps / step, phases, errors, chain * step, "exact")
    return None if found is None else found[0]


def lone_parts(values: Floats, resolution: float, row: int = 0) -> Iterator[Lone]:
    """Yield what an array of cosines, or of sines, may be a part of; `row` of the table is the first one here."""
    rows, width = values.shape
    if rows < 4 or not np.isfinite(values).all():
        return
    part = "cos" if values[0, 0] > 0 and (values[0] == values[0, 0]).all() else "sin" if not values[0].any() else None
    for layout, left, right in (*doublings(width), ("split", ALL, ALL)):
        columns = values[left]
        if np.array_equal(columns, values[right]):
            places = ((0, left),) if layout == "split" else ((0, left), (0, right))
            own = 2 * columns.shape[1]  # of its pairs in either layout
            reading = Reading("rotary", layout, columns, columns, own, slice(row, row + rows), places=places,
                              resolution=resolution)  # fmt: skip
            size = float(columns[0, 0]) if part == "cos" else _size(columns, resolution)
            if np.abs(columns).max() > size * (1 + ROUGH * resolution):
                return
            columns = np.clip(columns / size, -1, 1)
            if part is None:
                for name, measured, phases, blurs in _anywhere(columns, resolution):
                    yield Lone(name, reading, measured, size, phases, blurs)
            elif (steps := _steps(columns, part, resolution)) is not None:
                yield Lone(part, reading, steps, size)
            return


def _size(values: Floats, resolution: float) -> float:
    """Return the size of pairs from the fast columns, whose next rows give the other part; 1 where none tells."""
    steps, errors = _curvature(values, resolution)
    told = (steps > FAST) & (steps < np.pi - FAST) & (errors < SURE)
    if not told.any():
        return 1.0
    inner, w = values[1:-1, told], steps[told]
    other = (values[:-2, told] - values[2:, told]) / (2 * np.sin(w))
    size = float(np.median(np.sqrt(np.median(inner**2 + other**2, axis=0))))
    return 1.0 if abs(size - 1) <= ROUGH * resolution else size


def _curvature(values: Floats, resolution: float) -> tuple[Floats, Floats]:
    """Return the steps of columns from what three rows add up to, and their errors."""
    inner = values[1:-1]
    with np.errstate(invalid="ignore", divide="ignore"):
        energy = (inner**2).sum(axis=0)
        cosine = (inner * (values[:-2] + values[2:])).sum(axis=0) / (2 * energy)
        steps = np.arccos(np.clip(cosine, -1, 1))
        return steps, 8 * resolution / np.maximum(np.sin(steps), 1e-9) / np.sqrt(energy)


def fastest_steps(values: Floats, resolution: float) -> list[tuple[float, float]]:
    """Return the logarithm by which the second fastest of cosines and sines is slower than the fastest, and its error.

    Of columns in any order; nothing where that cannot be told.
    """
    steps, errors = _curvature(values, resolution)
    told = np.isfinite(steps) & (steps > SURE) & (errors < TELLING * steps)
    order = np.argsort(-steps[told])
    steps, errors = steps[told][order], errors[told][order] / steps[told][order]
    if not len(steps):
        return []
    slower = np.flatnonzero(steps < steps[0] * (1 - 8 * (errors + errors[0])))
    if not len(slower):
        return []
    k = int(slower[0])
    same = slice(k, k + 2)  # its sine and cosine: the better one
    best = k + int(errors[same].argmin())
    first = int(errors[:k].argmin())
    return [(float(np.log(steps[first] / steps[best])), float(2 * (errors[first] + errors[best])))]


def fastest_step(values: Floats, resolution: float) -> tuple[float, float] | None:
    """Return the step of the fastest of cosines and sines, in radians a row, and its error; None where none is told."""
    steps, errors = _curvature(values, resolution)
    told = np.isfinite(steps) & (steps > SURE) & (errors < TELLING * steps)
    if not told.any():
        return None
    steps, errors = steps[told], errors[told]
    best = np.flatnonzero(steps + errors >= (steps - errors).max())
    at = best[errors[best].argmin()]
    return float(steps[at]), float(errors[at])


def side_steps(points: Floats, sides: Sides, resolution: float) -> list[tuple[float, float] | None]:
    """Return the fastest step along each side of a grid that one array follows, radians a place, and its error.

    By the columns that stay the same along all other sides.
    """
    body, shown = sides.shown(len(points))
    cube = points[body].reshape(*shown, -1)
    stays = np.stack([alike(cube, axis, UNCHANGED * np.abs(cube).max()) for axis in range(len(shown))])
    found = []
    for axis in range(len(shown)):
        rest = tuple(a for a in range(len(shown)) if a != axis)
        own = stays[list(rest)].all(axis=0) & ~stays[axis]
        found.append(fastest_step(np.median(cube[..., own], axis=rest), resolution) if own.any() else None)
    return found


def _anywhere(values: Floats, resolution: float) -> Iterator[tuple[str, Measured, Floats, Floats]]:
    """Yield the columns' steps and first angles, as cosines and as sines: later rows give the other part.

    Of columns up to the first that turns too little.
    """
    rows = len(values)
    steps, errors = _curvature(values, resolution)
    steps[~(np.sin(steps) >= SURE)] = 0.0
    strides = np.where(steps > 0, 1, 0)
    for stride in (2**k for k in range(1, (rows // 2).bit_length())):  # as if the rows between were not there
        slow = np.flatnonzero(steps < FAST / stride)
        found, blurs = _curvature(values[: len(values) // stride * stride : stride, slow], resolution)
        told = (found >= FAST) & (found <= np.pi - FAST) & (blurs < TELLING)
        steps[slow[told]], errors[slow[told]], strides[slow[told]] = found[told] / stride, blurs[told] / stride, stride
    count = len(steps) if strides.all() else int(strides.argmin())
    if count < 2:
        return
    steps, errors, phases = steps[:count], errors[:count], np.zeros(count)
    steps = _beyond_half_turns(steps)
    for i, (w, stride) in enumerate(zip(steps, strides, strict=False)):
        x = values[: AROUND * stride + 1, i]
        turning = x[:-stride] + 1j * (x[:-stride] * np.cos(stride * w) - x[stride:]) / np.sin(stride * w)
        if np.abs(np.abs(turning) - 1).max() > 0.5:
            return
        phases[i] = np.angle((turning * np.exp(-1j * w * np.arange(len(turning)))).mean())
    steps, first, errors, blurs = _fitted(values[:, :count], steps, phases, errors, resolution)
    measured = Measured(steps, errors + 1e-16, float(values.shape[1]))
    for name, angles in (("cos", first), ("sin", first + QUARTER)):
        at = _position(steps, measured.errors, angles, blurs, 1.0)
        row = 0 if at is None or abs(at - round(at)) > NEAR else round(at)
        placed = _steps(values, name, resolution, row, (steps, errors)) if 0 < row <= BEFORE * rows else None
        yield name, placed or measured, angles, blurs


def _beyond_half_turns(steps: Floats) -> Floats:
    """Return steps of falling columns, of which the first ones may turn by more than half a turn from row to row.

    These follow from the series of the columns after them, to the turn.
    """
    found = steps.copy()
    for i in range(len(steps) - 3, -1, -1):
        expected = found[i + 1] ** 2 / found[i + 2]
        either = np.array([steps[i], -steps[i]])
        either += 2 * np.pi * np.round((expected - either) / (2 * np.pi))
        found[i] = either[np.abs(either - expected).argmin()]
    return found


def _fitted(
    values: Floats, steps: Floats, phases: Floats, errors: Floats, resolution: float, placed: int | None = None
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return steps and first angles of cosines, and the errors of both, by least squares over ever more rows.

    As many as the steps are sure enough for; `placed`: how many rows the angles that are known lie before the first.
    """
    count = len(values)
    steps, phases, errors, blurs = steps.copy(), phases.copy(), errors.copy(), errors * count
    for rows in sorted({*(2**k for k in range(3, count.bit_length())), count} if count >= LEAST_ROWS else ()):
        k = np.arange(rows, dtype=np.float64)[:, None] + (placed or 0)
        sure = np.flatnonzero(k[-1] * errors < FOLLOWED)
        angles = phases[sure] + k * steps[sure]
        rest, slope = values[:rows, sure] - np.cos(angles), -np.sin(angles)
        middle = (slope**2 * k).sum(axis=0) / (slope**2).sum(axis=0) if placed is None else 0.0
        lever = slope * (k - middle)
        total = (lever**2).sum(axis=0)
        turned = (rest * lever).sum(axis=0) / total
        left = 2 * resolution / np.sqrt(total)
        good = np.isfinite(turned) & (np.abs(turned) * k[-1] < FOLLOWED) & (left < errors[sure])
        if placed is None:
            energy = (slope**2).sum(axis=0)
            phases[sure[good]] += ((rest * slope).sum(axis=0) / energy - middle * turned)[good]
            blurs[sure[good]] = (2 * resolution * np.sqrt(1 / energy + middle**2 / total))[good]
        steps[sure[good]] += turned[good]
        errors[sure[good]] = left[good]
    return steps, phases, errors, blurs


def _steps(
    values: Floats, part: str, resolution: float, first: int = 0, known: tuple[Floats, Floats] | None = None
) -> Measured | None:
    """Return the steps of columns, the fast ones from all rows, the slow ones from their first rise or fall.

    The slowest cosines do not leave 1: the columns before them say enough.  `first` is the first row's position,
    `known` the steps of the fast columns and their errors.
    """
    m = values.shape[1]
    steps, errors = _curvature(values, resolution)
    slow = ~(steps >= SURE)
    if known is not None:
        fast = len(known[0])
        steps[:fast], errors[:fast] = known
        slow = np.arange(m) >= fast
    values = values[1:] if first == 0 else values  # position 0 says nothing
    at = np.arange(len(values)) + max(first, 1)
    angles = np.arccos(values) if part == "cos" else np.arcsin(values)
    slopes = np.abs(np.sin(angles) if part == "cos" else np.cos(angles))
    steps[~slow] = _beyond_half_turns(steps[~slow])
    for i in np.flatnonzero(slow):
        far = np.flatnonzero(angles[:, i] > FAR)
        last = max((int(far[0]) if len(far) else len(at)) - 1, 0)
        steps[i] = angles[last, i] / at[last]
        errors[i] = resolution * abs(values[last, i]) / max(slopes[last, i], 1e-300) / at[last]
    zero = np.full(m, 0.0 if part == "cos" else -QUARTER)
    steps, _, errors, _ = _fitted(values, steps, zero, errors, resolution, placed=int(at[0]))
    told = np.isfinite(steps) & (steps > 0) & (errors < TELLING * steps)
    count = m if told.all() else int(told.argmin())
    return Measured(steps[:count], 2 * errors[:count] + 1e-16, float(m)) if count > 1 else None
