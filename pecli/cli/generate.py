"""``pecli generate ENCODING``: one sub-command per encoding, derived from its declaration.

A recipe or a model's config stands where a name does: it is the command of its
encoding, and gives what the options leave out.
"""

from __future__ import annotations

import inspect
import os.path
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pecli.cli import options as shared
from pecli.cli.help import OPTIONS, PlainCommand, PlainGroup, examples_text
from pecli.cli.options import OUTPUT, SCREEN, TABLE, Option, checked, flag, option, parameters_of, refuse, runner, whole
from pecli.cli.terminal.items import Section, preview_grid
from pecli.cli.terminal.layout import exported
from pecli.cli.terminal.output import clean, tell, wrapped
from pecli.cli.terminal.writing import SHOWN_FORMATS, Writing, deliver, describe, show, write_whole
from pecli.errors import BadFile, BadParameter, BadRecipe, MissingParameter, PecliError
from pecli.formats import WRITTEN
from pecli.formats.paths import Kind, kind_of
from pecli.models.stacks import STACKS
from pecli.numbers.decimals import parse_integer, shorten
from pecli.numbers.dtypes import DTYPES
from pecli.spec.catalogue import CATALOGUE
from pecli.spec.declaration import Encoding, Family, Parameter
from pecli.spec.recipe import Recipe, split_recipe
from pecli.spec.tabular import Tabular
from pecli.tables.layouts import LAYOUTS
from pecli.tables.request import ALIGNMENTS, ARITHMETICS, COMPANIONS, FORMS, take_table_keys
from pecli.tables.table import Table

if TYPE_CHECKING:
    from pecli.models.reading import LayerReading

MODEL, OWN = "Model", "Parameters"
SEVERAL = 3  # choices that a group does not name
EVERYDAY = ("dtype", "layout", "form", "positions", "output")  # options of a table that the short help shows
OF_EVERY = ("len", "positions", "start", "dtype", "output", "format", "shard", "dry_run")  # that the group's help shows
ROOM, MEASURE = 9, 56  # lines and columns that it has for parameters
ROTARY, PAIRS = (Family.ROTARY,), tuple(family for family in Family if family.pairs)


@dataclass(frozen=True, kw_only=True)
class TableOptions(Writing):
    """What every encoding accepts apart from its own parameters."""

    len: str | None = option("Number of rows.", "N", TABLE)
    start: str | None = option(shared.START)
    step: str | None = option(shared.STEP)
    positions: str | None = option("Positions instead of --len: 0,5,9.5, 1000:2000 or @FILE.", "LIST", TABLE)
    dtype: str | None = option("{} (default float32).", "TYPE", TABLE, DTYPES)
    layout: str | None = option(
        "{} (default split; model: a config's).", "WORD", TABLE, (*LAYOUTS, "model"), families=ROTARY
    )
    arithmetic: str | None = option(
        "{}: the real values (default), or as a framework computes.", "WORD", TABLE, ARITHMETICS, families=ROTARY
    )
    form: str | None = option("{} (default dense: all arrays).", "WORD", TABLE, FORMS, families=PAIRS)
    queries: str | None = option("Number of queries (default: as many as keys).", "N", TABLE, families=PAIRS)
    keys: str | None = option("Number of keys: another word for --len.", "N", TABLE, families=PAIRS, hidden=True)
    align: str | None = option(
        "Where the queries are among the positions: {} (default last).", "WORD", TABLE, ALIGNMENTS, families=PAIRS
    )
    config: str | None = option("A model's config.json gives what the options leave out.", "FILE", MODEL)
    layer_type: str | None = option("Kind of layer, if the model has several; all for a group of each.", "NAME", MODEL)
    stack: str | None = option(f"Who reads the config: {{}} (default {STACKS[0]}).", "WORD", MODEL, STACKS)
    name: str | None = option("Names of the arrays: cos_cached+sin_cached.", "NAME[+NAME]", TABLE)
    lead: str | None = option("Leading axes of length 1: 1 for (1, n, dim).", "N", TABLE)
    companion: str | None = option(
        "A further array: {}, the frequencies.", "NAME", TABLE, COMPANIONS, families=ROTARY, names=("--with",)
    )
    shard: str | None = option("Part K of N of the rows, K from 0.", "K/N", TABLE)
    threads: int | None = option(shared.THREADS)
    format: str | None = option(
        "Format, whatever the suffix says: {} (the last two without -o).", "WORD", OUTPUT, (*WRITTEN, *SHOWN_FORMATS)
    )
    compress: bool = flag(shared.COMPRESS)
    wide: bool = flag(shared.WIDE)
    dry_run: bool = flag("Print what would be written, and write nothing.", panel=OUTPUT)
    rows: int | None = option("Rows to print (default 12).", "N", SCREEN, check=whole(1, 1000))
    columns: int | None = option("Columns to print (default 8).", "N", SCREEN, check=whole(1, 1000))
    precision: int | None = option(shared.PRECISION)
    json: bool = flag("Print one JSON object with the rows shown; --format json has all.", panel=SCREEN)


def _panel(parameter: Parameter, known: Mapping[str, Parameter]) -> str:
    """Return the group of a parameter in the whole help: the choice that it goes with, or the encoding's own."""
    name, values = parameter.param.when or ("", ())
    above = known.get(name)
    if above is None or not (above.choices and isinstance(values, tuple) and all(isinstance(v, str) for v in values)):
        return OWN
    panel = _panel(above, known)  # of a parameter that is itself one of a choice
    if panel != OWN:
        return panel
    return f"With --{above.option} {', '.join(map(str, values)) if len(values) < SEVERAL else 'of several kinds'}"


def own_parameter(parameter: Parameter, panel: str) -> inspect.Parameter:
    """Return what Typer makes the option of an encoding's parameter from."""
    names = (f"--{parameter.option}",)
    if parameter.kind == "flag":
        names = (f"{names[0]}/--{parameter.param.off or f'no-{parameter.option}'}",)
    mark = parameter.metavar or None
    option = Option(parameter.help_text, mark, panel, parameter.choices, names)
    return option.parameter(parameter.name, str | None if mark else bool | None, None)


LONGEST_LABEL = 240  # characters; a list of points may stand in a recipe


TEXTS = {".tex": "latex", ".md": "markdown"}


def _write_text(table: Tabular, label: str, options: TableOptions, form: str) -> int:
    """Write the visible parts of a table as text for a paper."""
    from pecli.inspect.statistics import preview

    parts = preview(table, rows=options.rows or 12, columns=options.columns or 8)
    write_whole(options.output or "", exported(map(preview_grid, parts), form) + "\n", clobber=not options.no_clobber)
    if not options.quiet:
        tell(f"wrote {options.output}: {label}")
    return 0


def produce(encoding: Encoding, own: dict[str, Any], options: TableOptions) -> int:
    """Make the table of an encoding, then write it, describe it, or print it; return the exit status."""
    try:
        table, label = _tables(encoding, own, options)
    except MissingParameter as error:
        slopes = _slopes(encoding, own, options)
        if slopes is not None and options.output is None:
            if not options.silent:
                tell("pecli: without a length, these are the slopes; --len N prints the biases")
            return produce(encoding, own, slopes)
        hint = "" if slopes is None else "; the slopes alone need none: --form slopes"
        raise MissingParameter(_all_missing(encoding, own, options, error) + hint) from None
    if options.on_screen and options.dry_run:
        return describe(table, label, options)
    if options.on_screen:
        from pecli.inspect.statistics import preview

        return show(table, label, options, preview(table, rows=options.rows or 12, columns=options.columns or 8))
    form = options.format or TEXTS.get(Path(options.output or "").suffix, "")
    if options.output not in (None, "-") and form in TEXTS.values():
        return _write_text(table, label, options, form)
    refuse("is for the screen: leave it out with -o or --format", options, "rows", "columns", "precision")
    if options.shard and options.output and (options.output.endswith("/") or os.path.isdir(options.output)):
        part, count = (parse_integer("shard", number) for number in options.shard.split("/"))
        name = f"part-{part + 1:04}-of-{count:04}.{options.format or 'npy'}"
        options = replace(options, output=os.path.join(options.output, name))
    return deliver(table, label, options)


def _slopes(encoding: Encoding, own: dict[str, Any], options: TableOptions) -> TableOptions | None:
    """Return the options that make the slopes of a bias, which need no length; None if something else is missing."""
    if encoding.family is not Family.BIAS or options.form or options.len or options.config:
        return None
    slopes = replace(options, form="slopes")
    try:
        _tables(encoding, own, slopes)
    except PecliError:
        return None
    return slopes


def _all_missing(encoding: Encoding, own: Mapping[str, Any], options: TableOptions, error: MissingParameter) -> str:
    """Return what a command line lacks, all of it, and a complete line to copy."""
    needs = str(error).partition("; for example")[0]
    if options.config is not None:
        given = {key: word for key, word in own.items() if word is not None}
        return f"{needs}; for example: {line_of(options.config, {**given, **error.example})}"
    try:
        known, rows, further = completed(encoding, own)
    except BadParameter as wrong:
        return f"{needs}; {wrong}"
    needs += "" if error.example or not further else f"; {further}"
    for name in ("len", "positions", "dtype", "layout", "output"):
        known |= {name: getattr(options, name)} if getattr(options, name) else {}
    if rows is not None:
        known.pop("len", None)
    elif not {"len", "positions"} & known.keys():
        needs += "" if "a length" in needs else "; and a length: len=N"
        known["len"] = 2048
    return f"{needs}; for example: {line_of(encoding.name, known)}"


def completed(encoding: Encoding, own: Mapping[str, Any]) -> tuple[dict[str, Any], int | None, str]:
    """Return parameters with examples of those that are missing, the rows if they say them, and what a choice needs."""
    example, given = Recipe.parse(encoding.usual).keys(), {key: word for key, word in own.items() if word is not None}
    lacking = [p for p in encoding.options if p.required and not {p.option, *p.param.names} & given.keys()]
    known = {**{p.option: example[p.option] for p in lacking}, **given}
    try:
        recipe = Recipe.bind(encoding.name, **known)
        _ = recipe.of_length(2048).plan  # which checks what depends on the length too
        return known, recipe.rows, ""
    except MissingParameter as further:  # such as the factor of a scaling
        return {**known, **further.example}, None, str(further).partition("; for example")[0]


def line_of(source: str, known: Mapping[str, Any]) -> str:
    """Return the command that makes a table of an encoding or a config with these options."""
    words = [f"--{key} {shlex.quote(str(word))}" for key, word in known.items() if word is not False]
    return " ".join(["pecli generate", shlex.quote(source), *words])


def _tables(encoding: Encoding, own: dict[str, Any], options: TableOptions) -> tuple[Tabular, str]:
    """Return the table (of a config with several kinds of layers, all of them) and what to call it."""
    if options.config is None:
        refuse("has no effect without --config", options, "layer_type", "stack")
        table = _table(Recipe.bind(encoding.name, **own), options, None)
        return table, shorten(table.label, LONGEST_LABEL)
    from pecli.models.reader import configured, every_layer
    from pecli.tables.parts import Grouped

    stack = options.stack or STACKS[0]
    if options.layer_type == "all":
        found = every_layer(options.config, encoding.name, own, stack)
        reading = next(iter(found.values())).reading
        made: Tabular = Grouped({name: _table(one.recipe, options, one.layer) for name, one in found.items()})
        label, remarks = options.config, list[str]()
    else:
        one = configured(options.config, encoding=encoding.name, given=own, layer_type=options.layer_type, stack=stack)
        reading = one.reading
        table = _table(one.recipe, options, one.layer)
        made, label = table, table.label
        remarks = [one.layer.chosen, *(one.layer.notes if one.layer.also else ())]  # of another table in the config
    remarks += [f"warning: {warning}" for warning in reading.warnings if warning not in reading.misspelled]
    for remark in filter(None, () if options.silent else remarks):
        tell(clean(f"pecli: {remark}"))
    return made, label


def _table(recipe: Recipe, options: TableOptions, layer: LayerReading | None) -> Table:
    """Return the table of a recipe at the positions and in the form that the options give."""
    length: Any = options.len
    if length is None and layer is not None and options.positions is None and recipe.rows is None:
        length = layer.length
    layout = options.layout
    if layout == "model":
        if layer is None or not layer.layout:
            rule = "is what a model's own module returns: it needs --config of one whose layout is known"
            raise BadParameter("layout", layout, rule)
        layout = layer.layout
    names = ("start", "step", "positions", "form", "shard", "queries", "keys", "align", "name", "lead", "companion")
    given = {name: getattr(options, name) for name in names}
    dtype, arithmetic = options.dtype or "float32", options.arithmetic or "exact"
    return Table.make(recipe, length=length, dtype=dtype, layout=layout, arithmetic=arithmetic, **given)


OF_CONFIG = ("config", "layer-type", "stack")  # keys of a recipe that say what is read of a config


class GenerateGroup(PlainGroup):
    """A group whose commands are the catalogue."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the encodings, by family."""
        return list(CATALOGUE)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the command of an encoding, of a recipe or of a config.

        Raises
        ------
        UnknownName
            If there is no such encoding, with the nearest name.
        """
        if cmd_name not in self.commands:
            self.commands[cmd_name] = _built(cmd_name)
        return super().get_command(ctx, cmd_name)

    def sections(self) -> list[Section]:
        """Return the encodings of each family."""
        found: dict[str, list[tuple[str, str]]] = {}
        for encoding in CATALOGUE.values():
            found.setdefault(encoding.family.title, []).append((encoding.name, encoding.description.splitlines()[0]))
        options = shared.declared(TableOptions)
        for name in OF_EVERY:
            one = options[name][1]
            label = f"{', '.join(one.names[::-1]) or '--' + name.replace('_', '-')} {one.metavar or ''}"
            found.setdefault("Options of every encoding", []).append((label.strip(), one.brief))
        return [Section(title, rows) for title, rows in found.items()]


def _built(word: str) -> Any:
    """Return the Typer command of an encoding, of a recipe or of a config."""
    name, own, table = _meaning(word)
    encoding, called = CATALOGUE[name], _runner(CATALOGUE[name], own, table, word)
    first, *paragraphs = (" ".join(text.split()) for text in encoding.description.split("\n\n"))
    formula = "\n".join(["Formula:", *(f"  {line}" for line in encoding.formula)])
    source = f"Source: {'; '.join(map(str, encoding.source))}."
    made = shared.command_of(called, name, EncodingCommand, first, examples_text(examples(encoding)))
    made.encoding, made.given, made.details = encoding, own, "\n\n".join([*paragraphs, formula, source])
    return made


class EncodingCommand(PlainCommand):
    """The command of an encoding: its short help has few parameters, or those of one choice such as --scaling yarn."""

    encoding: Encoding
    given: Mapping[str, str]

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """Keep what is typed beside --help, then parse as Typer does."""
        if not {"-h", "--help"}.isdisjoint(args):
            ctx.meta["typed"] = self.make_parser(ctx).parse_args(list(args))[0]
        return super().parse_args(ctx, args)

    def shown(self, ctx: Any) -> tuple[str, Sequence[str], str]:
        """Return the first parameters and the everyday options of a table; of a choice that was typed, its own."""
        given = {**self.given, **ctx.meta.get("typed", {})}
        for key, word in given.items():
            if names := dependents(self.encoding, key, word):
                example = line_of(self.encoding.name, {**completed(self.encoding, {key: word})[0], "len": 2048})
                return f"With --{key} {word}", names, examples_text([example])
        own, lines = list[str](), 0
        for p in self.encoding.options:
            lines += len(wrapped(self.brief[p.option], MEASURE)) if None in _values(p) else 0
            own += [p.option] if None in _values(p) and (lines <= ROOM or p.required) else []
        needed = [p.option for p in self.encoding.options if p.required]
        return OPTIONS, list(dict.fromkeys([*needed, "len", *own, *EVERYDAY])), super().shown(ctx)[-1]

    @property
    def brief(self) -> Mapping[str, str]:  # type: ignore[override]
        """What the short help says of parameters: no ranges, but how to see the options of a choice."""
        found = {}
        for p in self.encoding.options:
            found[p.option] = p.brief_text
            many = max(p.choices, key=lambda word: len(dependents(self.encoding, p.option, word)), default="")
            if len(dependents(self.encoding, p.option, many)) > 1:
                found[p.option] += f" Options of {many}: --{p.option} {many} --help."
        return found


def _values(parameter: Parameter) -> tuple[Any, ...]:
    """Return the values of another parameter with which this one has an effect; None is among them if it needs none."""
    values = (None,) if parameter.param.when is None else parameter.param.when[1]
    return values if isinstance(values, tuple) else ()


def dependents(encoding: Encoding, key: str, word: str) -> list[str]:
    """Return the options that have an effect only with this choice of a parameter, and those that depend on them."""
    found: dict[str, str] = {}  # by the parameters' names
    for parameter in encoding.options:
        name, _ = parameter.param.when or ("", ())
        if name in found or (name == key.replace("-", "_") and word in _values(parameter)):
            found[parameter.name] = parameter.option
    return list(found.values())


def _meaning(word: str) -> tuple[str, dict[str, str], dict[str, str]]:
    """Return the encoding that a word names, what it gives of its parameters, and what of the table."""
    if word in CATALOGUE:
        return word, {}, {}
    from pecli.models.config import load_config

    kind = kind_of(word)
    if kind is Kind.RECIPE:
        name, own = split_recipe(word)
        table = take_table_keys(name, own)
        return name, own, table | {key: own.pop(key) for key in OF_CONFIG if key in own}
    if kind is Kind.CONFIG:
        from pecli.models.reader import read_data

        return next(iter(read_data(load_config(word), word).layers.values())).encoding, {}, {"config": word}
    if os.path.exists(word):
        rule = "is a table already: pecli convert or pecli inspect reads it"
        if word.endswith(".json"):
            load_config(word)  # which says what is not JSON
            rule = "has no model_type, so it is not a model's config.json; pecli inspect reads tables"
        raise BadFile(clean(word), rule)
    raise shared.absent(word)


def examples(encoding: Encoding) -> list[str]:
    """Return command lines about an encoding that run as they stand."""
    length = "" if "grid=" in encoding.example else " --len 8"  # a grid says how many rows there are
    made = f"pecli generate {shlex.quote(encoding.example)}{length} -o table.npz"
    return [made, f"pecli explain {shlex.quote(encoding.example)}", f"pecli list {encoding.name}"]


def _runner(encoding: Encoding, defaults: Mapping[str, str], table: Mapping[str, str], word: str) -> Any:
    """Return a function with exactly the encoding's options and the table's; what they leave out a recipe gives."""
    others = {word.replace("-", "_"): word for word in encoding.other_words}
    own = {parameter.name: parameter.option for parameter in encoding.options} | others
    known = {parameter.name: parameter for parameter in encoding.options}
    parameters = [own_parameter(parameter, _panel(parameter, known)) for parameter in encoding.options]
    parameters += [Option("", hidden=True).parameter(name, str | None, None) for name in others]
    of_table = parameters_of(TableOptions, encoding.family)
    for name in {parameter.name for parameter in parameters} & {parameter.name for parameter in of_table}:
        option = f"--{name.replace('_', '-')}"
        raise BadRecipe(f"{encoding.name} declares {option}, an option of every table: give the parameter another name")

    def run(given: dict[str, Any]) -> int:
        typed = {name: value for name, value in given.items() if value is not None}
        own_values = {option: typed.pop(name) for name, option in own.items() if name in typed}
        found = {key.replace("-", "_"): text for key, text in table.items()}  # what the recipe says of the table
        if "positions" in typed:  # which exclude a length
            found = {name: text for name, text in found.items() if name not in ("len", "start", "step")}
        elif typed.keys() & {"len", "start", "step"}:
            found.pop("positions", None)
        return produce(encoding, {**defaults, **own_values}, checked(TableOptions, {**found, **typed}))

    keys = [parameter.option for parameter in encoding.options] if ":" in word else []
    return runner(run, [*parameters, *of_table], [*keys, *table])
