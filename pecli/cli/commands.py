"""The commands in the order of the help: title, summary and examples of each; built when they are asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import typer

from pecli.cli.help import HELP_NAMES, PlainCommand, PlainGroup, examples_text, help_text, option_sections
from pecli.cli.terminal.output import clean
from pecli.errors import UnknownName


@dataclass(frozen=True)
class CommandEntry:
    """A command as the help describes it, without importing it.

    Attributes
    ----------
    module : str
        The module of its ``command``, in :mod:`pecli.cli`.
    title : str
        The title of its man page.
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
        "report what is in a table, a config or a checkpoint",
        "Report arrays, statistics and first values of a table; measure them.",
        (
            "pecli inspect pe.h5",
            "pecli inspect config.json",
            "pecli inspect cache.npy --expect finite,unique",
        ),
        meant=("show", "info", "cat", "view", "print", "describe"),
    ),
    "identify": CommandEntry(
        "identify",
        "find the recipe that gives a table's values",
        "Find the recipe that gives the values of a table, whatever its file states.",
        (
            "pecli identify cache.npy",
            "pecli identify cache.npy --get recipe",
        ),
        "It prints the recipe, how sure it is and which arithmetic made the values, or unknown and what was measured.",
        meant=("guess", "detect", "recognise", "recognize", "what", "which"),
    ),
    "verify": CommandEntry(
        "verify",
        "recompute every value of a file from its recipe",
        "Recompute every value of a file from its recipe; status 1 if one differs.",
        (
            "pecli verify pe.h5",
            "pecli verify cache.npy rope:dim=128,base=500000",
            "pecli verify parts -q && echo good",
        ),
        "The recipe is the one in the file, or one that follows it. A folder of parts is searched for gaps too.",
        meant=("check", "validate", "prove"),
    ),
    "compare": CommandEntry(
        "compare",
        "find out whether tables agree, and why they do not",
        "Compare tables: whether they agree, and why and where they do not; status 1 where they differ.",
        (
            "pecli compare cache.npy rope:dim=128,base=500000",
            "pecli compare sinusoidal rope alibi",
            "pecli compare config.json --stacks",
        ),
        meant=("diff", "cmp", "test", "versus"),
    ),
    "extrapolate": CommandEntry(
        "extrapolate",
        "measure what happens past the training length",
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
        "apply a table to tensors, exactly",
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
    "explain": CommandEntry(
        "explain",
        "work through an encoding, answer questions, give code",
        "Work through an example of an encoding step by step, answer questions about it, or give code for it.",
        (
            "pecli explain rope:dim=4",
            "pecli explain rope --why interleaved",
            "pecli explain alibi:heads=8 --code torch",
        ),
        meant=("teach", "learn", "example", "steps", "why", "code", "walk"),
    ),
    "plot": CommandEntry(
        "plot",
        "draw a table",
        "Draw a table in the terminal, as a picture, or as a page to play with.",
        (
            "pecli plot sinusoidal:dim=64",
            "pecli plot alibi:heads=8 --picture slopes -o slopes.svg",
            "pecli plot rope:dim=64,len=256 -o rope.html",
        ),
        meant=("draw", "picture", "figure", "chart", "image", "visualize", "visualise"),
    ),
    "list": CommandEntry(
        "list",
        "list the encodings",
        "List the encodings, or show one: formula, parameters, source, facts.",
        ("pecli list", "pecli list rope", "pecli list --choose"),
        meant=("ls", "encodings", "catalogue", "catalog", "search"),
    ),
}

OLDER = (
    # command, its option, and the words that are written instead of the two
    ("inspect", "--identify", ("identify",)),
    ("inspect", "--verify", ("verify",)),
    ("inspect", "--steps", ("explain",)),
    ("inspect", "--plot", ("plot", "--output")),
    ("list", "--why", ("explain", "--why")),
    ("list", "--code", ("explain", "--code")),
)
"""Older spellings of commands, which existing scripts may use; no help mentions them."""
SAME_OPTION = {
    "--seq-len": "--len", "--seq-length": "--len", "--max-seq-len": "--len", "--length": "--len", "-n": "--len",
    "-f": "--format",
}  # fmt: skip
"""Names of options that other programs use."""


def rewritten(words: Sequence[str]) -> list[str]:
    """Return a command line in today's words.

    Examples
    --------
    >>> rewritten(["inspect", "pe.h5", "--plot=pe.svg"])
    ['plot', 'pe.h5', '--output=pe.svg']
    """
    words = [SAME_OPTION.get(name := word.partition("=")[0], name) + word[len(name) :] for word in words]
    for command, option, (verb, *instead) in OLDER:
        at = next((k for k, word in enumerate(words) if word == option or word.startswith(f"{option}=")), None)
        if at is not None and words[0] == command:
            value = words[at][len(option) :]
            return [verb, *words[1:at], *(f"{word}{value}" for word in instead), *words[at + 1 :]]
    return words


class Commands(PlainGroup):
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
    if word.lower() == "slopes":
        return "pecli generate alibi --heads 8 --form slopes"
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
