"""Help of every command: its everyday options in the order of use, or all of them in groups."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MethodType
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from pecli.cli.terminal.items import Fact, Item, Section
from pecli.cli.terminal.output import say, wants_colour
from pecli.cli.terminal.screen import text_of

HELP_NAMES = {"help_option_names": ["-h", "--help"]}
OPTIONS, ARGUMENTS = "Options", "Arguments"


def examples_text(examples: Iterable[str]) -> str:
    """Return what a help ends with."""
    return "\n".join(["Examples:", *(f"  {line}" for line in examples)])


def groups_of(params: Iterable[Any]) -> dict[str, list[Any]]:
    """Return what is shown of parameters by group: arguments, then the groups of options, then the other options."""
    found: dict[str, list[Any]] = {ARGUMENTS: []}
    for param in sorted(params, key=lambda param: not param.rich_help_panel):
        if not param.hidden:
            argument = param.param_type_name == "argument"
            found.setdefault(ARGUMENTS if argument else param.rich_help_panel or OPTIONS, []).append(param)
    return {title: params for title, params in found.items() if params}


def show_everything(ctx: typer.Context, asked: bool) -> None:
    """Print all options of a command and exit: the callback of --help-all."""
    if asked:
        command: Any = ctx.command
        say(text_of(command.whole_help(ctx), prose=True))
        raise typer.Exit


class Plain:
    """What pecli's commands and groups have in common.

    Texts, lists of texts and flags are passed on unconverted: Typer 0.29 imports pydantic to convert even these, which
    nearly doubles the start.  The help is not Typer's, whose panels cut names where the screen is narrow.
    """

    everyday: Sequence[str] = ()  # options of the short help, in its order; empty for all
    brief: Mapping[str, str] = {}  # what it says of them, where that is shorter
    details = ""  # a paragraph of the whole help

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters of the command and its --help."""
        command: Any = super()
        params: list[Any] = command.get_params(ctx)
        for param in params:
            param.process_value = MethodType(_unconverted, param)
        return params

    def shown(self: Any, ctx: Any) -> tuple[str, Sequence[str], str]:
        """Return the title of the short help's options, their names, and how it ends."""
        return OPTIONS, self.everyday, self.epilog

    def sections(self) -> list[Section]:
        """Return what the help has besides options."""
        return []

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help with the everyday options, and how many others there are."""
        groups = groups_of(self.get_params(ctx))
        arguments = groups.pop(ARGUMENTS, [])
        options = {_long(param): param for params in groups.values() for param in params}
        options = {name: param for name, param in options.items() if name not in ("help", "help-all")}
        title, names, end = self.shown(ctx)
        chosen = [options[name] for name in names or options if name in options]
        if left := len(options) - len(chosen):
            end += f"\n\n{left} more options: {ctx.command_path} --help-all"
        page = self._page(ctx, {ARGUMENTS: arguments, title: chosen}, end, self.brief)
        ctx.color = wants_colour()
        formatter.write(text_of(page, prose=True) + "\n")

    def whole_help(self: Any, ctx: Any) -> list[Item]:
        """Return the help with all options in their groups."""
        page: list[Item] = self._page(ctx, groups_of(self.get_params(ctx)), self.epilog, {}, self.details)
        return page

    def _page(
        self, ctx: Any, groups: Mapping[str, Sequence[Any]], end: str, brief: Mapping[str, str], details: str = ""
    ) -> list[Item]:
        command: Any = self
        arguments = (param.metavar for param in command.params if param.param_type_name == "argument")
        usage = getattr(self, "subcommand_metavar", " ".join([*arguments, "[OPTIONS]"]))
        options = [
            Section(title, [(names_of(param), brief.get(_long(param), param.help or "")) for param in params])
            for title, params in groups.items() if params
        ]  # fmt: skip
        head = _paragraphs(f"{command.help}\n\n{details}".rstrip())
        return [f"Usage: {ctx.command_path} {usage}", *head, *self.sections(), *options, *_paragraphs(end)]


def _paragraphs(text: str) -> list[Item]:
    return [item for part in text.split("\n\n") for item in ("", Fact("", part, 0))]


def _long(param: Any) -> str:
    return str(max(param.opts, key=len)).lstrip("-")


def names_of(param: Any) -> str:
    """Return the names of an option with the placeholder of its value, or that of an argument."""
    if param.param_type_name == "argument":
        return param.metavar[1:-1] if param.metavar.startswith("[") else str(param.metavar)
    names = ", ".join(sorted(param.opts, key=len)) + "".join(f" / {name}" for name in param.secondary_opts)
    return names if param.is_flag else f"{names} {param.metavar or 'TEXT'}"


def _unconverted(param: Any, ctx: Any, value: Any) -> Any:
    if value is None and (param.multiple or param.nargs == -1):
        value = ()
    if param.required and param.value_is_missing(value):
        return type(param).process_value(param, ctx, value)  # which raises Typer's error
    return value if param.callback is None else param.callback(ctx, param, value)


class PlainGroup(Plain, TyperGroup):
    """A group of commands that are built when they are asked for."""


class PlainCommand(Plain, TyperCommand):
    """A command."""
