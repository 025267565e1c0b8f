"""Differences of a table over several axes from an expected one, in the words of whoever made the mistake.

Two descriptions of the file are compared with the expected recipe: the recipe that the file follows, and, for mistakes
that no recipe makes, the coordinates that the pairs of each axis show.  The shorter one is reported.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise, product
from typing import NamedTuple

import numpy as np

from pecli.judge import grids
from pecli.judge.description import COPIES, TWICE, UNLIKE, harmless, is_rounding
from pecli.judge.orders import numbered, span
from pecli.judge.planes import EPSILON, Integers
from pecli.judge.rows import floats
from pecli.judge.signal import Signal, phasors, positions_in_steps
from pecli.numbers.printing import limit
from pecli.spec.hooks import parameter_text
from pecli.spec.measured import Floats, Named
from pecli.spec.plans import Waves
from pecli.spec.recipe import Recipe
from pecli.spec.tabular import Tabular
from pecli.tables.comparison import Comparison, Finding
from pecli.tables.table import Table
from pecli.tables.views import ArrayView

# Smallest share of the values that a reported description reproduces; corrupted values may be left.
MIN_SHARE_EXPLAINED = 0.998
# Rows by which pairs are distinguished.
SAMPLE_ROWS = 512
# Values of a table whose coordinates are measured row by row; of more, it would take seconds.
MAX_VALUES = 1 << 22
# Share of the space between coordinates that one may be off by: bfloat16 leaves 0.02.
MAX_COORDINATE_GAP = 0.1
# Largest rounding of float32 phases in columns that are compared with those of another axis.
MAX_COLUMN_GAP = 2e-5
# Share of it that is no part of a whole or half number of spaces.
MIN_PART = 0.02
# Runs of rows to whose coordinates different numbers are added; of more, the place says more.
MAX_PARTS = 4
# Of a factor of coordinates: its relative error, that of a ratio unless the type's is larger, the ratio's largest side.
MAX_FACTOR_GAP, MAX_RATIO_GAP, MAX_SIDE = 2.0**-14, 2.0**-20, 256
# Factors of all coordinates that have a name, and what is said of them.
UNITS = {
    2 * np.pi: "every angle is 2 pi times the expected one",
    0.5 / np.pi: "2 pi is missing: every angle is the expected one over 2 pi",
    np.pi: "every angle is pi times the expected one",
    1 / np.pi: "pi is missing: every angle is the expected one over pi",
}
# Layouts of doubled columns.
PAIRINGS = {"half", "half-axis", "interleaved"}
NAMES = {1: ("position",), 2: ("height", "width"), 3: ("frame", "height", "width")}


def grid_differences(actual: Tabular, expected: Table, compared: Comparison) -> list[Finding] | None:
    """Return the differences of a table from an expected one over several axes, the cause first.

    Returns
    -------
    list of Finding or None
        None where the expected table is none over several axes, or where no description gives the values.
    """
    plan = expected.plan
    if not isinstance(plan, Waves) or not plan.axes or not plan.bands:
        return None
    pairs = grids.PlannedPairs.of(plan)
    if len({band.axis for band in plan.bands}) < 2 and not pairs.ascending:
        return None
    answers: list[list[Finding]] = []
    with np.errstate(all="ignore"):
        for view in grids.views(actual):
            found = _of_view(view, pairs, expected, compared)
            if found == []:  # at most a few values differ: their place is the answer
                return found
            answers += [found] if found is not None else []
    return min(answers, key=_size, default=None)


def _size(findings: Sequence[Finding]) -> tuple[bool, int]:
    return findings[0].kind == "encoding", len(findings)


def _of_view(
    view: grids.AxisView, pairs: grids.PlannedPairs, expected: Table, compared: Comparison
) -> list[Finding] | None:
    """Return the differences of one view of a table."""
    planned = list(grids.planned_grids(view.few(SAMPLE_ROWS), pairs))
    for grid in planned:
        findings = _same(grid, expected, compared)
        if findings is not None:
            return _arranged(findings, grid, expected)
        if grid.reading is None and _explained(grid, pairs._replace(cos=pairs.sin, sin=pairs.cos)):
            first = "cosines" if pairs.sin[0] < pairs.cos[0] else "sines"
            exchanged = Finding("exchanged", f"sin and cos are exchanged: the {first} come first")
            return _arranged([exchanged], grid, expected)
    features = [grid for grid in planned if grid.reading is None] if pairs.ascending else []
    both = ((grid, _by_recipe(grid, pairs, expected)) for grid in (*features, *grids.grids_of(view)))
    found = [_arranged(findings, grid, expected) for grid, findings in both if findings]
    if not any(len(findings) == 1 and findings[0].kind != "encoding" for findings in found):
        if mistake := _mistake(view, pairs.plan, expected):
            return mistake
        for grid in planned:
            own = _by_coordinates(grid, pairs, expected)
            if own is not None and not (own := _arranged(own, grid, expected)):
                return []
            found += [own] if own else []
    return min(found, key=_size, default=None)


def _mistake(view: grids.AxisView, plan: Waves, expected: Table) -> list[Finding]:
    """Return the mistake in the frequencies, of those that the encoding declares, which gives the values; else []."""
    encoding = expected.source.encoding
    for change in encoding.hook("mistakes")(expected.source.keys()) if encoding.declares("mistakes") else ():
        if change.waves is None:
            continue
        pairs = grids.PlannedPairs.of(change.waves(plan))
        for grid in grids.planned_grids(view.few(SAMPLE_ROWS), pairs):
            if _explained(grid, pairs):
                return _arranged([Finding(change.kind, change.text)], grid, expected)
    return []


def _arranged(found: list[Finding], grid: grids.Grid, expected: Table) -> list[Finding]:
    """Return findings with those on the arrangement of the array, where no recipe has it, before those on rounding."""
    view, own = grid.view, list[Finding]()
    shapes = f"shape {view.planes[0].array.shape} where {expected.arrays[0].shape} was expected"
    if view.channels_first:
        own.append(Finding("channels", f"the channels come before the grid: {shapes}"))
        many, alike = grids.tables_of(view)
        text = COPIES.format(many) if alike else f"{UNLIKE}; the first is compared"
        own += [Finding("batch", text)] * (many > 1)
    if grid.reading is not None and grid.reading.layout in grids.JOINED:
        want, have = expected.request.layout, grids.pairing_of(grid.reading)
        other = f", {have} where {want} was expected" * ({want, have} == {"half", "interleaved"})
        own.append(Finding("layout", f"{grid.reading.layout}{other}: {shapes}"))
    elif grid.reading is not None and {expected.request.layout, grids.pairing_of(grid.reading)} == {*TWICE}:
        words = [TWICE[one] for one in (grids.pairing_of(grid.reading), expected.request.layout)]
        own.append(Finding("layout", "the columns are {} where {} ones were expected".format(*words)))
    later = [one for one in found if one.kind == "rounding"]
    return [*(one for one in found if one not in later), *own, *later]


def _same(grid: grids.Grid, expected: Table, found: Comparison) -> list[Finding] | None:
    """Return the rounding, or the few corrupted values, that explain all differences; None where there are others."""
    name = grids.fitted(grid, expected.source.encoding.name, Named(expected.source.keys(), np.empty(0)))
    want = "half-axis" if expected.source.keys().get("halves") == "axis" else expected.request.layout
    layouts = {want, "" if grid.reading is None else grids.pairing_of(grid.reading)}
    if name is None or (len(layouts) > 1 and layouts <= PAIRINGS):
        return None
    dtype, tally = grid.view.dtype, grids.compare_all(grid, name.pairs)
    if tally.unexplained:  # whoever compares values knows more
        return None
    if name.pairs.kind != "float64":
        off = f": values are off by up to {limit(most, 2)}" if (most := found.total.max_abs) else ""
        what = "phases were computed in" if name.pairs.bases else "frequencies were rounded to"
        text = f"{what} {name.pairs.kind}{off}"
        return [Finding("rounding", text)]
    if tally.equal == tally.count and dtype != expected.arrays[0].dtype:
        return [Finding("rounding", f"all values are rounded to {dtype}: harmless where that is the type")]
    arithmetic = name.arithmetic(tally)
    how = "rounding alone" if arithmetic == "exact" else f"{arithmetic} rounding alone"
    joined = grid.reading is not None and grid.reading.layout in grids.JOINED
    if tally.equal == tally.count and (joined or grid.view.channels_first):
        return [Finding("rounding", "the values are equal: harmless")]
    if tally.equal == tally.count or arithmetic == "unknown":
        return []
    if joined or not found.total.max_abs:  # of tables that have different shapes, which no tolerance accepts
        return [Finding("rounding", f"{how}, at most {limit(tally.residual, 1)}: harmless")]
    if not is_rounding(found.total.max_abs, tally.residual):
        return None
    return [harmless(how, found.total.max_abs, found.total.max_ulp)]


# by recipe ----------------------------------------------------------------------------------------


def _by_recipe(grid: grids.Grid, pairs: grids.PlannedPairs, expected: Table) -> list[Finding] | None:
    """Return the parameters that differ in the recipe of the file."""
    own = expected.source.encoding.name
    odd = (1 - MIN_SHARE_EXPLAINED) * grid.view.planes[0].rows * grid.view.planes[0].width
    known = [name for name in grids.names_of(grid) if not name.named.inputs]  # no recipe has points without a file
    names = [name for name in known if grids.compare_all(grid, name.pairs).unexplained <= odd]
    name = next((name for name in names if name.encoding == own), names[0] if names else None)
    if name is None:
        return None
    if name.encoding != own:  # an array that lost columns is no other encoding
        text = f"{name.recipe} where {own} was expected"
        return [Finding("encoding", text)] if name.pairs.plan.width == pairs.plan.width else None
    keys, recipe, want = name.named.keys, Recipe.bind(own, **name.named.keys), expected.source.keys()
    # no defaults of other choices
    have = {key: text for key, text in recipe.keys().items() if key in want or key in keys}
    optional = {parameter.option for parameter in recipe.encoding.parameters.values() if parameter.default is None}
    want = {key: text for key, text in want.items() if key in have or key in optional}
    differ = [key for key in want if have.get(key) != want[key]]
    for key in differ:  # a parameter without effect on the values is not reported
        other = grids.fitted(grid, own, Named({**have, key: want[key]}, np.empty(0)))
        if other is None or other.pairs.plan.parts != name.pairs.plan.parts:  # other columns, with the same pairs
            continue
        if grids.compare_all(grid, other.pairs).unexplained <= odd:
            have[key] = want[key]
    return _parameters(have, want)


# Order in which differing parameters are reported: the parameters that change most rows or columns first.
RANK = {"prefix": 0, "suffix": 0, "grid": 1, "order": 2, "axes": 3, "sections": 3, "section-order": 3, "axis-order": 4}


def _parameters(actual: Mapping[str, str], expected: Mapping[str, str]) -> list[Finding]:
    """Return one finding for each parameter that differs, or for several of one cause."""
    differ = {key: (actual[key], expected.get(key, "")) for key in actual if actual[key] != expected.get(key, "")}
    found = [Finding(key, parameter_text(key, "", text)) for key, text in expected.items() if key not in actual]
    other_order = "x".join(reversed(expected.get("grid", "").split("x")))
    if {"grid", "axis-order"} <= differ.keys() and actual["grid"] == other_order:
        del differ["grid"], differ["axis-order"]
        found.append(Finding("order", "rows are in column-major order where row-major order was expected"))
    for key, (have, want) in differ.items():
        outer = key in ("prefix", "suffix")
        found.append(_outer(key, int(have), int(want)) if outer else Finding(key, _words(key, have, want, actual)))
    return sorted(found, key=lambda finding: RANK.get(finding.kind, 5))


def _outer(key: str, have: int, want: int) -> Finding:
    """Return that rows before or after the grid are missing, or too many."""
    count = abs(want - have)
    rows = "the row of the class token" if count == 1 else f"{count} rows of text or special tokens"
    where = f"{'before' if key == 'prefix' else 'after'} the grid {'is' if count == 1 else 'are'}"
    return Finding(key, f"{rows} {where} {'missing' if have < want else 'not expected'}")


# Message for each parameter whose name and values alone say too little.
SENTENCES = {
    "axes": "axis widths {have} where {want} were expected",
    "axis-order": "height and width are exchanged in the columns (axis-order {have} where {want} was expected)",
    "sections": "sections {have} where {want} were expected",
    "section-order": "the sections are {have} where {want} ones were expected",
    "order": "columns in the order {have} where {want} was expected",
    "first": "coordinates start at {have} where {want} was expected",
    "base-size": "coordinates are times {have} over the side (base-size {have} where {want} was expected)",
    "halves": "columns are repeated {have} where {want} was expected (halves)",
    "shift": "shift {have} where {want} was expected: exponents are over the number of pairs less {have}",
    "merge": "rows are {have} where they were expected {want} (merge)",
}


# What exponents were divided by where a base is a power of the expected one.
WIDTHS = {0.5: ", or exponents over twice the width of an axis", 2.0: ", or exponents over half the width of an axis"}


def _is_power(have: str, want: str, times: float) -> bool:
    """Whether a base is the expected one to a power; of a base for each axis it is not asked."""
    return "+" not in have + want and math.isclose(float(have), float(want) ** times, rel_tol=MAX_FACTOR_GAP)


def _words(key: str, have: str, want: str, actual: Mapping[str, str]) -> str:
    """Return the message on a parameter that differs."""
    if key == "merge":
        have, want = ("in row-major order" if n in ("", "1") else f"in blocks of {n} x {n}" for n in (have, want))
    if key == "halves":
        have, want = ("all together" if word in ("", "whole") else "axis by axis" for word in (have, want))
    if key in ("max-resolution", "coordinate-scale"):
        have, want = (word or {"max-resolution": "the grid's side"}.get(key, "2 pi") for word in (have, want))
    if key not in SENTENCES:
        over = next((over for times, over in WIDTHS.items() if key == "base" and _is_power(have, want, times)), "")
        return parameter_text(key, have, want) + over
    text = SENTENCES[key].format(have=have or "none", want=want or "none", sections=actual.get("sections"))
    return text.replace(" less 0", "")


def columns_of_other_axes(views: Sequence[tuple[ArrayView, ArrayView]], expected: Table) -> list[Finding]:
    """Return which columns follow another axis at their own frequency, as where axes are split elsewhere; else []."""
    plan, found = expected.plan, dict[int, set[tuple[int, int]]]()
    if not isinstance(plan, Waves) or len(plan.axes) < 2 or not plan.bands or plan.ramps:
        return []
    pairs, rows = grids.PlannedPairs.of(plan), np.arange(plan.prefix, (plan.rows or 0) - plan.suffix)
    at = pairs.coordinates(rows)
    angles = np.stack([np.outer(pairs.values(a)[at[:, a]], pairs.frequencies) for a in range(at.shape[1])])
    for left, right in views:
        if left.shape != right.shape or left.rows != plan.rows or left.rows * left.row_size > MAX_VALUES:
            return []
        y, x = (floats(view, 0, view.rows)[rows] for view in (left, right))
        near = MAX_COLUMN_GAP + 2 * EPSILON.get(left.dtype, 0.0)
        wrong = np.flatnonzero((np.abs(y - x) > near).any(axis=0))
        if 4 * len(wrong) > x.shape[1]:
            return []
        for column in wrong.tolist():
            ways = set[tuple[int, int]]()
            for wave, pair in product((np.cos, np.sin), range(len(pairs.axis))):
                own = int(pairs.axis[pair])
                if np.abs(wave(angles[own, :, pair]) - x[:, column]).max() <= near:
                    gaps = np.abs(wave(angles[:, :, pair]) - y[:, column]).max(axis=1)
                    ways |= {(own, other) for other in np.flatnonzero(gaps <= near).tolist()}
            found[column] = found.get(column, ways) & ways
    if not found or any(len(ways) != 1 for ways in found.values()):
        return []
    names, texts = NAMES.get(len(plan.axes), tuple(f"axis {k}" for k in range(len(plan.axes)))), list[str]()
    for own, other in sorted(set().union(*found.values())):
        which = [column for column, ways in found.items() if (own, other) in ways]
        follow = f"{numbered('column', np.array(which))} {'follows' if len(which) == 1 else 'follow'}"
        texts.append(f"{follow} the {names[other]} where the {names[own]} was expected")
    return [Finding("axes", f"{', '.join(texts)}: the axes are split elsewhere")]


# by coordinates -----------------------------------------------------------------------------------


class Stream(NamedTuple):
    """Coordinates of the rows on one axis, as the file has them: those of an axis, times a factor, plus some steps.

    `source` is the number of the axis, -1 where rows count the table from 0, and -2 where no coordinate moves; a step
    is the space between the expected coordinates.
    """

    source: int
    factor: float
    added: Floats


def _by_coordinates(grid: grids.Grid, pairs: grids.PlannedPairs, expected: Table) -> list[Finding] | None:
    """Return how the coordinates of the rows differ; None where pairs at the expected frequencies do not show them."""
    view, plan = grid.view, pairs.plan
    if view.total != plan.rows or view.total * view.planes[0].width > MAX_VALUES or pairs.plan.ramps:
        return None
    rows = np.arange(plan.prefix, view.total - plan.suffix)
    at = pairs.coordinates(rows)
    want = np.stack([pairs.values(a)[at[:, a]] for a in range(at.shape[1])], axis=1)
    slowest = pairs.axis[np.argmin(np.where(pairs.frequencies > 0, pairs.frequencies, np.inf))]
    guess, streams = _places(grid, pairs, slowest, rows), list[Stream]()
    for axis in range(at.shape[1]):
        fast = pairs.frequencies[pairs.axis == axis].min() * np.abs(guess).max() > np.pi  # turns would be lost
        places = _places(grid, pairs, axis, rows, guess if fast else None)
        stream = _stream(places, want, axis, max(MAX_RATIO_GAP, EPSILON[view.dtype] / 2))
        if stream is None:
            return None
        streams.append(stream)
    sources = [*want.T, np.zeros(len(rows)), np.arange(len(rows), dtype=float)]  # -2 and -1 are the last ones
    parts = [s.factor * sources[s.source] + s.added * _space(own) for s, own in zip(streams, want.T, strict=True)]
    have = np.stack(parts, axis=1)
    changed = pairs._replace(streams=np.pad(have, ((plan.prefix, plan.suffix), (0, 0))))
    if not _explained(grid, changed):
        return None
    if any(np.count_nonzero(np.diff(stream.added)) >= MAX_PARTS for stream in streams):
        return _other_grid(have, want)
    if np.count_nonzero(np.diff(_edges(streams)[1]) == 1) > 1:  # rows that stand elsewhere
        return None
    return list(_coordinate_words(streams, want, pairs, expected.source.keys()))


def _edges(streams: Sequence[Stream]) -> tuple[Floats, list[int]]:
    """Return what is added to coordinates, and where runs of rows begin to which the same is; last, their end."""
    added = np.stack([stream.added for stream in streams], axis=1)
    return added, [0, *(np.flatnonzero((np.diff(added, axis=0) != 0).any(axis=1)) + 1).tolist(), len(added)]


def _explained(grid: grids.Grid, pairs: grids.PlannedPairs) -> bool:
    """Whether changed pairs of the expected plan give nearly all values."""
    rows = pairs.plan.rows or 0
    if not grid.view.total <= rows <= MAX_VALUES:  # some rows have no coordinate, or an axis is too long to hold
        return False
    return grids.compare_all(grid, pairs).explained >= MIN_SHARE_EXPLAINED


def _other_grid(have: Floats, want: Floats) -> list[Finding] | None:
    """Return that rows are the first ones of a grid of another width; None where they follow no grid."""
    if want.shape[1] != 2:
        return None
    levels = (have - want.min(axis=0)) / [_space(own) for own in want.T]
    across = int(np.argmax(np.diff(levels[:, 1]) < 0)) + 1
    if across < 2 or not np.array_equal(levels, np.stack(np.divmod(np.arange(len(want)), across), axis=1)):
        return None
    cells = "x".join(str(len(np.unique(own))) for own in want.T)
    text = f"the rows are the first {len(want)} of a grid of {across} columns where a grid of {cells} was expected"
    return [Finding("grid", text)]


def _places(
    grid: grids.Grid, pairs: grids.PlannedPairs, axis: int, rows: Integers, guess: Floats | None = None
) -> Floats:
    """Return the coordinates of rows that the pairs of an axis show, near a guess where all of them turn fast."""
    view = grid.view
    which = np.flatnonzero((pairs.axis == axis) & (pairs.cos >= 0) & (pairs.sin >= 0))
    if grid.reading is None:
        values = view.planes[0].at(rows)
        z = values[:, pairs.cos[which]] + 1j * values[:, pairs.sin[which]]
    else:
        z = grids.pairs_of(view, grid.reading, pairs.cos[which], rows)
    w, size, none = pairs.frequencies[which], pairs.magnitude[which], np.zeros(len(which))
    noise = np.full(len(which), 2 * EPSILON[view.dtype])
    unit = phasors(z.real / size, z.imag / size)
    signal = Signal(w, none, none, size, none > 0, 0, rows, unit, noise, np.empty(0, np.int64))
    return positions_in_steps(signal, w, none, guess)


def _stream(have: Floats, want: Floats, axis: int, gap: float) -> Stream | None:
    """Return coordinates in terms of the expected ones: of the axis itself, of another one, of a line.

    The error of a factor is at most `gap`, relative.
    """
    if not np.isfinite(have).all():
        return None
    own, index = want[:, axis], np.arange(len(have), dtype=float)
    space, zeros = _space(own), np.zeros(len(have))
    near = MAX_COORDINATE_GAP * space
    steps = np.rint(2 * (have - own) / space) / 2  # whole and half numbers are added
    shifted = (np.abs(have - own - steps * space) <= near).all()
    if shifted and not np.ptp(steps):
        part = float(np.median(have - own)) / space
        return Stream(axis, 1.0, steps if abs(part - steps[0]) < MIN_PART else np.full(len(own), near_ratio(part, gap)))
    for source, other in (*((b, want[:, b]) for b in range(want.shape[1]) if b != axis), (-1, index), (-2, zeros)):
        if (np.abs(have - other) <= near).all():
            return Stream(source, 1.0, zeros)
    several = np.count_nonzero(np.diff(steps)) >= MAX_PARTS
    moved = Stream(axis, 1.0, steps) if shifted else None
    square = float(own @ own)
    factor = float(have @ own) / square if square else 0.0
    if not factor > 0 or (np.abs(have - factor * own) > near * factor).any():
        if moved is not None and not several:
            return moved
        factor, first = np.polyfit(own, have, 1) if np.ptp(own) else (0.0, 0.0)
        factor, first = near_ratio(factor, gap), near_ratio(first, gap)
        fits = factor > 0 and (np.abs(have - factor * own - first) <= near * factor).all()
        return Stream(axis, factor, np.full(len(own), first / space)) if fits else moved
    turns = next((turns for turns in UNITS if abs(factor / turns - 1) <= gap), 0.0)
    return Stream(axis, turns or near_ratio(factor, gap), zeros)


def near_ratio(value: float, gap: float) -> float:
    """Return the first ratio of two sides that a number is near, or the number."""
    ratios = (round(value * side) / side for side in range(1, MAX_SIDE + 1))
    return next((found for found in ratios if abs(found - value) <= gap * abs(value)), value)


def _space(own: Floats) -> float:
    """Return the space between the coordinates of an axis."""
    return float(np.diff(np.unique(own)).min(initial=np.inf)) if np.ptp(own) else 1.0


def _coordinate_words(
    streams: Sequence[Stream], want: Floats, pairs: grids.PlannedPairs, keys: Mapping[str, str]
) -> Iterator[Finding]:
    """Yield how streams of coordinates differ from the expected ones."""
    count = len(streams)
    names = NAMES.get(count, tuple(f"axis {k}" for k in range(count)))
    moving = [a for a in range(count) if np.ptp(want[:, a]) > 0]
    sources, both = [stream.source for stream in streams], list(zip(streams, want.T, strict=True))
    others = [a for a in range(count) if sources[a] != a and (a in moving or sources[a] != -2)]
    followed = {sources[a] for a in moving}
    if -1 in followed and all(sources[a] == -1 for a in moving):
        sides = " and ".join(names)
        text = f"positions count all {len(want)} patches in one line where {sides} of a grid were expected"
        if "sections" in keys:
            text = "all streams are the position, as in text: sections and grids are ignored"
        yield Finding("grid", text)
    elif len(followed) == 1 < len(moving) and min(followed) >= 0:
        ignored = [name for a, name in enumerate(names) if a in moving and a not in followed]
        left = f"{' and '.join(ignored)} {'is' if len(ignored) == 1 else 'are'} ignored"
        yield Finding("axes", f"every pair follows the {names[min(followed)]}: the {left}")
    else:
        for a in others:
            b = sources[a]
            if b < 0:
                what = "do not move" if b == -2 else "count the rows in one line"
                yield Finding("still" if b == -2 else "grid", f"the pairs of the {names[a]} {what}")
            elif sources[b] != a:
                yield Finding("axes", f"the pairs of the {names[a]} follow the {names[b]}")
            elif a < b:
                half = f": the {names[b]} comes first" if count == 2 else ""
                yield Finding("exchanged", f"{names[a]} and {names[b]} are exchanged{half}")
    ends = [s.factor * np.array([own.min(), own.max()]) + s.added[0] * _space(own) for s, own in both]
    ends = [np.where(np.abs(pair) < MAX_FACTOR_GAP * np.ptp(pair), 0.0, pair) for pair in ends]
    to_one = len(moving) > 1 and all(abs(ends[a][1] - 1) < MAX_FACTOR_GAP for a in moving)  # from 0 or -1, as it says
    lines = [a for a in moving if streams[a].factor != 1]
    if not any(to_one or streams[a].added.any() for a in lines):
        lines = []
    for a in lines:
        low, high = want[:, a].min(), want[:, a].max()
        text = f"run from {ends[a][0]:.4g} to {ends[a][1]:.4g} where {low:.4g} to {high:.4g} was expected"
        yield Finding("first", f"coordinates on the axis {names[a]} {text}")
    if lines:
        return
    yield from _factor_words([streams[a].factor for a in moving], [names[a] for a in moving], want, moving, pairs, keys)
    yield from _added_words(streams, want, names, moving, pairs.plan.prefix, keys)


def _factor_words(
    factors: Sequence[float], names: Sequence[str], want: Floats, moving: Sequence[int], pairs: grids.PlannedPairs,
    keys: Mapping[str, str],
) -> Iterator[Finding]:  # fmt: skip
    """Yield the factors of coordinates, together where they are alike."""
    sides = [len(np.unique(want[:, a])) for a in moving]
    cells = [side / factor for side, factor in zip(sides, factors, strict=True)]
    normal = keys.get("normalize") == "true" or keys.get("coordinates", "index") != "index"  # shares of the sides
    counted = (normal and keys.get("coordinates") != "corners") or {"reference", "base-size"} & keys.keys()
    whole = [f"{cell:.0f}" if counted and abs(cell - round(cell)) < MAX_FACTOR_GAP * cell else "" for cell in cells]
    first = [pairs.frequencies[pairs.axis == a][0] for a in moving]
    if len(set(factors)) == 1 and factors[0] in UNITS:
        yield Finding("unit", UNITS[factors[0]])
    elif len(set(factors)) == 1 != factors[0]:
        scale = f"a scale of {2 * factors[0]:.6g} pi where 2 pi was expected".replace(" 1 pi", " pi")
        more = [scale] if normal and not {"coordinate-scale", "bands"} & keys.keys() else []
        more += [f"as of {' x '.join(whole)} cells"] if all(whole) else []
        own = f" ({', or '.join(more)})" if more else ""
        yield Finding("scale", f"every coordinate is {factors[0]:.6g} times the expected one{own}")
    elif len(first) == 2 and np.allclose(np.multiply(factors, first), first[::-1], MAX_FACTOR_GAP) and 1 not in factors:
        yield Finding("series", f"the frequencies of the {names[0]} and of the {names[1]} are exchanged")
    else:
        for name, factor, side, cell in zip(names, factors, sides, whole, strict=True):
            text = f"coordinates of the {name} are {factor:.6g} times the expected ones"
            if factor != 1 and name == "frame" and "time-step" in keys:
                step = float(keys["time-step"])
                yield Finding("time_step", f"time-step {factor * step:g} where {step:g} was expected")
            elif factor != 1:
                yield Finding("scale", text + f", as of {cell} cells where there are {side}" * bool(cell))


def _added_words(
    streams: Sequence[Stream], want: Floats, names: Sequence[str], moving: Sequence[int], prefix: int,
    keys: Mapping[str, str],
) -> Iterator[Finding]:  # fmt: skip
    """Yield numbers that are added to coordinates: of all rows, or of some runs of them."""
    added, edges = _edges(streams)
    patches = keys.get("coordinates", "index") != "index"  # shares of the sides
    spaces = [_space(own) for own in want.T]
    units = np.array(spaces if keys.get("normalize") == "true" else [1.0] * len(names))  # cells are counted
    for first, stop in pairwise(edges):
        moved, shifts = np.flatnonzero(added[first]).tolist(), added[first] * spaces / units
        lows, sizes = (want[first:stop].min(axis=0) / units).round(6), np.abs(added[first] if patches else shifts)
        alike = len(np.unique(sizes[moved].round(6))) == 1 and set(moved) >= set(moving)
        same = alike and len(set(lows[moved])) == 1
        for a in moved[:1] if alike else moved:
            rows = f"{span(prefix + first, prefix + stop - 1, 'row')}: " if len(edges) > 2 else ""
            text = f"{rows}coordinates start at {round(lows[a] + shifts[a], 6):g} where {lows[a]:g} was expected"
            text += "" if same else f" on the axis {names[a]}"
            if patches or (alike and not same):
                size = "half a patch" if patches and sizes[a] == 0.5 else f"{sizes[a]:g}{' patches' * patches}"
                text += f", {size} {'earlier' if shifts[a] < 0 else 'later'}{' on every axis' * (alike and not same)}"
            if patches and sizes[a] == 0.5:
                text += ": corners of patches where their centres were expected"
            yield Finding("first", text)
