"""Faults of a configuration: what another parameter of the expected recipe would have given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from pecli.declare.encoding import Family
from pecli.encodings.recipe import Recipe
from pecli.errors import PecliError
from pecli.measures.spectra import COMMON_BASES, text
from pecli.numbers.positions import Positions, fraction_text
from pecli.numbers.text import number_text
from pecli.tables.table import Table

Keys = Mapping[str, str | None]
USUAL = {"low-freq-factor": "1", "high-freq-factor": "4", "beta-fast": "32", "beta-slow": "1"}


@dataclass(frozen=True)
class Change:
    """A recipe with other parameters or positions.

    Attributes
    ----------
    kind, text : str
        A word for programs, and what to say.
    keys : mapping
        Parameters to replace; None takes one away, back to its default.
    shift : int
        What is added to every position.
    """

    kind: str
    text: str
    keys: Keys = field(default_factory=dict)
    shift: int = 0


def changes(table: Table) -> Iterator[Change]:
    """Yield faults that the recipe of a table invites, the most usual first."""
    values, options = table.source.values, table.source.keys()
    yield from _starts(table)
    if "base" in options:
        yield from _bases(options["base"])
    if table.source.encoding.name == "rope":
        yield from _scalings(options)
    if "shift" in options:
        names = {"0": "paper", "1": "endpoint"}
        other = "0" if options["shift"] != "0" else "1"
        was = names.get(options["shift"], options["shift"])
        yield Change("spacing", f"spacing {names[other]} where {was} was expected", {"shift": other})
    for name in ("order", "slopes", "bias", "code", "msb", "slope_dtype"):
        if name in values:
            yield from _choices(table, name)


def _starts(table: Table) -> Iterator[Change]:
    first = table.part.start if table.part.start is not None else table.part.lowest
    for k in (1, -1, 2, -2):
        said = f"positions start at {fraction_text(first + k)} where {fraction_text(first)} was expected"
        yield Change("start", said, shift=k)


def _bases(expected: str) -> Iterator[Change]:
    for base in COMMON_BASES:
        if Decimal(expected) != base:
            yield Change("base", f"base {text(base)} where {expected} was expected", {"base": text(base)})


def _scalings(options: Mapping[str, str]) -> Iterator[Change]:
    """Yield scalings left out, applied twice, or taken for another."""
    scaling = options.get("scaling", "none")
    if scaling == "none":
        return
    plain: Keys = {
        **dict.fromkeys(k for k in options if k not in ("dim", "rotary-dim", "partial", "base")),
        "scaling": "none",
    }
    yield Change("scaling", f"scaling {scaling} is missing: the frequencies are unscaled", plain)
    both = f"scaling {scaling} and the base are missing: base 10000, unscaled"
    yield Change("scaling", both, {**plain, "base": None})
    factor = options.get("factor")
    if factor is None:
        return
    squared = number_text(Decimal(factor) * Decimal(factor))
    twice = f"{scaling} factor applied twice ({squared} where {factor} was expected)"
    yield Change("factor", twice, {"factor": squared})
    for other in ("linear", "ntk"):
        if other != scaling:
            own = {**plain, "scaling": other, "factor": factor}
            yield Change("scaling", f"scaling {other} where {scaling} was expected", own)
    if scaling == "yarn":
        yield from _yarns(options)
    for key, usual in USUAL.items():
        if options.get(key, usual) != usual:
            yield Change("scaling", f"{key} {usual} where {options[key]} was expected", {key: usual})


def _yarns(options: Mapping[str, str]) -> Iterator[Change]:
    names = ("mscale", "mscale-all-dim", "coefficient", "attention-factor")
    bare: Keys = {**{name: None for name in names if name in options}, "scaling": "ntk-by-parts"}
    yield Change("magnitude", "the magnitude is missing", bare)
    if options.get("ramp", "index") == "index":
        yield Change("scaling", "yarn with truncate=false", {"truncate": "false"})
        yield Change("scaling", "yarn with ramp=rotations", {"ramp": "rotations", "truncate": None})


def _choices(table: Table, name: str) -> Iterator[Change]:
    parameter = table.source.encoding.parameters[name]
    mine = parameter.text(table.source.values[name])
    for word in parameter.choices or ("true", "false"):
        if word == mine:
            continue
        kind, said = name, f"{parameter.option} {word} where {mine} was expected"
        if name == "order" and {word, mine} == {"sin-cos", "cos-sin"}:
            kind, said = "exchanged", f"cos and sin are exchanged: {said}"
        elif name == "order":
            kind, said = "layout", f"equal after swapping interleaved for halves: {said}"
        yield Change(kind, said, {parameter.option: word})


def changed(table: Table, change: Change, rows: int) -> Table | None:
    """Return the first rows of a table with other parameters or positions; None if they are not allowed."""
    own: dict[str, Any] = {k: v for k, v in table.source.keys().items() if k not in change.keys}
    own |= {k: v for k, v in change.keys.items() if v is not None}
    part = table.part.part(0, min(rows, table.part.count))
    family, request = table.source.encoding.family, table.request
    options: dict[str, Any] = {"layout": request.layout} if family is Family.ROTARY else {}
    options |= {"form": request.form} if family in (Family.BIAS, Family.RELATIVE) else {}
    try:
        recipe = Recipe.bind(table.source.encoding.name, **own)
        return Table.make(
            recipe, positions=_moved(part, change.shift), dtype=table.dtype, arithmetic=request.arithmetic, **options
        )
    except PecliError:
        return None


def _moved(positions: Positions, by: int) -> Positions:
    if not by:
        return positions
    if positions.start is not None and positions.step is not None:
        return Positions.arange(positions.count, positions.start + by, positions.step)
    return Positions.listed([p + by for p in positions])
