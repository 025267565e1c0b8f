"""Compares two tables, or an unknown one with the nearest recipe; causes are looked for when they are asked for."""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from pecli.errors import PecliError
from pecli.numbers.rounding import floats
from pecli.spec.catalogue import CATALOGUE
from pecli.spec.declaration import Family
from pecli.spec.measured import PUBLISHED_BASES
from pecli.spec.plans import Waves
from pecli.spec.recipe import split_recipe
from pecli.spec.tabular import InMemory, Tabular, View
from pecli.tables.comparison import Comparison, Finding, Progress, compare_tables
from pecli.tables.figures import Tolerance
from pecli.tables.table import Table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pecli.judge.description import Identification
    from pecli.judge.planes import Floats


MIN_ROWS = 8  # and columns of a table that is compared with the usual ones
MIN_SMALL = 4  # the same, of one that a single wrong value keeps from being known


def compare(a: Tabular, b: Tabular, tolerance: Tolerance | None = None, progress: Progress = None) -> Comparison:
    """Compare all values of two tables; the result knows why they differ.

    Parameters
    ----------
    a, b : Tabular
        A computed one, or else the second, is what was expected.
    tolerance : Tolerance, optional
        What counts as the same; left out, only equal values do.
    progress : callable, optional
        Called with the bytes read, block by block.

    Returns
    -------
    Comparison
        Its `findings` are looked for when they are first asked for, while both tables are open.
    """
    found = compare_tables(a, b, tolerance, progress)
    computed = isinstance(a, Table) and not isinstance(b, Table)

    def findings(seen: Comparison) -> list[Finding]:
        from pecli.judge.explain import beyond_tolerance, explain  # equal tables load none of it

        sides, own = ((b, a), seen.reversed) if computed else ((a, b), seen)
        reasons = explain(*sides, own)
        placed = {one.kind for one in reasons} <= {"place", "rest", "value"}
        return _with_option(a, b, (beyond_tolerance(*sides, own) if placed else []) or reasons, seen)

    found.explain = findings
    return found


def _with_option(a: Tabular, b: Tabular, findings: list[Finding], found: Comparison) -> list[Finding]:
    """Add the option that accepts a rounding, to decimals or to a narrow type, if it is all that differs."""
    most, (kind, text) = found.total.max_abs, findings[0] if findings else Finding("", "")
    if not found.complete or any(one.kind != "expected" for one in findings[1:]):
        return findings
    options = dict[str, Tolerance]()
    if kind == "type" and found.total.max_ulp <= 1:
        options["--ulp 1"] = Tolerance(ulp=1)
    elif 0 < most < 0.5 and ((kind == "decimals" and " rounded " in text) or text.endswith(" decimals")):
        least = math.floor(-math.log10(2 * most))
        options = {f"--digits {digits}": Tolerance.printed(digits) for digits in (least + 1, least)}
    accepted = next((option for option, one in options.items() if compare_tables(a, b, one).equal), "")
    return [findings[0]._replace(text=f"{text}; {accepted} accepts it"), *findings[1:]] if accepted else findings


def explained(a: Tabular, b: Tabular) -> list[Finding]:
    """Return why two tables differ."""
    return compare(a, b).findings


def identified(table: Tabular, positions: Floats | None = None) -> Identification:
    """Return what `judge.identify` says of a table; of an unknown one, also why it differs from the nearest recipe."""
    from pecli.judge.cycles import cyclic
    from pecli.judge.description import Identification, statistics_of
    from pecli.judge.identify import at_positions, identify
    from pecli.judge.noise import ALL, drawn_words, random_parts
    from pecli.tables.alignment import as_one_array

    if (joined := as_one_array(table)) is not table:
        if positions is None and not identify(joined).recipe and (same := cyclic(table)):
            return Identification(None, "unknown", measured=same)
        found = identified(joined, positions)
        if found.recipe or found.unknown.startswith("nearly"):
            return found
        found = identify(table, positions)
        if found.confidence == "sure":
            return found
        return Identification(None, "unknown", measured=cyclic(table, of_any=True) or statistics_of(table))
    if positions is None and (other := _among_weights(table)):
        return other
    with np.errstate(all="ignore"):  # a file may hold any number
        is_drawn = positions is None and len(table.arrays) == 1 and random_parts(table, drawn=True) == [ALL]
        which = drawn_words(table) if is_drawn else ""
    if which:
        texts = f"the values look drawn from {which}", *statistics_of(table)  # the search for a recipe takes seconds
        return Identification(None, "unknown", measured=texts)
    found = identify(table, positions)
    if found.recipe and split_recipe(found.recipe)[1].get("base") == "1" and (same := cyclic(table)):
        return Identification(None, "unknown", measured=same)
    if found.recipe or found.count or positions is not None:  # of an unknown table, all values were compared
        return found
    if any(not array.bytes for array in table.arrays):
        return found
    with np.errstate(all="ignore"):  # a file may hold any number
        if other := _one_a_row(table) or _applied(table) or _in_order(table) or _reread(table):
            return other
        if not found.steps and (other := at_positions(table)):  # rows of one step are rather moved or missing
            return other
        reasons = tuple(_reasons(table, found))
        if found.steps and not any(text.startswith("nearly") for text in reasons) and (other := at_positions(table)):
            return other
        return replace(found, measured=reasons or found.measured)


def _reasons(table: Tabular, found: Identification) -> Iterator[str]:
    """Yield why an unknown table is none: what each of two arrays is, or how it differs from a recipe like it."""
    from pecli.judge.biases import BY_DISTANCE
    from pecli.judge.cycles import cyclic
    from pecli.judge.description import repeated_rows, still
    from pecli.judge.identify import MIN_EXPLAINED_NEAREST
    from pecli.judge.located import VAGUE
    from pecli.judge.noise import TRAINED, is_trained, random_parts, random_words
    from pecli.judge.planes import few_values, is_cube, is_large
    from pecli.tables.alignment import table_like
    from pecli.tables.sources import read_source

    of_one_pair = found.nearest is None or ":dim=2," in found.nearest
    if each := (cyclic(table) if of_one_pair else ()) or _each_alone(table):
        yield from each
        return
    if not is_large(table) and (text := still(table)):
        yield text
        return
    if not is_large(table) and _is_half_ones(table) and all(_is_one_row(table, array.name) for array in table.arrays):
        yield "every row is the same: two values, half 0 and half 1, as sines and cosines of position 0 are, or a mask"
        return
    said, is_near = "", found.nearly >= MIN_EXPLAINED_NEAREST
    nearest = found.nearest if is_near else None if is_cube(table) else _recipe_of_half(table)
    from_zero = re.sub(",start=[^,]+", "", nearest or "")  # rows that fall begin at the last position
    for recipe in dict.fromkeys((nearest if ",step=-" in nearest else from_zero, nearest)) if nearest else ():
        findings = explained(table, table_like(read_source(recipe), table))
        if (is_near and recipe == nearest) or not any(one.kind in ("place", "rest") for one in findings):
            said = recipe
            break
    few = few_values(table)  # as a mask has, and sines that were cut to integers
    is_distance = any(text.endswith(", for each pair") for text in found.measured)
    is_distance |= any(BY_DISTANCE in text for text in found.measured) and not _is_straight(table)
    if not said and not is_large(table) and not is_distance and (not few or _is_half_ones(table)):
        base = _base_of(found.steps)
        alike = _resembled(table, found.usual or _usual(table, base), base)
        only = {"decimals"} if few else {"value"} if _is_small(table) else set()
        said, findings = next((one for one in alike if not only or one[1][0].kind in only), ("", []))
    texts = [one.text for one in findings if one.kind not in (*VAGUE, "arrays", "labels")] if said else []
    yield from [f"nearly {said}: {text}" for text in texts[:1]] + texts[1:]
    drawn = [*map(random_words, random_parts(table, drawn=True))] if table.arrays and not texts else []
    drawn = drawn or [TRAINED] * (is_trained(table) and not texts)
    if not texts and (again := repeated_rows(table)):
        drawn = [again, *drawn]
    turns = 2 * np.pi / np.array(found.steps or [1.0])  # rows of a turn, as of hours and weekdays
    is_cyclic = len(turns) <= MAX_CYCLES and np.abs(turns / np.rint(turns) - 1).max() < MAX_TURN_GAP
    periods = () if drawn or texts or (found.steps and not is_cyclic) else cyclic(table, of_any=True)
    yield from [*drawn, *found.measured] if drawn else periods


# Pairs that turn in whole numbers of rows, and by how much these may be off, relative.
MAX_CYCLES, MAX_TURN_GAP = 8, 1e-3


# Waves have this share of their values near the largest one, trained and drawn numbers a twentieth; what counts as
# near, and the values that show this.
MIN_TOPS, NEAR_TOP, MIN_SHOWN = 0.1, 0.8, 1 << 14


def _has_tops(table: Tabular) -> bool:
    """Whether many values are near the largest, as those of sines are in any order and however scaled."""
    for array in table.arrays:
        values = np.abs(floats(table.read_rows([array.name], 0, min(array.rows, MIN_SHOWN))[array.name], array.dtype))
        values = values[values != 0]
        if values.size < MIN_SHOWN or not np.isfinite(values).all():
            return True
        if (values > NEAR_TOP * np.quantile(values, 0.99)).mean() < MIN_TOPS:
            return False
    return True


def _is_straight(table: Tabular) -> bool:
    """Whether the last row of most heads ends in a straight line, as ALiBi's does in any order, sign and size."""
    from pecli.judge.planes import planes_of

    ends = [plane.read(plane.rows - 1, plane.rows)[0, -MIN_ROWS:] for plane in planes_of(table, table.arrays[0])]
    return bool(np.mean([np.median(np.abs(np.diff(end, 2))) <= MAX_BEND * np.ptp(end) for end in ends]) > 0.5)


MAX_BEND = 1e-3  # of a straight line, as a share of its range


def _is_small(table: Tabular) -> bool:
    """Whether an array has few rows or few columns, as a worked example has."""
    matrices = (array for array in table.arrays if sum(side > 1 for side in array.shape) > 1)
    return any(min(array.rows, math.prod(array.row_shape)) < MIN_ROWS for array in matrices)


def _is_half_ones(table: Tabular) -> bool:
    """Whether half of the values of all first rows are 1 and half are 0, as sines and cosines of position 0 are."""
    firsts = [table.read_rows([array.name], 0, 1)[array.name].ravel() for array in table.arrays] or [np.zeros(1)]
    ones, zeros = (np.count_nonzero(np.concatenate(firsts) == one) for one in (1, 0))
    return bool(ones == zeros > 0 and ones + zeros == sum(first.size for first in firsts))


def _is_one_row(table: Tabular, name: str) -> bool:
    """Whether an array has several rows, which are all equal."""
    values = table.read(name)
    rows = values.reshape(-1, values.shape[-1]) if values.ndim > 1 else values
    return rows.ndim > 1 and len(rows) > 1 and bool((rows == rows[:1]).all())


def _base_of(steps: Sequence[float]) -> str:
    """Return the published base that most of the faster pairs show, in a recipe; "" where they show none."""
    w = np.array(steps[: max(3, len(steps) // 2)])
    ratio = float(np.median(w[1:] / w[:-1])) if len(w) > 2 else 0.0
    base = ratio ** -len(steps) if 0 < ratio < 1 else 0.0
    return next((f"base={text}" for text in PUBLISHED_BASES if abs(base / float(text) - 1) < MAX_BASE_OFF), "")


def _usual(table: Tabular, base: str) -> Iterator[str]:
    """Yield what an unknown table is compared with, with the sizes that its shape gives and a base that it shows."""
    from pecli.judge.biases import MAX_HEADS, Lines
    from pecli.judge.identify import WAVES
    from pecli.judge.planes import few_values, is_cube, planes_of

    shapes = [[side for side in array.shape if side != 1] for array in table.arrays]
    if len(shapes) == 1 and len(shapes[0]) == 1:
        yield f"alibi:heads={shapes[0][0]},form=slopes"
        yield from (f"rope:dim={2 * shapes[0][0]},base={base}" for base in PUBLISHED_BASES[:4])
    if len(shapes) == 1 and len(shapes[0]) == 2 and shapes[0][0] <= MAX_HEADS:
        ends = planes_of(table, table.arrays[0])[0].read(0, shapes[0][0])[:, [0, -1]]
        zero = zip(("bloom", "mpt"), (ends == 0).all(axis=0).tolist(), strict=True)
        yield from (f"alibi:heads={shapes[0][0]},convention={word}" for word, is_form in zero if is_form)
    if not shapes or min(map(len, shapes)) < 2 or min(min(shape[-2:]) for shape in shapes) < MIN_SMALL:
        return
    if _is_small(table):
        yield from WAVES[:3]
        return
    first, *more = shapes[0]
    if not is_cube(table):
        own = (f"{text}{',' if ':' in text else ':'}{base}" if base else text for text in WAVES[:6])
        yield from (*own, *WAVES[6:], *[f"rope:dim={more[-1]}"] * (more[-1] % 2 == 0))
    if few_values(table):  # a mask, or sines that were cut to integers
        return
    for tokens in (0, 1) if not is_cube(table) else ():
        side = math.isqrt(first - tokens)
        if side * side == first - tokens:
            yield f"sincos2d:grid={side}x{side}{',prefix=1' * tokens}"
    if len(more) == 2 or more == [first]:
        yield f"alibi:heads={first}" if len(more) == 2 else "alibi"
    if not table.arrays[0].dtype.startswith("complex") and Lines(table, table.arrays[0].name).integral:
        yield from ("t5:form=index", "t5:bidirectional=false,form=index")
        heights = (height for height in range(2, first // 2 + 1) if more == [first] and not first % height)
        yield from (f"window:grid={height}x{first // height}" for height in heights)


def _resembled(table: Tabular, recipes: Iterable[str], base: str) -> Iterator[tuple[str, list[Finding]]]:
    """Yield each recipe that a table differs from in a way with a name, and these differences, the nearest first."""
    from pecli.judge.explain import resemblance, slightly_off
    from pecli.tables.alignment import read_fitting, table_like

    tables, coarse = list[Table](), ("cast", "random", "values")  # by these alone a less usual base is known
    bases = {"10000", base.removeprefix("base=")}
    for recipe in recipes:
        with contextlib.suppress(PecliError):  # of another size
            tables.append(table_like(read_fitting(recipe, table), table))
    if not _has_tops(table):
        tables = [one for one in tables if not isinstance(one.plan, Waves)]
    tried = [one for one in tables if base and isinstance(one.plan, Waves) and not one.plan.axes]
    apart = [(one, _distance(table, one)) for one in tried]
    least = min((gap for _, gap in apart), default=math.inf)
    if least < MAX_DISTANCE:  # others would take up to a second each
        tables = [one for one, gap in apart if gap <= max(2 * least, MIN_DISTANCE)]
    for rule in (slightly_off, partial(resemblance, is_near=least < MAX_DISTANCE)):
        for expected in tables:
            if (findings := rule(table, expected)) is None:
                return
            if findings and (findings[0].kind in coarse or expected.source.keys().get("base", "10000") in bases):
                yield expected.source.short, findings


def _distance(table: Tabular, expected: Table) -> float:
    """Return how near most values of some rows are to a recipe; infinite of other sizes or one row."""
    from pecli.judge.rows import floats
    from pecli.tables.views import matched_views

    pairs = matched_views(table, expected)
    both = [[floats(view, 0, min(view.rows, SOME_ROWS)) for view in pair] for pair in pairs]
    apart = [np.abs(y - x).ravel() for y, x in both if y.shape == x.shape and min(y.shape) > 1]
    return float(np.nan_to_num(np.nanquantile(np.concatenate(apart), NEAR_SHARE), nan=np.inf)) if apart else math.inf


# Rows and the share of their values by which recipes are chosen, and distances: of one that a table resembles, and
# within which two are as near.
SOME_ROWS, NEAR_SHARE, MAX_DISTANCE, MIN_DISTANCE = 64, 0.9, 0.02, 1e-4
# Relative error of a base that the pairs of a damaged table show.
MAX_BASE_OFF = 0.02


def _in_order(table: Tabular) -> Identification | None:
    """Return the identification of a table whose rows are sorted by the positions that the file states."""
    from pecli.judge.identify import identify
    from pecli.judge.planes import is_large

    stated = table.position(0, table.arrays[0].rows) if table.arrays and not is_large(table) else None
    if stated is None or any(array.rows != len(stated) or array.lead != 1 for array in table.arrays):
        return None
    order = np.argsort(stated, kind="stable")
    found = identify(InMemory({array.name: table.read(array.name)[order] for array in table.arrays}))
    if not found.recipe or (order == np.arange(len(order))).all():
        return None
    return replace(found, notes=("the rows are not in the order of the positions that the file states", *found.notes))


def _one_a_row(table: Tabular) -> Identification | None:
    """Return the identification of a table with a row for each value, and the number of its column or of its row."""
    from pecli.judge.identify import identify
    from pecli.judge.planes import is_large

    if not 1 < len(table.arrays) <= 3 or is_large(table) or any(array.shape != (array.rows,) for array in table.arrays):
        return None
    numbers = {array.name: table.read(array.name) for array in table.arrays}
    for key, held in numbers.items():
        many = int(held.max()) + 1 if held.dtype.kind in "iu" and held.min() == 0 else 0
        if not MIN_SMALL <= many <= len(held) // 2 or len(held) % many:
            continue
        each = np.arange(many)
        by_column = np.array_equal(held, np.tile(each, len(held) // many))
        if not by_column and not np.array_equal(held, np.repeat(each, len(held) // many)):
            continue
        for name, values in numbers.items():
            made = values.reshape(-1, many) if by_column else values.reshape(many, -1)
            found = identify(InMemory({name: made})) if values.dtype.kind == "f" else None
            if found is not None and found.confidence == "sure":
                note = f"one row for each value: '{key}' numbers its {'columns' if by_column else 'rows'}"
                return replace(found, notes=(note, *found.notes))
    return None


def _applied(table: Tabular) -> Identification | None:
    """Return the identification of the rotation by which some arrays were made of others, as queries are."""
    from pecli.judge.identify import DTYPE, WITHIN, identify
    from pecli.judge.kernels import applied_rotations
    from pecli.judge.planes import is_large

    best: Identification | None = None
    for names, pairing, text, rotation in applied_rotations(table) if not is_large(table) else ():
        found = identify(rotation)
        if found.recipe is None or found.confidence == "unknown":
            continue
        recipe = f"{DTYPE.sub('', found.recipe)},layout={pairing}"
        if best is not None and best.recipe == recipe:
            best = replace(best, notes=(*best.notes, text), arrays=(*best.arrays, *names))
        elif best is None:
            steps = "each rotation measured"
            notes = (text, *(note for note in found.notes if not WITHIN.match(note)))
            best = replace(found, recipe=recipe, arithmetic=steps, notes=notes, arrays=names, equal=0.0)
    return best


def _among_weights(table: Tabular) -> Identification | None:
    """Return the identification of what is called positions among a model's parameters; None of any other file."""
    from pecli.judge.identify import frequencies_of, identify
    from pecli.tables.alignment import positional

    if (view := positional(table)) is table:
        return None
    found = identified(view)
    if found.confidence != "sure":
        each = ((array.name, identify(View(table, [array]))) for array in view.arrays[:MAX_POSITIONAL])
        found = next((replace(one, arrays=(name,)) for name, one in each if one.confidence == "sure"), found)
    left = len({*view.keys()} - {*found.arrays, *frequencies_of(view, found)}) if found.arrays else 0
    many = len(view.other_names) + left
    notes = [f"{many} other array{'s' * (many > 1)} not compared"] * (many > 0)
    if view.unlike:
        notes.append(f"other arrays hold other values: {', '.join(map(repr, view.unlike[:MAX_POSITIONAL]))}")
    if not found.recipe:
        return replace(found, measured=(*found.measured, *notes))
    named = ", ".join(map(repr, found.arrays))
    is_named = any(note.startswith("this describes") for note in found.notes)
    notes = [*notes, *found.notes] if is_named else [f"this describes {named}", *notes, *found.notes]
    return replace(found, confidence="likely" if view.unlike else found.confidence, notes=tuple(notes))


MAX_POSITIONAL = 8  # arrays of a model that are looked at one by one


def _reread(table: Tabular) -> Identification | None:
    """Return the identification of a table whose bits were read as another type."""
    from pecli.judge.arrangements import as_other_types
    from pecli.judge.identify import identify

    for note, other in as_other_types(table):
        found = identify(other)
        if found.confidence == "sure" and found.count > MIN_ROWS**2:  # few values could be any others
            return replace(found, notes=(note, *found.notes))
    return None


def _each_alone(table: Tabular) -> tuple[str, ...]:
    """Return what each of two arrays is by itself; () where one is unknown."""
    from pecli.judge.identify import identify
    from pecli.judge.planes import is_large

    if len(table.arrays) != 2 or is_large(table):
        return ()
    values = {array.name: table.read(array.name) for array in table.arrays}
    found = {name: identify(InMemory({name: array})) for name, array in values.items()}
    if any(one.confidence != "sure" for one in found.values()):
        return ()
    if len({one.recipe for one in found.values()}) == 1:
        names, first = " and ".join(f"'{name}'" for name in found), next(iter(found.values()))
        one, other = values.values()
        hold = "hold the same values:" if np.array_equal(one, other) else "each hold"
        return (f"{names} {hold} {first.recipe}", *first.notes)
    return ("the arrays do not belong together", *(f"'{name}' alone is {one.recipe}" for name, one in found.items()))


def _recipe_of_half(table: Tabular) -> str | None:
    """Return the recipe of the last or the first half of the rows, such as those behind padding, from position 0."""
    from pecli.judge.description import ANGLES
    from pecli.judge.identify import MIN_SURE_ROWS, identify_waves
    from pecli.judge.planes import is_large

    if (
        not table.arrays
        or is_large(table)
        or any(len(a.shape) < 2 or a.shape[-2] < MIN_SURE_ROWS or not a.bytes for a in table.arrays)
    ):
        return None
    wholes = {array.name: table.read(array.name) for array in table.arrays}
    rows = {name: whole.reshape(-1, *whole.shape[-2:])[0] for name, whole in wholes.items()}
    if whole := _recipe_of_first_columns(rows):
        return whole
    for half in (1, 0):
        own = identify_waves(InMemory({name: np.array_split(values, 2)[half] for name, values in rows.items()}))
        if own is not None and own.confidence == "sure" and own.recipe and ANGLES not in own.notes:
            return re.sub(",(len|start)=[^,]+", "", own.recipe)
    return None


def _recipe_of_first_columns(rows: Mapping[str, NDArray[Any]]) -> str | None:
    """Return the half-split recipe of a table that is cut off after its columns begin again."""
    from pecli.judge.identify import identify

    first = next(iter(rows.values()))
    again = 1 + np.flatnonzero((first[:, 1:] == first[:, :1]).all(axis=0))
    if not len(again) or not again[0] < first.shape[-1] < again[0] * 2 or again[0] < 2:
        return None
    own = identify(InMemory({name: values[:, : again[0]] for name, values in rows.items()}))
    if own.confidence != "sure" or not own.recipe or "layout" in split_recipe(own.recipe)[1]:
        return None
    return f"{own.recipe},layout=half" if CATALOGUE[split_recipe(own.recipe)[0]].family is Family.ROTARY else None
