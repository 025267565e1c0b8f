"""Aligns the table of a recipe with another one: length, layout, dtype and names come from there unless stated."""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, product
from operator import itemgetter
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from pecli.errors import BadFile, MissingParameter, PecliError, SeveralLayers
from pecli.formats.decimals import printed_digits
from pecli.numbers.blocks import in_blocks
from pecli.numbers.dtypes import DTYPES, ITEM_BYTES, real_type
from pecli.numbers.positions import Positions
from pecli.numbers.rounding import floats
from pecli.spec.catalogue import CATALOGUE, find
from pecli.spec.declaration import Family
from pecli.spec.plans import Waves
from pecli.spec.recipe import split_recipe
from pecli.spec.tabular import Array, InMemory, Tabular, View
from pecli.tables.layouts import LAYOUTS, cosines_and_sines
from pecli.tables.parts import component_names, components_of
from pecli.tables.request import FREQUENCIES, NAME, companion_name
from pecli.tables.sources import NamedSource, read_source
from pecli.tables.table import Table, rows_of
from pecli.tables.views import LOOK_ROWS, ArrayView, copies_of, is_regrouped, pair_views, row_gap, same_layout

if TYPE_CHECKING:
    from pecli.formats.arrow import BatchTable

# Options of a table, and which of its arrays is meant; None for all.
Form = tuple[dict[str, Any], str | None]
Misfit = tuple[int, bool, bool, float]
EXACT: Misfit = (0, False, False, 0.0)
# Layouts that the first row tells from one another, even if later rows have other frequencies than expected.
SIDE_BY_SIDE = ("concat", "sin-cos")
FEWER_ROWS, OTHER_SHAPE = 1, 2  # how far shapes are apart: rows are missing, or nothing fits
DOUBLED = ("half", "interleaved")  # layouts in which every column occurs twice
SAME_COLUMNS = 0.05  # maximum mean difference of columns that are equal up to corrupted values
POSITION_BLOCK = 1 << 18
MAX_FREQUENCIES = 1 << 20  # of a list; longer vectors are none
MAX_WAVE = 8  # size of cosines and sines, whatever their attention factor is
MAX_PRINTED = 7  # digits, of which float32 values in full have more
MAX_COMPARED = 6  # the same beside a recipe, with whose float32 arithmetic seven digits are compared
PRINTED_ROWS = 1024  # that are looked at for the digits of decimals
MAX_APART = 3  # columns called sin and cos and one more may be arrays of their own
MAX_COLUMNS, MAX_JOINED = 1 << 12, 1 << 28  # columns and bytes that are read as one array
MAX_GRID = 1 << 12  # cells of a grid whose sides are looked for
MAX_BYTES = 16 << 20  # of a recipe's table without a given length


def table_like(source: NamedSource, other: Tabular) -> Table:
    """Return the table of a recipe with the length, positions, type and layout of `other`.

    What the recipe's text gives stays.  A layout that it leaves open is read off the columns of `other`; between those
    that these allow, the first rows decide.  One array without a name may be cosines alone, or sines alone.  Of copies,
    as in a batch, the nearest of some decides.
    """
    if not other.arrays:
        raise BadFile(other.title, "holds no array")
    take_usual_type(other, source.given.get("dtype", "float32"), MAX_COMPARED)
    kind = _type(source, other)
    misfit, best = _nearest(source, other, kind)
    copies = copies_of(other)
    while misfit[0] == OTHER_SHAPE and copies:
        some = copies[:: max(1, (len(copies) - 1) // 4)]
        own = min((_nearest(source, one, kind) for one in some), key=itemgetter(0))
        if own[0][-1] <= SAME_COLUMNS or _are_copies(copies):
            misfit, best = min((misfit, best), own, key=itemgetter(0))
        copies = copies_of(copies[0])
    if misfit[0] and not source.says_length:
        return _transposed(source, other, best, kind)
    return best


def read_fitting(text: str, other: Tabular, **choice: str) -> NamedSource:
    """Return the source that a text names; a missing size, or the kind of layer of a config, is what fits best.

    Raises
    ------
    MissingParameter
        If something else is missing, or if no size fits.
    SeveralLayers
        If the tables of no kind of layer have the shape of `other`.
    """
    try:
        return read_source(text, **choice)
    except SeveralLayers as error:
        fits = [_with_misfit(read_source(text, **choice, layer_type=kind), other) for kind in error.kinds]
        (misfit, best), kind = min(zip(fits, error.kinds, strict=True), key=lambda pair: pair[0][0])
        if misfit[0] == OTHER_SHAPE:
            raise
        others = [other for other in error.kinds if other != kind]
        note = f"compared with the {kind} layers, the nearest: --layer-type {' or '.join(others)} for the others"
        return replace(best, note=note, layers=(kind, *others))
    except MissingParameter:
        (name, given), other = split_recipe(text), as_one_array(other)
        if name not in CATALOGUE:  # a model's config, whose error says what its encoding needs
            raise
        lacking = [p.option for p in find(name).options if p.required and not {p.option, *p.param.names} & given.keys()]
        sides = sorted({side for array in other.arrays for side in array.shape})
        words = [str(size) for size in sorted({k * side for side in sides for k in (1, 2)})]
        if lacking == ["grid"]:  # a square one, behind a row for a class token or not
            words = [f"{k}x{k}" for k in range(1, math.isqrt(max(sides, default=0)) + 1) if k * k in sides]
            rows = max((array.rows for array in other.arrays), default=0)
            for cells, prefix in ((rows, ""), (rows - 1, ",prefix=1")) if rows <= MAX_GRID else ():
                words += [f"{k}x{cells // k}{prefix}" for k in range(2, cells // 2 + 1) if cells % k == 0]
            words += [
                f"{k}x{k},prefix=1" for k in range(2, math.isqrt(max(sides, default=0)) + 1) if k * k + 1 in sides
            ]
        fits = []
        for word in words if len(lacking) == 1 else ():
            with contextlib.suppress(PecliError):
                fits.append(_with_misfit(read_source(f"{text}{',' if given else ':'}{lacking[0]}={word}"), other))
        if not fits or (nearest := min(fits, key=itemgetter(0)))[0][0] == OTHER_SHAPE:
            raise
        alike = [one for misfit, one in fits if misfit == nearest[0]]  # grids, whose first rows are the same
        return min(alike, key=lambda one: _last_row_gap(one, other)) if len(alike) > 1 else nearest[1]


def _with_misfit(source: NamedSource, other: Tabular) -> tuple[Misfit, NamedSource]:
    return _nearest(source, other, _type(source, other))[0], source


def _last_row_gap(source: NamedSource, other: Tabular) -> float:
    """Return how far the last rows of a recipe's table and of another table are apart."""
    gaps = []
    for made, view in pair_views(_nearest(source, other, _type(source, other))[1], other)[0]:
        own, last = (floats(one.read(one.rows - 1, one.rows), one.dtype).ravel() for one in (made, view))
        gaps.append(float(np.abs(own - last).mean()) if own.size == last.size else math.inf)
    return sum(gaps)


def _are_copies(blocks: Sequence[Tabular]) -> bool:
    """Whether two of the first two and the last block begin alike; two may be copies in any case."""
    looks = []
    for one in (*blocks[:2], *blocks[-1:]):
        arrays = [one.read_rows([a.name], 0, min(LOOK_ROWS, a.rows))[a.name] for a in one.arrays]
        looks.append([values.tobytes() for values in arrays])
    return len(blocks) == 2 or any(a == b for a, b in combinations(looks, 2))


LONGEST = 1 << 20  # of a sequence, where a model states none


def _nearest(source: NamedSource, other: Tabular, kind: dict[str, str]) -> tuple[Misfit, Table]:
    """Return the table of a recipe that fits another one best, and how badly it does."""
    assert source.recipe is not None
    candidates: list[tuple[Misfit, Table]] = []
    problem: PecliError | None = None
    each = product(_rows(source, other), _forms(source, other), (0, 1))
    for rows, (extra, array), longest in each:
        recipe = source.recipe
        if recipe.open_parameters and "start" in extra:  # frequencies of a short or of the longest sequence
            recipe = recipe.of_length((source.model_length or LONGEST) if longest else 1)
        elif longest:
            continue
        try:
            made = replace(source, recipe=recipe, array=source.array or array).open(**{**kind, **rows, **extra})
        except PecliError as error:
            problem = problem or error
            continue
        assert isinstance(made, Table)
        candidates.append((_misfit(made, other), made))
        if candidates[-1][0] == EXACT:
            break
    if problem is not None and not candidates:
        raise problem
    best, made = min(candidates, key=itemgetter(0))
    if made.request.layout not in SIDE_BY_SIDE:
        return best, made
    orders = [(m, t) for m, t in candidates if m[:3] == best[:3] and t.request.layout in SIDE_BY_SIDE]
    return min(orders, key=lambda one: sum(_first_row_gap(*pair) for pair in pair_views(one[1], other)[0]))


def _first_row_gap(made: ArrayView, other: ArrayView) -> float:
    """Return how far two first rows are apart, or of other widths the means of their halves."""
    if made.row_size == other.row_size or other.row_size < 2 or not other.rows:
        return row_gap(made, other, 1)
    rows = (floats(view.read(0, 1), view.dtype).astype(np.float64).reshape(-1) for view in (made, other))
    means = [[float(half.mean()) for half in np.array_split(row, 2)] for row in rows]
    return sum((abs(own - want) for own, want in zip(*means, strict=True)), 0.0)


def _transposed(source: NamedSource, other: Tabular, made: Table, options: dict[str, Any]) -> Table:
    """Return the table as long as a file has columns, if the file is transposed: its first column is the first row."""
    (array, *_), own = other.arrays, made.arrays[0]
    if len(array.shape) != 2 or array.shape[0] != own.shape[-1] or array.lead != 1:
        return made
    request = {"layout": made.request.layout} if made.source.encoding.family is Family.ROTARY else {}
    with contextlib.suppress(PecliError):
        exchanged = source.open(**options, length=array.shape[1], **request)
        if isinstance(exchanged, Table) and exchanged.arrays[0].shape == array.shape[::-1]:
            column = floats(other.read_rows([array.name], 0, array.rows)[array.name][:, :1], array.dtype).ravel()
            row = floats(exchanged.read_rows([own.name], 0, 1)[own.name], own.dtype)[0]
            if column.shape != row.shape:  # one of them is complex
                return made
            with np.errstate(all="ignore"):  # a file may hold any bits
                gap = np.abs(column - row)
            return exchanged if gap.size and (gap <= SAME_COLUMNS).mean() > 0.5 else made
    return made


def take_type(table: Tabular, dtype: str) -> bool:
    """Read decimals of a text file without a type as values of `dtype`, if they are; return whether they are."""
    take = getattr(table, "take_type", None)
    return bool(take and dtype in ("float16", "float32") and take(dtype))


def take_usual_type(table: Tabular, dtype: str = "float32", most: int = MAX_PRINTED) -> None:
    """Read decimals of a text file as values of `dtype` if they are, and have more digits than some few."""
    if getattr(table, "is_text", False) and table.arrays and table.arrays[0].dtype == "float64":
        array = table.arrays[0]
        values = table.read_rows([array.name], 0, min(array.rows, PRINTED_ROWS))[array.name]
        printed = printed_digits(values)
        if printed is None or printed[0] > most:  # as many as values in full may have
            take_type(table, dtype)


def take_types(tables: Sequence[Tabular]) -> None:
    """Read decimals of text files that say no type as values of the types that others have, if they are."""
    types = sorted({real_type(table.arrays[0].dtype) for table in tables if table.arrays})
    for table in tables:
        any(take_type(table, dtype) for dtype in types)


def _type(source: NamedSource, other: Tabular) -> dict[str, str]:
    if "dtype" in source.given or not other.arrays:
        return {}
    (first, *_) = cosines_and_sines([array.name for array in other.arrays]) or [other.arrays[0].name]
    dtype = real_type(other.array(first).dtype)
    return {"dtype": dtype} if dtype in DTYPES else {"dtype": "float64"}


QUERY_KEYS = {"queries", "keys", "align"}


def _rows(source: NamedSource, other: Tabular) -> list[dict[str, Any]]:
    """Return the positions that the recipe's text leaves open, the likeliest first."""
    assert source.recipe is not None
    given, recipe = source.given, source.recipe
    if "positions" in given or (recipe.rows is not None and "len" not in given):
        return [{}]
    shape, own = other.arrays[0].shape, recipe.encoding.family is Family.BIAS and not given.keys() & QUERY_KEYS
    fewer = {"queries": shape[-2]} if own and len(shape) > 2 and shape[-2] < shape[-1] else {}  # BLOOM's has one
    if "len" in given:
        return [{}, fewer] if fewer else [{}]
    lengths = lengths_of(other, recipe.encoding.family)
    listed = None if given.keys() & {"start", "step"} else positions_of(other)
    if listed is not None and listed.count in (lengths[:1] if recipe.encoding.family is Family.BIAS else lengths):
        numbered = [{"length": listed.count}] if "" in other.row_labels else []  # from 1, and not from position 1
        return [{"positions": listed}, *numbered]
    return [{"length": length, **more} for length in lengths for more in ([fewer, {}] if fewer else [{}])]


def lengths_of(table: Tabular, family: Family) -> list[int]:
    """Return the numbers of positions that a table of this family may have, the likeliest first."""
    array = next((one for one in table.arrays if sum(side > 1 for side in one.shape) > 1), table.arrays[0])
    shape = [side for side in array.shape if side != 1] or [1]
    if family is Family.BIAS:
        if len(shape) == 2 and shape[1] % 2 and array.axes[-1:] != ("key",):
            square = shape[0] == shape[1] or array.shape[-2:-1] == (1,)
            return [(shape[1] + 1) // 2, shape[1]][:: -1 if square else 1]
        if len(shape) == 1 and shape[0] % 2:  # distances of one head, or slopes of as many
            return [1, (shape[0] + 1) // 2][:: 1 if len(array.shape) == 1 else -1]
        heads_last = len(shape) == 3 and shape[0] == shape[1] != shape[2]
        return [*[shape[0]] * heads_last, shape[-1] if len(shape) > 1 else 1]
    if family is Family.RELATIVE and any(a.name == "index" for a in table.arrays):
        return [table.array("index").shape[0]]
    vectors = [(shape[0] + 1) // 2] if family is Family.RELATIVE else []  # one for each distance
    whole = list(array.shape) or [1]
    while len(whole) > 2 and whole[0] == 1:
        del whole[0]
    stacked = len(whole) > 2 and whole[0] == 2  # cosines and sines
    found = [whole[1], *shape[1:2]] if stacked else [whole[0], shape[0]]
    found += [2] if stacked and whole[-1] == 2 else []  # or two rows of pairs
    alone = len(shape) == 1 or shape[1:] == [2]  # the vector of one position, or its pairs
    return list(dict.fromkeys(max(1, count) for count in [*vectors, *found, *([1] if alone else [])]))


def positions_of(table: Tabular) -> Positions | None:
    """Return the positions that a file gives to its rows; a list only where they are not evenly spaced."""
    axes = table.arrays[0]
    rows = axes.shape[axes.lead - 1] if axes.lead else 0
    with contextlib.suppress(PecliError):
        first = table.position(0, min(2, rows))
        if first is None or len(first) == 0:
            return None
        step = first[1] - first[0] if rows > 1 else 1
        ends = ((at.start, at.stop) for at in in_blocks(0, rows, POSITION_BLOCK))
        even = all(np.array_equal(np.asarray(table.position(*at)), first[0] + step * np.arange(*at)) for at in ends)
        if even and step != 0 and first.dtype.kind == "i":
            return Positions.arange(rows, int(first[0]), int(step))
        every = table.position(0, rows)
        return None if every is None else Positions.listed(every)
    return None


def _forms(source: NamedSource, other: Tabular) -> list[Form]:
    """Return the layouts or forms to try, first the ones that the shapes allow, each with the array to choose."""
    assert source.recipe is not None
    family, given = source.recipe.encoding.family, source.given
    if family is Family.ROTARY:
        lone = _lone(other) if source.array is None else []
        if "layout" in given:
            return [({}, None), *(({}, name) for name in lone)]
        pairs = _pairs(source)
        doubled = doubled_layouts(other, pairs)
        model = source.model_layout if source.model_layout in DOUBLED else None
        left_out = {*DOUBLED} - ({model} if model else doubled or {*DOUBLED})
        called = _called(source, other)
        width = (other.arrays[0].shape or (0,))[-1]
        own = doubled if width > pairs else ()  # if no shape fits
        layouts = sorted(LAYOUTS, key=lambda layout: layout not in own)
        whole: list[Form] = [({"layout": layout, **called}, None) for layout in layouts if layout not in left_out]
        columns = [layout for layout in LAYOUTS if layout in {"split", *doubled}]
        alone: list[Form] = [({"layout": layout}, name) for layout, name in product(columns, lone)]
        sides = [side for side in other.arrays[0].shape if side != 1]
        if not len(other.arrays) == len(sides) == 1:
            return [*whole, *alone]
        frequencies: Form = ({"layout": "angles", "start": 1, "length": 1}, None)  # the angles of position 1
        if other.arrays[0].dtype in ("bfloat16", "float16") and "dtype" not in given:
            frequencies[0]["dtype"] = "float32"  # which narrow types do not hold well enough
        return [frequencies] if _are_frequencies(source, other) else [*whole, *alone, frequencies]
    names = [array.name for array in other.arrays]
    if names == ["bias"] and source.recipe.values.get("weights") and "form" not in given:  # without its index
        return [({}, "bias")]
    if family.pairs and "form" not in given:
        shape = [side for side in other.arrays[0].shape if side != 1]
        likely = ["index"] if names == ["index"] else ["slopes"] if len(shape) == 1 else ["dense"]
        forms = dict.fromkeys(
            [*likely, "dense", "distance", "slopes", "index", *["vector"] * (family is Family.RELATIVE)]
        )
        if shape == [source.recipe.values.get("heads")] and not source.says_length:  # a number for each head
            forms = {"slopes": None}
        return [({"form": form}, None) for form in forms]
    return [({}, None)]


def _are_frequencies(source: NamedSource, other: Tabular) -> bool:
    """Whether a vector holds frequencies (``inv_freq``): of one sign, and as many as expected or falling from 1."""
    (array,) = other.arrays
    one_each = array.shape == (array.rows, *[1] * (len(array.shape) - 1))
    if not one_each or not 0 < array.rows <= MAX_FREQUENCIES or real_type(array.dtype) != array.dtype:
        return False
    values = floats(other.read_rows([array.name], 0, array.rows)[array.name], array.dtype).astype(np.float64).ravel()
    with np.errstate(all="ignore"):  # a file may hold any bits
        if (values < 0).any() and (values > 0).any():
            return False
        falling = (np.diff(values) < 0).all() or (values[0] == 1 and (values < 1).any())
        if falling and ((values > 0) & (values <= 1)).all():
            return True
    return array.rows == _pairs(source)


def _pairs(source: NamedSource) -> int:
    """Return how many pairs a rotary recipe has; 0 where it has no table of its own."""
    with contextlib.suppress(PecliError):
        return source.open(layout="angles", start=1, length=1).arrays[0].shape[-1]
    return 0


def _lone(other: Tabular) -> list[str]:
    """Return the components, cosines or sines, that a table's only array may be: none if it is named so.

    An array that a file calls ``cos`` lacks its ``sin``; one that has no name, as in npy, may be meant alone.
    """
    array = other.arrays[0]
    if len(other.arrays) > 1 or array.name in ("cos", "sin") or real_type(array.dtype) != array.dtype:
        return []
    named = [name for name in ("cos", "sin") if name in array.name]
    if not named and array.rows and np.abs(_some_rows(other)).max(initial=0) > MAX_WAVE:
        return []  # angles
    return named if len(named) == 1 else ["cos", "sin"]


def _some_rows(table: Tabular) -> NDArray[Any]:
    """Return some rows of the first array as float64, (n, width), spread over all of it where they are read fast.

    They are spread unevenly: even steps may follow a diagonal of a grid, where both axes have the same values.
    """
    array = table.arrays[0]
    last = 4 * LOOK_ROWS if getattr(table, "sequential", False) else array.rows  # going far ahead is dear
    places = sorted({*(np.linspace(0, 1, LOOK_ROWS) ** 1.5 * (min(array.rows, last) - 1)).astype(int).tolist()})
    sample = [floats(table.read_rows([array.name], k, k + 1)[array.name], array.dtype) for k in places]
    with np.errstate(all="ignore"):
        return np.concatenate(sample).astype(np.float64)


def doubled_layouts(table: Tabular, pairs: int = 0) -> set[str]:
    """Return the layouts in which every column occurs twice, as the columns themselves show; empty for none.

    Where `pairs` says how many are expected, the second half of the columns may be cut off, or others may follow it.
    Both layouts are returned where all columns are the same, as at position 0.
    """
    array = table.arrays[0]
    width = array.shape[-1] if array.shape else 0
    if width < 4 or width % 2 or not array.rows or array.row_shape != (width,) or real_type(array.dtype) != array.dtype:
        return set()
    x = _some_rows(table)
    with np.errstate(all="ignore"):  # a file may hold any bits
        gaps = {"half": x[:, : width // 2] - x[:, width // 2 :], "interleaved": x[:, ::2] - x[:, 1::2]}
        if 1 < pairs < width != 2 * pairs and (count := min(pairs, width - pairs)) > 1:
            cut = x[:, :count] - x[:, pairs : pairs + count]
            gaps["half"] = min(gaps["half"], cut, key=lambda gap: float(np.nan_to_num(np.abs(gap), nan=1.0).mean()))
        off = {name: np.minimum(np.abs(gap[np.isfinite(gap)]), 1.0) for name, gap in gaps.items()}
    mean = {name: float(gap.mean()) if gap.size else 0.0 for name, gap in off.items()}
    least = min(mean.values())
    return {name for name, gap in mean.items() if gap <= SAME_COLUMNS and gap <= 2 * least}


def _called(source: NamedSource, other: Tabular) -> dict[str, str]:
    """Return the names that the other gives cosines and sines, cos_cached and so on, and frequencies that it has."""
    names = [array.name for array in other.arrays]
    own = cosines_and_sines(names) or [name for name in names if name.rpartition(".")[2] != FREQUENCIES]
    also = {"companion": FREQUENCIES} if own and companion_name(own[0], FREQUENCIES) in names else {}
    usual = own == ["cos", "sin"] or (len(own) != 2 and not (also and len(names) == 2))
    if "name" in source.given or not all(map(NAME.fullmatch, own)) or (usual and not also):
        return {}
    return also if own == ["cos", "sin"] else {"name": "+".join(own), **also}


def _misfit(made: Table, other: Tabular) -> Misfit:
    """Return how badly a table fits.

    First whether shapes are others, then whether no name is the same, then whether arrays are missing, then by how
    much the first rows differ on average: in another layout all their values do, with a fault in the same one some.
    """
    pairs, left, right = pair_views(made, other)
    no_common_name = not {array.name for array in made.arrays} & {array.name for array in other.arrays}
    if right or not pairs:
        return OTHER_SHAPE, no_common_name, True, float("inf")
    apart, gaps = 0, []
    for made_view, other_view in (same_layout(*pair) for pair in pairs):
        (*outer, rows), (*others, count) = ((0, *view.shape[: view.lead]) for view in (made_view, other_view))
        fits = made_view.row_shape == other_view.row_shape and outer == others
        regrouped = not fits and is_regrouped(made_view, other_view)
        if not (fits or regrouped) or made_view.dtype.startswith("complex") != other_view.dtype.startswith("complex"):
            unlike = made_view.rows * made_view.row_size != other_view.rows * other_view.row_size  # else in other axes
            return OTHER_SHAPE, unlike, bool(left), float("inf")
        apart = apart if rows == count and fits else FEWER_ROWS
        gaps.append(row_gap(made_view, other_view))
    return apart, no_common_name, bool(left), sum(gap for gap in gaps if gap < float("inf"))


def joined_components(sources: Sequence[NamedSource]) -> list[NamedSource]:
    """Return sources with a file of cosines and one of sines as one, where they are to be compared with a recipe."""
    files = [source for source in sources if not source.is_recipe and source.table is None]
    if len(sources) != 3 or len(files) != 2 or not component_names([source.text for source in files]):
        return list(sources)
    table = components_of([source.text for source in files], [source.open() for source in files])
    if table is None:
        return list(sources)
    both = replace(files[0], text=" and ".join(source.text for source in files), table=table)
    return [both, *(source for source in sources if source.is_recipe)]


def open_aligned(first: NamedSource, second: NamedSource, length: int) -> tuple[Tabular, Tabular]:
    """Open two sources so that they can be compared: a recipe takes from the other what its text leaves open.

    Of two recipes without a length both get `length` rows.
    """
    if not first.is_recipe and not second.is_recipe:
        one, other = first.open(), second.open()
        if not {array.name for array in one.arrays} & {array.name for array in other.arrays}:
            one, other = positional(one), positional(other)
            one, other = as_one_array(one, _width(other)), as_one_array(other, _width(one))
        take_types((one, other))
        return one, other
    if first.is_recipe and (not second.is_recipe or (second.says_length and not first.says_length)):
        other = joined_columns(first, positional(open_alone(second, length)))
        return table_like(first, other), other
    one = joined_columns(second, positional(open_alone(first, length)))
    return one, table_like(second, one)


# Names of what holds positions in a model, of its other parameters, and numbers of layers.
POSITIONAL = re.compile(
    r"(^|[._])(inv_freq|freqs|rotary|rope($|[._])|cos($|[._0-9]|ine)|sin($|[._0-9]|e|usoid)|pos($|[._0-9]|ition|emb)"
    r"|abs_pos|embed_pos|relative|rel_pos|alibi|slopes|wpe|pe($|[._0-9]))|^(attn_|attention_)?bias$", re.IGNORECASE
)  # fmt: skip
IDS = re.compile(r"(^|[._])(position_ids|input_ids|cache_position)$")
PARAMETER = re.compile(r"(^|[._])(weight|bias)$")
LAYER = re.compile(r"(?<=\.)[0-9]+(?=\.)")
LAYER_BYTES = 1 << 20  # of an array that are compared at once with those of another layer


class PositionalView(View):
    """The arrays of a model that are called as positions are.

    Attributes
    ----------
    other_names : tuple of str
        The arrays that are left out.
    unlike : tuple of str
        Of these, arrays that are called as one that is here, of another layer, and hold other values.
    """

    def __init__(self, source: Tabular, arrays: Sequence[Array], unlike: Sequence[str]) -> None:
        super().__init__(source, arrays)
        held = {array.name for array in arrays}
        self.other_names = tuple(array.name for array in source.arrays if array.name not in held)
        self.unlike = tuple(unlike)


def positional(table: Tabular) -> Tabular:
    """Return what holds positions in a file of a model's parameters, of equal ones in several layers one; else it.

    Whole numbers that say the position of each token are left out beside a table.
    """
    held = [array for array in table.arrays if not (IDS.search(array.name) and "int" in array.dtype)]
    if held and len(held) < len(table.arrays):
        return positional(PositionalView(table, held, []))
    layers: dict[str, list[Array]] = {}
    for array in table.arrays:
        if POSITIONAL.search(array.name):
            layers.setdefault(LAYER.sub("0", array.name), []).append(array)
    if len(layers) > 1 and all(len(one.shape) == 1 and one.name.endswith(FREQUENCIES) for one in table.arrays):
        named_first = sorted(table.arrays, key=lambda one: len(one.name.rpartition(".")[2]))
        layers = {FREQUENCIES: named_first}  # of several kinds of layers, or before and after a scaling
    other = [array.name for array in table.arrays if not POSITIONAL.search(array.name)]
    if not layers or not (any(map(PARAMETER.search, other)) or any(len(own) > 1 for own in layers.values())):
        return table
    firsts = [own[0] for own in layers.values()]
    pairs = ((own[0], one) for own in layers.values() for one in own[1:])
    return PositionalView(table, firsts, [one.name for first, one in pairs if not _equal(table, first, one)])


def _equal(table: Tabular, first: Array, other: Array) -> bool:
    """Whether two arrays hold the same bits."""
    if (first.shape, first.dtype) != (other.shape, other.dtype):
        return False
    blocks = in_blocks(0, first.rows, max(1, LAYER_BYTES // max(1, first.row_bytes)))
    reads = ((table.read_rows([a.name], at.start, at.stop)[a.name].tobytes() for a in (first, other)) for at in blocks)
    return all(one == another for one, another in reads)


def _width(table: Tabular) -> int:
    """Return the columns of the only array of a table, 0 where there are several."""
    return math.prod(table.arrays[0].row_shape) if len(table.arrays) == 1 else 0


def as_one_array(table: Tabular, width: int = 0) -> Tabular:
    """Return the columns of a file that are arrays by their names, though together they are a table, as one array.

    They are called 0, 1, 2, .. and are its rows, or a, b, c, .. or sin(w0), cos(w0), sin(w1), .., or sin0, cos0, ..
    in turn; or, whatever they are called, together they have `width` columns.  Columns in front that count the rows are
    none of them.
    """
    if [array.name for array in table.arrays] == list(map(str, range(len(table.arrays)))) and _are_rows(table):
        return InMemory({"array": np.stack([table.read(array.name) for array in table.arrays])})
    columns, file = getattr(table, "plain_columns", {}), cast("BatchTable", table)  # where it has columns
    is_apart = len(table.arrays) > 1 and all(array.lead == 1 and len(array.shape) < 3 for array in table.arrays)
    if not 1 < len(columns) <= MAX_COLUMNS or not is_apart or len({array.rows for array in table.arrays}) > 1:
        return table
    matrices, names = sum(len(array.shape) > 1 for array in table.arrays), list(columns)
    while len(names) > 1 and (np.diff(file.read_columns(names[:1])[0]) == 1).all():
        del names[0]
    waves = ["sin" in name.lower() or "cos" in name.lower() for name in names]
    words = [name.rstrip("0123456789") for name in names]
    if matrices == 2:
        together = len({*words}) == 2 and words == words[:2] * (len(words) // 2)
    else:
        points = len(names) - sum(waves)  # in front of their features
        features = points <= MAX_APART and sum(waves) > MAX_APART and all(waves[points:])
        together = not matrices and (features or (len(names) >= MAX_APART and not any(waves)))
    every = {columns[name] for name in names}
    kinds = {kind for kind in every if kind.startswith("float")} or every
    is_long = len(names) * table.arrays[0].rows * ITEM_BYTES["float64"] > MAX_JOINED
    if not (together or len(names) == width) or len(kinds) != 1 or is_long:
        return table
    kind = kinds.pop()
    return InMemory({"array": np.column_stack([values.astype(kind) for values in file.read_columns(names)])})


def _are_rows(table: Tabular) -> bool:
    """Whether arrays are vectors of one length and type, of several values each; a text may leave the type open."""
    shapes, kinds = ({getattr(array, of) for array in table.arrays} for of in ("shape", "dtype"))
    alike = len(shapes) == 1 and (len(kinds) == 1 or kinds == {"float32", "float64"})
    return alike and len(table.arrays) > MAX_APART and len(table.arrays[0].shape) == 1 < table.arrays[0].rows


def joined_columns(source: NamedSource, other: Tabular) -> Tabular:
    """Return columns of a file that are several arrays as one, where a recipe has one."""
    assert source.recipe is not None
    if source.given.get("layout") in ("concat", "sin-cos"):
        return as_one_array(other, 2 * _pairs(source))
    if source.recipe.encoding.family is not Family.ABSOLUTE or not isinstance(plan := source.recipe.plan, Waves):
        return other if any(len(array.shape) > 1 for array in other.arrays) else as_one_array(other)
    names = cosines_and_sines([array.name for array in other.arrays]) if getattr(other, "is_text", False) else ()
    if len(names) != 2 or len(plan.bands) != 1:
        return as_one_array(other, plan.width)
    cos, sin = (np.asarray(other.read(name)) for name in names)
    band, joined = plan.bands[0], np.zeros((len(cos), plan.width), np.result_type(cos, sin))
    for columns, values in ((band.cos, cos), (band.sin, sin)):
        if columns is None or joined[:, columns].shape != values.shape:
            return as_one_array(other, plan.width)
        joined[:, columns] = values
    return InMemory({"array": joined})


def open_alone(source: NamedSource, length: int, **options: Any) -> Tabular:
    """Open one source; a recipe without a length gets `length` rows, unless it fixes its own or has fewer.

    Very wide tables get fewer rows, of at most `MAX_BYTES` altogether.
    """
    if not source.is_recipe or source.says_length:
        return source.open(**options)
    assert source.recipe is not None
    recipe = source.recipe
    if rows_of(recipe) is not None:
        return source.open(**options)
    high = recipe.domain.high
    if high is not None and options.get("start") is None:
        length = max(1, min(length, int(high) + 1))
    made = source.open(**{"length": length, **options})
    while length > 1 and "length" not in options and sum(array.bytes for array in made.arrays) > MAX_BYTES:
        length //= 2
        made = source.open(**{"length": length, **options})
    return made
