"""Options of ``extrapolate``, and which of them exclude each other."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated

from pecli.cli.completion import source_words
from pecli.cli.options import (
    LONGEST,
    Dtype,
    Format,
    Json,
    LayerType,
    Layout,
    Limit,
    NoClobber,
    Option,
    Output,
    Precision,
    Quiet,
    TrustRecipe,
    positions,
    refuse,
    share,
    whole,
)  # fmt: skip
from pecli.cli.terminal.writing import Writing
from pecli.errors import BadParameter
from pecli.numbers.decimals import parse_integer, parse_number
from pecli.spec.facts import REACHES

LENGTHS, SCALINGS, LONGER = "Lengths", "Context extensions", "Longer tables"
WAYS = ("linear", "cubic", "nearest", "tile", "hierarchical")
ALONE = "scalings of a rotary or sinusoidal encoding side by side"
LARGEST_SIDE = 1 << 20  # patches


def grid_size(name: str, given: str) -> tuple[int, int]:
    """Return the sides that ``HxW`` writes."""
    try:
        height, width = (parse_integer(name, side) for side in given.lower().split("x"))
    except ValueError:  # of another number of sides, or of text that is no number
        height = width = 0
    if not (0 < height < LARGEST_SIDE and 0 < width < LARGEST_SIDE):
        raise BadParameter(name, given, "must be two whole numbers, height x width, such as 14x14")
    return height, width


def scaling_factor(name: str, given: str) -> Decimal:
    """Return a factor as written."""
    value = parse_number(name, given)
    if not 0 < value <= 10**9:
        raise BadParameter(name, given, "must be above 0 and at most 1e9")
    return value


@dataclass(frozen=True, kw_only=True)
class ExtrapolateOptions(Writing):
    """What ``extrapolate`` may be given."""

    sources: Annotated[
        tuple[str, ...], Option(
            "Recipes, models' config.json, or files.", "SOURCE...", argument=True, complete=source_words
        )
    ] = ()  # fmt: skip
    train_len: Annotated[
        int | None,
        Option(
            "Positions seen in training (default: what the source states, a file's rows).", "N", LENGTHS,
            check=positions(1),
        ),
    ] = None  # fmt: skip
    test_len: Annotated[int | None, Option("Positions wanted.", "M", LENGTHS, check=positions(2))] = None
    threshold: Annotated[
        float | None,
        Option(
            "Weight, against the nearest key's, down to which a bias reaches (default 0.01).", "X", LENGTHS,
            check=share,
        ),
    ] = None  # fmt: skip
    tuned: Annotated[
        bool, Option("The training used the recipe's own scaling (default: it was added afterwards).", panel=LENGTHS)
    ] = False
    scaling: Annotated[
        str | None, Option(f"Show {ALONE}: all, or a list such as linear,yarn.", "LIST", SCALINGS)
    ] = None  # fmt: skip
    factor: Annotated[Decimal | None, Option("Their factor (default M/N).", "X", SCALINGS, check=scaling_factor)] = None
    extend: Annotated[str | None, Option(f"Extend trained rows: {', '.join(WAYS)}.", "WAY", LONGER, WAYS)] = None
    prefix: Annotated[
        int | None, Option("Rows at the start that stay as they are (default 0).", "K", LONGER, check=whole(0, LONGEST))
    ] = None
    grid: Annotated[
        tuple[int, int] | None, Option("The rows are patches of a grid, row by row.", "HxW", LONGER, check=grid_size)
    ] = None
    to_grid: Annotated[tuple[int, int] | None, Option("Resize them to this grid.", "HxW", LONGER, check=grid_size)] = (
        None
    )
    antialias: Annotated[bool, Option("Widen the filter where a grid shrinks (linear, cubic).", panel=LONGER)] = False
    alpha: Annotated[
        float | None,
        Option("Weight of the upper level of the hierarchical way (default 0.4).", "X", LONGER, check=share),
    ] = None
    output: Output = None
    format: Format = None
    dtype: Dtype = None
    layout: Layout = None
    layer_type: LayerType = None
    no_clobber: NoClobber = False
    plot: Annotated[
        str | None, Option("Draw the figures: FILE.svg, FILE.png, or - for the terminal.", "FILE")
    ] = None  # fmt: skip
    picture: Annotated[
        str | None, Option(f"What to draw, joined with +: {', '.join(REACHES)}.", "WORD", words=REACHES)
    ] = None
    trust_recipe: TrustRecipe = False
    precision: Precision = None
    limit: Limit = None
    json: Json = False
    quiet: Quiet = False

    @property
    def pictures(self) -> list[str]:
        """The pictures asked for."""
        return self.picture.split("+") if self.picture else []


def check_together(options: ExtrapolateOptions) -> None:
    """Refuse options that would have no effect beside each other."""
    if options.plot is None:
        refuse("says what --plot draws: give --plot PATH, or - for the terminal", options, "picture")
    if options.plot == "-" and options.json:
        raise BadParameter("plot", "-", "cannot stand with --json: both want standard output")
    extending = ("grid", "to_grid", "antialias", "prefix", "alpha")
    measuring = ("threshold", "tuned")
    writing = ("format", "dtype", "layout")
    if options.output is not None or options.extend is not None:
        refuse("draws reports, and -o and --extend make a table instead: leave one out", options, "plot")
        refuse("is for reports, and -o and --extend make a table instead: leave one out", options, *measuring)
    if not options.sources:
        rule = "must be given: a recipe such as rope:dim=128, or a file"
        raise BadParameter("SOURCE", None, rule)
    if options.output is None:
        refuse("has no effect without -o", options, *writing, *(() if options.plot else ("no_clobber",)))
    elif len(options.sources) > 1:
        raise BadParameter("SOURCE", len(options.sources), "sources cannot share -o: extend one at a time")
    if options.extend is None:
        refuse(f"needs --extend: {', '.join(WAYS)}", options, *extending)
    elif options.extend != "hierarchical":
        refuse(f"is for hierarchical, not for {options.extend}: leave it out", options, "alpha")
    if options.scaling is None:
        refuse("needs --scaling all, or a list of scalings", options, "factor")
