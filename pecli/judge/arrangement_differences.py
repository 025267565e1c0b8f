"""Differences of a table's arrays, axes and columns from the expected ones, and how the others differ behind these."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.errors import PecliError
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
from pecli.judge.case import Case, Rule, behind, size_of
from pecli.judge.description import COPIES
from pecli.judge.expected import mistaken
from pecli.judge.grids import CHANNELS_FIRST
from pecli.judge.located import VAGUE, located
from pecli.judge.masks import mask_differences
from pecli.judge.orders import numbered, numbered_are
from pecli.judge.planes import Floats, is_large
from pecli.judge.resizing import MAX_ADDITIONAL_GAP, of_length
from pecli.judge.rows import floats as read_floats
from pecli.judge.transforms import few_cells, left_padding, of_one_matrix
from pecli.numbers.dtypes import GRIDS
from pecli.spec.declaration import Family
from pecli.spec.plans import Bias, Waves
from pecli.spec.tabular import InMemory, Tabular, View
from pecli.tables.comparison import Comparison, Finding, compare_tables
from pecli.tables.figures import Tolerance
from pecli.tables.layouts import cosine_sine_pairs
from pecli.tables.parts import ConcatTable
from pecli.tables.request import ArrayNaming
from pecli.tables.table import Table
from pecli.tables.views import ArrayView, copies_of, matched_views, pair_views, view_of

# Largest difference that rounding makes: float32 phases are off by 0.01, and bfloat16 phases are another finding.
MAX_HARMLESS = 0.05
# Copies among which one is looked for that is right.
MAX_TRIED_COPIES = 4
# Rows that show whether an array holds numbers.
FEW_ROWS = 64
# Layouts of cosines and sines in two arrays.
APART = ("split", "half", "interleaved")
# Times as large as the expected values that reread ones may be, on average, or the other way round.
MAX_SIZE_RATIO = 4.0
# Difference that values show whose bytes are in another order.
MAX_SENSE = 1e30
# Kinds of findings that say of an unknown table only that it is another one.
OTHER = ("random", "shape", "frequency", "identity", "encoding", "form", "offset", "added")


def _differing_arrays(case: Case) -> list[Finding]:
    """Return why some arrays differ where the others are equal, or where one table alone has them."""
    actual, expected, found = case.actual, case.expected, case.found
    left, right = _differing(actual, expected, found)
    if (len(left.arrays), len(right.arrays)) == (len(actual.arrays), len(expected.arrays)):
        return []
    few, name = case.explain(left, right, compare_tables(left, right, found.tolerance)), left.arrays[0].name
    if {one.kind for one in few} <= {*VAGUE, "random"} and (own := of_one_matrix(actual, expected)):
        return own
    alone = len(left.arrays) == 1 < len(found.arrays)  # and the others are equal
    return [one if name in one.text or not alone else one._replace(text=f"{name}: {one.text}") for one in few]


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


def _unlike_pair(case: Case) -> list[Finding]:
    """Return that a cosine and its sine have unlike shapes, and how each differs."""
    actual = case.actual
    pairs = ([actual.array(name) for name in both] for both in cosine_sine_pairs(actual.keys()))
    cos, sin = next((both for both in pairs if both[0].shape != both[1].shape), (None, None))
    if cos is None or sin is None:
        return []
    findings = list[Finding]()
    for array in (cos, sin):
        alone = case.explained(View(actual, [array]), case.expected)
        findings += [_of_array(array.name, one) for one in alone if one.kind not in ("rounding", "shape")]
    return [*findings, Finding("shape", f"{cos.name} has the shape {cos.shape}, but {sin.name} {sin.shape}")]


def _of_array(name: str, finding: Finding) -> Finding:
    """Return a finding that says which array it is about."""
    named = re.search(rf"\b{re.escape(name)}\b", finding.text)
    return finding if named else finding._replace(text=f"{name}: {finding.text}")


def _further_array(case: Case) -> list[Finding]:
    """Return why one array of a bias differs, or the scale of xPos or the decay of RetNet, the others being right."""
    arrays, others = case.found.arrays, [one.names for one in case.found.arrays if one.figures.beyond]
    if case.recipe is None or not len(others) == 1 < len(arrays) == len(case.actual.arrays):
        return []
    (own, meant), plan = others[0], case.recipe.plan
    have = View(case.actual, [case.actual.array(own)])
    if isinstance(plan, Bias):
        alone = case.explained(have, case.recipe)
        return [] if {one.kind for one in alone} & {*VAGUE} else [_of_array(own, one) for one in alone]
    if not isinstance(plan, Waves) or meant not in {*(o.name for o in plan.companions), *(o.name for o in plan.fixed)}:
        return []
    for change, other in mistaken(case.recipe):
        pairs = matched_views(have, View(other, [other.array(meant)]))
        if all(one.kind == "rounding" for one in located(pairs)):
            return [Finding(change.kind, f"{own}: {change.text}")]
    views = matched_views(have, View(case.expected, [case.expected.array(meant)]))
    return [_of_array(own, one) for one in located(views)]


def _along_first(case: Case) -> list[Finding]:
    """Return that positions run along the first axis, of which a bias may hold copies."""
    is_bias = case.recipe is None or isinstance(case.recipe.plan, Bias)
    return [] if is_bias or along_first(case.actual) is None else [Finding("axes", ALONG_FIRST)]


def in_two_arrays(case: Case, table: Table) -> list[Finding]:
    """Return how cosines and sines in two arrays differ from those of a recipe that puts them in one; else []."""
    names, is_rotary = cosine_sine_pairs(case.actual.keys()), table.source.encoding.family is Family.ROTARY
    if not is_rotary or len(table.arrays) != 1 or len(names) != 1 or case.views:
        return []
    apart = Table(table.source, table.extent, table.request._replace(layout="split"))
    others = case.explained(View(case.actual, [*map(case.actual.array, names[0])]), apart)
    text = f"cos and sin stand in two arrays, where one array was expected ({table.request.layout})"
    return [*(finding.without_option for finding in others), Finding("layout", text)]


def _copies(case: Case) -> list[Finding]:
    """Return why copies of one table, as in a batch, differ from the expected one; [] where they are no copies."""
    actual, expected, tolerance = case.actual, case.expected, case.found.tolerance
    is_whole = len(actual.arrays) == 1 and size_of(actual) == size_of(expected)
    if is_whole and actual.arrays[0].shape != expected.arrays[0].shape:  # a grid, or a cosine and a sine
        return []
    copies, others = copies_of(actual), copies_of(expected)
    while copies and not others and copies[0].arrays[0].lead > expected.arrays[0].lead:  # several such axes
        copies = [one for copy in copies for one in copies_of(copy)]
    pairs = pair_views(copies[0], expected)[0] if copies else []
    same = bool(pairs) and all(left.plain_shape == right.plain_shape for left, right in pairs)
    alike = len(actual.arrays) > 1 or all(compare_tables(others[0], other).equal for other in others)  # no heads
    batches = len(others) == len(copies) and alike
    if others and not copies and len(actual.arrays) == len(expected.arrays):
        return _copied(case, others)
    if not copies or (others and not (batches or same)):
        return []
    targets = list[Tabular](others) if batches else [expected] * len(copies)
    compared = [compare_tables(copy, target, tolerance) for copy, target in zip(copies, targets, strict=True)]
    alike_by = {k: [compare_tables(copy, copies[k], tolerance).equal for copy in copies] for k in (0, 1)}
    common = max(alike_by, key=lambda k: sum(alike_by[k]))
    why = cache(lambda k: case.explain(copies[k], targets[k], compared[k]))
    equal = [one.equal for one in compared]
    right = equal if any(equal) else alike_by[common]
    if not any(equal) and 2 * sum(right) <= len(copies):
        harmless_kinds = {"rounding", "type"}
        tries = (bool(why(k)) and {one.kind for one in why(k)} <= harmless_kinds for k in range(len(copies)))
        if not any(islice(tries, MAX_TRIED_COPIES)):
            are_tables = isinstance(case.stated.plan, Waves) if case.stated else len(copies) == len(others)
            tried = range(len(copies) if are_tables and len(copies) <= MAX_TRIED_COPIES else 0)
            return _each_copy([*map(why, tried)])
        right = [bool(why(k)) and {one.kind for one in why(k)} <= harmless_kinds for k in range(len(copies))]
    common = right.index(True)
    found = why(common)
    if all(right):
        if not all(alike_by[0]):  # cosines and sines, each right alone
            return []
        where = 0 if not found or found[0].kind == "rounding" else len(found)
        return [*found[:where], *behind(Finding("copies", COPIES.format(len(copies))), found[where:])]
    causes = dict[str, list[int]]()
    for k in np.flatnonzero(~np.array(right)).tolist():
        pad = left_padding(copies[k], copies[common])
        named = [one for one in why(k) if one.kind not in VAGUE][:2] or why(k)[:1]
        said = [one.text for one in named if not pad or one.kind != "place"]
        text = ": ".join([f"left padding by {pad}"] * (pad > 0) + [", and ".join(said)] * bool(said))
        causes.setdefault(text, []).append(k)
    which = ((numbered("batch index", np.array(at)), "s" * (len(at) == 1), text) for text, at in causes.items())
    return [
        *(Finding("copies", f"{at} differ{s}: {text}") for at, s, text in which),
        *(one.without_option for one in found),
    ]


def _each_copy(causes: Sequence[list[Finding]]) -> list[Finding]:
    """Return what differs in all copies, then what in some of them; [] where nothing but places is known of all."""
    if any(not findings or findings[0].kind in VAGUE for findings in causes):
        return []
    found = dict[Finding, list[int]]()
    for k, one in ((k, one) for k, findings in enumerate(causes) for one in findings if one.kind != "rounding"):
        found.setdefault(one.without_option, []).append(k)
    named = ((one, numbered("batch index", np.array(at)) if len(at) < len(causes) else "") for one, at in found.items())
    in_order = sorted(named, key=lambda both: (both[0].kind == "expected", both[1]))
    return [one._replace(text=f"{at}: {one.text}") if at else one for one, at in in_order]


def _copied(case: Case, others: Sequence[Tabular]) -> list[Finding]:
    """Return that the expected values are equal copies of one table, and how a table differs from that; else []."""
    actual = case.actual
    shapes = [[array.shape for array in table.arrays] for table in (actual, others[0])]
    if shapes[0] != shapes[1] or not all(compare_tables(others[0], other).equal for other in others[1:]):
        return []
    text = f"the expected values are {len(others)} equal copies of one table (a batch), the file holds one"
    compared = compare_tables(actual, others[0], case.found.tolerance)
    return behind(Finding("copies", text), case.explain(actual, others[0], compared))


def _numbered_rows(case: Case) -> list[Finding]:
    """Return that the first column numbers the rows, and how the others differ; [] where it does not."""
    actual, expected = case.actual, case.expected
    wider = [pair for pair in pair_views(actual, expected)[0] if pair[0].row_size == pair[1].row_size + 1]
    other = without_numbers(actual) if wider and len(actual.arrays) == 1 else None
    if other is None:
        return []
    compared = compare_tables(other, expected)
    text = "column 0 numbers the rows, where none was expected to"
    text += "; all others are equal" * (compared.equal and compared.complete)
    return behind(Finding("columns", text), case.explain(other, expected, compared))


def _still_columns(case: Case) -> list[Finding]:
    """Return that the last columns of two arrays are 1 and 0, as of pairs that do not turn; [] of others."""
    actual, expected = case.actual, case.expected
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
    cause = Finding("columns", f"{which} are of pairs that do not turn: cosine 1 and sine 0")
    return behind(cause, case.explained(InMemory(arrays), expected))


def _renamed(case: Case) -> list[Finding]:
    """Return why a table with other names of arrays differs, compared under pecli's own names."""
    actual, expected = case.actual, case.recipe
    if expected is None or expected.request.naming == ArrayNaming():
        return []
    own = expected.plain()
    called = {renamed.name: array.name for renamed, array in zip(expected.arrays, own.arrays, strict=False)}
    named = [array for array in actual.arrays if array.name in called] or actual.arrays[: len(called)]
    parts = [(called.get(a.name, name), actual, a.name) for a, name in zip(named, called.values(), strict=False)]
    seen = ConcatTable(parts, actual.metadata, actual)
    findings = case.explained(seen, own) if seen.arrays else []
    companions = _companion(case, expected, findings)
    return [*companions, *(one.without_option if companions else one for one in findings)]


def _companion(case: Case, expected: Table, others: Sequence[Finding]) -> list[Finding]:
    """Return how the frequencies that accompany cosines and sines differ, if that is not what others say of these."""
    name = expected.arrays[-1].name
    if expected.request.naming.companion is None or name not in (array.name for array in case.actual.arrays):
        return []
    table = Table.make(expected.source, start=1, length=1, layout="angles", dtype=expected.arrays[-1].dtype)
    found = case.explained(View(case.actual, [case.actual.array(name)]), table)
    causes = [one for one in found if one.kind != "rounding" and one.text not in {other.text for other in others}]
    return [one._replace(text=f"{name}: {one.text}").without_option for one in causes]


def _exchanged_sides(case: Case, table: Table) -> list[Finding]:
    """Return that a map (channels, width, height) has its last two axes exchanged, if nothing else differs; else []."""
    grid = table.source.keys().get("grid", "").split("x")
    other = with_sides(case.actual, [int(side) for side in grid]) if len({*grid}) == len(grid) == 2 else None
    findings = case.explained(other, table) if other is not None else []
    if other is None or {one.kind for one in findings} - {"rounding", "channels", "type"}:
        return []
    text = "height and width are exchanged: the map is {1} x {0} where {0} x {1} was expected".format(*grid)
    return behind(Finding("axes", text), findings)


def _components_apart(case: Case, table: Table) -> list[Finding]:
    """Return how sines and cosines along an axis of one array differ from those of a rotary recipe; else []."""
    actual, tolerance = case.actual, case.found.tolerance
    if table.source.encoding.family is not Family.ROTARY:
        return []
    matrices = of_matrices(actual)
    apart = components_apart(actual) if matrices is None else {"each pair is a rotation matrix of 2 x 2": matrices}
    for text, parts in apart.items():
        own = (Table(table.source, table.extent, table.request._replace(layout=word)) for word in APART)
        found = [(one, compare_tables(parts, one, tolerance)) for one in own]
        expected, nearest = min(found, key=lambda one: (not one[1].complete, one[1].total.beyond))
        if nearest.complete:
            return behind(Finding("layout", text), case.explain(parts, expected, nearest))
    return []


def of_recipe(case: Case) -> list[Finding]:
    """Return how a table differs from that of a recipe in its axes alone, or in a few cells; [] where it does not."""
    actual, table = case.actual, case.recipe
    if table is None:
        return []
    axes = _exchanged_sides(case, table) or _components_apart(case, table)
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
    findings = case.explained(rows[1], table) if rows is not None else []
    right = rows is not None and compare_tables(rows[1], table, Tolerance(atol=MAX_ADDITIONAL_GAP)).equal
    if rows is not None and (right or (findings and not is_swapped and findings[0].kind not in VAGUE)):
        others = [one for one in findings if one.kind not in ("shape", "rounding")]
        as_rows = f"as {rows[1].arrays[0].shape} it is the expected table"
        same = Finding("rounding", "the values are equal: harmless" if is_flat else as_rows)
        return behind(Finding("shape", rows[0]), others or [same])
    return axes or few_cells(case.views)


def bits(case: Case) -> list[Finding]:
    """Return that bits were read as another type: floats as whole numbers, or as numbers that no table holds."""
    of_floats = [any(one.dtype in GRIDS for one in table.arrays) for table in (case.actual, case.expected)]
    if of_floats != [False, True] and not case.found.total.max_abs > MAX_SENSE:
        return []
    numbers = (read_floats(left, 0, min(left.rows, FEW_ROWS)) for left, _ in case.views)
    if not any(np.isfinite(values).any() for values in numbers):  # all NaN or infinite
        return []
    return as_bits(case, swapped=of_floats[0])


def as_bits(case: Case, *, swapped: bool = False) -> list[Finding]:
    """Return that bytes were read as another type, or swapped alone, and how the others differ; else []."""
    least = list[Finding]()
    for text, other in as_other_types(case.actual):
        views = matched_views(other, case.expected) if text == SWAPPED or not swapped else []
        if not views or any(left.plain_shape != right.plain_shape for left, right in views):
            continue
        ratios = [_size(left) / _size(right) if _size(right) else 0.0 for left, right in views]
        if not all(1 / MAX_SIZE_RATIO < ratio < MAX_SIZE_RATIO for ratio in ratios):
            continue
        others = [one for one in case.explained(other, case.expected) if one.kind != "type"]
        if {one.kind for one in others} & {"place", "bytes", *OTHER}:
            continue
        if not least or {one.kind for one in others} <= {"rounding"}:  # bits of another type may look alike
            least = behind(Finding("bytes", text), others)
    return least


def _size(view: ArrayView) -> float:
    """Return the root of the mean square of an array's values."""
    return float(np.sqrt(np.mean(read_floats(view, 0, view.rows) ** 2)))


def shaped(actual: Tabular, expected: Tabular, findings: list[Finding]) -> list[Finding]:
    """Put another shape of as many values before findings on their rounding, which no tolerance accepts then."""
    both = pair_views(actual, expected)[0]
    unlike = (pair for pair in both if pair[0].plain_shape != pair[1].plain_shape)
    other = next(((a.shape, b.shape) for a, b in unlike if math.prod(a.shape) == math.prod(b.shape)), None)
    if other is None or any(one.kind != "rounding" for one in findings):
        return findings
    text = "the shape is {} where {} was expected, the values are in the same order".format(*other)
    return behind(Finding("shape", text), findings)


def of_one_array(case: Case, table: Table) -> list[Finding]:
    """Return why cosines or sines differ where the others are right within rounding; [] where none or both are."""
    arrays = case.found.arrays
    wrong = [one for one in arrays if one.figures.max_abs > MAX_HARMLESS]
    if not len(wrong) < len(arrays) == 2 == len(case.actual.arrays) or not wrong:
        return []
    name = wrong[0].names[0]
    alone = View(case.actual, [case.actual.array(name)])
    named = [one for one in case.explained(alone, table) if one.kind not in (*VAGUE, "rounding")]
    return [_of_array(name, one) for one in named]


def of_angles(case: Case, table: Table) -> list[Finding]:
    """Return that a matrix holds the angles of a rotary table, each once or twice, and how these differ; else []."""
    actual, plan = case.actual, table.plan
    is_rotary = isinstance(plan, Waves) and not plan.axes and table.source.encoding.family is Family.ROTARY
    if not is_rotary or len(actual.arrays) != 1 or is_large(actual) or table.request.layout == "angles":
        return []
    view, half = view_of(actual, actual.arrays[0]), len(plan.frequencies)
    y = read_floats(view, 0, view.rows)
    parts = [y] if y.shape[1] == half else [y[:, :half], y[:, half:]] if y.shape[1] == 2 * half else []
    parts = [y[:, ::2], y[:, 1::2]] if len(parts) == 2 and (y[:, 0] == y[:, 1]).all() else parts
    if not parts or not np.array_equal(parts[0], parts[-1]) or not np.abs(y).max(initial=0) > 2 * np.pi:
        return []
    angles = parts[0]
    row, column = np.unravel_index(np.abs(angles).argmax(), angles.shape)
    products = np.outer(angles[:, column], angles[row] / angles[row, column])
    if np.abs(products - angles).max() > MAX_ADDITIONAL_GAP * np.abs(angles).max():
        return []
    apart = Table(table.source, table.extent, table.request._replace(layout="split"))
    others = case.explained(InMemory({"cos": np.cos(angles), "sin": np.sin(angles)}), apart)
    text, steps = "the file holds angles: no cosine and no sine was taken", np.diff(angles, axis=0)
    if not others or others[0].kind in (*VAGUE, "random", "identity"):
        w = [float(frequency) for frequency in plan.frequencies]
        own = f"{steps.max():.4g} to {steps.min():.4g} radians a row where {max(w):.4g} to {min(w):.4g} were expected"
        is_even = len(angles) > 2 and np.ptp(steps, axis=0).max() <= MAX_ADDITIONAL_GAP * np.abs(angles).max()
        return [Finding("frequency", f"other frequencies: {own}"), Finding("angles", text)] if is_even else []
    is_known = others[0].kind not in ("rounding", "type")
    return [*others, Finding("angles", text)] if is_known else []


def channels_first(case: Case, table: Table) -> list[Finding]:
    """Return that the channels of a map come before the grid, and how it differs besides; [] of any other table."""
    actual = case.actual
    other = channels_last(actual)
    if other is None or [a.shape[-1] for a in other.arrays] != [a.shape[-1] for a in table.arrays[: len(other.arrays)]]:
        return []
    sizes = [math.prod(array.shape) for array in other.arrays]
    if sizes == [math.prod(array.shape) for array in table.arrays[: len(sizes)]]:
        shapes = dict(zip(other.keys(), (array.shape for array in table.arrays), strict=False))
        other = InMemory({name: other.read(name).reshape(shape) for name, shape in shapes.items()})
    text = f"{CHANNELS_FIRST}: shape {actual.arrays[0].shape} where {table.arrays[0].shape} was expected"
    findings = case.explained(other, table)
    others = [one.without_option for one in findings if one.kind not in ("shape", "channels")]
    is_known = bool(others) and others[0].kind not in (*VAGUE, "rounding", "type")
    return [*others[:is_known], Finding("channels", text), *others[is_known:]]


def additional_columns(case: Case) -> list[Finding]:
    """Return that a matrix has the expected columns and others before or after them; [] where it has not."""
    actual, expected = case.actual, case.expected
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
            others = case.explained(cut, expected) if len(y) != len(x) else []
            text = f"{numbered_are('column', other)} not expected; the others are right, within rounding"
            return behind(Finding("columns", text), others)
    return []


def doubled_columns(case: Case) -> list[Finding]:
    """Return why values differ that stand in two columns each, behind the cause that they do; [] of any other table."""
    pairs = pair_views(case.actual, case.expected)[0]
    if len(pairs) != 1 or is_large(case.actual):
        return []
    ((left, right),) = pairs
    if left.rows != right.rows or left.row_size != 2 * right.row_size:
        return []
    values, width = read_floats(left, 0, left.rows), right.row_size
    for word, one, other in (
        ("half-split", values[:, :width], values[:, width:]), ("neighbouring", values[:, ::2], values[:, 1::2]),
    ):  # fmt: skip
        if np.array_equal(one, other):
            text = f"each value stands in two columns ({word}) where one was expected"
            others = case.explained(InMemory({left.name: one}), case.expected)
            is_known = bool(others) and others[0].kind not in VAGUE
            return [*(one.without_option for one in others), Finding("layout", text)] if is_known else []
    return []


def padded_columns(case: Case, expected: Table) -> list[Finding]:
    """Return the last columns that are zero in all arrays, and how the others differ; [] where none are."""
    actual = case.actual
    if is_large(actual) or any(len(a.shape) < 2 for a in actual.arrays):
        return []
    arrays = {array.name: actual.read(array.name) for array in actual.arrays}
    widths = [1 + int(np.flatnonzero(a.any(axis=tuple(range(a.ndim - 1)))).max(initial=-1)) for a in arrays.values()]
    width, whole = max(widths), min(a.shape[-1] for a in arrays.values())
    if not 1 < width < whole or any(a.dtype.kind not in "fc" for a in arrays.values()):
        return []
    seen = InMemory({name: array[..., :width] for name, array in arrays.items()})
    findings = case.explained(seen, expected)
    if any(one.kind in ("place", "columns") for one in findings[:1]):
        return []
    return [Finding("zero", f"{numbered('column', np.arange(width, whole))} are zero"), *findings]


# The arrays and axes first: what else differs is told of the table that they leave.
ARRAY_RULES: tuple[Rule, ...] = (
    _unlike_pair,
    _differing_arrays,
    _further_array,
    lambda case: mask_differences(case.actual, case.expected, case.explained),
    _along_first,
    _copies,
    _numbered_rows,
    _still_columns,
    _renamed,
)
