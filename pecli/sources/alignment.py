"""A recipe's table, made to stand beside another one: what its text does not say is taken from there."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pecli.declare.encoding import Family
from pecli.declare.tabular import Array, Tabular
from pecli.errors import PecliError
from pecli.measures.floats import floats
from pecli.measures.lanes import pair_lanes, same_layout
from pecli.numbers.positions import Positions
from pecli.numbers.types import DTYPES, real_type
from pecli.sources.sources import NamedSource
from pecli.tables.guise import FREQUENCIES, beside
from pecli.tables.layouts import LAYOUTS, cosines_and_sines
from pecli.tables.table import Table, rows_of

Misfit = tuple[bool, bool, bool, float]
EXACT: Misfit = (False, False, False, 0.0)
LOOK_ROWS = 16  # rows that decide between layouts of equal shape
POSITION_BLOCK = 1 << 18
MOST_BYTES = 16 << 20  # of a recipe's table whose length nobody said


def table_like(source: NamedSource, other: Tabular) -> Table:
    """Return the table of a recipe with the length, positions, type and layout of `other`.

    What the recipe's text gives stays.  Between layouts of one shape, such as
    two equal halves and neighbours, the first rows decide.
    """
    assert source.recipe is not None
    take_type(other, source.given.get("dtype", "float32"))
    options = dict(_type(source, other)) | _rows(source, other)
    tried: list[tuple[Misfit, Table]] = []
    problem: PecliError | None = None
    for extra in _forms(source, other):
        try:
            made = source.open(**options, **extra)
        except PecliError as error:
            problem = problem or error
            continue
        assert isinstance(made, Table)
        tried.append((_misfit(made, other), made))
        if tried[-1][0] == EXACT:
            break
    if not tried:
        assert problem is not None
        raise problem
    misfit, best = min(tried, key=lambda item: item[0])
    if misfit[0] and "length" in options:
        return _turned(source, other.arrays[0].shape, best, options)
    return best


def _turned(source: NamedSource, shape: tuple[int, ...], made: Table, options: dict[str, Any]) -> Table:
    """Return the table with as many rows as a file of this shape has columns, if it lies across; else the one made."""
    if len(shape) != 2 or shape[0] != made.arrays[0].shape[-1]:
        return made
    request = {"layout": made.request.layout} if made.source.encoding.family is Family.ROTARY else {}
    with contextlib.suppress(PecliError):
        other = source.open(**{**options, "length": shape[1]}, **request)
        if isinstance(other, Table) and other.arrays[0].shape == shape[::-1]:
            return other
    return made


def take_type(table: Tabular, dtype: str) -> bool:
    """Read decimals of a text file that says no type as values of `dtype`, if they are; say whether that was done."""
    take = getattr(table, "take_type", None)
    return bool(take and dtype in ("float16", "float32") and take(dtype))


def take_types(tables: Sequence[Tabular]) -> None:
    """Read decimals of text files that say no type as values of the types that others have, if they are."""
    types = sorted({real_type(table.arrays[0].dtype) for table in tables if table.arrays})
    for table in tables:
        any(take_type(table, dtype) for dtype in types)


def _type(source: NamedSource, other: Tabular) -> dict[str, str]:
    if "dtype" in source.given or not other.arrays:
        return {}
    dtype = real_type(other.arrays[0].dtype)
    return {"dtype": dtype} if dtype in DTYPES else {"dtype": "float64"}


def _rows(source: NamedSource, other: Tabular) -> dict[str, Any]:
    """Return the positions that the recipe's text leaves open."""
    assert source.recipe is not None
    given = source.given
    if "positions" in given:
        return {}
    recipe = source.recipe
    if recipe.rows is not None and "len" not in given:
        return {}
    length = length_of(other, recipe.encoding.family)
    listed = None if given.keys() & {"len", "start", "step"} else positions_of(other)
    if listed is not None and listed.count != length:  # a bias by distance counts those
        listed = None
    if listed is not None:
        return {"positions": listed} if not listed.is_range else _range_options(listed)
    return {} if "len" in given else {"length": length}


def _range_options(positions: Positions) -> dict[str, Any]:
    found: dict[str, Any] = {"length": positions.count}
    if positions.start:
        found["start"] = positions.start
    if positions.step != 1:
        found["step"] = positions.step
    return {k: (int(v) if getattr(v, "denominator", 1) == 1 else float(v)) for k, v in found.items()}


def length_of(table: Tabular, family: Family) -> int:
    """Return the number of positions that a table of this family has."""
    array = table.arrays[0]
    shape = [side for side in array.shape if side != 1] or [1]
    if family is Family.BIAS:
        if len(shape) == 2 and shape[1] % 2 and array.axes[-1:] != ("key",):
            return (shape[1] + 1) // 2
        return shape[-1] if len(shape) > 1 else 1
    if len(shape) > 2 and shape[0] == 2 and shape[-1] != 2:
        return shape[1]  # cosines and sines, stacked
    if family is Family.RELATIVE and any(a.name == "index" for a in table.arrays):
        return table.array("index").shape[0]
    return shape[0]


def positions_of(table: Tabular) -> Positions | None:
    """Return the positions that a file gives to its rows; a list only where they are not evenly spaced."""
    axes = table.arrays[0]
    rows = axes.shape[axes.lead - 1] if axes.lead else 0
    with contextlib.suppress(PecliError):
        first = table.position(0, min(2, rows))
        if first is None or len(first) == 0:
            return None
        step = first[1] - first[0] if rows > 1 else 1
        for start in range(0, rows, POSITION_BLOCK):
            stop = min(start + POSITION_BLOCK, rows)
            some = table.position(start, stop)
            if some is None or not np.array_equal(some, first[0] + step * np.arange(start, stop)):
                return _listed(table, rows)
        if step == 0 or first.dtype.kind != "i":
            return _listed(table, rows)
        return Positions.arange(rows, int(first[0]), int(step))
    return None


def _listed(table: Tabular, rows: int) -> Positions | None:
    every = table.position(0, rows)
    return None if every is None else Positions.listed(every)


def _forms(source: NamedSource, other: Tabular) -> list[dict[str, str]]:
    """Return the layouts or forms to try, those first that the shapes allow."""
    assert source.recipe is not None
    family, given = source.recipe.encoding.family, source.given
    if family is Family.ROTARY and "layout" not in given:
        doubled = ("half", "interleaved")
        other_one = [layout for layout in doubled if source.model_layout in doubled and layout != source.model_layout]
        called = _called(source, other)
        return [{"layout": layout, **called} for layout in LAYOUTS if layout not in other_one]
    if family.pairs and "form" not in given:
        names = [array.name for array in other.arrays]
        shape = [side for side in other.arrays[0].shape if side != 1]
        likely = ["index"] if names == ["index"] else ["slopes"] if len(shape) == 1 else ["dense"]
        forms = dict.fromkeys([*likely, "dense", "distance", "slopes", "index"])
        return [{"form": form} for form in forms]
    return [{}]


def _called(source: NamedSource, other: Tabular) -> dict[str, str]:
    """Return the names that the other gives cosines and sines, cos_cached and so on, and frequencies that it has."""
    names = [array.name for array in other.arrays]
    pair = cosines_and_sines(names)
    if not pair or pair == ["cos", "sin"] or "name" in source.given:
        return {}
    also = {"beside": FREQUENCIES} if beside(pair[0], FREQUENCIES) in names else {}
    return {"name": "+".join(pair), **also}


def _misfit(made: Table, other: Tabular) -> Misfit:
    """Return how badly a table fits.

    First whether shapes are others, then whether no name is the same, then whether arrays are missing, then by how
    much the first rows differ on average: in another layout all their values do, with a fault in the same one some.
    """
    pairs, left, right = pair_lanes(made, other)
    strange = not {array.name for array in made.arrays} & {array.name for array in other.arrays}
    if right or not pairs:
        return True, strange, True, float("inf")
    gaps: list[NDArray[Any]] = []
    for mine, theirs in (same_layout(*pair) for pair in pairs):
        if mine.shape != theirs.shape or mine.lead != theirs.lead or is_complex(mine.array) != is_complex(theirs.array):
            return True, strange, bool(left), float("inf")
        rows = min(LOOK_ROWS, mine.rows)
        with np.errstate(all="ignore"):  # any bits may stand in a file
            x: NDArray[Any] = floats(mine.read(0, rows), mine.dtype).astype(np.float64)
            y: NDArray[Any] = floats(theirs.read(0, rows), theirs.dtype).astype(np.float64)
            gap = np.abs(x - y)
        gaps.append(gap[np.isfinite(gap)])
    finite = np.concatenate(gaps)
    return False, strange, bool(left), float(finite.mean()) if finite.size else 0.0


def open_beside(first: NamedSource, second: NamedSource, length: int) -> tuple[Tabular, Tabular]:
    """Open two sources so that they can be compared: a recipe takes from the other what its text leaves open.

    Of two recipes without a length both get `length` rows.
    """
    if first.is_recipe and not second.is_recipe:
        other = second.open()
        return table_like(first, other), other
    if not first.is_recipe:
        one = first.open()
        if second.is_recipe:
            return one, table_like(second, one)
        other = second.open()
        take_types((one, other))
        return one, other
    if first.says_length or not second.says_length:
        one = open_alone(first, length)
        return one, table_like(second, one)
    other = open_alone(second, length)
    return table_like(first, other), other


def open_alone(source: NamedSource, length: int, **options: Any) -> Tabular:
    """Open one source; a recipe that says no length gets `length` rows, unless it fixes its own or has fewer.

    Of what is absurdly wide it gets fewer: nobody asked for a gigabyte.
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
    while length > 1 and "length" not in options and sum(array.bytes for array in made.arrays) > MOST_BYTES:
        length //= 2
        made = source.open(**{"length": length, **options})
    return made


def is_complex(array: Array) -> bool:
    """Whether the values are complex."""
    return array.dtype.startswith("complex")
