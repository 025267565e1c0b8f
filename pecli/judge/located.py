"""Place and kind of a change between two tables, where no parameter of an encoding explains it.

Every change says what it makes of the expected values. It is tried on a sample; it is a finding only if it gives the
values at hand, over all rows of all arrays, but for a counted remainder. Simple changes are tried before others.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import accumulate, permutations

import numpy as np
from numpy.typing import NDArray

from pecli.engine.threads import ordered_map
from pecli.formats.decimals import digits_text, how_printed, printed_digits
from pecli.judge import orders
from pecli.judge.description import MAX_ROOT_ERROR, MAX_ULP_NAMED, ROOTS, factor_text, value_texts
from pecli.judge.fixed_point import BITS, fixed_point
from pecli.judge.interpolation import LINEAR, interpolated
from pecli.judge.planes import EPSILON, Floats, Integers, effective_dtype, reread, rounded, sample_rows, truncated, unit
from pecli.judge.rows import MAX_HELD, Rows, count_of, floats, held, real_parts, rows_at, width_of, with_rows
from pecli.numbers.blocks import in_blocks
from pecli.numbers.decimals import shortest
from pecli.numbers.dtypes import GRIDS, REAL, real_type
from pecli.numbers.printing import figure, limit
from pecli.tables.comparison import Finding

Values = Callable[[Floats], Floats]
BLOCK_VALUES = 1 << 17  # values compared at once: 1 MiB in float64
SAMPLE_VALUES = 1 << 18  # values that every change is tried on; raised, a difference that nothing explains costs more
FIT_VALUES = 1 << 14  # values that a function of the values is fitted to
FIT_ROWS = 32  # first and last rows of a region among them
KEY_VALUES = 1 << 22  # values by which rows are distinguished
MAX_KEYS = 32  # columns among them, evenly spread
MAX_EXCHANGED = 1 << 22  # values of a table whose axes are exchanged in memory
MAX_SUM_ULP = 4  # units that sums of a hundred products in another order leave, as the scores of attention
MAX_ULP = 2  # units of the largest expected value within which a value is the expected one; two roundings
MAX_SINGLE_ULP = 8  # the same of float32 values that were computed in some steps
DOUBLE = 2.0**-40  # relative error of values in double precision, whose angles at position 65536 are off by 7e-12
MAX_NOISE = 0.01  # of the largest expected value: float32 phases at position 131072 are off by 0.008
MAX_REST_SHARE = 0.01  # of the values may be left over; raised, half of a table is called a detail
MAX_REST_OF_DIFFERING = 0.1  # of the differing values may be left over, or a finding explains too little of them
MAX_SINGLE = 8  # values that are listed one by one
MAX_SINGLE_SHARE = 0.1  # of all values of an array: two rows of a small table are rows
MIN_SIDE = 8  # of a square matrix whose differences are described by the distance of query and key
MAX_DECIMALS = 7  # decimals that values may have been printed with
MAX_DROPPED_GAP = 0.05  # between the p of dropout and the share of zeros; of 200 values, p = 0.5 leaves 0.035 by chance
MAX_DROPPED_ERROR = 1e-3  # of p itself: float32 phases leave 1e-5; raised, 0.125 becomes 0.12
MIN_POSITIONAL = 1e-4  # from which Python and C print a number without an exponent
MAX_SPREAD = 4  # times the median deviation from a fitted number that it may be off by
MIN_FITTED = 3  # values that a factor or an offset is fitted to
MIN_CONTRAST = 8  # times as far as noise a value must be off, or a mean of the noise would be called an offset
MIN_APART = 4  # times as far as noise that neighbouring rows must be, or one could be called another
PHASE_ERROR = 2.0**-23  # that a position and a frequency rounded to float32 leave, for each position
MAX_UNKNOWN_SHARE = 0.5  # of the rows or columns may be none of the expected ones
FLOATS = (*GRIDS, *REAL)
UNMASKED = ("constant", "exchanged", "negated")  # kinds of changes that infinite values take part in
REST_OFF = "the rest differs by"
VAGUE = ("place", "rest", "rounding")  # kinds of findings that name no cause


def _largest(values: Floats) -> float:
    """Return the size of the largest finite value."""
    sizes = np.abs(values)
    return float(sizes[np.isfinite(sizes)].max(initial=0.0))


def _whole(array: Rows) -> Floats:
    """Return all rows of an array."""
    return floats(array, 0, count_of(array))


@dataclass(eq=False)
class ArrayPair:
    """An array and the expected one; values within `near` of the expected ones are these."""

    actual: Rows
    expected: Rows
    near: float = 0.0

    @property
    def name(self) -> str:
        """Name of the array in messages."""
        return self.actual.name or self.expected.name

    @cached_property
    def same_shape(self) -> bool:
        """Whether the rows and columns of both number the same places."""
        return (count_of(self.actual), self.width) == (count_of(self.expected), width_of(self.expected))

    @cached_property
    def width(self) -> int:
        """Real numbers of a row."""
        return width_of(self.actual)

    @cached_property
    def sides(self) -> tuple[int, ...]:
        """Length of each axis, all columns being one."""
        return (*(self.actual.shape[: self.actual.lead] or (1,)), self.width)

    @cached_property
    def places(self) -> Integers:
        """Rows of the sample, which both have."""
        count, width = (f(p(self.actual), p(self.expected)) for f, p in ((min, count_of), (max, width_of)))
        return (rows := sample_rows(count, width))[:: max(1, len(rows) * width // SAMPLE_VALUES)]

    @cached_property
    def sample(self) -> tuple[Floats, Floats]:
        """The values of the sample, at hand and expected."""
        return rows_at(self.actual, self.places), self.as_stored(rows_at(self.expected, self.places))

    @cached_property
    def is_zeroed(self) -> bool:
        """Whether a whole row or column is zero where no zero was expected: no rounding makes it so."""
        have, want = self.sample
        return any(((have == 0).all(axis) & (want != 0).all(axis)).any() for axis in (0, 1))

    @cached_property
    def stored(self) -> str:
        """Real type of the values at hand; empty where they are whole numbers."""
        return real_type(self.actual.dtype) if self.actual.dtype in FLOATS else ""

    @cached_property
    def scale(self) -> float:
        """Largest value of the sample, at hand or expected, whichever is smaller: roundings are relative to it."""
        return min(filter(None, map(_largest, self.sample)), default=1.0)

    def within(self, how: str) -> float:
        """Return how near a value of some type is to the expected one: the stored, the effective, float32, or noise."""
        if not self.stored:
            return 0.0
        actual = self.stored if how == "stored" else effective_dtype(self.sample[0], self.stored)
        expected = real_type(self.expected.dtype) if self.expected.dtype in FLOATS else "float64"
        near = MAX_ULP * 2 * max(EPSILON[actual], EPSILON[expected], 0 if how == "stored" else DOUBLE)
        near *= self.scale
        if how == "single":
            single = MAX_SINGLE_ULP * 2 * EPSILON["float32"] * max(self.scale, _largest(self.sample[0]))
            near = max(near, min(single, MAX_NOISE * self.scale), self.phases)
        noise = float(limit(MAX_NOISE * self.scale, 2)) * (how == "noise")
        return max(near, noise) if noise < _largest(self.sample[0]) else near  # smaller values could be any others

    @cached_property
    def phases(self) -> float:
        """How far the values of float32 phases may be from the expected ones."""
        return float(min(PHASE_ERROR * count_of(self.expected), MAX_NOISE) * self.scale)

    @cached_property
    def slack(self) -> Floats:
        """How far the roundings of both types may take the values of each row, those of its position included."""
        types = self.stored, real_type(self.expected.dtype)
        held = [effective_dtype(values, kind) for values, kind in zip(self.sample, types, strict=True)]
        error = min(max(EPSILON[kind] for kind in held), EPSILON["float32"])  # narrow phases are no rounding
        count, is_bias = count_of(self.actual), self.actual.lead > 1  # which has no positions
        units = np.full(count, MAX_SUM_ULP) if is_bias else MAX_ULP + np.arange(count)
        return np.asarray(2 * error * units * self.scale)

    def expected_rows(self, rows: Integers) -> Floats:
        """Return expected rows, rounded to the stored type of the file's."""
        return self.sample[1] if rows is self.places else self.as_stored(rows_at(self.expected, rows))

    def as_stored(self, values: Floats) -> Floats:
        """Return values rounded to the stored type of the file's array."""
        return rounded(values, self.stored) if self.stored else values

    @cached_property
    def overview(self) -> Differences:
        """Differences from the expected values without any change applied."""
        return differences(self, NOTHING, math.inf)

    def set_near(self, near: float) -> None:
        """Set the distance within which values are the expected ones."""
        if self.near != near:
            self.near = near
            self.__dict__.pop("overview", None)

    @property
    def most(self) -> float:
        """Largest number of values that a change may leave unexplained."""
        most = MAX_REST_SHARE * count_of(self.actual) * self.width
        differing = self.overview.beyond if self.same_shape else math.inf
        return float(min(most, MAX_REST_OF_DIFFERING * differing))

    @cached_property
    def keys(self) -> list[Floats]:
        """Some columns of all rows, at hand and expected, as shares of the largest value."""
        rows = max(count_of(self.actual), count_of(self.expected))
        columns = _spread(self.sample[1], max(8, min(MAX_KEYS, KEY_VALUES // 4 // rows)))
        found = []
        for array in (self.actual, self.expected):
            blocks = in_blocks(0, count_of(array), BLOCK_VALUES // max(1, self.width))
            reads = [floats(array, at.start, at.stop).take(columns, 1) for at in blocks]
            found.append(self.as_stored(np.concatenate(reads)) / self.scale)
        return found

    @cached_property
    def is_map(self) -> bool:
        """Whether channels (channels, height, width) are as large together at every place, as sines and cosines are."""
        count = count_of(self.expected)
        if count * self.width > MAX_EXCHANGED:
            return False
        sums = (_whole(self.expected).reshape(self.expected.shape) ** 2).sum(axis=0)
        return bool(np.ptp(sums) <= MAX_NOISE * sums.max() > 0)

    def expecting(self, values: Floats) -> ArrayPair:
        """Return the pair with other expected values, in the rows of the array at hand."""
        rows = values.reshape(count_of(self.actual), self.width)
        return replace(self, expected=with_rows(self.actual, rows))

    def word(self, axis: int) -> str:
        """Return the word for the index of an axis; a bias (heads, q, k) whose axes have no names is square."""
        array, shape = self.expected, self.expected.shape
        if axis == len(self.sides) - 1:
            return orders.column_word(self.actual.shape[self.actual.lead :])
        named = array.axes[axis] if len(array.axes) == len(self.actual.shape) else ""
        if named in ("head", "batch") or axis == self.actual.lead - 1:
            return named if named in ("head", "batch") else "row"
        square = len(shape) == 3 and shape[1] == shape[2] and not self.is_map
        return "head" if square else "axis-0 index" if axis == 0 else f"axis-{axis} block"

    def at(self, row: int, column: int) -> str:
        """Return a place as it is written: cos[300, 7]."""
        shape, width = self.actual.shape, self.width // (2 if self.actual.dtype in REAL else 1)
        index = np.unravel_index(row * width + column * width // self.width, shape or (1,))
        return f"{self.name}[{', '.join(map(str, map(int, index)))}]"


@dataclass(frozen=True)
class RowChange:
    """A change of the expected values, which a fault may have made.

    Attributes
    ----------
    kind, text : str
        As in a finding.
    function : callable, optional
        Of the values.
    order, columns : int ndarray, optional
        The expected row and column of each; rows that are `UNKNOWN` are named by the text and not compared.
    sources : mapping of pairs
        The pair whose expected values an array holds.
    masks : mapping of a pair to a callable
        Which values of some rows of an array change.
    half : float
        Half the step of a rounding: a value that near the changed one is this one.
    """

    kind: str
    text: str
    function: Values | None = None
    order: Integers | None = None
    columns: Integers | None = None
    sources: Mapping[ArrayPair, ArrayPair] = field(default_factory=dict)
    masks: Mapping[ArrayPair, Mask] = field(default_factory=dict)
    half: float = 0.0

    def made(self, pair: ArrayPair, rows: Integers) -> Floats:
        """Return some rows of the expected array with the change applied."""
        source = self.sources.get(pair, pair)
        values = source.expected_rows(rows if self.order is None else self.order[rows])
        if self.columns is not None:
            known = (self.columns >= 0) & (self.columns < values.shape[1])
            values = values[:, np.where(known, self.columns, 0)]
            values[:, ~known] = np.where(self.columns[~known] == orders.ZERO, 0.0, np.nan)
        if self.function is None:
            return values
        changed = pair.as_stored(self.function(values))
        if self.kind not in UNMASKED:  # masked values are kept
            changed = np.where(np.isfinite(values), changed, values)
        return np.where(self.masks[pair](rows), changed, values) if self.masks else changed


Changes = Iterator[RowChange]
NOTHING = RowChange("", "")
# Which values of some rows lie in a region.
Mask = Callable[[Integers], NDArray[np.bool_]]


@dataclass
class Differences:
    """Values of all rows that a change does not explain.

    Attributes
    ----------
    near : float
        Distance up to which a value counts as explained.
    rows, columns : (n,), (width,) float64
        The largest departure of each.
    unequal, beyond : int
        Number of values that differ, and that differ by more than `near`.
    rounding, rounding_units : float
        The largest departure of the other values, absolute and in units in the last place.
    worst : (int, int)
        Row and column of the largest departure.
    values : list
        Row, column, value and expected value of the first few that are beyond, or of the first few if none is.
    """

    near: float
    rows: Floats
    columns: Floats
    unequal: int = 0
    beyond: int = 0
    rounding: float = 0.0
    rounding_units: float = 0.0
    worst: tuple[int, int] = (0, 0)
    values: list[tuple[int, int, float, float]] = field(default_factory=list)

    @property
    def largest(self) -> float:
        """The largest departure."""
        return float(self.columns.max(initial=0.0))

    def index(self, pair: ArrayPair, near: float = 0.0) -> list[Integers]:
        """Return for each axis the indices at which values differ by more than a distance."""
        leading = np.flatnonzero(self.rows > near)
        rows = [np.unique(at) for at in np.unravel_index(leading, pair.sides[:-1])]
        return [*rows, np.flatnonzero(self.columns > near)]


def differences(pair: ArrayPair, change: RowChange, most: float) -> Differences:
    """Compare all rows of an array with the changed expected ones; stop at more than `most` beyond the distance."""
    expected = change.sources.get(pair, pair).expected
    count = min(count_of(pair.actual), count_of(expected)) if change.order is None else len(change.order)
    found = Differences(pair.near, np.zeros(count), np.zeros(pair.width))
    blocks = list(in_blocks(0, count, BLOCK_VALUES // pair.width))
    parts = ordered_map(lambda at: _of_rows(pair, change, at.start, at.stop), blocks)
    for start, part in zip((at.start for at in blocks), parts, strict=True):
        if part is None:
            continue
        if part.largest > found.largest:
            found.worst = start + part.worst[0], part.worst[1]
        found.rows[start : start + len(part.rows)] = part.rows
        found.columns = np.maximum(found.columns, part.columns)
        found.unequal, found.beyond = found.unequal + part.unequal, found.beyond + part.beyond
        more = part.values[: MAX_SINGLE - len(found.values)]
        found.values += [(start + row, column, have, want) for row, column, have, want in more]
        found.rounding = max(found.rounding, part.rounding)
        found.rounding_units = max(found.rounding_units, part.rounding_units)
        if found.beyond > most:
            break
    return found


def _of_rows(pair: ArrayPair, change: RowChange, start: int, stop: int) -> Differences | None:
    """Compare some rows; None where all are equal."""
    places = np.arange(start, stop)
    with np.errstate(all="ignore"):
        actual, made = floats(pair.actual, start, stop), change.made(pair, places)
        off = orders.gaps(actual, made)
        if change.order is not None:
            off[change.order[places] == orders.UNKNOWN] = 0.0
        if change.columns is not None:
            off[:, change.columns == orders.UNKNOWN] = 0.0
        if change.half:
            off[off <= change.half + max(pair.within("stored"), pair.phases)] = 0.0
        columns = off.max(axis=0)
        if not columns.any():
            return None
        flat, far = np.flatnonzero(off), np.flatnonzero(off > pair.near)
        made = pair.expected_rows(places) if change.kind == "decimals" else made
        first = [divmod(at, pair.width) for at in (far if len(far) else flat)[:MAX_SINGLE].tolist()]
        values = [(row, column, float(actual[row, column]), float(made[row, column])) for row, column in first]
        worst = divmod(int(off.argmax()), pair.width)
        found = Differences(pair.near, off.max(axis=1), columns, len(flat), len(far), worst=worst, values=values)
        close = flat[off.ravel()[flat] <= pair.near]
        found.rounding = float(off.ravel()[close].max(initial=0.0))
        if pair.stored and len(close):
            found.rounding_units = float((off.ravel()[close] / unit(made.ravel()[close], pair.stored)).max())
        return found


def located(both: Iterable[tuple[Rows, Rows]]) -> list[Finding]:
    """Return where and how arrays differ from the expected ones, the cause first; [] where no value does.

    Where shapes differ, the last axis counts columns and all others rows.
    """
    many = [(held(a), held(b)) for a, b in both if min(map(math.prod, (a.shape, b.shape)))]
    pairs = [ArrayPair(*parts) for one in many for parts in real_parts(*one)]
    with np.errstate(all="ignore"):
        differing = [pair for pair in pairs if not pair.same_shape or pair.overview.unequal]
        large = [p for p in differing if not p.same_shape or p.overview.largest > p.within("effective")]
        narrow = [p for p in differing if p.same_shape and p.within("effective") > p.within("stored")]
        differing = narrow + [p for p in large if p not in narrow] or differing  # others differ by rounding alone
        return _located(pairs, differing) if differing else []


def _located(pairs: list[ArrayPair], differing: list[ArrayPair]) -> list[Finding]:
    """Return the findings of all arrays together; where these have nothing in common, of each by itself."""
    if len({array.dtype in REAL for pair in differing for array in (pair.actual, pair.expected)}) > 1:
        return [place(pair) for pair in differing]
    few = max(1, min(MAX_SINGLE, MAX_SINGLE_SHARE * sum(math.prod(pair.actual.shape) for pair in differing)))
    same = all(pair.same_shape for pair in differing)
    if same and all(pair.stored and (pair.overview.rows <= pair.slack).all() for pair in differing):
        return sorted(map(place, differing), key=lambda one: one.kind != "rounding")
    tried, partly = list[list[float]](), list[Finding]()
    for how in ("stored", "effective", "single", "noise"):
        nears = [pair.within(how) for pair in differing]
        if nears in tried or (how == "noise" and _is_small(differing, nears)):
            continue
        tried.append(nears)
        for pair, near in zip(differing, nears, strict=True):
            pair.set_near(near)
        if same and 0 < sum(pair.overview.unequal for pair in differing) <= few:
            for pair in differing:
                pair.set_near(0.0)
        if same and _single_values(differing, few):
            return list(_rest(differing, [pair.overview for pair in differing]))
        if _is_small(differing, nears):
            continue
        found, whole = _explained(pairs, differing, loose=how == "noise")
        if found and whole:  # a wrong value is the cause, decimals are not
            return sorted(found, key=lambda one: found[0].kind == "decimals" and one.kind != "value")
        partly = partly or found
    if partly:
        return partly
    own = [_located(pairs, [pair]) for pair in differing] if len(differing) > 1 else []
    if any(findings[0].kind not in ("place", "rounding") for findings in own):
        return sorted((finding for findings in own for finding in findings), key=lambda one: one.kind in VAGUE)
    return sorted(map(place, differing), key=lambda one: one.kind == "rounding")


def _is_small(differing: list[ArrayPair], nears: list[float]) -> bool:
    """Whether the largest difference of an array is close to the distance that counts as equal, but for zeros."""
    both = [(p, max(MIN_CONTRAST * near, 1e-300)) for p, near in zip(differing, nears, strict=True) if p.same_shape]
    return any(pair.overview.largest < most and not pair.is_zeroed for pair, most in both)


def _single_values(differing: list[ArrayPair], few: float) -> bool:
    """Whether a few values differ, and by much more than the rounding of all others."""
    seen = [pair.overview for pair in differing]
    least = min((abs(have - want) for one in seen for _, _, have, want in one.values[: one.beyond]), default=0.0)
    clear = not least <= MIN_CONTRAST * max(one.rounding for one in seen)  # NaN is
    return 0 < sum(one.beyond for one in seen) <= few and clear


def _explained(pairs: list[ArrayPair], differing: list[ArrayPair], *, loose: bool) -> tuple[list[Finding], bool]:
    """Return the first change that explains all, or the one that leaves least, and whether every row has its values.

    Values that are left must be off by much more than a rounding, which a larger distance would accept.
    """
    least, best, clear = (True, 1 << 62), list[Finding](), True
    names = [] if len(differing) == len(pairs) else [pair.name for pair in differing if pair.name]
    for change in _changes(pairs, differing, loose=loose):
        if not all(_promising(pair, change) for pair in differing):
            continue
        found = [differences(pair, change, pair.most) for pair in differing]
        unknown = any(at is not None and (at == orders.UNKNOWN).any() for at in (change.order, change.columns))
        left = unknown, sum(one.beyond for one in found)
        if left >= least or any(one.beyond > pair.most for pair, one in zip(differing, found, strict=True)):
            continue
        alone = not names or any(change.text.startswith(f"{name} ") for name in names)
        text = change.text if alone else f"{' and '.join(names)}: {change.text}"
        least, best = left, [Finding(change.kind, text), *_rest(differing, found)]
        if not any(left):
            return best, True
        close = (abs(y - x) <= MIN_CONTRAST * one.near for one in found for *_, y, x in one.values)
        clear = loose or not any(close)
    return best if clear else [], not least[0]


def _promising(pair: ArrayPair, change: RowChange) -> bool:
    """Whether a change explains most of the sample."""
    places, actual = pair.places, pair.sample[0]
    if change.order is not None:
        places = places[places < len(change.order)]
        places = places[change.order[places] != orders.UNKNOWN]
        actual = rows_at(pair.actual, places)
    made = change.made(pair, places)
    if actual.shape != made.shape:
        return False
    off = orders.gaps(actual, made)
    if change.columns is not None:
        off[:, change.columns == orders.UNKNOWN] = 0.0
    # twice the share that may be left in all: the sample is not the whole
    return bool(np.count_nonzero(off > pair.near + change.half) <= 2 * MAX_REST_SHARE * off.size + MAX_SINGLE)


def _remainder(pair: ArrayPair, left: Differences) -> list[Finding]:
    """List or count the values that a change leaves."""
    name = f"{pair.name}: " if pair.name else ""
    if left.beyond <= MAX_SINGLE:
        kind, first = pair.stored or "float64", left.values if left.beyond else []
        texts = value_texts([(pair.at(row, column), have, want, kind) for row, column, have, want in first])
        return [Finding("value", text) for text in texts]
    size = "" if math.isinf(left.largest) else f", by at most {limit(left.largest, 2)}"
    where = f"in {_region(pair, left, pair.near)}{size}"
    return [Finding("rest", f"{name}{left.beyond:,} other values differ as well, {where}")]


def _rest(differing: list[ArrayPair], left: list[Differences]) -> Iterator[Finding]:
    """Yield the values that a change leaves; then how far the others are, as rounding where phases leave as much."""
    for pair, rest in zip(differing, left, strict=True):
        yield from _remainder(pair, rest)
    if any(one.unequal > one.beyond for one in left) and all(one.beyond <= MAX_SINGLE for one in left):
        ulp, most = math.ceil(max(one.rounding_units for one in left) - 0.5), max(one.rounding for one in left)
        size = f"{ulp} ulp" if 0 < ulp <= MAX_ULP_NAMED else limit(most, 2)
        phases = all(one.rounding <= pair.slack.max() for pair, one in zip(differing, left, strict=True))
        yield Finding("rounding", f"the rest is rounding, at most {size}" if phases else f"{REST_OFF} at most {size}")


def place(pair: ArrayPair) -> Finding:
    """Return the place and the size of a difference that nothing explains."""
    name = f"{pair.name} " if pair.name else ""
    if not pair.same_shape:
        return Finding("place", f"{name}has the shape {pair.actual.shape} where {pair.expected.shape} was expected")
    pair.set_near(pair.within("single"))
    seen = pair.overview
    printed = printed_digits(pair.sample[0], EPSILON[pair.stored]) if pair.stored else None
    why = ", no more than rounding may leave: harmless" * bool(pair.stored and (seen.rows <= pair.slack).all())
    if printed and seen.largest > 0.1 ** printed[0] / 8:
        error = EPSILON[pair.stored] * np.abs(pair.sample[1])
        why = f": its values have {digits_text(*printed)}" if how_printed(*pair.sample, error, printed) else why
    if why:
        most = seen.largest + EPSILON[pair.stored] / 2 * pair.scale * (pair.expected.dtype != pair.actual.dtype)
        return Finding("rounding", f"{name}differs by at most {limit(most, 2)}{why}")
    if math.isinf(seen.largest) and (where := _region(pair, seen, np.finfo(float).max)) != _region(pair, seen):
        return Finding("place", f"{name}differs by NaN or infinity in {where}; {seen.unequal:,} values differ in all")
    size = "by NaN or infinity" if math.isinf(seen.largest) else f"by at most {limit(seen.largest, 2)}"
    worst = f"{size} at {pair.at(*seen.worst)}"
    if distances := _distances(pair):
        return Finding("place", f"{name}differs {distances} ({seen.unequal:,} values)")
    every, fewer = (seen.index(pair, near) for near in (0.0, pair.near))
    if seen.beyond and any(len(a) < len(b) == n for a, b, n in zip(fewer, every, pair.sides, strict=True)):
        far = f"by more than {figure(pair.near, 2)} in {_region(pair, seen, pair.near)}"
        return Finding("place", f"{name}differs {far}, {worst} ({seen.beyond:,} values)")
    return Finding("place", f"{name}differs in {_region(pair, seen)}, {worst} ({seen.unequal:,} values)")


def _region(pair: ArrayPair, seen: Differences, near: float = 0.0) -> str:
    """Return the rows and columns in which values differ by more than a distance, as text."""
    axes = enumerate(zip(seen.index(pair, near), pair.sides, strict=True))
    parts = [indices(pair.word(axis), at, side) for axis, (at, side) in axes if len(at) < side]
    return ", ".join(parts) or "all rows and columns"


def _distances(pair: ArrayPair) -> str:
    """Return between which queries and keys of a square matrix all values differ, where their distance says it."""
    side, count = pair.width, count_of(pair.actual)
    if len(pair.sides) < 2 or not MIN_SIDE <= side == pair.sides[-2] or count * side > MAX_EXCHANGED:
        return ""
    have, want = _whole(pair.actual), pair.expected_rows(np.arange(count))
    off = orders.gaps(have, want) > 0
    if text := orders.distances(off.reshape(-1, side, side)):
        a, b = (np.unique(values[off]) for values in (have, want))
        text += f": {a[0]:g} where {b[0]:g} was expected" * (len(a) == len(b) == 1)
    return text


def indices(word: str, at: Integers, side: int) -> str:
    """Return indices of an axis as text."""
    first, last, steps = int(at[0]), int(at[-1]), np.unique(np.diff(at))
    if len(steps) == 1 and first < last == side - 1 and steps[0] == 1 and word not in ("head", "batch"):
        return orders.units_from(first, word)
    if len(steps) == 1 and len(at) > 2 and 1 < steps[0] >= side - last:
        return f"every {orders.ordinal(int(steps[0]))} {word}{f' from {word} {first} on' if first else ''}"
    if len(orders.consecutive(at)) <= orders.MAX_RUNS:
        return orders.numbered(word, at)
    return f"{len(at):,} of {side:,} {orders.plural(word)}, {first} to {last}"


def _changes(pairs: list[ArrayPair], differing: list[ArrayPair], *, loose: bool) -> Changes:
    """Yield candidate changes of the expected arrays, the simplest first."""
    same = all(pair.same_shape for pair in differing)
    near = max(pair.near / pair.scale for pair in differing)
    if same and not loose:
        yield from _functions(differing, [None] * len(differing), "all values")
    yield from _exchanged(pairs, differing)
    yield from _columns(differing, near, loose=loose)
    yield from _orders(differing, near, loose=loose)
    if not loose:
        yield from _other_axes(differing)
        yield from _stretched(differing) if same else _resized(differing)
    if not same:
        return
    yield from _dropped(differing)
    for chosen in (*range(len(differing[0].sides)), -1):  # one axis at a time, from the rows on, then all
        regions = [_restricted(pair, chosen) for pair in differing]
        if regions[0][0] and len({text for _, text in regions}) == 1:
            yield from _functions(differing, [mask for mask, _ in regions], f"the values of {regions[0][1]}")
    axes, sides = differing[0].expected.axes, differing[0].sides
    if len(differing) == 1 and axes[-1:] == ("key",) and sides[-2] == sides[-1]:
        for word in ("after", "before"):
            mask = partial(orders.triangle, sides[-1], after=word == "after")
            yield from _functions(differing, [mask], f"the values of keys {word} the query")


def _restricted(pair: ArrayPair, chosen: int) -> tuple[Mask | None, str]:
    """Return the region in which values differ, by its indices on an axis, or on all where `chosen` is -1."""
    index, sides = pair.overview.index(pair, pair.near), pair.sides
    axes = [axis for axis, at in enumerate(index) if len(at) < sides[axis]]
    if not index[-1].size or ((len(axes) < 2) if chosen < 0 else chosen not in axes):
        return None, ""
    kept = axes if chosen < 0 else [chosen]
    inside = [np.isin(np.arange(side), at) | (axis not in kept)
              for axis, (at, side) in enumerate(zip(index, sides, strict=True))]  # fmt: skip

    def mask(rows: Integers) -> NDArray[np.bool_]:
        leading = np.unravel_index(rows, sides[:-1])
        good = np.logical_and.reduce([one[at] for one, at in zip(inside[:-1], leading, strict=True)])
        return np.asarray(good[:, None] & inside[-1])

    return mask, ", ".join(indices(pair.word(axis), index[axis], sides[axis]) for axis in kept)


def _functions(differing: list[ArrayPair], masks: Sequence[Mask | None], where: str) -> Changes:
    """Yield the functions of the values, of whole arrays or of a region of each, that a part of the sample allows."""
    actual, expected = list[Floats](), list[Floats]()
    for pair, mask in zip(differing, masks, strict=True):
        rows, (have, want) = pair.places, pair.sample
        if mask is not None:  # the rows that differ, which the sample may not have
            rows = np.flatnonzero(pair.overview.rows > pair.near)
            rows = np.unique(np.concatenate([rows[:FIT_ROWS], rows[-FIT_ROWS:]]))
            have, want = rows_at(pair.actual, rows), pair.expected_rows(rows)
        inside = np.ones(have.shape, np.bool_) if mask is None else mask(rows)
        actual.append(have[inside])
        expected.append(want[inside])
    y, x = np.concatenate(actual), np.concatenate(expected)
    y, x = (side[:: max(1, len(x) // FIT_VALUES)] for side in (y, x))
    near = max(pair.near for pair in differing)
    for change in _candidates(y, x, near, differing[0].stored):
        assert change.function is not None
        made = change.function(x)
        made = made if change.kind in UNMASKED else np.where(np.isfinite(x), made, x)
        if change.kind not in UNMASKED and not change.half and np.ptp(made[np.isfinite(made)]) <= MIN_CONTRAST * near:
            continue  # another constant would explain as much
        off = orders.gaps(differing[0].as_stored(made), y)
        if np.count_nonzero(off > near + change.half) <= 2 * MAX_REST_SHARE * off.size + MAX_SINGLE:
            regions = {pair: mask for pair, mask in zip(differing, masks, strict=True) if mask is not None}
            yield replace(change, text=change.text.format(where), masks=regions)


def _candidates(y: Floats, x: Floats, near: float, stored: str) -> Changes:
    """Yield changes that may have made values y of the expected x, with a place in their text for where."""
    if len(y) < MIN_FITTED:
        return
    if np.isnan(y).all() or (y == y[0]).all():
        value = float(y[0])
        word = "NaN" if math.isnan(value) else "zero" if value == 0 else "infinite" if math.isinf(value) else ""
        yield RowChange("constant", f"{{}} are {word or figure(value)}", lambda v: np.full_like(v, value))
        return
    levels = np.unique(x)
    if len(levels) == 2 and np.array_equal(np.unique(y), levels):  # a mask
        low, high = levels.tolist()
        text = f"{{}} are exchanged: {low:g} stands where {high:g} was expected, and {high:g} where {low:g}"
        yield RowChange("exchanged", text, lambda v: np.where(v == low, high, low))
    finite = np.isfinite(x) & np.isfinite(y)
    y, x = y[finite], x[finite]
    if not x.size:  # every value is masked
        return
    for kind in ("sign", "negated"):  # infinities keep their sign, or change it as well
        apart = "" if kind == "negated" or finite.all() else ", except infinite ones"
        yield RowChange(kind, f"the sign of {{}} is changed{apart}", np.negative)
    yield RowChange("sign", "{} are the absolute values of the expected ones", np.abs)
    yield RowChange("value", "{} are cut off at 0: the negative ones are 0", partial(np.maximum, 0.0))
    yield RowChange("value", "{} are the squares of the expected ones", np.square)
    low, high = float(y.min()), float(y.max())
    if np.count_nonzero((y == low) | (y == high)) > MAX_SINGLE and (x.min() < low or high < x.max()):
        ends = [f"none is below {low:g}"] * bool(x.min() < low) + [f"none is above {high:g}"] * bool(high < x.max())
        yield RowChange("clip", f"{{}} are clipped: {', '.join(ends)}", partial(np.clip, a_min=low, a_max=high))
    if ((np.abs(x) < MIN_POSITIONAL) & (x != 0) & (np.abs(y) >= 1)).any():
        text = "{} below 0.0001 in size lost their exponent: 1.5 stands for 1.5e-06"
        yield RowChange("value", text, _without_exponent)
    if (x != 0).all():
        yield RowChange("value", "{} are the reciprocals of the expected ones", np.reciprocal)
    if x.size < MIN_FITTED or x.min() == x.max():
        return
    size = float(np.abs(x).max())
    large = np.abs(x) > size / 2
    ratios = y[large] / x[large]
    offset, factor = _typical(y - x, near, 0.0), _typical(ratios, near / size, 0.0, 1.0, -1.0)
    if stored in ("float16", "bfloat16"):  # most values may be one number, rounded
        factor = _short(factor, EPSILON[stored] * abs(factor))
    if offset:
        done = "added to" if offset > 0 else "subtracted from"
        yield RowChange("offset", f"{figure(abs(offset))} is {done} {{}}", lambda v: v + offset)
    if factor not in (0.0, 1.0, -1.0):
        exact = next((number for number in ROOTS.values() if abs(factor / number - 1) < MAX_ROOT_ERROR), factor)
        yield RowChange("factor", f"{{}} are {factor_text(factor)} times the expected ones", lambda v: v * exact)
    differ = np.ptp(x) > near + 2.0**-26 * size  # else any line fits
    slope, added = np.polyfit(x, y, 1) if differ else (0.0, 0.0)
    if near > 0 and abs(slope) > near and abs(slope - 1) > near and abs(added) > near:
        sign = "plus" if added > 0 else "minus"
        text = f"{{}} are {slope:.6g} times the expected ones {sign} {abs(added):.6g}"
        yield RowChange("factor", f"{text}, as with another mean and spread", lambda v: slope * v + added)
    yield from (RowChange(kind, text, made, half=half) for kind, text, made, half in fixed_point(y, x, 1))
    if stored or (y == np.rint(y)).all():
        yield from _coarser(y, x, near, stored)


def _coarser(y: Floats, x: Floats, near: float, stored: str) -> Changes:
    """Yield decimals that the expected values x have more of, narrower types, and bytes in the wrong order."""
    for k in range(MAX_DECIMALS + 1):
        few = np.round(y, k)
        if 10.0**-k > MIN_APART * near and np.ptp(few) > 0 and (np.abs(few - y) <= near / 4).all():
            if np.array_equal(np.round(x, k), x):
                break
            words, half = f"{k} decimals" if k else "integers", 0.5 * 10.0**-k
            right = "right, " * (k > 0)
            yield RowChange("decimals", f"{{}} are {right}rounded to {words}", np.positive, half=half)
            yield RowChange("decimals", f"{{}} are cut to {words}", partial(_nearer_zero, half), half=half)
            break
    for narrow in ("bfloat16", "float16", "float32") if stored else ():
        if EPSILON[narrow] > EPSILON[stored] and np.array_equal(rounded(y, narrow), y):
            yield RowChange("cast", f"{{}} are rounded to {narrow}", partial(rounded, kind=narrow))
            yield RowChange("cast", f"{{}} are cut to {narrow} instead of rounded", partial(truncated, kind=narrow))
    for levels, over in ((127, 127), (128, 128), (255, 255), (127, 128), (128, 127)):
        if (np.abs(np.rint(y * over) / over - y) <= near).all():
            text = f"{{}} are quantised to int8, in steps of 1/{levels}"
            text += f", and multiplied back by 1/{over}" * (levels != over)
            top = 127 / 128 if levels == 128 and y.max() < 1 else math.inf  # 128, which int8 lacks, is cut to 127
            yield RowChange("cast", text, partial(_scaled_and_cut, levels / over, top), half=0.5 / over)
    whole = (y == np.rint(y)).all()  # which are looked at before
    bits = None if whole else next((k for k in BITS if (y * 2.0**k == np.rint(y * 2.0**k)).all()), None)
    steps = fixed_point(y, x, 1 << bits) if bits is not None else ()
    yield from (RowChange(kind, text, made, half=half) for kind, text, made, half in steps)
    for kind, other in (("float16", "bfloat16"), ("bfloat16", "float16")):
        if np.array_equal(rounded(y, kind), y):
            text, half = f"{{}} are {other} whose bits were read as {kind}", 2 * EPSILON[kind] * float(np.abs(y).max())
            yield RowChange("bytes", text, partial(reread, kind=other), half=half)
    if stored not in ("", "bfloat16"):
        text = f"the bytes of {{}} are swapped: the file has the other byte order ({stored})"
        yield RowChange("bytes", text, lambda v: v.astype(stored).byteswap().astype(np.float64))


def _without_exponent(values: Floats) -> Floats:
    small = (np.abs(values) < MIN_POSITIONAL) & (values != 0)
    return np.where(small, values / 10.0 ** np.floor(np.log10(np.abs(np.where(small, values, 1.0)))), values)


def _scaled_and_cut(factor: float, top: float, values: Floats) -> Floats:
    return np.minimum(values * factor, top)


def _nearer_zero(by: float, values: Floats) -> Floats:
    return values - np.copysign(by, values)


def _typical(values: Floats, near: float, *plain: float) -> float:
    """Return the shortest number within the error of the median of some values; a plain one if it is that near."""
    middle = float(np.median(values))
    if (short := _short(middle, near)) in plain:
        return short
    spread = float(np.median(np.abs(values - middle)))
    return _short(middle, min(near, max(MAX_SPREAD * spread, 2.0**-22 * max(1.0, abs(middle)))))


def _short(value: float, near: float) -> float:
    """Return the shortest decimal within a distance, or the number itself."""
    if not abs(value) > near or not math.isfinite(value):
        return 0.0
    return float(shortest(value - near, value + near)) if near else value


def _exchanged(pairs: list[ArrayPair], differing: list[ArrayPair]) -> Changes:
    """Yield arrays that hold the values of others."""
    for one, other in permutations(pairs, 2):
        if one not in differing or one.actual.shape != other.expected.shape:
            continue
        if len(differing) == 1:
            yield RowChange("same", f"{one.name} holds the values of {other.name}", sources={one: other})
        if differing == [one, other]:
            both = {one: other, other: one}
            yield RowChange("exchanged", f"{one.name} and {other.name} are exchanged", sources=both)


def _matched(actual: Floats, expected: Floats, near: float, word: str) -> Iterator[tuple[str, Integers]]:
    """Yield descriptions of the order of rows, if most of them are among the expected ones."""
    yield from orders.groups(expected, len(actual), word)
    found = orders.match(actual, expected, near)
    moved = found != np.arange(len(found))
    blank = np.where((actual == 0).all(axis=1) & moved, orders.ZERO, found)
    if len(found) == len(expected) and (blank[moved] == orders.ZERO).all():  # though another one may be zero as well
        yield from orders.descriptions(blank, len(expected), word)
    if word == "row" and len(actual) == len(expected) and (found == orders.UNKNOWN).any():
        empty = actual.any(axis=1) & ~expected.any(axis=1)
        if empty.any() and not empty.all():  # such as a cache that is not filled yet
            rows = orders.numbered_are(word, np.flatnonzero(empty))
            yield f"{rows} zero in the expected table", np.where(empty, orders.UNKNOWN, np.arange(len(actual)))
        yield from orders.repeated(orders.match(expected, actual, near), word)
    if np.array_equal(found, np.roll(np.arange(len(expected)), -1)) and not expected[0].any():
        yield f"the {word} of zeros, such as a class token's, is last where it was expected first", found
    if (found == orders.UNKNOWN).mean() <= MAX_UNKNOWN_SHARE:
        yield from orders.descriptions(found, len(expected), word)


def _columns(differing: list[ArrayPair], near: float, *, loose: bool) -> Changes:
    """Yield other signs and orders of the columns, which all arrays that differ share."""
    pair = differing[0]
    width, count, k, half = pair.width, width_of(pair.expected), np.arange(pair.width), pair.width // 2
    sides = {(p.width, width_of(p.expected), count_of(p.actual) - count_of(p.expected)) for p in differing}
    if sides != {(width, count, 0)} or width == 1:
        return
    if width == count == 2 * half > 2:
        x = pair.sample[1]
        alike = [bool((a == b).all()) for a, b in ((x[:, ::2], x[:, 1::2]), (x[:, :half], x[:, half:]))]
        words, texts = ("interleaved", "half-split"), list[str]()
        for have, other, is_so in zip(words, words[::-1], alike, strict=True):
            again = f"the columns were put from {other} into {have} order once more"
            texts.append(again if is_so else f"the columns are {have} where {other} ones were expected")
        for text, order in (
            ("neighbouring columns are exchanged", k ^ 1),
            (texts[0], k // 2 + half * (k % 2)),
            (texts[1], 2 * (k % half) + k // half),
            ("the two halves of the columns are exchanged", (k + half) % width),
        ):
            yield RowChange("columns", text, columns=order)
    actual, expected = (np.concatenate([p.sample[side].T / p.scale for p in differing], axis=1) for side in (0, 1))
    wrong = actual[(np.abs(actual - expected) > near).any(axis=1)] if width == count else actual[:0]
    if wrong.any() and not np.ptp(wrong):  # one number, which other columns may hold as well
        return
    keys = _spread(expected, min(MAX_KEYS * 4, max(8, KEY_VALUES // max(width, count))))
    for text, order in _matched(actual[:, keys], expected[:, keys], near, pair.word(pair.actual.lead)):
        if not loose or len(np.unique(order)) == len(order):  # slow columns are alike but for noise
            yield RowChange("columns", text, columns=order)


def _spread(values: Floats, count: int) -> Integers:
    """Return up to `count` column indices, neighbours evenly spread among the columns that vary."""
    moving = np.flatnonzero((values != values[:1]).any(axis=0))
    moving = moving if moving.size else np.arange(values.shape[1])
    at = np.linspace(0, len(moving) - 1, max(1, min(count, 2 * len(moving)) // 2)).astype(np.int64)
    return np.unique(moving[np.minimum([at, at + 1], len(moving) - 1)])  # of neighbours one may be the sine alone


def _orders(differing: list[ArrayPair], near: float, *, loose: bool) -> Changes:
    """Yield other orders of the rows, the heads or the batches, which all arrays that differ share."""
    first = differing[0]
    sides, others = (array.shape[: array.lead] for array in (first.actual, first.expected))
    if first.same_shape:
        sides = others = others if len(others) > len(sides) else sides
    n, count = math.prod(sides), math.prod(others)
    counts = {(count_of(p.actual), count_of(p.expected), p.width == width_of(p.expected)) for p in differing}
    if counts != {(n, count, True)} or len(sides) != len(others) or max(n, count) * 8 > KEY_VALUES:
        return
    actual, expected = (np.concatenate(side, axis=1) for side in zip(*(pair.keys for pair in differing), strict=True))
    for axis in range(len(sides)):
        if sides[:axis] + sides[axis + 1 :] != others[:axis] + others[axis + 1 :]:
            continue
        a, b = (np.moveaxis(values.reshape(*shape, -1), axis, 0).reshape(shape[axis], -1)
                for values, shape in ((actual, sides), (expected, others)))  # fmt: skip
        keys = _spread(b, MAX_KEYS * 4 if len(sides) > 1 else MAX_KEYS)
        apart = np.abs(np.diff(b[:, keys], axis=0)).max(axis=1)
        if loose and apart.size and apart.min() < MIN_APART * near:  # one row could be called another
            continue
        for text, order in _matched(a[:, keys], b[:, keys], near, first.word(axis)):
            if loose and len(np.unique(order[order >= 0])) < np.count_nonzero(order >= 0):  # alike but for noise
                continue
            target = order.reshape(-1, *(1,) * (len(sides) - axis - 1))
            rows = np.take(np.arange(count).reshape(others), np.maximum(order, 0), axis)
            yield RowChange("rows", text, order=np.where(target < 0, target, rows).ravel())


def _other_axes(differing: list[ArrayPair]) -> Changes:
    """Yield exchanged axes, and a reshape in the place of a transposition."""
    shape, own = differing[0].expected.shape, differing[0].actual.shape
    size, plain = math.prod(shape), tuple(range(len(shape)))
    same = all((pair.actual.shape, pair.expected.shape) == (own, shape) for pair in differing)
    if not same or size != math.prod(own) or size > MAX_EXCHANGED or len(shape) > 4:
        return
    for axes in permutations(plain):
        order, moved = f"({', '.join(map(str, axes))})", tuple(shape[axis] for axis in axes)
        if axes == plain and own == shape:
            continue
        if axes == plain:
            text = f"reshaped: {shape} is expected, the values are in the same order"
        elif own == moved:
            last = "the last two axes are exchanged: " * (axes[:-2] == plain[:-2])
            text = "transposed" if len(shape) == 2 else f"{last}the axes are in the order {order}"
            if all(len(np.unique(pair.sample[1])) == 2 for pair in differing):
                text += ", or the mask is on the other side of the diagonal"
        elif {*accumulate(moved, operator.mul)} <= {1, *accumulate(own, operator.mul)}:
            text = f"transposed: shape {own} where {shape} was expected"
        elif len(own) < len(shape) and {*accumulate(own, operator.mul)} <= {*accumulate(moved, operator.mul)}:
            text = f"the axes are in the order {order}, some of them in one: shape {own} where {shape} was expected"
        else:
            stand = f": the expected values stand in the order of the axes {order}" if len(shape) > 2 else ""
            text = f"reshaped instead of transposed{stand}"
        whole = (_whole(p.expected).reshape(*shape, -1).transpose(*axes, len(axes)) for p in differing)
        yield _of_values("axes", text, differing, whole)
    if own == shape and count_of(differing[0].actual) > 2:  # the first row may be a class token's
        whole = (_whole(pair.expected) for pair in differing)
        behind = (np.append(values[0], values[1:].T) for values in whole)
        yield _of_values("axes", "behind row 0, the values were reshaped instead of transposed", differing, behind)
    if len(shape) == len(own) == 2:
        text = f"the values were reshaped to {own[::-1]} and then transposed"
        across = (_whole(pair.expected).reshape(pair.width, -1).T for pair in differing)
        yield _of_values("axes", text, differing, across)


def _of_values(kind: str, text: str, differing: list[ArrayPair], values: Iterable[Floats]) -> RowChange:
    """Return the change to other expected values, in the rows of the arrays at hand."""
    sources = {pair: pair.expecting(own) for pair, own in zip(differing, values, strict=True)}
    return RowChange(kind, text, sources=sources)


def _stretched(differing: list[ArrayPair]) -> Changes:
    """Yield the first rows, stretched to all by linear interpolation: a table that was resized like an image."""
    first = differing[0]
    count = count_of(first.actual)
    if count * first.width > MAX_EXCHANGED or any(pair.actual.lead != 1 for pair in differing):
        return
    own = floats(first.actual, count - 1, count)
    (last,) = orders.match(own, _whole(first.expected), max(first.near, first.within("effective")))
    if not 1 <= last < count - 1:
        return
    for way in LINEAR:
        made = [way.weights(last + 1, count) @ floats(pair.expected, 0, last + 1) for pair in differing]
        yield _of_values("rows", f"rows 0 to {last} are stretched to {count} rows by {way.name}", differing, made)


def _resized(differing: list[ArrayPair]) -> Changes:
    """Yield the expected table, resized to the rows at hand like an image."""
    (pair, *others), counts = differing, [count_of(array) for array in (differing[0].actual, differing[0].expected)]
    alone = not others and pair.width == width_of(pair.expected) > 1
    if alone and pair.word(0) != "head" and max(counts) * pair.width <= MAX_EXCHANGED:
        for text, made in interpolated(_whole(pair.expected), _whole(pair.actual)):
            yield _of_values("resized", text, differing, [made])


def _dropped(differing: list[ArrayPair]) -> Changes:
    """Yield dropout: zeros at places of their own, the other values larger by what makes up for them."""
    zero = [(pair.sample[0] == 0) & (pair.sample[1] != 0) for pair in differing]
    if not all(one.any() and count_of(p.actual) * p.width <= MAX_HELD for p, one in zip(differing, zero, strict=True)):
        return
    y, x = (np.concatenate([pair.sample[side][~one] for pair, one in zip(differing, zero, strict=True)])
            for side in (0, 1))  # fmt: skip
    large = np.abs(x) > differing[0].scale / 2
    factor = float(np.median(y[large] / x[large])) if large.any() else 0.0
    if not 1 < factor < math.inf:
        return
    share = sum(map(np.count_nonzero, zero)) / sum(one.size for one in zero)
    near = max(pair.within("effective") / pair.scale for pair in differing)
    p = _short(1 - 1 / factor, max(near, MAX_DROPPED_ERROR))
    if abs(p - share) <= MAX_DROPPED_GAP and 0 < p < 1:
        text = f"dropout was applied, p = {figure(p)}: about {share:.0%} of the values are zero"
        text += ", the others are divided by 1 - p"
        kept = (np.where(_whole(one.actual) == 0, 0.0, _whole(one.expected) * (1 / (1 - p))) for one in differing)
        yield _of_values("dropout", text, differing, kept)
