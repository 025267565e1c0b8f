"""What the help of every command has in common, and how it is written where rich does not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import MethodType
from typing import Any, Literal

from typer.core import TyperCommand, TyperGroup

from pecli.cli.terminal.output import WIDE, prose_width, wants_colour, wrapped

Mode = Literal["markdown", "rich"] | None
"""How Typer prints a help: with rich on a terminal, plainly elsewhere."""

HELP_NAMES = {"help_option_names": ["-h", "--help"]}
OPTIONS = "Options"
NAMES = 24  # columns of an option's names; longer ones have a line of their own
NARROW = 60  # columns of a screen on which all have one

Section = tuple[str, Sequence[tuple[str, str]]]


def help_mode() -> Mode:
    """Return how help is printed: with rich on a terminal wide enough for its panels to cut no name."""
    return "rich" if wants_colour() and prose_width() >= WIDE else None


def examples_text(examples: Iterable[str], mode: Mode) -> str:
    r"""Return what a help ends with; after a \b plain help keeps the lines, rich takes paragraphs for lines."""
    lines = ["Examples:", *(f"  {line}" for line in examples)]
    return "\n\n".join(lines).replace("[", r"\[") if mode else "\b\n" + "\n".join(lines)


def option_sections(command: Any, ctx: Any) -> list[Section]:
    """Return titles and what stands below them: arguments, then options by their panels."""
    found: dict[str, list[tuple[str, str]]] = {}
    for param in command.get_params(ctx):
        record = param.get_help_record(ctx)
        if record is not None:
            argument = param.param_type_name == "argument"
            title = "Arguments" if argument else getattr(param, "rich_help_panel", None) or OPTIONS
            found.setdefault(title, []).append(record)
    return sorted(found.items(), key=lambda item: item[0] == OPTIONS)


class Plain:
    """What pecli's commands and groups have in common.

    Texts, lists of texts and flags are passed on unconverted: Typer 0.29 imports pydantic to convert even these, which
    nearly doubles the start. The help is in sections, and cuts no name at a hyphen, however narrow the screen.
    """

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters of the command and its --help."""
        command: Any = super()
        params: list[Any] = command.get_params(ctx)
        for param in params:
            param.process_value = MethodType(_unconverted, param)
        return params

    def sections(self, ctx: Any) -> list[Section]:
        """Return the titles of the help and what stands below them."""
        return option_sections(self, ctx)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help: with rich where Typer does, else line by line."""
        command: Any = self
        if command.rich_markup_mode is not None:
            command = super()
            command.format_help(ctx, formatter)
        else:
            formatter.write(help_text(self, ctx, self.sections(ctx)))


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


def help_text(command: Any, ctx: Any, sections: Sequence[Section]) -> str:
    """Return the help of a command or a group, as wide as the screen."""
    width = prose_width()
    pieces = " ".join(piece.strip("{}") for piece in command.collect_usage_pieces(ctx))
    lines = wrapped(f"Usage: {ctx.command_path} {pieces}", width, "", " " * 7)
    for paragraph in (command.help or "").split("\n\n"):
        lines += ["", *_paragraph(paragraph, width, "  ")]
    for title, rows in sections:
        wide = max(len(name) for name, _ in rows)
        indent = 0 if width < NARROW else min(NAMES, wide)
        lines += [
            "",
            *wrapped(f"{title}:", width),
            *(line for row in rows for line in _row(row[0], row[1], indent, width)),
        ]
    for paragraph in (command.epilog or "").split("\n\n"):
        lines += ["", *_paragraph(paragraph, width, "")]
    return "\n".join(lines) + "\n"


def _paragraph(text: str, width: int, lead: str) -> list[str]:
    r"""Return a paragraph; after a \b its lines stay."""
    if not text.startswith("\b\n"):
        return wrapped(" ".join(text.split()), width, lead, lead)
    lines = [lead + line for line in text.split("\n")[1:]]
    return [part for line in lines for part in wrapped(line.lstrip(), width, _blanks(line), _blanks(line) + "  ")]


def _blanks(line: str) -> str:
    return " " * (len(line) - len(line.lstrip()))


def _row(name: str, text: str, indent: int, width: int) -> list[str]:
    """Return an option: its help beside its names where these are short, else below them."""
    if len(name) > indent:
        hang = " " * (4 + indent if indent else 6)
        return [*wrapped(name, width, "  ", " " * 6), *wrapped(text, width, hang, hang)]
    return wrapped(text, width, f"  {name:<{indent}}  ", " " * (4 + indent))
