"""``pecli compare SOURCE SOURCE...``: how far tables are apart, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pecli.cli.compare.options import OF_COST, TOLERANCES, CompareOptions
from pecli.cli.options import refuse
from pecli.cli.terminal.output import print_json
from pecli.cli.terminal.screen import progress_for, show
from pecli.errors import BadParameter, BadRecipe

if TYPE_CHECKING:
    from pecli.comparison.results import ArrayComparison, Comparison, Tolerance
    from pecli.sources.sources import NamedSource
    from pecli.spec.tabular import Tabular

MOST_DIGITS = 17
DEFAULT_ROWS = 128  # of recipes that say no length


def command(options: CompareOptions) -> int:
    """Compare tables: how far they are apart, where, and why; status 1 where they differ."""
    sources = _sources(options)
    if options.stacks:
        from pecli.cli.compare.stacks_view import show_stacks

        if len(sources) != 1:
            raise BadParameter("stacks", len(sources), "is for one config.json: name it alone")
        refuse("has no effect with --stacks: leave it out", options, *TOLERANCES, "values", "heads", "cost", *OF_COST)
        return show_stacks(sources[0], layer_type=options.layer_type, json=options.json)
    refuse("is for --stacks: write it in the source, as NAME:config=FILE,layer-type=NAME", options, "layer_type")
    from pecli.cli.compare.facts_view import chosen, show_facts

    named = None if options.values else chosen(sources)
    if options.cost:
        refuse("has no effect with --cost: leave it out", options, *TOLERANCES, "values")
        if named is None:
            raise BadParameter("cost", "true", "is for encodings and recipes, and a file is none")
        from pecli.cli.compare.cost_view import show_costs

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
    from pecli.comparison.results import Tolerance
    from pecli.sources.alignment import joined_components
    from pecli.sources.sources import read_source

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
    from pecli.cli.compare.view import comparison_view
    from pecli.sources.alignment import open_beside

    first, second = sources
    a, b = open_beside(first, second, DEFAULT_ROWS)
    found = _compared(a, b, tolerance, options)
    if options.json:
        print_json({"sources": [first.text, second.text], **as_dict(found)})
    else:
        show(*comparison_view((first.text, a), (second.text, b), found))
    return 0 if found.equal else 1


def _compared(a: Tabular, b: Tabular, tolerance: Tolerance, options: CompareOptions) -> Comparison:
    from pecli.apply.faults import explained
    from pecli.judge.compare import compare

    total = sum(array.bytes for table in (a, b) for array in table.arrays)
    with progress_for(total, quiet=options.quiet or options.json) as advance:
        return explained(compare(a, b, tolerance, advance), a, b, options.heads)


def _several(sources: Sequence[NamedSource], tolerance: Tolerance, options: CompareOptions) -> int:
    """Compare every pair; recipes take their shape from the first file."""
    from pecli.cli.compare.view import matrix_view
    from pecli.sources.alignment import open_alone, table_like, take_types
    from pecli.tables.table import Table

    model = next((s for s in sources if not s.is_recipe), next((s for s in sources if s.says_length), sources[0]))
    opened = open_alone(model, DEFAULT_ROWS)
    files = {at: opened if s is model else s.open() for at, s in enumerate(sources) if s is model or not s.is_recipe}
    take_types(list(files.values()))
    tables = [files[at] if at in files else table_like(s, opened) for at, s in enumerate(sources)]
    take_types(tables)
    couples = [(j, i) for i in range(len(tables)) for j in range(i + 1, len(tables))]  # the second is expected
    computed = [isinstance(table, Table) for table in tables]
    turned = [(i, j) if computed[j] and not computed[i] else (j, i) for j, i in couples]
    pairs = {(i, j): _compared(tables[i], tables[j], tolerance, options) for i, j in turned}
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
