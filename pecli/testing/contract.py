"""Contract of every encoding, checked on its own example."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from pecli.errors import PecliError
from pecli.extrapolate.report import extrapolate
from pecli.inspect.facts import example_table
from pecli.numbers.dtypes import DTYPES
from pecli.spec.catalogue import find
from pecli.spec.declaration import REGISTRY, Encoding
from pecli.spec.recipe import Recipe
from pecli.tables.table import Table
from pecli.teach.examples import work_through


def faults_of(encoding: Any, length: int) -> list[str]:
    """Return the faults of a declaration, a sentence each."""
    declared = declared_by(encoding)
    found: list[str] = []
    for check in (_described, _computed, _refused, _worked, _extended):
        try:
            found += [f"{declared.name}: {text}" for text in check(declared, length)]
        except PecliError as error:
            found.append(f"{declared.name}: {error}")
    return found


def declared_by(encoding: Any) -> Encoding:
    """Return the declaration of an encoding, a name or a decorated function.

    Raises
    ------
    UnknownName
        If there is none.
    """
    if isinstance(encoding, Encoding):
        return encoding
    if callable(encoding):
        return next(e for e in REGISTRY.values() if e.function is encoding)
    return find(str(encoding))


def _described(encoding: Encoding, length: int) -> Iterator[str]:
    first = encoding.description.partition("\n")[0]
    if not first.endswith(".") or len(first) > 76:
        yield f"the docstring's first line is its help: a sentence of at most 76 characters, not '{first}'"
    if not encoding.formula:
        yield "no formula is given"
    for parameter in encoding.parameters.values():
        if not parameter.param.help.endswith("."):
            yield f"the help of {parameter.name} is no sentence: it ends without a full stop"


def _computed(encoding: Encoding, length: int) -> Iterator[str]:
    table = example_table(encoding, length)
    assert table.recipe is not None
    if Table.parse(table.recipe).recipe != table.recipe:
        yield "its recipe does not parse back to itself"
    for dtype in DTYPES:
        made = Table.parse(table.recipe, dtype=dtype)
        for array in made.arrays:
            whole = made.read_rows([array.name], 0, array.rows)[array.name]
            if dtype == "float64" and not np.isfinite(whole).all():
                yield f"{array.name} holds values that are not finite"
            middle = array.rows // 2
            parts = [made.read_rows([array.name], *ends)[array.name] for ends in ((0, middle), (middle, array.rows))]
            if np.concatenate(parts).tobytes() != whole.tobytes():
                yield f"rows of {array.name} in {dtype} depend on which others are computed with them"


def _refused(encoding: Encoding, length: int) -> Iterator[str]:
    base = Recipe.parse(encoding.example).keys()
    for parameter in encoding.parameters.values():
        p = parameter.param
        outside = [p.ge - 1 if p.ge is not None else None, p.gt, p.le * 2 + 1 if p.le is not None else None, p.lt]
        for value in outside:
            if value is None:
                continue
            try:
                text = f"{value:.0f}" if value % 1 == 0 else str(value)
                Recipe.bind(encoding.name, **{**base, parameter.option: text})
            except PecliError as error:
                if parameter.option not in str(error):
                    yield f"{parameter.option}={value} is refused without its name: {error}"
            else:
                yield f"{parameter.option}={value} is outside its range and not refused"


def _worked(encoding: Encoding, length: int) -> Iterator[str]:
    if not work_through(Recipe.parse(encoding.example), length=4).steps:
        yield "its lesson has no steps"


def _extended(encoding: Encoding, length: int) -> Iterator[str]:
    extrapolate(encoding.example, Recipe.parse(encoding.example), length, 2 * length)
    yield from ()
