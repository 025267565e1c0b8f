"""``pecli inspect SOURCE``: arrays, statistics and first values of a table; the contents of a config or checkpoint."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from pecli.cli import options as shared
from pecli.cli.options import OUTPUT, SCREEN, TableChoice, argument, flag, option, refuse, refuse_table, whole
from pecli.cli.terminal.items import RIGHT, Fact, Item, ScreenTable, Verdict, grid, preview_grid, shapes_text, size_text
from pecli.cli.terminal.layout import TABLE_FORMATS, lines_of
from pecli.cli.terminal.output import WIDE
from pecli.cli.terminal.screen import answer, progress_for
from pecli.errors import BadParameter, BadRecipe
from pecli.formats.paths import Kind, kind_of
from pecli.models.stacks import STACKS
from pecli.numbers.decimals import parse_count, parse_integer
from pecli.numbers.printing import between
from pecli.spec.catalogue import CATALOGUE
from pecli.spec.declaration import EXPECTATIONS
from pecli.spec.hooks import exact_text
from pecli.spec.plans import Waves
from pecli.spec.recipe import join_recipe, split_recipe
from pecli.spec.tabular import Tabular
from pecli.tables.sources import NamedSource, read_source

if TYPE_CHECKING:
    from pecli.inspect.checkpoints import Checkpoint
    from pecli.inspect.configs import ConfigReport, Frequency, LayerReport
    from pecli.inspect.properties import Property
    from pecli.inspect.statistics import Excerpt, Inspection, Statistics

DEFAULT_ROWS = 128  # of a recipe that states no length
MAX_COMPUTED = 16 << 30  # bytes of a recipe's values, computed in some ten seconds; a file may have any size
BRIEF_ROWS = 2  # of the values, where nothing more was asked for
MEASURE = "Measure"
ANSWERS = ("expect", "frequencies")  # each an answer of its own
MEASURED = (*ANSWERS, "properties")
VIEW = ("rows", "columns", "precision")  # how the first values are printed


@dataclass(frozen=True, kw_only=True)
class InspectOptions(TableChoice):
    """The options of ``inspect``."""

    source: str = argument("A file, file::name[0:9], a recipe, a config.json or a checkpoint's folder.", "SOURCE")
    all: bool = flag("Whole recipe, formula, source, every slope and key.", panel=SCREEN)
    properties: bool = flag("What the values show: bounds, distances, shifts.", panel=MEASURE)
    expect: str | None = option("Check each row: {}.", "WORD,..", MEASURE, EXPECTATIONS)
    frequencies: bool = flag("Frequencies of a recipe or a config, with wavelengths.", panel=MEASURE)
    rows: int | None = option("Rows to print (default 2; 8 with --all).", "N", SCREEN, check=whole(1, 100_000))
    columns: int | None = option("Columns to print (default 8).", "N", SCREEN, check=whole(1, 10_000))
    precision: int | None = option(shared.PRECISION)
    get: str | None = option(shared.GET)
    format: str | None = option(f"Print tables as {', '.join(TABLE_FORMATS)}.", "WORD", OUTPUT)


def command(options: InspectOptions) -> int:
    """Print what a table holds; measure it."""
    text, kind = options.source, kind_of(options.source)
    if kind is Kind.CONFIG and os.path.isdir(text):
        return _checkpoint(options)
    of_table = (name for name in (*MEASURED, *VIEW) if name != "frequencies")
    if kind is Kind.CONFIG and not options.table and not any(getattr(options, name) for name in of_table):
        return _config(options)
    asked = next((name for name in ANSWERS if getattr(options, name)), None)
    if asked is not None:
        others = [name for name in MEASURED if name != asked]
        refuse(f"is another answer than --{asked.replace('_', '-')}: ask for one after the other", options, *others)
    if options.json:
        refuse("is for the screen: leave it out with --json", options, *VIEW)
    table = options.table
    if kind is Kind.FILE and table.keys() <= {"start", "length"}:
        first, count = table.pop("start", None), table.pop("length", None)
        start = None if first is None else parse_integer("start", first)
        text = shared.with_rows(text, start, None if count is None else parse_count("len", count))
    source = read_source(text, **shared.choice_of(options))
    if not source.is_recipe:
        refuse_table(table.items())
    if options.frequencies:
        return _frequencies(source, options)
    opened = open_table_of(source, table)
    if options.expect is not None:
        return _expect(opened, options)
    return _look(source, opened, options)


def open_table_of(source: NamedSource, table: Mapping[str, str]) -> Tabular:
    """Open a source; a recipe that does not state its length gets a short one."""
    from pecli.tables.alignment import open_alone

    if not source.is_recipe:
        return source.open()  # positions, if given, are for its identification
    if table.keys() & {"length", "positions"} or source.says_length:
        return source.open(**table)
    return open_alone(source, DEFAULT_ROWS, **table)


def check_computed(source: NamedSource, table: Tabular) -> None:
    """Refuse a recipe with more values than anybody waits for."""
    total = sum(array.bytes for array in table.arrays)
    if source.is_recipe and total > MAX_COMPUTED:
        rule = f"makes {size_text(total)} of values to go through: look at a part with --len N, or at --start P"
        raise BadParameter("len", max(array.rows for array in table.arrays), rule)


def _look(source: NamedSource, table: Tabular, options: InspectOptions) -> int:
    """Report statistics, and what else was asked for."""
    from pecli.inspect.properties import as_dicts, measure_properties
    from pecli.inspect.statistics import inspect_table, preview

    check_computed(source, table)
    properties = measure_properties(table) if options.properties else None
    with progress_for("reading", options, table) as advance:
        found = inspect_table(source.text, table, progress=advance)

    def result() -> dict[str, Any]:
        return found.as_dict() | ({} if properties is None else {"properties": as_dicts(properties)})

    def view() -> list[Item]:
        long = bool(properties) or options.all or options.rows is not None
        parts = preview(table, rows=options.rows or (8 if long else BRIEF_ROWS), columns=options.columns or 8)
        return inspection_view(found, parts, properties, brief=not long)

    answer(options, result, view)
    return 0


MAX_LINES, MAX_ARRAYS, MAX_SLOPES = 12, 3, 12  # of a short answer


def short_recipe(text: str) -> str:
    """Return a recipe without the keys that have their default."""
    name, keys = split_recipe(text)
    options = CATALOGUE[name].options if name in CATALOGUE else ()
    defaults = {p.option: p.text(p.default) for p in options if p.default is not None}
    return join_recipe(name, {key: word for key, word in keys.items() if defaults.get(key) != word})


def inspection_view(
    found: Inspection, parts: Sequence[Excerpt], properties: Sequence[Property] | None = None, *, brief: bool = False
) -> list[Item]:
    """Return what a table is: arrays, recipe, positions, range, what was asked for, and the first values.

    A `brief` report has a dozen lines: no metadata, no keys with their defaults, and values as far as there is room.
    """
    arrays = found.arrays[: MAX_ARRAYS if brief else None]
    more = f" and {len(found.arrays) - len(arrays)} more" if len(arrays) < len(found.arrays) else ""
    size = size_text(sum(array.bytes for array in found.arrays))
    items: list[Item] = [f"{found.source}: {found.format or 'recipe'}, {shapes_text(arrays)}{more}, {size}"]
    ends = _ends(found)
    facts = {"recipe": found.recipe, "positions": ends, **found.metadata}
    if brief:
        short = short_recipe(found.recipe) if found.recipe else None
        facts = {"recipe": short, "positions": "" if ends.startswith("0 to") else ends}
    items += [Fact(name.replace("_", " "), str(value)) for name, value in facts.items() if value]
    if found.statistics:
        items.append(_statistics(found.statistics[: len(arrays)]))
    if found.slopes is not None:
        items.append(_slopes(list(map(exact_text, found.slopes)), brief=brief))
    items += [] if properties is None else [properties_view(properties)]
    if not brief:
        return [*items, *map(preview_grid, parts)]
    room = MAX_LINES - sum(len(lines_of(item, WIDE)) for item in items)
    shown = [made for made in map(preview_grid, parts) if (room := room - len(lines_of(made, WIDE))) >= 0]
    return [*items, *shown] if shown or not parts else [*items, "first values: --rows 4, or --all"]


def _slopes(texts: list[str], *, brief: bool) -> Item:
    """Return the slopes of heads: a table with a row for each, or some of them in a line."""
    if not brief:
        return grid([("head", RIGHT), ("slope", "left")], enumerate(texts), title=f"slopes of {len(texts)} heads")
    few = texts if len(texts) <= MAX_SLOPES else [*texts[:MAX_SLOPES], "…", texts[-1]]
    return Fact("slopes", f"{', '.join(few)} ({len(texts)} heads)")


def _ends(found: Inspection) -> str:
    """Return the first and the last position; of a list, that it is one."""
    if found.positions is None:
        return ""
    first, last = found.positions
    if found.recipe and "positions" in split_recipe(found.recipe)[1]:
        return f"a list, the first {first}, the last {last}"
    return f"{first} to {last}"


def _statistics(found: Sequence[Statistics]) -> ScreenTable:
    """Return the range, mean and norms of each array; the counts of NaN and infinity where there are any."""
    odd = any(s.nan or s.infinite for s in found)
    columns: list[tuple[str, str | int]] = [("array", "left"), ("min", 7), ("max", 7), ("mean", 4), ("row norm", RIGHT)]
    columns += [("NaN", RIGHT), ("infinite", RIGHT)] if odd else []
    rows = [
        [s.name, *("" if v is None else v for v in (s.minimum, s.maximum, s.mean)),
         "" if s.norm_min is None or s.norm_max is None else between(s.norm_min, s.norm_max),
         *([s.nan, s.infinite] if odd else [])]
        for s in found
    ]  # fmt: skip
    return grid(columns, rows)


def properties_view(found: Sequence[Property]) -> ScreenTable:
    """Return measured properties."""
    words = {True: "yes", False: "no", None: ""}
    heads = [("property", "left"), ("", "left"), ("measured", "left")]
    return grid(heads, [(p.name, words[p.holds], p.text) for p in found])


def _expect(table: Tabular, options: InspectOptions) -> int:
    """Check each expectation over every row; return 0 if all hold, else 1."""
    from pecli.inspect.properties import as_dicts, expect

    words = [word.strip() for word in (options.expect or "").replace("+", ",").split(",") if word.strip()]
    with progress_for("checking", options, table) as advance:
        found = expect(table, words, advance)
    good = all(one.holds for one in found)
    verdict = "as expected" if good else "not as expected"
    result = {"source": options.source, "verdict": verdict, "holds": good, "expected": as_dicts(found)}
    view: list[Item] = [Verdict(f"{verdict}: {options.source}", good), properties_view(found)]
    answer(options, lambda: result, lambda: view)
    return 0 if good else 1


SHOWN = 12  # frequencies of a layer that are printed; --json has all
MAX_LAYERS, MAX_KEYS = 2, 16  # that a short answer shows


def _config(options: InspectOptions) -> int:
    """Report what a config states of its positions."""
    from pecli.inspect.configs import report
    from pecli.models.reader import read_config

    found = report(read_config(options.source, layer_type=options.layer_type, stack=options.stack or STACKS[0]))
    result = {"source": options.source, "format": "config", "recipe": found.layers[0].recipe if found.layers else None}
    view = config_view(found, whole=options.all or options.frequencies, every=options.frequencies)
    answer(options, lambda: {**result, **asdict(found)}, lambda: view)
    return 0


def _checkpoint(options: InspectOptions) -> int:
    """Report what a checkpoint's folder holds of positions."""
    from pecli.inspect.checkpoints import inspect_checkpoint

    rule = "is for tables, and this is a checkpoint's folder: name a file in it"
    refuse(rule, options, *MEASURED, "rows", "columns", "layer_type")
    refuse_table(options.table.items())
    found = inspect_checkpoint(options.source, options.stack or STACKS[0])
    result = {"source": options.source, "format": "checkpoint"}
    answer(options, lambda: {**result, **asdict(found)}, lambda: checkpoint_view(found, short=not options.all))
    return 0


def config_view(found: ConfigReport, *, whole: bool = False, every: bool = False) -> list[Item]:
    """Return what a config states: in few lines, as a `whole`, or with `every` frequency too."""
    layers = found.layers if whole else found.layers[:MAX_LAYERS]
    items = [_title(found), *_facts(layers)]
    if whole:
        most = None if every else SHOWN
        items += [frequencies_grid(one.frequencies, most, _named(one)) for one in layers if one.frequencies]
    if (more := len(found.layers) - len(layers)) > 0:
        items.append(f"and {more} more {'kind' if more == 1 else 'kinds'} of layers, with --all")
    for title, keys in (("keys used", found.used), ("no effect", found.ignored)):
        if keys and whole:
            items.append(grid([("key", "left"), (title, "left")], ((key.name, key.text) for key in keys)))
        elif keys:
            shown = ", ".join(key.name.rpartition(".")[2] for key in keys[:MAX_KEYS])
            items.append(Fact(title, shown + (f" and {len(keys) - MAX_KEYS} more" * (len(keys) > MAX_KEYS))))
    findings = [*(Fact("warning", line) for line in found.warnings), *(Fact("fault", line) for line in found.faults)]
    items += findings if whole else findings[:MAX_LAYERS]
    if not whole and (more := len(findings) - MAX_LAYERS) > 0:
        items.append(f"and {more} more {'warning' if more == 1 else 'warnings'}, with --all")
    for inner in found.parts:
        short = [_title(inner), *_facts(inner.layers[:1])]
        items += ["", *(config_view(inner, whole=True, every=every) if whole else short)]
    return items


def _title(found: ConfigReport) -> str:
    return f"{found.path}: {found.model_type or 'no model_type'}, as {found.stack} {found.version} reads it"


def checkpoint_view(found: Checkpoint, *, short: bool = False) -> list[Item]:
    """Return what a checkpoint's folder holds: its config, the tables it stores, who reads the config otherwise."""
    items = config_view(found.config, whole=not short)
    items.append("\nStored tables" if found.tables else "\nNo table of positions is stored.")
    for table in found.tables:
        shape = " x ".join(map(str, table.shape))
        many = f", {table.count} of them" if table.count > 1 else ""
        place = f"{table.file}::{table.name} ({table.what}, {shape} {table.dtype}{many})"
        items.append(f"  {place}: {table.text}")
    unread = ["\nNot read", *(f"  {line}" for line in found.unread)] if found.unread else []
    return [*items, *unread, "", *found.otherwise]


def _facts(layers: Sequence[LayerReport]) -> list[Item]:
    """Return what is stated of layers: once where all have it, else by the kind of layer."""
    facts = {layer.name: _facts_of(layer) for layer in layers}
    found: list[Item] = [Fact("layers", layers[0].name)] if len(layers) == 1 and _named(layers[0]) else []
    for title in dict.fromkeys(title for known in facts.values() for title in known):
        texts = {name: known[title] for name, known in facts.items() if known.get(title)}
        alike = len(texts) == len(facts) and len({*texts.values()}) == 1
        named = [*texts.values()][:1] if alike else [f"{name}: {text}" for name, text in texts.items()]
        found += [Fact(title, "\n".join(named))] if texts else []
    return found


def _named(layer: LayerReport) -> str | None:
    return None if layer.name == "all" else f"layers {layer.name}"


def _facts_of(layer: LayerReport) -> dict[str, str]:
    waves = [frequency.wavelength for frequency in layer.frequencies]
    later = f", the first token at {layer.first}" if layer.first else ""
    return {
        "recipe": layer.recipe,
        "layout": layer.layout + (f" (pairs: {layer.pairing})" if layer.layout and layer.pairing else ""),
        "positions": "" if layer.length is None else f"{layer.length}{later}",
        "frequencies": f"{len(waves)}, one turn in {between(min(waves), max(waves), 4)} positions" if waves else "",
        "magnitude": "" if layer.magnitude == 1 else f"{layer.magnitude!r}, on cos and sin",
        "note": "\n".join(layer.notes),
    }


def _frequencies(source: NamedSource, options: InspectOptions) -> int:
    """Print every frequency of a recipe, its wavelength and its ratio to the one before; return 0.

    Raises
    ------
    BadParameter
        If it is no recipe, or one of an encoding without frequencies.
    """
    from pecli.inspect.configs import frequencies_of

    rule = "has no effect on frequencies: leave it out with --frequencies"
    refuse(rule, options, "start", "step", "positions", "dtype", "layout", "form")
    if source.recipe is None:
        raise BadParameter("frequencies", "true", "lists those of a recipe or a config: find one with pecli identify")
    given = options.len if options.len is not None else source.given.get("len")
    length = None if given is None else parse_count("len", given)
    if source.recipe.open_parameters and length is None:
        raise BadRecipe(f"{source.recipe.encoding.name} depends on the whole table: give len=N")
    recipe = source.recipe.of_length(length or 1)
    if not isinstance(recipe.plan, Waves):
        raise BadParameter("frequencies", "true", f"is for sines and cosines, and {recipe.encoding.name} has none")
    found = frequencies_of(recipe.plan, length)
    magnitude = float(recipe.plan.magnitude)
    result = {"source": source.text, "recipe": str(recipe), "magnitude": magnitude,
              "frequencies": [asdict(one) for one in found]}  # fmt: skip
    size = "" if magnitude == 1 else f", magnitude {magnitude!r} on cos and sin"
    title = f"{recipe.short}: {len(found)} frequencies{size}"
    answer(options, lambda: result, lambda: [title, frequencies_grid(found)])
    return 0


def frequencies_grid(found: Sequence[Frequency], most: int | None = None, title: str | None = None) -> ScreenTable:
    """Return a row for each frequency; with `most`, the first and the last of more."""
    cells = [(f.index, f.radians, f.wavelength, f.ratio, f.turns) for f in found]
    heads = [("pair", RIGHT), ("radians/position", 9), ("wavelength", 6), ("ratio", 6), ("turns seen", 4)]
    used = [i for i, _ in enumerate(heads) if any(row[i] is not None for row in cells)]
    rows = [["" if row[i] is None else row[i] for i in used] for row in cells]
    made = grid([heads[i] for i in used], rows, title=title)
    if most is not None and len(cells) > most:
        made.rows[most // 2 : -most // 2] = [["…"] * len(used)]
    return made
