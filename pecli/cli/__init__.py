"""The command line: one module per command, assembled here.

Every command imports what it needs inside its body, so that help, completion
and the listing of encodings load neither NumPy nor h5py nor pyarrow.
"""

from __future__ import annotations

from typing import Annotated

import typer

from pecli.cli.help import HELP_NAMES, examples_text
from pecli.cli.terminal.output import say
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


def make_app() -> typer.Typer:
    """Return the application."""
    from pecli.cli.commands import Commands

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
