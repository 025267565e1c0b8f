"""Names of a table of waves on one axis, with the arithmetic that computed its values.

Values are compared with the exact ones and with what float64, float32, bfloat16 and float16 code computes from the
same parameters: first sampled rows, to choose the arithmetic, then all values of the file, in blocks on all cores.
The frequencies of float32 code differ by some units from library to library and are taken from the values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Context, Decimal
from fractions import Fraction
from functools import cached_property, partial
from itertools import chain, product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pecli.engine.threads import ordered_map
from pecli.errors import PecliError
from pecli.judge.description import BlockDifferences, Tally
from pecli.judge.planes import TF32, Floats, Integers, Plane, planes_of, rounded, unit
from pecli.judge.signal import NEAR_ROWS, Measured, Signal, positions_in_steps, wrapped
from pecli.numbers.blocks import in_blocks
from pecli.numbers.decimals import decimal_exactly, digits, number_text, shortest
from pecli.numbers.positions import fraction_text
from pecli.spec.catalogue import CATALOGUE
from pecli.spec.measured import MAX_SIZE_DIGITS, PUBLISHED_BASES, PUBLISHED_FACTORS, Named
from pecli.spec.plans import Waves
from pecli.spec.recipe import Recipe, join_recipe
from pecli.tables.alignment import DOUBLED
from pecli.tables.table import Table

# Float32 units in the last place by which a library's frequency may be off: the exponential of a float32 logarithm is
# by up to 7; with more, a base that is wrong in its seventh digit passes.
MAX_FREQUENCY_UNITS = 8
# Float32 units in the last place of a frequency that one value may be off by: a factor of the angles, or of the
# positions, instead of the frequencies is rounded once more.  Narrow values do not show which frequencies a library
# had: any within its error.
SLACK_UNITS = 1.5
# Roundings of a double-precision angle, and for each unit of the logarithm of its frequency: an exponential.
FLOAT64_ANGLE, FLOAT64_LOGARITHM = 8.0, 4.0
# Largest error that double precision may leave; more, at positions beyond 1e8, would explain any value.
MAX_DOUBLE = 1e-6
# Median gap in the first rows from which a name is no candidate: bfloat16 angles of them are off by 0.03.
PLAUSIBLE_GAP = 0.1
# How far the steps of narrow types take a value from the exact one: of its angle, relative (exponents in bfloat16), and
# at all; and the share of the values within it below which narrow types are not tried.
NARROW_ANGLE, NARROW_VALUE, MIN_POSSIBLE = 0.1, 0.02, 0.9
# Values of a wider type that show the steps of a narrow one: some steps give any few.
MIN_SHOWN = 32
# Rows that a name must resemble, and rows by which an arithmetic is chosen, some first ones and others from all; fewer
# of more pairs, or 32,768 of them take 20 seconds.
FIRST_ROWS, SAMPLE_ROWS, SAMPLE_VALUES = 8, 160, 1 << 18
# Share of equal values, all others within the error of a library, from which an arithmetic needs no rival; of exact
# ones, rounded once, libraries round some the other way.
MIN_EQUAL = 0.9
# Share of the sampled values from which float32 arithmetic is not doubted; one corrupted row is less.
MIN_WIDE = 0.99
# Pairs of a running product, which is computed pair by pair; heads have 128.
MAX_RUNNING = 1 << 12
# Every how many sampled rows narrower arithmetics are looked at, and how many are then compared on all of them.
GLANCE_STEP, MAX_WAYS = 4, 3
# Largest angle error in radians for which a series gives cosine and sine from the exact ones; float32 phases of
# position 1048576 are off by 0.06, and the terms left out are below 2e-12.
MAX_SERIES = 0.12
# Values compared at a time: a few float64 copies of them fit the caches of one core; of more, each costs 5 ns more.
BLOCK_VALUES = 1 << 16
# Digits that a name may be longer by which gives all values where another gives none; libraries' frequencies make 0.02
# of the values equal or unequal by chance, but hardly any of narrow types.
UNEQUAL_COST, NARROW_UNEQUAL_COST = 8.0, 100.0
# Digits that a magnitude counts for which the parameters do not give.
OTHER_SIZE = 3.0
LOW_TYPES = ("bfloat16", "float16")
# Types of the steps of a computation, among them the one in which no value is stored.
COARSE_TYPES = (*LOW_TYPES, TF32)
MIN_SERIES = 4  # frequencies of a series that two exponents determine
MIN_FLOAT16 = 2.0**-14  # below it float16 has fewer digits than TF32
# Phase of every pair at position 0 for each sign error, after cosine and sine were put in order.
PHASES = {"": 0.0, "negated": np.pi, "sine negated": np.pi / 2, "cosine negated": -np.pi / 2}
# Phases of a single component, A cos(p w + phase).
LONE_PHASES = {"cos": 0.0, "sin": -np.pi / 2, "cos negated": np.pi, "sin negated": np.pi / 2}


def library_units(dtype: str, size: float = 1.0) -> float:
    """Return the units in the last place that a library's sine may be off by, on a GPU too; more if it was multiplied.

    The 0.01 covers this comparison's own rounding.
    """
    return 3.01 if dtype not in LOW_TYPES else 1.01 if size == 1 else 2.5


class Circle(NamedTuple):
    """Angles with their cosines and sines."""

    angles: Floats
    cos: Floats
    sin: Floats

    @classmethod
    def of(cls, angles: Floats) -> Circle:
        """Return the points of angles."""
        return cls(angles, np.cos(angles), np.sin(angles))

    def moved(self, angles: Floats) -> Circle:
        """Return the points of other angles, by series where all are near these, exact in every type."""
        apart = angles - self.angles
        square = apart * apart
        if not square.max(initial=0.0) < MAX_SERIES**2:
            return Circle.of(angles)
        c = 1 - square * (1 / 2 - square * (1 / 24 - square / 720))
        s = apart * (1 - square * (1 / 6 - square * (1 / 120 - square / 5040)))
        return Circle(angles, self.cos * c - self.sin * s, self.sin * c + self.cos * s)


@dataclass(frozen=True)
class Way:
    """Arithmetic by which cosines and sines are computed.

    Attributes
    ----------
    name : {"exact", "float64", "float32", "TF32", "bfloat16", "float16"}
        The narrowest type in which a step was computed.
    frequencies : (m,) float64
        As rounded.
    positions, angles : str
        Types of positions and angles; "float64" for exact ones.
    running : bool
        Whether each angle is the one before times a constant, rounded each time.
    stepwise : bool
        Whether the exponents of the frequencies were rounded to that type as well.
    """

    name: str
    frequencies: Floats = field(repr=False)
    positions: str = "float64"
    angles: str = "float64"
    running: bool = False
    stepwise: bool = False

    def angles_at(self, positions: Floats, frequencies: Floats | None = None) -> Floats:
        """Return the angles of positions (n, 1), or of positions and frequencies of one shape."""
        p, w = rounded(positions, self.positions), self.frequencies
        if not self.running:
            return rounded(p * (w if frequencies is None else frequencies), self.angles)
        ratio, places = w[1] / w[0], np.arange(len(w))
        slower = rounded(w / ratio**places, "float32")  # a scaling is applied to each angle
        factors = np.where(places == 0, p, ratio).astype(np.float32)
        return rounded(np.multiply.accumulate(factors, axis=1) * slower, "float32")

    def valued(self, values: Floats, magnitude: float, dtype: str) -> Floats:
        """Return cosines or sines multiplied by the magnitude and rounded to the table's type."""
        if self.name in ("exact", "float64") or dtype == "float64":
            return rounded(values * magnitude, dtype)
        values = rounded(values, "float32")
        if magnitude != 1:
            values = rounded(values * float(np.float32(magnitude)), "float32")
        return values if dtype == "float32" else rounded(values, dtype)

    def compute(self, positions: Floats, magnitude: float, dtype: str) -> tuple[Floats, Floats]:
        """Return cosines and sines of positions (n,) in a type, as float64, (n, m) each."""
        _, cos, sin = Circle.of(self.angles_at(positions[:, None]))
        return self.valued(cos, magnitude, dtype), self.valued(sin, magnitude, dtype)

    def words(self) -> str:
        """Return the rounded steps of the computation, as text."""
        if self.name not in COARSE_TYPES:
            return f"{self.name} {'phases' if self.angles == self.name else 'frequencies'}"
        return f"{self.coarse_type} {self.coarse_words}"

    @property
    def coarse_type(self) -> str:
        """The narrowest type, or both of those that have as many bits, where frequencies do not tell them apart."""
        kinds, w = ("float16", TF32), self.frequencies
        alike = "frequencies" not in self.coarse_words or bool(w[w > 0].min(initial=1.0) >= MIN_FLOAT16)
        return " or ".join(kinds) if self.name in kinds and self.angles != self.name and alike else self.name

    @property
    def coarse_words(self) -> str:
        """The steps that were computed in the narrowest type, as text."""
        own = np.array_equal(rounded(self.frequencies, self.name), self.frequencies)
        steps = {"frequencies": self.name if own else "", "positions": self.positions, "angles": self.angles}
        return " and ".join(", ".join(step for step, kind in steps.items() if kind == self.name).rsplit(", ", 1))

    @property
    def coarse_verb(self) -> str:
        """What was done to the coarse steps."""
        return "computed in" if self.stepwise else "rounded to"


def ways(exact: Floats, singles: Callable[[str], Floats], dtype: str, positions: Floats) -> tuple[list[Way], list[Way]]:
    """Return the ways to compute a table of a type: the best that doubles give and float32, then narrower types.

    `singles` returns the float32 frequencies that values show, by the type of the positions.  A float64 table that this
    process computes is no exact one: only a comparison of all values tells them apart.
    """
    wide = [Way("float64" if dtype == "float64" else "exact", exact)]
    plain = singles("float64")
    held = plain if np.array_equal(rounded(positions, "float32"), positions) else singles("float32")
    wide += [Way("float32", held, "float32", "float32"), Way("float32", plain)]
    if 1 < len(exact) <= MAX_RUNNING and (exact > 0).all():
        wide.append(Way("float32", exact, "float32", "float32", running=True))
        ratios = np.append(exact[0], np.full(len(exact) - 1, exact[1] / exact[0]))
        if np.allclose(np.multiply.accumulate(ratios), exact, 1e-9, 0):  # each is the one before times a ratio
            products = np.multiply.accumulate(ratios.astype(np.float32)).astype(np.float64)
            wide.append(Way("float32", products, "float32", "float32"))
    narrow = []
    for low in (TF32, *LOW_TYPES):
        coarse = not np.array_equal(rounded(positions, low), positions)
        own = singles(low) if coarse else plain
        if low == TF32:
            narrow += [Way(low, rounded(plain, low), "float32", "float32")]
            narrow += [Way(low, rounded(own, low), low, "float32")] * coarse
            continue
        narrow += [Way(low, exact, low), Way(low, own, low)] * coarse + [Way(low, rounded(exact, low))]
        types = (low, low), (low, "float32"), ("float32", "float32")
        narrow += [Way(low, w, *both, stepwise=True) for w in narrow_frequencies(exact, low) for both in types]
        for f, p, a in sorted(product((low, "float32"), repeat=3), key=lambda steps: steps.count(low)):
            if low in (f, a) or (p == low and coarse):
                narrow.append(Way(low, rounded(own if p == low else plain, f), p, a))
    return wide, narrow


def narrow_frequencies(exact: Floats, kind: str) -> Iterator[Floats]:
    """Yield a series of frequencies as code gives it whose exponents are in a narrow type: of e, or of the base."""
    if len(exact) < MIN_SERIES or not np.allclose(exact, exact[1] ** np.arange(len(exact)), 1e-9, 0):
        return
    k, log, step = np.arange(len(exact)), np.log(exact[1]), partial(rounded, kind=kind)
    for own in (log, step(log)):
        yield step(np.exp(step(k * own)))
    yield step(1 / step(step(np.exp(-log * len(exact))) ** step(k / len(exact))))


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
    way : Way
        The arithmetic that gives most sampled values.
    rival : Way, optional
        The one to try if a value shows that it is not this one.
    explained, equal : float
        Shares of the sampled values that it gives, within rounding and equal.
    regular : float
        Share of the sampled rows at the places that start and step give.
    """

    encoding: str
    named: Named
    start: Fraction
    step: Fraction
    phase: str
    measured: Measured = field(repr=False)
    way: Way = field(repr=False)
    rival: Way | None = field(default=None, repr=False)
    regular: float = 1.0
    explained: float = 0.0
    equal: float = 0.0

    @property
    def is_ordered(self) -> bool:
        """Whether no recipe has the sines first: in two arrays, in pairs, or each twice in one array."""
        return len(self.measured.planes) == 2 or self.measured.reading.layout in ("pairs", *DOUBLED)

    @property
    def quarter(self) -> int:
        """Quarter turns from the expected phase to that of the values."""
        return round((PHASES | LONE_PHASES)[self.phase] / (np.pi / 2)) % 4

    @cached_property
    def magnitude(self) -> float:
        """The recipe's magnitude where the values have it, else a usual one or the shortest within the measured one."""
        own, measured = self.named.magnitude, self.measured
        size, loose = measured.signal.magnitude, 4 * measured.pairs.magnitude_error
        if measured.reading.is_angles or abs(size / own - 1) <= loose:
            return own
        usual = [measured.pairs.width**0.5, *(0.1 * np.log(float(factor)) + 1 for factor in PUBLISHED_FACTORS)]
        sizes = [float(one if size > 1 else 1 / one) for one in usual]
        short = shortest(size * (1 - loose), size * (1 + loose))
        sizes += [float(short)] if digits(short) <= MAX_SIZE_DIGITS else []
        near = [one for one in sizes if abs(size / one - 1) <= loose]
        return min(near, key=lambda one: abs(size - one), default=size)

    @property
    def cost(self) -> float:
        """Fitted digits, with penalties for phases, offsets and magnitudes."""
        plain = {"": 0.0, "negated": 1.0}.get(self.phase, 1.5)
        own = 0.0 if self.start == 0 else 0.5 if self.start.denominator == 1 else 2.0
        last = self.start + self.step * (self.measured.planes[0].rows - 1)
        own += 2.0 * (min(self.start, last) < 0 and self.start != -last)  # distances run to both sides
        own += OTHER_SIZE * (self.magnitude != self.named.magnitude)
        return self.named.fitted + plain + own + (0.5 if self.step < 0 else 0.0)

    @property
    def misfit(self) -> float:
        """Its cost, and that of the sampled values that are not equal."""
        each = NARROW_UNEQUAL_COST if self.measured.dtype in LOW_TYPES else UNEQUAL_COST
        return self.cost + (1 - self.equal) * each

    def positions(self, rows: Floats | Integers) -> Floats:
        """Return the positions of rows."""
        places = np.asarray(rows, np.float64)
        found: Floats = float(self.start) + float(self.step) * places
        return np.where(places == float(-self.start / self.step), 0.0, found)  # rounding leaves 1e-13 of position 0

    def computed(self) -> WaveName | None:
        """Return the name with the arithmetic that gives most sampled values; None where none comes near."""
        measured, expected = self.measured, Expectation(self)
        few = np.searchsorted(measured.rows, measured.signal.rows)
        if len(few) == NEAR_ROWS < len(measured.rows):  # where later ones are other waves, their angles were rounded
            few = np.arange(len(measured.rows))
        most = min(SAMPLE_ROWS, max(FIRST_ROWS, SAMPLE_VALUES // len(self.named.frequencies)))
        if len(few) > most:
            first = most // 5
            few = few[np.r_[:first, np.linspace(first, len(few) - 1, most - first).astype(np.int64)]]
        rows, values = measured.rows[few], [plane[few] for plane in measured.reading.values]
        positions, w = self.positions(rows), self.named.frequencies
        near = Circle.of(positions[:, None] * w)
        have = [at.of(values) for at in expected.places]
        real = expected.made(near, positions)
        gaps = (np.nan_to_num(np.abs(a - b)[:FIRST_ROWS], nan=1.0) for a, b in zip(have, real, strict=False))
        if not measured.reading.is_angles and min(float(np.median(gap)) for gap in gaps) > PLAUSIBLE_GAP:
            return None

        def singles(kind: str) -> Floats:
            p = rounded(positions, kind)
            return expected.float32_frequencies(have, expected.made(Circle.of(p[:, None] * w), p), p)

        def seen(way: Way, rows: slice) -> WaveName:
            circle = Circle(*(part[rows] for part in near))
            parts = list(Expectation(self, way).compare(positions[rows], [plane[rows] for plane in values], circle))
            count, wrong = max(1, sum(one.size for one in parts)), sum(len(one.rows) for one in parts)
            return replace(self, way=way, explained=1 - wrong / count, equal=sum(one.equal for one in parts) / count)

        every = slice(None)
        wide, low = ways(w, singles, measured.dtype, positions)
        found: list[WaveName] = []
        for way in wide:
            found.append(seen(way, every))
            if found[-1].explained == 1 and found[-1].equal > MIN_EQUAL:
                break
        whole, narrow = measured.reading.is_angles, NARROW_ANGLE * np.abs(near.angles) + NARROW_VALUE
        possible = [np.abs(a - b) <= narrow * max(1.0, self.magnitude) for a, b in zip(have, real, strict=False)]
        wrong = max(found, key=agreement).explained < (1.0 if whole else MIN_WIDE)
        wrong &= measured.dtype in LOW_TYPES or sum(part.size for part in values) >= MIN_SHOWN
        if wrong and (whole or np.mean(possible) > MIN_POSSIBLE):
            different = dict[bytes, Way]()  # in few rows most of them give the same angles
            for way in low:
                different.setdefault(way.name.encode() + way.angles_at(positions[:, None]).tobytes(), way)
            glances = [seen(way, slice(None, None, GLANCE_STEP)) for way in different.values()]
            found += [seen(one.way, every) for one in sorted(glances, key=agreement, reverse=True)[:MAX_WAYS]]
        best = max(found, key=agreement)
        return replace(best, rival=wide[1]) if best.way is wide[0] else best


def agreement(name: WaveName) -> tuple[float, float]:
    """Return the sort key of arithmetics: the shares of values explained and equal."""
    return round(name.explained, 3), round(name.equal, 2)


def recipe_of(name: WaveName) -> str:
    """Return the recipe's text with the table's own keys, defaults left out."""
    measured = name.measured
    length = {"len": str(measured.planes[0].rows)} if measured.stated is None else {}
    keys = {**name.named.keys, **length}
    if name.start:
        keys["start"] = fraction_text(name.start)
    if name.step != 1:
        text = fraction_text(name.step)
        keys["step"] = repr(float(name.step)) if "/" in text else text  # a recipe takes no fractions
    keys |= name.named.table
    if measured.dtype != "float32":
        keys["dtype"] = measured.dtype
    return join_recipe(name.encoding, keys)


class Expectation:
    """Expected values from the arithmetic of a name, compared with the values of the file block by block."""

    def __init__(self, name: WaveName, way: Way | None = None) -> None:
        self.name, self.measured, self.way, self.size = name, name.measured, way or name.way, name.magnitude
        self.places = [group[0] for group in (self.measured.reading.cos_at, self.measured.reading.sin_at) if group]

    @cached_property
    def engine(self) -> list[Plane]:
        """The planes that the engine computes; none where the arithmetic is narrower or no recipe holds."""
        name, measured = self.name, self.measured
        by_engine = name.way.name in ("exact", "float64") and not name.phase and name.named.by_engine
        if not by_engine or measured.stated is not None or self.size != name.named.magnitude:
            return []
        try:
            table = Table.parse(recipe_of(name))
        except PecliError:
            return []
        planes = [plane for array in table.arrays for plane in planes_of(table, array)]
        if measured.pairs.sine_first and len(measured.planes) == 2:
            planes.reverse()
        alike = [(p.rows, p.width) for p in planes] == [(p.rows, p.width) for p in measured.planes]
        return planes if alike else []

    @cached_property
    def rows(self) -> int:
        """Rows of a block."""
        return max(1, BLOCK_VALUES // max(1, sum(plane.width for plane in self.measured.planes)))

    @cached_property
    def _first(self) -> Circle:
        """Exact points of the rows of a block, from position 0 on."""
        return Circle.of(np.multiply.outer(float(self.name.step) * np.arange(self.rows), self.name.named.frequencies))

    def positions(self, start: int, stop: int) -> Floats:
        """Return the positions of a block of rows."""
        stated = self.measured.stated
        return self.name.positions(np.arange(start, stop) if stated is None else stated[start:stop])

    def circle(self, start: int, stop: int) -> Circle:
        """Return the exact points of a block of rows, by the addition theorem."""
        positions, w = self.positions(start, stop), self.name.named.frequencies
        if self.measured.stated is not None:
            return Circle.of(positions[:, None] * w)
        c, s, (_, cos, sin) = np.cos(positions[0] * w), np.sin(positions[0] * w), self._first
        cos, sin = cos[: stop - start], sin[: stop - start]
        found = Circle(positions[:, None] * w, c * cos - s * sin, s * cos + c * sin)
        found.cos[positions == 0], found.sin[positions == 0] = 1.0, 0.0  # the theorem leaves 1e-13 of a sine of 0
        return found

    def made(self, circle: Circle, positions: Floats, way: Way | None = None) -> Sequence[Floats]:
        """Return the values at the places of the cosines and of the sines, by the phase of the name."""
        way, dtype = way or Way("exact", self.name.named.frequencies), self.measured.dtype if way else "float64"
        if self.measured.reading.is_angles:
            return (rounded(circle.angles, dtype),)
        cos, sin = (way.valued(part, self.size, dtype) for part in circle[1:])
        found = {0: (cos, sin), 1: (-sin, cos), 2: (-cos, -sin), 3: (sin, -cos)}[self.name.quarter]
        if not self.name.named.blank:
            return found
        blank = np.isin(positions, self.name.named.blank)
        return [np.where(blank[:, None], 0.0, part) for part in found]

    def float32_frequencies(self, have: Sequence[Floats], real: Sequence[Floats], positions: Floats) -> Floats:
        """Return the float32 frequencies nearest the exact ones that the far sampled rows show."""
        w = self.name.named.frequencies
        far = (np.abs(positions) >= np.abs(positions).max() / 2) & (positions != 0)
        if not far.any():
            return rounded(w, "float32")
        have, real = [part[far] for part in have], [part[far] for part in real]
        if self.measured.reading.is_angles:
            apart = have[0] - real[0]
        elif len(have) == 2:
            (a, b), (x, y) = have, real
            apart = np.arctan2(b * x - a * y, a * x + b * y)
        else:
            slope = -real[1]
            apart = np.where(np.abs(slope) > 0.2 * self.size, (have[0] - real[0]) / slope, 0.0)
        off = np.nan_to_num(apart) / positions[far, None]
        shift = np.median(off, axis=0)
        scatter = np.median(np.abs(off - shift), axis=0)
        one = 2.0**-23 * w
        clear = (scatter < 2 * one) & (np.abs(shift) <= MAX_FREQUENCY_UNITS * one)  # bfloat16 values show no units
        return rounded(np.where(clear, w + shift, w), "float32")

    def compare(
        self, positions: Floats, values: Sequence[Floats], near: Circle | None, engine: Sequence[Floats] = (),
        first: int = 0,
    ) -> Iterator[BlockDifferences]:  # fmt: skip
        """Yield the differences of rows from the expected values, for each place of a component.

        Parameters
        ----------
        positions : (n,) float64
        values : (n, width) float64 for each plane
        near : Circle
            The exact points of the positions; None where the engine's values are exact enough.
        engine : (n, width) float64 for each plane
            Expected values that the engine computed.
        first : int
            Number of the first row.
        """
        measured, reading, way = self.measured, self.measured.reading, self.way
        exact, made = list[Floats](), list[Floats]()
        if near is not None:
            exact = list(self.made(near, positions))
            narrow = not engine and way.name not in ("exact", "float64")
            points = near.moved(way.angles_at(positions[:, None])) if narrow else near
            made = [] if engine else list(self.made(points, positions, way))
        for number, places in enumerate((reading.cos_at, reading.sin_at)):
            for at in places:
                have, want = at.of(values), at.of(engine) if engine else made[number]
                odd = np.flatnonzero(have != want)
                other = None if reading.is_angles else exact[1 - number] if exact else None
                inside, gap, worst = self._judge(have.ravel()[odd], want.ravel()[odd], odd, positions, other)
                off = np.abs(have - exact[number]) if exact else None
                if off is not None and way.name == "float32":  # some rows may have been computed exactly
                    units = library_units(measured.dtype)
                    inside |= off.ravel()[odd] <= units * unit(want.ravel()[odd], measured.dtype)
                row, column = np.divmod(odd[~inside], have.shape[1])
                residual = gap[inside].max(initial=0.0)
                if off is not None:
                    off[row, column] = 0.0
                    residual = np.fmax.reduce(off, axis=None)
                columns = np.arange(measured.planes[at.plane].width)[at.index][column]
                wrong = row + first, columns, have[row, column], want[row, column]
                yield BlockDifferences(at.plane, have.size, have.size - len(odd), worst, float(residual), *wrong)

    def _judge(
        self, have: Floats, want: Floats, odd: Integers, positions: Floats, other: Floats | None
    ) -> tuple[np.ndarray, Floats, float]:
        """Return which unequal values are explained, how far all are off, and by how many units the explained ones are.

        `odd` are their places in C order, `other` the values of the other component.
        """
        dtype, way, w = self.measured.dtype, self.way, self.name.named.frequencies
        gap, one = np.abs(have - want), unit(want, dtype)
        allowed = library_units(dtype, self.size) * one
        inside = gap <= allowed
        worst = float((gap / one)[inside].max(initial=0.0))
        left, double = np.flatnonzero(~inside), way.name in ("exact", "float64") or dtype == "float64"
        if not len(left) or (way.running and not double):
            return inside, gap, worst
        row, column = np.divmod(odd[left], len(w))
        p, frequency = positions[row], way.frequencies[column]
        if double:
            growth = FLOAT64_ANGLE + FLOAT64_LOGARITHM * np.abs(np.log(np.maximum(frequency, 1e-300)))
            slack = np.minimum(2.0**-53 * (2 + np.abs(p) * frequency * growth) * max(1.0, self.size), MAX_DOUBLE)
            fits = gap[left] <= slack
            worst = max(worst, float((gap / one)[left][fits].max(initial=0.0)))
        else:
            angles = way.angles_at(p, frequency)
            slack, doubt = np.zeros(len(left)), (MAX_FREQUENCY_UNITS if dtype in LOW_TYPES else SLACK_UNITS) * 2.0**-23
            for moved in (way.angles_at(p, frequency * (1 + off)) for off in (-doubt, doubt)):
                slack = np.maximum(slack, np.abs(moved - angles))
            if other is not None:  # times the sine of what a cosine is of, and the other way round
                slack *= np.abs(other[row, column]) + self.size * slack / 2
            fits = gap[left] <= allowed[left] + slack
        inside[left[fits]] = True
        return inside, gap, worst

    def mended(self, plane: int, corrupted: Integers | None, start: int, stop: int) -> Floats:
        """Return rows of a plane as they should be: values that the arithmetic explains as the file has them.

        Where most of a row is not explained, the others are as they should be by chance, and are not taken.
        `corrupted` are the unexplained values of each row, where they were counted.
        """
        found = self.measured.planes[plane].read(start, stop)
        for at in in_blocks(start, stop, self.rows):
            if corrupted is None or corrupted[at].any():
                parts = [one for one in self.block(at.start, at.stop) if one.plane == plane]
                rows = np.concatenate([one.rows for one in parts]) - at.start
                other = 2 * np.bincount(rows, minlength=at.stop - at.start) > found.shape[1]
                parts = self.block(at.start, at.stop, other) if other.any() else parts
                for one in parts:
                    if one.plane == plane:
                        found[one.rows - start, one.columns] = one.want
        return found

    def block(self, start: int, stop: int, hidden: NDArray[np.bool_] | None = None) -> list[BlockDifferences]:
        """Return the differences of at most `rows` rows of the file; of hidden ones, all values differ."""
        with np.errstate(all="ignore"):
            values = [plane.read(start, stop) for plane in self.measured.planes]
            if hidden is not None:
                values = [np.where(hidden[:, None], np.nan, rows) for rows in values]
            engine = [plane.read(start, stop) for plane in self.engine]
            near = None if engine and self.measured.dtype not in LOW_TYPES else self.circle(start, stop)
            return list(self.compare(self.positions(start, stop), values, near, engine, start))


def verified(name: WaveName) -> tuple[WaveName, Tally]:
    """Return a name with the arithmetic that explains most of all values, and the comparison of these."""
    found = tally(name)
    if found.unexplained and name.rival is not None:
        rival = replace(name, way=name.rival)
        other = tally(rival)
        better = other.unexplained < found.unexplained and (not other.unexplained or other.equal >= found.equal)
        return (rival, other) if better else (name, found)
    return name, found


def tally(name: WaveName) -> Tally:
    """Compare all values of a file with the arithmetic of a name, in blocks on all cores."""
    planes, expected = name.measured.planes, Expectation(name)
    total = Tally.of(planes)
    blocks = in_blocks(0, planes[0].rows, expected.rows)
    for one in chain.from_iterable(ordered_map(lambda at: expected.block(at.start, at.stop), blocks)):
        total.add(one)
    return total


# Relative error of frequencies computed in a type: some roundings of a power, a quotient and a product.
LEVELS = {
    "exact": 2.0**-40, "float32": 2.0**-21.5, "running product": 2.0**-16, "float16": 2.0**-10, "bfloat16": 2.0**-7.5,
}  # fmt: skip
# Names that are tried at one level; more cost time, and the right one was among the first three of all tables.
MAX_TRIED = 6
# Phases of a quarter turn, which exchange cosines and sines.
QUARTERS = ("sine negated", "cosine negated")
# By whether cosines and sines stand in exchanged places, and the quarter turns of the angles: what was done.
QUARTER_WORDS = {
    (False, 0): "",
    (False, 1): "every angle is a quarter turn further: -sin stands for cos, and cos for sin",
    (False, 2): "every value has the other sign",
    (False, 3): "every angle is a quarter turn less: sin stands for cos, and -cos for sin",
    (True, 0): "sin and cos are exchanged",
    (True, 1): "the sign of sin is changed: the rotation goes the other way",
    (True, 2): "sin and cos are exchanged, and every value has the other sign",
    (True, 3): "the sign of cos is changed",
}
# Of a hundredth of the values, what roundings of narrow types may leave of a name that explains all.
ROUNDING_SHARE = 0.1
# Fitted digits below which a name that explains every sampled value needs no rival.
MAX_PLAIN_COST = 1.6
# Of a parameter, relative: for its derivative, and how far off the values may show it to be; how often that is done.
SHIFT, MAX_SHIFT, SHARPENINGS = 1e-4, 0.02, 3
# Largest change of a value that is linear in a parameter, and share of the values that a shorter number may lose.
MAX_CHANGE, MAX_LOSS = 0.3, 1e-3
# Whole turns of the slowest pair, in both directions, within which the first position is searched.
MAX_TURNS = 12
# Share of the sampled values that must be explained where rows are at other places than start and step give.
MIN_CLOSE = 0.98
# Share of the sampled rows that must be evenly spaced for a start and a step to describe them.
MIN_REGULAR = 0.5
# Steps by which a row may be off its place and still count as regular; bfloat16 values allow 0.01.
MAX_PLACE = 0.02


def names_of(measured: Measured) -> list[WaveName]:
    """Return names that the encodings' rules give the measured pairs, the best first."""
    found = _names(measured)
    if measured.reading.sin is not None and not (found and _plain(found[0])):
        found = sorted([*found, *_names(measured.otherwise())], key=merit)
    return found


def _plain(name: WaveName) -> bool:
    return name.explained == 1.0 and name.cost < MAX_PLAIN_COST


def _names(measured: Measured) -> list[WaveName]:
    found: list[WaveName] = []
    seen = set()
    if not np.isfinite(measured.pairs.steps).all() or not np.isfinite(measured.pairs.magnitude):
        return found
    rules = [e for e in CATALOGUE.values() if e.declares("identify_waves")]
    for level, error in LEVELS.items():
        if level in LOW_TYPES and any(n.explained == 1.0 for n in found):
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
                if name is not None:
                    found.append(name)
                    tried += 1
                if tried >= MAX_TRIED or any(map(_plain, found)):  # of others the first one may be an alias
                    break
        found.sort(key=merit)
        if found and _plain(found[0]):
            break
    if found and measured.dtype in LOW_TYPES and found[0].equal < 1:
        found = sorted([*found, *_sharper(found[0])], key=merit)
    return found


def _sharper(name: WaveName) -> Iterator[WaveName]:
    """Yield names with another base or factor: shorter ones, and the shortest that gives most values.

    Errors of narrow types that the values share hide the round number.
    """
    for key, text in {"base": "10000", **name.named.keys}.items():
        if key in ("base", "factor"):
            shorter = (Context(count).create_decimal(text) for count in range(1, digits(Decimal(text))))
            for value in dict.fromkeys((*shorter, _by_values(name, key, float(text)))):
                cost = name.named.fitted + digits(value) - digits(Decimal(text))
                one = with_value(name, key, number_text(value), cost) if value != Decimal(text) else None
                found = one and fitted(name.measured, name.encoding, one)
                yield from [found] if found else []


def with_value(name: WaveName, key: str, text: str, cost: float = 0.0) -> Named | None:
    """Return what a name has with another value of a parameter, of some fitted digits; None where it has no waves."""
    keys = {**name.named.keys, key: text}
    plain = {k: v for k, v in keys.items() if (k, v) != ("base", "10000")}
    return exactly(name.encoding, replace(name.named, keys=plain, fitted=cost))


def _by_values(name: WaveName, key: str, value: float) -> Decimal:
    """Return the shortest number for a parameter with which the most sampled values are equal, or nearly so.

    Each value allows an interval, by half a unit of its rounding.
    """
    measured, expected, doubt = name.measured, Expectation(name), MAX_SHIFT
    few = np.searchsorted(measured.rows, measured.signal.rows)
    few = few[:: 1 + len(few) * len(name.named.frequencies) // SAMPLE_VALUES]
    have = [at.of(measured.reading.values)[few] for at in expected.places]
    positions, low, high = name.positions(measured.rows[few]), 0.0, 0.0
    for _ in range(SHARPENINGS):
        both = [with_value(name, key, repr(value * (1 + shift))) for shift in (0, SHIFT)]
        circles = [Circle.of(positions[:, None] * named.frequencies) for named in both if named]
        if len(circles) < len(both):
            break
        ends = []
        for v, x, moved in zip(have, *(expected.made(circle, positions) for circle in circles), strict=False):
            slope, half = (moved - x) / math.log1p(SHIFT), unit(v, measured.dtype) / 2
            size = np.abs(slope)
            use = (size > 0) & (size * doubt < MAX_CHANGE) & (np.abs(v - x) <= size * doubt + half)
            middle, wide = (v - x)[use] / slope[use], half[use] / size[use]
            ends.append(np.stack([middle - wide, middle + wide]))
        edges = np.concatenate(ends, axis=1)
        if not edges.size:
            break
        order = np.argsort(edges, axis=None)
        counts = np.cumsum(np.where(order < edges.shape[1], 1, -1))
        good = np.flatnonzero(counts >= counts.max(initial=0) - MAX_LOSS * edges.shape[1])
        interval = edges.ravel()[order[[good[0], good[-1] + 1]]]
        if not np.abs(interval).max() < 1:  # hardly any value depends on it
            break
        low, high = interval.tolist()
        value, doubt = value * math.exp((low + high) / 2), high - low
    return shortest(*(value * math.exp(sign * (high - low) / 2) for sign in (-1, 1)))


def merit(name: WaveName) -> tuple[float, float, float]:
    """Return the sort key of names: the share of values explained, then fitted digits and unequal values."""
    return -math.floor(100 * name.explained + ROUNDING_SHARE), name.misfit, -name.equal


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
        moving, own = found.frequencies[found.frequencies > 0], named.keys.get("base", "10000")
        if moving.min() == moving.max() or (found.frequencies[0] * named.step != 1 and own not in PUBLISHED_BASES):
            return None
    named, best = found, None
    phases = LONE_PHASES if measured.reading.is_alone else {"": 0.0} if measured.reading.is_angles else PHASES
    for phase, angle in phases.items():
        if exact and phase in QUARTERS and len(measured.planes) == 1:
            continue  # no recipe has this order of columns
        one = _placed(measured, encoding, named, phase, angle, guess)
        if guess is not None and (one is None or one.explained < MIN_WIDE):  # far out, narrow angles show other places
            step, way = -named.step if measured.falling else named.step, Way("exact", named.frequencies)
            there = WaveName(encoding, named, Fraction(guess), step, phase, measured, way).computed()
            one = there if there is not None and there.explained == 1.0 else one
        if one is not None and (best is None or merit(one) < merit(best)):
            best = one
        if best is not None and best.explained == 1.0 and best.cost <= MAX_PLAIN_COST + named.fitted:
            return best
    return best


def plan_of(encoding: str, keys: Mapping[str, str], changed: Callable[[Waves], Waves] | None = None) -> Waves | None:
    """Return the waves of an encoding, changed or not; None where keys contradict each other or it has no waves."""
    try:
        plan = Recipe.bind(encoding, **keys).plan
        return (changed(plan) if changed else plan) if isinstance(plan, Waves) else None
    except PecliError:
        return None


def exactly(encoding: str, named: Named) -> Named | None:
    """Return a name with the frequencies and the magnitude that its recipe declares, to double precision."""
    plan = plan_of(encoding, named.keys)
    if plan is None or len({band.axis for band in plan.bands}) > 1:
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
    number = None if origin is None else _number(origin - float(step) * signal.reference, signal, w)
    if number is None:
        return None
    regular = 1.0
    if measured.reading.sin is not None:
        positions = float(number) + float(step) * signal.rows.astype(float)
        places = positions_in_steps(signal, w, np.full(len(w), angle), positions)
        allowed = MAX_PLACE * abs(float(step)) + _doubt(signal, w) + 2.0**-8 * np.abs(positions)
        regular = float((np.abs(places - positions) <= allowed).mean())
    name = WaveName(encoding, named, number, step, phase, measured, Way("exact", w)).computed()
    if name is None or (regular < MIN_REGULAR and name.explained < MIN_CLOSE):  # narrow angles place rows at random
        return None
    return replace(name, regular=max(regular, MIN_REGULAR))


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
    known = (w > 0) & np.isfinite(signal.noise) & np.isfinite(2 * np.pi / w)
    if not known.any():
        return 0.0 if near is None else near
    slowest = int(np.flatnonzero(known)[np.argmin(w[known])])
    first, turn = phases[slowest] / w[slowest], 2 * np.pi / w[slowest]
    turns = [] if near is None else [round((near - first) / turn)]
    turns += [k * sign for k in range(MAX_TURNS) for sign in (1, -1)][1:]
    one = signal._replace(unit=np.exp(1j * phases)[None].repeat(len(turns), 0), rows=np.zeros(len(turns), np.int64))
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
