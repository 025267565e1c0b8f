"""Differences of a table over several axes from an expected one, in the words of whoever made the mistake.

Two descriptions of the file are compared with the expected recipe: the recipe that the file follows, and, for mistakes
that no recipe makes, the expected pairs after a change: the order of rows, the axis that pairs follow, signs, and the
first coordinate.  The shorter one is reported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from pecli.judge.axes import Grid, grids_of, pairs_of, views
from pecli.judge.grids import PlannedPairs, compare_all, fitted, names_of, planned_grids
from pecli.judge.planes import EPSILON
from pecli.judge.signal import wrapped
from pecli.judge.waves import bound
from pecli.numbers.decimals import digits, number_text, shortest
from pecli.spec.measured import Floats, Named
from pecli.spec.plans import Waves
from pecli.spec.tabular import Tabular
from pecli.tables.comparison import Finding
from pecli.tables.table import Table

Integers = NDArray[np.int64]
Complex = NDArray[np.complex128]

MIN_SHARE_EXPLAINED = 0.998
"""Smallest share of the values that a reported description reproduces; corrupted values may be left."""
MAX_DIGITS = 4
"""Largest number of digits of a reported coordinate; a longer number is not one that somebody chose."""
MAX_GAP = 6
"""Roundings by which a value may differ from its description: those of angles and frequencies add to its own."""
SAMPLE_ROWS = 512
"""Rows by which pairs are distinguished."""
STILL, LINE = -1, 99
"""Codes for pairs that do not move, and for pairs that follow the row number."""
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
                own = _by_pairs(grid, pairs, expected)
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
    if tally.odd:  # with all others equal, whoever compares values knows more
        few = tally.odd <= len(tally.places) and tally.equal + tally.odd < tally.count and name.kind == "float64"
        return [Finding("place", place) for place in tally.places] if few else None
    if name.kind != "float64":
        text = f"frequencies were rounded to {name.kind}: values are off by up to {tally.residual:.1g}"
    elif tally.equal == tally.count and dtype != expected.arrays[0].dtype:
        text = f"all values are rounded to {dtype}: harmless where that is the type"
    elif tally.exact:
        text = f"rounding alone, at most {max(1, round(tally.worst))} ulp ({tally.residual:.1g}): harmless"
    else:
        text = f"rounding of {name.arithmetic(tally)} alone, at most {tally.residual:.1g}: harmless"
    return [Finding("rounding", text)]


# by recipe ----------------------------------------------------------------------------------------


def _by_recipe(grid: Grid, pairs: PlannedPairs, expected: Table) -> list[Finding] | None:
    """Return the parameters that differ in the recipe of the file."""
    own = expected.source.encoding.name
    odd = (1 - MIN_SHARE_EXPLAINED) * grid.view.planes[0].rows * grid.view.planes[0].width
    names = [name for name in names_of(grid) if compare_all(name).odd <= odd]
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
        if other is not None and compare_all(other).odd <= odd:
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
    "axis-order": "height and width are exchanged (axis-order {have} where {want} was expected)",
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


# by pairs -----------------------------------------------------------------------------------------


def _by_pairs(grid: Grid, pairs: PlannedPairs, expected: Table) -> list[Finding] | None:
    """Return which axes pairs follow, and where coordinates start; None where this does not give the values."""
    view, plan, count = grid.view, pairs.plan, len(pairs.plan.axes)
    names = NAMES.get(count, tuple(f"axis {k}" for k in range(count)))
    inside = (view.rows >= plan.prefix) & (view.rows < view.total - plan.suffix)
    rows = view.rows[inside]
    if view.total != plan.rows:
        return None
    at = pairs.coordinates(rows)
    places = [pairs.values(a)[at[:, a]] for a in range(at.shape[1])]
    moving = [a for a in range(at.shape[1]) if np.ptp(at[:, a])]
    follows: dict[int, int] = {}
    starts: dict[str, list[int]] = {}
    for a in sorted(set(pairs.axis.tolist())):
        own = np.flatnonzero((pairs.axis == a) & (pairs.cos >= 0))
        if grid.reading is None:
            shown = view.values[0][:, pairs.cos[own]] + 1j * view.values[0][:, pairs.sin[own]]
        else:
            shown = pairs_of(view, grid.reading, pairs.cos[own])
        z = (shown[inside] / pairs.magnitude[own]).astype(np.complex128)
        choices = {a: places[a], **{b: places[b] for b in moving}, LINE: (rows - plan.prefix).astype(float)}
        if (z == z[:1]).mean() >= MIN_SHARE_EXPLAINED:
            choices = {STILL if a in moving else a: np.full(len(z), places[a][0])}
        found = {
            b: text
            for b, c in choices.items()
            if (text := _start(z, c, pairs.frequencies[own], view.dtype)) is not None
        }
        if not found:
            return None
        follows[a] = min(found, key=lambda b: len(found[b]))
        if found[follows[a]]:
            starts.setdefault(found[follows[a]], []).append(a)
    findings = _exchanged(follows, moving, names, expected)
    for text, where in starts.items():
        findings.append(
            Finding("first", text if len(where) >= len(moving) else f"{text} on the axis {names[where[0]]}")
        )
    return findings


def _near(z: Complex, angles: Floats, dtype: str) -> bool:
    """Whether nearly all values follow from the angles, within rounding of the type and of float32 angles."""
    shown = np.exp(1j * angles)
    spare = 2.0**-20 * np.abs(angles) + (2.0**-24 if dtype == "float16" else 2.0**-40)
    close = np.abs(z.real - shown.real) <= MAX_GAP * EPSILON[dtype] * np.abs(shown.real) + spare
    close &= np.abs(z.imag - shown.imag) <= MAX_GAP * EPSILON[dtype] * np.abs(shown.imag) + spare
    return bool(close.mean() >= MIN_SHARE_EXPLAINED)


def _exchanged(
    follows: Mapping[int, int], moving: Sequence[int], names: Sequence[str], expected: Table
) -> list[Finding]:
    """Return which pairs follow another axis than their own, or none."""
    if LINE in follows.values():
        keys = expected.source.keys()
        if "sections" in keys:
            return [Finding("sections", "all streams are the position, as in text: sections and grids are ignored")]
        text = f"positions count all {expected.rows} patches in one line where {' and '.join(names)} of a grid were"
        return [Finding("grid", f"{text} expected")]
    found = [Finding("still", f"the pairs of the {names[a]} do not move") for a, b in follows.items() if b == STILL]
    other = {a: b for a, b in follows.items() if b not in (a, STILL)}
    if len(other) == 2 and {(b, a) for a, b in other.items()} == set(other.items()):
        first, second = (names[a] for a in other)
        half = f": the {first} half holds the {second}" if len(names) == 2 else ""
        return [Finding("exchanged", f"{first} and {second} are exchanged{half}"), *found]
    if other and len({follows[a] for a in moving}) == 1:
        text = f"every pair follows the {names[next(iter(other.values()))]}: the other axes are ignored"
        return [Finding("axes", text), *found]
    return [*found, *(Finding("axes", f"the pairs of the {names[a]} follow the {names[b]}") for a, b in other.items())]


def _start(z: Complex, c: Floats, w: Floats, dtype: str) -> str | None:
    """Return where coordinates start, "" where expected; None where pairs do not follow them.

    Parameters
    ----------
    z : (n, k) complex128
    c : (n,) float64
        Coordinate of each row.
    w : (k,) float64
        Frequencies.
    dtype : str
    """
    angles, offset, low = np.multiply.outer(c, w), 0.0, float(c.min())
    if _near(z, angles, dtype):
        return ""
    turn = np.angle((z * np.exp(-1j * angles)).mean(axis=0))
    for k in np.argsort(np.abs(w)).tolist():
        offset += float(wrapped(turn[k] - w[k] * offset)) / w[k]
    step = float(np.diff(np.unique(c)).min(initial=np.inf))
    first = shortest(low + offset - 0.01 * step, low + offset + 0.01 * step) if np.isfinite(offset * step) else None
    if first is None or digits(first) > MAX_DIGITS or not _near(z, angles + (float(first) - low) * w, dtype):
        return None
    return f"coordinates start at {number_text(first)} where {low:g} was expected"
