"""Longer tables: of a recipe, with a context extension if one is asked for, and of trained rows that are resized."""

from __future__ import annotations

from decimal import Decimal
from math import isqrt

from pecli.errors import BadParameter, MissingParameter
from pecli.extrapolate.report import Extrapolation, check_rows, extrapolate, lengths_of, reach_of
from pecli.extrapolate.resize import Extension, Resized, trained_rows
from pecli.extrapolate.scalings import chosen, scaled_recipe
from pecli.numbers.reader import shown
from pecli.settings import notice
from pecli.spec.tabular import Tabular
from pecli.tables.sources import NamedSource
from pecli.tables.table import Table


def longer_table(
    source: NamedSource, train: int | None, test: int | None, scaling: str | None = None,
    factor: Decimal | None = None, dtype: str | None = None, layout: str | None = None,
) -> tuple[Extrapolation, Table]:  # fmt: skip
    """Return the report of a recipe between two lengths, and its table of the longer one.

    Raises
    ------
    BadParameter
        If the encoding has no values there, for rows of a file, and for more than one scaling.
    """
    train, test = lengths_of(source, train, test)
    recipe = source.recipe
    if recipe is None:
        rule = f"holds rows 0 to {train - 1} and none to {test - 1}: choose with --extend how to make them"
        raise BadParameter("SOURCE", source.text, rule)
    if scaling is not None:
        names = chosen(scaling, recipe)
        if len(names) > 1:
            rule = f"is {len(names)} scalings, and -o writes one table: name one"
            raise BadParameter("scaling", scaling, rule)
        recipe = scaled_recipe(recipe, names[0], train, test, factor)
    found = extrapolate(shown(source.text), recipe, train, test)
    if found.verdict in ("ends", "untrained", "fixed"):
        rule = f"cannot reach {test} positions: {found.finding}; {found.remedy}"
        raise BadParameter("SOURCE", source.text, rule)
    keys = {k: v for k, v in source.given.items() if k not in ("len", "start", "step", "positions", "shard")}
    return found, Table.of_keys(recipe, keys, length=test, dtype=dtype, layout=layout)


MAX_PREFIX = 8  # rows before a grid that are taken for class and register tokens; DINOv3 has 5


def with_grid(extension: Extension, rows: int, *, find_prefix: bool) -> Extension:
    """Return an extension with the grid, and the rows before it, that a table of `rows` rows shows: 197 are 1 + 14x14.

    Raises
    ------
    BadParameter
        If no square grid fits.
    """
    most = MAX_PREFIX if find_prefix else 0
    left = rows - extension.prefix
    if left <= 0:  # which whoever extends the rows refuses
        return extension
    grid = extension.grid or (isqrt(left),) * 2
    more = left - grid[0] * grid[1]
    if extension.grid is None and not 0 <= more <= most:
        rule = f"needs --grid: of {rows} rows, {left} are no square"
        raise BadParameter("to-grid", "x".join(map(str, extension.to_grid or ())), rule)
    return extension._replace(grid=grid, prefix=extension.prefix + (more if 0 < more <= most else 0))


def extended_rows(
    source: NamedSource, train: int | None, test: int | None, extension: Extension, *, find_prefix: bool = False
) -> Tabular:
    """Return trained rows, of a file or a learned recipe, as `test` rows, or as the grid and the prefix make.

    With `find_prefix`, a few rows more than the grid has stay before it.

    Raises
    ------
    BadParameter
        If the number of rows is not known, or differs from that of the grid.
    """
    rows, array = trained_rows(trained_table(source, train, extension.way))
    check_rows(train, len(rows))
    if (sides := extension.to_grid) is not None:
        given, extension = extension, with_grid(extension, len(rows), find_prefix=find_prefix)
        if extension != given:
            kept = f"{extension.prefix} that stay and " if extension.prefix else ""
            grid = "x".join(map(str, extension.grid or ()))
            notice(f"{len(rows)} rows are read as {kept}a grid of {grid}; --prefix and --grid change that")
        new = extension.prefix + sides[0] * sides[1]
        if test not in (None, new):
            raise BadParameter("test-len", test, f"must be {new}, as --to-grid and --prefix give, or be left out")
        test = new
    if test is None:
        raise MissingParameter("the number of rows is missing: give test-len=N, or to-grid=HxW")
    return Resized(rows, array, extension, test, shown(source.text))


def trained_table(source: NamedSource, train: int | None, way: str) -> Tabular:
    """Return the rows that are to be extended in this way.

    Raises
    ------
    BadParameter
        If they are computed and not trained, or their number is not known.
    """
    if source.table is not None:
        return source.table
    recipe = source.recipe
    assert recipe is not None
    if reach_of(recipe).new != "rows":
        rule = f"is for trained rows, and {recipe.encoding.name} is computed at every position: leave it out"
        raise BadParameter("extend", way, rule)
    length = train if train is not None else recipe.values.get("max_len")
    if length is None:
        raise MissingParameter("the number of trained rows is missing: give train-len=N")
    return source.open(length=length)
