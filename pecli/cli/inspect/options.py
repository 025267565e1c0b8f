"""The options of ``pecli inspect`` that no other command has."""

from __future__ import annotations

from typing import Annotated

import typer

from pecli.cli.options import completer
from pecli.declare.words import PICTURES

LOOK, TABLE, SCREEN = "What to look for", "Of a recipe", "Screen"

Source = Annotated[
    str, typer.Argument(metavar="SOURCE", help="A file, file::name, a folder of parts, -, or a recipe.")
]  # fmt: skip
Identify = Annotated[
    bool,
    typer.Option(
        "--identify", help="Find out what a table is from its values alone.", rich_help_panel=LOOK, show_default=False
    ),
]
Verify = Annotated[
    bool,
    typer.Option(
        "--verify", help="Recompute every value from the recipe; status 1 if one differs.", rich_help_panel=LOOK,
        show_default=False,
    ),
]  # fmt: skip
Recipe = Annotated[
    str | None,
    typer.Option(
        "--recipe", metavar="RECIPE", help="What --verify recomputes, where the file does not say.",
        rich_help_panel=LOOK, show_default=False,
    ),
]  # fmt: skip
Properties = Annotated[
    bool,
    typer.Option(
        "--properties", help="Measure what the values show: bounds, distances, shifts.", rich_help_panel=LOOK,
        show_default=False,
    ),
]  # fmt: skip
Steps = Annotated[
    bool,
    typer.Option(
        "--steps", help="Work an example of a recipe, step by step.", rich_help_panel=LOOK, show_default=False
    ),
]
Sha256 = Annotated[
    bool,
    typer.Option(
        "--sha256", help="Print the hash of the little-endian values.", rich_help_panel=LOOK, show_default=False
    ),
]
Plot = Annotated[
    str | None,
    typer.Option(
        "--plot", metavar="PATH", help="Draw to a file (.svg, .png), or - for the terminal.", rich_help_panel=LOOK,
        show_default=False,
    ),
]  # fmt: skip
Picture = Annotated[
    str | None,
    typer.Option(
        "--picture", metavar="WORD", help=f"What to draw, joined with +: {', '.join(PICTURES)}.", rich_help_panel=LOOK,
        show_default=False, autocompletion=completer(PICTURES),
    ),
]  # fmt: skip
Length = Annotated[
    str | None,
    typer.Option("--len", metavar="N", help="Rows (default 128).", rich_help_panel=TABLE, show_default=False),
]
Start = Annotated[
    str | None,
    typer.Option("--start", metavar="P", help="First position (default 0).", rich_help_panel=TABLE, show_default=False),
]
Step = Annotated[
    str | None,
    typer.Option(
        "--step", metavar="S", help="Distance of neighbouring positions (default 1).", rich_help_panel=TABLE,
        show_default=False,
    ),
]  # fmt: skip
Positions = Annotated[
    str | None,
    typer.Option(
        "--positions", metavar="LIST", help="Positions instead: 0,5,9.5, or @FILE.", rich_help_panel=TABLE,
        show_default=False,
    ),
]  # fmt: skip
Form = Annotated[
    str | None,
    typer.Option(
        "--form", metavar="WORD", help="Form of a bias or of relative vectors.", rich_help_panel=TABLE,
        show_default=False,
    ),
]  # fmt: skip
Rows = Annotated[
    str | None,
    typer.Option("--rows", metavar="N", help="Rows to print (default 8).", rich_help_panel=SCREEN, show_default=False),
]
Columns = Annotated[
    str | None,
    typer.Option(
        "--columns", metavar="N", help="Columns to print (default 8).", rich_help_panel=SCREEN, show_default=False
    ),
]
Precision = Annotated[
    str | None,
    typer.Option(
        "--precision", metavar="N", help="Decimals to print (default 4).", rich_help_panel=SCREEN, show_default=False
    ),
]
