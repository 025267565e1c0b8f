"""The commands, in the order of the help."""

from __future__ import annotations

from typing import Literal

import typer

Mode = Literal["markdown", "rich"] | None


def register(app: typer.Typer, mode: Mode) -> None:
    """Add every command to the application."""
    from pecli.cli import compare, extrapolate, generate, inspect_, list_

    app.add_typer(generate.make_group(mode), name="generate")
    for module, name in ((inspect_, "inspect"), (compare, "compare"), (extrapolate, "extrapolate"), (list_, "list")):
        app.command(name, context_settings={"help_option_names": ["-h", "--help"]})(module.command)
