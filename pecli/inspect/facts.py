"""Facts of encodings: declared, measured, and their cost in a model."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pecli.errors import PecliError
from pecli.numbers.dtypes import ITEM_BYTES
from pecli.numbers.printing import between
from pecli.spec.declaration import Encoding, Family, Work
from pecli.spec.plans import Waves
from pecli.spec.recipe import Recipe
from pecli.tables.table import Table, rows_of

TITLES: Mapping[str, str] = {
    "type": "type",
    "acts": "acts on",
    "learned": "learned",
    "parameters": "trained values",
    "longest": "longest",
    "beyond": "past its length",
    "bounded": "bounded",
    "unique": "unique rows",
    "relative": "shift acts as",
    "multi_scale": "multi-scale",
    "cost": "values held",
    "token": "work per token",
    "users": "used by",
}
ACTS = {
    Family.ABSOLUTE: ("embedding", "dim additions"),
    Family.ROTARY: ("queries and keys", "3 dim multiplications and additions"),
    Family.BIAS: ("logits", "heads n additions"),
    Family.RELATIVE: ("keys", "n dim products"),
    Family.CONDITIONAL: ("embedding", "dim additions after the gate"),
    Family.NONE: ("nothing", "none"),
}


def sheet(encoding: Encoding) -> dict[str, str]:
    """Return the declared facts as words, by the keys of `TITLES`."""
    acts, token = ACTS[encoding.family]
    words = {"type": encoding.family.word, "acts": acts, "token": token, "users": encoding.users or "-"}
    words |= encoding.facts.words
    return {key: words[key] for key in TITLES}


class _Given(int):
    """A parameter that is given; 0 too, so that ``right or clip`` takes it."""

    def __bool__(self) -> bool:
        return True


def formula_value(formula: str, values: Mapping[str, Any]) -> int:
    """Return the value of a formula such as ``"(max_len + rows_offset) * dim"`` for these parameters.

    It is Python's, which an encoding declares; a parameter that is not given counts nothing.
    """
    names = {name: _Given(value) if isinstance(value, int) else value or 0 for name, value in values.items()}
    return int(eval(formula, {"__builtins__": {}, "prod": math.prod, "sum": sum}, names))  # noqa: S307


# What a table of a family does, where its declaration says no other: rows are added to embeddings once; queries and
# keys of h heads are rotated in every layer, a pair by four products and two sums; a bias is added to the logits of
# every head. Relative and conditional encodings all declare theirs.
USUAL = {
    Family.ABSOLUTE: Work(additions="n * width", products="0"),
    Family.ROTARY: Work(additions="4 * n * h * pairs", products="8 * n * h * pairs", every_layer=True),
    Family.BIAS: Work(additions="heads * n * n", products="0", every_layer=True),
    Family.NONE: Work(kernel="0", additions="0", products="0"),
}


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
    """Cost of one encoding in a model.

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
        """Return the JSON object of a cost."""
        token = dict(zip(("additions_token", "products_token"), self.per_token, strict=True))
        return {name: getattr(self, name) for name in self.__annotations__} | token


def cost_of(encoding: Encoding, recipe: Recipe | None, setting: Setting) -> Cost:
    """Return the cost of an encoding, or of a recipe of it, in this model.

    Raises
    ------
    PecliError
        If there is no such table.
    """
    made = recipe or fitted(encoding, setting)
    length: int | None = None
    if made.rows is None:  # as many positions as the model has, but no more than have a value
        high = made.domain.high
        length = setting.length if high is None else min(setting.length, int(high) + 1)
    table = Table.make(made, length=length, dtype=setting.dtype)
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


def fitted(encoding: Encoding, setting: Setting) -> Recipe:
    """Return an encoding with the model's width (of a head where its declaration says so) and heads.

    What must be given besides comes from its example; where that does not go with the width, it is the example.
    """
    example = Recipe.parse(encoding.example)
    keys = example.keys()
    names = {parameter.option: parameter.param.names for parameter in encoding.options}
    of_head = setting.width // setting.heads
    width = of_head if "head-dim" in names.get("dim", ()) else setting.width
    sizes = {"dim": width, "heads": setting.heads, "head-dim": of_head}
    own: dict[str, object] = {name: size for name, size in sizes.items() if name in names}
    if "content" in names and "channels" in keys:
        own |= {"content": f"none:dim={keys['channels']}", "channels": keys["channels"]}  # content of any length
    needed = {p.option: keys[p.option] for p in encoding.options if p.required and p.option in keys}
    for defaults in (needed, keys):
        try:
            return Recipe.with_defaults(encoding.name, own, defaults)
        except PecliError:  # a width that its grid, its axes or its sections do not divide
            continue
    return example


ROWS = 192  # of an example's table: enough for distances and fits, small enough to be instant


def example_table(encoding: Encoding, rows: int = ROWS, **keys: Any) -> Table:
    """Return a float64 table of the encoding's example; as many rows as it has, at most `rows`."""
    recipe = Recipe.parse(encoding.example)
    if "max_len" in encoding.parameters:  # an example ends early; what is measured needs more rows
        recipe = Recipe.bind(encoding.name, **{**recipe.keys(), "max-len": max(rows, ROWS)})
    longest = recipe.encoding.facts.longest
    if rows_of(recipe) is not None:
        return Table.make(recipe, dtype="float64", **keys)
    if longest != "unlimited" and not recipe.open_parameters:
        rows = min(rows, formula_value(longest, recipe.values))
    return Table.make(recipe, length=rows, dtype="float64", **keys)


def figures(recipe: Recipe) -> dict[str, str]:
    """Return how many values a recipe trains, and its wavelengths."""
    recipe = recipe.of_length(ROWS)
    found = {"trained values now": str(formula_value(recipe.encoding.facts.parameters, recipe.values))}
    plan = recipe.plan
    if isinstance(plan, Waves) and not any(band.turns for band in plan.bands):
        waves = [2 * math.pi / abs(float(w)) for w in plan.frequencies if w]
        found |= {"wavelengths": between(min(waves), max(waves), 4)} if waves else {}
    return found
