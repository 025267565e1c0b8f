"""Options that several commands share, each written once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Annotated, Any

import typer

from pecli.declare.tabular import DTYPES
from pecli.declare.words import STACKS
from pecli.tables.layouts import LAYOUTS


def completer(words: Iterable[str]) -> Callable[[str], list[str]]:
    """Return a completion function that offers these words."""
    known = list(words)

    def complete(incomplete: str) -> list[str]:
        return [word for word in known if word.startswith(incomplete)]

    return complete


Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.", show_default=False)]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print no messages.", show_default=False)]
LayerType = Annotated[
    str | None,
    typer.Option("--layer-type", metavar="NAME", help="Kind of layer, where a config's differ.", show_default=False),
]
Stack = Annotated[
    str | None,
    typer.Option(
        "--stack", metavar="WORD", help=f"Whose reading of a config: {', '.join(STACKS)} (default {STACKS[0]}).",
        show_default=False, autocompletion=completer(STACKS),
    ),
]  # fmt: skip
Atol = Annotated[str | None, typer.Option("--atol", metavar="X", help="Absolute tolerance.", show_default=False)]
Rtol = Annotated[
    str | None, typer.Option("--rtol", metavar="X", help="Tolerance relative to the second value.", show_default=False)
]
Ulp = Annotated[
    str | None, typer.Option("--ulp", metavar="N", help="Tolerance in units in the last place.", show_default=False)
]


Output = Annotated[
    str | None,
    typer.Option("--output", "-o", metavar="PATH", help="File to write, - for standard output.", show_default=False),
]
FormatWord = Annotated[
    str | None, typer.Option("--format", metavar="WORD", help="Format, whatever the suffix.", show_default=False)
]
Dtype = Annotated[
    str | None,
    typer.Option(
        "--dtype", metavar="TYPE", help=f"Type of the values: {', '.join(DTYPES)}.", show_default=False,
        autocompletion=completer(DTYPES),
    ),
]  # fmt: skip
Layout = Annotated[
    str | None,
    typer.Option(
        "--layout", metavar="WORD", help=f"Layout of a rotary table: {', '.join(LAYOUTS)}.", show_default=False,
        autocompletion=completer(LAYOUTS),
    ),
]  # fmt: skip
FromLayout = Annotated[
    str | None,
    typer.Option(
        "--from-layout", metavar="WORD", help="Layout that the source has, where nothing in it says so.",
        show_default=False, autocompletion=completer(LAYOUTS),
    ),
]  # fmt: skip
Threads = Annotated[
    str | None,
    typer.Option("--threads", metavar="T", help="Threads (default: all cores up to eight).", show_default=False),
]
Compress = Annotated[bool, typer.Option("--compress", help="Compress (HDF5: shuffle and gzip 1).", show_default=False)]
Wide = Annotated[bool, typer.Option("--wide", help="Parquet: one column per channel.", show_default=False)]
NoClobber = Annotated[
    bool, typer.Option("--no-clobber", help="Leave an existing file alone, and fail.", show_default=False)
]


def text_option(
    name: str, help_text: str, *, metavar: str = "TEXT", panel: str | None = None, words: Iterable[str] = ()
) -> Any:
    """Return an option whose text the library checks, so that its errors read the same everywhere."""
    known = list(words)
    return Annotated[
        str | None,
        typer.Option(
            *name.split(),
            metavar=metavar,
            help=help_text,
            rich_help_panel=panel,
            show_default=False,
            autocompletion=completer(known) if known else None,
        ),
    ]


def flag_option(name: str, help_text: str, *, panel: str | None = None) -> Any:
    """Return a flag that is None unless given."""
    return Annotated[
        bool | None, typer.Option(*name.split(), help=help_text, rich_help_panel=panel, show_default=False)
    ]
