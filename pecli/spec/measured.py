"""Measurements of a table of waves, which the rules of the encodings turn into parameters.

Rules (``identify.py`` of an encoding) turn frequencies into parameters: published values first, then the shortest
decimal in the interval that the measurement allows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pecli.numbers.decimals import decimal_of, digits, shortest
from pecli.numbers.positions import LARGEST_MULTIPLE

Floats = NDArray[np.float64]

# Bases that published models use, the commonest first.
PUBLISHED_BASES = (
    "10000", "500000", "1000000", "100000", "10000000", "5000000", "8000000", "150000", "160000", "50000", "100",
    "1000", "40000", "4000000", "25000000", "1e9", "20", "25000", "2000000", "11158840", "30000", "75000000",
)  # fmt: skip
PUBLISHED_FACTORS = ("2", "4", "8", "16", "32", "40", "64", "10", "20", "128", "2.5", "1.5", "3", "5", "6", "12")
# Lengths that models are trained on, the commonest first.
LENGTHS = (
    4096, 8192, 32768, 2048, 131072, 16384, 65536, 1024, 512, 262144, 1048576, 256, 128, 10240, 6144, 12288, 3072,
    24576, 49152, 40960, 20480, 5120, 2560, 1536, 768, 32000, 100000, 8000, 4000, 2000, 1000, 64,
)  # fmt: skip
# Positions a row, or factors of angles, that are no short decimals: half turns and turns, degrees for radians and back.
TURN = Fraction("6.283185307179586")
ANGLE_UNITS = ("3.141592653589793", "6.283185307179586", "57.29577951308232", "0.017453292519943295")
# Digits of a step that somebody chose; with 6, roundings of bfloat16 frequencies are named as steps.
MAX_STEP_DIGITS = 4
# Digits of a magnitude that somebody chose; of a longer one the measured value is nearer.
MAX_SIZE_DIGITS = 5
MAX_BASE = 1e30
# Bases that are tried for one series.
MAX_BASES = 4
# Significant digits of a parameter that somebody may have chosen; a longer one is a rounding's and names nothing.
MAX_DIGITS = 10


@dataclass(frozen=True)
class Pairs:
    """Measured pairs of one axis.

    Attributes
    ----------
    steps, errors : (m,) float64
        Radians a row, positive, and their absolute uncertainty.
    still : (m,) bool
        Pairs that do not rotate.
    magnitude, magnitude_error : float
        Length of the pairs.
    single : bool
        Whether sines and cosines are the columns of one array, as in sinusoids.
    sine_first : bool
        Whether the sine of a pair comes first.
    layout : str
        As `pecli.judge.signal` calls it.
    width : int
        Columns of a row, each value counted once.
    level : float
        Relative error that each frequency may have: of the type it was computed in.
    rows : int
        Rows of the whole table.
    tail : {"", "zero", "sine", "cosine"}
        What the last column of an odd width holds.
    """

    steps: Floats
    errors: Floats
    still: NDArray[np.bool_]
    magnitude: float = 1.0
    magnitude_error: float = 2.0**-20
    single: bool = False
    sine_first: bool = False
    layout: str = "split"
    width: int = 0
    level: float = 2.0**-22
    rows: int = 0
    tail: str = ""

    @property
    def count(self) -> int:
        """Number of pairs."""
        return len(self.steps)

    @property
    def size(self) -> Decimal:
        """The magnitude, as a short decimal within its error if there is one."""
        found = shortest(*(self.magnitude * (1 + 2 * sign * self.magnitude_error) for sign in (-1, 1)))
        return found if digits(found) <= MAX_SIZE_DIGITS else Decimal(f"{self.magnitude:.8g}")

    def at(self, level: float) -> Pairs:
        """Return the same with another relative error of the frequencies."""
        return replace(self, level=level)

    def slack(self, expected: Floats) -> Floats:
        """Return by how much each step may differ from an expected one."""
        return np.asarray(self.errors + self.level * np.abs(expected))

    def gaps(self, expected: Floats) -> Floats:
        """Return the distances of steps from expected ones, modulo whole turns."""
        gap = self.steps - expected
        return np.asarray(np.abs(gap - 2 * np.pi * np.round(gap / (2 * np.pi))))

    def fits(self, frequencies: Floats, step: float = 1.0, share: float = 1.0) -> bool:
        """Whether frequencies in radians a position, times positions a row, are the measured ones."""
        expected = frequencies * step
        good = self.gaps(expected) <= self.slack(expected)
        good &= (expected == 0) == self.still
        return bool(good.mean() >= share) if len(good) else False

    @property
    def usable(self) -> NDArray[np.bool_]:
        """Pairs that move by less than half a turn a row, as a falling series shows."""
        clear = ~self.still & (self.steps > 2 * self.errors)
        folded = np.zeros(len(clear), bool)
        rising = np.flatnonzero(np.diff(self.steps) > self.slack(self.steps)[1:])
        folded[: rising[-1] + 1 if len(rising) else 0] = True  # a series falls; what lies before a rise went around
        return clear & ~folded

    def bases(
        self, exponents: Floats, step: float = 1.0, *, some: NDArray[np.bool_] | None = None
    ) -> Iterator[Decimal]:
        """Yield bases b of step * b^-exponent within the errors: published ones, then the shortest decimal."""
        if np.isinf(self.errors).all() or len(exponents) == 1:  # one row, or one pair, whose exponent is 0
            yield from map(Decimal, PUBLISHED_BASES[: MAX_BASES if len(exponents) > 1 else 1])
            return
        use = (self.usable if some is None else some & self.usable) & (exponents > 0)
        if not use.any():
            return
        e = exponents[use]
        ratio = self.steps[use] / step
        loose = self.slack(self.steps)[use] / self.steps[use]
        with np.errstate(all="ignore"):
            logs = -np.log(ratio) / e
            wide = loose / e
            low, high = (logs - wide).max(), (logs + wide).min()
        if not (low <= high + 1e-12 and abs(low) <= math.log(MAX_BASE) and abs(high) <= math.log(MAX_BASE)):
            return
        found = [Decimal(text) for text in PUBLISHED_BASES if low <= math.log(float(text)) <= high]
        first = math.exp(low), math.exp(max(low, high))
        short = shortest(*first)
        if digits(short) <= MAX_DIGITS and short > 0 and short not in found:
            found.append(short)
        yield from found[:MAX_BASES]

    def scales(self, exponents: Floats) -> Iterator[tuple[float, float]]:
        """Yield intervals of the factor of a series whose first frequency is not 1: positions a row, or a factor."""
        use = np.flatnonzero(self.usable)
        if not len(use):
            return
        loose = self.slack(self.steps)[use] / self.steps[use]
        found = [(self.steps[0], loose[0])] if use[0] == 0 else []
        if len(use) > 1:
            logs = np.log(self.steps[use])
            slope, start = np.polyfit(exponents[use], logs, 1, w=1 / loose)
            rest = np.abs(logs - start - slope * exponents[use])
            found.append((float(np.exp(start)), float(rest.max() + loose.max())))
        for scale, off in found:
            low, high = scale * (1 - off), scale * (1 + off)
            if 0 < low <= high < math.inf and not low <= 1 <= high:
                yield low, high

    def positions_a_row(self, exponents: Floats) -> Iterator[Fraction]:
        """Yield the factors of such a series that somebody would choose, over the number of rows or gaps if need be."""
        for low, high in self.scales(exponents):
            if self.rows > 1 and low <= self.rows / (self.rows - 1) <= high:  # linspace with its end
                yield Fraction(self.rows, self.rows - 1)
            for count in (1, self.rows, self.rows - 1):
                number = shortest(low * count, high * count)
                if digits(number) <= MAX_STEP_DIGITS and (count == 1 or number == number.to_integral_value()):
                    yield Fraction(number) / max(1, count)
                    break
            parts = product(map(Fraction, ANGLE_UNITS), {1, max(1, self.rows), max(1, self.rows - 1)})
            units = (unit / count for unit, count in parts if low <= float(unit / count) <= high)
            yield from (unit for unit in units if unit.numerator * self.rows < LARGEST_MULTIPLE)

    def step_digits(self, step: Fraction) -> float:
        """Return the cost of positions a row in digits, of what is divided by the number of rows or gaps one more."""
        over = [1 + plain_digits(step * n, ANGLE_UNITS) for n in (self.rows - 1, self.rows) if n > 1]
        return min([plain_digits(step, ANGLE_UNITS), *over])


class Held(NamedTuple):
    """Parameters that give the arrays of a file.

    Attributes
    ----------
    keys : mapping of str to str
        Those of the recipe, the table's own keys as well.
    note : str
        What is said besides.
    wrong : str
        How the arrays differ from those of the recipe.
    equal : float
        Share of the values that are equal; 0 where only rounding separates them.
    """

    keys: Mapping[str, str]
    note: str = ""
    wrong: str = ""
    equal: float = 0.0


@dataclass(frozen=True)
class Named:
    """Parameters that give measured frequencies.

    Attributes
    ----------
    keys : mapping of str to str
        Parameters of the encoding, besides its width.
    frequencies : (m,) float64
        Radians a position, exact to double precision.
    step : Fraction
        Positions a row.
    fitted : float
        Significant digits that were fitted to the values; 0 for defaults.
    magnitude : float
        What the parameters multiply cosines and sines by.
    table : mapping of str to str
        The table's own keys: layout.
    by_engine : bool
        Whether the recipe's own table has these values; a mistake's frequencies, or another order of columns, has not.
    blank : tuple of int
        Positions whose rows are zero.
    inputs : tuple of int
        Columns that hold the coordinates themselves, where no grid gives them.
    """

    keys: Mapping[str, str]
    frequencies: Floats = field(repr=False)
    step: Fraction = Fraction(1)
    fitted: float = 0.0
    magnitude: float = 1.0
    table: Mapping[str, str] = field(default_factory=dict)
    by_engine: bool = True
    blank: tuple[int, ...] = ()
    inputs: tuple[int, ...] = ()


# Cost, in digits, of a number that is published.
PUBLISHED_COST = 0.5


def plain_digits(value: Decimal | Fraction, published: tuple[str, ...] = ()) -> float:
    """Return the cost of a number in digits: nothing much if published, else its digits."""
    value = decimal_of(value)
    texts = {format(Decimal(text), "f") for text in published}
    return PUBLISHED_COST if format(value.normalize(), "f") in texts else float(digits(value))


class GridAxis(NamedTuple):
    """Axis of a table over several: the pairs that follow it, and its different coordinates, called levels.

    Attributes
    ----------
    size : int
        How many levels.
    columns : (k,) int64
        Its pairs, by their place in the row.
    pairs : Pairs
        The same as measured, in radians a level.
    origin : float
        Coordinate of its first level, in levels.
    """

    size: int
    columns: NDArray[np.int64]
    pairs: Pairs
    origin: float


@dataclass(frozen=True)
class Axes:
    """Measurements of a table whose pairs follow several axes.

    Attributes
    ----------
    width : int
        Columns of a row, each value counted once.
    absolute : bool
        Whether sines and cosines are columns of one array, the sine of a pair first.
    layout : str
        As `pecli.judge.signal` calls it; of an absolute table the arrangement of pairs in columns: "blocks+.."
        with the widths of the blocks, "halves" or "alternate".
    axes : tuple of GridAxis
        The commonest last side of a grid is the last.
    sides : tuple of int
        Sides of the grid, the slowest first: those of the axes, and frames before them that repeat it; empty where the
        rows follow none.
    owner : (m,) int64
        Axis of each pair, -1 where it does not move.
    streams : (n, k) float64
        Coordinate of each row on each axis, in levels.
    rows : int
        Of the table.
    values : (n, width) float64
        Of an absolute table whose columns are no pairs of one size; its layout is "columns".
    angles : (m,) float64
        Of each pair in the first row of the grid.
    """

    width: int
    absolute: bool
    layout: str
    axes: tuple[GridAxis, ...]
    sides: tuple[int, ...]
    owner: NDArray[np.int64]
    streams: Floats = field(repr=False)
    rows: int = 0
    merge: int = 1
    prefix: int = 0
    suffix: int = 0
    values: Floats = field(default_factory=lambda: np.empty((0, 0)), repr=False)
    angles: Floats = field(default_factory=lambda: np.empty(0), repr=False)

    @property
    def count(self) -> int:
        """Pairs of a row."""
        return len(self.owner)

    def at(self, level: float) -> Axes:
        """Return the same with another relative error of the frequencies."""
        return replace(self, axes=tuple(axis._replace(pairs=axis.pairs.at(level)) for axis in self.axes))

    @property
    def edges(self) -> dict[str, str]:
        """Parameters of rows around a grid, of their order, and of halves by axis, where they are not the usual."""
        found = {"prefix": self.prefix, "suffix": self.suffix, "merge": self.merge - 1 and self.merge}
        halves = {"halves": "axis"} if self.layout == "half-axis" else {}
        return {**{key: str(value) for key, value in found.items() if value}, **halves}

    @property
    def table(self) -> dict[str, str]:
        """The layout of a rotary table, where it is not the usual one."""
        layout = "half" if self.layout == "half-axis" else self.layout
        return {} if layout == "split" or self.absolute else {"layout": layout}

    def common_bases(self, exponents: Mapping[int, Floats], steps: Mapping[int, float]) -> Iterator[Decimal]:
        """Yield the bases that fit every axis, published ones first.

        Parameters
        ----------
        exponents : mapping of int to (k,) float64
            Of the pairs of each axis.
        steps : mapping of int to float
            Coordinate from level to level of each axis, times 2 pi where frequencies count turns.
        """
        chosen = max(exponents, key=lambda a: (len(exponents[a]) > 1, self.axes[a].size), default=None)
        if chosen is None:
            return
        for base in self.axes[chosen].pairs.bases(exponents[chosen], steps[chosen]):
            series = {a: np.exp(-e * math.log(float(base))) for a, e in exponents.items()}
            if all(self.axes[a].pairs.fits(w, steps[a]) for a, w in series.items()):
                yield base

    def by_side(self, sides: tuple[int, ...], wanted: Mapping[int, range]) -> dict[int, int] | None:
        """Return the axis of each side of a grid whose pairs are wanted for it; None where pairs follow others."""
        found: dict[int, int] = {}
        for number, axis in enumerate(self.axes):
            side = next((s for s, pairs in wanted.items() if axis.columns[0] in pairs), -1)
            if side < 0 or side in found or any(k not in wanted[side] for k in axis.columns.tolist()):
                return None
            if sides[side] != axis.size or (sides == self.sides and side - len(sides) != number - len(self.axes)):
                return None
            found[side] = number
        return found
