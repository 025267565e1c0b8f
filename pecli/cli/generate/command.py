"""``pecli generate ENCODING``: one sub-command per encoding, derived from its declaration."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup

from pecli.cli.options import Runner, checked, parameters_of
from pecli.cli.terminal.output import clean
from pecli.declare.encoding import Encoding, Family
from pecli.errors import UnknownName

SUMMARY = "Write the table of an encoding to a file, or print it."


def make_group(mode: Any) -> typer.Typer:
    """Return the ``generate`` group; its commands are made when they are asked for."""
    group = typer.Typer(
        cls=GenerateGroup,
        name="generate",
        help=SUMMARY,
        add_completion=False,
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
                help=help_text(encoding).replace("[", r"\[") if self.rich_markup_mode else help_text(encoding),
                rich_help_panel=encoding.family.title,
                context_settings={"help_option_names": ["-h", "--help"]},
            )(_runner(encoding))
            self.commands[name] = typer.main.get_command(app)


def help_text(encoding: Encoding) -> str:
    """Return the help of an encoding's command: its description, formula and source."""
    sources = "; ".join(str(source) for source in encoding.source)
    formula = "\n".join(f"  {line}" for line in encoding.formula)  # after a \b, line breaks stay
    return f"{encoding.description}\n\n\b\nFormula:\n{formula}\n\nSource: {sources}."


def _runner(encoding: Encoding) -> Runner:
    """Return a function with exactly the encoding's options and the table's."""
    from pecli.cli.generate.options import TableOptions, own_parameter

    own = [own_parameter(parameter) for parameter in encoding.options]

    def run(given: dict[str, Any]) -> int:
        from pecli.cli.generate.run import produce

        mine = {parameter.name: given.pop(parameter.name) for parameter in own}
        return produce(encoding, {n: v for n, v in mine.items() if v is not None}, checked(TableOptions, given))

    return Runner(run, [*own, *parameters_of(TableOptions, encoding.family)])
