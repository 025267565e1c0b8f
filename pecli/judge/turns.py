"""Two rotated tensors: by which angles the pairs of one are turned from those of the other, whatever was rotated.

Both hold the same vectors, rotated by angles that nobody states: the file's position p' times its frequencies w', and
p w.  The angle between both, p' w' - p w, shows other frequencies, as it grows evenly from row to row, or other
positions, as it is a whole number of times the frequencies of a published base.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pecli.judge.description import factor_text
from pecli.judge.located import indices
from pecli.judge.orders import descriptions, plural
from pecli.judge.planes import Floats, Integers, rounded
from pecli.judge.waves import LOW_TYPES
from pecli.numbers.decimals import near
from pecli.spec.measured import LENGTHS, PUBLISHED_BASES, PUBLISHED_FACTORS

# cos + i sin of vectors or positions, (n, pairs).
Rotations = NDArray[np.complex128]
# Difference of an angle, in radians, that roundings of both tensors leave, in each type.
MAX_ANGLE = {"float64": 1e-3, "float32": 1e-3, "float16": 0.02, "bfloat16": 0.1}
# Positions on either side among which that of a row is looked for, and rows that show the base.
MAX_SHIFT, SHOWN_ROWS = 1 << 13, 4
# Radians that float32 phases are off by, for each position.
PHASE_ERROR = 2.0**-22
# Original lengths that YaRN's ramp is tried with, and factors of models of the Llama 3 family.
YARN_LENGTHS, LLAMA3_FACTORS = 5, ("8", "32")
# Scalings that fit alike and are told.
MAX_EITHER = 3
# Radians a row that float32 frequencies are off by.
STEP_ERROR = 2.0**-21
# Largest base that is told.
MAX_BASE = 1e12
# Share of the squared lengths that may not be turned, of pairs near 0.
MAX_REST = 1e-3
# Rotations the other way, by the angle between them and the expected ones at position 0.
REFLECTED = {
    "the rotation goes the other way: the sine has the wrong sign": 0.0,
    "cos and sin are exchanged": math.pi / 2,
    "the cosine has the wrong sign": math.pi,
}
# Pairs by which a number of positions is looked for.
SHOWN_PAIRS = 16
# Rows from which angles that grow evenly are told from any.
MIN_ROWS = 4


@dataclass(frozen=True)
class Turns:
    """Angles between the pairs of two tensors.

    Attributes
    ----------
    z : (rows, pairs) complex128
        cos + i sin of each angle.
    size : float
        How many times as long all vectors are.
    near : float
        Radians that roundings leave.
    axis : str
        What the rows are, if they have another name.
    """

    z: Rotations
    size: float
    near: float
    axis: str = ""

    @classmethod
    def of(cls, before: Rotations, after: Rotations, dtype: str, axis: str = "") -> Turns | None:
        """Return the angles between complex numbers (rows, vectors, pairs); None of others than turned ones."""
        lengths = (np.abs(before) ** 2).sum(axis=1)
        z = (after * before.conj()).sum(axis=1) / np.where(lengths, lengths, 1.0)
        size, error = float(np.median(np.abs(z))), 4 * MAX_ANGLE[dtype]
        rest = np.abs(after - z[:, None] * before) ** 2
        if not size > 0 or rest.sum() > (MAX_REST if dtype in LOW_TYPES else MAX_REST**2) * (np.abs(after) ** 2).sum():
            return None
        is_alike = np.abs(np.abs(z) - size) <= error * size
        if is_alike.mean() < 1 - MAX_REST * 10:
            return None
        if np.abs(np.angle(z)).max() <= error and abs(size - 1) <= error:  # nor are these
            return None
        return cls(z / np.where(np.abs(z) > 0, np.abs(z), 1.0), size, MAX_ANGLE[dtype], axis)

    @cached_property
    def words(self) -> str:
        """What differs, in the words of frequencies or of positions; "" where neither explains the angles."""
        text = self._frequencies() or self._positions()
        return f"{text}, and {self.longer}" if text and self.longer else text

    @property
    def longer(self) -> str:
        """How many times as long as expected all vectors are; "" of equal lengths."""
        is_other = abs(self.size - 1) > self.near
        return f"all values are {factor_text(float(near(self.size, self.near / 20)))} times as large" * is_other

    def _frequencies(self) -> str:
        """Return which frequencies the file has, where angles grow evenly from row to row."""
        if len(self.z) < MIN_ROWS:
            return ""
        step = np.angle((self.z[1:] * self.z[:-1].conj()).sum(axis=0))
        places = np.arange(len(self.z))[:, None]
        left = self.z * np.exp(-1j * places * step)
        rest = np.angle(left * left.mean(axis=0).conj())
        middle = places - places.mean()
        slope = (middle * rest).sum(axis=0) / (middle**2).sum()
        off = np.abs(rest - rest.mean(axis=0) - middle * slope).max()
        most, step = max(STEP_ERROR, 8 * float(off) / len(self.z)), step + slope  # the rows show how rough they are
        if off > 12 * self.near or np.abs(step).max() <= most:
            return ""
        for base, w in _published(step.size):
            by = f" (judged with base {base})"
            if np.abs(_whole(step + 2 * w)).max() <= most:
                return self._reflected(left.mean(axis=0), w) + by
            for text, made in _changed(w):
                if np.abs(_whole(w + step - made)).max() <= most:
                    return text + by
            for number, made in _published(step.size):
                if number != base and np.abs(w + step - made).max() <= most:
                    return f"base {number} where {base} was expected"
        for base, w in _published(step.size):
            for sign, words in ((1, "where none was expected"), (-1, "is missing")):
                scaled = _scaled(float(base), w)
                if texts := [text for text, made in scaled if np.abs(_whole(w + sign * step - made)).max() <= most]:
                    return f"{_either(texts)} {words} (judged with base {base})"
        for base, w in _published(step.size):
            if number := _base(w + step, most):
                return f"base {number} where {base} was expected"
            if number := _base(w - step, most):
                return f"base {base} where {number} was expected"
        return ""

    def _reflected(self, first: Rotations, w: Floats) -> str:
        """Return what makes rotations the expected ones the other way, from the angles of the first row."""
        for text, angle in REFLECTED.items():
            if np.abs(_whole(np.angle(first) - angle)).max() <= 4 * self.near:
                return text
        shifts = self._shifts(w, first[None] / np.abs(first))
        if shifts is not None and shifts[0] > 0:
            return "positions run backwards" + f", from {shifts[0]} on" * (int(shifts[0]) != len(self.z) - 1)
        start = f", if both begin at position {-shifts[0] // 2}" if shifts is not None and shifts[0] % 2 == 0 else ""
        return f"the sign of sin is changed: the rotation goes the other way{start}"

    def _positions(self) -> str:
        """Return at which positions the rows are, where a whole number of positions turns all pairs."""
        off = np.abs(np.angle(self.z)).max(axis=1)
        shown = np.flatnonzero(off > 4 * self.near)
        shown = shown[np.linspace(0, len(shown) - 1, min(SHOWN_ROWS, len(shown))).astype(int)] if len(shown) else shown
        for base, w in _published(self.z.shape[1]) if len(shown) else ():
            if self._shifts(w, self.z[shown]) is None:
                continue
            shifts = self._shifts(w, self.z)
            if shifts is not None:
                return f"{self._position_words(shifts)} (judged with base {base})"
        return ""

    def _position_words(self, shifts: Integers) -> str:
        """Return in words at which positions rows are that are this much later than expected ones from 0 on."""
        rows, expected = np.flatnonzero(shifts), np.arange(len(shifts))
        found, far = expected + shifts, {*shifts[rows].tolist()}
        unit = "index" if self.axis else "row"
        word = f"{self.axis}, {unit}" if self.axis else unit
        where = f"{indices(word, rows, len(shifts))}: " if len(rows) < len(shifts) else ""
        if len(rows) < len(shifts) - 1 and not found[rows].any():
            return f"{where}not rotated, if {unit} 0 is at position 0"
        if len(far) == 1:
            (by,) = far
            if len(rows) == len(shifts) - 1 and rows[0] == 1:
                where = ""
            return f"{where}positions are {abs(by)} {'later' if by > 0 else 'earlier'}"
        late = int(shifts[-1])
        for padding in (
            np.minimum(expected, late),
            np.where(expected < late, expected - 1, late),
        ):  # at position 0 or 1
            if late > 1 and np.array_equal(shifts, padding):
                return (
                    f"left padding by {late} was not taken out of the positions: those behind it are {late} too large"
                )
        period = int(rows[0]) if len(rows) else 0
        if period > 1 and np.array_equal(found, expected % period):
            return f"positions begin again every {period} {plural(unit)}, as of chunks whose start is not added"
        if len({*found[rows].tolist()}) == 1:
            return f"{where}all at the position of {unit} {found[rows[0]]}"
        steps = np.unique(np.diff(found))
        if len(steps) == 1 and len(rows) >= len(shifts) - 1:
            return f"positions advance by {steps[0]} where 1 was expected"
        named = descriptions(found, max(len(found), int(found.max()) + 1), "position") if found.min() >= 0 else ()
        text = next((text for text, order in named if np.array_equal(order, found)), "")
        few = ", ".join(map(str, found[:8].tolist()))
        return text or f"positions are, from the first one on, {few}, .. where 0, 1, 2 and so on were expected"

    def _shifts(self, w: Floats, z: Rotations) -> Integers | None:
        """Return by how many positions each row is turned; None where one of them is by no whole number."""
        tried = np.arange(-MAX_SHIFT, MAX_SHIFT + 1)
        few = np.unique(np.linspace(0, len(w) - 1, min(len(w), SHOWN_PAIRS)).astype(int))
        best = tried[(np.exp(-1j * tried[:, None] * w[few]) @ z[:, few].T).real.argmax(axis=0)]
        off = np.abs(np.angle(z * np.exp(-1j * best[:, None] * w))).max(axis=1)
        return best if (off <= 4 * self.near + np.abs(best) * PHASE_ERROR).all() else None


def _whole(angles: Floats) -> Floats:
    """Return angles without whole turns, from -pi to pi."""
    return np.asarray((angles + np.pi) % (2 * np.pi) - np.pi)


def _published(pairs: int) -> Iterator[tuple[str, Floats]]:
    """Yield published bases and their frequencies."""
    exponents = np.arange(pairs) / pairs
    yield from ((base, float(base) ** -exponents) for base in PUBLISHED_BASES)


def _scaled(base: float, w: Floats) -> Iterator[tuple[str, Floats]]:
    """Yield scalings of a series of frequencies, and what they make of it."""
    k = np.arange(len(w))
    for text in PUBLISHED_FACTORS:
        factor = float(text)
        yield f"linear scaling (factor {text})", w / factor
        yield f"ntk scaling (factor {text})", w / factor ** (k / max(1, len(w) - 1))
        for length in LENGTHS[:YARN_LENGTHS]:
            ends = [len(w) * math.log(length / (turns * 2 * math.pi)) / math.log(base) for turns in (32, 1)]
            low, high = max(math.floor(ends[0]), 0), min(math.ceil(ends[1]), 2 * len(w) - 1)
            ramp = np.clip((k - low) / max(high - low, 1e-3), 0, 1)
            yield f"yarn scaling (factor {text}, original-max {length})", w * (1 - ramp + ramp / factor)
    for text in LLAMA3_FACTORS:
        smooth = np.clip((8192 * w / (2 * np.pi) - 1) / 3, 0, 1)
        yield f"llama3 scaling (factor {text})", w * (smooth + (1 - smooth) / float(text))


def _either(texts: list[str]) -> str:
    """Return scalings that fit alike in one phrase: without the length if they differ in nothing else."""
    short = list(dict.fromkeys(text.partition(", original-max")[0].rstrip(")") + ")" for text in texts))
    return texts[0] if len(texts) == 1 else " or ".join(short[:MAX_EITHER])


def _changed(w: Floats) -> Iterator[tuple[str, Floats]]:
    """Yield what may have been done to frequencies, and what it makes of them."""
    yield "not rotated at all, or the expected one is rotated twice", 0 * w
    yield "it is the expected tensor, rotated once more: rotated twice, or the expected one not at all", 2 * w
    yield from ((f"positions advance by {by} where 1 was expected", w * by) for by in range(3, 9))
    yield "the pairs take the frequencies in reverse order", w[::-1]
    yield from ((f"frequencies (inv_freq) were rounded to {kind}", rounded(w, kind)) for kind in LOW_TYPES)


def _base(w: Floats, most: float) -> str:
    """Return the base of a series of frequencies that begins at 1; "" of other frequencies."""
    count = len(w)
    clear = np.flatnonzero((w > 100 * most) & (np.arange(count) > 0))
    if not len(clear) or abs(w[0] - 1) > most:
        return ""
    errors = count / clear * most / w[clear]  # of the base, relative, from each pair
    at, error = int(clear[errors.argmin()]), float(errors.min())
    base = float(w[at]) ** (-count / at)
    fits = 1 < base < MAX_BASE and np.abs(w - base ** -(np.arange(count) / count)).max() <= most
    return f"{near(base, error):f}" if fits else ""
