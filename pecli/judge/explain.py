"""Why two tables differ: the difference of their descriptions, or the place and the kind of a change."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.errors import PecliError
from pecli.formats.decimals import digits_text, how_printed, printed_digits
from pecli.judge.arrangements import (
    ALONG_FIRST,
    SWAPPED,
    along_first,
    as_other_types,
    channels_last,
    components_apart,
    of_matrices,
    reshaped,
    with_sides,
    without_numbers,
)
from pecli.judge.bias_differences import bias_differences
from pecli.judge.cycles import cycle_differences, cyclic
from pecli.judge.description import COPIES, NONE, ORTHONORMAL, STILL, Identification, harmless, is_orthonormal, is_still
from pecli.judge.difference import (
    Expected,
    key_lines,
    mistaken_tables,
    other_frequencies,
    position_words,
    wave_differences,
)
from pecli.judge.frequencies import (
    MAX_FREQUENCY_DIGITS,
    MAX_REPEAT_GAP,
    MIN_PRINTED_FREQUENCIES,
    added_to_all,
    frequency_words,
    identify_vector,
    times_all,
)
from pecli.judge.grid_differences import grid_differences
from pecli.judge.grids import CHANNELS_FIRST
from pecli.judge.identify import HIDING, PAIRS, at_positions, identify, matched_positions
from pecli.judge.located import MAX_REST_SHARE, MAX_SINGLE, REST_OFF, VAGUE, ArrayPair, located, place
from pecli.judge.masks import mask_differences
from pecli.judge.noise import ALL, MAX_SLIGHT, TRAINED, is_trained, noise, random_parts, random_words, unrelated
from pecli.judge.orders import gaps, numbered, numbered_are
from pecli.judge.planes import EPSILON, Floats, effective_dtype, is_large, rounded, unit
from pecli.judge.positions import (
    differing_texts,
    first_positions,
    has_effect,
    lone_row,
    one_position,
    other_choice,
    other_inputs,
    other_positions,
    parsed,
    scaled_positions,
    started,
)
from pecli.judge.resizing import MAX_ADDITIONAL_GAP, of_length, padded_grid, resized
from pecli.judge.rows import floats as read_floats
from pecli.judge.rows import with_rows
from pecli.judge.transforms import (
    MAX_ANGLE_GAP,
    MAX_FIRST_GAP,
    added_positions,
    colliding,
    cut_values,
    few_cells,
    gathered,
    left_padding,
    low_rank,
    moved_coordinates,
    of_one_matrix,
    one_row,
    phase_rounding,
    remade,
    reordered,
    rounded_from,
    rounded_values,
    slightest,
    unlike_halves,
    without_function,
)
from pecli.judge.waves import LOW_TYPES
from pecli.numbers.dtypes import GRIDS, REAL
from pecli.numbers.printing import limit
from pecli.numbers.rounding import floats
from pecli.spec.catalogue import CATALOGUE
from pecli.spec.declaration import Family
from pecli.spec.hooks import Change
from pecli.spec.plans import Bias, Waves
from pecli.spec.recipe import Recipe, split_recipe
from pecli.spec.tabular import InMemory, Tabular, View
from pecli.tables.comparison import Comparison, Finding, compare_tables
from pecli.tables.figures import Tolerance, coarser
from pecli.tables.layouts import cosine_sine_pairs
from pecli.tables.parts import ConcatTable
from pecli.tables.request import ArrayNaming
from pecli.tables.table import Table
from pecli.tables.views import ArrayView, copies_of, matched_views, pair_views


def explain(actual: Tabular, expected: Tabular, found: Comparison) -> list[Finding]:
    """Return why a table differs from the expected one, the cause first."""
    other = {one.kind for one in found.remarks} - {"arrays", "dtype", "labels"}
    if found.arrays and not found.total.beyond and (found.complete or not other):  # at most arrays are missing
        return []
    if found.arrays and not found.total.beyond and (same := _shaped(actual, expected, [])):
        return same
    types = {dtype for one in found.arrays for dtype in one.dtypes}
    is_finite = found.complete and found.total.max_abs < math.inf
    if is_finite and types == {"float64"} and found.total.max_ulp <= MAX_DOUBLE_ULP:
        return [harmless("rounding alone", found.total.max_abs, found.total.max_ulp)]
    both = [table.source for table in (actual, expected) if isinstance(table, Table)]
    if len(both) == 2 and both[0].encoding != both[1].encoding:
        return [Finding("encoding", f"{both[0].short} where {both[1].short} was expected")]
    with np.errstate(all="ignore"):  # a file may hold any number
        left, right = _differing(actual, expected, found)
        if (len(left.arrays), len(right.arrays)) != (len(actual.arrays), len(expected.arrays)):
            few, name = explain(left, right, compare_tables(left, right, found.tolerance)), left.arrays[0].name
            if {one.kind for one in few} <= {*VAGUE, "random"} and (own := of_one_matrix(actual, expected)):
                return own
            alone = len(left.arrays) == 1 < len(found.arrays)  # and the others are equal
            return [one if name in one.text or not alone else one._replace(text=f"{name}: {one.text}") for one in few]
        scales = [one.names for one in found.arrays if one.figures.beyond and "scale" in one.names[1]]
        if len(scales) == 1 < len(found.arrays) == 1 + sum(not one.figures.beyond for one in found.arrays):
            of_scale, meant = scales[0]  # of xPos, beside right cosines and sines
            views = matched_views(View(actual, [actual.array(of_scale)]), View(expected, [expected.array(meant)]))
            return [one._replace(text=f"{of_scale}: {one.text}") for one in located(views)]
        if masked := mask_differences(actual, expected, _explained):
            return masked
        of_rows = isinstance(expected, Table) and not isinstance(expected.plan, Bias)
        if of_rows and along_first(actual) is not None:  # a bias may be the same for all queries
            return [Finding("axes", ALONG_FIRST)]
        if copied := _copies(actual, expected, found.tolerance):
            return copied
        if numbered := _numbered_rows(actual, expected):
            return numbered
        if still := _still_columns(actual, expected):
            return still
        if isinstance(expected, Table) and expected.request.naming != ArrayNaming():
            return _renamed(actual, expected)
        if is_large(actual) and random_parts(actual, drawn=True) == [ALL] and random_parts(expected) != [ALL]:
            places = (place(ArrayPair(left, right)) for left, right in matched_views(actual, expected))
            return [Finding("random", random_words(ALL)), *places]
        if row := lone_row(actual, expected) or one_position(actual, expected):
            return row
        if isinstance(expected, Table) and (simple := _of_recipe(actual, expected, found.tolerance)):
            return simple
        if is_still(actual) and not is_still(expected) and any(array.rows > 1 for array in actual.arrays):
            return [Finding("frequency", STILL)]
        of_floats = [any(one.dtype in GRIDS for one in table.arrays) for table in (actual, expected)]
        if (of_floats == [False, True] or found.total.max_abs > MAX_SENSE) and (
            bits := _as_bits(actual, expected, swapped=of_floats[0])
        ):
            return bits
        whole = found.complete and {one.kind for one in found.remarks} <= {"arrays", "labels"}
        pairs = matched_views(actual, expected) if whole else []
        is_rare = found.total.beyond <= MAX_REST_SHARE * found.total.compared
        of_one_pair = sum(left.row_size for left, _ in pairs) == 2
        if of_one_pair and (cycles := cycle_differences(pairs)) and not any(one.kind == "place" for one in cycles):
            return cycles
        if pairs and (is_rare or (not is_large(actual) and _begins_alike(pairs))):
            few = located(pairs)
            is_whole = is_rare or not {one.kind for one in few} & {"place", "rest"}
            if few and is_whole and few[0].kind not in (*VAGUE, "value"):  # the recipe is right
                return few
        table = expected if isinstance(expected, Table) else parsed(expected.recipe)
        if table is not None:
            if (rounding := phase_rounding(pairs, table, found)) is not None:
                return [rounding]
            findings = _described(actual, table, found)
            similar = _alike(table, found) if not findings else None
            if similar is not None:
                findings = _described(actual, similar, found)
            if findings and findings[0].kind == "type":
                findings = cut_values(findings, pairs)
            if findings and findings[0].kind == "frequency":
                findings = resized(pairs, table) or findings
            findings = findings or _of_one_array(actual, table, found) or _channels_first(actual, table)
            for one in (table, similar) if not findings else ():
                if one is not None and (rounding := phase_rounding(pairs, one, found, printed=True)) is not None:
                    return [rounding]
            return _shaped(actual, expected, findings or _located(actual, expected))
        return _of_two_files(actual, expected, found, pairs)


def _of_two_files(
    actual: Tabular, expected: Tabular, found: Comparison, pairs: list[tuple[ArrayView, ArrayView]]
) -> list[Finding]:
    """Return why a table differs from another file's, by the recipe of that one where it has one."""
    if more := _additional_columns(actual, expected) or gathered(actual, expected):
        return more
    drawn = all(random_parts(table, drawn=True) == [ALL] for table in (actual, expected))  # which no recipe gives
    named = NONE if drawn else identify(expected)
    if named.recipe is None and not drawn and not is_large(expected):
        named = at_positions(expected) or named
    table = parsed(named.recipe) if named.confidence == "sure" else None
    views = matched_views(actual, expected)
    unlike = [(left.shape, right.shape) for left, right in views if left.plain_shape != right.plain_shape]
    if table is None and named.confidence == "sure" and not unlike and (keys := _other_keys(actual, named)):
        return keys
    fewer = table is not None and max(_size(table), named.count) < _size(expected)  # the others are empty
    if fewer and named.equal is not None:
        table = None
    trained = named.equal is None and table is not None and table.request.form == "index"
    other_types = any(len({*one.dtypes}) > 1 for one in found.arrays)
    narrowed = rounded_values(matched_views(actual, expected)) if other_types else None
    if table is not None and (rounding := narrowed or phase_rounding(pairs, table, found)) is not None:
        return [rounding, Finding("expected", f"the expected values are {named.values_text}")]
    own = _located(actual, expected) if trained else []  # the recipe gives the index alone
    if any(one.kind not in ("place", "identity") for one in own):
        return own
    if cycles := _cyclic(matched_views(actual, expected), table):
        return cycles
    findings = _described(actual, table, found) if table is not None else None
    if table is not None and not findings:
        findings = _identified(actual, table, found) or resized(matched_views(actual, table), table)
    if findings:  # rounding is measured from the recipe, not from the other file, which may have the same
        stored = {one.kind for one in findings} in ({"layout"}, {"layout", "rounding"})
        of_shape = ("rounding", "channels") if unlike else ("rounding", "channels", "layout")
        findings[1:] = [one for one in findings[1:] if one.kind not in of_shape]
        findings += [Finding("rounding", "otherwise they are the same table, within rounding")] * stored
        if unlike and {one.kind for one in findings} == {"rounding"}:
            where = ": its channels come before the grid" * (CHANNELS_FIRST in named.notes)
            text = "both are one table, of the shape {} where {} was expected".format(*unlike[0])
            both = [[np.sort(read_floats(view, 0, view.rows), axis=None) for view in pair] for pair in views]
            same = all(np.array_equal(have, want) for have, want in both)
            others = [Finding("rounding", "the values are equal")] if same else findings
            findings = [Finding("shape", text + where), *(one.without_option for one in others)]
        return [*findings, Finding("expected", f"the expected values are {named.values_text}")]
    want = Expected.of(table) if table is not None and not trained else None
    if want is not None and (places := matched_positions(actual, want.table)) is not None:
        moved = Finding("rows", position_words(places, want))
        return [moved, Finding("expected", f"the expected values are {named.values_text}")]
    of_pairs = any(text.startswith(PAIRS) for text in named.measured)
    findings = _located(actual, expected, tensors=named.recipe is None and not of_pairs)
    unknown = named.recipe is None and not of_pairs and {one.kind for one in findings} <= {"place"}
    if unknown and (other := unrelated(matched_views(actual, expected))):
        return [other, *findings]
    if findings and findings[0].kind == "identity" and named.confidence == "sure":
        if findings[0].text.endswith(f": {named.short}"):  # with other points, which FILE stands for
            return [Finding("identity", f"the file is of other points: both are {named.values_text}"), *findings[1:]]
        findings.insert(1, Finding("expected", f"the expected values are {named.values_text}"))
    return findings


def _cyclic(pairs: list[tuple[ArrayView, ArrayView]], table: Table | None) -> list[Finding]:
    """Return how cyclic features differ, which are no recipe's, of a single pair, or maps whose pairs are all alike."""
    alike = table is not None and table.source.keys().get("base") == "1"
    of_pairs = table is None or alike or sum(one.row_size for one, _ in pairs) == 2
    cycles = cycle_differences(pairs) if of_pairs else []
    if not any(one.kind == "place" for one in cycles):
        return cycles
    few = located(pairs)
    return reordered(pairs) or cycles if {one.kind for one in few} & {*VAGUE} else few


def _numbered_rows(actual: Tabular, expected: Tabular) -> list[Finding]:
    """Return that the first column numbers the rows, and how the others differ; [] where it does not."""
    wider = [pair for pair in pair_views(actual, expected)[0] if pair[0].row_size == pair[1].row_size + 1]
    other = without_numbers(actual) if wider and len(actual.arrays) == 1 else None
    if other is None:
        return []
    compared = compare_tables(other, expected)
    text = "column 0 numbers the rows, where none was expected to"
    text += "; all others are equal" * (compared.equal and compared.complete)
    return [
        Finding("columns", text),
        *(one.without_option for one in ([] if compared.equal else explain(other, expected, compared))),
    ]


def _still_columns(actual: Tabular, expected: Tabular) -> list[Finding]:
    """Return that the last columns of two arrays are 1 and 0, as of pairs that do not turn; [] of others."""
    pairs = pair_views(actual, expected)[0]
    if len(pairs) != 2 or is_large(actual) or any(left.row_size <= right.row_size for left, right in pairs):
        return []
    if {left.name for left, _ in pairs} != {*actual.keys()}:  # parts of one array
        return []
    width, arrays, added = pairs[0][1].row_size, dict[str, NDArray[Any]](), list[Floats]()
    for left, _ in pairs:
        arrays[left.name] = actual.read(left.name)[..., :width]
        added.append(read_floats(left, 0, left.rows)[:, width:])
    if any((one != one[0, 0]).any() for one in added) or {float(one[0, 0]) for one in added} != {0.0, 1.0}:
        return []
    which = numbered("column", np.arange(width, pairs[0][0].row_size))
    others = (one.without_option for one in _explained(InMemory(arrays), expected))
    return [Finding("columns", f"{which} are of pairs that do not turn: cosine 1 and sine 0"), *others]


def _additional_columns(actual: Tabular, expected: Tabular) -> list[Finding]:
    """Return that a matrix has the expected columns and others before or after them; [] where it has not."""
    pairs, extra, missing = pair_views(actual, expected)
    if len(pairs) != 1 or extra or missing or any(len(view.plain_shape) != 2 for view in pairs[0]):
        return []
    width, count = (view.row_size for view in pairs[0])
    if not 1 < count < width or is_large(actual) or is_large(expected):
        return []
    rows, (y, x) = min(v.rows for v in pairs[0]), (read_floats(v, 0, v.rows) for v in pairs[0])
    for first in {0, width - count} if rows > 1 and np.ptp(x, axis=0).any() else ():
        part, other = y[:, first : first + count], np.delete(np.arange(width), np.s_[first : first + count])
        if np.abs(part[:rows] - x[:rows]).max() <= MAX_ADDITIONAL_GAP * np.abs(x).max():
            cut = InMemory({pairs[0][0].name: part})
            others = _explained(cut, expected) if len(y) != len(x) else []
            text = f"{numbered_are('column', other)} not expected; the others are right, within rounding"
            return [Finding("columns", text), *(one.without_option for one in others)]
    return []


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


# Difference that values show whose bytes are in another order.
MAX_SENSE = 1e30
# Units in the last place by which float64 values differ that were computed in another order.
MAX_DOUBLE_ULP = 16
# Layouts of cosines and sines in two arrays.
APART = ("split", "half", "interleaved")


def _as_bits(actual: Tabular, expected: Tabular, *, swapped: bool = False) -> list[Finding]:
    """Return that bytes were read as another type, or swapped alone, and how the others differ; else []."""
    least = list[Finding]()
    for text, other in as_other_types(actual):
        views = matched_views(other, expected) if text == SWAPPED or not swapped else []
        if not views or any(left.plain_shape != right.plain_shape for left, right in views):
            continue
        others = [one for one in _explained(other, expected) if one.kind != "type"]
        if {one.kind for one in others} & {"place", "bytes", *OTHER}:
            continue
        if not least or {one.kind for one in others} <= {"rounding"}:  # bits of another type may look alike
            least = [Finding("bytes", text), *(one.without_option for one in others)]
    return least


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


# Kinds of findings that say of an unknown table only that it is another one.
OTHER = ("random", "shape", "frequency", "identity", "encoding", "form", "offset")


def _described_printed(actual: Tabular, expected: Table, *, named: bool = True) -> list[Finding]:
    """Return how a table of few digits differs, read in a type that hides their rounding; [] of any other table."""
    if is_large(actual) or any(array.dtype not in ("float32", "float64") for array in actual.arrays):
        return []
    arrays = {array.name: actual.read(array.name).astype(np.float64) for array in actual.arrays}
    error, digits = EPSILON[actual.arrays[0].dtype], list[tuple[int, bool]]()
    for values in arrays.values():
        printed = printed_digits(values, error, most=MAX_FREQUENCY_DIGITS)
        if printed is None:
            return []
        digits.append(printed)
        for change, exact in mistaken_tables(expected) if len(arrays) == 1 else ():
            slack = MAX_DOUBLE_GAP + error * np.abs(exact)
            if exact.shape == values.shape and how_printed(values, exact, slack, printed):
                return [Finding(change.kind, change.text)]
    hiding = "float32" if min(digits)[0] >= HIDING["float32"] else "float16"
    seen = InMemory({name: values.astype(hiding) for name, values in arrays.items()})
    compared = compare_tables(seen, expected)
    findings = wave_differences(seen, expected, compared, named=named) or grid_differences(seen, expected, compared)
    findings = findings or bias_differences(seen, expected, compared) or []
    return [one for one in findings if one.kind not in (*VAGUE, "type", "arithmetic")]


def _printed_otherwise(actual: Tabular, expected: Table, pairs: Sequence[tuple[ArrayView, ArrayView]]) -> list[Finding]:
    """Return how a printed table of another shape differs, which may be transposed; [] of any other table."""
    if all(left.plain_shape == right.plain_shape for left, right in pairs):
        return []
    if findings := _described_printed(actual, expected):
        return findings
    array, other = actual.arrays[0], expected.arrays[0]
    if len(actual.arrays) > 1 or is_large(actual) or array.shape != other.shape[::-1]:
        return []
    found = _explained(InMemory({array.name: actual.read(array.name).T}), expected)
    is_right = {one.kind for one in found} == {"decimals"}
    text = "rows and columns are exchanged: the table is transposed"
    return [Finding("transposed", text), *(one.without_option for one in found)] if is_right else []


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
        findings = few_cells(pairs) or _described(actual, expected, found, named=False)
        findings = findings or _described_printed(actual, expected, named=False)
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


def _components_apart(actual: Tabular, table: Table, tolerance: Tolerance) -> list[Finding]:
    """Return how sines and cosines along an axis of one array differ from those of a rotary recipe; else []."""
    if table.source.encoding.family is not Family.ROTARY:
        return []
    matrices = of_matrices(actual)
    apart = components_apart(actual) if matrices is None else {"each pair is a rotation matrix of 2 x 2": matrices}
    for text, parts in apart.items():
        own = (Table(table.source, table.extent, table.request._replace(layout=word)) for word in APART)
        found = [(one, compare_tables(parts, one, tolerance)) for one in own]
        expected, nearest = min(found, key=lambda one: (not one[1].complete, one[1].total.beyond))
        if nearest.complete:
            findings = [] if nearest.equal else explain(parts, expected, nearest)
            return [Finding("layout", text), *(one.without_option for one in findings)]
    return []


def _of_recipe(actual: Tabular, table: Table, tolerance: Tolerance) -> list[Finding]:
    """Return how a table differs from that of a recipe in its axes alone, or in a few cells; [] where it does not."""
    axes = _exchanged_sides(actual, table) or _components_apart(actual, table, tolerance)
    sides = [[side for side in one.shape if side != 1] for one in actual.arrays]
    is_flat, width = table.rows > 1 and all(len(one) < 2 for one in sides), table.arrays[0].shape[-1]
    of_waves = isinstance(table.plan, Waves) and not table.plan.axes and table.positions.is_range
    is_swapped = of_waves and len(sides) == 1 and len(sides[0]) == 2 and sides[0][0] == width != sides[0][1]
    rows = next(iter(reshaped(actual).items()), None) if is_flat or is_swapped else None
    as_long = rows is not None and is_flat and of_waves and table.rows == sides[0][0]  # as the file has values
    if rows is not None and (is_swapped or as_long):
        try:
            table = of_length(table, rows[1].arrays[0].rows).as_type(table.request.dtype)
        except PecliError:  # of a number of points
            rows = None
    findings = _explained(rows[1], table) if rows is not None else []
    right = rows is not None and compare_tables(rows[1], table, Tolerance(atol=MAX_ADDITIONAL_GAP)).equal
    if rows is not None and (right or (findings and not is_swapped and findings[0].kind not in VAGUE)):
        others = [one.without_option for one in findings if one.kind not in ("shape", "rounding")]
        if not others:
            as_rows = f"as {rows[1].arrays[0].shape} it is the expected table"
            text = "the values are equal: harmless" if is_flat else as_rows
            others = [Finding("rounding", text)]
        return [Finding("shape", rows[0]), *others]
    return axes or few_cells(matched_views(actual, table))


def _exchanged_sides(actual: Tabular, table: Table) -> list[Finding]:
    """Return that a map (channels, width, height) has its last two axes exchanged, if nothing else differs; else []."""
    grid = table.source.keys().get("grid", "").split("x")
    other = with_sides(actual, [int(side) for side in grid]) if len({*grid}) == len(grid) == 2 else None
    findings = _explained(other, table) if other is not None else []
    if other is None or {one.kind for one in findings} - {"rounding", "channels", "type"}:
        return []
    text = "height and width are exchanged: the map is {1} x {0} where {0} x {1} was expected".format(*grid)
    return [Finding("axes", text), *(one.without_option for one in findings)]


def _channels_first(actual: Tabular, table: Table) -> list[Finding]:
    """Return that the channels of a map come before the grid, and how it differs besides; [] of any other table."""
    other = channels_last(actual)
    if other is None or [a.shape[-1] for a in other.arrays] != [a.shape[-1] for a in table.arrays[: len(other.arrays)]]:
        return []
    sizes = [math.prod(array.shape) for array in other.arrays]
    if sizes == [math.prod(array.shape) for array in table.arrays[: len(sizes)]]:
        shapes = dict(zip(other.keys(), (array.shape for array in table.arrays), strict=False))
        other = InMemory({name: other.read(name).reshape(shape) for name, shape in shapes.items()})
    compared = compare_tables(other, table)
    findings = [] if compared.equal else explain(other, table, compared)
    text = f"{CHANNELS_FIRST}: shape {actual.arrays[0].shape} where {table.arrays[0].shape} was expected"
    others = [one.without_option for one in findings if one.kind not in ("shape", "channels")]
    is_known = bool(others) and others[0].kind not in (*VAGUE, "rounding", "type")
    return [*others[:is_known], Finding("channels", text), *others[is_known:]]


def _differing(actual: Tabular, expected: Tabular, found: Comparison) -> Iterator[Tabular]:
    """Yield both tables without the arrays that one of them alone has or, of two files, that are equal.

    Cosines stay beside sines, and a recipe stays whole.
    """
    pairs, of_recipe = pair_views(actual, expected)[0], isinstance(expected, Table)
    equal = [one.names for one in found.arrays if not one.figures.beyond and one.shapes[0] == one.shapes[1]]
    for side, table in enumerate((actual, expected)):
        names = {pair[side].name for pair in pairs} - {one[side] for one in (() if of_recipe else equal)}
        every = cosine_sine_pairs([array.name for array in table.arrays])
        names |= {name for both in every if names & {*both} for name in both}
        kept = [array for array in table.arrays if array.name in names]
        whole = not kept or len(kept) == len(table.arrays) or (table is expected and of_recipe)
        yield table if whole else View(table, kept)


def _shaped(actual: Tabular, expected: Tabular, findings: list[Finding]) -> list[Finding]:
    """Put another shape of as many values before findings on their rounding, which no tolerance accepts then."""
    both = pair_views(actual, expected)[0]
    unlike = (pair for pair in both if pair[0].plain_shape != pair[1].plain_shape)
    other = next(((a.shape, b.shape) for a, b in unlike if math.prod(a.shape) == math.prod(b.shape)), None)
    if other is None or any(one.kind != "rounding" for one in findings):
        return findings
    text = "the shape is {} where {} was expected, the values are in the same order".format(*other)
    return [Finding("shape", text), *(one.without_option for one in findings)]


def _of_one_array(actual: Tabular, table: Table, found: Comparison) -> list[Finding]:
    """Return why cosines or sines differ where the others are right within rounding; [] where none or both are."""
    wrong = [one for one in found.arrays if one.figures.max_abs > MAX_HARMLESS]
    if not len(wrong) < len(found.arrays) == 2 == len(actual.arrays) or not wrong:
        return []
    name = wrong[0].names[0]
    alone = View(actual, [actual.array(name)])
    named = [one for one in _explained(alone, table) if one.kind not in (*VAGUE, "rounding")]
    return [one._replace(text=f"{name}: {one.text}") for one in named if name not in one.text]


def _identified(actual: Tabular, table: Table, found: Comparison) -> list[Finding]:
    """Return how the recipes of two files differ that are both certain: in rounding alone, or in parameters."""
    own = identify(actual)
    have = parsed(own.recipe) if own.confidence == "sure" else None
    if have is None or have.source != table.source:
        return _parameters(own.recipe, table) if have is not None else []
    most, kind, wanted = found.total.max_abs, have.request.dtype, table.request.dtype
    is_printed = " " in own.arithmetic  # as in "4 decimals"
    if is_printed or first_positions(have) != first_positions(table) or not 0 < most < MAX_HARMLESS:
        return []
    if wanted in LOW_TYPES and kind not in LOW_TYPES:
        return [rounded_from(f"the expected values were rounded to {wanted}, these were not", most)]
    if kind in LOW_TYPES and kind != wanted:
        return []
    return [harmless("rounding alone", most, found.total.max_ulp)]


# Copies among which one is looked for that is right.
MAX_TRIED_COPIES = 4


def _copies(actual: Tabular, expected: Tabular, tolerance: Tolerance) -> list[Finding]:
    """Return why copies of one table, as in a batch, differ from the expected one; [] where they are no copies."""
    copies, others = copies_of(actual), copies_of(expected)
    while copies and not others and copies[0].arrays[0].lead > expected.arrays[0].lead:  # several such axes
        copies = [one for copy in copies for one in copies_of(copy)]
    pairs = pair_views(copies[0], expected)[0] if copies else []
    same = bool(pairs) and all(left.plain_shape == right.plain_shape for left, right in pairs)
    alike = len(actual.arrays) > 1 or all(compare_tables(others[0], other).equal for other in others)  # no heads
    batches = len(others) == len(copies) and alike
    if others and not copies and len(actual.arrays) == len(expected.arrays):
        return _copied(actual, others, tolerance)
    if not copies or (others and not (batches or same)):
        return []
    targets = list[Tabular](others) if batches else [expected] * len(copies)
    compared = [compare_tables(copy, target, tolerance) for copy, target in zip(copies, targets, strict=True)]
    alike_by = {k: [compare_tables(copy, copies[k], tolerance).equal for copy in copies] for k in (0, 1)}
    common = max(alike_by, key=lambda k: sum(alike_by[k]))
    why = cache(lambda k: explain(copies[k], targets[k], compared[k]))
    equal = [one.equal for one in compared]
    right = equal if any(equal) else alike_by[common]
    if not any(equal) and 2 * sum(right) <= len(copies):
        harmless_kinds = {"rounding", "type"}
        tries = (bool(why(k)) and {one.kind for one in why(k)} <= harmless_kinds for k in range(len(copies)))
        if not any(islice(tries, MAX_TRIED_COPIES)):
            return []
        right = [bool(why(k)) and {one.kind for one in why(k)} <= harmless_kinds for k in range(len(copies))]
    common = right.index(True)
    found = why(common)
    if all(right):
        if not all(alike_by[0]):  # cosines and sines, each right alone
            return []
        where = 0 if not found or found[0].kind == "rounding" else len(found)
        repeated = Finding("copies", COPIES.format(len(copies)))
        return [*found[:where], repeated, *(one.without_option for one in found[where:])]
    causes = dict[str, list[int]]()
    for k in np.flatnonzero(~np.array(right)).tolist():
        pad = left_padding(copies[k], copies[common])
        for one in why(k)[:1]:
            text = ": ".join([f"left padding by {pad}"] * (pad > 0) + [one.text] * (not pad or one.kind != "place"))
            causes.setdefault(text, []).append(k)
    which = ((numbered("batch index", np.array(at)), "s" * (len(at) == 1), text) for text, at in causes.items())
    return [
        *(Finding("copies", f"{at} differ{s}: {text}") for at, s, text in which),
        *(one.without_option for one in found),
    ]


def _copied(actual: Tabular, others: Sequence[Tabular], tolerance: Tolerance) -> list[Finding]:
    """Return that the expected values are equal copies of one table, and how a table differs from that; else []."""
    shapes = [[array.shape for array in table.arrays] for table in (actual, others[0])]
    if shapes[0] != shapes[1] or not all(compare_tables(others[0], other).equal for other in others[1:]):
        return []
    compared = compare_tables(actual, others[0], tolerance)
    findings = [] if compared.equal else explain(actual, others[0], compared)
    many = f"{len(others)} equal copies of one table (a batch)"
    return [
        Finding("copies", f"the expected values are {many}, the file holds one"),
        *(one.without_option for one in findings),
    ]


def _size(table: Tabular) -> int:
    return sum(math.prod(array.shape) for array in table.arrays)


# Largest difference that rounding makes: float32 phases are off by 0.01, and bfloat16 phases are another finding.
MAX_HARMLESS = 0.05


def _described(actual: Tabular, table: Table, found: Comparison, *, named: bool = True) -> list[Finding] | None:
    """Return how the descriptions of two tables differ; None where no description fits; see `wave_differences`."""
    if listed := _frequencies(actual, table, found):
        return listed
    findings = wave_differences(actual, table, found, named=named) or grid_differences(actual, table, found)
    findings = findings or bias_differences(actual, table, found) or _mistaken(actual, table)
    if findings and findings[0].kind == "factor" and table.source.encoding.family is Family.BIAS:
        findings = _described_printed(actual, table) or findings  # of few digits, slopes that have a name
    narrower = sum(a.shape[-1] for a in actual.arrays if a.shape) < sum(a.shape[-1] for a in table.arrays if a.shape)
    kinds = [one.kind for one in findings]
    several = len(kinds) - kinds.count("rounding") > 1
    lost = ""
    if narrower and (several or (kinds == ["rounding"] and found.total.max_abs > MAX_HARMLESS)):
        lost = "columns"  # which explain several parameters
    elif kinds[:1] == ["rows"] and {*kinds} - {"rows", "rounding"} in ({"place"}, {"start"}):
        lost = "rows"  # other ones
    part = _located(actual, table) if lost else []
    whole = {one.kind for one in part} <= {lost, "rounding"} and not any(REST_OFF in one.text for one in part)
    return (part if lost and whole else findings) or None


def _mistaken(actual: Tabular, table: Table) -> list[Finding]:
    """Return the mistake that the encoding declares and that gives all features of several coordinates; else []."""
    encoding, keys = table.source.encoding, table.source.keys()
    plan, changes = table.plan, list[Change]()
    if isinstance(plan, Waves) and (plan.cross is not None or plan.axes) and not is_large(actual):
        changes = [one for one in encoding.hook("mistakes")(keys) if one.keys] if encoding.declares("mistakes") else []
    for change in changes:
        given = {key: value for key, value in {**keys, **change.keys}.items() if value is not None}
        try:
            other = Table(Recipe.bind(encoding.name, **given), table.extent, table.request).as_type("float64")
            pairs = matched_views(actual, other)
            values = [[read_floats(view, 0, view.rows) for view in pair] for pair in pairs]
        except PecliError:
            continue
        most = MAX_ANGLE_GAP + max((EPSILON.get(left.dtype, 0.0) for left, _ in pairs), default=0.0)
        if pairs and all(
            have.shape == want.shape and np.abs(have - want).max(initial=0) < most for have, want in values
        ):
            return [Finding(change.kind, change.text)]
    return []


# Error of float64 values, whose angles at position 65536 are off by 7e-12.
MAX_DOUBLE_GAP = 1e-11
# First rows that show whether the frequencies are the expected ones (of short tables half as many do).
FIRST_ROWS = 16
# Largest error, in units of the last place, of frequencies that were computed in their own type.
MAX_POWER_ULP = 8
# The same relative to the value, whatever its type: of bfloat16.
MAX_POWER_GAP = 2.0**-4
# Words about tables that say nothing true of a list.
OF_TABLES = re.compile(r"\b(cos|sin|cosines?|sines?|rows?|columns?|positions|magnitude|attention)\b")
# Rows of the tables that stand for two lists of frequencies: a pair of 0.003 radians a position turns once in them.
FREQUENCY_ROWS = 2048
# Frequencies whose tables are held in memory: 32 MiB each.
MAX_FREQUENCIES = 1 << 11


def _frequencies(actual: Tabular, table: Table, found: Comparison) -> list[Finding]:
    """Return how a list of frequencies (``inv_freq``) differs from the expected one: as their rotary tables do."""
    if table.request.layout != "angles" or first_positions(table) != (1, 1) or len(actual.arrays) != 1:
        return []
    (array,) = actual.arrays
    values = floats(actual.read_rows([array.name], 0, array.rows)[array.name], array.dtype).astype(np.float64).ravel()
    want = floats(table.read(table.arrays[0].name), table.arrays[0].dtype).astype(np.float64).ravel()
    own = identify_vector(actual)
    if len(values) != len(want):
        halves = values[: len(want)], values[len(want) :]
        twice = any(np.array_equal(*both) for both in (halves, (values[::2], values[1::2])))
        more = ": each stands twice" if twice else f": those of {own.recipe}" if own is not None else ""
        if len(values) < len(want) and np.allclose(values, want[: len(values)], MAX_REPEAT_GAP, 0):
            more = f": {numbered_are('pair', np.arange(len(values), len(want)))} missing"
        return [Finding("shape", f"{len(values)} frequencies where {len(want)} were expected{more}")]
    kind = effective_dtype(values, array.dtype)
    if kind in LOW_TYPES and np.array_equal(values, rounded(want, kind)):
        return [Finding("frequency", f"the frequencies were rounded to {kind}")]
    if found.total.max_ulp <= MAX_POWER_ULP and np.allclose(values, want, MAX_POWER_GAP, 0):
        if kind in LOW_TYPES:
            return [Finding("frequency", f"the frequencies were computed in {kind}")]
        return [harmless("rounding alone", found.total.max_abs, found.total.max_ulp)]
    if added := added_to_all(values, want, kind):
        return [added]
    printed = printed_digits(values, EPSILON[kind], MIN_PRINTED_FREQUENCIES, MAX_FREQUENCY_DIGITS)
    if printed and (how := how_printed(values, want, MAX_POWER_ULP * EPSILON["float32"] * want, printed)):
        text = f"the frequencies are {how} to {digits_text(*printed)}, at most {limit(found.total.max_abs, 1)} off"
        return [Finding("decimals", text)]
    have, lines = parsed(own.recipe) if own is not None else None, list[Finding]()
    named, meant = Expected.of(have) if have is not None else None, Expected.of(table)
    if named is not None and meant is not None and named.encoding == meant.encoding:
        lines = [Finding("parameter", line) for line in key_lines(meant, named.keys)]
        values = named.named.frequencies if printed else values  # whose digits are no other base's
    wrong = ~np.isclose(values, want, MAX_REPEAT_GAP, 0)
    in_order = len({*np.sign(np.diff(values[wrong]))}) < 2
    if 2 * np.count_nonzero(wrong) <= len(values) and not in_order and np.isfinite(values).all():
        text = f"{numbered('frequency', np.flatnonzero(wrong))} hold other numbers"
        return [Finding("values", f"{text}, {values[wrong].min():.4g} to {values[wrong].max():.4g}")]
    if own is not None and "divisors" in own.notes[0] and not lines and named and meant:
        right = ", and they are the expected ones" * own.notes[0].startswith("the divisors")
        return [Finding("frequency", f"the file holds {own.notes[0].partition(',')[0]}{right}")]
    if text := frequency_words(values, want, kind):
        return [Finding("frequency", text)]
    factor = times_all(values, want, kind)
    certain = own is not None and own.confidence == "sure" and len(lines) == 1
    less = [*["frequency"] * (certain or bool(factor)), *["parameter"] * bool(lines)]
    tables = [one for one in _as_tables(values, table) if one.kind not in less]
    for one in (*tables, *lines, *factor, *_located(actual, table)[:1]):
        if one.kind not in VAGUE and not OF_TABLES.search(one.text):  # else it is not true of the list
            return [one._replace(text=one.text.partition(": first beyond")[0])]
    bad = np.flatnonzero(values != want)
    ratios = values[bad] / want[bad]
    times = f"{ratios.min():.5g} to {ratios.max():.5g} times"
    return [Finding("frequency", f"{numbered_are('frequency', bad)} {times} as high as expected")]


def _as_tables(values: Floats, table: Table) -> list[Finding]:
    """Return the first difference between the rotary tables of two lists of frequencies; [] where there are none."""
    if len(values) > MAX_FREQUENCIES:
        return []
    angles = np.outer(np.arange(FREQUENCY_ROWS), values)
    seen = InMemory({"cos": np.cos(angles), "sin": np.sin(angles)})
    try:
        wanted = Table.make(table.source, length=FREQUENCY_ROWS, layout="split", dtype="float64")
    except PecliError:  # of a grid, which has no further rows
        return []
    return (wave_differences(seen, wanted, compare_tables(seen, wanted)) or [])[:1]


def _located(actual: Tabular, expected: Tabular, *, tensors: bool = False) -> list[Finding]:
    """Return the place and kind of a difference; where only the place is known, the identity of the file as well.

    With `tensors` these may be queries or keys that were rotated.
    """
    pairs = matched_views(actual, expected)
    if any(left.dtype != right.dtype for left, right in pairs) and (narrow := rounded_values(pairs)):
        return [narrow]
    findings = located(pairs)
    if [one.kind for one in findings[:2]] == ["decimals", "rest"]:
        findings = _hidden_rounding(pairs, findings)
    if isinstance(expected, Table) and (printed := _printed_otherwise(actual, expected, pairs)):
        return printed
    if any(finding.kind != "place" for finding in findings):
        is_rough = any(REST_OFF in one.text or one.kind == "value" for one in findings)
        other = other_choice(actual, expected) if isinstance(expected, Table) and is_rough else []
        return other or started(findings, expected)
    if any((left.dtype in REAL) != (right.dtype in REAL) for left, right in pairs):  # complex and real numbers
        return findings
    if narrow := rounded_values(pairs):
        return [narrow]
    if tensors:
        from pecli.judge.kernels import rotated_tensors

        if rotated := rotated_tensors(pairs, _explained):
            return rotated
    if other := reordered(pairs) or resized(pairs, expected):
        return other
    if isinstance(expected, Table) and (other := other_choice(actual, expected)):
        return other
    want = Expected.of(expected) if isinstance(expected, Table) else None
    places = None if want is None else matched_positions(actual, want.table)
    if want is not None and places is not None and not np.array_equal(places, want.table.part.numbers(0, want.rows)):
        return [Finding("rows", position_words(places, want))]
    if added := added_positions(pairs):
        return [added]
    if is_orthonormal(actual) and not is_orthonormal(expected):
        return [Finding("identity", ORTHONORMAL), *findings]
    of_points = isinstance(expected, Table) and expected.source.keys().get("points")
    if isinstance(expected, Table) and (printed := _described_printed(actual, expected)):
        return printed
    random = [] if of_points else random_parts(actual)  # features of any points look drawn at random
    if random and not random_parts(expected):
        return [*(Finding("random", random_words(part)) for part in random), *findings]
    wholes = (rule(pairs) for rule in (without_function, colliding, noise, one_row, remade, unlike_halves))
    if whole := next((one for one in wholes if one is not None), None):
        return [whole, *findings]
    named = list[Finding]()
    if isinstance(expected, Table):
        named = _padded(actual, expected) or padded_grid(pairs, expected)
    same = all(left.plain_shape == right.plain_shape for left, right in pairs)
    if not isinstance(expected, Table) and (adapted := low_rank(pairs)):
        return [adapted, *findings]
    drawn = random_parts(actual, drawn=True) == [ALL]
    own = identify(actual) if same and not named and not drawn else None
    if named := named or scaled_positions(own, expected) or other_frequencies(actual, expected):
        return named
    others = as_other_types(actual) if actual.arrays[0].dtype in LOW_TYPES and own and own.recipe is None else ()
    if own is None or any(identify(other).confidence == "sure" for _, other in others):
        return _as_bits(actual, expected) or findings
    return _by_identity(own, actual, expected, pairs, findings)


def _by_identity(
    own: Identification, actual: Tabular, expected: Tabular, pairs: list[tuple[ArrayView, ArrayView]],
    findings: list[Finding],
) -> list[Finding]:  # fmt: skip
    """Return what the file is found to hold, before findings on the place of a difference."""
    if own.recipe is None or own.confidence == "unknown":
        if isinstance(expected, Table) and isinstance(expected.plan, Waves) and (slight := slightest(pairs)):
            return [slight]
        if shifted := moved_coordinates(pairs):
            return [shifted, *findings]
        turns, periods = cyclic(actual, of_any=True), cycle_differences(pairs)
        if turns and len(periods) == 1 and "pairs turn" in periods[0].text:
            return periods
        if turns and (isinstance(expected, Table) or not cyclic(expected, of_any=True)):
            return [*(Finding("identity", text) for text in (f"the file holds {turns[0]}", *turns[1:])), *findings]
        return [*[Finding("random", TRAINED)] * (is_trained(actual) and not is_trained(expected)), *findings]
    table = parsed(own.recipe)
    if table is not None and isinstance(expected, Table) and table.source == expected.source:
        return findings  # the same recipe, except for the values in the findings
    if table is not None and own.confidence == "sure" and (other := other_positions(table, expected)):
        return other
    if own.confidence == "sure" and isinstance(expected, Table) and (other := _parameters(own.recipe, expected)):
        return [*other, *findings]
    sure = "" if own.confidence == "sure" else "likely "
    lone = "".join(f" ({note})" for note in own.notes if note.endswith("ines alone"))
    wanted = identify(expected) if lone and not isinstance(expected, Table) else own
    for have, gone in (("cosines", "sines"), ("sines", "cosines")):
        if wanted.recipe == own.recipe and f"{have} alone" in own.notes and f"{gone} alone" in wanted.notes:
            return [Finding("exchanged", f"every column holds {have} where {gone} were expected")]
    what = own.values_text.removeprefix("those of ")
    if "points=FILE" in own.short and (moved := other_inputs(pairs, own.short)):
        return [moved, *findings]
    if ",sequence=" in own.short and isinstance(expected, Table) and "sequence" not in {*expected.source.keys()}:
        text = f"the file is of a sequence with images, {sure}{what}; text alone was expected"
        return [Finding("identity", text), *findings]
    return [Finding("identity", f"the file holds other values: {sure}{what}{lone}"), *findings]


def _hidden_rounding(pairs: Sequence[tuple[ArrayView, ArrayView]], findings: list[Finding]) -> list[Finding]:
    """Return what was done to some values of a printed table, as a type shows that hides the rounding of digits."""
    decimals = findings[0]._replace(text=findings[0].text.replace("values are", "others are"))
    for kind in HIDING:
        both = [[rounded(read_floats(view, 0, view.rows), kind) for view in pair] for pair in pairs]
        seen = [(with_rows(a, y), with_rows(b, x)) for (a, b), (y, x) in zip(pairs, both, strict=True)]
        few = located(seen)
        if few and few[0].kind not in VAGUE:
            return [*(one for one in few if one.kind != "rounding"), decimals]
    return [*findings[1:], decimals]


def _other_keys(actual: Tabular, wanted: Identification) -> list[Finding]:
    """Return the parameters of a table's recipe that differ from another one of the encoding, both of some points."""
    own = identify(actual).recipe
    (encoding, have), (other, want) = split_recipe(own or "none"), split_recipe(wanted.recipe or "none")
    if own is None or encoding != other:
        return []
    parameters = CATALOGUE[encoding].parameters
    usual = {one.option: str(one.default).lower() if one.kind == "flag" else "" for one in parameters.values()}
    both = {key: (have.get(key, usual[key]), want.get(key, usual[key])) for key in (*want, *have) if key in usual}
    return differing_texts(CATALOGUE[encoding], both)


def _parameters(recipe: str | None, expected: Table) -> list[Finding]:
    """Return the parameters of a recipe that differ from the expected ones of the same encoding."""
    have, want = parsed(recipe), Expected.of(expected)
    if have is None or have.source.encoding != expected.source.encoding:
        return []
    if want is not None:
        return [Finding("parameter", line) for line in key_lines(want, have.source.keys())]
    own, other = have.source.keys(), expected.source.keys()
    both = {key: (own.get(key, ""), other.get(key, "")) for key in {**other, **own}}
    both = {key: texts for key, texts in both.items() if has_effect(expected, key, texts[0])}
    return differing_texts(expected.source.encoding, both)


def _explained(actual: Tabular, expected: Tabular) -> list[Finding]:
    return explain(actual, expected, compare_tables(actual, expected))


def _padded(actual: Tabular, expected: Table) -> list[Finding]:
    """Return the last columns that are zero in all arrays, and how the others differ; [] where none are."""
    if is_large(actual) or any(len(a.shape) < 2 for a in actual.arrays):
        return []
    arrays = {array.name: actual.read(array.name) for array in actual.arrays}
    widths = [1 + int(np.flatnonzero(a.any(axis=tuple(range(a.ndim - 1)))).max(initial=-1)) for a in arrays.values()]
    width, whole = max(widths), min(a.shape[-1] for a in arrays.values())
    if not 1 < width < whole or any(a.dtype.kind not in "fc" for a in arrays.values()):
        return []
    seen = InMemory({name: array[..., :width] for name, array in arrays.items()})
    findings = _explained(seen, expected)
    if any(one.kind in ("place", "columns") for one in findings[:1]):
        return []
    return [Finding("zero", f"{numbered('column', np.arange(width, whole))} are zero"), *findings]


def _renamed(actual: Tabular, expected: Table) -> list[Finding]:
    """Return why a table with other names of arrays differs, compared under pecli's own names."""
    own = expected.plain()
    called = {renamed.name: array.name for renamed, array in zip(expected.arrays, own.arrays, strict=False)}
    named = [array for array in actual.arrays if array.name in called] or actual.arrays[: len(called)]
    parts = [(called.get(a.name, name), actual, a.name) for a, name in zip(named, called.values(), strict=False)]
    seen = ConcatTable(parts, actual.metadata, actual)
    findings = _explained(seen, own) if seen.arrays else []
    companions = _companion(actual, expected, findings)
    return [*companions, *(one.without_option if companions else one for one in findings)]


def _companion(actual: Tabular, expected: Table, others: Sequence[Finding]) -> list[Finding]:
    """Return how the frequencies that accompany cosines and sines differ, if that is not what others say of these."""
    name = expected.arrays[-1].name
    if expected.request.naming.companion is None or name not in (array.name for array in actual.arrays):
        return []
    table = Table.make(expected.source, start=1, length=1, layout="angles", dtype=expected.arrays[-1].dtype)
    found = _explained(View(actual, [actual.array(name)]), table)
    causes = [one for one in found if one.kind != "rounding" and one.text not in {other.text for other in others}]
    return [one._replace(text=f"{name}: {one.text}").without_option for one in causes]
