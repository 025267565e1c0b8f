"""``pecli extrapolate SOURCE...``: checks before any work, then the reports or the longer tables."""

from __future__ import annotations

from pecli.cli.extrapolate_options import ExtrapolateOptions, check_together
from pecli.spec.facts import REACHES


def command(options: ExtrapolateOptions) -> int:
    """Measure what an encoding does beyond the length it was trained on, and write longer tables.

    Training saw positions 0 to N-1; positions N to M-1 are new.
    """
    check_together(options)
    if options.plot is not None:
        from pecli.plots.charts import check_words
        from pecli.plots.images import check_picture

        check_picture(options.plot)  # before any work
        check_words(options.pictures, REACHES)
    from pecli.cli.extrapolate_report import run

    return run(options)
