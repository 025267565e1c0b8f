"""``inspect --expect``, ``--similarity`` and ``--shift-matrix``: what is measured of all rows of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pecli.cli.inspect.options import InspectOptions
from pecli.cli.inspect.view import properties_view
from pecli.cli.terminal.items import preview_grid, shapes_text
from pecli.cli.terminal.output import print_json
from pecli.cli.terminal.screen import progress_for, show
from pecli.cli.terminal.writing import Writing, deliver, report

if TYPE_CHECKING:
    from pecli.spec.tabular import Tabular


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
