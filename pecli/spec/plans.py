"""Plans: results of encodings' functions, from which the engine or a table computes values.

An encoding that oscillates returns its frequencies and where their sines and
cosines go; the engine fills them straight into the target type.  A bias
returns how it depends on query and key.  Nothing here imports NumPy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from pecli.errors import BadParameter, BadRecipe
from pecli.numbers.decimals import CONTEXT, ONE, TAU, decimal_of
from pecli.numbers.deferred import NDArray, np
from pecli.numbers.positions import Positions, fraction_text

if TYPE_CHECKING:
    from pecli.numbers.double_double import DoubleDouble, Exponentials, Points

    Real = DoubleDouble | NDArray[Any]


Role = Literal["parameter", "vector", "index", "input"]


def nothing() -> None:
    """Do nothing."""


class Domain(NamedTuple):
    """Set of positions that have a value.

    Parameters
    ----------
    low, high : Fraction, optional
        The smallest and the largest.
    integral : bool
        Whether they are whole numbers.
    remedy : str
        Completes "position P has no value in NAME: ".
    """

    low: Fraction | None = None
    high: Fraction | None = None
    integral: bool = False
    remedy: str = ""

    def check(self, name: str, positions: Positions) -> None:
        """Raise BadParameter where a position has no value in the encoding of this name."""
        if self.integral and not positions.integral:
            raise BadParameter("positions", "(fractional)", f"must be whole numbers for {name}: {self.remedy}")
        low, high = positions.lowest, positions.highest
        below = self.low is not None and low < self.low
        if below or (self.high is not None and high > self.high):
            position = fraction_text(low if below else high)
            raise BadRecipe(f"position {position} has no value in {name}: {self.remedy}")


class Fixed(NamedTuple):
    """A further array whose rows are no positions, such as a drawn matrix.

    Parameters
    ----------
    name : str
        Of the array.
    shape : tuple of int
        Of the whole array.
    axes : tuple of str
        What each axis is.
    values : callable
        Of a first and a last row, giving rows ``(k, *shape[lead:])``, float64 or doubled.
    lead : int
        How many axes count as rows.
    dtype : str, optional
        Type of whole numbers; the table's own where there is none.
    role : {"parameter", "vector", "index", "input"}
        What it is: trained values; the (trained) vectors of distances; which of them belongs to which query and
        key; or what is neither trained nor asked for by position, as the coordinates that a network is given.
    prepare : callable
        Reads the file that the values are in, and checks it; called before anything is written.
    """

    name: str
    shape: tuple[int, ...]
    axes: tuple[str, ...]
    values: Callable[[int, int], Real]
    lead: int = 1
    dtype: str | None = None
    role: Role = "parameter"
    prepare: Callable[[], object] = nothing


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Result of an encoding's function: enough to fill any rows of its table, in any order.

    Parameters
    ----------
    rows : int, optional
        Length of the table where the plan fixes it (a grid, a window).
    domain : Domain
        Which positions have a value.
    fixed : tuple of Fixed
        Further arrays that do not depend on the rows asked for.
    prepare : callable
        Reads and checks files whose values are in no array of `fixed`; called before anything is written.
    """

    rows: int | None = None
    domain: Domain = Domain()
    fixed: tuple[Fixed, ...] = ()
    prepare: Callable[[], object] = nothing

    @property
    def frequencies(self) -> tuple[Decimal, ...]:
        """All frequencies in radians, for figures and not for the table; none where nothing oscillates."""
        return ()

    def read_files(self) -> None:
        """Read the files of trained values, and check what they hold."""
        for prepare in (self.prepare, *(array.prepare for array in self.fixed)):
            prepare()


Frequency = Decimal | Fraction


class Band(NamedTuple):
    """Frequencies that share a coordinate, and the columns of their sines and cosines.

    Parameters
    ----------
    frequencies : tuple of Decimal or Fraction
        Radians per unit of the coordinate (turns, if `turns`), with
        ``FREQUENCY_DIGITS`` digits where irrational.
    sin, cos : slice or None
        Columns of the row; a slice may hold fewer columns than there are
        frequencies, never more.  A rotary table has the same slice twice.
    axis : int
        Which coordinate of the plan they multiply.
    turns : bool
        Whether the frequencies count turns instead of radians.
    magnitude : Decimal
        Multiplies every sine and cosine of the band.
    """

    frequencies: tuple[Frequency, ...]
    sin: slice | None = None
    cos: slice | None = None
    axis: int = 0
    turns: bool = False
    magnitude: Decimal = ONE


@dataclass(frozen=True)
class Coordinate:
    """Coordinate of a row: ``multiples[index(position)]`` times ``unit``, exactly.

    Parameters
    ----------
    multiples : range or tuple of int
        The values that the coordinate takes, in units.
    index : callable
        Maps int64 row positions (n,) to int64 (n,), which of them each row has;
        a row of a grid shares its coordinate with many others.
    unit : Fraction
        Above 0.
    """

    multiples: range | tuple[int, ...]
    index: Callable[[NDArray[np.int64]], NDArray[np.int64]]
    unit: Fraction = Fraction(1)


class Ramp(NamedTuple):
    """Column that holds a coordinate times a factor, as NeRF's input itself."""

    column: int
    axis: int = 0
    factor: Fraction = Fraction(1)


class Cross(NamedTuple):
    """Phases in turns that are not products of one frequency and one coordinate.

    Either `factors`: the phase of column k is the sum over the plan's axes of
    ``factors[axis][k]`` times the coordinate.  Or `logarithm`: it is
    ``logarithm[k] * unit * ln p`` at position p.

    Parameters
    ----------
    sin, cos : slice
        Columns of the row.
    factors : tuple of tuple of Fraction
        Turns per unit of each coordinate.
    logarithm : tuple of int
        Multiples of `unit`.
    unit : Fraction
        Turns.
    """

    sin: slice
    cos: slice
    factors: tuple[tuple[Fraction, ...], ...] = ()
    logarithm: tuple[int, ...] = ()
    unit: Fraction = Fraction(1)


class Companion(NamedTuple):
    """A further array with one row for each position: ``at(points)`` gives (n, width).

    In a rotary table it has one column for each pair, and the layout duplicates
    them as it does with cos and sin.
    """

    name: str
    width: int
    at: Callable[[Points], Real | Exponentials]


@dataclass(frozen=True)
class Waves(Plan):
    """Sines and cosines: an absolute table of `width` columns, or a rotary one of `width` pairs.

    Parameters
    ----------
    width : int
        Columns of ``pe``, or of each of ``cos`` and ``sin``.
    bands : tuple of Band
        What fills them; a column that nothing fills is zero (rotary: cos 1, sin 0).
    axes : tuple of Coordinate
        Coordinates of a row; empty for the position itself.
    blank : tuple of int
        Positions whose row is zero.
    prefix, suffix : int
        Rows without a coordinate before and after the others, filled as a column that nothing
        fills; the axes see position - prefix, and `rows` counts them all.
    ramps : tuple of Ramp
        Columns that hold a coordinate itself.
    cross : Cross, optional
        Instead of bands.
    companions : tuple of Companion
        Further arrays by position.
    form : {"real", "complex", "full"}
        "complex": ``pe`` holds cos + i sin, `width` of them.  "full": a rotary table whose `width`
        columns are those of the layout half, because its halves differ.
    parts : tuple of int
        Numbers of pairs of independent blocks, each with two halves of its own in the layout half;
        empty for one block.
    """

    width: int
    bands: tuple[Band, ...]
    axes: tuple[Coordinate, ...] = ()
    blank: tuple[int, ...] = ()
    prefix: int = 0
    suffix: int = 0
    ramps: tuple[Ramp, ...] = ()
    cross: Cross | None = None
    companions: tuple[Companion, ...] = ()
    form: Literal["real", "complex", "full"] = "real"
    parts: tuple[int, ...] = ()

    @property
    def frequencies(self) -> tuple[Decimal, ...]:
        """All frequencies, band after band, in radians; for figures, not for the table."""
        return tuple(
            CONTEXT.multiply(decimal_of(w), TAU if band.turns else ONE) for band in self.bands for w in band.frequencies
        )

    @property
    def magnitudes(self) -> tuple[Decimal, ...]:
        """Factor of the sine and cosine of each frequency."""
        return tuple(band.magnitude for band in self.bands for _ in band.frequencies)

    @property
    def magnitude(self) -> Decimal:
        """The one magnitude of all pairs.

        Raises
        ------
        BadParameter
            Where pairs differ: who reads this reckons with one number.
        """
        found = {band.magnitude for band in self.bands} or {ONE}
        if len(found) > 1:
            raise BadParameter("magnitude", f"{min(found)} to {max(found)}", "differs from pair to pair: one is needed")
        return found.pop()


def progressions(places: Sequence[int]) -> list[slice]:
    """Return slices that together hold ascending places, each as long as the first that are left allow."""
    found, left = [], list(places)
    while left:
        step = left[1] - left[0] if len(left) > 1 else 1
        last, have = left[0], set(left)
        while last + step in have:
            last += step
        run = range(left[0], last + 1, step)
        found.append(slice(run.start, run.stop, step))
        left = [place for place in left if place not in run]
    return found


def rotation(frequencies: tuple[Frequency, ...], magnitude: Decimal | tuple[Decimal, ...] = ONE, **rest: Any) -> Waves:
    """Return the plan of a rotary table whose pair i rotates with ``frequencies[i]``.

    Parameters
    ----------
    frequencies : tuple of Decimal or Fraction
        Radians per position, one for each pair.
    magnitude : Decimal or tuple of Decimal
        What multiplies cos and sin: one number, or one for each pair.
    rest
        Further fields of `Waves`.
    """
    sizes = magnitude if isinstance(magnitude, tuple) else (magnitude,) * len(frequencies)
    if len(sizes) != len(frequencies):
        raise BadParameter("magnitude", len(sizes), f"must be one number, or {len(frequencies)}, one for each pair")
    bands, start = [], 0
    for size, alike in groupby(sizes):  # neighbours with one magnitude are filled together
        stop = start + len(list(alike))
        pairs = slice(start, stop)
        bands.append(Band(frequencies[pairs], pairs, pairs, magnitude=size))
        start = stop
    return Waves(len(frequencies), tuple(bands), **rest)


@dataclass(frozen=True)
class Values(Plan):
    """Values computed from the position: ``at(points)`` gives (n, width).

    The result is exact float64, or a ``DoubleDouble`` whose sum is within 2^-100 of
    the value, so that rounding to a narrower type is correct.
    """

    width: int
    at: Callable[[Points], Real]


class ImageWindow(NamedTuple):
    """The tokens of a window of an image, in row order, with a class token before them if `cls`."""

    height: int
    width: int
    cls: bool = False

    @property
    def tokens(self) -> int:
        """Number of tokens."""
        return self.height * self.width + self.cls

    @property
    def entries(self) -> int:
        """Number of offsets of two tokens; the class token adds three at the end."""
        return (2 * self.height - 1) * (2 * self.width - 1) + 3 * self.cls


@dataclass(frozen=True)
class Bias(Plan):
    """Numbers added to the logits, one for each head, query and key.

    Parameters
    ----------
    heads : int
        Number of heads; with 0 there is no bias, only `index` or `shared`.
    value : callable, optional
        Of points and a range of heads, giving (heads, m).  The points are, by `by`:
        "distance": key - query; "key": the key; "last": the key minus the last key;
        "entry": the offsets of a window, numbered as its index does.
        With ``by == "pair"``: of query points (q,), key points (k,) and a range of heads, giving (heads, q, k).
    by : {"distance", "key", "last", "pair", "entry"}
        What it depends on.
    causal : bool
        Whether keys after the query get minus infinity.
    slopes : callable, optional
        Gives the slope of each head, exactly.
    index : callable, optional
        Of distances, giving the integers (buckets, rows of a table) of the array ``index``, (m,) int64.
    shared : callable, optional
        Of query points and key points, giving the numbers (q, k) of the array ``x``, alike for all heads.
    window : ImageWindow, optional
        What the rows and columns are, with ``by == "entry"``; the array ``index`` holds the entries then.
    fixed : tuple of Fixed
        What ``--form parameters`` gives; values that are not trained are in the dense table too.
    """

    heads: int
    value: Callable[..., Real] | None = None
    by: Literal["distance", "key", "last", "pair", "entry"] = "distance"
    causal: bool = False
    slopes: Callable[[], Sequence[Fraction]] | None = None
    index: Callable[[Points], NDArray[np.int64]] | None = None
    shared: Callable[[Points, Points], Real] | None = None
    window: ImageWindow | None = None


class Frame(NamedTuple):
    """Numbers of queries and keys of a table, and the step of its positions as a multiple of their unit."""

    queries: int
    keys: int
    step: int


@dataclass(frozen=True)
class Relative(Plan):
    """A vector for each distance (or bucket), and which of them belongs to a query and a key.

    Parameters
    ----------
    fixed : tuple of Fixed
        Arrays that do not depend on the positions: ``vector``, where it is drawn or read, and others by their roles.
    index : callable, optional
        Of distances key - query and the frame, giving rows of ``vector``, (m,) int64.
    waves : Waves, optional
        Gives ``vector`` as sines and cosines of distances.
    distances : callable, optional
        With `waves`: of the frame, the distance of each row in steps, a range or int64.
    """

    index: Callable[[Points, Frame], NDArray[np.int64]] | None = None
    waves: Waves | None = None
    distances: Callable[[Frame], range | NDArray[np.int64]] | None = None


@dataclass(frozen=True)
class Conditional(Plan):
    """Values that need content: one row of numbers for each position.

    Parameters
    ----------
    content : str
        Source of the content (n, c): a file, or a recipe.
    value : callable
        Of content rows (m, c), the number of the first of them, the first and last (exclusive) row asked for,
        the number of all rows n, and the base's rows or None: gives (last - first, width), the width of the base, or
        else of the content.
    reach : callable
        Of the number of rows n, how many rows of content before and after its own a row depends on; raises
        where n does not fit.
    base : str, optional
        Recipe of an absolute table whose rows are handed on.
    dim : int, optional
        Width of the base, where its recipe does not say.
    fit : callable
        Of the number of channels and the width: reads weights and checks them; called before anything is written.
    """

    content: str
    value: Callable[[NDArray[np.float64], int, int, int, int, NDArray[np.float64] | None], Real]
    reach: Callable[[int], int] = lambda _: 0
    base: str | None = None
    dim: int | None = None
    fit: Callable[[int, int], Any] = lambda _, __: None
