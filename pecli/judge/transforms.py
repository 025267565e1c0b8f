"""How all values of an array were made from the expected ones: scaled, rounded, added to, reordered, wrong columns."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

from pecli.formats.decimals import digits_text, how_printed, last_digits, printed_digits
from pecli.judge.description import harmless, value_texts
from pecli.judge.frequencies import MAX_FREQUENCY_DIGITS, MAX_REPEAT_GAP
from pecli.judge.identify import identify
from pecli.judge.orders import numbered
from pecli.judge.planes import EPSILON, Floats, is_large, only_array, rounded, truncated, unit
from pecli.judge.rows import floats as read_floats
from pecli.judge.waves import LOW_TYPES
from pecli.numbers.blocks import in_blocks
from pecli.numbers.decimals import shortest
from pecli.numbers.dtypes import GRIDS
from pecli.numbers.printing import figure, limit
from pecli.numbers.rounding import floats as as_floats
from pecli.spec.plans import Waves
from pecli.spec.tabular import Tabular
from pecli.tables.comparison import Comparison, Finding
from pecli.tables.table import Table
from pecli.tables.views import ArrayView, view_of

# Share of the rows that repeat the row before where positions were rounded.
MIN_COLLIDING = 0.2
# Values of a table with the only row of a file.
MAX_LONE_VALUES = 1 << 22
# Largest error of remade rows as a share of their largest value: of the 1e-5 that a layer norm adds to the variance.
MAX_REMADE_GAP = 1e-3
# Roundings of the expected values that a column divided by its deviation or range shows enlarged.
COLUMN_ERRORS = 4.0
# What a layer norm adds to the variance.
NORM_EPSILON = 1e-5
# Radians by which angles of float32 are off at position 131072, and those of values that are not.
MAX_ANGLE_GAP, MAX_TURN_GAP = 0.01, 0.005
# Whole turns that an angle may make from a place to the next, unseen.
MAX_WHOLE_TURNS = 2
# Values of a printed table whose wrong cells are looked for, and how many these may be.
MIN_CELLS, MAX_CELLS, MAX_FEW, MIN_DIFFERENT = 16, 1 << 16, 2, 6
# Fewest rows, or places of a map, that show a constant.
MIN_PLACES = 8
# Decimals of printed values that lost their decimal point.
MAX_LOST_DECIMALS = 8
# Largest rounding of values in float32.
MAX_FIRST_GAP = 1e-5


def remade(pairs: list[tuple[ArrayView, ArrayView]]) -> Finding | None:
    """Return how all values of each array were made from the expected ones: row by row, or with the wrong columns."""
    found = [_remade(*pair) for pair in pairs]
    return found[0] if found and all(one == found[0] for one in found) else None


def _remade(have: ArrayView, want: ArrayView) -> Finding | None:
    if max(view.rows * view.row_size for view in (have, want)) > MAX_LONE_VALUES:
        return None
    y, x = (read_floats(view, 0, view.rows) for view in (have, want))
    if y.shape == x.shape and (lost := lost_points(y, x)):
        return Finding("value", lost)
    if y.shape != x.shape or y.shape[1] % 2 or y.shape[1] < 4 or not np.isfinite(y).all():
        return None
    gap = MAX_REMADE_GAP * np.abs(y).max(initial=0)
    if np.abs(y - x).max(initial=0) <= gap:  # the expected values themselves are as near
        return None
    even, odd = x[:, ::2], x[:, 1::2]
    angle, at_even = np.hypot(y[:, ::2], y[:, 1::2]), np.arange(len(x))[:, None] % 2 == 0
    right = np.abs(np.exp(1j * angle) - (even + 1j * odd)) < MAX_ANGLE_GAP
    spread, length = x.std(1, keepdims=True), np.hypot.reduce(x, axis=1, keepdims=True)
    made = {
        "each row is standardised: its mean is subtracted, and it is divided by its deviation (layer norm)":
            (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + NORM_EPSILON),
        "each row is standardised: its mean is subtracted, and it is divided by its deviation":
            (x - x.mean(1, keepdims=True)) / np.where(spread > 0, spread, 1),
        "each column is standardised: its mean is subtracted, and it is divided by its deviation":
            (x - x.mean(0)) / np.where(x.std(0) > 0, x.std(0), 1),
        "each row is divided by its length (normalised)": x / np.where(length > 0, length, 1),
        "the mean of each column is subtracted": x - x.mean(0),
        "the mean of each row is subtracted": x - x.mean(1, keepdims=True),
        "values from -1 to 1 became whole numbers from 0 to 255: (x + 1) 127.5": np.rint((x + 1) * 127.5),
        "values from -1 to 1 became whole numbers from 0 to 255: (x + 1) 127.5, cut": np.floor((x + 1) * 127.5),
        "each column is scaled to 0 .. 1: its least value is subtracted, and it is divided by its range":
            (x - x.min(0)) / np.where(np.ptp(x, 0) > 0, np.ptp(x, 0), 1),
        "each odd column holds the cosine of the column before it, not of the angle":
            np.stack([even, np.cos(y[:, ::2])], 2).reshape(y.shape),
        "columns i and i + 1 were filled where 2i and 2i + 1 were expected: each sine stands over the cosine before it":
            np.concatenate([even, odd[:, -1:], 0 * odd[:, 1:]], 1),
        "all even columns stand before all odd ones: both were stacked along the first axis and reshaped":
            np.stack([even, odd]).reshape(y.shape),
        "even rows hold sines in all columns and odd rows cosines, where even and odd columns were expected to":
            np.where(at_even, np.repeat(even, 2, 1), np.repeat(odd, 2, 1)),
        "size and angle are exchanged: each angle multiplies cos 1 and sin 1, as torch.polar(angle, 1) does":
            np.where(right[..., None], np.stack([angle * np.cos(1), angle * np.sin(1)], 2), np.nan).reshape(y.shape),
    }  # fmt: skip
    if len(x) >= MIN_PLACES:
        row = np.median(y - x, axis=0)
        one = f"{figure(abs(row[0]))} is {'added to' if row[0] > 0 else 'subtracted from'} all values"
        made[one if np.ptp(row) <= gap else "one row of numbers is added to every row, such as a bias"] = x + row
    deviation = np.where(x.std(0) > 0, x.std(0), 1)
    rough = gap + COLUMN_ERRORS * max(EPSILON.get(view.dtype, 0.0) for view in (have, want)) / deviation
    near = ((text, rough if text.startswith("each column is") else gap) for text in made)
    text = next((text for text, most in near if (np.abs(made[text] - y) <= most).all()), None)
    return None if text is None else Finding("value", text)


def rounded_from(text: str, most: float) -> Finding:
    """Return the finding that values were rounded, which are so far off."""
    return Finding("type", f"{text}: up to {limit(most, 2)} off")


# Units in the last place that rounding to a type changes a value by, the value having been rounded to a wider one.
MAX_HALF = 0.5 + 2.0**-12
# Values that are printed to compare their digits.
MAX_PRINTED = 1 << 16


# Different values that show by their digits that they were printed, fewer digits than float32 has, and all decimals.
MIN_CUT, MAX_CUT, MAX_DECIMALS = 4, 6, 9


def rounded_values(pairs: list[tuple[ArrayView, ArrayView]]) -> Finding | None:
    """Return the finding that the values of one side are those of the other, rounded to a narrow type."""
    ways = (rounded, "were rounded to"), (truncated, "were cut, not rounded, to")
    both = [[read_floats(view, 0, view.rows) for view in pair] for pair in pairs]
    of_text = all(left.dtype in ("float32", "float64") for left, _ in pairs)
    error = max((EPSILON[left.dtype] for left, _ in pairs), default=0.0) if of_text else 0.0
    if of_text and any(
        printed_digits(y, error, MIN_CUT, MAX_CUT) for y, _ in both
    ):  # exact numbers of a narrow type have few, too
        alike = all(y.shape == x.shape for y, x in both)
        for printed in product(range(1, MAX_DECIMALS if alike else 0), (False, True)):
            slack = [2.0**-50 + error * np.abs(x) for _, x in both]
            ways_of = {how_printed(y, x, gap, printed) for (y, x), gap in zip(both, slack, strict=True)}
            last = [last_digits(y, *printed) for y, _ in both]
            whole = all(
                (np.abs(np.rint(y / step) * step - y) <= 4 * error * np.abs(y)).all()
                for (y, _), step in zip(both, last, strict=True)
            )
            if whole and ways_of == {"rounded"}:
                return Finding("decimals", f"all values are right, rounded to {digits_text(*printed)}")
        return None
    tried = [*product((*LOW_TYPES, "float32"), ways), ("float32", (_as_printed, "were rounded to"))]
    for kind, (how, done) in tried if pairs else ():
        for own, sides, words in (
            ("the expected values", [pair[::-1] for pair in pairs], "these were not"),
            ("the values", pairs, "the expected ones were not"),
        ):
            if (most := max(_rounded_gap(*side, kind, how) for side in sides)) < math.inf:
                text = f"{own} {done} {kind}, {words}"
                ulp = int(any(left.dtype != right.dtype for left, right in pairs))  # of the coarser type
                return harmless(text, most, ulp) if kind == "float32" else rounded_from(text, most)
    return None


def _as_printed(values: Floats, kind: str) -> Floats:
    """Return values rounded to a type and printed with the fewest digits that tell them apart, as in a csv file."""
    if values.size > MAX_PRINTED:
        return values
    return values.astype(kind).astype(str).astype(np.float64)


def _rounded_gap(have: ArrayView, want: ArrayView, kind: str, how: Callable[[Floats, str], Floats]) -> float:
    """Return by how much values differ that are others rounded to a type; infinity where they are not."""
    if have.plain_shape != want.plain_shape or have.dtype not in EPSILON or want.dtype not in EPSILON:
        return math.inf
    most = 0.0
    for at in in_blocks(0, have.rows, MAX_LONE_VALUES // max(1, have.row_size)):
        y, x = (read_floats(view, at.start, at.stop) for view in (have, want))
        same = (how(x, kind) == y) | (np.isnan(x) & np.isnan(y))
        if how is rounded and not same.all():  # of values between two of the type, which were rounded before
            same |= (rounded(y, kind) == y) & (np.abs(y - x) <= MAX_HALF * unit(x, kind))
        if not same.all():
            return math.inf
        most = max(most, float(np.abs(y - x, where=np.isfinite(y), out=np.zeros_like(y)).max(initial=0)))
    return most


def phase_rounding(
    pairs: Sequence[tuple[ArrayView, ArrayView]], table: Table, found: Comparison, *, printed: bool = False
) -> Finding | None:
    """Return the finding that values differ by no more than rounded phases do; None where they do, and for no waves.

    Float32 phases are looked for at uneven positions and over crossed axes: elsewhere, whoever measures waves or a grid
    knows more, but of float64's rounding of a grid.  With `printed`, the values of any table have few digits.
    """
    count, plan = table.part.count, table.plan
    if not pairs or not isinstance(plan, Waves):
        return None
    is_even = table.positions.is_range and plan.cross is None and "points" not in {*table.source.keys()}
    if not printed and is_even and not plan.axes:
        return None
    if any(view.rows != count or count * view.row_size > MAX_LONE_VALUES for pair in pairs for view in pair):
        return None
    largest: Floats  # angle, in radians
    farthest = [max(abs(axis.multiples[0]), abs(axis.multiples[-1])) * float(axis.unit) for axis in plan.axes]
    if plan.cross is not None and plan.axes:
        largest = np.zeros((1, plan.width))
        for factors, distance in zip(plan.cross.factors, farthest, strict=True):
            for columns in (plan.cross.sin, plan.cross.cos):
                largest[0, columns] += 2 * np.pi * np.abs(np.array(factors, np.float64)) * distance
    elif plan.cross is None and plan.bands and all(band.frequencies for band in plan.bands):
        at = np.abs(table.part.numbers(0, count))[:, None]
        fastest = [max(abs(float(w)) for w in band.frequencies) * float(band.magnitude) for band in plan.bands]
        turns = [2 * np.pi if band.turns else 1.0 for band in plan.bands]
        reach = [farthest[band.axis] if plan.axes else at for band in plan.bands]
        each = [a * b * c for a, b, c in zip(fastest, turns, reach, strict=True)]
        largest = np.max(each, axis=0)
    else:
        return None
    both = [[read_floats(view, 0, count) for view in pair] for pair in pairs]
    last, digits = [np.zeros(1) for _ in both], ""
    if printed:
        every = [_digits(left, y) for (left, _), (y, _) in zip(pairs, both, strict=True)]
        known = [one for one in every if one is not None]
        if len(known) < len(every):
            return None
        last = [last_digits(y, *one) for (y, _), one in zip(both, known, strict=True)]
        digits = digits_text(*min(known))
    phases = {kind: units * EPSILON[kind] * (2 + largest) for kind, units in (("float64", 8), ("float32", 2))}
    reasons = {  # of the many values of float64, some are farther off
        "rounding of float64 phases": phases["float64"],
        "rounding to float32": phases["float64"] + EPSILON["float32"],
        "rounding of float32 phases": phases["float32"],
    }
    for text, most in reasons.items() if printed or not is_even else [*reasons.items()][:1]:
        near = [most + MAX_HALF * step for step in last]
        if all(y.shape == x.shape and (np.abs(y - x) <= gap).all() for (y, x), gap in zip(both, near, strict=True)):
            if printed:
                text = f"rounding to {digits}" if "float64" in text else f"{text}, and to {digits}"
            return harmless(text, found.total.max_abs, 0 if printed else found.total.max_ulp)
    return None


def _digits(view: ArrayView, values: Floats) -> tuple[int, bool] | None:
    """Return the digits that the values of an array were printed with; None for values in full."""
    of_reals = view.dtype in ("float32", "float64")
    return printed_digits(values, EPSILON[view.dtype], most=MAX_FREQUENCY_DIGITS) if of_reals else None


def colliding(pairs: list[tuple[ArrayView, ArrayView]]) -> Finding | None:
    """Return the finding that many rows repeat the row before, where no expected row does."""
    if not pairs or max(view.rows * view.row_size for pair in pairs for view in pair) > MAX_LONE_VALUES:
        return None
    both = [[read_floats(view, 0, view.rows) for view in pair] for pair in pairs]
    have, want = ([(rows[1:] == rows[:-1]).all(axis=1) for rows in side] for side in zip(*both, strict=True))
    if len({len(again) for again in (*have, *want)}) != 1:
        return None
    again, count = np.all(have, axis=0), len(have[0])
    if max(left.row_size for left, _ in pairs) < 2 or any(left.lead > 1 for left, _ in pairs):
        return None  # numbers of a list, or copies along an axis, may be equal
    if not MIN_COLLIDING * count < np.count_nonzero(again) < count or np.all(want, axis=0).any():
        return None
    text = f"{np.count_nonzero(again)} of {count + 1} rows repeat the row before, which no expected row does"
    return Finding("rows", f"{text}, as where positions were rounded or stand still")


# Largest share of a matrix's smaller side that is a low rank, and roundings of the values that add to a rank.
MAX_RANK_SHARE, RANK_ROUNDINGS = 0.25, 4.0
MAX_UNCHANGED = 0.1  # share of its values that may be equal: any change of a single row has rank 1
MAX_RANKED = 1 << 20  # values of a matrix whose rank is computed, in up to half a second


def low_rank(pairs: list[tuple[ArrayView, ArrayView]]) -> Finding | None:
    """Return the finding that a matrix differs from the expected one by a matrix of low rank, as of an adapter."""
    if len(pairs) != 1 or pairs[0][0].plain_shape != pairs[0][1].plain_shape or pairs[0][0].dtype not in EPSILON:
        return None
    left, right = pairs[0]
    if len(left.plain_shape) != 2 or min(left.rows, left.row_size) < 2 or left.rows * left.row_size > MAX_RANKED:
        return None
    y, x = (read_floats(view, 0, view.rows) for view in (left, right))
    if not (np.isfinite(y).all() and np.isfinite(x).all()) or (y == x).mean() > MAX_UNCHANGED:
        return None
    error = RANK_ROUNDINGS * max(EPSILON[view.dtype] for view in (left, right) if view.dtype in EPSILON)
    least = error * np.abs(x).max()
    if any((np.abs(y - x).max(axis=axis) <= least).any() or np.ptp(y - x, axis).max() <= least for axis in (0, 1)):
        return None  # some rows or columns alone, or one number for each
    singular = np.linalg.svd(y - x, compute_uv=False)
    rank = int(np.count_nonzero(singular > least * math.sqrt(max(x.shape))))
    own = int(np.linalg.matrix_rank(x))  # of sines and cosines it is low, too
    if not 0 < rank <= MAX_RANK_SHARE * min(x.shape) or own < (1 - MAX_RANK_SHARE) * min(x.shape):
        return None
    return Finding("rank", f"the difference is a matrix of rank {rank}, as of a merged or missing adapter (LoRA)")


def without_function(pairs: list[tuple[ArrayView, ArrayView]]) -> Finding | None:
    """Return the finding that some columns hold the angles whose cosines or sines, or whose whole turns, lack."""
    if len(pairs) != 1 or pairs[0][0].plain_shape != pairs[0][1].plain_shape or pairs[0][0].dtype not in EPSILON:
        return None
    (left, right), most = pairs[0], MAX_ANGLE_GAP
    if left.rows * left.row_size > MAX_LONE_VALUES:
        return None
    y, x = (read_floats(view, 0, view.rows) for view in (left, right))
    wrong = np.flatnonzero((np.abs(y - x) > most).any(axis=0))
    have, want = y[:, wrong], x[:, wrong]
    turns = (want - have) / (2 * np.pi)
    if not len(wrong) or not np.isfinite(turns).all():
        return None
    if np.abs(turns - np.rint(turns)).max() <= most and np.ptp(want) > 2 * np.pi >= np.ptp(have):
        reach = "0 to 2 pi" if y.min() >= 0 else "-pi to pi"
        return Finding("angles", f"whole turns were taken off the angles, which lie in {reach}: harmless in a cosine")
    for name, function in (("cosine", np.cos), ("sine", np.sin)):
        if np.abs(function(have) - want).max() <= most < np.ptp(have) and len(wrong) < y.shape[1]:
            return Finding("angles", f"{numbered('column', wrong)} hold the angles: no {name} was taken of them")
    return None


def one_row(pairs: list[tuple[ArrayView, ArrayView]]) -> Finding | None:
    """Return the finding that all rows of each array are equal, where the expected ones are not."""
    if not pairs or not all(v.rows > 1 and 0 < v.rows * v.row_size <= MAX_LONE_VALUES for pair in pairs for v in pair):
        return None
    values = [[read_floats(view, 0, view.rows) for view in pair] for pair in pairs]
    have, want = zip(*([(rows == rows[:1]).all() for rows in pair] for pair in values), strict=True)
    if not all(have) or all(want):
        return None
    numbers = {*np.concatenate([y[0] for y, _ in values]).tolist()}
    if len(numbers) > 1:
        return Finding("rows", "every row is the same")
    return Finding("constant", f"all values are {numbers.pop() or 'zero'}".removesuffix(".0"))


def unlike_halves(pairs: list[tuple[ArrayView, ArrayView]]) -> Finding | None:
    """Return that half of the columns of a cache do not repeat the other half, which is right; else None."""
    if not pairs or max(v.rows * v.row_size for pair in pairs for v in pair) > MAX_LONE_VALUES:
        return None
    both = [[read_floats(view, 0, view.rows) for view in pair] for pair in pairs]
    half = both[0][0].shape[1] // 2
    halves = {
        "{} half of the columns": (np.s_[:, :half], np.s_[:, half:]),
        "{} column of each pair": (np.s_[:, ::2], np.s_[:, 1::2]),
    }
    for text, parts in halves.items():
        if not all(y.shape == x.shape == (len(x), 2 * half) and (x[parts[0]] == x[parts[1]]).all() for y, x in both):
            continue
        right = [all(np.abs(y[part] - x[part]).max(initial=0) <= MAX_FIRST_GAP for y, x in both) for part in parts]
        if right in ([True, False], [False, True]):
            wrong, other = ("second", "first") if right[0] else ("first", "second")
            return Finding("columns", f"the {text.format(wrong)} does not repeat the {other}, which is right")
    return None


def few_cells(pairs: list[tuple[ArrayView, ArrayView]]) -> list[Finding]:
    """Return which few values of a printed table are wrong, where all others are right to its decimals; else []."""
    if len(pairs) != 1 or pairs[0][0].plain_shape != pairs[0][1].plain_shape or pairs[0][0].dtype not in EPSILON:
        return []
    (left, right), name = pairs[0], pairs[0][0].name
    if min(left.rows, left.row_size) < 2 or not MIN_CELLS <= left.rows * left.row_size <= MAX_CELLS:
        return []
    y, x = (read_floats(view, 0, view.rows) for view in (left, right))
    printed = printed_digits(y, EPSILON[left.dtype], MIN_DIFFERENT)
    if printed is None or printed[1] or y.shape != x.shape:
        return []
    half = 0.5 * 0.1 ** printed[0] * (1 + MAX_FIRST_GAP) + EPSILON[left.dtype]
    wrong = np.argwhere(~(np.abs(y - x) <= half))
    if len(wrong) > MAX_FEW:
        return []
    text = f"all {'others' if len(wrong) else 'values'} are right, rounded to {digits_text(*printed)}"
    want = np.round(x, printed[0])
    cells = [(f"{name}[{r}, {c}]", float(y[r, c]), float(want[r, c]), left.dtype) for r, c in wrong]
    return [*(Finding("value", one) for one in value_texts(cells)), Finding("decimals", text)]


def moved_coordinates(pairs: list[tuple[ArrayView, ArrayView]]) -> Finding | None:
    """Return that the angle of each pair is off by a constant, or advances by a share of the expected one; else None.

    The columns of an array, or the channels of a map, are pairs of sines and cosines.
    """
    if len(pairs) != 1 or pairs[0][0].plain_shape != pairs[0][1].plain_shape or pairs[0][0].dtype not in GRIDS:
        return None
    shape = pairs[0][0].plain_shape
    if math.prod(shape) > MAX_LONE_VALUES:
        return None
    y, x = (read_floats(view, 0, view.rows).reshape(shape) for view in pairs[0])
    for axis in (k for k in range(len(shape)) if shape[k] % 2 == 0 and y.size > MIN_PLACES * shape[k] > MIN_PLACES):
        own, want = (np.moveaxis(values, axis, 0) for values in (y, x))
        half = len(own) // 2
        for first, second in ((np.s_[:half], np.s_[half:]), (np.s_[::2], np.s_[1::2])):
            a, b = (part[first] + 1j * part[second] for part in (own, want))
            even = max(np.ptp(np.abs(z)) for z in (a, b)) <= MAX_TURN_GAP
            if not even or not np.ptp(np.angle(b.reshape(half, -1)), 1).all():
                continue
            turn = a * b.conj() / np.maximum(np.abs(b) ** 2, np.finfo(float).tiny)
            usual = turn.reshape(half, -1).mean(axis=1).reshape(half, *[1] * (turn.ndim - 1))
            most = float(np.abs(np.angle(usual)).max())
            if np.abs(turn - usual).max() <= min(MAX_TURN_GAP, most / 10):
                where = "rows" if len(shape) == 2 else "places"
                which = "each pair" if (np.abs(np.angle(usual)) > EPSILON["float32"]).all() else "some pairs"
                text = f"the angle of {which} is off by a constant, the same at all {where}"
                moved = _shift(usual.reshape(half), b)
                how = f": coordinates are shifted by {moved} steps" if moved else ", as if coordinates were shifted"
                return Finding("start", text + how)
            ratios = {_advance_ratio(a, b, k) for k in range(1, a.ndim) if a.shape[k] >= MIN_PLACES} - {None}
            if len(ratios) == 1 and (ratio := ratios.pop() or 0.0) not in (0.0, 1.0):
                if abs(ratio * 2 * np.pi - 1) < MAX_TURN_GAP:
                    return Finding("frequency", "the factor 2 pi is missing from every angle")
                text = f"coordinates advance by {ratio:.6g} times the expected step"
                return Finding("frequency", f"{text}, along every axis, as where they have another range")
    return None


def _shift(turns: NDArray[np.complex128], want: NDArray[np.complex128]) -> str:
    """Return by how many steps coordinates are shifted along each axis, where that gives all turns; else ""."""
    steps = []
    for axis in range(1, want.ndim):
        z = np.moveaxis(want, axis, 1)
        steps.append(np.angle((z[:, 1:] * z[:, :-1].conj()).reshape(len(z), -1).mean(axis=1)))
    use, rates = np.abs(np.angle(turns)) < np.pi / 2, np.stack(steps, axis=1)
    if np.count_nonzero(use) < 2 * len(steps):
        return ""
    by = np.linalg.lstsq(rates[use], np.angle(turns)[use], rcond=None)[0]
    short = [float(shortest(value - MAX_TURN_GAP, value + MAX_TURN_GAP)) for value in by.tolist()]
    if not any(short) or np.abs(np.exp(1j * (rates @ short)) - turns / np.abs(turns)).max() > 4 * MAX_TURN_GAP:
        return ""
    return f"{short[0]:g}" if len({*short}) == 1 else " and ".join(f"{value:g}" for value in short)


def _advance_ratio(have: NDArray[np.complex128], want: NDArray[np.complex128], axis: int) -> float | None:
    """Return how many times as fast as expected all angles advance along an axis; None of none, 0 of unlike ones."""
    steps = []
    for z in (have, want):
        z = np.moveaxis(z, axis, 1)
        turns = (z[:, 1:] * z[:, :-1].conj()).reshape(len(z), -1)
        usual = turns.mean(axis=1)
        if np.abs(turns - usual[:, None]).max() > 2 * MAX_TURN_GAP:
            return 0.0
        steps.append(np.angle(usual))
    own, other = steps
    clear = (np.abs(other) > 10 * MAX_TURN_GAP) & (np.abs(other) < np.pi / 4)
    if np.abs(other).max() <= MAX_TURN_GAP and np.abs(own).max() <= MAX_TURN_GAP:
        return None
    if not clear.any():
        return 0.0
    ratio = float(
        shortest(*sorted(np.median(own[clear] / other[clear]) * (1 + sign * MAX_TURN_GAP) for sign in (-1, 1)))
    )
    whole = other + 2 * np.pi * np.arange(-MAX_WHOLE_TURNS, MAX_WHOLE_TURNS + 1)[:, None]
    off = np.abs(np.exp(1j * ratio * whole) - np.exp(1j * own)).min(axis=0)
    plain = np.abs(np.exp(1j * other) - np.exp(1j * own)).max()  # which the ratio must explain
    return ratio if off.max() <= min(4 * MAX_TURN_GAP * max(1.0, ratio), plain / 4) else 0.0


def of_one_matrix(actual: Tabular, expected: Tabular) -> list[Finding]:
    """Return how Fourier features differ, where the matrix B is the same in both files; else []."""
    have, want = identify(actual), identify(expected)
    _, is_near, text = have.unknown.partition(f"nearly {want.recipe}: ")
    return (
        [Finding("value", text), Finding("expected", f"the expected values are {want.values_text}")] if is_near else []
    )


def left_padding(copy: Tabular, right: Tabular) -> int:
    """Return after how many rows a copy begins with the rows of the right one; 0 where it does not."""
    own, other = (np.concatenate([read_floats(view_of(t, a), 0, a.rows) for a in t.arrays], 1) for t in (copy, right))
    last = int((own[-1:] == other).all(axis=1).argmax())
    pad = len(own) - 1 - last
    return pad if last and (own[pad:] == other[: last + 1]).all() else 0


MIN_GATHERED = 4  # different entries of a table that a bias shows


def gathered(actual: Tabular, expected: Tabular) -> list[Finding]:
    """Return that a bias (heads, q, k) holds what a table (entries, heads) does, gathered by an index; [] where not."""
    have, want = only_array(actual), only_array(expected)
    if have is None or want is None or not have.bytes or is_large(actual) or is_large(expected):
        return []
    bias, entries = ([side for side in array.shape if side != 1] for array in (have, want))
    if len(bias) != 3 or len(entries) != 2 or bias[0] != entries[1] or math.prod(bias[1:]) <= entries[0]:
        return []
    y, x = (as_floats(t.read(a.name), a.dtype) for t, a in ((actual, have), (expected, want)))
    held, known = ({row.tobytes() for row in rows} for rows in (y.reshape(bias[0], -1).T.copy(), x.reshape(entries)))
    if not held <= known or len(known) < len(x) or len(held) < MIN_GATHERED:
        return []
    own = identify(actual)
    index = f" of {own.short}" * (own.confidence == "sure")
    return [Finding("form", f"the bias is gathered from the expected table by the index{index}, with the same values")]


def reordered(pairs: Sequence[tuple[ArrayView, ArrayView]]) -> list[Finding]:
    """Return that all rows are the expected ones in another order, some of them alike; [] where they are not."""
    sides = list(zip(*pairs, strict=True))
    if not pairs or len({view.rows for side in sides for view in side}) != 1:
        return []
    if sum(view.rows * view.row_size for view in sides[0]) > MAX_LONE_VALUES:
        return []
    have, want = (np.concatenate([read_floats(view, 0, view.rows) for view in side], 1) for side in sides)
    if have.shape != want.shape or np.isnan(have).any() or np.array_equal(have, want):
        return []
    have, want = (rows[np.lexsort(rows.T[::-1])] for rows in (have, want))
    return [Finding("rows", "the rows are the expected ones in another order")] if (have == want).all() else []


def cut_in_halves(pairs: Sequence[tuple[ArrayView, ArrayView]]) -> list[Finding]:
    """Return that two arrays are the halves of one whose columns are cosines and sines in turn; [] of others."""
    if len(pairs) != 2 or len({view.plain_shape for pair in pairs for view in pair}) != 1 or pairs[0][0].lead != 1:
        return []
    if any(view.rows * view.row_size > MAX_LONE_VALUES or view.row_size % 2 for pair in pairs for view in pair):
        return []
    have, want = ([read_floats(view, 0, view.rows) for view in side] for side in zip(*pairs, strict=True))
    most = MAX_ANGLE_GAP + 2 * max(EPSILON.get(left.dtype, 0.0) for left, _ in pairs)
    for (a, b), (first, second) in product(((0, 1), (1, 0)), repeat=2):
        whole = np.concatenate([have[a], have[b]], axis=1)
        gaps = (whole[:, ::2] - want[first], whole[:, 1::2] - want[second])
        if all(np.abs(gap).max(initial=0.0) <= most for gap in gaps):
            names, half = [left.name for left, _ in pairs], pairs[0][0].row_size // 2
            turn = f"{pairs[first][1].name} and {pairs[second][1].name}"
            text = f"columns of {turn} in turn were cut in halves: {names[a]} holds pairs 0 to {half - 1}"
            return [Finding("columns", f"{text}, {names[b]} the others")]
    return []


def lost_points(have: Floats, want: Floats) -> str:
    """Return which printed values lack their decimal point, where all others are right to as many decimals; else ""."""
    for k in range(1, MAX_LOST_DECIMALS + 1):
        half = 0.5 * 0.1**k * (1 + MAX_REPEAT_GAP)
        lost = (np.abs(have * 0.1**k - want) <= half) & (have == np.rint(have)) & (np.abs(have - want) > half)
        if lost.any() and (np.abs(have - want) <= half)[~lost].all():
            at, some = np.argwhere(lost), "value lacks its" if np.count_nonzero(lost) == 1 else "values lack their"
            first = f"{have[lost][0]:g} in row {at[0][0]}, column {at[0][1]} for {have[lost][0] * 0.1**k:.{k}f}"
            return f"{len(at)} {some} decimal point, such as {first}; the others are right to {k} decimals"
    return ""


# Rows that show whether values were cut, and the share of them that may be farther from zero.
CUT_ROWS, MAX_FARTHER = 1 << 10, 0.02


def cut_values(findings: list[Finding], pairs: Sequence[tuple[ArrayView, ArrayView]]) -> list[Finding]:
    """Return findings on a narrower type, where no rounding gives numbers as near to zero."""
    both = [[np.abs(read_floats(view, 0, min(view.rows, CUT_ROWS))) for view in pair] for pair in pairs]
    farther = [(y > x)[y != x].mean() for y, x in both if y.shape == x.shape and (y != x).any()]
    if not farther or max(farther) > MAX_FARTHER:  # of rounded ones half are farther from zero
        return findings
    text = findings[0].text.replace(" rounded to ", " cut instead of rounded to ", 1)
    return [findings[0]._replace(text=text), *findings[1:]]


def slightest(pairs: Sequence[tuple[ArrayView, ArrayView]]) -> Finding | None:
    """Return that cosines and sines differ by less than a rounding to float32, as where a recipe's numbers were cut."""
    both = ([read_floats(view, 0, view.rows) for view in pair] for pair in pairs)
    gaps = [np.abs(y - x).max(initial=0) if y.shape == x.shape else math.inf for y, x in both]
    most = float(max(gaps, default=math.inf))
    return harmless("less than a rounding to float32", most, 0) if most < EPSILON["float32"] else None
