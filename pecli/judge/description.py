"""Results of the judge: values counted against expected ones, and the identification of a table."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pecli.judge.orders import column_word, numbered, numbered_are
from pecli.judge.planes import Floats, Integers, Plane, planes_of, sample_rows
from pecli.judge.rows import floats as read_floats
from pecli.numbers.decimals import shorten
from pecli.numbers.dtypes import REAL
from pecli.numbers.printing import at_least, figure, limit, shortest_text
from pecli.numbers.rounding import floats
from pecli.spec.declaration import Encoding
from pecli.spec.hooks import parameter_text
from pecli.spec.tabular import Tabular
from pecli.tables.comparison import Finding
from pecli.tables.layouts import cosines_and_sines
from pecli.tables.views import view_of

# Values that are shown with the expected ones; the others are counted.
MAX_SINGLES = 8


# Largest tolerance in units in the last place that is proposed; larger differences are of values near zero.
MAX_ULP_NAMED = 64
# What several tables in one array are called.
COPIES, UNLIKE = "{} equal copies of one table, as of a batch", "tables of a batch that differ from each other"

# What is said of angles, and how those that stand twice are arranged.
ANGLES = "angles in radians, not reduced"
TWICE = {"half": "half-split", "interleaved": "interleaved"}

MAX_RECIPE = 160  # characters of a recipe in a sentence
MAX_ROOT = 1024  # whose square root a factor may be: the width of a head or of a model
WHOLE_ROOT = 64  # a factor of 1/8 is 1/sqrt(64), the width of a head; 1/2, 1/4 and 1/10 are plain factors
MAX_ROOT_ERROR = 1e-5  # of a factor that is one of ROOTS, relative
ROOTS = {"log2(e)": math.log2(math.e), "ln(2)": math.log(2), "sqrt(2)": math.sqrt(2)}


def factor_text(value: float) -> str:
    """Return a factor as a number, and as a root or a logarithm where it is one."""
    square = max(value * value, 1 / value / value)
    words = [word for word, number in ROOTS.items() if abs(value / number - 1) < MAX_ROOT_ERROR]
    if not words and value > 0 and square < MAX_ROOT and abs(square - round(square)) < 1e-3:
        is_whole = math.isqrt(round(square)) ** 2 == round(square)
        if not is_whole or (value < 1 and round(square) % WHOLE_ROOT == 0):
            words = [f"{'' if value > 1 else '1/'}sqrt({round(square)})"]
    text = figure(value) if float(figure(value)) != 1 else repr(value)  # nearly 1
    return f"{text}{f' ({words[0]})' if words else ''}"


def value_words(have: float, want: float, dtype: str) -> str:
    """Return a value with the expected one, each in the digits that distinguish it in its type."""
    own, expected = ("NaN" if math.isnan(v) else shortest_text(v, dtype).removesuffix(".0") for v in (have, want))
    return f"{own}, expected {expected}"


def value_texts(values: Sequence[tuple[str, float, float, str]]) -> list[str]:
    """Return what single values are, from their places, themselves, the expected ones and the type; NaN together."""
    gaps = [place for place, have, *_ in values if math.isnan(have)]
    if len(gaps) < 2:
        return [f"{place} is {value_words(have, want, dtype)}" for place, have, want, dtype in values]
    others = value_texts([one for one in values if not math.isnan(one[1])])
    return [f"{len(gaps)} values are NaN: {', '.join(gaps[:-1])} and {gaps[-1]}", *others]


def harmless(how: str, most: float, ulp: int, harm: str = ": harmless") -> Finding:
    """Return the finding on a rounding, with the tolerance that accepts it; `harm` says whether it does any."""
    few = 0 < ulp <= MAX_ULP_NAMED
    size, option = (f"{ulp} ulp and {limit(most, 2)}", f"--ulp {ulp} or ") if few else (limit(most, 2), "")
    accepts = f"{option}--atol {at_least(most * (1 + 2.0**-26), 1)} accepts it"
    return Finding("rounding" if harm == ": harmless" else "type", f"{how}, at most {size}{harm}; {accepts}")


def is_rounding(largest: float, residual: float) -> bool:
    """Whether a largest difference is that of values so far from the exact ones; else the columns are not the same."""
    return largest <= 8 * max(residual, 1e-9)


class BlockDifferences(NamedTuple):
    """Differences of some values: counts, and the values that the arithmetic does not give.

    Attributes
    ----------
    plane : int
        Number of the plane.
    size, equal : int
        How many values, and how many that are equal.
    worst, residual : float
        As in a tally.
    rows, columns : (k,) int64
        Places of the unexplained values.
    have, want : (k,) float64
    """

    plane: int
    size: int
    equal: int
    worst: float
    residual: float
    rows: Integers
    columns: Integers
    have: Floats
    want: Floats

    @classmethod
    def of(
        cls, plane: int, size: int, rows: Integers, columns: Integers, have: Floats, want: Floats, unit: Floats,
        fits: NDArray[np.bool_],
    ) -> BlockDifferences:  # fmt: skip
        """Return the differences of the unequal values of a block, with a unit of each and whether it is explained."""
        gap, odd = np.abs(have - want)[fits], ~fits
        worst, residual = (float(off.max(initial=0.0)) for off in (gap / unit[fits], gap))
        wrong = rows[odd], columns[odd], have[odd], want[odd]
        return cls(plane, size, size - len(fits), worst, residual, *wrong)


@dataclass
class Tally:
    """Counts from a comparison.

    Attributes
    ----------
    planes : sequence of Plane
    rows : (n,) int64
        Unexplained values of each row.
    columns : (width,) int64 for each plane
        Unexplained values of each column.
    count, equal, unexplained : int
    worst : float
        Largest departure of the explained values, in units in the last place, without the slack of frequencies.
    residual : float
        Largest departure from the exact values, of the explained ones.
    largest : float
        Largest departure of the unexplained values from the expected ones.
    all_nan, all_zero : bool
        Whether none of the unexplained values is a number, or each is zero.
    singles : list
        Plane, row and column of the first few unexplained values, with the value and the expected one.
    """

    planes: Sequence[Plane]
    rows: Integers
    columns: list[Integers]
    count: int = 0
    equal: int = 0
    unexplained: int = 0
    worst: float = 0.0
    residual: float = 0.0
    largest: float = 0.0
    all_nan: bool = True
    all_zero: bool = True
    singles: list[tuple[int, int, int, float, float]] = field(default_factory=list)

    @classmethod
    def of(cls, planes: Sequence[Plane]) -> Tally:
        """Return the empty tally of planes with the same number of rows."""
        columns = [np.zeros(plane.width, np.int64) for plane in planes]
        return cls(planes, np.zeros(planes[0].rows, np.int64), columns)

    @property
    def explained(self) -> float:
        """Share of the values that the arithmetic gives."""
        return 1.0 - self.unexplained / self.count if self.count else 0.0

    def add(self, one: BlockDifferences) -> None:
        """Count the differences of some values."""
        self.count, self.equal = self.count + one.size, self.equal + one.equal
        self.worst, self.residual = max(self.worst, one.worst), max(self.residual, one.residual)
        self.unexplained += len(one.rows)
        self.all_nan &= bool(np.isnan(one.have).all())
        self.all_zero &= not one.have.any()
        gaps = np.nan_to_num(np.abs(one.have - one.want), nan=np.inf)
        self.largest = max(self.largest, float(gaps.max(initial=0.0)))
        np.add.at(self.rows, one.rows, 1)
        np.add.at(self.columns[one.plane], one.columns, 1)
        few = zip(*(values[:MAX_SINGLES].tolist() for values in one[-4:]), strict=True)
        self.singles = [*self.singles, *((one.plane, *more) for more in few)][:MAX_SINGLES]

    def texts(self) -> list[str]:
        """Return the first values that do not fit, each with the expected value."""
        planes = self.planes
        return value_texts([(planes[at].place(row, column), have, want, planes[at].array.dtype)
                            for at, row, column, have, want in self.singles])  # fmt: skip

    @property
    def differ(self) -> str:
        """The verb of the unexplained values, where others are explained but not equal."""
        kind = self.planes[0].array.dtype
        every = self.equal + self.unexplained == self.count
        return "differ" if every else f"differ by more than {REAL.get(kind, kind)} rounding"

    @property
    def rest(self) -> str:
        """Count, size and places of the unexplained values, as text."""
        if self.all_zero:
            return f"{self.unexplained:,} of {self.count:,} values are zero: {self.places()}"
        size = f", by at most {limit(self.largest, 2)}" if self.largest < np.inf else ""
        return f"{self.unexplained:,} of {self.count:,} values {self.differ} from that{size}: {self.places()}"

    def places(self) -> str:
        """Return the places of unexplained values: rows, columns, or a count over both."""
        rows, columns = np.flatnonzero(self.rows), [np.flatnonzero(counts) for counts in self.columns]
        if self.unexplained == len(self.singles):
            return "; ".join(self.texts())
        width, used = sum(map(len, columns)), [at for at in columns if len(at)]
        named = [plane for plane, at in zip(self.planes, columns, strict=True) if len(at)]
        if len(rows) <= len(self.rows) // 2 and (len(rows) <= 2 * width or width > 8):
            return numbered("row", rows) + (f" of {named[0].name}" if len(named) == 1 < len(self.planes) else "")
        if width <= 8:
            both = zip(used, named, strict=True)
            return " and ".join(f"{numbered(column_word(p.row_shape), at)} of {p.name}" for at, p in both)
        return f"in {len(rows):,} rows and {width:,} columns"


# How the words about cosines and sines of hours and the like begin, which no recipe gives.
CYCLIC = "cyclic features: "


@dataclass(frozen=True, repr=False)
class Identification:
    """The recipe that reproduces a table, and how certain it is.

    Attributes
    ----------
    recipe : str or None
        Text that reproduces the table.
    confidence : {"sure", "likely", "unknown"}
        "sure": the parameters are determined, and every value is equal to the recipe's or within the stated units
        in the last place of what a named arithmetic gives; "likely": nothing else fits as well, and at least 99 %
        of the values are explained.
    residual : float or None
        Largest absolute difference from the recipe's values, of those that are explained.
    equal : float or None
        Share of the values that are equal; None where they are trained and only their pattern counts.
    arithmetic : str
        How the values were computed.
    notes : tuple of str
        What else was seen.
    aliases : tuple of str
        Recipes of other encodings that give the same values.
    count : int
        How many values were compared.
    arrays : tuple of str
        The file's arrays that the recipe accounts for.
    measured : tuple of str
        Of an unknown table, what was measured.
    nearly : float
        Of an unknown table, the share of the values that the nearest recipe gives.
    nearest : str or None
        That recipe.
    usual : tuple of str
        Other recipes to compare an unknown table with; they may lack a width.
    steps : tuple of float
        Of unknown cosines and sines, the radians by which each pair turns from row to row.
    """

    recipe: str | None
    confidence: str
    residual: float | None = None
    equal: float | None = 0.0
    arithmetic: str = "unknown"
    notes: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    count: int = 0
    arrays: tuple[str, ...] = ()
    measured: tuple[str, ...] = ()
    nearly: float = 0.0
    nearest: str | None = None
    usual: tuple[str, ...] = ()
    steps: tuple[float, ...] = ()

    def __repr__(self) -> str:
        if self.recipe is None:
            return "\n  ".join([self.unknown, *self.measured[1:], *self.notes])
        text = f"{self.confidence}: {self.recipe} (arithmetic {self.arithmetic})"
        return "\n  ".join([text, *self.notes, *(f"also {other}" for other in self.aliases)])

    @property
    def short(self) -> str:
        """The recipe for a sentence, cut off where it lists many slopes or factors."""
        return shorten(self.recipe or "", MAX_RECIPE)

    @property
    def values_text(self) -> str:
        """Whose values they are, for a sentence: the recipe's, slopes of some heads, or trained numbers by an index."""
        if self.equal is None and "form=index" in self.short:
            return f"trained numbers, by the index of {self.short}"
        slopes = (note for note in self.notes if note.startswith("slopes of"))
        of_bias = "a bias with " * ("form=slopes" not in self.short)
        return next((f"{of_bias}{note}" for note in slopes), f"those of {self.short}")

    @property
    def unknown(self) -> str:
        """What is said first of an unknown table: what it is nearly, or what was measured."""
        first = next(iter(self.measured), "no recipe was found that gives these values")
        return first if first.startswith(("nearly ", CYCLIC)) else f"unknown: {first}"

    def as_dict(self) -> dict[str, Any]:
        """Return the mapping that --json prints."""
        keys = "recipe", "confidence", "residual", "equal", "arithmetic", "notes", "aliases", "measured"
        return {{"equal": "equal_share"}.get(key, key): getattr(self, key) for key in keys}


NONE = Identification(None, "unknown")
# Values up to which all of an array are measured; of more, a sample of 64 heads or fewer.
MAX_MEASURED, MAX_PLANES = 1 << 22, 64
MAX_ARRAYS = 8  # of a file, each in a line
MIN_COUNTING = 0.6  # share of the values that are 1 more than the one before, in rows of position ids
MAX_UNEVEN = 1e-3  # of the gaps between the values of a ramp, relative
MAX_NORM_GAP = 0.01  # of the lengths and products of orthonormal columns, which narrow types round
ORTHONORMAL = (
    "the columns are orthonormal, as eigenvectors (of a graph's Laplacian) or an orthogonal initialisation are"
)
MAX_SUM_GAP = 0.01  # of attention weights, which narrow types round


def parameter_texts(encoding: Encoding, other: Mapping[str, tuple[str, str]]) -> dict[str, str]:
    """Return the parameters that differ, in the encoding's words; of the file's and the expected text of each."""
    own = encoding.hook("words")(other) if encoding.declares("words") else {}
    offs = {parameter.option: parameter.param.off for parameter in encoding.parameters.values()}
    texts = {key: own.get(key) or parameter_text(key, *both, offs.get(key)) for key, both in other.items()}
    return {key: text for key, text in texts.items() if own.get(key) != ""}  # another text says it


def is_orthonormal(table: Tabular) -> bool:
    """Whether a table is one matrix, higher than wide, whose columns have length 1 and are orthogonal."""
    return _is_orthonormal(_only_matrix(table))


def _only_matrix(table: Tabular) -> Floats:
    """Return the values of a table that is one matrix; none of any other table, or of a large one."""
    planes = planes_of(table, table.arrays[0]) if len(table.arrays) == 1 else []
    if len(planes) != 1 or planes[0].rows * planes[0].width > MAX_MEASURED:
        return np.empty((0, 0))
    return planes[0].read(0, planes[0].rows)


def _is_orthonormal(values: Floats) -> bool:
    if not len(values) > values.shape[1] > 1:
        return False
    return bool(np.abs(values.T @ values - np.eye(values.shape[1])).max() < MAX_NORM_GAP)


# Largest angle of a table whose frequencies are none, as of memory that was never written.
MAX_STILL = 1e-6


def still(table: Tabular) -> str:
    """Return that every angle of a table of cosines and sines is 0, or next to it; "" where pairs turn."""
    pair = [table.array(name) for name in cosines_and_sines([array.name for array in table.arrays])]
    first = [read_floats(view_of(table, array), 0, min(2, array.rows)) for array in pair]  # the others may cost time
    if not first or (first[0] != 1).any() or (np.abs(first[1]) > MAX_STILL).any() or first[0].size < 2:
        return ""
    cos, sin = (floats(table.read(array.name), array.dtype) for array in pair)
    largest = np.abs(sin).max()
    if (cos != 1).any() or largest > MAX_STILL:
        return ""
    if not largest:
        return "every angle is 0: cos is 1 and sin is 0 everywhere, as with frequencies (inv_freq) of 0"
    return f"no angle is above {largest:.2g}: cos is 1 everywhere, as with frequencies (inv_freq) that were never set"


# By how much the squares of a cosine and a sine may miss 1, in bfloat16.
MAX_CIRCLE_GAP = 0.02


def statistics_of(table: Tabular) -> tuple[str, ...]:
    """Return the range, the mean and the deviation of each array, and which of its rows are zero."""
    texts = []
    planes = [plane for array in table.arrays[:MAX_ARRAYS] if array.bytes for plane in planes_of(table, array)]
    for name in dict.fromkeys(plane.name for plane in planes):
        own = [plane for plane in planes if plane.name == name]
        is_whole = sum(plane.rows * plane.width for plane in own) <= MAX_MEASURED
        rows = np.arange(own[0].rows) if is_whole else sample_rows(own[0].rows, own[0].width)
        values = np.concatenate([plane.at(rows) for plane in (own if is_whole else own[:: 1 + len(own) // MAX_PLANES])])
        finite = values[np.isfinite(values)]
        if not finite.size:
            continue
        if is_whole and finite.size == values.size and not np.ptp(finite):
            texts.append(f"{name}: all values are {finite[0]:g}")
            continue
        text = f"{name}: {'' if is_whole else 'sampled '}values from {finite.min():.4g} to {finite.max():.4g}, "
        text += f"mean {finite.mean():.3g}, "
        size = np.abs(finite).max() or 1.0  # whose square may be no number
        text += f"deviation {size * (finite / size).std():.3g}"
        text += _ramp_words(values)
        odd = [word for word, found in (("NaN", np.isnan(values)), ("infinity", np.isinf(values))) if found.any()]
        text += f" without {' and '.join(odd)}" * bool(odd)
        if len(values) == own[0].rows > 1 and (values == values[:1]).all():
            text += "; every row is the same"
        counts = np.mean(np.diff(values, axis=1) == 1, axis=1).min() if values.shape[1] > 1 else 0.0
        text += "; rows count up by 1, as position ids do" * bool(counts > MIN_COUNTING)
        if values.shape[1] > 1 and values.min() >= 0 and np.abs(values.sum(axis=1) - 1).max() < MAX_SUM_GAP:
            text += "; each row sums to 1, as attention weights do"
        if len(values) == own[0].rows and _is_orthonormal(values):
            text += f"; {ORTHONORMAL}"
        for word, empty in (("all zeros", values == 0), ("NaN", np.isnan(values))):
            blank = np.flatnonzero(empty.all(axis=1))
            if 0 < len(blank) < len(values) == own[0].rows:
                text += f"; {numbered_are('row', blank)} {word}"
        texts.append(text)
    if len(planes) == 2 and planes[0].row_shape == planes[1].row_shape and planes[0].rows == planes[1].rows:
        one, other = (plane.at(sample_rows(plane.rows, plane.width)) for plane in planes)
        if np.abs(one**2 + other**2 - 1).max() < MAX_CIRCLE_GAP:
            texts.insert(0, "cosines and sines: the squares of both add up to 1, and the positions follow no rule")
    return tuple(texts)


def _ramp_words(values: Floats) -> str:
    """Return how many evenly spaced values a single column has, and after how many rows they repeat; "" of others."""
    if values.shape[1] > 1 or not np.isfinite(values).all():
        return ""
    column, levels = values[:, 0], np.unique(values)
    gaps = np.diff(levels)
    if not 2 < len(levels) <= len(column) // 2 or np.ptp(gaps) > MAX_UNEVEN * gaps.max():
        return ""
    text = f"; {len(levels)} values {gaps.mean():.4g} apart"
    starts = 1 + np.flatnonzero(column[: len(column) // 2] == column[0])
    period = next((int(k) - 1 for k in starts[1:] if (column[k - 1 :] == column[: 1 - k]).all()), 0)
    return text + f", which repeat every {period} rows" * bool(period > 1)


def repeated_rows(table: Tabular) -> str:
    """Return which rows of an array repeat earlier ones that are next to one another, as if tiled; "" if none."""
    values = _only_matrix(table)
    filled = np.flatnonzero((values != 0).any(axis=1) & np.isfinite(values).all(axis=1))
    weights = np.cos(np.arange(1, values.shape[1] + 1))
    key = (values[filled] * weights).sum(axis=1)  # equal rows have equal sums, which BLAS does not promise
    _, first, where = np.unique(key, return_index=True, return_inverse=True)
    earlier = filled[first[where]]
    again, earlier = filled[earlier < filled], earlier[earlier < filled]
    source = np.unique(earlier)
    if len(source) < 2 or any(rows[-1] - rows[0] != len(rows) - 1 for rows in (again, source)):
        return ""
    if (values[again] != values[earlier]).any():
        return ""
    if (np.diff(earlier) == -1).all():
        return f"{numbered('row', again)} repeat {numbered('row', source)} backwards"
    if not np.isin(np.diff(earlier), (1, 1 - len(source))).all():
        return f"{numbered('row', again)} are among {numbered('row', source)}"
    return f"{numbered('row', again)} repeat {numbered('row', source)}"
