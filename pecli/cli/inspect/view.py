"""What was found in a table, on the screen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pecli.cli.terminal.output import clean
from pecli.cli.terminal.render import grid, preview_grid, show
from pecli.cli.terminal.screen import shapes_text, size_text

if TYPE_CHECKING:
    from pecli.identification.identification import Identification
    from pecli.inspection.preview import Part
    from pecli.inspection.properties import Property
    from pecli.inspection.statistics import Inspection
    from pecli.inspection.verification import Folder, Verified

LABEL = 15  # columns of what stands before the colon


def show_inspection(found: Inspection, more: Mapping[str, Any], parts: Sequence[Part], precision: int) -> None:
    """Print arrays, recipe and metadata, statistics, what was asked for, and the head of the values."""
    size = sum(array.bytes for array in found.arrays)
    show(clean(f"{found.source}: {found.format or 'recipe'}, {shapes_text(found.arrays)}, {size_text(size)}"))
    facts = {"recipe": found.recipe, "positions": _ends(found), **found.metadata}
    for name, value in facts.items():
        if value:
            _fact(name.replace("_", " "), str(value))
    if found.statistics:
        show(_statistics(found))
    if found.slopes is not None:
        _slopes(found.slopes)
    for s in found.statistics:
        if s.sha256 is not None:
            _fact("sha256", f"{s.sha256}  {s.name}")
    if "identity" in more:
        show_identity(more["identity"])
    if "properties" in more:
        show_properties(more["properties"])
    for part in parts:
        show(preview_grid(part, precision))


def _fact(name: str, value: str) -> None:
    first, *rest = value.splitlines() or [""]
    show(clean(f"{name:<{LABEL}}{first}"))
    for line in rest:
        show(clean(f"{'':<{LABEL}}{line}"))


def _ends(found: Inspection) -> str | None:
    return None if found.positions is None else f"{found.positions[0]} to {found.positions[1]}"


def _statistics(found: Inspection) -> object:
    odd = any(s.nan or s.infinite for s in found.statistics)
    columns = [("array", "left"), ("min", "right"), ("max", "right"), ("mean", "right"), ("row norm", "right")]
    columns += [("NaN", "right"), ("infinite", "right")] if odd else []
    rows = [
        [s.name, *(_number(v) for v in (s.minimum, s.maximum, s.mean)), _range(s.norm_min, s.norm_max),
         *([s.nan, s.infinite] if odd else [])]
        for s in found.statistics
    ]  # fmt: skip
    return grid(columns, rows)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.9g}"


def _range(low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return ""
    return f"{low:.6g}" if f"{low:.6g}" == f"{high:.6g}" else f"{low:.6g} to {high:.6g}"


def _slopes(slopes: Sequence[float]) -> None:
    show("slopes")
    for head, slope in enumerate(slopes, 1):
        show(f"  head {head:>3}  {slope!r}")


def show_identity(found: Identification) -> None:
    """Print what a table is, how closely, and how sure that is."""
    if found.recipe is None:
        _fact("identified", "unknown: no formula that is known gives these values")
        return
    _fact("identified", found.recipe)
    share = "" if found.equal is None else f", {_share(found.equal)} equal"
    residual = "" if found.residual is None else f", largest difference {found.residual:.3g}"
    _fact("", f"{found.confidence}{share}{residual}")
    _fact("arithmetic", found.arithmetic)
    for note in found.notes:
        _fact("", note)


def _share(equal: float) -> str:
    """All of the values only where it is all of them, however few differ."""
    if equal == 1:
        return "all values"
    return f"{min(equal, 0.999999):.4%} of the values"


def show_properties(found: Sequence[Property]) -> None:
    """Print measured properties."""
    words = {True: "yes", False: "no", None: ""}
    show(
        grid(
            [("property", "left"), ("", "left"), ("measured", "left")],
            [(p.name, words[p.holds], p.text) for p in found],
        )
    )


def show_verified(found: Verified) -> None:
    """Print whether a file is what its recipe says."""
    if found.problem or found.comparison is None:
        show(clean(f"{found.path}: not verified: {found.problem}"))
        return
    total = found.comparison.total
    if found.good:
        show(clean(f"{found.path}: verified, {total.compared:,} values are what the recipe gives"))
        _fact("recipe", found.recipe or "")
        return
    show(clean(f"{found.path}: NOT what its recipe gives: {total.beyond:,} of {total.compared:,} values differ"))
    _fact("recipe", found.recipe or "")
    for finding in found.comparison.findings:
        show(clean(f"  {finding.text}"))
    place = total.first
    if place is not None:
        index = ", ".join(map(str, place.index))
        show(clean(f"  first: {place.array}[{index}] is {place.left!r}, expected {place.right!r}"))


def show_folder(found: Folder) -> None:
    """Print whether the parts in a folder make up one table."""
    for part in found.parts:
        word = "verified" if part.good else "NOT VERIFIED"
        wrong = "" if part.good else f": {part.problem or _wrong(part)}"
        show(clean(f"{word}  {part.path}{wrong}"))
    for finding in found.findings:
        show(clean(finding))
    if found.recipe:
        _fact("recipe", found.recipe)
    total = f"{len(found.parts)} of {found.count} parts" if found.count else f"{len(found.parts)} files"
    show(clean(f"{found.path}: {'whole and verified' if found.good else 'NOT whole or not right'}, {total}"))


def _wrong(part: Verified) -> str:
    if part.comparison is None:
        return "not compared"
    return f"{part.comparison.total.beyond:,} values differ"
