"""What encodings cost a model, side by side: for ``pecli compare --cost``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from pecli.cli.compare.options import CompareOptions
from pecli.cli.terminal.items import LEFT, RIGHT, grid, size_text
from pecli.cli.terminal.output import print_json
from pecli.cli.terminal.screen import show
from pecli.errors import BadParameter
from pecli.spec.declaration import Encoding
from pecli.spec.recipe import Recipe

FEW = 8  # encodings whose recipes are shown; of more the names


def show_costs(items: Sequence[tuple[Encoding, Recipe | None]], options: CompareOptions) -> int:
    """Print what each encoding costs a model of the size that the options give; return 0."""
    from pecli.inspect.facts import Setting, cost_of

    usual = Setting()
    setting = Setting(
        options.len or usual.length, options.dim or usual.width, options.heads or usual.heads,
        options.layers or usual.layers, options.dtype or usual.dtype,
    )  # fmt: skip
    if setting.width % setting.heads:
        raise BadParameter("heads", setting.heads, f"must divide the model's width {setting.width}")
    costs = [(encoding, cost_of(encoding, recipe, setting)) for encoding, recipe in items]
    if options.json:
        found = {cost.recipe: {"name": encoding.name, **cost.as_dict()} for encoding, cost in costs}
        print_json({"setting": asdict(setting), "costs": found})
        return 0
    names = [cost.recipe if len(costs) <= FEW else encoding.name for encoding, cost in costs]
    held = [
        [name, f"{c.positions:,}", f"{c.trained:,}", size_text(c.table_bytes), size_text(c.kernel_bytes)]
        for name, (_, c) in zip(names, costs, strict=True)
    ]
    work = [
        [encoding.name, *(f"{count:,}" for count in (*cost.per_token, cost.additions, cost.products))]
        for encoding, cost in costs
    ]
    heads = [("encoding", LEFT), *((word, RIGHT) for word in ("positions", "trained", "table", "kernel holds"))]
    words = ("additions a token", "products a token", "additions", "products")
    show(
        f"A model of width {setting.width}, {setting.heads} heads, {setting.layers} layers; {setting.dtype}",
        grid(heads, held),
        grid([("encoding", LEFT), *((word, RIGHT) for word in words)], work),
        "Work is that of a sequence of all positions in all layers; projections by trained weights are not counted.",
    )
    return 0
