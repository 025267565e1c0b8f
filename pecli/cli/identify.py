"""``pecli identify FILE``: the recipe that gives a table's values, and how sure that is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pecli.cli import options as shared
from pecli.cli.options import SCREEN, TableChoice, argument, flag, option, refuse_table, whole
from pecli.cli.terminal.items import Fact, Item, Verdict
from pecli.cli.terminal.screen import answer, progress_for
from pecli.numbers.printing import percent
from pecli.spec.tabular import Tabular, View
from pecli.tables.sources import NamedSource, read_source

if TYPE_CHECKING:
    from pecli.judge.description import Identification

MAX_NOTES = 6  # lines of a short report that notes take


@dataclass(frozen=True, kw_only=True)
class IdentifyOptions(TableChoice):
    """The options of ``identify``."""

    source: str = argument("A file, or file::name for one of its arrays.", "FILE")
    all: bool = flag("Print every note, the statistics and the first values.", panel=SCREEN)
    get: str | None = option(shared.GET)
    digits: int | None = option("The values are rounded or truncated to N decimals.", "N", check=whole(1, 15))


def command(options: IdentifyOptions) -> int:
    """Find the recipe that gives the values of a table."""
    from pecli.cli.inspect import check_computed, inspection_view, open_table_of
    from pecli.inspect.statistics import inspect_table, preview
    from pecli.judge.compare import identified
    from pecli.judge.printed import identify_printed
    from pecli.tables.alignment import take_usual_type

    source = read_source(options.source, **shared.choice_of(options))
    if not source.is_recipe:
        refuse_table((name, text) for name, text in options.table.items() if name != "positions")
    table = open_table_of(source, options.table)
    check_computed(source, table)
    take_usual_type(table)
    with progress_for("identifying", options, table) as advance:
        read = table if advance is None or source.is_recipe else Counted(table, advance)
        found = identified(read, _positions(source, options))
        if options.digits is not None and found.arithmetic != f"{options.digits} decimals":
            printed = identify_printed(read, options.digits)  # the first columns of a wider table, too
            found = found if found.confidence == "sure" and not printed.recipe else printed

    def result() -> dict[str, Any]:
        arrays = [{"name": a.name, "shape": a.shape, "dtype": a.dtype} for a in table.arrays]
        return {"source": source.text, "verdict": found.confidence, "arrays": arrays, **found.as_dict()}

    def view() -> list[Item]:
        items = identity_view(found, every=options.all)
        if options.all:
            items += ["", *inspection_view(inspect_table(source.text, table), preview(table, rows=8, columns=8))]
        return items

    answer(options, result, view)
    return 0


class Counted(View):
    """A table that reports how many bytes of it are read."""

    def __init__(self, source: Tabular, advance: Callable[[int], None]) -> None:
        super().__init__(source, source.arrays)
        self._advance = advance

    def __getattr__(self, name: str) -> Any:
        """Return what a file alone has, such as its columns."""
        return getattr(self.source, name)

    def fill(self, start: int, stop: int, out: Mapping[str, Any]) -> None:
        """Read rows; see :meth:`pecli.spec.tabular.Tabular.fill`."""
        self.source.fill(start, stop, out)
        self._advance(sum(values.nbytes for values in out.values()))


def identity_view(found: Identification, *, every: bool = False) -> list[Item]:
    """Return what a table is, how closely and how surely; the recipe, or "unknown", is the first line."""
    notes = list(found.notes)
    if not every and len(notes) > MAX_NOTES:
        notes[MAX_NOTES - 1 :] = [f"and {len(notes) - MAX_NOTES + 1} more notes, with --all"]
    if found.recipe is None:
        return [Verdict(found.unknown, False), *(f"  {text}" for text in (*found.measured[1:], *notes))]
    if found.arithmetic in ("exact", "unknown") or ",arithmetic=" in found.recipe:
        why = "the pattern of its values" if found.equal is None else f"{_share(found.equal)} equal"
    elif found.equal is None:
        why = "the pattern fits; the trained numbers are the file's own"
    else:
        why = found.arithmetic if " " in found.arithmetic else f"{found.arithmetic} arithmetic"
    items: list[Item] = [Verdict(f"{found.recipe} ({found.confidence}: {why})", True)]
    return [*items, *(f"  {note}" for note in notes), *(Fact("the same as", alias) for alias in found.aliases)]


def _share(equal: float) -> str:
    """Return the share of equal values; "all" only where it is all of them, however few differ."""
    return "all values" if equal == 1 else f"{percent(equal, 2)} of the values"


def _positions(source: NamedSource, options: IdentifyOptions) -> Any:
    """Return the positions that the command gives to the rows of a file."""
    from pecli.numbers.positions import Positions

    given = None if source.is_recipe or options.positions is None else Positions.parse(options.positions)
    return given and given.numbers(0, given.count)
