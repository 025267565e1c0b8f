"""The options of ``extrapolate``, each written once, and what they may not be together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from pecli.cli.options import completer
from pecli.errors import BadParameter

if TYPE_CHECKING:
    from pecli.cli.extrapolate.run import Options

LENGTHS, SCALINGS, LONGER, TRIAL = "Lengths", "Context extensions", "Longer tables", "Trial"
WAYS = ("linear", "cubic", "nearest", "tile", "hierarchical")
ALONE = "scalings of a rotary or sinusoidal encoding side by side"

TrainLen = Annotated[
    str | None,
    typer.Option(
        metavar="N", help="Positions seen in training (default: what the source states, a file's rows).",
        show_default=False, rich_help_panel=LENGTHS,
    ),
]  # fmt: skip
TestLen = Annotated[
    str | None, typer.Option(metavar="M", help="Positions wanted.", show_default=False, rich_help_panel=LENGTHS)
]
Threshold = Annotated[
    str | None,
    typer.Option(
        metavar="X", help="Weight, against the nearest key's, down to which a bias reaches (default 0.01).",
        show_default=False, rich_help_panel=LENGTHS,
    ),
]  # fmt: skip
Tuned = Annotated[
    bool,
    typer.Option(
        "--tuned", help="The training used the recipe's own scaling (default: it was added afterwards).",
        show_default=False, rich_help_panel=LENGTHS,
    ),
]  # fmt: skip
Scaling = Annotated[
    str | None,
    typer.Option(
        metavar="LIST", help=f"Show {ALONE}: all, or a list such as linear,yarn.", show_default=False,
        rich_help_panel=SCALINGS,
    ),
]  # fmt: skip
Factor = Annotated[
    str | None,
    typer.Option(metavar="X", help="Their factor (default M/N).", show_default=False, rich_help_panel=SCALINGS),
]
Extend = Annotated[
    str | None,
    typer.Option(
        metavar="WAY", help=f"Extend trained rows: {', '.join(WAYS)}.", show_default=False, rich_help_panel=LONGER,
        autocompletion=completer(WAYS),
    ),
]  # fmt: skip
Prefix = Annotated[
    str | None,
    typer.Option(
        metavar="K", help="Rows at the start that stay as they are (default 0).", show_default=False,
        rich_help_panel=LONGER,
    ),
]  # fmt: skip
GridSize = Annotated[
    str | None,
    typer.Option(
        "--grid", metavar="HxW", help="The rows are patches of a grid, row by row.", show_default=False,
        rich_help_panel=LONGER,
    ),
]  # fmt: skip
ToGrid = Annotated[
    str | None,
    typer.Option(metavar="HxW", help="Resize them to this grid.", show_default=False, rich_help_panel=LONGER),
]
Antialias = Annotated[
    bool,
    typer.Option(
        "--antialias", help="Widen the filter where a grid shrinks (linear, cubic).", show_default=False,
        rich_help_panel=LONGER,
    ),
]  # fmt: skip
Alpha = Annotated[
    str | None,
    typer.Option(
        metavar="X", help="Weight of the upper level of the hierarchical way (default 0.4).", show_default=False,
        rich_help_panel=LONGER,
    ),
]  # fmt: skip
Probe = Annotated[
    bool,
    typer.Option(
        "--probe", help="Train small models on a toy language, and measure their loss beyond the length.",
        show_default=False, rich_help_panel=TRIAL,
    ),
]  # fmt: skip

Plot = Annotated[
    str | None,
    typer.Option(
        metavar="FILE", help="Draw the figures: FILE.svg, FILE.png, or - for the terminal.", show_default=False
    ),
]


def grid_size(name: str, given: str | None) -> tuple[int, int] | None:
    """Return the sides that ``HxW`` writes."""
    if given is None:
        return None
    from pecli.numbers.text import parse_integer

    sides = given.lower().split("x")
    rule = "must be two whole numbers, height x width, such as 14x14"
    if len(sides) != 2:
        raise BadParameter(name, given, rule)
    try:
        height, width = (parse_integer(name, side) for side in sides)
    except BadParameter:
        raise BadParameter(name, given, rule) from None
    if not (0 < height < 1 << 20 and 0 < width < 1 << 20):
        raise BadParameter(name, given, rule)
    return height, width


def share(name: str, given: str | None, default: float) -> float:
    """Return a number between 0 and 1."""
    if given is None:
        return default
    from pecli.numbers.text import parse_number

    value = float(parse_number(name, given))
    if not 0 < value < 1:
        raise BadParameter(name, given, "must be above 0 and below 1")
    return value


def check_together(sources: list[str], options: Options, probe: bool, prefix: bool, alpha: bool) -> None:
    """Refuse options that would have no effect; `prefix` and `alpha` say whether those were given."""
    if options.plot == "-" and options.json:
        raise BadParameter("plot", "-", "cannot stand with --json: both want standard output")
    if probe:
        _refuse(
            "cannot stand with --probe, which trains models and writes no table",
            output=options.output, extend=options.extend, grid=options.grid, to_grid=options.to_grid,
        )  # fmt: skip
        return
    if options.plot is not None and (options.output is not None or options.extend is not None):
        raise BadParameter(
            "plot", options.plot, "draws reports, and -o and --extend make a table instead: leave one out"
        )
    if not sources:
        rule = "must be given: a recipe such as rope:dim=128, or a file; or use --probe"
        raise BadParameter("SOURCE", "(none)", rule)
    if options.output is None:
        writing = {"format": options.format, "dtype": options.dtype, "layout": options.layout}
        _refuse("has no effect without -o", **writing, no_clobber=None if options.clobber else True)
    elif len(sources) > 1:
        raise BadParameter("SOURCE", len(sources), "sources cannot share -o: extend one at a time")
    if options.extend is None:
        _refuse(
            f"needs --extend: {', '.join(WAYS)}", grid=options.grid, to_grid=options.to_grid,
            antialias=options.antialias or None, prefix=options.prefix if prefix else None,
            alpha=options.alpha if alpha else None,
        )  # fmt: skip
    elif alpha and options.extend != "hierarchical":
        raise BadParameter("alpha", options.alpha, f"is for hierarchical, not for {options.extend}: leave it out")
    if options.scaling is None and options.factor is not None:
        raise BadParameter("factor", options.factor, "needs --scaling all, or a list of scalings")


def _refuse(rule: str, **given: object) -> None:
    for name, value in given.items():
        if value is not None:
            text = "x".join(map(str, value)) if isinstance(value, tuple) else value
            raise BadParameter(name.replace("_", "-"), "true" if text is True else text, rule)
