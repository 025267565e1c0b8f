"""``pecli inspect SOURCE``: what a table holds, where it comes from, and whether it is right."""

from __future__ import annotations

from pecli.cli.inspect import options as own
from pecli.cli.options import Dtype, Json, LayerType, Layout, Quiet, Stack


def command(
    source: own.Source,
    identify: own.Identify = False,
    verify: own.Verify = False,
    recipe: own.Recipe = None,
    properties: own.Properties = False,
    steps: own.Steps = False,
    sha256: own.Sha256 = False,
    plot: own.Plot = None,
    picture: own.Picture = None,
    length: own.Length = None,
    start: own.Start = None,
    step: own.Step = None,
    positions: own.Positions = None,
    dtype: Dtype = None,
    layout: Layout = None,
    form: own.Form = None,
    layer_type: LayerType = None,
    stack: Stack = None,
    rows: own.Rows = None,
    columns: own.Columns = None,
    precision: own.Precision = None,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Say what a table holds; identify it, verify it, measure it, draw it."""
    from pecli.cli.inspect.run import Wanted, inspect_source
    from pecli.sources.kinds import Kind, kind_of

    asked = identify or verify or recipe or properties or steps or sha256 or plot or picture
    if not asked and kind_of(source) is Kind.CONFIG:
        from pecli.cli.inspect.config_view import explain

        return explain(source, layer_type=layer_type, stack=stack or "transformers", json=json)
    wanted = Wanted(
        identify=identify, verify=verify, recipe=recipe, properties=properties, steps=steps, sha256=sha256,
        plot=plot, picture=picture, rows=rows, columns=columns, precision=precision, json=json, quiet=quiet,
    )  # fmt: skip
    table = {
        "length": length, "start": start, "step": step, "positions": positions, "dtype": dtype, "layout": layout,
        "form": form,
    }  # fmt: skip
    choice = {name: word for name, word in (("layer_type", layer_type), ("stack", stack)) if word is not None}
    return inspect_source(source, wanted, {name: word for name, word in table.items() if word is not None}, choice)
