"""The commands, in the order of the help."""

from __future__ import annotations

from typing import Any, Literal

import typer
from typer.core import TyperGroup

Mode = Literal["markdown", "rich"] | None

ORDER = ("generate", "inspect", "compare", "extrapolate", "convert", "list")


class Ordered(TyperGroup):
    """The root group; Typer would list groups after commands."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the commands in the order in which a new user wants them."""
        return [name for name in ORDER if name in self.commands]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write each command with its whole first sentence."""
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, self.commands[name].get_short_help_str(200)) for name in self.list_commands(ctx)]
            )


def register(app: typer.Typer, mode: Mode) -> None:
    """Add every command to the application."""
    from pecli.cli import compare, convert, extrapolate, generate, inspect_, list_

    app.add_typer(generate.make_group(mode), name="generate")
    for module, name in (
        (inspect_, "inspect"),
        (compare, "compare"),
        (extrapolate, "extrapolate"),
        (convert, "convert"),
        (list_, "list"),
    ):
        app.command(name, context_settings={"help_option_names": ["-h", "--help"]})(module.command)
