"""The options of ``generate``: an encoding's own, from its declaration, and those of every table."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Annotated

import typer

from pecli.cli.options import (
    OUTPUT,
    SCREEN,
    TABLE,
    Compress,
    Json,
    Limit,
    NoClobber,
    Option,
    Precision,
    Quiet,
    Start,
    Step,
    Threads,
    Wide,
    whole,
)  # fmt: skip
from pecli.cli.terminal.writing import Writing
from pecli.formats import WRITTEN
from pecli.models.stacks import STACKS
from pecli.numbers.dtypes import DTYPES
from pecli.records import dataclass
from pecli.spec.declaration import Family, Parameter
from pecli.tables.guise import COMPANIONS
from pecli.tables.layouts import LAYOUTS
from pecli.tables.request import ALIGNMENTS, ARITHMETICS, FORMS

MODEL, OWN = "Model", "Parameters"
MANY, SEVERAL = 16, 3  # parameters that are grouped; choices that a group does not name
ROTARY, PAIRS = (Family.ROTARY,), tuple(family for family in Family if family.pairs)


@dataclass(frozen=True, kw_only=True)
class TableOptions(Writing):
    """What every encoding may be given beside its own parameters."""

    len: Annotated[str | None, Option("Number of rows.", "N", TABLE)] = None
    start: Start = None
    step: Step = None
    positions: Annotated[
        str | None,
        Option("Positions instead of --len: 0,5,9.5, or @FILE, or @- for standard input.", "LIST", TABLE),
    ] = None
    dtype: Annotated[
        str | None, Option(f"Type of the values: {', '.join(DTYPES)} (default float32).", "TYPE", TABLE, DTYPES)
    ] = None
    layout: Annotated[
        str | None,
        Option(
            f"Arrays: {', '.join(LAYOUTS)} (default split), or model with --config.", "WORD", TABLE,
            (*LAYOUTS, "model"), families=ROTARY,
        ),
    ] = None  # fmt: skip
    arithmetic: Annotated[
        str | None,
        Option(
            f"{', '.join(ARITHMETICS)}: the real values (default), or as a framework computes.", "WORD", TABLE,
            ARITHMETICS, families=ROTARY,
        ),
    ] = None  # fmt: skip
    form: Annotated[
        str | None,
        Option(f"Form: {', '.join(FORMS)} (default dense: all arrays).", "WORD", TABLE, FORMS, families=PAIRS),
    ] = None
    queries: Annotated[
        str | None,
        Option(
            "Number of queries, the last of the keys' positions (default: as many as keys).", "N", TABLE,
            families=PAIRS,
        ),
    ] = None  # fmt: skip
    keys: Annotated[
        str | None, Option("Number of keys: another word for --len.", "N", TABLE, families=PAIRS)
    ] = None  # fmt: skip
    align: Annotated[
        str | None,
        Option(
            "Whether the queries are the last or the first of the positions (default last).", "WORD", TABLE,
            ALIGNMENTS, families=PAIRS,
        ),
    ] = None  # fmt: skip
    config: Annotated[
        str | None, Option("A model's config.json: its parameters, beneath those given here.", "FILE", MODEL)
    ] = None
    layer_type: Annotated[
        str | None,
        Option("Kind of layer, where a model's layers differ; all for every one as a group.", "NAME", MODEL),
    ] = None
    stack: Annotated[
        str | None,
        Option(f"Whose reading of the config: {', '.join(STACKS)} (default {STACKS[0]}).", "WORD", MODEL, STACKS),
    ] = None
    name: Annotated[
        str | None, Option("What to call the arrays, joined with +: cos_cached+sin_cached.", "NAME[+NAME]", TABLE)
    ] = None
    lead: Annotated[str | None, Option("Axes of length 1 before the others: 1 for (1, n, dim).", "N", TABLE)] = None
    beside: Annotated[
        str | None,
        Option(
            f"A further array: {', '.join(COMPANIONS)}, the frequencies.", "NAME", TABLE, COMPANIONS, families=ROTARY,
            names=("--with",),
        ),
    ] = None  # fmt: skip
    shard: Annotated[str | None, Option("Part K of N of the rows, K from 0.", "K/N", TABLE)] = None
    threads: Threads = None
    output: Annotated[
        str | None,
        Option(
            "File to write, - for standard output. The suffix of the file chooses the format.", "PATH", OUTPUT,
            names=("--output", "-o"),
        ),
    ] = None  # fmt: skip
    format: Annotated[
        str | None, Option(f"Format, whatever the suffix: {', '.join(WRITTEN)}.", "WORD", OUTPUT, tuple(WRITTEN))
    ] = None
    compress: Compress = False
    wide: Wide = False
    no_clobber: NoClobber = False
    workers: Annotated[
        int | None, Option("Have so many processes of this machine write a .zarr.", "N", OUTPUT, check=whole(1, 1024))
    ] = None
    scheduler: Annotated[
        str | None, Option("Have the workers of a Dask scheduler write it: tcp://HOST:8786.", "ADDRESS", OUTPUT)
    ] = None
    dry_run: Annotated[bool, Option("Say what would be written, and write nothing.", panel=OUTPUT)] = False
    rows: Annotated[int | None, Option("Rows to print (default 12).", "N", SCREEN, check=whole(1, 1000))] = None
    columns: Annotated[int | None, Option("Columns to print (default 8).", "N", SCREEN, check=whole(1, 1000))] = None
    precision: Precision = None
    limit: Limit = None
    json: Json = False
    quiet: Quiet = False


def own_panels(parameters: Sequence[Parameter]) -> dict[str, str]:
    """Return the part of the help in which each parameter stands: where there are many, by what they go with."""
    if len(parameters) < MANY:
        return {}
    return {parameter.name: _panel(parameter, {p.name: p for p in parameters}) for parameter in parameters}


def _panel(parameter: Parameter, known: Mapping[str, Parameter]) -> str:
    name, values = parameter.param.when or ("", ())
    above = known.get(name)
    if above is None or not (above.choices and isinstance(values, tuple) and all(isinstance(v, str) for v in values)):
        return OWN
    panel = _panel(above, known)  # of a parameter that is itself one of a choice
    if panel != OWN:
        return panel
    return f"With --{above.option} {', '.join(map(str, values)) if len(values) < SEVERAL else 'of several kinds'}"


def own_parameter(parameter: Parameter, panel: str | None = None) -> inspect.Parameter:
    """Return what Typer makes the option of an encoding's parameter from."""
    names = (f"--{parameter.option}",)
    if parameter.kind == "flag":
        names = (f"{names[0]}/--{parameter.param.off or f'no-{parameter.option}'}",)
    mark = parameter.metavar or None
    option = Option(option_help(parameter), mark, panel or OWN, parameter.choices, names)
    return option.parameter(parameter.name, str | None if mark else bool | None, None)


def other_word(word: str) -> inspect.Parameter:
    """Return what Typer makes of a word that the help leaves out: the encoding says what it means."""
    info = typer.Option(f"--{word}", hidden=True, show_default=False)
    name = word.replace("-", "_")
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[str | None, info])


def option_help(parameter: Parameter) -> str:
    """Return the help of a parameter: what it is, its choices or range, its default, when it applies."""
    notes = []
    if parameter.choices:
        notes.append("one of " + ", ".join(parameter.choices))
    if parameter.param.range_text:
        notes.append(parameter.param.range_text)
    if parameter.required:
        notes.append("required")
    elif parameter.default is not None and parameter.default is not False:
        notes.append(f"default {parameter.text(parameter.default)}")
    when = parameter.param.when
    if when is not None:
        name = when[0].replace("_", "-")
        values = "" if not isinstance(when[1], tuple) else " " + " or ".join(_condition(v) for v in when[1])
        notes.append(f"with --{name}{values}" if values != " none" else f"without --{name}")
    return parameter.param.help + (f" ({'; '.join(notes)})" if notes else "")


def _condition(value: object) -> str:
    return "none" if value is None else "off" if value is False else str(value)
