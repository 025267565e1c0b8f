"""What a source does to tensors, by the family of its encoding and what the encoding's declaration adds to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

from pecli.application.addition import AddedRows
from pecli.application.attention import scored
from pecli.application.biased import biased
from pecli.application.conditioned import conditioned
from pecli.application.framework import FrameworkRows, adding_steps
from pecli.application.pairing import HeadPairs
from pecli.application.reals import InputScale, Reals, StoredRows, rows_of
from pecli.application.rotated import rotated
from pecli.application.rotation import RotatedTensors, Turned
from pecli.application.tensors import Tensor
from pecli.application.turning import ExactTurns, StoredTurns, Turns
from pecli.application.wishes import Application, Wish, axes_notes, places, stored_rows, the_one
from pecli.declare.effect import Effect
from pecli.declare.encoding import Family
from pecli.declare.tabular import Tabular
from pecli.encodings import find
from pecli.encodings.recipe import Recipe, split_recipe
from pecli.errors import BadParameter, BadRecipe
from pecli.numbers.decimals import shorten
from pecli.numbers.dtypes import COMPLEX
from pecli.sources.sources import NamedSource, exact_source
from pecli.tables.request import take_table_keys
from pecli.tables.table import Table

VALUES = ("v", "value", "values")


def apply(source: NamedSource, tensors: Sequence[Tensor], wish: Wish) -> Application:
    """Return what a source does to tensors.

    Parameters
    ----------
    source : NamedSource
        A recipe, a file or a model's config.
    tensors : sequence of Tensor
        Queries and keys, embeddings for an absolute source, logits for a bias.
    wish : Wish
        How.

    Raises
    ------
    BadParameter, BadRecipe
        If source, tensors and wishes do not fit, in one sentence.
    """
    source = exact_source(source)
    made = _applied(source, tensors, wish)
    return replace(made, notes=(source.note, *made.notes)) if source.note else made


def _applied(source: NamedSource, tensors: Sequence[Tensor], wish: Wish) -> Application:
    recipe = _recipe(source)
    family = recipe.encoding.family if recipe is not None else _family_of_arrays(source)
    effect = _effect(recipe, family)
    for tensor in tensors:
        if tensor.name.lower() in VALUES and family is not Family.ABSOLUTE and not (effect.values and wish.scores):
            raise BadParameter("input", tensor.name, "holds values: positions act on queries and keys, never on them")
    for name, value in (
        ("pairs", wish.pairs),
        ("inverse", wish.way == "inverse"),
        ("gradient", wish.way == "gradient"),
    ):
        if value and family is not Family.ROTARY:
            raise BadParameter(name, value if name == "pairs" else "true", "is for rotary tables")
    if wish.arithmetic != "exact" and (wish.scores or family not in (Family.ABSOLUTE, Family.ROTARY)):
        raise BadParameter("arithmetic", wish.arithmetic, "is for rotations, and for rows added to embeddings")
    if wish.score_scale is not None and not wish.scores:
        raise BadParameter("score-scale", wish.score_scale, "is for scores of queries and keys: give --scores")
    if wish.scores:
        return scored(source, tensors, wish, family, effect, recipe)
    if family is Family.BIAS:
        return biased(source, the_one(tensors, "logits; for queries and keys give --scores"), wish, effect)
    if family is Family.RELATIVE:
        raise BadRecipe(f"{shorten(source.text)} gives scores of queries and keys: give both, and --scores")
    for name, given in (("mask", wish.causal), ("softmax", wish.softmax)):
        if given:
            raise BadParameter(name, "causal" if name == "mask" else "true", "is for scores and logits: give --scores")
    if family is Family.ROTARY:
        return rotated(source, tensors, wish, effect, recipe)
    if family is Family.CONDITIONAL:
        return conditioned(source, tensors, wish, effect)
    return _added(source, the_one(tensors, "its rows are added to"), wish)


def _recipe(source: NamedSource) -> Recipe | None:
    """Return the recipe of a source; of a file, the one that it names."""
    if source.recipe is not None:
        return source.recipe
    text = source.open().recipe
    if text is None:
        return None
    name, keys = split_recipe(text)
    take_table_keys(name, keys)
    find(name)
    return Recipe.bind(name, **keys)


def _effect(recipe: Recipe | None, family: Family) -> Effect:
    """Return what an encoding does beyond its family; what needs vectors or content must say it."""
    if recipe is None:
        return Effect()
    if recipe.encoding.declares("apply") or family in (Family.RELATIVE, Family.CONDITIONAL):
        found: Effect = recipe.encoding.hook("apply")(recipe)
        return found
    return Effect()


def _family_of_arrays(source: NamedSource) -> Family:
    """Return the family of a file that names no recipe."""
    arrays = source.open().arrays
    names = {array.name for array in arrays}
    if "bias" in names:
        return Family.BIAS
    (first, *more) = arrays
    stacked = len(first.shape) == 3 and first.shape[0] == 2
    rotary = more or stacked or first.name in ("cos_sin", "sin_cos", "cis")
    return Family.ROTARY if rotary else Family.ABSOLUTE


def _added(source: NamedSource, tensor: Tensor, wish: Wish) -> Application:
    options, rows = places(source, [tensor], wish)
    if source.recipe is not None:
        table: Tabular = source.open(**options, dtype="float64")
        assert isinstance(table, Table)
    else:
        table = source.open()
        rows = stored_rows(table, [tensor], wish)
    if table.arrays[0].dtype in COMPLEX.values():
        return _times(table, tensor, wish, rows)
    reals: Reals = rows_of(table) if isinstance(table, Table) else StoredRows(table)
    scale = InputScale.root(tensor.width) if wish.scale == "sqrt" else InputScale.of(Decimal(wish.scale or 1))
    notes, dtype = tuple(axes_notes([tensor])), wish.dtype or tensor.dtype
    if wish.arithmetic == "exact":
        return Application(AddedRows(reals, tensor, dtype, scale, where=rows), notes)
    steps = adding_steps(tensor, table, float(scale.doubled.hi), rows, wish.arithmetic)
    made = FrameworkRows(
        AddedRows(reals, tensor, "float64", scale, where=rows), {tensor.name: steps}, wish.arithmetic, dtype
    )
    return Application(made, notes, worst=lambda: made.worst)


def _times(table: Tabular, tensor: Tensor, wish: Wish, rows: Any) -> Application:
    """Return complex numbers, real and imaginary parts in turn, times complex rows: their phases are added."""
    if wish.scale is not None or wish.arithmetic != "exact":
        word = "input-scale" if wish.scale is not None else "arithmetic"
        raise BadParameter(word, wish.scale or wish.arithmetic, "is for rows that are added, and complex ones multiply")
    turns: Turns = ExactTurns(table) if isinstance(table, Table) else StoredTurns(table)
    turned = [Turned(tensor, tensor.name, wish.dtype or tensor.dtype)]
    made = RotatedTensors(turns, turned, HeadPairs("interleaved", "interleaved"), rows=rows)
    note = "complex rows multiply: the input's columns are real and imaginary parts in turn"
    return Application(made, (note, *axes_notes([tensor])))
