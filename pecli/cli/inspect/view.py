"""What was found in a table, on the screen."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from pecli.cli.terminal.items import LEFT, RIGHT, Fact, Item, ScreenTable, grid, preview_grid, shapes_text, size_text
from pecli.cli.terminal.layout import lines_of
from pecli.cli.terminal.output import WIDE, screen_width
from pecli.inspect.facts import TITLES, sheet
from pecli.numbers.printing import between, figure
from pecli.spec.board import exact_text
from pecli.spec.catalogue import CATALOGUE
from pecli.spec.recipe import join_recipe, split_recipe

if TYPE_CHECKING:
    from pecli.inspect.properties import Property
    from pecli.inspect.statistics import Excerpt, Inspection, Statistics
    from pecli.inspect.verification import Folder, Verified
    from pecli.judge.description import Identification
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
    said = sheet(encoding)
    one, two = (", ".join(f"{TITLES[key]}: {said[key].replace('_', '-')}" for key in line) for line in FACTS)
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
        said = "unknown: the values match no known encoding"
        return [Fact("identified", said), *(Fact("measured", text) for text in found.measured),
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
