"""The options of ``generate``: an encoding's own, from its declaration, and those of every table."""

from __future__ import annotations

from typing import Any

from pecli.cli.options import flag_option, text_option
from pecli.declare.encoding import Family, Parameter

MODEL, TABLE, OUTPUT, SCREEN = "Model", "Table", "Output", "Screen"
EXTENSION = "The suffix of the file chooses the format."


def own_option(parameter: Parameter) -> tuple[str, Any]:
    """Return the option of an encoding's parameter."""
    text = option_help(parameter)
    if parameter.kind == "flag":
        off = parameter.param.off or f"no-{parameter.option}"
        return parameter.name, flag_option(f"--{parameter.option}/--{off}", text)
    return parameter.name, text_option(
        f"--{parameter.option}", text, metavar=metavar(parameter), words=parameter.choices
    )


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


def metavar(parameter: Parameter) -> str:
    """Return what stands for a parameter's value in the help."""
    if parameter.param.metavar:
        return parameter.param.metavar
    if parameter.param.file:
        return "FILE"
    kinds = {"integer": "N", "number": "X", "choice": "WORD", "text": "TEXT"}
    many = {"integers": "N", "numbers": "X"}
    if parameter.kind in many:
        return parameter.param.separator.join([many[parameter.kind]] * 2) + ".."
    return kinds[parameter.kind]


def table_options(family: Family) -> dict[str, Any]:
    """Return the options that every encoding of a family has beside its own."""
    from pecli.declare.tabular import DTYPES
    from pecli.declare.words import STACKS
    from pecli.formats import FORMATS
    from pecli.tables.layouts import LAYOUTS
    from pecli.tables.request import ALIGNMENTS, ARITHMETICS, FORMS

    options = {
        "len": text_option("--len", "Number of rows.", metavar="N", panel=TABLE),
        "start": text_option("--start", "First position (default 0).", metavar="P", panel=TABLE),
        "step": text_option("--step", "Distance of neighbouring positions (default 1).", metavar="S", panel=TABLE),
        "positions": text_option(
            "--positions", "Positions instead of --len: 0,5,9.5, or @FILE, or @- for standard input.",
            metavar="LIST", panel=TABLE,
        ),
        "dtype": text_option(
            "--dtype", f"Type of the values: {', '.join(DTYPES)} (default float32).",
            metavar="TYPE", panel=TABLE, words=DTYPES,
        ),
    }  # fmt: skip
    if family is Family.ROTARY:
        options["layout"] = text_option(
            "--layout",
            f"Arrays: {', '.join(LAYOUTS)} (default split), or model with --config.",
            metavar="WORD",
            panel=TABLE,
            words=(*LAYOUTS, "model"),
        )
        options["arithmetic"] = text_option(
            "--arithmetic", f"{', '.join(ARITHMETICS)}: the real values (default), or as a framework computes.",
            metavar="WORD", panel=TABLE, words=ARITHMETICS,
        )  # fmt: skip
    if family.pairs:
        options["form"] = text_option(
            "--form", f"Form: {', '.join(FORMS)} (default dense: all arrays).", metavar="WORD", panel=TABLE, words=FORMS
        )
        options["queries"] = text_option(
            "--queries", "Number of queries, the last of the keys' positions (default: as many as keys).",
            metavar="N", panel=TABLE,
        )  # fmt: skip
        options["keys"] = text_option("--keys", "Number of keys: another word for --len.", metavar="N", panel=TABLE)
        options["align"] = text_option(
            "--align", "Whether the queries are the last or the first of the positions (default last).",
            metavar="WORD", panel=TABLE, words=ALIGNMENTS,
        )  # fmt: skip
    names = list(FORMATS)
    options |= {
        "config": text_option(
            "--config", "A model's config.json: its parameters, beneath those given here.", metavar="FILE", panel=MODEL
        ),
        "layer_type": text_option(
            "--layer-type",
            "Kind of layer, where a model's layers differ; all for every one as a group.",
            metavar="NAME",
            panel=MODEL,
        ),
        "stack": text_option(
            "--stack",
            f"Whose reading of the config: {', '.join(STACKS)} (default {STACKS[0]}).",
            metavar="WORD",
            panel=MODEL,
            words=STACKS,
        ),
        "shard": text_option("--shard", "Part K of N of the rows, K from 0.", metavar="K/N", panel=TABLE),
        "threads": text_option("--threads", "Threads (default: all cores up to eight).", metavar="T", panel=OUTPUT),
        "output": text_option(
            "--output -o", f"File to write, - for standard output. {EXTENSION}", metavar="PATH", panel=OUTPUT
        ),
        "format": text_option(
            "--format", f"Format, whatever the suffix: {', '.join(names)}.", metavar="WORD", panel=OUTPUT, words=names
        ),
        "compress": flag_option("--compress", "Compress (HDF5: shuffle and gzip 1).", panel=OUTPUT),
        "wide": flag_option("--wide", "Parquet: one column per channel.", panel=OUTPUT),
        "no_clobber": flag_option("--no-clobber", "Leave an existing file alone, and fail.", panel=OUTPUT),
        "dry_run": flag_option("--dry-run", "Say what would be written, and write nothing.", panel=OUTPUT),
        "rows": text_option("--rows", "Rows to print (default 12).", metavar="N", panel=SCREEN),
        "columns": text_option("--columns", "Columns to print (default 8).", metavar="N", panel=SCREEN),
        "precision": text_option("--precision", "Decimals to print (default 4).", metavar="N", panel=SCREEN),
        "json": flag_option("--json", "Print one JSON object instead of text.", panel=SCREEN),
        "quiet": flag_option("--quiet -q", "Print no messages.", panel=SCREEN),
    }
    return options
