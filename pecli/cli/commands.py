"""The commands in the order of the help: title, summary and examples of each; built when they are asked for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, Any, NamedTuple

import typer

from pecli.cli.help import HELP_NAMES, PlainCommand, PlainGroup, examples_text
from pecli.cli.terminal.items import Section
from pecli.cli.terminal.output import clean, say
from pecli.errors import UnknownName
from pecli.version import __version__

EPILOG = (
    "A SOURCE is a file, file::name, - for standard input, a model's config.json, or a recipe such as "
    "rope:dim=128,base=500000. Files are npy, npz, HDF5, Parquet, csv, json, Arrow or safetensors. "
    "PyTorch files (.pt) are read, not written."
)
FIRST = (
    "pecli generate sinusoidal --len 2048 --dim 512 -o pe.h5",
    "pecli generate config.json -o llama.npz",
    "pecli compare cache.npy config.json",
    "pecli identify cache.npy",
    "pecli explain rope:dim=4",
)


class CommandEntry(NamedTuple):
    """A command as the help describes it, without importing its module, which has its name.

    Attributes
    ----------
    summary : str
        The first line of its help.
    examples : str
        Command lines that its help ends with, one a line.
    meant : str
        Words that people type for it.
    everyday : str
        Options of its short help, in the order in which a person wants them; empty for all.
    detail : str
        A further paragraph of the help.
    """

    summary: str
    examples: str
    meant: str
    everyday: str = ""
    detail: str = ""


COMMANDS = {
    "generate": CommandEntry(
        "Write the table of an encoding to a file, or print it.",
        """pecli generate sinusoidal --len 2048 --dim 512 -o pe.h5
        pecli generate rope:dim=128,base=500000,len=8192 -o rope.safetensors
        pecli generate config.json --dtype bf16 --layout model -o cache.safetensors""",
        "create make new write build gen table",
        "",
        "ENCODING is one of the names below, a recipe such as rope:dim=128, or a model's config.json.",
    ),
    "inspect": CommandEntry(
        "Show what is in a table, a config or a checkpoint.",
        """pecli inspect pe.h5
        pecli inspect config.json
        pecli inspect cache.npy --expect finite,unique""",
        "show info cat view print describe head stat stats",
        "all frequencies properties expect rows columns len positions layer-type get json",
    ),
    "identify": CommandEntry(
        "Find the recipe that gives a table's values.",
        """pecli identify cache.npy
        pecli identify cache.npy --get recipe""",
        "guess detect recognise recognize what which",
        "all digits positions get json",
        "It looks only at the values. It prints the recipe, how sure it is and the arithmetic that made the values. Of "
        "an unknown table it prints which one it nearly is and how it differs, or what was measured.",
    ),
    "verify": CommandEntry(
        "Check every value of a file against its recipe; status 1 if one differs.",
        """pecli verify pe.h5
        pecli verify cache.npy rope:dim=128,base=500000
        pecli verify parts -q && echo good""",
        "check validate prove",
        "",
        "The recipe is the one in the file, or the one that you give. In a folder of parts it also finds gaps.",
    ),
    "compare": CommandEntry(
        "Say whether two tables agree, and why and where they differ.",
        """pecli compare cache.npy rope:dim=128,base=500000
        pecli compare sinusoidal rope alibi
        pecli compare config.json --stacks""",
        "diff cmp test versus",
        "atol rtol ulp digits all values stacks cost plot format get json quiet",
        "Status 0 if they agree, 1 if they differ. Recipes alone are compared by their properties.",
    ),
    "extrapolate": CommandEntry(
        "Measure what happens past the training length; lengthen or resize tables.",
        """pecli extrapolate rope:dim=128 --train-len 4096 --test-len 32768 --scaling all
        pecli extrapolate trained.npy --test-len 1024 --extend linear -o longer.npy
        pecli extrapolate vit.safetensors::pos_embed --to-grid 24x24 -o x.safetensors""",
        "extend resize scale interpolate",
        "train-len test-len scaling factor tuned all extend to-grid output plot layer-type format json",
        "Training saw positions 0 to N-1; positions N to M-1 are new.",
    ),
    "apply": CommandEntry(
        "Apply a table to tensors: rotate, add, or compute scores.",
        """pecli apply rope:dim=4 --vector 1,2,-1,1 --positions 1
        pecli apply rope:dim=128 q.npy k.npy --pairs half --start 1024 -o qk.npz
        pecli apply config.json --random 2x32x16x128 --kv-heads 8 -o golden.npz""",
        "rotate add run embed",
        "positions start pairs vector steps scores mask random way dtype output json",
    ),
    "convert": CommandEntry(
        "Change the format, type or layout of a table.",
        """pecli convert pe.h5 -o pe.parquet
        pecli convert pe.h5 --start 100 --len 50 -o part.npy
        pecli convert rope.npz --layout half --dtype float16 -o rope.safetensors""",
        "export cast save to",
        "output format dtype layout start len compress from-pairs to-pairs json",
    ),
    "explain": CommandEntry(
        "Work through an example, answer questions, or print code.",
        """pecli explain rope:dim=4
        pecli explain rope --why interleaved
        pecli explain alibi:heads=8 --code torch""",
        "teach learn example steps why code walk",
        "why code positions len precision format json",
    ),
    "plot": CommandEntry(
        "Draw a table in the terminal, as a picture or as an interactive page.",
        """pecli plot sinusoidal
        pecli plot alibi:heads=8 --kind slopes -o slopes.svg
        pecli plot rope:dim=64,len=256 -o rope.html""",
        "draw picture figure chart image visualize visualise",
        "output kind channels len positions layer-type json",
    ),
    "list": CommandEntry(
        "List the encodings, describe one, or recommend some for a task.",
        """pecli list
        pecli list rope
        pecli list --choose long-context""",
        "ls encodings catalogue catalog search choose recommend",
    ),
}  # fmt: skip

# Older spellings of commands, which existing scripts may use; no help mentions them.
OLDER = (
    # command, its option, and the words that are written instead of the two
    ("inspect", "--identify", ("identify",)),
    ("inspect", "--verify", ("verify",)),
    ("inspect", "--steps", ("explain",)),
    ("inspect", "--plot", ("plot", "--output")),
    ("list", "--why", ("explain", "--why")),
    ("list", "--code", ("explain", "--code")),
)


def rewritten(words: Sequence[str]) -> list[str]:
    """Return a command line in today's words.

    Examples
    --------
    >>> rewritten(["inspect", "pe.h5", "--plot=pe.svg"])
    ['plot', 'pe.h5', '--output=pe.svg']
    """
    words, names = list(words), [word.partition("=")[0] for word in words]
    if "--len" not in names:  # with it, --seq-len is a parameter of rope
        words = [re.sub("^--seq-len(?==|$)", "--len", word) for word in words]
    for command, option, (verb, *instead) in OLDER:
        if words[:1] == [command] and option in names:
            at = names.index(option)
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
            self.commands[cmd_name] = built(cmd_name)
        return super().get_command(ctx, cmd_name)

    def sections(self) -> list[Section]:
        """Return the commands."""
        return [Section("Commands", [(name, entry.summary) for name, entry in COMMANDS.items()])]


def _meant(word: str) -> str | None:
    """Return the command that a word means, which may be an encoding's name; None where that is not known."""
    from pecli.spec.catalogue import CATALOGUE

    if word.partition(":")[0] in CATALOGUE:
        return f"pecli generate {clean(word)}, or pecli list {clean(word.partition(':')[0])}"
    if word.lower() == "slopes":
        return "pecli generate alibi --heads 8 --form slopes"
    meant = next((name for name, entry in COMMANDS.items() if word.lower() in entry.meant.split()), None)
    return f"pecli {meant}" if meant else None


def built(name: str) -> Any:
    """Return the Typer command (for ``generate`` the group) of this name."""
    entry = COMMANDS[name]
    text = f"{entry.summary}\n\n{entry.detail}".strip()
    epilog = examples_text(map(str.strip, entry.examples.splitlines()))
    module = import_module(f"pecli.cli.{name}")
    if name == "generate":
        settings: Any = {"context_settings": HELP_NAMES, "subcommand_metavar": "ENCODING [OPTIONS]..."}
        return module.GenerateGroup(name=name, help=text, epilog=epilog, **settings)
    from pecli.cli.options import command_of, runner_of

    made = command_of(runner_of(module.command), name, PlainCommand, text, epilog)
    made.everyday = entry.everyday.split()
    return made


def make_app() -> typer.Typer:
    """Return the application."""
    app = typer.Typer(
        name="pecli",
        cls=Commands,
        rich_markup_mode=None,
        subcommand_metavar="COMMAND [OPTIONS]...",
        context_settings=HELP_NAMES,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        epilog=f"{EPILOG}\n\n{examples_text(FIRST)}",
    )
    app.callback()(_root)
    return app


def _version(wanted: bool) -> None:
    if wanted:
        say(f"pecli {__version__}")
        raise typer.Exit


def _root(
    version: Annotated[
        bool, typer.Option("--version", "-V", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    plugin: Annotated[
        str | None, typer.Option("--plugin", metavar="FILE.py", help="Load your own encodings from FILE.py.")
    ] = None,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of a bug.")] = False,
) -> None:
    """Exact positional-encoding tables: generate, identify, verify, compare, extrapolate."""
