"""``pecli compare A B...``: differences of values, or facts, costs and stacks of recipes side by side."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any

from pecli.cli.completion import source_words
from pecli.cli.options import (
    Dtype,
    Json,
    LayerType,
    Limit,
    Option,
    Precision,
    Quiet,
    TrustRecipe,
    positions,
    refuse,
    whole,
)
from pecli.cli.terminal.items import LEFT, RIGHT, Item, ScreenTable, grid, shapes_text, size_text
from pecli.cli.terminal.layout import wrapped
from pecli.cli.terminal.output import print_json, prose_width, say
from pecli.cli.terminal.screen import progress_for, show
from pecli.errors import BadParameter, BadRecipe
from pecli.numbers.decimals import parse_integer, parse_number
from pecli.numbers.printing import figure
from pecli.spec.declaration import Encoding
from pecli.spec.recipe import Recipe, split_recipe

if TYPE_CHECKING:
    from pecli.inspect.configs import StackRow
    from pecli.spec.tabular import Tabular
    from pecli.tables.comparison import ArrayComparison, Comparison
    from pecli.tables.figures import Figures, OddValues, Place, Tolerance
    from pecli.tables.sources import NamedSource

OF_COST = ("len", "dim", "layers", "dtype")
TOLERANCES = ("atol", "rtol", "ulp", "digits")


def tolerance(name: str, given: str) -> Decimal:
    """Return a number of 0 or above."""
    value = parse_number(name, given)
    if value < 0:
        raise BadParameter(name, given, "must be 0 or above")
    return value


def whole_tolerance(name: str, given: str) -> int:
    """Return a whole number of 0 or above."""
    return parse_integer(name, tolerance(name, given))


@dataclass(frozen=True, kw_only=True)
class CompareOptions:
    """What ``compare`` may be given."""

    sources: Annotated[
        tuple[str, ...], Option("Two sources or more.", "SOURCE...", argument=True, complete=source_words)
    ] = ()
    atol: Annotated[Decimal | None, Option("Absolute tolerance.", "X", check=tolerance)] = None
    rtol: Annotated[Decimal | None, Option("Tolerance relative to the second value.", "X", check=tolerance)] = None
    ulp: Annotated[int | None, Option("Tolerance in units in the last place.", "N", check=whole_tolerance)] = None
    heads: Annotated[
        int | None,
        Option(
            "Heads of query or key weights: are rows permuted? With --cost, of the model.", "N", check=whole(1, 1 << 16)
        ),
    ] = None
    digits: Annotated[
        int | None, Option("Equal as printed with so many decimals, copied by hand.", "N", check=whole_tolerance)
    ] = None
    stacks: Annotated[bool, Option("Of a model's config.json: which stacks agree, and on what it hangs.")] = False
    all: Annotated[bool, Option("The facts of every encoding.")] = False
    cost: Annotated[bool, Option("Trained values, bytes, additions and products, in a model of this size:")] = False
    len: Annotated[int | None, Option("Positions; for --cost (default 4096).", "N", check=positions(1))] = None
    dim: Annotated[
        int | None, Option("The model's width; for --cost (default 4096).", "D", check=whole(1, 1 << 24))
    ] = None  # fmt: skip
    layers: Annotated[int | None, Option("Layers; for --cost (default 32).", "N", check=whole(1, 1 << 16))] = None
    dtype: Dtype = None
    values: Annotated[bool, Option("Compare the values of recipes, not their facts.")] = False
    layer_type: LayerType = None
    trust_recipe: TrustRecipe = False
    precision: Precision = None
    limit: Limit = None
    json: Json = False
    quiet: Quiet = False


JOINED = 8  # units beyond which bins are joined on the screen
WORST = 3  # columns and stretches of rows that are named


def comparison_view(first: tuple[str, Tabular], second: tuple[str, Tabular], found: Comparison) -> list[Item]:
    """Return what two tables are, whether they are the same, and where and why they differ."""
    items: list[Item] = [f"{text}   {shapes_text(table.arrays)}" for text, table in (first, second)]
    items += [f"\n{found.verdict}", *(f"  {finding.text}" for finding in found.findings)]
    total = found.total
    if total.unequal or total.nan.as_dict() or total.infinite.as_dict():
        items += [_table(found), *(f"  {line}" for array in found.arrays for line in details(array))]
    return items


def _table(found: Comparison) -> ScreenTable:
    columns = [("array", "left"), ("differ", RIGHT), ("max abs", 4), ("mean abs", 4), ("max ulp", RIGHT)]
    rows = [
        (
            a.name,
            f"{f.unequal:,}",
            f.largest if f.nan.alone else f.max_abs,
            f.mean_abs,
            f"{f.max_ulp:,}" if a.ulp_dtype else "",
        )
        for a, f in ((array, array.figures) for array in found.arrays)
    ]
    return grid(columns, rows)


def _cosine(value: float) -> str:
    """Return a cosine; near 1 what it lacks says more."""
    return f"{value:.6f}" if value < 0.9999 else "1" if value == 1.0 else f"1 - {figure(1 - value, 2)}"


def _place(place: Place | None) -> str:
    return "" if place is None else f"[{', '.join(map(str, place.index))}]"


def details(found: ArrayComparison) -> list[str]:
    """Return lines on one array: the worst and the first place, distances in ulp, worst columns and rows, NaN."""
    lines, figures = [], found.figures
    for word, place in (("worst", figures.worst), ("first", figures.first)):
        if place is not None:
            lines.append(f"{word}: {found.name}{_place(place)} is {place.left!r} against {place.right!r}")
    if figures.unequal and found.units:
        lines.append(f"ulp of {found.ulp_dtype}: {_histogram(found.units)}")
    if figures.unequal and figures.cosine_mean is not None:
        lines.append(f"cosine of rows: smallest {_cosine(figures.cosine_min)}, mean {_cosine(figures.cosine_mean)}")
    if figures.unequal and len(found.columns) > 1:
        columns = [max(found.columns[at : at + found.parts]) for at in range(0, len(found.columns), found.parts)]
        order = sorted(range(len(columns)), key=lambda c: -columns[c])[:WORST]
        lines.append("worst columns: " + ", ".join(f"{c} ({_gap(columns[c], figures)})" for c in order if columns[c]))
    if figures.unequal and len(found.profile) > 1:
        top = sorted(found.profile, key=lambda item: -item[1])[:WORST]
        shown = (f"from {_row(found.place(row))} ({_gap(value, figures)})" for row, value in top if value)
        lines.append("worst rows: " + ", ".join(shown))
    for word, counts in (("NaN", figures.nan), ("infinity", figures.infinite)):
        if counts.as_dict():
            lines.append(f"{word}: {_sides(counts)}")
    return lines


def _gap(value: float, figures: Figures) -> str:
    """Return a difference; a number has none from NaN."""
    return "NaN" if figures.nan.alone and math.isinf(value) else figure(value, 3)


def _row(place: Sequence[int]) -> str:
    """Return a row's number; of a row of several axes, such as head and query, those of all."""
    return str(place[0]) if len(place) == 1 else f"[{', '.join(map(str, place))}]"


def _sides(counts: OddValues) -> str:
    where = f", the first at row {_row(counts.first_row)}" if counts.first_row else ""
    return f"{counts.left} on the left alone, {counts.right} on the right alone, {counts.both} on both{where}"


def _histogram(counts: Mapping[str, int]) -> str:
    """Return how many values are so many units apart; beyond eight units the bins grow by sixteen."""
    joined: dict[str, int] = {}
    for name, count in counts.items():
        high = name.partition("..")[2]
        if not high or int(high) <= JOINED:
            joined[name] = count
            continue
        edge = 1 << (-(-(int(high).bit_length() - 1) // 4) * 4)
        label = f"up to {edge:,}"
        joined[label] = joined.get(label, 0) + count
    return "  ".join(f"{name}: {count:,}" for name, count in joined.items())


def matrix_view(names: Sequence[str], pairs: Mapping[tuple[int, int], Comparison]) -> list[Item]:
    """Return the largest differences of every pair of several sources, of which the second is what was expected."""
    cells = {(min(pair), max(pair)): _cell(found) for pair, found in pairs.items()}
    columns = [("max abs", "right"), *((str(j + 1), "right") for j in range(1, len(names)))]
    rows = [[str(i + 1), *(cells.get((i, j), "") for j in range(1, len(names)))] for i in range(len(names) - 1)]
    findings = [(i, j, finding.text) for (i, j), found in pairs.items() for finding in found.findings]
    marks = {"*": "  * differs", "(part)": "  (part): of what both have"}
    return [
        *(f"{number}  {name}" for number, name in enumerate(names, 1)),
        grid(columns, rows),
        *(text for mark, text in marks.items() if any(cell.endswith(mark) for cell in cells.values())),
        *(f"  {i + 1} against {j + 1}: {text}" for i, j, text in findings),
    ]


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
    from pecli.formats.paths import Kind, kind_of
    from pecli.spec.catalogue import CATALOGUE
    from pecli.tables.alignment import open_alone
    from pecli.tables.request import take_table_keys
    from pecli.tables.sources import read_source

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


def show_facts(items: Sequence[tuple[Encoding, Recipe | None]], *, json: bool) -> int:
    """Print declared facts and measured figures of encodings; return 0."""
    from pecli.inspect.facts import TITLES, figures, sheet

    items = list({_name(e, r): (e, r) for e, r in items}.values())  # who names one twice sees it once
    sheets = {_name(e, r): {**sheet(e), **(figures(r) if r else {})} for e, r in items}
    if json:
        print_json({"encodings": sheets})
        return 0
    from pecli.cli.terminal.items import grid
    from pecli.cli.terminal.screen import show

    keys = list(dict.fromkeys(key for facts in sheets.values() for key in facts))
    if len(items) <= 4:  # a column each; more of them are rows
        rows = [[TITLES.get(key, key), *(facts.get(key, "-") for facts in sheets.values())] for key in keys]
        show(grid([("", "left"), *((name, "left") for name in sheets)], rows))
    else:
        for part in (keys[:6], keys[6:12]):
            rows = [[name, *(facts.get(key, "-") for key in part)] for name, facts in sheets.items()]
            show(grid([("encoding", "left"), *((TITLES.get(key, key), "left") for key in part)], rows))
    return 0


def _name(encoding: Encoding, recipe: Recipe | None) -> str:
    return encoding.name if recipe is None else recipe.short


MAX_RECIPES = 8  # encodings whose recipes are shown; of more the names


def show_costs(items: Sequence[tuple[Encoding, Recipe | None]], options: CompareOptions) -> int:
    """Print what each encoding costs a model of the size that the options give; return 0."""
    from pecli.inspect.facts import Setting, cost_of

    usual = Setting()
    setting = Setting(
        options.len or usual.length, options.dim or usual.width, options.heads or usual.heads,
        options.layers or usual.layers, options.dtype or usual.dtype,
    )  # fmt: skip
    if setting.width % setting.heads:
        raise BadParameter("heads", setting.heads, f"must divide the model's width {setting.width}")
    costs = [(encoding, cost_of(encoding, recipe, setting)) for encoding, recipe in items]
    if options.json:
        found = {cost.recipe: {"name": encoding.name, **cost.as_dict()} for encoding, cost in costs}
        print_json({"setting": asdict(setting), "costs": found})
        return 0
    names = [cost.recipe if len(costs) <= MAX_RECIPES else encoding.name for encoding, cost in costs]
    held = [
        [name, f"{c.positions:,}", f"{c.trained:,}", size_text(c.table_bytes), size_text(c.kernel_bytes)]
        for name, (_, c) in zip(names, costs, strict=True)
    ]
    work = [
        [encoding.name, *(f"{count:,}" for count in (*cost.per_token, cost.additions, cost.products))]
        for encoding, cost in costs
    ]
    heads = [("encoding", LEFT), *((word, RIGHT) for word in ("positions", "trained", "table", "kernel holds"))]
    words = ("additions a token", "products a token", "additions", "products")
    show(
        f"A model of width {setting.width}, {setting.heads} heads, {setting.layers} layers; {setting.dtype}",
        grid(heads, held),
        grid([("encoding", LEFT), *((word, RIGHT) for word in words)], work),
        "Work is that of a sequence of all positions in all layers; projections by trained weights are not counted.",
    )
    return 0


def show_stacks(path: str, *, layer_type: str | None = None, json: bool = False) -> int:
    """Print every stack's table beside that of transformers; return 0 where all agree, else 1.

    Raises
    ------
    PecliError
        If the config cannot be read.
    """
    from pecli.inspect.configs import advise, compare_stacks

    found = compare_stacks(path, layer_type)
    agree = all(row.equal for rows in found.values() for row in rows if row.known)
    advice = {name: advise(path, name, rows) for name, rows in found.items()}
    if json:
        layers = {name: [_stack_row(row) for row in rows] for name, rows in found.items()}
        advised = {name: asdict(one) for name, one in advice.items()}
        print_json({"source": path, "equal": agree, "layers": layers, "advice": advised})
        return int(not agree)
    for name, rows in found.items():
        _show(name, rows)
        _say("\n" + advice[name].text)
    return int(not agree)


def _stack_row(row: StackRow) -> dict[str, object]:
    return {**asdict(row), "remedies": [remedy.text for remedy in row.remedies]}


def _show(name: str, rows: tuple[StackRow, ...]) -> None:
    from pecli.cli.terminal.items import grid
    from pecli.cli.terminal.screen import show

    cells = [
        (
            row.stack,
            row.version if row.run else f"{row.version}, read",
            "yes" if row.equal else "no",
            *("-" if figure is None else figure for figure in (row.frequencies, row.magnitude, row.values)),
        )
        for row in rows
        if row.known
    ]
    heads = [("stack", "left"), ("version", "left"), ("same", "left"), ("frequency", 3), ("magnitude", 7), ("value", 3)]
    title = f"Layers: {name}; largest relative difference of a frequency, largest of a value"
    show(grid(heads, cells, title=title))
    for row in rows:
        if row.known:
            _details(row)
    unknown = [row.stack for row in rows if not row.known]
    if unknown:
        _say(f"of {', '.join(unknown)} it is not known whether and how they make this table")
    if any(not row.run for row in rows if row.known):
        _say('"read": the rules of that stack were read from its source, its code was not run')


def _details(row: StackRow) -> None:
    for key, departure, source in zip(row.keys, row.departures, row.sources, strict=True):
        refusal = row.trouble.removeprefix(departure) if row.trouble.startswith(departure) else ""
        _say(f"{row.stack} {departure}{refusal} (key {key}; {source})")
    for remark in row.remarks:
        _say(remark)
    if row.trouble and not any(row.trouble.startswith(departure) for departure in row.departures):
        _say(f"{row.stack}: {row.trouble}")


def _say(text: str) -> None:
    lead = "\n" * text.startswith("\n")
    say(lead + "\n".join(wrapped(text.strip(), prose_width(), "", "  ")))


MOST_DIGITS = 17
DEFAULT_ROWS = 128  # of recipes that say no length


def command(options: CompareOptions) -> int:
    """Compare tables: how far they are apart, where, and why; status 1 where they differ."""
    sources = _sources(options)
    if options.stacks:
        if len(sources) != 1:
            raise BadParameter("stacks", len(sources), "is for one config.json: name it alone")
        refuse("has no effect with --stacks: leave it out", options, *TOLERANCES, "values", "heads", "cost", *OF_COST)
        return show_stacks(sources[0], layer_type=options.layer_type, json=options.json)
    refuse("is for --stacks: write it in the source, as NAME:config=FILE,layer-type=NAME", options, "layer_type")

    named = None if options.values else chosen(sources)
    if options.cost:
        refuse("has no effect with --cost: leave it out", options, *TOLERANCES, "values")
        if named is None:
            raise BadParameter("cost", "true", "is for encodings and recipes, and a file is none")

        return show_costs(named, options)
    refuse("is for --cost: give it too, or leave this out", options, *OF_COST)
    if named is not None:
        refuse("is for values: give --values too, or leave it out", options, *TOLERANCES, "heads")
        return show_facts(named, json=options.json)
    return _compare_values(sources, options)


def _sources(options: CompareOptions) -> list[str]:
    """Return the sources; ``--all`` stands for the whole catalogue."""
    given = list(options.sources)
    if options.all:
        if given:
            raise BadParameter("all", "true", "stands for every encoding: name no sources beside it")
        from pecli.spec.catalogue import CATALOGUE

        return list(CATALOGUE)
    if not given and options.cost:
        from pecli.spec.catalogue import CATALOGUE

        return list(CATALOGUE)
    if not given:
        raise BadRecipe("compare needs two sources or more: files, recipes, or --all")
    return given


def _compare_values(texts: Sequence[str], options: CompareOptions) -> int:
    """Compare the values of two sources, or of every pair of several; return 0 if all are the same, else 1."""
    from pecli.tables.alignment import joined_components
    from pecli.tables.figures import Tolerance
    from pecli.tables.sources import read_source

    if len(texts) < 2:
        raise BadParameter("SOURCE", texts[0], "needs another one to be compared with: give two sources or more")
    allowed = Tolerance(float(options.atol or 0), float(options.rtol or 0), options.ulp or 0)
    if options.digits is not None:
        refuse("stands beside --digits: give one of them", options, "atol", "rtol", "ulp")
        if options.digits > MOST_DIGITS:
            raise BadParameter("digits", options.digits, f"must be at most {MOST_DIGITS}, which float64 holds")
        allowed = Tolerance.printed(options.digits)
    sources = joined_components([read_source(text) for text in texts])
    if options.digits is not None:  # printed from real values, not from those of the type that the file is read in
        sources = [replace(s, keys={"dtype": "float64", **s.given}) if s.is_recipe else s for s in sources]
    return (_two if len(sources) == 2 else _several)(sources, allowed, options)


def _two(sources: Sequence[NamedSource], tolerance: Tolerance, options: CompareOptions) -> int:
    from pecli.tables.alignment import open_aligned

    first, second = sources
    a, b = open_aligned(first, second, DEFAULT_ROWS)
    found = _compared(a, b, tolerance, options)
    if options.json:
        print_json({"sources": [first.text, second.text], **as_dict(found)})
    else:
        show(*comparison_view((first.text, a), (second.text, b), found))
    return 0 if found.equal else 1


def _compared(a: Tabular, b: Tabular, tolerance: Tolerance, options: CompareOptions) -> Comparison:
    from pecli.judge.compare import compare

    total = sum(array.bytes for table in (a, b) for array in table.arrays)
    with progress_for(total, quiet=options.quiet or options.json) as advance:
        found = compare(a, b, tolerance, advance)
    if options.heads is None and not any("rotated" in table.metadata for table in (a, b)):
        return found
    from pecli.apply.faults import explained

    return explained(found, a, b, options.heads)


def _several(sources: Sequence[NamedSource], tolerance: Tolerance, options: CompareOptions) -> int:
    """Compare every pair; recipes take their shape from the first file."""
    from pecli.tables.alignment import open_alone, table_like, take_types
    from pecli.tables.table import Table

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
    if options.json:
        items = [{"sources": [names[i], names[j]], **as_dict(found)} for (i, j), found in pairs.items()]
        print_json({"sources": names, "equal": equal, "pairs": items})
    else:
        show(*matrix_view(names, pairs))
    return 0 if equal else 1


def as_dict(found: Comparison) -> dict[str, Any]:
    """Return what --json prints of a comparison."""
    total, counted = found.total, any(array.ulp_dtype for array in found.arrays)
    return {
        "equal": found.equal,
        "max_abs": total.max_abs if found.arrays else None,
        "mean_abs": total.mean_abs if total.compared else None,
        "max_ulp": total.max_ulp if counted else None,
        "worst": None if total.worst is None else total.worst.as_dict(),
        "first": None if total.first is None else total.first.as_dict(),
        "findings": [finding.text for finding in found.findings],
        "arrays": [_array(array) for array in found.arrays],
    }


def _array(found: ArrayComparison) -> dict[str, Any]:
    figures = found.figures
    return {
        "name": found.name,
        "shapes": [found.shape, found.other_shape],
        "dtypes": [found.dtype, found.other_dtype],
        "compared": figures.compared,
        "unequal": figures.unequal,
        "beyond": figures.beyond,
        "max_abs": figures.max_abs,
        "mean_abs": figures.mean_abs,
        "max_ulp": figures.max_ulp if found.ulp_dtype else None,
        "ulp_of": found.ulp_dtype,
        "ulp_histogram": found.units,
        "cosine_min": figures.cosine_min if figures.directed else None,
        "cosine_mean": figures.cosine_mean,
        "nan": figures.nan.as_dict(),
        "infinite": figures.infinite.as_dict(),
        "worst": None if figures.worst is None else figures.worst.as_dict(),
        "first": None if figures.first is None else figures.first.as_dict(),
        "columns": found.columns,
        "rows": [{"first": row, "max_abs": value} for row, value in found.profile],
    }
