"""The commands, in the order of the help: what the help says of each, and where it is; built when it is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

from pecli.cli.help import HELP_NAMES, PlainCommand, examples_text, help_text, option_sections
from pecli.cli.terminal.output import clean
from pecli.errors import UnknownName


@dataclass(frozen=True)
class CommandEntry:
    """What is known of a command without importing it.

    Attributes
    ----------
    module : str
        Where its ``command`` is, in :mod:`pecli.cli`.
    title : str
        What its man page says that it does.
    summary : str
        The first line of its help.
    examples : tuple of str
        Command lines that its help ends with.
    detail : str
        A further paragraph of the help.
    meant : tuple of str
        Words that people type for it.
    """

    module: str
    title: str
    summary: str
    examples: tuple[str, ...]
    detail: str = ""
    meant: tuple[str, ...] = ()


COMMANDS = {
    "generate": CommandEntry(
        "generate",
        "write the table of a positional encoding",
        "Write the table of an encoding to a file, or print it.",
        (
            "pecli generate sinusoidal --len 2048 --dim 512 -o pe.h5",
            "pecli generate rope:dim=128,base=500000,len=8192 -o rope.safetensors",
            "pecli generate config.json --dtype bf16 --layout model -o cache.safetensors",
        ),
        "ENCODING is a name of those below, a recipe such as rope:dim=128, or a model's config.json.",
        ("create", "make", "new", "write", "build", "gen", "table"),
    ),
    "inspect": CommandEntry(
        "inspect",
        "say what is in a table, or what a recipe means",
        "Say what a table holds; identify it, verify it, measure it, draw it.",
        (
            "pecli inspect cache.npy --identify",
            "pecli inspect pe.h5 --verify",
            "pecli inspect rope:dim=4 --steps",
        ),
        meant=("show", "info", "cat", "view", "print", "describe", "check", "verify", "validate", "identify", "plot"),
    ),
    "compare": CommandEntry(
        "compare",
        "say whether tables agree, and where they do not",
        "Compare tables: how far they are apart, where, and why; status 1 where they differ.",
        (
            "pecli compare cache.npy rope:dim=128,base=500000",
            "pecli compare sinusoidal rope alibi",
            "pecli compare config.json --stacks",
        ),
        meant=("diff", "cmp", "test", "versus"),
    ),
    "extrapolate": CommandEntry(
        "extrapolate",
        "say what happens past the training length",
        "Measure what an encoding does beyond the length it was trained on, and write longer tables.",
        (
            "pecli extrapolate rope:dim=128 --train-len 4096 --test-len 32768 --scaling all",
            "pecli extrapolate trained.npy --test-len 1024 --extend linear -o longer.npy",
        ),
        "Training saw positions 0 to N-1; positions N to M-1 are new.",
        ("extend", "resize", "scale", "interpolate"),
    ),
    "apply": CommandEntry(
        "apply",
        "say what a table does to tensors, exactly",
        "Apply a table to tensors: rotate queries and keys, add rows or biases, compute scores.",
        (
            "pecli apply sinusoidal:dim=512 emb.npy --input-scale sqrt -o x.npy",
            "pecli apply rope:dim=128 q.npy k.npy --pairs half --start 1024 -o qk.npz",
            "pecli apply config.json --random 2x32x16x128 --kv-heads 8 -o golden.npz",
        ),
        meant=("rotate", "add", "run", "embed"),
    ),
    "convert": CommandEntry(
        "convert",
        "change format, type or layout of a table",
        "Change format, type or layout of a table, block by block.",
        (
            "pecli convert pe.h5 -o pe.parquet",
            "pecli convert rope.npz --layout half --dtype float16 -o rope.safetensors",
        ),
        meant=("export", "cast", "save", "to"),
    ),
    "list": CommandEntry(
        "list",
        "list the encodings",
        "List the encodings, or show one: formula, parameters, source, facts.",
        ("pecli list", "pecli list rope", "pecli list --json"),
        meant=("ls", "encodings", "catalogue", "catalog", "search"),
    ),
}


class Commands(TyperGroup):
    """The root group: building the options of every command would cost more than running one."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the commands in the order in which a new user wants them."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command, built on first use.

        Raises
        ------
        UnknownName
            If there is no such command, with the nearest name.
        """
        if cmd_name not in COMMANDS:
            raise UnknownName("command", clean(cmd_name), COMMANDS, _meant(cmd_name))
        if cmd_name not in self.commands:
            self.commands[cmd_name] = _built(cmd_name, self.rich_markup_mode)
        return super().get_command(ctx, cmd_name)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help: with rich where Typer does, else line by line."""
        if self.rich_markup_mode is not None:
            super().format_help(ctx, formatter)
            return
        commands = [(name, entry.summary) for name, entry in COMMANDS.items()]
        formatter.write(help_text(self, ctx, [*option_sections(self, ctx), ("Commands", commands)]))


def _meant(word: str) -> str | None:
    """Return the command that a word means, which may be an encoding's name; None where that is not known."""
    from pecli.spec.catalogue import CATALOGUE

    if word.partition(":")[0] in CATALOGUE:
        return f"pecli generate {clean(word)}, or pecli list {clean(word.partition(':')[0])}"
    meant = next((name for name, entry in COMMANDS.items() if word.lower() in entry.meant), None)
    return f"pecli {meant}" if meant else None


def _built(name: str, mode: Any) -> Any:
    """Return the Typer command (for ``generate`` the group) of this name."""
    entry = COMMANDS[name]
    text, epilog = f"{entry.summary}\n\n{entry.detail}".strip(), examples_text(entry.examples, mode)
    module = import_module(f"pecli.cli.{entry.module}")
    if name == "generate":
        return typer.main.get_command(module.make_group(mode, text, epilog))
    from pecli.cli.options import runner_of

    app = typer.Typer(rich_markup_mode=mode, add_completion=False)
    app.command(name, cls=PlainCommand, context_settings=HELP_NAMES, help=text, epilog=epilog)(
        runner_of(module.command)
    )
    return typer.main.get_command(app)
