"""Options of ``inspect``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from pecli.cli.completion import source_words
from pecli.cli.options import (
    SCREEN,
    TABLE,
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
    Stack,
    Start,
    Step,
    TrustRecipe,
    whole,
)  # fmt: skip
from pecli.errors import BadParameter
from pecli.numbers.decimals import parse_integer
from pecli.spec.facts import EXPECTATIONS, PICTURES

if TYPE_CHECKING:
    pass

LOOK = "What to look for"
Rows = Annotated[int | None, Option("Rows to print (default 4; 8 with --all).", "N", SCREEN, check=whole(1, 100_000))]
Columns = Annotated[int | None, Option("Columns to print (default 8).", "N", SCREEN, check=whole(1, 10_000))]


@dataclass(frozen=True, kw_only=True)
class InspectOptions:
    """What ``inspect`` may be given."""

    sources: Annotated[
        tuple[str, ...],
        Option(
            "A file, file::name[0:9], a folder of parts, -, or a recipe.",
            "SOURCE...",
            argument=True,
            complete=source_words,
        ),
    ]
    identify: Annotated[bool, Option("Find out what a table is from its values alone.", panel=LOOK)] = False
    verify: Annotated[
        bool, Option("Recompute every value from the recipe; status 1 if one differs.", panel=LOOK)
    ] = False  # fmt: skip
    recipe: Annotated[
        str | None, Option("What --verify recomputes, whatever the file says.", "RECIPE", LOOK)
    ] = None  # fmt: skip
    properties: Annotated[bool, Option("Measure what the values show: bounds, distances, shifts.", panel=LOOK)] = False
    steps: Annotated[bool, Option("Work an example of a recipe, step by step.", panel=LOOK)] = False
    expect: Annotated[
        str | None,
        Option(f"Check it over every row; status 1 if it does not hold: {', '.join(EXPECTATIONS)}.", "WORD,..", LOOK,
               EXPECTATIONS),
    ] = None  # fmt: skip
    frequencies: Annotated[
        bool, Option("List the frequencies of a recipe or a config, with wavelength and ratio.", panel=LOOK)
    ] = False  # fmt: skip
    similarity: Annotated[
        str | None, Option("Products of all rows with each other: dot or cosine; with -o to a file.", "WORD", LOOK,
                           ("dot", "cosine")),
    ] = None  # fmt: skip
    shift_matrix: Annotated[
        int | None,
        Option("The matrix M with PE(p + K) = M PE(p); with -o to a file.", "K", LOOK, check=whole(1, 1 << 20)),
    ] = None
    sha256: Annotated[bool, Option("Print the hash of the little-endian values.", panel=LOOK)] = False
    plot: Annotated[
        str | None, Option("Draw to a file (.svg, .png, .html to play with), or - for the terminal.", "PATH", LOOK)
    ] = None
    picture: Annotated[
        str | None, Option(f"What to draw, joined with +: {', '.join(PICTURES)}.", "WORD", LOOK, PICTURES)
    ] = None
    channels: Annotated[str | None, Option("Columns that the picture waves draws: 0,1,8,9.", "LIST", LOOK)] = None
    len: Annotated[str | None, Option("Rows (default 128).", "N", TABLE)] = None
    start: Start = None
    step: Step = None
    positions: Annotated[str | None, Option("Positions instead: 0,5,9.5, or @FILE.", "LIST", TABLE)] = None
    dtype: Dtype = None
    layout: Layout = None
    form: Annotated[str | None, Option("Form of a bias or of relative vectors.", "WORD", TABLE)] = None
    layer_type: LayerType = None
    stack: Stack = None
    all: Annotated[bool, Option("All of it: whole recipe, formula, source, every slope and key.", panel=SCREEN)] = False
    rows: Rows = None
    columns: Columns = None
    precision: Precision = None
    output: Output = None
    format: Format = None
    no_clobber: NoClobber = False
    trust_recipe: TrustRecipe = False
    limit: Limit = None
    json: Json = False
    quiet: Quiet = False

    @property
    def source(self) -> str:
        """The one source, or the first of several."""
        return self.sources[0]

    @property
    def table(self) -> dict[str, str]:
        """What is asked of a recipe's table, by the names of :meth:`Table.make`."""
        asked = {
            "length": self.len, "start": self.start, "step": self.step, "positions": self.positions,
            "dtype": self.dtype, "layout": self.layout, "form": self.form,
        }  # fmt: skip
        return {name: text for name, text in asked.items() if text is not None}

    @property
    def choice(self) -> dict[str, str]:
        """What is read of a config."""
        asked = {"layer_type": self.layer_type, "stack": self.stack}
        return {name: text for name, text in asked.items() if text is not None}

    @property
    def pictures(self) -> list[str]:
        """The pictures asked for."""
        return self.picture.split("+") if self.picture else []

    @property
    def columns_drawn(self) -> list[int]:
        """The columns that waves are drawn of."""
        parts = [] if self.channels is None else self.channels.replace("+", ",").split(",")
        return [parse_integer("channels", part) for part in parts]


def refuse_table(options: InspectOptions) -> None:
    """Raise for the first option that is for recipes."""
    for name, text in options.table.items():
        raise BadParameter(name.replace("length", "len"), text, "is for recipes: a file has its own")
