"""``pecli generate ENCODING``: one sub-command per encoding, derived from its declaration."""

from __future__ import annotations

import inspect
from typing import Any

import typer
from typer.core import TyperGroup

from pecli.cli.options import flag_option, text_option
from pecli.cli.output import clean, print_json
from pecli.cli.screen import whole_number
from pecli.cli.writing import Delivery, deliver, describe
from pecli.errors import BadParameter, UnknownName
from pecli.spec import Encoding, Family, Parameter

TABLE, OUTPUT, SCREEN = "Table", "Output", "Screen"
EXTENSION = "The suffix of the file chooses the format."


def make_group(mode: Any) -> typer.Typer:
    """Return the ``generate`` group; its commands are made when they are asked for."""
    group = typer.Typer(
        cls=GenerateGroup,
        help="Write the table of an encoding to a file, or print it.",
        rich_markup_mode=mode,
        context_settings={"help_option_names": ["-h", "--help"]},
        no_args_is_help=True,
    )
    group.callback()(lambda: None)
    return group


class GenerateGroup(TyperGroup):
    """A group whose commands are the catalogue."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the encodings, by family."""
        from pecli.encodings import CATALOGUE

        for name in CATALOGUE:
            self._add(name)
        return list(CATALOGUE)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the command of an encoding.

        Raises
        ------
        UnknownName
            If there is no such encoding, with the nearest name.
        """
        from pecli.encodings import CATALOGUE

        if cmd_name not in CATALOGUE:
            raise UnknownName("encoding", clean(cmd_name), CATALOGUE)
        self._add(cmd_name)
        return super().get_command(ctx, cmd_name)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the encodings family by family; the rich help has a panel for each."""
        from pecli.encodings import CATALOGUE

        for family in Family:
            rows = [(e.name, e.description.splitlines()[0]) for e in CATALOGUE.values() if e.family is family]
            if rows:
                with formatter.section(family.title):
                    formatter.write_dl(rows)

    def _add(self, name: str) -> None:
        from pecli.encodings import CATALOGUE

        if name not in self.commands:
            app = typer.Typer(rich_markup_mode=self.rich_markup_mode, add_completion=False)
            encoding = CATALOGUE[name]
            app.command(
                name,
                help=help_text(encoding),
                rich_help_panel=encoding.family.title,
                context_settings={"help_option_names": ["-h", "--help"]},
            )(_runner(encoding))
            self.commands[name] = typer.main.get_command(app)


def help_text(encoding: Encoding) -> str:
    """Return the help of an encoding's command: its description, formula and source."""
    sources = "; ".join(str(source) for source in encoding.source)
    formula = "\n".join(f"  {line}" for line in encoding.formula)  # after a \b, line breaks stay
    return f"{encoding.description}\n\n\b\nFormula:\n{formula}\n\nSource: {sources}."


def _runner(encoding: Encoding) -> Any:
    """Return a function with exactly the encoding's options and the table's."""
    own = [_own_parameter(parameter) for parameter in encoding.options]
    shared = table_options(encoding.family)
    signature = inspect.Signature(
        [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
            for name, annotation in [*own, *shared.items()]
        ]
    )
    names = [parameter.name for parameter in encoding.options]

    def run(**given: Any) -> int:
        mine = {name: given.pop(name) for name in names}
        return generate(encoding, {n: v for n, v in mine.items() if v is not None}, given)

    run.__signature__ = signature  # type: ignore[attr-defined]
    run.__annotations__ = {}
    return run


def _own_parameter(parameter: Parameter) -> tuple[str, Any]:
    """Return the option of an encoding's parameter."""
    text = option_help(parameter)
    if parameter.kind == "flag":
        return parameter.name, flag_option(f"--{parameter.option}/--no-{parameter.option}", text)
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
    from pecli.formats import FORMATS
    from pecli.layouts import LAYOUTS
    from pecli.table import FORMS
    from pecli.tabular import DTYPES

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
            "--layout", f"Arrays: {', '.join(LAYOUTS)} (default split).", metavar="WORD", panel=TABLE, words=LAYOUTS
        )
    if family in (Family.BIAS, Family.RELATIVE):
        options["form"] = text_option(
            "--form", f"Form: {', '.join(FORMS)} (default dense).", metavar="WORD", panel=TABLE, words=FORMS
        )
    names = list(FORMATS)
    options |= {
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


def generate(encoding: Encoding, own: dict[str, Any], given: dict[str, Any]) -> int:
    """Make the table, then write it, describe it, or print it."""
    from pecli.recipe import Recipe
    from pecli.table import Table

    table = Table.make(
        Recipe.bind(encoding.name, **own),
        length=given["len"],
        start=given["start"],
        step=given["step"],
        positions=given["positions"],
        dtype=given["dtype"] or "float32",
        layout=given.get("layout"),
        form=given.get("form"),
        shard=given["shard"],
    )
    if given["output"] is None and given["format"] is None:
        return _on_screen(table, given)
    return deliver(
        table,
        table.source.short,
        Delivery(
            given["output"] or "-",
            given["format"],
            threads=whole_number("threads", given["threads"], 1, 256),
            compress=bool(given["compress"]),
            wide=bool(given["wide"]),
            clobber=not given["no_clobber"],
            dry_run=bool(given["dry_run"]),
            json=bool(given["json"]),
            quiet=bool(given["quiet"]),
        ),
    )


def _on_screen(table: Any, given: dict[str, Any]) -> int:
    """Print the table for a person, or as JSON its rounded head and tail."""
    from pecli.analysis.preview import preview

    for option in ("compress", "wide", "no_clobber"):
        if given[option]:
            raise BadParameter(option.replace("_", "-"), "true", "has no effect without -o")
    rows = whole_number("rows", given["rows"], 1, 100_000) or 12
    columns = whole_number("columns", given["columns"], 1, 10_000) or 8
    precision = whole_number("precision", given["precision"], 0, 17)
    precision = 4 if precision is None else precision
    if given["dry_run"]:
        return describe(table, table.source.short, None, None, None, json=bool(given["json"]), quiet=False)
    seen = preview(table, rows=rows, columns=columns)
    if given["json"]:
        arrays = [part.as_dict() for part in seen]
        size = sum(array.bytes for array in table.arrays)
        print_json(
            {"path": None, "format": None, "recipe": table.recipe, "arrays": arrays, "bytes": size, "seconds": None}
        )
        return 0
    from pecli.cli.render import show_preview

    show_preview(table, seen, precision)
    return 0
