"""What an encoding costs a model: trained values, bytes held, additions and multiplications; for ``compare --cost``."""

from __future__ import annotations

from typing import Any

from pecli.declare.encoding import Encoding, Family
from pecli.declare.facts import Work
from pecli.encodings.recipe import Recipe
from pecli.errors import PecliError
from pecli.inspection.facts import formula_value
from pecli.numbers.dtypes import ITEM_BYTES
from pecli.records import dataclass
from pecli.tables.table import Table

USUAL = {
    Family.ABSOLUTE: Work(additions="n * width", products="0"),
    Family.ROTARY: Work(additions="4 * n * h * pairs", products="8 * n * h * pairs", every_layer=True),
    Family.BIAS: Work(additions="heads * n * n", products="0", every_layer=True),
    Family.NONE: Work(kernel="0", additions="0", products="0"),
}
"""What a table of a family does, where its declaration says no other: rows are added to embeddings once; queries and
keys of h heads are rotated in every layer, a pair by four products and two sums; a bias is added to the logits of every
head.  Relative and conditional encodings all declare theirs."""


@dataclass(frozen=True)
class Setting:
    """The model that pays: positions, width, heads and layers, and the type of stored values."""

    length: int = 4096
    width: int = 4096
    heads: int = 32
    layers: int = 32
    dtype: str = "float32"


@dataclass(frozen=True)
class Cost:
    """What one encoding costs.

    Attributes
    ----------
    recipe : str
        What was counted: a bare name takes its width and its heads from the model, the rest from its example.
    positions : int
        n.
    trained : int
        Trained values of one table, which layers may share.
    table_bytes : int
        Of the table as files hold it.
    kernel_bytes : int
        Of what a kernel has to hold: for ALiBi one slope a head.
    additions, products : int
        Of a sequence of n positions, in all layers; projections by trained weights, which every model has, not counted.
    """

    recipe: str
    positions: int
    trained: int
    table_bytes: int
    kernel_bytes: int
    additions: int
    products: int

    @property
    def per_token(self) -> tuple[int, int]:
        """Additions and products of a sequence, shared by its tokens; rounded down."""
        return self.additions // self.positions, self.products // self.positions

    def as_dict(self) -> dict[str, Any]:
        """Return what --json prints."""
        token = dict(zip(("additions_token", "products_token"), self.per_token, strict=True))
        return {name: getattr(self, name) for name in self.__annotations__} | token


def cost_of(encoding: Encoding, recipe: Recipe | None, setting: Setting) -> Cost:
    """Return what an encoding, or a recipe of it, costs this model.

    Raises
    ------
    PecliError
        If there is no such table.
    """
    made = recipe or fitted(encoding, setting)
    table = Table.make(made, length=_length(made, setting.length), dtype=setting.dtype)
    first = next((array for array in table.arrays if array.name == "cos"), table.arrays[0])
    declared, usual = encoding.work or Work(), USUAL.get(encoding.family, Work())
    names = {
        **table.source.values, "n": table.rows, "h": setting.heads, "width": setting.width, "pairs": first.shape[-1],
    }  # fmt: skip
    if encoding.family is Family.RELATIVE:
        names["terms"] = len(encoding.hook("apply")(table.source).terms) - 1  # of positions, in a score
    if encoding.family is Family.ABSOLUTE:
        names["width"] = first.shape[-1] * (2 if first.dtype.startswith("complex") else 1)
    every = usual.every_layer if declared.every_layer is None else declared.every_layer
    layers = setting.layers if every else 1
    size = sum(array.bytes for array in table.arrays)
    kernel = declared.kernel or usual.kernel
    return Cost(
        recipe=made.short,
        positions=table.rows,
        trained=formula_value(encoding.facts.parameters, names),
        table_bytes=size,
        kernel_bytes=formula_value(kernel, names) * ITEM_BYTES[setting.dtype] if kernel else size,
        additions=layers * formula_value(declared.additions or usual.additions, names),
        products=layers * formula_value(declared.products or usual.products, names),
    )


def _length(recipe: Recipe, length: int) -> int | None:
    """Return how many positions: as many as the model has, but no more than have a value."""
    if recipe.rows is not None:
        return None
    high = recipe.domain.high
    return length if high is None else min(length, int(high) + 1)


def fitted(encoding: Encoding, setting: Setting) -> Recipe:
    """Return an encoding with the model's width (of a head where its declaration says so) and heads.

    What must be given besides comes from its example; where that does not go with the width, it is the example.
    """
    example = Recipe.parse(encoding.example)
    keys = example.keys()
    of_head = setting.width // setting.heads
    own: dict[str, object] = {}
    for parameter in encoding.options:
        if parameter.option == "dim":
            own["dim"] = of_head if "head-dim" in parameter.param.names else setting.width
        elif parameter.option == "heads":
            own["heads"] = setting.heads
        elif parameter.option == "head-dim":
            own["head-dim"] = of_head
        elif parameter.option == "content" and "channels" in keys:
            own |= {"content": f"none:dim={keys['channels']}", "channels": keys["channels"]}  # content of any length
    needed = {p.option: keys[p.option] for p in encoding.options if p.required and p.option in keys}
    for beneath in (needed, keys):
        try:
            return Recipe.over(encoding.name, own, beneath)
        except PecliError:  # a width that its grid, its axes or its sections do not divide
            continue
    return example
