"""Effect of a source on tensors, by the family of its encoding and the effect that its declaration adds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

from pecli.apply.addition import AddedRows, FrameworkRows, adding_steps, apply_content
from pecli.apply.attention import scores_of
from pecli.apply.cosines import ExactRotations, HeadPairs, Rotations, StoredRotations
from pecli.apply.exact import ExactRows, InputScale, StoredRows, rows_of
from pecli.apply.rotation import RotatedTensors, RotationTask, rotate
from pecli.apply.scores import add_bias
from pecli.apply.tensors import ApplyOptions, ApplyResult, Tensor, axes_notes, only_tensor, stored_rows, table_rows
from pecli.errors import BadParameter, BadRecipe
from pecli.numbers.decimals import shorten
from pecli.numbers.dtypes import COMPLEX
from pecli.spec.catalogue import find
from pecli.spec.declaration import Family
from pecli.spec.hooks import Effect
from pecli.spec.recipe import Recipe, split_recipe
from pecli.spec.tabular import Tabular
from pecli.tables.request import take_table_keys
from pecli.tables.sources import NamedSource, exact_source
from pecli.tables.table import Table

VALUES = ("v", "value", "values")


def apply(source: NamedSource, tensors: Sequence[Tensor], options: ApplyOptions) -> ApplyResult:
    """Apply a source to tensors.

    Parameters
    ----------
    source : NamedSource
        A recipe, a file or a model's config.
    tensors : sequence of Tensor
        Queries and keys, embeddings for an absolute source, logits for a bias.
    options : ApplyOptions
        How.

    Raises
    ------
    BadParameter, BadRecipe
        If source, tensors and wishes do not fit, in one sentence.
    """
    source = exact_source(source)
    made = _applied(source, tensors, options)
    return replace(made, notes=(source.note, *made.notes)) if source.note else made


def _applied(source: NamedSource, tensors: Sequence[Tensor], options: ApplyOptions) -> ApplyResult:
    recipe = _recipe(source)
    family = recipe.encoding.family if recipe is not None else _family_of_arrays(source)
    effect = _effect(recipe, family)
    for tensor in tensors:
        if tensor.name.lower() in VALUES and family is not Family.ABSOLUTE and not (effect.values and options.scores):
            raise BadParameter("input", tensor.name, "holds values: positions act on queries and keys, never on them")
    for name, value in (
        ("pairs", options.pairs),
        ("inverse", options.way == "inverse"),
        ("gradient", options.way == "gradient"),
    ):
        if value and family is not Family.ROTARY:
            raise BadParameter(name, value if name == "pairs" else "true", "is for rotary tables")
    if options.arithmetic != "exact" and (options.scores or family not in (Family.ABSOLUTE, Family.ROTARY)):
        raise BadParameter("arithmetic", options.arithmetic, "is for rotations, and for rows added to embeddings")
    if options.score_scale is not None and not options.scores:
        raise BadParameter("score-scale", options.score_scale, "is for scores of queries and keys: give --scores")
    if options.scores:
        return scores_of(source, tensors, options, family, effect, recipe)
    if family is Family.BIAS:
        return add_bias(source, only_tensor(tensors, "logits; for queries and keys give --scores"), options, effect)
    if family is Family.RELATIVE:
        raise BadRecipe(f"{shorten(source.text)} gives scores of queries and keys: give both, and --scores")
    for name, given in (("mask", options.causal), ("softmax", options.softmax)):
        if given:
            raise BadParameter(name, "causal" if name == "mask" else "true", "is for scores and logits: give --scores")
    if family is Family.ROTARY:
        return rotate(source, tensors, options, effect, recipe)
    if family is Family.CONDITIONAL:
        return apply_content(source, tensors, options, effect)
    return _add_rows(source, only_tensor(tensors, "its rows are added to"), options)


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
    """Return the effect of an encoding beyond its family's; encodings of vectors or content must declare it."""
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


def _add_rows(source: NamedSource, tensor: Tensor, options: ApplyOptions) -> ApplyResult:
    table_options, rows = table_rows(source, [tensor], options)
    if source.recipe is not None:
        table: Tabular = source.open(**table_options, dtype="float64")
        assert isinstance(table, Table)
    else:
        table = source.open()
        rows = stored_rows(table, [tensor], options)
    if table.arrays[0].dtype in COMPLEX.values():
        return _multiply_rows(table, tensor, options, rows)
    exact_rows: ExactRows = rows_of(table) if isinstance(table, Table) else StoredRows(table)
    scale = InputScale.root(tensor.width) if options.scale == "sqrt" else InputScale.of(Decimal(options.scale or 1))
    notes, dtype = tuple(axes_notes([tensor])), options.dtype or tensor.dtype
    if options.arithmetic == "exact":
        return ApplyResult(AddedRows(exact_rows, tensor, dtype, scale, where=rows), notes)
    steps = adding_steps(tensor, table, float(scale.doubled.hi), rows, options.arithmetic)
    made = FrameworkRows(
        AddedRows(exact_rows, tensor, "float64", scale, where=rows), {tensor.name: steps}, options.arithmetic, dtype
    )
    return ApplyResult(made, notes, worst=lambda: made.worst)


def _multiply_rows(table: Tabular, tensor: Tensor, options: ApplyOptions, rows: Any) -> ApplyResult:
    """Return complex numbers, real and imaginary parts in turn, times complex rows: their phases are added."""
    if options.scale is not None or options.arithmetic != "exact":
        word = "input-scale" if options.scale is not None else "arithmetic"
        raise BadParameter(
            word, options.scale or options.arithmetic, "is for rows that are added, and complex ones multiply"
        )
    rotations: Rotations = ExactRotations(table) if isinstance(table, Table) else StoredRotations(table)
    tasks = [RotationTask(tensor, options.dtype or tensor.dtype)]
    made = RotatedTensors(rotations, tasks, HeadPairs("interleaved", "interleaved"), rows=rows)
    note = "complex rows multiply: the input's columns are real and imaginary parts in turn"
    return ApplyResult(made, (note, *axes_notes([tensor])))
