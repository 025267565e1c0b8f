"""``pecli compare`` of values: opens the sources side by side, compares, and says why they differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pecli.cli.terminal.output import print_json
from pecli.errors import BadParameter

if TYPE_CHECKING:
    from pecli.comparison.results import ArrayComparison, Comparison, Tolerance
    from pecli.declare.tabular import Tabular
    from pecli.sources.sources import NamedSource

DEFAULT_ROWS = 128  # of recipes that say no length


def tolerance_of(atol: str | None, rtol: str | None, ulp: str | None) -> Tolerance:
    """Return the tolerance of the options.

    Raises
    ------
    BadParameter
        If one is no number of 0 or above.
    """
    from pecli.comparison.results import Tolerance
    from pecli.numbers.text import parse_integer, parse_number

    for name, given in (("atol", atol), ("rtol", rtol), ("ulp", ulp)):
        if given is not None and parse_number(name, given) < 0:
            raise BadParameter(name, given, "must be 0 or above")
    return Tolerance(
        float(parse_number("atol", atol)) if atol else 0.0,
        float(parse_number("rtol", rtol)) if rtol else 0.0,
        parse_integer("ulp", ulp) if ulp else 0,
    )


def compare_sources(texts: Sequence[str], tolerance: Tolerance, *, json: bool, quiet: bool) -> int:
    """Compare the values of two sources, or of every pair of several; return 0 if all are the same, else 1."""
    from pecli.sources.sources import read_source

    if len(texts) < 2:
        raise BadParameter("SOURCE", texts[0], "needs another one to be compared with: give two sources or more")
    sources = [read_source(text) for text in texts]
    if len(sources) == 2:
        return _two(sources[0], sources[1], tolerance, json=json, quiet=quiet)
    return _several(sources, tolerance, json=json, quiet=quiet)


def _two(first: NamedSource, second: NamedSource, tolerance: Tolerance, *, json: bool, quiet: bool) -> int:
    from pecli.sources.alignment import open_beside

    a, b = open_beside(first, second, DEFAULT_ROWS)
    found = _compared(a, b, tolerance, quiet=quiet or json)
    if json:
        print_json({"sources": [first.text, second.text], **as_dict(found)})
    elif not quiet:
        from pecli.cli.compare.view import show_comparison

        show_comparison((first.text, a), (second.text, b), found, tolerance)
    return 0 if found.equal else 1


def _compared(a: Tabular, b: Tabular, tolerance: Tolerance, *, quiet: bool) -> Comparison:
    from pecli.cli.terminal.screen import progress_for
    from pecli.diagnosis.diagnosis import compare

    total = sum(array.bytes for table in (a, b) for array in table.arrays)
    with progress_for(total, quiet=quiet) as advance:
        return compare(a, b, tolerance, advance)


def _several(sources: Sequence[NamedSource], tolerance: Tolerance, *, json: bool, quiet: bool) -> int:
    """Compare every pair; recipes take their shape from the first file."""
    from pecli.sources.alignment import open_alone, table_like

    model = next((s for s in sources if not s.is_recipe), next((s for s in sources if s.says_length), sources[0]))
    opened = open_alone(model, DEFAULT_ROWS)
    tables = [opened if s is model else table_like(s, opened) if s.is_recipe else s.open() for s in sources]
    pairs = {
        (i, j): _compared(tables[i], tables[j], tolerance, quiet=quiet or json)
        for i in range(len(tables))
        for j in range(i + 1, len(tables))
    }
    equal = all(found.equal for found in pairs.values())
    names = [s.text for s in sources]
    if json:
        items = [{"sources": [names[i], names[j]], **as_dict(found)} for (i, j), found in pairs.items()]
        print_json({"sources": names, "equal": equal, "pairs": items})
    elif not quiet:
        from pecli.cli.compare.view import show_matrix

        show_matrix(names, pairs)
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
