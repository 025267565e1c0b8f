"""Verification of files against their recipes: every value is recomputed.

A folder of parts, as ``--shard`` writes them, is verified part by part, and
for what is missing, what is there twice and what does not belong.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from pecli.errors import BadFile, BadParameter, PecliError
from pecli.formats import open_table
from pecli.formats.paths import files_of
from pecli.judge.compare import compare
from pecli.numbers.positions import Positions
from pecli.spec.catalogue import CATALOGUE
from pecli.spec.recipe import Recipe, join_recipe, split_recipe
from pecli.spec.tabular import Tabular
from pecli.tables.comparison import Comparison, Progress
from pecli.tables.figures import Tolerance
from pecli.tables.parts import shard_of
from pecli.tables.request import take_table_keys
from pecli.tables.table import Table


@dataclass
class Verified:
    """One file against its recipe.

    Attributes
    ----------
    path : str
    recipe : str or None
        What it was recomputed from.
    comparison : Comparison or None
        None where it could not be recomputed.
    problem : str
        Why not; empty otherwise.
    """

    path: str
    recipe: str | None = None
    comparison: Comparison | None = None
    problem: str = ""

    @property
    def good(self) -> bool:
        """Whether every value is confirmed."""
        return not self.problem and self.comparison is not None and self.comparison.equal

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON object of a verification."""
        found = self.comparison
        return {
            "path": self.path,
            "recipe": self.recipe,
            "verified": self.good,
            "problem": self.problem or None,
            "values": None if found is None else found.total.compared,
            "wrong": None if found is None else found.total.beyond,
            "max_abs": None if found is None or not found.arrays else found.total.max_abs,
            "first": None if found is None or found.total.first is None else found.total.first.as_dict(),
            "findings": [] if found is None else [finding.text for finding in found.findings],
        }


@dataclass
class Folder:
    """The parts of one table.

    Attributes
    ----------
    path : str
    parts : list of Verified
    recipe : str or None
        That of the whole table.
    count : int
        Of parts that the whole has.
    findings : list of str
        Gaps, overlaps and strangers.
    """

    path: str
    parts: list[Verified]
    recipe: str | None
    count: int
    findings: list[str]

    @property
    def good(self) -> bool:
        """Whether all parts are there once, and confirmed."""
        return bool(self.parts) and not self.findings and all(part.good for part in self.parts)


def verify(
    table: Tabular, path: str, recipe: str | None = None, progress: Progress = None,
    tolerance: Tolerance | None = None, **choice: str,
) -> Verified:  # fmt: skip
    """Recompute a stored table from the recipe in its file, or from a given one.

    `choice` (layer_type, stack) says what is read of a recipe that is a model's config.

    Raises
    ------
    BadFile
        If neither is known.
    """
    text = recipe or table.recipe
    if recipe is not None and tolerance is not None and tolerance.decimals is not None and "dtype=" not in recipe:
        name, colon, _ = recipe.partition(":")
        if name in CATALOGUE:  # values are printed from real ones
            recipe = text = f"{recipe}{',' if colon else ':'}dtype=float64"
    if text is None:
        rule = f"holds no recipe: give it, as in pecli verify {path} RECIPE, or find it with pecli identify {path}"
        raise BadFile(path, rule)
    try:
        table = _as_expected(text, table, **choice) if recipe is not None else table
        expected = table_of(text, table, given=recipe is not None, **choice)
    except PecliError as error:
        if recipe is not None:
            raise
        return Verified(path, text, None, f"its recipe cannot be computed: {error}")
    return Verified(path, expected.recipe, compare(table, expected, tolerance, progress))


def _as_expected(text: str, table: Tabular, **choice: str) -> Tabular:
    """Return the columns of a file as one array where the recipe has one."""
    from pecli.tables.alignment import joined_columns, read_fitting

    source = read_fitting(text, table, **choice)
    return joined_columns(source, table) if source.is_recipe else table


def table_of(text: str, table: Tabular, *, given: bool, **choice: str) -> Table:
    """Return the computed table of a recipe; parameters that a given recipe leaves open come from the file."""
    from pecli.tables.alignment import read_fitting, table_like

    if given:
        source = read_fitting(text, table, **choice)
        if not source.is_recipe:
            raise BadParameter("recipe", text, "is no recipe: write NAME:key=value, as pecli list shows them")
        return table_like(source, table)
    name, keys = split_recipe(text)
    if keys.get("positions", "").startswith("@"):  # a long list stands in the file, not in the recipe
        del keys["positions"]
        rows = table.arrays[0].shape[table.arrays[0].lead - 1]
        positions = table.position(0, rows)
        if positions is None:
            raise BadParameter("positions", "@position", "names positions in the file, and it has none")
        own: dict[str, Any] = dict(take_table_keys(name, keys))
        return Table.make(Recipe.bind(name, **keys), positions=Positions.listed(positions), **own)
    return Table.parse(text)


def verify_folder(path: str, recipe: str | None = None, tolerance: Tolerance | None = None) -> Folder:
    """Verify every part in a folder, and that together they are one whole table.

    Parts are known by the shard in their recipes, whatever their names; where
    a format holds none, the names' order is that of the parts.  A `recipe` that
    is given stands for those in the files.

    Raises
    ------
    BadFile
        If the folder cannot be read, or holds no table.
    """
    files = files_of(path)
    if not files:
        raise BadFile(path, "is a folder without a table: name one that holds parts written with --shard")
    parts = [_part(file, recipe, f"{number}/{len(files)}", tolerance) for number, file in enumerate(files)]
    shards = {part.path: shard_of(part.recipe) for part in parts if part.recipe is not None}
    most = Counter((whole, count) for whole, _, count in shards.values() if count).most_common(1)
    (known, total), alike = most[0] if most else ((None, 0), 0)  # what most are parts of: the others do not belong
    findings, seen = list[str](), dict[int, str]()
    for file, (whole, index, count) in shards.items():
        if not count:
            findings.append(f"{file} does not belong: it is a whole table and no part")
        elif whole != known:
            findings.append(f"{file} does not belong: it is a part of {whole}")
        elif count != total:
            findings.append(f"{file} does not belong: it is part {index}/{count} where {alike} are of {total}")
        elif index in seen:
            findings.append(f"overlap: {file} and {seen[index]} are both part {index}/{count}")
        else:
            seen[index] = file
    bare: dict[str, list[str]] = {}
    for part in parts:
        if part.recipe is None:
            bare.setdefault(part.problem.replace(part.path, path), []).append(part.path)
    for problem, paths in bare.items():
        more = f" and {len(paths) - 1} more do not belong" if len(paths) > 1 else " does not belong"
        findings.append(f"{paths[0]}{more}: {problem or 'it holds no recipe'}")
    if missing := [k for k in range(total) if k not in seen]:
        findings.append(f"missing: part {_listed(missing)} of {total}")
    return Folder(path, parts, known, total, findings)


def _part(path: str, recipe: str | None, shard: str, tolerance: Tolerance | None) -> Verified:
    """Verify a part; with a given recipe as the part that its file says it is, or else as this `shard`."""
    where = ""
    try:
        with open_table(path) as table:
            if recipe is not None:
                name, keys = split_recipe(recipe)
                own = {} if table.recipe is None else split_recipe(table.recipe)[1]
                stated = {key: own[key] for key in ("len", "start", "step", "shard") if key in own}
                keys = {"shard": shard} | stated | keys
                recipe, where = join_recipe(name, keys), f"as part {keys['shard']}: "
            found = verify(table, path, recipe, tolerance=tolerance)
            if found.comparison is not None:
                _ = found.comparison.findings  # while the file is open
            return found
    except PecliError as error:
        return Verified(path, None, None, where + str(error).removeprefix(f"{path}: "))


def _listed(numbers: list[int]) -> str:
    shown = ", ".join(map(str, numbers[:8]))
    return shown + (f" and {len(numbers) - 8} more" if len(numbers) > 8 else "")
