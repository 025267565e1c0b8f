"""Differences of a table over several axes from an expected one, in the words of whoever made the mistake.

The file is described twice: by the recipe that it follows, and by what each pair of the expected table does in it
instead (which axis it follows, how fast, from where).  The shorter description that gives back every value is said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from math import prod

import numpy as np
from numpy.typing import NDArray

from pecli.comparison.results import Finding
from pecli.declare.measured import PUBLISHED_BASES, Floats, Named
from pecli.declare.plan import Waves
from pecli.declare.tabular import Tabular
from pecli.encodings.recipe import Recipe
from pecli.encodings.shared.lattice import Lattice
from pecli.judge.axes import MERGES, AxisView, Grid, grid_of, grids_of, views
from pecli.judge.grids import PlannedPairs, compare_all, fitted, names_of
from pecli.judge.planes import EPSILON
from pecli.judge.structure import MAX_DEPARTURE, PlaneColumns, Reading, departure, usable_rows
from pecli.numbers.decimals import digits, number_text, shortest
from pecli.tables.table import Table

Integers = NDArray[np.int64]

MIN_SHARE_EXPLAINED = 0.998
"""Share of the values that a description must give back to be said; spoiled values may be left."""
MAX_DIGITS = 4
"""Digits of a base, a scale or a coordinate that a finding says as a number that somebody chose."""
NAMES = {1: ("position",), 2: ("height", "width"), 3: ("frame", "height", "width")}
CONSTANTS = {"multiplied by pi/180": np.pi / 180, "divided by 2 pi": 1 / (2 * np.pi), "multiplied by 2 pi": 2 * np.pi,
             "multiplied by pi": np.pi}  # fmt: skip
"""Factors that are no decimals, and what they are called."""
TURNS: dict[str, Callable[[NDArray[np.complex128]], NDArray[np.complex128]]] = {
    "sin and cos are exchanged": lambda z: 1j * np.conj(z),
    "the sines are negated": np.conj,
    "cosines and sines are negated": lambda z: -z,
    "the cosines are negated": lambda z: -np.conj(z),
}
"""What may have been done to cosines and sines, and how to undo it."""


def grid_differences(actual: Tabular, expected: Table) -> list[Finding] | None:
    """Return what makes a table another one than an expected one over several axes, the cause first.

    Returns
    -------
    list of Finding or None
        None where the expected table is none over several axes, or where no description gives the values.
    """
    plan = expected.plan
    if not isinstance(plan, Waves) or not plan.axes or not plan.bands or len({band.axis for band in plan.bands}) < 2:
        return None
    pairs = PlannedPairs.of(plan)
    found: list[list[Finding]] = []
    with np.errstate(all="ignore"):
        for view in views(actual):
            grids = list(grids_of(view))
            for grid in grids:
                said = _same(grid, expected)
                if said is not None:
                    return said
            for grid in grids:
                found += [said for said in [_by_recipe(grid, expected)] if said]
            if not any(len(said) == 1 and said[0].kind != "encoding" for said in found):
                for grid in (*_as_expected(view, pairs), *grids):
                    found += [said for said in [_by_pairs(grid, pairs, expected)] if said]
    return min(found, key=lambda said: (said[0].kind == "encoding", len(said)), default=None)


def _as_expected(view: AxisView, pairs: PlannedPairs) -> Iterator[Grid]:
    """Yield the reading of an absolute table in which pairs stand as expected."""
    if len(view.planes) == 1 and view.planes[0].width == pairs.plan.width:
        values = view.values[0]
        both = (pairs.cos >= 0) & (pairs.sin >= 0)
        cos, sin = values[:, pairs.cos[both]], values[:, pairs.sin[both]]
        good = usable_rows([values])
        if not (pairs.cos == pairs.sin).all() and departure(cos[good], sin[good]) < MAX_DEPARTURE:
            at = (PlaneColumns(0, pairs.cos[both]),), (PlaneColumns(0, pairs.sin[both]),)
            grid = grid_of(view, Reading("expected", cos, sin, *at))
            if grid is not None:
                yield grid


def _same(grid: Grid, expected: Table) -> list[Finding] | None:
    """Return the rounding that explains all differences; None where there are others."""
    if grid.view.total != expected.plan.rows:
        return None
    name = fitted(grid, expected.source.encoding.name, Named(expected.source.keys(), np.empty(0)))
    if name is None:
        return None
    tally = compare_all(name)
    if tally.odd:
        return None
    if tally.equal == tally.count:
        return []
    units = f"{max(1, round(tally.worst))} ulp ({tally.residual:.1g})" if tally.worst < 1e3 else f"{tally.residual:.1g}"
    way = "rounding" if name.score.way.name == "exact" else f"rounding of {name.score.way.words()}"
    return [Finding("rounding", f"{way} alone, at most {units}: harmless")]


# by recipe ----------------------------------------------------------------------------------------


def _by_recipe(grid: Grid, expected: Table) -> list[Finding] | None:
    """Return the parameters that differ in the recipe of the file."""
    own = expected.source.encoding.name
    names = [
        name for name in names_of(grid) if compare_all(name).odd <= (1 - MIN_SHARE_EXPLAINED) * grid.view.values[0].size
    ]
    name = next((name for name in names if name.encoding == own), names[0] if names else None)
    if name is None:
        return None
    if name.encoding != own:
        return [Finding("encoding", f"{name.recipe} where {own} was expected")]
    have, want = dict(_recipe(own, name.keys).keys()), expected.source.keys()
    differ = [key for key in have if have[key] != want.get(key)]
    for key in differ if len(differ) > 1 else ():  # what makes no difference is not said
        other = fitted(grid, own, Named({**have, key: want[key]}, np.empty(0)))
        if other is not None and not compare_all(other).odd:
            have = dict(_recipe(own, other.keys).keys())
    return _parameters(have, want)


def _recipe(encoding: str, keys: Mapping[str, str]) -> Recipe:
    return Recipe.bind(encoding, **{key.replace("-", "_"): value for key, value in keys.items()})


def _parameters(actual: Mapping[str, str], expected: Mapping[str, str]) -> list[Finding]:
    """Return one finding for each parameter that differs, or for several of one cause."""
    differ = {key: (actual[key], expected.get(key, "")) for key in actual if actual[key] != expected.get(key, "")}
    found: list[Finding] = []
    grids = differ.get("grid")
    if grids and "axis-order" in differ and grids[0].split("x") == grids[1].split("x")[::-1]:
        del differ["grid"], differ["axis-order"]
        found.append(Finding("order", "rows are in column-major order where row-major order was expected"))
    for key in ("prefix", "suffix"):
        if key in differ:
            mine, other = map(int, differ.pop(key))
            found.append(_outer(key, mine, other))
    for key, (have, want) in differ.items():
        found.append(Finding(key, _words(key, have, want, actual)))
    rank = {
        "prefix": 0,
        "suffix": 0,
        "grid": 1,
        "order": 2,
        "axes": 3,
        "sections": 3,
        "section-order": 3,
        "axis-order": 4,
    }
    if {"sections", "section-order"} <= set(differ):
        found = [f for f in found if f.kind not in ("sections", "section-order")]
        (a, b), (c, d) = differ["sections"], differ["section-order"]
        found.append(Finding("sections", f"sections {a} in the order {c} where {b} in the order {d} were expected"))
    return sorted(found, key=lambda finding: rank.get(finding.kind, 5))


def _outer(key: str, have: int, want: int) -> Finding:
    """Return that rows before or after the grid are missing, or too many."""
    place = "before" if key == "prefix" else "after"
    count = abs(want - have)
    rows = "the row of the class token" if count == 1 else f"{count} rows of text or special tokens"
    if have < want:
        return Finding(key, f"{rows} {place} the grid {'is' if count == 1 else 'are'} missing")
    return Finding(key, f"{rows} {'stands' if count == 1 else 'stand'} {place} the grid, where {want or 'none'} "
                        f"{'was' if want < 2 else 'were'} expected")  # fmt: skip


def _words(key: str, have: str, want: str, actual: Mapping[str, str]) -> str:
    """Return what a parameter that differs means; of a list, for the axes where it differs."""
    where = f"where {want or 'none'} was expected"
    many = "where " + (f"{want} were expected" if want else "none were expected")
    names = NAMES.get(len(actual.get("grid", "").split("x")), ())
    mine, other = have.split("+"), want.split("+")
    of = ""
    if (
        "grid" in actual
        and key in ("first", "scale", "base", "temperature", "centred", "grid-scale")
        and max(len(mine), len(other)) == len(names)
    ):
        mine, other = (one * (1 if len(one) > 1 else len(names)) for one in (mine, other))
        differ = [k for k in range(len(names)) if mine[k] != other[k]]
        if len({(mine[k], other[k]) for k in differ}) == 1:
            of = " of " + " and ".join(names[k] for k in differ)
            have, where = mine[differ[0]], f"where {other[differ[0]]} was expected"
    match key:
        case "axes":
            return f"axes widths {have} {many}"
        case "axis-order":
            return f"height and width are exchanged (axis-order {have} {where})"
        case "pairs":
            return f"the pairs of height and width {'alternate' if have == 'alternate' else 'stand in blocks'} {many}"
        case "sections":
            return f"sections {have} {many}"
        case "section-order":
            return f"sections {actual.get('sections', '')} in the order {have} {where}"
        case "first":
            return f"coordinates{of} start at {have} {where}"
        case "merge":
            return f"rows are in {_blocks(have)} where {_blocks(want)} {'was' if want == '1' else 'were'} expected"
        case "shift":
            return f"frequencies are spaced {_SPACED.get(have, have)} where {_SPACED.get(want, want)} was expected"
        case "normalize":
            return f"coordinates are {'' if have == 'true' else 'not '}normalised (normalize {have} {where})"
        case "center":
            how = (
                "centres of cells (0.5 is subtracted)" if have == "true" else "counts of cells (0.5 is not subtracted)"
            )
            return f"coordinates are {how}: center {have} {where}"
        case "grid-scale":
            return f"coordinates{of} are divided by {have} {where} (interpolation scale)"
        case "scale":
            return f"coordinates{of} are multiplied by {have} {where} (interpolation scale)"
        case "base-size" if have == "1":
            return "coordinates run from 0 to 1 (normalised by the side) where 0, 1, 2 .. was expected"
        case "base-size" | "reference":
            return f"coordinates are interpolated to {have or 'nothing'} {where} ({key})"
        case "centred":
            counted = {"1": "centred", "0": "counted from the edge"}
            if of:
                return f"coordinates{of} are {counted[have]} where {counted[other[differ[0]]]} was expected"
        case "coordinates":
            return f"coordinates {_COORDINATES.get(have, have)} where {_COORDINATES.get(want, want)} was expected"
        case "order":
            return f"columns in the order {have} {where}"
    return f"{key}{of} {have or 'none'} {where}"


_SPACED = {"1": "up to 1/base itself (endpoint, shift 1)", "0": "short of 1/base (shift 0)"}
_COORDINATES = {
    "index": "0, 1, 2 ..",
    "separate": "normalised to -1..1 by each side",
    "max": "normalised to -1..1 by the larger side",
    "min": "normalised to -1..1 by the smaller side",
    "corners": "normalised to -1..1 from corner to corner",
}


def _blocks(merge: str) -> str:
    return "row-major order" if merge == "1" else f"blocks of {merge} x {merge} (merge={merge})"


# by pairs -----------------------------------------------------------------------------------------


@dataclass
class GridModel:
    """What each pair does: its axis, frequency, and the coordinate of every row.

    Attributes
    ----------
    frequencies : (m,) float64
        Radians per unit of the coordinate.
    coordinates : (n, m) float64
        Of the rows that are described.
    undo : mapping of int to str
        Key of `TURNS` by group of pairs.
    """

    frequencies: Floats
    coordinates: Floats = field(repr=False)


def _by_pairs(grid: Grid, pairs: PlannedPairs, expected: Table) -> list[Finding] | None:
    """Return how pairs differ from the expected ones: row order, axes, phases, frequencies, first coordinates."""
    plan, axes = pairs.plan, grid.axes
    both = (pairs.cos >= 0) & (pairs.sin >= 0)
    rotary = bool((pairs.cos == pairs.sin).all())
    order = np.argsort(pairs.cos, kind="stable") if rotary else np.flatnonzero(both)
    if rotary and axes.absolute:
        return None
    found: list[Finding] = []
    if not rotary and grid.reading.layout != "expected":
        if not axes.absolute or axes.width != plan.width:
            return None
        found.append(Finding("layout", _arrangement(grid.axes.layout)))
    names = NAMES.get(len(plan.axes), tuple(f"axis {k}" for k in range(len(plan.axes))))
    if axes.count < len(order) and rotary:
        lost = sorted(set(pairs.axis[order[axes.count :]].tolist()) - set(pairs.axis[order[: axes.count]].tolist()))
        those = " and ".join(names[a] for a in lost)
        text = f"{len(order) - axes.count} of {len(order)} pairs are missing{f': those of the {those}' if lost else ''}"
        if grid.view.planes[0].width == expected.arrays[0].shape[-1]:
            text = f"the first {axes.count} pairs stand twice where those of the {those} were expected"
        found.append(Finding("columns", text))
        order = order[: axes.count]
    if len(order) != axes.count:
        return None
    axis, w = pairs.axis[order], (pairs.frequencies * pairs.turning)[order]
    rows = grid.view.rows[grid.usable]
    missing = (plan.rows or 0) - grid.view.total
    shift = 0
    if missing:
        side = {plan.prefix: "prefix", plan.suffix: "suffix"}.get(missing) if missing > 0 else None
        if side is None:
            return None
        found.append(_outer(side, 0, missing))
        shift = plan.prefix if side == "prefix" else 0
    elif plan.prefix and not axes.prefix and axes.suffix == plan.prefix:
        shift = plan.prefix
        found.append(
            Finding("prefix", "the row of the class token stands after the grid, where before it was expected")
        )
    inside = (rows + shift >= plan.prefix) & (rows + shift < (plan.rows or 0) - plan.suffix)
    assert grid.reading.sin is not None
    z = (grid.reading.cos + 1j * grid.reading.sin)[grid.usable][inside]
    index = rows[inside] + shift - plan.prefix
    streams = axes.streams[inside[-len(axes.streams) :] if len(inside) == len(axes.streams) else slice(None)]
    if len(streams) != len(index):
        return None
    wanted = np.stack([own.index(index) for own in plan.axes], axis=1)
    moving = [a for a in range(len(plan.axes)) if np.ptp(wanted[:, a]) and (axis == a).any()]
    said, places, follows = _row_order(streams, wanted, plan, index, moving)
    if follows is None:
        one = _one_line(grid, z, w, index, plan, names, axis, wanted, expected)
        return None if one is None else [*found, *one]
    found += said
    followed = np.array([follows[g] if g >= 0 else -1 for g in axes.owner.tolist()])
    told = _exchanged(followed, axis, moving, names, expected)
    if told is None:
        return None
    found += told
    coordinates = np.zeros((len(index), len(w)))
    used = np.where(followed >= 0, followed, axis)
    still = (followed < 0) & (z == 1).all(axis=0)
    for a in np.unique(used):
        own = plan.axes[int(a)]
        count = np.array(own.multiples if isinstance(own.multiples, tuple) else list(own.multiples), float)
        if places[:, a].max() >= len(count):
            return None
        coordinates[:, used == a] = (count * float(own.unit))[places[:, a]][:, None]
    coordinates[:, still] = 0
    for side_axis in axes.axes:
        if side_axis.backward and abs(side_axis.origin + side_axis.size - 1) < 0.1:
            part = coordinates[:, side_axis.columns]
            coordinates[:, side_axis.columns] = part.max() + part.min() - part
            found.append(Finding("reversed", f"coordinates of {names[int(used[side_axis.columns[0]])]} run backwards"))
    z, turns = _undone(z, w, coordinates, used, names)
    found += turns
    model = GridModel(w.copy(), coordinates)
    found += _frequencies(model, grid, z, used, names, expected, pairs)
    share = _share(z, model, grid.view.dtype)
    return found if found and share >= MIN_SHARE_EXPLAINED else None


def _arrangement(layout: str) -> str:
    """Return in words where the columns of an absolute table stand."""
    if layout == "alternate":
        return "sines and cosines are interleaved column by column where blocks of each were expected (column order)"
    if layout == "halves":
        return "the sines of all axes stand before the cosines where another order of columns was expected"
    return (
        f"columns are blocks of {layout.removeprefix('blocks')}, sines before cosines, where another order was expected"
    )


def _row_order(streams: Floats, wanted: Integers, plan: Waves, index: Integers, moving: Sequence[int]) -> tuple[
    list[Finding], Integers, dict[int, int] | None
]:  # fmt: skip
    """Return in which order rows stand, the place of each row on each axis, and which axis each measured one is."""
    sides = [int(wanted[:, a].max()) + 1 for a in range(wanted.shape[1])]
    options: list[tuple[list[Finding], Integers]] = [([], wanted)]
    if prod(sides) == len(index) and len(sides) > 1:
        back = Lattice(tuple(sides[::-1]))
        column = np.stack([back.index(len(sides) - 1 - a)(np.arange(len(index))) for a in range(len(sides))], axis=1)
        options.append(
            ([Finding("order", "rows are in column-major order where row-major order was expected")], column)
        )
        for merge in (1, *MERGES):
            if all(side % merge == 0 for side in sides[-2:]):
                lattice = Lattice(tuple(sides), merge)
                own = np.stack([lattice.index(a)(np.arange(len(index))) for a in range(len(sides))], axis=1)
                text = f"rows are in {_blocks(str(merge))} where another order was expected"
                options.append(([Finding("order", text)], own))
    for said, places in options:
        follows: dict[int, int] = {}
        for g in range(streams.shape[1]):
            own = streams[:, g] - streams[0, g]
            for a in moving:
                same = places[:, a] - places[0, a]
                if a not in follows.values() and (own == same).all():
                    follows[g] = a
                    break
        if len(follows) == streams.shape[1]:
            return said, places, follows
    return [], wanted, None


def _exchanged(
    followed: Integers, axis: Integers, moving: Sequence[int], names: Sequence[str], expected: Table
) -> list[Finding] | None:
    """Return which axes are exchanged, or how pairs stand instead."""
    known = (followed >= 0) & np.isin(axis, moving)
    if (followed[known] == axis[known]).all():
        still = [a for a in moving if not (followed[axis == a] >= 0).any()]
        return [Finding("still", f"the pairs of the {names[a]} do not move") for a in still]
    mapping = {a: set(followed[known & (axis == a)].tolist()) for a in moving}
    keys = expected.source.keys()
    if all(len(to) == 1 for to in mapping.values()) and len({next(iter(to)) for to in mapping.values()}) == len(
        mapping
    ):
        moved = [a for a, to in mapping.items() if to != {a}]
        if len(moved) == 2:
            what = f"{names[moved[0]]} and {names[moved[1]]} are exchanged"
            return [
                Finding(
                    "exchanged",
                    what + (f": the {names[moved[0]]} half holds the {names[moved[1]]}" if len(names) == 2 else ""),
                )
            ]
        text = ", ".join(f"{names[a]} follows the {names[next(iter(to))]}" for a, to in mapping.items() if to != {a})
        return [Finding("exchanged", f"axes are exchanged: {text}")]
    if all(len(to) == 1 for to in mapping.values()) and len({next(iter(to)) for to in mapping.values()}) == 1:
        (to,) = next(iter(mapping.values()))
        streams = ", as if all sections were of its stream" if "sections" in keys else ""
        return [Finding("axes", f"every pair follows the {names[to]}{streams}: the other axes are ignored")]
    text = _runs_text(followed, names)
    want = (
        f"sections {keys['sections']} in the order {keys.get('section-order', 'chunked')}"
        if "sections" in keys
        else _runs_text(axis, names)
    )
    return [
        Finding(
            "sections", f"{'sections: ' if 'sections' in keys else ''}pairs follow {text} where {want} was expected"
        )
    ]


def _runs_text(followed: Integers, names: Sequence[str]) -> str:
    """Say which axis pairs follow, run by run."""
    edges = np.flatnonzero(np.diff(followed)) + 1
    runs = np.split(followed, edges)
    said = [f"{len(run)} {names[int(run[0])] if run[0] >= 0 else 'none'}" for run in runs[:4]]
    return " + ".join(said) + (" .." if len(runs) > 4 else "")


def _undone(z: NDArray[np.complex128], w: Floats, coordinates: Floats, used: Integers, names: Sequence[str]) -> tuple[
    NDArray[np.complex128], list[Finding]
]:  # fmt: skip
    """Return cosines and sines put in order, axis by axis, and what was done to them."""
    done: dict[int, str] = {}
    z = z.copy()
    for a in np.unique(used):
        own = used == a
        plain = _turning(z[:, own], w[own], coordinates[:, own])
        if plain > 0.9:
            continue
        for text, undo in TURNS.items():
            if _turning(undo(z[:, own]), w[own], coordinates[:, own]) > 0.95:
                done[int(a)] = text
                z[:, own] = undo(z[:, own])
                break
    texts = set(done.values())
    if len(texts) == 1 and len(done) == len(np.unique(used)):
        return z, [Finding("turned", next(iter(texts)))]
    return z, [Finding("turned", f"{text} on the axis {names[a]}") for a, text in done.items()]


def _turning(z: NDArray[np.complex128], w: Floats, coordinates: Floats) -> float:
    """Return the share of slow pairs' values that are near the expected ones; faster ones show another base."""
    angles = coordinates * w
    slow = np.abs(angles).max(axis=0) < 1.0
    slow = slow if slow.any() else np.abs(w) <= np.abs(w).min() * 1.01
    return float((np.abs(z[:, slow] - np.exp(1j * angles[:, slow])) < 0.3).mean())


def _frequencies(model: GridModel, grid: Grid, z: NDArray[np.complex128], used: Integers, names: Sequence[str],
                 expected: Table, pairs: PlannedPairs) -> list[Finding]:  # fmt: skip
    """Return where frequencies and first coordinates differ, and put them into the model."""
    found: list[tuple[str, str, int]] = []
    for number, measured in enumerate(grid.axes.axes):
        a = int(used[measured.columns[0]])
        own = measured.columns
        steps = measured.pairs.steps
        unit = np.diff(np.unique(model.coordinates[:, own[0]]))
        if not len(unit):
            continue
        step = float(np.median(unit))
        low = float(model.coordinates[:, own[0]].min())
        ratio = steps / (model.frequencies[own] * step)
        slack = measured.pairs.at(2.0**-21).slack(steps) / np.maximum(np.abs(steps), 1e-300)
        clear = slack < 0.02
        if not clear.any():
            continue
        if (np.abs(ratio - 1) > slack)[clear].any():
            turn = float(pairs.turning[pairs.axis == a][0])
            text, values = _scaled(ratio, slack, clear, model.frequencies[own], turn, expected, a)
            if text is None:
                continue
            model.frequencies[own] = values
            found.append(("frequencies", text, a))
        origin = measured.origin * (steps[0] / model.frequencies[own[0]])
        backwards = measured.backward and abs(measured.origin + measured.size - 1) < 0.1
        if np.isfinite(origin) and not backwards and abs(origin - low) > 0.02 * max(1.0, step):
            near = shortest(origin - 0.01 * step, origin + 0.01 * step)
            if digits(near) <= MAX_DIGITS:
                model.coordinates[:, used == a] += float(near) - low
                found.append(("first", f"coordinates start at {number_text(near)} where {low:g} was expected", a))
        del number
    by_text: dict[tuple[str, str], list[int]] = {}
    for kind, text, a in found:
        by_text.setdefault((kind, text), []).append(a)
    del z
    said = []
    count = len(set(used.tolist()))
    for (kind, text), which in by_text.items():
        where = "" if len(which) == count or len(which) > 1 else f" on the axis {names[which[0]]}"
        said.append(Finding(kind, text + where))
    return said


def _scaled(ratio: Floats, slack: Floats, clear: NDArray[np.bool_], whole: Floats, unit: float, expected: Table,
            a: int) -> tuple[str | None, Floats]:  # fmt: skip
    """Return in words how frequencies differ, and the frequencies: a scale of coordinates, a base, endpoint spacing.

    Parameters
    ----------
    ratio, slack : (k,) float64
        Measured over expected frequencies, and by how much it may be off.
    clear : (k,) bool
        Pairs that tell it.
    whole : (k,) float64
        Expected frequencies.
    unit : float
        1, or 2 pi where frequencies count turns.
    expected : Table
    a : int
        Which of its axes.
    """
    told, ratio, slack = whole[clear], ratio[clear], slack[clear]
    if (np.abs(ratio / ratio[0] - 1) <= slack + slack[0]).all():
        low, high = (ratio * (1 - slack)).max(), (ratio * (1 + slack)).min()
        number, inverse = shortest(low, high), shortest(1 / high, 1 / low)
        if digits(inverse) < digits(number) and digits(inverse) <= MAX_DIGITS:
            return f"coordinates divided by {number_text(inverse)} (interpolation scale)", whole / float(inverse)
        for text, factor in CONSTANTS.items():
            if low <= factor <= high:
                return f"angles are {text}", whole * factor
        if digits(number) <= MAX_DIGITS:
            return f"coordinates multiplied by {number_text(number)} (scale)", whole * float(number)
        return None, whole
    values = expected.source.values
    key = "base" if "base" in values else "temperature"
    given = values.get(key)
    base = Decimal(str(given[a if len(given) > 1 else 0] if isinstance(given, tuple) else given or 1))
    if base in (0, 1):
        return None, whole
    log = np.log(float(base))
    e = -np.log(told / unit) / log
    with np.errstate(all="ignore"):
        new = np.exp(log - np.log(ratio) / e)
        loose = slack / e
    use = np.isfinite(loose) & (e > 1e-9)
    if use.any() and (np.abs(ratio[~use] - 1) <= slack[~use]).all():
        low, high = (new * (1 - 2 * loose))[use].max(), (new * (1 + 2 * loose))[use].min()
        known = next((t for t in PUBLISHED_BASES if low <= float(t) <= high), "")
        if low <= high and (known or digits(shortest(low, high)) <= MAX_DIGITS):
            known = known or number_text(shortest(low, high))
            exponents = -np.log(whole / unit) / log
            return f"{key} {known} where {number_text(base)} was expected", unit * np.exp(
                -exponents * np.log(float(known))
            )
    count = len(whole)
    exponents = -np.log(whole / unit) / log
    for text, factor in (
        ("up to 1/base itself (endpoint)", count / (count - 1)),
        ("short of 1/base", (count - 1) / count),
    ):
        other = unit * np.exp(-exponents * factor * log)
        if (np.abs(other[clear] / (told * ratio) - 1) <= slack).all():
            return f"frequencies spaced {text} where the other spacing was expected", other
    return None, whole


def _one_line(grid: Grid, z: NDArray[np.complex128], w: Floats, index: Integers, plan: Waves, names: Sequence[str],
              axis: Integers, wanted: Integers, expected: Table) -> list[Finding] | None:  # fmt: skip
    """Return that all pairs follow one position, of a flattened grid or of text."""
    if len(grid.axes.axes) != 1:
        return None
    model = GridModel(w, np.repeat(index[:, None].astype(float), len(w), axis=1))
    if _share(z, model, grid.view.dtype) < MIN_SHARE_EXPLAINED:
        return None
    keys = expected.source.keys()
    if "sections" in keys:
        text = "all streams are the position, as in text: sections and grids are ignored"
        return [Finding("sections", text)]
    return [
        Finding(
            "grid",
            f"positions count all {len(index)} patches in one line where {' and '.join(names)} of a grid were expected",
        )
    ]


def _share(z: NDArray[np.complex128], model: GridModel, dtype: str) -> float:
    """Return the share of values that a model gives back."""
    angles = model.coordinates * model.frequencies
    gap = np.abs(z - np.exp(1j * angles))
    return float((gap <= 6 * EPSILON[dtype] + 2.0**-20 * np.abs(angles)).mean())
