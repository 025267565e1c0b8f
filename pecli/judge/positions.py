"""Rows at other positions than expected, and other choices of a recipe that give all values of a small table."""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal

import numpy as np

from pecli.errors import PecliError
from pecli.judge.description import Identification, factor_text, harmless, parameter_texts, still
from pecli.judge.expected import Expected
from pecli.judge.identify import MAX_LONE_GAP, identify, matched_positions
from pecli.judge.located import MAX_NOISE, PHASE_ERROR, ArrayPair
from pecli.judge.orders import MAX_PARTS, span
from pecli.judge.planes import EPSILON, is_large
from pecli.judge.rows import floats as read_floats
from pecli.judge.transforms import MAX_LONE_VALUES, one_row
from pecli.numbers.decimals import near, number_text
from pecli.numbers.positions import Positions, fraction_text
from pecli.spec.declaration import Encoding
from pecli.spec.hooks import other_bases
from pecli.spec.measured import PUBLISHED_BASES
from pecli.spec.parameter import Parameter
from pecli.spec.plans import Waves
from pecli.spec.recipe import Recipe, split_recipe
from pecli.spec.tabular import Tabular
from pecli.tables.comparison import Finding
from pecli.tables.request import Extent
from pecli.tables.table import Table
from pecli.tables.views import ArrayView, matched_views, view_of

MAX_LONE_UNITS = 4.0  # of 1, that the values of a lone row may be off by rounding
# Of a number of times that positions are as large as others, relative.
MAX_FACTOR_GAP = 1e-9
UNEVEN_FACTORS = (0.001, 1000.0, 0.5, 2.0, 0.25, 4.0, 0.125, 8.0)  # milliseconds, shares of 1000 steps, scalings


def lone_row(actual: Tabular, expected: Tabular) -> list[Finding]:
    """Return which of the expected rows the only row of a file is; [] of any other file.

    Of a recipe that expects one row, it is looked for at other positions.
    """
    (one, *others), want = actual.arrays, view_of(expected, expected.arrays[0])
    width, lone = math.prod(one.shape), Expected.of(expected) if isinstance(expected, Table) else None
    if lone is not None and lone.table.request.layout == "angles":  # frequencies times any position are others
        return []
    if lone is not None and lone.rows == 1 < width == want.row_size <= MAX_LONE_VALUES:
        whole = Positions.arange(MAX_LONE_VALUES // width)
        expected = Table(lone.recipe, Extent(whole, 0, whole.count), lone.table.request)
        want = view_of(expected, expected.arrays[0])
    if others or one.dtype.startswith("complex") != want.dtype.startswith("complex"):
        return []
    if not 1 < width == want.row_size or not 1 < want.rows * width <= MAX_LONE_VALUES or want.rows == 1:
        return []
    values = read_floats(replace(view_of(actual, one), shape=(1, *want.row_shape), lead=want.lead), 0, 1)
    off = np.abs(read_floats(want, 0, want.rows) - values).max(axis=1)
    at, near = int(off.argmin()), np.flatnonzero(off <= MAX_LONE_GAP * np.abs(values).max())
    if lone is not None and lone.rows == 1:
        text = f"positions start at {at} where {fraction_text(lone.start)} was expected"
        most = float(off[at])
        if len(near) == 1 and at == lone.start and len(one.shape) == 1 and most <= MAX_LONE_UNITS * EPSILON[one.dtype]:
            return [harmless(f"{one.dtype} rounding", most, 0)]
        return [Finding("start", text)] if len(near) == 1 and at != lone.start else []
    return [Finding("rows", f"one row, which is row {at} of the {want.rows:,} expected ones")] if len(near) else []


def one_position(actual: Tabular, expected: Tabular) -> list[Finding]:
    """Return which single position all rows of a file hold, where the expected ones differ; [] where they do not."""
    pairs = matched_views(actual, expected)
    if not isinstance(expected, Table) or len(pairs) < len(expected.arrays) or any(one.rows < 2 for one, _ in pairs):
        return []
    same = None if is_large(actual) else one_row(pairs)
    places = matched_positions(actual, expected) if same is not None else None
    if places is not None:
        return [Finding("rows", f"every row holds position {places[0]}")]
    of_waves = isinstance(expected.plan, Waves) and not expected.plan.axes
    return [same] if same is not None and of_waves and not still(actual) else []


def differing_texts(encoding: Encoding, both: Mapping[str, tuple[str, str]]) -> list[Finding]:
    """Return the parameters that differ; of the file's and the expected text of each."""
    other = {key: two for key, two in both.items() if two[0] != two[1]}
    return [Finding("parameter", text) for text in parameter_texts(encoding, other).values()]


def other_choice(actual: Tabular, expected: Table) -> list[Finding]:
    """Return the flag or the choice of a recipe whose other value gives all values of a small table; [] for none.

    At uneven positions, which no frequencies are measured by, declared mistakes and other positions are tried as well.
    """
    uneven = isinstance(expected.plan, Waves) and not expected.positions.is_range

    def gives(table: Table) -> bool:
        pairs = [ArrayPair(left, right) for left, right in matched_views(actual, table)]
        last = float(np.abs(table.part.numbers(0, table.part.count)).max()) if uneven else 0.0
        phases = min(last * PHASE_ERROR, MAX_NOISE)  # of float32
        same = (one.same_shape and one.overview.largest <= max(one.within("single"), phases) for one in pairs)
        return bool(pairs) and all(same)

    encoding, keys = expected.source.encoding, expected.source.keys()
    if is_large(actual) or gives(expected):
        return []
    if uneven:
        found = ((kind, text) for kind, text, table in _at_uneven(expected) if gives(table))
        if cause := next(found, None):
            return [Finding(*cause)]
    for parameter in encoding.parameters.values():
        key, choices = parameter.option, ("true", "false") if parameter.kind == "flag" else parameter.choices
        for choice in choices or _other_numbers(parameter, expected):
            with contextlib.suppress(PecliError):
                recipe = Recipe.bind(encoding.name, **{**keys, key: choice})
                table = Table(recipe, expected.extent, expected.request)
                if recipe != expected.source and (choices or _begins_as(actual, table)) and gives(table):
                    return differing_texts(encoding, {key: (choice, keys.get(key, ""))})
    return []


# Times the expected number that others are tried of parameters that no rule measures.
OTHER_TIMES = ("0.1", "0.125", "0.25", "0.5", "2", "4", "8", "10")


def _other_numbers(parameter: Parameter, expected: Table) -> Iterator[str]:
    """Yield other numbers of a parameter of computed values: its default, usual bases, and some times the expected."""
    own = expected.source.keys().get(parameter.option, "")
    if isinstance(expected.plan, Waves) or not parameter.kind.startswith(("number", "integer")) or not own:
        return
    if parameter.default is not None:
        yield parameter.text(parameter.default)
    yield from PUBLISHED_BASES if parameter.option == "base" else ()
    for times in OTHER_TIMES:
        with contextlib.suppress(ArithmeticError):  # of a list
            yield number_text(Decimal(own) * Decimal(times))


def _begins_as(actual: Tabular, table: Table) -> bool:
    """Whether the first array of a file begins as that of a table, which costs less than to compare all values."""
    have, want = (read_floats(view_of(one, one.arrays[0]), 0, min(2, one.arrays[0].rows)) for one in (actual, table))
    return have.shape == want.shape and np.allclose(have, want, rtol=MAX_LONE_GAP)


def _at_uneven(expected: Table) -> Iterator[tuple[str, str, Table]]:
    """Yield what may have been done instead of a table at uneven positions: the kind, the words and its table."""
    encoding, keys, count = expected.source.encoding, expected.source.keys(), expected.part.count
    places = expected.part.numbers(0, count)
    declared = encoding.hook("mistakes")(keys) if encoding.declares("mistakes") else ()
    for change in (*other_bases(keys, *PUBLISHED_BASES), *declared):
        given = {key: value for key, value in {**keys, **change.keys}.items() if value is not None}
        if change.waves is None and change.values is None and change.step == 1 and not change.shift:
            with contextlib.suppress(PecliError):
                recipe = Recipe.bind(encoding.name, **given)
                yield change.kind, change.text, Table(recipe, expected.extent, expected.request)
    others = {
        "every position is 1 too large": places + 1,
        "every position is 1 too small": places - 1,
        "the rows are at positions 0, 1, 2 and so on, whatever positions were given": np.arange(count),
        "positions were rounded down to whole numbers": np.floor(places),
        "positions are in the reverse order": places[::-1],
    }
    for factor in UNEVEN_FACTORS:
        others[f"every position is {factor_text(factor)} times the expected one"] = places * factor
    for text, own in others.items():
        with contextlib.suppress(PecliError):
            extent = Extent(Positions.listed(own.astype(np.float64)), 0, count)
            yield "positions", text, Table(expected.source, extent, expected.request)


def started(findings: list[Finding], expected: Tabular) -> list[Finding]:
    """Name the position of the first row where all rows are later ones of a recipe."""
    first = re.fullmatch(r"row 0 holds what was expected at row (\d+), and so on", findings[0].text)
    want = Expected.of(expected) if first and isinstance(expected, Table) else None
    if first is None or want is None:
        return findings
    have, wanted = (fraction_text(want.start + k * want.step) for k in (int(first[1]), 0))
    return [Finding("start", f"positions start at {have} where {wanted} was expected"), *findings[1:]]


def other_positions(table: Table, expected: Tabular) -> list[Finding]:
    """Return at which positions the rows of a recipe are, where the expected ones are its rows at others."""
    found = matched_positions(expected, table)
    if found is None:
        return []
    have = table.positions.numbers(0, len(found))
    runs = np.split(np.arange(len(found)), 1 + np.flatnonzero(np.diff(found - have)))
    moved = [(run[0], span(run[0], run[-1], "row")) for run in runs if found[run[0]] != have[run[0]]]
    if not 0 < len(moved) <= MAX_PARTS:
        return []
    texts = (f"{rows}: positions start at {have[k]:g} where {found[k]} was expected" for k, rows in moved)
    return [Finding("rows", ", ".join(texts))]


def scaled_positions(found: Identification | None, expected: Tabular) -> list[Finding]:
    """Return how many times the expected ones all positions of the same recipe are; [] of other tables."""
    have = parsed(found.recipe) if found is not None else None
    if have is None or not isinstance(have.plan, Waves) or have.plan.axes:
        return []
    want = expected if isinstance(expected, Table) else parsed(identify(expected).recipe)
    if want is None or have.source != want.source or have.part.count != want.part.count:
        return []
    own, meant = (table.part.numbers(0, table.part.count) for table in (have, want))
    ratio = float(near(float(own[-1] / meant[-1]), MAX_FACTOR_GAP)) if own[-1] * meant[-1] else 1.0
    if ratio == 1 or not np.allclose(own, ratio * meant, MAX_FACTOR_GAP, 0):
        return []
    return [Finding("factor", f"every position is {factor_text(ratio)} times the expected one")]


def parsed(recipe: str | None) -> Table | None:
    """Return the table of a recipe that a file holds or shows; None where it has none."""
    for text in (recipe, f"{recipe},len=1") if recipe else ():  # frequencies alone have no length
        with contextlib.suppress(PecliError):
            return Table.parse(text)
    return None


def other_inputs(pairs: Sequence[tuple[ArrayView, ArrayView]], recipe: str) -> Finding | None:
    """Return between which numbers the first columns of features run, the coordinates, where others were expected."""
    keys = split_recipe(recipe)[1]
    if len(pairs) != 1 or keys.get("include-input") != "first" or pairs[0][0].plain_shape != pairs[0][1].plain_shape:
        return None
    count = int(keys.get("point-axes", "1"))
    ends = [(v.min(), v.max()) for v in (read_floats(view, 0, view.rows)[:, :count] for view in pairs[0])]
    (low, high), (least, most) = ends
    if max(abs(low - least), abs(high - most)) <= MAX_FACTOR_GAP:
        return None
    text = f"coordinates run from {low:.4g} to {high:.4g} where {least:.4g} to {most:.4g} was expected"
    return Finding("coordinates", text)


# Rows that show whether a parameter has an effect.
FIRST_ROWS = 16


def has_effect(expected: Table, key: str, text: str) -> bool:
    """Whether another value of a parameter gives other first rows, as the treatment of an odd width need not."""
    keys = {**expected.source.keys(), key: text}
    try:
        recipe = Recipe.bind(expected.source.encoding.name, **{name: one for name, one in keys.items() if one})
        table = Table(recipe, expected.extent, expected.request)
        names = [array.name for array in expected.arrays]
        rows = min(FIRST_ROWS, *(array.rows for array in expected.arrays))
        both = [one.read_rows(names, 0, rows) for one in (table, expected)]
    except PecliError:
        return True
    return any(not np.array_equal(both[0][name], both[1][name]) for name in names)


def first_positions(table: Table) -> tuple[object, ...]:
    """Return how many positions a table has, and the first two."""
    return table.positions.count, *table.positions.part(0, min(2, table.positions.count))
