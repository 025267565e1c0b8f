"""Faults of a configuration: what another parameter of the expected recipe would have given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

from pecli.analysis.finders.spectra import COMMON_BASES, text
from pecli.errors import PecliError
from pecli.positions import Positions, fraction_text
from pecli.recipe import Recipe
from pecli.table import Table
from pecli.text import number_text

Change = tuple[str, str, Mapping[str, str | None], int | None]  # kind, text, parameters (None: the default), shift of positions


def changes(table: Table) -> Iterator[Change]:
    """Yield faults that the recipe of a table invites, the most usual first."""
    values, options = table.source.values, table.source.keys()
    yield from _starts(table)
    if "base" in options:
        yield from _bases(str(options["base"]))
    if table.source.encoding.name == "rope":
        yield from _scalings({k: str(v) for k, v in options.items()})
    if "order" in values:
        yield from _choices(table, "order")
    if options.get("shift") is not None:
        other = "0" if options["shift"] != "0" else "1"
        names = {"0": "paper", "1": "endpoint"}
        text_ = f"spacing {names[other]} where {names.get(str(options['shift']), options['shift'])} was expected"
        yield "spacing", text_, {"shift": other}, None
    for name in ("slopes", "bias", "code", "msb", "slope_dtype"):
        if name in values:
            yield from _choices(table, name)


def _starts(table: Table) -> Iterator[Change]:
    first = table.part.lowest if not table.part.is_range else table.part.start
    assert first is not None
    for k in (1, -1, 2, -2):
        yield "start", f"positions start at {fraction_text(first + k)} where {fraction_text(first)} was expected", {}, k


def _bases(expected: str) -> Iterator[Change]:
    for base in COMMON_BASES:
        if Decimal(expected) != base:
            yield "base", f"base {text(base)} where {expected} was expected", {"base": text(base)}, None


def _scalings(options: Mapping[str, str]) -> Iterator[Change]:
    """Yield scalings left out, applied twice, or taken for another."""
    scaling = options.get("scaling", "none")
    plain = {k: None for k in options if k not in ("dim", "rotary-dim", "partial", "base")}
    if scaling == "none":
        return
    yield "scaling", f"scaling {scaling} is missing: the frequencies are unscaled", {**plain, "scaling": "none"}, None
    yield "scaling", f"scaling {scaling} and the base are missing: base 10000, unscaled", {**plain, "scaling": "none", "base": None}, None
    factor = options.get("factor")
    if factor is None:
        return
    f = Decimal(factor)
    squared = number_text(f * f)
    yield "factor", f"{scaling} factor applied twice ({squared} where {factor} was expected)", {"factor": squared}, None
    for other in ("linear", "ntk"):
        if other != scaling:
            yield "scaling", f"scaling {other} where {scaling} was expected", {**plain, "scaling": other, "factor": factor}, None
    if scaling == "yarn":
        yield "magnitude", "the magnitude is missing", {**_without_magnitude(options), "scaling": "ntk-by-parts"}, None
        for key, value in (("truncate", "false"), ("ramp", "rotations")):
            yield "scaling", f"yarn with {key}={value}", _with(options, key, value), None
    for key, values in (("low-freq-factor", ("1",)), ("high-freq-factor", ("4",)), ("beta-fast", ("32",)), ("beta-slow", ("1",))):
        for value in values:
            if key in options and options[key] != value:
                yield "scaling", f"{key} {value} where {options[key]} was expected", {key: value}, None


def _without_magnitude(options: Mapping[str, str]) -> dict[str, str | None]:
    names = ("mscale", "mscale-all-dim", "coefficient", "attention-factor")
    return {name: None for name in names if name in options}


def _with(options: Mapping[str, str], key: str, value: str) -> dict[str, str | None]:
    found: dict[str, str | None] = {key: value}
    if key == "ramp" and "truncate" in options:
        found["truncate"] = None
    return found


def _choices(table: Table, name: str) -> Iterator[Change]:
    parameter = table.source.encoding.parameters[name]
    mine = parameter.text(table.source.values[name])
    for word in parameter.choices or ("true", "false"):
        if word != mine:
            kind, said = name, f"{parameter.option} {word} where {mine} was expected"
            if name == "order" and {word, mine} != {"sin-cos", "cos-sin"}:
                kind = "layout"
                said = f"equal after swapping interleaved for halves: {said}"
            elif name == "order":
                said = f"cos and sin are exchanged: {said}"
            yield kind, said, {parameter.option: word}, None


def changed(table: Table, keys: Mapping[str, str | None], shift: int | None, rows: int) -> Table | None:
    """Return the first rows of a table with other parameters or positions; None if they are not allowed."""
    own: dict[str, Any] = {k: v for k, v in table.source.keys().items() if k not in keys}
    own |= {k: v for k, v in keys.items() if v is not None}
    part = table.part.part(0, min(rows, table.part.count))
    if shift:
        part = shifted(part, shift)
    try:
        recipe = Recipe.bind(table.source.encoding.name, **own)
        return Table.make(
            recipe, positions=part, dtype=table.dtype, layout=table.request.layout, form=table.request.form,
            arithmetic=table.request.arithmetic,
        )  # fmt: skip
    except PecliError:
        return None


def shifted(positions: Positions, by: int) -> Positions:
    """Return positions moved by a whole number."""
    if positions.start is not None and positions.step is not None:
        return Positions.arange(positions.count, positions.start + by, positions.step)
    return Positions.listed([p + by for p in positions])


def as_number(value: Fraction) -> str:
    """Return a fraction as a decimal."""
    return fraction_text(value)
