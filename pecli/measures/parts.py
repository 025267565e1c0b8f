"""Cosines or sines alone: what they say of the pairs that they are part of.

A cosine x_k = cos (a + k w) has x_(k-1) + x_(k+1) = 2 cos(w) x_k, and so has a sine; each column gives its step.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from pecli.measures.phase_lines import first_row
from pecli.measures.placing import position_of
from pecli.measures.readings import doublings
from pecli.measures.rhythm import measure
from pecli.measures.samples import Floats
from pecli.measures.spectra import Measured

FAR = 1.2  # radians before a quarter of a turn, up to which an angle is read off its cosine or sine
TELLING = 0.1  # relative error of a step that says something
SURE = 0.05  # radians a row above which a column's step can be told from its curvature
QUARTER = np.pi / 2
NEAR = 0.25  # by which a position may be off the whole number that it is
LEAST_ROWS = 16  # by which steps are fitted
FOLLOWED = 0.5  # radians that a column may be off by at the last of some rows to be fitted to them


@dataclass(frozen=True)
class Lone:
    """One part of rotations.

    Attributes
    ----------
    part : {"cos", "sin"}
    layout : str
        Of a rotary table.
    pairs : int
    measured : Measured
        The steps of its columns, of the fast ones.
    phases, blurs : (m,) float64, optional
        Their angles in the first row, and what these may be off by; None where this is position 0.
    row : int
        The table's row that is the first one here.
    """

    part: str
    layout: str
    pairs: int
    measured: Measured
    phases: Floats | None = None
    blurs: Floats | None = None
    row: int = 0

    def start(self, w: Floats, step: Fraction) -> Fraction | None:
        """Return the position of the table's row 0 for frequencies in radians a position; None where none is found.

        A whole position, or a whole number of steps; only the fast pairs are asked: the first of `w`.
        """
        if self.phases is None or self.blurs is None:
            return -self.row * step
        far = float(step)
        errors = 2 * self.measured.errors + 1e-12
        chain, _ = first_row(far * w[: len(errors)], self.phases, errors + self.blurs)
        errors = errors * (1 + abs(chain)) + self.blurs  # so many rows of what a step may be off by
        found = position_of(w[: len(errors)], self.phases, errors, chain * far, "exact")
        if found is None:
            return None
        for unit in (Fraction(1), step):
            count = round(found[0] / float(unit))
            if abs(found[0] / float(unit) - count) <= NEAR:
                return count * unit - self.row * step
        return None


def lone_parts(values: Floats, resolution: float, row: int = 0) -> Iterator[Lone]:
    """Yield what an array of cosines, or of sines, may be a part of; `row` of the table is the first one here."""
    rows, width = values.shape
    if rows < 4 or not np.isfinite(values).all() or np.abs(values).max() > 1:
        return
    part = "cos" if (values[0] == 1).all() else "sin" if not values[0].any() else None
    for layout, left, right in (*doublings(width), ("split", np.s_[:, :], np.s_[:, :])):
        if np.array_equal(values[left], values[right]):
            columns = values[left]
            pairs = columns.shape[1]
            if part is None:
                for name, measured, phases, blurs in _anywhere(columns, resolution):
                    yield Lone(name, layout, pairs, measured, phases, blurs, row)
            elif (steps := _steps(columns, part, resolution)) is not None:
                yield Lone(part, layout, pairs, steps, row=row)
            return


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
    best = np.flatnonzero(steps >= steps.max() * (1 - 2 * TELLING))
    at = best[errors[best].argmin()]
    return float(steps[at]), float(errors[at])


def _anywhere(values: Floats, resolution: float) -> Iterator[tuple[str, Measured, Floats, Floats]]:
    """Yield the fast columns' steps and first angles, as cosines and as sines: the next row gives the other part."""
    steps, _ = _curvature(values, resolution)
    count = len(steps) if (steps >= SURE).all() else int((steps >= SURE).argmin())
    steps, x = steps[:count], values[:, :count]
    if count < 2 or (np.sin(steps) < SURE).any():
        return
    for _ in range(2):  # the second time with the step that all rows give
        other = (x[:-1] * np.cos(steps) - x[1:]) / np.sin(steps)
        turning: NDArray[np.complex128] = np.asarray(x[:-1] + 1j * other)
        size = np.abs(turning)
        if np.abs(size - 1).max() > 0.5:
            return
        rhythm = measure(turning / size, 4 * resolution / float(np.sin(steps).min()))
        if (rhythm.steps <= 0).any():
            return
        steps = rhythm.steps
    steps, first, errors, blurs = _fitted(x, steps, rhythm.phases, 4 * rhythm.errors, resolution, placed=False)
    measured = Measured(steps, errors + 1e-16, float(values.shape[1]))
    for name, phases in (("cos", first), ("sin", first + QUARTER)):
        yield name, measured, phases, blurs


def _fitted(
    values: Floats, steps: Floats, phases: Floats, errors: Floats, resolution: float, *, placed: bool = True
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return steps and first angles of cosines, and the errors of both, by least squares over ever more rows.

    As many as the steps are sure enough for; `placed`: the first angles are known.
    """
    count = len(values)
    steps, phases, errors, blurs = steps.copy(), phases.copy(), errors.copy(), errors * count
    for rows in sorted({*(2**k for k in range(3, count.bit_length())), count} if count >= LEAST_ROWS else ()):
        k = np.arange(rows, dtype=np.float64)[:, None]
        sure = np.flatnonzero(rows * errors < FOLLOWED)
        angles = phases[sure] + k * steps[sure]
        rest, slope = values[:rows, sure] - np.cos(angles), -np.sin(angles)
        middle = (slope**2 * k).sum(axis=0) / (slope**2).sum(axis=0) if not placed else 0.0
        lever = slope * (k - middle)
        total = (lever**2).sum(axis=0)
        turned = (rest * lever).sum(axis=0) / total
        left = 2 * resolution / np.sqrt(total)
        good = np.isfinite(turned) & (np.abs(turned) * rows < FOLLOWED) & (left < errors[sure])
        if not placed:
            energy = (slope**2).sum(axis=0)
            phases[sure[good]] += ((rest * slope).sum(axis=0) / energy - middle * turned)[good]
            blurs[sure[good]] = (2 * resolution * np.sqrt(1 / energy + middle**2 / total))[good]
        steps[sure[good]] += turned[good]
        errors[sure[good]] = left[good]
    return steps, phases, errors, blurs


def _steps(values: Floats, part: str, resolution: float) -> Measured | None:
    """Return the steps of columns, the fast ones from all rows, the slow ones from their first rise or fall.

    The slowest cosines do not leave 1: the columns before them say enough.
    """
    rows, m = values.shape
    steps, errors = _curvature(values, resolution)
    angles = np.arccos(values[1:]) if part == "cos" else np.arcsin(values[1:])
    slopes = np.abs(np.sin(angles) if part == "cos" else np.cos(angles))
    for i in np.flatnonzero(~(steps >= SURE)):
        far = np.flatnonzero(angles[:, i] > FAR)
        last = max((int(far[0]) if len(far) else rows - 1) - 1, 0)
        error = resolution * abs(values[last + 1, i]) / max(slopes[last, i], 1e-300) / (last + 1)
        steps[i], errors[i] = angles[last, i] / (last + 1), error
    steps, _, errors, _ = _fitted(values, steps, np.full(m, 0.0 if part == "cos" else -QUARTER), errors, resolution)
    told = np.isfinite(steps) & (steps > 0) & (errors < TELLING * steps)
    count = m if told.all() else int(told.argmin())
    return Measured(steps[:count], 2 * errors[:count] + 1e-16, float(m)) if count > 1 else None
