"""``pecli extrapolate SOURCE...``: what happens past the training length, and tables that reach there."""

from __future__ import annotations

from typing import Annotated

import typer

from pecli.cli.extrapolate import options as own
from pecli.cli.options import Dtype, FormatWord, Json, LayerType, Layout, NoClobber, Output, Quiet

LONGEST = 1 << 53


def command(
    sources: Annotated[
        list[str] | None,
        typer.Argument(metavar="SOURCE...", help="Recipes, models' config.json, or files.", show_default=False),
    ] = None,
    train_len: own.TrainLen = None,
    test_len: own.TestLen = None,
    threshold: own.Threshold = None,
    tuned: own.Tuned = False,
    scaling: own.Scaling = None,
    factor: own.Factor = None,
    extend: own.Extend = None,
    prefix: own.Prefix = None,
    grid: own.GridSize = None,
    to_grid: own.ToGrid = None,
    antialias: own.Antialias = False,
    alpha: own.Alpha = None,
    probe: own.Probe = False,
    output: Output = None,
    format_: FormatWord = None,
    dtype: Dtype = None,
    layout: Layout = None,
    layer_type: LayerType = None,
    no_clobber: NoClobber = False,
    plot: own.Plot = None,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Measure what an encoding does beyond the length it was trained on, and write longer tables.

    Training saw positions 0 to N-1; positions N to M-1 are new.
    """
    from pecli.cli.extrapolate.run import Options, run
    from pecli.cli.extrapolate.trial import run_trial
    from pecli.cli.terminal.screen import whole_number

    options = Options(
        train=whole_number("train-len", train_len, 1, LONGEST),
        test=whole_number("test-len", test_len, 2, LONGEST),
        threshold=own.share("threshold", threshold, 0.01),
        tuned=tuned,
        scaling=scaling,
        factor=factor,
        extend=extend,
        prefix=whole_number("prefix", prefix, 0, LONGEST) or 0,
        grid=own.grid_size("grid", grid),
        to_grid=own.grid_size("to-grid", to_grid),
        antialias=antialias,
        alpha=own.share("alpha", alpha, 0.4),
        output=output,
        format=format_,
        dtype=dtype,
        layout=layout,
        layer_type=layer_type,
        plot=plot,
        clobber=not no_clobber,
        json=json,
        quiet=quiet,
    )
    own.check_together(sources or [], options, probe, prefix is not None, alpha is not None)
    return run_trial(sources or [], options) if probe else run(sources or [], options)
