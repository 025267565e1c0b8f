"""Differences of a table over several axes from an expected one, in the words of whoever made the mistake.

Two descriptions of the file are compared with the expected recipe: the recipe that the file follows, and, for mistakes
that no recipe makes, the expected plan after a change: the axis that pairs follow, or the first coordinate.  The
shorter one is reported.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, permutations, product

import numpy as np

from pecli.judge.axes import Grid, grids_of, views
from pecli.judge.grids import (
    GridName,
    PlannedPairs,
    compare_all,
    compare_rows,
    fitted,
    is_exact,
    names_of,
    planned_grids,
)
from pecli.judge.tally import Tally
from pecli.judge.waves import bound
from pecli.spec.measured import Named
from pecli.spec.plans import Coordinate, Waves
from pecli.spec.tabular import Tabular
from pecli.tables.comparison import Finding
from pecli.tables.table import Table

MIN_SHARE_EXPLAINED = 0.998
"""Smallest share of the values that a reported description reproduces; corrupted values may be left."""
SAMPLE_ROWS = 512
"""Rows by which pairs are distinguished."""
STARTS = (Fraction(1), Fraction(-1), Fraction(1, 2), Fraction(-1, 2))
"""Numbers that are added to coordinates by mistake: counted from 1, or as centres of cells."""
NAMES = {1: ("position",), 2: ("height", "width"), 3: ("frame", "height", "width")}


def grid_differences(actual: Tabular, expected: Table) -> list[Finding] | None:
    """Return the differences of a table from an expected one over several axes, the cause first.

    Returns
    -------
    list of Finding or None
        None where the expected table is none over several axes, or where no description gives the values.
    """
    plan = expected.plan
    if not isinstance(plan, Waves) or not plan.axes or not plan.bands:
        return None
    pairs = PlannedPairs.of(plan)
    if len({band.axis for band in plan.bands}) < 2 and not pairs.ascending:
        return None
    found: list[list[Finding]] = []
    with np.errstate(all="ignore"):
        for view in views(actual):
            planned = list(planned_grids(view.few(SAMPLE_ROWS), pairs))
            for grid in planned:
                findings = _same(grid, expected)
                if findings is not None:
                    return findings
            features = [grid for grid in planned if grid.reading is None] if pairs.ascending else []
            found += [
                findings for grid in (*features, *grids_of(view)) if (findings := _by_recipe(grid, pairs, expected))
            ]
            if any(len(findings) == 1 and findings[0].kind != "encoding" for findings in found):
                continue
            for grid in planned:
                own = _by_axes(grid, pairs, expected)
                if own == []:  # a few values alone differ: their place is the answer
                    return None
                found += [own] if own else []
    return min(found, key=lambda findings: (findings[0].kind == "encoding", len(findings)), default=None)


def _same(grid: Grid, expected: Table) -> list[Finding] | None:
    """Return the rounding, or the few corrupted values, that explain all differences; None where there are others."""
    name = fitted(grid, expected.source.encoding.name, Named(expected.source.keys(), np.empty(0)))
    layouts = {expected.request.layout, "" if grid.reading is None else grid.reading.layout}
    if name is None or layouts == {"half", "interleaved"}:
        return None
    dtype, tally = grid.view.dtype, compare_all(name)
    if tally.unexplained:  # with all others equal, whoever compares values knows more
        few = tally.unexplained == len(tally.singles) and name.kind == "float64"
        rounded = tally.equal + tally.unexplained < tally.count
        return [Finding("place", place) for place in tally.texts()] if few and rounded else None
    if name.kind != "float64":
        text = f"frequencies were rounded to {name.kind}: values are off by up to {tally.residual:.1g}"
    elif tally.equal == tally.count and dtype != expected.arrays[0].dtype:
        text = f"all values are rounded to {dtype}: harmless where that is the type"
    elif tally.equal == tally.count:
        return []
    elif is_exact(tally):
        text = f"rounding alone, at most {max(1, round(tally.worst))} ulp ({tally.residual:.1g}): harmless"
    else:
        text = f"{name.arithmetic(tally)} rounding alone, at most {tally.residual:.1g}: harmless"
    return [Finding("rounding", text)]


# by recipe ----------------------------------------------------------------------------------------


def _by_recipe(grid: Grid, pairs: PlannedPairs, expected: Table) -> list[Finding] | None:
    """Return the parameters that differ in the recipe of the file."""
    own = expected.source.encoding.name
    odd = (1 - MIN_SHARE_EXPLAINED) * grid.view.planes[0].rows * grid.view.planes[0].width
    names = [name for name in names_of(grid) if compare_all(name).unexplained <= odd]
    name = next((name for name in names if name.encoding == own), names[0] if names else None)
    if name is None:
        return None
    if name.encoding != own:  # an array that lost columns is no other encoding
        text = f"{name.recipe} where {own} was expected"
        return [Finding("encoding", text)] if name.pairs.plan.width == pairs.plan.width else None
    have, want = dict(bound(own, name.keys).keys()), expected.source.keys()
    have = {key: text for key, text in have.items() if key in want or key in name.keys}  # no defaults of other choices
    differ = [key for key in have if key in want and have[key] != want[key]]
    for key in differ:  # a parameter without effect on the values is not reported
        other = fitted(grid, own, Named({**have, key: want[key]}, np.empty(0)))
        if other is not None and compare_all(other).unexplained <= odd:
            have[key] = want[key]
    return _parameters(have, want)


RANK = {"prefix": 0, "suffix": 0, "grid": 1, "order": 2, "axes": 3, "sections": 3, "section-order": 3, "axis-order": 4}
"""Order in which differing parameters are reported: the parameters that change most rows or columns first."""


def _parameters(actual: Mapping[str, str], expected: Mapping[str, str]) -> list[Finding]:
    """Return one finding for each parameter that differs, or for several of one cause."""
    differ = {key: (actual[key], expected.get(key, "")) for key in actual if actual[key] != expected.get(key, "")}
    found = []
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


SENTENCES = {
    "axes": "axes widths {have} where {want} were expected",
    "axis-order": "height and width are exchanged in the columns (axis-order {have} where {want} was expected)",
    "pairs": "pairs of height and width {have} where {want} were expected",
    "sections": "sections {have} where {want} were expected",
    "section-order": "sections {sections} in the order {have} where {want} was expected",
    "first": "coordinates start at {have} where {want} was expected",
    "merge": "rows are in {have} where {want} were expected",
    "shift": "frequencies are spaced {have} where {want} was expected",
    "normalize": "coordinates are {have} where {want} was expected (normalize)",
    "center": "coordinates are {have} where {want} was expected (0.5 is subtracted: center)",
    "pi": "frequencies are {have} where {want} was expected (pi)",
    "grid-scale": "coordinates are divided by {have} where {want} was expected (interpolation scale)",
    "scale": "coordinates are multiplied by {have} where {want} was expected (interpolation scale)",
    "base-size": "coordinates are interpolated to {have} where {want} was expected (base-size)",
    "reference": "coordinates are interpolated to {have} where {want} was expected (reference)",
    "centred": "coordinates count from minus half the side where centred is 1: {have} where {want} was expected",
    "coordinates": "coordinates are {have} where {want} was expected",
    "order": "columns in the order {have} where {want} was expected",
}
"""Message for each parameter that differs; others are reported by their name."""
VALUES = {
    "pairs": {"alternate": "in turn (alternate)", "blocks": "in blocks"},
    "shift": {"1": "up to the last power itself (endpoint, shift 1)", "0": "short of the last power (shift 0)"},
    "normalize": {"true": "normalised", "false": "not normalised"},
    "center": {"true": "centres of cells", "false": "counts of cells"},
    "merge": {"1": "row-major order", "2": "blocks of 2 x 2 (merge=2)"},
    "base-size": {"1": "0..1 (normalised by the side)"},
    "pi": {"true": "with pi", "false": "without pi"},
    "coordinates": {
        "index": "0, 1, 2 ..",
        "separate": "normalised to -1..1 by each side",
        "max": "normalised to -1..1 by the larger side",
        "min": "normalised to -1..1 by the smaller side",
        "corners": "normalised to -1..1 from corner to corner",
    },
}  # fmt: skip
"""Wording of parameter values in these messages."""


def _words(key: str, have: str, want: str, actual: Mapping[str, str]) -> str:
    """Return the message on a parameter that differs."""
    values, sentence = VALUES.get(key, {}), SENTENCES.get(key, "{key} {have} where {want} was expected")
    return sentence.format(key=key, have=values.get(have, have or "none"), want=values.get(want, want or "none"),
                           sections=actual.get("sections"))  # fmt: skip


# by axes ------------------------------------------------------------------------------------------


def _by_axes(grid: Grid, pairs: PlannedPairs, expected: Table) -> list[Finding] | None:
    """Return which axes pairs follow, or where coordinates start; None where no such change gives the values."""
    if grid.view.total != pairs.plan.rows:
        return None
    keys, view = expected.source.keys(), grid.view.few(SAMPLE_ROWS)
    own = GridName(expected.source.encoding.name, keys, {}, 0.0, pairs, "float64", Tally.of(grid.view.planes), grid)
    for finding, changed in _changes(pairs, view.total, keys):
        if compare_rows(grid, changed, [(view.rows, view.values)]).explained < MIN_SHARE_EXPLAINED:
            continue
        if compare_all(replace(own, pairs=changed)).explained >= MIN_SHARE_EXPLAINED:
            return [finding] if finding.text else []
    return None


def _changes(pairs: PlannedPairs, rows: int, keys: Mapping[str, str]) -> Iterator[tuple[Finding, PlannedPairs]]:
    """Yield the pairs of a plan as they are, and after each change that somebody makes by mistake."""
    axes, count = pairs.plan.axes, len(pairs.plan.axes)
    names = NAMES.get(count, tuple(f"axis {k}" for k in range(count)))
    moving = [a for a in range(count) if len(axes[a].multiples) > 1]
    yield Finding("", ""), pairs

    def with_axes(**changed: Coordinate) -> PlannedPairs:
        own = tuple(changed.get(f"axis{a}", axis) for a, axis in enumerate(axes))
        return replace(pairs, plan=replace(pairs.plan, axes=own))

    def followed(order: Mapping[int, int]) -> PlannedPairs:
        return with_axes(**{f"axis{a}": axes[b] for a, b in order.items()})

    for a, b in combinations(moving, 2):
        half = f": the {names[a]} half holds the {names[b]}" if count == 2 else ""
        text = f"{names[a]} and {names[b]} are exchanged{half}"
        yield Finding("exchanged", text), followed({a: b, b: a})
    line = Coordinate(range(rows), lambda at: at)
    text = f"positions count all {rows} patches in one line where {' and '.join(names)} of a grid were expected"
    if "sections" in keys:
        text = "all streams are the position, as in text: sections and grids are ignored"
    yield Finding("grid", text), with_axes(**{f"axis{a}": line for a in range(count)})
    for b in moving if len(moving) > 1 else ():
        text = f"every pair follows the {names[b]}: the other axes are ignored"
        yield Finding("axes", text), followed(dict.fromkeys(range(count), b))
    for a, b in permutations(moving, 2):
        yield Finding("axes", f"the pairs of the {names[a]} follow the {names[b]}"), followed({a: b})
    for some, offset in product(([*range(count)], *([a] for a in moving)), STARTS):
        moved = {f"axis{a}": _moved(axes[a], offset) for a in some}
        low = float(min(axes[some[0]].multiples) * axes[some[0]].unit)
        text = f"coordinates start at {low + float(offset):g} where {low:g} was expected"
        yield Finding("first", text + f" on the axis {names[some[0]]}" * (len(some) < count)), with_axes(**moved)
    yield Finding("unit", "2 pi is missing: every angle is the expected one over 2 pi"), pairs.times(0.5 / np.pi)
    yield Finding("unit", "every angle is 2 pi times the expected one"), pairs.times(2 * np.pi)
    for a in moving:
        still = replace(axes[a], multiples=(axes[a].multiples[0],) * len(axes[a].multiples))
        yield Finding("still", f"the pairs of the {names[a]} do not move"), with_axes(**{f"axis{a}": still})


def _moved(axis: Coordinate, offset: Fraction) -> Coordinate:
    """Return a coordinate with a number added to all of its values."""
    over = offset.denominator
    added = offset * over / axis.unit
    return replace(axis, multiples=tuple(int(over * m + added) for m in axis.multiples), unit=axis.unit / over)
