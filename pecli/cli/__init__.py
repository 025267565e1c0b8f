"""The command line: one module per command, assembled here.

Every command imports what it needs inside its body, so that help, completion
and the listing of encodings load neither NumPy nor h5py nor pyarrow.
"""

from __future__ import annotations

from typing import Annotated

import typer

from pecli.cli.terminal.output import say, wants_colour

HELP_NAMES = {"help_option_names": ["-h", "--help"]}


def make_app() -> typer.Typer:
    """Return the application; its help is rich on a terminal and plain elsewhere."""
    from pecli.cli import commands

    mode: commands.Mode = "rich" if wants_colour() else None
    app = typer.Typer(
        name="pecli",
        cls=commands.Commands,
        rich_markup_mode=mode,
        context_settings=HELP_NAMES,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        epilog="A SOURCE is a file, file::name, - for standard input, or a recipe such as rope:dim=128,base=500000.",
    )
    app.callback()(_root)
    return app


def _version(wanted: bool) -> None:
    if wanted:
        from pecli.version import __version__

        say(f"pecli {__version__}")
        raise typer.Exit


def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of a bug.")] = False,
) -> None:
    """Exact positional-encoding tables: generate, compare, inspect, extrapolate."""
