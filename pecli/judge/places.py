"""Where no description fits: the place and kind of a change, other rows, and what the file is by itself."""

from __future__ import annotations

import numpy as np

from pecli.formats.decimals import how_printed, printed_digits
from pecli.judge.arrangement_differences import as_bits, doubled_columns, padded_columns
from pecli.judge.arrangements import as_other_types
from pecli.judge.bias_differences import bias_differences
from pecli.judge.case import Case, Rule, behind, first_answer, listing
from pecli.judge.cycles import cycle_differences, cyclic
from pecli.judge.description import ORTHONORMAL, is_orthonormal
from pecli.judge.difference import other_frequencies, position_words, wave_differences
from pecli.judge.expected import Expected, key_lines, mistaken_tables
from pecli.judge.frequencies import MAX_FREQUENCY_DIGITS
from pecli.judge.grid_differences import columns_of_other_axes, grid_differences
from pecli.judge.identify import HIDING, identify, matched_positions
from pecli.judge.located import REST_OFF, VAGUE
from pecli.judge.noise import ALL, TRAINED, drawn_words, is_trained, noise, random_parts, random_words
from pecli.judge.planes import EPSILON, is_large
from pecli.judge.positions import (
    differing_texts,
    has_effect,
    other_choice,
    other_inputs,
    other_positions,
    parsed,
    scaled_positions,
    started,
)
from pecli.judge.resizing import padded_grid, resized
from pecli.judge.rows import floats as read_floats
from pecli.judge.sums import sum_differences
from pecli.judge.transforms import (
    colliding,
    cut_in_halves,
    low_rank,
    moved_coordinates,
    one_row,
    remade,
    reordered,
    rounded_values,
    slightest,
    unlike_halves,
    without_function,
)
from pecli.judge.waves import LOW_TYPES
from pecli.numbers.dtypes import REAL
from pecli.spec.plans import Waves
from pecli.spec.tabular import InMemory, Tabular
from pecli.tables.comparison import Finding, compare_tables
from pecli.tables.table import Table

# Error of float64 values, whose angles at position 65536 are off by 7e-12.
MAX_DOUBLE_GAP = 1e-11
# Share of the values that are the expected ones beyond which no table was drawn.
MAX_KNOWN = 0.1
# Pairs of an expected table beyond which a file's are no hours, days and months.
MAX_CYCLES = 3


def placed(case: Case) -> list[Finding]:
    """Return the place and kind of a difference; where only the place is known, the identity of the file as well."""
    return first_answer(PLACE_RULES, case) or case.places


def _other_types(case: Case) -> list[Finding]:
    """Return that values of another type are the expected ones, rounded."""
    others = any(left.dtype != right.dtype for left, right in case.views)
    return listing(rounded_values(case.views)) if others else []


def described_printed(actual: Tabular, expected: Table, *, named: bool = True) -> list[Finding]:
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
            slack = MAX_DOUBLE_GAP + 2 * EPSILON["float32"] * np.abs(exact)  # rounded before and after
            if exact.shape == values.shape and how_printed(values, exact, slack, printed):
                return [Finding(change.kind, change.text)]
    is_double = all(array.dtype == "float64" for array in actual.arrays)  # else float32 hides no digits
    hiding = "float32" if is_double and min(digits)[0] >= HIDING["float32"] else "float16"
    seen = InMemory({name: values.astype(hiding) for name, values in arrays.items()})
    compared = compare_tables(seen, expected)
    findings = wave_differences(seen, expected, compared, named=named) or grid_differences(seen, expected, compared)
    findings = findings or bias_differences(seen, expected, compared) or []
    if any(f"dtype={hiding}" in one.text for one in findings):  # another table, not of this type
        return []
    return [one for one in findings if one.kind not in (*VAGUE, "type", "arithmetic")]


def _printed_otherwise(case: Case) -> list[Finding]:
    """Return how a printed table of another shape than a recipe's differs, which may be transposed; else []."""
    actual, expected = case.actual, case.recipe
    if expected is None or case.same_shape:
        return []
    if findings := described_printed(actual, expected):
        return findings
    array, other = actual.arrays[0], expected.arrays[0]
    if len(actual.arrays) > 1 or is_large(actual) or array.shape != other.shape[::-1]:
        return []
    found = case.explained(InMemory({array.name: actual.read(array.name).T}), expected)
    is_right = {one.kind for one in found} == {"decimals"}
    text = "rows and columns are exchanged: the table is transposed"
    return behind(Finding("transposed", text), found) if is_right else []


def _change(case: Case) -> list[Finding]:
    """Return what was done to the values, or the choice of a recipe that does the same; [] of an unknown change."""
    if all(one.kind == "place" for one in case.places):
        return []
    is_rough = any(REST_OFF in one.text or one.kind in ("value", "place") for one in case.places)
    other = other_choice(case.actual, case.recipe) if case.recipe is not None and is_rough else []
    return other or started(case.places, case.expected)


def _unlike_numbers(case: Case) -> list[Finding]:
    """Return the place alone of complex numbers beside real ones."""
    unlike = any((left.dtype in REAL) != (right.dtype in REAL) for left, right in case.views)
    return case.places if unlike else []


def _rotated(case: Case) -> list[Finding]:
    """Return which rotation two files hold, that may be queries or keys."""
    from pecli.judge.tensors import OTHER_ANGLES, rotated_tensors

    may_be = case.stated is None and case.named.recipe is None and not case.of_pairs
    findings = rotated_tensors(case.actual, case.views) if may_be else []
    return [*findings, *case.places] if any(OTHER_ANGLES in one.text for one in findings) else findings


def _other_rows(case: Case) -> list[Finding]:
    """Return which positions the rows of a file are of, where others were expected."""
    want = Expected.of(case.recipe) if case.recipe is not None else None
    places = matched_positions(case.actual, want.table) if want is not None else None
    if want is None or places is None or np.array_equal(places, want.table.part.numbers(0, want.rows)):
        return []
    return [Finding("rows", position_words(places, want))]


def _orthonormal(case: Case) -> list[Finding]:
    """Return that the rows of a file are orthonormal."""
    is_other = is_orthonormal(case.actual) and not is_orthonormal(case.expected)
    return [Finding("identity", ORTHONORMAL), *case.places] if is_other else []


def _random(case: Case) -> list[Finding]:
    """Return which parts of a file are drawn at random; features of any points look like that."""
    if case.recipe is not None and case.recipe.source.keys().get("points"):
        return []
    if case.recipe is not None and case.own is not None and case.own.confidence == "sure":
        return []
    if case.recipe is not None and case.found.total.beyond < (1 - MAX_KNOWN) * case.found.total.compared:
        return []
    finite = (np.isfinite(read_floats(view, 0, view.rows)).all() for pair in case.views for view in pair)
    random = random_parts(case.actual) if all(finite) else []  # a mask says more
    if not random or random_parts(case.expected):
        return []
    which = drawn_words(case.actual) if random == [ALL] else ""
    texts = [f"the values look drawn from {which}"] if which else map(random_words, random)
    return [*(Finding("random", text) for text in texts), *case.places]


def _of_all_values(case: Case) -> list[Finding]:
    """Return what was done to all values at once, which no function of each value is."""
    is_sure = case.own is not None and case.own.confidence == "sure"  # whose columns are right
    rules = (without_function, colliding, noise, one_row, remade, *[unlike_halves] * (not is_sure))
    whole = next((one for rule in rules if (one := rule(case.views)) is not None), None)
    return [whole, *case.places] if whole is not None else []


def _padded(case: Case) -> list[Finding]:
    """Return the columns or the places of a grid that are zero, and how the others differ."""
    if case.recipe is None:
        return []
    return padded_columns(case, case.recipe) or padded_grid(case.views, case.recipe)


def _low_rank(case: Case) -> list[Finding]:
    """Return that a file's weights differ from another's as an adapter makes them."""
    adapted = low_rank(case.views) if case.recipe is None else None
    return [adapted, *case.places] if adapted is not None else []


def _other_bits(case: Case) -> list[Finding]:
    """Return that bits were read as another type, of a file that is nothing as it stands."""
    own = case.own
    if own is not None:
        is_unknown = own.recipe is None and case.actual.arrays[0].dtype in LOW_TYPES
        others = as_other_types(case.actual) if is_unknown else ()
        if not any(identify(other).confidence == "sure" for _, other in others):
            return []
    return as_bits(case) or case.places


def _of_other_shape(case: Case) -> list[Finding]:
    """Return the parameters of a file of another shape that is certainly of the expected encoding."""
    if case.recipe is None or case.same_shape or is_large(case.actual):
        return []
    own = identify(case.actual)
    return parameter_differences(own.recipe, case.recipe) if own.confidence == "sure" else []


def _unknown(case: Case) -> list[Finding]:
    """Return what is seen of a file that no recipe gives."""
    if case.own is None or (case.own.recipe is not None and case.own.confidence != "unknown"):
        return []
    if case.recipe is not None and isinstance(case.recipe.plan, Waves) and (slight := slightest(case.views)):
        return [slight]
    if shifted := moved_coordinates(case.views):
        return [shifted, *case.places]
    turns, periods = cyclic(case.actual, of_any=True), cycle_differences(case.views)
    if turns and len(periods) == 1 and "pairs turn" in periods[0].text:
        return periods
    plan = case.recipe.plan if case.recipe is not None else None
    if isinstance(plan, Waves) and not plan.axes and plan.width > 2 * MAX_CYCLES:
        turns = ()
    if turns and (case.recipe is not None or not cyclic(case.expected, of_any=True)):
        texts = f"the file holds {turns[0]}", *turns[1:]
        return [*(Finding("identity", text) for text in texts), *case.places]
    trained = is_trained(case.actual) and not is_trained(case.expected)
    return [*[Finding("random", TRAINED)] * trained, *case.places]


def _identity(case: Case) -> list[Finding]:
    """Return what a file holds that some other recipe gives."""
    own, expected, recipe = case.own, case.expected, case.recipe
    table = parsed(own.recipe) if own is not None else None
    if own is None or own.recipe is None:
        return []
    if table is not None and recipe is not None and table.source == recipe.source:
        return []  # the same recipe, except for the values at the places
    is_sure = own.confidence == "sure"
    if table is not None and is_sure and (other := other_positions(table, expected)):
        return other
    if is_sure and recipe is not None and (other := parameter_differences(own.recipe, recipe)):
        return other
    lone = "".join(f" ({note})" for note in own.notes if note.endswith("ines alone"))
    wanted = identify(expected) if lone and recipe is None else own
    for have, gone in (("cosines", "sines"), ("sines", "cosines")):
        if wanted.recipe == own.recipe and f"{have} alone" in own.notes and f"{gone} alone" in wanted.notes:
            return [Finding("exchanged", f"every column holds {have} where {gone} were expected")]
    if "points=FILE" in own.short and (moved := other_inputs(case.views, own.short)):
        return [moved, *case.places]
    what = ("" if is_sure else "likely ") + own.values_text.removeprefix("those of ")
    text = f"the file holds other values: {what}{lone}"
    if ",sequence=" in own.short and recipe is not None and "sequence" not in {*recipe.source.keys()}:
        text = f"the file is of a sequence with images, {what}; text alone was expected"
    return [Finding("identity", text), *case.places]


def parameter_differences(recipe: str | None, expected: Table) -> list[Finding]:
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


# Where no description fits: changes of the values, then other rows, then what the file is by itself.
PLACE_RULES: tuple[Rule, ...] = (
    _other_types,
    _printed_otherwise,
    doubled_columns,
    _change,
    _unlike_numbers,
    lambda case: listing(rounded_values(case.views)),
    lambda case: columns_of_other_axes(case.views, case.recipe) if case.recipe is not None else [],
    sum_differences,
    _rotated,
    lambda case: reordered(case.views) or cut_in_halves(case.views) or resized(case.views, case.expected),
    lambda case: other_choice(case.actual, case.recipe) if case.recipe is not None else [],
    _other_rows,
    _orthonormal,
    lambda case: described_printed(case.actual, case.recipe) if case.recipe is not None else [],
    _random,
    _padded,
    _of_all_values,
    _low_rank,
    lambda case: scaled_positions(case.own, case.expected) or other_frequencies(case.actual, case.expected),
    _of_other_shape,
    _other_bits,
    _unknown,
    _identity,
)
