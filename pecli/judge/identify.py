"""Identification of an unknown table: the recipe that gives its values, how sure that is, or what was measured."""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import chain, product, zip_longest

import numpy as np

from pecli.errors import BadParameter, PecliError
from pecli.formats.decimals import digits_text, how_printed, printed_digits
from pecli.judge import waves
from pecli.judge.arrangements import EXCHANGED, NUMBERED, arrangements, channels_last, transposed, without_numbers
from pecli.judge.biases import BY_DISTANCE, identify_bias, recipe_text
from pecli.judge.description import (
    ANGLES,
    COPIES,
    MAX_ULP_NAMED,
    NONE,
    TWICE,
    UNLIKE,
    Identification,
    Tally,
    statistics_of,
)  # fmt: skip
from pecli.judge.frequencies import BASES, MAX_FREQUENCY_DIGITS, MIN_PAIRS, identify_vector
from pecli.judge.grids import CHANNELS_FIRST, MAX_AXES, identify_angles, identify_grid
from pecli.judge.located import PHASE_ERROR
from pecli.judge.orders import match, numbered, numbered_are
from pecli.judge.planes import (
    EPSILON,
    Plane,
    exchanged,
    few_values,
    is_cube,
    is_large,
    is_masked,
    is_wide,
    is_zero,
    only_array,
    planes_of,
    rows_of,
)  # fmt: skip
from pecli.judge.printed import MAX_WIDTH, identify_printed, unlike_printed
from pecli.judge.rows import floats as read_floats
from pecli.judge.signal import (
    Measured,
    follows_waves,
    lone_readings,
    measured_readings,
    straight_columns,
    uneven_turns,
    wave_groups,
    wrapped,
)  # fmt: skip
from pecli.numbers.blocks import in_blocks
from pecli.numbers.decimals import digits as digits_of
from pecli.numbers.decimals import number_text
from pecli.numbers.positions import Positions
from pecli.numbers.printing import limit, percent
from pecli.numbers.rounding import Floats, Integers, floats
from pecli.spec.catalogue import CATALOGUE
from pecli.spec.declaration import TABLE_KEYS, Family
from pecli.spec.hooks import UNITS
from pecli.spec.measured import LENGTHS, PUBLISHED_BASES, PUBLISHED_COST
from pecli.spec.plans import Waves
from pecli.spec.recipe import Recipe, join_recipe, split_recipe
from pecli.spec.tabular import InMemory, Tabular, View
from pecli.tables.alignment import DOUBLED, read_fitting, table_like
from pecli.tables.comparison import compare_tables
from pecli.tables.request import Extent, take_table_keys
from pecli.tables.sources import read_source
from pecli.tables.table import Table
from pecli.tables.views import pair_views

# Different values of a worked example of few rows, and their digits.
MIN_WORKED, MAX_WORKED_DIGITS = 6, 5
# Fewest digits whose rounding that of a type hides.
HIDING = {"float16": 3, "float32": 7}
# Relative difference of a base from a usual one up to which few digits may be those of the usual one.
MAX_NEAR_BASE = 0.1
# Values that are read again with few digits.
MAX_VALUES = 1 << 20
# Parameters that make one frequency any number.
FITTED = re.compile(",(step|factor)=")
# The coarse type of a recipe, and notes about it.
DTYPE = re.compile(",dtype=[a-z0-9]+")
# Usual bases that are tried in place of any other, and the first position of a printed table that nobody has.
MAX_PLAIN, FAR_START = 3, re.compile(",start=-?[0-9]{6}")
# Digits of a base that the first columns of a wider table with a usual base have.
FITTED_DIGITS = 6
WITHIN = re.compile(
    "(b?float.. rounding: )?every value (is )?within|[0-9,]+ (of [0-9,]+ )?values (within|do not fit)"
    r"|.*\] is .*, expected "
)


def identify_digits(table: Tabular) -> Identification | None:
    """Return the recipe whose values were printed with few digits; None where values have more, or none fits.

    The values are identified in a type that hides the rounding of the digits; then all of them are compared with
    those of the recipe, with as many digits.
    """
    chosen = [a for a in table.arrays if len(a.shape) > 1] or table.arrays  # a column of row numbers accompanies them
    if not chosen or any(a.dtype not in EPSILON for a in chosen):
        return None
    if sum(a.rows * math.prod(a.row_shape) for a in chosen) > MAX_VALUES:
        return None
    arrays = {a.name: floats(table.read(a.name), a.dtype).astype(np.float64) for a in chosen}
    first, error = next(iter(arrays.values())), EPSILON[chosen[0].dtype]
    printed = printed_digits(first, error, most=MAX_FREQUENCY_DIGITS)
    few = printed is None
    if few and (first.ndim == 1 or (first.ndim == 2 and min(first.shape) > 2)):  # a list, or a worked example
        printed = printed_digits(first, error, MIN_WORKED, MAX_WORKED_DIGITS)
    if printed is None:
        return None
    table = table if len(chosen) == len(table.arrays) else InMemory(arrays)
    digits, significant = printed
    words, stored = digits_text(digits, significant), max((a.dtype for a in chosen), key=EPSILON.__getitem__)
    hiding = [kind for kind, least in HIDING.items() if digits >= least and EPSILON[kind] > EPSILON[stored]]
    hidden = [_identified(InMemory({name: v.astype(kind) for name, v in arrays.items()})) for kind in hiding[::-1]]
    own = [_without_type(one) for one in hidden if one.recipe or one.nearest]
    own = [one for one in own if not FAR_START.search(one.recipe or "")]
    if sum(math.prod(a.row_shape) for a in chosen) == 2:  # of a single pair, few digits fit many recipes
        own = [one for one in own if not FITTED.search(one.recipe or "")]
    found = [near for one in own if _base_digits(one.recipe) != FITTED_DIGITS for near in _with_usual_base(one)]
    for phases, of in ((0.0, "the exact one"), (EPSILON["float32"], "that of float32 phases (within their rounding)")):
        for one in found:
            held = InMemory({name: v.T for name, v in arrays.items()}) if EXCHANGED in one.notes else table
            try:
                exact = table_like(read_source(f"{one.recipe},dtype=float64"), held)
            except PecliError:  # a step of more digits than positions have
                continue
            both = [[read_floats(view, 0, view.rows) for view in pair] for pair in pair_views(held, exact)[0]]
            if len(both) < len(table.arrays) or any(v.shape != x.shape for v, x in both):
                continue
            last = exact.positions.numbers(exact.positions.count - 1, exact.positions.count)
            error = max(EPSILON["float32"], 3 * EPSILON[stored])  # before, in and after the rounding to digits
            slack = phases * float(np.abs(last).max(initial=0))
            ways = {how_printed(v, x, error * np.abs(v) + slack, printed) for v, x in both}
            if "" not in ways:
                strict = bool(phases) or "" not in {how_printed(v, x, 2.0**-50 * np.abs(v), printed) for v, x in both}
                of += "" if strict else f" or a neighbour in {max((stored, 'float32'), key=EPSILON.__getitem__)},"
                unit = [] if one.notes else _units(float(split_recipe(one.recipe or "")[1].get("step", 1)))
                notes = (*unit, f"every value is {of}{' cut' * ('cut' in ways)} to {words}", *one.notes)
                sure = "likely" if few else "sure"
                return replace(one, confidence=sure, arithmetic=words, notes=notes, equal=0.0, measured=())
    other = NONE if significant else identify_printed(table, digits)
    if other.recipe and len(arrays) > 1:  # the first one was read
        exact = table_like(read_source(f"{other.recipe},dtype=float64"), table)
        both = [[read_floats(view, 0, view.rows) for view in pair] for pair in pair_views(table, exact)[0]]
        apart = max((np.abs(v - x).max() if v.shape == x.shape else np.inf for v, x in both), default=np.inf)
        other = other if apart <= 0.1**digits and len(both) == len(table.arrays) else NONE
    if other.recipe is None and own and hidden[0].recipe:
        note = unlike_printed(own[0], table, 10.0**-digits, words, significant=significant)
        return replace(own[0], confidence="likely", arithmetic=words, equal=0.0, notes=(note, *own[0].notes))
    return other if other.recipe else None


def _with_usual_base(found: Identification) -> Iterator[Identification]:
    """Yield an identification with plain bases, which few digits may not tell apart, and as it is."""
    recipe = found.recipe or ""
    if base := split_recipe(recipe)[1].get("base") if recipe else None:
        near = [usual for usual in PUBLISHED_BASES if 0 < abs(float(base) / float(usual) - 1) < MAX_NEAR_BASE]
        shorter = [number_text(Decimal(f"{float(base):.{count}g}")) for count in (1, 2)]
        plain = re.sub(",shift=[^,]+", "", recipe)
        for text, other in (*product([plain], PUBLISHED_BASES[:MAX_PLAIN]), *product([recipe], [*near, *shorter])):
            keys = f",base={other}" * (other != PUBLISHED_BASES[0])
            yield replace(found, recipe=re.sub(",base=[^,]+", keys, text))
    yield found


def _base_digits(recipe: str | None) -> int:
    base = split_recipe(recipe)[1].get("base") if recipe else None
    return digits_of(Decimal(base)) if base else 0


def _without_type(found: Identification) -> Identification:
    """Return a recipe, or the nearest one, without the coarse type, which the file does not have."""
    own, *others = (DTYPE.sub("", recipe) for recipe in (found.recipe or found.nearest or "", *found.aliases))
    notes = tuple(note for note in found.notes if not WITHIN.match(note))
    return replace(found, recipe=own, aliases=tuple(others), notes=notes)


# Share of all values that a likely recipe must explain.
MIN_EXPLAINED = 0.99
# Share of the sampled values that a recipe must explain for all values to be compared with it.
MIN_SAMPLED = 0.9
# Share of values that fitted numbers must equal to be sure, by type; the phases of libraries leave the others.
MIN_EQUAL_FITTED = {"float32": 0.8, "float16": 0.97, "bfloat16": 0.97}
# Share of the values that the nearest recipe of an unknown table must give; of less, another one may be as near.
MIN_EXPLAINED_NEAREST = 0.5
# Fitted digits beyond which a recipe that explains everything is likely and not sure: others may do so too.
MAX_FITTED, MAX_NARROW_FITTED = 9.0, 5.5
# Below these pairs, or below these rows with fewer pairs than the last, only published parameters are sure.
MIN_SURE_ROWS, MIN_SURE_PAIRS, MIN_SURE_COLUMNS = 8, 4, 16
# Of evenly spaced frequencies, between the widest and the narrowest gap, relative to their range.
MAX_UNEVEN = 1e-3
# Share of the frequencies of single columns that must differ from each other.
MIN_DISTINCT = 0.75
# Times that the list of a longrope slows a pair at most: Phi-3's goes to 65.
MAX_SLOWER = 100
# Values of a copy, as in a batch, that are compared at once.
COPY_VALUES = 1 << 18
PAIRS = "cosines and sines"
# Fitted digits by which another name of the same values may be longer and be listed, as a sinusoid's for a cache.
MAX_ALIAS_COST = 2.5
LONE_WORDS = {"cos": "cosines alone", "sin": "sines alone"}
LONE_WORDS |= {f"{part} negated": f"{words}, with the other sign" for part, words in LONE_WORDS.items()}


def identify(table: Tabular, positions: Floats | None = None) -> Identification:
    """Return the recipe that reproduces a table, or its measurements if there is none.

    Parameters
    ----------
    table : Tabular
        Its values alone are used, and its positions if it has any.
    positions : (n,) ndarray, optional
        Those of its rows, where the table does not say.

    Raises
    ------
    PecliError
        If there are not as many positions as rows.
    """
    with np.errstate(all="ignore"):  # a file may hold any number
        found = _identified(table, positions)
        if found.recipe is None and positions is None:
            found = identify_digits(table) or found
            for note, way in {NUMBERED: without_numbers, EXCHANGED: transposed}.items() if not found.recipe else ():
                rest = way(table)
                if rest is not None and (printed := identify_digits(rest)) is not None:
                    others = tuple(one for one in printed.notes if one != note)
                    found = replace(printed, notes=others if note in printed.notes else (*others, note))
                    break
        named = getattr(table, "names_are_numbers", False)
        names = ("the names of the columns are numbers: a row before the first one, most likely",) * named
        return _wider(replace(found, notes=(*found.notes, *table.label_words, *names)))


def _identified(table: Tabular, positions: Floats | None = None) -> Identification:
    unknown: Identification | None = None
    if positions is not None:
        if any(a.rows != len(positions) for a in table.arrays):
            raise BadParameter("positions", None, "must be as many numbers as the table has rows")
        is_ascending = np.array_equal(positions, np.rint(positions)) and (np.diff(positions) > 0).all()
        found = identify_waves(table, positions.astype(np.int64)) if is_ascending else None
        if found is not None and found.recipe:
            return found
        return _at_stated(table, positions) or found or replace(NONE, measured=statistics_of(table))
    few = few_values(table)
    if few or is_cube(table):
        found = identify_bias(table)
        by_distance = found is not None and any(BY_DISTANCE in text for text in found.measured)
        if (found is None or found.recipe is None) and (held := _of_arrays(table)) is not None:
            return held
        if found is not None and (few or found.recipe is not None or by_distance or is_masked(table)):
            return found
    alone = all(sum(side > 1 for side in array.shape) < 2 for array in table.arrays)
    rules = [identify_vector] if alone else []  # frequencies that accompany a table are no answer
    waves_first = is_wide(table) or is_large(table)  # to look for a grid takes seconds
    rules += [identify_waves, identify_grid] if waves_first else [identify_grid, identify_waves]
    of_pairs = False
    for rule in (*rules, identify_bias):
        found = rule(table)
        if found is not None and (found.recipe is not None or found.count):
            doubtful = ANGLES in found.notes or rule is identify_vector
            other = identify_bias(table) if doubtful else None  # slopes fall, and rise with the distance, too
            best = found if other is None or not other.count else other
            return _others(best, table) if rule in (identify_vector, identify_grid) and best.recipe else best
        unknown = found if unknown is None or not unknown.measured else unknown
        of_pairs |= found is not None and is_large(table) and any(text.startswith(PAIRS) for text in found.measured[:1])
        if of_pairs and unknown and (rule is identify_grid or unknown.nearly > MIN_SAMPLED):
            break  # cosines and sines are no bias
    if (found := _of_arrays(table) or _of_batch(table) or identify_angles(table)) is not None:
        return found
    if (last := channels_last(table)) is not None and (found := _of_arrays(last)) is not None:
        return replace(found, notes=(*found.notes, CHANNELS_FIRST))
    for note, rows in arrangements(table):
        found = identify_waves(rows)
        if found is not None and found.recipe is not None and EXCHANGED not in found.notes:
            return replace(found, notes=(*found.notes, note), arrays=tuple(array.name for array in table.arrays))
    return unknown if unknown and unknown.measured else replace(NONE, measured=statistics_of(table))


def _of_arrays(table: Tabular) -> Identification | None:
    """Return the identification that encodings read off up to three matrices, such as codes; None of other arrays.

    Lists beside a matrix, such as times and the factors of one coordinate, are matrices of one column.
    """
    axes = [len(array.shape) for array in table.arrays if not array.dtype.startswith("complex")]
    matrices = len(axes) == len(table.arrays) and max(axes, default=0) > 1 and 0 not in axes
    if not 0 < len(table.arrays) <= MAX_MATRICES or not matrices or is_large(table) or not table.arrays[0].bytes:
        return None
    held = {array.name: floats(table.read(array.name), array.dtype).astype(np.float64) for array in table.arrays}
    arrays = {name: values.reshape(-1, values.shape[-1] if values.ndim > 1 else 1) for name, values in held.items()}
    for encoding in CATALOGUE.values():
        for found in encoding.hook("identify_arrays")(arrays) if encoding.declares("identify_arrays") else ():
            recipe = join_recipe(encoding.name, found.keys)
            if found.wrong:
                return Identification(None, "unknown", measured=(f"nearly {recipe}: {found.wrong}",))
            count, notes = sum(values.size for values in arrays.values()), (found.note,) * bool(found.note)
            kind = "exact" if found.equal == 1 else "float32"
            sure = "sure" if table.arrays[0].rows >= MIN_SURE_ROWS else "likely"
            return Identification(recipe, sure, None, found.equal, kind, notes, (), count, tuple(arrays))
    return None


def _of_batch(table: Tabular) -> Identification | None:
    """Return the identification of the first of equal grids along a leading axis; None of any other array."""
    array = only_array(table)
    if array is None or len(array.shape) != 4 or array.shape[0] < 2 or is_large(table):
        return None
    first, *others = table.read(array.name)
    found = identify_grid(InMemory({array.name: first})) if all(np.array_equal(first, one) for one in others) else None
    if found is None or found.recipe is None:
        return None
    return replace(found, notes=(*found.notes, COPIES.format(array.shape[0])))


# Arrays of a file that are one table with what it was made of.
MAX_MATRICES = 3
# Rows that are matched with those of a recipe before all are, and values of that recipe: 8,192 rows of 128.
FIRST_MATCHED, MAX_MATCHED = 4, 1 << 20
# Columns of a row that is matched, as those of few columns repeat; and rows of a recipe among which it is looked for.
MIN_MATCHED = 8
# Largest error of a row that is one of a recipe, as a share of its largest value.
MAX_LONE_GAP = 2.0**-10


def matched_positions(table: Tabular, recipe: Table) -> Integers | None:
    """Return the position of each row, where all are rows of a recipe of waves, in no plain order; else None."""
    count = MAX_MATCHED // sum(math.prod(array.row_shape) for array in recipe.arrays)
    if is_large(table) or not isinstance(recipe.plan, Waves) or recipe.plan.axes or count < MIN_MATCHED:
        return None
    pairs = pair_views(table, Table(recipe.source, Extent(Positions.arange(count), 0, count), recipe.request))[0]
    if len(pairs) < len(recipe.arrays) or any(a.row_size != b.row_size or a.row_size < MIN_MATCHED for a, b in pairs):
        return None
    sides = ([read_floats(view, 0, view.rows) for view in side] for side in zip(*pairs, strict=True))
    have, every = (np.concatenate(side, axis=1) for side in sides)
    if have.shape[1] != every.shape[1]:  # one of them is complex
        return None
    for rows in (have[:FIRST_MATCHED], have):
        found = match(rows, every, MAX_LONE_GAP)
        if (found < 0).any():
            return None
    return found if (found != np.arange(len(found))).any() else None


# Waves whose rows are looked for at any positions, and how many of these a recipe lists.
WAVES = (
    "sinusoidal", "sinusoidal:order=sin-cos", "sinusoidal:order=cos-sin", "sinusoidal:order=sin-cos,shift=1",
    "sinusoidal:order=cos-sin,shift=1", "rope", "rope:base=500000", "rope:base=1000000",
)  # fmt: skip
MAX_POSITIONS = 64
# Positions that the turn of one pair tells apart, and the error of a turn by which it does.
LARGEST_WHOLE, MAX_TURN_GAP = 1 << 13, 2.0**-18


def at_positions(table: Tabular) -> Identification | None:
    """Return the identification of rows at uneven positions, such as the time steps of a sampler; None elsewhere."""
    narrow = any(len(array.shape) < 2 or math.prod(array.row_shape) < MIN_PAIRS for array in table.arrays)
    if narrow or few_values(table) or is_cube(table):
        return None
    for text in WAVES:
        with contextlib.suppress(PecliError):  # of another size
            like = table_like(read_fitting(text, table), table)
            places, recipes = matched_positions(table, like), [text]
            if places is None and (places := _first_pair_positions(table, like)) is not None:
                recipes = [f"{text}{':,'[':' in text]}base={base}" for base in PUBLISHED_BASES]
            if places is None or len(places) > MAX_POSITIONS or len(np.unique(places)) < len(places):
                continue
            for recipe in recipes:
                if found := _at(table, places, recipe):
                    return found
    return None


def _at_stated(table: Tabular, places: Floats) -> Identification | None:
    """Return the identification by a usual base at stated positions, between which fast pairs may turn many times."""
    for text, base in product(WAVES[:6], PUBLISHED_BASES):
        with contextlib.suppress(PecliError):  # of another size
            if not is_large(table) and (found := _at(table, places, f"{text}{',:'[':' not in text]}base={base}")):
                recipe = re.sub(",positions=[^,]+", "", found.recipe or "")
                return replace(found, recipe=recipe, notes=(*found.notes, "rows are at the positions that were given"))
    return None


def _at(table: Tabular, places: Floats | Integers, text: str) -> Identification | None:
    """Return the identification by a recipe at the given positions; None where its values are others."""
    like = table_like(read_fitting(text, table), table)
    listed = Positions.listed(places.astype(np.float64))
    made = Table(like.source, Extent(listed, 0, len(places)), like.request)
    found = compare_tables(table, made)
    most, kind = found.total.max_abs, max((a.dtype for a in table.arrays), key=lambda k: EPSILON.get(k, 1.0))
    if not found.complete or most > EPSILON.get(kind, EPSILON["float32"]) + PHASE_ERROR * int(places.max()):
        return None
    notes = (f"every value is within {limit(most, 2)} of the exact one",) * bool(most)
    equal = 1 - found.total.unequal / found.total.compared
    of_float64 = most <= 8 * EPSILON["float64"] * (1 + np.abs(places).max(initial=0))
    kind = "exact" if not most else "float64" if of_float64 else "float32"
    names = tuple(array.name for array in table.arrays)
    confidence = "sure" if min(made.arrays[0].shape) >= MIN_SURE_ROWS else "likely"
    return Identification(recipe_text(made), confidence, most, equal, kind, notes, (), found.total.compared, names)


def _first_pair_positions(table: Tabular, recipe: Table) -> Integers | None:
    """Return the whole positions that the angle of the pair of frequency 1 shows, whatever the base; else None.

    A pair says its angle to within `MAX_TURN_GAP`, and whole numbers up to `LARGEST_WHOLE` have others.
    """
    start = Table(recipe.source, Extent(Positions.arange(2), 0, 2), recipe.request)
    pairs = pair_views(table, start)[0]
    few = all(a.rows <= MAX_POSITIONS and a.row_size == b.row_size > 3 for a, b in pairs)
    if len(pairs) < len(recipe.arrays) or not few:
        return None
    sides = ([read_floats(view, 0, view.rows) for view in side] for side in zip(*pairs, strict=True))
    have, first = (np.concatenate(side, axis=1) for side in sides)
    if have.shape[1] != first.shape[1] or not np.isfinite(have).all():
        return None
    sin, cos = (have[:, np.abs(first[1] - value).argmin()] for value in (math.sin(1), math.cos(1)))
    whole = np.arange(LARGEST_WHOLE)
    apart = np.abs(np.exp(1j * np.arctan2(sin, cos))[:, None] - np.exp(1j * whole))
    places = apart.argmin(axis=1)
    uneven = len(np.unique(np.diff(places))) > 1
    return places if uneven and apart.min(axis=1).max() < MAX_TURN_GAP and np.hypot(sin, cos).min() > 0.9 else None


def identify_waves(table: Tabular, stated: Integers | None = None) -> Identification | None:
    """Return the identification of a table of waves on one axis; None where no reading shows waves."""
    arrays = [a for a in table.arrays if not a.dtype.startswith(("int", "uint", "bool"))]
    every = [plane for array in arrays for plane in planes_of(table, array)]
    planes = [plane for plane in every if not is_zero(plane)]
    unknown: Identification | None = None
    both = (True, False) if is_wide(table) else (False, True)
    for is_exchanged in both if stated is None else (False,):  # stated positions are those of rows
        for group in wave_groups(planes):
            read = tuple(plane for plane in map(exchanged, group) if plane is not None) if is_exchanged else group
            if is_exchanged and (len(group) > 1 or not read or read[0].rows < 2):
                continue
            filled = _filled_rows(read)
            found = _of_group(tuple(rows_of(plane, 0, filled) for plane in read), stated)
            if found is not None and filled < read[0].rows:
                zero = f"{numbered_are('row', np.arange(filled, read[0].rows))} zero"
                found = replace(found, notes=(zero, *found.notes))
            if found is not None and found.recipe is not None:
                shares = shares_of_copies(every, group)
                if min(shares) < MIN_EXPLAINED:
                    text = f"{UNLIKE}; the first is {found.recipe}"
                    return replace(NONE, measured=(text,), arrays=found.arrays)
                if min(shares) < 1.0:
                    where = numbered("batch index", np.flatnonzero(np.array(shares) < 1.0))
                    note = f"{where} differ{'s' * (len(shares) - shares.count(1.0) == 1)} in few values from the first"
                    equal = (found.equal or 0.0) * float(np.mean(shares))
                    found = replace(found, confidence="likely", equal=equal, notes=(note, *found.notes))
                elif len(shares) > 1:
                    found = replace(found, notes=(*found.notes, COPIES.format(len(shares))))
                found = replace(found, notes=((EXCHANGED,) if is_exchanged else ()) + found.notes)
                return _others(found, table)
            unknown = unknown if is_exchanged or (unknown and unknown.measured) else found or unknown
    return unknown


def _filled_rows(group: tuple[Plane, ...]) -> int:
    """Return the number of rows without the last ones that are zero, as padding is; all rows where all are zero."""
    rows = group[0].rows
    for at in [slice(rows - 1, rows), *reversed([*in_blocks(0, rows, COPY_VALUES // group[0].width)])]:
        filled = np.flatnonzero(np.any([plane.read(at.start, at.stop).any(axis=1) for plane in group], axis=0))
        if len(filled):
            return int(at.start + filled[-1]) + 1
    return rows


def shares_of_copies(every: Sequence[Plane], group: Sequence[Plane]) -> list[float]:
    """Return the share of the values of each copy, as in a batch, that equal those of a group of planes."""
    names, found = [plane.name for plane in group], list[list[float]]()
    for k, one in enumerate(group):
        copies = [plane for plane in every if plane.name == one.name]
        copies = copies[names[:k].count(one.name) :: names.count(one.name)]  # of a stack, cosines and sines in turn
        found.append([_share_equal(plane, one) for plane in copies])
    return [min(shares) for shares in zip_longest(*found, fillvalue=1.0)]


def _share_equal(plane: Plane, other: Plane) -> float:
    if plane is other:
        return 1.0
    blocks = in_blocks(0, plane.rows, COPY_VALUES // plane.width)
    equal = sum(np.count_nonzero(plane.stored(at.start, at.stop) == other.stored(at.start, at.stop)) for at in blocks)
    return float(equal / (plane.rows * plane.width))


def _of_group(group: tuple[Plane, ...], stated: Integers | None) -> Identification | None:
    unknown: Identification | None = None
    waiting: list[waves.WaveName] = []
    alone = lone_readings(group) if len(group) == 1 and stated is None else ()
    for measured in chain(measured_readings(group, stated), alone):
        names = waves.names_of(measured)
        if names and len(measured.signal.rows) == 1:  # one row shows no direction: all readings are weighed together
            waiting += names
            continue
        found = _judged(names, measured) if names else _measured_only(measured, None)
        if found.recipe is not None:
            return found
        unknown = unknown if unknown and unknown.measured else found
    if waiting:
        waiting.sort(key=waves.merit)
        return _judged(waiting, waiting[0].measured)
    return unknown


def _judged(names: list[waves.WaveName], measured: Measured) -> Identification:
    """Return the verdict on the best name, after all values of the file were compared with it."""
    if names[0].explained < MIN_SAMPLED:
        return _measured_only(measured, names[0], names[0].explained)
    if measured.reading.tail is not None:
        names = sorted(names, key=lambda name: len(unlike_last(name)))
    first = names[0]
    exact = (one for name in (first, *(o for o in names[1:] if _as_good(o, first))) for one in _with_exact_base(name))
    best, found = waves.verified(with_blank_row(next(exact, first)))
    if found.explained < MIN_EXPLAINED:
        return _measured_only(measured, best, found.explained)
    for other in _emulated(best) if measured.dtype in waves.LOW_TYPES and found.equal < found.count else ():
        best, found = max((best, found), waves.verified(other), key=lambda both: both[1].equal)
    unlike = unlike_last(best)
    if len(unlike) > MAX_UNLIKE_LAST * measured.planes[0].rows:
        text = f"nearly {waves.recipe_of(best)}: the column without a partner holds other values"
        return replace(NONE, measured=(text,))
    answer = described(best, found, names)
    if not len(unlike):
        return answer
    note = f"the column without a partner differs in {numbered('row', unlike)}"
    plane = measured.planes[0]
    share = (answer.equal or 0.0) * (1 - len(unlike) / (plane.rows * plane.width))
    return replace(answer, confidence="likely", equal=share, notes=(*answer.notes, note))


# Share of the rows in which the last column of an odd width may be another one and the table still have its name.
MAX_UNLIKE_LAST = 0.1


def unlike_last(name: waves.WaveName) -> Integers:
    """Return the first rows in which the column without a partner, of an odd width, is not that of the recipe."""
    reading, plane = name.measured.reading, name.measured.planes[0]
    if reading.tail is None or name.measured.stated is not None:
        return np.arange(0)
    count = min(plane.rows, COPY_VALUES // plane.width)
    try:
        table = Table.parse(waves.recipe_of(name))
    except PecliError:  # of positions that no recipe takes
        return np.arange(0)
    if table.arrays[0].shape[-1:] != (plane.width,):  # a recipe of the pairs alone
        return np.arange(count)
    want = floats(table.read_rows([table.arrays[0].name], 0, count)[table.arrays[0].name], table.arrays[0].dtype)
    have, last = plane.read(0, count), max(map(abs, (name.start, name.start + count * name.step)))
    error = 2 * EPSILON[name.measured.dtype] + PHASE_ERROR * float(last)
    gaps = np.abs(reading.tail.of([have]) - reading.tail.of([want.reshape(count, -1)]))
    return np.flatnonzero(~(gaps <= error * max(1.0, name.magnitude)).all(axis=1))


def _emulated(name: waves.WaveName) -> Iterator[waves.WaveName]:
    """Yield a name with the float32 arithmetic of its recipe, whose frequencies narrow values do not show."""
    encoding = CATALOGUE[name.encoding]
    if encoding.declares("emulate"):
        recipe = Recipe.bind(name.encoding, **name.named.keys)
        own = encoding.hook("emulate")(recipe.plan, recipe.values).frequencies[: name.measured.pairs.count]
        yield replace(name, way=waves.Way("float32", own.astype(np.float64), "float32", "float32"))


MAX_PAD_ROW = 2  # positions that models have for padding; at others, zeros may be a mistake


def with_blank_row(name: waves.WaveName) -> waves.WaveName:
    """Return a name with its only zero row as the parameter pad-row, where the encoding has that parameter."""
    blank = name.measured.signal.blank
    if len(blank) != 1 or name.measured.stated is not None or "pad_row" not in CATALOGUE[name.encoding].parameters:
        return name
    row = int(blank[0])
    position = name.start + name.step * row
    if position.denominator != 1 or any(plane.read(row, row + 1).any() for plane in name.measured.planes):
        return name
    keys = {**name.named.keys, "pad-row": str(position)}
    return replace(name, named=replace(name.named, keys=keys, blank=(int(position),)))


def described(name: waves.WaveName, found: Tally, names: Sequence[waves.WaveName] = ()) -> Identification:
    """Return the identification of a name whose values were compared."""
    measured, way = name.measured, name.way
    if way.name == "float64" and found.equal == found.count:
        way = replace(way, name="exact")
    notes = list(structure_notes(name))
    if any(not 0 <= position <= MAX_PAD_ROW for position in name.named.blank):
        notes.append(f"{numbered_are('row', measured.signal.blank)} zero, as a row of padding is")
    narrow = measured.dtype in waves.LOW_TYPES
    determined = name.cost <= (MAX_NARROW_FITTED if narrow else MAX_FITTED)
    determined &= name.magnitude == name.named.magnitude
    rows, pairs = measured.planes[0].rows, measured.pairs.count
    determined &= rows > 1 or name.start != 0  # of every base, row 0 holds ones and zeros
    if pairs < MIN_SURE_PAIRS or (rows < MIN_SURE_ROWS and (narrow or pairs < MIN_SURE_COLUMNS)):
        determined &= name.cost <= 1.0 and not measured.reading.is_angles
    if name.named.fitted > PUBLISHED_COST:
        determined &= found.equal >= MIN_EQUAL_FITTED.get(measured.dtype, 0.0) * found.count
    confidence = "sure" if not found.unexplained and determined and not name.phase.endswith("negated") else "likely"
    if pairs == 1 and measured.reading.is_alone:
        notes.append("one column: the first of a table of any width and base")
    if found.equal < found.count or way.name != "exact":
        notes.append(arithmetic_note(name, found))
    types = dict.fromkeys(plane.array.dtype for plane in measured.planes)
    if len(types) > 1:
        notes.append(f"the arrays have different types: {' and '.join(types)}")
    elif narrow and measured.dtype not in types:
        notes.append(f"the values have the precision of {measured.dtype}, the file holds {' and '.join(types)}")
    if rows == 1 and name.start == 0:
        width = measured.planes[0].width  # the columns of a head, or half of them
        half = len(measured.planes) == 2 and not measured.planes[0].part and width % 2 == 0
        notes.append(f"position 0 alone: every base gives these values{f', and dim={width} with layout=half' * half}")
    if found.unexplained:
        places = found.places()
        places += ", NaN" * (found.all_nan and "NaN" not in places)
        notes.append(f"{found.unexplained:,} of {found.count:,} values do not fit: {places}")
    good = [o for o in names[1:] if _as_good(o, name) and (rows > 1 or o.step == name.step)]
    by_kind = {_kind(other): other for other in (*reversed(good), name)}  # a base with more digits is another one
    aliases = (*_other_lengths(name), *(waves.recipe_of(o) for o in good if by_kind[_kind(o)] is o))
    arrays = tuple(dict.fromkeys(plane.array.name for plane in measured.planes))
    share = found.equal / max(1, found.count)
    kind = way.name
    if kind in waves.COARSE_TYPES:
        kind = f"{way.coarse_words} {way.coarse_verb} {way.coarse_type}"
    recipe = waves.recipe_of(replace(name, start=-name.start, step=-name.step) if backward_negated(name) else name)
    return Identification(recipe, confidence, found.residual, share, kind, tuple(notes), aliases[:2],
                          found.count, arrays)  # fmt: skip


def _other_lengths(name: waves.WaveName) -> Iterator[str]:
    """Yield recipes of other original lengths with the same frequencies: a ramp of few pairs does not tell them."""
    keys = name.named.keys
    for length in map(str, LENGTHS if "original-max" in keys else ()):
        other = {**keys, "original-max": length}
        if other != keys and waves.plan_of(name.encoding, other) == waves.plan_of(name.encoding, keys):
            yield waves.recipe_of(replace(name, named=replace(name.named, keys=other)))


def _closed_forms(keys: Mapping[str, str], step: float = 1.0) -> Iterator[tuple[str, float]]:
    """Yield what the base of a table stands for, and its exact value: of a wider table, or of another logarithm.

    Positions whose step is the frequency of a later pair are those of a wider table's columns from that pair on.
    """
    if {"dim", "base"} - keys.keys() or keys["base"] in WIDER_BASES or float(keys["base"]) <= 1:
        return
    dim, log = int(keys["dim"]), math.log(float(keys["base"]))
    for base in WIDER_BASES:
        whole = math.log(float(base))
        for name, other in (("log2", 2), ("log10", 10)):
            if abs(log * math.log(other) / whole - 1) < MAX_BASE_ERROR:
                note = f"its base is e^({name}({base})): {name} stands for the natural logarithm"
                yield note, math.exp(whole / math.log(other))
        if abs(log / whole - 2) < MAX_BASE_ERROR:
            yield f"the same as base {base} with every exponent doubled", float(base) ** 2
        width = dim * whole / log
        near = 2 * round(width / 2)
        skipped = -math.log(step) * near / (2 * whole)
        first, count = round(skipped), dim // 2
        whole_pairs = 0 <= first <= near // 2 - count and abs(skipped - first) < MAX_BASE_ERROR * near
        if dim < near <= MAX_WIDTH and abs(width / near - 1) < MAX_BASE_ERROR and whole_pairs:
            pairs = f"pairs {first} to {first + count - 1}" if first else f"the first {count} pairs"
            text = f"the same as {pairs} of dim={near} with base {base}"
            text += ": every exponent is halved" * (not first and near == 2 * dim and base == WIDER_BASES[0])
            yield text, float(base) ** (dim / near)


def _with_exact_base(name: waves.WaveName) -> Iterator[waves.WaveName]:
    """Yield a name with the exact value of what its base stands for, where that is a logarithm or gives more values."""
    for note, exact in _closed_forms(name.named.keys):
        named = waves.with_value(name, "base", repr(exact), name.named.fitted)
        one = named and waves.fitted(name.measured, name.encoding, named)
        if one and (one.equal > name.equal or "logarithm" in note):
            yield one


def _wider(found: Identification) -> Identification:
    """Note what the base of a table stands for: likely, where a wider table has it and it is none by itself."""
    keys = split_recipe(found.recipe)[1] if found.recipe else {}
    step = abs(float(keys.get("step", 1)))
    for note, exact in _closed_forms(keys, step) if {*keys} <= {"dim", "base", "order", *TABLE_KEYS} else ():
        own = keys["base"] in PUBLISHED_BASES or "logarithm" in note or float(keys["base"]) == exact
        return replace(found, notes=(note, *found.notes), confidence=found.confidence if own else "likely")
    return found


WIDER_BASES = PUBLISHED_BASES[:3]
# Of the logarithm of a base with seven digits, relative.
MAX_BASE_ERROR = 1e-6


def _kind(name: waves.WaveName) -> tuple[object, ...]:
    return name.encoding, *name.named.keys, name.start, name.step


def _as_good(other: waves.WaveName, name: waves.WaveName) -> bool:
    """Whether another name gives the same values and somebody would choose it."""
    same = other.explained == 1.0 and other.equal >= name.equal and not other.phase and not name.phase
    same &= other.magnitude == other.named.magnitude or name.magnitude != name.named.magnitude
    return same and other.cost <= name.cost + MAX_ALIAS_COST


def arithmetic_note(name: waves.WaveName, found: Tally) -> str:
    """Return the note on the arithmetic and on the distance of the values from it."""
    way, fit = name.way, found.count - found.unexplained
    one = "real and imaginary part" if name.measured.planes[0].part else "value"
    if found.equal == fit:
        made = "the exact ones" if way.name == "exact" else f"what {way.words()} give"
        low = name.measured.dtype if name.measured.dtype in waves.LOW_TYPES else ""
        every = f"{'' if found.unexplained else 'all '}{fit:,} {one}s"
        return f"{every} are equal to {made}{f', rounded to {low}' if low else ''}"
    if way.name == "float64":
        most = found.residual + EPSILON["float64"] * name.magnitude  # the exact ones were rounded, too
        return f"float64 rounding: the {one}s are within {limit(most, 2)} of the exact ones"
    every = f"every {one}" if not found.unexplained else f"{fit:,} {one}s"
    units = math.ceil(found.worst) if way.name == "exact" else max(1, round(found.worst))  # of an unrounded value
    near = f"within {units} ulp" if found.worst < MAX_ULP_NAMED else "within rounding"
    if way.name == "exact":
        return f"{every} {near} of the exact one, {percent(found.equal / found.count, 2)} equal"
    return f"{every} {near} of what {way.words()} give; up to {limit(found.residual, 2)} from the exact values"


def backward_negated(name: waves.WaveName) -> bool:
    """Whether all is negated at falling positions: of rising ones, the cosines alone are."""
    return name.step < 0 and name.phase == "negated"


def _units(step: float) -> list[str]:
    """Return what a step of positions stands for, such as degrees; [] of others."""
    found = [phrase for phrase, factor in UNITS if abs(step / float(factor) - 1) < MAX_BASE_ERROR]
    return [phrase.replace("the expected one", "that of whole positions") for phrase in found]


def structure_notes(name: waves.WaveName) -> Iterator[str]:
    """Yield notes on properties that the recipe does not express: angles, exchanged parts, signs, another factor."""
    measured = name.measured
    if measured.stated is not None:
        yield "rows are at the positions that were given"
    units = _units(float(name.step))
    if measured.reading.is_angles and not any("degrees" in one for one in units):
        yield ANGLES
    if measured.reading.is_angles and measured.reading.layout != "angles":
        yield f"each angle stands twice ({TWICE[measured.reading.layout.removeprefix('angles-')]})"
    yield from units
    if measured.pairs.count == 1 and name.step != 1:
        yield f"one turn takes {2 * np.pi / abs(measured.pairs.steps[0]):.6g} rows"
    if name.named.keys.get("base") == "1":
        yield "every frequency is 1: all pairs are the same"
    is_plain = CATALOGUE[name.encoding].family is Family.ROTARY and name.named.keys.keys() <= {"dim", "base"}
    if is_plain and measured.reading.layout == "alternate":
        yield "the same as a sinusoidal table whose sines and cosines are exchanged"
    if measured.reading.is_alone:
        yield LONE_WORDS[name.phase]
        if name.phase == "sin" and measured.reading.layout == "interleaved":
            yield "the same as a sinusoidal table with sines in every column: the cosines are missing"
    elif name.phase or (name.is_ordered and measured.pairs.sine_first):
        exchanged = measured.pairs.sine_first if name.is_ordered else name.quarter % 2 == 1
        if backward_negated(name):
            yield "every cosine has the other sign"
            return
        first = f"'{measured.planes[0].name}' holds the sines" if len(measured.planes) == 2 else "the sines come first"
        yield waves.QUARTER_WORDS[exchanged, name.quarter] + f": {first}" * (exchanged and not name.phase)
    if len(measured.planes) == 1 and measured.reading.sin is not None and measured.reading.layout in DOUBLED:
        yield "cosines and sines are in one array, each twice"
    ratio = name.magnitude / name.named.magnitude
    if ratio != 1:
        yield f"every value is {ratio:.6g} times the recipe's (attention factor)"


def _measured_only(measured: Measured, nearest: waves.WaveName | None, explained: float = 0.0) -> Identification:
    """Return an unknown identification with the measurements of a reading."""
    reading, pairs = measured.reading, measured.pairs
    if explained < MIN_EXPLAINED_NEAREST:
        nearest = None
    often = len(np.unique(np.log(pairs.steps).round(3))) < MIN_DISTINCT * pairs.count  # as sines beside their cosines
    if explained < MIN_SAMPLED and (not follows_waves(measured) or (reading.is_alone and often and nearest is None)):
        return replace(NONE, nearly=explained)
    kind = "angles" if reading.is_angles else "cosines or sines" if reading.is_alone else PAIRS
    one, all_ = ("frequency", "frequencies") if reading.is_alone else ("pair", "pairs")
    lines = straight_columns(reading) if reading.is_alone and not reading.is_angles else np.arange(0)
    count = pairs.count - len(lines)
    many = f"{count} {all_}" if count > 1 else f"1 {one}"
    layout = "complex" if measured.planes[0].part else reading.layout
    stands = "in one array" if reading.is_alone and layout == "split" else LAYOUT_WORDS.get(layout, layout)
    text = f"{kind}, {many}, {stands}" + f", period {2 * np.pi / pairs.steps[0]:.6g} rows" * (pairs.count == 1)
    if not reading.is_angles and abs(pairs.magnitude - 1) > 4 * pairs.magnitude_error:
        text += f", magnitude {pairs.magnitude:.4g}"
    if len(lines):
        text += f"; {numbered_are('column', lines)} {'a straight line' if len(lines) == 1 else 'straight lines'}"
        text += ", as in Time2Vec" * (lines.tolist() == [0])
    uneven = "" if reading.is_alone or reading.is_angles else uneven_turns(reading, measured.signal)
    if nearest is None and uneven:
        text += f"; no recipe was found: {uneven}"
    elif nearest is None:
        if pairs.count > 1:
            steps = pairs.steps[np.isfinite(pairs.errors)]  # others are too slow to be measured
            steps = np.sort(steps if reading.is_angles else wrapped(steps))[::-1]
            backward = bool((steps < 0).any())
            steps = np.sort(np.abs(steps))[::-1] if backward else steps
            even = not backward and len(steps) >= MIN_PAIRS and np.ptp(np.diff(steps)) <= MAX_UNEVEN * np.ptp(steps)
            rule = "the frequencies are evenly spaced:" if even else "no recipe was found:"
            text += f"; {rule} about {steps[0]:.4g} to {steps[-1]:.4g} radians a row"
            text += ", some of them backward" * backward
            text += f" in the {len(steps)} that can be measured" * (len(steps) < count)
            fast = np.arange(pairs.count) < max(2, pairs.count // 4)
            base = next(pairs.bases(np.arange(pairs.count) / pairs.count, some=fast), None)
            text += f", the fastest as of base {base:f}" if base is not None and abs(steps[0] - 1) < MAX_UNEVEN else ""
            slower = BASES[0] ** (-np.arange(pairs.count) / pairs.count) / pairs.steps
            if np.abs(slower - 1).max() < MAX_UNEVEN:
                text += f"; the frequencies are those of base {BASES[0]}"
            elif pairs.magnitude > 1 + MAX_UNEVEN and slower.min() > 1 - MAX_UNEVEN and slower.max() < MAX_SLOWER:
                text += f", {slower.min():.4g} to {slower.max():.4g} times slower than base {BASES[0]}, as in longrope"
            again = np.flatnonzero(np.isclose(pairs.steps[1:], pairs.steps[0], 1e-3)) + 1
            falling = all((np.diff(one) <= 0).all() for one in np.split(pairs.steps, again))
            if 0 < len(again) <= MAX_AXES and again[0] > 1 and falling:
                text += f"; they begin again at {numbered('pair', again)}, as of ropes side by side"
    else:
        some = " sampled" if explained == nearest.explained else ""
        text += f"; nearest: {waves.recipe_of(nearest)}, which explains {100 * explained:.3g} % of the{some} values"
    arrays = tuple(dict.fromkeys(plane.array.name for plane in measured.planes))
    return Identification(None, "unknown", None, 0.0, "unknown", measured=(text,), arrays=arrays,
                          nearly=explained, nearest=waves.recipe_of(nearest) if nearest else None,
                          steps=() if reading.is_alone else tuple(pairs.steps.tolist()))  # fmt: skip


LAYOUT_WORDS = {
    "half": "half-split, each stands twice", "interleaved": "interleaved, each stands twice", "split": "in two arrays",
    "concat": "in two halves", "sin-cos": "in two halves", "alternate": "in neighbouring columns",
    "pairs": "in pairs", "complex": "complex",
}  # fmt: skip


def frequencies_of(table: Tabular, found: Identification) -> tuple[str, ...]:
    """Return the array of frequencies that follows the same parameters as the table."""
    vector = identify_vector(table)
    if vector is None or vector.recipe is None or found.recipe is None:
        return ()
    (own, keys), (name, others) = split_recipe(found.recipe), split_recipe(vector.recipe)
    take_table_keys(own, keys)
    is_plain = any(note.startswith("the frequencies of its pairs (inv_freq), ") for note in vector.notes)
    return vector.arrays if (own, keys) == (name, others) and is_plain else ()


# Further arrays that are identified, too: those of a second rotary table and its frequencies.
MAX_OTHERS = 4


def _others(found: Identification, table: Tabular) -> Identification:
    """Return an answer that names the arrays it does not speak of."""
    left = [a.name for a in table.arrays if a.name not in (*found.arrays, *frequencies_of(table, found), "position")]
    if not left:
        return found
    zero = [name for name in left if all(map(is_zero, planes_of(table, table.array(name))))]
    others = list[Identification]()
    if len(left) <= MAX_OTHERS and not zero and not is_large(table):
        others = [identify(View(table, [table.array(name) for name in left]))]
        if others[0].confidence != "sure" and len(left) > 1:
            others = [identify(View(table, [table.array(name)])) for name in left]
        others = [one for one in others if one.confidence == "sure"]
        left = [name for name in left if not any(name in one.arrays for one in others)]
    if others:
        own, *rest = (" and ".join(f"'{name}'" for name in one.arrays) for one in (found, *others))
        named = list[str]()
        for text, one in zip(rest, others, strict=True):
            order = " in reverse order" * any("in reverse order" in note for note in one.notes)
            named.append(f"{text} {'is' if len(one.arrays) == 1 else 'are'} {one.recipe}{order}")
        note = f"this describes {own}; {', '.join(named)}"
        found = replace(found, notes=(note, *(f"{own}: {text}" for text in found.notes)))
    if not left:
        return found
    listed = ", ".join(f"'{name}'" for name in left[:3]) + (f" and {len(left) - 3} more" if len(left) > 3 else "")
    note = f"not compared: {listed}" if zero != left else f"all values are zero: {listed}"
    if not others and found.arrays:
        note = f"this describes {' and '.join(map(repr, found.arrays))}; {note}"
    doubt = found.confidence == "sure" and zero != left
    return replace(found, confidence="likely" if doubt else found.confidence, notes=(*found.notes, note))
