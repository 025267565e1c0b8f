"""Why two tables differ: the difference of their descriptions, or the place and the kind of a change."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from pecli.judge.arrangement_differences import (
    ARRAY_RULES,
    MAX_HARMLESS,
    OTHER,
    additional_columns,
    bits,
    channels_first,
    in_two_arrays,
    of_angles,
    of_one_array,
    of_recipe,
    shaped,
)
from pecli.judge.bias_differences import bias_differences
from pecli.judge.case import Case, Rule, behind, first_answer
from pecli.judge.cycles import cycle_differences
from pecli.judge.description import harmless, still
from pecli.judge.difference import position_words, wave_differences
from pecli.judge.expected import Expected, mistaken
from pecli.judge.frequency_differences import frequency_differences
from pecli.judge.grid_differences import grid_differences
from pecli.judge.grids import CHANNELS_FIRST
from pecli.judge.identify import identify, matched_positions
from pecli.judge.located import MAX_REST_SHARE, MAX_SINGLE, REST_OFF, VAGUE, ArrayPair, located, place
from pecli.judge.noise import ALL, MAX_SLIGHT, noise, random_parts, random_words, unrelated
from pecli.judge.orders import gaps
from pecli.judge.places import described_printed, parameter_differences, placed
from pecli.judge.planes import EPSILON, is_large, unit
from pecli.judge.positions import differing_texts, first_positions, lone_row, one_position, parsed
from pecli.judge.resizing import resized
from pecli.judge.rows import floats as read_floats
from pecli.judge.rows import with_rows
from pecli.judge.transforms import (
    MAX_ANGLE_GAP,
    MAX_FIRST_GAP,
    cut_values,
    few_cells,
    gathered,
    phase_rounding,
    remade,
    reordered,
    rounded_from,
    rounded_values,
)
from pecli.judge.waves import LOW_TYPES
from pecli.numbers.dtypes import GRIDS
from pecli.spec.catalogue import CATALOGUE
from pecli.spec.declaration import Family
from pecli.spec.plans import Waves
from pecli.spec.recipe import split_recipe
from pecli.spec.tabular import Tabular, View
from pecli.tables.comparison import Comparison, Finding, compare_tables
from pecli.tables.figures import coarser
from pecli.tables.table import Table
from pecli.tables.views import ArrayView, matched_views

# Units in the last place by which float64 values differ that were computed in another order.
MAX_DOUBLE_ULP = 16
# First rows that show whether the frequencies are the expected ones (of short tables half as many do).
FIRST_ROWS = 16


def explain(actual: Tabular, expected: Tabular, found: Comparison) -> list[Finding]:
    """Return why a table differs from the expected one, the cause first."""
    other = {one.kind for one in found.remarks} - {"arrays", "dtype", "labels"}
    if found.arrays and not found.total.beyond and (found.complete or not other):  # at most arrays are missing
        return []
    if found.arrays and not found.total.beyond and (same := shaped(actual, expected, [])):
        return same
    types = {dtype for one in found.arrays for dtype in one.dtypes}
    is_finite = found.complete and found.total.max_abs < math.inf
    if is_finite and types == {"float64"} and found.total.max_ulp <= MAX_DOUBLE_ULP:
        return [harmless("rounding alone", found.total.max_abs, found.total.max_ulp)]
    with np.errstate(all="ignore"):  # a file may hold any number
        return first_answer(RULES, Case(actual, expected, found, explain))


def _other_encoding(case: Case) -> list[Finding]:
    """Return that two recipes are of different encodings."""
    both = [table.source for table in (case.actual, case.expected) if isinstance(table, Table)]
    if len(both) < 2 or both[0].encoding == both[1].encoding:
        return []
    return [Finding("encoding", f"{both[0].short} where {both[1].short} was expected")]


def _drawn(case: Case) -> list[Finding]:
    """Return that a large table holds numbers drawn at random, where others were expected."""
    if not is_large(case.actual) or random_parts(case.actual, drawn=True) != [ALL]:
        return []
    if random_parts(case.expected) == [ALL]:
        return []
    return [Finding("random", random_words(ALL)), *(place(ArrayPair(*pair)) for pair in case.views)]


def _untrained(case: Case) -> list[Finding]:
    """Return that a recipe of trained positions gives an initial draw, and none of the values of a model."""
    recipe, total = case.recipe, case.found.total
    if recipe is None or recipe.source.encoding.family is not Family.ABSOLUTE or 2 * total.beyond < total.compared:
        return []
    keys = recipe.source.keys()
    if not recipe.source.encoding.facts.learned or "seed" not in keys:
        return []
    if not is_large(case.actual) and {one.kind for one in case.places} - {*VAGUE}:  # of that very draw
        return []
    text = "positions are trained: the expected values are an initial draw, not the model's; weights=FILE compares them"
    shapes = [one.shapes for one in case.found.arrays if one.shapes[0] != one.shapes[1]]
    others = [Finding("shape", "the shape is {} where {} was expected".format(*both)) for both in shapes]
    return [*others, Finding("weights", text)]


def _first_row(case: Case) -> list[Finding]:
    """Return what was done to a table of a single row, of which any wave can be made."""
    few = located(case.whole_views) if all(one.rows == one.lead == 1 for one, _ in case.whole_views) else []
    return few if few and few[0].kind not in (*VAGUE, "value") else []


def _still(case: Case) -> list[Finding]:
    """Return that no pair turns."""
    text = still(case.actual) if any(array.rows > 1 for array in case.actual.arrays) else ""
    return [Finding("frequency", text)] if text and not still(case.expected) else []


def _single_pair(case: Case) -> list[Finding]:
    """Return how a single cosine and sine differ, as of hours of a day."""
    cycles = cycle_differences(case.views) if sum(one.row_size for one, _ in case.whole_views) == 2 else []
    return [] if any(one.kind == "place" for one in cycles) else cycles


def _right_but_for(case: Case) -> list[Finding]:
    """Return what was done to a table whose other values are right: to few of them, or behind the first rows."""
    pairs = case.whole_views
    if not pairs or not (case.is_rare or (not is_large(case.actual) and _begins_alike(pairs))):
        return []
    few = located(pairs)
    is_whole = case.is_rare or not {one.kind for one in few} & {"place", "rest"}
    vague = (*VAGUE, "value", *["clip"] * (not case.is_rare))  # what is said of many values may have a parameter's name
    return few if few and is_whole and few[0].kind not in vague else []


def _of_description(case: Case) -> list[Finding]:
    """Return the difference of the descriptions of a table and of the expected recipe."""
    table, found, pairs = case.stated, case.found, case.whole_views
    if table is None:
        return []
    if rounding := phase_rounding(pairs, table, found):
        return [rounding]
    findings = _described(case, table)
    similar = _alike(table, found) if not findings else None
    if similar is not None:
        findings = _described(case, similar)
    if findings and findings[0].kind == "type":
        findings = cut_values(findings, pairs)
    if findings and findings[0].kind == "frequency":
        findings = resized(pairs, table) or findings
    for rule in (of_one_array, of_angles, in_two_arrays, channels_first):
        findings = findings or rule(case, table)
    for one in (table, similar) if not findings else ():
        if one is not None and (rounding := phase_rounding(pairs, one, found, printed=True)):
            return [rounding]
    return shaped(case.actual, case.expected, findings or placed(case))


def _of_two_files(case: Case) -> list[Finding]:
    """Return why a file differs from another one that states no recipe."""
    return first_answer(FILE_RULES, case) if case.stated is None else []


def _named_rounding(case: Case) -> list[Finding]:
    """Return that rounding alone is what differs from a file whose recipe is certain."""
    if case.named_table is None:
        return []
    other_types = any(len({*one.dtypes}) > 1 for one in case.found.arrays)
    narrowed = rounded_values(case.views) if other_types else None
    rounding = narrowed or phase_rounding(case.whole_views, case.named_table, case.found)
    return [rounding, *case.naming] if rounding else []


def _trained_numbers(case: Case) -> list[Finding]:
    """Return what was done to the numbers of a trained bias, whose recipe gives the index alone."""
    findings = placed(case) if case.is_trained else []
    return findings if any(one.kind not in ("place", "identity") for one in findings) else []


def _cyclic(case: Case) -> list[Finding]:
    """Return how cyclic features differ, which are no recipe's, of a single pair, or maps whose pairs are all alike."""
    table, pairs = case.named_table, case.views
    alike = table is not None and table.source.keys().get("base") == "1"
    of_pairs = table is None or alike or sum(one.row_size for one, _ in pairs) == 2
    cycles = cycle_differences(pairs) if of_pairs else []
    if not any(one.kind == "place" for one in cycles):
        return cycles
    few = located(pairs)
    return reordered(pairs) or cycles if {one.kind for one in few} & {*VAGUE} else few


def _of_named(case: Case) -> list[Finding]:
    """Return the difference of the descriptions of a file and of the recipe that the other one holds."""
    table = case.named_table
    if table is None:
        return []
    findings = _described(case, table) or _identified(case.actual, table, case.found)
    findings = findings or resized(matched_views(case.actual, table), table)
    if not findings:
        return []
    # rounding is measured from the recipe, not from the other file, which may have the same
    stored = {one.kind for one in findings} in ({"layout"}, {"layout", "rounding"})
    whole = [array.shape for array in table.arrays] == [array.shape for array in case.expected.arrays]
    of_shape = ("rounding", "channels", *["layout"] * (case.same_shape and not whole))
    findings[1:] = [one for one in findings[1:] if one.kind not in of_shape]
    findings += [Finding("rounding", "otherwise they are the same table, within rounding")] * stored
    if not case.same_shape and {one.kind for one in findings} == {"rounding"}:
        unlike = next((a.shape, b.shape) for a, b in case.views if a.plain_shape != b.plain_shape)
        text = "both are one table, of the shape {} where {} was expected".format(*unlike)
        text += ": its channels come before the grid" * (CHANNELS_FIRST in case.named.notes)
        both = ([np.sort(read_floats(view, 0, view.rows), axis=None) for view in pair] for pair in case.views)
        same = all(np.array_equal(have, want) for have, want in both)
        findings = behind(Finding("shape", text), [Finding("rounding", "the values are equal")] if same else findings)
    return [*findings, *case.naming]


def _moved_rows(case: Case) -> list[Finding]:
    """Return which positions the rows of a file are of, where the other one has a recipe."""
    want = Expected.of(case.named_table) if case.named_table is not None and not case.is_trained else None
    places = matched_positions(case.actual, want.table) if want is not None else None
    if want is None or places is None:
        return []
    return [Finding("rows", position_words(places, want)), *case.naming]


def _placed_in_file(case: Case) -> list[Finding]:
    """Return the place and kind of a difference from another file, and what that one holds."""
    findings, is_unknown = placed(case), case.named.recipe is None and not case.of_pairs
    if is_unknown and {one.kind for one in findings} <= {"place"} and (other := unrelated(case.views)):
        return [other, *findings]
    if findings and findings[0].kind == "identity" and case.named.confidence == "sure":
        if findings[0].text.endswith(f": {case.named.short}"):  # with other points, which FILE stands for
            text = f"the file is of other points: both are {case.named.values_text}"
            return [Finding("identity", text), *findings[1:]]
        findings[1:1] = case.naming
    return findings


def beyond_tolerance(actual: Tabular, expected: Tabular, found: Comparison) -> list[Finding]:
    """Return where the few values of a small table are that exceed a tolerance; [] of many."""
    few = max(MAX_SINGLE, MAX_REST_SHARE * found.total.compared)
    if found.tolerance.exact or not found.complete or found.total.beyond > few or is_large(actual):
        return []
    both = []
    for left, right in matched_views(actual, expected):
        y, x = (read_floats(view, 0, view.rows) for view in (left, right))
        off, kind = gaps(y, x), coarser(left.dtype, right.dtype)
        wrong = found.tolerance.exceeded(y, x, off, off / unit(x, kind) if kind in GRIDS else None)
        both.append((with_rows(replace(left, dtype="float64"), np.where(wrong, y, x)), right))
    return located(both)


def _alike(table: Table, found: Comparison) -> Table | None:
    """Return a table with the values that were compared, of an encoding with rules, for one that has none."""
    compared = [array for array in table.arrays if any(array.name == one.names[1] for one in found.arrays)]
    if not compared or any(hook.startswith("identify") for hook in table.source.encoding.hooks):
        return None
    named = identify(View(table, compared))
    return parsed(named.recipe) if named.confidence == "sure" else None


def _begins_alike(pairs: Sequence[tuple[ArrayView, ArrayView]]) -> bool:
    """Whether the first rows are the expected ones but for rounding, so that others are missing or at other places."""
    if any(len(left.plain_shape) != 2 for left, _ in pairs):  # of many heads, the first alone
        return False
    narrow = 2 * max((EPSILON.get(view.dtype, 0.0) for pair in pairs for view in pair), default=0.0)
    both = [[read_floats(view, 0, min(view.rows // 2, FIRST_ROWS)) for view in pair] for pair in pairs]
    return all(len(y) >= FIRST_ROWS // 2 and np.abs(y - x).max() <= MAX_FIRST_GAP + narrow for y, x in both)


def resemblance(actual: Tabular, expected: Table, *, is_near: bool = False) -> list[Finding] | None:
    """Return how an unknown table differs from a recipe that it resembles; [] where that has no name, None for equal.

    Of a recipe that most values are near, single pairs may have other frequencies.

    An unknown table is equal where its rows stand at other positions, which the file states.
    """
    found = compare_tables(actual, expected)
    with np.errstate(all="ignore"):  # a file may hold any number
        if not found.arrays or found.equal:
            return None if found.equal else []
        pairs = matched_views(actual, expected)
        findings = few_cells(pairs) or _described(Case(actual, expected, found, explain), expected, named=False)
        findings = findings or described_printed(actual, expected, named=False)
        findings = findings or resized(pairs, expected) or located(pairs)
        allowed = {"offset"} if all("int" in left.dtype for left, _ in pairs) else set()  # which no chance adds to all
        allowed |= {"frequency"} if is_near else set()
        if ({one.kind for one in findings} - allowed).isdisjoint({"place", "rest", *OTHER}):
            return findings
        whole = remade(pairs) or noise(pairs)
        return [whole] if whole is not None else []


def slightly_off(actual: Tabular, expected: Table) -> list[Finding]:
    """Return that little noise, or a rounding to a step, is all by which a table differs from a recipe; else []."""
    whole = noise(matched_views(actual, expected), MAX_SLIGHT)
    return [whole] if whole is not None else []


def _identified(actual: Tabular, table: Table, found: Comparison) -> list[Finding]:
    """Return how the recipes of two files differ that are both certain: in rounding alone, or in parameters."""
    own = identify(actual)
    have = parsed(own.recipe) if own.confidence == "sure" else None
    if have is None or have.source != table.source:
        return parameter_differences(own.recipe, table) if have is not None else []
    most, kind, wanted = found.total.max_abs, have.request.dtype, table.request.dtype
    is_printed = " " in own.arithmetic  # as in "4 decimals"
    if is_printed or first_positions(have) != first_positions(table) or not 0 < most < MAX_HARMLESS:
        return []
    if wanted in LOW_TYPES and kind not in LOW_TYPES:
        return [rounded_from(f"the expected values were rounded to {wanted}, these were not", most)]
    if kind in LOW_TYPES and kind != wanted:
        return []
    return [harmless("rounding alone", most, found.total.max_ulp)]


def _described(case: Case, table: Table, *, named: bool = True) -> list[Finding]:
    """Return how the descriptions of two tables differ; [] where no description fits; see `wave_differences`."""
    actual, found = case.actual, case.found
    if listed := frequency_differences(actual, table, found):
        return listed
    findings = wave_differences(actual, table, found, named=named) or grid_differences(actual, table, found)
    findings = findings or bias_differences(actual, table, found) or _mistaken(actual, table)
    of_bias = findings[0].kind if findings and table.source.encoding.family is Family.BIAS else ""
    if of_bias == "factor":  # of few digits, slopes that have a name
        findings = described_printed(actual, table) or findings
    elif of_bias == "identity":
        findings = _identified(actual, table, found) or findings
    narrower = sum(a.shape[-1] for a in actual.arrays if a.shape) < sum(a.shape[-1] for a in table.arrays if a.shape)
    kinds = [one.kind for one in findings]
    several = len(kinds) - kinds.count("rounding") > 1
    lost = ""
    if narrower and (several or (kinds == ["rounding"] and found.total.max_abs > MAX_HARMLESS)):
        lost = "columns"  # which explain several parameters
    elif kinds[:1] == ["rows"] and {*kinds} - {"rows", "rounding"} in ({"place"}, {"start"}):
        lost = "rows"  # other ones
    part = placed(replace(case, expected=table)) if lost else []
    whole = {one.kind for one in part} <= {lost, "rounding"} and not any(REST_OFF in one.text for one in part)
    return part if lost and whole else findings


def _mistaken(actual: Tabular, table: Table) -> list[Finding]:
    """Return the declared mistake that gives all features of several coordinates, or of turns both ways; else []."""
    plan = table.plan
    is_other = isinstance(plan, Waves) and (plan.cross is not None or bool(plan.axes) or min(plan.frequencies) < 0)
    for change, other in mistaken(table) if is_other and not is_large(actual) else ():
        pairs = matched_views(actual, other)
        values = [[read_floats(view, 0, view.rows) for view in pair] for pair in pairs]
        most = MAX_ANGLE_GAP + max((EPSILON.get(left.dtype, 0.0) for left, _ in pairs), default=0.0)
        if pairs and all(
            have.shape == want.shape and np.abs(have - want).max(initial=0) < most for have, want in values
        ):
            return [Finding(change.kind, change.text)]
    return []


def _other_keys(case: Case) -> list[Finding]:
    """Return the parameters that differ in two recipes of one encoding whose points pecli does not have."""
    recipe = case.named.recipe if case.named.confidence == "sure" and case.same_shape else None
    if recipe is None or parsed(recipe) is not None:
        return []
    own = identify(case.actual).recipe
    (encoding, have), (other, want) = split_recipe(own or "none"), split_recipe(recipe)
    if own is None or encoding != other:
        return []
    parameters = CATALOGUE[encoding].parameters
    usual = {one.option: str(one.default).lower() if one.kind == "flag" else "" for one in parameters.values()}
    both = {key: (have.get(key, usual[key]), want.get(key, usual[key])) for key in (*want, *have) if key in usual}
    return differing_texts(CATALOGUE[encoding], both)


# What is looked for, in this order; the first rule that knows a case answers, so one that asks more of a table stands
# before those that would call the same table something vaguer.
RULES: tuple[Rule, ...] = (
    _other_encoding,
    *ARRAY_RULES,
    _drawn,
    _untrained,
    lambda case: lone_row(case.actual, case.expected) or one_position(case.actual, case.expected),
    of_recipe,
    _still,
    _first_row,
    bits,
    _single_pair,
    _right_but_for,
    _of_description,
    _of_two_files,
)
# The same of two files: the first may hold the other one's recipe.
FILE_RULES: tuple[Rule, ...] = (
    additional_columns,
    lambda case: gathered(case.actual, case.expected),
    _other_keys,
    _named_rounding,
    _trained_numbers,
    _cyclic,
    _of_named,
    _moved_rows,
    _placed_in_file,
)
