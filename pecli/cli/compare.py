"""``pecli compare A B...``: differences of values, or facts, costs and stacks of recipes side by side."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from pecli.cli import options as shared
from pecli.cli.options import SCREEN, Option, SourceOptions, argument, flag, option, positions, refuse, whole
from pecli.cli.plot import check_plot, show_charts
from pecli.cli.terminal.items import LEFT, RIGHT, Fact, Item, ScreenTable, Verdict, grid, shapes_text, size_text
from pecli.cli.terminal.output import tell
from pecli.cli.terminal.screen import answer, progress_for
from pecli.errors import BadParameter, BadRecipe, MissingParameter, SeveralLayers
from pecli.formats.paths import Kind, kind_of
from pecli.numbers.decimals import parse_number
from pecli.numbers.printing import figure, shortest_text
from pecli.spec.catalogue import CATALOGUE
from pecli.spec.declaration import Encoding
from pecli.spec.recipe import Recipe, split_recipe
from pecli.spec.tabular import NAMELESS, Tabular, shape_text
from pecli.tables.sources import NamedSource, open_source, read_source
from pecli.tables.table import Table

if TYPE_CHECKING:
    from pecli.inspect.configs import StackRow
    from pecli.tables.comparison import ArrayComparison, Comparison
    from pecli.tables.figures import Place, Tolerance

TOLERANCE, MODELS = "Tolerances", "Models"
OF_COST = ("len", "dim", "layers", "dtype")
TOLERANCES = ("atol", "rtol", "ulp", "digits")


def tolerance(name: str, given: str) -> Decimal:
    """Return a number of 0 or above."""
    value = parse_number(name, given)
    if value < 0:
        raise BadParameter(name, given, "must be 0 or above")
    return value


ATOL = Option("Absolute tolerance.", "X", TOLERANCE, check=tolerance)
RTOL = Option("Tolerance relative to the second value.", "X", TOLERANCE, check=tolerance)
DIGITS = Option("Compare values as printed with N decimals.", "N", TOLERANCE, check=whole(0, 17))
ULP = Option("Tolerance in units in the last place.", "N", TOLERANCE, check=whole(0))


@dataclass(frozen=True, kw_only=True)
class CompareOptions(SourceOptions):
    """The options of ``compare``."""

    sources: tuple[str, ...] = argument("Two sources or more.", "SOURCE...", default=())
    atol: Decimal | None = option(ATOL)
    rtol: Decimal | None = option(RTOL)
    ulp: int | None = option(ULP)
    digits: int | None = option(DIGITS)
    all: bool = flag("All figures; without sources, the facts of every encoding.", panel=SCREEN)
    stacks: bool = flag("Which frameworks agree on a config.json, and which key decides.", panel=MODELS)
    cost: bool = flag("What encodings cost a model: trained values, bytes, products.", panel=MODELS)
    len: int | None = option("With --cost: positions (default 4096).", "N", MODELS, check=positions(1))
    dim: int | None = option("With --cost: width of the model (default 4096).", "D", MODELS, check=whole(1, 1 << 24))
    heads: int | None = option("With --cost, or of query or key weights: heads.", "N", MODELS, check=whole(1, 1 << 16))
    layers: int | None = option("With --cost: layers of the model (default 32).", "N", MODELS, check=whole(1, 1 << 16))
    dtype: str | None = option(shared.DTYPE)
    layer_type: str | None = option(shared.LAYER_TYPE)
    values: bool = flag("Compare the values of recipes, not their facts.")
    precision: int | None = option(shared.PRECISION)
    format: str | None = option(shared.TABLE_FORMAT)
    get: str | None = option(shared.GET)
    plot: str | None = option("Draw the difference to a .svg, .png or .pdf; - is the terminal.", "FILE")
    quiet: bool = flag(shared.SILENT)


def allowed_by(options: Any) -> Tolerance:
    """Return the tolerance that the options of a command ask for; without them only equal values pass."""
    from pecli.tables.figures import Tolerance

    if options.digits is not None:
        refuse("cannot go with --digits: give one of them", options, "atol", "rtol", "ulp")
        return Tolerance.printed(options.digits)
    return Tolerance(float(options.atol or 0), float(options.rtol or 0), options.ulp or 0)


MAX_ULP = 1 << 24  # of a short report: values further apart have too little in common for units to mean anything
MAX_REASONS, MAX_ARRAYS = 4, 4  # lines of a short report
MAX_ROUNDING = 0.05  # beyond it, values of other shapes are at other places, and their counts say nothing


HARMLESS = ("rounding", "dtype", "expected", "labels")  # kinds of findings that tell no fault

Sides = tuple[NamedSource, NamedSource]


def headline(found: Comparison) -> tuple[str, str]:
    """Return the verdict, same, or different and the first cause, and whether that is harmless; and the cause."""
    cause = next((finding.text for finding in found.findings if finding.kind != "dtype"), "")
    if found.equal or not cause:
        return found.verdict, cause
    others = [one.kind for one in found.findings if one.kind not in HARMLESS and not one.text.startswith("compared: ")]
    if ": harmless" in cause and not others:
        labels = [one.text for one in found.findings if one.kind == "labels" and NAMELESS in one.text]
        return f"different, but harmless: {'; '.join([*labels, cause.replace(': harmless', '')])}", cause
    return f"different: {cause}", cause


def difference_view(found: Comparison, names: tuple[str, str], *, every: bool = False) -> list[Item]:
    """Return whether two tables are the same, why not, and where: a table with a row for each array."""
    first, cause = headline(found)
    reasons = [one.text for one in found.findings if found.equal or (one.text != cause and one.text not in first)]
    kind = next((one.kind for one in found.findings if one.text == cause), "place")
    other = [one for one in found.arrays if one.shapes[0] != one.shapes[1]]
    moved = bool(other and found.total.max_abs > MAX_ROUNDING and kind not in ("place", "shape"))
    if moved and kind != "transposed":
        shapes = dict.fromkeys(" against ".join(map(shape_text, one.shapes)) for one in other)
        reasons += [f"the shapes are {'; '.join(shapes)}"]
    elif first != found.verdict and not moved:
        dtypes = {dtype for array in found.arrays for dtype in array.dtypes}
        kind = f" {dtypes.pop()} values" if len(dtypes) == 1 else " values"
        reasons.append(found.verdict.removeprefix("different: ").replace(" values", kind, 1))
    if not moved and len(found.arrays) == 1 and (part := {"cos", "sin"}.intersection(found.arrays[0].names)):
        reasons = list(dict.fromkeys([*reasons, f"compared: {min(part)} alone"]))
    if (left := len(reasons) - MAX_REASONS) > 0 and not every:
        reasons[MAX_REASONS - 1 : -1] = [f"and {left} more reason{'s' * (left > 1)}, with --all"]
    items: list[Item] = [Verdict(_sided(first, names), found.equal), *(f"  {_sided(text, names)}" for text in reasons)]
    odd = found.total.nan.as_dict() or found.total.infinite.as_dict()
    if every or (not moved and not found.equal and (found.total.unequal or odd)):
        items.append(_table(found.arrays if every else found.arrays[:MAX_ARRAYS], names, every=every))
        if len(found.arrays) > MAX_ARRAYS and not every:
            items.append(f"  and {len(found.arrays) - MAX_ARRAYS} more arrays, with --all")
    return items


def _sided(text: str, names: tuple[str, str]) -> str:
    """Return a finding with the names that the columns have, such as A and B."""
    for word, name in zip(("first", "second"), names, strict=True):
        text = text.replace(f"only the {word} has", f"only {name if len(name) == 1 else f'the {name}'} has")
    return text


def _table(arrays: Sequence[ArrayComparison], names: tuple[str, str], *, every: bool) -> ScreenTable:
    """Return a row for each array: how many values differ, by how much, and the worst place with both values."""
    counted = every or any(
        array.ulp_dtype not in (None, "float64") and array.figures.max_ulp <= MAX_ULP for array in arrays
    )  # the two values of float64 need the room
    columns = [("array", "left"), ("differ", RIGHT), ("max abs", 4), *([("mean abs", 4)] if every else []),
               *([("max ulp", RIGHT)] if counted else []), ("worst at", RIGHT),
               *((name, RIGHT) for name in names)]  # fmt: skip
    rows = []
    for array in arrays:
        figures = array.figures
        place = figures.worst
        both = ("", "") if place is None else (
            shortest_text(place.left, array.dtypes[0]), shortest_text(place.right, array.dtypes[1])
        )  # fmt: skip
        largest = figures.largest or math.nan if figures.nan.alone else figures.max_abs
        ulps = f"{figures.max_ulp:,}" if figures.max_ulp or not figures.max_abs else "< 1"
        ulps = ulps if array.ulp_dtype and largest < math.inf else ""
        rows.append([
            array.names[0], f"{figures.unequal:,}", largest, *([figures.mean_abs] if every else []),
            *([ulps] if counted else []), _place(place), *both,
        ])  # fmt: skip
    return grid(columns, rows)


def _place(place: Place | None) -> str:
    return "" if place is None else f"[{', '.join(map(str, place.index))}]" + f".{place.part}" * bool(place.part)


def details(found: ArrayComparison) -> Iterator[str]:
    """Yield lines on one array: the first place, NaN and infinity."""
    figures = found.figures
    if figures.first is not None:
        left, right = figures.first.left, figures.first.right
        both = f"{shortest_text(left, found.dtypes[0])} against {shortest_text(right, found.dtypes[1])}"
        yield f"first: {found.names[0]}{_place(figures.first)} is {both}"
    for word, odd in (("NaN", figures.nan), ("infinity", figures.infinite)):
        if odd.as_dict():
            row = ", ".join(map(str, odd.first_row or ()))  # of several axes, such as head and query, all numbers
            where = f", the first at row {f'[{row}]' if ',' in row else row}" if row else ""
            yield f"{word}: {odd.left} on the left alone, {odd.right} on the right alone, {odd.both} on both{where}"


def matrix_view(names: Sequence[str], pairs: Mapping[tuple[int, int], Comparison], *, every: bool) -> list[Item]:
    """Return the largest differences of every pair of several sources, of which the second is what was expected."""
    cells = {(min(pair), max(pair)): _cell(found) for pair, found in pairs.items()}
    columns = [("", "right"), *((str(j + 1), "right") for j in range(1, len(names))), ("source", "left")]
    rows = [[str(i + 1), *(cells.get((i, j), "") for j in range(1, len(names))), name] for i, name in enumerate(names)]
    differ = [(i, j) for (i, j), found in pairs.items() if not found.equal]
    verdict = f"same: all {len(names)} sources" if not differ else f"different: {len(differ)} of {len(pairs)} pairs"
    reasons = [
        f"  {i + 1} against {j + 1}: {one.text}"
        for (i, j), found in pairs.items()
        for one in found.findings[: None if every else 1]
    ]
    if len(reasons) > MAX_REASONS and not every:
        reasons[MAX_REASONS - 1 :] = [f"  and {len(reasons) - MAX_REASONS + 1} more pairs, with --all"]
    marks = {"*": "  * differs", "(part)": "  (part): of what both have"}
    used = [text for mark, text in marks.items() if any(cell.endswith(mark) for cell in cells.values())]
    return [Verdict(verdict, not differ), *reasons, grid(columns, rows, title="Largest absolute differences"), *used]


def _cell(found: Comparison) -> str:
    if not found.arrays:
        return "-"
    if found.equal and not found.total.unequal:
        return "equal"
    return figure(found.total.max_abs, 3) + ("" if found.equal else " *" if found.complete else " (part)")


def chosen(sources: Sequence[str]) -> list[tuple[Encoding, Recipe | None]] | None:
    """Return the encodings that the sources name, with the recipe of each; None if one is a file.

    A bare name stands for its encoding; only a recipe with parameters is measured.
    """
    from pecli.tables.alignment import open_alone
    from pecli.tables.request import take_table_keys

    found: list[tuple[Encoding, Recipe | None]] = []
    for text in sources:
        if kind_of(text) is not Kind.RECIPE:
            return None
        encoding, recipe = CATALOGUE[text.partition(":")[0]], None
        if ":" in text:
            name, keys = split_recipe(text)
            take_table_keys(name, keys)
            if "config" in keys:
                return None
            recipe = Recipe.bind(name, **keys)
            open_alone(read_source(text), 2)  # what it says of its table has no effect here, but must be right
        found.append((encoding, recipe))
    return found


MAX_COLUMNS = 4  # encodings that are shown in columns
# Facts that a short report leaves out.
MINOR = {"values held", "trained values", "trained values now", "used by"}


def show_facts(items: Sequence[tuple[Encoding, Recipe | None]], options: CompareOptions) -> int:
    """Print declared facts and measured figures of encodings; return 0."""
    from pecli.inspect.facts import TITLES, figures, sheet

    # an encoding that is named twice is shown once
    sheets = {r.short if r else e.name: {**sheet(e), **(figures(r) if r else {})} for e, r in items}
    keys = list(dict.fromkeys(key for facts in sheets.values() for key in facts))
    brief = not options.all and options.format is None and len(sheets) > 1

    def view() -> list[Item]:
        if len(sheets) <= MAX_COLUMNS:  # a column each; more of them are rows
            rows = [[TITLES.get(key, key), *(facts.get(key, "-") for facts in sheets.values())] for key in keys]
            shown = [row for row in rows if not brief or (row[0] not in MINOR and len({*row[1:]}) > 1)]
            table = [grid([("", LEFT), *((name, LEFT) for name in sheets)], shown)] if shown else []
            left = len(rows) - len(shown)
            return [*table, *([f"and {left} more lines, with --all"] if left else [])]
        kept = [key for key in keys[:12] if not brief or TITLES[key] not in MINOR]
        parts = (kept[:6], kept[6:])
        return [
            grid([("encoding", "left"), *((TITLES.get(key, key), "left") for key in part)],
                 [[name, *(facts.get(key, "-") for key in part)] for name, facts in sheets.items()])
            for part in parts
        ]  # fmt: skip

    answer(options, lambda: {"encodings": sheets}, view)
    return 0


MAX_RECIPES = 8  # encodings whose recipes are shown; of more the names


def show_costs(items: Sequence[tuple[Encoding, Recipe | None]], options: CompareOptions) -> int:
    """Print what each encoding costs a model of the size that the options give; return 0."""
    from pecli.inspect.facts import Setting, cost_of

    fields = {"length": "len", "width": "dim", "heads": "heads", "layers": "layers", "dtype": "dtype"}
    given = {field: getattr(options, name) for field, name in fields.items()}
    setting = Setting(**{field: value for field, value in given.items() if value is not None})
    if setting.width % setting.heads:
        raise BadParameter("heads", setting.heads, f"must divide the model's width {setting.width}")
    costs = [(encoding, cost_of(encoding, recipe, setting)) for encoding, recipe in items]
    found = {cost.recipe: {"name": encoding.name, **cost.as_dict()} for encoding, cost in costs}
    held, work = [], []
    for encoding, cost in costs:
        name = cost.recipe if len(costs) <= MAX_RECIPES else encoding.name
        sizes = map(size_text, (cost.table_bytes, cost.kernel_bytes))
        held.append([name, f"{cost.positions:,}", f"{cost.trained:,}", *sizes])
        counts = (*cost.per_token, cost.additions, cost.products)
        work.append([encoding.name, *(f"{count:,}" for count in counts)])
    of_table = ("positions", "trained", "table", "held by a fused kernel")
    of_work = ("additions/token", "products/token", "additions", "products")
    view: list[Item] = [
        f"A model of width {setting.width}, {setting.heads} heads, {setting.layers} layers; {setting.dtype}",
        *(grid([("encoding", LEFT), *((word, RIGHT) for word in words)], rows)
          for words, rows in ((of_table, held), (of_work, work))),
        "Additions and products are those of all positions and layers, without trained projections.",
    ]  # fmt: skip
    answer(options, lambda: {"setting": asdict(setting), "costs": found}, lambda: view)
    return 0


def show_stacks(path: str, options: CompareOptions) -> int:
    """Print how each framework's table differs from that of transformers; return 0 where all agree, else 1."""
    from pecli.inspect.configs import advise, compare_stacks

    found = compare_stacks(path, options.layer_type)
    agree = all(row.equal for rows in found.values() for row in rows if row.known)
    advice = {name: advise(path, name, rows) for name, rows in found.items()}

    def result() -> dict[str, Any]:
        layers = {
            name: [{**asdict(row), "remedies": [remedy.text for remedy in row.remedies]} for row in rows]
            for name, rows in found.items()
        }
        advised = {name: asdict(one) for name, one in advice.items()}
        verdict = "same" if agree else "different"
        return {"source": path, "verdict": verdict, "equal": agree, "layers": layers, "advice": advised}

    def view() -> list[Item]:
        reports: dict[str, tuple[list[str], list[Item]]] = {}  # layers with the same report are one
        for name, rows in found.items():
            known = [row for row in rows if row.known]
            count = sum(row.equal for row in known)
            good = count == len(known)
            text = f"same: all {count} stacks that are known to make this table agree"
            lead = Verdict(text if good else f"different: {count} of {len(known)} stacks make one table", good)
            more = [] if good else [f"  {advice[name].text}"]
            items: list[Item] = [lead, *more, *_stack_lines(rows, every=options.all or options.format is not None)]
            reports.setdefault(repr(items), ([], items))[0].append(name)
        for layers, items in reports.values() if len(reports) > 1 else ():
            items.insert(1, f"  layers: {', '.join(layers)}")
        return [item for _, items in reports.values() for item in items]

    answer(options, result, view, verdict=True)
    return int(not agree)


def _stack_lines(rows: Sequence[StackRow], *, every: bool) -> list[Item]:
    """Return a table of the stacks that differ, with the key that decides; with `every`, all of them and why."""
    shown = [row for row in rows if row.known and (every or not row.equal)]
    cells = []
    for row in shown:
        figures = (row.frequencies, row.magnitude, row.values)
        frequency, magnitude, value = ("-" if figure is None else figure for figure in figures)
        version = row.version if row.run else f"{row.version}, read"
        more = (version, "yes" if row.equal else "no", value) if every else (", ".join(dict.fromkeys(row.keys)),)
        cells.append([row.stack, frequency, magnitude, *more])
    last = [("version", "left"), ("same", "left"), ("value", 3)] if every else [("key", "left")]
    heads = [("stack", "left"), ("frequency", 3), ("magnitude", 7), *last]
    title = "Largest relative difference of a frequency" + ", largest difference of a value" * every
    items: list[Item] = [grid(heads, cells, title=title)] if shown else []
    if not every:
        return items
    items += [line for row in shown for line in _stack_reasons(row)]
    unknown = [row.stack for row in rows if not row.known]
    if unknown:
        items.append(f"unknown: whether and how {', '.join(unknown)} make this table")
    if any(not row.run for row in shown):
        items.append("read: the rules of that stack were read from its source code, which was not run")
    return items


def _stack_reasons(row: StackRow) -> list[Item]:
    """Return why a stack differs, the key that decides, the source of each statement, and remarks."""
    found = []
    for key, difference, source in zip(row.keys, row.differences, row.sources, strict=True):
        refusal = row.trouble.removeprefix(difference) if row.trouble.startswith(difference) else ""
        found.append(f"{row.stack} {difference}{refusal} (key {key}; {source})")
    if row.trouble and not any(row.trouble.startswith(difference) for difference in row.differences):
        found.append(f"{row.stack}: {row.trouble}")
    return [*found, *row.remarks]


DEFAULT_ROWS = 128  # of recipes that say no length


def command(options: CompareOptions) -> int:
    """Compare tables: whether they agree, and why and where they do not."""
    if not (options.sources or options.all or options.cost):
        raise BadRecipe("compare needs two sources or more: files, recipes, or --all")
    sources = options.sources or tuple(CATALOGUE)  # --all and --cost alone are about all encodings
    if options.plot is not None:
        refuse("has no values to draw: leave it or --plot out", options, "stacks", "cost")
        if len(sources) != 2:
            rule = f"draws the difference of two sources, and {len(sources)} are given"
            raise BadParameter("plot", options.plot, rule)
        check_plot(options)
    if options.stacks:
        if len(sources) != 1:
            raise BadParameter("stacks", len(sources), "is for one config.json: name it alone")
        refuse("has no effect with --stacks: leave it out", options, *TOLERANCES, "values", "heads", "cost", *OF_COST)
        return show_stacks(sources[0], options)
    if not any(kind_of(text) is Kind.CONFIG for text in sources):
        rule = "is for a model's config, and no source is one: NAME:config=FILE,layer-type=NAME says it of a recipe"
        refuse(rule, options, "layer_type")
    named = None if options.values else chosen(sources)
    if options.cost:
        refuse("has no effect with --cost: leave it out", options, *TOLERANCES, "values")
        if named is None:
            raise BadParameter("cost", "true", "is for encodings and recipes, and a file is none")
        return show_costs(named, options)
    in_recipe = "is for --cost: give it too, or write it in the recipe, as in rope:dim=64,len=1024"
    refuse(in_recipe, options, "len", "dim", "dtype")
    refuse("is for --cost: give it too, or leave this out", options, "layers")
    if named is not None:
        refuse("is for values: give --values too, or leave it out", options, *TOLERANCES, "heads", "plot")
        return show_facts(named, options)
    return _compare_values(sources, options)


def _compare_values(texts: Sequence[str], options: CompareOptions) -> int:
    """Compare the values of two sources, or of every pair of several; return 0 if all are the same, else 1."""
    from pecli.tables.alignment import joined_components

    if len(texts) < 2:
        raise BadRecipe(f"compare needs two sources; only {texts[0]} was given")
    if list(texts).count("-") > 1:
        raise BadParameter("SOURCE", "-", "is standard input, which is read once: name the other source by its file")
    allowed = allowed_by(options)
    sources = joined_components([_read(text, texts, options.layer_type) for text in texts])
    if options.digits is not None:  # printed from real values, not from those of the type that the file is read in
        sources = [replace(s, given={"dtype": "float64", **s.given}) if s.is_recipe else s for s in sources]
    return (_two if len(sources) == 2 else _several)(sources, allowed, options)


def _read(text: str, texts: Sequence[str], layer_type: str | None) -> NamedSource:
    """Read a source; what a recipe or a config leaves open, its size or the kind of layer, fits the first file."""
    from pecli.tables.alignment import read_fitting

    choice = {"layer_type": layer_type} if layer_type is not None and kind_of(text) is Kind.CONFIG else {}
    try:
        return read_source(text, **choice)
    except (MissingParameter, SeveralLayers):
        for other in texts:
            if kind_of(other) is Kind.FILE:
                return read_fitting(text, open_source(other))
        raise


def _two(sources: Sequence[NamedSource], tolerance: Tolerance, options: CompareOptions) -> int:
    from pecli.tables.alignment import open_aligned

    first, second = sources
    a, b = open_aligned(first, second, DEFAULT_ROWS)
    found = _compared(a, b, tolerance, options)
    if any(source.layers for source in sources) and not found.equal:
        (first, second), (a, b), found = _by_layers((first, second), (a, b), found, tolerance, options)
    charts = None
    if options.plot is not None:
        from pecli.plots.tables import charts_of_difference

        charts = charts_of_difference(a, b, (first.text, second.text))
    # what two configs state apart from the values
    lengths, pairings = (first.model_length, second.model_length), (first.model_pairing, second.model_pairing)
    models = [
        f"{one} {word} in {first.text}, {other} in {second.text}"
        for word, (one, other) in (("positions", lengths), ("pairs", pairings))
        if one and other and one != other
    ]
    sides, taken = ((first, a), (second, b)), [one.note for one in (first, second) if one.note]

    def result() -> dict[str, Any]:
        stated = {name: texts for name, texts in (("models", models), ("notes", taken)) if texts}
        return {"sources": [first.text, second.text], **stated, **found.as_dict()}

    def view() -> list[Item]:
        items = difference_view(found, ("A", "B"), every=options.all)
        named = [Fact(name, f"{source.text}   {shapes_text(table.arrays)}", 4)
                 for name, (source, table) in zip("AB", sides, strict=True)]  # fmt: skip
        items[1:1] = [*(named if options.all else []), *(f"  the models differ: {text}" for text in models)]
        items[1:1] = [f"  {text}" for text in taken]
        items += [f"  {line}" for array in found.arrays for line in details(array)] if options.all else []
        same = found.equal or ": harmless" in headline(found)[1]
        return items + ([line for two in sides for line in _taken_layout(*two)] if same else [])

    answer(options, result, view, verdict=True)
    if charts:
        show_charts(charts, str(options.plot), quiet=options.quiet)
    elif charts is not None and not options.quiet:
        tell("no picture: all values are equal")
    return 0 if found.equal else 1


def _by_layers(sources: Sides, tables: tuple[Tabular, Tabular], found: Comparison, tolerance: Tolerance,
               options: CompareOptions) -> tuple[Sides, tuple[Tabular, Tabular], Comparison]:  # fmt: skip
    """Return the comparison with the kind of layer from which a file differs in least, with a note on the others."""
    from pecli.tables.alignment import open_aligned

    if ": harmless" in headline(found)[1]:
        return sources, tables, found
    config = next(source for source in sources if source.layers)
    tried = {config.layers[0]: (config, tables, found)}
    for kind in config.layers[1:]:
        one = replace(read_source(config.text, layer_type=kind), given=config.given)
        first, second = (one if source is config else source for source in sources)
        a, b = open_aligned(first, second, DEFAULT_ROWS)
        tried[kind] = one, (a, b), _compared(a, b, tolerance, options)
    causes = {kind: headline(seen)[1] for kind, (*_, seen) in tried.items()}
    counts = {kind: sum(one.kind not in HARMLESS for one in seen.findings) for kind, (*_, seen) in tried.items()}
    best = min(tried, key=lambda kind: (counts[kind], causes[kind].startswith("base ")))
    others = "; ".join(f"with the {kind} layers: {cause}" for kind, cause in causes.items() if kind != best)
    named = replace(tried[best][0], note=f"compared with the {best} layers; {others}")
    first, second = (named if source is config else source for source in sources)
    return (first, second), *tried[best][1:]


def _taken_layout(source: NamedSource, table: Tabular) -> list[str]:
    """Return the layout that a recipe took from the file, where models differ in it."""
    from pecli.tables.alignment import DOUBLED

    layout = table.request.layout if isinstance(table, Table) else None
    stated = "layout" in source.given or (source.model_layout is not None and layout != "sin-cos")
    if layout not in (*DOUBLED, "sin-cos") or stated:
        return []
    check = "; layout=WORD in the recipe checks it" * (source.model_layout is None)
    return [f"  layout {layout}, taken from the file: {source.text} states none{check}"]


def _compared(a: Tabular, b: Tabular, tolerance: Tolerance, options: CompareOptions) -> Comparison:
    from pecli.judge.compare import compare

    with progress_for("comparing", options, a, b) as advance:
        found = compare(a, b, tolerance, advance)
    if options.heads is None and not any("rotated" in table.metadata for table in (a, b)):
        return found
    from pecli.apply.checkpoints import explained

    return explained(found, a, b, options.heads)


def _several(sources: Sequence[NamedSource], tolerance: Tolerance, options: CompareOptions) -> int:
    """Compare every pair; recipes take their shape from the first file."""
    from pecli.tables.alignment import open_alone, table_like, take_types

    model = next((s for s in sources if not s.is_recipe), next((s for s in sources if s.says_length), sources[0]))
    opened = open_alone(model, DEFAULT_ROWS)
    files = {at: opened if s is model else s.open() for at, s in enumerate(sources) if s is model or not s.is_recipe}
    take_types(list(files.values()))
    tables = [files[at] if at in files else table_like(s, opened) for at, s in enumerate(sources)]
    take_types(tables)
    couples = [(j, i) for i in range(len(tables)) for j in range(i + 1, len(tables))]  # the second is expected
    computed = [isinstance(table, Table) for table in tables]
    ordered = [(i, j) if computed[j] and not computed[i] else (j, i) for j, i in couples]
    pairs = {(i, j): _compared(tables[i], tables[j], tolerance, options) for i, j in ordered}
    equal = all(found.equal for found in pairs.values())
    names = [s.text for s in sources]

    def result() -> dict[str, Any]:
        items = [{"sources": [names[i], names[j]], **found.as_dict()} for (i, j), found in pairs.items()]
        return {"sources": names, "verdict": "same" if equal else "different", "equal": equal, "pairs": items}

    answer(options, result, lambda: matrix_view(names, pairs, every=options.all), verdict=True)
    return 0 if equal else 1
