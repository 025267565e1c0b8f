"""The angles between the pairs of two rotated tensors, whatever was rotated.

Both hold the same vectors, rotated by angles that nobody states: the file's position p' times its frequencies w', and
p w.  The angle between both, p' w' - p w, shows other frequencies, as it grows evenly from row to row, or other
positions, as it is a whole number of times the frequencies of a published base.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise, permutations, product

import numpy as np

from pecli.judge.description import factor_text
from pecli.judge.expected import Expected, key_lines
from pecli.judge.kernels import Rotations
from pecli.judge.located import indices
from pecli.judge.orders import descriptions, numbered, plural
from pecli.judge.planes import EPSILON, Floats, Integers, rounded
from pecli.judge.waves import LOW_TYPES
from pecli.numbers.decimals import near as shortest_near
from pecli.spec.catalogue import CATALOGUE
from pecli.spec.measured import PUBLISHED_BASES, Pairs
from pecli.spec.plans import Waves
from pecli.spec.recipe import join_recipe
from pecli.tables.table import Table

# Difference of an angle, in radians, that roundings of both tensors leave, in each type.
MAX_ANGLE = {"float64": 1e-3, "float32": 1e-3, "float16": 0.02, "bfloat16": 0.1}
# Share of the squared lengths that no rotation explains, of pairs near 0.
MAX_REST = 1e-3
# Roundings of a pair that two kernels leave, and its length, a share of the usual one, from which on they are relative.
EXACT_ROUNDINGS, MIN_LENGTH = 16, 0.01
# Roundings that two kernels of a narrow type leave of the lengths of pairs, on average.
LENGTH_ROUNDINGS = 2.0
# Rows from which angles that grow evenly are told from any.
MIN_ROWS = 4
# Radians a row that float32 frequencies are off by, and radians that float32 phases are, for each position.
STEP_ERROR, PHASE_ERROR = 2.0**-21, 2.0**-22
# Relative error from which on a frequency is not measured.
MAX_STEP_ERROR = 0.02
# Fitted digits of parameters that are no chance.
MAX_SURE_COST = 2.5
# Positions on either side among which that of a row is looked for; rows that show the base, and pairs that show a row.
MAX_SHIFT, SHOWN_ROWS, SHOWN_PAIRS = 1 << 13, 4, 16
MAX_CHANCE = 1e-3  # that one of these positions gives unrelated angles
# Sections of pairs that have positions of their own, fewest pairs in them, and the error of slow ones, of the largest.
MAX_SECTIONS, MIN_SECTION, SECTION_ERROR = 4, 3, 0.02
# Shares of the pairs that Qwen2-VL and Qwen3-VL give to time, row and column; columns of a grid that are looked for.
MROPE_SECTIONS, MAX_GRID = ((1 / 4, 3 / 8, 3 / 8), (3 / 8, 5 / 16, 5 / 16)), 64
# First positions that are looked for where positions were rounded.
MAX_FIRST = 1 << 13
# Packed documents whose first positions are listed.
MAX_DOCUMENTS = 16
# Rotations the other way, by the angle between them and the expected ones at position 0.
REFLECTED = {
    "the rotation goes the other way: the sine has the wrong sign": 0.0,
    "cos and sin are exchanged": math.pi / 2,
    "the cosine has the wrong sign": math.pi,
}
# What is said of two tensors whose ratio is xPos's scale, or its square.
XPOS = {
    1: "one has the scale of each position, as xPos has it, and the other has not",
    2: "the scale of each position, as xPos has it, is inverted: queries are scaled as keys, or keys as queries",
}
STILL = "not rotated at all, or the expected one is rotated twice"
TWICE = "it is the expected tensor, rotated once more: rotated twice, or the expected one not at all"


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
    is_exact : bool
        Whether angles explain all values but for some roundings, which keep the length of no pair otherwise.
    """

    z: Rotations
    size: float
    near: float
    axis: str = ""
    is_exact: bool = False

    @classmethod
    def of(cls, before: Rotations, after: Rotations, dtype: str, axis: str = "") -> Turns | None:
        """Return the angles between complex numbers (rows, vectors, pairs); None where no rotation relates them."""
        z = _ratios(before, after)
        size, error = float(np.median(np.abs(z))), 4 * MAX_ANGLE[dtype]
        rest = np.abs(after - z[:, None] * before) ** 2
        if not size > 0 or rest.sum() > (MAX_REST if dtype in LOW_TYPES else MAX_REST**2) * (np.abs(after) ** 2).sum():
            return None
        is_alike = np.abs(np.abs(z) - size) <= error * size
        if is_alike.mean() < 1 - MAX_REST * 10:
            return None
        lengths = np.abs(after)
        off = float((np.sqrt(rest) / (lengths + MIN_LENGTH * lengths.std())).max())
        weight = (np.abs(before) ** 2).sum(axis=1)
        uneven = math.sqrt((weight * (np.abs(z) / size - 1) ** 2).sum() / weight.sum())
        near = MAX_ANGLE[dtype]
        roundings = LENGTH_ROUNDINGS if dtype in LOW_TYPES else EXACT_ROUNDINGS
        is_exact = max(off / EXACT_ROUNDINGS, uneven / roundings) <= EPSILON[dtype]
        if before.shape[1] == 1 and not is_exact:  # any two vectors are such turns of each other
            return None
        return cls(z / np.where(np.abs(z) > 0, np.abs(z), 1.0), size, near, axis, is_exact)

    @cached_property
    def steps(self) -> tuple[Floats, float] | None:
        """Radians a row of each pair, and how rough the rows show them to be; None where angles grow unevenly."""
        if len(self.z) < MIN_ROWS:
            return None
        step = np.angle((self.z[1:] * self.z[:-1].conj()).sum(axis=0))
        places = np.arange(len(self.z))[:, None]
        left = self.z * np.exp(-1j * places * step)
        rest = np.angle(left * left.mean(axis=0).conj())
        middle = places - places.mean()
        slope = (middle * rest).sum(axis=0) / (middle**2).sum()
        off = rest - rest.mean(axis=0) - middle * slope
        error = 8 * float(off.std(axis=0).max()) * math.sqrt(12 / len(self.z) ** 3)  # of a slope through that noise
        return (step + slope, max(STEP_ERROR, error)) if np.abs(off).max() <= 12 * self.near else None

    @cached_property
    def are_small(self) -> bool:
        """Whether roundings or noise may be all that differs."""
        return bool(np.abs(np.angle(self.z)).max() <= 4 * self.near and abs(self.size - 1) <= self.near)

    @cached_property
    def are_alike(self) -> bool:
        """Whether both tensors are rotated by the same angles, but for roundings."""
        is_still = self.steps is None or bool(np.abs(self.steps[0]).max() <= self.steps[1])
        return self.is_exact and self.are_small and is_still

    @cached_property
    def words(self) -> str:
        """What differs, in the words of frequencies or of positions; "" where neither explains the angles."""
        text = self._frequencies() or self._positions() or self._axes()
        return f"{text}, and {self.longer}" if text and self.longer else text

    @property
    def longer(self) -> str:
        """How many times as long as expected all vectors are; "" of equal lengths."""
        is_other = abs(self.size - 1) > self.near
        factor = factor_text(float(shortest_near(self.size, self.near / 20)))
        return f"all values are {factor} times as large" * is_other

    def _frequencies(self) -> str:
        """Return which frequencies the file has, where angles grow evenly from row to row."""
        step, most = self.steps or (np.zeros(1), 0.0)
        if np.abs(step).max() <= most:
            return ""
        for base, w in _published(step.size):
            by = f" (judged with base {base})"
            if np.abs(_whole(step + 2 * w)).max() <= most:
                return self._reflected(step, w) + by
            for text, made in _misused(w):
                if np.abs(_whole(w + step - made)).max() <= most:
                    return text + by
        text = _parameters(step, most)
        first = (self.z * np.exp(-1j * np.arange(len(self.z))[:, None] * step)).mean(axis=0)
        begins = np.abs(np.angle(first)).max() > 8 * self.near
        return f"{text}, and positions do not begin at 0" if text and begins else text

    def _reflected(self, step: Floats, w: Floats) -> str:
        """Return what makes rotations the expected ones the other way, by the angles of the first row."""
        first = (self.z * np.exp(-1j * np.arange(len(self.z))[:, None] * step)).mean(axis=0)
        for text, angle in REFLECTED.items():
            if np.abs(_whole(np.angle(first) - angle)).max() <= 4 * self.near:
                return text
        shifts = self._shifts(w, first[None] / np.abs(first))
        if shifts is not None and shifts[0] > 0:
            return "positions run backwards" + f", from {shifts[0]} on" * (int(shifts[0]) != len(self.z) - 1)
        start = f", if both begin at position {-shifts[0] // 2}" if shifts is not None and shifts[0] % 2 == 0 else ""
        return f"the sign of sin is changed: the rotation goes the other way{start}"

    def _positions(self) -> str:
        """Return at which positions the rows are, where whole numbers of positions explain the angles of all pairs."""
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

    def _axes(self) -> str:
        """Return how sections of the pairs are at positions of their own, as of a grid or of mRoPE."""
        pairs = self.z.shape[1]
        layouts = [*_published(pairs)]
        layouts += [(base, np.tile(w, 2)) for base, w in _published(pairs // 2)] if pairs % 2 == 0 else []
        may_be_seen = self.is_exact and not self.are_small and self.near < MAX_ANGLE["bfloat16"]
        for base, w in layouts if may_be_seen else ():
            firsts = self._sections(w)
            parts = [slice(*both) for both in pairwise((*firsts, pairs))]
            shifts = [
                shift for part in parts if (shift := self._shifts(w[part], self.z[:, part], len(self.z))) is not None
            ]
            text = self._axes_words(w, parts, shifts) if 1 < len(parts) == len(shifts) else self._section_order(w)
            if text:
                return f"{text} (judged with base {base})"
        return ""

    def _axes_words(self, w: Floats, parts: Sequence[slice], shifts: Sequence[Integers]) -> str:
        """Return at which positions sections of pairs are, each row shifted by so much."""
        moved = [k for k, shift in enumerate(shifts) if shift.any()]
        halves = len(parts) == 2 and 2 * parts[1].start == len(w)
        starts = [str(part.start) for part in parts]
        if len(moved) == 2 and self._fits(w, parts[moved[1]], -shifts[moved[0]]):
            if halves:
                return "rows and columns are exchanged: each half of the pairs is at the positions of the other one"
            one, other = (f"from {starts[k]} on" for k in moved)
            return f"the pairs {one} are at the positions of those {other}, and these at theirs: rows for columns"
        if halves:
            return _grid_words(shifts) or "each half of the pairs is at other positions, as of another grid or order"
        sections = f"sections of pairs, from {', '.join(starts[:-1])} and {starts[-1]} on,"
        for sign, text in (
            (-1, "all pairs are at the token's position where {} were expected at their own, as of mRoPE"),
            (1, "{} are at positions of their own, as of mRoPE, where the token's was expected"),
        ):
            steps = np.diff(np.arange(len(shifts[0])) + sign * shifts[0])
            if moved and (steps >= 0).all() and not steps.all():  # the time of an image is one
                return text.format(sections)
        other = numbered("section", np.array(moved))
        are = "is" if len(moved) == 1 else "are"
        return f"of the {sections} {other} {are} at other positions, each at its own" if moved else ""

    def _fits(self, w: Floats, part: slice, shift: Integers) -> bool:
        """Whether some pairs may be shifted by these positions; slow pairs do not show a few."""
        off = np.abs(np.angle(self.z[:, part] * np.exp(-1j * np.outer(shift, w[part]))))
        return bool((off <= 2 * self.near * (SECTION_ERROR + w[part])).all())

    def _section_order(self, w: Floats) -> str:
        """Return that mRoPE's sections are chunked where interleaved ones were expected, or the other way round."""
        for shares in MROPE_SECTIONS:
            sizes = [round(share * len(w)) for share in shares]
            if sum(sizes) != len(w) or min(sizes) < MIN_SECTION:
                continue
            one, other = (_streams(tuple(sizes), order) for order in ("chunked", "interleaved"))
            if np.abs(np.angle(self.z[:, one == other])).max(initial=0) > 4 * self.near:
                continue
            found = dict[tuple[int, int], Integers]()
            for a, b in permutations(range(3), 2):
                which = (one == a) & (other == b)
                shift = self._shifts(w[which], self.z[:, which], len(self.z)) if which.any() else np.zeros(0, np.int64)
                if shift is None:
                    break
                found[a, b] = shift
            else:
                both = [(shift, found[b, a]) for (a, b), shift in found.items() if len(shift) and len(found[b, a])]
                if all(np.array_equal(shift, -back) for shift, back in both) and any(s.any() for s in found.values()):
                    late = int(found[1, 0].sum() + found[2, 0].sum())  # rows and columns are behind the image's time
                    ways = ("chunked", "interleaved") if late >= 0 else ("interleaved", "chunked")
                    return "the sections are {} where {} ones were expected".format(*ways)
        return ""

    def _sections(self, w: Floats) -> list[int]:
        """Return the first pair of each section whose rows are shifted by a whole number of positions; [] of others."""
        off = np.flatnonzero(np.abs(np.angle(self.z)).max(axis=1) > 4 * self.near)
        if not len(off):
            return []
        shown = off[np.linspace(0, len(off) - 1, min(2 * SHOWN_ROWS, len(off))).astype(int)]
        tried, firsts = np.arange(-len(self.z), len(self.z) + 1)[:, None], [0]
        back = np.exp(-1j * tried * w)
        is_right = np.stack([np.abs(np.angle(self.z[row] * back)) <= self.near * (SECTION_ERROR + w) for row in shown])
        while firsts[-1] < len(w) and len(firsts) <= MAX_SECTIONS:
            run = int(np.cumprod(is_right[:, :, firsts[-1] :], axis=2).sum(axis=2).max(axis=1).min())
            if run < MIN_SECTION:
                return []
            firsts.append(firsts[-1] + run)
        return firsts[:-1] if firsts[-1] == len(w) else []

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
            return f"{where}positions are {abs(by)} {'later' if by > 0 else 'earlier'}"
        late = int(shifts[-1])
        padded = np.minimum(expected, late), np.where(expected < late, expected - 1, late)  # at position 0 or 1
        if late > 1 and any(np.array_equal(shifts, one) for one in padded):
            return f"left padding by {late} was not taken out of the positions: those behind it are {late} too large"
        period = int(rows[0]) if len(rows) else 0
        if period > 1 and np.array_equal(found, expected % period):
            return f"positions begin again every {period} {plural(unit)}, as of chunks whose start is not added"
        begins = 1 + np.flatnonzero(np.diff(shifts))
        if not shifts[0] and 0 < len(begins) <= MAX_DOCUMENTS and np.array_equal(begins, np.abs(shifts[begins])):
            ways = "run on", "begin again"
            have, want = ways if shifts[-1] > 0 else ways[::-1]
            return f"positions {have} at {numbered(unit, begins)} where they should {want}, as of packed documents"
        if len({*found[rows].tolist()}) == 1:
            return f"{where}all at the position of {unit} {found[rows[0]]}"
        steps = np.unique(np.diff(found))
        if len(steps) == 1 and len(rows) >= len(shifts) - 1:
            return f"positions advance by {steps[0]} where 1 was expected"
        named = descriptions(found, max(len(found), int(found.max()) + 1), "position") if found.min() >= 0 else ()
        text = next((text for text, order in named if np.array_equal(order, found)), "")
        for kind, first in product(LOW_TYPES, range(MAX_FIRST) if not text else ()):
            if np.array_equal(rounded(first + expected.astype(float), kind) - first, found):
                return f"positions were rounded to {kind}" + f", if the first one is {first}" * (first > 0)
        at = int(rows[0])
        few, those = (", ".join(map(str, some[at : at + 6].tolist())) for some in (found, expected))
        return text or f"positions are, from {unit} {at} on, {few} and so on where {those} were expected"

    def _shifts(self, w: Floats, z: Rotations, most: int = MAX_SHIFT) -> Integers | None:
        """Return how many positions lie between both rotations of each row; None where that is no whole number.

        Of few pairs, some number of positions gives any angles.
        """
        most = min(most, max(len(self.z), int(MAX_CHANCE / (4 * self.near / np.pi) ** len(w))))
        tried = np.arange(-most, most + 1)
        few = np.unique(np.linspace(0, len(w) - 1, min(len(w), SHOWN_PAIRS)).astype(int))
        best = tried[(np.exp(-1j * tried[:, None] * w[few]) @ z[:, few].T).real.argmax(axis=0)]
        off = np.abs(np.angle(z * np.exp(-1j * best[:, None] * w))).max(axis=1)
        return best if (off <= 4 * self.near + np.abs(best) * PHASE_ERROR).all() else None


def _ratios(before: Rotations, after: Rotations) -> Rotations:
    """Return the number (rows, pairs) that makes complex numbers (rows, vectors, pairs) nearly the other ones."""
    lengths = (np.abs(before) ** 2).sum(axis=1)
    return np.asarray((after * before.conj()).sum(axis=1) / np.where(lengths, lengths, 1.0))


def decay_differences(before: Rotations, after: Rotations, dtype: str) -> str:
    """Return how the scales of positions differ, as xPos has them, where complex numbers are rotated alike; else ""."""
    z = _ratios(before, after)
    rest, near = np.abs(after - z[:, None] * before) ** 2, MAX_ANGLE[dtype]
    if len(z) < MIN_ROWS or rest.sum() > MAX_REST**2 * (np.abs(after) ** 2).sum() or not (z.real > 0).all():
        return ""
    if np.abs(np.angle(z)).max() > 4 * near:
        return ""
    logs, places = np.log(np.abs(z)), np.arange(len(z)) - (len(z) - 1) / 2
    slopes = places @ logs / (places @ places)
    decay = np.log(Table.parse(f"xpos:dim={2 * z.shape[1]},centre=0,len=2,dtype=float64").read("scale")[1])
    many = round(float(slopes @ decay / (decay @ decay)))
    if np.abs(logs - logs.mean(axis=0) - np.outer(places, many * decay)).max() > 4 * near:
        return ""
    return XPOS.get(abs(many), "")


def _grid_words(shifts: Sequence[Integers]) -> str:
    """Return which grid has rows and columns that are shifted by so much, and which was expected; "" of none."""
    places = np.arange(len(shifts[0]))

    def are(have: Sequence[Integers], want: Sequence[Integers]) -> bool:
        both = [one - other for one, other in zip(have, want, strict=True)]
        return any(np.array_equal(one, shifts) for one in (both, both[::-1]))

    grids = {width: np.divmod(places, width) for width in range(2, min(len(places), MAX_GRID) + 1)}
    for width, plain in grids.items():
        if len(places) % (2 * width) or width % 2:
            continue
        cells = places.reshape(-1, 2, width // 2, 2).swapaxes(1, 2).ravel()
        blocks = [side[cells] for side in plain]
        for have, want, text in (
            (plain, blocks, "row by row, where blocks of 2 x 2 were expected"),
            (blocks, plain, "by blocks of 2 x 2, where they were expected row by row"),
        ):
            if are(have, want):
                return f"the rows are those of a grid {text}"
    for have_width, want_width in permutations(grids, 2):
        if are(grids[have_width], grids[want_width]):
            return f"the grid is counted as {have_width} columns wide where {want_width} was expected"
    return ""


@cache
def _streams(sizes: tuple[int, ...], order: str) -> Integers:
    """Return which of mRoPE's positions (time, row, column) each pair has."""
    recipe = f"mrope:dim={2 * sum(sizes)},sections={'+'.join(map(str, sizes))},section-order={order},sequence=1x2x2"
    plan, found = Table.parse(recipe).plan, np.zeros(sum(sizes), np.int64)
    for band in plan.bands if isinstance(plan, Waves) else ():
        found[band.cos] = band.axis
    return found


def _whole(angles: Floats) -> Floats:
    """Return angles without whole turns, from -pi to pi."""
    return np.asarray((angles + np.pi) % (2 * np.pi) - np.pi)


def _published(pairs: int) -> Iterator[tuple[str, Floats]]:
    """Yield published bases and their frequencies."""
    exponents = np.arange(pairs) / pairs
    yield from ((base, float(base) ** -exponents) for base in PUBLISHED_BASES)


def _parameters(step: Floats, most: float) -> str:
    """Return what differs in the parameters of two ropes whose frequencies differ by these steps; "" of other ropes.

    One of them has a published base and no scaling; the rule of the encoding names the other one.
    """
    rule, dim = CATALOGUE["rope"].hook("identify_waves"), 2 * len(step)
    found = list[tuple[float, str]]()
    for is_whole in (True, False):  # slow pairs may be too slow to be measured
        for base, w in _published(len(step)):
            for sign in (1, -1):
                other = np.maximum(w + sign * step, most / 2)
                errors = np.where((most <= MAX_STEP_ERROR * other) | is_whole, most, np.inf)
                pairs = Pairs(other, errors, np.zeros(len(w), bool), magnitude=math.nan)
                for named in rule(pairs) if (w + sign * step > -most).all() else ():
                    have, want = {"dim": str(dim), **named.keys}, {"dim": str(dim), "base": base}
                    if np.abs(_frequencies(have) * float(named.step) - w - sign * step).max() > 2 * most:
                        continue  # of pairs that were not measured
                    text = _difference(*((have, want) if sign > 0 else (want, have)))
                    if named.step != 1:
                        advance = f"positions advance by {float(named.step):g} where 1 was expected" * (sign > 0)
                        text = advance if not text else ""
                    if text and (named.fitted <= MAX_SURE_COST or "scaling" not in named.keys):
                        by = f" (judged with base {base})" * ("base" not in text)
                        found.append((named.fitted, text + by))
        if found and min(found)[0] <= MAX_SURE_COST:
            break
    return min(found, key=lambda one: one[0])[1] if found else ""


def _frequencies(keys: dict[str, str]) -> Floats:
    """Return the frequencies of a rope."""
    plan = Table.parse(join_recipe("rope", {**keys, "len": "1"})).plan
    return np.array([float(w) for w in plan.frequencies] if isinstance(plan, Waves) else [])


def _difference(have: dict[str, str], want: dict[str, str]) -> str:
    """Return what differs in the parameters of two ropes."""
    expected = Expected.of(Table.parse(join_recipe("rope", {**want, "len": "1"})))
    return "" if expected is None else ", and ".join(key_lines(expected, have))


def _misused(w: Floats) -> Iterator[tuple[str, Floats]]:
    """Yield what may have been done to frequencies besides other parameters, and what it makes of them."""
    yield STILL, 0 * w
    yield TWICE, 2 * w
    yield "the pairs take the frequencies in reverse order", w[::-1]
    yield from ((f"frequencies (inv_freq) were rounded to {kind}", rounded(w, kind)) for kind in LOW_TYPES)
