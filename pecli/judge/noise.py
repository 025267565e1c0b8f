"""Numbers without a rule: drawn or trained ones, noise on other values, and values rounded to steps."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from pecli.judge.orders import numbered
from pecli.judge.planes import Floats, Plane, is_zero, planes_of
from pecli.judge.rows import floats as read_floats
from pecli.numbers.dtypes import FloatGrid
from pecli.numbers.rounding import to_grid
from pecli.spec.tabular import InMemory, Tabular
from pecli.tables.comparison import Finding
from pecli.tables.views import ArrayView

ALL = "the values"
# Mean correlation of neighbouring rows and columns of random values; a wave's rows have 0.5 and more.
MAX_CORRELATION = 0.1
# Largest relative difference of a column's deviation from the overall one, times the root of the rows, and at all; of
# 256 rows, random values have 0.22.
MAX_SPREAD, LARGEST_SPREAD = 4, 0.5
# Share of drawn values that may be one number, as the zeros of a dropout, or those of their distance; most of a clipped
# bias are its limit.
MAX_EQUAL = 0.5
# Fourth moment of the normalised values: 1.5 of sines in any order, 1.8 of uniform numbers.
MIN_KURTOSIS = 1.65
# Values that show a distribution, those that are read for it, how many standard errors its moments may be off, and how
# many times as much as drawn numbers the deviations of rows and of columns may differ.
MIN_DRAWN, MAX_DRAWN, DRAWN_ERRORS, MAX_DRAWN_SPREAD = 1 << 12, 1 << 20, 4, 1.5
# Rows and columns of each head or array that are looked at; raised, noise among many heads costs more time.
RANDOM_ROWS = 256
# Values of a row up to which a difference is looked at as noise.
MAX_NOISE_WIDTH = 1 << 13
# Share of the largest deviation of a row or a column from which it has noise; drawn numbers of 8 columns have 0.3.
MIN_NOISY = 0.25
# Deviation of noise, as a multiple of the values' own; larger noise looks like other values in their place.
MAX_NOISE = 4
# The same, of noise that is looked for before other causes.
MAX_SLIGHT = 0.1
# Times as large as the deviation of a difference is its mean where one number is added to all values.
MIN_OFFSET = 100
# Floating-point types of 8 bits, which no file format of pecli stores.
FLOATS_OF_8_BITS = {"float8 (e4m3)": FloatGrid(4, -6, 8), "float8 (e5m2)": FloatGrid(3, -14, 15)}
FIXED_POINT = 1 << 16  # by which values of fixed point are whole numbers
# Values that show a step, those of a block that do, and by how much of it they may be off: narrow types round them.
MIN_QUANTISED, MIN_LEVELS, MAX_STEP_GAP = 256, 8, 0.1


def random_words(part: str) -> str:
    """Return what is said of values without a rule."""
    return f"{part} look drawn at random or trained: neighbouring rows and columns are hardly related"


def drawn_words(table: Tabular) -> str:
    """Return from which distribution all values of an array look drawn, as at an initialisation; "" for any other."""
    if len(table.arrays) != 1 or table.arrays[0].rows * math.prod(table.arrays[0].row_shape) < MIN_DRAWN:
        return ""
    (plane, *more) = planes_of(table, table.arrays[0])
    values = plane.read(0, min(plane.rows, 1 + MAX_DRAWN // plane.width))
    count, deviation = values.size, float(values.std())
    normal = (values - values.mean()) / (deviation or 1.0)
    spreads = [np.sqrt((normal**2).mean(axis)) for axis in (0, 1)]  # of each column and row
    alike = all(one.std() < MAX_DRAWN_SPREAD * math.sqrt(len(one) / (2 * count)) for one in spreads)
    error = math.sqrt(1 / count)  # of the mean; those of the third and the fourth moment follow
    centred = max(abs(values.mean()) / (deviation or 1.0), abs((normal**3).mean()) / 2.5) < DRAWN_ERRORS * error
    kurtosis = float((normal**4).mean())
    if more or not (alike and centred and deviation):
        return ""
    if abs(kurtosis - 3) < DRAWN_ERRORS * math.sqrt(24) * error:
        return f"a normal distribution of deviation {deviation:.3g}, as at an initialisation"
    largest = float(np.abs(values).max())
    if abs(kurtosis - 1.8) < DRAWN_ERRORS * error and abs(largest / deviation / math.sqrt(3) - 1) < 10 / plane.width:
        return f"a uniform distribution from -{largest:.3g} to {largest:.3g}, as at an initialisation"
    return ""


def random_parts(table: Tabular, *, drawn: bool = False) -> list[str]:
    """Return which values are as unrelated as drawn numbers: all, or those of some heads or arrays; [] of none.

    With `drawn` all must be, and all columns have one distribution besides, not that of sines in another order; arrays
    of zeros, or of one row, are left out.
    """
    planes = {array.name: planes_of(table, array) for array in table.arrays}
    if drawn:
        few = [name for name, own in planes.items() if all(one.rows == 1 or is_zero(one) for one in own)]
        left = {name: own for name, own in planes.items() if name not in few} or planes
        if not all(own and all(_is_random(one, drawn=True) for one in own) for own in left.values()):
            return []
        return [f"the values of {', '.join(left)}"] if len(left) < len(planes) else [ALL]
    random = {name: [_is_random(plane, drawn=False) for plane in own] for name, own in planes.items()}
    if random and all(own and all(own) for own in random.values()):
        return [ALL]
    some = {name: own for name, own in random.items() if any(own)}
    heads = {name: "" if all(own) else f", {numbered('head', np.flatnonzero(own))}," for name, own in some.items()}
    return [f"the values of {name}{which}" for name, which in heads.items()]


def noise(pairs: list[tuple[ArrayView, ArrayView]], most: float = MAX_NOISE) -> Finding | None:
    """Return the finding that unrelated numbers, or roundings to a step, are added to all expected values."""
    if any(pair[0].plain_shape != pair[1].plain_shape or pair[0].row_size > MAX_NOISE_WIDTH for pair in pairs):
        return None
    most_rows = min((MAX_DRAWN // max(1, pair[0].row_size) for pair in pairs), default=0)
    whole = [[read_floats(view, 0, min(view.rows, max(most_rows, RANDOM_ROWS))) for view in pair] for pair in pairs]
    if text := _quantised([one for one in whole if one[0].shape == one[1].shape]):
        return Finding("random", text)
    if all((y * FIXED_POINT == np.rint(y * FIXED_POINT)).all() for y, _ in whole):
        return None
    both = [[values[:RANDOM_ROWS] for values in pair] for pair in whole]
    rests = {str(k): y - x for k, (y, x) in enumerate(both) if y.shape == x.shape}
    if not rests or len(rests) < len(pairs) or random_parts(InMemory(rests), drawn=True) != [ALL]:
        return None
    y, x = (np.concatenate([one.ravel() for one in side]) for side in zip(*both, strict=True))
    added = list(rests.values())
    for axis in (1, 0):  # of the rows and the columns that have noise
        added = [one.compress(one.std(axis) > MIN_NOISY * one.std(axis).max(), 1 - axis) for one in added]
    size = np.concatenate([one.ravel() for one in added]).std()
    if (np.diff(y[x.argsort()]) >= 0).all():  # the values are rounded
        return None
    if abs(mean := float((y - x).mean())) > size * MIN_OFFSET:
        return Finding("offset", f"{mean:.6g} is added to all values, besides rounding")
    if size > most * x.std() or abs(np.corrcoef(y - x, x)[0, 1]) > MAX_CORRELATION:  # others stand in their place
        return None
    text = f"the expected values plus unrelated numbers, such as noise, of standard deviation {size:.2g}"
    return Finding("random", text)


def _quantised(both: Sequence[Sequence[Floats]]) -> str:
    """Return how arrays were rounded to whole multiples of a step of their block, row or array, or to 8-bit floats."""
    sizes = {"the array": math.prod, "each row": lambda shape: shape[1], "each column": lambda shape: shape[0],
             "each block of 64 values": lambda _: 64, "each block of 32 values": lambda _: 32}  # fmt: skip
    for which, size_of in sizes.items() if both else ():  # a step of all rows is one of each row, too
        sides_of = [[side.T for side in pair] if which == "each column" else pair for pair in both]
        steps = {_step(y, x, size_of(own[0].shape)) for (y, x), own in zip(sides_of, both, strict=True)}
        bits = {bits for bits, _ in steps}
        if len(bits) == 1 and (many := bits.pop()):
            one = {step for _, step in steps}
            text = one.pop() if len(one) == 1 else "whole multiples of one step"
            return f"quantised to {many} bits: the values of {which} are {text}"
    for kind, grid in FLOATS_OF_8_BITS.items() if both else ():
        if all(y.size >= MIN_QUANTISED and _is_on_grid(y, x, grid) for y, x in both):
            return f"the values were rounded to {kind}, which has {grid.precision} significant bits"
    return ""


def _is_on_grid(actual: Floats, expected: Floats, grid: FloatGrid) -> bool:
    """Whether values are numbers of a type, and none is farther from the expected one than its rounding."""
    step = np.ldexp(1.0, np.maximum(np.frexp(expected)[1] - 1, grid.lowest) - grid.precision + 1)
    near = np.abs(actual - expected) <= (0.5 + MAX_STEP_GAP) * step
    return bool(near.all() and np.array_equal(to_grid(actual, None, grid), actual))


def _step(actual: Floats, expected: Floats, size: int) -> tuple[int, str]:
    """Return to how many bits blocks of this size were quantised, and their values; 0 bits where they were not."""
    if actual.size % size or actual.size < MIN_QUANTISED or size < MIN_LEVELS:
        return 0, ""
    have, want = (values.reshape(-1, size) for values in (actual, expected))
    zero, low = np.zeros((len(have), 1)), have.min(axis=1, keepdims=True)
    of_zero, high = np.abs(have).max(axis=1, keepdims=True), have.max(axis=1, keepdims=True)
    # of -8 .. 7 the largest is cut
    for first, last, levels, bits, most in (
        (zero, of_zero, 127, 8, 0.5), (zero, of_zero, 8, 4, 1.0), (zero, of_zero, 7, 4, 0.5), (low, high, 255, 8, 0.5),
    ):  # fmt: skip
        step = (last - first) / levels
        steps = (have - first) / np.where(step, step, 1.0)
        whole = np.abs(steps - np.rint(steps)) <= MAX_STEP_GAP
        varied = np.median(np.ptp(np.rint(steps), axis=1)) > 1  # one number is a multiple of any step
        if varied and whole.all() and (np.abs(have - want) <= (most + MAX_STEP_GAP) * step).all():
            one = f"{step.item():.4g}" if step.size == 1 else "one step"
            return bits, f"whole multiples of {one}" if first is zero else f"{levels + 1} numbers, {one} apart"
    return 0, ""


def _is_random(plane: Plane, *, drawn: bool) -> bool:
    if plane.array.dtype.startswith(("int", "uint", "bool", "complex")) or plane.rows < 8:
        return False
    values = plane.read(0, min(plane.rows, RANDOM_ROWS))[:, :RANDOM_ROWS]
    if min(values.shape) < 8 or not np.isfinite(values).all() or not (values.std(axis=0) > 0).all():
        return False
    by_distance = (values[1:, 1:] == values[:-1, :-1]).mean()
    if max(by_distance, np.unique(values, return_counts=True)[1].max() / values.size) > MAX_EQUAL:
        return False
    normal = (values - values.mean()) / values.std()
    spread = min(LARGEST_SPREAD, MAX_SPREAD / math.sqrt(len(values)))
    if drawn and ((np.abs(normal.std(axis=0) - 1) > spread).any() or (normal**4).mean() < MIN_KURTOSIS):
        return False
    return all(abs(float((rows[1:] * rows[:-1]).mean())) <= MAX_CORRELATION for rows in (normal, normal.T))


TRAINED = "no known formula gives these values, and 'weight' names what was trained"


def is_trained(table: Tabular) -> bool:
    """Whether all arrays are called what a model calls trained parameters."""
    return bool(table.arrays) and all(array.name.endswith("weight") for array in table.arrays)


# Values that show whether two arrays are related, how many standard errors their correlation may be, and by how much
# their deviations may differ, relative.
MIN_RELATED, RELATED_ERRORS, MAX_OTHER_SPREAD = 32, 3, 0.5
MAX_ALIKE = 0.05  # share of the values that may be equal, as zeros are


def same_numbers(pairs: list[tuple[ArrayView, ArrayView]]) -> bool:
    """Whether arrays hold the same different numbers as the expected ones do."""
    if any(view.rows * view.row_size > MAX_DRAWN for pair in pairs for view in pair):
        return False
    both = ([np.unique(read_floats(view, 0, view.rows)) for view in pair] for pair in pairs)
    return bool(pairs) and all(np.array_equal(have, want) for have, want in both)


def unrelated(pairs: list[tuple[ArrayView, ArrayView]]) -> Finding | None:
    """Return that values are unrelated to the expected ones, which are spread alike: drawn or trained anew."""
    for left, right in pairs:
        size = left.rows * left.row_size
        if left.plain_shape != right.plain_shape or not MIN_RELATED <= size <= MAX_DRAWN:
            return None
        y, x = (read_floats(view, 0, view.rows).ravel() for view in (left, right))
        if not (np.isfinite(y).all() and np.isfinite(x).all() and y.std() and x.std()):
            return None
        related = (y == x).mean() > MAX_ALIKE or abs(float(np.corrcoef(y, x)[0, 1])) > RELATED_ERRORS / math.sqrt(size)
        waves = any((((v - v.mean()) / v.std()) ** 4).mean() < MIN_KURTOSIS for v in (y, x))  # of other frequencies
        if related or waves or abs(y.std() / x.std() - 1) > MAX_OTHER_SPREAD:
            return None
        if np.array_equal(np.sort(y), np.sort(x)):
            return Finding("random", "the values are the expected ones, in another order")
    text = "the values are unrelated to the expected ones, though both are spread alike"
    return Finding("random", f"{text}: another draw, training or order") if pairs else None
