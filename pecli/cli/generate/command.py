"""``pecli generate ENCODING``: one sub-command per encoding, derived from its declaration.

A recipe or a model's config stands where a name does: it is the command of its
encoding, and gives what the options leave out.
"""

from __future__ import annotations

import os.path
import shlex
from collections.abc import Mapping
from typing import Any

import typer
from typer.core import TyperGroup

from pecli.cli.help import HELP_NAMES, PlainCommand, examples_text, help_text, option_sections
from pecli.cli.options import Runner, checked, parameters_of
from pecli.cli.terminal.output import clean
from pecli.errors import BadFile
from pecli.spec.declaration import Encoding, Family

OF_CONFIG = ("config", "layer-type", "stack")  # keys of a recipe that say what is read of a config


def make_group(mode: Any, text: str, epilog: str) -> typer.Typer:
    """Return the ``generate`` group, with this help and epilog; its commands are made when they are asked for."""
    group = typer.Typer(
        cls=GenerateGroup,
        name="generate",
        add_completion=False,
        rich_markup_mode=mode,
        context_settings=HELP_NAMES,
        no_args_is_help=True,
        subcommand_metavar="ENCODING [OPTIONS]...",
        options_metavar="",
        help=text,
        epilog=epilog,
    )
    group.callback()(lambda: None)
    return group


class GenerateGroup(TyperGroup):
    """A group whose commands are the catalogue."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the encodings, by family."""
        from pecli.spec.catalogue import CATALOGUE

        return list(CATALOGUE)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the command of an encoding, of a recipe or of a config.

        Raises
        ------
        UnknownName
            If there is no such encoding, with the nearest name.
        """
        self._add(cmd_name)
        return super().get_command(ctx, cmd_name)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help: with rich where Typer does, else line by line."""
        if self.rich_markup_mode is not None:
            super().format_help(ctx, formatter)
            return
        from pecli.spec.catalogue import CATALOGUE

        sections = option_sections(self, ctx)
        for family in Family:
            rows = [(e.name, e.description.splitlines()[0]) for e in CATALOGUE.values() if e.family is family]
            sections += [(family.title, rows)] if rows else []
        formatter.write(help_text(self, ctx, sections))

    def _add(self, word: str) -> None:
        from pecli.spec.catalogue import CATALOGUE

        if word not in self.commands:
            name, own, table = _meaning(word)
            encoding, mode = CATALOGUE[name], self.rich_markup_mode
            app = typer.Typer(rich_markup_mode=mode, add_completion=False)
            app.command(
                name,
                cls=PlainCommand,
                help=described(encoding).replace("[", r"\[") if mode else described(encoding),
                epilog=examples_text(examples(encoding), mode),
                rich_help_panel=encoding.family.title,
                context_settings=HELP_NAMES,
            )(_runner(encoding, own, table, word))
            self.commands[word] = typer.main.get_command(app)


def _meaning(word: str) -> tuple[str, dict[str, str], dict[str, str]]:
    """Return the encoding that a word names, what it gives of its parameters, and what of the table."""
    from pecli.spec.catalogue import CATALOGUE, unknown_encoding

    if word in CATALOGUE:
        return word, {}, {}
    from pecli.formats import FORMATS
    from pecli.sources.kinds import Kind, kind_of
    from pecli.spec.recipe import split_recipe
    from pecli.tables.request import take_table_keys

    kind = kind_of(word)
    if kind is Kind.RECIPE:
        name, own = split_recipe(word)
        table = take_table_keys(name, own)
        return name, own, table | {key: own.pop(key) for key in OF_CONFIG if key in own}
    if kind is Kind.CONFIG:
        from pecli.models.config import load_config
        from pecli.models.reader import read_data

        return next(iter(read_data(load_config(word), word).layers.values())).encoding, {}, {"config": word}
    if os.path.exists(word):
        raise BadFile(clean(word), "is a file, and generate makes tables: pecli convert or pecli inspect reads it")
    if any(word.endswith(suffix) for form in FORMATS.values() for suffix in form.suffixes):
        raise BadFile(clean(word), "does not exist: check the name")
    raise unknown_encoding(clean(word.partition(":")[0]))


def described(encoding: Encoding) -> str:
    """Return the help of an encoding's command: its description, formula and source."""
    sources = "; ".join(str(source) for source in encoding.source)
    formula = "\n".join(f"  {line}" for line in encoding.formula)  # after a \b, line breaks stay
    return f"{encoding.description}\n\n\b\nFormula:\n{formula}\n\nSource: {sources}."


def examples(encoding: Encoding) -> list[str]:
    """Return command lines about an encoding that run as they stand."""
    length = "" if "grid=" in encoding.example else " --len 8"  # a grid says how many rows there are
    made = f"pecli generate {shlex.quote(encoding.example)}{length} -o table.npz"
    return [made, f"pecli inspect {shlex.quote(encoding.example)} --steps", f"pecli list {encoding.name}"]


def _runner(encoding: Encoding, beneath: Mapping[str, str], table: Mapping[str, str], word: str) -> Runner:
    """Return a function with exactly the encoding's options and the table's; what they leave out a recipe gives."""
    from pecli.cli.generate.options import TableOptions, other_word, own_panels, own_parameter

    own = {parameter.name: parameter.option for parameter in encoding.options}
    own |= {word.replace("-", "_"): word for word in encoding.other_words}
    panels = own_panels(encoding.options)
    parameters = [own_parameter(parameter, panels.get(parameter.name)) for parameter in encoding.options]
    parameters += map(other_word, encoding.other_words)

    def run(given: dict[str, Any]) -> int:
        from pecli.cli.generate.run import produce

        mine = {option: given.pop(name) for name, option in own.items()}
        options = checked(TableOptions, _together(given, table))
        return produce(encoding, {**beneath, **{k: v for k, v in mine.items() if v is not None}}, options)

    keys = [parameter.option for parameter in encoding.options] if ":" in word else []
    return Runner(run, [*parameters, *parameters_of(TableOptions, encoding.family)], [*keys, *table])


def _together(given: dict[str, Any], table: Mapping[str, str]) -> dict[str, Any]:
    """Return what is given of a table, above what a recipe says; a list of positions excludes a length."""
    found = {key.replace("-", "_"): text for key, text in table.items()}
    said = {name for name, value in given.items() if value is not None}
    if "positions" in said:
        found = {name: text for name, text in found.items() if name not in ("len", "start", "step")}
    elif said & {"len", "start", "step"}:
        found.pop("positions", None)
    return {**given, **{name: text for name, text in found.items() if name not in said}}
