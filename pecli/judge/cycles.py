"""Cyclic features: the cosine and the sine of an hour, a weekday or a month, each pair two columns of a table."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pecli.judge.description import CYCLIC
from pecli.judge.orders import numbered, span
from pecli.judge.planes import Floats
from pecli.judge.rows import floats
from pecli.numbers.decimals import near
from pecli.numbers.dtypes import REAL
from pecli.numbers.printing import limit
from pecli.spec.tabular import Tabular
from pecli.tables.comparison import Finding
from pecli.tables.layouts import cosine_sine_pairs
from pecli.tables.views import ArrayView, view_of

# Most columns that cyclic features have, and the fewest rows and the most values that are looked at.
MAX_COLUMNS, MIN_ROWS, MAX_VALUES = 64, 6, 1 << 22
# Radians by which two decimals move an angle; rounding of float64, and of what is less than a digit.
MAX_GAP, MIN_GAP = 0.01, 1e-5
# Channels of a map that may be such features, and by how much of their range even coordinates may be off.
MAX_CHANNELS, MAX_UNEVEN = 16, 1e-5
# Most pairs that get a line each, and by how much ratios may differ that are one, relative.
MAX_LISTED, MAX_RATIO_GAP = 3, 1e-4
# Share of the rows that repeat the row before where times were rounded to fewer than there are.
MIN_HELD = 0.3
# Radians by which an angle may be off that is some times another one; more would fit any.
MAX_OFF = 0.3
# Fewest different angles that show a factor, and the share of the rows that differ which it must give: where a year
# begins again, a day may be another one.
MIN_OTHER, MIN_RELATED = 3, 0.95
# Share of the rows by which an angle advances alike, if it advances evenly; the others are where a day begins again.
MIN_EVEN = 0.85
# Relative difference of the advances of two rows that are alike, as few decimals leave it.
MAX_JUMP = 0.05
# Steps of a turn, such as the minutes of a day; of more, or of more than the rows show twice, none are counted.
MAX_STEPS = 1440
# Degrees in a radian, by which angles are too large whose degrees were taken for radians.
DEGREES = 180 / math.pi
# Radians by which a whole number of degrees taken for radians may be off.
MAX_DEGREES_GAP = 1e-5


class Cycle(NamedTuple):
    """Two columns that are the cosine and the sine of one angle.

    Attributes
    ----------
    name : str
        What to call them.
    points : (n,) complex128
        The cosine and the sine as one number of modulus 1.
    gap : float
        Radians by which an angle may be off.
    along : str
        What the angle advances by.
    """

    name: str
    points: NDArray[Any]
    gap: float
    along: str = "row"

    @property
    def ahead(self) -> Floats:
        """Radians by which each row is ahead of the row before."""
        return np.asarray(np.angle(self.points[1:] * self.points[:-1].conj()))

    @property
    def advance(self) -> float:
        """Radians by which the angle rises or falls from row to row; NaN where it does so unevenly."""
        ahead = self.ahead
        usual = float(np.median(ahead))
        even = np.abs(ahead - usual) <= MAX_JUMP * abs(usual) + self.gap
        return float(ahead[even].mean()) if abs(usual) > MIN_GAP and even.mean() >= MIN_EVEN else math.nan

    @property
    def is_still(self) -> bool:
        """Whether all angles are the same, as those of a month in a table of few weeks."""
        return bool((self.points == self.points[0]).all())

    @property
    def step(self) -> float:
        """Radians between neighbouring values of an angle that has few; NaN of any other angle."""
        turns = np.sort(np.angle(self.points) % (2 * np.pi))
        values = turns[np.append(True, np.diff(turns) > 4 * self.gap)]
        gaps = np.diff(values, append=values[0] + 2 * np.pi)
        gaps = gaps[gaps > 4 * self.gap]
        if not 1 < len(values) <= min(MAX_STEPS, len(turns) // 2) or not len(gaps):
            return math.nan
        step = 2 * np.pi / round(2 * np.pi / float(gaps.min()))
        if len(values) == 2 and abs(step - np.pi) > 4 * self.gap:  # two angles, of any turn
            return math.nan
        return step if (np.abs(gaps / step - np.rint(gaps / step)) * step <= 4 * self.gap).all() else math.nan

    @property
    def unit(self) -> tuple[str, float]:
        """What angles are counted in, rows or steps, and the radians of one; ("", NaN) where they are uneven."""
        named = ((self.along, self.advance), ("step", self.step))
        return next(((word, radians) for word, radians in named if not math.isnan(radians)), ("", math.nan))

    @property
    def hold(self) -> str:
        """For how many rows each step is held, in words."""
        moved = np.abs(self.ahead[np.abs(self.ahead) > 4 * self.gap])
        if (np.abs(moved - self.step) > 4 * self.gap).mean() > 1 - MIN_EVEN:
            return f", and {self.along}s are in no regular order"
        starts = 1 + np.flatnonzero(np.abs(self.points[1:] - self.points[:-1]) > 4 * self.gap)
        many = {*np.diff(starts).tolist()}
        return f" of {many.pop()} {self.along}s" if len(many) == 1 else f" of several {self.along}s"

    def words(self) -> str:
        """Return how long a turn takes, where the angle begins again, and degrees that were taken for radians."""
        unit, radians = self.unit
        if not unit:
            return "the angle does not change" if self.is_still else "the angle does not advance evenly"
        ahead = np.abs(self.ahead - radians)
        rounded = ahead[ahead <= MAX_JUMP * abs(radians)] if unit == self.along else ahead[:0]
        uneven = float(rounded.max(initial=0))
        size = near(2 * np.pi / abs(radians), max(self.gap, uneven) / (len(self.points) * abs(radians)))
        text = f"one turn takes {size:f} {unit}s"
        if unit == "step":
            return f"{text}{self.hold}"
        turns = ((k, abs((k + np.pi) % (2 * np.pi) - np.pi)) for k in range(2, 181) if 360 % k == 0)
        degrees = next((k for k, turn in turns if abs(turn - abs(radians)) < MAX_DEGREES_GAP), 0)
        taken = f": {degrees} radians a {self.along}, as of {degrees} degrees that were taken for radians"
        return text + self.jumps + taken * bool(degrees)

    @property
    def jumps(self) -> str:
        """Where an angle that advances by rows does so by another step, in words."""
        places = 1 + np.flatnonzero(np.abs(self.ahead - self.advance) > MAX_JUMP * abs(self.advance) + self.gap)
        return f", the angle jumps at {numbered(self.along, places)}" * bool(len(places))


class Line(NamedTuple):
    """Numbers along one axis: a column, or a whole map that is the same along the other axis."""

    values: Floats
    along: str = "row"


def _flat(plane: Floats) -> list[Line]:
    """Return the columns of a matrix, or the one line of a matrix that is the same along an axis."""
    if plane.shape[1] > 1 and (plane == plane[:, :1]).all():
        return [Line(plane[:, 0])]
    if min(plane.shape) > 1 and (plane == plane[:1]).all():
        return [Line(plane[0], "column")]
    return [Line(column) for column in plane.T]


def _lines(views: Sequence[ArrayView]) -> dict[str, Line]:
    """Return the columns of arrays, or the channels of a map, by name or by number; {} of many, and of complex ones."""
    if sum(view.rows * view.row_size for view in views) > MAX_VALUES:
        return {}
    if any(view.dtype in REAL for view in views):
        return {}
    found = dict[str, Line]()
    for view in views:
        values, shape = floats(view, 0, view.rows), view.plain_shape
        if len(views) == 1 and len(shape) == 3:
            first = values.reshape(shape)
            maps = [[*map(_flat, planes)] for planes in (first, np.moveaxis(first, 2, 0))]
            channels = next((one for one in maps if len(one) <= MAX_CHANNELS and all(len(c) == 1 for c in one)), [])
            found = {f"channel {k}": channel[0] for k, channel in enumerate(channels)}
            continue
        lines, several = _flat(values), view.name if len(views) > 1 else ""
        names = [f"{several}[:, {k}]" if several else f"column {k}" for k in range(len(lines))]
        found.update(zip([several] if several and len(lines) == 1 else names, lines, strict=True))
    short = any(len(line.values) < MIN_ROWS for line in found.values())
    return {} if short or len(found) > MAX_COLUMNS else found


def _partners(lines: Mapping[str, Line]) -> list[tuple[str, str]]:
    """Return the names of cosines with their sines: those that the names say, or else neighbours, or halves."""
    names, named = list(lines), cosine_sine_pairs(lines)
    half = len(names) // 2
    orders = (named, list(zip(names[1::2], names[::2], strict=False)), list(zip(names[half:], names, strict=False)))
    for pairs in orders:
        cycles = [_cycle(lines, *pair) or (pairs is named and _is_one(lines, *pair)) for pair in pairs]
        if all(cycles) and not all(one.is_still for one in cycles if isinstance(one, Cycle)):
            return pairs
    return []


def _is_one(lines: Mapping[str, Line], cos: str, sin: str) -> bool:
    """Whether a cosine and a sine, by their names, hold the same values."""
    return np.array_equal(lines[cos].values, lines[sin].values)


def _cycle(lines: Mapping[str, Line], cos: str, sin: str) -> Cycle | None:
    (real, along), (imaginary, other) = lines[cos], lines[sin]
    if along != other or len(real) != len(imaginary):
        return None
    points = real + 1j * imaginary
    off = np.abs(np.abs(points) - 1)
    both = " and ".join(name for name in lines if name in (cos, sin))
    both = re.sub("^(column|channel) ([0-9]+) and .* ", r"\1s \2 and ", both)
    gap = 4 * float(off.max(initial=0)) + MIN_GAP / 4
    return Cycle(both, points, gap, along) if (off <= MAX_GAP).all() else None


def cyclic(table: Tabular, *, of_any: bool = False) -> tuple[str, ...]:
    """Return how long turns take in a table of a single pair, of pairs whose columns have names, or `of_any`; else ().

    The same of maps, whose channels are coordinates that rise evenly, sines and cosines of them, or both.
    """
    if any(not array.bytes for array in table.arrays):
        return ()
    lines = _lines([view_of(table, array) for array in table.arrays])
    partners = _partners(lines)
    cycles = [one for pair in partners if (one := _cycle(lines, *pair))]
    if of_any and (len(cycles) > MAX_CHANNELS // 2 or not all(one.unit[0] or one.is_still for one in cycles)):
        return ()
    if any(one.along == "column" and one.unit[0] != "column" for one in cycles):  # equal rows of waves, not of a map
        return ()
    if len(cycles) > 1 and not of_any and len(lines) > len(table.arrays) and "channel 0" not in lines:
        return ()
    texts = [f"{one.name}, {one.words()}" for one in cycles]
    texts += [f"{cos} and {sin} hold the same values" for cos, sin in partners if _is_one(lines, cos, sin)]
    if not texts and "channel 0" in lines:
        even = [np.ptp(np.diff(line.values)) < MAX_UNEVEN * np.ptp(line.values) for line in lines.values()]
        ends = ((name, line.along, *line.values[[0, -1]]) for name, line in lines.items())
        texts = [f"{name} goes evenly from {a:.6g} to {b:.6g} along each {'row' if k == 'column' else 'column'}"
                 for name, k, a, b in ends] if all(even) else []  # fmt: skip
        return tuple(texts)
    return (f"{CYCLIC}{texts[0]}", *texts[1:]) if texts else ()


def cycle_differences(pairs: Sequence[tuple[ArrayView, ArrayView]]) -> list[Finding]:
    """Return how the angles of cyclic features differ from the expected ones; [] of tables without any.

    The last finding of an angle that differs unevenly is a place.
    """
    have, want = (_lines([pair[k] for pair in pairs]) for k in (0, 1))
    own = dict(zip(want, have.values(), strict=False))
    if not pairs or len(have) != len(want) or any(own[name].values.shape != want[name].values.shape for name in want):
        return []
    partners = _partners(want)
    left = {*want} - {name for pair in partners for name in pair}
    both = [(_cycle(own, *pair), _cycle(want, *pair)) for pair in partners]
    cycles = [(one, other) for one, other in both if one and other]
    if len(cycles) < len(both) or any(not np.array_equal(own[name].values, want[name].values) for name in left):
        return []
    backwards, same = (
        all(np.abs(one.points[::way] - other.points).max() <= max(one.gap, other.gap) for one, other in cycles)
        for way in (-1, 1)
    )
    if cycles and backwards and not same:
        return [Finding("rows", f"the {cycles[0][1].along}s are reversed: the last one stands first")]
    found = {other.name: list(_unlike(one, other)) for one, other in cycles}
    named = [(name, one) for name, findings in found.items() for one in findings]
    if len(found) > MAX_LISTED and len(named) == len(found) and len({one.text for _, one in named}) == 1:
        return [named[0][1]._replace(text=f"all {len(found)} pairs: {named[0][1].text}")]
    if len(found) > 1 and (ratio := _common_ratio(cycles)):
        (name, one), advance = named[0], abs(ratio * cycles[0][1].advance)
        first = f"{name}: {one.text}; " if one.kind == "frequency" and advance < np.pi else ""
        every = "both pairs turn" if len(found) == 2 else f"all {len(found)} pairs turn"
        if abs(ratio + 1) <= MAX_RATIO_GAP:
            return [Finding("frequency", f"{every} {BACKWARDS}")]
        return [Finding("frequency", f"{first}{every} {ratio:.5g} times as fast")]
    if len(found) > MAX_LISTED and len(want) > len(pairs):  # of few arrays, which say more as a whole
        return []
    alone = len(want) == 2 and len(pairs) == 1
    return [one._replace(text=one.text if alone else f"{name}: {one.text}") for name, one in named]


def _common_ratio(cycles: Sequence[tuple[Cycle, Cycle]]) -> float:
    """Return how many times as fast as expected all pairs turn, as the slowest shows; 0.0 where they do not."""
    moving = [(one, other) for one, other in cycles if not math.isnan(other.advance)]
    one, other = min(moving, key=lambda pair: abs(pair[1].advance), default=(None, None))
    if len(moving) < len(cycles) or one is None or other is None or not abs(one.advance) < np.pi / 2:
        return 0.0
    doubt = sum(2 * cycle.gap / abs(cycle.advance) for cycle in (one, other)) / len(one.points)
    ratio = float(near(one.advance / other.advance, doubt))
    for have, want in moving:
        angles = np.unwrap(np.angle(want.points))
        off = np.abs(have.points - have.points[0] * np.exp(1j * ratio * (angles - angles[0])))
        gap = 2 * max(have.gap, want.gap) * (1 + abs(ratio))
        if not off.max() <= gap < MAX_OFF:
            return 0.0
    return ratio if abs(ratio - 1) > MAX_RATIO_GAP else 0.0


BACKWARDS = "the other way, as where the rows are reversed"


def _unlike(have: Cycle, want: Cycle) -> Iterator[Finding]:
    """Yield how one angle differs: by a start, a sign, an exchange, another period, or unevenly."""
    gap = max(have.gap, want.gap)
    ahead, mirror = have.points * want.points.conj(), have.points * want.points
    wrong = np.flatnonzero(np.abs(ahead - 1) > gap)
    if not len(wrong):
        return
    if np.abs(ahead[wrong] - ahead[wrong[0]]).max() <= gap and len(wrong) == wrong[-1] + 1 - wrong[0] > 1:
        text = _start_words(float(np.angle(ahead[wrong].mean())), want)
        rows = f"{span(int(wrong[0]), int(wrong[-1]), want.along)}: " * (len(wrong) < len(ahead))
        yield Finding("start", rows + text)
        return
    signs = {1: "the sine has the other sign", -1: "the cosine has the other sign", 1j: "cosine and sine are exchanged"}
    for turn, text in signs.items():
        if np.abs(mirror - turn).max() <= gap:
            yield Finding("sign" if turn in (1, -1) else "exchanged", text)
            return
    related = _ratio(have, want, gap)
    if related is None:
        most = np.abs(np.angle(ahead)).max()
        unit, radians = want.unit
        in_units = f" ({limit(most / abs(radians), 2)} {unit}s)" if unit == want.along else ""
        text = f"the angles are off by up to {limit(most, 2)} radians{in_units}, unevenly, while cos^2 + sin^2 stays 1"
        held = [(one.points[1:] == one.points[:-1]).mean() for one in (have, want)]  # several times have one value
        if (unit == want.along and 2 * most <= abs(radians)) or (held[0] > MIN_HELD and not held[1]):
            yield Finding("frequency", f"{text}: positions or times were rounded")
        else:
            yield Finding("place", text)
        return
    ratio, start = related
    if abs(ratio + 1) <= MAX_RATIO_GAP and not _is_whole(start, want) and _is_whole(np.pi / 2 - start, want):
        yield Finding("exchanged", "cosine and sine are exchanged")
        yield Finding("start", _start_words(float(np.angle(1j * np.exp(-1j * start))), want))
        return
    yield Finding("frequency", _ratio_words(ratio, want) + have.jumps * (have.jumps != want.jumps))
    if abs(start) > 2 * gap:
        yield Finding("start", _start_words(start, want, ratio))


def _is_whole(start: float, want: Cycle) -> bool:
    """Whether an angle is that of a whole number of rows or steps."""
    unit, radians = want.unit
    return bool(unit) and abs(start - round(start / radians) * radians) <= want.gap


def _start_words(start: float, want: Cycle, ratio: float = 1.0) -> str:
    """Describe a difference that all angles have, in rows or steps."""
    unit, radians = want.unit
    if abs(abs(start) - np.pi) <= want.gap:
        return "cosine and sine have the other sign"
    counted = start / (radians * ratio) if unit else start
    where = "ahead" if counted > 0 else "behind"
    many = f"{f'{abs(counted):.4g}'} {unit}{'s' * (f'{abs(counted):.4g}' != '1')} " if unit else ""
    return f"every angle is {where} by {many}({abs(start):.4g} radians)"


def _ratio_words(ratio: float, want: Cycle) -> str:
    """Describe turns of another length: in rows or steps, or as a factor of the angle."""
    unit, radians = want.unit
    if abs(ratio + 1) <= MAX_RATIO_GAP:
        return f"the angle turns {BACKWARDS}"
    if ratio == DEGREES:
        return "the angles are degrees that were taken for radians"
    why = " (the factor 2 pi is missing)" if abs(ratio * 2 * np.pi - 1) < MAX_GAP / 10 else ""
    if not unit:
        return f"every angle is {ratio:.4g} times the expected one{why}"
    periods = [2 * np.pi / abs(radians * one) for one in (ratio, 1)]
    period, wanted = (near(one, want.gap / np.pi) for one in periods)
    return f"one turn takes {period:f} {unit}s where {wanted:f} were expected{why}"


def _ratio(have: Cycle, want: Cycle, gap: float) -> tuple[float, float] | None:
    """Return the factor of most angles to the expected ones, and what is added to them; None where there are none.

    Expected angles rise from 0 without its end, or up to a turn with it, or on and on from row to row, or have signs.
    Angles that are equal show no factor, nor do fewer than three others.
    """
    wrong = np.abs(have.points - want.points) > gap
    if len(np.unique(np.angle(want.points[wrong]).round(4))) < MIN_OTHER:
        return None
    turn, found = np.angle(want.points) % (2 * np.pi), list[tuple[bool, float, float, float, float]]()
    zero = np.minimum(turn, 2 * np.pi - turn) <= gap
    signed = np.angle(want.points)
    for angles in (np.where(zero, 0, turn), np.where(zero, 2 * np.pi, turn), np.unwrap(signed), signed):
        order = np.argsort(angles, kind="stable")
        steps = np.diff(angles[order])
        turns = np.angle(have.points[order][1:] * have.points[order][:-1].conj())
        use = steps > 8 * gap
        for guess in (float(np.median(turns[use] / steps[use])), DEGREES) if use.any() else ():
            rest, good = np.unwrap(np.angle(have.points[order] * np.exp(-1j * guess * angles[order]))), np.s_[:]
            for _ in range(2 if guess != DEGREES else 0):  # the second time without rows where a year begins again
                slope, start = np.polyfit(angles[order][good], rest[good], 1)
                off = np.abs(rest - slope * angles[order] - start)
                good = off <= max(gap, 4 * float(np.median(off)))
            ratio, start = (guess + float(slope), float(start)) if guess != DEGREES else (guess, 0.0)
            off = np.abs(np.angle(have.points * np.exp(-1j * (ratio * angles + start))))
            share = float((off[wrong] <= 2 * gap * max(1.0, ratio)).mean())
            if share >= MIN_RELATED and abs(ratio) > MIN_GAP:  # else the angle does not turn
                found.append((ratio == DEGREES, share, -abs(ratio - 1), ratio, float(np.angle(np.exp(1j * start)))))
    return max(found)[-2:] if found else None
