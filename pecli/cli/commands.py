"""The commands, in the order of the help; each is built when it is asked for."""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Any, Literal

import typer
from typer.core import TyperGroup

from pecli.cli.options import runner_of
from pecli.cli.terminal.output import clean
from pecli.errors import UnknownName

Mode = Literal["markdown", "rich"] | None

MODULES = {
    "generate": "generate.command",
    "inspect": "inspect.command",
    "compare": "compare.command",
    "extrapolate": "extrapolate.command",
    "convert": "convert",
    "list": "list",
}
ORDER = tuple(MODULES)


class Commands(TyperGroup):
    """The root group: building the options of every command would cost more than running one."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the commands in the order in which a new user wants them."""
        return list(ORDER)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command, built on first use.

        Raises
        ------
        UnknownName
            If there is no such command, with the nearest name.
        """
        if cmd_name not in MODULES:
            raise UnknownName("command", clean(cmd_name), ORDER)
        if cmd_name not in self.commands:
            self.commands[cmd_name] = _built(cmd_name, self.rich_markup_mode)
        return super().get_command(ctx, cmd_name)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write each command with its whole first sentence."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary(name)) for name in ORDER])


def _module(name: str) -> Any:
    return import_module(f"pecli.cli.{MODULES[name]}")


def summary(name: str) -> str:
    """Return the first line of a command's docstring."""
    module = _module(name)
    text = module.SUMMARY if name == "generate" else inspect.getdoc(module.command)
    return str(text).splitlines()[0]


def _built(name: str, mode: Any) -> Any:
    """Return the Typer command (for ``generate`` the group) of this name."""
    module = _module(name)
    if name == "generate":
        return typer.main.get_command(module.make_group(mode))
    app = typer.Typer(rich_markup_mode=mode, add_completion=False)
    app.command(name, help=inspect.getdoc(module.command), context_settings={"help_option_names": ["-h", "--help"]})(
        runner_of(module.command)
    )
    return typer.main.get_command(app)
