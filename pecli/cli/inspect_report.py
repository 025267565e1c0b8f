"""Reports of ``inspect``: statistics, identification, verification, configs and worked examples on the screen."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from pecli.cli.inspect_options import InspectOptions, refuse_table
from pecli.cli.terminal.items import LEFT, RIGHT, Fact, Item, ScreenTable, grid, preview_grid, shapes_text, size_text
from pecli.cli.terminal.layout import lines_of, wrapped
from pecli.cli.terminal.output import WIDE, clean, print_json, screen_width
from pecli.cli.terminal.screen import progress_for, show
from pecli.cli.terminal.writing import Writing, deliver, report
from pecli.errors import BadParameter, BadRecipe
from pecli.inspect.facts import TITLES, sheet
from pecli.numbers.printing import between, figure
from pecli.spec.board import exact_text
from pecli.spec.catalogue import CATALOGUE
from pecli.spec.recipe import join_recipe, split_recipe

if TYPE_CHECKING:
    from pecli.inspect.checkpoints import Checkpoint
    from pecli.inspect.configs import ConfigReport, Frequency, LayerReport
    from pecli.inspect.properties import Property
    from pecli.inspect.statistics import Excerpt, Inspection, Statistics
    from pecli.inspect.verification import Folder, Verified
    from pecli.judge.description import Identification
    from pecli.spec.board import Equation, Matrix, SmallTable, Step
    from pecli.spec.tabular import Tabular
    from pecli.tables.sources import NamedSource
    from pecli.teach.examples import Example

MOST_LINES, MOST_ARRAYS, MOST_SLOPES = 30, 6, 16  # of a short answer
FACTS = (("learned", "longest", "beyond"), ("bounded", "unique", "relative", "multi_scale"))


def brief_view(found: Inspection, parts: Sequence[Excerpt]) -> list[Item]:
    """Return in at most 30 lines what a table is: short recipe, range, facts, and the first of its values."""
    arrays = found.arrays[:MOST_ARRAYS]
    rest = f" and {len(found.arrays) - len(arrays)} more" if len(arrays) < len(found.arrays) else ""
    size = size_text(sum(array.bytes for array in found.arrays))
    items: list[Item] = [f"{found.source}: {found.format or 'recipe'}, {shapes_text(arrays)}{rest}, {size}"]
    if found.recipe:
        items += _what(found.recipe)
    if found.positions is not None:
        items.append(Fact("positions", _ends(found)))
    if found.statistics:
        items.append(_statistics(found.statistics[:MOST_ARRAYS]))
    if found.slopes is not None:
        shown = ", ".join(map(exact_text, found.slopes[:MOST_SLOPES]))
        items.append(Fact("slopes", shown + (f" .. of {len(found.slopes)} heads" * (len(found.slopes) > MOST_SLOPES))))
    width = screen_width() or WIDE
    room = MOST_LINES - sum(len(lines_of(item, width)) for item in items)
    for made in map(preview_grid, parts):
        room -= len(lines_of(made, width))
        if room >= 0:
            items.append(made)
    return items


def _what(text: str) -> list[Item]:
    """Return the title, the short recipe and the facts of a recipe, as far as its encoding is known."""
    name, _, _ = text.partition(":")
    encoding = CATALOGUE.get(name)
    if encoding is None:
        return [Fact("recipe", text)]
    keys = split_recipe(text)[1]
    defaults = {p.option: p.text(p.default) for p in encoding.options if p.default is not None}
    short = join_recipe(name, {key: word for key, word in keys.items() if defaults.get(key) != word})
    facts = sheet(encoding)
    one, two = (", ".join(f"{TITLES[key]}: {facts[key].replace('_', '-')}" for key in line) for line in FACTS)
    what = f"{encoding.title}: {encoding.description.splitlines()[0]}"
    return [Fact("what", what), Fact("recipe", short), Fact("facts", one), Fact("", two)]


def full_view(found: Inspection, more: Mapping[str, Any], parts: Sequence[Excerpt]) -> list[Item]:
    """Return arrays, recipe and metadata, statistics, what was asked for, and the head of the values."""
    size = sum(array.bytes for array in found.arrays)
    items: list[Item] = [f"{found.source}: {found.format or 'recipe'}, {shapes_text(found.arrays)}, {size_text(size)}"]
    facts = {"recipe": found.recipe, "positions": _ends(found), **found.metadata}
    items += [Fact(name.replace("_", " "), str(value)) for name, value in facts.items() if value]
    if found.statistics:
        items.append(_statistics(found.statistics))
    if found.slopes is not None:
        items.append(grid([("head", RIGHT), ("slope", LEFT)], enumerate(map(exact_text, found.slopes))))
    items += [Fact("sha256", f"{s.sha256}  {s.name}") for s in found.statistics if s.sha256 is not None]
    if "identity" in more:
        items += identity_view(more["identity"])
    if "properties" in more:
        items.append(properties_view(more["properties"]))
    return [*items, *map(preview_grid, parts)]


def _ends(found: Inspection) -> str:
    """Return the first and the last position; of a list there is more to say than from where to where."""
    first, last = found.positions or ("", "")
    if found.recipe and "positions" in split_recipe(found.recipe)[1]:
        return f"a list, the first {first}, the last {last}"
    return f"{first} to {last}" if found.positions else ""


def _statistics(found: Sequence[Statistics]) -> ScreenTable:
    """Return the range, mean and norms of each array; the counts of NaN and infinity where there are any."""
    odd = any(s.nan or s.infinite for s in found)
    columns: list[tuple[str, str | int]] = [("array", "left"), ("min", 9), ("max", 9), ("mean", 9), ("row norm", RIGHT)]
    columns += [("NaN", RIGHT), ("infinite", RIGHT)] if odd else []
    rows = [
        [s.name, *("" if v is None else v for v in (s.minimum, s.maximum, s.mean)), _range(s.norm_min, s.norm_max),
         *([s.nan, s.infinite] if odd else [])]
        for s in found
    ]  # fmt: skip
    return grid(columns, rows)


def _range(low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return ""
    return figure(low) if figure(low) == figure(high) else between(low, high)


def identity_view(found: Identification) -> list[Item]:
    """Return what a table is, how closely, and how sure that is."""
    if found.recipe is None:
        text = "unknown: the values match no known encoding"
        return [Fact("identified", text), *(Fact("measured", text) for text in found.measured),
                *(Fact("", note) for note in found.notes)]  # fmt: skip
    share = "" if found.equal is None else f", {_share(found.equal)} equal"
    if found.residual is None or math.isinf(found.residual):  # NaN has no difference, and a note says where it is
        residual = ""
    elif found.count and found.residual:  # equal to what an arithmetic gives, which is not the exact value
        residual = f", up to {figure(found.residual, 3)} from the exact ones"
    else:
        residual = f", largest difference {figure(found.residual, 3)}"
    return [
        Fact("identified", found.recipe),
        Fact("", f"{found.confidence}{share}{residual}"),
        Fact("arithmetic", found.arithmetic),
        *(Fact("", note) for note in found.notes),
        *(Fact("the same as", alias) for alias in found.aliases),
    ]


def _share(equal: float) -> str:
    """All of the values only where it is all of them, however few differ."""
    if equal == 1:
        return "all values"
    return f"{min(equal, 0.999999):.4%} of the values"


def properties_view(found: Sequence[Property]) -> ScreenTable:
    """Return measured properties."""
    words = {True: "yes", False: "no", None: ""}
    heads = [("property", "left"), ("", "left"), ("measured", "left")]
    return grid(heads, [(p.name, words[p.holds], p.text) for p in found])


def verified_view(found: Verified) -> list[Item]:
    """Return whether a file is what its recipe says."""
    if found.problem or found.comparison is None:
        return [f"{found.path}: not verified: {found.problem}"]
    total = found.comparison.total
    recipe = Fact("recipe", found.recipe or "")
    if found.good:
        return [f"{found.path}: verified, {total.compared:,} values are what the recipe gives", recipe]
    wrong = f"{total.beyond:,} of {total.compared:,} values differ"
    if not total.beyond:  # what is there is right
        wrong = "it does not hold all of it" if total.compared else "it has another shape"
    items: list[Item] = [f"{found.path}: NOT what its recipe gives: {wrong}", recipe]
    items += [f"  {finding.text}" for finding in found.comparison.findings]
    place = total.first
    if place is not None:
        index = ", ".join(map(str, place.index))
        items.append(f"  first: {place.array}[{index}] is {place.left!r}, expected {place.right!r}")
    return items


def folder_view(found: Folder) -> list[Item]:
    """Return whether the parts in a folder make up one table."""
    items: list[Item] = []
    for part in found.parts:
        wrong = "" if part.good else f": {part.problem or _wrong(part)}"
        items.append(f"{'verified' if part.good else 'NOT VERIFIED'}  {part.path}{wrong}")
    items += found.findings
    if found.recipe:
        items.append(Fact("recipe", found.recipe))
    total = f"{len(found.parts)} of {found.count} parts" if found.count else f"{len(found.parts)} files"
    return [*items, f"{found.path}: {'whole and verified' if found.good else 'NOT whole or not right'}, {total}"]


def _wrong(part: Verified) -> str:
    if part.comparison is None:
        return "not compared"
    return f"{part.comparison.total.beyond:,} values differ"


def as_dict(found: Inspection, more: Mapping[str, Any]) -> dict[str, Any]:
    """Return what --json prints of an inspection."""
    arrays = [{"name": a.name, "shape": a.shape, "dtype": a.dtype} for a in found.arrays]
    result: dict[str, Any] = {
        "source": found.source,
        "format": found.format,
        "arrays": arrays,
        "recipe": found.recipe,
        "metadata": found.metadata,
        "statistics": {s.name: {k: v for k, v in asdict(s).items() if k != "name"} for s in found.statistics},
    }
    if found.positions is not None:
        result["positions"] = found.positions
    if found.slopes is not None:
        result["slopes"] = found.slopes
    if found.statistics and found.statistics[0].sha256 is not None:
        result["sha256"] = {s.name: s.sha256 for s in found.statistics}
    if "identity" in more:
        result |= more["identity"].as_dict()
    if "properties" in more:
        from pecli.inspect.properties import as_dicts

        result["properties"] = as_dicts(more["properties"])
    return result


SHOWN = 12  # frequencies of a layer that are printed; --json has all
MOST_LAYERS, MOST_KEYS = 2, 16  # that a short answer shows


def brief(found: ConfigReport) -> list[Item]:
    """Return in few lines what a config says: its layers, the names of its keys, its warnings."""
    items: list[Item] = [_title(found)]
    for layer in found.layers[:MOST_LAYERS]:
        items += _layer(layer)
        if layer.frequencies:
            items.append(Fact("frequencies", _frequency_range(layer.frequencies)))
    if (more := len(found.layers) - MOST_LAYERS) > 0:
        items.append(f"and {more} more {'kind' if more == 1 else 'kinds'} of layers, with --all")
    for title, keys in (("keys used", found.used), ("no effect", found.ignored)):
        if keys:
            shown = ", ".join(key.name.rpartition(".")[2] for key in keys[:MOST_KEYS])
            items.append(Fact(title, shown + (f" and {len(keys) - MOST_KEYS} more" * (len(keys) > MOST_KEYS))))
    findings = [*(Fact("warning", line) for line in found.warnings), *(Fact("fault", line) for line in found.faults)]
    items += findings[:MOST_LAYERS]
    if (more := len(findings) - MOST_LAYERS) > 0:
        items.append(f"and {more} more {'warning' if more == 1 else 'warnings'}, with --all")
    for inner in found.parts:
        items += ["", *(item for layer in inner.layers[:1] for item in [_title(inner), *_layer(layer)])]
    return items


def _title(found: ConfigReport) -> str:
    return f"{found.path}: {found.model_type or 'no model_type'}, as {found.stack} {found.version} reads it"


def _frequency_range(found: Sequence[Frequency]) -> str:
    """Return how many frequencies there are, and the longest and the shortest turn."""
    waves = [f.wavelength for f in found]
    return f"{len(found)}, one turn in {between(min(waves), max(waves), 4)} positions"


def explanation(found: ConfigReport, *, every: bool = False) -> list[Item]:
    """Return what a config says: its layers (with `every`, each frequency), keys, warnings, and the models within."""
    items: list[Item] = [_title(found)]
    for layer in found.layers:
        items += _layer(layer)
        if layer.frequencies:
            items.append(frequencies_grid(layer.frequencies, None if every else SHOWN))
    for title, keys in (("Keys used", found.used), ("Keys without effect", found.ignored)):
        if keys:
            items += [f"\n{title}", grid([("key", LEFT), ("what it is", LEFT)], ((key.name, key.text) for key in keys))]
    for title, lines in (("Warnings", found.warnings), ("Faults of the stack that this table follows", found.faults)):
        if lines:
            items += [f"\n{title}", *(f"  {line}" for line in lines)]
    for inner in found.parts:
        items += ["", *explanation(inner, every=every)]
    return items


def checkpoint_view(found: Checkpoint, *, short: bool = False) -> list[Item]:
    """Return what a checkpoint's folder holds: its config, the tables it stores, who reads the config otherwise."""
    items = (brief if short else explanation)(found.config)
    items.append("\nStored tables" if found.tables else "\nNo table of positions is stored.")
    for table in found.tables:
        shape = " x ".join(map(str, table.shape))
        many = f", {table.count} of them" if table.count > 1 else ""
        place = f"{table.file}::{table.name} ({table.what}, {shape} {table.dtype}{many})"
        items.append(f"  {place}: {table.text}")
    return [*items, "", *found.otherwise]


def _layer(layer: LayerReport) -> list[Item]:
    items: list[Item] = [f"\nLayers: {layer.name}", Fact("recipe", layer.recipe)]
    if layer.layout:
        items.append(Fact("layout", f"{layer.layout} (pairs: {layer.pairing})"))
    if layer.length is not None:
        later = f", the first token at {layer.first}" if layer.first else ""
        items.append(Fact("positions", f"{layer.length}{later}"))
    if layer.magnitude != 1:
        items.append(Fact("magnitude", f"{layer.magnitude!r}, on cos and sin"))
    items += [Fact("note", note) for note in layer.notes]
    return items


def show_frequencies(source: NamedSource, length: int | None, *, json: bool) -> int:
    """Print every frequency of a recipe, its wavelength and its ratio to the one before; return 0.

    Raises
    ------
    BadParameter
        If it is no recipe, or one of what does not oscillate.
    """
    from pecli.inspect.configs import frequencies_of
    from pecli.spec.plans import Waves

    if source.recipe is None:
        raise BadParameter("frequencies", "true", "lists those of a recipe or a config: find one with --identify")
    if source.recipe.open_parameters and length is None:
        raise BadRecipe(f"{source.recipe.encoding.name} depends on the whole table: give len=N")
    rows = length or 1
    recipe = source.recipe.resolve(length=rows, last=rows - 1, whole=True)
    if not isinstance(recipe.plan, Waves):
        raise BadParameter("frequencies", "true", f"is for what oscillates, and {recipe.encoding.name} does not")
    found = frequencies_of(recipe.plan, length)
    magnitude = float(recipe.plan.magnitude)
    if json:
        listed = [asdict(one) for one in found]
        print_json({"source": source.text, "recipe": str(recipe), "magnitude": magnitude, "frequencies": listed})
    else:
        size = "" if magnitude == 1 else f", magnitude {magnitude!r} on cos and sin"
        show(f"{recipe.short}: {len(found)} frequencies{size}", frequencies_grid(found))
    return 0


def frequencies_grid(found: Sequence[Frequency], most: int | None = None) -> ScreenTable:
    """Return a row for each frequency; with `most`, the first and the last of more."""
    cells = [(f.index, f.radians, f.wavelength, f.ratio, f.turns) for f in found]
    heads = [("pair", RIGHT), ("radians/position", 9), ("wavelength", 6), ("ratio", 6), ("turns seen", 4)]
    used = [i for i, _ in enumerate(heads) if any(row[i] is not None for row in cells)]
    made = grid([heads[i] for i in used], [["" if row[i] is None else row[i] for i in used] for row in cells])
    if most is not None and len(cells) > most:
        made.rows[most // 2 : -most // 2] = [["…"] * len(used)]
    return made


INDENT = "  "


def text_of(example: Example, *, formula: bool = True, most: int | None = None, width: int = WIDE) -> str:
    """Return a worked example as text; with `most`, those of its first steps that so many lines hold."""
    lines = wrapped(f"{example.title}: {example.recipe}", width, "", INDENT)
    if formula:
        lines += ["", "Formula"]
        lines += [part for line in example.formula for part in wrapped(line, width, INDENT, INDENT * 2)]
    for number, step in enumerate(example.steps):
        block = ["", *_step(step, width)]
        if most is not None and len(lines) + len(block) > most:
            if number == 0:  # of a long one, what there is room for
                lines += [*block[: max(2, most - len(lines) - 1)], INDENT + ".."]
            break
        lines += block
    return clean("\n".join(lines))


def _step(step: Step, width: int) -> list[str]:
    from pecli.spec.board import SmallTable

    lines = wrapped(step.title, width, "", INDENT)
    for number, item in enumerate(step.items):
        if isinstance(item, str):
            lines += wrapped(item, width, INDENT, INDENT * 2)
        else:
            block = _grid(item, width) if isinstance(item, SmallTable) else _equation(item, width)
            lines += ["", *block] if number else block
    return lines


def _grid(grid: SmallTable, width: int) -> list[str]:
    """Return a table; where it counts something along its columns, those without room give way to an ellipsis."""
    from pecli.numbers.printing import DECIMALS, column
    from pecli.spec.board import NOISE

    digits = 6 if grid.decimals is None else None
    texts = [
        column(items, grid.decimals or DECIMALS, digits=digits, noise=NOISE) for items in zip(*grid.rows, strict=True)
    ]
    columns = [(heading, RIGHT if place else LEFT) for place, heading in enumerate(grid.columns)]
    counted = all(heading.replace(".", "").lstrip("-").isdigit() or heading == "…" for heading, _ in columns[1:])
    table = ScreenTable(columns, [list(row) for row in zip(*texts, strict=True)], elide=counted)
    return [INDENT + line for line in lines_of(table, width - len(INDENT))]


def _equation(equation: Equation, width: int) -> list[str]:
    """Return matrices beside each other, signs at the middle of their height; one below the other where too wide."""
    height = 1 + max((len(t.rows) for t in equation.terms if not isinstance(t, str)), default=1)
    blocks = [_sign(t, height) if isinstance(t, str) else _matrix(t, height) for t in equation.terms]
    lines = [(INDENT + "  ".join(parts)).rstrip() for parts in zip(*blocks, strict=True)]
    if max(map(len, lines)) <= width:
        return lines
    return [(INDENT + line).rstrip() for block in blocks for line in block if line.strip()]


def _sign(text: str, height: int) -> list[str]:
    return [text if row == (height + 1) // 2 else " " * len(text) for row in range(height)]


def _matrix(matrix: Matrix, height: int) -> list[str]:
    """Return the name and the rows of a matrix, padded to a height."""
    from pecli.spec.board import entry

    cells = [[entry(value) for value in row] for row in matrix.rows]
    wide = max(len(cell) for row in cells for cell in row)
    lines = [matrix.name, *("[ " + "  ".join(cell.rjust(wide) for cell in row) + " ]" for row in cells)]
    across = max(map(len, lines))
    return [line.ljust(across) for line in lines] + [" " * across] * (height - len(lines))


def check_expectations(table: Tabular, options: InspectOptions) -> int:
    """Check each expectation over every row; return 0 if all hold, else 1."""
    from pecli.inspect.expectations import expect
    from pecli.inspect.properties import as_dicts

    assert options.expect is not None
    words = [word.strip() for word in options.expect.replace("+", ",").split(",") if word.strip()]
    with progress_for(sum(array.bytes for array in table.arrays), quiet=options.quiet or options.json) as advance:
        found = expect(table, words, advance)
    good = all(one.holds for one in found)
    if options.json:
        print_json({"source": options.source, "holds": good, "expected": as_dicts(found)})
    else:
        show(f"{options.source}: {'as expected' if good else 'NOT as expected'}", properties_view(found))
    return 0 if good else 1


def show_matrix(table: Tabular, options: InspectOptions) -> int:
    """Write, or print, how alike the rows are, or what takes each to a later one."""
    from pecli.inspect.rows import ShiftMatrix, Similarity
    from pecli.inspect.statistics import preview

    made: Tabular
    if options.similarity is not None:
        made, label = Similarity(table, options.similarity), f"{options.similarity} of the rows of {options.source}"
    else:
        made = ShiftMatrix(table, options.shift_matrix or 1)
        label = f"M takes row p of {options.source} to row p + {options.shift_matrix} but for {made.residual:.1e} of "
        label += f"the largest value, measured on {made.measured}"
    if options.output is not None or options.format is not None:
        to = Writing(
            output=options.output, format=options.format, no_clobber=options.no_clobber, json=options.json,
            quiet=options.quiet,
        )  # fmt: skip
        return deliver(made, label, to)
    seen = preview(made, rows=options.rows or 8, columns=options.columns or 8)
    if options.json:
        print_json(report(made, [part.as_dict() for part in seen]) | dict(made.metadata))
    else:
        show(f"{label}   {shapes_text(made.arrays)}", *map(preview_grid, seen))
    return 0


def verify_sources(options: InspectOptions) -> int:
    """Verify one source after the other; return 0 if every value of each is right, else 1."""
    from pecli.formats.paths import Kind, kind_of
    from pecli.tables.parts import is_dataset

    if any(kind_of(text) is Kind.FOLDER for text in options.sources):
        for name, word in {**options.table, **options.choice}.items():
            rule = "is not for a folder of parts, which say themselves what they are"
            raise BadParameter(name.replace("length", "len").replace("_", "-"), word, rule)
    refuse_table(options)
    answers: list[dict[str, Any]] = []
    for text in options.sources:
        one = _folder if kind_of(text) is Kind.FOLDER and not is_dataset(text) else _file
        answer, items = one(text, options)
        answers.append(answer)
        if not options.json:
            show(*items)
    if options.json:
        good = all(answer["verified"] for answer in answers)
        print_json(answers[0] if len(answers) == 1 else {"verified": good, "sources": answers})
    return 0 if all(answer["verified"] for answer in answers) else 1


def _file(text: str, options: InspectOptions) -> tuple[dict[str, Any], list[Item]]:
    from pecli.inspect.verification import verify
    from pecli.tables.sources import read_source

    source = read_source(text, **options.choice)
    if source.is_recipe:
        raise BadParameter("SOURCE", text, "is a recipe: --verify is for files, against their recipe")
    table = source.open()
    total = 2 * sum(array.bytes for array in table.arrays)
    with progress_for(total, quiet=options.quiet or options.json) as advance:
        found = verify(table, text, options.recipe, advance)
    return {"source": text, **found.as_dict()}, verified_view(found)


def _folder(path: str, options: InspectOptions) -> tuple[dict[str, Any], list[Item]]:
    from pecli.inspect.verification import verify_folder

    found = verify_folder(path, options.recipe)
    facts = {"source": path, "verified": found.good, "recipe": found.recipe, "count": found.count}
    parts = [part.as_dict() for part in found.parts]
    return {**facts, "findings": found.findings, "parts": parts}, folder_view(found)
